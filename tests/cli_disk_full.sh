#!/bin/sh
# A full disk: the message reports it, no file is left incomplete, existing
# files stay, and failing checkpoints do not end the run. Uses a small tmpfs
# or, if mounting is not allowed, a limit on file size.
if [ -z "${small_disk:-}" ]; then
    if unshare -rm true 2>/dev/null; then
        small_disk=tmpfs exec unshare -rm sh "$0"
    fi
    small_disk=limit
fi
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
mkdir disk
if [ "$small_disk" = tmpfs ]; then
    mount -t tmpfs -o size=4m none disk
    trap 'kill $children 2>/dev/null || :; umount disk || :; rm -rf "$folder"' EXIT
    full="No space left on device"
else
    trap '' XFSZ # for the shell's own writes
    full="File too large"
fi

# fill NUMBER: from now on that process and its children have no space
fill() {
    if [ "$small_disk" = tmpfs ]; then
        dd if=/dev/zero of=disk/filler bs=64k 2>/dev/null || true
    else
        prlimit --pid "$1" --fsize=4096
    fi
}

# Checkpoints: the run continues, earlier checkpoints stay and can be resumed
# from
topics="$STRADS_SOURCE/data/docword.sotu-tiny.txt --topics 20"
# shellcheck disable=SC2086 # words
start checkpoints lda train $topics --sweeps 100000 --partitions 2 \
    --checkpoint disk/checkpoints --checkpoint-every 0.1s
until_there . checkpoints.err
for _ in $(seq 500); do
    ls disk/checkpoints 2>/dev/null | grep -q 'strads$' && break
    sleep 0.02
done
fill "$child"
until_there "cannot be written: $full): the run continues" checkpoints.err
ls disk/checkpoints >before.list
kill -INT "$child"
ends checkpoints "$child" 130
ls disk/checkpoints | cmp -s - before.list || fail "other checkpoints: $(ls disk/checkpoints)"
grep -q 'part' before.list && fail "half a checkpoint: $(cat before.list)"
rm -f disk/filler
# shellcheck disable=SC2086 # words
gives 0 lda train $topics --sweeps 100000 --partitions 2 --resume disk/checkpoints \
    --time-limit 0.5

# A model: the older one stays; a log: the command reports missing lines
gives 0 lasso train --no-intercept "$year_train" --model disk/model.json --log disk/run.jsonl
cp disk/model.json before.json
fill $$
gives 1 lasso train --no-intercept "$year_train" --lambda-ratio 0.001 --model disk/model.json \
    --log /dev/full
says err "disk/model.json: cannot be written: $full" \
    "/dev/full: the log lacks lines: No space left"
cmp -s disk/model.json before.json || fail "the older model is gone"
# shellcheck disable=SC2086 # words
gives 1 lda train $topics --sweeps 5 --model disk/topics.json
says err "cannot be written: $full"
left=$(find disk -name 'topics*' -o -name '*.part')
[ -z "$left" ] || fail "half a model: $left"
finish
