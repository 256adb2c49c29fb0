#!/bin/sh
# Topic models of plain text and of counts of named words: the same corpus in
# each format gives the same model, and new documents are matched by name.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

counts=$STRADS_SOURCE/data/docword.sotu-tiny.txt
vocab=$STRADS_SOURCE/data/vocab.sotu-tiny-bow.txt
common="--topics 8 --sweeps 3 --partitions 1 --seed 3 --quiet"

# The speeches as text and as ldac, in the same order of words.
awk -v text=speeches.txt -v ldac=speeches.ldac '
FNR == NR { name[FNR] = $1; next }
FNR == 1 { documents = $1 }
FNR > 3 {
    n[$1]++
    pairs[$1] = pairs[$1] " " $2 - 1 ":" $3
    for (k = 0; k < $3; k++) words[$1] = words[$1] " " name[$2]
}
END {
    for (d = 1; d <= documents; d++) {
        print words[d] >text
        print n[d] + 0 pairs[d] >ldac
    }
}' "$vocab" "$counts"
gzip -k speeches.txt
gives 0 lda train "$counts" $common --vocab "$vocab" --model uci.json
for data in txt txt.gz ldac; do
    gives 0 lda train speeches.$data $common --vocab "$vocab" \
        --model $data.json
    grep -q '"soviet"' $data.json || fail "$data: the model has no names"
done
cmp -s uci.json.npy ldac.json.npy || fail "ldac: another model"
cmp -s txt.json.npy txt.gz.json.npy || fail "compressed: another model"
# Text orders words differently, but has as many tokens of each.
for model in uci txt; do
    tail -c +129 $model.json.npy | od -An -v -t u4 -w12 |
        awk '{ n[$1] += $3 } END { for (w = 0; w < 2000; w++) print n[w] }' \
            >$model.tokens
done
cmp -s uci.tokens txt.tokens || fail "text: other tokens"

# Words from the text: stop words and rare ones are left out.
printf 'The cat and the dog\nA CAT sat\n\nthe dog, the dog ran\n' >tiny.txt
printf 'the\nand\n' >stop.txt
gives 0 lda train tiny.txt --topics 2 --sweeps 2 --stop-words stop.txt \
    --min-df 2 --model tiny.json --assignments tiny.txt.topics
says err "2 tokens of words that are not in the vocabulary were left out"
tr -d ' \n' <tiny.json >flat
says flat '"vocabulary":["cat","dog"]'
same "$(cut -d' ' -f1 tiny.txt.topics | tr '\n' ' ')" "2 1 0 2 " \
    "tokens of documents"
gives 0 lda topics tiny.json
says out cat dog

# New text: words are found by name, unknown ones are counted and reported.
printf 'dog bird cat dog\ncat\n' >new.txt
gives 0 lda infer tiny.json new.txt --output new.csv
says err "1 of 5 tokens are of words that the model does not have"
same "$(wc -l <new.csv)" 2 "documents"
gives 0 lda infer tiny.json new.txt --quiet
same "$(wc -c <err)" 0 "said in quiet"
cmp -s out new.csv || fail "other shares on standard output"

# Counts with names in another order are the same documents.
tac "$vocab" >reversed.vocab
awk 'NR <= 3 { if (NR == 2) words = $1; print; next }
    { print $1, words + 1 - $2, $3 }' "$counts" >reversed.txt
gives 0 lda infer uci.json "$counts" --sweeps 4 --burn-in 1 --output by.csv
gives 0 lda infer uci.json reversed.txt --vocab reversed.vocab --sweeps 4 \
    --burn-in 1 --output reversed.csv
cmp -s by.csv reversed.csv || fail "words in another order: other shares"
gives 0 lda infer uci.json speeches.txt.gz --sweeps 4 --burn-in 1 \
    --output text.csv
cmp -s by.csv text.csv || fail "as text: other shares"

# Two processes read the text, each its own share.
. "$STRADS_SOURCE/tests/cli_children.shlib"
words="--stop-words stop.txt --min-df 2"
gives 0 lda train speeches.txt --topics 5 --sweeps 3 --partitions 3 $words \
    --model one.json --quiet
joins=$words
on_two 0 lda train speeches.txt --topics 5 --sweeps 3 --partitions 3 $words \
    --model two.json
cmp -s one.json.npy two.json.npy || fail "two processes: another model"

# Errors are reported.
refuses 2 "is not plain text" lda train "$counts" --stop-words stop.txt
refuses 2 "is not plain text" lda train "$counts" --min-df 2
refuses 2 "expected documents, corpus or text" lda train "$counts" --kind box
refuses 2 "tiny.txt: line 3: found an empty line" \
    lda train "$counts" --vocab tiny.txt
head -3 "$vocab" >three.txt
refuses 2 "found 2000 words, expected 3, as many as have names" \
    lda train "$counts" --vocab three.txt
refuses 2 "names, reversed.txt has 2000 words" \
    lda infer uci.json reversed.txt --vocab three.txt
gives 0 lda train "$counts" $common --model bare.json
refuses 2 "the model has no names of words" lda infer bare.json new.txt
refuses 2 "the model has no names of words" \
    lda infer bare.json "$counts" --vocab "$vocab"
refuses 2 "names words of counts" \
    lda infer uci.json new.txt --vocab "$vocab"
printf 'caf\351 au lait\n' >latin.txt
gives 0 lda train latin.txt --topics 2 --sweeps 2 --quiet --model latin.json
grep -q '"café"' latin.json || fail "Latin-1 is not read"
# A stop list: words in any case, with punctuation, more than once.
printf 'The cat and the dog.\nA dog.\n' >stop-doc.txt
printf 'THE\nthe\n\nAnd\nand the\n' >stop-twice.txt
gives 0 lda train stop-doc.txt --stop-words stop-twice.txt --topics 2 \
    --sweeps 2 --quiet --model stopped.json
gives 0 lda topics stopped.json --words 9
grep -q -w the out && fail "a stop word is in a topic"
grep -q dog out || fail "words are missing"
# A first line that is a number is a document of a text, unless --kind sets
# another kind.
printf '1984\nbook by orwell\n' >number.txt
gives 0 lda train number.txt --topics 2 --sweeps 2 --quiet --model n.json
printf '1984\n1985\n' >numbers.txt
refuses 2 "--kind text" lda train numbers.txt --topics 2
refuses 2 "has no words" lda train numbers.txt --topics 2 --kind text --quiet
printf '1984\n1985\nyear\n' >numbers.txt
gives 0 lda train numbers.txt --topics 2 --sweeps 2 --quiet --kind text \
    --model n.json
tr -d ' \n' <n.json | grep -q '"vocabulary":\["year"\]' ||
    fail "numbers are words: $(cat n.json)"

# Stop words and words in few or most documents, by default of text alone. Each
# line has function words of one language, and words of its own.
speak() { # LANGUAGE WORDS...: 1,200 documents; every third one is of ships
    language=$1
    shift
    seq 1200 | awk -v words="$*" -v name="$language" 'BEGIN {
        n = split(words, w, " ")
    } {
        line = "always" name
        for (k = 0; k < 4; k++) line = line " " w[($1 * 7 + k * 3) % n + 1]
        topic = $1 % 3 ? "coal iron" : "sail ship"
        print line, topic, ($1 == 5 ? "onceonly" : ""), 1000 + $1
    }' >"$language.text"
}
speak en the of and with from this which have been "don'"t
speak de der die und nicht mit auch eine wurde durch
speak fr les dans pour avec cette sont mais vous
speak es los para como pero esta entre sobre muy
speak it della che non sono anche più questo degli
speak pt não uma para com mais pelo também isso
speak nl het van een niet zijn voor maar ook
speak ru что как это было если только когда уже
for language in en de fr es it pt nl ru; do
    gives 0 lda train $language.text --topics 2 --sweeps 2 --model said.json
    says err "left out: stop words ($language), words in more than 50 % of them"
    tr -d ' \n' <said.json | grep -o '"vocabulary":.*' >names
    for word in sail ship onceonly; do
        grep -q "\"$word\"" names || fail "$language: lost $word"
    done
    grep -q "\"always\|coal\|[0-9]" names && fail "$language: $(cat names)"
    same "$(tr -cd , <names | wc -c)" 2 "$language: commas between words"
    gives 0 lda train $language.text --topics 2 --sweeps 2 --model all.json \
        --stop-words none --min-df 1 --max-df 1
    grep -q "left out:" err && fail "$language: $(cat err)"
    grep -q "\"always$language\"" all.json || fail "$language: lost always"
    gives 0 lda train $language.text --topics 2 --sweeps 2 --max-df 1 \
        --stop-words $language --min-df 2 --model own.json
    says err "stop words ($language), words in fewer than 2 documents"
    grep -q '"onceonly"' own.json && fail "$language: kept a rare word"
done
# Below 1,000 words, and with a vocabulary, no word is dropped.
head -40 en.text >short.text
gives 0 lda train short.text --topics 2 --sweeps 2 --model short.json
grep -q "left out:" err && fail "$(cat err)"
grep -q '"the"' short.json || fail "a short text lost a word"
printf 'the\nship\nsail\n' >three.names
gives 0 lda train en.text --topics 2 --sweeps 2 --vocab three.names --model v.json
grep -q "left out:" err && fail "$(cat err)"
{
    printf 'caf\351\n'
    tail -n +2 "$vocab"
} >latin-names.txt
refuses 2 "latin-names.txt: word 1, " \
    lda train "$counts" --vocab latin-names.txt --topics 2 --quiet
: >nothing.txt
refuses 2 "nothing.txt" lda train nothing.txt --topics 2
printf 'the and\n' >stopped.txt
refuses 2 "stopped.txt: has no words that are taken" \
    lda train stopped.txt --stop-words stop.txt --quiet

# Phrases: pairs that occur together are one word, in the model and in new text.
awk 'BEGIN { srand(1)
    split("new mayor street city old river bridge park house tree", word, " ")
    for (d = 0; d < 200; d++) {
        line = ""
        for (i = 0; i < 8; i++) line = line " " word[1 + int(10 * rand())]
        print d % 4 ? line : line " New York." } }' >places.txt
gives 0 lda train places.txt --topics 2 --sweeps 2 --stop-words none \
    --phrases 50 --model places.json
says err "1 phrases of two words are one word each"
tr -d ' \n' <places.json >flat
says flat '"phrases":["new_york"]' '"vocabulary":[' '"new"' '"mayor"'
same "$(grep -o '"new_york"' flat | wc -l)" 2 "a phrase and a word"
! grep -q '"york"' flat || fail "york is a word of its own"
printf 'new york\nYork new\n' >visit.txt
gives 0 lda infer places.json visit.txt
says err "1 of 3 tokens are of words that the model does not have"
gives 0 lda train visit.txt --from places.json --sweeps 2 --model longer.json
tr -d ' \n' <longer.json >flat
says flat '"phrases":["new_york"]' '"york"'
refuses 2 "leave the option out" lda train visit.txt --from places.json \
    --phrases 2
refuses 2 "has counts of words, expected a text" \
    lda train "$STRADS_SOURCE/data/docword.sotu-tiny.txt" --phrases 2
gives 0 lda train places.txt --topics 2 --sweeps 2 --stop-words none \
    --phrases 51 --model none.json
says err "0 phrases of two words"

# Two processes choose the number of topics by the same words as one: without
# stop words, of the column alone, with the phrases.
{
    echo id,body,other
    awk '{ print NR ",\"" $0 "\",other " NR " more" }' places.txt
} >places.csv
chosen() {
    sed -n 's/.*\(chosen: .*\)/\1/p' "$1"
}
joins="--text-column body --phrases 50"
# shellcheck disable=SC2086 # words
gives 0 lda train places.csv $joins --topics auto --sweeps 8 --seed 1
chosen err >one
# shellcheck disable=SC2086 # words
on_two 0 lda train places.csv $joins --topics auto --sweeps 8 --seed 1
same "$(chosen first.err)" "$(cat one)" "choice of two processes"
finish
