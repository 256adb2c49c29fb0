#!/bin/sh
# Ctrl-C and SIGTERM end a run at its next commit, with a complete model.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# A long run.
for signal in INT TERM; do
    interrupts m "$signal" lasso train --no-intercept "$year_train" --partitions 2 \
        $endless
    gives 0 lasso predict m.json "$year_test"
    same "$(wc -l <out)" 373 "predictions of an interrupted model"
    [ -z "$(ls ./*.part 2>/dev/null)" ] || fail "a part of a model was left"
done

# All processes of a run get the signal at once, as by scancel, a time limit,
# or Ctrl-C at mpirun; or only one that is not node 0. The current model is
# written.
three() { # NAME WORDS...: three processes; their numbers go to $all
    name3=$1
    shift
    rm -f "$name3.json" "$name3.jsonl"
    start "$name3" "$@" --workers 1 --nodes 3 --partitions 3 \
        --listen "ipc://$folder/$name3.sock" --model "$name3.json" \
        --log "$name3.jsonl"
    all=$child
    url3=$(url_of "$name3")
    start "$name3-2" join "$url3" --workers 1
    all="$all $child"
    start "$name3-3" join "$url3" --workers 1
    all="$all $child"
    until_there '"event": "round"' "$name3.jsonl"
}
all_stop() { # NAME SIGNALLED: signals these; all end without an error, with a
             # model
    # shellcheck disable=SC2086 # numbers
    kill -TERM $2
    number=0
    for one in $all; do
        ends "$1 $((number += 1))" "$one" "$([ "$number" -gt 1 ] && echo 0 || echo 130)"
    done
    says "$1.err" "interrupted" "the model is in $1.json"
}
far="$endless"
# shellcheck disable=SC2086 # words
for _ in 1 2 3 4 5; do
    three all lasso train --no-intercept "$year_train" $far
    all_stop all "$all"
    gives 0 lasso predict all.json "$year_test"
    three some lasso train --no-intercept "$year_train" $far
    all_stop some "${all##* }"
    three turn lasso train --no-intercept "$year_train" $far
    all_stop turn "${all#* } ${all%% *}" # the others first
done
three loop sgd-logistic train --no-intercept "$party" --epochs 1000000
all_stop loop "$all"
three topics lda train "$STRADS_SOURCE/data/docword.sotu-tiny.txt" \
    --topics 5 --sweeps 1000000
all_stop topics "$all"

# Node 0 does not answer: the others leave in time
# shellcheck disable=SC2086 # words
three deaf lasso train --no-intercept "$year_train" $far
kill -STOP "${all%% *}"
kill -TERM "${all##* }"
ends deaf-3 "${all##* }" 130
says deaf-3.err "has not ended the run within 10 s"
kill -KILL "${all%% *}"

# A second Ctrl-C ends at once, although the data never comes.
mkfifo slow
start slow lasso train --no-intercept slow --model slow.json
exec 3>slow # opens when strads has opened the other end
kill -INT "$child"
until_there 'once more ends at once' slow.err
kill -INT "$child"
ends slow "$child" 130
exec 3>&-
[ ! -e slow.json ] || fail "a run that never began left a model"

# One Ctrl-C before the first sweep: the command reports that there is no model
# yet.
start early mf train slow --tune 0 --model early.json
exec 3>slow
kill -INT "$child"
until_there 'once more ends at once' early.err
cat "$STRADS_SOURCE/data/unvotes-tiny.txt" >&3
exec 3>&-
ends early "$child" 130
says early.err 'before its first sweep'
[ ! -e early.json ] || fail "a run without a sweep left a model"
finish
