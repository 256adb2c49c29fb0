#!/bin/sh
# strads run --check: small wrong programs that used to "converge" to a wrong
# answer, or to crash without a message, get a message that names the error.
# All are examples/ridge with one mistake.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

ridge=$STRADS_SOURCE/examples/ridge/ridge.c

# wrong NAME SED TEXT: the edited ridge is refused with a message that contains
# TEXT.
wrong() {
    sed "$2" "$ridge" >"$1.c"
    cmp -s "$1.c" "$ridge" && fail "$1 has no mistake"
    "${STRADS_CC:-cc}" -std=gnu17 -w -O1 -shared -fPIC \
        -I"$STRADS_SOURCE/include" "$1.c" -o "$1.so"
    rm -f model.json
    refuses "${4:-1}" "$3" run --check "$1.so" "$year_train" --model model.json
    [ ! -e model.json ] || fail "$1 left a model"
}

wrong no_refresh '/^    \.refresh = /d' \
    'which is worse: it has no refresh, so its workers'
wrong no_shape '/^    \.shape = /d' \
    'of the first parameter of a block alone, and blocks have up to 64'
wrong no_partial '/^    \.partial = /d' \
    'update, block of parameter 0, partition 0: it writes beyond the 1 numbers'
wrong short_partial 's/return 3;/return 2;/' \
    'it writes beyond the 2 numbers of its partial: `partial` returns their number'
wrong no_change '/commit->change\[0\] = d;/d' \
    'sets commit->change in no aggregate: fill in change'
wrong wide_change 's/commit->change\[0\] = d;/&commit->change[1] = d;/' \
    'aggregate, block of parameter 0: it writes beyond the 1 numbers of commit'
wrong each_share 's/    task->partial\[1\] = .*;/&\
    task->partial[0] += 2;/' 'ends with another result on three partitions than on one'
wrong static_state 's/    double \*r = task->local;/    static double seen;\
    double *r = task->local; r[0] += 1e-9 * ++seen;/' \
    'other numbers'
wrong crash 's/    const double \*r = task->local;/&\
    if (j == 7) *(volatile int *)8 = 1;/' \
    'crashes (Segmentation fault) in update, block of parameter 7, partition 0'
wrong gives_up 's/    ridge_state \*s = state;/&\
    abort();/' 'crashes (Aborted) in objective'
wrong leaves 's/    const double \*r = task->local;/&\
    if (j == 7) exit(0);/' 'ends the process with exit code 0'
# Also without --check
sed '/^    \.aggregate = /d' "$ridge" >contradicts.c
"${STRADS_CC:-cc}" -std=gnu17 -w -O1 -shared -fPIC \
    -I"$STRADS_SOURCE/include" contradicts.c -o contradicts.so
refuses 2 'an update, but no aggregate that would change a parameter' \
    run contradicts.so "$year_train"

# A correct program passes, and trains
"${STRADS_CC:-cc}" -std=gnu17 -O1 -shared -fPIC -I"$STRADS_SOURCE/include" \
    "$ridge" -o ridge.so
gives 0 run ridge.so "$year_train" --check --model right.json
says err 'checked ridge on ' 'nothing wrong was found' 'converged'

# The simplest program: a name and four callbacks, from one header. Each
# parameter becomes its column's sum.
cat >simplest.c <<'END'
#include <strads/program.h>
static strads_err update(strads_task *task)
{
    const strads_sparse *x = &task->share->by_col;
    const uint32_t j = strads_block_param(&task->block, 0);
    for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
        task->partial[0] += strads_sparse_value(x, e);
    return STRADS_OK;
}
static strads_err aggregate(strads_commit *commit)
{
    commit->change[0] = commit->partial[0] - commit->value[0];
    return STRADS_OK;
}
static strads_err one(const void *config, const strads_data *data,
                      strads_shape *shape)
{
    (void)config, (void)data;
    shape->block_max = 1;
    return STRADS_OK;
}
static strads_err objective(void *state, strads_report *report)
{
    (void)state;
    report->objective = report->gap = 0;
    return STRADS_OK;
}
static const strads_program simplest = {
    .size = sizeof simplest, .name = "simplest", .shape = one,
    .update = update, .aggregate = aggregate, .objective = objective};
STRADS_EXPORT_PROGRAM(simplest)
END
"${STRADS_CC:-cc}" -std=c11 -Wall -Wextra -Werror -shared -fPIC \
    -I"$STRADS_SOURCE/include" simplest.c -o simplest.so
gives 0 run --check simplest.so "$year_train" --policy cyclic --model sums.json
awk "$read_model"'
{ for (k = 2; k <= NF; k++) { split($k, e, ":"); sum[e[1]] += e[2] } }
END {
    for (j in sum) {
        d = value_of[j] - sum[j]
        if (d < -1e-9 || d > 1e-9) exit 1
        n++
    }
    exit n < 1000
}' sums.json "$year_train" || fail "the sums of the simplest program are wrong"
finish
