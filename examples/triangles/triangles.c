/* Roles of a network's nodes by its triangles, on integer rows of the parameter
 * store: the parsimonious triangular model (Yin, Ho and Xing, NIPS 2013).
 *
 * A motif is a node i with two of its neighbours j, k: closed if these are
 * neighbours as well (it then belongs to the first of the three), else open.
 * Its nodes have a role each, x ~ theta_i, y ~ theta_j, z ~ theta_k. The roles
 * determine its class: all equal to r, two equal to r, or all different. A
 * class has shares of the kinds of motifs: closed, open at one of the equal
 * roles, open at the odd one. With n_ix counts of a node's roles and C counts
 * of classes and kinds,
 *
 *     p(x | rest) ~ (n_ix + alpha) (C[class, kind] + lambda)
 *                   / (C[class] + 3 lambda)
 *
 * divided by the number of nodes at which the motif could be open. Workers have
 * the motifs of their nodes, with at most `most` neighbours each, and read rows
 * that are `staleness` clocks old; a clock is a pass over the motifs. The model
 * is n_ix. A checkpoint holds the roles of motifs beside the tables. `strads
 * roles train` is faster and finds groups better. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>
#include <strads/strads.h>

enum { MODEL = 0, LINKS = 1, ROLES = 2, CLASSES = 3 };
enum { CLOSED, OPEN_AT_EQUAL, OPEN_AT_ODD, KINDS };
static const double ALPHA = 0.1, LAMBDA = 0.1;

typedef struct triangle_options {
    uint32_t roles, sweeps, staleness, most;
} triangle_options;

typedef struct motif {
    uint32_t node[3], role[3]; /* node[0] is the middle; role K: none yet */
    bool closed;
} motif;

typedef struct worker {
    const strads_task *task;
    strads_session *session;
    const triangle_options *o;
    const strads_sparse *x;
    uint32_t nodes, *all;       /* [nodes + 2 K + 1] 0, 1, 2, .. */
    int32_t *links;             /* [nodes] of one */
    int32_t *count, *class;     /* [nodes x K], [2 K + 1 x KINDS] */
    int32_t *change, *of_class; /* of the same sizes: to be added to them */
    double *p;                  /* [K] */
    motif *motif;
    size_t n, room;
    double loss;
    bool found;
    uint32_t (*packed)[3]; /* [n_packed] roles from a checkpoint; or NULL */
    size_t n_packed;
} worker;

/* Class and kind of three roles, and among how many an open one may be open. */
static uint32_t kind_of(const worker *k, const motif *m, uint32_t *kind,
                        double *among)
{
    const uint32_t a = m->role[0], b = m->role[1], c = m->role[2];
    const bool all = a == b && b == c, odd = b == c && a != b;
    *among = m->closed || odd ? 1 : all || (a != b && a != c) ? 3 : 2;
    *kind = m->closed ? CLOSED : odd ? OPEN_AT_ODD : OPEN_AT_EQUAL;
    if (all)
        return a;
    return odd || b == c      ? k->o->roles + b
           : a == b || a == c ? k->o->roles + a
                              : 2 * k->o->roles;
}

static void add(worker *k, const motif *m, int32_t by)
{
    uint32_t kind;
    double among;
    const uint32_t at = kind_of(k, m, &kind, &among) * KINDS;
    k->class[at + kind] += by;
    k->of_class[at + kind] += by;
    for (uint32_t s = 0; s < 3; s++) {
        const size_t cell = (size_t)m->node[s] * k->o->roles + m->role[s];
        k->count[cell] += by;
        k->change[cell] += by;
    }
}

/* log p(kind | roles) of a motif after its counts were removed. */
static double fit(const worker *k, const motif *m)
{
    uint32_t kind;
    double among;
    const int32_t *c = k->class + kind_of(k, m, &kind, &among) * KINDS;
    const double all = fmax(c[0], 0) + fmax(c[1], 0) + fmax(c[2], 0);
    return (fmax(c[kind], 0) + LAMBDA) / (all + KINDS * LAMBDA) / among;
}

/* Draws its three roles, one after the other. */
static void draw(worker *k, uint64_t clock, size_t i)
{
    motif *m = &k->motif[i];
    const uint32_t roles = k->o->roles;
    const uint64_t stream =
        clock * k->task->shape->partitions + k->task->share->partition;
    const bool is_first = m->role[0] == roles;
    if (!is_first)
        add(k, m, -1);
    for (uint32_t s = 0; s < 3; s++) {
        const int32_t *n = k->count + (size_t)m->node[s] * roles;
        double sum = 0;
        for (uint32_t r = 0; r < roles; r++) {
            m->role[s] = r;
            k->p[r] = sum +=
                (fmax(n[r], 0) + ALPHA) * (is_first && s < 2 ? 1 : fit(k, m));
        }
        const double u = sum * strads_random_unit(k->task->seed, stream, i, s);
        for (m->role[s] = 0; m->role[s] + 1 < roles && k->p[m->role[s]] <= u;)
            m->role[s]++;
    }
    k->loss -= log(fit(k, m));
    add(k, m, 1);
}

static strads_err turn_clock(worker *k, uint64_t clock)
{
    const uint32_t classes = 2 * k->o->roles + 1;
    const size_t cells = (size_t)k->nodes * k->o->roles;
    strads_err err =
        strads_session_read_rows(k->session, ROLES, k->nodes, k->all,
                                 k->o->staleness, k->count);
    if (!err)
        err = strads_session_read_rows(k->session, CLASSES, classes, k->all,
                                       k->o->staleness, k->class);
    if (!err)
        err = strads_session_clock(k->session);
    if (!err && k->o->staleness == 0)
        err = strads_session_barrier(k->session); /* all have read */
    if (err)
        return err;
    for (size_t j = 0; j < cells + classes * KINDS; j++)
        k->change[j] = 0;
    k->loss = 0;
    for (size_t i = 0; i < k->n; i++)
        draw(k, clock, i);
    err =
        strads_session_inc_rows(k->session, ROLES, k->nodes, k->all, k->change);
    if (!err)
        err = strads_session_inc_rows(k->session, CLASSES, classes, k->all,
                                      k->of_class);
    return err ? err : strads_session_clock(k->session);
}

/* The motifs of node i; k->links has its links to j. */
static strads_err take(worker *k, uint64_t line, uint64_t j_at)
{
    const uint32_t i = (uint32_t)(k->task->share->rows.begin + line);
    const uint64_t end = k->x->start[line + 1];
    const uint32_t j = k->x->index[j_at];
    for (uint64_t e = j_at + 1; e < end && e - k->x->start[line] < k->o->most;
         e++) {
        const uint32_t other = k->x->index[e], none = k->o->roles;
        const bool closed = k->links[other] > 0;
        if (closed && i > j)
            continue;
        if (k->n == k->room) {
            k->room = 2 * k->room + 1024;
            motif *more = realloc(k->motif, k->room * sizeof *more);
            if (!more)
                return strads_fail(STRADS_ENOMEM, "no memory for motifs");
            k->motif = more;
        }
        k->motif[k->n++] = (motif){{i, j, other}, {none, none, none}, closed};
    }
    return STRADS_OK;
}

/* Tells its links, and finds its motifs by those of all. */
static strads_err find(worker *k)
{
    const int32_t one = 1;
    const bool anew = strads_session_now(k->session) == 0;
    strads_err err = STRADS_OK;
    for (uint64_t l = 0; anew && l < k->x->lines; l++)
        for (uint64_t e = k->x->start[l]; !err && e < k->x->start[l + 1]; e++)
            err = strads_session_inc_sparse(k->session, LINKS,
                                            k->task->share->rows.begin + l, 1,
                                            &k->x->index[e], &one);
    if (!err && anew)
        err = strads_session_clock(k->session);
    for (uint64_t l = 0; l < k->x->lines; l++)
        for (uint64_t e = k->x->start[l];
             !err && e < k->x->start[l + 1] && e - k->x->start[l] < k->o->most;
             e++) {
            err = strads_session_read_row(k->session, LINKS, k->x->index[e], 0,
                                          k->links);
            if (!err)
                err = take(k, l, e);
        }
    k->found = true;
    if (!err && k->packed && k->n_packed != k->n)
        err = strads_fail(STRADS_EFORMAT, "the cut is not of these links");
    for (size_t i = 0; !err && i < k->n_packed; i++)
        memcpy(k->motif[i].role, k->packed[i], sizeof k->motif[i].role);
    return err;
}

static strads_err loop(worker *k)
{
    const uint64_t clocks = k->o->sweeps;
    const strads_share *share = k->task->share;
    strads_err err = find(k);
    for (uint64_t c = (strads_session_now(k->session) - 1) / 2;
         !err && c < clocks && !strads_loop_ends(k->task); c++) {
        err = turn_clock(k, c);
        const double motifs = k->n ? (double)k->n : 1;
        if (!err && share->partition == 0) /* of its own motifs */
            strads_loop_report(k->task,
                               &(strads_report){.objective = k->loss / motifs,
                                                .gap = NAN});
    }
    if (!err)
        err = strads_session_advance(k->session, 2 * clocks + 1);
    for (uint64_t i = share->rows.begin; !err && i < share->rows.end; i++) {
        err = strads_session_read_row(k->session, ROLES, i, 0, k->count);
        for (uint32_t r = 0; !err && r < k->o->roles; r++)
            err = strads_session_inc(k->session, MODEL, i, r, k->count[r]);
    }
    return err;
}

static void triangles_close(void *local)
{
    worker *k = local;
    free(k->all);
    free(k->links);
    free(k->p);
    free(k->motif);
    free(k->packed);
    free(k);
}

static strads_err triangles_open(const strads_task *task, void **local)
{
    const triangle_options *o = task->config;
    const uint32_t nodes = (uint32_t)task->shape->parameters;
    const size_t roles = o->roles, classes = (2 * roles + 1) * KINDS;
    const size_t cells = nodes * roles, rows = nodes + 2 * roles + 1;
    worker *k = calloc(1, sizeof *k);
    if (!k)
        return strads_fail(STRADS_ENOMEM, "no memory");
    *k = (worker){.task = task, .o = o, .x = &task->share->by_row};
    k->nodes = nodes;
    k->all = calloc(rows, sizeof *k->all);
    k->links = calloc(nodes + 2 * (cells + classes), sizeof *k->links);
    k->p = calloc(roles, sizeof *k->p);
    if (!k->all || !k->links || !k->p) {
        triangles_close(k);
        return strads_fail(STRADS_ENOMEM, "no memory");
    }
    k->count = k->links + nodes;
    k->class = k->count + cells;
    k->change = k->class + classes;
    k->of_class = k->change + cells;
    for (uint32_t j = 0; j < rows; j++)
        k->all[j] = j;
    *local = k;
    return STRADS_OK;
}

/* Neither before the motifs are found, nor between read and inc: the changes
 * since the read are not in the tables. */
static strads_err triangles_pack(const void *local, strads_bytes *out)
{
    const worker *k = local;
    if (!k->found || strads_session_now(k->session) % 2 == 0)
        return STRADS_OK;
    strads_err err = strads_bytes_append(out, &k->n, sizeof k->n);
    for (size_t i = 0; !err && i < k->n; i++)
        err =
            strads_bytes_append(out, k->motif[i].role, sizeof k->motif[i].role);
    return err;
}

static strads_err triangles_unpack(strads_task *task, const void *bytes,
                                   size_t size, void **local)
{
    strads_err err = triangles_open(task, local);
    if (err)
        return err;
    worker *k = *local;
    const size_t roles = size < sizeof k->n ? 0 : size - sizeof k->n;
    k->n_packed = roles / sizeof *k->packed;
    k->packed = malloc(roles + 1);
    if (!k->packed) {
        triangles_close(k);
        *local = NULL;
        return strads_fail(STRADS_ENOMEM, "no memory");
    }
    memcpy(k->packed, (const char *)bytes + sizeof k->n, roles);
    return STRADS_OK;
}

static strads_err triangles_run(strads_task *task, strads_session *session)
{
    worker *k = task->local;
    k->task = task;
    k->session = session;
    return loop(k);
}

static strads_err triangles_shape(const void *config, const strads_data *data,
                                  strads_shape *shape)
{
    (void)data;
    shape->width = ((const triangle_options *)config)->roles;
    return STRADS_OK;
}

static strads_err triangles_tables(const void *config,
                                   const strads_shape *shape,
                                   strads_store *store)
{
    const uint32_t roles = ((const triangle_options *)config)->roles;
    const uint64_t nodes = shape->parameters;
    const strads_table_spec spec[] = {
        {.name = "links", STRADS_I32, nodes, (uint32_t)nodes, .sparse = true},
        {.name = "roles", STRADS_I32, nodes, roles, .sparse = false},
        {.name = "classes", STRADS_I32, 2 * roles + 1, KINDS, .sparse = false}};
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < sizeof spec / sizeof *spec; t++)
        err = strads_store_create(store, &spec[t], &(uint32_t){0});
    return err;
}

#define AT(field) STRADS_OPTION_U32, .offset = offsetof(triangle_options, field)
static const strads_option table[] = {
    {"roles", AT(roles), "K", "roles (default 5)", 2, 1e4},
    {"sweeps", AT(sweeps), "N", "draws of all (default 100)", 1, 1e6},
    {"staleness", AT(staleness), "S", "clocks a read may lag (0)", 0, 1e6},
    {"most", AT(most), "N", "neighbours of a node that count (30)", 2, 1e6},
    {.name = NULL}};

static const strads_program triangles = {
    .size = sizeof(strads_program),
    .name = "triangles",
    .summary = "roles of a network by its triangles",
    .kind = STRADS_KIND_GRAPH,
    .layout = STRADS_LAYOUT_ROWS,
    .options = table,
    .config_size = sizeof(triangle_options),
    .defaults = &(const triangle_options){5, 100, 0, 30},
    .shape = triangles_shape,
    .tables = triangles_tables,
    .open = triangles_open,
    .close = triangles_close,
    .pack = triangles_pack,
    .unpack = triangles_unpack,
    .run = triangles_run,
};
STRADS_EXPORT_PROGRAM(triangles)
