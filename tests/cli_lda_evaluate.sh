#!/bin/sh
# strads lda evaluate from the command line, and the output of infer and
# topics.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# value NAME MEMBER: reads it from the line of that measure in out.
value() {
    grep "\"measure\": \"$1\"" out |
        sed -n "s/.*\"$2\": \([-0-9.e+]*\).*/\1/p"
}

# Held-out speeches: every fourth document.
counts=$STRADS_SOURCE/data/docword.sotu-tiny.txt
vocab=$STRADS_SOURCE/data/vocab.sotu-tiny-bow.txt
for part in train test; do
    awk -v part=$part 'NR == 1 { documents = $1 } NR == 2 { words = $1 }
    NR > 3 && (part == "train") == ($1 % 4 > 0) {
        d = part == "test" ? $1 / 4 : $1 - int($1 / 4)
        lines[++n] = d " " $2 " " $3 }
    END { print part == "test" ? documents / 4 : documents * 3 / 4
        print words; print n
        for (i = 1; i <= n; i++) print lines[i] }' "$counts" >$part.txt
done
gives 0 lda train train.txt --topics 10 --sweeps 60 --evaluate 60 --seed 1 \
    --partitions 2 --model good.json --vocab "$vocab" --quiet \
    --assignments good.topics
gives 0 lda train train.txt --topics 10 --sweeps 1 --seed 1 --partitions 2 \
    --model poor.json --vocab "$vocab" --quiet

# More sweeps predict better and give more coherent topics.
few="--sweeps 20 --burn-in 5"
gives 0 lda evaluate poor.json test.txt $few --format json --particles 2
poor=$(value completion perplexity)
poor_right=$(value left_to_right perplexity)
gives 0 lda evaluate good.json test.txt $few --format json --particles 2 \
    --assignments good.topics
[ "$(grep -c '"topic"' out)" -eq 10 ] || fail "a line a topic is expected"
same "$(value documents tokens)" "$(awk 'NR > 3 { n += $3 } END { print n }' \
    test.txt)" "tokens"
same "$(value left_to_right tokens)" "$(value documents tokens)" "scored tokens"
near "$(value assignments log_likelihood)" \
    "$(member good.json log-likelihood)" 1e-9 "likelihoods"
awk -v good="$(value completion perplexity)" -v poor="$poor" \
    -v right="$(value left_to_right perplexity)" \
    -v poor_right="$poor_right" 'BEGIN {
    if (!(good > 100 && good < poor && poor < 2000)) exit 1
    if (!(right > 100 && right < poor_right && poor_right < 2000)) exit 1 }' ||
    fail "the better model is not better: $(cat out)"
gives 0 lda evaluate good.json test.txt $few
says out completion "UMass" "NPMI" "documents as windows" perplexity
gives 0 lda evaluate good.json test.txt $few --format json
cp out once
gives 0 lda evaluate good.json test.txt $few --format json
cmp -s once out || fail "the same seed gives other figures"

gives 0 lda evaluate poor.json train.txt --sweeps 1 --burn-in 0 --format json
poor=$(value coherence npmi)
gives 0 lda evaluate good.json train.txt --sweeps 1 --burn-in 0 --format json
awk -v good="$(value coherence npmi)" -v poor="$poor" \
    'BEGIN { exit !(good > poor && good < 1 && poor > -1) }' ||
    fail "coherence in the corpus itself: poor is $poor: $(cat out)"

# A document has the same shares alone, in a batch, and in another order.
gives 0 lda infer good.json test.txt $few --output all.csv
head -20 all.csv >twenty.csv
: >alone.csv
for d in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    awk -v d=$d 'NR > 3 && $1 == d { line[++n] = "1 " $2 " " $3 }
        END { print 1; print 2000; print n + 0
            for (i = 1; i <= n; i++) print line[i] }' test.txt >one.txt
    gives 0 lda infer good.json one.txt $few
    cat out >>alone.csv
done
cmp -s alone.csv twenty.csv || fail "documents alone have other shares"
awk 'NR <= 3 { print; next }
    { print 341 - $1, $2, $3 | "sort -k2,2n -k1,1n" }' test.txt >turned.txt
gives 0 lda infer good.json turned.txt $few
tac out | cmp -s - all.csv || fail "another order gives other shares"

# The formats of infer have the same figures.
seq 340 | sed 's/.*/speech "&"/' >names.txt
gives 0 lda infer good.json test.txt $few --documents names.txt
head -1 out | grep -q '^"speech ""1""",0\.' || fail "a name: $(head -1 out)"
sed 's/^"[^,]*",//' out | cmp -s - all.csv || fail "shares behind names differ"
gives 0 lda infer good.json test.txt $few --documents names.txt --format json
sed 's/.*\[//; s/\]}//; s/, /,/g' out | cmp -s - all.csv ||
    fail "JSON has other shares"
says out '{"document": "speech \"340\"", "topics": ['
gives 0 lda infer good.json test.txt $few --format npy --output all.npy
same "$(wc -c <all.npy)" $((128 + 340 * 10 * 8)) "bytes of shares"
head -c 128 all.npy | grep -aq "'<f8'.*(340, 10)" || fail "the array's header"
tail -c +129 all.npy | od -An -v -t f8 -w80 |
    awk '{ for (k = 1; k <= 10; k++)
        printf "%s%.9g", (k > 1 ? "," : ""), $k; print "" }' |
    cmp -s - all.csv || fail "NPY has other shares"

# The matrix of probabilities, in three formats; each topic sums to 1.
gives 0 lda topics good.json --matrix phi.npy
gives 0 lda topics good.json --matrix phi.csv
gives 0 lda topics good.json --matrix phi.json --words 1 --format csv
same "$(head -1 phi.csv)" "topic,$(paste -sd, "$vocab")" "the line of words"
head -c 128 phi.npy | grep -aq "'<f8'.*(10, 2000)" || fail "the matrix's header"
tail -n +2 phi.csv | cut -d, -f2- >figures
tail -c +129 phi.npy | od -An -v -t f8 -w16000 |
    awk '{ for (k = 1; k <= NF; k++)
        printf "%s%.9g", (k > 1 ? "," : ""), $k; print "" }' |
    cmp -s - figures || fail "NPY and CSV differ"
sed 's/.*\[//; s/\]}//; s/, /,/g' phi.json | cmp -s - figures ||
    fail "JSON and CSV differ"
awk -F, '{ s = 0; for (k = 1; k <= NF; k++) s += $k
    if (NF != 2000 || s < 0.99999 || s > 1.00001) exit 1 }' figures ||
    fail "a topic's probabilities do not sum up to 1"
# The top word of each topic is where its probability is the largest.
awk -F, '{ best = 1; for (k = 2; k <= NF; k++) if ($k > $best) best = k
    print best - 1 }' figures >best
tail -n +2 out | cut -d, -f3 | cmp -s - best ||
    fail "other top words: $(cat out)"

# Documents without a known word have no score, reported as missing, never as
# NaN.
printf '1\n2000\n0\n' >none.txt
gives 0 lda evaluate good.json none.txt
says out "completion     not to be had: there are no tokens" "UMass -, NPMI -:"
! grep -qi nan out || fail "no tokens: $(cat out)"
gives 0 lda evaluate good.json none.txt --format json
says out '"umass": null, "npmi": null'

# Errors are reported.
refuses 2 "expected fewer" lda evaluate good.json test.txt --burn-in 50
refuses 2 "expected a name that ends with" \
    lda topics good.json --matrix phi.mat
refuses 2 "has 2000 names, there are 340 documents" \
    lda infer good.json test.txt --documents "$vocab"
refuses 2 "no-such" lda infer good.json test.txt --output no-such/x.csv
printf '2 0:1\n' >bad.topics
gives 2 lda evaluate good.json test.txt $few --assignments bad.topics
says err "bad.topics: line 1: found"

# Coherence in windows of a reference text: one that has the topics' own words
# together is more coherent than one that has them apart.
gives 0 lda topics good.json --words 10
cut -c14- out >together.txt
tr ' ' '\n' <together.txt | grep . >apart.txt
gives 0 lda evaluate good.json test.txt $few --reference together.txt
says out "reference      NPMI" "ref.C_V"
gives 0 lda evaluate good.json test.txt $few --reference together.txt \
    --format json
same "$(value reference documents)" 10 "documents of the reference"
same "$(grep -c '"reference_c_v": [-0-9]' out)" 10 "topics with C_V"
together=$(value reference c_v)
gives 0 lda evaluate good.json test.txt $few --reference apart.txt \
    --format json
awk -v a="$together" -v b="$(value reference c_v)" 'BEGIN { exit !(a > b) }' ||
    fail "C_V: $together together, $(value reference c_v) apart"
refuses 2 "train.txt: has counts of words, expected a text" \
    lda evaluate good.json test.txt $few --reference train.txt
finish
