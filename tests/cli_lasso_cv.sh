#!/bin/sh
# strads lasso cv on a century of speeches: its table, its choices, its model.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_paths.shlib"

head -n 200 "$year_train" >some.svm
gives 0 lasso cv some.svm --intercept --points 8 --ratio 0.1 --folds 3 \
    --output t.csv --svg cv.svg --model m.json --workers 2 --partitions 2
same "$(head -n 1 t.csv)" "lambda,nonzeros,error,deviation,choice" "its head"
same "$(wc -l <t.csv | tr -d ' ')" 9 "lines of the table"
says cv.svg '<svg xmlns=' '</svg>' 'best'
says err "best: lambda" "within one standard error: lambda"
the_choices_hold t.csv

# The model is the fit of all rows at the choice
lambda=$(awk -F, '$5 ~ /1se/ { print $1 }' t.csv)
gives 0 lasso train some.svm --intercept --lambda "$lambda" --model one.json
near "$(member m.json objective)" "$(member one.json objective)" 2e-6 \
    "the model at the choice"
says m.json '"program": "lasso"'
gives 0 lasso predict m.json "$year_test"

# The result does not depend on workers and partitions
gives 0 lasso cv some.svm --intercept --points 8 --ratio 0.1 --folds 3 \
    --output again.csv --workers 1 --partitions 2 --choose best --quiet
cmp -s t.csv again.csv || fail "1 and 2 workers give other errors"
gives 0 lasso cv --no-intercept some.svm --points 3 --ratio 0.5 --folds 2 --format json --quiet
same "$(grep -c '^{"lambda": .*"choice": ".*"}$' out)" 3 "lines of JSON"

# A time limit also applies to the folds; a run that it ends has no model
gives 3 lasso cv --no-intercept some.svm --time-limit 0.001 --points 5000 --folds 2 \
    --model no.json
says err "stopped by --time-limit" "and has no errors"
[ ! -e no.json ] || fail "a model without a choice"

# Weights of rows, in fits and in errors
awk '{ print NR % 3 }' some.svm >weights
gives 0 lasso cv --no-intercept some.svm --points 4 --folds 3 --weights weights \
    --output weighed.csv --workers 1 --partitions 2 --model m.json
gives 0 lasso cv --no-intercept some.svm --points 4 --folds 3 --weights weights \
    --output again.csv --workers 2 --partitions 2
cmp -s weighed.csv again.csv || fail "1 and 2 workers give other errors"
lambda=$(awk -F, '$5 ~ /1se/ { print $1 }' weighed.csv)
gives 0 lasso train --no-intercept some.svm --weights weights --lambda "$lambda" \
    --model one.json
near "$(member m.json objective)" "$(member one.json objective)" 2e-6 \
    "the weighed model at the choice"
echo 1 >weights
refuses 2 "has 1 lines and the data 200 rows" lasso cv some.svm \
    --weights weights --quiet

# Mixtures: the best of the single results, and a model that names its ratio
gives 0 lasso cv --no-intercept some.svm --points 6 --folds 3 --choose best --output mixed.csv \
    --l1-ratios 0.1,0.5,1 --model mixed.json
for ratio in 0.1 0.5 1; do
    gives 0 lasso cv --no-intercept some.svm --points 6 --folds 3 --choose best --output one.csv \
        --l1-ratio $ratio --model one.json
    tail -n +2 one.csv | cut -d, -f1-4 | sed "s/^/$ratio,/"
    awk -F, -v r=$ratio '$5 ~ /best/ { print $3, r }' one.csv >>each
done >apart
tail -n +2 mixed.csv | cut -d, -f1-5 | cmp -s - apart ||
    fail "three mixtures at once are not three"
ratio=$(sort -g each | head -n 1 | cut -d' ' -f2)
same "$(awk -F, '$6 ~ /best/ { print $1 }' mixed.csv)" "$ratio" "the best mixture"
gives 0 lasso cv --no-intercept some.svm --points 6 --folds 3 --choose best \
    --l1-ratio "$ratio" --model one.json
for model in one mixed; do
    grep -E '"(index|value)"' $model.json >$model.bits
done
cmp -s one.bits mixed.bits || fail "the model of the best mixture is another one"
near "$(member mixed.json l1-ratio)" "$ratio" 1e-12 "the model's mixture"
refuses 2 "--l1-ratio x: expected" lasso cv some.svm --l1-ratios 0.1,x
refuses 2 "has no mixture" glm cv some.svm --l1-ratios 0.1,1 --quiet

refuses 2 "--listen: strads lasso cv is for one process" lasso cv some.svm \
    --nodes 2 --listen tcp://127.0.0.1:0
refuses 2 "--nodes: strads lasso cv is for one process" lasso cv some.svm \
    --nodes 2
refuses 2 "201: the data has 200 rows" lasso cv some.svm --folds 201
refuses 2 "--folds 1" lasso cv some.svm --folds 1
refuses 2 "--choose" lasso cv some.svm --choose worst
refuses 2 "nowhere" lasso cv some.svm --svg nowhere/p.svg
finish
