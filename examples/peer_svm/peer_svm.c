/* A linear SVM by peers without a server (MALT: Li et al., EuroSys 2015):
 * minimise lambda / 2 |w|^2 + 1/n sum_i max(0, 1 - y_i x_i'w).
 *
 * Each peer has rows of the data and a w of its own. In a clock it draws a
 * batch of its rows, and descends along each of them (rows with |x| about 1):
 *
 *     w <- (1 - eta lambda) w + eta y x [y w'x < 1], eta = N / (1 + lambda N t)
 *
 * then it scatters w along the graph, and w becomes the mean of itself and of
 * what has come. The model is what peer 0 has in the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/peers.h>
#include <strads/strads.h>

enum { WEIGHTS = 0, LOSS = 1, REPORT_EVERY = 10 };

typedef struct peer_options {
    double lambda, epochs;
    const char *graph, *mode;
    uint32_t staleness, batch;
} peer_options;

typedef struct peer {
    const strads_task *task;
    strads_session *session;
    const peer_options *options;
    strads_peers *peers;
    const strads_sparse *x; /* its rows */
    uint32_t columns, *all; /* [columns] 0, 1, 2, ... */
    double *w, scale;       /* w is scale x w[columns] */
    uint64_t t;             /* rows it has looked at */
    bool loops;             /* it has not come to the last clock */
} peer;

static double margin(const peer *k, uint64_t i)
{
    const double y = k->task->share->label[i] > 0 ? 1 : -1;
    return y * k->scale * strads_sparse_dot(k->x, i, k->w);
}

static void look_at(peer *k, uint64_t i)
{
    const double n = k->task->shape->partitions, *label = k->task->share->label;
    const double eta = n / (1 + k->options->lambda * n * (double)++k->t);
    const bool inside = margin(k, i) < 1;
    k->scale *= 1 - eta * k->options->lambda;
    if (inside)
        strads_sparse_add(k->x, i, (label[i] > 0 ? eta : -eta) / k->scale,
                          k->w);
}

/* The loss of w on its rows. */
static double loss_of(const peer *k)
{
    double loss = 0;
    for (uint64_t i = 0; i < k->x->lines; i++)
        loss += fmax(0, 1 - margin(k, i));
    return loss;
}

static void report(const peer *k, double loss, double rows)
{
    strads_report told = {.gap = NAN, .objective = loss / rows};
    for (uint32_t j = 0; j < k->columns; told.nonzeros += k->w[j++] != 0)
        told.objective += k->options->lambda / 2 * k->w[j] * k->w[j];
    strads_loop_report(k->task, &told);
}

static strads_err exchange(peer *k)
{
    strads_err err = strads_peers_scatter(k->peers, k->w);
    return err ? err : strads_peers_gather(k->peers, NULL, NULL, k->w, NULL);
}

static strads_err compute(peer *k)
{
    const uint64_t p = k->task->share->partition;
    for (uint32_t b = 0; b < k->options->batch && k->x->lines; b++)
        look_at(k, strads_random_bits(k->task->seed, 0, p, k->t) % k->x->lines);
    for (uint32_t j = 0; j < k->columns; j++)
        k->w[j] *= k->scale;
    k->scale = 1;
    return strads_session_clock(k->session); /* where checkpoints are made */
}

static strads_err share(peer *k)
{
    strads_err err = exchange(k);
    if (!err && k->task->share->partition == 0 && k->x->lines &&
        strads_session_now(k->session) % REPORT_EVERY == 0)
        report(k, loss_of(k), (double)k->x->lines); /* its own rows' */
    return err;
}

/* All peers advance to the last clock and exchange their vectors. Each
 * evaluates the vector of peer 0 on its own rows. */
static strads_err finish(peer *k, uint64_t last)
{
    const uint32_t p = k->task->share->partition;
    double of[2], loss = 0, rows = 0;
    k->loops = false;
    strads_err err = strads_session_advance(k->session, last);
    if (!err && !(err = strads_session_barrier(k->session)) && k->peers)
        err = exchange(k);
    for (uint32_t j = 0; !err && p == 0 && j < k->columns; j++)
        err = strads_session_inc(k->session, WEIGHTS, j, 0, k->w[j]);
    if (!err)
        err = strads_session_clock_and_read(k->session, WEIGHTS, k->columns,
                                            k->all, 0, k->w);
    if (!err)
        err = strads_session_inc(k->session, LOSS, p, 0, loss_of(k));
    if (!err)
        err = strads_session_inc(k->session, LOSS, p, 1, (double)k->x->lines);
    if (!err)
        err = strads_session_clock(k->session);
    for (uint32_t r = 0; !err && r < k->task->shape->partitions; r++) {
        err = strads_session_read_row(k->session, LOSS, r, 0, of);
        loss += of[0];
        rows += of[1]; /* 0 of a peer that was lost */
    }
    if (!err && p == 0)
        report(k, loss, rows);
    return err;
}

static strads_err loop(peer *k)
{
    const peer_options *o = k->options;
    const double rows =
        (double)k->task->shape->rows / k->task->shape->partitions;
    const uint64_t clocks = (uint64_t)ceil(o->epochs * rows / o->batch);
    uint64_t c = strads_session_now(k->session);
    strads_peers_options options = {.size = sizeof options,
                                    .graph = o->graph,
                                    .length = k->columns,
                                    .staleness = o->staleness};
    options.mode = o->mode[0] == 'b'   ? STRADS_PEERS_BSP
                   : o->mode[0] == 's' ? STRADS_PEERS_SSP
                                       : STRADS_PEERS_ASYNC;
    strads_err err = strads_peers_open(k->session, &options, &k->peers);
    if (!err && c > 0) /* resumed from a checkpoint */
        err = share(k);
    for (; !err && c < clocks && !strads_loop_ends(k->task); c++) {
        err = compute(k);
        if (!err)
            err = share(k);
    }
    if (c < clocks) { /* early, so that peers do not wait for it */
        strads_peers_close(k->peers);
        k->peers = NULL;
    }
    if (!err)
        err = finish(k, clocks + 1);
    strads_peers_close(k->peers);
    return err;
}

static strads_err peer_run(strads_task *task, strads_session *session)
{
    peer *k = task->local;
    k->task = task;
    k->session = session;
    return loop(k);
}

static void peer_close(void *local)
{
    peer *k = local;
    free(k->w);
    free(k->all);
    free(k);
}

static strads_err peer_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    if (share->rows.end > share->rows.begin && !share->label)
        return strads_fail(STRADS_EINVAL, "rows need labels: --labels FILE");
    peer *k = calloc(1, sizeof *k);
    if (!k)
        return strads_fail(STRADS_ENOMEM, "no memory");
    *k = (peer){.options = task->config,
                .x = &share->by_row,
                .columns = (uint32_t)task->shape->parameters,
                .all = calloc(task->shape->parameters + 1, sizeof(uint32_t)),
                .w = calloc(task->shape->parameters + 1, sizeof(double)),
                .scale = 1,
                .loops = true};
    if (!k->all || !k->w) {
        peer_close(k);
        return strads_fail(STRADS_ENOMEM, "no memory");
    }
    for (uint32_t j = 0; j < k->columns; j++)
        k->all[j] = j;
    *local = k;
    return STRADS_OK;
}

/* Its w before it is exchanged. */
static strads_err peer_pack(const void *local, strads_bytes *out)
{
    const peer *k = local;
    if (!k->loops)
        return STRADS_OK; /* not now */
    strads_err err = strads_bytes_append(out, &k->t, sizeof k->t);
    return err ? err
               : strads_bytes_append(out, k->w, k->columns * sizeof *k->w);
}

static strads_err peer_unpack(strads_task *task, const void *bytes, size_t size,
                              void **local)
{
    strads_err err = peer_open(task, local);
    if (err)
        return err;
    peer *k = *local;
    if (size != sizeof k->t + k->columns * sizeof *k->w) {
        peer_close(k);
        *local = NULL;
        return strads_fail(STRADS_EFORMAT,
                           "the checkpoint is not of these columns");
    }
    memcpy(&k->t, bytes, sizeof k->t);
    memcpy(k->w, (const char *)bytes + sizeof k->t, size - sizeof k->t);
    return STRADS_OK;
}

static strads_err peer_tables(const void *config, const strads_shape *shape,
                              strads_store *store)
{
    (void)config;
    const strads_table_spec spec = {"loss", STRADS_F64, shape->partitions, 2};
    return strads_store_create(store, &spec, &(uint32_t){0});
}

#define AT(field) .offset = offsetof(peer_options, field)
static const strads_option table[] = {
    {"lambda", STRADS_OPTION_F64, AT(lambda), "L",
     "weight of the penalty (default 1e-3)", 1e-300, 1e300},
    {"graph", STRADS_OPTION_STRING, AT(graph), "G",
     "all, exponential, halton, ring, or a file of lines FROM TO "
     "(default exponential)"},
    {"mode", STRADS_OPTION_STRING, AT(mode), "M",
     "how far peers run apart (default ssp)", .choices = "async|ssp|bsp"},
    {"staleness", STRADS_OPTION_U32, AT(staleness), "S",
     "clocks that ssp lets a neighbour be behind (default 4)", 0, 1e6},
    {"batch", STRADS_OPTION_U32, AT(batch), "N",
     "rows of a clock (default 100)", 1, 1e9},
    {"epochs", STRADS_OPTION_F64, AT(epochs), "E",
     "passes over the data, of all peers together (default 20)", 0, 1e9},
    {.name = NULL}};

static const peer_options defaults = {1e-3, 20, "exponential", "ssp", 4, 100};

static const strads_program peer_svm = {
    .size = sizeof(strads_program),
    .name = "peer-svm",
    .summary = "a linear SVM by peers without a server",
    .layout = STRADS_LAYOUT_ROWS,
    .options = table,
    .config_size = sizeof(peer_options),
    .defaults = &defaults,
    .tables = peer_tables,
    .open = peer_open,
    .close = peer_close,
    .pack = peer_pack,
    .unpack = peer_unpack,
    .run = peer_run,
};
STRADS_EXPORT_PROGRAM(peer_svm)
