#!/bin/sh
# strads glm --loss ordinal: ordered labels, thresholds, probabilities.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# Levels of a century: low, middle, high
awk '{ $1 = $1 < 3.4 ? 1 : $1 < 8.1 ? 2 : 4; print }' "$year_train" >three.svm
same "$(cut -d' ' -f1 three.svm | sort -u | tr '\n' ' ')" "1 2 4 " "the labels"

gives 0 glm train three.svm --loss ordinal --lambda 0.003 --model m.json
says err "labels 1,2,4: in this order"
says m.json '"thresholds": [' '"classes": "1,2,4"'
awk "BEGIN { exit !($(member m.json gap) <= 1e-6) }" || fail "no certified gap"

# Probabilities are those of the thresholds, and sum to 1
gives 0 glm predict m.json three.svm --write decision --output z.csv
gives 0 glm predict m.json three.svm --output p.csv
gives 0 glm predict m.json three.svm --write label --output l.csv
tr -d '\n' <m.json | sed 's/.*"thresholds": \[\([^]]*\)\].*/\1/; s/, / /g' >t
paste -d' ' z.csv p.csv l.csv | tr ',' ' ' | awk '
NR == FNR { t1 = $1; t2 = $2; next }
NF == 5 && $1 == $1 + 0 {
    rows++
    a = 1 / (1 + exp($1 - t1)); b = 1 / (1 + exp($1 - t2))
    if ((a - $2) ^ 2 + (b - a - $3) ^ 2 + (1 - b - $4) ^ 2 > 1e-16) bad++
    best = $2 >= $3 && $2 >= $4 ? 1 : $3 >= $4 ? 2 : 4
    if (best != $5) bad++
}
END { print rows + 0, bad + 0 }' t - >counted
same "$(cat counted)" "$(wc -l <three.svm | tr -d ' ') 0" "rows and wrong ones"
gives 0 glm evaluate m.json three.svm
says out accuracy "log loss"

# The order of --classes counts: reversed, coefficients change their sign
gives 0 glm train three.svm --loss ordinal --lambda 0.003 --classes 4,2,1 \
    --model r.json --quiet
near "$(member r.json objective)" "$(member m.json objective)" 2e-6 "reversed"
gives 0 glm train three.svm --loss ordinal --lambda 0.003 --classes 2,1,4 \
    --model w.json --quiet
awk "BEGIN { exit !($(member w.json objective) > $(member m.json objective)) }" ||
    fail "another order fits as well"

# Names of labels; two levels are a logistic regression
awk '{ $1 = $1 == 1 ? "low" : $1 == 2 ? "mid" : "top"; print }' three.svm >names.svm
gives 0 glm train names.svm --loss ordinal --lambda 0.003 --classes low,mid,top \
    --model n.json --quiet
near "$(member n.json objective)" "$(member m.json objective)" 2e-6 "names"
gives 0 glm predict n.json names.svm --write label
says out mid
gives 0 glm train "$party" --loss ordinal --lambda 0.01 --model o2.json --quiet
gives 0 glm train "$party" --loss logistic --lambda 0.01 --intercept \
    --model l2.json --quiet
near "$(member o2.json objective)" "$(member l2.json objective)" 2e-6 "two levels"
gives 0 glm predict o2.json "$party" --output o2.csv
gives 0 glm predict l2.json "$party" --output l2.csv
paste o2.csv l2.csv | awk '$1 == $1 + 0 && ($1 - $2) ^ 2 > 1e-6 { exit 1 }' ||
    fail "other probabilities of two levels"

# Paths and cross-validation: the model of the choice has its thresholds
gives 0 glm cv three.svm --loss ordinal --points 4 --ratio 0.2 --folds 3 \
    --choose best --output cv.csv --model cv.json
gives 0 glm train three.svm --loss ordinal --model best.json --quiet \
    --lambda "$(awk -F, '/best/ { print $1 }' cv.csv)"
tr -d '\n' <cv.json | sed 's/.*"thresholds": \[\([^],]*\),.*/\1/' >first
tr -d '\n' <best.json | sed 's/.*"thresholds": \[\([^],]*\),.*/\1/' >again
near "$(cat first)" "$(cat again)" 1e-3 "its first threshold"

# The same bits on 1 and 2 workers, and on two processes
trains_alike glm three.svm --loss ordinal --lambda-ratio 0.1 --classes 1,2,4 \
    --deterministic --partitions 2 --seed 3

refuses 2 "has no relaxed fits" glm train three.svm --loss ordinal --relax 0
refuses 2 "ordinal" glm train three.svm --loss ordinal --cut columns
refuses 2 "is of the loss ordinal" export m.json m.onnx
sed 's/"thresholds": \[[^]]*\],//' m.json | tr '\n' ' ' |
    sed 's/"thresholds": \[[^]]*\],//' >broken.json
refuses 2 "broken.json" glm predict broken.json three.svm
finish
