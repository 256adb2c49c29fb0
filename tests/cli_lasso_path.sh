#!/bin/sh
# strads lasso path on a century of speeches: its table, its coefficients,
# recomputed by awk, its plot, and refused options.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
. "$STRADS_SOURCE/tests/cli_paths.shlib"

awk 'BEGIN { for (j = 1; j <= 2000; j++) print "word" j }' >words
gives 0 lasso path --no-intercept "$year_train" --points 12 --ratio 0.05 --output t.csv \
    --coefficients c.csv --svg p.svg --names words --model last.json
[ ! -s out ] || fail "--output left something on standard output"
same "$(head -n 1 t.csv)" "lambda,nonzeros,objective,gap,seconds,deviance" \
    "its head"
same "$(wc -l <t.csv | tr -d ' ')" 13 "lines of the table"
awk -F, 'NR > 1 {
    if (NR > 2 && !($1 < lambda && $5 >= seconds)) exit 1
    if (!($4 >= 0 && $4 <= 1e-6)) exit 1
    lambda = $1; seconds = $5 }' t.csv || fail "the table: $(cat t.csv)"

# Objective and nonzeros of each point, from its coefficients
awk -F, 'FNR == NR { if (FNR > 1) { w[$1, $2] = $4; sum[$1] += $4 < 0 ? -$4 : $4
                         n[$1] += $2 > 0 && $4 != 0
                         if ($2 > 0 && $3 != "word" $2) bad = 1 }; next }
    FILENAME == "t.csv" { if (FNR > 1) { at[++points] = $1; has[points] = $2
                              tells[points] = $3; deviates[points] = $6 }
                          next }
    { rows++
      fields = split($0, f, " ")
      for (k = 1; k <= points; k++) {
          p = 0
          for (i = 2; i <= fields; i++) { split(f[i], e, ":")
              if ((at[k], e[1]) in w) p += w[at[k], e[1]] * e[2] }
          squares[k] += (f[1] - p) ^ 2 } }
    END {
      for (k = 1; k <= points; k++) {
          v = squares[k] / (2 * rows) + at[k] * sum[at[k]]
          off = squares[k] - deviates[k]; if (off < 0) off = -off
          if (off > 1e-9 * squares[k]) bad = 1
          d = v - tells[k]; if (d < 0) d = -d
          if (d > 1e-9 * v || n[at[k]] != has[k]) bad = 1 }
      exit bad || points != 12 }' c.csv t.csv "$year_train" ||
    fail "coefficients and table contradict each other"

# The last point is the model, and the fit at its lambda
last=$(tail -n 1 t.csv)
gives 0 lasso train --no-intercept "$year_train" --lambda "${last%%,*}" --model one.json
near "$(member last.json objective)" "$(member one.json objective)" 2e-6 \
    "the last point"
gives 0 lasso predict last.json "$year_test"
same "$(wc -l <out | tr -d ' ')" 373 "predictions by the last point"
says p.svg '<svg xmlns=' '</svg>' 'lambda' 'word'

the_same_everywhere lasso "$year_train"

# JSON lines, on standard output, by the old option name
gives 0 lasso path --no-intercept "$year_train" --points 3 --json --quiet
same "$(wc -l <out | tr -d ' ')" 3 "lines of JSON"
same "$(grep -c '^{"lambda": .*"nonzeros": .*"gap": .*"seconds": .*}$' out)" 3 \
    "whole lines of JSON"

# A bound: the points so far
gives 3 lasso path --no-intercept "$year_train" --points 50 --max-rounds 40 --quiet
[ "$(wc -l <out)" -lt 51 ] || fail "the bound came too late for the test"

# An early end: the same table, as far as it goes
gives 0 lasso path "$year_train" --points 30 --quiet --output whole.csv
gives 0 lasso path "$year_train" --points 30 --quiet --output part.csv \
    --most-explained 0.3
n=$(wc -l <part.csv)
[ "$n" -gt 5 ] && [ "$n" -lt 31 ] || fail "$n lines of an early end"
same "$(head -n "$n" whole.csv | cut -d, -f1-4)" \
    "$(cut -d, -f1-4 part.csv)" "the points before an early end"
refuses 2 "most-explained" lasso path "$year_train" --most-explained 2
refuses 2 "has no early end" lasso path "$year_train" --cut columns \
    --no-intercept --quiet --most-explained 0.5

# Invalid options
head -n 5 words >few
refuses 2 "has 5 names for 2000 columns" lasso path "$year_train" --names few
refuses 2 "nowhere" lasso path "$year_train" --svg nowhere/p.svg
refuses 2 "ratio" lasso path "$year_train" --ratio 2
refuses 2 "lambda" lasso path "$year_train" --lambda 0.1
finish
