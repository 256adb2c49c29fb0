#!/bin/sh
# Matrix factorisation: speed, error by time, memory, a peer; options are those
# of with_mf.py. The peer is Debian's, for Debian's Python.
set -eu
exec "${PEER_PYTHON:-/usr/bin/python3}" "$(dirname "$0")/with_mf.py" "$@"
