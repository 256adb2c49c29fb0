#!/bin/sh
# strads report: one file, with what the log, the model and the scores say.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

gives 0 logistic train "$party" --model m.json --log run.jsonl
gives 0 logistic predict m.json "$party_test" --format csv
tail -n +2 out >probability
cut -d' ' -f1 "$party_test" | paste -d' ' - probability >scores
gives 0 report run.jsonl --model m.json --scores scores --output report.html
[ ! -s out ] || fail "something on standard output"
says report.html "<!DOCTYPE html>" "Objective" "Gap" "What each worker did" \
    "Coefficients" "ROC" "Calibration" "&quot;tolerance&quot;: 1e-6" "</html>"
grep -q -e 'src=' -e 'href=' -e '<script' report.html &&
    fail "the report asks for something else"
python3 -c '
import sys, xml.dom.minidom
page = open("report.html").read()
while "<svg" in page:
    end = page.index("</svg>") + 6
    xml.dom.minidom.parseString(page[page.index("<svg"):end])
    page = page[end:]' || fail "a picture is no XML"

# The area under the curve is what evaluate says, by another way.
gives 0 logistic evaluate m.json "$party_test" --format csv
auc=$(sed -n 's/^auc,[^,]*,\([^,]*\),.*/\1/p' out | head -n 1)
near "$(sed -n 's/.*area under the curve \([0-9.]*\).*/\1/p' report.html)" \
    "$auc" 1e-4 "the area under the curve"
rows=$(wc -l <scores)
same "$(grep -o '[0-9]*</td><td>[0-9]*</td></tr>' report.html | tail -n 1 |
    grep -o '[0-9]*' | head -n 2 | awk '{ n += $1 } END { print n }')" \
    "$(grep -c '^+\{0,1\}1 ' scores)" "positives of the confusion, of $rows rows"

# A log without its end, as of a run that was killed; and text of users.
head -n 3 run.jsonl | sed 's/"data": "[^"]*"/"data": "<b>\&"/' >cut.jsonl
gives 0 report cut.jsonl
says out "&lt;b&gt;&amp;" "</html>"
grep -q '<b>' out && fail "a name became markup"

# What is wrong
echo '{"a": 1}' >bad
refuses 2 "line 1 is no line of a log" report bad
: >empty
refuses 2 'has no "start"' report empty
refuses 2 "cannot be read" report none
echo "1 2" >bad
refuses 2 "expected a label" report run.jsonl --scores bad
echo "1 0.5" >bad
refuses 2 "rows of both classes" report run.jsonl --scores bad
finish
