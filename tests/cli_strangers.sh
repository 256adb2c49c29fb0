#!/bin/sh
# Ten thousand foreign clients connect to a run of two processes with a token:
# it ends with the same bits, in about the same time and memory, and none is
# accepted.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
umask 077
echo "an example of a token" >token

# two NAME STRANGERS: such a run. Sets $took to its time in ms, and $memory to
# node 0's memory in KiB.
two() {
    run=$1
    start first lda train "$STRADS_SOURCE/data/docword.sotu-tiny.txt" \
        --topics 50 --sweeps 400 --partitions 2 --seed 5 --workers 1 \
        --nodes 2 --listen tcp://127.0.0.1:0 --token-file token \
        --model "$run.json" --log "$run.jsonl"
    first=$child
    url=$(url_of first)
    start second join "$url" --token-file token --workers 1
    second=$child
    until_there '"event": "round"' "$run.jsonl"
    began=$(date +%s%N)
    if [ "$2" -gt 0 ]; then
        "$STRADS_BUILD/tests/crowd" "${url##*:}" "$2" token >crowd.out &
        crowd=$!
    fi
    memory=0
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' \
        "/proc/$first/status" 2>/dev/null) && [ -n "$now" ]; do
        memory=$now
        sleep 0.05
    done
    took=$((($(date +%s%N) - began) / 1000000))
    ends first "$first" 0
    ends second "$second" 0
    if [ "$2" -gt 0 ]; then
        kill "$crowd" 2>/dev/null || :
        wait "$crowd" || :
    fi
}

two alone 0
alone=$took least=$memory
two crowded 10000
echo "alone $alone ms, $least KiB; in a crowd $took ms, $memory KiB; $(cat crowd.out)"
says crowd.out "10000 came, 0 were let in"
cmp -s alone.json.npy crowded.json.npy || fail "strangers changed the topics"
most=65536                                  # KiB
[ -z "$STRADS_SANITIZE" ] || most=$((4 * most)) # freed memory is kept for a while
[ $((memory - least)) -lt $most ] || fail "strangers cost memory"
# The run shares the processors with the clients and with other tests.
[ "$took" -lt $((2 * alone + 2000)) ] || fail "strangers cost time"

finish
