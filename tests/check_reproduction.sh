#!/bin/sh
# ./dev reproduce --quick draws all of its figures into one self-contained page
# that names the commands. The page in docs/ has the same figures, from a full
# run.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

STRADS_BUILD=$STRADS_BUILD python3 "$STRADS_SOURCE/bench/reproduce.py" --quick \
    --output quick.html >out 2>err || fail "reproduce: $(cat err)"
headings() { grep -o '<h2>[^<]*</h2>' "$1"; }
whole=$STRADS_SOURCE/docs/reproduction.html
headings quick.html >quick.titles
headings "$whole" >whole.titles
[ "$(wc -l <quick.titles)" -eq 8 ] || fail "figures: $(cat quick.titles)"
cmp -s quick.titles whole.titles ||
    fail "docs/reproduction.html has other figures: run ./dev reproduce"
says quick.html "A quick run"
for page in quick.html "$whole"; do
    grep -qE '(src|href)=|@import|url\(' "$page" && fail "$page needs other files"
    [ "$(grep -c '<summary>[1-9]' "$page")" -eq 8 ] || fail "$page: commands"
    grep -qE '>(nan|inf)<|M"' "$page" && fail "$page: a number is none"
done
grep -q "A quick run" "$whole" && fail "docs/reproduction.html is of a quick run"
grep -q "$STRADS_SOURCE" "$whole" && fail "docs/reproduction.html names a folder"
finish
