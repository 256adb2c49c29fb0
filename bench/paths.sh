#!/bin/sh
# Paths and cross-validations of the R package against glmnet, both with their
# defaults: paths.sh [ROUNDS] [SHAPE].
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$STRADS_BUILD" --prefix "$scratch/prefix" >"$scratch/log"
cp -R "$(dirname "$0")/../R" "$scratch/package"
mkdir "$scratch/library"
STRADS_PREFIX="$scratch/prefix" R CMD INSTALL --no-docs \
    --library="$scratch/library" "$scratch/package" >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
R_LIBS="$scratch/library" Rscript "$(dirname "$0")/with_paths.R" "$@"
