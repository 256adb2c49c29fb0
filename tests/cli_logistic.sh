#!/bin/sh
# strads logistic train and predict on a century of speeches: awk recomputes
# the objective and the optimality conditions from model and data; in one
# process, on two, and simulated; bounds and bad input.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# weigh MODEL DATA LAMBDA: the objective with label 1 against others, then the
# largest absolute gradient's excess over lambda, relative to lambda.
weigh() {
    awk -v lambda="$3" "$read_model"'
    {
        z = score()
        y = $1 == 1 ? 1 : -1
        loss += log(1 + exp(-y * z))
        r = y / (1 + exp(y * z))
        rows++
        for (k = 2; k <= NF; k++) { split($k, e, ":"); g[e[1]] += r * e[2] }
    }
    END {
        for (j in w) l1 += w[j] < 0 ? -w[j] : w[j]
        for (j in g) {
            s = (g[j] < 0 ? -g[j] : g[j]) / rows
            if (s > most) most = s
        }
        printf "%.15g %.3g\n", loss / rows + lambda * l1, most / lambda - 1
    }' "$1" "$2"
}

# trains NAME WORDS...: a run that must converge; its model is NAME.json.
trains() {
    name=$1
    shift
    gives 0 logistic train --no-intercept "$@" --model "$name.json" --log "$name.jsonl"
    cp err "$name.err"
    below=$(awk -v g="$(member "$name.json" gap)" 'BEGIN { print g <= 1e-6 }')
    same "$below" 1 "$name: the gap is at most the tolerance"
}

# is_optimal NAME LAMBDA
is_optimal() {
    weigh "$1.json" "$party" "$2" >weighed
    read -r value above <weighed
    near "$value" "$(member "$1.json" objective)" 1e-9 \
        "$1: the objective, weighed again"
    awk -v a="$above" 'BEGIN { exit !(a < 1e-3) }' ||
        fail "$1: a column's slope is $above above lambda"
}

# begins_at LOG MODEL NAME: a run's first objective is that of a model.
begins_at() {
    grep -m 1 '"objective": [0-9]' "$1" >line
    near "$(member line objective)" "$(member "$2" objective)" 1e-9 \
        "$3 from its own model"
}

trains first "$party" --lambda 0.001 --intercept --workers 2 --partitions 2 \
    --seed 5
is_optimal first 0.001
says first.jsonl '"workers": 2, "partitions": 2'
says first.json '"program": "logistic"' '"columns": 2000' '"seed": 5' \
    '"classes": "-1,1"' '"lambda": 0.001'
says first.err "converged" "labels -1,1" "lambda 0.001" "of lambda_max"
[ "$(member first.json intercept)" != 0 ] || fail "there is no intercept"
says first.jsonl '"updates_policy": 0'
trains plain "$party" --lambda-ratio 0.1
is_optimal plain "$(member plain.json lambda)"

# Equivalent options and ways to run
trains by_c "$party" --c 2 --intercept
says by_c.json '"c": 0,'
near "$(member by_c.json lambda)" "$(awk 'BEGIN { print 1 / 2140 }')" 1e-5 \
    "lambda by C"
for words in "--partitions 3" "--workers 1"; do
    trains other "$party" --lambda 0.001 --intercept $words
    near "$(member other.json objective)" "$(member first.json objective)" \
        2e-6 "$words"
done
# A policy chooses blocks of the dual, which an L2 penalty alone is solved by.
trains ridge "$party" --l1-ratio 0 --c 1 --intercept
for words in "--policy uniform" "--policy cyclic" "--blocks 2" "--depth 1"; do
    trains other "$party" --l1-ratio 0 --c 1 --intercept $words
    near "$(member other.json objective)" "$(member ridge.json objective)" \
        2e-6 "the dual, $words"
    gives 2 logistic train "$party" --lambda 0.001 $words
    says err "program logistic has no use for it" "leave it out"
done
trains single "$party" --lambda 0.001 --intercept --f32
near "$(member single.json objective)" "$(member first.json objective)" 1e-4 \
    "--f32"
trains warm "$party" --lambda 0.001 --intercept --start first.json
near "$(member warm.json objective)" "$(member first.json objective)" 2e-6 warm
[ "$(member warm.json rounds)" -lt "$(member first.json rounds)" ] ||
    fail "a warm start took $(member warm.json rounds) rounds"

# The same bits on 1 and 2 workers, on two processes, and simulated
trains_alike logistic "$party" --lambda-ratio 0.05 --intercept --classes -1,1 \
    --deterministic --partitions 4 --seed 3
simulates bits1.json logistic "$party" --lambda-ratio 0.05 --intercept \
    --partitions 4 --workers 4 --seed 3

# Weighted classes and rows
trains balanced "$party" --lambda 0.001 --class-weight balanced
trains weighed "$party" --lambda 0.001 --class-weight 1=2,-1=0.5
awk '{ print $1 == 1 ? 2 : 0.5 }' "$party" >weights
trains rows "$party" --lambda 0.001 --weights weights
near "$(member rows.json objective)" "$(member weighed.json objective)" 2e-6 \
    "row weights that are class weights"
awk '{ print; if (NR % 3 == 0) print }' "$party" >twice.svm
awk '{ print NR % 3 == 0 ? 2 : 1 }' "$party" >weights
trains twice twice.svm --lambda 0.001 --intercept --standardize
trains counted "$party" --lambda 0.001 --intercept --standardize \
    --weights weights
near "$(member counted.json objective)" "$(member twice.json objective)" 2e-6 \
    "a row of weight 2 and a row that is there twice"

# Predictions: probabilities, decision values, labels of any name
gives 0 logistic predict first.json "$party_test" --write decision --quiet
cp out decisions
gives 0 logistic predict first.json "$party_test" --output p.txt
says err "373 rows" "% of labels right" "log loss"
paste p.txt decisions | awk '{
    d = $1 - 1 / (1 + exp(-$2)); if (d < 0) d = -d
    if (d > 1e-12) { print; exit 1 } }' || fail "a probability differs"
sed 's/^-1/0/; s/^+*1/5/' "$party" >named.svm
trains named named.svm --lambda 0.001 --intercept
says named.json '"classes": "0,5"'
gives 0 logistic predict named.json named.svm --write label
sort -u out >labels
same "$(tr '\n' ' ' <labels)" "0 5 " "labels that are predicted"
right=$(paste -d ' ' out named.svm | awk '$1 == $2' | wc -l)
[ "$right" -gt 700 ] || fail "only $right of 1070 labels are right"
trains turned named.svm --lambda 0.001 --intercept --classes 5,0
near "$(member turned.json intercept)" \
    "$(awk -v b="$(member named.json intercept)" 'BEGIN { print -b }')" 1e-2 \
    "the intercept when the other label is positive"

# Three classes: a third of the speeches get another label
awk '{ $1 = NR % 3 ? $1 : 7; print }' "$party" >three.svm
trains three three.svm --lambda 0.002 --intercept
says three.json '"width": 3' '"classes": "-1,1,7"' '"intercept": ['
says three.err "labels -1,1,7: each against the rest"
gives 0 logistic predict three.json three.svm --quiet
awk 'NF != 3 || $1 + $2 + $3 < 1 - 1e-9 || $1 + $2 + $3 > 1 + 1e-9 {
    print; exit 1 }' out || fail "three probabilities do not add up to 1"
gives 0 logistic predict three.json three.svm --write decision --quiet
cp out decisions
gives 0 logistic predict three.json three.svm --write label
says err "% of labels right"
paste -d ' ' out decisions | awk '{
    best = $2 >= $3 && $2 >= $4 ? -1 : $3 >= $4 ? 1 : 7
    if ($1 != best) { print; exit 1 } }' || fail "a label is not the best one"
awk '{ $1 = $1 == 7 ? 1 : 0; print }' three.svm >seven.svm
trains seven seven.svm --lambda 0.002 --intercept --tolerance 1e-8
gives 0 logistic predict seven.json three.svm --write decision --quiet
paste -d ' ' out decisions | awk '{ d = $1 - $4; if (d < 0) d = -d
    if (d > 1e-2) { print; exit 1 } }' || fail "7 against the rest differs"
gives 0 logistic train three.svm --lambda 0.002 --intercept \
    --start three.json --model again.json
near "$(member again.json objective)" "$(member three.json objective)" 2e-6 \
    "three classes from their own model"
refuses 2 'its labels are 0,1, and the data has rows with the label' \
    logistic train three.svm --start seven.json --quiet

# All classes at once, by softmax: probabilities, log loss, the same bits on
# two processes, and simulated
soft="--multiclass softmax --lambda 0.003 --intercept --deterministic
    --partitions 3 --classes -1,1,7"
trains soft three.svm $soft --workers 2
says soft.json '"width": 3' '"multiclass": "softmax"'
says soft.err "labels -1,1,7: all at once, by softmax"
gives 0 logistic predict soft.json three.svm --write decision --quiet
cp out decisions
gives 0 logistic predict soft.json three.svm
says err "% of labels right" "log loss"
loss=$(sed -n 's/.*log loss //p' err)
paste -d ' ' out decisions | awk '{
    sum = exp($4) + exp($5) + exp($6)
    for (k = 1; k <= 3; k++) {
        d = $k - exp($(k + 3)) / sum; if (d < 0) d = -d
        if (d > 1e-9) { print; exit 1 } } }' ||
    fail "a probability is not the softmax of its decisions"
paste -d ' ' three.svm out | awk '{
    p = $1 == 7 ? $NF : $1 == 1 ? $(NF - 1) : $(NF - 2); sum -= log(p) }
    END { printf "%.17g", sum / NR }' >own
near "$loss" "$(cat own)" 1e-5 "the log loss of a softmax"
# same_on_two MODEL WORDS...: two processes train MODEL.json to the same bits.
same_on_two() {
    model=$1
    shift
    on_two 0 logistic train --no-intercept "$@" --model two.json
    same_bits "1 and 2 processes" "$model.json" two.json
}
same_on_two soft three.svm $soft
# ... also from a start with intercepts
trains warm three.svm $soft --start soft.json --tolerance 1e-7
begins_at warm.jsonl soft.json softmax
same_on_two warm three.svm $soft --start soft.json --tolerance 1e-7
simulates soft.json logistic three.svm --multiclass softmax --lambda 0.003 \
    --intercept --partitions 3 --workers 3

# Data from a pipe is read once, by the program that handles all data. The dual
# also handles few columns: their number is known only after reading.
awk '{ printf "%s", $1; for (k = 2; k <= 4; k++) { split($k, e, ":")
    printf " %d:%s", k - 1, e[2] } print "" }' "$party" >narrow.svm
trains narrow narrow.svm --l1-ratio 0 --c 1 --tolerance 1e-8
"$STRADS_BIN" logistic train --no-intercept /dev/stdin --l1-ratio 0 --c 1 --tolerance 1e-8 \
    --model piped.json --quiet <narrow.svm || fail "narrow data, redirected"
mkfifo pipe
cat narrow.svm >pipe &
gives 0 logistic train --no-intercept pipe --l1-ratio 0 --c 1 --tolerance 1e-8 \
    --model piped.json --quiet
near "$(member piped.json objective)" "$(member narrow.json objective)" 1e-7 \
    "narrow data from a pipe"
cat "$party" >pipe &
gives 0 logistic train --no-intercept pipe --l1-ratio 0 --model piped.json --quiet

# A pure L2 penalty: fitted in the dual, with the same model as by columns, in
# one process, on two, and simulated; by columns if the dual does not apply
trains rows "$party" --l1-ratio 0 --tolerance 1e-9 --workers 2 --partitions 2
says rows.json '"program": "logistic"' '"l1-ratio": 0' '"classes": "-1,1"'
says rows.err "solved in the dual" "labels -1,1: the second is positive"
trains steep "$party" --l1-ratio 0 --lambda-ratio 1
ratio=$(awk -v l="$(member rows.json lambda)" \
    '/of lambda_max/ { printf "%.17g", l / $NF }' steep.err)
trains columns "$party" --l1-ratio 0 --tolerance 1e-9 --lambda-ratio "$ratio"
near "$(member columns.json objective)" "$(member rows.json objective)" 1e-4 \
    "by rows and by columns"
gives 0 logistic predict rows.json "$party_test"
says err "% of labels right"
trains_alike logistic "$party" --l1-ratio 0 --intercept --classes -1,1 \
    --deterministic --partitions 4 --pools 2 --seed 3
[ "$(member bits1.json intercept)" != 0 ] || fail "the dual has no intercept"
trains level "$party" --l1-ratio 0 --intercept --tolerance 1e-9
trains warm "$party" --l1-ratio 0 --intercept --tolerance 1e-9 \
    --start level.json
begins_at warm.jsonl level.json "the dual"
simulates rows.json logistic-dual --no-intercept "$party" --partitions 4 --workers 4 --seed 3
trains three_l2 three.svm --l1-ratio 0 --c 0.01
says three_l2.json '"width": 3'
trains again three.svm --l1-ratio 0 --c 0.01 --workers 1
near "$(member again.json objective)" "$(member three_l2.json objective)" 2e-6 \
    "three classes, L2 alone"

# ... with few columns: by Newton's method, with the same bits on two workers,
# on two processes over TCP, and the same minimum simulated
awk '{ line = $1; for (k = 2; k <= NF; k++) { split($k, at, ":")
    if (at[1] <= 30) line = line " " $k } print line }' "$party" >narrow.svm
# (softmax: equivalent for two labels. Processes that wait for others do not
# know the number of columns, and use the dual)
trains_alike logistic narrow.svm --l1-ratio 0 --c 1 --intercept \
    --classes -1,1 --deterministic --partitions 4 --tolerance 1e-9 \
    --multiclass softmax
simulates bits1.json logistic narrow.svm --l1-ratio 0 --c 1 --intercept \
    --partitions 4 --workers 4 --seed 3

# Bounds and bad input
for kind in "" "--l1-ratio 0 --c 1" "--classes -1,1 --intercept"; do
    gives 3 logistic train --no-intercept "$party" $kind --max-rounds 1 --quiet
done
gives 3 logistic path --no-intercept "$party" --max-rounds 1 --quiet
gives 3 logistic train --no-intercept "$party" --lambda-ratio 0.001 --max-rounds 20 \
    --model bound.json
gives 0 logistic predict bound.json "$party_test" --quiet
bad() {
    text=$1
    shift
    refuses 2 "$text" logistic train "$@" --model bad.json --quiet
    [ ! -e bad.json ] || fail "$*: a model was written"
}
bad 'set the same number' "$party" --lambda 1 --c 1
bad '--l1-ratio 2: expected' "$party" --l1-ratio 2
bad '--class-weight heavy: expected' "$party" --class-weight heavy
bad 'no row has the label 7' "$party" --class-weight 7=1
bad 'there are rows with the label -1' "$party" --classes 1,2
bad 'nothing: cannot be opened' "$party" --weights nothing
printf '4 1:1\n4 1:2\n' >one.svm
bad 'all rows have the label 4' one.svm
finish
