#!/bin/sh
# strads fm: train, predict, evaluate and show; the same model from two processes
# and from a checkpoint; tables; bad input.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

common="--rank 3 --sweeps 6 --seed 3 --partitions 2 --tune 0"

gives 0 fm train "$year_train" $common --model one.json --log one.jsonl
says err "rank 3, lambda" "mean loss of the training rows" "done after"
says one.json '"program": "fm"' '"rank": 3' '"loss": "squared"' '"lambda":'
says one.jsonl '"sweep"' '"loss"'
gives 0 fm predict one.json "$year_test"
same "$(wc -l <out)" 373 "the number of predictions"
cp out predictions
gives 0 fm evaluate one.json "$year_test" --format csv
rmse=$(paste -d ' ' predictions "$year_test" |
    awk '{ d = $1 - $2; s += d * d } END { printf "%.9g", sqrt(s / NR) }')
near "$(awk -F, '$1 == "rmse" { print $3 }' out)" "$rmse" 1e-7 "RMSE"

# show has the numbers of which predict is the sum over pairs
gives 0 fm show one.json
same "$(head -n 1 out)" "column,name,weight,factor_1,factor_2,factor_3" "titles"
awk -F, 'NR == FNR { if (FNR > 1) for (f = 3; f <= 6; f++) v[$1, f] = $f; next }
    { n = split($0, word, " "); s = v[0, 3]
      for (a = 2; a <= n; a++) { split(word[a], p, ":"); s += v[p[1], 3] * p[2]
          for (b = a + 1; b <= n; b++) { split(word[b], q, ":")
              for (f = 4; f <= 6; f++)
                  s += v[p[1], f] * v[q[1], f] * p[2] * q[2] } }
      printf "%.9g\n", s }' out "$year_test" | head -n 20 >sums
head -n 20 predictions | paste -d ' ' - sums |
    awk '{ d = $1 - $2; if (d * d > 1e-10) exit 1 }' ||
    fail "predictions are not the sums over pairs"

# Two processes, and a run that resumes, give the same bits.
gives 0 fm train "$year_train" $common --workers 1 --model again.json
start there fm train "$year_train" $common --nodes 2 --workers 1 \
    --listen tcp://127.0.0.1:0 --model there.json
first=$child
start joined join "$(url_of there)" --workers 1
ends there "$first" 0
ends joined "$child" 0
gives 0 fm train "$year_train" $common --max-rounds 3700 --model part.json \
    --checkpoint kept --checkpoint-every 0.01
says err "to continue" "stopped by --max-rounds"
gives 0 fm train "$year_train" $common --resume kept --model resumed.json
same_bits "bits" one.json again.json there.json resumed.json
near 3700 "$(member part.json rounds)" 0 "rounds before the checkpoint"

# A start model is a good start
gives 0 fm train "$year_train" $common --sweeps 1 --model first.json
gives 0 fm train "$year_train" $common --sweeps 1 --start one.json \
    --model second.json
awk -v a="$(member first.json objective)" -v b="$(member second.json objective)" \
    'BEGIN { exit !(b < a) }' || fail "--start does not help"
gives 0 fm train "$year_train" --sweeps 1 --tune 2 --start one.json
says err "rank 3, lambda"

# Two classes
gives 0 fm train "$party" $common --loss logistic --lambda 1e-3 \
    --model party.json
says err "labels -1,1"
gives 0 fm predict party.json "$party_test" --write label
right=$(paste -d ' ' out "$party_test" | awk '$1 == $2' | wc -l)
[ "$right" -gt 290 ] || fail "only $right of 373 labels are right"
gives 0 fm evaluate party.json "$party_test" --format csv
same "$(awk -F, '$1 == "accuracy" { printf "%.0f", $3 * 373 }' out)" "$right" \
    "labels that are right, by evaluate and by predict"

# A table: names of columns and of labels travel with the model
awk 'BEGIN { srand(1); print "user,item,likes"
    for (i = 0; i < 300; i++) { u = int(rand() * 10); v = int(rand() * 8)
        print "u" u ",i" v "," ((u + v) % 2 ? "yes" : "no") } }' >likes.csv
gives 0 fm train likes.csv --target likes --categorical one-hot --rank 2 \
    --loss logistic --lambda 1e-3 --model likes.json
gives 0 fm evaluate likes.json likes.csv --format csv
awk -F, '$1 == "accuracy" { exit !($3 > .99) }' out ||
    fail "pairs are not learnt: $(grep accuracy out)"
gives 0 fm train likes.csv --target likes --categorical one-hot --rank 0 \
    --loss logistic --tune 0 --model linear.json
gives 0 fm evaluate linear.json likes.csv --format csv
awk -F, '$1 == "accuracy" { exit !($3 < .8) }' out ||
    fail "the pairs can be learnt without factors"
gives 0 fm show likes.json
says out "user=u3" "item=i5"

# Ratings with tables: users and items that nobody has rated are predicted from
# their attributes, better than by the biases of ratings alone.
awk 'BEGIN {
    srand(7)
    print "user,item,rating" >"train.csv"; print "user,item,rating" >"test.csv"
    print "user,region,age" >"users.csv"; print "item,genre" >"items.csv"
    for (r = 0; r < 4; r++) for (g = 0; g < 5; g++) likes[r, g] = 3 * (rand() - .5)
    for (v = 0; v < 40; v++) { genre[v] = int(rand() * 5); b[v] = rand() - .5
        print "v" v ",genre" genre[v] >"items.csv" }
    for (u = 0; u < 150; u++) { region[u] = int(rand() * 4); a = rand() - .5
        print "u" u ",region" region[u] "," int(20 + 40 * rand()) / 40 >"users.csv"
        for (k = 0; k < 15; k++) { v = int(rand() * 40)
            if ((u, v) in seen) continue
            seen[u, v] = 1
            line = "u" u ",v" v "," sprintf("%.3f", 3 + a + b[v] + likes[region[u], genre[v]] + .3 * (rand() - .5))
            print line >(u < 110 && v < 34 ? "train.csv" : "test.csv") } }
}'
tables="--users users.csv --items items.csv"
gives 0 fm train train.csv $tables --model cold.json --log cold.jsonl
says err "chose rank" "held-out rows"
same "$(grep -c '"event": "trial".*"chosen": true' cold.jsonl)" 1 "the choice"
gives 0 fm evaluate cold.json test.csv $tables --format csv
rmse=$(awk -F, '$1 == "rmse" { print $3 }' out)
gives 0 mf train train.csv --rank 0 --model biases.json
gives 0 mf evaluate biases.json test.csv --format csv
biases=$(awk -F, '$1 == "rmse" { print $3 }' out)
awk -v a="$rmse" -v b="$biases" 'BEGIN { exit !(a < .6 * b) }' ||
    fail "cold start: RMSE $rmse, of biases alone $biases"
gives 0 fm predict cold.json test.csv $tables
tail -n +2 test.csv | sort -u -t, -k1,2 | wc -l >pairs
same "$(wc -l <out)" "$(tr -d ' ' <pairs)" "a prediction for each rating"
gives 0 fm show cold.json
says out "user=u3" "item=v5" "user.age" "user.region=region2" "item.genre=genre1"
# Lines of the tables and fields in other orders, and columns that are new, do
# not matter.
{ head -n 1 users.csv; tail -n +2 users.csv | sort -r; } |
    awk -F, '{ print $3 ",x" FNR "," $1 "," $2 }' |
    sed '1s/.*/age,new,user,region/' >other.csv
gives 0 fm evaluate cold.json test.csv --users other.csv --items items.csv \
    --format csv
near "$(awk -F, '$1 == "rmse" { print $3 }' out)" "$rmse" 1e-12 "another order"
refuses 2 "--user is for ratings" fm train train.csv --user u
refuses 2 "no column 'foo'" fm train train.csv $tables --item foo
# Two processes have the bits of one.
gives 0 fm train train.csv $tables --tune 0 --partitions 3 --model tables1.json
start tables fm train train.csv $tables --tune 0 --partitions 3 --nodes 2 \
    --workers 1 --listen tcp://127.0.0.1:0 --model tables2.json
first=$child
start tables_joined join "$(url_of tables)" $tables --workers 1
ends tables "$first" 0
ends tables_joined "$child" 0
same_bits "tables" tables1.json tables2.json
refuses 2 "was not trained on ratings" fm predict one.json test.csv $tables
{ cat users.csv; sed -n 2p users.csv; } >twice.csv
refuses 2 "second one of user u0" fm train train.csv --users twice.csv

refuses 2 "no column 'user', which --user names" \
    fm train train.csv --users items.csv

# Numbers are matched by their value, and those that may be inexact are refused.
awk 'BEGIN { srand(2); print "user,item,rating"
    for (i = 0; i < 200; i++) printf "%03d,v%d,%d\n", rand() * 9, rand() * 7, i % 5
}' >padded.csv
awk 'BEGIN { print "user,age"; for (i = 0; i < 9; i++) print i "," i % 4 + 1
}' >ages.csv
sed '2,$s/^/00/' ages.csv >padded_ages.csv
for table in ages padded_ages; do
    gives 0 fm train padded.csv --users $table.csv --tune 0 --sweeps 1
    entries=$(sed -n 's/.* \([0-9]*\) entries.*/\1/p' err)
    rows=$(sed -n 's/.*: \([0-9]*\) rows.*/\1/p' err)
    same "$entries" $((3 * rows)) "a user, an item and an age in each row"
done
printf 'user,age\n12345678901234567,1\n' >long.csv
refuses 2 "at most 15 digits" fm train padded.csv --users long.csv

# Stochastic gradients: about the error of als; the same bits from two processes
# and after a resume.
sgd="--method sgd --rank 3 --lambda 2e-3 --seed 3 --partitions 2"
gives 0 fm train "$year_train" $sgd --workers 1 --model sgd.json
says sgd.json '"method": "sgd"' '"step": 0.1'
gives 0 fm train "$year_train" $sgd --method als --model als.json
for model in als sgd; do
    gives 0 fm evaluate $model.json "$year_test" --format csv
    awk -F, '$1 == "rmse" { print $3 }' out >$model.rmse
done
awk -v a="$(cat sgd.rmse)" -v b="$(cat als.rmse)" \
    'BEGIN { exit !(a < 1.05 * b) }' ||
    fail "RMSE of sgd $(cat sgd.rmse), of als $(cat als.rmse)"
start sgd_first fm train "$year_train" $sgd --nodes 2 --workers 1 \
    --listen tcp://127.0.0.1:0 --model sgd_there.json
first=$child
start sgd_joined join "$(url_of sgd_first)" --workers 1
ends sgd_first "$first" 0
ends sgd_joined "$child" 0
gives 0 fm train "$year_train" $sgd --max-rounds 170 --model part.json \
    --checkpoint sgd_kept --checkpoint-every 0.001
gives 0 fm train "$year_train" $sgd --resume sgd_kept --model sgd_resumed.json
same_bits "bits" sgd.json sgd_there.json sgd_resumed.json

# BPR on ratings with tables: users in regions have what their region likes, and
# items that the training lacks are ordered by their genre.
awk 'BEGIN {
    srand(5); print "user,item" >"had.csv"; print "user,item,rating" >"asked.csv"
    print "user,region" >"users2.csv"; print "item,genre" >"items2.csv"
    for (v = 0; v < 60; v++) print "v" v ",g" v % 5 >"items2.csv"
    for (u = 0; u < 100; u++) { print "u" u ",r" u % 5 >"users2.csv"
        for (v = 0; v < 60; v++) { likes = rand() < (u % 5 == v % 5 ? .5 : .03)
            if (v >= 50) print "u" u ",v" v "," likes >"asked.csv"
            else if (likes) print "u" u ",v" v >"had.csv" } } }'
sed 's/$/,1/; 1s/1$/rating/' had.csv >had1.csv
tables2="--users users2.csv --items items2.csv"
gives 0 fm train had1.csv $tables2 --loss bpr --lambda 1e-3 --model bpr.json
says err "mean loss of pairs"
says bpr.json '"loss": "bpr"' '"method": "sgd"' '"context": 105'
gives 0 fm train had1.csv $tables2 --loss bpr --lambda 1e-3 --sweeps 3 \
    --partitions 2 --model bpr1.json
start bpr fm train had1.csv $tables2 --loss bpr --lambda 1e-3 --sweeps 3 \
    --partitions 2 --nodes 2 --workers 1 --listen tcp://127.0.0.1:0 \
    --model bpr2.json
first=$child
start bpr_joined join "$(url_of bpr)" $tables2 --workers 1
ends bpr "$first" 0
ends bpr_joined "$child" 0
same_bits "tables with bpr" bpr1.json bpr2.json
gives 0 fm evaluate bpr.json asked.csv $tables2 --format csv
awk -F, '$1 == "auc" { exit !($3 > .8) }' out ||
    fail "items without ratings are not in order: $(cat out)"
gives 0 fm predict bpr.json asked.csv $tables2
same "$(wc -l <out)" 1000 "scores"
refuses 2 "no user has both" fm evaluate bpr.json had1.csv $tables2
refuses 2 "--context N" fm train "$year_train" --loss bpr
refuses 2 "--method sgd" fm train "$year_train" --loss bpr --method als
refuses 2 "leave it out" fm train had1.csv $tables2 --loss bpr --context 3

gives 0 simulate fm "$year_train" --workers 2 --rank 2 --sweeps 1

refuses 2 "expected squared, logistic or bpr" fm train "$year_train" --loss hinge
refuses 2 "--tune" fm train "$year_train" --tune 65
refuses 2 "--rank 300" fm train "$year_train" --rank 300
refuses 2 "--classes" fm train "$year_train" --classes 1,2 --model bad.json
printf '1 1:2\nx 1:3\n' >words.svm
refuses 2 "words.svm" fm train words.svm --model bad.json
gives 2 fm predict "$STRADS_SOURCE/data/README.md" "$year_test"
[ ! -e bad.json ] || fail "a run that was refused left a model"
finish
