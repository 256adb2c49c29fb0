#!/bin/sh
# examples/ssp_lasso, as its README describes: built outside the tree against
# an installed library. awk checks from model and data that w is a minimiser,
# for any staleness and workers.
. "$STRADS_SOURCE/tests/example_harness.shlib"

lambda=0.02

# minimises MODEL BOUND: the duality gap, computed here, is at most BOUND times
# the objective, and the model reports the same objective.
minimises() {
    awk -v bound="$2" -v lambda="$lambda" -v told="$(member "$1" objective)" \
        "$fit"'
    FNR < NR { y = $1; yx += y * r }
    END {
        for (j in a) {
            g = distance(c[j] / n, 0)
            if (g > steepest) steepest = g
        }
        for (j in w) l1 += distance(w[j], 0)
        scale = steepest > lambda ? lambda / steepest : 1
        p = rr / (2 * n) + lambda * l1
        gap = 1 - (scale * yx - scale * scale * rr / 2) / n / p
        wrong = distance(told, p)
        printf "gap %.2g, objective off by %.2g\n", gap, wrong
        exit !(n > 0 && values > 0 && gap <= bound && wrong <= 1e-9 * p)
    }' "$1" "$year_train" >minimises.out ||
        fail "$1 is no minimiser: $(cat minimises.out)"
}

builds ssp_lasso

for words in "--workers 1 --staleness 0" "--workers 3 --staleness 0" \
    "--workers 2" "--workers 2 --partitions 4 --staleness 3" "--f32"; do
    : >ssp.json
    # shellcheck disable=SC2086 # words
    gives 0 run ./ssp_lasso.so "$year_train" --lambda $lambda \
        --tolerance 1e-4 $words --model ssp.json
    says err "converged after"
    [ "$words" = "--f32" ] || minimises ssp.json 1.5e-4
done
says ssp.json '"program": "ssp-lasso"' '"staleness": 1'

# The same minimum as the built-in program's
gives 0 lasso train --no-intercept "$year_train" --lambda $lambda --model lasso.json
near "$(member ssp.json objective)" "$(member lasso.json objective)" 1e-3 \
    "the objective of the built-in Lasso"

# A bound ends it early, with a model that has the right objective
gives 3 run ./ssp_lasso.so "$year_train" --lambda $lambda --max-rounds 30 \
    --model early.json
minimises early.json 1
gives 3 run ./ssp_lasso.so "$year_train" --lambda $lambda --workers 2 \
    --max-rounds 300 --checkpoint checkpoints
gives 0 run ./ssp_lasso.so "$year_train" --lambda $lambda --workers 2 \
    --tolerance 1e-4 --resume checkpoints --model early.json
minimises early.json 1.5e-4
refuses 2 '--lambda -1: expected' run ./ssp_lasso.so "$year_train" \
    --lambda -1
finish
