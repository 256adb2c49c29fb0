#!/bin/sh
# strads mf train --scratch: ratings on disk give the bits of ratings in memory.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

mkdir disk
awk 'BEGIN { srand(3)
    for (u = 0; u < 1500; u++)
        for (k = 0; k < 40; k++) {
            i = int(rand() * rand() * 700)
            if (!((u, i) in seen))
                print u, i, 1 + int(rand() * 3) + (u + i) % 3
            seen[u, i] = 1
        } }' >ratings.txt

# same_model NAME: NAME.json has the factors of memory.json, and no file is
# left.
same_model() {
    for part in items users; do
        cmp -s "memory.json.$part.npy" "$1.json.$part.npy" ||
            fail "$1: other $part"
    done
    [ -z "$(ls -A disk)" ] || fail "$1: left $(ls disk)"
}

for blocks in 4 30; do
    common="mf train ratings.txt --rank 8 --tune 0 --sweeps 6 --partitions 4 \
        --seed 7 --blocks $blocks"
    gives 0 $common --model memory.json
    for workers in 1 2 4; do
        gives 0 $common --workers $workers --scratch disk --model own.json
        same_model own
    done
    start first $common --workers 1 --nodes 2 --listen tcp://127.0.0.1:0 \
        --scratch "$PWD/disk" --model pair.json
    first=$child
    start second join "$(url_of first)" --workers 1
    second=$child
    ends first "$first" 0
    ends second "$second" 0
    same_model pair

    rm -rf kept
    gives 0 $common --scratch disk --checkpoint kept --checkpoint-every 0.001 \
        --quiet
    rm "kept/$(ls kept | tail -1)" # go back to the one before
    cp -r kept again
    gives 0 $common --scratch disk --resume kept --model resumed.json
    same_model resumed
    gives 0 $common --resume again --model resumed.json
    same_model resumed
    rm -rf again
done

# A search uses them as well.
gives 0 mf train ratings.txt --seed 1 --scratch disk --tune 3 --sweeps 4 --quiet

# Nothing is left by a process that is killed at any moment.
for after in 0.05 0.1 0.2 0.4; do
    start killed mf train ratings.txt --rank 8 --tune 0 --sweeps 100000 \
        --holdout 0 --scratch disk --quiet
    sleep "$after"
    kill -9 "$child"
    wait "$child" 2>/dev/null || :
    [ -z "$(ls -A disk)" ] || fail "killed after $after s: left $(ls disk)"
done

refuses 2 "scratch is for methods sgd, als and cd" \
    mf train ratings.txt --method ccd++ --scratch disk
refuses 2 "scratch is for methods sgd, als and cd" \
    mf train ratings.txt --loss bpr --implicit --scratch disk
refuses 2 "nowhere: cannot hold the scratch file" \
    mf train ratings.txt --tune 0 --scratch nowhere --quiet
finish
