#!/bin/sh
# --lambda 0 is a lambda of 0 in every program that has one: fits are those of a lambda
# of almost 0, and not those of the default.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

awk 'BEGIN {
    srand(5)
    for (i = 0; i < 60; i++) {
        for (k = 1; k <= 3; k++) x[k] = rand() - .5
        z = x[1] - 2 * x[2] + rand() - .5
        row = sprintf(" 1:%.5f 2:%.5f 3:%.5f", x[1], x[2], x[3])
        print z row >"numbers.svm"
        print (z + 2 * rand() - 1 > 0 ? 1 : -1) row >"classes.svm"
        for (j = 0; j < 20; j++)
            if (rand() < .5) print i, j, 1 + int(5 * rand()) >"ratings.txt"
    }
}'

# same_minimum PROGRAM WORDS...
same_minimum() {
    program=$1
    shift
    for lambda in 0 1e-12 .1; do
        gives 0 "$program" train "$@" --lambda $lambda --model $lambda.model
        grep -o 'objective [^,]*\|training [^,]*' err | tail -n 1 >at_$lambda
        ! grep -q 'lambda -0' err || fail "$program $*: $(grep 'lambda -0' err)"
    done
    same "$(awk '{ printf "%.5g", $2 }' at_0)" \
        "$(awk '{ printf "%.5g", $2 }' at_1e-12)" "$program $*: --lambda 0"
    [ "$(cat at_0)" != "$(cat at_.1)" ] || fail "$program $*: lambda is not used"
}

same_minimum lasso numbers.svm
same_minimum logistic classes.svm
same_minimum logistic classes.svm --l1-ratio 0
for penalty in l1 elastic-net ridge mcp scad; do
    same_minimum glm numbers.svm --penalty $penalty
done
same_minimum glm classes.svm --loss logistic
same_minimum glm numbers.svm --loss huber
for method in sgd als cd ccd++; do
    same_minimum mf ratings.txt --tune 0 --rank 2 --sweeps 3 --method $method
done

# A lambda that is not given is null, so that the printed options give the same fit.
gives 0 lasso train numbers.svm --print-config
says out '"lambda": null'
gives 0 lasso train numbers.svm --lambda 0 --print-config
says out '"lambda": 0'
gives 0 lasso train numbers.svm --lambda 0 --model zero.json
says zero.json '"lambda": 0'
gives 2 lasso train numbers.svm --lambda 0 --lambda-ratio .1
says err 'give one of them'
finish
