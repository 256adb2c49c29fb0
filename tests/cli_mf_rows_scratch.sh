#!/bin/sh
# strads mf train --scratch by whole rows: the bits of a run in memory, also with
# little memory, on two nodes and from a checkpoint. Nothing is left behind.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

mkdir disk
awk 'BEGIN { srand(3)
    for (u = 0; u < 900; u++)
        for (k = 0; k < 30; k++) {
            i = int(rand() * rand() * 500)
            if (!((u, i) in seen))
                print u, i, 1 + int(rand() * 3) + (u + i) % 3
            seen[u, i] = 1
        } }' >ratings.txt
# The same with names, in three columns.
awk 'BEGIN { print "user,item,rating" }
    { print "user " $1 ",item " $2 "," $3 }' ratings.txt >named.csv

# same_model NAME: NAME.json has the factors of memory.json, and no file is
# left.
same_model() {
    for part in items users; do
        cmp -s "memory.json.$part.npy" "$1.json.$part.npy" ||
            fail "$common: $1: other $part"
    done
    [ -z "$(ls -A disk)" ] || fail "$common: $1: left $(ls disk)"
}

# check METHOD...: on threads, on two nodes, and from a checkpoint.
check() {
    common="mf train ratings.txt $* --tune 0 --sweeps 4 --partitions 4 --seed 7"
    gives 0 $common --model memory.json
    for workers in 1 4; do
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

    rm -rf kept again
    gives 0 $common --scratch disk --checkpoint kept --checkpoint-every 0.001 \
        --quiet
    rm "kept/$(ls kept | tail -1)" # go back to the one before
    cp -r kept again
    gives 0 $common --scratch disk --resume kept --model resumed.json
    same_model resumed
    gives 0 $common --resume again --model resumed.json
    same_model resumed
}

check --method als --rank 10 --blocks 30
check --method cd --rank 20 --holdout 0.2
check --method als --nonnegative --rank 5 --blocks 8
check --implicit --rank 6 --cg-steps 0
check --implicit --rank 9 --cg-steps 2 --blocks 30

# Names, and the search of options.
common="mf train named.csv --method als --sweeps 3 --seed 1 --tune 3 --quiet"
gives 0 $common --model memory.json
gives 0 $common --scratch disk --model own.json
same_model own
grep -q '"item 7"' own.json || fail "names are lost"

# The data is read in several parts, and has more blocks than memory holds.
awk 'BEGIN { for (u = 0; u < 5000; u++)
    for (k = 0; k < 60; k++)
        print u, (u * 7 + k * (1 + u % 13)) % 3000, 1 + (u + k) % 5 }' >large.txt
for how in "--method als" "--implicit --cg-steps 2"; do
    common="mf train large.txt $how --rank 4 --tune 0 --sweeps 2 --workers 1 \
        --blocks 40"
    gives 0 $common --model memory.json
    gives 0 $common --scratch disk --memory 32M --model own.json
    same_model own
    refuses 1 "allow more" $common --memory 20M --quiet
done

# Nothing is left by a process that is killed at any moment.
for after in 0.05 0.1 0.2 0.4; do
    start killed mf train large.txt --method als --rank 8 --tune 0 \
        --sweeps 100000 --patience 100000 --scratch disk --quiet
    sleep "$after"
    kill -9 "$child"
    wait "$child" 2>/dev/null || :
    [ -z "$(ls -A disk)" ] || fail "killed after $after s: left $(ls disk)"
done

refuses 2 "nowhere: cannot hold the scratch file" \
    mf train ratings.txt --method als --tune 0 --scratch nowhere --quiet
(
    ulimit -f 8 # blocks of 512 bytes: the file cannot grow
    trap '' XFSZ
    refuses 2 "scratch space" \
        mf train ratings.txt --method als --tune 0 --scratch disk --quiet
    exit "$failures"
) || fail "a file that cannot grow"
finish
