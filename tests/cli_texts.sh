#!/bin/sh
# Topic models of a folder of texts and of a column of a table: the same model
# as for the same documents, one per line.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

common="--topics 2 --sweeps 3 --seed 4 --quiet"

# The same five documents: as lines, as a folder with a subfolder, as a table
# with multi-line fields, quotes, separators and other columns.
printf '%s\n' 'apple banana apple' 'banana "sweet" cherry, apple' '' \
    'dog cat dog bird' 'cat bird' >lines.txt
mkdir -p folder/more
printf 'apple banana\napple\n' >folder/1.txt
printf 'banana "sweet" cherry, apple' | gzip >folder/2.txt.gz
: >folder/3.txt
printf 'dog cat\n\n\ndog bird' >folder/more/4.txt
printf '\357\273\277cat bird\n' >folder/more/5
printf 'never read' >folder/.hidden
ln -s ../.. folder/more/loop
cat >table.csv <<'END'
id,body,year
1,"apple banana
apple",1999
2,"banana ""sweet"" cherry, apple",2000
3,,2001

4,"dog cat
dog bird",2002
5,cat bird,2003
END
sed 's/$/\r/' table.csv | gzip >dos.csv.gz
gives 0 lda train lines.txt $common --model lines.json
gives 0 lda train folder $common --model folder.json
gives 0 lda train table.csv $common --text-column body --model table.json
gives 0 lda train dos.csv.gz $common --text-column body --model dos.json
for model in folder table dos; do
    cmp -s lines.json.npy $model.json.npy || fail "$model: another model"
    grep -q '"sweet"' $model.json || fail "$model: no vocabulary"
done
printf 'a\tbody\n1\tdog cat\n2\tbird\n' >tabs.tsv
gives 0 lda train tabs.tsv $common --text-column body --model tabs.json
gives 0 data info folder --kind text
says out 5

# New documents; two processes; an older model's words.
gives 0 lda infer lines.json lines.txt --output a.csv
gives 0 lda infer lines.json folder --output b.csv
gives 0 lda infer lines.json table.csv --text-column body --output c.csv
cmp -s a.csv b.csv || fail "a folder: other shares"
cmp -s a.csv c.csv || fail "a column: other shares"
gives 0 lda train folder $common --from lines.json --model on.json
. "$STRADS_SOURCE/tests/cli_children.shlib"
joins="--text-column body"
gives 0 lda train table.csv $common --text-column body --partitions 2 \
    --model one.json
on_two 0 lda train table.csv ${common%--quiet} --text-column body \
    --partitions 2 --model two.json
cmp -s one.json.npy two.json.npy || fail "two processes: another model"

# Words of too many documents: cat and bird are in 2 of 5, and so are apple and
# banana.
printf 'x1 all\nx2 all\nx2 all\nx3\n' >common.txt
gives 0 lda train common.txt $common --max-df 0.6 --min-df 2 --model few.json
tr -d ' \n' <few.json >flat
says flat '"vocabulary":["x2"]'

# Errors are reported.
refuses 2 "found the header 'id,body,year', expected one with a column 'text'" \
    lda train table.csv $common --text-column text
printf 'id,body\n1,a b\n2,c,d\n' >three.csv
refuses 2 "three.csv: line 3: found 3 fields, expected 2" \
    lda train three.csv $common --text-column body
printf 'id,body\n1,"a b\n2,c\n' >open.csv
refuses 2 "open.csv: line 2: found a quote that does not end" \
    lda train open.csv $common --text-column body
printf 'id,body\n1,"a"b\n' >behind.csv
refuses 2 "behind.csv: line 2: found text behind the quote" \
    lda train behind.csv $common --text-column body
printf 'id,body\n' >bare.csv
refuses 2 "bare.csv: has no row behind its header" \
    lda train bare.csv $common --text-column body
mkdir empty
refuses 2 "empty: has no file in it" lda train empty $common
mkdir packed
printf 'PK\003\004zip' >packed/a.zip
refuses 2 "packed/a.zip: is a zip archive" lda train packed $common
refuses 2 "is not plain text: text_column" \
    lda train table.csv $common --text-column body --kind corpus
refuses 2 "max-df" lda train lines.txt $common --max-df 1.5
refuses 2 "is a directory" lasso train folder --lambda 1
finish
