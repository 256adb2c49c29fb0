#!/bin/sh
# strads lda train --from: new documents added to a topic model.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

counts=$STRADS_SOURCE/data/docword.sotu-tiny.txt
vocab=$STRADS_SOURCE/data/vocab.sotu-tiny-bow.txt

# Splits the speeches: a few for the old model, most are new, some held out;
# also as text. Words are the corpus's.
awk 'FNR == NR { name[FNR] = $1; next }
FNR == 1 { documents = $1 } FNR == 2 { words = $1 }
FNR > 3 {
    part = $1 % 8 == 0 ? "test" : $1 % 8 == 1 ? "old" : "new"
    if (!(part SUBSEP $1 in seen)) { seen[part, $1] = ++n[part] }
    line[part, ++m[part]] = seen[part, $1] " " $2 " " $3
    for (k = 0; k < $3; k++)
        text[part, n[part]] = text[part, n[part]] " " name[$2]
}
END { for (part in n) {
    print n[part] "\n" words "\n" m[part] >part ".txt"
    for (i = 1; i <= m[part]; i++) print line[part, i] >part ".txt"
    for (d = 1; d <= n[part]; d++) print text[part, d] >part ".text"
} }' "$vocab" "$counts"

# perplexity MODEL DATA: of the held-out half of its tokens.
perplexity() {
    "$STRADS_BIN" lda evaluate "$1" "$2" --sweeps 20 --burn-in 5 --format json |
        sed -n 's/.*"completion".*"perplexity": \([0-9.]*\).*/\1/p'
}

gives 0 lda train old.txt --topics 8 --sweeps 100 --evaluate 100 --seed 1 \
    --partitions 2 --vocab "$vocab" --model old.json --quiet
gives 0 lda train new.txt --from old.json --sweeps 60 --evaluate 30 --seed 2 \
    --partitions 2 --model grown.json --log grown.jsonl
same "$(member grown.json topics)" 8 "topics"
for name in documents tokens; do
    awk -v a="$(member old.json $name)" -v b="$(member grown.json $name)" \
        'BEGIN { exit !(a > 0 && b > 4 * a) }' || fail "$name: no sum of both"
done
grep -q '"soviet"' grown.json || fail "the names of the words are gone"
awk -v old="$(perplexity old.json test.txt)" \
    -v grown="$(perplexity grown.json test.txt)" \
    'BEGIN { exit !(old > 100 && grown > 100 && grown < 0.95 * old) }' ||
    fail "held-out perplexity: $(perplexity old.json test.txt), then" \
        "$(perplexity grown.json test.txt)"

# Topics keep their numbers: the old top words of topic k are mostly in the new
# topic k.
gives 0 lda topics old.json --words 20 --format csv --output old.csv
gives 0 lda topics grown.json --words 20 --format csv --output grown.csv
awk -F, 'FNR == 1 { next }
FNR == NR { old[$1, $3] = 1; next } { new[$1] = new[$1] " " $3 }
END { for (k = 0; k < 8; k++) { best = -1
    for (j = 0; j < 8; j++) { n = split(new[j], w, " "); s = 0
        for (i = 1; i <= n; i++) s += ((k SUBSEP w[i]) in old)
        if (s > best) { best = s; at = j } }
    aligned += at == k }
    print aligned }' old.csv grown.csv >aligned
[ "$(cat aligned)" -ge 7 ] || fail "topics that are where they were: \
$(cat aligned) of 8"

# Text: new words follow the model's, by name.
gives 0 lda train old.text --topics 4 --sweeps 10 --seed 1 --partitions 1 \
    --min-df 20 --model told.json --quiet
words=$(member told.json words)
gives 0 lda train new.text --from told.json --sweeps 10 --seed 1 \
    --partitions 1 --min-df 100 --model longer.json
says err "words are new to the model's $words"
[ "$(member longer.json words)" -gt "$words" ] || fail "no word was added"
for model in told longer; do
    sed -n '/"vocabulary"/,/\]/p' $model.json | tr -d ' ",' | sed 1d |
        head -n "$words" >$model.words
done
cmp -s told.words longer.words || fail "old words have other numbers"

# Two processes: the same model; only one has the names, and the file is found
# by its path.
common="--from old.json --sweeps 4 --seed 5 --partitions 2 --vocab $vocab"
gives 0 lda train new.txt $common --model one.json --quiet
joins="--vocab $vocab"
on_two 0 lda train new.txt $common --model two.json
cmp -s one.json.npy two.json.npy || fail "two processes: another model"

# Errors are reported.
refuses 2 "--topics 9: the model old.json has 8" \
    lda train new.txt --from old.json --topics 9
refuses 2 "no-such" lda train new.txt --from no-such.json
tac "$vocab" >reversed.vocab
refuses 2 "reversed.vocab: line 1: found" \
    lda train new.txt --from old.json --vocab reversed.vocab --quiet
head -5 "$vocab" >five.vocab
refuses 2 "has 5 names, the model has 2000 words" \
    lda train new.txt --from old.json --vocab five.vocab --quiet
gives 0 lda train old.txt --topics 4 --sweeps 1 --model bare.json --quiet
refuses 2 "the model has no names of words" \
    lda train new.text --from bare.json --quiet
printf '1\n2001\n1\n1 2001 1\n' >more.txt
refuses 2 "name them all by --vocab" lda train more.txt --from old.json --quiet
# Input that can be read only once is not read twice.
mkfifo pipe
for words in "lda infer old.json pipe" "lda evaluate old.json pipe" \
    "lda train pipe --from old.json"; do
    cat new.text >pipe &
    refuses 2 "can be read only once" $words
done
cat new.text >pipe &
gives 0 lda infer old.json pipe --kind text --quiet
cp out piped
gives 0 lda infer old.json new.text --quiet
cmp -s out piped || fail "other topics from a pipe"
refuses 2 "is read twice" lda train pipe --kind text --from old.json --quiet

gives 0 lda train more.txt --from bare.json --sweeps 2 --model more.json --quiet
same "$(member more.json words)" 2001 "words by number"
finish
