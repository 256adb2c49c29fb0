#!/bin/sh
# Every policy, with up to four rounds in flight, on two processes over tcp:
# the objective of one process, within the tolerance.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

common="--l1-ratio 0 --c 0.1 --tolerance 1e-8 --classes -1,1"
gives 0 logistic train "$party" $common --workers 1 --model one.json
for policy in priority uniform cyclic; do
    for depth in 0 1 2 3 4; do
        on_two 0 logistic train "$party" $common --policy $policy \
            --depth $depth --model two.json
        near "$(member two.json objective)" "$(member one.json objective)" \
            2e-8 "$policy at depth $depth"
    done
done
finish
