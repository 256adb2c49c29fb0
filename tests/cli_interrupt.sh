#!/bin/sh
# Ctrl-C and SIGTERM end a run at its next commit: the model so far is whole.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

child=
trap '[ -z "$child" ] || kill -KILL "$child" 2>/dev/null || :
      rm -rf "$folder"' EXIT

# A run that has far to go.
for signal in INT TERM; do
    rm -f m.json r.jsonl
    "$STRADS_BIN" lasso train "$year_train" --lambda-ratio 1e-6 \
        --tolerance 1e-15 --model m.json --log r.jsonl 2>err </dev/null &
    child=$!
    tries=0
    until grep -q '"event": "round"' r.jsonl 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || { fail "the run has no rounds"; break; }
        sleep 0.05
    done
    kill -"$signal" "$child"
    code=0
    wait "$child" || code=$?
    child=
    same "$code" 130 "the exit code after SIG$signal"
    says err "interrupted" "the model is in m.json"
    says r.jsonl '"event": "end", "reason": "interrupted"'
    gives 0 lasso predict m.json "$year_test"
    same "$(wc -l <out)" 373 "predictions of an interrupted model"
    [ -z "$(ls ./*.part 2>/dev/null)" ] || fail "a part of a model was left"
done

# A second Ctrl-C does not wait for anything: the data never comes.
mkfifo slow
"$STRADS_BIN" lasso train slow --model slow.json 2>slow.err </dev/null &
child=$!
exec 3>slow # opens when strads has opened the other end
kill -INT "$child"
tries=0
until grep -q 'once more ends at once' slow.err; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { fail "the first Ctrl-C was not answered"; break; }
    sleep 0.05
done
kill -INT "$child"
code=0
wait "$child" || code=$?
child=
exec 3>&-
same "$code" 130 "the exit code after a second SIGINT"
[ ! -e slow.json ] || fail "a run that never began left a model"
finish
