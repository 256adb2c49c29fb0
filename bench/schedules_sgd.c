/* One Lasso by data-parallel steps: each worker takes a batch of rows per
 * clock; the weights are in the store. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measuring.h"
#include "bench/schedules.h"

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory");
}

enum { LINE = 1024 }; /* weights in a row of the table */

typedef struct sgd {
    const strads_share *share;
    const schedules_setup *how;
    uint32_t lines, columns;
    uint64_t rows;
    double *w, *g, *change; /* [lines x LINE] */
    double l1, flat;        /* lambda; 1 / the largest |x_i|^2 of a row */
    double penalty;
} sgd;

static double row_times(const sgd *s, uint64_t i)
{
    const strads_sparse *x = &s->share->by_row;
    double sum = 0;
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        sum += x->f64[e] * s->w[x->index[e]];
    return sum;
}

static double whole_objective(const sgd *s)
{
    double squares = 0, norm = 0;
    for (uint64_t i = 0; i < s->rows; i++) {
        const double r = s->share->label[i] - row_times(s, i);
        squares += r * r;
    }
    for (uint32_t j = 0; j < s->columns; j++)
        norm += fabs(s->w[j]);
    return squares / (2 * (double)s->rows) + s->l1 * norm;
}

static void add_gradient(sgd *s, uint64_t i, double weight)
{
    const strads_sparse *x = &s->share->by_row;
    const double r = s->share->label[i] - row_times(s, i);
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        s->g[x->index[e]] -= weight * x->f64[e] * r;
}

/* lambda, and the longest row. */
static void survey(sgd *s)
{
    const strads_sparse *x = &s->share->by_row;
    double longest = 0, most = 0;
    for (uint64_t i = 0; i < s->rows; i++) {
        double squares = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            squares += x->f64[e] * x->f64[e];
        longest = fmax(longest, squares);
        add_gradient(s, i, 1 / (double)s->rows);
    }
    for (uint32_t j = 0; j < s->columns; j++)
        most = fmax(most, fabs(s->g[j]));
    s->l1 = s->how->ratio * most;
    s->flat = 1 / longest;
}

/* Clock c's batch: rows drawn with replacement, and a proximal step that
 * decreases as 1 / sqrt(passes). Its factor 4 is the largest power of 4 that
 * does not diverge on the benchmark's design. */
static void take_batch(sgd *s, uint64_t c)
{
    const double passes = (double)c * s->how->width / (double)s->rows;
    const double step = 4 * s->how->width * s->flat / sqrt(1 + passes);
    memset(s->g, 0, (size_t)s->lines * LINE * sizeof *s->g);
    for (uint32_t k = 0; k < s->how->width; k++) {
        const uint64_t i =
            (uint64_t)(strads_random_unit(1, 1, c, k) * (double)s->rows);
        add_gradient(s, i, 1 / (double)s->how->width);
    }
    for (uint32_t j = 0; j < s->columns; j++)
        s->change[j] =
            schedules_soft(s->w[j] - step * s->g[j], step * s->l1) - s->w[j];
}

static strads_err turn_clock(sgd *s, strads_session *session, uint64_t c)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < s->lines && !err; k++)
        err = strads_session_read_row(session, 1, k, 0, s->w + k * LINE);
    take_batch(s, c);
    for (uint32_t k = 0; k < s->lines && !err; k++)
        err = strads_session_inc_row(session, 1, k, s->change + k * LINE);
    return err ? err : strads_session_clock(session);
}

/* Excludes the time of measurements. */
static strads_err descend(sgd *s, const strads_task *task,
                          strads_session *session)
{
    double spent = 0, updates = 0, told = 0;
    strads_err err = STRADS_OK;
    for (uint64_t c = 0; !err && spent < s->how->limit; c++) {
        const double begun = bench_cpu();
        err = turn_clock(s, session, c);
        spent += bench_cpu() - begun;
        updates += s->columns;
        if (spent > 1.05 * told) {
            schedules_tell(spent, updates, whole_objective(s));
            told = spent;
        }
    }
    strads_loop_report(task, &(strads_report){.stop = true, .gap = NAN});
    return err;
}

static strads_err run_sgd(strads_task *task, strads_session *session)
{
    const strads_share *share = task->share;
    const uint32_t p = (uint32_t)task->shape->parameters;
    sgd s = {.share = share,
             .how = *(const schedules_setup *const *)task->config,
             .lines = (p + LINE - 1) / LINE,
             .columns = p,
             .rows = share->rows.end - share->rows.begin};
    const size_t n = (size_t)s.lines * LINE;
    double *scratch = calloc(3 * n, sizeof *scratch);
    if (!scratch)
        return no_memory();
    s.w = scratch;
    s.g = scratch + n;
    s.change = scratch + 2 * n;
    survey(&s);
    const strads_err err = descend(&s, task, session);
    free(scratch);
    return err;
}

static strads_err sgd_tables(const void *config, const strads_shape *shape,
                             strads_store *store)
{
    const strads_table_spec weights = {.name = "weights",
                                       .rows = (shape->parameters + LINE - 1) /
                                               LINE,
                                       .cols = LINE};
    (void)config;
    return strads_store_create(store, &weights, &(uint32_t){0});
}

const strads_program schedules_sgd = {.size = sizeof schedules_sgd,
                                      .name = "sgd",
                                      .layout = STRADS_LAYOUT_ROWS,
                                      .config_size = sizeof(schedules_setup *),
                                      .tables = sgd_tables,
                                      .run = run_sgd};
