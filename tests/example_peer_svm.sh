#!/bin/sh
# examples/peer_svm, as its README describes: peers without a server come close
# to the minimum of the built-in SVM, for every graph and mode.
# Bulk-synchronous peers have the same bits on threads, in several processes
# and simulated.
. "$STRADS_SOURCE/tests/example_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

builds peer_svm -Wno-missing-field-initializers
svm=./peer_svm.so
how="--lambda 0.001 --epochs 200 --batch 20"

# lambda / 2 |w|^2 + loss / n is 1 / (C n) times the built-in's objective, with
# C = 1 / (lambda n)
gives 0 svm train --no-intercept "$party" --loss hinge --c 0.9345794 --tolerance 1e-6 \
    --model svm.json
best=$(member svm.json objective)
best=$(awk -v o="$best" 'BEGIN { print o / 1000 }')

# shellcheck disable=SC2086 # words
for graph in all exponential halton ring; do
    for peers in 1 2 4 8; do
        gives 0 run $svm "$party" $how --partitions $peers --workers 2 \
            --graph $graph --mode bsp --model bsp.json
        near "$(member bsp.json objective)" "$best" 0.01 \
            "$graph, $peers peers, bsp"
        gives 0 run $svm "$party" $how --partitions $peers --workers 2 \
            --graph $graph --mode ssp --staleness 1 --model ssp.json
        near "$(member ssp.json objective)" "$best" 0.1 \
            "$graph, $peers peers, ssp"
    done
    # Threads that share cores hardly exchange vectors; simulated ones do
    gives 0 simulate $svm "$party" $how --workers 4 --cost 20ns \
        --graph $graph --mode async --log async.jsonl
    tail -n 1 async.jsonl >last
    near "$(member last objective)" "$best" 0.05 "$graph, async"
done

# shellcheck disable=SC2086 # words
for words in "run" "launch --processes 3 --workers 1 -- run"; do
    gives 0 $words $svm "$party" $how --partitions 4 --graph ring --mode bsp \
        --model "$(echo "$words" | tr -d ' -').json"
done
same_bits "three processes" run.json launchprocesses3workers1run.json
# shellcheck disable=SC2086 # words
gives 0 simulate $svm "$party" $how --workers 4 --cost 2ns --graph ring \
    --mode bsp --log sim.jsonl
tail -n 1 sim.jsonl >last
same "$(member last objective)" "$(member run.json objective)" "simulated"

# One of four processes is killed: the others continue along the ring without
# it
# shellcheck disable=SC2086 # words
for mode in ssp bsp; do
    start first run $svm "$party" $how --epochs 1000 --partitions 4 --workers 1 \
        --nodes 4 --listen tcp://127.0.0.1:0 --graph ring --mode $mode \
        --reconnect 0.5 --model lost$mode.json --log lost$mode.jsonl
    first=$child
    for k in 1 2 3; do
        start other$k join "$(url_of first)" --program $svm --workers 1
        eval other$k=\$child
    done
    until_there '"event": "round"' "lost$mode.jsonl"
    kill -KILL "$other2"
    ends first "$first" 0
    ends other1 "$other1" 0
    ends other3 "$other3" 0
    says first.err "was lost: its peers continue without it"
    # Trained on three quarters of the rows, evaluated on all of them; an
    # untrained model gives 1
    all=$(awk "$read_model"'{ m = 1 - ($1 > 0 ? 1 : -1) * score()
                              loss += m > 0 ? m : 0; n++ }
        END { for (j in w) loss += n * 0.0005 * w[j] * w[j]; print loss / n }' \
        "lost$mode.json" "$party")
    near "$all" "$best" 0.5 "a peer lost, $mode"
done
# After a checkpoint the others also take over its rows: the same bits.
epochs=1000
[ -z "$STRADS_SANITIZE" ] || epochs=200
# shellcheck disable=SC2086 # words
{
    gives 0 run $svm "$party" $how --epochs $epochs --partitions 4 --graph ring \
        --mode bsp --model whole.json
    start first run $svm "$party" $how --epochs $epochs --partitions 4 --workers 1 \
        --nodes 3 --listen tcp://127.0.0.1:0 --graph ring --mode bsp \
        --reconnect 0.5 --checkpoint kept --checkpoint-every 0.1s \
        --model taken.json
    first=$child
    for k in 1 2; do
        start other$k join "$(url_of first)" --program $svm --workers 1
        eval other$k=\$child
    done
}
until [ -n "$(ls kept/checkpoint-* 2>/dev/null)" ] || ! kill -0 "$first"; do
    sleep 0.02
done
kill -KILL "$other2"
ends first "$first" 0
ends other1 "$other1" 0
says first.err "the run continues from its last checkpoint"
same_bits "a lost peer's rows" whole.json taken.json

# Stopped and resumed, by threads and processes
# shellcheck disable=SC2086 # words
{
    gives 0 run $svm "$party" $how --partitions 4 --graph ring --mode bsp \
        --max-rounds 77 --checkpoint checkpoints
    gives 0 launch --processes 3 --workers 1 -- run $svm "$party" $how \
        --partitions 4 --graph ring --mode bsp --resume checkpoints --model rest.json
}
same_bits "from a checkpoint" run.json rest.json

printf '0 1\n1 0\n2 3\n3 2\n' >halves.txt
gives 2 run $svm "$party" --partitions 4 --graph halves.txt
says err 'halves.txt": peer 0 does not reach peer 2'
gives 1 run $svm "$party" --graph star
says err 'expected all, exponential, halton, ring'
refuses 2 "--mode now: expected" run $svm "$party" --mode now
finish
