#!/bin/sh
# strads report: one file with the contents of the log, the model and the
# scores.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

gives 0 logistic train --no-intercept "$party" --model m.json --log run.jsonl
gives 0 logistic predict m.json "$party_test" --format csv
tail -n +2 out >probability
cut -d' ' -f1 "$party_test" | paste -d' ' - probability >scores
gives 0 report run.jsonl --model m.json --scores scores --output long.html
gives 0 report run.jsonl m.json --scores scores -o report.html
cmp -s long.html report.html || fail "a report by short words is another one"
refuses 2 "two models" report run.jsonl m.json --model other.json
refuses 2 "too many" report run.jsonl m.json m.json
refuses 2 "unknown option -n" report run.jsonl -n 2
[ ! -s out ] || fail "something on standard output"
says report.html "<!DOCTYPE html>" "Objective" "Gap" "What each worker did" \
    "Coefficients" "ROC" "Calibration" "<dt>tolerance</dt><dd>1e-06</dd>" "Engine" "worker 0" "</html>"
grep -q -e 'src=' -e 'href=' -e '<script' report.html &&
    fail "the report asks for something else"
python3 -c '
import sys, xml.dom.minidom
page = open("report.html").read()
while "<svg" in page:
    end = page.index("</svg>") + 6
    xml.dom.minidom.parseString(page[page.index("<svg"):end])
    page = page[end:]' || fail "a picture is no XML"

# The area under the curve equals the one of evaluate, computed differently.
gives 0 logistic evaluate m.json "$party_test" --format csv
auc=$(sed -n 's/^auc,[^,]*,\([^,]*\),.*/\1/p' out | head -n 1)
near "$(sed -n 's/.*area under the curve \([0-9.]*\).*/\1/p' report.html)" \
    "$auc" 1e-4 "the area under the curve"
rows=$(wc -l <scores)
same "$(grep -o '[0-9]*</td><td>[0-9]*</td></tr>' report.html | tail -n 1 |
    grep -o '[0-9]*' | head -n 2 | awk '{ n += $1 } END { print n }')" \
    "$(grep -c '^+\{0,1\}1 ' scores)" "positives of the confusion, of $rows rows"

for absent in null false threshold worker_computing cpu_seconds; do
    grep -q "$absent" report.html && fail "the report shows $absent"
done

seq 1 2000 | sed 's/^/word-/' >words
gives 0 report run.jsonl m.json --names words
says out '<th scope="row">word-'
refuses 2 "give one" report run.jsonl --names words
head -n 3 words >few
refuses 2 "few" report run.jsonl m.json --names few

# A log without an end, as of a killed run; and user-supplied text.
head -n 3 run.jsonl | sed 's/"data": "[^"]*"/"data": "<b>\&"/' >cut.jsonl
gives 0 report cut.jsonl
says out "&lt;b&gt;&amp;" "</html>"
grep -q '<b>' out && fail "a name became markup"

# A path, a cross-validation, and an evaluation of a recommender
gives 0 lasso path --no-intercept "$year_train" --points 5 --svg path.svg --log path.jsonl \
    --format csv
gives 0 lasso cv --no-intercept "$year_train" --points 5 --folds 3 --svg cv.svg --format csv
gives 0 report path.jsonl --pictures path.svg,cv.svg --output report.html
pictures=$(grep -o '<svg ' report.html | wc -l)
gives 0 report path.jsonl
same "$pictures" "$(($(grep -o '<svg ' out | wc -l) + 2))" "pictures"
echo '{"rmse": 0.5, "ranking": {"precision": 0.25, "rmse_95": [0.1, 0.2]}}' >e.json
gives 0 report run.jsonl --evaluation e.json
says out "Evaluation" "<h3>ranking</h3>" "<td>0.25</td>" "<td>0.1 to 0.2</td>"

# The prepared data of pyLDAvis: columns of one length, shares that sum to 1, and
# probabilities that are those of --matrix.
pyldavis() {
    printf '%s\n' iron coal steel sea ship sail law court judge >names
    gives 0 lda topics t.json --vocab names --pyldavis vis.json --matrix phi.json
    python3 - <<'PY' || fail "pyLDAvis' data"
import json, math
vis = json.load(open("vis.json"))
info, table = vis["tinfo"], vis["token.table"]
k = len(vis["mdsDat"]["x"])
assert k == 3 and abs(sum(vis["mdsDat"]["Freq"]) - 100) < 1e-9
assert vis["mdsDat"]["Freq"] == sorted(vis["mdsDat"]["Freq"], reverse=True)
assert sorted(vis["topic.order"]) == [1, 2, 3] and vis["R"] == 30
assert len({len(column) for column in info.values()}) == 1
assert len({len(column) for column in table.values()}) == 1
share = {}
for term, freq in zip(table["Term"], table["Freq"]):
    share[term] = share.get(term, 0) + freq
assert len(share) == 9 and all(abs(s - 1) < 1e-9 for s in share.values())
names = open("names").read().split()
phi = [json.loads(line)["probabilities"] for line in open("phi.json")]
rows = list(zip(*(info[c] for c in ("Term", "Freq", "Total", "Category",
                                    "logprob", "loglift"))))
for term, freq, total, category, logprob, loglift in rows:
    if category == "Default":
        assert freq == total
        continue
    topic = vis["topic.order"][int(category[5:]) - 1] - 1
    p = phi[topic][names.index(term)]
    assert abs(logprob - math.log(p)) < 1e-7
    assert abs(loglift - math.log(p / (total / 20))) < 1e-7
first = [r[0] for r in rows if r[3] == "Default"]
assert sorted(first) == sorted(names), first
PY
}

# Topics: the map is the classical scaling of the divergences of all words,
# recomputed here, up to rotation and reflection.
printf '%s\n' iron coal steel sea ship sail law court '</script>' >words
printf '5\n9\n14\n1 1 2\n1 2 1\n1 3 1\n2 1 1\n2 2 2\n3 4 3\n3 5 1\n4 5 2\n4 6 1\n4 9 1\n5 7 2\n5 8 1\n5 9 1\n2 9 1\n' >texts
gives 0 lda train texts --vocab words --topics 3 --sweeps 30 --model t.json --log t.jsonl
pyldavis
gives 0 report t.jsonl --model t.json --output topics.html
same "$(grep -c '</script>' topics.html)" 2 "scripts that end"
python3 - <<'PY' || fail "the map of the topics"
import itertools, json, math, re
page = open("topics.html").read()
data = json.loads(re.search(r'id="topic-data">(.*?)</script>', page, re.S)[1])
rows = data["topics"]
assert abs(sum(t[1] for t in rows) - 20) < 1e-9 and data["tokens"] == 20
assert sorted(t[0] for t in rows) == [0, 1, 2]
count = {}
for name, tokens, *pairs in data["words"]:
    of = dict(zip(pairs[::2], pairs[1::2]))
    assert abs(sum(of.values()) - tokens) < 1e-9, name
    count[name] = of
assert "</script>" in count and len(count) == data["vocabulary"]
phi = [[(of.get(k, 0) + data["beta"]) / (t[1] + data["vocabulary"] * data["beta"])
        for of in count.values()] for k, t in enumerate(rows)]
h = lambda p: -sum(v * math.log(v) for v in p)
for a, b in itertools.combinations(range(3), 2):
    d = h([(x + y) / 2 for x, y in zip(phi[a], phi[b])]) - (h(phi[a]) + h(phi[b])) / 2
    # two dimensions preserve all distances of three points, the square roots
    # of D
    near = (rows[a][2] - rows[b][2]) ** 2 + (rows[a][3] - rows[b][3]) ** 2
    assert abs(near - d) < 1e-12, (near, d)
PY

# The report of a topic model draws its likelihood once.
says topics.html "<h2>Topics</h2>"
grep -q "log likelihood</text>" topics.html && fail "the likelihood is drawn twice"

# Invalid input
echo "<svg onload='x'><script>" >bad.svg
refuses 2 "expected a picture as --svg writes it" report run.jsonl --pictures bad.svg
echo '[1]' >bad.json
refuses 2 "expected one object" report run.jsonl --evaluation bad.json
echo '{"a": 1}' >bad
refuses 2 "line 1 is not a line of a log" report bad
: >empty
refuses 2 'has no "start"' report empty
refuses 2 "cannot be read" report none
echo "1 2" >bad
refuses 2 "expected a label" report run.jsonl --scores bad
echo "1 0.5" >bad
refuses 2 "rows of both classes" report run.jsonl --scores bad
finish
