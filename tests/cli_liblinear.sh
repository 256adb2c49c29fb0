#!/bin/sh
# Models in liblinear's format: liblinear's predictions with our models, ours
# with its models, and errors in model files.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# A liblinear model, written by hand: 2 x_1 - x_3 + 0.5 > 0 is label 7, else -2
cat >hand.model <<'END'
solver_type L2R_L1LOSS_SVC_DUAL
nr_class 2
label 7 -2
nr_feature 3
bias 0.5
w
2 
0 
-1 
1 
END
printf '7 1:1\n-2 3:1\n-2 1:1 3:4\n7 2:9\n' >hand.svm
gives 0 svm predict hand.model hand.svm --write decision
same "$(tr '\n' ' ' <out)" "2.5 -0.5 -1.5 0.5 " "decisions by hand"
gives 0 svm predict hand.model hand.svm
same "$(tr '\n' ' ' <out)" "7 -2 -2 7 " "labels by hand"
says err "100.00 % of labels right"
gives 0 svm show hand.model
says out "2"
sed 's/L1LOSS_SVC_DUAL/LR/' hand.model >hand_lr.model
gives 0 logistic predict hand_lr.model hand.svm --write label
same "$(tr '\n' ' ' <out)" "7 -2 -2 7 " "labels by hand, logistic"
gives 0 svm train --no-intercept hand.svm --start hand.model --quiet

# Our models in liblinear's format and back
for loss in hinge squared-hinge; do
    gives 0 svm train --no-intercept "$party" --loss $loss --bias 1 --workers 1 --c 0.1 \
        --model $loss.json
    gives 0 svm train --no-intercept "$party" --loss $loss --bias 1 --workers 1 --c 0.1 \
        --model $loss.liblinear
    gives 0 svm predict $loss.json "$party_test" --write decision
    cp out decisions
    gives 0 svm predict $loss.liblinear "$party_test" --write decision
    cmp -s out decisions || fail "$loss: decisions differ in liblinear's format"
done
gives 0 svm train --no-intercept "$year_train" --loss epsilon --epsilon 0.5 --c 0.1 \
    --workers 1 --model year.liblinear
says year.liblinear "solver_type L2R_L1LOSS_SVR_DUAL"
gives 0 logistic train --no-intercept "$party" --c 1 --model lr.liblinear --workers 1
awk '{ $1 = NR % 3 + 1; print }' "$party" >three.svm
gives 0 logistic train --no-intercept three.svm --c 0.1 --model three.liblinear --workers 1
gives 0 logistic predict three.liblinear three.svm --write label
cp out three
gives 0 svm train --no-intercept three.svm --l1-ratio 0 --c 0.1 --model three_svm.liblinear \
    --workers 1
gives 0 svm predict three_svm.liblinear three.svm
cp out three_svm
gives 0 svm train --no-intercept "$party" --l1-ratio 1 --model sparse.liblinear --workers 1
says sparse.liblinear "solver_type L1R_L2LOSS_SVC"

# liblinear's programs agree
if command -v liblinear-predict >/dev/null 2>&1; then
    for model in hinge squared-hinge; do
        liblinear-predict "$party_test" $model.liblinear theirs >/dev/null
        gives 0 svm predict $model.liblinear "$party_test"
        cmp -s out theirs || fail "$model: liblinear-predict differs"
    done
    liblinear-predict "$party_test" lr.liblinear theirs >/dev/null
    gives 0 logistic predict lr.liblinear "$party_test" --write label
    cmp -s out theirs || fail "logistic: liblinear-predict differs"
    liblinear-predict three.svm three.liblinear theirs >/dev/null
    cmp -s three theirs || fail "three classes: liblinear-predict differs"
    liblinear-predict three.svm three_svm.liblinear theirs >/dev/null
    cmp -s three_svm theirs || fail "an SVM of three: liblinear-predict differs"
    theirs=$(liblinear-train -s 5 -e 1e-7 "$party" theirs.model |
        sed -n 's/^Objective value = //p')
    gives 0 svm train --no-intercept "$party" --l1-ratio 1 --model sparse.json \
        --workers 2 --partitions 2
    near "$(awk "BEGIN { print $theirs / $(wc -l <"$party") }")" \
        "$(member sparse.json objective)" 1e-5 "the objective of solver 5"
    liblinear-predict "$year_test" year.liblinear theirs >/dev/null
    gives 0 svm predict year.liblinear "$year_test"
    paste out theirs | awk '{ d = $1 - $2; if (d < 0) d = -d
        if (d > 1e-5 * (1 + ($1 < 0 ? -$1 : $1))) { print; exit 1 } }' ||
        fail "numbers: liblinear-predict differs"
    for solver in 1 2 3 5; do
        liblinear-train -q -s $solver -B 1 "$party" theirs.model
        liblinear-predict "$party_test" theirs.model theirs >/dev/null
        gives 0 svm predict theirs.model "$party_test"
        cmp -s out theirs || fail "solver $solver: labels differ"
    done
    liblinear-train -q -s 0 three.svm theirs.model
    liblinear-predict three.svm theirs.model theirs >/dev/null
    gives 0 logistic predict theirs.model three.svm --write label
    cmp -s out theirs || fail "solver 0, three classes: labels differ"
fi

# Errors in a file
sed '$d' hand.model >short.model
refuses 2 "line 10: expected another line of w" svm predict short.model hand.svm
sed 's/SVC_DUAL/SVC_TRIAL/' hand.model >solver.model
refuses 2 'line 1: the solver "L2R_L1LOSS_SVC_TRIAL" is not supported' svm predict solver.model hand.svm
sed '/label/d' hand.model >label.model
refuses 2 "as many labels as classes" svm predict label.model hand.svm
sed 's/^-1 $/x/' hand.model >number.model
refuses 2 "line 9: expected a number" svm predict number.model hand.svm
refuses 2 "expected one of logistic" logistic predict hand.model hand.svm
refuses 2 "expected one of lasso" lasso predict hand.model hand.svm
sed 's/^7/7.5/' hand.svm >half.svm
refuses 2 "is not a whole number" svm train half.svm --quiet \
    --model half.liblinear
[ ! -e half.liblinear ] || fail "half a model was left behind"

# Options without a liblinear model are reported before training
refuses 2 "liblinear has no model like this" lasso train hand.svm \
    --model m.liblinear
refuses 2 "liblinear has no model like this" logistic train hand.svm \
    --multiclass softmax --model m.liblinear
finish
