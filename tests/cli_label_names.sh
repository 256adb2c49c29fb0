#!/bin/sh
# Labels that are names. Compares training with the same data and the names'
# numbers as labels: models are bit-identical, and reports use the names.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

awk 'NR % 3 == 0 { $1 = $1 > 0 ? "Republican" : "Democratic"; print }' \
    "$party" >two.svm
awk '{ $1 = $1 == "Republican"; print }' two.svm >two.numbers
awk 'NR % 3 == 0 { $1 = "Whig" } { print }' two.svm >three.svm
awk '{ $1 = $1 == "Whig" ? 2 : $1 == "Republican"; print }' three.svm \
    >three.numbers

# numbered FILE: replaces the names by their numbers, in byte order.
numbered() {
    sed 's/Democratic/0/g; s/Republican/1/g; s/Whig/2/g' "$1"
}

# bits MODEL: its coefficients and intercepts.
bits() {
    grep -E '"(index|value|intercept|intercepts|width)":' "$1" |
        grep -v 'true\|false'
}

# alike A B WHAT: both models have the same bits.
alike() {
    bits "$1" >"$1.bits"
    bits "$2" >"$2.bits"
    [ -s "$1.bits" ] || fail "$3: no coefficients"
    cmp -s "$1.bits" "$2.bits" || fail "$3: the models differ"
}

# agrees PROGRAM DATA WORDS...: trained by name and by number.
agrees() {
    program=$1 data=$2
    shift 2
    gives 0 "$program" train --no-intercept "$data.svm" "$@" --model names.json
    cp err names.err
    gives 0 "$program" train --no-intercept "$data.numbers" "$@" --model numbers.json --quiet
    alike names.json numbers.json "$program $data $*"
}

# judges PROGRAM DATA: predict and evaluate by either model.
judges() {
    label="--write label"
    for write in "$label" "--write decision"; do
        gives 0 "$1" predict names.json "$2.svm" $write
        cp out names.out
        cp err names.err
        gives 0 "$1" predict numbers.json "$2.numbers" $write
        numbered names.out | cmp -s - out || fail "$1 $2: $write differs"
        cmp -s names.err err || fail "$1 $2: $write: $(cat names.err err)"
    done
    gives 0 "$1" predict names.json "$2.svm" $label
    says out Democratic Republican
    for json in "" --format=json; do
        gives 0 "$1" evaluate names.json "$2.svm" $json
        cp out names.out
        gives 0 "$1" evaluate numbers.json "$2.numbers" $json
        numbered names.out | sed 's/"label": "\([012]\)"/"label": \1/g
            s/  *\([0-9]* rows\)/ \1/' >a
        sed 's/  *\([0-9]* rows\)/ \1/' out >b
        cmp -s a b || fail "$1 $2 evaluate $json: $(diff a b | head -n 4)"
    done
}

workers=1
for how in "logistic --lambda-ratio 0.1" "logistic --l1-ratio 0" \
    "svm --loss hinge" "svm --l1-ratio 1"; do
    for data in two three; do
        agrees ${how%% *} $data ${how#* } --workers $workers \
            --partitions $workers --deterministic
        [ $workers -ne 2 ] || judges "${how%% *}" $data
        case $workers in 4) workers=1 ;; *) workers=$((2 * workers)) ;; esac
    done
done
agrees logistic three --multiclass softmax --lambda-ratio 0.1 --workers 2 \
    --partitions 2 --deterministic
says names.err "labels Democratic,Republican,Whig: all at once"
judges logistic three

agrees sgd-logistic two --staleness 0 --partitions 3 --epochs 4
says names.err "labels Democratic,Republican: the second is positive"
judges sgd-logistic two
gives 0 sgd-logistic train --no-intercept two.svm --staleness 0 --partitions 3 --epochs 4 \
    --classes Republican,Democratic --model names.json --quiet
gives 0 sgd-logistic train --no-intercept two.numbers --staleness 0 --partitions 3 \
    --epochs 4 --classes 1,0 --model numbers.json --quiet
alike names.json numbers.json "sgd-logistic, the other label positive"
gives 0 sgd-logistic show names.json --top 3
says out "sgd-logistic, 2000 columns" "(intercept)"
refuses 2 "has the label Democratic, others have Republican and Whig" \
    sgd-logistic train three.svm --workers 1 --quiet

# Weights of classes, their order, and invalid labels
agrees logistic two --lambda-ratio 0.1 --class-weight balanced
gives 0 logistic train --no-intercept two.svm --lambda-ratio 0.1 --model names.json \
    --classes Republican,Democratic --class-weight Republican=3,Democratic=0.5
says err "labels Republican,Democratic: the second is positive"
gives 0 logistic train --no-intercept two.numbers --lambda-ratio 0.1 --model numbers.json \
    --classes 1,0 --class-weight 1=3,0=0.5
alike names.json numbers.json "weights by name"
for program in logistic "svm --loss hinge" "sgd-logistic --epochs 1"; do
    set -- ${program%% *} train two.svm ${program#"${program%% *}"} --quiet
    refuses 2 "--classes Whig,Republican: no row has the label Whig" "$@" \
        --classes Whig,Republican
    refuses 2 "--classes 0,1: no row has the label 0" "$@" --classes 0,1
    [ "$1" != sgd-logistic ] || continue
    refuses 2 "--class-weight Whig=2: no row has the label Whig" "$@" \
        --class-weight Whig=2
    refuses 2 "--class-weight Whig: expected balanced" "$@" --class-weight Whig
done
refuses 2 "there are rows with the label Whig" logistic train three.svm \
    --classes Democratic,Republican --quiet

# A single label, hundreds of classes, and more than a file may have
sed 's/^[^ ]*/lonely/' two.svm >one.svm
refuses 2 "all rows have the label lonely" svm train one.svm --quiet
refuses 2 "all rows have the label lonely" sgd-logistic train one.svm --quiet
awk '{ print "l" NR % 300, NR % 300 + 1 ":1" }' two.svm two.svm two.svm >many.svm
gives 0 logistic train --no-intercept many.svm --c 10 --model many.json --quiet
says many.json '"width": 300'
gives 0 logistic predict many.json many.svm --write label
cp out many.labels
gives 0 logistic evaluate many.json many.svm
says out accuracy
gives 0 logistic show many.json --top 2
cut -d" " -f1 many.svm | cmp -s - many.labels || fail "300 classes are not told apart"
# With all coefficients 0, the intercepts are the classes' log odds, known in
# closed form
awk 'BEGIN { for (i = 0; i < 2000; i++) { row = "k" i
    for (j = 0; j < 11; j++) if (int(i / 2 ^ j) % 2) row = row " " j + 1 ":1"
    print row } }' >thousands.svm
gives 0 logistic train thousands.svm --intercept --lambda-ratio 1 --l1-ratio 1 \
    --model thousands.json --quiet
gives 0 logistic show thousands.json --format csv
awk -F, '$1 == 0 { n++; bad += ($NF + log(1999)) ^ 2 > 1e-12 }
    END { exit n != 2000 || bad }' out || fail "2,000 classes have other odds"
gives 0 logistic evaluate thousands.json thousands.svm
says out 'class k1999'
refuses 1 'for 11 parameters of 2000 numbers each' logistic train thousands.svm \
    --no-intercept --lambda-ratio .1 --l1-ratio 1 --model none.json --quiet --memory 16.4M
refuses 1 'parameters of 2000 numbers each' svm train thousands.svm \
    --model none.json --quiet --memory 30M
[ ! -e none.json ] || fail "a model was left behind"
awk '{ $1 = "row" NR; for (k = 0; k < 200; k++) print $1 k " " $2 }' two.svm \
    >distinct.svm
refuses 2 "expected at most 10000 different names of labels" logistic train \
    distinct.svm --quiet

# Programs that require numbers
refuses 2 "two.svm: line 1: found '$(head -c 10 two.svm)', expected a label (a \
number)" lasso train two.svm --quiet
for how in "lasso train" "lasso path" "lasso cv" "svm train --loss epsilon"; do
    refuses 2 "expected a label (a number)" $how two.svm --quiet
done

# A path and its cross-validation, a start
for command in path cv; do
    for data in svm numbers; do
        gives 0 logistic $command two.$data --points 8 --ratio 0.05 --seed 3 \
            --model $data.json --quiet
    done
    alike svm.json numbers.json "$command"
    gives 0 logistic predict svm.json two.svm --write label
    says out Republican
done
for start in two three; do
    agrees logistic $start --lambda-ratio 0.1
    cp names.json first.json
    gives 0 logistic train --no-intercept $start.svm --lambda-ratio 0.1 --start first.json \
        --model again.json --log log.jsonl --quiet
    near "$(member again.json objective)" "$(member first.json objective)" \
        1e-6 "from its own solution"
done

# Compressed, on several nodes, simulated
gzip -c three.svm >three.svm.gz
zstd -q -f three.svm -o three.svm.zst
agrees svm three --loss hinge --deterministic --partitions 4
cp names.json one.json
for file in three.svm.gz three.svm.zst; do
    gives 0 svm train --no-intercept $file --loss hinge --deterministic --partitions 4 \
        --model z.json --quiet
    alike z.json one.json "$file"
done
gzip -c two.svm >two.svm.gz
for how in "svm --loss hinge --pools 4" "logistic --lambda-ratio 0.1" \
    "logistic --lambda-ratio 0.1 --multiclass softmax" \
    "sgd-logistic --staleness 0 --epochs 4"; do
    set -- ${how#* } --partitions 4
    case $how in
    sgd*) data=two labels=Democratic,Republican ;;
    *) data=three labels=Democratic,Republican,Whig
        set -- "$@" --deterministic ;;
    esac
    gives 0 "${how%% *}" train $data.svm "$@" --model one.json --quiet
    start first "${how%% *}" train $data.svm "$@" --workers 1 --nodes 3 \
        --listen tcp://127.0.0.1:0 --model nodes.json
    first=$child
    url=$(url_of first)
    start second join "$url" --workers 1
    second=$child
    start third join "$url" --workers 2 --data $data.svm.gz
    third=$child
    ends first "$first" 0
    ends second "$second" 0
    ends third "$third" 0
    alike nodes.json one.json "three processes, $how"
    says first.err "labels $labels"
done
gives 0 simulate logistic --no-intercept three.svm --workers 4 --quiet
gives 0 simulate sgd-logistic --no-intercept two.svm --workers 4 --epochs 1 --quiet

# A file of labels, of samples without them
awk 'NR % 5 == 0' two.svm >few.svm
awk '{ print $1 >"column"; n = split($0, f, " ")
    for (i = 2; i <= n; i++) { split(f[i], e, ":")
        print NR, e[1], e[2] >"body" }
    entries += n - 1; if (e[1] > most) most = e[1] }
    END { print "%%MatrixMarket matrix coordinate real general"
          print NR, most, entries }' few.svm >matrix.mtx
cat body >>matrix.mtx
gives 0 logistic train --no-intercept few.svm --lambda-ratio 0.1 --model rows.json --quiet
gives 0 logistic train --no-intercept matrix.mtx --labels column --lambda-ratio 0.1 \
    --model column.json --quiet
alike column.json rows.json "a file of labels"
gives 0 logistic evaluate column.json matrix.mtx --labels column
says out "class Democratic"

# Labels that the model does not know: other names, and numbers
gives 0 logistic evaluate rows.json three.svm
says out "$(grep -c Whig three.svm) of labels that the model does not know"
gives 0 logistic predict rows.json two.numbers --write label
says out Democratic
says err "$(wc -l <two.numbers | tr -d ' ') of them have labels that the model"
agrees logistic two --lambda-ratio 0.1
gives 0 logistic predict numbers.json two.svm
says err "of them have labels that the model does not know"

# show, and export for other programs
agrees logistic three --lambda-ratio 0.1
gives 0 logistic show names.json --csv weights.csv --top 3
says out "of label Whig"
grep -q '^0,(intercept),Democratic,' weights.csv || fail "no names in the CSV"
gives 0 data info three.svm
says out "labels       names, 3 different ones"
gives 0 data info three.svm --format json
says out '"named_labels": true' '"label_mean": null' '"distinct_labels": 3'
gives 0 logistic train --no-intercept three.svm --lambda-ratio 0.1 --model m.liblinear
says err "1 is Democratic, 2 is Republican, 3 is Whig"
says m.liblinear "label 1 2 3"
gives 0 logistic predict m.liblinear three.svm --write label --quiet
sed 's/1/Democratic/; s/2/Republican/; s/3/Whig/' out >by.liblinear
gives 0 logistic predict names.json three.svm --write label --quiet
cmp -s out by.liblinear || fail "liblinear's model predicts otherwise"
gives 0 svm train --no-intercept two.svm --loss hinge --model m.liblinear --quiet
[ ! -s err ] || fail "--quiet said $(cat err)"
says m.liblinear "label 2 1"
finish
