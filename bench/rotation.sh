#!/bin/sh
# What rotation brings a topic model: the same sampler on blocks of words that
# go round (ring), and data-parallel on counts in the store that are some clocks
# old (staleness); with_rotation.c says more. On two threads, and simulated on
# 64 nodes. Curves of log-likelihood by sweeps and by seconds go to
# rotation-WORKERS-sweeps.svg and -seconds.svg beside the programs, as numbers
# to rotation-WORKERS.txt. Option: --quick.
set -eu
. "$(dirname "$0")/with_data.sh"

programs=$STRADS_BUILD/bench
METHODS="ring 0 4 16"
corpus=$(dirname "$0")/../data/docword.sotu-tiny.txt
topics=20
sweeps=30
few=2
many=64
if [ "${1:-}" = --quick ]; then
    sweeps=10
    many=16
elif [ $# -gt 0 ]; then
    echo "rotation knows --quick, not $1" >&2
    exit 2
fi
: >"$json"

# last CURVE COLUMN
last()
{
    tail -n 1 "$1" | cut -d ' ' -f "$2"
}

# at CURVE SWEEP: the likelihood then; "-" if nothing was said of it.
at()
{
    awk -v n="$2" '$1 == n { x = $3 } END { print x ? x : "-" }' "$1"
}

# plot WORKERS COLUMN NAME LABEL
plot()
{
    lines=
    for method in $METHODS; do
        case $method in
        ring) title="scheduled: rotation" ;;
        *) title="data-parallel, staleness $method" ;;
        esac
        lines="$lines${lines:+, }'$scratch/$method.$1' using $2:3 with lines \
title '$title'"
    done
    gnuplot <<END
set terminal svg size 720,440 background '#ffffff'
set output '$programs/rotation-$1-$3.svg'
set title 'topics by Gibbs sampling, $1 workers'
set xlabel '$4'
set ylabel 'log-likelihood a token'
set key bottom right
set grid
plot $lines
END
}

# compare WORKERS [NS]
compare()
{
    workers=$1
    for method in $METHODS; do
        "$programs/with_rotation" "$method" "$corpus" $topics $sweeps \
            "$@" \
            >"$scratch/$method.$workers"
        sed "s/^/$method /" "$scratch/$method.$workers"
    done >"$programs/rotation-$workers.txt"
    for method in $METHODS; do
        curve=$scratch/$method.$workers
        half=$(at "$curve" $((sweeps / 2)))
        printf '%7d %-10s %12s %12s %10.3f\n' "$workers" "$method" "$half" \
            "$(last "$curve" 3)" "$(last "$curve" 2)"
        [ "$half" != - ] || half=null
        record rotation workers "$workers" method "$method" half "$half" \
            likelihood "$(last "$curve" 3)" seconds "$(last "$curve" 2)"
    done
    plot "$workers" 1 sweeps sweeps
    plot "$workers" 2 seconds seconds
}

echo "Load $(load) on $(nproc) cores. $sweeps sweeps at $topics topics of the"
echo "speeches in data/. Seconds on $few workers are of this machine, on $many"
echo "virtual: 1 us a word of a document, 50 us and 10 Gbit/s between nodes."
echo "Log-likelihood a token after half of the sweeps and after all; seconds."
printf '%7s %-10s %12s %12s %10s\n' workers method half end seconds
compare $few
compare $many 1000
echo "curves: $programs/rotation-{$few,$many}-{sweeps,seconds}.svg"
echo
cat "$json"
