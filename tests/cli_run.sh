#!/bin/sh
# strads run: a program from a shared object, with its own options. It finds
# each column's sum and number of entries, and awk checks them.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

cat >sums.c <<'END'
#include <math.h>
#include <stdlib.h>
#include <strads/strads.h>

typedef struct sums_options { double scale; bool fail; } sums_options;
typedef struct sums_state { double moved; } sums_state;

static strads_err sums_shape(const void *config, const strads_data *data,
                             strads_shape *shape)
{
    (void)config; (void)data;
    shape->width = 2;
    return STRADS_OK;
}

static strads_err sums_begin(const void *config, const strads_data *data,
                             const strads_shape *shape, void **state)
{
    (void)config; (void)data; (void)shape;
    *state = calloc(1, sizeof(sums_state));
    return *state ? STRADS_OK : strads_fail(STRADS_ENOMEM, "no memory");
}

static strads_err sums_update(strads_task *task)
{
    const strads_sparse *x = &task->share->by_col;
    for (uint32_t k = 0; k < task->block.n; k++) {
        uint32_t j = strads_block_param(&task->block, k);
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            task->partial[2 * k] += x->f64[e];
            task->partial[2 * k + 1] += 1;
        }
    }
    return STRADS_OK;
}

static strads_err sums_aggregate(strads_commit *commit)
{
    const sums_options *o = commit->config;
    sums_state *state = commit->state;
    if (o->fail)
        return strads_fail(STRADS_EPROGRAM, "sums was asked to fail");
    for (uint32_t k = 0; k < 2 * commit->block.n; k++) {
        double scale = k % 2 ? 1 : o->scale;
        commit->change[k] = scale * commit->partial[k] - commit->value[k];
        state->moved += fabs(commit->change[k]);
    }
    return STRADS_OK;
}

static strads_err sums_objective(void *user, strads_report *report)
{
    sums_state *state = user;
    report->objective = NAN;
    report->gap = state->moved;
    report->measure[0] = 2.5;
    state->moved = 0;
    return STRADS_OK;
}

static const strads_option table[] = {
    {.name = "scale", .kind = STRADS_OPTION_F64,
     .offset = offsetof(sums_options, scale), .metavar = "A",
     .help = "what each sum is multiplied by (default: 1)",
     .min = 0, .max = 100},
    {.name = CLASH, .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(sums_options, fail), .help = "fail (default: no)"},
    {.name = NULL}};
static const sums_options defaults = {.scale = 1};
static const char *const measures[] = {"twos", "nothing", NULL};

static const strads_program sums = {
    .size = sizeof(strads_program), .name = "sums",
    .summary = "adds columns up", .options = table,
    .config_size = sizeof(sums_options), .defaults = &defaults,
    .shape = sums_shape, .begin = sums_begin, .end = free,
    .update = sums_update, .aggregate = sums_aggregate,
    .objective = sums_objective, .measures = measures,
    .partition_entries = 30000};
STRADS_EXPORT_PROGRAM(sums)
END
# build OUT WORDS...: the program as a shared object; it uses the engine in the
# command.
build() {
    "${STRADS_CC:-cc}" -std=gnu17 -shared -fPIC -I"$STRADS_SOURCE/include" \
        -o "$@"
}
build sums.so sums.c -DCLASH='"fail"'

gives 0 run sums.so --help
says out "adds columns up" "sums:" "--scale=A" "--fail" "--workers=N"
gives 0 --complete run sums.so --sca
same "$(cut -f 1 out)" --scale "run sums.so --sca<TAB>"
gives 0 run sums.so --print-config --scale 3
says out '"scale": 3' '"fail": false' '"tolerance"'
refuses 2 'unknown option --scael; did you mean --scale?' \
    run sums.so "$year_train" --scael 1
refuses 2 '--scale 101: expected 0 to 100' run sums.so x --scale 101

# The model: program, options, width, rows of values
gives 0 run ./sums.so "$year_train" --scale 0.5 --model s.json --seed 2 \
    --policy cyclic --workers 2 --partitions 3 --log s.jsonl
says s.jsonl '"twos": 2.5, "nothing": null,'
says s.json '"program": "sums"' '"width": 2' '"scale": 0.5' '"seed": 2' \
    '"objective": null'
awk "$read_model"'
{ for (k = 2; k <= NF; k++) {
      split($k, e, ":"); sum[e[1]] += e[2]; count[e[1]]++ } }
END {
    for (j = 1; 2 * j <= values; j++) {
        d = value_of[2 * j - 1] - sum[j] / 2
        if (d < -1e-9 || d > 1e-9 || value_of[2 * j] != count[j]) exit 1
    }
    exit values != 4000
}' s.json "$year_train" || fail "the sums are wrong"

# The default number of partitions: 61486 entries make two
for workers in 1 2 4; do
    gives 0 run ./sums.so "$year_train" --policy cyclic --workers $workers \
        --log k.jsonl --model k.json
    case $workers in
    1) K=1 told="; 1 worker, seed" ;;
    2) K=2 told="; 2 workers, seed" ;;
    4) K=2 told="; 2 of 4 workers (more would not pay), seed" ;;
    esac
    says err "$told"
    says k.jsonl "\"workers\": $K, \"partitions\": $K"
    says k.json "\"partitions\": $K"
done
gives 0 run ./sums.so "$year_train" --policy cyclic --workers 4 --partitions 3
says err "; 3 of 4 workers (a partition each), seed"

# Built against a header with one slot less at the end, it runs as before; also
# against a newer header, unless it uses unknown slots
changed() { # changed NAME AWK FILE: program.h edited, NAME.so built of FILE
    mkdir -p "$1/strads"
    cp "$STRADS_SOURCE"/include/strads/*.h "$1/strads"
    awk "$2" "$STRADS_SOURCE/include/strads/program.h" >"$1/strads/program.h"
    "${STRADS_CC:-cc}" -std=gnu17 -shared -fPIC -I"$1" -o "$1.so" "$3" \
        -DCLASH='"fail"'
}
changed older '
    { line[++n] = $0 }
    /^    [a-z].*;/ { last = n }
    /^} strads_program;/ { line[last] = "" }
    END { for (k = 1; k <= n; k++) print line[k] }' sums.c
cmp -s older/strads/program.h "$STRADS_SOURCE/include/strads/program.h" &&
    fail "no slot was taken away"
newer='
    /^} strads_program;/ { print "    uint64_t unheard_of;" }
    { print }'
changed newer "$newer" sums.c
sed 's/\.partition_entries/.unheard_of = 1, &/' sums.c >asks.c
changed asks "$newer" asks.c
for age in older newer; do
    gives 0 run ./$age.so "$year_train" --scale 0.5 --policy cyclic --seed 2 \
        --workers 2 --partitions 3 --model aged.json
    same "$(grep '"value"' aged.json)" "$(grep '"value"' s.json)" \
        "the sums of a program of $age headers"
done
refuses 2 'set members that this library' run ./asks.so "$year_train"

# The same on two processes: a joining process must load the program
"$STRADS_BIN" run sums.so "$year_train" --scale 0.5 --policy cyclic \
    --workers 1 --partitions 3 --nodes 2 --listen "ipc://$folder/sums.sock" \
    --model two.json 2>two.err </dev/null &
first=$!
gives 0 join "ipc://$folder/sums.sock" --program sums.so --workers 1
says err "program sums"
code=0
wait "$first" || code=$?
same "$code" 0 "the exit code of a program on two processes"
says two.err "1 more process: strads join ipc://" ".sock --program FILE.so"
same "$(grep '"value"' two.json)" "$(grep '"value"' s.json)" \
    "the sums of two processes"

# A start from the optimum; a model of another shape is refused
gives 0 run ./sums.so "$year_train" --scale 0.5 --start s.json --model t.json
says t.json '"width": 2'
sed 's/"width": 2,//; s/\("index": \[\).*/\11],/; s/\("value": \[\).*/\12]/' \
    s.json >narrow.json
refuses 2 'has 1 values for each coefficient, this run needs 2' \
    run sums.so "$year_train" --start narrow.json --model u.json
[ ! -e u.json ] || fail "a start of another shape left a model"

# Commands for linear models refuse two numbers a parameter.
for words in "show s.json" "predict s.json $year_test" \
    "evaluate s.json $year_test"; do
    # shellcheck disable=SC2086 # words
    refuses 2 'program sums has 2 numbers for each parameter; predict' $words
done

# lasso predict refuses that model; and a failing program
refuses 2 'model of program sums, expected one of lasso' \
    lasso predict s.json "$year_test"
run run sums.so "$year_train" --fail --model f.json --log f.jsonl
same "$code" 1 "the exit code of a program that fails"
says err "strads: sums was asked to fail"
says f.jsonl '"reason": "error"'
[ ! -e f.json ] || fail "a program that failed left a model"

# Objects without a program
build clash.so sums.c -DCLASH='"seed"'
refuses 2 'two options are called --seed' run clash.so "$year_train"
echo 'int nothing;' >empty.c
build empty.so empty.c
refuses 2 'exports no program' run empty.so "$year_train"
sed 's/== STRADS_PROGRAM_ABI/== 77/; s/STRADS_EXPORT_PROGRAM(sums)/const \
strads_program *strads_program_entry(uint32_t abi) \
{ return abi == 77 ? \&sums : NULL; }/' sums.c >later.c
build later.so later.c -DCLASH='"fail"'
refuses 2 'was built for another version' run later.so "$year_train"
finish
