#!/bin/sh
# Linear models against glmnet, scikit-learn and liblinear; options are those of
# with_linear.py. Peers are Debian's, for Debian's Python.
set -eu
exec "${PEER_PYTHON:-/usr/bin/python3}" "$(dirname "$0")/with_linear.py" "$@"
