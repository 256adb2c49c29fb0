#!/bin/sh
# Output on a terminal, and output to a reader that closes: files are written
# before tables, progress is drawn by time, Ctrl-C leaves a clean line.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# If a reader closes, the model and other files are still written.
gone() {
    rm -f gone.json gone.csv
    { "$STRADS_BIN" "$@" --points 60 --ratio 0.02 --model gone.json --quiet ||
        :; } 2>err | : # without a reader
    [ -s gone.json ] || fail "$*: the model is lost with the table"
}
gone lasso path --no-intercept "$year_train" --coefficients gone.csv
[ -s gone.csv ] || fail "the coefficients are lost with the table"
gone lasso cv --no-intercept "$year_train" --folds 2

# Devices and pipes are written to directly.
gives 0 lasso train --no-intercept "$year_train" --model m.json --quiet
for output in "lasso predict m.json $year_test" \
    "lasso evaluate m.json $year_test" "lasso show m.json" \
    "lasso path --no-intercept $year_train --points 2 --quiet" "data info $year_train" \
    "data synth lasso /dev/null --rows 9 --columns 9 --entries 2 --support 1"
do
    case $output in
    *synth*) gives 0 $output ;;
    *) gives 0 $output --output /dev/null ;;
    esac
    [ ! -s out ] || fail "$output: wrote elsewhere than to a device"
done
[ -c /dev/null ] || fail "the device has been replaced"
mkfifo pipe
cat pipe >read &
gives 0 lasso show m.json --format csv --output pipe
wait $!
says read "column,name,value"
if [ -c /dev/full ]; then
    refuses 1 '/dev/full: No space left' lasso show m.json --output /dev/full
fi

# Each line of a log has the time, host, program and format version.
gives 0 lasso train --no-intercept "$year_train" --log run.jsonl --quiet
lines=$(wc -l <run.jsonl)
stamp='"schema": 1, "time": "20[0-9-]*T[0-9:.]*Z", "host": "[^"]*", "pid": [0-9]*}$'
same "$(grep -c "$stamp" run.jsonl)" "$lines" "lines with a stamp"

# A program that takes long between two reports.
cat >slow.c <<'END'
#include <strads/strads.h>
#include <unistd.h>
static strads_err update(strads_task *task)
{
    task->partial[0] = 1;
    return STRADS_OK;
}
static strads_err aggregate(strads_commit *commit)
{
    (void)usleep(1500000);
    commit->change[0] = commit->partial[0];
    return STRADS_OK;
}
static strads_err objective(void *state, strads_report *report)
{
    (void)state;
    report->objective = 1;
    return STRADS_OK;
}
static const strads_program slow = {.size = sizeof slow, .name = "slow",
                                    .update = update, .aggregate = aggregate,
                                    .objective = objective};
STRADS_EXPORT_PROGRAM(slow)
END
"${STRADS_CC:-cc}" -std=gnu17 -shared -fPIC -I"$STRADS_SOURCE/include" \
    -o slow.so slow.c
printf '1 1:1\n2 2:1\n' >two.svm

# If standard error is not a terminal, there is no progress line.
gives 0 run ./slow.so two.svm --max-rounds 1
! grep -q "$(printf '\r')" err || fail "progress in a pipe"

if command -v script >/dev/null; then
    # The terminal's output is stored in `seen`.
    cat >on_terminal <<'END'
echo $$ >number
exec "$STRADS_BIN" run ./slow.so two.svm --max-rounds 2000 --model t.json
END
    script -qefc "sh on_terminal" seen >/dev/null </dev/null &
    until_there " of 2000" seen
    # Lines are drawn during a round of one and a half seconds.
    tries=0
    until [ "$(tr '\r' '\n' <seen | grep -c '^round 0 of 2000')" -ge 3 ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || { fail "the line goes by rounds"; break; }
        sleep 0.05
    done
    until_there " left" seen # an estimate, once a round is done
    kill -INT "$(cat number)"
    wait $! || :
    says seen "stopping at the next commit" "the model is in t.json"
    # Each message starts on a new line: the progress line is erased first.
    tr '\r' '\n' <seen | grep "strads: " >told
    ! grep -v "^\(.\[K\)*strads: " told || fail "a line of progress is left"
fi
finish
