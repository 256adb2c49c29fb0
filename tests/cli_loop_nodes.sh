#!/bin/sh
# strads sgd-logistic on several processes: at staleness 0 the bits of one
# process, otherwise an equally good objective; Ctrl-C, a lost process,
# options.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

common="--partitions 4 --epochs 10 --lambda 0.001 --seed 3"

# trains NAME NODES WORDS...: on that many processes; the model is NAME.json.
trains() {
    model=$1 nodes=$2
    shift 2
    rm -f "$model.json" "$model.jsonl" "$model.err"
    start "$model" sgd-logistic train --no-intercept "$party" $common --nodes "$nodes" \
        --workers 1 --model "$model.json" --log "$model.jsonl" "$@"
    first=$child
    url=$(url_of "$model")
    others=
    while [ "$nodes" -gt 1 ]; do
        start "$model$nodes" join "$url" --workers 1
        others="$others $child"
        nodes=$((nodes - 1))
    done
}

# all_end NAME: all processes exit with 0.
all_end() {
    ends "$1" "$first" 0
    for other in $others; do
        ends "$1" "$other" 0
    done
}

# Sums are rounded to a grid, so threads, nodes and shards do not change their
# bits, and a reader at staleness 0 sees the same in every run.
gives 0 sgd-logistic train --no-intercept "$party" $common --staleness 0 --model one.json
grep -E '"(index|value)"' one.json >one.bits
for place in "ipc://$folder/run.sock" "tcp://127.0.0.1:0"; do
    for shards in 1 2 3; do
        trains many 3 --staleness 0 --shards "$shards" --listen "$place"
        all_end many
        grep -E '"(index|value)"' many.json >many.bits || :
        cmp -s one.bits many.bits ||
            fail "$place, $shards shards: three processes and one differ"
    done
done
same "$(grep -c '"event": "round"' many.jsonl)" 11 "epochs, and the end"
says many.err "% computing" "% waiting" "% network"
says many2.err "program sgd-logistic" "the run is over"
grep '"event": "end"' many.jsonl | grep -q '"bytes_sent": [1-9]' ||
    fail "the log counts no bytes"

# With staleness, reads depend on timing: equally good, but not identical
for staleness in 2 "infinite --step constant --rate 1"; do
    trains stale 2 --listen tcp://127.0.0.1:0 --staleness $staleness
    all_end stale
    awk -v o="$(member stale.json objective)" \
        -v one="$(member one.json objective)" \
        'BEGIN { exit !(o < 1.5 * one) }' ||
        fail "staleness $staleness: $(member stale.json objective)"
done

# Options of the tables: fewer bytes, an equally good objective, and the model
# lists them. Two rows of weights, so that a clock with space for one sends
# half. received NAME: bytes that node 0 has received, at the end
received() {
    sed -n 's/.*"end".*"bytes_received": \([0-9]*\).*/\1/p' "$1.jsonl"
}
trains plain 2 --listen tcp://127.0.0.1:0 --epochs 40
all_end plain
all=$(received plain)
for words in "--hold-below 0.02" "--push-bytes 8192"; do
    trains spare 2 --listen tcp://127.0.0.1:0 --epochs 40 $words
    all_end spare
    awk -v all="$all" -v some="$(received spare)" \
        -v best="$(member plain.json objective)" \
        -v o="$(member spare.json objective)" \
        'BEGIN { exit !(some < 0.9 * all && o < 1.02 * best) }' ||
        fail "$words: $(received spare) of $all bytes, objective" \
            "$(member spare.json objective), $(member plain.json objective)"
done
says spare.json '"push-bytes": 8192' '"window": null' '"cache-bytes": 268435456'
trains other 2 --listen tcp://127.0.0.1:0 --window 2 \
    --cache-bytes 8192 --staleness adaptive --staleness-max 3
all_end other
says other.json '"window": 2' '"cache-bytes": 8192' \
    '"staleness": "adaptive"' '"staleness-max": 3'
awk -v o="$(member other.json objective)" \
    -v one="$(member one.json objective)" 'BEGIN { exit !(o < 1.5 * one) }' ||
    fail "an adaptive staleness: $(member other.json objective)"

# Ctrl-C on node 0: the current model
trains stop 2 --epochs 1000000 --listen "ipc://$folder/stop.sock"
until_there '"event": "round"' stop.jsonl
kill -INT "$first"
ends stop "$first" 130
ends stop2 "${others# }" 0
says stop.err "interrupted" "the model is in stop.json"

# Ctrl-C on another node has the same effect
trains left 2 --epochs 1000000 --listen "ipc://$folder/left.sock"
until_there '"event": "round"' left.jsonl
kill -INT "${others# }"
ends left "$first" 130
ends left2 "${others# }" 0
says left.err "interrupted" "the model is in left.json"

# A lost node: the others continue without it in the next membership epoch. A
# late node is accepted after a checkpoint, in another epoch. Times add up.
trains lost 3 --epochs 1000000 --shards 3 --listen "ipc://$folder/lost.sock" \
    --checkpoint lost.checkpoints --checkpoint-every 0.1s
until_there '"event": "round"' lost.jsonl
kill -KILL "${others##* }"
until_there '"event": "nodes"' lost.jsonl 2
start late join "$url" --workers 1
late=$child
until_there '"event": "nodes"' lost.jsonl 3
before=$(grep -c '"event": "round"' lost.jsonl)
until_there '"event": "round"' lost.jsonl $((before + 1))
kill -INT "$first"
ends lost "$first" 130
left=${others# }
ends lost2 "${left%% *}" 0
ends late "$late" 0
says lost.err "was lost" "the model is in lost.json"
says late.err "waits until it is accepted" "keeps " "the run is over"
sed -n 's/.*"\(round\|end\)", .*"seconds": \([^,]*\),.*"bytes_sent": \([0-9]*\).*/\2 \3/p' \
    lost.jsonl | awk '$1 < s || $2 < b { exit bad = 1 }
                      { s = $1; b = $2; n++ } END { exit bad || n < 3 }' ||
    fail "seconds or bytes begin anew with a generation"

# A lost process with shards only: the others continue with the shards, to the
# same end as an undisturbed run; then again with no such process left.
rm -f hosts.json hosts.jsonl
start hosts sgd-logistic train --no-intercept "$party" --partitions 2 --epochs 1000000 \
    --lambda 0.001 --seed 3 --staleness 0 --nodes 4 --workers 1 \
    --listen tcp://127.0.0.1:0 --model hosts.json --log hosts.jsonl
first=$child
url=$(url_of hosts)
start hosts2 join "$url" --workers 1
other=$child
for lost in 1 2; do
    start "shards$lost" join "$url" --shard
    eval "shards$lost=$child"
done
for lost in 1 2; do
    until_there '"event": "nodes"' hosts.jsonl "$lost"
    before=$(grep -c '"event": "round"' hosts.jsonl)
    until_there '"event": "round"' hosts.jsonl $((before + 1))
    eval "kill -KILL \$shards$lost"
done
until_there '"event": "nodes"' hosts.jsonl 3
before=$(grep -c '"event": "round"' hosts.jsonl)
until_there '"event": "round"' hosts.jsonl $((before + 1))
kill -INT "$first"
ends hosts "$first" 130
ends hosts2 "$other" 0
says hosts.err "was lost" "the model is in hosts.json"

refuses 2 "only the tables of a loop" \
    lasso train "$party" --nodes 2 --shards 2 \
    --listen "ipc://$folder/rounds.sock"
finish
