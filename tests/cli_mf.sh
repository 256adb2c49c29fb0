#!/bin/sh
# strads mf on countries' votes: train, predict, evaluate, with figures
# recomputed by awk; names; invalid input.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

votes=$STRADS_SOURCE/data/unvotes-tiny.txt
awk '(NR * 7919) % 10 == 3' "$votes" >votes.test
awk '(NR * 7919) % 10 != 3' "$votes" >votes.train

gives 0 mf train votes.train --tune 0 --test votes.test --workers 2 --model m.json \
    --log run.jsonl
says err "root mean squared error: training" "test 0." "the model is in m.json"
says run.jsonl '"sweep": 20' '"train_rmse": 0.' '"test_rmse": 0.' \
    '"ratings_per_second": ' '"seconds": ' '"cpu_seconds": ' \
    '"preparation_cpu_seconds": 0.'
same "$(grep -c '"event": "round"' run.jsonl)" 20 "reports"
same "$(tail -n 1 run.jsonl | grep -o '"seconds"' | wc -l)" 1 "seconds told"

# The model is the sweep with the least held-out error: the test error of the
# log, of evaluate, and from the predictions
test_rmse=$(sed -n 's/.*"validation_rmse": \([^,]*\),.*"test_rmse": \([^,]*\).*/\1 \2/p' \
    run.jsonl | sort -g | head -n 1 | cut -d ' ' -f 2)
gives 0 mf evaluate m.json votes.test
near "$(member out rmse)" "$test_rmse" 1e-5 "evaluate against the log"
says out '"ratings": 6675' '"rmse_95": [' '"mae_95": ['
gives 0 mf predict m.json votes.test --output predictions
same "$(wc -l <predictions)" 6675 "predictions"
near "$(awk 'FNR == NR { p[$1, $2] = $3; next }
    { d = $3 - p[$1, $2]; s += d * d; n++ }
    END { printf "%.9g", sqrt(s / n) }' predictions votes.test)" "$test_rmse" \
    1e-5 "the error of the predictions"
# Far below the error of the mean alone, which is the standard deviation
near "$(awk -v t="$test_rmse" '{ n++; s += $3; q += $3 * $3 }
    END { print (q / n - (s / n) ^ 2 > 4 * t * t) }' votes.test)" 1 0 \
    "the test error against the deviation"

# Names, with a header: the same factors as with numbers; input and output by
# name
awk 'BEGIN { print "country,resolution,vote" }
    { print "c" $1 ",r" $2 "," $3 }' votes.train >named.csv
awk 'BEGIN { print "country,resolution,vote" }
    { print "c" $1 ",r" $2 "," $3 }
    END { print "atlantis,r1,1" }' votes.test >named.test.csv
gives 0 mf train named.csv --tune 0 --no-clip --test named.test.csv --workers 2 --model named.json
gives 0 mf evaluate named.json named.test.csv
says err "1 ratings are of users or items that the model does not know"
near "$(member out rmse)" "$test_rmse" 0.03 "the error with names"
gives 0 mf predict named.json named.test.csv --quiet
same "$(head -n 1 out | cut -c 1)" c "a name"
refuses 2 "have names" mf evaluate m.json named.test.csv --quiet

# MatrixMarket: the same numbers, users and items from 1
awk 'FNR == NR { if ($1 > u) u = $1; if ($2 > i) i = $2; n++; next }
    FNR == 1 { print "%%MatrixMarket matrix coordinate real general"
        print u + 1, i + 1, n }
    { print $1 + 1, $2 + 1, $3 }' votes.train votes.train >votes.mtx
for method in sgd als ccd++; do
    for data in votes.train votes.mtx; do
        gives 0 mf train $data --tune 0 --method $method --sweeps 2 --workers 2 \
            --model $data.json --quiet
    done
    for side in users items; do
        cmp -s votes.train.json.$side.npy votes.mtx.json.$side.npy ||
            fail "$method: other $side from MatrixMarket"
    done
done
gives 0 mf recommend votes.mtx.json --user 193 --top 1 --quiet
same "$(cut -f 1 out)" 193 "the last user, counted from 1"
gives 0 mf recommend votes.train.json --user 192 --top 1 --quiet
same "$(cut -f 1 out)" 192 "the last user, counted from 0"

# Factors as CSV, by name, match the predictions
gives 0 mf show named.json --of users --output users.csv
gives 0 mf show named.json --of items --output items.csv
same "$(head -n 1 items.csv | cut -d , -f 1-3)" "item,bias,factor_1" "header"
same "$(wc -l <users.csv)" 194 "lines of users"
gives 0 mf predict named.json named.test.csv --quiet
near "$(awk -F '[,\t]' '
    FILENAME == "users.csv" { for (k = 2; k <= NF; k++) p[$1, k] = $k; next }
    FILENAME == "items.csv" { for (k = 2; k <= NF; k++) q[$1, k] = $k; n = NF
        next }
    { r = p[$1, 2] + q[$2, 2]
        for (k = 3; k <= n; k++) r += p[$1, k] * q[$2, k]
        d = $3 - r; s += d; if (d < low || !low) low = d
        if (d > high || !high) high = d }
    END { print high - low < 1e-4 }' users.csv items.csv out)" 1 0 \
    "predictions less what the CSV says, which is the mean"

# Over TCP: the model of one process
on_two 0 mf train votes.train --tune 0 --sweeps 3 --model nodes.json
gives 0 mf train votes.train --tune 0 --workers 1 --partitions 2 --sweeps 3 \
    --model alone.json
cmp -s nodes.json.items.npy alone.json.items.npy || fail "other items over TCP"
cmp -s nodes.json.users.npy alone.json.users.npy || fail "other users over TCP"
gives 0 simulate mf votes.train --workers 4 --cost 2

# Invalid input
refuses 2 "rank 0 is mean and biases" mf train votes.train --rank 0 --no-biases
refuses 2 "rank" mf train votes.train --rank 1025
refuses 2 "expected" mf train votes.train --method bold
refuses 2 "needs method als" mf train votes.train --method cd --implicit
refuses 2 "needs ratings from 0" mf train votes.train --implicit --quiet
refuses 2 "alpha has no effect on loss bpr" mf train votes.train --loss bpr --alpha 3
refuses 2 "mf evaluate" mf train votes.train --loss warp --test votes.test
awk '$3 > 0' votes.train >likes.train
gives 0 mf train likes.train --loss bpr --rank 8 --sweeps 3 --model bpr.json --log bpr.log
says bpr.log '"objective": 0.'
says bpr.json '"loss": "bpr"' '"implicit": true'
refuses 2 "cg-steps is for implicit feedback" mf train votes.train --cg-steps 3
refuses 2 "needs ratings from 0" mf train votes.train --nonnegative \
    --no-biases --quiet
gives 0 plan make four.json --partitions 4
refuses 2 "the plan is for 4 partitions" mf train votes.train --quiet \
    --plan four.json --partitions 2
refuses 2 "the plan has 8 blocks, the option blocks is 12" mf train \
    votes.train --tune 0 --plan four.json --blocks 12 --workers 2 --quiet
gives 0 mf train votes.train --tune 0 --plan four.json --workers 2 --sweeps 1 --quiet
for method in als ccd++; do
    gives 0 mf train votes.train --tune 0 --plan four.json --workers 2 --sweeps 1 \
        --quiet --method $method
done
: >empty.txt
refuses 2 "empty.txt: is empty, expected lines" mf train empty.txt --quiet
printf 'user,item,rating\n' >header.csv
refuses 2 "found no entries" mf train header.csv --quiet
printf '0 0 2\n' >one.txt
gives 0 mf train one.txt --tune 0 --rank 1 --workers 2
for method in als ccd++; do
    gives 0 mf train one.txt --tune 0 --rank 1 --workers 2 --method $method
done
printf '0 0 1\n0 1 nan\n' >nan.txt
refuses 2 "line 2: found 'nan'" mf train nan.txt --quiet
printf 'user,item,rating\na,b,1\nc,d\ne\n' >ragged.csv
refuses 2 "line 3: found 'c,d'" mf train ragged.csv --quiet
printf '\357\273\277user,item,rating\na,x,1\nb,x,2\na,y,3\nb,y,3\n' >bom.csv
gives 0 mf train bom.csv --tune 0 --workers 1 --rank 1 --quiet
# With two ratings the first factors may be far off; this is not divergence.
printf '1 2 3\n2 3 4\n' >two.txt
printf 'user,item,rating\na,x,3\nb,y,4\n' >two.csv
for seed in 0 1 2 3 4; do
    for few in two.txt two.csv; do
        gives 0 mf train $few --tune 0 --sweeps 5 --rank 2 --seed $seed
        ! grep -q "undone" err || fail "$few, seed $seed: $(tail -n 1 err)"
    done
done
# With one rating, which equals the mean, all of the error comes from the first
# factors.
gives 0 mf train one.txt --tune 0 --seed 2
! grep -q "undone" err || fail "one rating: $(tail -n 1 err)"
printf '0 0 1\n0 1 2\n1 0 3\n0 0 5\n' >twice.txt
gives 0 mf train twice.txt --tune 0 --workers 1 --rank 1 --model twice.json
says err "repeated pairs of user and item: 1; the last"
# One rating has an error, but no interval.
head -n 1 votes.test >one.txt
gives 0 mf evaluate m.json one.txt
says out '"ratings": 1,' '"rmse_95": [null, null]' '"mae_95": [null, null]'
refuses 2 "cannot be read" mf train votes.train --test nowhere --quiet
refuses 2 "is no plain file" mf train votes.train --test . --quiet
refuses 2 "is no plain file" mf train votes.train --test /dev/null --quiet
printf 'x' >>m.json.users.npy
gives 0 mf evaluate m.json votes.test
head -c 5000 alone.json.users.npy >m.json.users.npy
refuses 2 "is not the file that was written with the model" mf evaluate m.json votes.test

# Killed while a model replaces an older one: one of the two is there
gives 0 mf train votes.train --tune 0 --rank 2 --sweeps 1 --model kept.json --quiet
gives 0 mf evaluate kept.json votes.test
older=$(member out rmse)
for file in kept.json kept.json.users.npy kept.json.items.npy; do
    cp "$file" "older.$file"
done
gives 0 mf train votes.train --tune 0 --rank 3 --sweeps 2 --model kept.json --quiet
sum_of() { sed -n "s/.*\"$1_checksum\": \"\(.*\)\".*/\1/p" older.kept.json; }
for side in users items; do # the state before the last rename
    cp older.kept.json.$side.npy "kept.json.$side.$(sum_of $side).npy"
done
cp older.kept.json kept.json
gives 0 mf evaluate kept.json votes.test
same "$(member out rmse)" "$older" "the older model"
for _ in 1 2 3 4 5 6; do
    start killed mf train votes.train --tune 0 --rank 4 --sweeps 1 --model kept.json \
        --seed 9 --quiet
    for _ in $(seq 400); do
        ls kept.json.users.*.npy >/dev/null 2>&1 && break
        kill -0 "$child" 2>/dev/null || break
    done
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
    gives 0 mf evaluate kept.json votes.test
done
gives 0 mf train votes.train --tune 0 --rank 2 --sweeps 1 --model kept.json --quiet
gives 0 mf evaluate kept.json votes.test
same "$(member out rmse)" "$older" "the newest model"
same "$(find . -name 'kept.json.*' ! -name '*.part' | wc -l)" 2 \
    "arrays: $(ls kept.json.*)"
refuses 2 "no model of mf" mf evaluate run.jsonl votes.test
printf '{"format": "strads-model"}' >other.json
refuses 2 'no model of mf: "format" is "strads-model"' mf show other.json
finish
