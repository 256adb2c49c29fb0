#!/bin/sh
# strads lda train --seed-words: topics have the words that they were given,
# keep their names, and have the same bits on any number of workers and
# processes and after an interruption.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

counts=$STRADS_SOURCE/data/docword.sotu-tiny.txt
vocab=$STRADS_SOURCE/data/vocab.sotu-tiny-bow.txt

cat >seeds <<'END'
arms: nuclear soviet weapons
schools, teachers
health care: medicare insurance Medicare
END
common="--vocab $vocab --topics 8 --sweeps 30 --partitions 4 --seed 1
    --seed-words seeds"

gives 0 lda train "$counts" $common --workers 1 --model one.json
same "$(grep -c 'is not among the words' err)" 1 "warnings of unknown words"
says err 'line 3: "Medicare" is not among the words of the data'
says one.json '"topic-names"' '"arms"' '"health care"' "null"

# The seeds' topics are where they were asked for.
gives 0 lda topics one.json --words 10
says out " arms: " " health care: "
for pair in "0 soviet" "1 schools" "2 medicare"; do
    sed -n "$((${pair% *} + 1))p" out | grep -qw "${pair#* }" ||
        fail "topic ${pair% *} lacks ${pair#* }: $(cat out)"
done
gives 0 lda topics one.json --words 2 --format json
says out '"name": "arms"'
same "$(grep -c '"name"' out)" 2 "topics with names"
gives 0 lda topics one.json --words 2 --format csv
says out "frex_score,topic_name" ",health care"
gives 0 lda topics one.json --words 1 --format csv
same "$(sed -n 3p out | sed 's/.*,//')" "" "a topic without a name"

# The counts are those of the tokens: they add up.
tokens=$(awk 'NR > 3 { n += $3 } END { print n }' "$counts")
same "$(member one.json tokens)" "$tokens" "tokens"

# The same bits on two and four workers, on two processes, and when resumed.
for workers in 2 4; do
    gives 0 lda train "$counts" $common --workers $workers --model more.json \
        --quiet
    cmp -s one.json.npy more.json.npy || fail "$workers workers: another model"
done
joins="--vocab $vocab"
on_two 0 lda train "$counts" $common --model two.json
cmp -s one.json.npy two.json.npy || fail "two processes: another model"
gives 0 lda train "$counts" $common --max-rounds 9 --checkpoint ring
gives 0 lda train "$counts" $common --resume ring --model rest.json
cmp -s one.json.npy rest.json.npy || fail "a resumed run: another model"

# A model that is continued keeps the names; other seeds replace them.
gives 0 lda train "$counts" --from one.json --sweeps 2 --model grown.json
says grown.json '"arms"'
echo "war: nuclear" >war
gives 0 lda train "$counts" --from one.json --seed-words war --sweeps 2 \
    --model war.json
says war.json '"war"' '"health care"'

# A heavier weight takes more tokens of the words.
in_topic() { # MODEL: tokens of all words of topic 0
    sed -n '/"topic-tokens"/,/\]/p' "$1" | sed -n 2p | tr -d ' ,'
}
echo "rest: freedom" >people
for weight in 0.01 5; do
    gives 0 lda train "$counts" --vocab "$vocab" --topics 8 --sweeps 30 \
        --seed-words people --seed-weight $weight --model heavy$weight.json
done
[ "$(in_topic heavy0.01.json)" -ne "$(in_topic heavy5.json)" ] ||
    fail "--seed-weight has no effect"

# Errors are reported before the run.
printf 'a: soviet\n\n' >empty
refuses 2 "empty: line 2: has no words" \
    lda train "$counts" --vocab "$vocab" --topics 8 --seed-words empty
yes soviet | head -9 >many
refuses 2 "many: line 9: there are 8 topics" \
    lda train "$counts" --vocab "$vocab" --topics 8 --seed-words many
refuses 2 "no-such: cannot be read" \
    lda train "$counts" --vocab "$vocab" --seed-words no-such
refuses 2 "--topics auto is without" \
    lda train "$counts" --vocab "$vocab" --topics auto --seed-words seeds
refuses 2 "seed-weight" \
    lda train "$counts" --vocab "$vocab" --seed-words seeds --seed-weight 0
finish
