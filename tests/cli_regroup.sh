#!/bin/sh
# Runs of four processes under strads launch. Random ones, including process 0,
# are killed (SIGKILL) repeatedly. The run continues from its checkpoints, no
# other process ends, and the result equals that of an undisturbed run.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

KILLS=${KILLS:-3} # per run; ./dev soak has more
if [ -n "$STRADS_SANITIZE" ]; then # slow enough for as many with less to do
    SWEEPS=${SWEEPS:-200} EPOCHS=${EPOCHS:-500}
fi
seed=${SEED:-$$}
echo "SEED=$seed"

random() { # BELOW: sets $drawn to the next random number of the seed
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 65536 % $1))
}

objective_in() { sed -n 's/.*"event": "end".*"objective": \([^,]*\),.*/\1/p' "$1"; }

# killed NAME WORDS...: launches them and kills KILLS of its processes.
killed() {
    name=$1
    shift
    start "$name" launch --processes 4 --workers 1 --max-restarts 1000 -- "$@" \
        --partitions 4 --reconnect 1 --checkpoint "$name" \
        --checkpoint-every 0.2s --log "$name.jsonl"
    launched=$child
    until_there '"event": "round"' "$name.jsonl"
    n=0
    while [ "$n" -lt "$KILLS" ]; do
        random 5
        sleep "0.$drawn"
        pids=$(ps -o pid= --ppid "$launched") || break
        grep -q '"event": "end"' "$name.jsonl" && break
        # shellcheck disable=SC2086 # numbers
        set -- $pids
        random $#
        shift "$drawn"
        kill -KILL "$1" 2>/dev/null && n=$((n + 1))
    done
    ends "$name" "$launched" 0
    says "$name.err" "was ended by signal 9" "is started again"
    echo "$name: $n kills"
    [ "$n" -ge 2 ] || fail "$name: $n kills were in time: make it longer"
}

# slowed NAME WORDS...: on two processes of two partitions each. The second one
# gets so little processor time that it is slow on any machine, so it gives a
# partition to the first.
slowed() {
    run=$1
    shift
    start "$run" "$@" --partitions 4 --workers 1 --nodes 2 \
        --listen tcp://127.0.0.1:0 --checkpoint "$run" --checkpoint-every 0.2s
    first=$child
    start "$run.slow" join "$(url_of "$run")" --workers 1
    slow=$child
    while ! grep -q "a node is slow" "$run.err" && kill -0 "$first"; do
        kill -STOP "$slow" && sleep 0.8 && kill -CONT "$slow" && sleep 0.05
    done 2>/dev/null
    ends "$run" "$first" 0
    ends "$run.slow" "$slow" 0
    says "$run.err" "a node is slow: another one takes over some of its partitions"
    says "$run.slow.err" "a node is slow" "now keeps"
}

# Rounds: the same certified optimum
far="--lambda-ratio 0.00002 --tolerance 1e-5"
# shellcheck disable=SC2086 # words
gives 0 lasso train --no-intercept "$year_train" $far --partitions 4 --log whole.jsonl
# shellcheck disable=SC2086 # words
killed lasso lasso train --no-intercept "$year_train" $far --model lasso.json
near "$(objective_in lasso.jsonl)" "$(objective_in whole.jsonl)" 2e-6 "lasso"

# Programs with several phases per step: Newton steps on the free rows of the
# dual and turns of a softmax; a process may die between two phases
awk 'BEGIN { srand(5); for (i = 0; i < 6000; i++) { l = ""
    for (j = 1 + int(rand() * 60); j <= 1500; j += 1 + int(rand() * 120))
        l = l " " j ":" sprintf("%.4f", rand() + .5)
    print (rand() > .4 ? 1 : -1) l >"two.svm"
    print substr("abc", 1 + int(rand() * 3), 1) l >"three.svm" } }'
gives 0 svm train two.svm --c 10 --tolerance 1e-9 --log whole.jsonl
KILLS=3 killed svm svm train two.svm --c 10 --tolerance 1e-9
near "$(objective_in svm.jsonl)" "$(objective_in whole.jsonl)" 4e-9 "svm"
softmax="--loss multinomial --lambda-ratio 0.02 --classes a,b,c"
# shellcheck disable=SC2086 # words
gives 0 glm train three.svm $softmax --log whole.jsonl
# shellcheck disable=SC2086 # words
KILLS=3 killed softmax glm train three.svm $softmax
near "$(objective_in softmax.jsonl)" "$(objective_in whole.jsonl)" 4e-6 "softmax"

# Rings: the same bits
lda="--topics 20 --sweeps ${SWEEPS:-600}"
documents=$STRADS_SOURCE/data/docword.sotu-tiny.txt
# shellcheck disable=SC2086 # words
gives 0 lda train "$documents" $lda --partitions 4 --model whole.model
# shellcheck disable=SC2086 # words
killed lda lda train "$documents" $lda --model lda.model
cmp -s whole.model.npy lda.model.npy || fail "lda: other bits"
# shellcheck disable=SC2086 # words
slowed slow lda train "$documents" $lda --model slow.model
cmp -s whole.model.npy slow.model.npy || fail "lda: other bits with a slow node"

mf="--tune 0 --rank 20 --sweeps $((${SWEEPS:-600} * 5 / 2)) --patience 100000 --tolerance 1e-15"
ratings=$STRADS_SOURCE/data/unvotes-tiny.txt
# shellcheck disable=SC2086 # words
gives 0 mf train "$ratings" $mf --partitions 4 --model whole.mf
# shellcheck disable=SC2086 # words
killed mf mf train "$ratings" $mf --model mf.model
for part in users items; do
    cmp -s "whole.mf.$part.npy" "mf.model.$part.npy" || fail "mf: other $part"
done

# Loops: the same bits at staleness 0
sgd="--staleness 0 --epochs ${EPOCHS:-1500} --seed 1"
# shellcheck disable=SC2086 # words
gives 0 sgd-logistic train --no-intercept "$party" $sgd --partitions 4 --model whole.sgd
# shellcheck disable=SC2086 # words
killed sgd sgd-logistic train --no-intercept "$party" $sgd --model sgd.model
sed -n '/"values"/,/\]/p; /"index"/,/\]/p' whole.sgd >whole.values
sed -n '/"values"/,/\]/p; /"index"/,/\]/p' sgd.model | cmp -s - whole.values ||
    fail "sgd-logistic: other bits"
# shellcheck disable=SC2086 # words
slowed slower sgd-logistic train --no-intercept "$party" $sgd --model slow.sgd
sed -n '/"values"/,/\]/p; /"index"/,/\]/p' slow.sgd | cmp -s - whole.values ||
    fail "sgd-logistic: other bits with a slow node"
[ -s whole.values ] || fail "no values: $(head -c 300 whole.sgd)"

# shellcheck disable=SC2086 # words
{
    net="--hidden 16 --columns 2 --batch 64 --epochs $((${EPOCHS:-1500} / 5)) --seed 1"
    gives 0 net train "$party" $net --partitions 4 --classes=-1,1 --model whole.net
    killed net net train "$party" $net --classes=-1,1 --model net.model
}
sed -n '/"values"/,/\]/p; /"index"/,/\]/p' whole.net >whole.values
sed -n '/"values"/,/\]/p; /"index"/,/\]/p' net.model | cmp -s - whole.values ||
    fail "net: other bits"
[ -s whole.values ] || fail "no values: $(head -c 300 whole.net)"

# A ledger of integers: no entry is lost or counted twice, at any clock of any
# reader, whatever was read and written when a process was killed.
cat >ledger.c <<'END'
#include <math.h>
#include <stdlib.h>
#include <strads/strads.h>

enum { SUMS = 0, LINES = 1, STALENESS = 2 };
typedef struct entries { uint64_t made; int open; } entries;

static strads_err begin(const strads_task *task, void **local)
{
    (void)task;
    *local = calloc(1, sizeof(entries));
    return *local ? STRADS_OK : strads_fail(STRADS_ENOMEM, "no memory");
}
static strads_err pack(const void *local, strads_bytes *out)
{
    const entries *e = local;
    return e->open ? strads_bytes_append(out, &e->made, sizeof e->made)
                   : STRADS_OK;
}
static strads_err unpack(strads_task *task, const void *bytes, size_t size,
                         void **local)
{
    strads_err err = begin(task, local);
    if (!err && size == sizeof(uint64_t))
        ((entries *)*local)->made = *(const uint64_t *)bytes;
    return err;
}
/* Partition q's line at clock c of a reader: all clocks that are older than the
 * staleness, and none that q cannot have come to yet. */
static strads_err audit(strads_session *session, uint32_t q, uint64_t c,
                        uint32_t staleness)
{
    int64_t line;
    strads_err err =
        strads_session_read_row(session, LINES, q, staleness, &line);
    const int64_t least = (int64_t)c - staleness, most = (int64_t)c + 1 + staleness;
    if (!err && (line < least || line > most))
        err = strads_fail(STRADS_EPROGRAM, "at clock %llu the ledger has %lld "
                          "entries of partition %u", (unsigned long long)c,
                          (long long)line, q);
    return err;
}
static strads_err run(strads_task *task, strads_session *session)
{
    entries *e = task->local;
    const uint64_t clocks = *(const uint64_t *)task->config;
    const uint32_t p = task->share->partition, n = task->shape->partitions;
    const uint32_t rows = (uint32_t)task->shape->parameters;
    strads_err err = STRADS_OK;
    e->open = 1;
    if (e->made != strads_session_now(session))
        err = strads_fail(STRADS_EPROGRAM, "partition %u goes on at clock %llu "
                          "with %llu entries", p,
                          (unsigned long long)strads_session_now(session),
                          (unsigned long long)e->made);
    for (uint64_t c = e->made; !err && c < clocks; c++) {
        (void)strads_loop_ends(task);
        err = audit(session, (uint32_t)((p + c) % n), c, STALENESS);
        if (!err)
            err = strads_session_inc(session, SUMS,
                                     (uint32_t)((31 * c + 17 * p) % rows), 0, p + 1);
        if (!err)
            err = strads_session_inc(session, LINES, p, 0, 1);
        e->made++;
        if (!err)
            err = strads_session_clock(session);
        const strads_report report = {.objective = (double)c, .gap = NAN};
        if (!err && p == 0 && c % 500 == 0)
            strads_loop_report(task, &report);
    }
    e->open = 0;
    if (!err)
        err = strads_session_barrier(session);
    for (uint32_t q = 0; !err && q < n; q++)
        err = audit(session, q, clocks, 0);
    return err;
}
static strads_err tables(const void *config, const strads_shape *shape,
                         strads_store *store)
{
    const strads_table_spec lines = {.name = "lines", .rows = shape->partitions,
                                     .cols = 1, .type = STRADS_I64};
    (void)config;
    return strads_store_create(store, &lines, &(uint32_t){0});
}
static const strads_option options[] = {
    {"clocks", STRADS_OPTION_U64, 0, "N", "how many", 1, 1e9}, {.name = NULL}};
static const strads_program ledger = {
    .size = sizeof ledger, .name = "ledger", .summary = "whole numbers",
    .layout = STRADS_LAYOUT_ROWS, .options = options,
    .config_size = sizeof(uint64_t), .defaults = &(const uint64_t){1000},
    .tables = tables, .open = begin, .close = free, .pack = pack,
    .unpack = unpack, .run = run};
STRADS_EXPORT_PROGRAM(ledger)
END
"$STRADS_CC" -std=gnu17 -O1 -shared -fPIC -I"$STRADS_SOURCE/include" ledger.c \
    -o ledger.so
clocks=$((${EPOCHS:-1500} * 8))
killed ledger run ./ledger.so "$party" --clocks $clocks --model ledger.model
sed -n 's/.*"value": \[\(.*\)\].*/\1/p' ledger.model | tr ',' '\n' |
    awk -v clocks=$clocks '{ n += $1 } END { exit n != 10 * clocks }' ||
    fail "ledger: entries are lost or doubled"

# A worker is silent for so long that the run continues without it. When it
# wakes, it is notified and joins again. Measured from SIGKILL to the next
# round.
start first lasso train --no-intercept "$year_train" $endless \
    --partitions 3 --workers 1 --nodes 2 --listen "ipc://$folder/first.sock" \
    --reconnect 0.5 --model first.json --log first.jsonl
first=$child
until_there "strads join" first.err
start second join "ipc://$folder/first.sock" --workers 1
second=$child
until_there '"event": "round"' first.jsonl
kill -STOP "$second"
until_there "the run continues from its last checkpoint" first.err
kill -CONT "$second"
until_there "continued without this node" second.err
until_there "now keeps" second.err
start third join "ipc://$folder/first.sock" --workers 1
third=$child
until_there "keeps " third.err
rounds() { grep -c '"event": "round"' first.jsonl; }
until_there '"event": "round"' first.jsonl "$(($(rounds) + 2))"
before=$(rounds)
from=$(date +%s%N)
kill -KILL "$third"
until_there '"event": "round"' first.jsonl "$((before + 2))"
echo "from SIGKILL of a worker to a round behind it:" \
    "$((($(date +%s%N) - from) / 1000000)) ms"
kill -INT "$first"
ends first "$first" 130
ends second "$second" 0
gives 0 lasso predict first.json "$year_test"

# Stopped by the user while the nodes join again and one of them is missing:
# the current model
start first lasso train --no-intercept "$year_train" $endless \
    --workers 1 --nodes 3 --listen "ipc://$folder/again.sock" \
    --reconnect 60 --model again.json --log again.jsonl
first=$child
until_there "strads join" first.err
start second join "ipc://$folder/again.sock" --workers 1
second=$child
start third join "ipc://$folder/again.sock" --workers 1
third=$child
until_there '"event": "round"' again.jsonl
kill -STOP "$second"
kill -KILL "$third"
until_there "the run continues from its last checkpoint" first.err
kill -INT "$first"
ends first "$first" 130
gives 0 lasso predict again.json "$year_test"
kill -KILL "$second"

# Processes are lost one after the other, and no membership epoch makes a
# checkpoint: the run does not restart forever.
start first lda train "$documents" --topics 20 --sweeps 1000000 --partitions 12 \
    --workers 1 --nodes 12 --listen tcp://127.0.0.1:0 --reconnect 1 \
    --checkpoint vain --checkpoint-every 600s --log vain.jsonl
first=$child others=
url=$(url_of first)
for node in 1 2 3 4 5 6 7 8 9 10 11; do
    start "node$node" join "$url" --workers 1
    others="$others $child"
done
lost=0
until_there '"event": "round"' vain.jsonl
for node in $others; do # one epoch each
    lost=$((lost + 1))
    [ "$lost" -le 10 ] || break
    kill -KILL "$node"
    [ "$lost" -lt 10 ] || break
    until_there "the run continues from its last checkpoint" first.err "$lost"
    before=$(grep -c '"event": "round"' vain.jsonl)
    until_there '"event": "round"' vain.jsonl "$((before + 1))"
done
ends first "$first" 1
says first.err "the run lost a node 10 times in a row before it made progress"
finish
