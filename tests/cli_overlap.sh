#!/bin/sh
# strads glm train --groups with columns in several groups.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

awk 'BEGIN {
    for (i = 1; i <= 60; i++) {
        a = (i * 7919 % 101) / 50 - 1; b = (i * 104729 % 97) / 48 - 1
        c = (i * 1299709 % 89) / 44 - 1; d = (i * 15485863 % 83) / 41 - 1
        printf "%.6g 1:%.6g 2:%.6g 3:%.6g 4:%.6g\n",
            a - 2 * b + (i % 5) / 9, a, b, c, d
    }
}' >plain.svm
# Column 2 is in both groups: the same as if it were there twice.
awk '{ v = substr($3, 3)
    print $1, $2, $3, "3:" v, "4:" substr($4, 3), "5:" substr($5, 3) }' \
    plain.svm >twice.svm
printf '0\n0,1\n1\n1\n' >groups
printf '0\n0\n1\n1\n1\n' >apart
for penalty in group "sparse-group --l1-ratio 0.3"; do
    # shellcheck disable=SC2086 # several words
    gives 0 glm train plain.svm --penalty $penalty --groups groups \
        --lambda 0.05 --intercept --model m.json --quiet --tolerance 1e-9
    # shellcheck disable=SC2086
    gives 0 glm train twice.svm --penalty $penalty --groups apart \
        --lambda 0.05 --intercept --model t.json --quiet --tolerance 1e-9
    near "$(member m.json objective)" "$(member t.json objective)" 1e-8 "$penalty"
    same "$(member m.json columns)" 4 "the columns of the model"
    gives 0 glm predict m.json plain.svm --output m.csv
    gives 0 glm predict t.json twice.svm --output t.csv
    paste m.csv t.csv | awk '$1 == $1 + 0 && ($1 - $2) ^ 2 > 1e-8 { exit 1 }' ||
        fail "other predictions of $penalty"
done

# A table keeps the names of its columns
{ echo "y,a,b,c,d"; sed 's/ [0-9]:/,/g' plain.svm; } >table.csv
gives 0 glm train table.csv --target y --penalty group --groups groups \
    --lambda 0.05 --intercept --model n.json --quiet
gives 0 show n.json
says out b
gives 0 glm predict n.json table.csv

refuses 2 "are for one process" glm train plain.svm --penalty group \
    --groups groups --nodes 2 --listen tcp://127.0.0.1:0
printf '0\n0,0\n1\n1\n' >wrong
refuses 2 'wrong:2: found "0,0"' glm train plain.svm --penalty group --groups wrong
printf '0\n0,1\n1\n' >wrong
refuses 2 "has 3 lines and the data 4 columns" glm train plain.svm \
    --penalty group --groups wrong
refuses 2 "groups" glm train plain.svm --groups groups
refuses 2 "expected" glm path plain.svm --penalty group --groups groups --quiet
finish
