#!/bin/sh
# strads lasso train and predict on a century of speeches: awk recomputes the
# objective from model and data.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# weigh MODEL DATA LAMBDA: the Lasso's objective; predictions go to ./weighed.
weigh() {
    awk -v lambda="$3" "$read_model"'
    {
        p = score()
        printf "%.12g\n", p >"weighed"
        squares += ($1 - p) ^ 2
        rows++
    }
    END {
        for (j in w) l1 += w[j] < 0 ? -w[j] : w[j]
        printf "%.15g\n", squares / (2 * rows) + lambda * l1
    }' "$1" "$2"
}

# trains NAME WORDS...: a run that must converge; its model is NAME.json.
trains() {
    name=$1
    shift
    gives 0 lasso train --no-intercept "$@" --model "$name.json" --log "$name.jsonl"
    cp err "$name.err"
    below=$(awk -v g="$(member "$name.json" gap)" 'BEGIN { print g <= 1e-6 }')
    same "$below" 1 "$name: the gap is at most the tolerance"
}

trains first "$year_train" --lambda 0.01 --seed 7
objective=$(member first.json objective)
near "$(weigh first.json "$year_train" 0.01)" "$objective" 1e-9 \
    "the objective, weighed again"
says first.json '"format": "strads-model"' '"version": 1' \
    '"program": "lasso"' '"columns": 2000' '"seed": 7' '"lambda": 0.01'
says first.err "converged" "seed 7" "lambda 0.01" "the model is in first.json"
[ -z "$(ls ./*.part 2>/dev/null)" ] || fail "something was left beside a model"

# The log: a start, increasing rounds, an end with its reason
same "$(head -n 1 first.jsonl | cut -c1-18)" '{"event": "start",' "the log"
says first.jsonl '"rows": 1070' '"columns": 2000' '"seed": 7' \
    '"event": "end", "reason": "converged"' '"cpu_seconds"' \
    '"updates_policy"' '"bytes_sent": 0'
same "$(grep -c '^{.*}$' first.jsonl)" "$(wc -l <first.jsonl | tr -d ' ')" \
    "lines of the log that are whole"
sed -n 's/.*"event": "round", "round": \([0-9]*\),.*/\1/p' first.jsonl >rounds
[ -s rounds ] || fail "the log has no rounds"
sort -n -c rounds || fail "the log's rounds do not go up"

# Predictions
gives 0 lasso predict first.json "$year_test"
weigh first.json "$year_test" 0 >/dev/null
same "$(wc -l <out)" "$(wc -l <weighed)" "the number of predictions"
paste out weighed | awk '{
    d = $1 - $2; if (d < 0) d = -d
    if (d > 1e-9) { print; exit 1 } }' || fail "a prediction differs"
says err "373 rows, root mean squared error"
cp out printed
gives 0 lasso predict first.json "$year_test" --output p.txt --quiet
cmp -s printed p.txt || fail "--output and standard output differ"
[ ! -s err ] || fail "--quiet said: $(cat err)"

# Columns that only the model or only the data has
printf '0 1:1 5000:3\n0\n' >wide.svm
printf '0 1:1\n0\n' >narrow.svm
gives 0 lasso predict first.json wide.svm
cp out wide
gives 0 lasso predict first.json narrow.svm
cmp -s out wide || fail "a column that the model does not know counts"

# A model can be read from a pipe
[ ! -e /dev/stdin ] || {
    "$STRADS_BIN" lasso predict /dev/stdin narrow.svm --quiet <first.json |
        cmp -s - wide || fail "a model from a file as standard input"
    cat first.json | "$STRADS_BIN" lasso predict /dev/stdin narrow.svm \
        --quiet | cmp -s - wide || fail "a model from a pipe"
}

# The same optimum: other partitions, formats, precision
like_first() {
    near "$(member "$1.json" objective)" "$objective" "${2:-2e-6}" "$1"
}
trains parts "$year_train" --lambda 0.01 --partitions 3 --workers 2
like_first parts
gzip -c "$year_train" >year.gz
trains packed year.gz --lambda 0.01
like_first packed
awk '{ for (k = 2; k <= NF; k++) {
           split($k, e, ":"); print NR, e[1], e[2]
           if (e[1] > cols) cols = e[1] }
       print $1 >"year.labels" }
     END { print NR, cols, "size" }' "$year_train" >year.entries
{
    echo '%%MatrixMarket matrix coordinate real general'
    awk '$3 == "size" { print $1, $2, n } { n++ }' year.entries
    grep -v size year.entries
} >year.mtx
trains market year.mtx --labels year.labels --lambda 0.01
like_first market
trains single "$year_train" --lambda 0.01 --f32
like_first single 1e-4

# A start from the optimum needs no more rounds than a start from 0
trains warm "$year_train" --lambda 0.01 --start first.json
like_first warm
[ "$(member warm.json rounds)" -lt "$(member first.json rounds)" ] ||
    fail "a warm start took $(member warm.json rounds) rounds"

# Options of the program: from a file and from the command line
echo '{"lambda": 0.01, "intercept": true, "positive": true}' >c.json
gives 0 lasso train "$year_train" --config c.json --model shifted.json
near "$(weigh shifted.json "$year_train" 0.01)" \
    "$(member shifted.json objective)" 1e-9 "the objective with an intercept"
[ "$(member shifted.json intercept)" != 0 ] || fail "there is no intercept"
! grep '"value"' shifted.json | grep -q -- '[[ ]-' ||
    fail "--positive left a negative coefficient"
trains scaled "$year_train" --lambda-ratio 0.1 --standardize --l1-ratio 0.5

# A model has the lambda of its ratio, and trains again with it
trains ratio "$year_train" --lambda-ratio 0.1 --partitions 2
says ratio.json '"lambda-ratio": 0,' '"partitions": 2'
trains again "$year_train" --lambda "$(member ratio.json lambda)"
near "$(member again.json objective)" "$(member ratio.json objective)" 2e-6 \
    "the objective at the lambda that the model tells"

# The same bits from the same seed and partitions, on any workers
for workers in 1 2; do
    gives 0 lasso train --no-intercept "$year_train" --lambda-ratio 0.05 --deterministic \
        --partitions 4 --workers "$workers" --seed 3 --model "d$workers.json"
    grep -E '"(index|value)"' "d$workers.json" >"bits$workers"
done
cmp -s bits1 bits2 || fail "--deterministic: 1 and 2 workers differ"

# Bounds: the current model, and a distinct exit code
gives 3 lasso train --no-intercept "$year_train" --lambda-ratio 0.001 --max-rounds 2 \
    --model bound.json --log bound.jsonl
says bound.jsonl '"reason": "max-rounds"'
gives 0 lasso predict bound.json "$year_test"
# .. wherever the bound stops the run, also between two scans
gives 0 data synth lasso dense.svm --dense --rows 100 --columns 40 \
    --support 5 --seed 1 --quiet
for rounds in 3 4 5 6 7 8 9 10; do
    gives 3 lasso train --no-intercept dense.svm --lambda-ratio 0.001 --tolerance 1e-12 \
        --max-rounds "$rounds" --model bound.json
    gives 3 lasso path --no-intercept dense.svm --max-rounds "$rounds"
done
gives 0 lasso train --no-intercept "$year_train" --quiet
[ ! -s err ] || fail "--quiet said: $(cat err)"

# contents of the file
gives 0 data info "$year_train"
says out '1070' '2000' libsvm
gives 0 data info year.gz --format json
says out '"rows": 1070' '"columns": 2000' '"compression": "gzip"'
finish
