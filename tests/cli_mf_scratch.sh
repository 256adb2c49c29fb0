#!/bin/sh
# strads mf train --scratch: ratings on disk give the bits of ratings in memory.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_mf_scratch.shlib"

for blocks in 4 30; do
    check --rank 8 --blocks $blocks
done

# A search uses them as well.
gives 0 mf train ratings.txt --seed 1 --scratch disk --tune 3 --sweeps 4 --quiet

check_kills ratings.txt --holdout 0

refuses 2 "scratch is for methods sgd, als and cd" \
    mf train ratings.txt --method ccd++ --scratch disk
refuses 2 "scratch is for methods sgd, als and cd" \
    mf train ratings.txt --loss bpr --implicit --scratch disk
refuses 2 "nowhere: cannot hold the scratch file" \
    mf train ratings.txt --tune 0 --scratch nowhere --quiet
# A budget that cannot be kept to is refused, and says what would help.
refuses 1 "make more blocks of the data on disk (--blocks), " \
    mf train ratings.txt --tune 0 --rank 128 --scratch disk --memory 17M --quiet
refuses 1 "keep the data on disk (--scratch DIR), " \
    mf train ratings.txt --tune 0 --rank 128 --memory 17M --quiet
finish
