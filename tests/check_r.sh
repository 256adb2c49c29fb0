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
export OPENBLAS_NUM_THREADS=1 LC_ALL=C.UTF-8
cp -R "$STRADS_SOURCE/R" package
R CMD build package >build.log 2>&1 || {
    cat build.log
    exit 1
}
R CMD check --as-cran --no-manual strads_*.tar.gz >check.log 2>&1 || {
    cat check.log strads.Rcheck/00install.out strads.Rcheck/tests/*.fail || true
    exit 1
}
cat check.log
grep -q '^Status: OK\|^Status: [0-9]* NOTE' check.log
