#!/bin/sh
# A process that hosts shards with a journal is killed (SIGKILL) in mid-run and
# started again, once and again: the model has the bits of an undisturbed run.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

common="--partitions 3 --epochs 60 --lambda 0.001 --seed 3 --staleness 0"

# host N: starts the process of shards number N, in a new life of its own.
host() {
    lives=$((lives + 1))
    start "host$1.$lives" join "$url" --shard --journal "journal$1"
    eval "host$1=$child"
}

# kills N ROUND: kills it when the log has so many lines, and starts it again.
kills() {
    tries=0
    until [ "$(cat many.jsonl 2>/dev/null | grep -c round)" -ge "$2" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 2400 ] || { fail "no round $2"; return; }
        sleep 0.02
    done
    eval "kill -KILL \$host$1; wait \$host$1" 2>/dev/null || :
    host "$1"
}

# begins WORDS...: node 0, one more with a worker, two of shards.
begins() {
    lives=0
    rm -f many.json many.jsonl many.err
    start many sgd-logistic train "$party" $common --nodes 4 --workers 1 \
        --listen tcp://127.0.0.1:0 --reconnect 60 --model many.json \
        --log many.jsonl "$@"
    first=$child
    url=$(url_of many)
    host 1
    host 2
    start worker join "$url" --workers 1
    worker=$child
}

# all_end: well, with nothing left of the journals.
all_end() {
    ends many "$first" 0
    ends worker "$worker" 0
    ends "host1" "$host1" 0
    ends "host2" "$host2" 0
    [ ! -e journal1 ] && [ ! -e journal2 ] || fail "a journal was left"
}

gives 0 sgd-logistic train "$party" $common --model one.json
grep -E '"(index|value)"' one.json >one.bits
for shards in 2 3; do
    begins --shards "$shards"
    kills 1 5
    kills 2 15
    kills 1 25
    kills 2 35
    all_end
    grep -E '"(index|value)"' many.json >many.bits || :
    cmp -s one.bits many.bits || fail "$shards shards: other bits after kills"
done

# A journal of another run is refused, and so is one of a node with workers.
mkdir old
echo "strads run 0000000000000007 node 1" >old/node
rm -f wait.err
start wait sgd-logistic train "$party" --nodes 2 --listen tcp://127.0.0.1:0
refuses 2 "belongs to another run" join "$(url_of wait)" --shard --journal old
# What is no place for a journal is told before anybody joins: the run waits on.
echo x >plain
refuses 2 "journal plain: is no directory" \
    join "$(url_of wait)" --shard --journal plain
refuses 2 "journal no/where: cannot be made: No such file" \
    join "$(url_of wait)" --shard --journal no/where
kill -INT "$child"
ends wait "$child" 130
refuses 2 "takes a node of shards alone" join tcp://127.0.0.1:1 --journal old
finish
