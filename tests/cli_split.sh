#!/bin/sh
# strads data split: the last ratings by time, against sort; bad input.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# Times with ties, in no order; users u0 .. u6 with 1 to some ratings
awk 'BEGIN { srand(6); print "userId,movieId,rating,timestamp"
    for (k = 0; k < 200; k++) print "u" int(7 * rand() ^ 2) ",m" k "," k % 5 \
        "," 1000 + int(60 * rand()) ".5"
    print "u9,m1,3,1000" }' >ratings.csv

# lines FILE...: ratings, without headers, sorted
lines()
{
    cat "$@" | grep -v userId | sort
}

gives 0 data split ratings.csv --train early.csv --test late.csv
says err "181 ratings in early.csv, the last 20 in late.csv"
same "$(head -n 1 early.csv)" "$(head -n 1 ratings.csv)" "the header of train"
same "$(head -n 1 late.csv)" "$(head -n 1 ratings.csv)" "the header of test"
tail -n +2 ratings.csv | awk '{ print $0 "," NR }' | sort -t, -k4,4g -k5,5n |
    tail -n 20 | sort -t, -k5,5n | cut -d, -f1-4 >wanted
tail -n +2 late.csv | cmp -s - wanted || fail "not the last 20, in order"
lines early.csv late.csv >both
lines ratings.csv | cmp -s - both || fail "lines are lost or changed"

# Of each user with more than three; a user's last ones, ties by line
gives 0 data split ratings.csv --train early.csv --test late.csv --last 3
tail -n +2 ratings.csv | awk '{ print $0 "," NR }' |
    sort -t, -k1,1 -k4,4gr -k5,5nr | awk -F, '
        { n[$1]++; line[$1, n[$1]] = $0 }
        END { for (u in n) for (k = 1; k <= 3 && n[u] > 3; k++) print line[u, k] }' |
    sort -t, -k5,5n | cut -d, -f1-4 >wanted
tail -n +2 late.csv | cmp -s - wanted || fail "not the last 3 of each user"
if grep -q '^u9' late.csv; then
    fail "the only rating of a user is not trained on"
fi
gives 0 mf train early.csv --tune 0 --test late.csv

# Other columns, separators and packing; no line end at the end
printf 'when;who;thing;stars\n3;a;x;1\n1;a;y;2\n2;b;x;5' | gzip >more.csv.gz
gives 0 data split more.csv.gz --time when --user who --item thing \
    --rating stars --share 0.4 --train a --test b
same "$(cat a b | tr '\n' ' ')" \
    "when;who;thing;stars 1;a;y;2 2;b;x;5 when;who;thing;stars 3;a;x;1 " "lines"
printf '1 2 3 10\n1 3 3 20\n\n2 2 4 15\n' >plain.txt
gives 0 data split plain.txt --share .34 --train a --test b
same "$(cat a b | tr '\n' ' ')" "1 2 3 10 2 2 4 15 1 3 3 20 " "without header"

rm a b
refuses 2 "no column 'stamp', which --time names" data split ratings.csv \
    --time stamp --train a --test b
printf '1 2 3\n' >short.txt
refuses 2 "3 columns and none of times" data split short.txt --train a --test b
printf '1 2 3 4\n1 3 3 x\n' >wrong.txt
refuses 2 "wrong.txt: line 2: found '1'" data split wrong.txt --train a --test b
refuses 2 "--test OUT is missing" data split ratings.csv --train a
refuses 2 "same file" data split ratings.csv --train a --test ratings.csv
refuses 2 "--last" data split ratings.csv --share .2 --last 2 --train a --test b
refuses 2 "--share 1" data split ratings.csv --share 1 --train a --test b
[ ! -e a ] && [ ! -e b ] || fail "a refused split left a file"
finish
