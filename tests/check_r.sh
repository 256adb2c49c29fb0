#!/bin/sh
# The R package builds against an installed library, and R CMD check reports no
# warning by CRAN's rules.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

cmake --install "$STRADS_BUILD" --prefix "$scratch/prefix" >install.log
export STRADS_PREFIX="$scratch/prefix" _R_CHECK_FORCE_SUGGESTS_=false
export _R_CHECK_XREFS_USE_ALIASES_FROM_CRAN_=false
# These two ask a server.
export _R_CHECK_CRAN_INCOMING_=false _R_CHECK_SYSTEM_CLOCK_=false
# It has no PDF, and so no need of qpdf.
export R_QPDF=true
export OPENBLAS_NUM_THREADS=1 LC_ALL=C.UTF-8
cp -R "$STRADS_SOURCE/R" package
# The vignette is built where knitr is installed.
build='' check=''
Rscript -e 'library(knitr)' >knitr.log 2>&1 || {
    build=--no-build-vignettes check=--ignore-vignettes
}
# shellcheck disable=SC2086 # no word if knitr is there
R CMD build $build package >build.log 2>&1 || {
    cat build.log
    exit 1
}
# shellcheck disable=SC2086
R CMD check --as-cran --no-manual $check strads_*.tar.gz >check.log 2>&1 || {
    cat check.log strads.Rcheck/00install.out strads.Rcheck/tests/*.fail || true
    exit 1
}
cat check.log
grep -q '^Status: OK\|^Status: [0-9]* NOTE' check.log
