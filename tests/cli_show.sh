#!/bin/sh
# strads lasso show, and show of the other linear models: the largest weights
# by name, and all of them as CSV.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

awk 'BEGIN { for (j = 1; j <= 2000; j++) print "word" j }' >words
gives 0 lasso train "$year_train" --lambda-ratio 0.1 --intercept \
    --model m.json --quiet
gives 0 lasso show m.json --names words --top 5 --csv all.csv
same "$(wc -l <out | tr -d ' ')" 7 "lines: head, intercept, five weights"
says out "lasso, 2000 columns" "(intercept)" "word"
awk 'NR > 2 { v = $1 < 0 ? -$1 : $1; if (NR > 3 && v > before) exit 1
              before = v }' out || fail "weights do not fall: $(cat out)"

# The CSV is complete: scores computed from it equal the command's
same "$(head -n 1 all.csv)" "column,name,value" "the CSV's head"
gives 0 lasso predict m.json "$year_test" --quiet
awk -F, 'FNR == NR { if (FNR > 1) w[$1] = $3
                     if ($1 > 0 && FNR > 1 && $2 != "word" $1) exit 1; next }
    { split($0, f, " "); p = w[0]
      for (i = 2; i in f; i++) { split(f[i], e, ":"); p += w[e[1]] * e[2] }
      printf "%.9g\n", p; delete f }' all.csv "$year_test" >weighed ||
    fail "a name is not its column's"
paste out weighed | awk '{ d = $1 - $2; if (d < 0) d = -d
    if (d > 1e-5) { print; exit 1 } }' || fail "the CSV predicts otherwise"

# Names that CSV has to quote
awk 'BEGIN { for (j = 1; j <= 2000; j++) print "a \"b\", " j }' >odd
gives 0 lasso show m.json --names odd --csv odd.csv --top 0
grep -q '^[0-9]*,"a ""b"", [0-9]*",' odd.csv || fail "no quotes: $(cat odd.csv)"

# Other linear models
awk '{ $1 = $1 > 5.3 ? 1 : -1; print }' "$year_train" >signs.svm
gives 0 svm train --no-intercept signs.svm --model s.json --quiet
gives 0 svm show s.json --top 3
says out "svm, 2000 columns"
gives 0 logistic train --no-intercept signs.svm --lambda-ratio 0.3 --model l.json --quiet
gives 0 logistic show l.json --names words --top 3
says out "logistic, 2000 columns" "word"

# With several classes each weight belongs to a label
awk '{ $1 = 10 * (NR % 3) - 10; print }' "$year_train" | head -n 200 >three.svm
gives 0 logistic train three.svm --intercept --lambda-ratio 0.2 \
    --model three.json --quiet
gives 0 logistic show three.json --top 2 --csv three.csv
says out "(intercept)  of label -10" "(intercept)  of label 0" \
    "(intercept)  of label 10"
same "$(head -n 1 three.csv)" "column,name,label,value" "the CSV's head"
same "$(sed -n '2,4p' three.csv | cut -d, -f1-3 | tr '\n' ' ')" \
    "0,(intercept),-10 0,(intercept),0 0,(intercept),10 " "labels"

head -n 5 words >few
refuses 2 "has 5 names for 2000 columns" lasso show m.json --names few
refuses 2 "nowhere" lasso show m.json --csv nowhere/c.csv
refuses 2 "s.json" lasso show s.json
finish
