#!/bin/sh
# strads net: train, predict, evaluate and show; the same network on one
# process and on several, on any grid; bad input.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

common="--hidden 16 --epochs 6 --rate 0.5 --batch 64 --seed 3"

bits_of() {
    grep -E '"(index|value)"' "$1.json" >"$1.bits"
}

gives 0 net train "$party" $common --model one.json --log one.jsonl
says err "labels -1,1" "hidden layers of 16 units, relu" "done after"
says one.json '"program": "net"' '"hidden": "16"' '"classes": "-1,1"'
says one.jsonl '"accuracy"' '"epoch"'
gives 0 net predict one.json "$party_test"
same "$(wc -l <out)" 373 "the number of predictions"
says err "373 rows" "% of labels right" "log loss"
cp out probabilities
gives 0 net predict one.json "$party_test" --write label
right=$(paste -d ' ' out "$party_test" | awk '$1 == $2' | wc -l)
[ "$right" -gt 280 ] || fail "only $right of 373 labels are right"
gives 0 net evaluate one.json "$party_test" --format csv
same "$(awk -F, '$1 == "accuracy" { printf "%.0f", $3 * 373 }' out)" "$right" \
    "labels that are right, by evaluate and by predict"
gives 0 net show one.json
says out "columns,classes,labels,weights,loss" '2000,2,"-1,1"'

# Any grid gives this network up to rounding, and the same bits when repeated,
# on one process or on several.
for grid in "2 1" "2 2" "4 2"; do
    words="--partitions ${grid% *} --columns ${grid#* }"
    gives 0 net train "$party" $common $words --model here.json
    bits_of here
    near "$(member one.json objective)" "$(member here.json objective)" 1e-9 \
        "the objective, $words"
    start there net train "$party" $common $words --nodes 2 --workers 1 \
        --classes=-1,1 --listen tcp://127.0.0.1:0 --model there.json
    first=$child
    start joined join "$(url_of there)" --workers 1
    ends there "$first" 0
    ends joined "$child" 0
    bits_of there
    cmp -s here.bits there.bits || fail "$words: two processes and one differ"
done

# Adam: the same bits on threads, on two processes and when resumed.
adam="--hidden 16 --epochs 3 --batch 64 --seed 3 --optimizer adam
    --weight-decay 0.01 --partitions 2 --columns 2"
gives 0 net train "$party" $adam --model adam.json
says adam.json '"optimizer": "adam"' '"rate": 0.001'
bits_of adam
on_two 0 net train "$party" $adam --classes=-1,1 --model both.json
gives 0 net train "$party" $adam --max-rounds 40 --checkpoint half
gives 0 net train "$party" $adam --resume half --model rest.json
for model in both rest; do
    bits_of $model
    cmp -s adam.bits $model.bits || fail "adam: other bits in $model.json"
done

# Early stopping: the same bits on two processes and when resumed; the log has
# the held-out loss, and the run ends before its last epoch.
for grid in "2 1" "2 2"; do
    early="--hidden 8 --epochs 40 --batch 64 --rate 0.5 --seed 3 --patience 2
        --schedule linear --partitions ${grid% *} --columns ${grid#* }"
    gives 0 net train "$party" $early --model early.json --log early.jsonl
    says early.jsonl '"validation_loss"' '"validation_accuracy"'
    epochs=$(grep -c '"validation_loss"' early.jsonl)
    [ "$epochs" -lt 30 ] || fail "$early: no early stop"
    says early.json '"holdout": 0.1' '"patience": 2'
    bits_of early
    on_two 0 net train "$party" $early --classes=-1,1 --model both.json
    rm -rf half
    gives 0 net train "$party" $early --max-rounds 60 --checkpoint half
    gives 0 net train "$party" $early --resume half --model rest.json
    for model in both rest; do
        bits_of $model
        cmp -s early.bits $model.bits || fail "$early: other bits in $model"
    done
done
gives 2 net train "$party" --patience 2 --holdout 0 --model bad.json

# With 16 workers, a grid takes less time than rows or columns alone
for columns in 1 4 16; do
    gives 0 simulate net "$party" --workers 16 --shards 16 --columns "$columns" \
        --cost 1ns --epochs 1 --hidden 256 --batch 1024 --bandwidth 1Gbit \
        --format json
    sed -n 's/.*"seconds": \([^,]*\),.*/\1/p' out >>times
done
awk '{ t[NR] = $1 } END { exit !(t[2] + 0 < t[1] + 0 && t[2] + 0 < t[3] + 0) }' times ||
    fail "4 x 4 is not faster than both others: $(tr '\n' ' ' <times)"

# Several labels, and a bound
awk '{ $1 = NR % 3; print }' "$party" >three.svm
gives 0 net train three.svm $common --model three.json
gives 0 net predict three.json "$party_test" --format csv
says out "probability_0,probability_1,probability_2"
gives 0 net train "$party" $common --partitions 2 --columns 2 --max-rounds 9 \
    --model cut.json
gives 0 net predict cut.json "$party_test"

gives 2 net train "$party" --hidden 8,x --model bad.json
says err "--hidden 8,x" "expected numbers of units"
gives 2 net train "$party" --partitions 3 --columns 2 --model bad.json
says err "expected a multiple of 2"
gives 2 net predict "$party" "$party"
[ ! -e bad.json ] || fail "a run that was refused left a model"
finish
