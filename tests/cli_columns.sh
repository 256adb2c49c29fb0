#!/bin/sh
# strads lasso train --cut columns: in memory and from packs, whole and larger
# than the memory allowed; several processes, checkpoints, kills, bad packs.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

cp "$year_train" year.svm
gives 0 data pack year.svm --output year.pack
common="--lambda-ratio 0.05 --tolerance 1e-9"

# The optimum of the program by rows, and a model that predicts.
gives 0 lasso train year.svm $common --cut rows --model rows.json
gives 0 lasso train year.svm $common --cut columns --model memory.json
says err "solved by columns: " "coordinate updates, all on workers"
gives 0 lasso train year.pack $common --cut columns --model pack.json
same_bits "a pack and memory" memory.json pack.json
python3 - rows.json pack.json <<'END' || fail "other optima"
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:])
assert abs(a["fit"]["objective"] / b["fit"]["objective"] - 1) < 1e-8
assert a["coefficients"]["index"] == b["coefficients"]["index"]
for x, y in zip(a["coefficients"]["value"], b["coefficients"]["value"]):
    assert abs(x - y) < 1e-5 * (1 + abs(x)), (x, y)
assert abs(a["intercept"] - b["intercept"]) < 1e-5
END
gives 0 lasso predict pack.json "$year_test"
cp out text.txt
gives 0 data pack "$year_test" --output test.pack
gives 0 lasso predict pack.json test.pack
cmp -s out text.txt || fail "predictions for a pack and for its text differ"
gives 0 lasso evaluate pack.json "$year_test"
cp out text.txt
gives 0 lasso evaluate pack.json test.pack --memory 100M
cmp -s out text.txt || fail "measures of a pack and of its text differ"
gives 0 lasso evaluate pack.json "$year_test"
gives 0 lasso show pack.json
gives 0 lasso train year.pack $common --cut columns --l1-ratio 0.5 \
    --no-intercept --model net.json
gives 0 lasso train year.pack $common --cut rows --l1-ratio 0.5 \
    --no-intercept --model net_rows.json
near "$(member net.json objective)" "$(member net_rows.json objective)" 1e-8 "the elastic net"

# Classes, and other losses.
cp "$party" party.svm
gives 0 data pack party.svm --output party.pack
fit="--lambda-ratio 0.05 --tolerance 1e-9"
for program in logistic "glm --loss logistic" "glm --loss squared-hinge"; do
    loss=${program#glm}
    program=${program%% *}
    [ "$loss" != "$program" ] || loss=
    for cut in rows columns; do
        gives 0 $program train party.pack $loss $fit --cut $cut \
            --model $cut.json
    done
    says err "solved by columns: " "labels "
    near "$(member columns.json objective)" "$(member rows.json objective)" \
        1e-8 "$program $loss"
    gives 0 $program evaluate columns.json party.svm
    cp out columns.txt
    gives 0 $program evaluate rows.json party.svm
    [ "$(grep -i accuracy out)" = "$(grep -i accuracy columns.txt)" ] ||
        fail "$program $loss: $(cat columns.txt)"
done
gives 2 logistic train party.pack --l1-ratio 0 --cut columns
says err "but l1 and elastic-net"

# A start near the end, and one with other columns.
gives 0 lasso train year.pack $common --cut columns --start pack.json \
    --model again.json
near "$(member again.json objective)" "$(member pack.json objective)" 1e-8 "a start"

# By itself where the entries do not fit the memory, and only there.
gives 0 lasso train year.pack $common
says err "strads: lasso on year.pack"
wide=$STRADS_BUILD/bench/with_wide
if [ -z "${STRADS_SANITIZE:-}" ]; then # which have memory of their own
    "$wide" 2000 150000 50 3 wide.pack >out ||
        fail "no wide pack"
    gives 0 lasso train wide.pack --lambda-ratio 0.2 --memory 60M --model small.json
    says err "lasso-columns on wide.pack"
    gives 0 lasso train wide.pack --lambda-ratio 0.2 --memory 2G --model large.json
    says err "strads: lasso on wide.pack"
    near "$(member small.json objective)" "$(member large.json objective)" 1e-6 "the wide pack"
fi
# A simulation takes the program that --cut asks for.
gives 0 simulate lasso-columns year.svm --lambda-ratio 0.1 --cost 2ns
cp out by-name
gives 0 simulate lasso year.svm --lambda-ratio 0.1 --cut columns --cost 2ns
cmp -s out by-name || fail "--cut columns simulated another program"
gives 2 glm train year.pack --cut columns --penalty ridge
says err "has no penalty but l1 and elastic-net"
refuses 2 "rows" lasso train year.svm --cut diagonal
gives 2 lasso train year.pack --cut columns --lambda 0
says err "needs a lambda above 0"

# Options of the policy and of rounds in flight do nothing here.
for option in "--policy uniform" "--blocks 4" "--schedulers 2" "--depth 2" \
    "--threshold 0.1"; do
    gives 2 lasso train year.svm --cut columns $option
    says err "has no use for it" "leave it out"
done

# Without negative coefficients, the same optimum as by rows.
gives 0 lasso train year.svm --lambda-ratio 0.1 --positive --model rows.json
gives 0 lasso train year.pack --lambda-ratio 0.1 --positive --cut columns --model columns.json
near "$(member rows.json objective)" "$(member columns.json objective)" 1e-6 "--positive by columns"

# Scales, bounds, penalty factors and class weights, alone and on two processes;
# a start keeps its coefficients while the columns without a penalty are solved.
python3 -c '
for j in range(2000):
    print(0 if j % 500 == 3 else 1 + j % 3)' >factors.txt
scaled="--standardize --lower -0.3 --upper 0.6 --penalty-factors factors.txt"
gives 0 glm train year.svm $common $scaled --cut rows --model rows.json
gives 0 glm train year.pack $common $scaled --cut columns --model scaled.json
near "$(member rows.json objective)" "$(member scaled.json objective)" 1e-7 "scales and bounds"
near "$(member rows.json lambda_max)" "$(member scaled.json lambda_max)" 1e-7 "lambda_max"
gives 0 glm train year.pack $common $scaled --cut columns --start rows.json \
    --model again.json
near "$(member rows.json objective)" "$(member again.json objective)" 1e-7 "a start with scales"
pools="$common $scaled --cut columns --partitions 2 --pools 2"
gives 0 glm train year.pack $pools --model pools.json
on_two 0 glm train year.pack $pools --model two.json
same_bits "two processes with scales" pools.json two.json
for cut in rows columns; do
    gives 0 logistic train party.pack $fit --class-weight balanced \
        --standardize --cut $cut --model $cut.json
done
near "$(member columns.json objective)" "$(member rows.json objective)" 1e-8 "class weights"
head -n 1999 factors.txt >short.txt
gives 2 glm train year.pack $fit --penalty-factors short.txt --cut columns
says err "short.txt" "2000"

# Short of the tolerance, a fit says so and exits with 3.
gives 3 lasso train year.pack --lambda-ratio 0.05 --tolerance 1e-15 --cut columns
says err "stalled short of --tolerance"
gives 3 lasso train year.pack $common --cut columns --max-rounds 4
says err "gap 1.0e+00"

# Two processes with half of the columns each have the bits of one with two
# pools.
pools="$common --cut columns --partitions 2 --pools 2"
gives 0 lasso train year.pack $pools --model pools.json
on_two 0 lasso train year.pack $pools --model two.json
same_bits "two processes" pools.json two.json

# Ctrl-C keeps the model so far; a checkpoint continues to the same optimum.
hard="--lambda-ratio 0.001 --tolerance 1e-15 --cut columns"
interrupts away INT lasso train year.pack $hard
start cut lasso train year.pack $hard --checkpoint points \
    --checkpoint-every 0.05 --model cut.json --log cut.jsonl
until_there '"event": "round"' cut.jsonl 3
sleep 0.2
kill -TERM "$child"
ends cut "$child" 130
gives 0 lasso train year.pack --lambda-ratio 0.001 --tolerance 0.01 \
    --cut columns --resume points --model resumed.json
gives 0 lasso train year.pack --lambda-ratio 0.001 --cut rows \
    --model straight.json
near "$(member resumed.json objective)" "$(member straight.json objective)" 0.01 "a resumed fit"

# Damage is found by the chunk that has it, and no model is left.
python3 - <<'END'
bytes_ = bytearray(open("year.pack", "rb").read())
bytes_[len(bytes_) // 2] ^= 1
open("damaged.pack", "wb").write(bytes_)
open("short.pack", "wb").write(bytes_[:len(bytes_) // 2])
END
gives 2 lasso train damaged.pack --lambda-ratio 0.2 --cut columns \
    --model none.json
says err "damaged.pack: chunk " " is damaged"
refuses 2 "short.pack" lasso train short.pack --cut columns --model none.json
[ ! -e none.json ] || fail "a model of a damaged pack"
finish
