#!/bin/sh
# Progress per second over staleness, with and without stragglers, and
# all-reduce style beside the servers: seconds until the error of a
# least-squares problem is 1e-6, medians of runs in turn. Four workers sleep for
# the time of computing, so that few cores suffice; with_ssp.c describes the methods.
# It also prints the two factors of these seconds: clocks per second (quantity) and
# decades of the error per 1,000 clocks (quality). Writes the curves of the last runs
# to ssp-STRAGGLER.txt beside the programs; `./dev reproduce` draws them. Then shards
# against workers, over processes and, for more of them, simulated.
set -eu
. "$(dirname "$0")/with_data.sh"

RUNS=5
SPREAD_RUNS=3
LIMIT=10 # seconds a run may take
ERROR=1e-6
METHODS="all 0 1 4 16 infinite adaptive"
programs=$STRADS_BUILD/bench
: >"$json"

# reached CURVE: seconds until the error was ERROR; the limit when it never was.
reached()
{
    awk -v error=$ERROR -v limit=$LIMIT '
        $1 != "total" && $2 <= error { print $1; found = 1; exit }
        END { if (!found) print limit }' "$1"
}

# rates CURVE: clocks a second, and decades of the error a 1,000 clocks, until then.
rates()
{
    awk -v error=$ERROR 'function log10(x) { return log(x) / log(10) }
        $1 == "total" { next }
        { n++; at = $1; e = $2; if (n == 1) first = e }
        $2 <= error { exit }
        END { print n / at, (n > 1 ? 1e3 * log10(first / e) / (n - 1) : 0) }' "$1"
}

# share CURVE: percent of the workers' time that went into waiting.
share()
{
    awk '$1 == "total" { print 100 * $2 / ($2 + $3) }' "$1"
}

show()
{
    case $1 in
    null) echo - ;;
    *) printf '%.1f' "$1" ;;
    esac
}

echo "Load $(load) on $(nproc) cores; medians of $RUNS runs in turn."
printf '%-12s %-10s %12s %10s %9s %16s\n' stragglers method "s to $ERROR" \
    "waiting %" clocks/s "decades/1000"
for straggler in none rotating fixed; do
    for method in $METHODS; do
        : >"$scratch/seconds.$method"
        : >"$scratch/shares.$method"
        : >"$scratch/rates.$method"
    done
    run=0
    while [ $run -lt $RUNS ]; do
        for method in $METHODS; do
            curve=$scratch/$straggler.$method
            "$programs/with_ssp" $method $straggler $LIMIT >"$curve"
            reached "$curve" >>"$scratch/seconds.$method"
            share "$curve" >>"$scratch/shares.$method"
            rates "$curve" >>"$scratch/rates.$method"
        done
        run=$((run + 1))
    done
    for method in $METHODS; do
        seconds=$(median <"$scratch/seconds.$method")
        waiting=$(median <"$scratch/shares.$method")
        [ $method != all ] || waiting=null # rounds do not measure it
        quantity=$(awk '{ print $1 }' "$scratch/rates.$method" | median)
        quality=$(awk '{ print $2 }' "$scratch/rates.$method" | median)
        printf '%-12s %-10s %12.3f %10s %9.0f %16.2f\n' $straggler $method \
            "$seconds" "$(show "$waiting")" "$quantity" "$quality"
        record ssp stragglers $straggler method $method seconds "$seconds" \
            waiting_percent "$waiting" clocks_per_second "$quantity" \
            decades_per_1000_clocks "$quality"
    done
    : >"$programs/ssp-$straggler.txt"
    for method in $METHODS; do
        awk -v m="$method" '$1 != "total" { print m, $1, $2 }' \
            "$scratch/$straggler.$method" >>"$programs/ssp-$straggler.txt"
    done
done
echo "curves: $programs/ssp-{none,rotating,fixed}.txt"

# ---- shards against workers ------------------------------------------------

# Sparse rows of 65,536 columns: 64 rows of weights, for shards to share.
wide=$scratch/wide.svm
awk 'BEGIN {
    srand(1)
    for (i = 0; i < 4000; i++) {
        printf "%d", i % 2 ? 1 : -1
        for (k = 0; k < 20; k++)
            printf " %d:%d", 3276 * k + int(3276 * rand()) + 1, 1 + (k + i) % 2
        print ""
    }
}' >"$wide"

# spread WORKERS SHARDS: a fit on so many processes of one worker each; its log.
spread()
{
    url=ipc://$scratch/spread.sock
    "$STRADS_BIN" sgd-logistic train --no-intercept "$wide" --quiet --workers 1 --nodes "$1" \
        --shards "$2" --listen "$url" --epochs 3 --batch 8 --lambda 0.001 \
        --log "$scratch/spread.jsonl" &
    others=$!
    node=1
    while [ $node -lt "$1" ]; do
        "$STRADS_BIN" join "$url" --workers 1 --quiet &
        others="$others $!"
        node=$((node + 1))
    done
    for other in $others; do
        wait "$other"
    done
}

echo
echo "A logistic regression over ipc, a process a worker;" \
    "medians of $SPREAD_RUNS."
printf '%7s %6s %16s %10s %10s\n' workers shards "clocks a second" \
    "waiting %" "network %"
for workers in 2 4 8; do
    for shards in 1 2 4 8; do
        [ $shards -le $workers ] || continue
        for what in clocks waiting network; do
            : >"$scratch/$what"
        done
        run=0
        while [ $run -lt $SPREAD_RUNS ]; do
            spread $workers $shards
            log=$scratch/spread.jsonl
            echo "$(last_of round "$log") $(last_of seconds "$log")" \
                "$(last_of callback_seconds "$log")" \
                "$(last_of waiting_seconds "$log")" \
                "$(last_of network_seconds "$log")" >"$scratch/spread"
            awk -v w=$workers '{ print w * $1 / $2 }' "$scratch/spread" \
                >>"$scratch/clocks"
            awk '{ print 100 * $4 / ($3 + $4 + $5) }' "$scratch/spread" \
                >>"$scratch/waiting"
            awk '{ print 100 * $5 / ($3 + $4 + $5) }' "$scratch/spread" \
                >>"$scratch/network"
            run=$((run + 1))
        done
        clocks=$(median <"$scratch/clocks")
        waiting=$(median <"$scratch/waiting")
        network=$(median <"$scratch/network")
        printf '%7d %6d %16.0f %10.1f %10.1f\n' $workers $shards "$clocks" \
            "$waiting" "$network"
        record ssp workers $workers shards $shards clocks_per_second \
            "$clocks" waiting_percent "$waiting" network_percent "$network"
    done
done

# ---- and simulated ---------------------------------------------------------

echo '{"phases": {"update": {"update-ns": 20000}}}' >"$scratch/cost"
echo
echo "The same, simulated: 20 us a clock, 50 us, 10 Gbit/s, virtual ms a clock."
printf '%7s %6s %16s %10s %10s\n' workers shards "ms a clock" "waiting %" \
    "network %"
for workers in 16 64; do
    for shards in 1 4 16 64; do
        [ $shards -le $workers ] || continue
        log=$scratch/simulated.jsonl
        "$STRADS_BIN" simulate sgd-logistic --no-intercept "$wide" --quiet --log "$log" \
            --workers $workers --shards $shards --cost "$scratch/cost" \
            --epochs 1 --batch 2 --lambda 0.001 >/dev/null
        printf '%s %s %s %s %s\n' $workers "$(last_of makespan "$log")" \
            "$(last_of rounds "$log")" "$(last_of waiting_seconds "$log")" \
            "$(last_of network_seconds "$log")" >"$scratch/simulated"
        clock=$(awk '{ print 1e3 * $2 / $3 }' "$scratch/simulated")
        waiting=$(awk '{ print 100 * $4 / $2 / $1 }' "$scratch/simulated")
        network=$(awk '{ print 100 * $5 / $2 / $1 }' "$scratch/simulated")
        printf '%7d %6d %16.3f %10.1f %10.1f\n' $workers $shards "$clock" \
            "$waiting" "$network"
        record ssp simulated_workers $workers shards $shards clock_ms \
            "$clock" waiting_percent "$waiting" network_percent "$network"
    done
done
echo
cat "$json"
