#!/bin/sh
# strads sgd-logistic train and predict on a century of speeches: awk
# recomputes the objective from model and data; bounds, Ctrl-C, bad input.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# weigh MODEL DATA LAMBDA: the objective with label 1 against others; the rows'
# sums go to ./weighed.
weigh() {
    awk -v lambda="$3" "$read_model"'
    {
        z = score()
        printf "%.12g\n", z >"weighed"
        loss += log(1 + exp($1 == 1 ? -z : z))
        rows++
    }
    END {
        for (j in w) squares += w[j] ^ 2
        printf "%.15g\n", loss / rows + lambda / 2 * squares
    }' "$1" "$2"
}

# trains NAME WORDS...: the model is NAME.json, with a correct objective.
trains() {
    name=$1
    shift
    gives 0 sgd-logistic train --no-intercept "$@" --model "$name.json" --log "$name.jsonl"
    cp err "$name.err"
}

trains first "$party" --lambda 0.001 --epochs 30 --intercept --workers 2 \
    --seed 5
near "$(weigh first.json "$party" 0.001)" "$(member first.json objective)" \
    1e-9 "the objective, weighed again"
says first.json '"program": "sgd-logistic"' '"classes": "-1,1"' \
    '"staleness": "1"' '"step": "theorem"' '"columns": 2000' '"seed": 5'
says first.err "done after" "% computing" "% waiting" "% network" \
    "labels -1,1: the second is positive" "steps by the theorem with F"
says first.jsonl '"event": "round"' '"waiting_seconds"' '"network_seconds": 0' \
    '"event": "end", "reason": "stopped"'
same "$(grep -c '"event": "round"' first.jsonl)" 31 "epochs, and the end"

# Predictions: probabilities, decision values, labels
gives 0 sgd-logistic predict first.json "$party_test" --write decision
weigh first.json "$party_test" 0 >/dev/null
same "$(wc -l <out)" 373 "the number of predictions"
paste out weighed | awk '{
    d = $1 - $2; if (d < 0) d = -d
    if (d > 1e-9) { print; exit 1 } }' || fail "a decision value differs"
cp out decisions
gives 0 sgd-logistic predict first.json "$party_test" --output p.txt
says err "373 rows" "% of labels right" "log loss"
paste p.txt decisions | awk '{
    d = $1 - 1 / (1 + exp(-$2)); if (d < 0) d = -d
    if (d > 1e-12) { print; exit 1 } }' || fail "a probability differs"
gives 0 sgd-logistic predict first.json "$party_test" --write label --quiet
[ ! -s err ] || fail "--quiet said: $(cat err)"
paste out decisions | awk '$1 != ($2 > 0 ? 1 : -1) { exit 1 }' ||
    fail "a label contradicts its decision value"
right=$(paste -d ' ' out "$party_test" | awk '$1 == $2' | wc -l)
[ "$right" -gt 250 ] || fail "only $right of 373 labels are right"

# Staleness 0: the same bits on every run
for turn in 1 2 3; do
    trains "bits$turn" "$party" --staleness 0 --partitions 3 --epochs 5
    grep -E '"(index|value)"' "bits$turn.json" >"bits$turn"
done
cmp -s bits1 bits2 && cmp -s bits1 bits3 || fail "staleness 0: runs differ"

# Other staleness and steps; other label names give the same classes
for words in "--staleness 4" "--staleness adaptive --partitions 3" \
    "--staleness infinite --step constant --rate 1" \
    "--staleness hogwild --step decay --partitions 3" "--step decay --rate 2" "--f32" "--batch 1 --epochs 3"; do
    trains other "$party" --lambda 0.001 $words
    awk -v o="$(member other.json objective)" 'BEGIN { exit !(o < 0.69) }' ||
        fail "$words: nothing was learnt"
done
sed 's/^-1/0/; s/^+*1/5/' "$party" >named.svm
trains named named.svm --staleness 0 --partitions 3 --epochs 5
grep -E '"(index|value)"' named.json >named
cmp -s bits1 named || fail "labels 0 and 5 train another model"
says named.json '"classes": "0,5"'
gives 0 sgd-logistic predict named.json named.svm --write label
sort -u out >labels
same "$(tr '\n' ' ' <labels)" "0 5 " "labels that are predicted"
trains turned named.svm --staleness 0 --partitions 3 --epochs 5 --classes 5,0
grep -E '"value"' turned.json | tr -d '[]"value: ' | tr ',' '\n' >a
grep -E '"value"' named.json | tr -d '[]"value: ' | tr ',' '\n' >b
paste a b | awk 'NF == 2 && $1 != -$2 { print; exit 1 }' ||
    fail "with the other label positive, weights are not the opposite"
trains warm "$party" --start first.json --epochs 1 --lambda 0.001 \
    --step constant --rate 1e-9 --intercept

# A hinge: labels and decision values, no probabilities
trains hinge "$party" --loss hinge --staleness hogwild --step decay --rate 2 \
    --lambda 0.001 --workers 2
says hinge.json '"loss": "hinge"' '"staleness": "hogwild"'
says hinge.err "loss hinge, staleness hogwild"
gives 0 sgd-logistic predict hinge.json "$party_test" --write label --output l
gives 0 sgd-logistic predict hinge.json "$party_test" --output d
same "$(sort -u l | tr '\n' ' ')" "-1 1 " "labels of a hinge"
refuses 2 '' sgd-logistic predict hinge.json "$party_test" --write probability

# Bounds: the current model, and its objective
gives 0 sgd-logistic train --no-intercept "$party" --epochs 1000000 --time-limit 0.3 \
    --model limit.json --log limit.jsonl
says err "stopped by --time-limit"
says limit.jsonl '"reason": "time-limit"'
near "$(weigh limit.json "$party" 0.0001)" "$(member limit.json objective)" \
    1e-9 "the objective at a time limit"
gives 0 sgd-logistic train --no-intercept "$party" --epochs 1000000 --max-rounds 50
says err "stopped by --max-rounds after 50 clocks"

# Ctrl-C and SIGTERM, in every mode of waiting
for words in "INT 0" "TERM infinite --step constant" \
    "INT hogwild --step constant"; do
    set -- $words
    signal=$1
    shift
    interrupts cut "$signal" sgd-logistic train --no-intercept "$party" --epochs 1000000 \
        --workers 3 --staleness "$@"
    near "$(weigh cut.json "$party" 0.0001)" "$(member cut.json objective)" \
        1e-9 "the objective of an interrupted run"
done

# Bad input: one message, exit code 2, no model bad TEXT WORDS...
bad() {
    text=$1
    shift
    refuses 2 "$text" sgd-logistic train "$@" --model bad.json --quiet
    [ ! -e bad.json ] || fail "$*: a model was written"
    rm -f bad.json
}
bad '--staleness some: expected' "$party" --staleness some
bad '--staleness -1: expected' "$party" --staleness -1
bad '--staleness 1x: expected' "$party" --staleness 1x
bad '--staleness infinite: the theorem has no step' "$party" --staleness infinite
bad '--staleness hogwild: the theorem has no step' "$party" --staleness hogwild
bad '--loss square: expected logistic' "$party" --loss square
refuses 2 'nodes, which share no memory' simulate sgd-logistic "$party" \
    --staleness hogwild --step decay --workers 2
bad '--step' "$party" --step fast
bad '--batch 0: expected' "$party" --batch 0
bad '--lambda 0: expected' "$party" --lambda 0
bad '--lambda' "$party" --lambda nan
bad 'unknown option --stalenes; did you mean --staleness?' "$party" \
    --stalenes 1
bad '--classes 1,1: expected' "$party" --classes 1,1
bad '--classes 1,2,3: expected two labels' "$party" --classes 1,2,3
bad 'has the label 1' "$party" --classes 2,3 --workers 1
printf '1 1:1\n2 1:2\n3 2:1\n' >three.svm
bad 'row 3 has the label 3' three.svm --workers 1
bad 'expected labels of two values' three.svm --workers 3
printf '4 1:1\n4 1:2\n' >one.svm
bad 'all rows have the label 4' one.svm
bad 'cannot be' none.svm
: >empty.svm
bad '' empty.svm
printf '1 1:nan\n' >nan.svm
bad '' nan.svm
printf '%s\n' '%%MatrixMarket matrix coordinate real general' \
    '2 2 2' '1 1 1' '2 2 3' >bare.mtx
bad 'needs a label for each row' bare.mtx
run sgd-logistic train --no-intercept "$party" --step constant --rate 1e300 --epochs 9 \
    --model bad.json
same "$code" 1 "the exit code when weights overflow"
says err "the weights overflow"
[ ! -e bad.json ] || fail "weights that overflow left a model"

# Predict accepts only models of its own program that name the labels
gives 0 lasso train --no-intercept "$party" --lambda 0.01 --model lasso.json
refuses 2 'expected one of sgd-logistic' sgd-logistic predict lasso.json \
    "$party"
refuses 2 'expected one of lasso' lasso predict first.json "$party"
sed 's/"classes"/"labels"/' first.json >nameless.json
refuses 2 'do not name the labels' sgd-logistic predict nameless.json "$party"
refuses 2 'expected probability' sgd-logistic predict first.json "$party" \
    --write odds
finish
