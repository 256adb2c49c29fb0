#!/bin/sh
# strads data pack: a pack is read in place of text by every command for samples,
# with the same bits, also by several processes; bad packs, full disks and kills.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# pack NAME WORDS...: packs to NAME.pack and leaves nothing else.
pack() {
    name=$1
    shift
    gives 0 data pack "$@" --output "$name.pack"
    [ -z "$(find . -name '*.part')" ] || fail "$name: a temporary file is left"
}

# same_info ONE TWO: the files hold the same, as far as both report it.
same_info() {
    for file in "$1" "$2"; do
        gives 0 data info "$file"
        grep -v -e ^file -e ^format -e ^packed out >"info.$file.txt" || :
    done
    cmp -s "info.$1.txt" "info.$2.txt" || fail "$1 and $2 hold other data"
}

cp "$year_train" year.svm
cp "$year_test" year_test.svm
cp "$party" party.svm
pack year year.svm
pack year_test year_test.svm
pack party party.svm
for name in year party; do
    same_info $name.svm $name.pack
done
says out "pack"

# Training, predictions and measures have the same bits.
for fit in "lasso year --lambda-ratio 0.01 --deterministic" \
    "glm year --lambda 0.01 --deterministic" \
    "logistic party --lambda 0.001 --deterministic" \
    "svm party --deterministic" \
    "sgd-logistic party --lambda 0.001 --epochs 3"; do
    # shellcheck disable=SC2086
    set -- $fit
    program=$1
    data=$2
    shift 2
    for kind in svm pack; do
        gives 0 $program train $data.$kind "$@" --workers 1 \
            --seed 3 --model $kind.json
        gives 0 $program predict $kind.json $data.$kind
        cp out $kind.predicted
        gives 0 $program evaluate $kind.json $data.$kind
        cp out $kind.measures
    done
    same_bits "$program" svm.json pack.json
    cmp -s svm.predicted pack.predicted || fail "$program: other predictions"
    cmp -s svm.measures pack.measures || fail "$program: other measures"
done
gives 0 lasso path year.pack --points 5 --workers 1
cut -d, -f 1-3 out >pack.path
gives 0 lasso path year.svm --points 5 --workers 1
cut -d, -f 1-3 out >svm.path
cmp -s svm.path pack.path || fail "another path"

# Several processes read the same pack.
for kind in svm pack; do
    start first lasso train year.$kind --lambda-ratio 0.01 --seed 5 \
        --partitions 4 --deterministic --workers 1 --nodes 2 \
        --listen tcp://127.0.0.1:0 --model nodes.$kind.json
    first=$child
    start second join "$(url_of first)" --workers 1
    second=$child
    ends first "$first" 0
    ends second "$second" 0
done
same_bits "two processes" nodes.svm.json nodes.pack.json

# Inputs one behind the other, compressed ones and packs among them; tables.
cat party.svm "$party_test" >both.svm
gzip -c "$party_test" >test.svm.gz
pack both party.pack test.svm.gz
same_info both.svm both.pack
pack small both.svm --memory 9M --workers 2
same_info both.svm small.pack
printf 'colour,size,y\nred,1,3\nblue,,4\nred,2,5\ngreen,7,1\n' >table.csv
table="--target y --categorical one-hot --missing mean"
pack table table.csv $table
gives 0 lasso train table.csv $table --lambda 0.1 --workers 1 --model csv.json
gives 0 lasso train table.pack --lambda 0.1 --workers 1 --model packed.json
for model in csv packed; do
    gives 0 lasso predict $model.json table.csv
    cp out $model.predicted
    gives 0 lasso show $model.json
    cp out $model.shown
done
cmp -s csv.predicted packed.predicted || fail "a table: other predictions"
cmp -s csv.shown packed.shown || fail "a table: other names"
gives 0 lasso predict csv.json table.pack
cmp -s out csv.predicted || fail "a packed table: other predictions"

# Weights.
awk '{ print NR % 3 }' year.svm >weights
pack weighted year.svm --weights weights
gives 0 lasso train weighted.pack --lambda 0.001 --workers 1 --model one.json
gives 0 lasso train year.svm --lambda 0.001 --workers 1 --weights weights \
    --model two.json
same_bits "weights in the pack" one.json two.json

# What is refused.
refuses 2 "--output is missing" data pack year.svm
refuses 2 "is missing" data pack --output x.pack
refuses 2 "same file" data pack year.svm --output year.svm
refuses 2 "cannot be read" data pack none.svm --output x.pack
printf 'fox 1:1\n' >words.svm
refuses 2 "names as labels" data pack year.svm words.svm --output x.pack
printf '1 1:1 1:2\n' >twice.svm
refuses 2 "line 1" data pack twice.svm --output x.pack
printf '1 4294967296:1\n' >wide.svm
refuses 2 "4294967296" data pack --output x.pack wide.svm
refuses 2 "is a pack" lasso train year.pack --target y
refuses 2 "a pack of samples" lda train year.pack --topics 3
head -c 5000 year.pack >cut.pack
refuses 2 "cut short" lasso train cut.pack
{ head -c 8 year.pack; printf '\002'; tail -c +10 year.pack; } >new.pack
refuses 2 "version 2" data info new.pack
{ head -c 5000 year.pack; printf XXXX; tail -c +5005 year.pack; } >bad.pack
refuses 2 "chunk 0 of 1" lasso train bad.pack
refuses 2 "chunk 0 of 1" data info bad.pack
[ ! -e x.pack ] || fail "a refused input left a pack"

# A read-only folder, a full disk.
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked
    chmod 555 locked
    refuses 2 "cannot be written" data pack year.svm --output locked/x.pack
fi
if [ -e /dev/full ]; then
    refuses 2 "not a plain file" data pack year.svm --output /dev/full
fi
(
    ulimit -f 100
    trap '' XFSZ
    code=0
    "$STRADS_BIN" data pack year.svm -o full.pack 2>err || code=$?
    [ "$code" -eq 1 ] || [ "$code" -eq 2 ]
) || fail "a pack that exceeds the disk"
[ -z "$(find . -name 'full.pack*')" ] || fail "half of a pack is left"

finish
