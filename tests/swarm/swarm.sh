#!/bin/sh
# As many seeds of a simulated store as fit in a minute, every promise checked;
# under sanitizers in a quarter of it. First those that failed once.
set -eu
swarm=$STRADS_BUILD/tests/swarm
seconds=60
[ -z "${STRADS_SANITIZE:-}" ] || seconds=15
sed -n 's/^\([0-9][0-9]*\) .*/\1/p' "$STRADS_SOURCE/tests/swarm/swarm_seeds.txt" |
    while read -r seed; do
        "$swarm" 1 --seed "$seed"
    done
exec "$swarm" --seconds "$seconds"
