#!/bin/sh
# strads mf train --scratch by whole rows: the bits of a run in memory, also with
# little memory, on two nodes and from a checkpoint. Nothing is left behind.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_mf_scratch.shlib"

# The same with names, in three columns.
awk 'BEGIN { print "user,item,rating" }
    { print "user " $1 ",item " $2 "," $3 }' ratings.txt >named.csv

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

check_kills large.txt --method als

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
