#!/bin/sh
# strads launch: all processes of a run by one command, locally and by ssh; how
# they end together.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

. "$STRADS_SOURCE/tests/cli_children.shlib"

common="--lambda-ratio 0.02 --deterministic --partitions 6 --seed 5"
gives 0 lasso train --no-intercept "$year_train" $common --model one.json

# Three local processes: the bits of one, lines with numbers, no folder left
gives 0 launch -n 3 -- lasso train --no-intercept "$year_train" $common \
    --model three.json
same_bits "three processes" one.json three.json
says err "[0] strads: lasso on " "[1] strads: joined" "[2] strads: joined" \
    "[0] strads: the model is in three.json"
sockets=$(sed -n 's|.*strads join ipc://\(.*\)/node0|\1|p' err | head -n 1)
[ -n "$sockets" ] || fail "no ipc address was told"
[ ! -e "$sockets" ] || fail "$sockets was left behind"

# A ring and a loop
gives 0 launch --processes 2 --plain -- lda train "$STRADS_SOURCE/data/docword.sotu-tiny.txt" --topics 5 \
    --sweeps 3 --model topics.json
says err "strads: the model is in topics.json"
gives 0 launch -- sgd-logistic train --no-intercept "$party" --max-rounds 5 --model sgd.json

# Process 0 refuses its input: its exit code and message, and soon
refuses_so() { # CODE SENTENCE WORDS...
    want=$1 sentence=$2 code=0
    shift 2
    "$STRADS_BIN" "$@" >out 2>err </dev/null || code=$?
    [ "$code" -eq "$want" ] || fail "$*: exit code $code, expected $want"
    says err "$sentence"
}
refuses_so 2 "[0] strads: none.svm: cannot be read" \
    launch -- lasso train none.svm --model none.json
refuses 2 "nothing to launch" launch --processes 2
refuses 2 "--nodes behind --: launch sets the addresses" \
    launch -- lasso train "$year_train" --nodes 3 --model none.json
printf 'node1 two\n' >hosts
refuses 2 'hosts:1: found "node1 two"; expected a host' \
    launch --hosts hosts -- lasso train "$year_train" --model none.json
refuses 2 "names no host" \
    launch --hosts /dev/null -- lasso train "$year_train" --model none.json

printf 'node1 1000\nnode2 1000\n' >hosts
refuses 2 "1024" launch --hosts hosts -- lasso train "$year_train" \
    --model none.json

# Ctrl-C: writes the model so far, exits with 130, leaves no process
start away launch --processes 3 -- lasso train --no-intercept "$year_train" \
    $endless --partitions 6 --model away.json \
    --log away.jsonl
until_there '"event": "round"' away.jsonl
kill -INT "$child"
ends away "$child" 130
says away.err "the model is in away.json"

# A killed process is restarted and joins again
start lost launch --processes 3 -- lasso train --no-intercept "$year_train" \
    $endless --partitions 6 --model lost.json \
    --log lost.jsonl
launched=$child
until_there '"event": "round"' lost.jsonl
victim=$(ps -o pid=,args= --ppid "$launched" | awk '/ join / {print $1; exit}')
kill -KILL "$victim"
until_there "strads: keeps" lost.err 3
says lost.err "was ended by signal 9" "is started again (1 of --max-restarts 3)"
kill -INT "$launched"
ends lost "$launched" 130
gives 0 lasso predict lost.json "$year_test"
[ -z "$(ps -o pid= --ppid "$launched")" ] || fail "children were left"

# By ssh: a test server on loopback
if [ -x /usr/sbin/sshd ]; then
    ssh-keygen -q -t ed25519 -N '' -f host_key
    ssh-keygen -q -t ed25519 -N '' -f user_key
    [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
    port=$((20000 + $$ % 20000))
    cat >sshd_config <<END
Port $port
ListenAddress 127.0.0.1
HostKey $folder/host_key
AuthorizedKeysFile $folder/user_key.pub
PidFile $folder/sshd.pid
StrictModes no
UsePAM no
END
    /usr/sbin/sshd -f "$folder/sshd_config" -E sshd.log
    until_there "Server listening" sshd.log
    children="$children $(cat sshd.pid)"
    reach="ssh -p $port -i $folder/user_key -o BatchMode=yes -o LogLevel=ERROR"
    reach="$reach -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    printf '127.0.0.1 2\n# another machine\n127.0.0.1\n' >hosts
    gives 0 launch --hosts hosts --ssh "$reach" --remote "$STRADS_BIN" \
        --workers 1 -- lasso train --no-intercept "$year_train" $common \
        --model "$folder/far.json"
    same_bits "processes by ssh" one.json far.json
    says err "[2] strads: joined tcp://127.0.0.1:"

    # The launcher is killed: the processes that it started by ssh end by
    # themselves
    start gone launch --hosts hosts --ssh "$reach" --remote "$STRADS_BIN" \
        --workers 1 -- lasso train --no-intercept "$year_train" $endless \
        --partitions 6 --model "$folder/gone.json" \
        --log "$folder/gone.jsonl"
    until_there '"event": "round"' gone.jsonl
    kill -KILL "$child"
    until_there '"event": "end"' gone.jsonl
    until_there "interrupted" gone.jsonl
    gives 0 lasso predict gone.json "$year_test"
else
    fail "there is no sshd: install openssh-server"
fi
finish
