#!/bin/sh
# --adaptive and --relax of lasso and glm: fits, paths and cross-validations.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

head -n 120 "$year_train" >some.svm

# A share of 1 is the penalised fit, one of 0 the fit without a penalty on its
# columns, and those between lie between.
for relax in 1 0.25 0; do
    gives 0 lasso train some.svm --intercept --lambda-ratio 0.5 --quiet \
        --relax $relax --model "r$relax.json"
done
gives 0 lasso train some.svm --intercept --lambda-ratio 0.5 --quiet \
    --model plain.json
# array KIND MODEL: the numbers of its coefficients' "index" or "value"
array() {
    tr -d ' \n' <"$2" | sed 's/.*"coefficients":{\([^}]*\)}.*/\1/' |
        sed "s/.*\"$1\":\[\([^]]*\)\].*/\1/" | tr ',' '\n'
}
value() { array value "$1" | head -n 1; }
same "$(value r1.json)" "$(value plain.json)" "--relax 1"
near "$(value r0.25.json)" "$(awk "BEGIN {
    printf \"%.17g\", $(value r1.json) * .25 + $(value r0.json) * .75 }")" 1e-9 \
    "--relax 0.25"
same "$(array index r0.json)" "$(array index plain.json)" "the columns of --relax 0"

# The last point of a path is its model, and its own lambda gives it again
gives 0 lasso path some.svm --intercept --points 4 --ratio 0.5 --relax 0 \
    --model path.json --quiet --coefficients c.csv
near "$(value path.json)" "$(value r0.json)" 1e-6 "the path's last point"
near "$(tail -n 1 c.csv | cut -d, -f4)" \
    "$(array value path.json | tail -n 1)" 1e-9 "--coefficients"

# Adaptive fits equal those with penalty factors
awk 'BEGIN { for (j = 1; j <= '"$(member plain.json columns)"'; j++) print 1e30 }' \
    >ones
array index r0.json >index
array value r0.json | paste index - | awk 'NR == FNR { f[$1] = 1 / ($2 < 0 ? -$2 : $2) ^ 2; next }
    { print (FNR in f) ? f[FNR] : $1 }' - ones >factors
gives 0 glm train some.svm --intercept --lambda-ratio 0.1 --quiet \
    --penalty-factors factors --model factors.json
for command in lasso glm; do
    gives 0 $command train some.svm --intercept --lambda-ratio 0.1 --quiet \
        --adaptive 2 --first-fit r0.json --model adaptive.json
    near "$(member adaptive.json objective)" "$(member factors.json objective)" \
        1e-6 "$command --adaptive"
    near "$(value adaptive.json)" "$(value factors.json)" 1e-3 \
        "$command --adaptive"
done

# Its options also come from a file, and from a first fit of its own
echo '{"adaptive": 1, "relax": 0.5, "lambda-ratio": 0.3}' >config.json
gives 0 lasso train some.svm --intercept --config config.json --model own.json
says err "the first fit is a ridge at the lambda that predicts best"

# A cross-validation chooses lambda and share
gives 0 lasso cv some.svm --intercept --points 5 --ratio 0.1 --folds 3 \
    --relax auto --output t.csv --choose best --model cv.json --svg cv.svg
same "$(head -n 1 t.csv)" "lambda,relax,nonzeros,error,deviation,choice" "its head"
same "$(wc -l <t.csv | tr -d ' ')" 26 "lines of the table"
best=$(tail -n +2 t.csv | sort -t, -k4,4g | head -n 1)
says t.csv "$best"
case $best in
*best*) ;;
*) fail "the best line is \"$best\"" ;;
esac
gives 0 lasso train some.svm --intercept --quiet --model again.json \
    --lambda "${best%%,*}" --relax "$(echo "$best" | cut -d, -f2)"
near "$(value cv.json)" "$(value again.json)" 1e-3 "the model of the choice"
gives 0 lasso cv some.svm --intercept --points 3 --ratio 0.5 --folds 2 \
    --relax 0,0.5 --adaptive 1 --l1-ratios 0.5,1 --output t.csv --quiet
same "$(wc -l <t.csv | tr -d ' ')" 13 "mixtures times lambdas times shares"

# The same bits on 1 and 2 workers, and on two processes
trains_alike lasso some.svm --lambda-ratio 0.2 --intercept --adaptive 1 \
    --first-fit r0.json --deterministic --partitions 2 --seed 3

# Refused
refuses 2 "needs all rows" lasso train some.svm --relax 0 --nodes 2 \
    --listen tcp://127.0.0.1:0
refuses 2 "give --adaptive GAMMA" lasso train some.svm --first-fit r0.json
refuses 2 "the penalty ridge selects none" glm train some.svm --penalty ridge \
    --relax 0
refuses 2 "the penalty is group" glm train some.svm --penalty group \
    --groups ones --adaptive 1
refuses 2 'found "2"' lasso cv some.svm --relax 1,2
refuses 2 "take --cut rows" lasso cv some.svm --intercept --relax 0 --cut columns
head -n 3 some.svm | cut -d' ' -f1-3 >small.svm
refuses 2 "columns, and the data has" lasso train small.svm --adaptive 1 \
    --first-fit r0.json
finish
