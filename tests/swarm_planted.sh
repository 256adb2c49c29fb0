#!/bin/sh
# Eight bugs on purpose, each linked into a swarm of its own: each is found
# within 300 seeds, and as what it is.
set -eu
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# expect BUG PATTERN WHAT
expect()
{
    code=0
    "$STRADS_BUILD/tests/swarm_bug_$1" 300 >"$out" || code=$?
    told=$(sed -n 's/^seed \([0-9]*\) broke a promise: \(.*\)/\1 \2/p' "$out")
    echo "$3: found by seed ${told:-none}"
    if [ "$code" -ne 1 ] || ! echo "$told" | grep -q "$2"; then
        cat "$out"
        exit 1
    fi
}

expect 1 'P3 once\|came to no end' 'a lost acknowledgement taken for success'
expect 2 'P1 staleness' 'a stale read'
# A push that is twice in the journal also shows when that is read back.
expect 3 'P3 once\|checkpoint of a shard is damaged' 'a double commit'
expect 4 'P2 own' 'an own increment that is not seen'
expect 5 'P3 once' 'a push that leaves early and again'
expect 6 'P1 staleness\|P2 own\|P3 once' \
    'a push that is written on while it is on its way'
expect 7 'P1 staleness\|P2 own\|P3 once' \
    'rows that were lent and leave when others have been added'
expect 8 'P1 staleness\|P2 own\|P3 once' \
    'lent rows that are given back before they are acknowledged'
