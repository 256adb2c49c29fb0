#!/bin/sh
# strads mf with times: train, predict, evaluate, two processes, checkpoints.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

awk 'BEGIN { srand(4); print "uid,movie,stars,when" >"train.csv"
    print "uid,movie,stars,when" >"test.csv"
    for (i = 0; i < 40; i++) c[i] = rand() - .5
    for (u = 0; u < 120; u++) { b = rand() - .5
        for (k = 0; k < 20; k++) { i = int(2 * k + 2 * rand()); t = rand()
            line = "u" u ",m" i "," sprintf("%.3f", 3 + b + c[i] + (t > .5 ? 1 : -1) + .2 * rand()) "," int(1e9 + 1e8 * t)
            print line >(rand() < .8 ? "train.csv" : "test.csv") } } }'
columns="--user uid --item movie --rating stars"
common="train.csv $columns --tune 0 --rank 4 --sweeps 5 --partitions 3 --seed 2"
timed="--time when --holdout 0.1 --holdout-by time --test test.csv"
gives 0 mf train $common --model plain.json --test test.csv
gives 0 mf train $common $timed --workers 1 --model one.json
says one.json '"times"' '"first": 1000' '"holdout-by": "time"' '"time": "when"'
same_model() { # WHAT MODEL...: all have the factors and biases of the first.
    what=$1 first_model=$2
    shift
    for model; do
        for array in users items; do
            cmp -s "$first_model.$array.npy" "$model.$array.npy" ||
                fail "$what: $array of $model are others"
        done
        same "$(sed -n '/"times"/,/}/p' "$model")" \
            "$(sed -n '/"times"/,/}/p' "$first_model")" "$what: times"
    done
}
rmse_of() {
    gives 0 mf evaluate "$1" test.csv --format csv
    awk -F, '$1 == "rmse" { print $3 }' out
}
gives 0 mf evaluate plain.json test.csv --format csv
plain=$(awk -F, '$1 == "rmse" { print $3 }' out)
gives 0 mf train $common $timed --workers 2 --model two.json
cp err two.err
told=$(sed -n 's/.* test \([0-9.e-]*\),.*/\1/p' err)
timed_error=$(rmse_of one.json)
near "$timed_error" "$told" 1e-5 "the error of evaluate and of train"
awk -v a="$timed_error" -v b="$plain" 'BEGIN { exit !(a < .3 * b) }' ||
    fail "RMSE $timed_error with times, $plain without"
rounds=$(sed -n 's/.*done after \([0-9]*\) rounds.*/\1/p' two.err)
same_model "workers" one.json two.json

# A prediction is of the time of the pair; earlier and later ones are clamped.
printf 'uid,movie,when\nu3,m5,1000000000\nu3,m6,5\n' >early.csv
printf 'uid,movie,when\nu3,m5,1099999999\nu3,m6,9e9\n' >late.csv
gives 0 mf predict one.json early.csv
awk '{ print $3 }' out >early
gives 0 mf predict one.json late.csv
awk '{ print $3 }' out | paste -d ' ' early - |
    awk '{ d = $2 - $1; if (d < 1.5 || d > 2.5) exit 1 }' ||
    fail "predictions do not follow the time: $(cat early out)"
gives 0 mf recommend one.json --user u3 --top 2

# Two processes, and a run that resumes, have the same bits.
start first mf train $common $timed --nodes 2 --workers 1 \
    --listen tcp://127.0.0.1:0 --model there.json
first=$child
start second join "$(url_of first)" --workers 1 $columns --time when
ends first "$first" 0
ends second "$child" 0
gives 0 mf train $common $timed --checkpoint kept --checkpoint-every 0.001 \
    --max-rounds $((rounds - 12)) --model part.json
gives 0 mf train $common $timed --resume kept --model resumed.json
same_model "processes and checkpoints" one.json there.json resumed.json

# Numbers of columns in a file without a header; a search by time.
tail -n +2 train.csv | tr -d um >bare.csv
gives 0 mf train bare.csv --time 4 --tune 2 --holdout-by time --model bare.json
says bare.json '"times"' '"time": "4"'
tail -n +2 test.csv | tr -d um >bare_test.csv
gives 0 mf evaluate bare.json bare_test.csv --format csv
bare=$(awk -F, '$1 == "rmse" { print $3 }' out)
awk -v a="$bare" -v b="$plain" 'BEGIN { exit !(a < .5 * b) }' ||
    fail "RMSE $bare without a header"

# Errors name the option and the line.
refuses 2 "no column 'foo'" mf train $common --time foo
refuses 2 "--time foo" mf train $common --time foo
sed '5s/[0-9]*$/soon/' train.csv >soon.csv
refuses 2 "line 5: found" mf train soon.csv $columns --time when --rank 2
refuses 2 "--time when" mf train soon.csv $columns --time when --rank 2
refuses 2 "implicit" mf train $common --time when --implicit
refuses 2 "no-biases" mf train $common --time when --no-biases
refuses 2 "add time" mf train $common --holdout-by time
refuses 2 "without times" mf predict plain.json test.csv --time when
cut -d, -f1-3 test.csv >without.csv
refuses 2 "no column 'when'" mf evaluate one.json without.csv
"$STRADS_BIN" mf train - --time 4 --rank 2 <bare.csv >out 2>err &&
    fail "--time reads a pipe"
says err "no plain file"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 3\n1 2 4\n2 2 5\n' >m.mtx
refuses 2 "is MatrixMarket" mf train m.mtx --time 4 --rank 2
finish
