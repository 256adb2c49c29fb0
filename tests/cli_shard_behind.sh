#!/bin/sh
# A shard that comes up with less than it had acknowledged, because its journal
# is an older copy: the run ends on all nodes, with a sentence.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

host() {
    start "host.$1" join "$url" --shard --journal journal
    host=$child
}

# until_rounds N: the log has so many reports.
until_rounds() {
    tries=0
    until [ "$(cat run.jsonl 2>/dev/null | grep -c '"round"')" -ge "$1" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 2400 ] || { fail "no round $1"; return; }
        sleep 0.02
    done
}

start first sgd-logistic train "$party" --partitions 2 --epochs 100000 \
    --lambda 0.001 --staleness 0 --nodes 3 --workers 1 --reconnect 60 \
    --listen tcp://127.0.0.1:0 --model run.json --log run.jsonl
first=$child
url=$(url_of first)
host 1
start worker join "$url" --workers 1
worker=$child

# The copy is made while nobody writes; more is acknowledged after it.
until_rounds 3
kill -STOP "$host"
cp -r journal older
kill -CONT "$host"
until_rounds "$(($(grep -c '"round"' run.jsonl) + 3))"
kill -KILL "$host"
wait "$host" 2>/dev/null || :
rm -r journal
mv older journal
host 2

ends first "$first" 1
ends worker "$worker" 1
ends host.2 "$host" 1
for node in first worker host.2; do
    says "$node.err" \
        "shard 0 has lost what its disk had said was synced: client " \
        " was told that its pushes up to " "are kept, the journal ends at " \
        "run again with a journal on another disk"
done
[ ! -e run.json ] || fail "a model that lacks increments"
[ -d journal ] || fail "the journal was not kept"
finish
