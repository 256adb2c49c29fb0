#!/bin/sh
# The Lasso against glmnet and scikit-learn: seconds of the fit alone until the
# objective is within 1e-6 of the best that anybody found. Every solver runs
# through a grid of its own tolerances, one process a run; its fastest setting
# that gets there then runs again in turn with the others'. Objectives come
# from with_yardstick alone. Then what the policy does, and what four processes
# hold.
set -eu
. "$(dirname "$0")/with_data.sh"
here=$(dirname "$0")

TARGET=1e-6
RUNS=3
CAP=30    # seconds a peer's fit may take
STARTUP=9 # and its process beside the fit
PEER=${PEER_PYTHON:-/usr/bin/python3}
yardstick=$STRADS_BUILD/bench/with_yardstick

grid()
{
    case $1 in
    strads-*) for tol in 1e-2 1e-3 1e-4 1e-5 1e-6 1e-7; do
        echo gap/$tol
    done ;;
    glmnet) for tol in 1e-5 1e-7 1e-9 1e-11 1e-13 1e-15; do
        echo single/$tol path/$tol
    done ;;
    sklearn) for tol in 1e-2 1e-3 1e-4 1e-5 1e-6 1e-7 1e-8 1e-9; do
        echo single/$tol path/$tol
    done ;;
    esac
}

# coefficients MODEL: a line "COLUMN VALUE" a nonzero.
coefficients()
{
    awk '
        { text = text $0 " " }
        function list(key, out) {
            match(text, "\"" key "\"[ ]*:[ ]*\\[[^]]*\\]")
            part = substr(text, RSTART, RLENGTH)
            gsub(/^[^[]*\[|\]| /, "", part)
            return split(part, out, ",")
        }
        END {
            n = list("index", column)
            list("value", value)
            for (i = 1; i <= n; i++)
                print column[i], value[i]
        }' "$1"
}

# strads WORKERS [OPTIONS]: a run on $file at $lambda; exit 3 is a run that
# ended before its tolerance, and is measured like any other.
strads()
{
    workers=$1
    shift
    code=0
    "$STRADS_BIN" lasso train "$file" --lambda "$lambda" --quiet \
        --workers "$workers" --log "$scratch/log" --model "$scratch/model" \
        "$@" || code=$?
    [ $code -eq 0 ] || [ $code -eq 3 ]
}

# fit SOLVER SETTING OUT: prints its seconds; fails when it took too long.
fit()
{
    case $1 in
    strads-*)
        strads "${1#strads-}" --tolerance "${2#*/}" \
            --time-limit $CAP || return 1
        coefficients "$scratch/model" >"$3"
        last_of seconds "$scratch/log"
        ;;
    glmnet)
        timeout $((CAP + STARTUP)) Rscript --vanilla \
            "$here/with_glmnet.R" "$parts" "$lambda" "$2" "$3" 2>/dev/null
        ;;
    sklearn)
        timeout $((CAP + STARTUP)) "$PEER" \
            "$here/with_sklearn.py" "$parts" "$lambda" "$2" "$3" 2>/dev/null
        ;;
    esac
}

objective()
{
    "$yardstick" objective "$parts" "$lambda" "$1"
}

# above A B: how far A is above B, as a share of B.
above()
{
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3g", (a - b) / b }'
}

holds()
{
    awk "BEGIN { exit !($1) }"
}

# Runs through a solver's grid until a setting is well within the target, or
# one took too long; lines "SOLVER SETTING SECONDS OBJECTIVE" in $tried.
explore()
{
    for setting in $(grid "$1"); do
        seconds=$(fit "$1" "$setting" "$scratch/w") || break
        at=$(objective "$scratch/w")
        echo "$1 $setting $seconds $at" >>"$tried"
        case $setting in
        single/*) continue ;; # its path, too
        esac
        reached=$(awk -v s="$1" -v p="$optimum" -v t=$TARGET '$1 == s &&
            $4 - p <= t / 3 * p { n = 1 } END { print n + 0 }' "$tried")
        if [ "$reached" -eq 1 ] || holds "$seconds > $CAP"; then
            break
        fi
    done
}

# fastest SOLVER: its fastest setting that reached the target; or nothing.
fastest()
{
    awk -v s="$1" -v p="$optimum" -v t=$TARGET -v cap=$CAP '
        $1 == s && $3 <= cap && $4 - p <= t * p && (!best || $3 < least) {
            best = $2
            least = $3
        }
        END { print best }' "$tried"
}

# The best objective of anybody: of strads' tightest run, or a better one.
find_optimum()
{
    fit strads-1 gap/1e-12 "$scratch/w" >"$scratch/seconds"
    optimum=$(objective "$scratch/w")
    echo "reference gap/1e-12 $(cat "$scratch/seconds") $optimum" >"$tried"
    for solver in $solvers; do
        explore "$solver"
    done
    optimum=$(awk 'NR == 1 || $4 < p { p = $4 } END { print p }' \
        CONVFMT=%.17g OFMT=%.17g "$tried")
}

# report NAME RATIO: a line a solver.
report()
{
    for solver in $solvers; do
        setting=$(fastest "$solver")
        if [ -z "$setting" ]; then
            printf '%-20s %-5s %-9s %-13s %10s %12s\n' "$1" "$2" "$solver" - \
                "> ${CAP} s" -
            record lasso data "$1" ratio "$2" solver "$solver" seconds null
            continue
        fi
        seconds=$(median <"$scratch/times.$solver")
        off=$(above "$(cat "$scratch/objective.$solver")" "$optimum")
        printf '%-20s %-5s %-9s %-13s %10.4f %12s\n' "$1" "$2" "$solver" \
            "$setting" "$seconds" "$off"
        record lasso data "$1" ratio "$2" solver "$solver" \
            setting "$setting" seconds "$seconds" suboptimality "$off"
    done
}

# compare NAME RATIO
compare()
{
    lambda=$(awk -v r="$2" -v m="$lambda_max" \
        'BEGIN { printf "%.17g", r * m }')
    tried=$scratch/tried
    find_optimum
    for solver in $solvers; do
        : >"$scratch/times.$solver"
    done
    run=0
    while [ $run -lt $RUNS ]; do
        for solver in $solvers; do
            setting=$(fastest "$solver")
            [ -n "$setting" ] || continue
            fit "$solver" "$setting" "$scratch/w" \
                >>"$scratch/times.$solver" || continue
            objective "$scratch/w" >"$scratch/objective.$solver"
        done
        run=$((run + 1))
    done
    report "$1" "$2"
}

# What shares of updates come from the policy's blocks by a gap of 1e-3, and
# whether another policy runs another course: see NAME RATIO
see_policies()
{
    for policy in priority uniform cyclic; do
        strads 1 --tolerance 1e-3 --policy $policy --time-limit $CAP
        chosen=$(last_of updates_policy "$scratch/log")
        other=$(last_of updates_other "$scratch/log")
        share=$(awk -v a="$chosen" -v b="$other" \
            'BEGIN { printf "%.1f", 100 * a / (a + b + !(a + b)) }')
        blocks=$(last_of blocks "$scratch/log")
        seconds=$(last_of seconds "$scratch/log")
        printf '%-20s %-5s %-9s %6s %% of %9s updates, %6s blocks, %8.4f s\n' \
            "$1" "$2" $policy "$share" "$chosen" "$blocks" "$seconds"
        record lasso_policy data "$1" ratio "$2" policy $policy \
            share "$share" updates_policy "$chosen" updates_other "$other" \
            blocks "$blocks" seconds "$seconds"
    done
}

# held LOG: what a process says that it keeps of the data.
held()
{
    sed -n 's/.* \([0-9.]* [KMG]*B\) .*in memory.*/\1/p' "$1"
}

# What each of four processes keeps, beside one alone.
see_nodes()
{
    url=ipc://$scratch/nodes.ipc
    timeout $CAP "$STRADS_BIN" lasso train "$file" --lambda "$lambda" \
        --workers 1 --listen "$url" --nodes 4 >"$scratch/node.0" 2>&1 &
    for node in 1 2 3; do
        timeout $CAP "$STRADS_BIN" join "$url" --workers 1 \
            >"$scratch/node.$node" 2>&1 &
    done
    "$STRADS_BIN" lasso train "$file" --lambda "$lambda" --workers 1 \
        >"$scratch/node.alone" 2>&1
    wait
    for node in alone 0 1 2 3; do
        echo "process $node: $(held "$scratch/node.$node")"
        record lasso_nodes data "$name" process $node \
            held "$(held "$scratch/node.$node")"
    done
}

solvers='strads-1 strads-2 glmnet sklearn'
policies=$scratch/policies
parts=$scratch/parts
mkdir "$parts"
: >"$policies"
names=
for name in sotu-year.train msdocs-driver.train micro-singh; do
    if [ -n "$(unpack $name)" ]; then
        names="$names $name"
    fi
done
echo "Load $(load) on $(nproc) cores. Fit alone, within $TARGET of the best"
echo "objective of all; medians of $RUNS, in turn; caps of $CAP s."
printf '%-20s %-5s %-9s %-13s %10s %12s\n' data ratio solver setting \
    seconds suboptimal
for name in ${names:-sotu-tiny-year.train}; do
    file=$(unpack "$name")
    sizes=$("$yardstick" dump "$file" "$parts")
    lambda_max=${sizes##* }
    for ratio in 0.1 0.01; do
        compare "$name" $ratio
        see_policies "$name" $ratio >>"$policies"
    done
done
echo
echo "Updates by blocks that a policy chose, to a gap of 1e-3, one worker:"
cat "$policies"
echo
echo "What processes keep of $name:"
see_nodes
echo
cat "$json"
