#!/bin/sh
# Bad corpora: one message with the line, exit code 2, and no model.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# bad TEXT CONTENT [WORDS...]: training on it is refused with a message that
# contains TEXT.
bad() {
    text=$1
    printf '%b' "$2" >corpus.txt
    shift 2
    refuses 2 "$text" lda train corpus.txt --topics 2 --sweeps 2 --quiet \
        --model m.json "$@"
    says err corpus.txt
    [ ! -e m.json ] && [ ! -e m.json.npy ] || fail "$text: a model was written"
    rm -f m.json m.json.npy
}

# UCI bag of words: D, W, NNZ, then `document word count`, from 1.
bad "line 4: found '0'" '2\n3\n1\n0 1 1\n'
bad "line 4: found '3'" '2\n3\n1\n3 1 1\n'
bad "line 4: found '0'" '2\n3\n1\n1 0 1\n'
bad "line 4: found '4'" '2\n3\n1\n1 4 1\n'
bad "line 5: found '0'" '2\n3\n2\n1 1 1\n1 2 0\n'
bad "line 4: found '-1'" '2\n3\n1\n1 1 -1\n'
bad "line 4: found '-1'" '2\n3\n1\n-1 1 1\n'
bad "line 4: found '1099511627776'" '2\n3\n1\n1 1 1099511627776\n'
bad "line 4: found '1.5'" '2\n3\n1\n1 1 1.5\n'
bad "line 4: found 'nan'" '2\n3\n1\n1 1 nan\n'
bad 'line 4' '2\n3\n1\n1 1\n'
bad 'line 4' '2\n3\n1\n1 1 1 1\n'
bad 'found 1 entries, expected 2 as line 3' '2\n3\n2\n1 1 1\n'
bad 'line 5' '2\n3\n1\n1 1 1\n1 2 1\n'
bad "line 1: found '-2'" '-2\n3\n1\n1 1 1\n'
bad 'line 2' '2\n99999999999\n1\n1 1 1\n'
bad 'line 5' '1\n2\n2\n1 1 1\n1 1 2\n'

# ldac: `N word:count ...`, from 0.
bad "line 2: found '1:0'" '1 0:1\n1 1:0\n'
bad "line 2: found '1:-1'" '1 0:1\n1 1:-1\n'
bad "line 2: found '1:1099511627776'" '1 0:1\n1 1:1099511627776\n'
bad 'line 2' '1 0:1\n1 -1:1\n'
bad 'line 2' '1 0:1\n2 1:1\n'
bad 'line 2' '1 0:1\n1 1:1 2:1\n'
bad 'line 2' '1 0:1\n1 x:1\n'
bad 'line 2' '1 0:1\nx 1:1\n'
bad 'line 1' '1 0:1:1\n'

# MatrixMarket, of counts.
market='%%MatrixMarket matrix coordinate integer general\n'
bad "line 3: found '0'" "${market}2 3 1\n1 1 0\n"
bad 'line 3' "${market}2 3 1\n0 1 1\n"
bad 'line 3' "${market}2 3 1\n1 4 1\n"
bad "line 3: found '-2'" "${market}2 3 1\n1 1 -2\n"
bad 'found 1 entries' "${market}2 3 2\n1 1 1\n"

# Vocabularies of another length, and repeated names.
printf 'one\ntwo\n' >two.vocab
bad 'found 3 words, expected 2' '2\n3\n1\n1 1 1\n' --vocab two.vocab
bad 'found 3 words, expected 2' '1 2:1\n' --vocab two.vocab
printf 'one\none\n' >same.vocab
printf '1\n2\n1\n1 1 1\n' >corpus.txt
refuses 2 'same.vocab: line 2' lda train corpus.txt --vocab same.vocab
refuses 2 'no-such.vocab' lda train corpus.txt --vocab no-such.vocab

# Invalid numbers of topics.
for topics in 1 0 65536 -3 2.5; do
    refuses 2 "--topics $topics: expected" lda train corpus.txt --topics $topics
done
gives 0 lda train corpus.txt --topics 65535 --sweeps 2 --model m.json --quiet
same "$(member m.json topics)" 65535 "topics"

printf '2\n3\n0\n' >none.txt
refuses 2 'have no tokens' lda train none.txt --topics 2 --quiet

# Empty documents, unused words and ldac's empty lines are allowed.
printf '4\n3\n2\n2 1 3\n4 3 1\n' >corpus.txt
gives 0 lda train corpus.txt --topics 2 --sweeps 3 --assignments a.txt --quiet \
    --partitions 3
same "$(cut -d' ' -f1 a.txt | tr '\n' ' ')" "0 3 0 1 " "tokens of documents"
printf '0\n2 0:1 2:2\n0\n' >corpus.txt
gives 0 lda train corpus.txt --topics 2 --sweeps 3 --assignments a.txt --quiet
same "$(cut -d' ' -f1 a.txt | tr '\n' ' ')" "0 3 0 " "tokens of documents"
printf '0\n0\n0\n2 0:1 2:2\n' >corpus.txt
gives 0 lda train corpus.txt --topics 2 --sweeps 3 --assignments a.txt --quiet
same "$(cut -d' ' -f1 a.txt | tr '\n' ' ')" "0 0 0 3 " "ldac, empty at first"

# Options without effect on a program with a plan.
for option in "--policy cyclic" "--schedulers 2" "--threshold 0.5" "--f32" \
    "--start m.json"; do
    refuses 2 "${option%% *}: program lda has no use for it" \
        lda train corpus.txt --topics 2 $option
done

# Truncated and missing files.
gzip -c "$STRADS_SOURCE/data/docword.sotu-tiny.txt" | head -c 20000 >cut.gz
refuses 2 'cut.gz' lda train cut.gz --quiet
printf '\050\265\057\375junk' >junk.zst
refuses 2 'junk.zst' lda train junk.zst --quiet
printf 1 | gzip -c >ends.gz # within a line
refuses 2 "ends.gz: line 1: found the end of the file" lda train ends.gz --quiet
refuses 2 "./cut.gz: the gzip stream is cut short" lda train . --quiet

# The same for commands that use a model.
printf '1\n2\n1\n1 1 1\n' >corpus.txt
gives 0 lda train corpus.txt --topics 2 --sweeps 2 --model m.json --quiet
printf '1\n2\n1\n1 1 0\n' >corpus.txt
refuses 2 "line 4: found '0'" lda infer m.json corpus.txt
refuses 2 "line 4: found '0'" lda evaluate m.json corpus.txt
refuses 2 "line 4: found '0'" lda train corpus.txt --from m.json --quiet
finish
