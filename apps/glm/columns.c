/* Fits by columns: the coordinator, and the programs' tables.
 *
 * Lambda goes down from lambda_max in a few steps. At each one, workers solve
 * the candidates, a block for each pool of partitions, all at once. The
 * coordinator adds each block's change by an exact or searched step, so that P
 * never rises. A scan of all columns then certifies the candidates, and finds
 * those of the next lambda by the strong rule (Tibshirani et al., JRSS B 74,
 * 2012), which the scan after that verifies. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include <strads/lasso.h>
#include <strads/logistic.h>

#include "columns_parts.h"

/* Lambda falls to this share of the one before: a larger share takes more
 * passes, a smaller one more rounds. The strong rule admits slopes from
 * 2 FALL - 1 of the lambda before on, below 0 here, so that COLUMNS_SCREEN of
 * the next lambda decides. */
#define COLUMNS_FALL .4
#define COLUMNS_SCREEN .7

/* A solution of candidates ends at this share of the tolerance; of a lambda on
 * the way, at this gap. */
#define COLUMNS_INNER .3
#define COLUMNS_ON_THE_WAY 1e-3

typedef enum columns_next {
    COLUMNS_TO_START,
    COLUMNS_TO_MARGINS,
    COLUMNS_TO_LARGEST,
    COLUMNS_TO_SCAN,
    COLUMNS_TO_SOLVE,
    COLUMNS_TO_STOP
} columns_next;

typedef struct columns_state {
    glm_problem problem;
    uint64_t rows, columns;
    uint32_t partitions;
    const strads_shape *shape;
    double *y, *c, *margin, *z, *r, *h, *from, *trial; /* [rows] */
    double b, unit;      /* the intercept; the unit of margins */
    double origins;      /* the part of b that makes up for columns' origins */
    uint64_t *bound;     /* [partitions + 1] columns of partitions */
    uint32_t *candidate; /* [n] ascending */
    uint32_t n, capacity;
    uint32_t *first; /* [partitions + 1] candidates of partitions */
    uint64_t next_id;
    double lambda_max, lambda; /* as users see them; the current one */
    columns_next next;
    /* Of the margins now, times n; at a start the margins are those of 0 until
     * its own are known. */
    double loss, l1_norm, square, primal;
    /* Of the round in progress: */
    uint32_t blocks, blocks_left;
    double from_primal, largest, beyond;
    double before, narrowest_before; /* P and the least gap some rounds ago */
    double narrowest;                /* gap of the candidates */
    uint32_t rounds;                 /* at this lambda */
    double gap;     /* certified by the last scan; 1, as before any, is always
                     * true, since no loss is below 0 */
    double scanned; /* P at the last scan of the wanted lambda */
    uint64_t nonzeros, scans, updates;
    uint32_t *param; /* [rows + 1] */
    double *change;  /* [rows + 1] */
    char *classes;   /* text of options.classes, or NULL */
} columns_state;

static double l1_of(const columns_state *s)
{
    return (double)s->rows * s->lambda * s->problem.options.l1_ratio;
}

static double l2_of(const columns_state *s)
{
    return (double)s->rows * s->lambda * (1 - s->problem.options.l1_ratio);
}

/* ---- values of margins --------------------------------------------------- */

/* Sets b, z, r and h for the margins. */
static void evaluate_margins(columns_state *s)
{
    s->b = columns_intercept(&s->problem, s->y, s->c, s->margin, s->rows, s->b,
                             s->z, s->r, s->h, &s->loss);
    double sum = 0;
    for (uint64_t i = 0; columns_centre(&s->problem) && i < s->rows; i++)
        sum += s->r[i];
    for (uint64_t i = 0; i < s->rows; i++)
        s->r[i] -= sum / (double)s->rows;
}

static double primal_of(const columns_state *s)
{
    return s->loss + l1_of(s) * s->l1_norm + l2_of(s) / 2 * s->square;
}

/* The relative gap at residuals r, for the largest |slope| over columns, and
 * the sum of squares beyond l1; r is overwritten. */
static double gap_of(const columns_state *s, double primal, double *r,
                     double largest, double beyond)
{
    const double l1 = l1_of(s), l2 = l2_of(s);
    const double share = l2 > 0 || largest <= l1 ? 1 : l1 / largest;
    const glm_rows rows = {s->rows, s->y, s->c, s->z};
    double dual = l2 > 0 ? -beyond / (2 * l2) : 0, size = 0, off = 0;
    for (uint64_t i = 0; i < s->rows; i++) {
        size += fabs(r[i] * s->y[i]);
        off += r[i];
    }
    if (s->problem.loss->conjugates) {
        dual -= s->problem.loss->conjugates(&rows, share, r);
    } else {
        for (uint64_t i = 0; i < s->rows; i++)
            dual -= s->problem.loss->conjugate(s->y[i], -share * r[i],
                                               s->problem.p);
    }
    /* Sums over n rows have rounding errors of about eps sqrt n of their terms.
     * What r sums up to, and should not, counts for each unit of b. */
    const double rounding =
        DBL_EPSILON * (size + primal) * sqrt((double)s->rows) +
        (s->problem.options.intercept ? fabs(off) * (2 * fabs(s->b) + s->unit)
                                      : 0);
    const double excess = primal - dual;
    const double gap = (excess > 0 ? excess : 0) + rounding;
    return isnan(excess) || !(primal > 0) ? (primal == 0 ? 0 : 1)
                                          : gap / primal;
}

/* ---- candidates ---------------------------------------------------------- */

static strads_err add_candidate(columns_state *s, uint32_t column)
{
    if (s->n == s->capacity) {
        const uint32_t more = s->capacity ? 2 * s->capacity : 1024;
        uint32_t *all = realloc(s->candidate, more * sizeof *all);
        if (!all)
            return strads_fail(STRADS_ENOMEM, "no memory for %u candidates",
                               more);
        s->candidate = all;
        s->capacity = more;
    }
    s->candidate[s->n++] = column;
    return STRADS_OK;
}

/* Sorts the candidates and finds those of each partition. */
static void share_candidates(columns_state *s)
{
    if (s->n > 0)
        qsort(s->candidate, s->n, sizeof *s->candidate, columns_compare);
    uint32_t k = 0;
    for (uint32_t p = 0; p < s->partitions; p++) {
        s->first[p] = k;
        while (k < s->n && s->candidate[k] < s->bound[p + 1])
            k++;
    }
    s->first[s->partitions] = k;
}

/* ---- schedule ------------------------------------------------------------ */

/* At the start: coefficients that are not 0 come from a model or a checkpoint;
 * their margins are computed anew. */
static strads_err find_start(columns_state *s, const strads_turn *turn)
{
    const double *w = strads_store_dense(turn->store, 0);
    strads_err err = STRADS_OK;
    for (uint64_t j = 0; j < s->columns && !err; j++)
        if (w[j] != 0)
            err = add_candidate(s, (uint32_t)j);
    share_candidates(s);
    s->nonzeros = s->n;
    s->next = COLUMNS_TO_LARGEST;
    return err;
}

/* A block for each pool with candidates: their columns meet in one solution,
 * because changes of dependent columns that do not know of each other have to
 * be shortened. To fetch columns, a block for each partition, which reads its
 * own. */
static strads_err dispatch_blocks(columns_state *s, strads_turn *turn,
                                  uint32_t phase)
{
    strads_block *block = calloc(s->partitions, sizeof *block);
    if (!block)
        return strads_fail(STRADS_ENOMEM, "no memory for blocks");
    uint32_t n = 0, end;
    for (uint32_t p = 0; p < s->partitions; p = end) {
        const uint32_t pool = strads_pool_of(s->shape, p);
        end = phase == COLUMNS_SOLVE ? strads_pool_first(s->shape, pool + 1)
                                     : p + 1;
        if (s->first[end] > s->first[p])
            block[n++] = (strads_block){.id = s->next_id++,
                                        .n = s->first[end] - s->first[p],
                                        .param = s->candidate + s->first[p],
                                        .owner = p};
    }
    s->blocks = s->blocks_left = n;
    s->from_primal = s->primal;
    s->largest = s->beyond = 0;
    memcpy(s->from, s->r, s->rows * sizeof *s->from);
    const strads_err err = strads_turn_dispatch(turn, phase, n, block);
    free(block);
    return err;
}

static strads_err schedule(strads_turn *turn)
{
    columns_state *s = turn->state;
    if (turn->in_flight > 0)
        return strads_turn_wait(turn);
    if (s->next == COLUMNS_TO_START) {
        const strads_err err = find_start(s, turn);
        if (err)
            return err;
    }
    switch (s->next) {
    case COLUMNS_TO_MARGINS:
        return dispatch_blocks(s, turn, COLUMNS_MARGINS);
    case COLUMNS_TO_START:
    case COLUMNS_TO_LARGEST:
    case COLUMNS_TO_SCAN: {
        const strads_block all = {.id = 0, .n = (uint32_t)s->columns};
        return strads_turn_dispatch(turn, COLUMNS_SCAN, 1, &all);
    }
    case COLUMNS_TO_SOLVE:
        return dispatch_blocks(s, turn, COLUMNS_SOLVE);
    case COLUMNS_TO_STOP:
        break;
    }
    return strads_turn_stop(turn);
}

/* ---- commits ------------------------------------------------------------- */

static void set_total(strads_commit *commit, uint32_t k, double wanted)
{
    commit->total_change[k] = wanted - commit->total[k];
}

/* Commits the margins' moves `step` times d, and b's new value. */
static strads_err move_margins(columns_state *s, strads_commit *commit,
                               const double *d, double step)
{
    const double b = s->b;
    uint32_t n = 0;
    for (uint64_t i = 0; i < s->rows; i++)
        if (d[i] != 0 && step != 0) {
            s->param[n] = (uint32_t)(s->columns + i);
            s->change[n++] = step * d[i];
            s->margin[i] += step * d[i];
        }
    evaluate_margins(s);
    if (s->b != b) {
        s->param[n] = (uint32_t)(s->columns + s->rows);
        s->change[n++] = s->b - b;
    }
    return n > 0 ? strads_commit_also(commit, n, s->param, s->change)
                 : STRADS_OK;
}

/* Sets the totals that the next dispatch carries. */
static void announce(columns_state *s, strads_commit *commit, double threshold)
{
    set_total(commit, COLUMNS_L1, l1_of(s));
    set_total(commit, COLUMNS_L2, l2_of(s));
    set_total(commit, COLUMNS_THRESHOLD, threshold);
}

/* The lambda that the options set, once lambda_max is known. */
static double wanted_lambda(const columns_state *s)
{
    const strads_glm_options *o = &s->problem.options;
    return o->lambda > 0 ? o->lambda
           : o->c > 0    ? 1 / (o->c * (double)s->rows)
                         : o->lambda_ratio * s->lambda_max;
}

/* The next lambda on the way down. */
static double lower_lambda(const columns_state *s)
{
    const double wanted = wanted_lambda(s);
    return s->lambda * COLUMNS_FALL > wanted ? s->lambda * COLUMNS_FALL
                                             : wanted;
}

/* Goes to a scan: the last one of this lambda, which certifies it and keeps the
 * candidates of the next. */
static void begin_scan(columns_state *s, strads_commit *commit)
{
    const double scale = (double)s->rows * s->problem.options.l1_ratio;
    const double next = lower_lambda(s);
    const double strong = fmax(2 * next - s->lambda, COLUMNS_SCREEN * next);
    /* At the wanted lambda, columns near their bound may yet move. */
    const double threshold = next < s->lambda ? strong : s->lambda * (1 - 1e-6);
    s->next = COLUMNS_TO_SCAN;
    announce(s, commit, scale * threshold);
}

/* Lambda_max and the margins of the start are known. From w = 0, lambda goes
 * down from lambda_max; a start is taken to be near. */
static void begin_lambda(columns_state *s, strads_commit *commit)
{
    s->lambda =
        s->n > 0 ? wanted_lambda(s) : fmax(s->lambda_max, wanted_lambda(s));
    s->primal = primal_of(s);
    begin_scan(s, commit);
}

static strads_err aggregate_margins(strads_commit *commit)
{
    columns_state *s = commit->state;
    const double *d = commit->partial + COLUMNS_NUMBERS;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        s->l1_norm += fabs(commit->value[k]);
        s->square += commit->value[k] * commit->value[k];
    }
    s->origins += commit->partial[COLUMNS_ORIGINS];
    for (uint64_t i = 0; i < s->rows; i++)
        s->trial[i] += d[i];
    if (--s->blocks_left > 0)
        return STRADS_OK;
    /* The store's margins, of a checkpoint, are replaced. */
    const double *held =
        (const double *)strads_store_dense(commit->store, 0) + s->columns;
    memcpy(s->margin, held, s->rows * sizeof *s->margin);
    for (uint64_t i = 0; i < s->rows; i++)
        s->trial[i] -= held[i];
    s->b = held[s->rows];
    const strads_err err = move_margins(s, commit, s->trial, 1);
    begin_lambda(s, commit);
    return err;
}

/* ---- a scan -------------------------------------------------------------- */

/* What all partitions found. */
typedef struct scan_result {
    double largest, beyond;
    bool partial; /* some columns that reach the threshold were not looked at */
    uint64_t found; /* new candidates */
} scan_result;

static strads_err collect_scan(columns_state *s, const strads_commit *commit,
                               scan_result *out)
{
    const char *at = (const char *)commit->partial;
    const char *end = at + commit->partial_bytes;
    strads_err err = STRADS_OK;
    *out = (scan_result){0};
    while (at < end && !err) {
        const columns_scanned *head = (const void *)at;
        const columns_found *found = (const void *)(head + 1);
        out->largest = fmax(out->largest, head->largest);
        out->beyond += head->beyond;
        out->partial =
            out->partial || head->threshold > commit->total[COLUMNS_THRESHOLD];
        out->found += head->n;
        for (uint64_t k = 0; k < head->n && !err; k++)
            err = add_candidate(s, found[k].column);
        at = (const char *)(found + head->n);
    }
    share_candidates(s);
    return err;
}

/* Certifies the wanted lambda. Without new candidates and without a gain since
 * the last scan, no further one would help. */
static void certify(columns_state *s, const strads_commit *commit,
                    const scan_result *scan)
{
    memcpy(s->trial, s->r, s->rows * sizeof *s->trial);
    s->gap = scan->partial
                 ? 1
                 : gap_of(s, s->primal, s->trial, scan->largest, scan->beyond);
    if (s->gap > commit->tolerance && scan->found == 0 &&
        !(s->primal < s->scanned * (1 - 1e-15)))
        s->next = COLUMNS_TO_STOP;
    s->scanned = s->primal;
}

static strads_err aggregate_scan(strads_commit *commit)
{
    columns_state *s = commit->state;
    scan_result scan;
    const strads_err err = collect_scan(s, commit, &scan);
    if (err)
        return err;
    s->scans++;
    if (s->next == COLUMNS_TO_LARGEST) {
        s->lambda_max =
            scan.largest / ((double)s->rows * s->problem.options.l1_ratio);
        s->next = COLUMNS_TO_MARGINS;
        if (s->n == 0)
            begin_lambda(s, commit);
        else
            memset(s->trial, 0, s->rows * sizeof *s->trial);
        return STRADS_OK;
    }
    s->primal = primal_of(s);
    s->next = s->n > 0 ? COLUMNS_TO_SOLVE : COLUMNS_TO_SCAN;
    if (s->lambda <= wanted_lambda(s))
        certify(s, commit, &scan);
    s->lambda = lower_lambda(s);
    s->primal = primal_of(s);
    s->before = s->narrowest = s->narrowest_before = INFINITY;
    s->rounds = 0;
    announce(s, commit, l1_of(s));
    return STRADS_OK;
}

/* ---- a block's solution -------------------------------------------------- */

/* The penalty of the whole at a step within [0, 1] along a block's change, or
 * more: |w + t d| is at most what lies between |w| and |w + d|. */
static double penalty_at(const columns_state *s, const double *numbers,
                         double t)
{
    return l1_of(s) * (s->l1_norm + t * numbers[COLUMNS_L1_CHANGE]) +
           l2_of(s) / 2 *
               (s->square + 2 * t * numbers[COLUMNS_CROSS] +
                t * t * numbers[COLUMNS_MOVED]);
}

static double loss_along(columns_state *s, const double *d, double t)
{
    const glm_rows rows = {s->rows, s->y, s->c, s->trial};
    for (uint64_t i = 0; i < s->rows; i++)
        s->trial[i] = s->z[i] + t * d[i];
    return s->problem.loss->evaluate(&rows, s->problem.p, NULL, NULL);
}

/* The step along a block's change that does not raise P. For a squared loss it
 * is exact: with an intercept, along d less its mean. The only block of a round
 * was solved at these margins, so its step is 1. */
static double find_step(columns_state *s, const double *numbers,
                        const double *d)
{
    enum { HALVINGS = 40 };
    if (s->problem.loss->constant && s->blocks == 1)
        return 1;
    if (s->problem.loss->constant) {
        double slope = 0, curve = 0, mean = 0;
        for (uint64_t i = 0; s->problem.options.intercept && i < s->rows; i++)
            mean += d[i] / (double)s->rows;
        for (uint64_t i = 0; i < s->rows; i++) {
            slope += s->r[i] * (d[i] - mean);
            curve += (d[i] - mean) * (d[i] - mean);
        }
        slope -= l1_of(s) * numbers[COLUMNS_L1_CHANGE] +
                 l2_of(s) * numbers[COLUMNS_CROSS];
        curve += l2_of(s) * numbers[COLUMNS_MOVED];
        return curve > 0 ? fmin(fmax(slope / curve, 0), 1) : slope >= 0;
    }
    /* Near the minimum the gain of a step is below the rounding of P. */
    const double now = (s->loss + penalty_at(s, numbers, 0)) *
                       (1 + DBL_EPSILON * sqrt((double)s->rows));
    double t = 1;
    for (int k = 0; k < HALVINGS; k++, t /= 2)
        if (loss_along(s, d, t) + penalty_at(s, numbers, t) <= now)
            return t;
    return 0;
}

/* Whether neither P nor the gap of the candidates has got better in the last
 * rounds. */
static bool has_stalled(columns_state *s)
{
    enum { ROUNDS = 20000, WATCHED = 50 };
    if (++s->rounds % WATCHED > 0)
        return false;
    const bool better = s->primal < s->before * (1 - 1e-15) ||
                        s->narrowest < .9 * s->narrowest_before;
    s->before = s->primal;
    s->narrowest_before = s->narrowest;
    return !better || s->rounds >= ROUNDS;
}

/* After the last block of a round: solves on, or goes to a scan. */
static void end_round(columns_state *s, strads_commit *commit)
{
    const bool last = s->lambda <= wanted_lambda(s);
    const double gap =
        gap_of(s, s->from_primal, s->from, s->largest, s->beyond);
    const double inner = COLUMNS_INNER * commit->tolerance;
    s->primal = primal_of(s);
    s->narrowest = fmin(s->narrowest, gap);
    const bool stalled = has_stalled(s);
    if (stalled || gap <= (last ? inner : fmax(COLUMNS_ON_THE_WAY, inner)))
        begin_scan(s, commit);
}

static strads_err aggregate_solve(strads_commit *commit)
{
    columns_state *s = commit->state;
    const double *numbers = commit->partial;
    const double *d = numbers + COLUMNS_NUMBERS;
    const double t = find_step(s, numbers, d);
    s->largest = fmax(s->largest, numbers[COLUMNS_LARGEST]);
    s->beyond += numbers[COLUMNS_BEYOND];
    s->origins += t * numbers[COLUMNS_ORIGINS];
    s->updates += (uint64_t)numbers[COLUMNS_UPDATES];
    strads_commit_count_updates(commit, (uint64_t)numbers[COLUMNS_UPDATES]);
    /* Not by the bound of penalty_at: the true sums. */
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const double w = commit->value[k];
        if (t != 1)
            commit->change[k] *= t;
        const double to = w + commit->change[k];
        s->l1_norm += fabs(to) - fabs(w);
        s->square += to * to - w * w;
        s->nonzeros += (uint64_t)(to != 0);
        s->nonzeros -= (uint64_t)(w != 0);
    }
    const strads_err err = move_margins(s, commit, d, t);
    if (!err && --s->blocks_left == 0)
        end_round(s, commit);
    return err;
}

static strads_err objective(void *state, strads_report *report)
{
    const columns_state *s = state;
    report->objective = s->primal / (double)s->rows;
    report->gap = s->gap;
    report->nonzeros = s->nonzeros;
    return STRADS_OK;
}

/* ---- beginning and end --------------------------------------------------- */

static strads_err shape_columns(const strads_data *data, strads_shape *shape)
{
    shape->parameters = shape->cols + shape->rows + 1;
    shape->coefficients = shape->cols;
    shape->block_max = UINT32_MAX;
    shape->totals = COLUMNS_TOTALS;
    if (shape->parameters > UINT32_MAX - 1)
        return strads_fail(STRADS_ELIMIT,
                           "%llu columns and %llu rows are more than 2^32 - 3 "
                           "together",
                           (unsigned long long)shape->cols,
                           (unsigned long long)shape->rows);
    shape->param_bytes = 2 * sizeof(double); /* the store's and the result's */
    for (uint32_t p = 0; p < shape->partitions; p++) {
        const strads_share *share = strads_data_share(data, p);
        if (share && share->pack)
            shape->run_bytes += strads_pack_reader_bytes(share->pack);
        if (share)
            shape->run_bytes += shape->rows * COLUMNS_ROW_BYTES;
    }
    return STRADS_OK;
}

static strads_range owned_columns(const void *config, const strads_data *data,
                                  const strads_shape *shape, uint32_t partition)
{
    (void)config;
    (void)shape;
    return strads_data_part_cols(data, partition);
}

/* The entries of a column; those of packs are not counted by column. Margins
 * and the intercept are not computed by blocks. */
static double weigh_column(const void *config, const strads_data *data,
                           uint32_t j)
{
    const uint64_t columns = strads_data_cols(data);
    const uint32_t known = strads_data_col_nnz(data, j);
    (void)config;
    if (j >= columns)
        return 1;
    return known > 0 ? known : (double)strads_data_nnz(data) / (double)columns;
}

static void end_columns(void *state)
{
    columns_state *s = state;
    if (!s)
        return;
    free(s->y); /* the other arrays of rows are parts of it */
    free(s->bound);
    free(s->first);
    free(s->candidate);
    free(s->param);
    free(s->change);
    free(s->classes);
    free(s);
}

static strads_err fill_state(columns_state *s, const strads_data *data)
{
    enum { ARRAYS = 8 };
    const uint64_t n = s->rows;
    s->y = calloc(n * ARRAYS + 1, sizeof *s->y);
    s->bound = calloc(s->partitions + 1, sizeof *s->bound);
    s->first = calloc(s->partitions + 1, sizeof *s->first);
    s->param = calloc(n + 1, sizeof *s->param);
    s->change = calloc(n + 1, sizeof *s->change);
    if (!s->y || !s->bound || !s->first || !s->param || !s->change)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu rows",
                           (unsigned long long)n);
    double **const array[ARRAYS - 1] = {&s->c, &s->margin, &s->z,    &s->r,
                                        &s->h, &s->from,   &s->trial};
    for (int k = 0; k + 1 < ARRAYS; k++)
        *array[k] = s->y + (uint64_t)(k + 1) * n;
    for (uint64_t i = 0; i < n; i++)
        s->c[i] = 1;
    for (uint32_t p = 0; p < s->partitions; p++)
        s->bound[p + 1] = strads_data_part_cols(data, p).end;
    const strads_share *own = NULL;
    for (uint32_t p = 0; p < s->partitions && !own; p++)
        own = strads_data_share(data, p);
    if (own) {
        const strads_err err =
            columns_targets(&s->problem, own, s->y, &s->classes);
        if (s->classes)
            s->problem.options.classes = s->classes;
        s->unit = s->problem.loss->labels == GLM_NUMBERS ? 0 : 1;
        for (uint64_t i = 0; i < n && s->problem.loss->labels == GLM_NUMBERS;
             i++)
            s->unit = fmax(s->unit, fabs(s->y[i]));
        return err;
    }
    return strads_fail(STRADS_EINVAL,
                       "node 0 has no columns: a fit by columns needs some "
                       "there");
}

static strads_err begin_columns(const glm_problem *problem,
                                const strads_data *data,
                                const strads_shape *shape, void **state)
{
    columns_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for a fit by columns");
    s->problem = *problem;
    s->rows = shape->rows;
    s->columns = shape->cols;
    s->partitions = shape->partitions;
    s->shape = shape;
    s->next_id = 1;
    s->gap = 1;
    s->scanned = INFINITY;
    const strads_err err = fill_state(s, data);
    if (err) {
        end_columns(s);
        return err;
    }
    evaluate_margins(s);
    s->primal = s->loss;
    *state = s;
    return STRADS_OK;
}

/* ---- the tables ---------------------------------------------------------- */

static const strads_phase phases[COLUMNS_PHASES] = {
    [COLUMNS_SCAN] = {.name = "scan",
                      .when = STRADS_WHEN_CALLED,
                      .merge = STRADS_MERGE_CONCAT,
                      .reports = true,
                      .ignores_values = true,
                      .keeps_values = true,
                      .partial = columns_partial_scan,
                      .update = columns_update_scan,
                      .aggregate = aggregate_scan},
    [COLUMNS_MARGINS] = {.name = "margins",
                         .when = STRADS_WHEN_CALLED,
                         .to = STRADS_TO_OWNER,
                         .partial = columns_partial_block,
                         .update = columns_update_margins,
                         .aggregate = aggregate_margins},
    [COLUMNS_SOLVE] = {.name = "solve",
                       .when = STRADS_WHEN_CALLED,
                       .to = STRADS_TO_OWNER,
                       .partial = columns_partial_block,
                       .update = columns_update_solve,
                       .aggregate = aggregate_solve}};

/* Options that the fits by columns lack. */
static strads_err refuse_options(const glm_problem *p)
{
    const strads_glm_options *o = &p->options;
    const bool weighs = o->weights || o->row_weight ||
                        (o->class_weight && *o->class_weight &&
                         strcmp(o->class_weight, "none") != 0);
    const char *lacks =
        o->standardize                              ? "standardize"
        : weighs                                    ? "weights"
        : o->lower > -DBL_MAX || o->upper < DBL_MAX ? "positive, lower or upper"
        : o->offset || o->row_offset                ? "offset"
        : o->penalty_factors || o->penalty_factor   ? "penalty-factors"
        : p->loss->joint                            ? "multinomial"
        : p->penalty != &glm_penalty_l1 &&
                p->penalty != &glm_penalty_elastic_net
            ? "penalty but l1 and elastic-net"
            : NULL;
    if (o->cut && strcmp(o->cut, "rows") == 0)
        return strads_fail(STRADS_EINVAL,
                           "cut is rows, and this program works by columns: "
                           "leave cut out");
    if (lacks)
        return strads_fail(STRADS_EINVAL,
                           "a fit by columns has no %s: leave it out, or --cut "
                           "columns",
                           lacks);
    return o->lambda == 0 && o->lambda_ratio == 0 && o->c == 0
               ? strads_fail(STRADS_EINVAL,
                             "a fit by columns needs a lambda above 0: leave "
                             "--cut columns out")
               : STRADS_OK;
}

static strads_err resolve_lasso_columns(const void *config, glm_problem *out)
{
    const strads_err err = glm_lasso_resolve(config, out);
    return err ? err : refuse_options(out);
}

static strads_err resolve_glm_columns(const void *config, glm_problem *out)
{
    const strads_err err = glm_options_resolve(config, out);
    return err ? err : refuse_options(out);
}

static strads_err resolve_logistic_columns(const void *config, glm_problem *out)
{
    const strads_err err = glm_logistic_resolve(config, out);
    return err ? err : refuse_options(out);
}

/* The slots of a program with its own way to read options. */
#define COLUMNS_SLOTS(name, resolve)                                        \
    static strads_err shape_##name(const void *config,                      \
                                   const strads_data *data,                 \
                                   strads_shape *shape)                     \
    {                                                                       \
        glm_problem problem;                                                \
        const strads_err err = resolve(config, &problem);                   \
        return err ? err : shape_columns(data, shape);                      \
    }                                                                       \
    static strads_err begin_##name(const void *config,                      \
                                   const strads_data *data,                 \
                                   const strads_shape *shape, void **state) \
    {                                                                       \
        glm_problem problem;                                                \
        const strads_err err = resolve(config, &problem);                   \
        return err ? err : begin_columns(&problem, data, shape, state);     \
    }                                                                       \
    static strads_err open_##name(const strads_task *task, void **local)    \
    {                                                                       \
        glm_problem problem;                                                \
        const strads_err err = resolve(task->config, &problem);             \
        return err ? err : columns_open(&problem, task, local);             \
    }

#define COLUMNS_PROGRAM(config_type)                                           \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_COLS,                \
    .packed = true, .no_policy = true, .owned = owned_columns, .pooled = true, \
    .config_size = sizeof(config_type), .phases = phases,                      \
    .n_phases = COLUMNS_PHASES, .end = end_columns, .close = columns_close,    \
    .refresh = columns_refresh, .schedule = schedule, .weight = weigh_column,  \
    .objective = objective

COLUMNS_SLOTS(lasso, resolve_lasso_columns)

const strads_program strads_program_lasso_columns = {
    COLUMNS_PROGRAM(strads_glm_options),
    .name = "lasso-columns",
    .summary = "the Lasso on data that is cut by columns, or larger than "
               "memory",
    .options = glm_lasso_option_table,
    .defaults = &glm_lasso_defaults,
    .shape = shape_lasso,
    .begin = begin_lasso,
    .open = open_lasso};

COLUMNS_SLOTS(logistic, resolve_logistic_columns)

const strads_program strads_program_logistic_columns = {
    COLUMNS_PROGRAM(strads_logistic_options),
    .name = "logistic-columns",
    .summary = "logistic regression with an L1 penalty on data that is cut by "
               "columns, or larger than memory",
    .options = glm_logistic_option_table,
    .defaults = &glm_logistic_defaults,
    .named_labels = linear_classes_named,
    .shape = shape_logistic,
    .begin = begin_logistic,
    .open = open_logistic};

COLUMNS_SLOTS(glm, resolve_glm_columns)

const strads_program strads_program_glm_columns = {
    COLUMNS_PROGRAM(strads_glm_options),
    .name = "glm-columns",
    .summary = "generalised linear models with an L1 penalty on data that is "
               "cut by columns, or larger than memory",
    .options = glm_option_table,
    .defaults = &glm_defaults,
    .named_labels = glm_named_labels,
    .shape = shape_glm,
    .begin = begin_glm,
    .open = open_glm};

/* ---- results ------------------------------------------------------------- */

strads_glm_options strads_columns_resolved(const void *state)
{
    const columns_state *s = state;
    strads_glm_options o = s->problem.options;
    o.lambda = wanted_lambda(s);
    o.lambda_ratio = o.c = 0;
    return o;
}

double strads_columns_intercept(const void *state)
{
    const columns_state *s = state;
    return s->b - s->origins;
}

double strads_columns_lambda_max(const void *state)
{
    return ((const columns_state *)state)->lambda_max;
}

strads_columns_work strads_columns_worked(const void *state)
{
    const columns_state *s = state;
    return (strads_columns_work){.scans = s->scans,
                                 .candidates = s->n,
                                 .updates = s->updates};
}
