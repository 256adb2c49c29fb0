#!/bin/sh
# An interrupted run resumes from its last checkpoint and ends like an
# uninterrupted one.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# until_checkpoint DIR: waits until it has new checkpoints; a run that has ended by
# itself before that is fine, too.
checkpoints_of() { find "$1" -name 'checkpoint-*.strads' 2>/dev/null | sort; }
until_checkpoint() {
    before=$(checkpoints_of "$1")
    for _ in $(seq 200); do
        [ "$(checkpoints_of "$1")" = "$before" ] && kill -0 "$child" 2>/dev/null || break
        sleep 0.02
    done
}
kill_child() { # SIGNAL
    kill -"$1" "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
}

objective_in() { # LOG: the last objective, to 9 digits
    sed -n 's/.*"objective": \([-0-9.e]*\),.*/\1/p' "$1" | tail -n 1 |
        xargs printf '%.9g\n'
}

# Programs of rounds: the state is rebuilt from committed values. So rounds
# differ, and the certified objective is the same.
for program in lasso logistic svm; do
    gives 0 "$program" train --no-intercept "$party" --deterministic --tolerance 1e-10 --log whole.jsonl
    gives 3 "$program" train --no-intercept "$party" --deterministic --tolerance 1e-10 \
        --max-rounds 12 --checkpoint "checkpoints-$program"
    says err "to continue: the same command with --resume checkpoints-$program"
    gives 0 "$program" train --no-intercept "$party" --deterministic --tolerance 1e-10 \
        --resume "checkpoints-$program" --workers 2 --log rest.jsonl
    same "$(objective_in rest.jsonl)" "$(objective_in whole.jsonl)" "$program"
done

# Linear models of any loss, and paths, which keep their completed points
gives 0 glm train --no-intercept "$party" --loss logistic --lambda-ratio 0.01 --log whole.jsonl
gives 3 glm train --no-intercept "$party" --loss logistic --lambda-ratio 0.01 --max-rounds 12 \
    --checkpoint checkpoints-glm
gives 0 glm train --no-intercept "$party" --loss logistic --lambda-ratio 0.01 --resume checkpoints-glm \
    --log rest.jsonl
near "$(objective_in rest.jsonl)" "$(objective_in whole.jsonl)" 2e-6 "glm"

# Newton steps are interrupted at any point: values committed within a step
# (directions, a w moved along one) do not mislead the resumed run.
awk 'BEGIN { srand(3); for (i = 0; i < 900; i++) { m = rand() - .5; l = ""
    for (j = 1; j <= 12; j++) { x = rand() - .5; m += x * (j % 3 - 1)
        l = l " " j ":" sprintf("%.4f", x + j / 4) } print (m > 0 ? 1 : -1) l } }' \
    >few.svm
awk 'BEGIN { srand(5); for (i = 0; i < 500; i++) { l = ""
    for (j = 1 + int(rand() * 40); j <= 1300; j += 1 + int(rand() * 80))
        l = l " " j ":" sprintf("%.4f", rand() + .5)
    print (rand() > .4 ? 1 : -1) l } }' >wide.svm
checkpoint_everywhere() { # ROUNDS WORDS...: at each of these rounds
    checkpoints=$1
    shift
    gives 0 "$@" --tolerance 1e-9 --log whole.jsonl
    for rounds in $checkpoints; do
        rm -rf checkpoints-newton
        gives 3 "$@" --tolerance 1e-9 --max-rounds "$rounds" \
            --checkpoint checkpoints-newton
        gives 0 "$@" --tolerance 1e-9 --resume checkpoints-newton --log rest.jsonl
        near "$(objective_in rest.jsonl)" "$(objective_in whole.jsonl)" 2e-9 \
            "$*, checkpoint at $rounds"
    done
}
checkpoint_everywhere "3 6 9 12 15" logistic train few.svm --l1-ratio 0 --c 10 --intercept
checkpoint_everywhere "3 6 9 12 15" glm train few.svm --loss logistic --penalty ridge \
    --lambda 1e-4 --intercept
checkpoint_everywhere "3 6 9 12 15" svm train few.svm --loss squared-hinge --c 10 \
    --intercept
checkpoint_everywhere "40 55 60 65 70 75" logistic train wide.svm --l1-ratio 0 --c 200 \
    --intercept --workers 1
# A softmax fit is interrupted within a turn and between sweeps.
awk '{ split($2, x, ":"); $1 = $1 > 0 ? "a" : x[2] > .25 ? "b" : "c"; print }' \
    few.svm >three.svm
checkpoint_everywhere "2 4 9 20 40" glm train three.svm --loss multinomial \
    --lambda-ratio 0.02 --intercept
points_differ() { # ONE.csv OTHER.csv: lambdas differ beyond rounding, or
                  # objectives by
    # more than 1e-7
    paste -d, "$1" "$2" | awk -F, 'NR > 1 { n++; d = ($3 - $9) / $3
        l = ($1 - $7) / $1
        if (l * l > 1e-24 || d * d > 1e-14) exit bad = 1 } END { exit !(bad || n != 30) }'
}
for path in "lasso path --no-intercept $year_train --ratio 0.01" "logistic path --no-intercept $party" \
    "glm path $party --loss squared-hinge --intercept"; do
    rm -rf checkpoints-path
    # shellcheck disable=SC2086 # words
    {
        gives 0 $path --points 30 --tolerance 1e-8 --output whole.csv
        gives 3 $path --points 30 --tolerance 1e-8 --output part.csv \
            --max-rounds 25 --checkpoint checkpoints-path
        gives 0 $path --points 30 --tolerance 1e-8 --output rest.csv \
            --resume checkpoints-path
    }
    [ "$(wc -l <part.csv)" -gt 2 ] || fail "no points of $path: make it longer"
    ! points_differ whole.csv rest.csv || fail "other points: $path"
    # points before the checkpoint come from it, and take no time
    awk -F, 'NR == 2 { first = $5 } { same += $5 == first }
        END { exit !(same > 1) }' rest.csv || fail "points found anew: $path"
done

# Rings: state is packed, and the resumed run is bit-identical to a whole one,
# on one process or on two, after one of them was killed.
documents=$STRADS_SOURCE/data/docword.sotu-tiny.txt
votes=$STRADS_SOURCE/data/unvotes-tiny.txt
same_files() { # WHAT: whole.model and rest.model, with the files beside them
    for whole in whole.model*; do
        cmp -s "$whole" "rest${whole#whole}" || fail "other bits in $whole: $1"
    done
}
rest_is_same() { # WORDS...: interrupted at some rounds, then completed
    rm -rf ring whole.model* rest.model*
    gives 0 "$@" --model whole.model
    gives 0 "$@" --max-rounds "$rounds" --checkpoint ring
    says err "to continue: the same command with --resume ring"
    gives 0 "$@" --resume ring --model rest.model
    same_files "$*"
}
rounds=13
rest_is_same lda train "$documents" --topics 10 --sweeps 20
rest_is_same lda train "$documents" --topics 150 --sweeps 20 --partitions 3 \
    --fit-alpha asymmetric --fit-beta --evaluate 7
rounds=27
rest_is_same mf train "$votes" --tune 0 --rank 8 --partitions 3
rest_is_same mf train "$votes" --tune 0 --rank 8 --partitions 2 --unweighted \
    --sweeps 60 --patience 30 --lambda 1e-4 # the best sweep is not the last
                                            # one
rest_is_same mf train "$votes" --tune 0 --rank 8 --partitions 2 --method als --test "$votes"
rest_is_same mf train "$votes" --tune 0 --rank 20 --partitions 2 --method cd
rest_is_same mf train "$votes" --tune 0 --rank 8 --partitions 2 --method ccd++
awk '$3 > 0' "$votes" >likes
rest_is_same mf train likes --rank 8 --partitions 2 --implicit
rest_is_same mf train likes --rank 8 --partitions 2 --implicit --cg-steps 2
rest_is_same mf train likes --rank 8 --partitions 2 --loss warp

# Loops: all partitions stop at one clock. Without staleness the resumed run is
# bit-identical to a whole run, on one process or on two; otherwise it reaches
# a similar objective.
values_in() { # MODEL
    sed -n '/"values"/,/\]/p; /"index"/,/\]/p' "$1"
}
sgd="sgd-logistic train --no-intercept $party --epochs 20 --partitions 3"
# shellcheck disable=SC2086 # words
{
    gives 0 $sgd --staleness 0 --model whole.json
    values_in whole.json >whole.values
    [ -s whole.values ] || fail "no values: $(head -c 300 whole.json)"
    for rounds in 41 130; do # within an epoch, within a clock; at its end
        rm -rf loop
        gives 0 $sgd --staleness 0 --max-rounds "$rounds" --checkpoint loop \
            --checkpoint-every 0.005s
        says err "to continue: the same command with --resume loop"
        gives 0 $sgd --staleness 0 --resume loop --model rest.json
        values_in rest.json | cmp -s - whole.values || fail "loop: other bits"
    done
    rm -rf loop
    on_two 0 $sgd --staleness 0 --max-rounds 173 --checkpoint loop \
        --checkpoint-every 0.005s
    says first.err "to continue: the same command with --resume loop"
    on_two 0 $sgd --staleness 0 --resume loop --model rest.json
    values_in rest.json | cmp -s - whole.values ||
        fail "loop on two processes: other bits"
    for how in "--staleness 3" "--staleness hogwild --step decay --rate 1"; do
        rm -rf loop
        gives 0 $sgd $how --log whole.jsonl
        gives 0 $sgd $how --max-rounds 200 --checkpoint loop
        gives 0 $sgd $how --resume loop --log rest.jsonl
        near "$(objective_in rest.jsonl)" "$(objective_in whole.jsonl)" 0.02 "$how"
    done
    # Killed and stopped, on one process and on two
    far="sgd-logistic train --no-intercept $party --epochs 400 --partitions 3 --staleness 0"
    gives 0 $far --model whole.json
    values_in whole.json >whole.values
    more="--checkpoint loops --checkpoint-every 0.005s"
    for signal in KILL TERM KILL; do
        start killed $far $more
        until_checkpoint loops
        kill_child "$signal"
        [ -z "$(checkpoints_of loops)" ] || more="--resume loops"
    done
    [ "$more" = "--resume loops" ] || fail "no checkpoint of a loop"
    start first $far $more --workers 1 --nodes 2 --listen "ipc://$folder/loop.sock"
    first=$child
    start second join "$(url_of first)" --workers 2
    second=$child
    until_checkpoint loops
    kill_child KILL
    wait "$first" 2>/dev/null || true
    gives 0 $far --resume loops --model rest.json
    values_in rest.json | cmp -s - whole.values || fail "killed loops: other bits"
}

# A network: within a batch, just after z was summed, and between two
net="net train $party --hidden 8 --epochs 12 --batch 64 --seed 2"
# shellcheck disable=SC2086 # words
for how in "--partitions 1" "--partitions 3 --columns 3 --f32" \
    "--partitions 4 --columns 2"; do
    gives 0 $net $how --model whole.json
    values_in whole.json >whole.values
    [ -s whole.values ] || fail "no values: $(head -c 300 whole.json)"
    for rounds in 101 102; do
        rm -rf net
        gives 0 $net $how --max-rounds "$rounds" --checkpoint net
        gives 0 $net $how --resume net --model rest.json
        values_in rest.json | cmp -s - whole.values ||
            fail "net $how, $rounds clocks: other bits"
    done
done

two() { # WORDS...: lda on two processes; the second one's number goes to $second
    start one lda train "$documents" --topics 20 --sweeps 200 --partitions 2 \
        --workers 1 --nodes 2 --listen "ipc://$folder/two.sock" "$@"
    first=$child
    start two join "$(url_of one)" --workers 1
    second=$child
}
rm -f whole.model* rest.model*
gives 0 lda train "$documents" --topics 20 --sweeps 200 --partitions 2 --model whole.model
until_checkpoint() { # DIR
    for _ in $(seq 500); do
        ls "$1" 2>/dev/null | grep -q "strads$" && break
        sleep 0.02
    done
}
two --checkpoint alone --checkpoint-every 0.02s --model alone.model
until_checkpoint alone
kill -KILL "$second"
wait "$second" || true
ends one "$first" 0
cmp -s whole.model.npy alone.model.npy || fail "one that was left: other bits"
two --checkpoint pair --checkpoint-every 0.02s
until_checkpoint pair
kill -KILL "$first" "$second"
wait "$first" || true
wait "$second" || true
two --resume pair --model rest.model
ends "node 0 that went on" "$first" 0
ends "the other" "$second" 0
cmp -s whole.model.npy rest.model.npy || fail "two processes: other bits"

# Factors, killed repeatedly, with a checkpoint every few milliseconds. Early
# diverging steps are undone after some of these.
rm -f whole.model* rest.model*
far="mf train $votes --tune 0 --rank 60 --partitions 3 --sweeps 1000 --patience 1000 --step 3"
# shellcheck disable=SC2086 # words
gives 0 $far --model whole.model
more="--checkpoint factors --checkpoint-every 0.002s"
for _ in 1 2 3 4; do
    # shellcheck disable=SC2086 # words
    start killed $far $more
    until_checkpoint factors
    kill_child KILL
    [ -z "$(checkpoints_of factors)" ] || more="--resume factors"
done
[ "$more" = "--resume factors" ] || fail "no checkpoint of factors"
# shellcheck disable=SC2086 # words
gives 0 $far $more --model rest.model
same_files "killed factors"

# Refused options, with the reason
gives 2 lasso train --no-intercept "$party" --checkpoint checkpoints-lasso
says err "has checkpoints of an earlier run: continue from them with --resume checkpoints-lasso"
gives 2 lasso train --no-intercept "$party" --deterministic --resume checkpoints-lasso --lambda 0.5
says err '"lambda: '
gives 2 lasso train --no-intercept "$party" --resume checkpoints-lasso --seed 7
says err '"seed: 0", this one has "seed: 7"'
gives 2 lasso train --no-intercept "$party" --resume checkpoints-lasso --partitions 2
says err '"partitions: 1", this one has "partitions: 2"'
gives 2 lasso train --no-intercept "$year_train" --resume checkpoints-lasso
says err 'is of a run with "'
gives 2 logistic train --no-intercept "$party" --resume checkpoints-lasso
says err '"program: lasso", this one has "program: logistic"'
gives 2 lasso train --no-intercept "$party" --resume checkpoints-none
says err "resume checkpoints-none: has no checkpoint of a run"
gives 2 lasso train --no-intercept "$party" --resume checkpoints-lasso --start m.json
says err "leave --start out"

# Damage: the previous checkpoint is used; if that is also gone, it is an error
cp checkpoints-svm/checkpoint-000001.strads checkpoints-svm/checkpoint-000002.strads 2>/dev/null || true
newest=$(find checkpoints-svm -name 'checkpoint-*.strads' | sort | tail -n 1)
printf X | dd of="$newest" bs=1 seek=100 conv=notrunc 2>/dev/null
gives 0 svm train --no-intercept "$party" --deterministic --tolerance 1e-10 --resume checkpoints-svm
says err "its checksum is wrong: the previous checkpoint is used"
for checkpoint in checkpoints-svm/*; do : >"$checkpoint"; done
gives 2 svm train --no-intercept "$party" --deterministic --tolerance 1e-10 --resume checkpoints-svm
says err "is damaged: it does not begin like a checkpoint"

# A checkpoint that cannot be written does not end the run
start lost lasso train --no-intercept "$year_train" $endless --partitions 2 \
    --time-limit 3 --checkpoint lost --checkpoint-every 0.1s
until_there . lost.err # the run has begun
gives 1 lasso train --no-intercept "$year_train" --resume lost # another node 0
says err "another run writes its checkpoints there"
rm -rf lost
until_there "cannot be written: No such file or directory): the run continues" lost.err
ends lost "$child" 3

# Killed at any moment, repeatedly: at most two checkpoints, and at the end no
# unfinished file is left
far="--lambda-ratio 1e-3 --partitions 2"
# shellcheck disable=SC2086 # words
gives 0 lasso train --no-intercept "$year_train" $far --tolerance 1e-6 --log whole.jsonl
resume=
for _ in 1 2 3; do
    # shellcheck disable=SC2086 # words
    start killed lasso train --no-intercept "$year_train" $far --tolerance 1e-15 \
        --checkpoint often --checkpoint-every 0.005s $resume
    until_checkpoint often
    kill_child KILL
    [ -z "$(checkpoints_of often)" ] || resume="--resume often"
done
# shellcheck disable=SC2086 # words
gives 0 lasso train --no-intercept "$year_train" $far --tolerance 1e-6 --resume often --log rest.jsonl
near "$(objective_in rest.jsonl)" "$(objective_in whole.jsonl)" 2e-6 "killed"
[ "$(find often -name 'checkpoint-*' | wc -l)" -le 2 ] || fail "more than two checkpoints: $(ls often)"
finish
