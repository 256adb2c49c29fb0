/* Statistics of all ratings before the first sweep: their number, the held-out
 * ones, their scale and range, and the biases:
 *
 *     c_i = sum_u (x_ui - b_u) / (n_i + d_item)
 *     b_u = sum_i (x_ui - c_i) / (n_u + d_user)
 *
 * with x = (r - mean) / sd, alternately, from b = 0. The damping d is the noise
 * of a rating over the variance of the biases. It begins at 5 and is estimated
 * after each round (MacKay, "Bayesian interpolation", Neural Computation 4,
 * 1992, eq. 4.10), for users as for items:
 *
 *     d = s^2 g / sum b^2,   g = sum n / (n + d),
 *     s^2 = sum (x - b - c)^2 / (N - g_user - g_item)
 *
 * With times, x also has a bias of its period less, sum (x - b_u - c_i) / (n +
 * 5). Sums are merged over the partitions; b_u stays on the user's
 * partition. */
#include "mf_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double HELD_MAX = 100000;

/* Rounds of biases: until noise and damping change by less than these
 * shares. */
enum { BIAS_ROUNDS_MIN = 3, BIAS_ROUNDS_MAX = 12 };
static const double NOISE_CHANGE = 1e-3, DAMPING_CHANGE = .05;
static const double DAMPING_MIN = .1, DAMPING_MAX = 1e4;
static const double PERIOD_DAMPING = 5;
const mf_damping mf_damping_first = {.user = 5, .item = 5};

/* ---- counting ---------------------------------------------------------- */

size_t mf_partial_count(const strads_task *task)
{
    return MF_COUNTS + MF_RANGES * (size_t)task->shape->partitions;
}

strads_err mf_update_count(strads_task *task)
{
    const strads_sparse *x = &task->share->by_row;
    double *range =
        task->partial + MF_COUNTS + MF_RANGES * (size_t)task->share->partition;
    const double *time = task->share->time;

    range[0] = range[2] = INFINITY;
    range[1] = range[3] = -INFINITY;
    task->partial[MF_RATINGS] = (double)x->nnz;
    for (uint64_t e = 0; e < x->nnz; e++) {
        const double r = mf_value(x, x->start[0] + e);
        task->partial[MF_RATINGS_SUM] += r;
        range[0] = fmin(range[0], r);
        range[1] = fmax(range[1], r);
    }
    for (uint64_t e = 0; e < x->nnz && time; e++) {
        range[2] = fmin(range[2], time[x->start[0] + e]);
        range[3] = fmax(range[3], time[x->start[0] + e]);
    }
    return STRADS_OK;
}

void mf_scale_count(const strads_mf_options *o, const double *sums,
                    uint32_t partitions, mf_scale *scale)
{
    const double n = sums[MF_RATINGS], *range = sums + MF_COUNTS;
    const bool clips = !o->no_clip && !o->implicit;

    scale->ratings = n;
    scale->low = clips ? INFINITY : -INFINITY;
    scale->high = -scale->low;
    scale->times = (strads_mf_periods){.any = o->time != NULL,
                                       .first = INFINITY,
                                       .last = -INFINITY};
    for (uint32_t k = 0; k < partitions; k++, range += MF_RANGES) {
        if (clips) {
            scale->low = fmin(scale->low, range[0]);
            scale->high = fmax(scale->high, range[1]);
        }
        scale->times.first = fmin(scale->times.first, range[2]);
        scale->times.last = fmax(scale->times.last, range[3]);
    }
    scale->centre = mf_from_zero(o) || n == 0 ? 0 : sums[MF_RATINGS_SUM] / n;
}

strads_err mf_receive_count(strads_task *task)
{
    mf_local *l = task->local;
    const double n = task->partial[MF_RATINGS];
    const double share = fmin(l->options.holdout, HELD_MAX / fmax(n, 1));

    mf_scale_count(&l->options, task->partial, task->shape->partitions,
                   &l->scale);
    l->held_below = (uint32_t)(share * 4294967295.0);
    return mf_hold_last(l, task->share);
}

/* ---- scale ------------------------------------------------------------- */

/* Iterates over the entries of a row: value, and whether it is held out. */
static uint64_t hold_salt(uint64_t seed, uint64_t user)
{
    return strads_random_bits(seed, MF_DRAW_HOLD, user, 0);
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of equal times none or all are held out. */
strads_err mf_hold_last(mf_local *l, const strads_share *share)
{
    const strads_sparse *x = &share->by_row;
    const double part = l->held_below / 4294967295.0;
    uint64_t most = 0;

    if (!mf_holds_last(&l->options))
        return STRADS_OK;
    for (uint64_t u = 0; u < l->users; u++)
        if (x->start[u + 1] - x->start[u] > most)
            most = x->start[u + 1] - x->start[u];
    double *sorted = malloc(sizeof(*sorted) * (most + 1));
    l->held_after = malloc(sizeof(*l->held_after) * (l->users + 1));
    for (uint64_t u = 0; u < l->users && sorted && l->held_after; u++) {
        const uint64_t n = x->start[u + 1] - x->start[u];
        const uint64_t held = (uint64_t)(part * (double)n);
        l->held_after[u] = INFINITY;
        if (held == 0)
            continue;
        memcpy(sorted, share->time + x->start[u], sizeof(*sorted) * n);
        qsort(sorted, n, sizeof(*sorted), compare_times);
        l->held_after[u] = sorted[n - held - 1];
    }
    free(sorted);
    return sorted && l->held_after ? STRADS_OK
                                   : mf_no_memory("times", 8 * l->users);
}

/* Whether entry e of the partition's user u is held out. */
static inline bool is_held(const mf_local *l, const strads_share *share,
                           uint64_t salt, uint64_t u, uint64_t e)
{
    return l->held_after
               ? share->time[e] > l->held_after[u]
               : mf_is_drawn(salt, share->by_row.index[e], l->held_below);
}

static inline uint16_t entry_period(const mf_local *l,
                                    const strads_share *share, uint64_t e)
{
    const strads_mf_periods *times = &l->scale.times;

    return times->any ? (uint16_t)strads_mf_period(times, share->time[e]) : 0;
}

/* The bias of entry e's period, scaled. */
static inline double period_bias(const mf_local *l, const strads_share *share,
                                 uint64_t e)
{
    const strads_mf_periods *times = &l->scale.times;

    return times->any ? times->bias[entry_period(l, share, e)] : 0;
}

size_t mf_partial_statistics(const strads_task *task)
{
    return MF_SUMS + 2 * (size_t)task->shape->cols;
}

static strads_err refuse_negative(const strads_task *task, uint64_t user,
                                  uint32_t item, double rating)
{
    const mf_local *l = task->local;
    const uint64_t row = task->share->rows.begin + user;

    return strads_fail(STRADS_EFORMAT,
                       "user %llu gives item %u a rating of %g (both counted "
                       "from 0, as read): %s needs ratings from 0 up",
                       (unsigned long long)row, item, rating,
                       l->options.implicit
                           ? "implicit feedback"
                           : "a model without negative factors and biases");
}

strads_err mf_update_statistics(strads_task *task)
{
    const mf_local *l = task->local;
    const strads_sparse *x = &task->share->by_row;
    const bool no_negatives = mf_from_zero(&l->options);
    const double centre = l->scale.centre;
    double *count = task->partial + MF_SUMS, *sum = count + l->items;
    uint64_t seen = 0;

    for (uint64_t u = 0; u < x->lines; u++) {
        mf_evict(task->share, &seen, u);
        const uint64_t salt =
            hold_salt(task->seed, task->share->rows.begin + u);
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            const double r = mf_value(x, e);
            if (is_held(l, task->share, salt, u, e))
                continue;
            if (no_negatives && !(r >= 0))
                return refuse_negative(task, u, x->index[e], r);
            task->partial[MF_N]++;
            task->partial[MF_SUM] += r - centre;
            task->partial[MF_SQUARES] += (r - centre) * (r - centre);
            count[x->index[e]]++;
            sum[x->index[e]] += r - centre;
        }
    }
    return STRADS_OK;
}

strads_err mf_scale_take(const strads_mf_options *o, const double *sums,
                         mf_scale *scale)
{
    const double n = sums[MF_N], off = sums[MF_SUM] / n;
    const double mean = scale->centre + off;
    const double variance = sums[MF_SQUARES] / n - off * off;

    if (!(n > 0))
        return strads_fail(STRADS_EFORMAT,
                           "there are no ratings to train on: the data have "
                           "none, or all are held out");
    if (!isfinite(variance))
        return strads_fail(
            STRADS_ELIMIT,
            "the sum of the squared ratings overflows: scale them down");
    scale->n = n;
    scale->mean = 0;
    scale->sd = 1;
    if (o->implicit)
        return STRADS_OK;
    if (mf_from_zero(o)) { /* the factors model the mean, too */
        scale->sd = sums[MF_SQUARES] > 0 ? sqrt(sums[MF_SQUARES] / n) : 1;
        return STRADS_OK;
    }
    scale->mean = mean;
    /* If all ratings are equal, dividing by sd would amplify rounding
     * errors. */
    scale->sd = variance > 1e-24 * mean * mean ? sqrt(variance) : 1;
    return STRADS_OK;
}

strads_err mf_receive_statistics(strads_task *task)
{
    mf_local *l = task->local;
    const double *count = task->partial + MF_SUMS, *sum = count + l->items;
    strads_err err = mf_scale_take(&l->options, task->partial, &l->scale);

    if (err)
        return err;
    for (uint32_t i = 0; i < l->items; i++) {
        const double off = l->scale.mean - l->scale.centre;
        const double x = (sum[i] - off * count[i]) / l->scale.sd;
        l->item_n[i] = count[i];
        if (!l->options.no_biases)
            l->item_bias[i] = (float)(x / (count[i] + l->damping.item));
    }
    return strads_cut_deal(l->items, l->item_n, l->blocks,
                           task->share->partitions, &l->cut);
}

/* ---- biases ------------------------------------------------------------ */

static float mf_user_bias(const mf_local *l, const strads_share *share,
                          uint64_t seed, uint64_t row)
{
    const strads_sparse *x = &share->by_row;
    const uint64_t salt = hold_salt(seed, share->rows.begin + row);
    const double mean = l->scale.mean, per = 1 / l->scale.sd;
    double sum = 0, n = 0;

    if (l->options.no_biases)
        return 0;
    for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++) {
        if (is_held(l, share, salt, row, e))
            continue;
        sum += (mf_value(x, e) - mean) * per -
               (double)l->item_bias[x->index[e]] - period_bias(l, share, e);
        n++;
    }
    return (float)(sum / (n + l->damping.user));
}

size_t mf_partial_bias(const strads_task *task)
{
    return MF_BIAS_SUMS + (size_t)task->shape->cols +
           (size_t)2 * STRADS_MF_PERIODS;
}

strads_err mf_update_bias(strads_task *task)
{
    const mf_local *l = task->local;
    const strads_sparse *x = &task->share->by_row;
    const double mean = l->scale.mean, per = 1 / l->scale.sd;
    double *sums = task->partial, *item = sums + MF_BIAS_SUMS;
    double *period = item + l->items;
    uint64_t seen = 0;

    for (uint64_t u = 0; u < x->lines; u++) {
        mf_evict(task->share, &seen, u);
        const double bias = (double)mf_user_bias(l, task->share, task->seed, u);
        const uint64_t salt =
            hold_salt(task->seed, task->share->rows.begin + u);
        double n = 0;
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            const uint32_t i = x->index[e];
            if (is_held(l, task->share, salt, u, e))
                continue;
            const double of_period = period_bias(l, task->share, e);
            const double y = (mf_value(x, e) - mean) * per - bias - of_period;
            const double left = y - (double)l->item_bias[i];
            item[i] += y;
            sums[MF_LEFT_SQUARES] += left * left;
            if (l->scale.times.any) {
                const uint32_t k =
                    strads_mf_period(&l->scale.times, task->share->time[e]);
                period[(size_t)2 * k] += left + of_period;
                period[(size_t)2 * k + 1]++;
            }
            n++;
        }
        sums[MF_BIAS_SQUARES] += bias * bias;
        sums[MF_BIAS_FREEDOM] += n / (n + l->damping.user);
    }
    return STRADS_OK;
}

/* Without noise or without biases, the previous estimate stays. */
static double estimate_damping(double before, double noise, double freedom,
                               double squares)
{
    const double d = noise * freedom / squares;

    return d > 0 && isfinite(d) ? fmin(fmax(d, DAMPING_MIN), DAMPING_MAX)
                                : before;
}

/* Items and periods may share a drift, so their biases are updated in turn:
 * items in even rounds, periods in odd ones. */
static bool is_round_of_periods(const mf_damping *damping,
                                const mf_scale *scale)
{
    return scale->times.any && damping->rounds % 2 == 1;
}

static void take_periods(strads_mf_periods *times, const double *period)
{
    for (uint32_t k = 0; k < STRADS_MF_PERIODS; k++)
        times->bias[k] = period[(size_t)2 * k] /
                         (period[(size_t)2 * k + 1] + PERIOD_DAMPING);
}

bool mf_damping_take(mf_damping *damping, mf_scale *scale, uint32_t items,
                     const double *item_n, const double *sums, float *bias)
{
    const bool of_periods = is_round_of_periods(damping, scale);
    const uint32_t turns = scale->times.any ? 2 : 1;
    const double user_freedom = sums[MF_BIAS_FREEDOM];
    double item_freedom = 0, squares = 0;

    for (uint32_t i = 0; i < items; i++) {
        const double n = item_n[i] + damping->item;
        const double c = sums[MF_BIAS_SUMS + i] / n;
        squares += c * c;
        item_freedom += item_n[i] / n;
        if (bias && !of_periods)
            bias[i] = (float)c;
    }
    const double noise =
        sums[MF_LEFT_SQUARES] / fmax(scale->n - user_freedom - item_freedom, 1);
    const mf_damping before = *damping;
    damping->noise = noise;
    damping->user = estimate_damping(before.user, noise, user_freedom,
                                     sums[MF_BIAS_SQUARES]);
    damping->item = estimate_damping(before.item, noise, item_freedom, squares);
    if (of_periods)
        take_periods(&scale->times, sums + MF_BIAS_SUMS + items);
    damping->rounds++;
    return damping->rounds == turns * BIAS_ROUNDS_MAX ||
           (damping->rounds >= turns * BIAS_ROUNDS_MIN &&
            fabs(noise - before.noise) <= NOISE_CHANGE * noise &&
            fabs(damping->user - before.user) <= DAMPING_CHANGE * before.user &&
            fabs(damping->item - before.item) <= DAMPING_CHANGE * before.item);
}

strads_err mf_receive_bias(strads_task *task)
{
    mf_local *l = task->local;

    (void)mf_damping_take(&l->damping, &l->scale, l->items, l->item_n,
                          task->partial, l->item_bias);
    return STRADS_OK;
}

/* ---- a user's ratings ---------------------------------------------------- */

/* Separates training and held-out ratings, user by user, in two passes. The
 * first pass counts. The second pass subtracts mean and biases from each rating
 * and stores the held-out ones as samples; each method stores the others in its
 * own layout. */

void mf_split_close(mf_split *s)
{
    free(s->held_at);
    free(s->item);
    free(s->left);
    *s = (mf_split){0};
}

strads_err mf_split_open(mf_local *l, const strads_task *task, mf_split *s)
{
    const strads_sparse *x = &task->share->by_row;
    uint64_t most = 0;

    for (uint64_t u = 0; u < l->users; u++)
        if (x->start[u + 1] - x->start[u] > most)
            most = x->start[u + 1] - x->start[u];
    *s = (mf_split){.most = most};
    l->held.start = calloc((uint64_t)l->blocks + 1, sizeof(*l->held.start));
    s->held_at = malloc(sizeof(*s->held_at) * ((size_t)l->blocks + 1));
    s->item = malloc(sizeof(*s->item) * (most + 1));
    s->left = malloc(sizeof(*s->left) * (most + 1));
    if (l->held.start && s->held_at && s->item && s->left)
        return STRADS_OK;
    mf_split_close(s);
    return mf_no_memory("blocks and the longest row",
                        16ULL * l->blocks + 8 * most);
}

uint64_t mf_split_count(const mf_split *s, mf_local *l, const strads_task *task,
                        uint64_t u)
{
    const strads_sparse *x = &task->share->by_row;
    const uint64_t salt = hold_salt(task->seed, task->share->rows.begin + u);
    uint64_t n = 0;

    for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
        const uint32_t i = x->index[e];
        if (is_held(l, task->share, salt, u, e))
            l->held.start[l->item_block[i] + 1]++;
        else
            s->item[n++] = i;
    }
    return n;
}

strads_err mf_split_counted(mf_split *s, mf_local *l)
{
    for (uint32_t b = 0; b < l->blocks; b++)
        l->held.start[b + 1] += l->held.start[b];
    memcpy(s->held_at, l->held.start,
           sizeof(*s->held_at) * ((size_t)l->blocks + 1));
    return mf_samples_alloc(&l->held, l->blocks);
}

uint64_t mf_split_take(mf_split *s, mf_local *l, const strads_task *task,
                       uint64_t u)
{
    const strads_sparse *x = &task->share->by_row;
    const uint64_t salt = hold_salt(task->seed, task->share->rows.begin + u);
    const double mean = l->scale.mean, per = 1 / l->scale.sd;
    const float bias = mf_user_bias(l, task->share, task->seed, u);
    const float lift = l->steps.lifts ? (float)MF_LIFT : 0;
    uint64_t n = 0;

    l->user_bias[u] = bias;
    for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
        const uint32_t i = x->index[e];
        const float value =
            (float)((mf_value(x, e) - mean) * per - (double)bias -
                    (double)l->item_bias[i] - period_bias(l, task->share, e));
        const double square = (double)value * (double)value;
        if (is_held(l, task->share, salt, u, e)) {
            const double clipped =
                mf_clip(&l->scale, (mf_value(x, e) - mean) * per,
                        (double)value);
            l->held.sample[s->held_at[l->item_block[i]]++] =
                (mf_sample){(uint32_t)u, (uint16_t)l->item_at[i],
                            entry_period(l, task->share, e), value};
            task->partial[MF_HELD_LOSS] += clipped * clipped;
            task->partial[MF_HELD_N]++;
        } else {
            s->item[n] = i;
            s->left[n++] = value + lift;
            task->partial[MF_LOSS] += square;
        }
    }
    return n;
}

/* ---- ratings for measuring only ------------------------------------------ */

/* Held-out ratings and those of --test; a partition keeps its users' ratings.
 * In the prediction of a test rating, terms of an unknown user or item are
 * 0. */

/* ---- reading ----------------------------------------------------------- */

static strads_err read_file(const mf_local *l, const strads_share *share,
                            strads_data **out)
{
    const bool wide = share->by_row.f64 != NULL;
    const strads_data_options wanted = {.size = sizeof(wanted),
                                        .layout = STRADS_LAYOUT_ROWS,
                                        .values =
                                            wide ? STRADS_F64 : STRADS_F32,
                                        .kind = STRADS_KIND_RATINGS,
                                        .threads = 1,
                                        .numbered = !share->col_names,
                                        .user = l->options.user,
                                        .item = l->options.item,
                                        .rating = l->options.rating,
                                        .time = l->options.time};
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

/* The training data's number of user or item k of a file, or UINT64_MAX. */
static uint64_t number_of(const strads_names *known, const strads_data *data,
                          const strads_names *names, uint64_t k)
{
    char text[24];
    uint32_t number = 0;

    if (!known)
        return k;
    if (!names)
        (void)snprintf(text, sizeof(text), "%" PRIu64,
                       k + strads_data_index_base(data));
    const char *name = names ? strads_names_at(names, (uint32_t)k) : text;
    return strads_names_find(known, name, strlen(name), &number) ? number
                                                                 : UINT64_MAX;
}

typedef struct timed_rating {
    double value;
    uint32_t period;
} timed_rating;

/* Calls `take` for each rating of this partition's users. Users that the
 * training data lacks belong to the last partition. */
typedef void (*taker)(mf_local *l, uint64_t user, uint32_t item,
                      const timed_rating *rating, uint64_t *at);

static void go_through(mf_local *l, const strads_share *share,
                       const strads_data *data, taker take, uint64_t *at)
{
    const strads_share *all = strads_data_share(data, 0);
    const strads_sparse *x = &all->by_row;
    const strads_names *users = strads_data_row_names(data);
    const strads_names *items = strads_data_col_names(data);
    const bool last = share->partition + 1 == share->partitions;

    for (uint64_t k = 0; k < x->lines; k++) {
        const uint64_t u = number_of(share->row_names, data, users, k);
        if (u < share->rows.begin || (u >= share->rows.end && !last))
            continue;
        for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++) {
            const uint64_t i =
                number_of(share->col_names, data, items, x->index[e]);
            const timed_rating rating = {mf_value(x, e),
                                         entry_period(l, all, e)};
            take(l, u - share->rows.begin,
                 i < l->items ? (uint32_t)i : l->items, &rating, at);
        }
    }
}

static bool is_known(const mf_local *l, uint64_t user, uint32_t item)
{
    return user < l->users && item < l->items;
}

static void count_rating(mf_local *l, uint64_t user, uint32_t item,
                         const timed_rating *rating, uint64_t *at)
{
    (void)rating;
    if (is_known(l, user, item))
        at[l->item_block[item] + 1]++;
}

static void keep_test_rating(mf_local *l, uint64_t user, uint32_t item,
                             const timed_rating *timed, uint64_t *at)
{
    double rating = timed->value;

    /* With implicit feedback, an entry means 1: the user had the item. */
    if (l->options.implicit)
        rating = 1;
    const double scaled = (rating - l->scale.mean) / l->scale.sd -
                          (user < l->users ? (double)l->user_bias[user] : 0) -
                          (item < l->items ? (double)l->item_bias[item] : 0) -
                          l->scale.times.bias[timed->period];

    if (is_known(l, user, item)) {
        l->test.sample[at[l->item_block[item]]++] =
            (mf_sample){(uint32_t)user, (uint16_t)l->item_at[item],
                        (uint16_t)timed->period, (float)scaled};
    } else {
        const double x = (rating - l->scale.mean) / l->scale.sd;
        const double e = mf_clip(&l->scale, x, scaled);
        l->unknown_squares += e * e;
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
        go_through(l, share, data, count_rating, l->test.start);
        for (uint32_t b = 0; b < l->blocks; b++)
            l->test.start[b + 1] += l->test.start[b];
        err = mf_samples_alloc(&l->test, l->blocks);
    }
    if (!err) {
        memcpy(at, l->test.start, sizeof(*at) * (l->blocks + 1));
        go_through(l, share, data, keep_test_rating, at);
    }
    free(at);
    strads_data_free(data);
    return err;
}

/* ---- measuring --------------------------------------------------------- */

/* Prefetches the user's factors: a user rarely has two samples in one block. */
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
        const float *p = l->p + (size_t)s->user * stride;
        const float *q = items->q + (size_t)s->item * stride;
        const double left =
            mf_lift_of(l, p, q) + (double)(s->value - mf_dot(p, q, stride));
        const double e =
            mf_clip(&l->scale, mf_sample_rating(l, task->block.id, s), left);
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

    if (!mf_by_rows(&l->options) && !mf_by_ranks(&l->options))
        task->partial[MF_TEST_HELD] = mf_samples_loss(l, &l->held, task);
    if (!l->options.test)
        return STRADS_OK;
    task->partial[MF_TEST_SQUARES] = mf_samples_loss(l, &l->test, task);
    task->partial[MF_TEST_N] =
        (double)(l->test.start[b + 1] - l->test.start[b]);
    if (b == 0) {
        task->partial[MF_TEST_SQUARES] += l->unknown_squares;
        task->partial[MF_TEST_N] += l->unknown_n;
    }
    return STRADS_OK;
}
