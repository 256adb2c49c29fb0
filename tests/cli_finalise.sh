#!/bin/sh
# Topics and factors are spread over the partitions during training. A run that
# a bound or Ctrl-C stops collects them before it ends.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

corpus=$STRADS_SOURCE/data/docword.sotu-tiny.txt
vocab=$STRADS_SOURCE/data/vocab.sotu-tiny-bow.txt
votes=$STRADS_SOURCE/data/unvotes-tiny.txt
lda="lda train $corpus --topics 12 --partitions 2 --seed 3"
mf="mf train $votes --tune 0 --rank 4 --partitions 2 --seed 3 --patience 1000000"

# spread NAME WORDS...: starts a run of two processes; the caller waits for it.
spread() {
    name=$1
    shift
    rm -f "$name.err"
    start "$name" "$@" --workers 1 --nodes 2 --listen tcp://127.0.0.1:0
    first=$child
    start "$name.second" join "$(url_of "$name")" --workers 1
    second=$child
}

# equal A B SUFFIX...: two models have the same arrays.
equal() {
    one=$1 two=$2
    shift 2
    for suffix; do
        cmp -s "$one$suffix" "$two$suffix" || fail "$one, $two: other $suffix"
    done
}

# A bound: the model is that of a run with as many sweeps. Rounds of lda
# alternate sweeps and reports; mf has six initial rounds, then alternates.
gives 0 $lda --sweeps 3 --evaluate 1 --model whole.json --quiet
gives 0 $lda --max-rounds 5 --model cut.json --assignments cut.txt
says err "stopped by --max-rounds after 5 rounds" "the model is in cut.json"
equal whole.json cut.json .npy
same "$(member whole.json log-likelihood)" "$(member cut.json log-likelihood)" \
    "the likelihood of a run that was cut short"
same "$(wc -l <cut.txt)" "$(sed -n 1p "$corpus")" "lines of assignments"
spread far $lda --max-rounds 5 --model far.json
ends far "$first" 0
ends far.second "$second" 0
equal whole.json far.json .npy
gives 0 lda topics cut.json --vocab "$vocab"
same "$(wc -l <out)" 12 "lines of topics"

# Between two reports no likelihood is known.
gives 0 $lda --evaluate 50 --max-rounds 2 --model between.json --quiet
gives 0 $lda --evaluate 50 --sweeps 2 --model two.json --quiet
equal two.json between.json .npy
same "$(grep -c log-likelihood between.json)" 0 "likelihoods without a report"
gives 0 lda topics between.json

gives 0 $mf --max-rounds 10 --model short.json
says err "stopped by --max-rounds after 10 rounds" "the model is in short.json"
gives 0 mf predict short.json "$votes" --quiet
same "$(wc -l <out)" "$(wc -l <"$votes")" "predictions"
spread wide $mf --max-rounds 10 --model wide.json
ends wide "$first" 0
ends wide.second "$second" 0
equal short.json wide.json .users.npy .items.npy

# A bound before the first sweep: there is no model to collect.
refuses 1 "before its first sweep" $mf --max-rounds 3 --model no.json --quiet
[ ! -e no.json ] || fail "a model without a sweep"
gives 0 $mf --max-rounds 3

# Ctrl-C: in one process, and in two.
interrupts topics INT $lda --sweeps 1000000
gives 0 lda topics topics.json --vocab "$vocab"
interrupts factors TERM $mf --sweeps 1000000
gives 0 mf evaluate factors.json "$votes"
for what in "$lda" "$mf"; do
    spread stopped $what --sweeps 1000000 --model stopped.json \
        --log stopped.jsonl
    until_there '"event": "round"' stopped.jsonl
    kill -INT "$first"
    ends stopped "$first" 130
    ends stopped.second "$second" 0
    says stopped.err "interrupted" "the model is in stopped.json"
    rm -f stopped.jsonl
    case $what in
    lda*) gives 0 lda topics stopped.json ;;
    mf*) gives 0 mf evaluate stopped.json "$votes" ;;
    esac
    rm -f stopped.json
done
finish
