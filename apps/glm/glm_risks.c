/* Losses that are not a sum over rows: a row's slope depends on the margins of
 * all rows. Before each scan every partition receives these, and computes the
 * slopes of all rows to keep its own. Only differences between margins matter,
 * so b stays 0, and models use the mean of their columns. */
#include <math.h>
#include <stdlib.h>

#include "glm_parts.h"

enum { RISK = 3 }; /* numbers of a row: y, c, z */

/* ---- strata and ranks ---------------------------------------------------- */

strads_err glm_read_strata(const strads_glm_options *o, uint64_t rows,
                           uint32_t **out)
{
    static const linear_lines lines = {.option = "--strata",
                                       .what = "the stratum of a row",
                                       .of = "rows"};
    const bool file = !o->row_stratum && o->strata && *o->strata;
    uint32_t *stratum = NULL;
    double *number = NULL;
    strads_err err = STRADS_OK;

    *out = NULL;
    if (!file && !o->row_stratum)
        return STRADS_OK;
    stratum = calloc(rows + 1, sizeof(*stratum));
    number = calloc(rows + 1, sizeof(*number));
    if (!stratum || !number)
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for the strata of %llu "
                          "rows",
                          (unsigned long long)rows);
    else if (file)
        err = linear_read_lines(&lines, o->strata, &(strads_range){0, rows},
                                rows, number);
    for (uint64_t i = 0; i < rows && !err; i++)
        if (!(number[i] <= UINT32_MAX && number[i] == floor(number[i])))
            err = strads_fail(STRADS_EFORMAT,
                              "%s:%llu: the stratum is %g; expected a whole "
                              "number from 0 up, equal in the rows of a "
                              "stratum",
                              o->strata, (unsigned long long)i + 1, number[i]);
        else
            stratum[i] = file ? (uint32_t)number[i] : o->row_stratum[i];
    free(number);
    if (err)
        free(stratum);
    else
        *out = stratum;
    return err;
}

typedef struct timed {
    double time;
    uint64_t row;
    uint32_t stratum;
} timed;

static int by_time(const void *a, const void *b)
{
    const timed *x = a, *y = b;

    return x->stratum != y->stratum ? (x->stratum > y->stratum ? 1 : -1)
                                    : (x->time > y->time) - (x->time < y->time);
}

strads_err glm_rank_times(uint64_t n, const uint32_t *stratum, double *y)
{
    timed *at = malloc((n + 1) * sizeof(*at));
    double rank = 1;

    if (!at)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the times of %llu rows",
                           (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        at[i] = (timed){.time = fabs(y[i]),
                        .row = i,
                        .stratum = stratum ? stratum[i] : 0};
    qsort(at, n, sizeof(*at), by_time);
    for (uint64_t k = 0; k < n; k++) {
        if (k > 0 && at[k].stratum != at[k - 1].stratum)
            rank += 2;
        else if (k > 0)
            rank += at[k].time > at[k - 1].time;
        y[at[k].row] = signbit(y[at[k].row]) ? -rank : rank;
    }
    free(at);
    return STRADS_OK;
}

/* ---- the phase ----------------------------------------------------------- */

size_t glm_risks_size(const strads_task *task)
{
    return task->shape->rows * RISK * sizeof(double);
}

strads_err glm_update_risks(strads_task *task)
{
    glm_local *local = task->local;
    double *out = task->partial;

    glm_catch_up(local);
    for (uint64_t i = 0; i < local->rows; i++) {
        *out++ = local->y[i];
        *out++ = local->c[i];
        *out++ = local->z[i];
    }
    task->partial_bytes = local->rows * RISK * sizeof(double);
    return STRADS_OK;
}

/* ---- the baseline hazard ------------------------------------------------- */

/* The rows at the end of a run. */
typedef struct finish {
    double *y, *c, *z;     /* [rows]; y has ranks */
    double *time, *hazard; /* [ranks + 1] of each rank, 0 of an unused one */
    uint32_t *stratum;     /* [ranks + 1] */
} finish;

static void finish_free(finish *f)
{
    free(f->y);
    free(f->time);
    free(f->stratum);
}

/* At most one rank between two strata is unused. */
static bool finish_new(uint64_t rows, finish *f)
{
    const uint64_t ranks = 2 * rows + 2;

    f->y = calloc(3 * rows + 1, sizeof(*f->y));
    f->c = f->y ? f->y + rows : NULL;
    f->z = f->y ? f->c + rows : NULL;
    f->time = calloc(2 * ranks, sizeof(*f->time));
    f->hazard = f->time ? f->time + ranks : NULL;
    f->stratum = calloc(ranks, sizeof(*f->stratum));
    return f->y && f->time && f->stratum;
}

/* Keeps the ranks at which a stratum's hazard grows. */
static strads_err keep_steps(glm_state *state, const finish *f, uint64_t ranks)
{
    glm_baseline *kept = &state->baseline;
    uint64_t n = 0;

    kept->stratum = calloc(ranks + 1, sizeof(*kept->stratum));
    kept->time = calloc(ranks + 1, sizeof(*kept->time));
    kept->hazard = calloc(ranks + 1, sizeof(*kept->hazard));
    if (!kept->stratum || !kept->time || !kept->hazard)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the baseline hazard at %llu times",
                           (unsigned long long)ranks);
    for (uint64_t k = 1; k <= ranks; k++) {
        if (!(f->hazard[k] > f->hazard[k - 1]))
            continue;
        kept->stratum[n] = f->stratum[k];
        kept->time[n] = f->time[k];
        kept->hazard[n++] = f->hazard[k] * exp(-state->drift);
    }
    kept->of = (strads_baseline){n, kept->stratum, kept->time, kept->hazard};
    return STRADS_OK;
}

/* From the rows of all workers at the last coefficients. */
static strads_err find_baseline(glm_state *state, const double *in)
{
    const uint64_t n = state->set.rows;
    finish f = {0};
    uint64_t ranks = 0;
    strads_err err = finish_new(n, &f)
                         ? STRADS_OK
                         : strads_fail(STRADS_ENOMEM,
                                       "no memory for the baseline hazard of "
                                       "%llu rows",
                                       (unsigned long long)n);

    for (uint64_t i = 0; i < n && !err; i++) {
        f.y[i] = in[i * RISK];
        f.c[i] = in[i * RISK + 1];
        f.z[i] = in[i * RISK + 2];
    }
    if (!err)
        err = glm_rank_times(n, state->stratum, f.y);
    for (uint64_t i = 0; i < n && !err; i++) {
        const uint64_t k = (uint64_t)fabs(f.y[i]);
        f.time[k] = fabs(in[i * RISK]);
        f.stratum[k] = state->stratum ? state->stratum[i] : 0;
        ranks = k > ranks ? k : ranks;
    }
    if (!err) {
        const glm_rows rows = {n, f.y, f.c, f.z};
        state->problem.loss->hazards(&rows, f.hazard);
        err = keep_steps(state, &f, ranks);
    }
    finish_free(&f);
    return err;
}

const strads_baseline *strads_glm_baseline(const void *state)
{
    return &((const glm_state *)state)->baseline.of;
}

double strads_glm_survival(const strads_baseline *b, uint32_t stratum,
                           double time, double margin)
{
    uint64_t low = 0, high = b->n; /* steps before low have come */

    while (low < high) {
        const uint64_t k = low + (high - low) / 2;
        const bool come = b->stratum[k] < stratum ||
                          (b->stratum[k] == stratum && b->time[k] <= time);
        low = come ? k + 1 : low;
        high = come ? high : k;
    }
    if (low > 0 && b->stratum[low - 1] == stratum)
        return exp(-b->hazard[low - 1] * exp(margin));
    return low < b->n && b->stratum[low] == stratum ? 1 : NAN;
}

/* The thresholds of levels, at the last coefficients. */
static strads_err find_levels(glm_state *state, const double *in)
{
    const uint64_t n = state->set.rows;
    double *y = calloc(3 * n + 1, sizeof(*y)), *c = y + n, *z = c + n;

    free(state->thresholds);
    state->thresholds = calloc(state->levels, sizeof(*state->thresholds));
    if (!y || !state->thresholds) {
        free(y);
        return strads_fail(STRADS_ENOMEM, "no memory for the thresholds");
    }
    for (uint64_t i = 0; i < n; i++) {
        y[i] = in[i * RISK];
        c[i] = in[i * RISK + 1];
        z[i] = in[i * RISK + 2] + state->drift;
    }
    const glm_rows rows = {n, y, c, z};
    state->problem.loss->thresholds(&rows, state->levels, state->thresholds);
    free(y);
    return STRADS_OK;
}

strads_err glm_aggregate_risks(strads_commit *commit)
{
    glm_state *state = commit->state;

    if (commit->partial_bytes != state->set.rows * RISK * sizeof(double))
        return strads_fail(STRADS_EPEER,
                           "the rows that workers sent do not fit the data: a "
                           "node runs another version or is broken");
    state->risks_known = true;
    if (!state->finishes)
        return STRADS_OK;
    return state->problem.loss->labels == GLM_LEVELS
               ? find_levels(state, commit->partial)
               : find_baseline(state, commit->partial);
}

strads_err glm_receive_risks(strads_task *task)
{
    glm_local *local = task->local;
    const uint64_t n = task->shape->rows, first = task->share->rows.begin;
    const double *in = task->partial;
    const bool begins = !local->all;
    strads_err err;

    if (begins && !(local->all = malloc((4 * n + 1) * sizeof(*local->all))))
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the margins of %llu rows",
                           (unsigned long long)n);
    double *y = local->all, *c = y + n, *z = c + n, *r = z + n;
    for (uint64_t i = 0; i < n; i++, in += RISK) {
        y[i] = begins ? in[0] : y[i];
        c[i] = in[1];
        z[i] = in[2];
    }
    if (begins && local->problem.loss->labels == GLM_TIMES) {
        uint32_t *stratum = NULL;
        err = glm_read_strata(&local->problem.options, n, &stratum);
        if (!err)
            err = glm_rank_times(n, stratum, y);
        free(stratum);
        if (err)
            return err;
    }
    const glm_rows rows = {n, y, c, z};
    (void)local->problem.loss->evaluate(&rows, local->problem.p, r, NULL);
    for (uint64_t i = 0; i < local->rows; i++)
        local->r[i] = r[first + i];
    return STRADS_OK;
}
