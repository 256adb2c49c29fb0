#!/bin/sh
# Extreme data with solutions of the lasso known in closed form.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# trains TEXT INTERCEPT INDICES VALUES WORDS...: expects this model for the
# data.
trains() {
    printf '%b' "$1" >d.svm
    b=$2 indices=$3 values=$4
    shift 4
    rm -f m.json
    gives 0 lasso train --no-intercept d.svm --tolerance 1e-12 --model m.json "$@"
    near "$(sed -n 's/^  "intercept": \(.*\),/\1/p' m.json)" "$b" 1e-6 \
        "the intercept of $*"
    same "$(sed -n 's/.*"index": \[\(.*\)\].*/\1/p' m.json)" "$indices" \
        "the indices of $*"
    found=$(sed -n 's/.*"value": \[\(.*\)\].*/\1/p' m.json)
    for value in $values; do
        near "${found%%,*}" "$value" 1e-6 "a value of $*"
        found=${found#*, }
    done
}

# More workers than rows: w = y - n lambda on a diagonal
trains '1 1:1\n2 2:1\n' 0 '1, 2' '0.8 1.8' --lambda 0.1 --workers 8 \
    --partitions 8
# Rows without entries, and an empty column: w3 = (2 * 3 - 3 * 0.1) / 4
trains '1 1:1\n2 \n3 3:2\n' 0 '1, 3' '0.7 1.425' --lambda 0.1 --workers 2 \
    --partitions 2
# A constant column has no effect beside an intercept: w2 = 1 - lambda / var
trains '1 1:1 2:1\n2 1:1 2:2\n3 1:1 2:3\n' 0.03 2 0.985 --lambda 0.01 \
    --intercept
trains '1 1:1 2:1\n2 1:1 2:2\n3 1:1 2:3\n' 0.02449489742783 2 \
    0.98775255128608 --lambda 0.01 --intercept --standardize
# One row: the full label by its column, or by the intercept
trains '5 1:1\n' 0 1 4 --lambda 1
trains '5 1:1\n' 5 '' '' --partitions 3 --workers 2 --intercept
# Labels of 0, and a penalty that is too large
trains '0 1:1\n0 2:1\n' 0 '' ''
says err 'no column is related to the labels'
trains '1 1:1\n2 2:1\n' 0 '' '' --lambda 100
# Ridge's share: w = (y - n lambda a) / (1 + n lambda (1 - a)), a = 0.5
trains '1 1:1\n2 2:1\n' 0 '1, 2' '0.81818181818 1.72727272727' --lambda 0.1 \
    --l1-ratio 0.5
# With --positive, no negative coefficients
trains '1 1:1\n-2 2:1\n' 0 1 0.8 --lambda 0.1 --positive

# No columns at all
printf '1\n2\n' >none.svm
for fit in 'lasso train' 'svm train' 'svm train --l1-ratio 1 --intercept' \
    'logistic train --intercept --l1-ratio 0 --c 1' 'sgd-logistic train'; do
    refuses 2 'none.svm: has no columns' $fit none.svm --model n.json
done
[ ! -e n.json ] || fail "no columns left a model"

# Classes: separable, with a zero column and a duplicated one; a single label;
# labels that are words; columns of 1e-8 beside 1e8
awk 'BEGIN { for (i = 0; i < 60; i++) { y = i % 2 ? 7 : -2.5
    u = (i * 37 % 60) / 60 - .5; v = (i * 23 % 60) / 60 - .5
    printf "%g 1:%g 2:%g 3:0 4:%g\n", y, u + (y > 0 ? .8 : -.8), v, v } }' \
    >apart.svm
sed 's/^[^ ]*/5/' apart.svm >one.svm
sed 's/^[^ ]*/yes/' apart.svm >words.svm
awk 'BEGIN { for (i = 0; i < 60; i++) { y = i % 2 ? 1 : -1
    u = (i * 37 % 60) / 60 - .5; v = (i * 23 % 60) / 60 - .5
    printf "%d 1:%.9g 2:%.9g\n", y, (u + .3 * y) * 1e-8,
        (v + .3 * y) * 1e8 } }' >far.svm
awk '{ for (k = 2; k <= 3; k++) { split($k, e, ":"); q[k] += e[2] ^ 2 }
    row[NR] = $0 }
    END { for (i = 1; i <= NR; i++) { split(row[i], f, " ")
        printf "%s", f[1]
        for (k = 2; k <= 3; k++) { split(f[k], e, ":")
            printf " %d:%.17g", e[1], e[2] / sqrt(q[k] / NR) }
        print "" } }' far.svm >near.svm
for how in "svm --no-intercept --loss hinge" \
    "svm --no-intercept --loss squared-hinge" "svm --no-intercept --l1-ratio 1" \
    "svm --l1-ratio 0 --intercept" "logistic --no-intercept" \
    "logistic --no-intercept --l1-ratio 0" "logistic --l1-ratio 0.5 --intercept"; do
    set -- $how
    program=$1
    shift
    for workers in 1 2 4; do
        gives 0 "$program" train apart.svm "$@" --workers $workers \
            --partitions $workers --model m.json
        says err "labels -2.5,7: the second is positive"
        gives 0 "$program" evaluate m.json apart.svm
        says out "accuracy     1 (" "AUC          1 ("
        refuses 2 "all rows have the label 5" "$program" train one.svm "$@" \
            --workers $workers --partitions $workers --quiet
    done
    refuses 2 "all rows have the label yes" "$program" train words.svm "$@" \
        --quiet
    gives 0 "$program" train far.svm "$@" --standardize --model far.json
    gives 0 "$program" train near.svm "$@" --model near.json
    case $how in
    *" --intercept"*) ;; # deviations, not root mean squares
    *) near "$(member far.json objective)" "$(member near.json objective)" \
        2e-6 "columns of unequal scale, $how" ;;
    esac
done

# A fit to a tolerance below rounding reports that it did not converge, and a
# remedy
gives 3 lasso train --no-intercept "$year_train" --tolerance 1e-15 --model short.json
says err "stalled short of --tolerance"
says err "--standardize helps"
gives 3 lasso train --no-intercept "$year_train" --tolerance 1e-15 --standardize
says err "stalled short of --tolerance"
case $(cat err) in
*"--standardize helps"*) fail "advice to do what is done" ;;
esac
finish
