#!/bin/sh
# The engine's own cost: its start, an empty round on
# threads and over TCP, and the time outside callbacks of a Lasso at default
# options.
set -eu
. "$(dirname "$0")/with_data.sh"

STARTS=21
RUNS=5
ROUNDS=30000
NODE_ROUNDS=3000
programs=$STRADS_BUILD/bench
: >"$json"

# value KEY: of a line of JSON.
value()
{
    sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"
}

ratio()
{
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'
}

# The whole command on the smallest sample with one round: its process, the
# reading of 0.8 MB of text, threads, the first round and the end.
start()
{
    tiny=$(dirname "$0")/../data/sotu-tiny-year.train.svm
    : >"$scratch/starts"
    run=0
    while [ $run -lt $STARTS ]; do
        begun=$(date +%s%N)
        "$STRADS_BIN" lasso train --no-intercept "$tiny" --max-rounds 1 --quiet || [ $? -eq 3 ]
        echo $((($(date +%s%N) - begun) / 1000)) >>"$scratch/starts"
        run=$((run + 1))
    done
    start_us=$(median <"$scratch/starts")
    printf '%-34s %10.1f ms   (wanted: 50)\n' "start to first round and end" \
        "$(ratio "$start_us" 1000)"
    record start ms "$(ratio "$start_us" 1000)"
}

rounds()
{
    line=$("$programs/bench_round" $ROUNDS)
    one=$(echo "$line" | value workers_1_depth_0_us)
    two=$(echo "$line" | value workers_2_depth_0_us)
    printf '%-34s %10.2f us   (wanted: 2)\n' "empty round, one worker" "$one"
    printf '%-34s %10.2f us\n' "empty round, two workers" "$two"
    echo "$line" >>"$json"
}

# In turn: a round trip of a link, a round, and so on.
rounds_over_tcp()
{
    : >"$scratch/pings"
    : >"$scratch/rounds"
    run=0
    while [ $run -lt $RUNS ]; do
        "$programs/bench_transport" --rounds 1 --json |
            grep '"link", "over": "tcp"' | value round_trip_us \
            >>"$scratch/pings"
        "$programs/with_nodes_round" tcp://127.0.0.1:0 $NODE_ROUNDS 1 \
            >>"$scratch/rounds"
        run=$((run + 1))
    done
    ping=$(median <"$scratch/pings")
    round=$(median <"$scratch/rounds")
    printf '%-34s %10.1f us\n' "ping of a link over tcp" "$ping"
    printf '%-34s %10.1f us   = %s pings (wanted: 2)\n' \
        "empty round over tcp, two nodes" "$round" "$(ratio "$round" "$ping")"
    record round_tcp ping_us "$ping" round_us "$round"
}

# engine WORKERS: a line "WALL CALLBACKS", callbacks summed over workers.
engine()
{
    "$STRADS_BIN" lasso train --no-intercept "$file" --workers "$1" --partitions "$1" --quiet \
        --log "$scratch/log"
    echo "$(last_of seconds "$scratch/log")" \
        "$(last_of callback_seconds "$scratch/log")"
}

# column N FILE: the median of its Nth numbers.
column()
{
    awk -v n="$1" '{ print $n }' "$2" | median
}

outside()
{
    for workers in 1 2; do
        : >"$scratch/engine.$workers"
    done
    run=0
    while [ $run -lt $RUNS ]; do
        for workers in 1 2; do
            engine $workers >>"$scratch/engine.$workers"
        done
        run=$((run + 1))
    done
    echo
    printf '%-34s %10s %12s %9s\n' "$name, defaults" "wall s" \
        "callbacks s" outside
    for workers in 1 2; do
        awk -v w=$workers '{ print $1, $2, 100 * (1 - $2 / w / $1) }' \
            "$scratch/engine.$workers" >"$scratch/shares"
        wall=$(column 1 "$scratch/shares")
        inside=$(column 2 "$scratch/shares")
        share=$(column 3 "$scratch/shares")
        printf '%-34s %10.4f %12.4f %7.2f %%\n' \
            "$workers workers" "$wall" "$inside" "$share"
        record outside data "$name" workers $workers wall "$wall" \
            callbacks "$inside" outside_percent "$share"
    done
    speedup=$(ratio "$(column 1 "$scratch/engine.1")" \
        "$(column 1 "$scratch/engine.2")")
    echo "2 workers: $speedup times as fast as 1 (wanted: 1.5)"
    record two_workers data "$name" speedup "$speedup"
}

echo "Load $(load) on $(nproc) cores; medians of $STARTS starts, else of $RUNS."
start
rounds
rounds_over_tcp
name=msdocs-driver.train
file=$(unpack $name)
if [ -z "$file" ]; then
    name=sotu-tiny-year.train
    file=$(unpack $name)
fi
outside
echo
cat "$json"
