#!/bin/sh
# The options that mf train chooses against a grid, on random ratings; options
# are those of with_fleet_mf.py.
set -eu
exec "${PEER_PYTHON:-/usr/bin/python3}" "$(dirname "$0")/with_fleet_mf.py" "$@"
