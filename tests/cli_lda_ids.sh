#!/bin/sh
# strads lda on counts of words that are ids with gaps: the words that occur are the
# columns, by ascending id, so that results are those of words without gaps.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

counts=$STRADS_SOURCE/data/docword.sotu-tiny.txt
peak=$STRADS_BUILD/tests/peak

# A small corpus: its words are numbered from 1 without gaps.
awk -v documents=100 'NR > 3 && $1 <= documents { print }' "$counts" >entries
cut -d' ' -f2 entries | sort -nu >words
awk 'FNR == NR { number[$1] = FNR; next } { print $1, number[$2], $3 }' \
    words entries >dense.entries
n=$(wc -l <words)
entries=$(wc -l <entries)

# bag WORDS FILE: entries from standard input, as a bag of words.
bag() {
    { printf '100\n%s\n%s\n' "$1" "$entries" && cat; } >"$2"
}

# ldac FILE: entries counted from 1 of a bag, as ldac with the same ids.
ldac() {
    awk 'NR > 3 { n[$1]++; line[$1] = line[$1] " " $2 ":" $3 }
        END { for (d = 1; d <= 100; d++) print (n[d] + 0) line[d] }' "$1"
}

common="--topics 6 --sweeps 5 --partitions 3 --seed 3"
# Ids around 4e7, 2^31 and the largest that are read.
for last in 40000000 2147483648 4294967293; do
    # Ids are not in the order of the file, and some are close to each other.
    awk -v last=$last -v n="$n" '{
        id = $2 % 2 ? last - 3 * (n - $2) : 1 + 5 * ($2 / 2)
        printf "%s %.0f %s\n", $1, $2 == n ? last : id, $3
    }' dense.entries >raw
    cut -d' ' -f2 raw | sort -nu >ids
    awk 'FNR == NR { number[$1] = FNR; next } { print $1, number[$2], $3 }' \
        ids raw | bag "$n" sorted.txt
    bag $last ids.txt <raw
    ldac ids.txt >ids.ldac
    gives 0 lda train sorted.txt $common --model sorted.json
    [ $last = 40000000 ] && some="1 2 4" || some=2
    for workers in $some; do
        gives 0 lda train ids.txt $common --workers $workers --model ids.json
        cmp -s ids.json.npy sorted.json.npy ||
            fail "$last, $workers workers: other topics than without gaps"
    done
    gives 0 lda train ids.ldac $common --model ldac.json
    cmp -s ldac.json.npy sorted.json.npy || fail "$last, ldac: other topics"
    gzip -c ids.ldac >ids.ldac.gz
    gives 0 lda train ids.ldac.gz $common --model gzip.json
    cmp -s gzip.json.npy sorted.json.npy || fail "$last, gzip: other topics"

    # Topics print ids, and documents are matched by id.
    "$STRADS_BIN" lda topics sorted.json --words 20 |
        awk 'FNR == NR { id[FNR] = $1; next }
            { for (k = 4; k <= NF; k++) $k = id[$k + 1]; $1 = $1; print }' \
            ids - >expected
    "$STRADS_BIN" lda topics ids.json --words 20 | awk '{ $1 = $1; print }' >found
    cmp -s expected found || fail "$last: topics print other words than the ids"
    gives 0 lda infer sorted.json sorted.txt --output expected
    for data in ids.txt ids.ldac ids.ldac.gz; do
        gives 0 lda infer ids.json $data --output found
        cmp -s expected found || fail "$last, $data: other shares"
    done
    gives 0 lda evaluate sorted.json sorted.txt --format csv --output expected
    gives 0 lda evaluate ids.json ids.txt --format csv --output found
    cmp -s expected found || fail "$last: other figures"
done

# With the tokens on disk, too.
gives 0 lda train sorted.txt $common --scratch . --model sorted.json
gives 0 lda train ids.txt $common --scratch . --model disk.json
cmp -s disk.json.npy sorted.json.npy || fail "--scratch: other topics"

# Joined topics keep the ids. Two processes have the topics of one.
gives 0 lda merge ids.json --cosine 0.2 --model fewer.json
grep -q '"word-ids": true' fewer.json || fail "lda merge drops word-ids"
start first lda train ids.txt $common --workers 1 --nodes 2 \
    --listen tcp://127.0.0.1:0 --model two.json
first=$child
url=$(url_of first)
start second join "$url" --workers 1
second=$child
ends first "$first" 0
ends second "$second" 0
cmp -s two.json.npy ids.json.npy || fail "two processes: other topics"
grep -q '"word-ids": true' two.json || fail "two processes: no word-ids"

# Few lines take few bytes: below 30 MB. Unknown ids are counted, whether the
# other data has gaps or not.
printf '3\n40000000\n4\n1 40000000 3\n1 7 1\n2 39999999 5\n3 7 2\n' >few.txt
few="--topics 2 --sweeps 5 --seed 1"
for file in few.txt two31; do
    [ $file = few.txt ] || sed 's/40000000/2147483648/' few.txt >two31
    "$peak" kilobytes "$STRADS_BIN" lda train $file $few --model few.json \
        --quiet || fail "$file: is refused"
    [ -n "${STRADS_SANITIZE:-}" ] || [ "$(cat kilobytes)" -lt 30000 ] ||
        fail "$file: took $(cat kilobytes) KB"
done
gives 0 lda train few.txt $few --model few.json
gives 0 lda infer few.json few.txt --output expected
printf '2 8:1 7:2\n' >new.ldac
gives 0 lda infer few.json new.ldac
says err "1 of 3 tokens are of words that the model does not have"
printf '2 40000001:1 7:2\n' >new.ldac
gives 0 lda infer few.json new.ldac
says err "1 of 3 tokens are of words that the model does not have"
sed -n 3p expected >third
cmp -s out third || fail "a document with an unknown id: other shares"

# A model of numbers finds numbers in data with gaps, and names by --vocab.
printf '3\n8\n4\n1 8 3\n1 7 1\n2 2 5\n3 7 2\n' >small.txt
gives 0 lda train small.txt $few --model small.json
printf '1\n40000000\n2\n1 40000000 1\n1 7 2\n' >new.txt
printf '1\n8\n1\n1 7 2\n' >known.txt
gives 0 lda infer small.json known.txt --output expected
gives 0 lda infer small.json new.txt --output found
says err "1 of 3 tokens are of words that the model does not have"
cmp -s expected found || fail "a model of numbers: other shares"
printf '%s\n' a b c d e f g h >vocab
gives 0 lda train small.txt $few --vocab vocab --model named.json
refuses 2 "has 8 names, and new.txt has word 40000000" lda infer named.json \
    new.txt --vocab vocab

# What needs numbers is refused in one sentence.
refuses 2 "are ids with gaps, and such a model cannot be extended" lda train \
    few.txt --from few.json --model more.json
refuses 1 "number rows and columns without gaps" lda train few.txt \
    --from small.json --model more.json
printf '1\n40000000\n2\n1 40000000 1\n1 40000000 2\n' >twice.txt
refuses 2 "line 5: found document 1, word 40000000 again" lda train twice.txt \
    --model more.json
printf '1 40000000:1\n1 4294967294:1\n' >wrong.ldac
refuses 2 "line 2: found '4294967294:1', expected a word from 0 to 4294967293" \
    lda train wrong.ldac --model more.json
printf '1\n40000000\n1\n1 40000001 1\n' >wrong.txt
refuses 2 "line 4: found '40000001', expected a word from 1 to 40000000" \
    lda train wrong.txt --model more.json
[ ! -e more.json ] || fail "a refused run leaves a model"
finish
