#!/bin/sh
# Progress per second over staleness, with and without stragglers, and
# all-reduce style beside the servers: seconds until the error of a
# least-squares problem is 1e-6, medians of runs in turn. Four workers sleep for
# the time of computing, so that few cores do not decide; with_ssp.c says more.
# The curves of the last runs go to ssp-STRAGGLER.svg beside the programs.
set -eu
. "$(dirname "$0")/with_data.sh"

RUNS=5
LIMIT=10 # seconds a run may take
ERROR=1e-6
METHODS="all 0 1 4 16 infinite"
programs=$STRADS_BUILD/bench
: >"$json"

# reached CURVE: seconds until the error was ERROR; the limit when it never was.
reached()
{
    awk -v error=$ERROR -v limit=$LIMIT '
        $1 != "total" && $2 <= error { print $1; found = 1; exit }
        END { if (!found) print limit }' "$1"
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

# draw STRAGGLER
draw()
{
    svg=$programs/ssp-$1.svg
    {
        echo "set terminal svg size 720,440 background '#ffffff'"
        echo "set output '$svg'"
        echo "set title 'least squares, 4 workers, stragglers: $1'"
        echo "set xlabel 'seconds'; set ylabel 'squared error, relative'"
        echo "set logscale y; set format y '1e%T'; set grid"
        lines=
        for method in $METHODS; do
            case $method in
            all) title=all-reduce ;;
            *) title="staleness $method" ;;
            esac
            grep -v total "$scratch/$1.$method" >"$scratch/$1.$method.xy"
            lines="$lines${lines:+, }'$scratch/$1.$method.xy' with lines \
title '$title'"
        done
        echo "plot $lines"
    } | gnuplot
    echo "curves: $svg"
}

echo "Load $(load) on $(nproc) cores; medians of $RUNS runs in turn."
printf '%-12s %-10s %12s %14s\n' stragglers method "s to $ERROR" "waiting %"
for straggler in none rotating fixed; do
    for method in $METHODS; do
        : >"$scratch/seconds.$method"
        : >"$scratch/shares.$method"
    done
    run=0
    while [ $run -lt $RUNS ]; do
        for method in $METHODS; do
            curve=$scratch/$straggler.$method
            "$programs/with_ssp" $method $straggler $LIMIT >"$curve"
            reached "$curve" >>"$scratch/seconds.$method"
            share "$curve" >>"$scratch/shares.$method"
        done
        run=$((run + 1))
    done
    for method in $METHODS; do
        seconds=$(median <"$scratch/seconds.$method")
        waiting=$(median <"$scratch/shares.$method")
        [ $method != all ] || waiting=null # rounds do not measure it
        printf '%-12s %-10s %12.3f %14s\n' $straggler $method "$seconds" \
            "$(show "$waiting")"
        record ssp stragglers $straggler method $method seconds "$seconds" \
            waiting_percent "$waiting"
    done
    draw $straggler
done
echo
cat "$json"
