#!/bin/sh
# Bad input: one message, exit code 2, and no model file.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# bad TEXT FILE: training on it is refused with a message that contains TEXT.
bad() {
    text=$1 file=$2
    refuses 2 "$text" lasso train "$file" --model m.json --lambda 0.1 --quiet
    says err "$file"
    [ ! -e m.json ] || fail "$file: a model was written"
    rm -f m.json
}

# bad_line LINE CONTENT [TEXT]: a LIBSVM file with an error in that line.
bad_line() {
    line=$1
    printf '%b' "$2" >d.svm
    bad "${3-}" d.svm
    case $(cat err) in
    *"line $line"* | *":$line:"*) ;;
    *) fail "line $line is not named: $(cat err)" ;;
    esac
}

# Files
bad 'cannot be' none.svm
: >empty.svm
bad '' empty.svm
bad 'directory' /tmp
head -c 20000 "$STRADS_BIN" >junk.svm
bad '' junk.svm
gzip -c "$year_test" >whole.gz
head -c 20000 whole.gz >cut.gz
bad '' cut.gz
printf '\037\213junk that is no gzip at all' >fake.gz
bad '' fake.gz
printf '\n\n\n' >blank.svm
bad '' blank.svm

# Indices
bad_line 2 '1 1:1\n1 0:1\n'
bad_line 1 '1 -3:1\n'
bad_line 3 '1 1:1\n1 1:1\n1 5:1 4:1\n'
bad_line 2 '1 1:1\n1 5:1 5:1\n'
bad_line 1 '1 9223372036854775809:1\n'
bad_line 1 '1 99999999999999999999999:1\n'
bad_line 1 '1 one:1\n'
bad_line 1 '1 1\n'

# A few bytes that request more memory than there is: refused with the needs of
# the whole run, before memory is allocated.
printf '1 1:1 4294967294:1\n' >wide.svm
refuses 1 'need 377957121876 bytes of memory at least' lasso train wide.svm \
    --lambda 0.1 --model m.json --quiet
[ ! -e m.json ] || fail "wide.svm: a model was written"
printf '1 1:1\n0 50000000:1\n' >wide.svm
for program in lasso logistic svm; do
    refuses 1 ' bytes of memory at least' $program train wide.svm \
        --memory 3G --quiet
    says err '3600000000 to work on' '3204448256 may be used' \
        'allow more (--memory)'
done
refuses 1 '104857600 may be used' data info wide.svm --memory 100M
refuses 1 '104857600 may be used' data info wide.svm --memory 100MiB
refuses 1 '104857600 may be used' data info wide.svm --memory 100MB
# The data alone would fit, but not together with the parameters of logistic
# regression.
printf '1 1:1\n0 100000:1\n' >wide.svm
refuses 1 'program logistic needs about 2' logistic train \
    wide.svm --no-intercept --lambda 0.1 --memory 25.9M --quiet
gives 0 lasso train --no-intercept wide.svm --lambda 0.1 --memory 30M --quiet
for size in 1x -3 G 1e30 ''; do
    refuses 2 '--memory' lasso train wide.svm --memory "$size"
done

# Values and labels
bad_line 1 '1 1:nan\n'
bad_line 2 '1 1:1\n1 1:inf\n'
bad_line 2 '1 1:1\n1 1:-Inf\n'
bad_line 1 '1 1:1e400\n'
bad_line 1 '1 1:abc\n'
bad_line 1 '1 1:\n'
bad_line 2 '1 1:1\nnan 1:1\n'
bad_line 2 '1 1:1\nfoo 1:1\n'
bad_line 2 '1 1:1\n1:1 2:1\n'
bad_line 1 '1e400 1:1\n'

# A line of 100 MB that is not data
{
    printf '1 1:1 '
    head -c 100000000 /dev/zero | tr '\0' '7'
} >long.svm
bad 'line 1' long.svm
[ "$(wc -c <err)" -le 1100 ] || fail "the sentence repeats the long line"
rm -f long.svm

# MatrixMarket
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n' \
    >m.mtx
bad '' m.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n' \
    >m.mtx
bad '' m.mtx
printf '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n' \
    >m.mtx
bad '' m.mtx

# `data info` and `predict` read the same files
refuses 2 none.svm data info none.svm
refuses 2 empty.svm data info empty.svm
refuses 2 cut.gz data info cut.gz

# Models
cat >good.json <<'END'
{"format": "strads-model", "version": 1, "program": "lasso", "columns": 5,
 "intercept": 0, "coefficients": {"index": [2], "value": [0.5]},
 "options": {}, "fit": {"objective": 1, "gap": 0, "rounds": 1, "seconds": 0,
 "seed": 0, "partitions": 1}}
END
printf '1 2:4\n' >one.svm
gives 0 lasso predict good.json one.svm
same "$(cat out)" 2 "the prediction of a row"
# bad_model TEXT SED: the good model, changed.
bad_model() {
    text=$1
    sed "$2" good.json >bad.json
    refuses 2 "$text" lasso predict bad.json one.svm --output p.txt
    says err bad.json
    refuses 2 "$text" lasso train one.svm --start bad.json --model m.json
    [ ! -e p.txt ] && [ ! -e m.json ] || fail "$text: something was written"
}
bad_model 'program svm, expected one of lasso' 's/lasso/svm/'
bad_model 'version 2, this strads reads version 1' \
    's/"version": 1/"version": 2/'
bad_model 'is not JSON' '4d'
bad_model 'entry 1 of "index"' 's/\[2\]/[6]/'
bad_model 'entry 1 of "index"' 's/\[2\]/[0]/'
bad_model '1 indices and 2 values' 's/\[0.5\]/[0.5, 1]/'
bad_model 'is not JSON' 's/0\.5/NaN/'
bad_model 'is not a model file: "format" is "other"' 's/strads-model/other/'
refuses 2 'none.json: cannot be read' lasso predict none.json one.svm
refuses 2 'is not JSON' lasso predict "$year_test" one.svm
refuses 2 'directory' lasso predict /tmp one.svm

# Unwritable paths are found before the run
refuses 2 'cannot be written' lasso train one.svm --model none/m.json
refuses 2 'it is a directory' lasso train one.svm --model /tmp
refuses 2 'not a plain file' lasso train one.svm --model /dev/null
refuses 2 'cannot be written' lasso train one.svm --log none/r.jsonl
refuses 2 'cannot be written' lasso predict good.json one.svm --output none/p

refuses 2 'cannot be written' lasso train one.svm --trace none/t.json
refuses 2 'not a plain file' lasso train one.svm --trace /dev/null
refuses 2 'is no plain file' lasso train one.svm --weights /dev/null --quiet

cp one.svm keep.svm
cp good.json keep.json
same_file='is the same file as'
refuses 2 "$same_file the argument one" lasso train one.svm --model one.svm
refuses 2 "$same_file" lasso train one.svm --log ./one.svm
refuses 2 "$same_file" lasso train one.svm --trace "$folder/one.svm"
refuses 2 "$same_file" lasso path one.svm --svg one.svm
refuses 2 "$same_file" lasso predict good.json one.svm --output one.svm
refuses 2 "$same_file" lasso predict good.json one.svm --output good.json
refuses 2 "$same_file" lasso show good.json --csv good.json
refuses 2 "$same_file --log" lasso train one.svm --model n.json --log n.json
cmp -s one.svm keep.svm || fail "the data was overwritten"
cmp -s good.json keep.json || fail "the model was overwritten"

# A path that was writable and then is not counts as a failed run.
if [ -c /dev/full ]; then
    corpus=$STRADS_SOURCE/data/docword.sotu-tiny.txt
    votes=$STRADS_SOURCE/data/unvotes-tiny.txt
    gives 0 lda train "$corpus" --topics 2 --sweeps 1 --model lda.json
    gives 0 mf train "$votes" --tune 0 --sweeps 1 --model mf.json
    for words in "lasso predict good.json one.svm" "lasso show good.json" \
        "lasso evaluate good.json one.svm" "lda topics lda.json" \
        "lda infer lda.json $corpus" "lda evaluate lda.json $corpus" \
        "mf predict mf.json $votes" "mf evaluate mf.json $votes" \
        "mf recommend mf.json --user 0" "mf show mf.json" \
        "data info one.svm" "lasso path one.svm --quiet --points 2" --help; do
        code=0
        "$STRADS_BIN" $words >/dev/full 2>err || code=$?
        same "$code" 1 "the exit code of $words on a full disk"
        says err "strads: standard output"
    done
    code=0
    "$STRADS_BIN" simulate lasso --no-intercept "$year_train" --cost 1 \
        --max-rounds 1 >/dev/full 2>err || code=$?
    same "$code" 1 "the exit code of a simulation that nobody reads"
    says err "strads: standard output"
fi

# A trace that exceeds its limit does not prevent the model. The command
# inherits the ignored signal, so the write fails instead.
trap '' XFSZ
ulimit -S -f 8
gives 1 lasso train --no-intercept one.svm --partitions 2 --trace t.json --model traced.json \
    --quiet
says err "t.json"
ulimit -S -f 0
gives 1 simulate lasso --no-intercept one.svm --workers 2 --save-cost cost.json
ulimit -S -f unlimited
votes=$STRADS_SOURCE/data/unvotes-tiny.txt
gives 0 mf train "$votes" --tune 0 --rank 2 --sweeps 1 --model old.json --quiet
cp old.json.users.npy users.npy
printf '2 0:3 1:2\n1 1:4\n' >few.ldac
gives 0 lda train few.ldac --topics 400 --sweeps 1 --model words.json --quiet
cp words.json.npy counts.npy
ulimit -S -f 8 # users and counts fit, items and topics do not
gives 1 mf train "$votes" --tune 0 --rank 2 --sweeps 2 --model old.json --quiet
gives 1 lda train few.ldac --topics 400 --sweeps 3 --seed 5 \
    --model words.json --quiet
ulimit -S -f unlimited
trap - XFSZ
cmp -s old.json.users.npy users.npy || fail "half a model was replaced"
gives 0 mf show old.json
cmp -s words.json.npy counts.npy || fail "half a topic model was replaced"
gives 0 lda topics words.json
[ ! -e words.json.npy.part ] && [ ! -e words.json.part ] ||
    fail "half a topic model was left behind"
[ -s traced.json ] || fail "a trace that could not be written cost the model"
[ ! -e t.json ] || fail "half a trace was left"

# Programs
refuses 2 'none.so: cannot be loaded' run none.so one.svm
refuses 2 'it is not a shared object; build one with `cc -shared' \
    run one.svm one.svm
refuses 2 'an argument is missing' run

finish
