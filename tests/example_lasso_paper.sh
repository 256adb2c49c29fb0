#!/bin/sh
# examples/lasso_paper, built by the line in its README: the optimum of the
# built-in Lasso, with any policy, number of partitions and rounds in flight;
# and the paper's claim that priorities save updates.
. "$STRADS_SOURCE/tests/example_harness.shlib"

builds lasso_paper
lines=$(wc -l <lasso_paper.c)
[ "$lines" -le 157 ] || fail "lasso_paper.c has $lines lines: expected 157 at most"

for lambda in 0.1 0.01; do
    gives 0 lasso train --no-intercept "$year_train" --lambda $lambda --tolerance 1e-9 \
        --model best.json
    best=$(member best.json objective)
    for words in "--workers 1" "--workers 2 --partitions 2 --blocks 8" \
        "--workers 1 --partitions 3 --blocks 4 --depth 2 --f32" \
        "--workers 1 --policy cyclic --blocks 2"; do
        # shellcheck disable=SC2086 # words
        gives 0 run lasso_paper.so "$year_train" --lambda $lambda $words \
            --model paper.json
        near "$(member paper.json objective)" "$best" 2e-6 "lasso-paper $words"
    done
done

updates() {
    gives 0 run lasso_paper.so "$year_train" --lambda 0.01 --blocks 32 \
        --workers 1 --deterministic --policy "$1" --model "$1.json"
    member "$1.json" rounds
}
drawn=$(updates priority)
uniform=$(updates uniform)
[ "$drawn" -gt 0 ] && [ $((2 * drawn)) -lt "$uniform" ] ||
    fail "priorities took $drawn updates, uniform draws $uniform"

# Steps of correlated columns at once diverge: the run ends as soon as it shows.
rm -f paper.json
gives 1 run lasso_paper.so "$year_train" --threshold 1 --blocks 16 --workers 1 \
    --time-limit 300 --model paper.json
says err 'it diverges'
[ ! -e paper.json ] || fail "a run that diverged left a model"

refuses 2 '--lambda 0: expected' run lasso_paper.so "$year_train" --lambda 0
finish
