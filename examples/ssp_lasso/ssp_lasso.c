/* The Lasso through the parameter store, data-parallel and stale synchronous:
 * minimise 1/(2n) |y - X w|^2 + lambda |w|_1.
 *
 * Worker p has rows X_p of the data. The table `gradient` holds the sum over
 * workers of g_p = -X_p'(y_p - X_p w) / n, each at the w that its worker read
 * last. Table 0 holds w; each worker updates its own range of it:
 *
 *     for c = 0, 1, 2, ...
 *         w~ = read(w, s)
 *         inc(gradient, g_p(w~) - g_p of the clock before)
 *         g~ = read(gradient, s)
 *         for j in its range: inc(w_j, soft(w~_j - h g~_j, h lambda) - w~_j)
 *         clock()
 *
 * Reads see all updates older than s clocks (Ho et al., NIPS 2013), so a part
 * of the gradient is at most 2 (s + 1) clocks old. With steps h = 1 / (L (2 s +
 * 3)), L at least the largest eigenvalue of X'X / n, the iterates converge to
 * the minimum, where the parts agree. There is no coordinator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/strads.h>

enum { WEIGHTS = 0, GRADIENT = 1, SUMS = 2, BOUND = 3 };
enum { RR, YR, N_SUMS }; /* |r|^2 and y'r of a worker's rows */
enum { BOUND_CLOCKS = 4 };

typedef struct ssp_options {
    double lambda;
    uint32_t staleness, clocks, report_every;
} ssp_options;

typedef struct ssp_worker {
    const strads_task *task;
    strads_session *session;
    const ssp_options *options;
    const strads_sparse *x; /* its rows */
    uint32_t columns;
    uint32_t *all;      /* [columns] 0, 1, 2, ... */
    double *w, *g;      /* [columns] as read last */
    double *mine;       /* [columns] its part of the gradient, as it is there */
    double *change;     /* [columns] */
    double *r;          /* [its rows] y - X w */
    double sum[N_SUMS]; /* as they are there */
    double step;
    bool loops; /* neither before its first clock nor behind the last */
} ssp_worker;

/* Entry e of the matrix, kept in 8 bytes or, with --f32, in 4. */
static double entry(const strads_sparse *x, uint64_t e)
{
    return x->f64 ? x->f64[e] : (double)x->f32[e];
}

static double soft(double x, double by)
{
    return x > by ? x - by : x < -by ? x + by : 0;
}

/* ---- the step size ----------------------------------------------------- */

/* out += |X_p|' |X_p| v */
static void multiply(const ssp_worker *k, const double *v, double *out)
{
    const strads_sparse *x = k->x;
    for (uint64_t i = 0; i < x->lines; i++) {
        double sum = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            sum += fabs(entry(x, e)) * v[x->index[e]];
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            out[x->index[e]] += fabs(entry(x, e)) * sum;
    }
}

/* For A >= 0 and v > 0 no eigenvalue of A is above max_j (A v)_j / v_j, and
 * that comes down with v = A v (Collatz, Wielandt). */
static strads_err bound(ssp_worker *k)
{
    double most = 0;
    strads_err err = STRADS_OK;
    for (uint32_t j = 0; j < k->columns; j++)
        k->w[j] = 1;
    for (uint32_t turn = 0; !err && turn < BOUND_CLOCKS; turn++) {
        for (uint32_t j = 0; j < k->columns; j++)
            k->change[j] = 0;
        multiply(k, k->w, k->change);
        err = strads_session_inc_row(k->session, BOUND, turn, k->change);
        if (!err)
            err = strads_session_clock_and_read(k->session, BOUND, 1, &turn, 0,
                                                k->g);
        most = 0;
        for (uint32_t j = 0; j < k->columns; j++) {
            if (k->w[j] > 0)
                most = fmax(most, k->g[j] / k->w[j]);
            k->w[j] = k->g[j];
        }
    }
    const double largest = most / (double)k->task->shape->rows;
    k->step = largest > 0 ? 1 / (largest * (2.0 * k->options->staleness + 3))
                          : 1; /* no entries: nothing to step along */
    return err;
}

/* ---- one clock --------------------------------------------------------- */

static strads_err read_weights(ssp_worker *k, uint32_t staleness)
{
    return strads_session_read_rows(k->session, WEIGHTS, k->columns, k->all,
                                    staleness, k->w);
}

/* Its part of the gradient and its sums at w, in place of those at the w
 * before. */
static strads_err renew(ssp_worker *k)
{
    const strads_sparse *x = k->x;
    const double n = (double)k->task->shape->rows;
    double sum[N_SUMS] = {0};
    for (uint32_t j = 0; j < k->columns; j++)
        k->change[j] = -k->mine[j];
    for (uint64_t i = 0; i < x->lines; i++) {
        const double y = k->task->share->label[i];
        k->r[i] = y;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            k->r[i] -= entry(x, e) * k->w[x->index[e]];
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            k->change[x->index[e]] -= entry(x, e) * k->r[i] / n;
        sum[RR] += k->r[i] * k->r[i];
        sum[YR] += y * k->r[i];
    }
    for (uint32_t j = 0; j < k->columns; j++)
        k->mine[j] += k->change[j];
    strads_err err = strads_session_inc_row(k->session, GRADIENT, 0, k->change);
    for (uint32_t s = 0; !err && s < N_SUMS; s++) {
        err = strads_session_inc(k->session, SUMS, 0, s, sum[s] - k->sum[s]);
        k->sum[s] = sum[s];
    }
    return err;
}

/* The proximal step of its own range of w. */
static strads_err move(ssp_worker *k)
{
    const uint64_t parts = k->task->shape->partitions;
    const uint64_t p = k->task->share->partition;
    const uint32_t end = (uint32_t)(k->columns * (p + 1) / parts);
    const double h = k->step;
    strads_err err = STRADS_OK;
    for (uint32_t j = (uint32_t)(k->columns * p / parts); !err && j < end;
         j++) {
        const double to = soft(k->w[j] - h * k->g[j], h * k->options->lambda);
        if (to != k->w[j])
            err = strads_session_inc(k->session, WEIGHTS, j, 0, to - k->w[j]);
    }
    return err;
}

/* Objective and duality gap, by what stands in w, g and the table of sums. They
 * are exact when all of it belongs to one w, and come to be so. */
static strads_err report(ssp_worker *k, uint32_t staleness)
{
    const double n = (double)k->task->shape->rows;
    double sum[N_SUMS], l1 = 0, steepest = 0;
    strads_report report = {.nonzeros = 0};
    strads_err err =
        strads_session_read_row(k->session, SUMS, 0, staleness, sum);
    if (err)
        return err;
    for (uint32_t j = 0; j < k->columns; j++) {
        l1 += fabs(k->w[j]);
        steepest = fmax(steepest, fabs(k->g[j]));
        report.nonzeros += k->w[j] != 0;
    }
    const double a =
        steepest > k->options->lambda ? k->options->lambda / steepest : 1;
    const double dual = (a * sum[YR] - a * a * sum[RR] / 2) / n;
    report.objective = sum[RR] / (2 * n) + k->options->lambda * l1;
    report.gap = report.objective > 0 ? 1 - dual / report.objective : 0;
    strads_loop_report(k->task, &report);
    return STRADS_OK;
}

static strads_err turn_clock(ssp_worker *k, uint32_t c)
{
    const uint32_t s = k->options->staleness;
    const bool tells = k->task->share->partition == 0 &&
                       (c + 1) % k->options->report_every == 0;
    strads_err err = read_weights(k, s);
    if (!err)
        err = renew(k);
    if (!err)
        err = strads_session_read_row(k->session, GRADIENT, 0, s, k->g);
    if (!err && tells)
        err = report(k, s);
    if (!err)
        err = move(k);
    return err ? err : strads_session_clock(k->session);
}

/* ---- the loop ---------------------------------------------------------- */

/* All meet at the last clock, and weigh the w that they have left behind. */
static strads_err finish(ssp_worker *k)
{
    const uint64_t last = BOUND_CLOCKS + (uint64_t)k->options->clocks + 1;
    k->loops = false;
    strads_err err = strads_session_flush(k->session); /* withheld changes */
    if (!err)
        err = strads_session_advance(k->session, last);
    if (!err)
        err = read_weights(k, 0);
    if (!err)
        err = renew(k);
    if (!err)
        err = strads_session_clock(k->session);
    if (err || k->task->share->partition != 0)
        return err;
    err = strads_session_read_row(k->session, GRADIENT, 0, 0, k->g);
    return err ? err : report(k, 0);
}

static strads_err ssp_run(strads_task *task, strads_session *session)
{
    ssp_worker *k = task->local;
    k->task = task;
    k->session = session;
    strads_err err = strads_session_now(session) == 0
                         ? bound(k)
                         : STRADS_OK; /* a checkpoint */
    k->loops = true;
    for (uint64_t c = strads_session_now(session) - BOUND_CLOCKS;
         !err && c < k->options->clocks && !strads_loop_ends(task); c++)
        err = turn_clock(k, (uint32_t)c);
    return err ? err : finish(k);
}

/* ---- a worker, and its checkpoints --------------------------------------- */

static void ssp_close(void *local)
{
    ssp_worker *k = local;
    free(k->all);
    free(k->w);
    free(k);
}

static strads_err ssp_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    const size_t p = (size_t)task->shape->parameters;
    const size_t n = (size_t)(share->rows.end - share->rows.begin);
    if (n > 0 && !share->label)
        return strads_fail(STRADS_EINVAL,
                           "ssp_lasso needs a label for each row: --labels "
                           "FILE");
    ssp_worker *k = calloc(1, sizeof *k);
    if (k) {
        k->all = calloc(p + 1, sizeof *k->all);
        k->w = calloc(4 * p + n + 1, sizeof *k->w);
    }
    if (!k || !k->all || !k->w) {
        if (k)
            ssp_close(k);
        return strads_fail(STRADS_ENOMEM, "no memory for %zu columns", p);
    }
    for (uint32_t j = 0; j < p; j++)
        k->all[j] = j;
    k->options = task->config;
    k->x = &share->by_row;
    k->columns = (uint32_t)p;
    k->g = k->w + p;
    k->mine = k->g + p;
    k->change = k->mine + p;
    k->r = k->change + p;
    *local = k;
    return STRADS_OK;
}

/* w and g are read in each clock; the worker's own contributions to the tables
 * are kept. */
static strads_err ssp_pack(const void *local, strads_bytes *out)
{
    const ssp_worker *k = local;
    if (!k->loops)
        return STRADS_OK; /* not now */
    strads_err err = strads_bytes_append(out, &k->step, sizeof k->step);
    if (!err)
        err = strads_bytes_append(out, k->sum, sizeof k->sum);
    return err ? err
               : strads_bytes_append(out, k->mine,
                                     k->columns * sizeof *k->mine);
}

static strads_err ssp_unpack(strads_task *task, const void *bytes, size_t size,
                             void **local)
{
    strads_err err = ssp_open(task, local);
    if (err)
        return err;
    ssp_worker *k = *local;
    const size_t fixed = sizeof k->step + sizeof k->sum;
    if (size != fixed + k->columns * sizeof *k->mine) {
        ssp_close(k);
        *local = NULL;
        return strads_fail(STRADS_EFORMAT,
                           "the checkpoint is not of these columns");
    }
    memcpy(&k->step, bytes, sizeof k->step);
    memcpy(k->sum, (const char *)bytes + sizeof k->step, sizeof k->sum);
    memcpy(k->mine, (const char *)bytes + fixed, size - fixed);
    return STRADS_OK;
}

/* ---- the table --------------------------------------------------------- */

static strads_err ssp_tables(const void *config, const strads_shape *shape,
                             strads_store *store)
{
    const uint32_t columns = (uint32_t)shape->parameters;
    const strads_table_spec spec[] = {
        {.name = "gradient", .rows = 1, .cols = columns, .tuned = true},
        {.name = "sums", .rows = 1, .cols = N_SUMS},
        {.name = "bound", .rows = BOUND_CLOCKS, .cols = columns},
    };
    strads_err err = STRADS_OK;
    (void)config;
    for (uint32_t k = 0; !err && k < sizeof spec / sizeof spec[0]; k++)
        err = strads_store_create(store, &spec[k], &(uint32_t){0});
    return err;
}

static const strads_option table[] = {
    STRADS_OPTION(F64, ssp_options, lambda, "lambda", "L",
                  "weight of the penalty (default 0.01)", .min = 1e-300,
                  .max = 1e300),
    STRADS_OPTION(U32, ssp_options, staleness, "staleness", "S",
                  "clocks that a read may lag (default 1)", .max = 1000),
    STRADS_OPTION(U32, ssp_options, clocks, "clocks", "N",
                  "clocks at most (default 100000)", .min = 1,
                  .max = UINT32_MAX),
    STRADS_OPTION(U32, ssp_options, report_every, "report-every", "N",
                  "clocks between two reports (default 25)", .min = 1,
                  .max = UINT32_MAX),
    {.name = NULL}};

static const ssp_options defaults = {.lambda = 0.01,
                                     .staleness = 1,
                                     .clocks = 100000,
                                     .report_every = 25};

static const strads_program ssp_lasso = {
    .size = sizeof(strads_program),
    .name = "ssp-lasso",
    .summary = "the Lasso by stale proximal gradients",
    .layout = STRADS_LAYOUT_ROWS,
    .options = table,
    .config_size = sizeof(ssp_options),
    .defaults = &defaults,
    .tables = ssp_tables,
    .open = ssp_open,
    .close = ssp_close,
    .pack = ssp_pack,
    .unpack = ssp_unpack,
    .run = ssp_run,
};
STRADS_EXPORT_PROGRAM(ssp_lasso)
