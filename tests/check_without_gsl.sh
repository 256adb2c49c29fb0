#!/bin/sh
# With -DSTRADS_GSL=OFF the command builds, links no GSL and reports its absence;
# the commands that need GSL fail with one sentence, and all others work. So do,
# with -DSTRADS_NNG=OFF, the options that need nng.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail()
{
    printf '%s\n' "$*"
    exit 1
}

# Only the command is built.
{
    cmake -S "$STRADS_SOURCE" -B build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG= \
        -DSTRADS_GSL=OFF -DSTRADS_NNG=OFF -DSTRADS_TESTS=OFF -DSTRADS_BENCH=OFF
    cmake --build build -j 2 --target strads-command
} >build.log 2>&1 || {
    tail -n 40 build.log
    exit 1
}
strads=build/bin/strads

! ldd "$strads" | grep -q libgsl || fail "the command links GSL"
"$strads" --version >version
grep -q '^strads [0-9.]* (without GSL: ' version || fail "--version does not report GSL"
"$STRADS_BIN" --version | grep -q '(with GSL: .*GNU GPL' ||
    fail "--version of the default build does not name the licence"

# refuses WHAT ARGUMENTS...: exit code 2, one sentence, nothing written
refuses()
{
    what=$1 code=0
    shift
    "$strads" "$@" >out 2>err || code=$?
    [ $code -eq 2 ] || fail "strads $*: exit code $code"
    [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
    grep -q "^strads: $what needs GSL.*-DSTRADS_GSL=ON$" err || fail "$(cat err)"
}
refuses "strads data synth" data synth lasso design --rows 10 --columns 20
[ ! -e design ] || fail "a file was written"

data=$STRADS_SOURCE/data/sotu-tiny
"$strads" lda train "$STRADS_SOURCE/data/docword.sotu-tiny.txt" --topics 3 --sweeps 2 \
    --model topics.json --log lda.jsonl --quiet
refuses "the map of a model's topics" report lda.jsonl topics.json --output page
[ ! -e page ] || fail "a page was written"
"$strads" report lda.jsonl --output page
grep -q '</html>' page || fail "no page"

for words in "join ws://127.0.0.1:1/run" "join wss://localhost/run --insecure" \
    "lasso train $data-year.train.svm --publish ipc://$scratch/log"; do
    code=0
    # shellcheck disable=SC2086 # words
    "$strads" $words >out 2>err || code=$?
    [ $code -eq 2 ] && [ "$(grep -c "this build has no nng to .*-DSTRADS_NNG=ON$" err)" -eq 1 ] ||
        fail "strads $words: exit code $code: $(cat err)"
done

"$strads" doctor >out
grep -A1 '^note  *nng  *this build does not use it' out | grep -q STRADS_NNG=ON ||
    fail "doctor: $(cat out)"

"$strads" lasso train $data-year.train.svm --lambda-ratio 0.02 --model m.json \
    --quiet
"$strads" data synth lasso --help | grep -q -- --rows || fail "no help"
