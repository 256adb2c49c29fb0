#!/bin/sh
# Builds the program in docs/c.md with the page's command, with shared
# libraries and with archives, and expects the objective of the command.
. "$STRADS_SOURCE/tests/example_harness.shlib"

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' \
    "$STRADS_SOURCE/docs/c.md" >train.c
# shellcheck disable=SC2046 # words
"$STRADS_CC" -std=c17 -Wall -Wextra -Werror train.c \
    $(pkg-config --cflags --libs strads) -Wl,-rpath,"$libdir" -o train
./train "$year_train" >told || fail "train ended with exit code $?"
gives 0 lasso train "$year_train" --lambda-ratio 0.02 \
    --model best.json
near "$(sed -n 's/^objective \([0-9.]*\),.*/\1/p' told)" \
    "$(member best.json objective)" 3e-6 "the objective of the page's program"
# Also without shared libraries: Debian's libxxhash.a lacks the functions that
# choose by processor.
# shellcheck disable=SC2046 # words
"$STRADS_CC" -std=c17 -static train.c \
    $(pkg-config --cflags --static --libs strads) -o static 2>static.err ||
    fail "a static link: $(grep -v warning static.err | tail -n 3)"
./static "$year_train" >told || fail "static ended with exit code $?"
near "$(sed -n 's/^objective \([0-9.]*\),.*/\1/p' told)" \
    "$(member best.json objective)" 3e-6 "the objective without shared libraries"
./train nowhere.svm >out 2>err && fail "a file that is not there was read"
grep -q nowhere.svm err || fail "no sentence names the file: $(cat err)"
finish
