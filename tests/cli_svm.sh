#!/bin/sh
# strads svm train and predict on a century of speeches: awk recomputes both
# bounds from model and data; over nodes, simulated, bad input.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# weigh MODEL DATA POWER: 1/2 |w|^2 + sum max(0, 1 - y z)^POWER, without bias;
# the rows' sums go to ./weighed.
weigh() {
    awk -v power="$3" "$read_model"'
    {
        z = score()
        printf "%.12g\n", z >"weighed"
        m = 1 - ($1 == 1 ? z : -z)
        if (m > 0) loss += m ^ power
    }
    END {
        for (j in w) squares += w[j] ^ 2
        printf "%.15g\n", loss + squares / 2
    }' "$1" "$2"
}

# weigh_l1 MODEL DATA: (|w|_1 + sum max(0, 1 - y z)^2) / rows
weigh_l1() {
    awk "$read_model"'
    {
        m = 1 - ($1 == 1 ? 1 : -1) * score()
        if (m > 0) loss += m ^ 2
        rows++
    }
    END {
        for (j in w) sum += w[j] < 0 ? -w[j] : w[j]
        printf "%.15g\n", (loss + sum) / rows
    }' "$1" "$2"
}

for workers in 1 2 4; do
    gives 0 svm train --no-intercept "$party" --workers $workers \
        --partitions $workers --loss hinge --model hinge.json --log hinge.jsonl
    says err "converged after" "hinge at C = 1" "support vectors" \
        "labels -1,1: the second is positive"
    near "$(weigh hinge.json "$party" 1)" "$(member hinge.json objective)" \
        1e-9 "the hinge objective, weighed again"
    gives 0 svm train --no-intercept "$party" --workers $workers \
        --partitions $workers --model squared.json
    near "$(weigh squared.json "$party" 2)" "$(member squared.json objective)" \
        1e-9 "the squared objective, weighed again"
    cp hinge.json "hinge$workers.json"
done
near "$(member hinge4.json objective)" "$(member hinge1.json objective)" 2e-6 \
    "the objective on 4 workers"
says hinge.json '"program": "svm"' '"loss": "hinge"' '"classes": "-1,1"' \
    '"columns": 2000'
says hinge.jsonl '"event": "round"' '"updates_other": 0' \
    '"event": "end", "reason": "converged"'

# Predictions: labels, decision values
gives 0 svm predict hinge1.json "$party_test" --write decision
weigh hinge1.json "$party_test" 1 >/dev/null
same "$(wc -l <out)" 373 "the number of predictions"
paste out weighed | awk '{
    d = $1 - $2; if (d < 0) d = -d
    if (d > 1e-9) { print; exit 1 } }' || fail "a decision value differs"
cp out decisions
gives 0 svm predict hinge1.json "$party_test"
says err "373 rows" "% of labels right"
paste out decisions | awk '{ if ($1 != ($2 > 0 ? 1 : -1)) exit 1 }' ||
    fail "a label does not follow from its decision value"

# Other labels, a bias, weights, numbers
awk '{ $1 = $1 == 1 ? "7" : "3"; print }' "$party" >other.svm
gives 0 svm train other.svm --loss hinge --workers 1 --bias 1 --tolerance 1e-4 \
    --class-weight balanced --model other.json
says other.json '"classes": "3,7"' '"intercept": '
gives 0 svm predict other.json other.svm
same "$(sort -u out | tr '\n' ' ')" "3 7 " "the labels"
gives 0 svm train --no-intercept "$year_train" --loss epsilon --epsilon 0.5 --c 0.1 \
    --model year.json
gives 0 svm predict year.json "$year_test"
says err "root mean squared error"

# Over TCP, and simulated: the same objective
on_two 0 svm train --no-intercept "$party" --loss hinge --deterministic --model nodes.json
gives 0 svm train --no-intercept "$party" --loss hinge --workers 1 --partitions 2 --pools 2 \
    --deterministic --model alone.json
same "$(member nodes.json objective)" "$(member alone.json objective)" \
    "the objective over TCP"
gives 0 simulate svm --no-intercept "$party" --loss hinge --workers 4 --cost 2
says out "objective"

# An L1 penalty: its objective is liblinear's divided by C x rows; over TCP and
# simulated. Several labels, each against the rest
gives 0 svm train --no-intercept "$party" --l1-ratio 1 --workers 1 --deterministic \
    --partitions 2 --model sparse.json
says err "squared-hinge, l1-ratio 1; labels -1,1"
near "$(weigh_l1 sparse.json "$party")" "$(member sparse.json objective)" \
    1e-9 "the objective with an L1 penalty, weighed again"
on_two 0 svm train --no-intercept "$party" --l1-ratio 1 --classes=-1,1 --deterministic \
    --model far.json
same "$(member far.json objective)" "$(member sparse.json objective)" \
    "the objective with an L1 penalty over TCP"
gives 0 simulate svm-l1 --no-intercept "$party" --workers 4 --cost 2
says out "objective"
awk '{ $1 = NR % 3 + 5; print }' "$party" >three.svm
gives 0 svm train --no-intercept three.svm --l1-ratio 0 --c 0.1 --workers 2 \
    --partitions 2 --model three.json
says err "labels 5,6,7"
gives 0 svm predict three.json three.svm --write decision
awk '{ best = 1; for (k = 2; k <= NF; k++) if ($k > $best) best = k
    print best + 4 }' out >by_hand
gives 0 svm predict three.json three.svm
cmp -s out by_hand || fail "a label is not that of the largest of three sums"
gives 0 svm evaluate three.json three.svm
says out "accuracy"
gives 0 svm show three.json
says out "of label 6"

# Standardised: as with columns divided explicitly; over TCP, and in a model of
# a run that was stopped early
awk 'FNR == NR { for (k = 2; k <= NF; k++) { split($k, e, ":")
        squares[e[1]] += e[2] ^ 2 }; rows++; next }
    { printf "%s", $1; for (k = 2; k <= NF; k++) { split($k, e, ":")
        printf " %d:%.17g", e[1], e[2] / sqrt(squares[e[1]] / rows) }
        print "" }' "$party" "$party" >divided.svm
gives 0 svm train --no-intercept divided.svm --loss hinge --c 0.001 --model divided.json
gives 0 svm train --no-intercept "$party" --loss hinge --c 0.001 --standardize --workers 1 \
    --partitions 2 --pools 2 --deterministic --model scaled.json
near "$(member scaled.json objective)" "$(member divided.json objective)" 2e-6 \
    "the objective of standardised columns"
gives 0 svm predict divided.json divided.svm --output by_hand
gives 0 svm predict scaled.json "$party" --output labels
same "$(diff by_hand labels | grep -c '^<')" 0 "labels of standardised columns"
on_two 0 svm train --no-intercept "$party" --loss hinge --c 0.001 --standardize \
    --deterministic --model far.json
same "$(member far.json value)" "$(member scaled.json value)" \
    "coefficients of standardised columns over TCP"
gives 0 simulate svm --no-intercept "$party" --loss hinge --c 0.001 --standardize --workers 4

# A start from a model; invalid input
gives 0 svm train --no-intercept "$party" --loss hinge --start hinge1.json --workers 1
awk '{ $1 = "5"; print }' "$party" >one.svm
refuses 2 "all rows have the label 5" svm train one.svm --quiet

# Several labels in the dual: one problem per label, over TCP too, by name
for loss in hinge squared-hinge; do
    sum=0
    for label in 5 6 7; do
        awk -v l=$label '{ $1 = $1 == l ? 1 : -1; print }' three.svm >of.svm
        gives 0 svm train of.svm --loss $loss --bias 1 --model of.json --quiet
        sum=$(awk -v a="$sum" -v b="$(member of.json objective)" \
            'BEGIN { printf "%.15g", a + b }')
    done
    gives 0 svm train three.svm --loss $loss --bias 1 --model three.json
    says err "labels 5,6,7: each against the rest"
    near "$(member three.json objective)" "$sum" 2e-6 \
        "the objective of three classes by $loss"
    gives 0 svm train three.svm --loss $loss --bias 1 --start three.json
done
gives 0 svm predict three.json three.svm
says err "% of labels right"
same "$(sort -u out | tr '\n' ' ')" "5 6 7 " "the three labels"
gives 0 svm train --no-intercept three.svm --model three.liblinear --quiet
says three.liblinear "nr_class 3" "label 5 6 7"
gives 0 svm predict three.liblinear three.svm
on_two 0 svm train --no-intercept three.svm --classes 5,6,7 --deterministic --model far.json
gives 0 svm train --no-intercept three.svm --workers 1 --partitions 2 --pools 2 \
    --deterministic --model near.json
same "$(member far.json value)" "$(member near.json value)" \
    "coefficients of three classes over TCP"
on_two 2 svm train --no-intercept three.svm
same "$joined" 1 "the code of a process whose run was refused"
says first.err "have to be named: --classes"

# The position of --l1-ratio does not matter, nor in an options file
gives 0 svm train --l1-ratio 1 "$party" --intercept --model first.json --quiet
gives 0 svm train "$party" --intercept --l1-ratio=1 --print-config
cp out l1.config
gives 0 svm train "$party" --config l1.config --model config.json --quiet
gives 0 svm train "$party" --intercept --l1-ratio 1 --model last.json --quiet
for model in first config; do
    same "$(member $model.json objective)" "$(member last.json objective)" \
        "--l1-ratio, $model"
done
gives 0 svm train --bias 1 --print-config
cp out l2.config
gives 0 svm train --config=l2.config "$party" --quiet
gives 0 svm train "$party" --intercept --tolerance 1e-8 --model free.json
gives 0 svm train "$party" --l1-ratio 0 --intercept --tolerance 1e-8 \
    --model columns.json --quiet
member columns.json objective | awk '{ printf "%.12g", 1070 * $1 }' >value
near "$(member free.json objective)" "$(cat value)" 1e-7 \
    "an intercept by rows and by columns"
near "$(member free.json intercept)" "$(member columns.json intercept)" 1e-3 \
    "the intercept by rows and by columns"
refuses 2 'intercept is not penalised' svm train "$party" --intercept --bias 1

# A start includes its intercept
for kind in "--intercept" "--bias 2"; do
    gives 0 svm train --no-intercept "$party" $kind --loss hinge --c 0.1 --tolerance 1e-7 \
        --model cold.json --quiet
    gives 3 svm train --no-intercept "$party" $kind --loss hinge --c 0.1 --max-rounds 1 \
        --start cold.json --model warm.json --quiet
    near "$(member warm.json intercept)" "$(member cold.json intercept)" 1e-9 \
        "the intercept of a start"
done
gives 0 svm train --no-intercept "$party" --loss hinge --start cold.json
says err "the start's intercept is left out"

# A run that a bound ends before the gap is known has not converged either
for kind in "--loss hinge" "--loss squared-hinge" "--l1-ratio 1"; do
    gives 3 svm train --no-intercept "$party" $kind --max-rounds 1 --model cut.json
    says err "stopped by --max-rounds after 1 round and" "gap 1.0e+00"
done
gives 3 svm train --no-intercept "$year_train" --loss epsilon --max-rounds 1

refuses 2 "expected" svm train "$party" --loss logistic
refuses 2 "expected one of lasso" lasso predict hinge1.json "$party_test"
finish
