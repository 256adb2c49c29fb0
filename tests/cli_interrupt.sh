#!/bin/sh
# Ctrl-C and SIGTERM end a run at its next commit: the model so far is whole.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# A run that has far to go.
for signal in INT TERM; do
    interrupts m "$signal" lasso train "$year_train" --partitions 2 \
        --lambda-ratio 1e-6 --tolerance 1e-15
    gives 0 lasso predict m.json "$year_test"
    same "$(wc -l <out)" 373 "predictions of an interrupted model"
    [ -z "$(ls ./*.part 2>/dev/null)" ] || fail "a part of a model was left"
done

# A second Ctrl-C does not wait for anything: the data never comes.
mkfifo slow
start slow lasso train slow --model slow.json
exec 3>slow # opens when strads has opened the other end
kill -INT "$child"
until_there 'once more ends at once' slow.err
kill -INT "$child"
ends slow "$child" 130
exec 3>&-
[ ! -e slow.json ] || fail "a run that never began left a model"

# One Ctrl-C before the first sweep: there is no model yet, and it is said.
start early mf train slow --model early.json
exec 3>slow
kill -INT "$child"
until_there 'once more ends at once' early.err
cat "$STRADS_SOURCE/data/unvotes-tiny.txt" >&3
exec 3>&-
ends early "$child" 130
says early.err 'before its first sweep'
[ ! -e early.json ] || fail "a run without a sweep left a model"
finish
