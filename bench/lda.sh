#!/bin/sh
# Topic models: speed, memory, likelihood and peers; options are those of
# with_lda.py. Peers are Debian's, for Debian's Python.
set -eu
exec "${PEER_PYTHON:-/usr/bin/python3}" "$(dirname "$0")/with_lda.py" "$@"
