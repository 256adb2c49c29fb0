#!/bin/sh
# strads export: an ONNX file of each kind of linear model gives what `predict`
# gives. Needs Python's onnx; without it, only errors are tested.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

data=$STRADS_SOURCE/data
python=/usr/bin/python3

# Bad input; nothing is written
gives 0 lda train "$data/docword.sotu-tiny.txt" --topics 3 --sweeps 2 \
    --model topics.json
refuses 2 'topics.json: is not a model file' export topics.json no.onnx
gives 0 lasso train "$year_train" --model year.json
refuses 2 'no/such' export year.json no/such/file.onnx
refuses 2 'OUT.onnx' export year.json
[ ! -e no.onnx ] || fail "a refused model left a file"
gives 0 export year.json year.onnx
[ -s year.onnx ] || fail "no file"

"$python" -c 'import onnx' 2>err || { echo "no onnx: not compared"; finish; }

# same DATA MODEL OUTPUT TOLERANCE WORDS...: the file's output is that of
# `predict`. Of the probabilities of two classes, the second one is compared.
same() {
    rows=$1 model=$2 output=$3 tolerance=$4
    shift 4
    gives 0 predict "$model" "$rows" -q "$@"
    mv out predicted
    "$python" "$STRADS_SOURCE/tests/onnx_run.py" model.onnx "$rows" \
        "$output" >found || fail "$model: $output"
    paste -d ' ' predicted found | awk -v t="$tolerance" '
        function far(a, b) { a -= b; return (a < 0 ? -a : a) > t }
        { n = int(NF / 2); skip = NF % 2
          for (k = 1; k <= n; k++)
              if (t == 0 ? $k != $(n + skip + k) : far($k, $(n + skip + k)))
                  bad++ }
        END { exit bad > 0 || NR < 2 }' || fail "$model: $output differs"
}

# trained WORDS...: trains and exports
trained() {
    gives 0 "$@" -q --model model.json
    gives 0 export model.json model.onnx
}

awk 'BEGIN { srand(3)
    for (i = 0; i < 90; i++) {
        c = i % 3
        printf "%d", c
        for (j = 1; j <= 6; j++)
            printf " %d:%.4f", j, rand() + (c == j % 3)
        print "" } }' >three.svm
sed 's/^0/red/; s/^1/green/; s/^2/blue/' three.svm >named.svm
sed 's/^0/0.5/; s/^1/1.5/; s/^2/7/' three.svm >halves.svm

trained lasso train "$year_train"
same "$year_test" model.json prediction 1e-9
gives 0 export model.json model.onnx --f32
same "$year_test" model.json prediction 1e-3
trained lasso train "$year_train" --lambda-ratio 1
same "$year_test" model.json prediction 1e-9
trained glm train three.svm --loss poisson --penalty none
same three.svm model.json prediction 1e-9
trained glm train three.svm --loss tweedie --penalty ridge --lambda 0.1
same three.svm model.json prediction 1e-9
trained logistic train "$party"
same "$party_test" model.json probabilities 1e-9
same "$party_test" model.json label 0 --write label
trained logistic train three.svm
same three.svm model.json probabilities 1e-9
same three.svm model.json label 0 --write label
trained logistic train three.svm --multiclass ovr
same three.svm model.json probabilities 1e-9
trained logistic train named.svm
same three.svm model.json label 0 --write label
trained svm train "$party"
same "$party_test" model.json scores 1e-9 --write decision
same "$party_test" model.json label 0
trained svm train halves.svm
same halves.svm model.json scores 1e-9 --write decision
same halves.svm model.json label 0
trained svm train "$year_train" --loss epsilon
same "$year_test" model.json prediction 1e-9
finish
