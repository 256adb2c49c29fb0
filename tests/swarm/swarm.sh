#!/bin/sh
# Runs seeds of a simulated store for SWARM_SECONDS (20; 15 under sanitizers) and
# checks every guarantee. Seeds that failed once come first.
set -eu
swarm=$STRADS_BUILD/tests/swarm
seconds=20
[ -z "${STRADS_SANITIZE:-}" ] || seconds=15
sed -n 's/^\([0-9][0-9]*\) .*/\1/p' "$STRADS_SOURCE/tests/swarm/swarm_seeds.txt" |
    while read -r seed; do
        "$swarm" 1 --seed "$seed"
    done
exec "$swarm" --seconds "${SWARM_SECONDS:-$seconds}"
