#!/bin/sh
# strads glm train, path, cv, predict, evaluate and show on a century of
# speeches, against the commands with the same losses.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

trains() {
    name=$1
    shift
    gives 0 glm train --no-intercept "$@" --model "$name.json" --log "$name.jsonl"
}

# The same minimum as a Lasso and a logistic regression
trains lasso "$year_train" --lambda 0.01 --intercept
gives 0 lasso train "$year_train" --lambda 0.01 --intercept --model l.json
near "$(member lasso.json objective)" "$(member l.json objective)" 2e-6 lasso
trains logistic "$party" --loss logistic --lambda-ratio 0.1 --intercept
gives 0 logistic train "$party" --lambda-ratio 0.1 --intercept --model l.json
near "$(member logistic.json objective)" "$(member l.json objective)" 2e-6 \
    logistic
near "$(member logistic.json lambda)" "$(member l.json lambda)" 1e-6 lambda
trains ridge "$party" --loss logistic --penalty ridge --lambda 0.001
gives 0 logistic train --no-intercept "$party" --lambda 0.001 --l1-ratio 0 --model l.json
near "$(member ridge.json objective)" "$(member l.json objective)" 2e-6 ridge

# A model has the lambda of its ratio, and trains again with it
says logistic.json '"program": "glm"' '"loss": "logistic"' '"classes": "-1,1"' \
    '"lambda-ratio": 0,'
trains again "$party" --loss logistic --intercept \
    --lambda "$(member logistic.json lambda)" --start logistic.json
near "$(member again.json objective)" "$(member logistic.json objective)" 2e-6 \
    "from a start"

# Predictions are means or probabilities
gives 0 glm predict lasso.json "$year_test"
cp out glm.txt
sed 's/"program": "glm"/"program": "lasso"/' lasso.json >as_lasso.json
gives 0 lasso predict as_lasso.json "$year_test"
cmp -s out glm.txt || fail "numbers are not what lasso predict says"
gives 0 glm predict logistic.json "$party_test" --write probability
awk '$1 < 0 || $1 > 1 { exit 1 }' out || fail "no probabilities: $(head -3 out)"
says err "% of labels right, log loss"
gives 0 glm predict logistic.json "$party_test" --write label
awk '$1 != 1 && $1 != -1 { exit 1 }' out || fail "no labels: $(head -3 out)"
gives 0 glm evaluate logistic.json "$party_test"
says out accuracy "log loss" AUC
gives 0 glm evaluate lasso.json "$year_test"
says out R2 RMSE
gives 0 glm show logistic.json --top 3
says out "(intercept)"

# Gamma and Tweedie: predictions are means above 0; the power and the labels
# have limits
awk '{ $1 = exp($1 / 10); print }' "$year_train" >amounts.svm
trains gamma amounts.svm --loss gamma --intercept --lambda-ratio 0.1
gives 0 glm predict gamma.json amounts.svm
awk '$1 <= 0 { exit 1 }' out || fail "a mean that is not above 0"
trains tweedie amounts.svm --loss tweedie --loss-parameter 1.9 --intercept \
    --lambda-ratio 0.1
gives 0 glm evaluate tweedie.json amounts.svm
says out R2 RMSE
refuses 2 'loss-parameter is 2; for the loss tweedie it must be above 1 and' \
    glm train amounts.svm --loss tweedie --loss-parameter 2
{ cat amounts.svm; echo "0 1:1"; } >zero.svm
refuses 2 'the loss gamma needs labels above 0; labels at or below it: 1' \
    glm train --loss gamma --partitions 2 zero.svm -q --intercept
refuses 2 'the loss tweedie needs labels from 0 up, and a label is -1' \
    glm train "$party" --loss tweedie -q --intercept

# Several labels: each against the rest, as in strads logistic; predictions are
# labels, or a probability of each
awk '{ $1 = ($1 > 0) + 2 * (NR % 3 == 0); print }' "$party" >four.svm
trains four four.svm --loss logistic --lambda 0.0005 --intercept
says err "labels 0,1,2,3: each against the rest"
gives 0 logistic train four.svm --lambda 0.0005 --intercept --model l.json
near "$(member four.json objective)" "$(member l.json objective)" 4e-6 "four labels"
gives 0 glm predict four.json four.svm --write probability
awk 'NF != 4 || ($1 + $2 + $3 + $4 - 1) ^ 2 > 1e-8 { exit 1 }' out ||
    fail "no four probabilities: $(head -2 out)"
gives 0 glm evaluate four.json four.svm
says out accuracy "log loss"
refuses 2 'a path is for two' glm path four.svm --loss logistic --points 2 --quiet

# The same bits on 1 and 2 workers, on two processes, and simulated
trains_alike glm "$party" --loss logistic --lambda-ratio 0.1 --intercept \
    --classes -1,1 --deterministic --partitions 4 --seed 3
simulates bits1.json glm "$party" --loss logistic --lambda-ratio 0.1 \
    --intercept --partitions 4 --workers 4 --seed 3

# Offsets move the labels of least squares
awk '{ print NR % 5 }' "$year_train" >offset
awk '{ $1 -= NR % 5; print }' "$year_train" >moved.svm
trains offset "$year_train" --lambda 0.01 --offset offset
trains moved moved.svm --lambda 0.01
near "$(member offset.json objective)" "$(member moved.json objective)" 2e-6 \
    "an offset and labels without it"

# Paths: the table of the Lasso's in every format; the last point as a model
gives 0 lasso path "$year_train" --points 5 --ratio 0.05 --intercept --quiet \
    --output l.csv
gives 0 glm path "$year_train" --points 5 --ratio 0.05 --intercept --quiet \
    --output g.csv --coefficients c.csv --svg p.svg --model last.json
cut -d, -f2 l.csv >l.nonzeros
cut -d, -f2 g.csv | cmp -s - l.nonzeros || fail "other paths: $(cat g.csv l.csv)"
near "$(tail -1 g.csv | cut -d, -f3)" "$(tail -1 l.csv | cut -d, -f3)" 2e-6 \
    "the last point"
says p.svg '<svg xmlns='
same "$(grep -c "^$(tail -1 g.csv | cut -d, -f1)," c.csv)" \
    "$(($(tail -1 g.csv | cut -d, -f2) + 1))" "its coefficients"
gives 0 glm evaluate last.json "$year_test"
says out R2
printf '0.01\n0\n1\n' >lambdas
gives 0 glm path --no-intercept "$year_train" --lambdas lambdas --format json --quiet
same "$(sed 's/,.*//' out | tr -d '\n ')" '{"lambda":1{"lambda":0.01{"lambda":0' \
    "lambdas of a file"
gives 0 glm path --no-intercept "$party" --loss logistic --lambdas 0.01,0.005 --format text \
    --quiet
same "$(awk '{ print $1 }' out | tr '\n' ' ')" "0.01 0.005 " "lambdas of a list"
gives 0 glm path --no-intercept "$year_train" --points 3 --quiet --output /dev/null
gives 0 simulate glm-path --no-intercept "$year_train" --points 3 --workers 2 --quiet

# Cross-validation chooses as the Lasso's does, with drawn and with given folds
gives 0 lasso cv "$year_train" --points 5 --ratio 0.05 --folds 3 --intercept \
    --quiet --output l.csv
gives 0 glm cv "$year_train" --points 5 --ratio 0.05 --folds 3 --intercept \
    --quiet --output g.csv --model cv.json
for row in 2 6; do
    near "$(sed -n "${row}p" g.csv | cut -d, -f3)" \
        "$(sed -n "${row}p" l.csv | cut -d, -f3)" 1e-4 "the error in row $row"
done
awk '{ print NR % 3 + 1 }' "$party" >folds
gives 0 glm cv "$party" --loss squared-hinge --penalty elastic-net --points 4 \
    --fold-file folds --intercept --model cv.json --output g.csv
says g.csv accuracy 1se
says err "% of labels right"
says cv.json '"loss": "squared-hinge"' '"classes": "-1,1"'
gives 0 glm predict cv.json "$party_test"
sed 's/3/0/' folds >bad
refuses 2 'the fold is 0; expected a whole number from 1' glm cv "$party" \
    --loss logistic --points 2 --fold-file bad --quiet
refuses 2 'lambdas is "1,none"; expected numbers' glm path "$year_train" --lambdas 1,none --quiet
refuses 2 'no lambda, and no path' glm path "$year_train" --penalty none --quiet

# Times until an event: R's coxph(Surv(t, d) ~ x1 + x2) has these
# coefficients, by Breslow and by Efron
printf '%s\n' '4 1:0.5 2:1' '-3 1:-1 2:2' '7 1:1.5' '4 1:0.1 2:-1' \
    '9 1:-0.7 2:0.3' '-9 1:0.2 2:-0.4' '2 1:1.1 2:0.6' '7 1:-0.2 2:-0.5' >times.svm
trains cox times.svm --loss cox --penalty none --tolerance 1e-10
trains efron times.svm --loss cox-efron --penalty none --tolerance 1e-10
coefficient() { awk -F, -v j="$1" '$1 == j { print $3 }' out; }
gives 0 glm show cox.json --format csv
near "$(coefficient 1)" 0.4716447135 1e-6 "Breslow's first coefficient"
near "$(coefficient 2)" 0.4340067739 1e-6 "and second"
gives 0 glm show efron.json --format csv
near "$(coefficient 1)" 0.5303816269 1e-6 "Efron's first coefficient"
near "$(coefficient 2)" 0.4911332264 1e-6 "and second"
gives 0 glm evaluate efron.json times.svm --format json
says out concordance
gives 0 glm predict cox.json times.svm
awk '$1 <= 0 { exit 1 }' out || fail "a risk that is not above 0"
# its basehaz(centered = FALSE) is the model's baseline
gives 0 glm predict cox.json times.svm --write survival --times 4,9 --format csv
says out survival_4,survival_9
near "$(awk -F, 'NR == 2 { print $1 }' out)" \
    "$(awk 'BEGIN { z = 0.4716447135 * 0.5 + 0.4340067739
        print exp(-0.3727962696164 * exp(z)) }')" 1e-6 "survival"
# with strata: coxph(Surv(t, d) ~ x1 + x2 + strata(s))
printf '0\n0\n0\n0\n3\n3\n3\n3\n' >strata
trains strata times.svm --loss cox-efron --penalty none --tolerance 1e-10 \
    --strata strata
gives 0 glm show strata.json --format csv
near "$(coefficient 1)" -0.2829592808 1e-6 "the first coefficient with strata"
near "$(coefficient 2)" 0.3835066129 1e-6 "and second"
gives 0 glm predict strata.json times.svm --write survival --times 7 \
    --strata strata
near "$(sed -n 5p out)" "$(awk 'BEGIN {
    z = 0.2829592808 * 0.7 + 0.3835066129 * 0.3
    print exp(-0.5793111205 * exp(z)) }')" 1e-6 "of stratum 3"
sed 's/3/5/' strata >other
refuses 2 'row 5 is of stratum 5, which has no events' glm predict strata.json \
    times.svm --write survival --times 7 --strata other
sed '2s/.*/x/' strata >bad
refuses 2 'bad:2: ' glm train times.svm --loss cox --strata bad --quiet
sed '2s/.*/0.5/' strata >bad
refuses 2 'bad:2: the stratum is 0.5; expected a whole number' glm train \
    times.svm --loss cox --strata bad --quiet
refuses 2 'the loss squared has none' glm train times.svm --strata strata -q
refuses 2 '"2,x"; expected the times' glm predict cox.json times.svm \
    --write survival --times 2,x
refuses 2 'not one of times' glm predict lasso.json "$year_test" \
    --write survival --times 2
# and its cross-validation is cv.glmnet's: differences of partial likelihoods
printf '1\n2\n3\n4\n1\n2\n3\n4\n' >folds
gives 0 glm cv times.svm --loss cox --fold-file folds --lambdas 0.1,0.02 \
    --tolerance 1e-10 --quiet --output g.csv
near "$(sed -n 2p g.csv | cut -d, -f3)" 2.75175558030 1e-5 "cv.glmnet's cvm"
near "$(sed -n 3p g.csv | cut -d, -f3)" 5.41555597243 1e-5 "cv.glmnet's cvm"
sed 's/^[0-9]/-&/' times.svm >censored.svm
refuses 2 'no row has an event' glm train censored.svm --loss cox --quiet

# A quantile: the same median on 1 and 2 workers; 9 of 10 labels are below the
# prediction; a model on its data has twice the loss that cv reports of its rows
trains median "$year_train" --loss quantile --lambda 0.01 --intercept
gives 0 glm train "$year_train" --loss quantile --lambda 0.01 --workers 2 \
    --partitions 4 --model l.json
near "$(member median.json objective)" "$(member l.json objective)" 2e-6 median
trains high "$year_train" --loss quantile --loss-parameter 0.9 --lambda 0.02 \
    --intercept
gives 0 glm predict high.json "$year_train"
paste -d ' ' out "$year_train" | awk '{ n += $2 <= $1 } END {
    exit !(n / NR > 0.88 && n / NR < 0.94) }' || fail "not the quantile of 0.9"
refuses 2 'loss-parameter is 1; for the loss quantile it must be above 0 and' \
    glm train "$year_train" --loss quantile --loss-parameter 1 --quiet
refuses 2 'by columns has no quantile' glm train "$year_train" --loss quantile \
    --cut columns --quiet

# Coefficients of a group are 0 together, for example the columns of a topic
awk 'BEGIN { for (j = 0; j < 2000; j++) print int(j / 4) }' >groups
trains group "$year_train" --penalty group --groups groups --lambda-ratio 0.3 \
    --intercept
gives 0 glm show group.json --format csv
awk -F, 'NR > 2 { n[int(($1 - 1) / 4)] += $3 != 0 }
    END { for (g in n) if (n[g] != 0 && n[g] < 3) exit 1 }' out ||
    fail "a group is 0 in part"
# Of a group that is not 0, single ones may be
trains sparse "$year_train" --penalty sparse-group --groups groups \
    --l1-ratio 0.8 --lambda-ratio 0.3 --standardize
gives 0 glm show sparse.json --format csv
awk -F, 'NR > 1 { n[int(($1 - 1) / 4)] += $3 != 0 }
    END { for (g in n) if (n[g] > 0 && n[g] < 3) exit 0; exit 1 }' out ||
    fail "no group is 0 in part"
refuses 2 'needs groups' glm train "$year_train" --penalty sparse-group --quiet
gives 0 glm path "$party" --loss logistic --penalty group --groups groups \
    --points 4 --intercept --quiet
# A concave penalty costs less than the Lasso's, which bounds it from above
for penalty in mcp scad; do
    trains $penalty "$year_train" --penalty $penalty --lambda 0.01 --intercept
    awk -v a="$(member $penalty.json objective)" \
        -v b="$(member lasso.json objective)" 'BEGIN { exit !(a < b) }' ||
        fail "$penalty costs more than a Lasso"
done
refuses 2 'needs groups' glm train "$year_train" --penalty group --quiet
refuses 2 'take the penalty group' glm train "$year_train" --groups groups --quiet
sed '5s/.*/1.5/' groups >bad
refuses 2 'bad:5: the group is 1.5; expected a whole number' glm train \
    "$year_train" --penalty group --groups bad --quiet
refuses 2 'above 2' glm train "$year_train" --penalty scad --gamma 2 --quiet

# Few rows and a weak penalty: lambda is reached in steps. svm's own solver
# agrees, and a run that is stopped on the way has not converged.
awk 'BEGIN { srand(11); for (i = 0; i < 150; i++) { s = ""; z = 0
    for (j = 1; j <= 100; j++) {
        v = rand() + rand() + rand() - 1.5
        s = s sprintf(" %d:%.4f", j, v)
        if (j < 9) z += v }
    print (z + rand() - .5 > 0 ? "+1" : "-1") s } }' >near.svm
gives 0 glm train --no-intercept near.svm --loss squared-hinge --lambda-ratio 1e-4 --model flat.json
lambda=$(member flat.json lambda)
gives 0 svm train --no-intercept near.svm --l1-ratio 1 --tolerance 1e-8 --model hinge.json \
    --c "$(awk -v l="$lambda" 'BEGIN { printf "%.17g", 1 / (300 * l) }')"
near "$(awk -v x="$(member flat.json objective)" 'BEGIN { printf "%.17g", 2 * x }')" \
    "$(member hinge.json objective)" 1e-6 "glm beside svm"
gives 3 glm train --no-intercept near.svm --loss squared-hinge --lambda-ratio 1e-4 \
    --max-rounds 60 --model early.json
gives 0 glm train --no-intercept near.svm --loss squared-hinge --lambda-ratio 1e-4 --start early.json \
    --model rest.json
near "$(member rest.json objective)" "$(member flat.json objective)" 2e-6 \
    "from where it was cut short"

# Margins and sweeps of all classes at once need more than each against the
# rest
awk '{ $1 = int($1 * 10 + .5); print }' "$year_train" >years.svm
refuses 1 'of memory for 2000 parameters of 94 numbers each' glm train years.svm \
    --no-intercept --loss multinomial --memory 22M --quiet
gives 3 glm train --no-intercept years.svm --loss logistic --memory 22M --max-rounds 9

# Invalid options are reported before anything is fitted
echo 1 >short
refuses 2 'expected the offset of a row in each' glm train "$year_train" \
    --offset short --quiet
sed 's/3/three/' offset >bad
refuses 2 'bad:3: found "three"; expected the offset of a row, a number' \
    glm train "$year_train" --offset bad --quiet
refuses 2 '--loss cubic: expected squared' glm train "$year_train" --loss cubic
refuses 2 'more than 64 different labels' glm train "$year_train" --loss logistic \
    --quiet
refuses 2 'program lasso, expected one of glm' glm predict as_lasso.json \
    "$year_test"
printf '1,2\n3,4\n' >table.csv
printf '1\n2\n' >labels
refuses 2 "if this is a table with a header" glm train table.csv --labels labels
gives 3 glm train --no-intercept "$year_train" --lambda-ratio 0.001 --max-rounds 12 \
    --model bound.json
gives 0 glm predict bound.json "$year_test"
finish
