#!/bin/sh
# Linear models on random problems against glmnet, scikit-learn and liblinear;
# options are those of with_fleet.py. Peers are Debian's, for Debian's Python.
set -eu
exec "${PEER_PYTHON:-/usr/bin/python3}" "$(dirname "$0")/with_fleet.py" "$@"
