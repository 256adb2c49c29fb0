#!/bin/sh
# The errors that `mf train` prints match the model that it writes: `mf
# evaluate` finds the same on the same ratings, for each method, rank and
# number of sweeps, also for ratings far from 0.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0

# ratings OFFSET SEED: planted factors, noise; a tenth is test data.
ratings() {
    awk -v offset="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        for (u = 0; u < 60; u++) { a[u] = rand(); b[u] = rand() }
        for (i = 0; i < 40; i++) { c[i] = rand(); d[i] = rand() }
        for (u = 0; u < 60; u++) for (i = 0; i < 40; i++)
            if (rand() < .6)
                printf "%d %d %.4f\n", u, i,
                    offset + a[u] * c[i] + b[u] * d[i] + .1 * rand() \
                    >(rand() < .1 ? "test.txt" : "train.txt")
    }'
}

# agree NAME PRINTED FOUND: equal in the printed digits.
agree() {
    awk -v a="$2" -v b="$3" 'BEGIN {
        exit !(a != "" && b != "" && a - b < 2e-5 * b + 1e-9 &&
               b - a < 2e-5 * b + 1e-9) }' && return
    echo "$1: train prints $2, evaluate finds $3"
    failed=1
}

# check OPTIONS: trains, evaluates.
check() {
    "$STRADS_BIN" mf train train.txt --test test.txt --tune 0 --no-clip --holdout 0 \
        --model m.json "$@" >out 2>err || {
        echo "mf train $*"; cat err; failed=1; return; }
    for part in train test; do
        "$STRADS_BIN" mf evaluate m.json $part.txt --quiet >$part.json
    done
    said=$(sed -n 's/.*error: training \([^,]*\), test \([^,]*\),.*/\1 \2/p' err)
    agree "mf $* training" "${said% *}" \
        "$(sed -n 's/.*"rmse": \([^,]*\),.*/\1/p' train.json)"
    agree "mf $* test" "${said#* }" \
        "$(sed -n 's/.*"rmse": \([^,]*\),.*/\1/p' test.json)"
}

for offset in 0 -3e4 1e9; do
    ratings $offset 7
    check --rank 0
    for method in sgd als cd ccd++; do
        check --method $method --rank 4 --sweeps 5
    done
done
ratings 0 8
for rank in 1 20; do
    for sweeps in 1 2; do
        check --method sgd --rank $rank --sweeps $sweeps --workers 2
        check --method als --rank $rank --sweeps $sweeps
        for method in als ccd++; do
            check --method $method --rank $rank --sweeps $sweeps --nonnegative
            check --method $method --rank $rank --sweeps $sweeps --nonnegative \
                --no-biases
        done
    done
done

# Every line is predicted and counted, known or not, with names and numbers;
# the error during training counts the same lines.
ratings 0 9
for form in numbers names; do
    for part in train test; do
        cp $part.txt $form.$part
        [ $part = train ] || echo '99 1 .5
1 99 .5
99 99 .5' >>$form.$part
        [ $form = numbers ] || awk 'BEGIN { print "user item rating" }
            { print "u" $1, "i" $2, $3 }' $part.txt >$form.$part
        [ $form = numbers ] || [ $part = train ] || echo 'new i1 .5
u1 new .5
new new .5' >>$form.$part
    done
    "$STRADS_BIN" mf train $form.train --test $form.test --tune 0 \
        --holdout 0 --method als --rank 2 --workers 2 --model m.json 2>err
    "$STRADS_BIN" mf evaluate m.json $form.test --quiet >test.json
    agree "$form with unknown ones" \
        "$(sed -n 's/.*error: training [^,]*, test \([^,]*\),.*/\1/p' err)" \
        "$(sed -n 's/.*"rmse": \([^,]*\),.*/\1/p' test.json)"
    lines=$(awk 'NF == 3 && $3 != "rating"' $form.test | wc -l)
    "$STRADS_BIN" mf predict m.json $form.test --quiet >out
    if [ "$(wc -l <out)" != "$lines" ] || ! grep -q '"unknown": 3' test.json ||
        ! grep -q "\"ratings\": $lines," test.json; then
        echo "$form: $(wc -l <out) predictions of $lines lines"
        cat test.json
        failed=1
    fi
done

# More factors than ratings: a sum of squares is not negative.
printf '0 0 5\n0 1 3\n1 0 4\n' >few.txt
for method in als cd ccd++; do
    "$STRADS_BIN" mf train few.txt --tune 0 --rank 50 --method $method --model m.json \
        2>err
    if grep -q 'objective -' err || ! grep -q 'error: training' err; then
        echo "rank 50 on 3 ratings by $method:"; cat err; failed=1
    fi
done

# An empty field is not the end of the file.
printf 'user,item,rating\na,b,\nc,d,3\n' >gap.csv
code=0
"$STRADS_BIN" mf train gap.csv --rank 2 2>err || code=$?
if [ $code != 2 ] || ! grep -q 'line 2: found an empty field' err; then
    echo "a missing rating: exit $code"; cat err; failed=1
fi

exit $failed
