#!/bin/sh
# strads lda train --labels, predict, show, evaluate --labels: topics that
# separate labels.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# documents SEED N: text and labels. Each of three classes has its own words, a
# few of another class, and common words.
documents() {
    awk -v seed="$1" -v n="$2" 'BEGIN {
        srand(seed)
        for (d = 0; d < n; d++) {
            class = d % 3
            line = ""
            for (i = 0; i < 30; i++) {
                u = rand()
                of = u < 0.3 ? class : u < 0.35 ? (class + 1) % 3 : 3
                line = line " word" of sprintf("%c%c", 97 + int(26 * rand()), 97)
            }
            print line > "text"
            print (class == 0 ? "10" : class == 1 ? "9" : "a name") > "labels"
        }
    }'
    mv text "$3.txt"
    mv labels "$3.labels"
}
documents 1 240 train
documents 2 120 test
how="--topics 12 --sweeps 30 --partitions 3 --seed 5"
gives 0 lda train train.txt --labels train.labels $how --model one.json \
    --log one.jsonl --quiet --workers 1
grep '"event": "round"' one.jsonl | tail -1 >last
near "$(member last accuracy)" 1 0.02 "accuracy of training documents"

# Predictions and the results of evaluate agree.
gives 0 lda predict one.json test.txt --output predicted
same "$(wc -l <predicted)" 120 "labels predicted"
gives 0 lda evaluate one.json test.txt --labels test.labels --format json
grep '"measure": "labels"' out >last
near "$(member last accuracy)" \
    "$(paste -d'|' predicted test.labels | awk -F'|' '$1 == $2 { n++ }
        END { print n / NR }')" 1e-5 "accuracy"
awk -v x="$(member last accuracy)" 'BEGIN { exit !(x > 0.9) }' ||
    fail "accuracy $(member last accuracy) of new documents"
near "$(member last macro_f1)" "$(paste -d'|' predicted test.labels | awk -F'|' '
    { given[$1]++; has[$2]++; both[$1] += $1 == $2 }
    END { for (k in has) { n++; f += 2 * both[k] / (given[k] + has[k]) }
          print f / n }')" 1e-5 "macro F1"
gives 0 lda evaluate one.json test.txt --labels test.labels
says out "labels         accuracy 0.9"
gives 0 lda predict one.json test.txt --scores --format json
says out '"label": "a name", "score": ['

# Classes are in the order of their names, numbers by value.
gives 0 lda show one.json
same "$(cut -f 1 out | uniq | tr '\n' '|')" "9|10|a name|" "classes in order"
same "$(wc -l <out)" 36 "weights"

# The same bits on any number of workers and processes, by all kernels, and
# after a resumed run.
bits() { sed -n '/"topic-tokens"/,/"vocabulary"/p' "$1"; }
bits one.json >one.bits
same "$(grep -c '"classifier"' one.bits)" 1 "classifiers of a model"
alike() {
    bits "$1" | cmp -s - one.bits && cmp -s one.json.npy "$1.npy" || fail "$2"
}
gives 0 lda train train.txt --labels train.labels $how --model two.json \
    --quiet --workers 2
alike two.json "two workers"
STRADS_KERNELS=portable gives 0 lda train train.txt --labels train.labels \
    $how --model slow.json --quiet
alike slow.json "portable kernels"
gives 0 lda train train.txt --labels train.labels $how --max-rounds 61 \
    --checkpoint checkpoints
gives 0 lda train train.txt --labels train.labels $how --resume checkpoints \
    --model rest.json --quiet
alike rest.json "a run that went on from a checkpoint"
start first lda train train.txt --labels train.labels $how --workers 1 \
    --nodes 2 --listen tcp://127.0.0.1:0 --model nodes.json
first=$child
start second join "$(url_of first)" --workers 1
second=$child
ends first "$first" 0
ends second "$second" 0
alike nodes.json "two processes"
gives 0 simulate lda train.txt --labels train.labels $how --cost 2ns \
    --workers 3

# Many topics use dense rows; a run may be stopped early.
gives 0 lda train train.txt --labels train.labels --topics 200 --sweeps 3 \
    --model many.json --quiet
gives 0 lda predict many.json test.txt

# Several labels or none: a document without labels does not count.
printf 'a, b\n\nb\nb\ta\n' >some.labels
head -4 train.txt >some.txt
gives 0 lda train some.txt --labels some.labels --topics 2 --sweeps 5 \
    --model some.json --quiet
gives 0 lda evaluate some.json some.txt --labels some.labels --format json
grep '"measure": "labels"' out >last
same "$(member last documents)" 3 "documents with labels"

# Errors are reported, and no model is written.
wrong() { # TEXT WORDS...
    text=$1
    shift
    refuses 2 "$text" lda train train.txt --sweeps 2 --model bad.json "$@"
    [ ! -e bad.json ] || fail "a model was written: $*"
}
wrong "test.labels: has 120 lines, the data 240 documents" --labels test.labels
wrong "no-such" --labels no-such
sed 's/.*/x/' train.labels >same.labels
wrong "same.labels: has one label alone: expected two or more" \
    --labels same.labels
sed 's/.*//' train.labels >none.labels
wrong "none.labels: has no label" --labels none.labels
sed '3s/.*/x,y,x/' train.labels >twice.labels
wrong "twice.labels: line 3: has the label x twice" --labels twice.labels
sed '2s/.*/\xff/' train.labels >bytes.labels
wrong "bytes.labels: line 2: the label is not UTF-8" --labels bytes.labels
wrong "at most 1024 with labels" --labels train.labels --topics 1025
gives 0 lda train train.txt --sweeps 2 --topics 3 --model plain.json --quiet
refuses 2 "plain.json: is a model without labels" lda predict plain.json test.txt
refuses 2 "plain.json: is a model without labels" lda show plain.json
refuses 2 "plain.json: is a model without labels" lda evaluate plain.json \
    test.txt --labels test.labels
for change in 's/"a name"/"9"/' 's/"labels": \[/"labels": [3,/' \
    's/"weights": \[/"weights": [[],/'; do
    sed "$change" one.json >broken.json
    cp one.json.npy broken.json.npy
    refuses 2 '"classifier"' lda show broken.json
done
finish
