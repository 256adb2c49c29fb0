#!/bin/sh
# strads glm summary: figures of R's glm() on the same rows, formats, refusals.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

awk 'BEGIN { for (i = 1; i <= 40; i++)
    printf "%.10g 1:%d 2:%.10g\n", 2 + i / 10 + (i * i) % 7, i, (i * 5) % 11 }' \
    >rows.svm

"$STRADS_BIN" --version | grep -q 'with GSL' || {
    gives 0 glm train rows.svm --penalty none --model m.json -q --intercept
    refuses 2 'strads glm summary needs GSL' glm summary m.json rows.svm
    finish
}

# figure LINE FIELD WANTED: a number of the csv in `out`
figure() {
    near "$(sed -n "$1p" out | cut -d, -f"$2")" "$3" 2e-6 "line $1 field $2"
}

# summarised LOSS: the fit and its table
summarised() {
    gives 0 glm train rows.svm --loss "$1" --penalty none --intercept -q \
        --tolerance 1e-12 --model m.json
    gives 0 glm summary m.json rows.svm --format csv
    [ "$(head -1 out)" = "name,estimate,std_error,statistic,p,low,high" ] ||
        fail "the header is $(head -1 out)"
}

# Figures of coef(summary(glm(y ~ a + b, family))) of R 4.2; t, t, z
summarised squared
figure 2 2 4.0915643283
figure 2 3 0.6179496391
figure 2 4 6.621193815
figure 2 5 9.10850222e-08
figure 3 3 0.0199892663
figure 3 5 7.81149167e-06
figure 4 3 0.0736052744
figure 4 5 8.06210445e-01
summarised gamma
figure 2 3 0.1060010087
figure 2 5 3.93607051e-16
figure 3 3 0.0034288917
figure 3 5 1.66354649e-05
figure 4 5 8.32907027e-01
summarised poisson
figure 2 3 0.17932800630
figure 3 2 0.01707975392
figure 3 5 2.31372112e-03
figure 4 5 8.66161061e-01

# Intervals: symmetric, and wider with the level
gives 0 glm summary m.json rows.svm --format json --level 0.99
grep -q '"name": "2"' out || fail "json: $(cat out)"
gives 0 glm summary m.json rows.svm
says out "37 degrees of freedom" "dispersion 1 by the family" "95 % interval"
printf 'first\nsecond\n' >names.txt
gives 0 glm summary m.json rows.svm --names names.txt
says out "first" "second"

# Refusals
gives 0 glm train rows.svm --lambda-ratio 0.1 --model l1.json -q --intercept
refuses 2 'without a penalty, and this one has l1' glm summary l1.json rows.svm
gives 0 glm train rows.svm --penalty none --lower 0 --model b.json -q --intercept
refuses 2 'without bounds' glm summary b.json rows.svm
awk '{ $1 = NR % 3 > 0; print }' rows.svm >classes.svm
gives 0 glm train classes.svm --loss logistic --penalty none --model w.json -q \
    --intercept --class-weight balanced
refuses 2 'without class-weight' glm summary w.json classes.svm
gives 0 lasso train rows.svm --model lasso.json -q --intercept
refuses 2 'lasso.json: is a model of program lasso, expected one of glm' glm summary lasso.json rows.svm
head -3 rows.svm >few.svm
refuses 2 'no degrees of freedom' glm summary m.json few.svm
awk '{ print $0, "3:1" }' rows.svm >constant.svm
gives 0 glm train constant.svm --penalty none --model c.json -q --intercept
refuses 2 'column 3 is constant' glm summary c.json constant.svm
finish
