#!/bin/sh
# examples/ridge, built by the line in its README: at its end the total gain of
# all remaining steps, computed by awk from model and data, is negligible.
. "$STRADS_SOURCE/tests/example_harness.shlib"

builds ridge

# With c = X'(y - X w), a_j = |x_j|^2: step (c_j - n lambda w_j) / (a_j + n
# lambda), gain (a_j / n + lambda) step^2 / 2.
optimal() {
    awk -v lambda=0.5 -v told="$(member "$1" objective)" "$fit"'
    END {
        for (j in a) {
            d = (c[j] - n * lambda * w[j]) / (a[j] + n * lambda)
            gain += (a[j] / n + lambda) * d * d / 2
            ww += w[j] * w[j]
        }
        p = rr / (2 * n) + lambda * ww / 2
        wrong = distance(told, p)
        printf "gain %.2g of %.9g, objective off by %.2g\n", gain, p, wrong
        exit !(n > 0 && values > 0 && gain <= 1e-7 * p && wrong <= 1e-9 * p)
    }' "$1" "$year_train" >optimal.out ||
        fail "$1 is not optimal: $(cat optimal.out)"
}

for words in "--workers 1" "--workers 2 --partitions 2 --policy cyclic" \
    "--workers 1 --partitions 3 --policy uniform"; do
    gives 0 run ridge.so "$year_train" --lambda 0.5 --tolerance 1e-9 $words \
        --model ridge.json
    optimal ridge.json
done
refuses 2 '--lambda -1: expected' run ridge.so "$year_train" --lambda -1
finish
