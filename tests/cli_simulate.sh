#!/bin/sh
# strads simulate: units, costs, stragglers, the curve; and equal seeds give
# equal results.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

gives 0 simulate lasso --help
[ "$(wc -l <out)" -le 48 ] || fail "the help is longer than a page"
[ "$(awk 'length > 80' out | wc -l)" -eq 0 ] || fail "the help is too wide"
says out --lambda-ratio --latency --straggler --curve --cost --tolerance
gives 0 simulate --help
says out "PROGRAM DATA"

# Errors are reported in one message
simulate() {
    verb=$1 text=$2
    shift 2
    "$verb" 2 "$text" simulate lasso --no-intercept "$year_train" --cost 1 "$@"
}
simulate refuses '--latency 50: expected a time with its unit' --latency 50
simulate refuses '--latency 1e9e: expected a time' --latency 1e9e
simulate refuses '--latency -1us: expected a time' --latency -1us
simulate refuses '--message-cost 2 us: expected a time' --message-cost '2 us'
simulate refuses '--bandwidth 10: expected a rate' --bandwidth 10
simulate refuses '--bandwidth 0Gbit: expected a rate above 0' --bandwidth 0Gbit
simulate refuses '--bandwidth 10gbit: expected a rate' --bandwidth 10gbit
simulate refuses '--straggler 8:2: expected a worker from 0 to 7' \
    --straggler 8:2
simulate refuses '--straggler 1:2,0:0: expected a worker' --straggler 1:2,0:0
simulate refuses '--straggler 3: expected two numbers' --straggler 3
simulate refuses '--slow-share 2:4: expected a share up to 1' --slow-share 2:4
simulate refuses '--curve 4..2: expected A..B' --curve 4..2
simulate refuses '--curve 1..9999: expected A..B' --curve 1..9999
simulate refuses '--svg draws a curve' --svg c.svg
simulate refuses '--save-cost writes measured costs' --save-cost c.json
simulate refuses '8 workers need as many partitions' --partitions 4
refuses 2 '--cost guess: expected measured, a number' \
    simulate lasso "$year_train" --cost guess
refuses 2 'cannot be loaded' simulate laso "$year_train"
refuses 2 'unknown option --depth' simulate sgd-logistic "$year_train" --depth 1
echo '{"phases": {"scam": {"entry-ns": 1}}}' >bad.json
refuses 2 'has no phase "scam"' \
    simulate lasso "$year_train" --cost bad.json
echo '{"choose-us": 1}' >bad.json
refuses 2 '"choose-us" is not a price' simulate lasso "$year_train" --cost bad.json

# The result equals that of threads with as many partitions
gives 0 lasso train --no-intercept "$year_train" --workers 1 --partitions 8 --log train.jsonl
trained=$(tail -n 1 train.jsonl)
gives 0 simulate lasso --no-intercept "$year_train" --cost 2ns --log one.jsonl --jitter 0.5
says out "8 workers, seed 0: converged" "workers busy" "dispatches" "partials"
tail -n 1 one.jsonl | sed 's/, "schema".*//' >last
near "$(member last objective)" \
    "$(echo "$trained" >trained; member trained objective)" 1e-5 "the objective"
says one.jsonl '"event": "start"' '"event": "round"' '"event": "simulation"'

# The same seed gives the same results; another one with jitter does not
cp out first
gives 0 simulate lasso --no-intercept "$year_train" --cost 2ns --log two.jsonl --jitter 0.5
cmp -s first out || fail "the same seed printed something else"
tail -n 1 two.jsonl | sed 's/, "schema".*//' | cmp -s - last || fail "the same seed logged other numbers"
gives 0 simulate lasso --no-intercept "$year_train" --cost 2ns --jitter 0.5 --seed 1
cmp -s first out && fail "another seed printed the same"

# If computing is nearly free, a Lasso of 1,024 workers takes less than 250
# latencies of 50 us in total, and less than 12 per round on average (the
# average alone is not meaningful: it rises if rounds without messages are
# saved).
gives 0 simulate lasso --no-intercept "$year_train" --cost 1ns --workers 1024 --log wide.jsonl
tail -n 1 wide.jsonl >last
awk -v s="$(member last seconds)" -v n="$(member last rounds)" \
    'BEGIN { exit !(s < 250 * 50e-6 && s / n < 12 * 50e-6) }' ||
    fail "$(member last rounds) rounds took $(member last seconds) s"

# Measured costs are saved, and give the same results from the file
gives 0 simulate lasso --no-intercept "$year_train" --workers 2 --save-cost cost.json
cp out first
says cost.json '"choose-ns"' '"scan"' '"entry-ns"'
gives 0 simulate lasso --no-intercept "$year_train" --workers 2 --cost cost.json
cmp -s first out || fail "saved prices gave another run than measured ones"

# By columns, the program that `train --cut columns` runs, with a price for
# each phase that takes part
gives 0 lasso train --no-intercept "$year_train" --cut columns --model columns.json
gives 0 simulate lasso --no-intercept "$year_train" --cut columns --workers 2 \
    --save-cost cost.json --log columns.jsonl
says err "lasso-columns on"
tail -n 1 columns.jsonl | sed 's/, "schema".*//' >last
near "$(member last objective)" "$(sed -n 's/.*"objective": \([0-9.e+-]*\).*/\1/p' columns.json)" \
    1e-5 "the objective by columns"
python3 - <<'END' || fail "a phase of a run by columns has no price"
import json
phases = json.load(open("cost.json"))["phases"]
for name in ("scan", "solve", "keep"):
    price = phases[name]
    assert price["update-ns"] + price["entry-ns"] > 0, name
END

# A program that reads each entry once per sweep, without other costs: twice
# the workers need half the time, and a straggler delays all.
cat >sweep.c <<'END'
#include <stdlib.h>
#include <strads/strads.h>

static strads_err shape(const void *config, const strads_data *data,
                        strads_shape *s)
{
    (void)config; (void)data;
    s->block_max = 100;
    return STRADS_OK;
}
static strads_err update(strads_task *task)
{
    task->partial[0] = 1;
    return STRADS_OK;
}
static strads_err aggregate(strads_commit *commit)
{
    commit->change[0] = commit->partial[0];
    return STRADS_OK;
}
static const strads_program sweep = {
    .size = sizeof(strads_program), .name = "sweep", .shape = shape,
    .update = update, .aggregate = aggregate};
STRADS_EXPORT_PROGRAM(sweep)
END
"${STRADS_CC:-cc}" -std=gnu17 -shared -fPIC -I"$STRADS_SOURCE/include" \
    -o sweep.so sweep.c
sweeps() {
    gives 0 simulate ./sweep.so "$year_train" --cost entry.json \
        --deterministic --policy cyclic --max-rounds 100 --latency 1ns \
        --message-cost 1ns --bandwidth 1000GB/s --log sweep.jsonl "$@"
    tail -n 1 sweep.jsonl >last
    seconds=$(member last seconds)
}
echo '{"phases": {"update": {"entry-ns": 1000}}}' >entry.json
sweeps --workers 1
one=$seconds
near "$(member last workers_busy)" 1 0.001 "the share of one that never waits"
sweeps --workers 4
near "$seconds" "$(awk -v s="$one" 'BEGIN { print s / 4 }')" 0.01 \
    "four workers' time"
sweeps --workers 4 --straggler 2:4
near "$seconds" "$one" 0.01 "four workers' time with one four times as slow"
near "$(member last workers_busy)" 0.4375 0.01 "the share of who waits for it"
sweeps --workers 4 --slow-share 1:2
near "$seconds" "$(awk -v s="$one" 'BEGIN { print s / 2 }')" 0.01 \
    "the time of four that are all half as fast"

# A data-parallel loop: the same call prints the same, more shards carry more,
# a straggler is waited for, and kinds of time are separate
echo '{"phases": {"update": {"update-ns": 20000}}}' >clock.json
loops() {
    gives 0 simulate sgd-logistic --no-intercept "$party" --epochs 4 --cost clock.json \
        --workers 16 --log loop.jsonl "$@"
    tail -n 1 loop.jsonl >last
    seconds=$(member last seconds)
}
loops
one=$seconds
cp out first
says out "clocks" "waiting for clocks" "network" "pushes" "asks for rows"
loops
cmp -s first out || fail "the same loop printed other figures"
loops --straggler 3:100
awk -v a="$seconds" -v b="$one" 'BEGIN { exit !(a > 1.2 * b) }' ||
    fail "nobody waits for a straggler: $seconds s, $one without"
loops --bandwidth 100Mbit
one=$seconds
loops --bandwidth 100Mbit --shards 3
awk -v a="$seconds" -v b="$one" 'BEGIN { exit !(a < 0.8 * b) }' ||
    fail "three shards take $seconds s, one takes $one"
says loop.jsonl '"waiting_seconds"' '"network_seconds"' '"pushes": {"messages"'
gives 0 simulate sgd-logistic --no-intercept "$party" --epochs 2 --curve 1..4 --svg loop.svg
same "$(awk 'NR > 1 { printf "%s ", $1 }' out)" "1 2 4 " "a loop's curve"
same "$(grep -c '<circle' loop.svg)" 6 "a loop's points drawn"
gives 0 simulate sgd-logistic --no-intercept "$party" --epochs 2 --trace t.json
says t.json '"name":"clock"' '"name":"commit"' '"name":"transfer"'

# The same figures as a table, for programs
gives 0 simulate lasso --no-intercept "$year_train" --cost 2ns --curve 1..2 --format csv --quiet
same "$(cut -d, -f1-2 out | tr '\n' ' ')" "workers,reason 1,converged 2,converged " \
    "a curve as CSV"

# The curve, as text and as a plot
sweeps --curve 1..64 --svg curve.svg
same "$(awk 'NR > 1 { printf "%s ", $1 }' out)" "1 2 4 8 16 32 64 " \
    "the workers of the curve"
near "$(awk '$1 == 2 { print $4 }' out)" 2 0.02 "the speed-up of two"
near "$(awk '$1 == 64 { print $4 }' out)" 64 0.05 "the speed-up of 64"
same "$(grep -c '<circle' curve.svg)" 14 "the points drawn"
same "$(grep -c simulation sweep.jsonl)" 7 "the runs logged"
same "$(tail -n 1 curve.svg)" "</svg>" "the end of the drawing"
finish
