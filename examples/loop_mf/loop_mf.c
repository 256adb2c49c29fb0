/* Matrix factorisation as a data-parallel loop on the parameter store:
 * minimise the squared errors of r_ui = p_u'q_i, with lambda |p|^2, |q|^2.
 *
 * Table 0 has the items' factors q_i, which the first worker draws. Each worker
 * has users with their factors. A clock is a pass over the ratings:
 *
 *     read(q, staleness)
 *     for each user u and its ratings: e = r - p'q_i
 *         g_i += e p - lambda q_i;   p += step (e q_i - lambda p)
 *     inc(q_i, g_i step / (1 + step n_i))
 *
 * n_i is the number of ratings of item i: the step of a gradient summed over
 * all of them is shorter by this factor. With staleness 0 no worker pushes
 * before all have read, and the result depends on the distribution of users by
 * rounding only. A checkpoint holds users' factors beside the tables. `strads
 * mf train` has better schedules and methods. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>
#include <strads/strads.h>

enum { FACTORS = 0, RATERS = 1 };
enum { DRAW_USER, DRAW_ITEM };
static const double STEP = 0.02, LAMBDA = 0.05;
/* Factors in the table are multiples of this: below 2^9 their sums are exact,
 * so the order in which workers add does not change a bit. */
static const double GRAIN = 0x1p-44;

typedef struct mf_options {
    uint32_t rank, sweeps, staleness;
} mf_options;

typedef struct worker {
    const strads_task *task;
    strads_session *session;
    const mf_options *o;
    const strads_sparse *x; /* its users' ratings */
    uint32_t items;
    uint32_t *all;  /* [items] 0, 1, 2, ... */
    double *p;      /* [its users x rank] */
    double *q, *g;  /* [items x rank] */
    double *raters; /* [items] n_i */
    double squares; /* of its errors in a pass */
    void *memory;
} worker;

static double to_grain(double x)
{
    return rint(x / GRAIN) * GRAIN;
}

static void draw(const worker *k, uint64_t what, uint64_t row, double *out)
{
    for (uint32_t f = 0; f < k->o->rank; f++)
        out[f] = to_grain(strads_random_unit(k->task->seed, what, row, f) /
                          sqrt(k->o->rank));
}

/* Its users' pass over their ratings; returns the squares of their errors. */
static double pass(worker *k)
{
    const uint32_t rank = k->o->rank;
    double squares = 0;
    for (size_t i = 0; i < (size_t)k->items * rank; i++)
        k->g[i] = 0;
    for (uint64_t u = 0; u < k->x->lines; u++) {
        double *p = k->p + u * rank;
        for (uint64_t e = k->x->start[u]; e < k->x->start[u + 1]; e++) {
            const double *q = k->q + (size_t)k->x->index[e] * rank;
            double *g = k->g + (size_t)k->x->index[e] * rank;
            double left = strads_sparse_value(k->x, e);
            for (uint32_t f = 0; f < rank; f++)
                left -= p[f] * q[f];
            for (uint32_t f = 0; f < rank; f++) {
                g[f] += left * p[f] - LAMBDA * q[f];
                p[f] += STEP * (left * q[f] - LAMBDA * p[f]);
            }
            squares += left * left;
        }
    }
    for (size_t i = 0; i < (size_t)k->items * rank; i++)
        k->g[i] = to_grain(k->g[i] * STEP / (1 + STEP * k->raters[i / rank]));
    return squares;
}

static strads_err turn_clock(worker *k)
{
    strads_err err = strads_session_read_rows(k->session, FACTORS, k->items,
                                              k->all, k->o->staleness, k->q);
    if (!err)
        err = strads_session_clock(k->session);
    if (!err && k->o->staleness == 0)
        err = strads_session_barrier(k->session); /* all have read */
    if (err)
        return err;
    k->squares = pass(k);
    err = strads_session_inc_rows(k->session, FACTORS, k->items, k->all, k->g);
    return err ? err : strads_session_clock(k->session);
}

/* The clock at which all workers see the start values. */
static uint64_t begin_of(const worker *k)
{
    return (uint64_t)k->o->staleness + 1;
}

static strads_err loop(worker *k)
{
    const bool first = k->task->share->partition == 0;
    const bool anew = strads_session_now(k->session) == 0;
    const uint64_t begin = begin_of(k);
    strads_err err = STRADS_OK;
    if (first && anew)
        err = strads_session_inc_rows(k->session, FACTORS, k->items, k->all,
                                      k->q);
    for (uint64_t e = 0; !err && anew && e < k->x->nnz; e++)
        err = strads_session_inc(k->session, RATERS, 0, k->x->index[e], 1);
    if (!err)
        err = strads_session_advance(k->session, begin);
    if (!err)
        err = strads_session_read_row(k->session, RATERS, 0, 0, k->raters);
    for (uint64_t c = (strads_session_now(k->session) - begin) / 2;
         !err && c < k->o->sweeps; c++) {
        if (strads_loop_ends(k->task))
            break;
        err = turn_clock(k);
        const double rmse = sqrt(k->squares / (double)k->x->nnz);
        if (!err && first) /* of its own users' ratings, as factors moved */
            strads_loop_report(k->task,
                               &(strads_report){.objective = rmse, .gap = NAN});
    }
    /* All meet at the end of the last one. */
    return err ? err
               : strads_session_advance(k->session,
                                        begin + 2 * (uint64_t)k->o->sweeps);
}

static void mf_close(void *local)
{
    worker *k = local;
    free(k->memory);
    free(k->all);
    free(k);
}

static strads_err mf_open(const strads_task *task, void **local)
{
    const mf_options *o = task->config;
    const strads_sparse *x = &task->share->by_row;
    const uint32_t items = (uint32_t)task->shape->parameters;
    const size_t rank = o->rank, cells = items * rank;
    worker *k = calloc(1, sizeof *k);
    uint32_t *all = calloc((size_t)items + 1, sizeof *all);
    double *memory =
        calloc(2 * cells + items + x->lines * rank, sizeof *memory);
    if (!k || !all || !memory) {
        free(k);
        free(all);
        free(memory);
        return strads_fail(STRADS_ENOMEM, "no memory");
    }
    *k = (worker){.task = task, .o = o, .x = x, .items = items, .all = all};
    k->memory = k->q = memory;
    k->g = k->q + cells;
    k->raters = k->g + cells;
    k->p = k->raters + items;
    for (uint32_t i = 0; i < items; i++) {
        k->all[i] = i;
        draw(k, DRAW_ITEM, i, k->q + i * rank);
    }
    for (uint64_t u = 0; u < x->lines; u++)
        draw(k, DRAW_USER, task->share->rows.begin + u, k->p + u * rank);
    *local = k;
    return STRADS_OK;
}

static size_t bytes_of(const worker *k)
{
    return k->x->lines * k->o->rank * sizeof *k->p;
}

/* Not between read and inc: the changes since the read are not in the
 * tables. */
static strads_err mf_pack(const void *local, strads_bytes *out)
{
    const worker *k = local;
    const uint64_t now = strads_session_now(k->session), begin = begin_of(k);
    if (now > begin && (now - begin) % 2)
        return STRADS_OK;
    return strads_bytes_append(out, k->p, bytes_of(k));
}

static strads_err mf_unpack(strads_task *task, const void *bytes, size_t size,
                            void **local)
{
    strads_err err = mf_open(task, local);
    if (err)
        return err;
    worker *k = *local;
    if (size != bytes_of(k)) {
        mf_close(k);
        *local = NULL;
        return strads_fail(STRADS_EFORMAT,
                           "the checkpoint is not of these users");
    }
    memcpy(k->p, bytes, size);
    return STRADS_OK;
}

static strads_err mf_run(strads_task *task, strads_session *session)
{
    worker *k = task->local;
    k->task = task;
    k->session = session;
    return loop(k);
}

static strads_err mf_shape(const void *config, const strads_data *data,
                           strads_shape *shape)
{
    (void)data;
    shape->width = ((const mf_options *)config)->rank;
    return STRADS_OK;
}

static strads_err mf_tables(const void *config, const strads_shape *shape,
                            strads_store *store)
{
    (void)config;
    const strads_table_spec raters = {.name = "raters",
                                      .rows = 1,
                                      .cols = (uint32_t)shape->parameters};
    return strads_store_create(store, &raters, &(uint32_t){0});
}

#define AT(field) .offset = offsetof(mf_options, field)
static const strads_option table[] = {
    {"rank", STRADS_OPTION_U32, AT(rank), "K", "factors (default 8)", 1, 1e4},
    {"sweeps", STRADS_OPTION_U32, AT(sweeps), "N", "passes (default 50)", 1,
     1e6},
    {"staleness", STRADS_OPTION_U32, AT(staleness), "S",
     "clocks that a read may lag (default 0)", 0, 1e6},
    {.name = NULL}};

static const strads_program loop_mf = {
    .size = sizeof(strads_program),
    .name = "loop-mf",
    .summary = "matrix factorisation by a loop on the store",
    .kind = STRADS_KIND_RATINGS,
    .layout = STRADS_LAYOUT_ROWS,
    .options = table,
    .config_size = sizeof(mf_options),
    .defaults = &(const mf_options){8, 50, 0},
    .shape = mf_shape,
    .tables = mf_tables,
    .open = mf_open,
    .close = mf_close,
    .pack = mf_pack,
    .unpack = mf_unpack,
    .run = mf_run,
};
STRADS_EXPORT_PROGRAM(loop_mf)
