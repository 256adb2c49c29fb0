#!/bin/sh
# A process that joins after the first round is accepted at a checkpoint or
# refused. It never ends the run: with other data, values of another size, a
# missing program, too many workers, or foreign bytes.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
words=$STRADS_SOURCE/data/docword.sotu-tiny.txt

# Data of other sizes, of the same size with one different value, empty, and
# none
sed '1s/:[0-9.]*/:0.123/' "$year_train" >value.svm
head -n 40 "$year_train" >short.svm
: >empty.svm
head -c 5000 /dev/zero >zeros.svm
sed 's/^[0-9.e+-]*/nothing/' "$year_train" >words.svm
awk 'NR == 4 { $3 = $3 + 1 } { print }' "$words" >count.txt
head -n 3 "$words" >heading.txt

# late NAME TEXT WORDS...: refused with a message that contains TEXT, exit code
# 2.
late() {
    called=$1 sentence=$2
    shift 2
    start "$called" join "$url" --workers 1 "$@"
    ends "$called" "$child" 2
    says "$called.err" "$sentence"
}

# Rounds: committed values are the checkpoint
start first lasso train "$year_train" $endless \
    --workers 1 --partitions 6 --nodes 2 --listen tcp://127.0.0.1:0 \
    --model rounds.json --log rounds.jsonl
first=$child
url=$(url_of first)
start second join "$url" --workers 1
second=$child
until_there '"event": "round"' rounds.jsonl
late test "where this run has" --data "$year_test"
late value "with checksum" --data value.svm
late short "a row count of 40" --data short.svm
late f32 "values in 4 bytes where this run has 8" --f32
late none "none.svm: cannot be read" --data none.svm
late words "words.svm" --data words.svm
late empty "empty.svm" --data empty.svm
late zeros "zeros.svm" --data zeros.svm
start many join "$url" --workers 20 # more than there are partitions: it waits
many=$child
until_there "this node waits" many.err
(umask 077 && echo "an example of a token" >token)
"$STRADS_BUILD/tests/crowd" "$url" 600 token >crowd.out
start third join "$url" --workers 2
third=$child
until_there "keeps" third.err
kill -INT "$first"
ends first "$first" 130
ends second "$second" 0
ends third "$third" 0
kill "$many" 2>/dev/null || :
gives 0 lasso predict rounds.json "$year_test"
says first.err "is refused" "the run continues"

# A ring: the same bits as an undisturbed run
gives 0 lda train "$words" --topics 20 --sweeps 2000 --partitions 4 --seed 5 \
    --model one.json
start first lda train "$words" --topics 20 --sweeps 2000 --partitions 4 \
    --seed 5 --workers 1 --nodes 2 --listen tcp://127.0.0.1:0 \
    --checkpoint checkpoints --checkpoint-every 0.3 \
    --model ring.json --log ring.jsonl
first=$child
url=$(url_of first)
start second join "$url" --workers 1
second=$child
until_there '"event": "round"' ring.jsonl
start count join "$url" --workers 1 --data count.txt
count=$child
start heading join "$url" --workers 1 --data heading.txt
heading=$child
ends first "$first" 0
ends second "$second" 0
kill "$count" "$heading" 2>/dev/null || :
cmp -s one.json.npy ring.json.npy || fail "joiners changed the topics"
grep -q "is refused\|left the run" first.err ||
    fail "no joiner came to the ring in time"
finish
