#!/bin/sh
# If no column of the data is in the model, predict reports it. Labels with
# squares that overflow are refused in a message that names them.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

printf '1 1:1 2:2\n-1 1:2 2:1\n1 1:4 2:9\n-1 1:4 2:2\n' >train.svm
printf '1 100:1 200:2\n-1 300:1\n' >other.svm
for program in lasso "glm --loss logistic" logistic svm; do
    name=${program%% *} options=${program#"$name"}
    # shellcheck disable=SC2086 # words
    run "$name" train train.svm $options --lambda 0.01 --model model.json
    [ "$code" -ne 2 ] || gives 0 "$name" train train.svm --model model.json
    for verb in predict evaluate; do
        gives 0 "$name" $verb model.json other.svm
        says err "none of its 2 rows has a value in one of the model's 2 columns"
        gives 0 "$name" $verb model.json train.svm
        ! grep -q "none of its" err || fail "$name $verb: $(cat err)"
    done
done

printf '1e200 1:1\n3e200 1:2 2:1\n' >large.svm
refuses 2 "labels" lasso train large.svm --lambda 1e199 --quiet
finish
