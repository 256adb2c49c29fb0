#!/bin/sh
# The Python package: its wheel builds against an installed library, and passes
# its tests and scikit-learn's in a separate folder.
set -eu
python=${STRADS_PYTHON:-/usr/bin/python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

cmake --install "$STRADS_BUILD" --prefix "$scratch/prefix" >install.log
cp -R "$STRADS_SOURCE/python" package
rm -rf package/build package/*.egg-info package/strads/*.so
export STRADS_PREFIX="$scratch/prefix"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
"$python" -m pip -q wheel --no-build-isolation --no-deps -w wheels ./package \
    >wheel.log 2>&1 || {
    cat wheel.log
    exit 1
}
"$python" -m pip -q install --no-deps --target site wheels/strads-*.whl
export PYTHONPATH="$scratch/site" STRADS_BIN="$scratch/prefix/bin/strads"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
"$python" -m pytest -q -p no:cacheprovider -W ignore package/tests
