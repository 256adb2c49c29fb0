#!/bin/sh
# strads data synth lasso: the designs match their options.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"

synth() {
    gives 0 data synth lasso "$@" --quiet
}

# measure TRUTH DATA: "KEY VALUE" lines: entries, the mean square of values,
# the correlation of columns at distances 1 and 4, |Xb|^2 / |y - Xb|^2.
measure() {
    awk '
        FNR == NR { b[$1] = $2; next }
        {
            m = 0
            for (k = 2; k <= NF; k++) {
                split($k, e, ":")
                x[FNR, e[1]] = e[2]
                entries++
                squares += e[2] * e[2]
                m += b[e[1]] * e[2]
                if ((FNR, e[1] - 1) in x) near += e[2] * x[FNR, e[1] - 1]
                if ((FNR, e[1] - 4) in x) far += e[2] * x[FNR, e[1] - 4]
            }
            signal += m * m
            noise += ($1 - m) * ($1 - m)
        }
        END {
            print "entries", entries
            print "square", squares / entries
            print "near", near / squares
            print "far", far / squares
            print "snr", signal / noise
        }' "$1" "$2" >measured
}

of() {
    awk -v key="$1" '$1 == key { print $2 }' measured
}

# A sparse design. 40 slots of 400 rows fill 38.1 rows on average.
sizes='--rows 400 --columns 600 --entries 40 --support 30 --correlation 0.8'
sizes="$sizes --snr 4 --seed 7"
synth a.svm --truth a.truth $sizes
measure a.truth a.svm
near "$(of entries)" 22884 0.01 "entries of a sparse design"
near "$(of square)" 1 0.1 "the values' mean square"
near "$(of near)" 0.8 0.05 "the correlation of neighbours"
near "$(of far)" 0.4096 0.15 "the correlation of columns 4 apart"
near "$(of snr)" 4 1e-4 "the signal by the noise"
same "$(wc -l <a.truth)" 30 "lines of the truth"
gives 0 data info a.svm --format json
same "$(member out rows)" 400 "rows"
same "$(member out columns)" 600 "columns"

# Engine and text agree: without noise a small lambda finds b
synth clean.svm --truth clean.truth $sizes --snr 1e12 --support 5
gives 0 lasso train --no-intercept clean.svm --lambda 1e-5 --tolerance 1e-4 --quiet \
    --model clean.json
while read -r column value; do
    awk "$read_model"'END { printf "%.12g\n", w['"$column"'] }' clean.json \
        a.svm >found
    near "$(cat found)" "$value" 1e-2 "the weight of column $column"
done <clean.truth

# Same seed, same bytes, to a file or a device; another seed gives others
synth again.svm $sizes
cmp -s a.svm again.svm || fail "the same seed gave other bytes"
synth /dev/stdout $sizes
cmp -s a.svm out || fail "a device was given other bytes"
synth other.svm $sizes --seed 8
! cmp -s a.svm other.svm || fail "another seed gave the same bytes"

# Signs are those of the labels; everything else is unchanged
synth signs.svm $sizes --signs
awk '{ $1 = ($1 >= 0 ? "+1" : "-1"); print }' a.svm | cmp -s - signs.svm ||
    fail "--signs changed more than the labels"

# Dense: an AR(1) process in each row
synth dense.svm --dense --truth dense.truth --rows 100 --columns 300 \
    --support 10 --correlation 0.6 --snr 9 --seed 3
measure dense.truth dense.svm
near "$(of entries)" 30000 0.002 "entries of a dense design"
near "$(of square)" 1 0.05 "a dense design's mean square"
near "$(of near)" 0.6 0.05 "a dense design's correlation of neighbours"
near "$(of far)" 0.1296 0.25 "a dense design's correlation 4 apart"
near "$(of snr)" 9 1e-4 "a dense design's signal by its noise"

# Uniform values, and uncorrelated columns
synth flat.svm --uniform --truth flat.truth --rows 50 --columns 400 \
    --entries 5 --support 5 --correlation 0
measure flat.truth flat.svm
near "$(of square)" 0.3333 0.1 "the mean square of uniform values"
gives 0 data info flat.svm --format json
awk -v a="$(member out value_min)" -v b="$(member out value_max)" \
    'BEGIN { exit !(a > 0 && b <= 1) }' || fail "uniform values are not"

# Impossible options are reported, and no file is left
refuses 2 'no room for 9 entries' data synth lasso b.svm --rows 8 --entries 9
refuses 2 '--support is 9, but there are 8 columns' \
    data synth lasso b.svm --columns 8 --support 9
refuses 2 'give one of them' data synth lasso b.svm --dense --entries 3
refuses 2 'written plain' data synth lasso b.svm.gz --columns 200
refuses 2 'no/such' data synth lasso no/such/b.svm
refuses 2 'no/such' data synth lasso b.svm --truth no/such/b
[ ! -e b.svm ] && [ ! -e b.svm.gz ] || fail "a refused design left a file"
finish
