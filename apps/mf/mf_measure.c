/* Ratings that are only measured: those held out, and those of --test, of which
 * a partition keeps its users'. What is not known of a test rating's user or
 * item counts nothing in its prediction. */
#include <string.h>

#include "mf_parts.h"

/* ---- reading ----------------------------------------------------------- */

static strads_err read_file(const mf_local *l, const strads_share *share,
                            strads_data **out)
{
    const strads_data_options wanted = {.size = sizeof(wanted),
                                        .layout = STRADS_LAYOUT_ROWS,
                                        .values = STRADS_F32,
                                        .kind = STRADS_KIND_RATINGS,
                                        .threads = 1,
                                        .row_names = share->row_names,
                                        .col_names = share->col_names};
    strads_err err = strads_data_read(l->options.test, &wanted, out);

    if (!err && strads_data_row_names(*out) && !share->row_names) {
        strads_data_free(*out);
        *out = NULL;
        err = strads_fail(STRADS_EMISMATCH,
                          "%s: its users have names, those of the training "
                          "data are numbers: write both in one way",
                          l->options.test);
    }
    return err;
}

/* Calls take for each rating of this partition's users; those of users that
 * nobody has go to the last partition. */
typedef void (*taker)(mf_local *l, uint64_t user, uint32_t item, float rating,
                      uint64_t *at);

static void go_through(mf_local *l, const strads_share *share,
                       const strads_data *data, taker take, uint64_t *at)
{
    const strads_sparse *x = &strads_data_share(data, 0)->by_row;
    const bool last = share->partition + 1 == share->partitions;

    for (uint64_t u = share->rows.begin;
         u < x->lines && (last || u < share->rows.end); u++)
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++)
            take(l, u - share->rows.begin, x->index[e], mf_value(x, e), at);
}

static bool is_known(const mf_local *l, uint64_t user, uint32_t item)
{
    return user < l->users && item < l->items;
}

static void count(mf_local *l, uint64_t user, uint32_t item, float rating,
                  uint64_t *at)
{
    (void)rating;
    if (is_known(l, user, item))
        at[l->item_block[item] + 1]++;
}

static void keep(mf_local *l, uint64_t user, uint32_t item, float rating,
                 uint64_t *at)
{
    /* Implicit feedback says that the user had the item: 1. */
    if (l->options.implicit)
        rating = 1;
    const float scaled = (rating - (float)l->scale.mean) / (float)l->scale.sd -
                         (user < l->users ? l->user_bias[user] : 0) -
                         (item < l->items ? l->item_bias[item] : 0);

    if (is_known(l, user, item)) {
        l->test.sample[at[l->item_block[item]]++] =
            (mf_sample){(uint32_t)user, l->item_at[item], scaled};
    } else {
        l->unknown_squares += (double)scaled * (double)scaled;
        l->unknown_n++;
    }
}

strads_err mf_test_read(mf_local *l, const strads_share *share)
{
    strads_data *data = NULL;
    uint64_t *at = malloc(sizeof(*at) * (l->blocks + 1));
    strads_err err = read_file(l, share, &data);

    l->test.start = calloc(l->blocks + 1, sizeof(*l->test.start));
    if (!err && (!at || !l->test.start))
        err = mf_no_memory("test ratings", 16ULL * l->blocks);
    if (!err) {
        go_through(l, share, data, count, l->test.start);
        for (uint32_t b = 0; b < l->blocks; b++)
            l->test.start[b + 1] += l->test.start[b];
        err = mf_samples_alloc(&l->test, l->blocks);
    }
    if (!err) {
        memcpy(at, l->test.start, sizeof(*at) * (l->blocks + 1));
        go_through(l, share, data, keep, at);
    }
    free(at);
    strads_data_free(data);
    return err;
}

/* ---- measuring --------------------------------------------------------- */

/* A user has hardly more than one sample in a block. */
static void fetch_user(const mf_local *l, const mf_sample *s)
{
    const float *p = l->p + (size_t)s->user * l->stride;

    for (uint32_t j = 0; j < l->stride; j += MF_LANES)
        __builtin_prefetch(p + j);
}

double mf_samples_loss(const mf_local *l, const mf_samples *samples,
                       const strads_task *task)
{
    enum { AHEAD = 16 };
    const mf_items *items = task->object;
    const uint64_t end = samples->start[task->block.id + 1];
    const uint32_t stride = l->stride;
    double loss = 0;

    for (uint64_t k = samples->start[task->block.id]; k < end; k++) {
        const mf_sample *s = &samples->sample[k];
        if (end - k > AHEAD)
            fetch_user(l, s + AHEAD);
        const double e =
            (double)(s->value - mf_dot(l->p + (size_t)s->user * stride,
                                       items->q + (size_t)s->item * stride,
                                       stride));
        loss += e * e;
    }
    return loss;
}

size_t mf_partial_test(const strads_task *task)
{
    (void)task;
    return MF_TESTS;
}

strads_err mf_update_test(strads_task *task)
{
    const mf_local *l = task->local;
    const uint64_t b = task->block.id;

    task->partial[MF_TEST_SQUARES] = mf_samples_loss(l, &l->test, task);
    task->partial[MF_TEST_N] =
        (double)(l->test.start[b + 1] - l->test.start[b]);
    if (b == 0) {
        task->partial[MF_TEST_SQUARES] += l->unknown_squares;
        task->partial[MF_TEST_N] += l->unknown_n;
    }
    return STRADS_OK;
}
