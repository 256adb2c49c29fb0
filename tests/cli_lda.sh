#!/bin/sh
# strads lda train from the command line: in one process and in three.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

corpus=$STRADS_SOURCE/data/docword.sotu-tiny.txt

# One process: the log is complete, and files agree with each other.
common="--sweeps 4 --partitions 3 --seed 7"
for topics in 20 150; do
    gives 0 lda train "$corpus" $common --topics $topics --model one.json \
        --log one.jsonl --assignments one.txt
    says err "the model is in one.json"
    same "$(grep -c '"event": "round"' one.jsonl)" 4 "reports"
    same "$(grep '"event": "topics"' one.jsonl | grep -o '"topic": ' | wc -l)" \
        $topics "topics in the log"
    grep '"event": "round"' one.jsonl | tail -1 >last
    for name in sweep seconds cpu_seconds log_likelihood \
        log_likelihood_per_token tokens_per_second; do
        grep -q "\"$name\": [-0-9]" last || fail "the log has no $name"
    done
    same "$(grep -o '"seconds"' last | wc -l)" 1 "times in a line"
    same "$(member last sweep)" 4 "the last sweep"
    near "$(member last log_likelihood)" "$(member one.json log-likelihood)" \
        1e-12 "the likelihood of log and model"
    same "$(wc -l <one.txt)" "$(sed -n 1p "$corpus")" "lines of assignments"
    same "$(member one.json tokens)" \
        "$(awk '{ n += $1 } END { print n }' one.txt)" "tokens"
    same "$(awk 'NR > 3 { n += $3 } END { print n }' "$corpus")" \
        "$(member one.json tokens)" "tokens of the corpus"

    # Three processes: the same topics.
    start first lda train "$corpus" $common --topics $topics --workers 1 \
        --nodes 3 --listen tcp://127.0.0.1:0 --assignments three.txt \
        --model three.json
    first=$child
    url=$(url_of first)
    start second join "$url" --workers 1
    second=$child
    start third join "$url" --workers 1
    third=$child
    ends first "$first" 0
    ends second "$second" 0
    ends third "$third" 0
    cmp -s one.txt three.txt || fail "$topics topics: other assignments"
    cmp -s one.json.npy three.json.npy || fail "$topics topics: other counts"
done

# With the smallest beta, rounding errors dominate the sums of the topics'
# weights: every token still gets a topic, the same one by all kernels.
{
    printf '20\n1\n20\n'
    seq 20 | sed 's/$/ 1 3000/'
} >one-word.txt
for data in "$corpus" one-word.txt; do
    small="lda train $data --topics 150 --beta 1e-9 --partitions 3 --sweeps 1"
    gives 0 $small --assignments fast.txt --quiet
    STRADS_KERNELS=portable gives 0 $small --assignments slow.txt --quiet
    cmp -s fast.txt slow.txt || fail "$data: kernels draw other topics"
done

# A learned prior stays within the limits of a model.
printf '2\n40\n2\n1 2 1\n2 2 1\n' >few.txt
for how in symmetric asymmetric; do
    gives 0 lda train few.txt --topics 3 --alpha 1e6 --beta 1e6 --sweeps 5 \
        --burn-in 1 --fit-alpha $how --fit-beta --model few.json --quiet
    gives 0 lda topics few.json
done

# The log has the topics while they form, in lines of bounded size; it does not
# change the model. Words are those of the vocabulary, or the beginning of a long
# one. A run with a bound on its rounds has no such lines.
awk 'NR % 7 { print; next } { w = $0; while (length(w) < 200) w = w "\303\244" w; print w }' \
    "$STRADS_SOURCE/data/vocab.sotu-tiny-bow.txt" >vocab
for topics in 5 150; do
    form="lda train $corpus --vocab vocab --partitions 3 --sweeps 21 --seed 2 --topics $topics"
    gives 0 $form --model unheard.json --quiet
    gives 0 $form --model heard.json --log heard.jsonl --quiet
    cmp -s unheard.json heard.json && cmp -s unheard.json.npy heard.json.npy ||
        fail "$topics topics: a log changes the model"
    python3 - $topics <<'PY' || fail "$topics topics while they form"
import json, sys
most = int(sys.argv[1])
names = {w.rstrip("\n") for w in open("vocab", encoding="utf-8")}
cut = {w.encode()[:64].decode(errors="ignore") for w in names}
lines = [l for l in open("heard.jsonl", encoding="utf-8") if '"event": "topics"' in l]
*form, end = map(json.loads, lines)
assert [f["sweep"] for f in form] == [10, 20] and "sweep" not in end
for f, line in zip(form, lines):
    assert len(line.encode()) < 20 * (8 * 70 + 200) and f["of"] == most
    weight = [t["weight"] for t in f["topics"]]
    assert len(weight) == min(20, most) and weight == sorted(weight, reverse=True)
    assert sum(weight) < 1 + 1e-9 and (most > 20 or sum(weight) > 1 - 1e-9)
    assert len({t["topic"] for t in f["topics"]}) == len(weight)
    for t in f["topics"]:
        assert len(set(t["words"])) == 8 and cut.issuperset(t["words"]), t
assert len(end["topics"]) == most
PY
done
gives 0 $form --max-rounds 30 --log bound.jsonl --quiet
grep -q '"event": "topics"' bound.jsonl && fail "rounds of a run with a bound"

# Two processes: the same lines as one.
start first $form --workers 1 --nodes 2 --listen tcp://127.0.0.1:0 \
    --model two.json --log two.jsonl
first=$child
start second join "$(url_of first)" --workers 1
second=$child
ends first "$first" 0
ends second "$second" 0
cmp -s two.json.npy heard.json.npy || fail "two processes: another model"
for run in heard two; do
    grep '"event": "topics"' $run.jsonl | sed 's/, "schema".*//' >$run.topics
done
cmp -s heard.topics two.topics || fail "two processes: other topics on the way"

# A report does not change the draws.
for partitions in 1 3; do
    for every in 1 2 5; do
        gives 0 lda train "$corpus" --topics 20 --sweeps 5 --quiet \
            --partitions $partitions --evaluate $every \
            --assignments "every$every.txt"
        cmp -s every1.txt "every$every.txt" ||
            fail "$partitions partitions: reports change the topics"
    done
done

# Topics: the right number of lines, by name, and probabilities that sum to at
# most 1.
vocab=$STRADS_SOURCE/data/vocab.sotu-tiny-bow.txt
gives 0 lda train "$corpus" --topics 12 --sweeps 60 --evaluate 60 --seed 1 \
    --partitions 2 --model m.json --quiet
gives 0 lda topics m.json --vocab "$vocab"
same "$(wc -l <out)" 12 "lines of topics"
# A word of a topic that is plausible for these speeches.
says out soviet health
gives 0 lda topics m.json --vocab "$vocab" --words 2000 --format csv
tail -n +2 out | awk -F, '{
    if ($1 != topic) { topic = $1; last = 1; sum[topic] = 0 }
    if ($5 > last) { print "a score out of its order in line " NR; exit 1 }
    last = $5; sum[topic] += exp($5)
} END { for (k in sum) if (!(sum[k] > 0.9 && sum[k] <= 1.000001)) {
    print "topic " k " sums to " sum[k]; exit 1 } }' >sums ||
    fail "probabilities: $(cat sums)"
gives 0 lda topics m.json --format json --relevance 0.3 --output topics.jsonl
same "$(grep -c '"scores"' topics.jsonl)" 12 "lines of JSON"
# By FREX as well, and with the documents that have most of each topic.
gives 0 lda topics m.json --vocab "$vocab" --details --documents "$corpus"
same "$(grep -c 'by FREX: [a-z]' out)" 12 "lines of words by FREX"
same "$(grep -c 'exclusivity 0[.].*; documents [0-9]* ([0-9]* %), ' out)" 12 \
    "lines of documents"
gives 0 lda topics m.json --documents "$corpus" --format json --seed 3 \
    --output documents.json
gives 0 lda infer m.json "$corpus" --seed 3 --output shares.csv
grep '^{"topic": 5,' documents.json |
    sed 's/.*"documents": \[{"document": \([0-9]*\), "share": \([0-9.]*\)}.*/\1 \2/' \
        >typical
awk -F, '$6 > best { best = $6; at = NR - 1 } END { print at, best }' \
    shares.csv >best
same "$(cut -d' ' -f1 typical)" "$(cut -d' ' -f1 best)" "the typical document"
near "$(cut -d' ' -f2 typical)" "$(cut -d' ' -f2 best)" 1e-8 "its share"
# Shares by period: means of the documents' shares, weighted by their tokens.
awk 'NR > 3 { n[$1] += $3 } NR == 1 { d = $1 }
    END { for (i = 1; i <= d; i++) print n[i] + 0 }' "$corpus" >sizes
seq "$(wc -l <sizes)" | awk '{ print 1900 + 20 * ($1 % 3) }' >periods
gives 0 lda topics m.json --documents "$corpus" --seed 3 --time periods \
    --format csv
same "$(head -1 out | cut -d, -f1-4)" period,documents,tokens,topic_0 "a header"
same "$(cut -d, -f1 out | tr '\n' ' ')" "period 1900 1920 1940 " "periods"
paste -d, periods sizes shares.csv | awk -F, '$1 == 1920 {
    all += $2; sum += $2 * $8 } END { print sum / all }' >share
near "$(sed -n 3p out | cut -d, -f9)" "$(cat share)" 1e-4 "a share of a period"
head -5 periods >few.periods
refuses 2 "few.periods" lda topics m.json --documents "$corpus" \
    --time few.periods
refuses 2 "--time is of documents" lda topics m.json --time periods
refuses 2 "--text-column is of documents: add --documents DATA" \
    lda topics m.json --text-column body
# Topics that share their words are named.
printf '1\n4\n4\n1 1 1000\n1 2 1000\n1 3 1000\n1 4 1000\n' >even.txt
gives 0 lda train even.txt --topics 2 --alpha 9 --beta 100 --sweeps 1 --seed 1 \
    --partitions 1 --model same.json --quiet
gives 0 lda topics same.json --words 4
says err "topics 0 and 1 share 4 of 4 words"
gives 0 lda topics same.json --words 4 --format json
says out '"similar": [{"topic": 1, "common": 4, "of": 4}]'
head -3 "$vocab" >three.txt
refuses 2 "three.txt: has 3 names, the model has 2000 words" \
    lda topics m.json --vocab three.txt
printf '{"format": "strads-model"}' >other.json
refuses 2 "is no topic model" lda topics other.json
cp one.json.npy m.json.npy
refuses 2 "m.json.npy" lda topics m.json
printf 'nonsense' >m.json.npy
refuses 2 "m.json.npy: has no counts" lda topics m.json

# Without options the run ends when the likelihood is flat, with learned priors
# and a model that is a mean, on any number of processes and after a resume.
ends_flat="lda train $corpus --topics 5 --partitions 2 --seed 2"
gives 0 $ends_flat --model flat.json --log flat.jsonl --checkpoint kept \
    --checkpoint-every 0.2
says err "sweeps: the likelihood of the training data is flat" \
    "the model is the mean of 10 of them"
same "$(member flat.json samples)" 10 "samples"
grep '"event": "round"' flat.jsonl >rounds
same "$(head -20 rounds | grep -o '"beta": [^,}]*' | sort -u | wc -l)" 2 \
    "priors of the first twenty sweeps and of the next one"
member flat.json beta | awk '{ exit !($1 > 0 && $1 != 0.01) }' ||
    fail "beta was not learned"
awk '{ n = $1 } END { exit !(n > 60 && n < 1000) }' \
    <<end || fail "$(tail -1 rounds)"
$(grep -o '"sweep": [0-9]*' rounds | tail -1 | tr -dc 0-9)
end
sweeps=$(grep -o '"sweep": [0-9]*' rounds | tail -1 | tr -dc 0-9)
for stop in 70 $((sweeps - 7)); do
    rm -rf parts
    gives 0 $ends_flat --checkpoint parts --max-rounds $((2 * stop)) --quiet
    gives 0 $ends_flat --resume parts --model again.json --quiet
    cmp -s flat.json.npy again.json.npy || fail "resumed at $stop: other bits"
done
start first $ends_flat --workers 1 --nodes 2 --listen tcp://127.0.0.1:0 \
    --model again.json
first=$child
start second join "$(url_of first)" --workers 1
second=$child
ends first "$first" 0
ends second "$second" 0
cmp -s flat.json.npy again.json.npy || fail "two processes: other bits"
gives 0 $ends_flat --alpha 0.2 --beta 0.03 --sweeps 30 --model fixed.json --quiet
near "$(member fixed.json beta)" 0.03 1e-12 "a fixed beta"

# docs/lda.md shows the topics that its commands print.
shown() { grep -E '^ +[0-9]+ +[0-9]+[.][0-9] % [a-z]+ ' "$1" | sed 's/^ *//'; }
gives 0 lda train "$corpus" --vocab "$vocab" --topics auto --partitions 2 \
    --model topics.json --quiet
gives 0 lda topics topics.json
shown out | head -n 7 >printed
shown "$STRADS_SOURCE/docs/lda.md" | cmp -s - printed ||
    fail "docs/lda.md shows other topics than $(cat out)"

# New documents: the same shares together with any other documents; shares sum
# to 1.
printf '2\n2\n2\n1 1 3\n2 2 3\n' >two.txt
gives 0 lda train two.txt --topics 2 --sweeps 30 --model pair.json --quiet
gives 0 lda infer pair.json two.txt --output both.csv
printf '2\n3\n2\n2 2 3\n2 3 5\n' >second.txt
gives 0 lda infer pair.json second.txt --output second.csv
same "$(sed -n 2p second.csv)" "$(sed -n 2p both.csv)" "shares in company"
same "$(sed -n 1p second.csv)" "0.5,0.5" "an empty document"
awk -F, '{ if ($1 + $2 < 0.999999 || $1 + $2 > 1.000001) exit 1 }
    NR == 1 { first = $1 > 0.5 } NR == 2 { if (($1 > 0.5) == first) exit 1 }
    ' both.csv || fail "two documents of two topics: $(cat both.csv)"
refuses 2 "expected fewer" lda infer pair.json two.txt --burn-in 50

# Errors are reported before the run.
refuses 2 "expected" lda train "$corpus" --topics 1
refuses 2 "expected" lda train "$corpus" --topics 65536
refuses 2 "expected" lda train "$corpus" --alpha -1
refuses 2 "no-such" lda train no-such
refuses 2 "no-such" lda train "$corpus" --assignments no-such/folder.txt

# Empty documents, and one that is too long.
printf '3\n2\n1\n2 1 3\n' >empty.txt
gives 0 lda train empty.txt --topics 2 --sweeps 2 --assignments empty.out \
    --workers 2

# Files or links planted at the names of unfinished files stay unchanged, and
# so do the links' targets. (exec keeps the shell's process number.)
echo precious >precious
for name in model.json model.json.npy given.txt; do
    ln -s precious "$name.part"
done
gives 0 lda train two.txt --topics 2 --sweeps 2 --model model.json \
    --assignments given.txt --quiet
same "$(cat precious)" "precious" "a link named .part"
for name in model.json.npy model.json given.txt; do
    code=0
    sh -c 'ln -s precious "$1.$$.part"; shift; exec "$@"' sh "$name" \
        "$STRADS_BIN" lda train two.txt --topics 2 --sweeps 2 --seed 7 \
        --model model.json --assignments given.txt --quiet 2>err || code=$?
    same "$code" 1 "$name: the exit code where a link is planted"
    says err "File exists"
    same "$(cat precious)" "precious" "a link named .NUMBER.part"
    rm -f "$name".*.part
done
gives 0 lda infer model.json two.txt --output both.csv
same "$(cut -d' ' -f1 empty.out | tr '\n' ' ')" "0 3 0 " "empty documents"

# A document of any length is one document, in the model and in the assignments.
for first in 65534 65535 131069 140000; do
    printf "3\n3\n5\n1 1 2\n2 1 $first\n2 2 1\n2 3 $first\n3 3 1\n" >long.txt
    for topics in 2 200; do
        gives 0 lda train long.txt --topics $topics --sweeps 3 --quiet \
            --partitions 1 --assignments long.out --model long.json
        same "$(cut -d' ' -f1 long.out | tr '\n' ' ')" \
            "2 $((2 * first + 1)) 1 " "lengths of documents"
        same "$(sed -n 2p long.out | tr ' ' '\n' | grep -c '^0:')" $first \
            "tokens of the first word"
        same "$(member long.json documents)" 3 "documents"
        gives 0 lda evaluate long.json long.txt --assignments long.out \
            --sweeps 2 --burn-in 1 --format json
    done
done
printf 'a\nb\na\n' >long.labels
refuses 2 "document 2 has 280001 tokens, at most 65535 are possible with" \
    lda train long.txt --labels long.labels --topics 2 --quiet

# The number of topics by held-out halves: more than 10 for these speeches, and
# the same number again.
gives 0 lda train "$corpus" --topics auto --sweeps 40 --seed 1 --model auto.json \
    --log auto.jsonl
says err "chosen: " " topics, for a perplexity of " "the best of "
topics=$(member auto.json topics)
grep '"event": "trial"' auto.jsonl | grep '"chosen": true' >best
same "$(member best topics)" "$topics" "topics of the best trial"
grep '"event": "trial"' auto.jsonl | sed 's/.*"perplexity": \([0-9.]*\).*/\1/' |
    sort -n | head -1 >least
awk -v least="$(cat least)" -v best="$(member best perplexity)" \
    'BEGIN { exit !(best < 1.02 * least) }' || fail "$(cat best) is not the best"
refuses 2 "--topics auto is without --from, --labels and --seed-words" \
    lda train "$corpus" --topics auto --from auto.json
printf '1\n4\n1\n1 1 3\n' >single.txt
refuses 2 "too few documents to choose by" lda train single.txt --topics auto
finish
