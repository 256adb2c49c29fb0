#!/bin/sh
# A network that flips bits between two processes of a run: no program hangs,
# and each ends as on an intact network. Kinds of frames are those of rounds
# (lasso), of a ring (lda) and of a loop with its store (sgd-logistic).
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# damaged MEAN WORDS...: such a training; the model is two.json. A run that
# ends before the relay has flipped a bit is repeated.
damaged() {
    flips=0
    for attempt in 1 2 3 4 5; do
        [ "$flips" -ge 1 ] || train_damaged "$@"
    done
    [ "$flips" -ge 1 ] || fail "$*: no bit was flipped in $attempt runs"
}

train_damaged() {
    mean=$1
    shift
    began=$(date +%s)
    rm -f two.json
    start first "$@" --workers 1 --nodes 2 --listen tcp://127.0.0.1:0 \
        --model two.json
    first=$child
    url=$(url_of first)
    : >relay.out
    "$STRADS_BUILD/tests/relay" "$url" "$mean" "$mean" 12 >relay.out &
    relay=$!
    children="$children $relay"
    until_there "tcp://" relay.out
    start second join "$(cat relay.out)" --workers 1
    second=$child
    until_there "joined" second.err
    kill -USR1 "$relay"
    ends first "$first" 0
    ends second "$second" 0
    kill -TERM "$relay"
    wait "$relay" || :
    flips=$(tail -n 1 relay.out)
    took=$(($(date +%s) - began))
    [ "$took" -lt 60 ] || fail "$*: it took $took s"
}

corpus=$STRADS_SOURCE/data/docword.sotu-tiny.txt
lasso="lasso train --no-intercept $year_train --lambda-ratio 0.001 --tolerance 1e-9
    --deterministic --partitions 6"
lda="lda train $corpus --topics 20 --sweeps 10 --partitions 3"
sgd="sgd-logistic train --no-intercept $party --lambda 0.001 --epochs 30 --partitions 2"

gives 0 $lasso --seed 5 --model one.json
for mean in 300 3000; do
    damaged $mean $lasso --seed 5
    same_bits "lasso, a bit in $mean bytes" one.json two.json
done

gives 0 $lda --seed 5 --model one.json
for mean in 10000 30000; do
    damaged $mean $lda --seed 5
    cmp -s one.json.npy two.json.npy || fail "lda, a bit in $mean bytes"
done

gives 0 $sgd --seed 5 --model one.json
for mean in 3000 30000; do
    damaged $mean $sgd --seed 5
    near "$(member two.json objective)" "$(member one.json objective)" 0.05 \
        "sgd-logistic, a bit in $mean bytes"
done

finish
