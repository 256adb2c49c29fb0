#!/bin/sh
# Stops every program of the command and of examples/ at rounds among its first
# 300, and resumes it from that round's checkpoint. A stop may fall between two
# phases of one step. Programs with their state in the checkpoint end
# bit-identical to a whole run; linear programs end at the same certified
# objective. A fixed seed draws SAMPLE rounds of each; STRADS_SOAK=1 takes all
# of them.
. "$STRADS_SOURCE/tests/example_harness.shlib"

SAMPLE=${SAMPLE:-2}
[ -z "${STRADS_SANITIZE:-}" ] || SAMPLE=1
seed=${SEED:-1}
names=

objective_in() { # LOG: the objective at the run's end
    sed -n 's/.*"objective": \([-0-9.e+]*\),.*/\1/p' "$1" | tail -n 1
}
rounds_in() { sed -n 's/.*"round": \([0-9]*\),.*/\1/p' "$1" | tail -n 1; }

rounds_of() { # LAST: the rounds to stop at, below LAST and up to 300
    awk -v last="$1" -v n="$SAMPLE" -v all="${STRADS_SOAK:-}" -v seed="$seed" '
        BEGIN { srand(seed); if (last > 301) last = 301
            if (all || last - 1 <= n) { for (r = 1; r < last; r++) print r; exit }
            for (k = 0; k < n; k++) print 1 + int((last - 1) * rand()) }'
    seed=$((seed + 1))
}

# stop_and_resume ROUND WORDS...: rest.jsonl and rest.model* of the resumed run
stop_and_resume() {
    round=$1
    shift
    rm -rf checkpoint rest.model* rest.jsonl
    run "$@" --max-rounds "$round" --checkpoint checkpoint
    case $code in
    0 | 3) ;;
    *) fail "$*, stopped at round $round: exit code $code: $(tail -c 300 err)" ;;
    esac
    [ -d checkpoint ] && [ -n "$(ls checkpoint)" ] || return 1
    run "$@" --resume checkpoint --log rest.jsonl --model rest.model
    [ "$code" -eq 0 ] ||
        fail "$*, resumed at round $round: exit code $code: $(tail -c 300 err)"
}

# certified BOUND WORDS...: the objective equals the whole run's within BOUND
certified() {
    bound=$1
    shift
    names="$names $1"
    gives 0 "$@" --log whole.jsonl --model whole.model
    for at in $(rounds_of "$(rounds_in whole.jsonl)"); do
        stop_and_resume "$at" "$@" || continue
        near "$(objective_in rest.jsonl)" "$(objective_in whole.jsonl)" \
            "$bound" "$*, resumed at round $at"
    done
}

# exact WORDS...: the model of the whole run, bit by bit
numbers_in() { grep -E '"(values?|index|intercept)"' "$1" || cat "$1"; }
exact() {
    names="$names $1"
    rm -f whole.model*
    gives 0 "$@" --log whole.jsonl --model whole.model
    for at in $(rounds_of "$(rounds_in whole.jsonl)"); do
        stop_and_resume "$at" "$@" || continue
        for file in whole.model*; do
            numbers_in "$file" >one.numbers
            numbers_in "rest${file#whole}" >other.numbers
            cmp -s one.numbers other.numbers ||
                fail "$*, resumed at round $at: $file has other bits"
        done
    done
}

for name in ridge lasso_paper nnls kmeans ssp_lasso loop_lda loop_mf mlp triangles; do
    builds "$name"
done
builds peer_svm -Wno-missing-field-initializers

# Data: numbers, two and three classes, counts, groups of three columns;
# columns of scales from 1/1000 to 1000; more columns than the limit of Newton
# steps
awk 'BEGIN { srand(7)
    for (i = 0; i < 240; i++) { m = .4 * (rand() - .5); l = ""
        for (j = 1; j <= 18; j++) { x = rand() - .5; m += x * (j % 3 - 1) * 2
            l = l " " j ":" sprintf("%.5f", x + j / 9)
            s[j] = sprintf("%.6g", (x + j / 9) * 10 ^ (j % 7 - 3)) }
        t = ""
        for (j = 1; j <= 18; j++) t = t " " j ":" s[j]
        print sprintf("%.5f", m) l >"numbers.svm"
        print (m > 0 ? 1 : -1) l >"two.svm"
        print (m > 0 ? 1 : -1) t >"scaled.svm"
        print (m > 1 ? "a" : m < -1 ? "b" : "c") l >"three.svm"
        print int(exp(m / 2 + rand())) l >"counts.svm" } }'
for j in $(seq 18); do echo $(((j + 2) / 3)); done >groups
awk 'BEGIN { srand(5); for (i = 0; i < 200; i++) { l = ""
    for (j = 1 + int(rand() * 40); j <= 1300; j += 1 + int(rand() * 80))
        l = l " " j ":" sprintf("%.4f", rand() + .5)
    print (rand() > .4 ? 1 : -1) l } }' >wide.svm
documents=$STRADS_SOURCE/data/docword.sotu-tiny.txt
votes=$STRADS_SOURCE/data/unvotes-tiny.txt
awk '$3 > 0' "$votes" >likes
awk 'BEGIN { srand(4)
    for (i = 0; i < 60; i++) for (j = i + 1; j < 60; j++)
        if (rand() < (i % 3 == j % 3 ? 0.5 : 0.02)) print "n" i, "n" j }' >links
sed 's/^-1/0/; s/^+1/1/' two.svm >zero.svm

# Linear programs
t="--tolerance 1e-9"
# shellcheck disable=SC2086 # words
{
    for words in "--pools 4" "--pools 2" "--pools 1" \
        "--pools 4 --intercept --standardize"; do
        certified 4e-9 svm train "$party" $t --partitions 4 $words
    done
    certified 4e-6 svm train "$party" --loss hinge --workers 1
    certified 4e-9 svm train numbers.svm $t --loss squared-epsilon --intercept
    certified 4e-9 svm train three.svm $t --intercept --partitions 2
    certified 4e-9 svm train scaled.svm $t --standardize --partitions 2 --pools 2
    certified 4e-9 logistic train scaled.svm $t --l1-ratio 0 --c 1 --standardize \
        --intercept
    certified 4e-9 logistic train wide.svm $t --l1-ratio 0 --c 200 --intercept
    certified 4e-9 logistic train two.svm $t
    certified 4e-9 lasso train "$year_train" $t --partitions 3 --lambda-ratio .01
    certified 4e-9 lasso train numbers.svm $t --lambda-ratio .001 --intercept \
        --standardize
    certified 4e-9 glm train two.svm $t --loss logistic --penalty ridge \
        --lambda 1e-4 --partitions 2
    certified 4e-9 glm train two.svm $t --loss squared-hinge --lambda-ratio 1e-3
    certified 4e-9 glm train counts.svm $t --loss poisson --lambda-ratio 1e-3
    certified 4e-9 glm train numbers.svm $t --loss squared --groups groups \
        --penalty group --lambda-ratio 1e-3 --partitions 2
    certified 4e-6 glm train three.svm --loss multinomial --lambda-ratio .01 \
        --partitions 2
    certified 4e-9 glm train three.svm $t --loss logistic --lambda-ratio .01
    certified 1e-6 run ./ridge.so "$year_train" --lambda .5 $t
    certified 1e-6 run ./nnls.so "$year_train" $t --partitions 2
    certified 1e-6 run ./lasso_paper.so "$year_train" --lambda .1 $t
    certified 1e-6 run ./lasso_paper.so "$year_train" --lambda .1 $t --depth 2 \
        --blocks 4
}

# Its table of gradients is "tuned": a stop flushes the small changes that
# sessions hold back, so its bits depend on the time of the stop.
certified 1e-6 run ./ssp_lasso.so "$year_train" --lambda .02 --partitions 2 \
    --staleness 0

# Programs with their state in the checkpoint
exact lda train "$documents" --topics 10 --sweeps 12 --partitions 3
exact lda train "$documents" --topics 8 --sweeps 12 --partitions 2 \
    --fit-alpha asymmetric --fit-beta --evaluate 3
exact roles train links --roles 3 --sweeps 12 --partitions 2
for words in "" "--method als" "--method cd" "--method ccd++" "--unweighted"; do
    # shellcheck disable=SC2086 # words
    exact mf train "$votes" --tune 0 --rank 6 --sweeps 8 --partitions 2 $words
done
exact mf train likes --rank 6 --sweeps 6 --partitions 2 --implicit
exact run ./kmeans.so "$year_train" --centres 7 --partitions 3

# Loops at staleness 0
exact net train two.svm --hidden 4 --epochs 12 --batch 16 --seed 1 --partitions 3
exact net train two.svm --hidden 5,4 --epochs 12 --batch 16 --seed 1 --partitions 2
exact sgd-logistic train two.svm --staleness 0 --epochs 12 --partitions 3 \
    --lambda 0.1
exact run ./loop_lda.so "$documents" --sweeps 12 --partitions 2 --staleness 0
exact run ./loop_mf.so "$votes" --sweeps 12 --partitions 1 --staleness 0
exact run ./mlp.so zero.svm --epochs 12 --step 2 --partitions 1
exact run ./peer_svm.so "$party" --lambda .001 --epochs 20 --batch 20 \
    --partitions 2 --graph all --mode bsp
exact run ./triangles.so links --roles 3 --sweeps 12 --partitions 2 --staleness 0

# A linear program resumes on any number of processes, with any number of
# pools, and with the program of its checkpoint.
on() { # CODE PROCESSES WORDS...
    want=$1 processes=$2
    shift 2
    [ "$processes" -eq 1 ] ||
        set -- launch --processes "$processes" --workers 1 -- "$@"
    gives "$want" "$@"
}
other_processes() { # FIRST WORDS...: FIRST processes, then 1, 2 and 3
    first=$1
    shift
    gives 0 "$@" --tolerance 1e-9 --log whole.jsonl
    rm -rf checkpoint
    on 3 "$first" "$@" --partitions 4 --tolerance 1e-9 --max-rounds 6 \
        --checkpoint checkpoint
    for then in 1 2 3; do
        rm -rf copy
        cp -R checkpoint copy
        on 0 $then "$@" --tolerance 1e-9 --resume copy --log rest.jsonl
        near "$(objective_in rest.jsonl)" "$(objective_in whole.jsonl)" 4e-9 \
            "$*, from $first to $then processes"
    done
}
other_processes 2 svm train "$party"
other_processes 1 svm train "$party" --pools 1
other_processes 1 logistic train "$party" --l1-ratio 0 --c 1
other_processes 2 logistic train "$party" --l1-ratio 0 --c 1
other_processes 2 logistic train three.svm --classes c,a,b --lambda .01
other_processes 3 glm train three.svm --loss multinomial --classes c,a,b \
    --lambda .01

# Resumed repeatedly: a resumed run starts no further from the optimum than it
# stopped.
gives 0 svm train "$party" --c 10 --partitions 4 --pools 4 --log whole.jsonl
rm -rf checkpoint
gives 3 svm train "$party" --c 10 --partitions 4 --pools 4 --max-rounds 5 \
    --checkpoint checkpoint
for at in 12 19 26 33 40 47; do
    run svm train "$party" --c 10 --partitions 4 --pools 4 --max-rounds $at \
        --resume checkpoint
done
gives 0 svm train "$party" --c 10 --partitions 4 --pools 4 --resume checkpoint \
    --max-rounds 2000 --log rest.jsonl
near "$(objective_in rest.jsonl)" "$(objective_in whole.jsonl)" 4e-6 \
    "svm, resumed seven times"

# Every program of the command and every example is covered.
for name in lasso glm logistic sgd-logistic svm lda roles mf net; do
    case " $names " in
    *" $name "*) ;;
    *) fail "$name is not tested" ;;
    esac
done
echo "SEED=$seed"
finish
