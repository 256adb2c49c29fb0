#!/bin/sh
# Topic models on random corpora against textbook Gibbs sampling with learned
# priors; options are those of with_fleet_lda.py.
set -eu
exec "${PEER_PYTHON:-/usr/bin/python3}" "$(dirname "$0")/with_fleet_lda.py" "$@"
