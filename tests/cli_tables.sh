#!/bin/sh
# Tables on the command line: the same model as from LIBSVM, names in every
# output, predictions by name, several processes, error messages.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

awk 'BEGIN {
    print "id,\"size, m2\",colour,age,price" >"h.csv"
    for (i = 0; i < 300; i++) {
        x = (i * 7919) % 1000 / 10; c = (i * 31) % 3; a = (i * 17) % 60
        no = i % 13 == 4
        y = 3 * x + (c == 2 ? 50 : c == 1 ? -20 : 0) - (no ? 30 : a)
        name = c == 0 ? "\"blue, light\"" : c == 1 ? "green" : "red"
        printf "%d,%s,%s,%s,%s\n", i, x, name, no ? "NA" : a, y >"h.csv"
        if (!no) { sum += a; n++ }
        row[i] = y (x ? " 1:" x : "") " " c + 2 ":1"; age[i] = no ? "m" : a
    }
    for (i = 0; i < 300; i++) {
        v = age[i] == "m" ? sprintf("%.17g", sum / n) : age[i]
        print row[i] (v != 0 ? " 5:" v : "") >"h.svm"
    }
}'
table="--target price --drop id --categorical one-hot --missing mean"

gives 0 lasso train --no-intercept h.csv $table --lambda 0.01 --model t.json --quiet
gives 0 lasso train --no-intercept h.svm --lambda 0.01 --model s.json --quiet
same "$(grep '"value"' t.json)" "$(grep '"value"' s.json)" "the coefficients"
says t.json '"target": "price"' \
    '"names": ["size, m2", "colour=blue, light", "colour=green", "colour=red", "age"]' \
    '"means": ['

gives 0 lasso show t.json
says out 'colour=red' 'size, m2'
gives 0 lasso show t.json --format csv
says out '"size, m2"' 'colour=green'
gives 0 lasso show t.json --format json
says out '"name": "age"'
gives 0 lasso path --no-intercept h.csv $table --points 5 --coefficients p.csv
says p.csv '1,"size, m2",'
gives 0 lasso cv --no-intercept h.csv $table --model cv.json --quiet
says cv.json '"names": ["size, m2"'

# By name: another order, an extra column, one row; gzip; LIBSVM by number
gives 0 lasso predict t.json h.csv
cp out wanted
awk -F, 'NR == 1 { print "new;price;age;colour;\"size, m2\"" } NR > 1 {
    n = NF; c = $3; for (k = 4; k < n - 1; k++) c = c "," $k
    print "x;" $n ";" $(n - 1) ";" c ";" $2 }' h.csv >other.csv
gzip -c other.csv >other.csv.gz
for file in other.csv other.csv.gz h.svm; do
    gives 0 lasso predict t.json $file
    cmp -s out wanted || fail "$file: other predictions"
done
printf 'colour,age,"size, m2"\npink,,10\n' >one.csv
gives 0 lasso predict t.json one.csv
same "$(wc -l <out)" 1 "a row without a label"
says err 'fields with a text that the model was not trained on: 1; '
printf 'colour,age\nred,1\n' >less.csv
refuses 2 "has no column for 'size, m2'" lasso predict t.json less.csv
gives 0 lasso evaluate t.json h.csv --format json
says out '"rows": 300'
gives 0 data info h.csv $table --format json
says out '"format": "table"' '"columns": 5'

# Classes by name, and a start from the same table
awk -F, 'NR == 1 { print $0 } NR > 1 { sub(/,[^,]*$/, $2 > 50 ? ",big" : ",small"); print }' \
    h.csv >c.csv
for program in logistic svm; do
    gives 0 $program train c.csv $table --model k.json --quiet
    gives 0 $program predict k.json c.csv --write label
    says out big small
    gives 0 $program evaluate k.json c.csv
    says out 'class big' 'class small'
done
gives 0 lasso train --no-intercept h.csv $table --lambda 0.01 --start t.json --quiet
refuses 2 'columns with other names' lasso train h.csv --target price \
    --categorical one-hot=colour --missing mean --lambda 0.01 --start t.json

# Error messages
refuses 2 "line 2: found 'blue,' in column 'colour', expected a number" \
    lasso train h.csv --target price --missing mean
refuses 2 "line 6: found 'NA' in column 'age', expected a value" \
    lasso train h.csv --target price --categorical one-hot
refuses 2 'if this is a table with a header, name the column of the labels (--target NAME)' \
    lasso train h.csv
refuses 2 '--drop is for tables: give --target NAME too' lasso train h.csv --drop id
refuses 2 '--target: program mf has no use for it' mf train h.csv --target price
finish
