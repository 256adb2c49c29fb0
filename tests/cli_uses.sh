#!/bin/sh
# Every option has an effect: options that a program does not use are refused,
# on the command line and in a file; choices are listed; models of user-defined
# programs predict.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# refused PROGRAM DATA OPTION VALUE: on the command line, in a file, in the
# help, in --print-config.
refused() {
    refuses 2 "--$3: program $1 has no use for it" $1 train "$2" "--$3" "$4"
    case $4 in [a-z]*) value="\"$4\"" ;; *) value=$4 ;; esac
    echo "{\"$3\": $value}" >c.json
    refuses 2 "--$3: program $1 has no use for it" $1 train "$2" --config c.json
    gives 0 $1 train --print-config
    ! grep -q "\"$3\"" out || fail "$1 --print-config prints $3"
    cp out all.json
    gives 0 $1 train --config all.json --print-config
    cmp -s out all.json || fail "$1: a printed configuration reads back changed"
    gives 0 $1 train --help
    ! grep -q -e "--$3[ =]" out || fail "$1 --help lists --$3"
}
for program in lasso logistic glm svm; do
    refused $program "$party" threshold 0.5
done
for program in lda mf; do
    refused $program "$party" threshold 0.5
    refused $program "$party" policy cyclic
    refused $program "$party" schedulers 2
    refused $program "$party" depth 1
done

gives 0 glm train --help
tr -s " \n" " " <out >words
says words "squared, logistic, multinomial, squared-hinge, poisson, gamma, tweedie, huber, quantile, cox, cox-efron or ordinal" \
    "l1, elastic-net, ridge, group, sparse-group, mcp, scad or none"
gives 0 lasso train "$year_train"
says err "no --model was given: the model is not kept"
gives 0 lasso train "$year_train" --model m.json
! grep -q "not kept" err || fail "a kept model: $(cat err)"

# A program that finds each column's sum; its shape depends on defaults that
# the engine has filled in.
cat >sums.c <<'END'
#include <strads/strads.h>

static strads_err shape(const void *config, const strads_data *data,
                        strads_shape *shape)
{
    (void)config;
    if (shape->rows != strads_data_rows(data) ||
        shape->cols != strads_data_cols(data))
        return strads_fail(STRADS_EPROGRAM, "shape is not filled in");
    shape->block_max = 64 / shape->partitions / shape->pools +
                       shape->blocks / shape->partitions;
    return STRADS_OK;
}

static strads_err update(strads_task *task)
{
    const strads_sparse *x = &task->share->by_col;
    for (uint32_t k = 0; k < task->block.n; k++) {
        uint32_t j = strads_block_param(&task->block, k);
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
            task->partial[k] += x->f64[e];
    }
    return STRADS_OK;
}

#ifdef LACKS
#define AGGREGATE
#else
static strads_err aggregate(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = commit->partial[k] - commit->value[k];
    return STRADS_OK;
}
#define AGGREGATE .aggregate = aggregate,
#endif

static const strads_phase phases[] = {
    {.name = "add", .when = STRADS_WHEN_POLICY, AGGREGATE .update = update}};
static const strads_program sums = {.size = sizeof sums,
                                    .name = "sums",
                                    .kind = STRADS_KIND_SAMPLES,
                                    .layout = STRADS_LAYOUT_COLS,
                                    .shape = shape,
                                    .phases = phases,
                                    .n_phases = 1};
STRADS_EXPORT_PROGRAM(sums)
END
for name in sums lacks; do
    flag=
    [ $name = sums ] || flag=-DLACKS
    # shellcheck disable=SC2086 # none or one
    "$STRADS_CC" -std=c17 -O2 -Wall -Wextra -Werror $flag -shared -fPIC \
        -I"$STRADS_SOURCE/include" sums.c -o $name.so
done
printf '1 1:2 3:1\n3 1:1 2:4\n' >few.svm
for words in "" "--partitions 2 --workers 2" "--blocks 3"; do
    # shellcheck disable=SC2086 # words
    gives 0 run sums.so few.svm --max-rounds 9 --policy cyclic --model s.json \
        $words
done
refuses 2 "a POLICY phase has no aggregate" run lacks.so few.svm --check
refuses 2 "--threshold: program sums has no use for it" run sums.so few.svm \
    --threshold 0.5

# Its model is linear: w = 3, 4, 1.
gives 0 show s.json
says out "sums, 3 columns, 3 with weights"
gives 0 predict s.json few.svm
same "$(tr '\n' ' ' <out)" "7 19 " "predictions of a program of one's own"
gives 0 evaluate s.json few.svm
says out "rows         2" RMSE
# Models of built-in programs are handled by their own kind.
gives 0 logistic train "$party" --lambda-ratio 0.1 --model l.json
for verb in predict evaluate show; do
    data=$party
    [ $verb != show ] || data=
    # shellcheck disable=SC2086 # none or one
    gives 0 $verb l.json $data
    cp out any
    # shellcheck disable=SC2086 # none or one
    gives 0 logistic $verb l.json $data
    cmp -s any out || fail "strads $verb differs from strads logistic $verb"
done
finish
