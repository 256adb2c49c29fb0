#!/bin/sh
# A Lasso under several schedules, with the same kernels. The order of updates, and
# whether dependent columns are separated, decides how fast it converges, if it
# converges. with_schedules.c describes the methods, `./dev reproduce` draws their
# curves. Options: --limit SECONDS for each method, --ratio R of lambda_max.
set -eu
. "$(dirname "$0")/with_data.sh"

limit=20
ratio=0.1
while [ $# -gt 1 ]; do
    case $1 in
    --limit) limit=$2 ;;
    --ratio) ratio=$2 ;;
    *)
        echo "schedules knows --limit SECONDS and --ratio R, not $1" >&2
        exit 2
        ;;
    esac
    shift 2
done
programs=$STRADS_BUILD/bench
file=$scratch/mid.svm
METHODS="lasso/64 scheduled/64 priority/64 shotgun/64 shotgun/1024 cyclic/64
    cyclic-joint/64 random-joint/64 sgd/250"

# curve METHOD WIDTH: lines "SECONDS UPDATES SUBOPTIMALITY", those above 0.
curve()
{
    "$programs/with_schedules" "$file" "$ratio" "$1" "$2" "$limit" |
        awk -v best="$optimum" '$3 > best { print $1, $2, $3 / best - 1 }' \
            >"$scratch/$1.$2"
}

# reached CURVE TARGET: "SECONDS UPDATES" of its first line within it.
reached()
{
    awk -v target="$2" '$3 <= target { print $1, $2; exit }' "$1"
}

# told CURVE TARGET: the same as text, or why it was not reached.
told()
{
    awk -v target="$2" '
        NR == 1 { first = $3 }
        { last = $3 }
        $3 <= target { printf "%9.3f %11d\n", $1, $2; found = 1; exit }
        END {
            if (!found)
                printf "%9s %11s\n", "-", (last > first ? "diverges" : "-")
        }' "$1"
}

"$STRADS_BIN" data synth lasso "$file" --quiet
optimum=$("$programs/with_schedules" "$file" "$ratio" lasso 1 60 |
    awk '{ print $3 }' | sort -g | head -n 1)
: >"$json"
echo "Load $(load) on $(nproc) cores; lambda_max x $ratio, one worker, seconds"
echo "of the processor, at most $limit a method."
printf '%-14s %6s %9s %11s %9s %11s\n' method width 's to 1e-2' updates \
    's to 1e-4' updates
for method in $METHODS; do
    name=${method%/*}
    width=${method#*/}
    curve "$name" "$width"
    at=$scratch/$name.$width
    printf '%-14s %6s %s %s\n' "$name" "$width" "$(told "$at" 1e-2)" \
        "$(told "$at" 1e-4)"
    by=$(reached "$at" 1e-4)
    by=${by:-null null}
    record schedules method "$name" width "$width" ratio "$ratio" \
        seconds "${by% *}" updates "${by#* }"
done
echo
base=$(reached "$scratch/scheduled.64" 1e-4)
for method in shotgun/1024 cyclic-joint/64 random-joint/64 lasso/64; do
    at=$scratch/${method%/*}.${method#*/}
    by=$(reached "$at" 1e-4)
    echo "$base ${by:-$limit 0}" | awk -v who="$method" -v met="$by" '{
        printf "%s by scheduled, to 1e-4: %s%.2f of the time", who,
            (met ? "" : "above "), $3 / $1
        if (met) printf ", %.2f of the updates", $4 / $2
        print ""
    }'
done
echo
cat "$json"
