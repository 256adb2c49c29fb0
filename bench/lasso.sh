#!/bin/sh
# The updates and rounds of a Lasso, and the data that each of four processes holds.
# linear.sh compares its speed with peers.
set -eu
. "$(dirname "$0")/with_data.sh"

CAP=30 # seconds a run may take

# strads WORKERS [OPTIONS]: a run on $file at $ratio; exit code 3, a run that ended
# before its tolerance, is measured, too.
strads()
{
    workers=$1
    shift
    code=0
    "$STRADS_BIN" lasso train --no-intercept "$file" --lambda-ratio "$ratio" --quiet \
        --workers "$workers" --log "$scratch/log" --model "$scratch/model" \
        "$@" || code=$?
    [ $code -eq 0 ] || [ $code -eq 3 ]
}

# see_updates NAME RATIO: updates and rounds up to a gap of 1e-3
see_updates()
{
    strads 1 --tolerance 1e-3 --time-limit $CAP
    updates=$(last_of updates_other "$scratch/log")
    rounds=$(last_of round "$scratch/log")
    seconds=$(last_of seconds "$scratch/log")
    printf '%-20s %-5s %9s updates, %6s rounds, %8.4f s\n' \
        "$1" "$2" "$updates" "$rounds" "$seconds"
    record lasso_updates data "$1" ratio "$2" updates "$updates" \
        rounds "$rounds" seconds "$seconds"
}

# held LOG: the size of the data that a process reports to keep.
held()
{
    sed -n 's/.* \([0-9.]* [KMG]*B\) .*in memory.*/\1/p' "$1"
}

# The data kept by each of four processes, and by one alone.
see_nodes()
{
    url=ipc://$scratch/nodes.ipc
    timeout $CAP "$STRADS_BIN" lasso train --no-intercept "$file" --lambda-ratio "$ratio" \
        --workers 1 --listen "$url" --nodes 4 >"$scratch/node.0" 2>&1 &
    for node in 1 2 3; do
        timeout $CAP "$STRADS_BIN" join "$url" --workers 1 \
            >"$scratch/node.$node" 2>&1 &
    done
    "$STRADS_BIN" lasso train --no-intercept "$file" --lambda-ratio "$ratio" --workers 1 \
        >"$scratch/node.alone" 2>&1
    wait
    for node in alone 0 1 2 3; do
        echo "process $node: $(held "$scratch/node.$node")"
        record lasso_nodes data "$name" process $node \
            held "$(held "$scratch/node.$node")"
    done
}

names=
for name in sotu-year.train msdocs-driver.train micro-singh; do
    if [ -n "$(unpack $name)" ]; then
        names="$names $name"
    fi
done
echo "Load $(load) on $(nproc) cores."
echo "Updates to a gap of 1e-3, one worker:"
for name in ${names:-sotu-tiny-year.train}; do
    file=$(unpack "$name")
    for ratio in 0.1 0.01; do
        see_updates "$name" $ratio
    done
done
echo
echo "What processes keep of $name:"
see_nodes
echo
cat "$json"
