#!/bin/sh
# Every policy, with none to four rounds in flight, on two processes over tcp:
# the objective of one process, within the tolerance.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null || :; rm -rf "$folder"' EXIT

common="--lambda-ratio 0.05 --tolerance 1e-8 --intercept"
gives 0 lasso train "$year_train" $common --workers 1 --model one.json
optimum=$(member one.json objective)

# joins: a second process for the run whose first said its URL in first.err.
joins() {
    tries=0
    url=
    while [ -z "$url" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || { fail "$1: no URL"; return; }
        sleep 0.05
        [ ! -s first.err ] || url=$(sed -n 's/.*strads join //p' first.err)
    done
    run join "$url" --workers 1 --quiet
    [ "$code" -eq 0 ] || fail "$1: the join ended with $code: $(cat err)"
}

for policy in priority uniform cyclic; do
    for depth in 0 1 2 3 4; do
        what="$policy at depth $depth"
        rm -f first.err # so that no URL of an earlier run is found
        "$STRADS_BIN" lasso train "$year_train" $common --policy "$policy" \
            --depth "$depth" --workers 1 --nodes 2 --model two.json \
            --listen tcp://127.0.0.1:0 2>first.err </dev/null &
        child=$!
        joins "$what"
        wait "$child" || fail "$what: ended with $?: $(cat first.err)"
        child=
        awk -v a="$(member two.json objective)" -v b="$optimum" 'BEGIN {
            d = a > b ? a - b : b - a
            exit !(b > 0 && d <= 2e-8 * b) }' ||
            fail "$what: $(member two.json objective), not $optimum"
    done
done
finish
