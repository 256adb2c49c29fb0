#!/bin/sh
# Fits without a penalty have no minimum if columns separate the labels: they
# stop early, report it and end with exit code 3. Overlapping data converges.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

rows() { # N P KIND SEED: separable, quasi (some rows on the boundary), overlap, counts
    awk -v n="$1" -v p="$2" -v kind="$3" -v seed="$4" 'BEGIN { srand(seed)
        for (i = 0; i < n; i++) {
            l = ""
            for (j = 1; j <= p; j++) {
                x = rand() - .5
                if (j == 1) {
                    if (kind == "quasi" && i % 3 == 0) x = 0
                    if (kind == "counts") x = i % 3 == 0
                    if (kind == "spread") x = x > 0 ? x : 0
                    t = x
                }
                l = l sprintf(" %d:%.17g", j, x * (seed % 2 ? 10 ^ (j % 5 - 2) : 1))
            }
            y = t > 0 ? 1 : -1
            if (kind == "overlap" || t == 0) y = rand() > .5 ? 1 : -1
            if (kind == "three") y = t > .2 ? 2 : t > -.2 ? 1 : 0
            if (kind == "counts" || kind == "spread") y = t > 0 ? 0 : 1 + int(4 * rand())
            print y l
        } }'
}
# ends_separable WORDS...: data.svm has no minimum
ends_separable() {
    for intercept in --intercept --no-intercept; do
        gives 3 glm train data.svm --penalty none "$@" $intercept
        says err "separable"
        awk '/rounds and/ { for (k = 1; k < NF; k++) if ($(k + 1) == "rounds")
            exit !($k < 10000) }' err || fail "$*: $(grep rounds err)"
    done
}
seed=0
for size in "4 2" "12 3" "60 5" "100 3" "30 40" "100 300"; do
    for kind in separable quasi; do
        # With as many columns as rows, rows on the boundary are separable too.
        seed=$((seed + 1))
        # shellcheck disable=SC2086 # two numbers
        rows $size $kind $seed >data.svm
        [ "$(cut -d' ' -f1 data.svm | sort -u | wc -l)" -eq 2 ] || continue
        ends_separable --loss logistic
    done
done
rows 90 4 counts 3 >data.svm
ends_separable --loss poisson
# The row closest to the boundary decides where it ends.
for seed in 1 2 4 5; do
    rows 60 3 spread $seed >data.svm
    ends_separable --loss poisson
done

# The last point of a path has no minimum, and ends it.
rows 60 3 separable 3 >data.svm
for what in "glm path --loss logistic" "logistic path"; do
    # shellcheck disable=SC2086 # words
    gives 3 $what data.svm --lambdas 0.1,0.01,0 --time-limit 60s
    says err "separable"
    tail -n 1 out | grep -q '^0,.*,1,' || fail "$what: $(cat out)"
    says err "3 points"
done
gives 3 glm cv data.svm --loss logistic --lambdas 0.1,0 --time-limit 60s \
    --model m.json
printf '0\n1\n1\n' >factors # no lambda_max either
gives 3 glm path data.svm --loss logistic --penalty-factors factors \
    --time-limit 60s
says err "separable"

rows 90 4 three 4 >data.svm
gives 3 glm train data.svm --loss multinomial --penalty none --intercept
says err "separable"

# Two classes of three are separable: one problem per class
gives 3 glm train data.svm --loss logistic --penalty none --intercept
says err "separable"

for seed in 1 2 3; do
    rows 200 4 overlap $seed >data.svm
    for intercept in --intercept --no-intercept; do
        gives 0 glm train data.svm --loss logistic --penalty none $intercept
        ! grep -q separable err || fail "overlapping classes: $(cat err)"
    done
done

# Every third row has no entries in the first column.
rows 90 3 quasi 8 | awk 'NR % 3 == 1 || NR % 7 == 0 { $1 = -$1 } { print }' >data.svm
gives 0 glm train data.svm --loss logistic --penalty none --model m.json

# Rows that can be fitted exactly: the objective tends to 0, and the descent
# ends by itself once it hardly moves.
rows 10 20 overlap 2 >data.svm
for lambda in 1e-6 1e-9; do
    run lasso train data.svm --lambda $lambda --time-limit 120s
    grep -q -e converged -e stalled err || fail "lambda $lambda: $(cat err)"
done

# The same of numbers without an intercept: within 2,000 scans without progress
# (1.8 s at most when this was written), and no gap below the truth.
numbers() { # SEED
    awk -v s="$1" 'BEGIN { srand(s)
        for (i = 0; i < 10; i++) {
            l = rand() - .5
            for (j = 1; j <= 20; j++) l = l " " j ":" rand() - .5
            print l
        } }'
}
for seed in 1 2 3 4; do
    numbers $seed >data.svm
    for lambda in 1e-7 1e-9 1e-11; do
        run lasso train data.svm --lambda $lambda --no-intercept \
            --max-rounds 60000 --time-limit 120s
        grep -q -e converged -e stalled err ||
            fail "seed $seed, lambda $lambda: $(cat err)"
    done
done
finish
