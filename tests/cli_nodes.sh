#!/bin/sh
# One run of several processes, over ipc and tcp: the same model as in one
# process; and processes that are wrong or lost.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# The model of one process is the reference.
common="--lambda-ratio 0.02 --deterministic --partitions 6 --seed 5"
gives 0 lasso train --no-intercept "$year_train" $common --model one.json

for place in "ipc://$folder/run.sock" "tcp://127.0.0.1:0"; do
    rm -f four.json first.err
    start first lasso train --no-intercept "$year_train" $common --workers 1 --nodes 4 \
        --listen "$place" --model four.json --log four.jsonl
    first=$child
    url=$(url_of first)
    start second join "$url" --workers 1
    second=$child
    start third join "$url" --workers 1 --data "$year_train"
    third=$child
    start fourth join "$url" --workers 2 --quiet
    fourth=$child
    ends first "$first" 0
    ends second "$second" 0
    ends third "$third" 0
    ends fourth "$fourth" 0
    same_bits "$url" one.json four.json
    same "$(member four.json objective)" "$(member one.json objective)" \
        "$url: the objective"
    says second.err "joined $url: program lasso" "the run is over"
    says first.err "1 worker (one process would do), seed 5"
    [ ! -s fourth.err ] || fail "--quiet said: $(cat fourth.err)"
    grep '"event": "end"' four.jsonl | grep -q '"bytes_sent": [1-9]' ||
        fail "$url: the log counts no bytes"
done

# A token: processes with it take part, with the same bits; others get an error
umask 077
echo "an example of a token" >token
echo "another one, as long as it" >other
rm -f four.json first.err
start first lasso train --no-intercept "$year_train" $common --workers 1 --nodes 2 \
    --listen tcp://127.0.0.1:0 --model four.json --token-file token
first=$child
url=$(url_of first)
refuses 2 "the run's --token-file" join "$url" --token-file other
refuses 2 "the same --token-file" join "$url"
export STRADS_TOKEN="an example of a token"
start second join "$url"
unset STRADS_TOKEN
second=$child
ends first "$first" 0
ends second "$second" 0
same_bits "two processes with a token" one.json four.json
refuses 2 "--token-file" lasso train "$year_train" --nodes 2 \
    --listen tcp://0.0.0.0:0 --model m.json
chmod 644 token
refuses 2 "chmod 600" lasso train "$year_train" --nodes 2 \
    --listen tcp://127.0.0.1:0 --model m.json --token-file token

# A port in use
rm -f first.err
start first lasso train --no-intercept "$year_train" --nodes 2 --listen tcp://127.0.0.1:0 \
    --model m.json
first=$child
url=$(url_of first)
refuses 2 "in use" lasso train "$year_train" --nodes 2 --listen "$url" \
    --model n.json
says err "$url"
[ ! -e n.json ] || fail "a port in use left a model"

# Ctrl-C while waiting for the others
kill -INT "$first"
ends first "$first" 130
[ ! -e m.json ] || fail "a run that never began left a model"

# No coordinator any more, and invalid addresses
refuses 1 "$url" join "$url" --timeout 0.3
refuses 2 "nonsense" join nonsense
refuses 2 "nonsense" lasso train "$year_train" --nodes 2 --listen nonsense

# Other data
rm -f first.err
start first lasso train --no-intercept "$year_train" --nodes 2 --lambda-ratio 0.02 \
    --listen "ipc://$folder/other.sock" --model m.json
first=$child
until_there "strads join" first.err
start second join "ipc://$folder/other.sock" --data "$year_test"
second=$child
ends second "$second" 2
says second.err "373"
ends first "$first" 2
says first.err "373"
[ ! -e m.json ] || fail "other data left a model"

# A node that cannot read its data, and leaves
rm -f first.err
start first lasso train --no-intercept "$year_train" --nodes 2 --lambda-ratio 0.02 \
    --listen "ipc://$folder/none.sock" --model m.json
first=$child
until_there "strads join" first.err
start second join "ipc://$folder/none.sock" --data none.svm
second=$child
ends second "$second" 2
says second.err "none.svm: cannot be read"
ends first "$first" 0
says first.err "node 1" "left the run before it was over; the run continues"

# Node 0 names a file: on another machine it is read only if allowed
for way in "far: is the data of a coordinator on another machine" \
    "root --data-root $folder: and not a file below --data-root" \
    "good --data-root $STRADS_SOURCE/data"; do
    # shellcheck disable=SC2086 # words
    set -- ${way%%:*}
    kind=$1
    shift
    start first lasso train --no-intercept "$year_train" --nodes 2 --lambda-ratio 0.02 \
        --listen tcp://127.0.0.1:0 --model m.json --token-file other
    first=$child
    url=$(url_of first)
    start second join "tcp://0.0.0.0:${url##*:}" --token-file other "$@"
    second=$child
    if [ "$kind" = good ]; then
        ends second "$second" 0
        ends first "$first" 0
    else
        ends second "$second" 2
        says second.err "${way#*: }" "give --data PATH"
        ends first "$first" 0
    fi
done
rm -f m.json

# A node that comes when all are there waits, because there is no partition for
# it
rm -f first.err
start first lasso train --no-intercept "$year_train" --nodes 2 $endless \
    --listen "ipc://$folder/full.sock" --model m.json \
    --log full.jsonl
first=$child
until_there "strads join" first.err
start second join "ipc://$folder/full.sock"
second=$child
until_there '"event": "round"' full.jsonl
start third join "ipc://$folder/full.sock" --timeout 1
third=$child
until_there "has all its 2 nodes: this node waits" third.err
kill -INT "$first"
ends first "$first" 130
ends second "$second" 0
ends third "$third" 0
rm -f m.json

# A lost node
rm -f first.err
start first lasso train --no-intercept "$year_train" --nodes 3 $endless \
    --listen "ipc://$folder/lost.sock" --model m.json \
    --log lost.jsonl
first=$child
until_there "strads join" first.err
start second join "ipc://$folder/lost.sock"
second=$child
start third join "ipc://$folder/lost.sock"
third=$child
until_there '"event": "round"' lost.jsonl
kill -KILL "$third"
ends third "$third" 137
until_there "was lost" first.err
says first.err "the run continues from its last checkpoint"
rounds=$(grep -c '"event": "round"' lost.jsonl)
until_there '"event": "round"' lost.jsonl "$((rounds + 3))"
kill -INT "$second" # one that is left may stop the run as before
ends first "$first" 130
ends second "$second" 0
gives 0 lasso predict m.json "$year_test"
finish
