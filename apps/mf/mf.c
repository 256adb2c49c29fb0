/* Matrix factorisation as a program: what is computed where, phase by phase.
 *
 *     count    how many ratings there are     -> which are held out
 *     survey   sums by item                   -> mean, deviation, first biases
 *     bias     sums by item, users' biases out -> biases
 *     build    ratings into cells              -> errors of the biases alone
 *     epoch    RING: one pass of SGD           -> does the sweep stand?
 *     meet, spread, solve                      instead of it: see mf_rows.c
 *     rank, fill                               or these: see mf_ranks.c
 *     test     RING: errors on --test
 *     report   to nobody: progress
 *     items    RING: factors into the table
 *     users    factors to the coordinator, a piece at a time
 *
 * Items are dealt to the blocks by how often they are rated, on every node
 * alike, when the survey is merged. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "mf_parts.h"

/* ---- sizes ------------------------------------------------------------- */

/* Blocks whose factors fit the second cache, and enough of them that laps
 * overlap, as many for each partition, so that none waits where it is sent one
 * at a time; places in a block have 16 bits. */
static uint64_t wanted_blocks(const strads_mf_options *o, uint64_t items,
                              uint32_t partitions)
{
    const uint32_t stride = mf_stride(o->rank);
    const uint64_t bytes = items * stride * sizeof(float);
    const uint64_t most = stride > 64 ? 1 << 20 : 1 << 19;
    uint64_t blocks = (bytes + most - 1) / most;

    if (blocks < items / 60000 + 1)
        blocks = items / 60000 + 1;
    if (partitions > 1 && blocks < 2 * (uint64_t)partitions)
        blocks = 2 * (uint64_t)partitions;
    if (mf_by_rows(o) && blocks < mf_rows_blocks(o, items, partitions))
        blocks = mf_rows_blocks(o, items, partitions);
    if (partitions > 1)
        blocks = (blocks + partitions - 1) / partitions * partitions;
    return blocks < items || items == 0 ? blocks : items;
}

/* Before others are asked to come, and anything is read. */
static strads_err check_test(const strads_mf_options *o)
{
    FILE *file = o->test ? fopen(o->test, "re") : NULL;
    struct stat info;
    strads_err err = STRADS_OK;

    if (o->test && (!file || fstat(fileno(file), &info) != 0))
        err = strads_fail(STRADS_EIO, "%s: cannot be read: %s", o->test,
                          strerror(errno));
    else if (o->test && !S_ISREG(info.st_mode))
        err = strads_fail(STRADS_EINVAL,
                          "%s: is no plain file, and each partition reads the "
                          "ratings of the test",
                          o->test);
    if (file)
        (void)fclose(file);
    return err;
}

static strads_err mf_shape(const void *config, const strads_data *data,
                           strads_shape *shape)
{
    strads_mf_options o;
    strads_err err = mf_options_resolve(config, &o);
    const uint64_t items = strads_data_cols(data);

    if (!err)
        err = check_test(&o);
    if (err)
        return err;
    shape->parameters = items;
    shape->width = 1 + o.rank;
    shape->block_max = UINT32_MAX;
    if (!shape->blocks_given)
        shape->blocks = (uint32_t)wanted_blocks(&o, items, shape->partitions);
    if (shape->blocks && items / shape->blocks >= UINT16_MAX)
        return strads_fail(STRADS_EINVAL,
                           "%llu items in %u blocks: a block has up to %d, "
                           "make more of them",
                           (unsigned long long)items, shape->blocks,
                           UINT16_MAX);
    return STRADS_OK;
}

/* ---- what came back ---------------------------------------------------- */

static strads_err mf_counted(strads_commit *commit)
{
    mf_state *s = commit->state;

    s->next = MF_SURVEY;
    return STRADS_OK;
}

static strads_err keep_counts(mf_state *s, const double *count)
{
    const size_t bytes = sizeof(*count) * s->items;

    s->item_n = malloc(bytes + 1);
    if (!s->item_n)
        return mf_no_memory("items", bytes);
    memcpy(s->item_n, count, bytes);
    return STRADS_OK;
}

static strads_err mf_surveyed(strads_commit *commit)
{
    mf_state *s = commit->state;
    strads_err err = mf_scale_take(&s->options, commit->partial, &s->scale);

    s->next = s->options.no_biases ? MF_BUILD : MF_BIAS;
    if (!err && mf_by_ranks(&s->options))
        err = keep_counts(s, commit->partial + MF_SUMS);
    return err ? err
               : strads_cut_deal(s->items, commit->partial + MF_SUMS, s->blocks,
                                 s->partitions, &s->cut);
}

static strads_err mf_biased(strads_commit *commit)
{
    mf_state *s = commit->state;

    s->next = MF_BUILD;
    return STRADS_OK;
}

static strads_err mf_built(strads_commit *commit)
{
    mf_state *s = commit->state;
    const double held = commit->partial[MF_HELD_N];

    s->sum[MF_HELD_N] = held;
    s->test_rmse = NAN;
    s->course.each = mf_lambda_each(&s->options, &s->scale, s->users, s->items);
    mf_course_begin(&s->course, s->scale.n,
                    commit->partial[MF_LOSS] / s->scale.n,
                    held > 0 ? commit->partial[MF_HELD_LOSS] / held : NAN);
    s->objective = NAN;
    mf_preparation_ends(s);
    s->next = mf_by_rows(&s->options) ? MF_SPREAD : mf_sweep_of(s);
    return STRADS_OK;
}

static strads_err mf_swept(strads_commit *commit)
{
    mf_state *s = commit->state;

    for (size_t k = 0; k < MF_HELD_N; k++)
        s->sum[k] += commit->partial[k];
    if (++s->added < s->sent)
        return STRADS_OK;
    mf_lap_ends(s);
    if (s->sent < s->blocks)
        return STRADS_OK;
    s->sent = 0;
    const bool stands = mf_sweep_judge(&s->course, s->sum, &s->scale);
    s->next = stands && s->options.test ? MF_TEST : MF_REPORT;
    return STRADS_OK;
}

static strads_err mf_tested(strads_commit *commit)
{
    mf_state *s = commit->state;

    for (size_t k = 0; k < MF_TESTS; k++)
        s->test[k] += commit->partial[k];
    if (++s->added < s->blocks)
        return STRADS_OK;
    s->test_rmse =
        s->scale.sd * sqrt(s->test[MF_TEST_SQUARES] / s->test[MF_TEST_N]);
    s->next = MF_REPORT;
    return STRADS_OK;
}

static strads_err mf_told(strads_commit *commit)
{
    mf_state *s = commit->state;

    s->added = 0;
    s->next = mf_course_over(&s->course) ? MF_ITEMS : mf_sweep_of(s);
    return STRADS_OK;
}

static strads_err mf_items_home(strads_commit *commit)
{
    mf_state *s = commit->state;

    if (++s->added < s->blocks)
        return STRADS_OK;
    s->next = MF_USERS;
    s->user = calloc(s->users * (s->options.rank + 1) + 1, sizeof(float));
    return s->user ? STRADS_OK
                   : mf_no_memory("users' factors",
                                  4 * s->users * (s->options.rank + 1));
}

static strads_err mf_users_home(strads_commit *commit)
{
    mf_state *s = commit->state;
    const uint64_t row = sizeof(float) * (s->options.rank + 1);
    const uint64_t n = commit->partial_bytes / row;

    if (s->users_home + n > s->users)
        return strads_fail(STRADS_EPROGRAM, "more users came than there are");
    memcpy((char *)s->user + s->users_home * row, commit->partial, n * row);
    s->users_home += n;
    return STRADS_OK;
}

/* ---- the table --------------------------------------------------------- */

static const strads_phase phases[] = {
    [MF_COUNT] = {.name = "count",
                  .when = STRADS_WHEN_CALLED,
                  .result = STRADS_RESULT_WORKERS,
                  .blind = true,
                  .still = true,
                  .partial = mf_partial_count,
                  .update = mf_update_count,
                  .aggregate = mf_counted,
                  .receive = mf_receive_count},
    [MF_SURVEY] = {.name = "survey",
                   .when = STRADS_WHEN_CALLED,
                   .result = STRADS_RESULT_WORKERS,
                   .blind = true,
                   .still = true,
                   .partial = mf_partial_survey,
                   .update = mf_update_survey,
                   .aggregate = mf_surveyed,
                   .receive = mf_receive_survey},
    [MF_BIAS] = {.name = "bias",
                 .when = STRADS_WHEN_CALLED,
                 .result = STRADS_RESULT_WORKERS,
                 .blind = true,
                 .still = true,
                 .partial = mf_partial_bias,
                 .update = mf_update_bias,
                 .aggregate = mf_biased,
                 .receive = mf_receive_bias},
    [MF_BUILD] = {.name = "build",
                  .when = STRADS_WHEN_CALLED,
                  .result = STRADS_RESULT_WORKERS,
                  .blind = true,
                  .still = true,
                  .partial = mf_partial_losses,
                  .update = mf_update_build,
                  .aggregate = mf_built,
                  .receive = mf_receive_build},
    [MF_EPOCH] = {.name = "epoch",
                  .to = STRADS_TO_RING,
                  .when = STRADS_WHEN_CALLED,
                  .result = STRADS_RESULT_WORKERS,
                  .blind = true,
                  .still = true,
                  .partial = mf_partial_losses,
                  .update = mf_update_epoch,
                  .aggregate = mf_swept,
                  .receive = mf_receive_epoch},
    [MF_SPREAD] = {.name = "spread",
                   .to = STRADS_TO_RING,
                   .when = STRADS_WHEN_CALLED,
                   .blind = true,
                   .still = true,
                   .partial = mf_partial_none,
                   .update = mf_update_spread,
                   .aggregate = mf_spread_done},
    [MF_SOLVE] = {.name = "solve",
                  .when = STRADS_WHEN_CALLED,
                  .result = STRADS_RESULT_WORKERS,
                  .blind = true,
                  .still = true,
                  .partial = mf_partial_solve,
                  .update = mf_update_solve,
                  .aggregate = mf_solved,
                  .receive = mf_receive_solve},
    [MF_MEET] = {.name = "meet",
                 .to = STRADS_TO_RING,
                 .when = STRADS_WHEN_CALLED,
                 .blind = true,
                 .still = true,
                 .partial = mf_partial_none,
                 .update = mf_update_meet,
                 .aggregate = mf_met},
    [MF_RANK] = {.name = "rank",
                 .when = STRADS_WHEN_CALLED,
                 .result = STRADS_RESULT_WORKERS,
                 .blind = true,
                 .still = true,
                 .partial = mf_partial_rank,
                 .update = mf_update_rank,
                 .aggregate = mf_ranked,
                 .receive = mf_receive_rank},
    [MF_FILL] = {.name = "fill",
                 .to = STRADS_TO_RING,
                 .when = STRADS_WHEN_CALLED,
                 .result = STRADS_RESULT_WORKERS,
                 .blind = true,
                 .still = true,
                 .partial = mf_partial_losses,
                 .update = mf_update_fill,
                 .aggregate = mf_filled,
                 .receive = mf_receive_fill},
    [MF_TEST] = {.name = "test",
                 .to = STRADS_TO_RING,
                 .when = STRADS_WHEN_CALLED,
                 .blind = true,
                 .still = true,
                 .partial = mf_partial_test,
                 .update = mf_update_test,
                 .aggregate = mf_tested},
    [MF_REPORT] = {.name = "report",
                   .to = STRADS_TO_NOBODY,
                   .when = STRADS_WHEN_CALLED,
                   .reports = true,
                   .blind = true,
                   .still = true,
                   .aggregate = mf_told},
    [MF_ITEMS] = {.name = "items",
                  .to = STRADS_TO_RING,
                  .when = STRADS_WHEN_CALLED,
                  .partial = mf_partial_none,
                  .update = mf_update_items,
                  .aggregate = mf_items_home},
    [MF_USERS] = {.name = "users",
                  .when = STRADS_WHEN_CALLED,
                  .merge = STRADS_MERGE_CONCAT,
                  .blind = true,
                  .still = true,
                  .partial = mf_partial_users,
                  .update = mf_update_users,
                  .aggregate = mf_users_home},
};

const strads_program strads_program_mf = {.size = sizeof(strads_program),
                                          .name = "mf",
                                          .summary = "matrix factorisation",
                                          .split = STRADS_SPLIT_ROWS,
                                          .layout = STRADS_LAYOUT_ROWS,
                                          .kind = STRADS_KIND_RATINGS,
                                          .values = STRADS_F32,
                                          .options = mf_option_table,
                                          .config_size =
                                              sizeof(strads_mf_options),
                                          .defaults = &mf_defaults,
                                          .shape = mf_shape,
                                          .begin = mf_begin,
                                          .end = mf_end,
                                          .open = mf_open,
                                          .close = mf_close,
                                          .schedule = mf_schedule,
                                          .winds_up = true,
                                          .partitions_each = 2,
                                          .phases = phases,
                                          .n_phases = sizeof(phases) /
                                                      sizeof(phases[0]),
                                          .objective = mf_objective,
                                          .measures = mf_measures,
                                          .payload = &mf_payload};
