#!/bin/sh
# Ends of runs and remains of killed ones: node 0 killed between the last round
# and the model, nodes that wait when the run ends, a closed terminal,
# unfinished files, checkpoints that are not files, a host given by its name.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
common="--lambda-ratio 0.02 --deterministic --partitions 6 --seed 5"
endless="$endless --partitions 2"

# A closed terminal acts like SIGTERM, except for a run started with nohup
# shellcheck disable=SC2086 # words
interrupts hup HUP lasso train "$year_train" $endless
rm -f kept.jsonl
# shellcheck disable=SC2086 # words
(
    trap '' HUP
    exec "$STRADS_BIN" lasso train "$year_train" $endless --model kept.json \
        --log kept.jsonl >kept.out 2>kept.err </dev/null
) &
kept=$!
children="$children $kept"
until_there '"event": "round"' kept.jsonl
kill -HUP "$kept"
lines=$(grep -c '"event": "round"' kept.jsonl)
until_there '"event": "round"' kept.jsonl $((lines + 2))
kill -INT "$kept"
ends kept "$kept" 130

# Unfinished models: a killed process's file is removed; those of a live
# process and files of other names stay
true &
dead=$!
wait "$dead"
for part in "one.json.$dead-0.part" "one.json.$$-0.part" \
    "one.json.$dead-0.part.txt" "two.json.$dead-0.part" "one.json.x-0.part"; do
    echo part >"$part"
done
# shellcheck disable=SC2086 # words
gives 0 lasso train "$year_train" $common --model one.json
[ ! -e "one.json.$dead-0.part" ] || fail "a killed process's part stays"
for part in "one.json.$$-0.part" "one.json.$dead-0.part.txt" \
    "two.json.$dead-0.part" "one.json.x-0.part"; do
    [ -e "$part" ] || fail "$part is gone"
done

# A FIFO in place of a checkpoint
mkdir fifo
mkfifo fifo/checkpoint-000001.strads
code=0
# shellcheck disable=SC2086 # words
timeout -k 1 20 "$STRADS_BIN" lasso train "$year_train" $common --resume fifo \
    --model m.json >out 2>err || code=$?
same "$code" 2 "a FIFO for a checkpoint"
says err "not a plain file"

# Node 0 by this machine's name reads node 0's path
name=$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)
if getent ahosts "$name" | grep -q '^127\.\|^::1'; then
    # shellcheck disable=SC2086 # words
    start first lasso train "$year_train" $common --workers 1 --nodes 2 \
        --listen "tcp://$name:0" --model named.json
    first=$child
    start second join "$(url_of first)" --workers 1
    second=$child
    ends first "$first" 0
    ends second "$second" 0
    same_bits "a host by its name" one.json named.json
fi

# Node 0 is killed after the run, before its model is renamed. It is restarted
# with --resume, and the other nodes are still there
if [ -z "$STRADS_SANITIZE" ]; then # which wants to be loaded first
    cat >killer.c <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int rename(const char *from, const char *to)
{
    if (strstr(to, "slow.json") &&
        open("killed", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0)
        (void)raise(SIGKILL);
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
END
    "$STRADS_CC" -shared -fPIC -o killer.so killer.c
    LD_PRELOAD=$folder/killer.so start away launch -n 3 -- lasso train \
        "$year_train" --lambda-ratio 0.02 --deterministic --partitions 6 \
        --seed 5 --checkpoint checkpoints --model slow.json
    ends away "$child" 0
    says away.err "process 0 was ended by signal 9" "process 0 is started again"
    same_bits "node 0 killed at the end" one.json slow.json
fi

# A waiting node is notified of the end of the run
# shellcheck disable=SC2086 # words
start first lasso train "$year_train" $endless --workers 1 --nodes 2 \
    --listen "ipc://$folder/over.sock" --model m.json --log over.jsonl
first=$child
url=$(url_of first)
start second join "$url" --workers 1
second=$child
until_there '"event": "round"' over.jsonl
start third join "$url" --workers 1
third=$child
until_there "this node waits" third.err
kill -INT "$first"
ends first "$first" 130
ends second "$second" 0
ends third "$third" 0
says third.err "is over"

# A resumed run waits six times --reconnect for its nodes, then continues alone
# shellcheck disable=SC2086 # words
start half lasso train "$year_train" $common --max-rounds 9 --checkpoint half
ends half "$child" 3
began=$(date +%s)
# shellcheck disable=SC2086 # words
start late lasso train "$year_train" $common --resume half --nodes 2 \
    --reconnect .25 --listen "ipc://$folder/late.sock" --model late.json
ends late "$child" 0
says late.err "0 of 1 other nodes have joined in the 1.5 s after --resume"
[ $(($(date +%s) - began)) -lt 30 ] || fail "a resumed run waited too long"
finish
