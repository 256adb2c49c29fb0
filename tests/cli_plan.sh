#!/bin/sh
# strads plan make|check|show, and --plan of a program with a ring.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

gives 0 plan make four.json --partitions 4 --blocks 8 --planner rotation
says err 'four.json: 4 partitions, 8 blocks, 4 steps' '1.000 times'
gives 0 plan show four.json
cat >want <<'END'
4 partitions, 8 blocks, 4 steps; busiest by mean work of a step: 1.000

step    p0    p1    p2    p3  
0       0 4   1 5   2 6   3 7 
1       3 7   0 4   1 5   2 6 
2       2 6   3 7   0 4   1 5 
3       1 5   2 6   3 7   0 4 
END
cmp -s want out || fail "plan show: $(cat out)"
gives 0 plan show four.json --format json
says out '"partitions": 4, "blocks": 8, "steps": 4, "imbalance": 1'

gives 0 plan check four.json --partitions 4 --blocks 8 --balance 1.01
refuses 2 'four.json: has 4 partitions, expected 3' \
    plan check four.json --partitions 3
refuses 2 'four.json: has 8 blocks, expected 9' plan check four.json --blocks 9

# By the counts of a file's columns: nearly even
gives 0 plan make year.json --partitions 3 --data "$year_train" --workers 1
gives 0 plan check year.json --partitions 3 --blocks 6
says err 'year.json: 3 partitions, 6 blocks, 3 steps'

# For every kind of data of a static program: counts of words, ratings, text
gives 0 plan make words.json --partitions 2 --kind corpus \
    --data "$STRADS_SOURCE/data/docword.sotu-tiny.txt"
gives 0 plan check words.json --balance 1.05
gives 0 lda train "$STRADS_SOURCE/data/docword.sotu-tiny.txt" --topics 2 \
    --sweeps 2 --plan words.json
gives 0 plan make votes.json --partitions 2 --kind ratings \
    --data "$STRADS_SOURCE/data/unvotes-tiny.txt"
gives 0 plan check votes.json --balance 1.05
printf 'one two two\ntwo three\n' >some.txt
gives 0 plan make text.json --partitions 2 --kind text --data some.txt
refuses 2 '--kind rows: expected samples' plan make p.json --partitions 2 \
    --kind rows --data some.txt

# Errors are named, and no file is left
sed 's/\[\[0,4\]/[[1,4]/' four.json >broken.json
refuses 2 'broken.json: step 0: block 1 is held by partitions 0 and 1 at once' \
    plan check broken.json
refuses 2 'broken.json: step 0: block 1 is held' plan show broken.json
refuses 2 '--partitions K is missing' plan make none.json
[ ! -e none.json ] || fail "a plan that was not made left a file"
refuses 2 'no/such' plan make no/such/plan.json --partitions 2
refuses 2 'none.json: cannot be read' plan check none.json
refuses 2 '.: cannot be read: Is a directory' plan check .
: >empty.json
refuses 2 'empty.json: is not a plan: line 1 is not JSON' plan check empty.json
refuses 2 'none.svm' plan make p.json --partitions 2 --data none.svm
refuses 2 'half a command; expected strads plan make' plan

# A program without a ring refuses a plan
refuses 2 '--plan: program lasso has no use for it: it has no RING phase' \
    lasso train "$year_train" --plan four.json --workers 2
printf '{"plan": "four.json"}\n' >config.json
refuses 2 '--plan: program lasso has no use for it' \
    lasso train "$year_train" --config config.json
finish
