#!/bin/sh
# examples/kmeans, as its README describes: built outside the tree against an
# installed library; on threads, by plans, on three processes. awk checks from
# model and data that the centres are the means of their nearest samples.
. "$STRADS_SOURCE/tests/example_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# settled MODEL: every centre with samples is their mean, and the model's
# objective is the sum of squared distances.
settled() {
    awk -v told="$(member "$1" objective)" '
    FNR == NR && $1 ~ /^"(columns|width)":$/ {
        size[$1] = $2 + 0
        k = size["\"columns\":"]
        width = size["\"width\":"]
    }
    FNR == NR && $1 == "\"value\":" {
        gsub(/^.*\[|\].*$/, "")
        m = split($0, v, ",")
        for (c = 0; c < k; c++)
            for (j = 1; j <= width; j++)
                norm[c] += v[c * width + j] ^ 2
    }
    FNR == NR { next }
    {
        n++
        best = -1
        for (c = 0; c < k; c++) {
            d = norm[c]
            for (f = 2; f <= NF; f++) {
                split($f, e, ":")
                d += e[2] * (e[2] - 2 * v[c * width + e[1]])
            }
            if (best < 0 || d < nearest) {
                nearest = d
                best = c
            }
        }
        inertia += nearest
        count[best]++
        for (f = 2; f <= NF; f++) {
            split($f, e, ":")
            sum[best * width + e[1]] += e[2]
        }
    }
    END {
        for (c = 0; c < k; c++)
            for (j = 1; j <= width && count[c]; j++) {
                d = sum[c * width + j] / count[c] - v[c * width + j]
                if (d < 0) d = -d
                if (d > off) off = d
            }
        wrong = inertia - told
        if (wrong < 0) wrong = -wrong
        printf "%d samples, %d numbers: centres off by %.2g, inertia %.12g\n",
            n, m, off, inertia
        exit !(n > 1000 && m == k * width && k > 1 && off < 1e-12 &&
            wrong < 1e-9 * inertia)
    }' "$1" "$year_train" >settled.out ||
        fail "$1 is not settled: $(cat settled.out)"
}

# bits_of MODEL: its numbers.
bits_of() {
    grep -E '"(index|value)"' "$1"
}

builds kmeans
gives 0 run ./kmeans.so "$year_train" --check --max-rounds 1
says err "checked kmeans on "

# Any split of data and centres ends with converged centres
for words in "--partitions 1" "--partitions 4 --workers 2 --centres 7" \
    "--partitions 3 --workers 2 --blocks 9 --seed 5"; do
    # shellcheck disable=SC2086 # words
    gives 0 run ./kmeans.so "$year_train" $words --model one.json
    settled one.json
done

# The same partitions and blocks give the same bits on any workers
common="--partitions 4 --centres 7"
gives 0 run ./kmeans.so "$year_train" $common --workers 1 --model one.json
settled one.json
bits_of one.json >one.bits
for workers in 2 4; do
    # shellcheck disable=SC2086 # words
    gives 0 run ./kmeans.so "$year_train" $common --workers $workers \
        --model other.json
    bits_of other.json >other.bits
    cmp -s one.bits other.bits || fail "$workers workers and one differ"
done

# Stopped and resumed
# shellcheck disable=SC2086 # words
gives 0 run ./kmeans.so "$year_train" $common --max-rounds 9 --checkpoint checkpoints
# shellcheck disable=SC2086 # words
gives 0 run ./kmeans.so "$year_train" $common --workers 2 --resume checkpoints \
    --model other.json
bits_of other.json >other.bits
cmp -s one.bits other.bits || fail "a run that goes on and one differ"

# By a plan, which sets the number of partitions
gives 0 plan make plan.json --partitions 4 --blocks 8
gives 0 run ./kmeans.so "$year_train" --centres 7 --workers 2 \
    --plan plan.json --model planned.json
settled planned.json
bits_of planned.json >planned.bits
gives 0 plan make three.json --partitions 3 --blocks 5 --planner rotation
gives 0 run ./kmeans.so "$year_train" --centres 7 --workers 2 \
    --plan three.json --model three-parts.json
settled three-parts.json
# Simulated by the same plan: the result equals the run's
gives 0 simulate ./kmeans.so "$year_train" --centres 7 --workers 2 \
    --plan plan.json
says out "$(sed -n 's/^ *"objective": \([0-9]*\)\..*/\1/p' planned.json)."

echo '{}' >broken.json
refuses 2 'broken.json: is not a plan' run ./kmeans.so "$year_train" \
    --plan broken.json

# Three processes, which receive the plan from the first: the same bits as one
: >first.err
start first run ./kmeans.so "$year_train" --centres 7 --workers 2 \
    --plan plan.json --nodes 3 --listen tcp://127.0.0.1:0 --model nodes.json
first=$child
url=$(url_of first)
start second join "$url" --program ./kmeans.so --workers 1
second=$child
start third join "$url" --program ./kmeans.so --workers 1
third=$child
ends second "$second" 0
ends third "$third" 0
ends first "$first" 0
settled nodes.json
bits_of nodes.json >nodes.bits
cmp -s planned.bits nodes.bits || fail "three processes and one differ"
finish
