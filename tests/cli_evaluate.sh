#!/bin/sh
# strads lasso evaluate, and evaluate of the other linear models, against awk.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

gives 0 lasso train "$year_train" --lambda-ratio 0.1 --intercept \
    --model m.json --quiet
gives 0 lasso predict m.json "$year_test" --quiet
cut -d' ' -f1 "$year_test" | paste - out >pairs
gives 0 lasso evaluate m.json "$year_test" --format json
awk '{ n++; s += $1; q += $1 * $1; e += ($1 - $2) ^ 2 }
    END { printf "%.12g %.12g\n", 1 - e / (q - s * s / n), sqrt(e / n) }' \
    pairs >want
got() { sed -n "s/.*\"$1\": \[*\([^],}]*\).*/\1/p" out; }
near "$(got r2)" "$(cut -d' ' -f1 want)" 1e-7 R2
near "$(got rmse)" "$(cut -d' ' -f2 want)" 1e-7 RMSE
gives 0 lasso evaluate m.json "$year_test"
says out "R2" "RMSE" "95 %" "rows         373"

# Classes: accuracy, log loss and AUC, pair by pair
for part in train test; do
    awk '{ $1 = $1 > 5.3 ? 1 : -1; print }' \
        "$STRADS_SOURCE/data/sotu-tiny-year.$part.svm" >"$part.svm"
done
gives 0 logistic train --no-intercept train.svm --lambda-ratio 0.1 --model l.json --quiet
gives 0 logistic predict l.json test.svm --quiet
cut -d' ' -f1 test.svm | paste - out >pairs
gives 0 logistic evaluate l.json test.svm --format json
awk '{ y[NR] = $1; p[NR] = $2
       right += ($2 > .5) == ($1 > 0); loss -= log($1 > 0 ? $2 : 1 - $2)
       both += $2 > .5 && $1 > 0; given += $2 > .5; has += $1 > 0 }
    END { for (i = 1; i <= NR; i++) for (k = 1; k <= NR; k++)
              if (y[i] > 0 && y[k] < 0) { pairs++
                  good += p[i] > p[k] ? 1 : p[i] == p[k] ? .5 : 0 }
          printf "%.9g %.9g %.9g %.9g\n", right / NR, loss / NR,
              good / pairs, 2 * both / (given + has) }' pairs >want
near "$(got accuracy)" "$(cut -d' ' -f1 want)" 1e-7 accuracy
near "$(got log_loss)" "$(cut -d' ' -f2 want)" 1e-6 "log loss"
near "$(got auc)" "$(cut -d' ' -f3 want)" 1e-7 AUC
near "$(got f1)" "$(cut -d' ' -f4 want)" 1e-7 "F1 of the last class"

# Several classes: the loss is reported for any small probability of the label
for how in softmax ovr; do
    cat >far.json <<END
{"format": "strads-model", "version": 1, "program": "logistic", "columns": 1,
 "width": 3, "intercept": [0, 0, 0],
 "coefficients": {"index": [1], "value": [-1, -2, -3]},
 "options": {"classes": "0,1,2", "multiclass": "$how"},
 "fit": {"objective": null, "gap": null, "rounds": 1, "seconds": null,
         "seed": 0, "partitions": 1}}
END
    echo '2 1:1000' >far.svm # z = -1000, -2000, -3000
    gives 0 logistic evaluate far.json far.svm --format json
    near "$(got log_loss)" 2000 1e-12 "the log loss of $how"
    gives 0 logistic predict far.json far.svm --quiet
    same "$(cat out)" "1 0 0" "probabilities of $how, far out"
done

gives 0 svm train --no-intercept train.svm --model s.json --quiet
gives 0 svm evaluate s.json test.svm
says out accuracy AUC "class -1" "class 1" F1
same "$(grep -c "95 %" out)" 4 "intervals: accuracy, AUC, F1 of each class"
! grep -q "log loss" out || fail "a machine has no probabilities"

# A model trained by another program is evaluated and shown in the same way
gives 0 sgd-logistic train --no-intercept train.svm --epochs 5 --model g.json --quiet
gives 0 sgd-logistic predict g.json test.svm --write label
right=$(sed -n 's/.*, \([0-9.]*\) % of labels right.*/\1/p' err)
gives 0 sgd-logistic evaluate g.json test.svm --format json
near "$(got accuracy)" "$(awk "BEGIN { print $right / 100 }")" 1e-4 \
    "accuracy of sgd-logistic"
gives 0 sgd-logistic show g.json --top 3
says out "sgd-logistic, 2000 columns" "(intercept)"
same "$(wc -l <out)" 5 "lines of its weights"

# A measure that the rows do not determine is reported as missing, never as NaN
grep '^1 ' test.svm >positive.svm
gives 0 logistic evaluate l.json positive.svm
says out "AUC          not to be had from these rows"
! grep -qi nan out || fail "rows of one class: $(cat out)"
gives 0 logistic evaluate l.json positive.svm --format json
says out '"auc": null'
head -n 1 test.svm >row.svm
for how in "logistic evaluate l.json" "svm evaluate s.json" \
    "lasso evaluate m.json"; do
    gives 0 $how row.svm
    ! grep -qi nan out || fail "one row: $(cat out)"
    gives 0 $how row.svm --format json
    ! grep -qi nan out || fail "one row as JSON: $(cat out)"
done
says out '"r2": null' ', null, null]'
# Labels that the model does not know are reported
{ cat row.svm && sed 's/^[^ ]*/7/' row.svm; } >strange.svm
for how in "logistic evaluate l.json" "svm evaluate s.json"; do
    gives 0 $how strange.svm
    says out "rows         2, 1 of labels that the model does not know"
    gives 0 $how strange.svm --format json
    says out '"rows": 2, "unknown_labels": 1,'
done
for how in "logistic predict l.json" "svm predict s.json"; do
    gives 0 $how strange.svm
    says err "1 of them have labels that the model does not know"
done
refuses 2 "s.json" lasso evaluate s.json test.svm
refuses 2 "nothing.svm" svm evaluate s.json nothing.svm
finish
