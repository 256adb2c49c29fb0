/* Fits by columns: the coordinator, and the programs' tables.
 *
 * Workers solve the candidates, a block for each pool of partitions, all at
 * once. The coordinator adds each block's change by an exact or searched step,
 * so that P never rises. columns_path.c chooses the lambdas, and the scans of
 * all columns that certify solutions and find candidates. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include <strads/lasso.h>
#include <strads/logistic.h>

#include "columns_parts.h"

/* ---- values of margins --------------------------------------------------- */

/* Sets b, z, r and h for the margins. */
static void evaluate_margins(columns_state *s)
{
    const columns_rows rows = {s->rows, s->y, s->c, s->offset, s->margin};
    s->b = columns_intercept(&s->plan.problem, &rows, s->b, s->z, s->r, s->h,
                             &s->loss);
    columns_centre(&s->plan.problem, s->c, s->weight_sum, s->rows, s->r);
}

double columns_primal(const columns_state *s)
{
    return s->loss + columns_l1(s) * s->l1_norm + columns_l2(s) / 2 * s->square;
}

/* sum c f*(y, -share r / c); overwrites r. */
static double add_conjugates(const columns_state *s, const glm_rows *rows,
                             double share, double *r)
{
    const glm_loss *loss = s->plan.problem.loss;
    double sum = 0;
    if (loss->conjugates)
        return loss->conjugates(rows, share, r);
    for (uint64_t i = 0; i < rows->n; i++)
        if (rows->c[i] > 0)
            sum += rows->c[i] * loss->conjugate(rows->y[i],
                                                -share * r[i] / rows->c[i],
                                                s->plan.problem.p);
    return sum;
}

/* Of r scaled by a share, without the columns' part. */
static double dual_of_rows(const columns_state *s, const glm_rows *rows,
                           double tilt, double share, double *r)
{
    return -share * tilt - add_conjugates(s, rows, share, r);
}

/* r is a dual point, if it is scaled so that no conjugate is infinite; or so
 * that all are 0 but those of free columns. A conjugate at a share of a slope
 * is at most that share of the conjugate. */
double columns_gap(const columns_state *s, const columns_pending *at,
                   const double *c, columns_seen seen)
{
    const glm_rows rows = {s->rows, s->y, c, at->z};
    const double share = seen.forced > 1 ? 1 / seen.forced : 1;
    double size = 0, off = 0, tilt = 0;
    for (uint64_t i = 0; i < s->rows; i++) {
        size += fabs(at->r[i] * s->y[i]) + fabs(at->r[i] * s->offset[i]);
        off += at->r[i];
        tilt += at->r[i] * s->offset[i];
    }
    double dual = dual_of_rows(s, &rows, tilt, share, at->r) -
                  share * (seen.bounded + seen.free);
    if (seen.bounded > 0) {
        const double other = 1 / fmax(seen.tight, 1);
        dual = fmax(dual, dual_of_rows(s, &rows, tilt, other, at->r) -
                              other * seen.free);
    }
    /* Sums over n rows have rounding errors of about eps sqrt n of their terms.
     * What r sums up to, and should not, counts for each unit of b. */
    const double rounding =
        DBL_EPSILON * (size + at->primal) * sqrt((double)s->rows) +
        (s->plan.problem.options.intercept
             ? fabs(off) * (2 * fabs(at->b) + s->unit)
             : 0);
    const double excess = at->primal - dual;
    const double gap = (excess > 0 ? excess : 0) + rounding;
    return isnan(excess) || !(at->primal > 0) ? (at->primal == 0 ? 0 : 1)
                                              : gap / at->primal;
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

/* At the start: coefficients that are not 0 come from a model or a checkpoint.
 * Their margins are recomputed. */
static strads_err find_start(columns_state *s, const strads_turn *turn)
{
    const double *w = strads_store_dense(turn->store, 0);
    strads_err err = STRADS_OK;
    for (uint64_t j = 0; j < s->columns && !err; j++)
        if (w[j] != 0)
            err = add_candidate(s, (uint32_t)j);
    share_candidates(s);
    s->nonzeros = s->started = s->n;
    s->starts = s->n > 0;
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
    s->from_loss = s->loss;
    s->l1_before = s->square_before = s->l1_after = s->square_after = 0;
    s->seen = (columns_seen){0};
    s->stopped = false;
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
        strads_err err = columns_deal(s, turn->seed);
        if (!err)
            err = find_start(s, turn);
        if (err)
            return err;
    }
    switch (s->next) {
    case COLUMNS_TO_MARGINS:
        return dispatch_blocks(s, turn, COLUMNS_MARGINS);
    case COLUMNS_TO_START:
    case COLUMNS_TO_LARGEST:
    case COLUMNS_TO_SCAN: {
        const strads_block all = {.id = s->next == COLUMNS_TO_SCAN
                                            ? COLUMNS_SCAN_ID
                                            : COLUMNS_LARGEST_ID,
                                  .n = (uint32_t)s->columns};
        return strads_turn_dispatch(turn, COLUMNS_SCAN, 1, &all);
    }
    case COLUMNS_TO_SOLVE:
        return dispatch_blocks(s, turn, COLUMNS_SOLVE);
    case COLUMNS_TO_KEEP:
        return strads_turn_dispatch(turn, COLUMNS_KEEP, 1,
                                    &(strads_block){.id = COLUMNS_NONE_ID,
                                                    .n = s->n_free,
                                                    .param = s->free});
    case COLUMNS_TO_END:
        return strads_turn_dispatch(turn, COLUMNS_END, 1,
                                    &(strads_block){.id = COLUMNS_NONE_ID});
    case COLUMNS_TO_STOP:
        break;
    }
    return strads_turn_stop(turn);
}

/* ---- commits ------------------------------------------------------------- */

void columns_set_total(strads_commit *commit, uint32_t k, double wanted)
{
    commit->total_change[k] = wanted - commit->total[k];
}

strads_err columns_move(columns_state *s, strads_commit *commit,
                        const double *d, double step)
{
    const double b = s->b;
    uint32_t n = 0;
    for (uint64_t i = 0; step != 0 && i < s->rows; i++)
        if (d[i] != 0) {
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

static void prepare_margins(columns_state *s)
{
    memset(s->trial, 0, s->rows * sizeof *s->trial);
    s->l1_norm = s->square = s->origins = 0;
}

static strads_err aggregate_margins(strads_commit *commit)
{
    columns_state *s = commit->state;
    const double *d = commit->partial + COLUMNS_NUMBERS;
    s->l1_norm += commit->partial[COLUMNS_L1_BEFORE];
    s->square += commit->partial[COLUMNS_SQUARE_BEFORE];
    s->origins += commit->partial[COLUMNS_ORIGINS];
    s->stopped = s->stopped || commit->partial[COLUMNS_STOPPED] != 0;
    for (uint64_t i = 0; i < s->rows; i++)
        s->trial[i] += d[i];
    if (--s->blocks_left > 0)
        return STRADS_OK;
    if (s->stopped) { /* again, unless the run ends */
        prepare_margins(s);
        return STRADS_OK;
    }
    /* The store's margins, of a checkpoint, are replaced. */
    const double *held =
        (const double *)strads_store_dense(commit->store, 0) + s->columns;
    memcpy(s->margin, held, s->rows * sizeof *s->margin);
    for (uint64_t i = 0; i < s->rows; i++)
        s->trial[i] -= held[i];
    s->b = held[s->rows];
    const strads_err err = columns_move(s, commit, s->trial, 1);
    return err ? err : columns_begin_tasks(s, commit);
}

/* ---- a scan -------------------------------------------------------------- */

/* What all partitions found. */
typedef struct scan_result {
    columns_seen seen[COLUMNS_VIEWS_MAX];
    uint64_t found; /* new candidates */
    bool stopped;
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
        const columns_seen *seen = (const void *)(head + 1);
        const columns_found *found = (const void *)(seen + head->views);
        for (uint64_t v = 0; v < head->views; v++)
            columns_add_seen(&out->seen[v], &seen[v]);
        out->stopped = out->stopped || head->stopped;
        out->found += head->n;
        for (uint64_t k = 0; k < head->n && !err; k++)
            err = add_candidate(s, found[k].column);
        at = (const char *)(found + head->n);
    }
    return err;
}

/* Sets all coefficients and margins of a start to 0, for a while. */
static strads_err clear_start(columns_state *s, strads_commit *commit)
{
    const double *w = strads_store_dense(commit->store, 0);
    const strads_path_point none = {0};
    strads_err err = columns_copy(s, w, &s->held);
    if (!err)
        err = columns_return_to(s, commit, &none);
    if (err)
        return err;
    memcpy(s->margin, w + s->columns, s->rows * sizeof *s->margin);
    for (uint64_t i = 0; i < s->rows; i++)
        s->trial[i] = -s->margin[i];
    s->b = w[s->columns + s->rows];
    return columns_move(s, commit, s->trial, 1);
}

/* The first pass has found columns without a penalty, behind the candidates of
 * a start: they are solved alone, because lambda_max is the largest slope of
 * the others there. */
static strads_err begin_alone(columns_state *s, strads_commit *commit)
{
    const uint32_t n = s->n - s->started;
    strads_err err = STRADS_OK;
    s->free = malloc(n * sizeof *s->free);
    if (!s->free)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %u columns without a penalty", n);
    memcpy(s->free, s->candidate + s->started, n * sizeof *s->free);
    qsort(s->free, n, sizeof *s->free, columns_compare);
    s->n_free = n;
    s->n = s->started;
    if (s->starts)
        err = clear_start(s, commit);
    memcpy(s->candidate, s->free, n * sizeof *s->free);
    s->n = n;
    share_candidates(s);
    s->nonzeros = 0;
    s->alone = true;
    s->next = COLUMNS_TO_SOLVE;
    return err ? err : columns_set_lambda(s, commit, 0, 0);
}

/* Back to the coefficients of a start. */
static strads_err restore_start(columns_state *s, strads_commit *commit)
{
    strads_err err = STRADS_OK;
    for (uint64_t k = 0; k < s->held.nonzeros && !err; k++) {
        const uint32_t id = s->held.index[k];
        if (!bsearch(&id, s->free, s->n_free, sizeof *s->free, columns_compare))
            err = add_candidate(s, id);
    }
    share_candidates(s);
    if (!err)
        err = columns_return_to(s, commit, &s->held);
    s->nonzeros = s->held.nonzeros;
    columns_free_point(&s->held);
    return err;
}

static strads_err aggregate_scan(strads_commit *commit)
{
    columns_state *s = commit->state;
    scan_result scan;
    strads_err err = collect_scan(s, commit, &scan);
    if (err || scan.stopped) /* again, unless the run ends */
        return err;
    s->scans++;
    if (s->next != COLUMNS_TO_LARGEST) {
        share_candidates(s);
        return columns_certify(s, commit, scan.seen, scan.found);
    }
    if (!s->alone && s->n > s->started)
        return begin_alone(s, commit);
    s->lambda_max = scan.seen[0].forced /
                    (s->weight_sum * s->plan.problem.options.l1_ratio);
    if (!s->starts) {
        s->alone = false;
        return columns_begin_tasks(s, commit);
    }
    if (s->alone)
        err = restore_start(s, commit);
    s->alone = false;
    prepare_margins(s);
    s->next = COLUMNS_TO_MARGINS;
    return err;
}

/* ---- a block's solution -------------------------------------------------- */

/* The penalty of the whole at a step within [0, 1] along a block's change, or
 * more: |w + t d| is at most what lies between |w| and |w + d|. */
static double penalty_at(const columns_state *s, const double *numbers,
                         double t)
{
    return columns_l1(s) * (s->l1_norm + t * numbers[COLUMNS_L1_CHANGE]) +
           columns_l2(s) / 2 *
               (s->square + 2 * t * numbers[COLUMNS_CROSS] +
                t * t * numbers[COLUMNS_MOVED]);
}

static double loss_along(columns_state *s, const double *d, double t)
{
    const glm_rows rows = {s->rows, s->y, s->c, s->trial};
    for (uint64_t i = 0; i < s->rows; i++)
        s->trial[i] = s->z[i] + t * d[i];
    return s->plan.problem.loss->evaluate(&rows, s->plan.problem.p, NULL, NULL);
}

/* The step along a block's change that does not raise P. For a squared loss it
 * is exact: with an intercept, along d less its mean. The only block of a round
 * was solved at these margins, so its step is 1. */
static double find_step(columns_state *s, const double *numbers,
                        const double *d)
{
    enum { HALVINGS = 40 };
    if (s->plan.problem.loss->constant && s->blocks == 1)
        return 1;
    if (s->plan.problem.loss->constant) {
        double slope = 0, curve = 0, mean = 0;
        for (uint64_t i = 0; s->plan.problem.options.intercept && i < s->rows;
             i++)
            mean += s->c[i] * d[i] / s->weight_sum;
        for (uint64_t i = 0; i < s->rows; i++) {
            slope += s->r[i] * (d[i] - mean);
            curve += s->c[i] * (d[i] - mean) * (d[i] - mean);
        }
        slope -= columns_l1(s) * numbers[COLUMNS_L1_CHANGE] +
                 columns_l2(s) * numbers[COLUMNS_CROSS];
        curve += columns_l2(s) * numbers[COLUMNS_MOVED];
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

/* After the last block of a round: solves on, or keeps the solution. The sums
 * of the penalty are those of the round, because another fold may have other
 * scales. */
static void end_round(columns_state *s, double tolerance)
{
    const columns_pending before = {.primal =
                                        s->from_loss +
                                        columns_l1(s) * s->l1_before +
                                        columns_l2(s) / 2 * s->square_before,
                                    .b = s->b,
                                    .r = s->from,
                                    .z = s->z};
    const double gap = columns_gap(s, &before, s->c, s->seen);
    s->l1_norm = s->l1_after;
    s->square = s->square_after;
    s->primal = columns_primal(s);
    s->narrowest = fmin(s->narrowest, gap);
    const bool stalled = has_stalled(s);
    if (stalled || gap <= columns_inner(s, tolerance))
        s->next = COLUMNS_TO_KEEP;
}

static strads_err aggregate_solve(strads_commit *commit)
{
    columns_state *s = commit->state;
    const double *numbers = commit->partial;
    const double *d = numbers + COLUMNS_NUMBERS;
    const double *l1 = d + s->rows, *l2 = l1 + commit->block.n;
    const columns_seen seen = {.tight = numbers[COLUMNS_TIGHT],
                               .forced = numbers[COLUMNS_FORCED],
                               .bounded = numbers[COLUMNS_BOUNDED],
                               .free = numbers[COLUMNS_FREE]};
    const double t = find_step(s, numbers, d);
    columns_add_seen(&s->seen, &seen);
    s->l1_before += numbers[COLUMNS_L1_BEFORE];
    s->square_before += numbers[COLUMNS_SQUARE_BEFORE];
    s->origins += t * numbers[COLUMNS_ORIGINS];
    s->updates += (uint64_t)numbers[COLUMNS_UPDATES];
    strads_commit_count_updates(commit, (uint64_t)numbers[COLUMNS_UPDATES]);
    /* Not by the bound of penalty_at: the true sums. */
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const double w = commit->value[k];
        if (t != 1)
            commit->change[k] *= t;
        const double to = w + commit->change[k];
        s->l1_after += l1[k] * fabs(to);
        s->square_after += l2[k] * to * to;
        s->nonzeros += (uint64_t)(to != 0);
        s->nonzeros -= (uint64_t)(w != 0);
    }
    const strads_err err = columns_move(s, commit, d, t);
    if (!err && --s->blocks_left == 0)
        end_round(s, commit->tolerance);
    return err;
}

/* ---- beginning and end --------------------------------------------------- */

static strads_err shape_columns(const columns_plan *plan,
                                const strads_data *data, strads_shape *shape)
{
    const uint64_t views = columns_views(plan, shape->rows);
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
            shape->run_bytes += (share->cols.end - share->cols.begin) *
                                columns_scale_bytes(plan);
        if (share)
            shape->run_bytes +=
                shape->rows * (COLUMNS_ROW_BYTES + views * COLUMNS_VIEW_BYTES);
    }
    shape->run_bytes += shape->rows * views * COLUMNS_PENDING_BYTES;
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
    free(s->free);
    columns_free_point(&s->held);
    columns_tasks_free(s);
    free(s);
}

static strads_err fill_state(columns_state *s, const strads_data *data)
{
    enum { ARRAYS = 12 };
    const uint64_t n = s->rows;
    s->y = calloc(n * ARRAYS + 1, sizeof *s->y);
    s->bound = calloc(s->partitions + 1, sizeof *s->bound);
    s->first = calloc(s->partitions + 1, sizeof *s->first);
    s->param = calloc(n + 1, sizeof *s->param);
    s->change = calloc(n + 1, sizeof *s->change);
    if (!s->y || !s->bound || !s->first || !s->param || !s->change)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu rows",
                           (unsigned long long)n);
    double **const array[ARRAYS - 1] = {&s->weight, &s->c,    &s->other,
                                        &s->margin, &s->z,    &s->r,
                                        &s->h,      &s->from, &s->trial,
                                        &s->offset, &s->count};
    for (int k = 0; k + 1 < ARRAYS; k++)
        *array[k] = s->y + (uint64_t)(k + 1) * n;
    for (uint32_t p = 0; p < s->partitions; p++)
        s->bound[p + 1] = strads_data_part_cols(data, p).end;
    const strads_share *own = NULL;
    for (uint32_t p = 0; p < s->partitions && !own; p++)
        own = strads_data_share(data, p);
    if (own) {
        const strads_glm_options *o = &s->plan.problem.options;
        strads_err err =
            linear_read_weights((linear_weights){o->weights, o->row_weight},
                                own, n, s->weight);
        if (!err)
            err = glm_read_offsets(o, &own->rows, n, s->offset);
        if (!err)
            err = columns_targets(&s->plan.problem, own, s->y, s->weight,
                                  &s->classes);
        s->weigh =
            (columns_weights){.rows = n,
                              .weight = s->weight,
                              .y = s->y,
                              .balanced = columns_balances(&s->plan.problem)};
        s->weight_sum = columns_weigh(&s->weigh, 0, s->c);
        memcpy(s->count, s->c, n * sizeof *s->count);
        if (!err && !(s->weight_sum > 0))
            err = strads_fail(STRADS_EINVAL, "the weights of all rows are 0: "
                                             "at least one must be above");
        if (s->classes)
            s->plan.problem.options.classes = s->classes;
        s->unit = columns_unit(&s->plan.problem, n, s->y, s->offset);
        return err;
    }
    return strads_fail(STRADS_EINVAL,
                       "node 0 has no columns: a fit by columns needs some "
                       "there");
}

static strads_err begin_columns(const columns_plan *plan,
                                const strads_data *data,
                                const strads_shape *shape, void **state)
{
    columns_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for a fit by columns");
    s->plan = *plan;
    s->rows = shape->rows;
    s->columns = shape->cols;
    s->partitions = shape->partitions;
    s->shape = shape;
    s->next_id = COLUMNS_SOLVE_ID;
    s->gap = 1;
    strads_err err = fill_state(s, data);
    if (!err)
        err = columns_tasks_new(s);
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
                       .aggregate = aggregate_solve},
    [COLUMNS_KEEP] = {.name = "keep",
                      .when = STRADS_WHEN_CALLED,
                      .partial = columns_partial_keep,
                      .update = columns_update_keep,
                      .aggregate = columns_keep},
    [COLUMNS_END] = {.name = "end",
                     .to = STRADS_TO_NOBODY,
                     .when = STRADS_WHEN_CALLED,
                     .reports = true,
                     .aggregate = columns_end_path}};

/* Options that the fits by columns lack. */
static strads_err refuse_options(const glm_problem *p)
{
    const strads_glm_options *o = &p->options;
    const char *lacks = p->loss->joint    ? "multinomial"
                        : p->loss->whole  ? o->loss
                        : p->loss->smooth ? "quantile"
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

static strads_err resolve_lasso_columns(const void *config, columns_plan *out)
{
    const strads_err err = glm_lasso_resolve(config, &out->problem);
    return err ? err : refuse_options(&out->problem);
}

static strads_err resolve_glm_columns(const void *config, columns_plan *out)
{
    const strads_err err = glm_options_resolve(config, &out->problem);
    return err ? err : refuse_options(&out->problem);
}

static strads_err resolve_logistic_columns(const void *config,
                                           columns_plan *out)
{
    const strads_err err = glm_logistic_resolve(config, &out->problem);
    return err ? err : refuse_options(&out->problem);
}

static strads_err resolve_path_columns(const void *config, columns_plan *out)
{
    const strads_err err = glm_path_resolve(config, &out->problem, &out->path);
    out->is_path = true;
    out->folds = out->path.folds;
    out->fold_file = out->path.fold_file && *out->path.fold_file
                         ? out->path.fold_file
                         : NULL;
    return err ? err : refuse_options(&out->problem);
}

/* The slots of a program with its own way to read options. */
#define COLUMNS_SLOTS(name, resolve)                                        \
    static strads_err shape_##name(const void *config,                      \
                                   const strads_data *data,                 \
                                   strads_shape *shape)                     \
    {                                                                       \
        columns_plan plan = {0};                                            \
        const strads_err err = resolve(config, &plan);                      \
        return err ? err : shape_columns(&plan, data, shape);               \
    }                                                                       \
    static strads_err begin_##name(const void *config,                      \
                                   const strads_data *data,                 \
                                   const strads_shape *shape, void **state) \
    {                                                                       \
        columns_plan plan = {0};                                            \
        const strads_err err = resolve(config, &plan);                      \
        return err ? err : begin_columns(&plan, data, shape, state);        \
    }                                                                       \
    static strads_err open_##name(const strads_task *task, void **local)    \
    {                                                                       \
        columns_plan plan = {0};                                            \
        const strads_err err = resolve(task->config, &plan);                \
        return err ? err : columns_open(&plan, task, local);                \
    }

#define COLUMNS_PROGRAM                                                        \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_COLS,                \
    .packed = true, .no_policy = true, .owned = owned_columns, .pooled = true, \
    .phases = phases, .n_phases = COLUMNS_PHASES, .end = end_columns,          \
    .close = columns_close, .refresh = columns_refresh, .schedule = schedule,  \
    .weight = weigh_column, .objective = columns_report

#define COLUMNS_FIT(config_type) \
    COLUMNS_PROGRAM, .config_size = sizeof(config_type)

#define COLUMNS_PATH                                                     \
    COLUMNS_PROGRAM, .config_size = sizeof(strads_glm_path_options),     \
                     .measures = glm_path_measures, .shape = shape_path, \
                     .begin = begin_path, .open = open_path,             \
                     .pack_state = columns_pack,                         \
                     .unpack_state = columns_unpack

COLUMNS_SLOTS(lasso, resolve_lasso_columns)

const strads_program strads_program_lasso_columns = {
    COLUMNS_FIT(strads_glm_options),
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
    COLUMNS_FIT(strads_logistic_options),
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
    COLUMNS_FIT(strads_glm_options),
    .name = "glm-columns",
    .summary = "generalised linear models with an L1 penalty on data that is "
               "cut by columns, or larger than memory",
    .options = glm_option_table,
    .defaults = &glm_defaults,
    .named_labels = glm_named_labels,
    .shape = shape_glm,
    .begin = begin_glm,
    .open = open_glm};

COLUMNS_SLOTS(path, resolve_path_columns)

const strads_program strads_program_lasso_path_columns = {
    COLUMNS_PATH, .name = "lasso-path-columns",
    .summary = "the Lasso's path on data that is cut by columns, or larger "
               "than memory",
    .options = glm_lasso_path_columns_table,
    .defaults = &glm_lasso_path_defaults};

const strads_program strads_program_logistic_path_columns = {
    COLUMNS_PATH,
    .name = "logistic-path-columns",
    .summary = "logistic regression's path on data that is cut by columns, or "
               "larger than memory",
    .options = glm_logistic_path_columns_table,
    .defaults = &glm_logistic_path_defaults,
    .named_labels = linear_classes_named};

const strads_program strads_program_glm_path_columns = {
    COLUMNS_PATH,
    .name = "glm-path-columns",
    .summary = "a path of generalised linear models on data that is cut by "
               "columns, or larger than memory",
    .options = glm_path_columns_table,
    .defaults = &glm_path_defaults,
    .named_labels = glm_named_labels};

/* ---- results ------------------------------------------------------------- */

strads_glm_options strads_columns_resolved(const void *state)
{
    const columns_state *s = state;
    strads_glm_options o = s->plan.problem.options;
    o.lambda = s->path ? 0 : columns_wanted(s);
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
