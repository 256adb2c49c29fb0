#!/bin/sh
# strads logistic path and cv on a century of speeches: tables, coefficients
# recomputed by awk, plots, models, over TCP and simulated, and refused
# options.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
. "$STRADS_SOURCE/tests/cli_paths.shlib"

gives 0 logistic path "$party" --points 8 --ratio 0.1 --intercept \
    --output t.csv --coefficients c.csv --svg p.svg --model last.json
same "$(head -n 1 t.csv)" "lambda,nonzeros,objective,gap,seconds,deviance" \
    "its head"
same "$(wc -l <t.csv | tr -d ' ')" 9 "lines of the table"
says p.svg '<svg xmlns=' '</svg>' 'lambda'
says last.json '"program": "logistic"' '"classes": "-1,1"'

# Objective, deviance and nonzeros of each point, from its coefficients
awk -F, 'FNR == NR { if (FNR > 1) { w[$1, $2] = $4
                         if ($2 > 0) { sum[$1] += $4 < 0 ? -$4 : $4
                                       n[$1] += $4 != 0 } }; next }
    FILENAME == "t.csv" { if (FNR > 1) { at[++points] = $1; has[points] = $2
                              tells[points] = $3; deviates[points] = $6
                              if (!($4 >= 0 && $4 <= 1e-6)) bad = 1 }; next }
    { rows++
      fields = split($0, f, " ")
      for (k = 1; k <= points; k++) {
          z = w[at[k], 0]
          for (i = 2; i <= fields; i++) { split(f[i], e, ":")
              if ((at[k], e[1]) in w) z += w[at[k], e[1]] * e[2] }
          loss[k] += log(1 + exp(f[1] == 1 ? -z : z)) } }
    END {
      for (k = 1; k <= points; k++) {
          v = loss[k] / rows + at[k] * sum[at[k]]
          d = v - tells[k]; if (d < 0) d = -d
          o = 2 * loss[k] - deviates[k]; if (o < 0) o = -o
          if (d > 1e-9 * v || o > 1e-6 * loss[k] || n[at[k]] != has[k]) bad = 1
      }
      exit bad || points != 8 }' c.csv t.csv "$party" ||
    fail "coefficients and table contradict each other"

# The last point is the model, and the fit at its lambda
last=$(tail -n 1 t.csv)
gives 0 logistic train "$party" --lambda "${last%%,*}" --intercept \
    --model one.json
near "$(member last.json objective)" "$(member one.json objective)" 2e-6 \
    "the last point"
gives 0 logistic predict last.json "$party_test"
says err "373 rows" "% of labels right"

the_same_everywhere logistic "$party"

# Cross-validation: errors, choices, the model at the choice
head -n 300 "$party" | sed 's/^-1/0/; s/^+*1/5/' >some.svm
grep -q '^5' some.svm || sed -i '1,9s/^0/5/' some.svm
gives 0 logistic cv some.svm --intercept --points 8 --ratio 0.1 --folds 3 \
    --output cv.csv --svg cv.svg --model m.json --workers 2 \
    --partitions 2
same "$(head -n 1 cv.csv)" \
    "lambda,nonzeros,error,deviation,accuracy,choice" "its head"
says err "best: lambda" "within one standard error: lambda" "% of labels right"
says cv.svg '<svg xmlns=' '</svg>' 'deviance on rows left out'
awk -F, 'NR > 1 && !($5 > 0.4 && $5 <= 1) { exit 1 }' cv.csv ||
    fail "accuracies: $(cat cv.csv)"
the_choices_hold cv.csv
lambda=$(awk -F, '$6 ~ /1se/ { print $1 }' cv.csv)
gives 0 logistic train some.svm --intercept --lambda "$lambda" --model one.json
near "$(member m.json objective)" "$(member one.json objective)" 2e-6 \
    "the model at the choice"
says m.json '"program": "logistic"' '"classes": "0,5"'
gives 0 logistic predict m.json some.svm --write label
same "$(sort -u out | tr '\n' ' ')" "0 5 " "labels that are predicted"
gives 0 logistic cv some.svm --intercept --points 8 --ratio 0.1 --folds 3 \
    --output again.csv --workers 1 --partitions 2 --choose best --quiet
cut -d, -f3- cv.csv >errors
cut -d, -f3- again.csv | cmp -s errors - ||
    fail "1 and 2 workers give other errors"

# Invalid data
awk '{ $1 = NR % 3 ? $1 : 7; print }' some.svm >three.svm
refuses 2 "a path is for two" logistic path three.svm
refuses 2 "--l1-ratio 0" logistic path some.svm --l1-ratio 0
printf '1 1:1\n-1 1:-1\n1 1:.5\n' >few.svm
refuses 2 "without the rows of fold 1: all rows have the label 1" \
    logistic cv few.svm --folds 2 --quiet
refuses 2 "301: the data has 300 rows" logistic cv some.svm --folds 301
awk '{ print 1 }' some.svm >weights
gives 0 logistic cv --no-intercept some.svm --points 4 --folds 3 --output plain.csv
gives 0 logistic cv --no-intercept some.svm --points 4 --folds 3 --output weighed.csv \
    --weights weights
cmp -s plain.csv weighed.csv || fail "weights of 1 change a cross-validation"
awk '{ print NR % 2 }' some.svm >weights
gives 0 logistic cv --no-intercept some.svm --points 4 --folds 3 --output weighed.csv \
    --weights weights
cmp -s plain.csv weighed.csv && fail "weights change no cross-validation"
refuses 2 "lambda" logistic path some.svm --lambda 0.1
finish
