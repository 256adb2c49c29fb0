/* k-means (Lloyd 1982) with centres that travel.
 *
 * Samples stay on their partition. Blocks of centres travel from partition to
 * partition, so that no partition holds all of them. An iteration has two
 * sweeps:
 *
 *     nearest   d_i = min over c of |x_i - c|^2, and the c that attains it
 *     sums      for each centre: the sum and the number of its samples
 *
 * After the second sweep the centres of a block become the means of their
 * samples. The sum of all d_i and the number of samples that changed their
 * centre belong to no block: they are shared totals. The run ends when no
 * sample has changed its centre. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/strads.h>

enum { PICK, NEAREST, SUMS, DRAW = 1 };
enum { INERTIA, CHANGED, TOTALS };

typedef struct kmeans_options {
    uint32_t centres;
} kmeans_options;

typedef struct kmeans_local {
    uint64_t n;       /* samples of this share */
    uint64_t round;   /* the lap that was seen last */
    uint32_t *centre; /* [n] the nearest one so far, */
    uint32_t *before; /* [n] and that of the iteration before */
    double *distance; /* [n] squared */
} kmeans_local;

typedef struct kmeans_state {
    strads_cut *cut;
    int next;
    double inertia, changed; /* of this iteration */
    double total[TOTALS];    /* shared totals when it began */
} kmeans_state;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "kmeans has no memory for its state");
}

/* Entry e of the matrix, kept in 8 bytes or, with --f32, in 4. */
static double entry(const strads_sparse *x, uint64_t e)
{
    return x->f64 ? x->f64[e] : (double)x->f32[e];
}

/* ---- sizes and blocks -------------------------------------------------- */

static strads_err kmeans_shape(const void *config, const strads_data *data,
                               strads_shape *shape)
{
    const kmeans_options *o = config;
    if (o->centres > strads_data_rows(data))
        return strads_fail(STRADS_EINVAL, "%u centres for %llu samples",
                           o->centres,
                           (unsigned long long)strads_data_rows(data));
    shape->parameters = o->centres;
    shape->width = (uint32_t)strads_data_cols(data);
    shape->block_max = o->centres;
    shape->totals = TOTALS;
    return STRADS_OK;
}

static strads_err kmeans_begin(const void *config, const strads_data *data,
                               const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    kmeans_state *s = calloc(1, sizeof *s);
    if (!s)
        return no_memory();
    strads_err err = strads_cut_deal((uint32_t)shape->parameters, NULL,
                                     shape->blocks, shape->partitions, &s->cut);
    if (err)
        free(s);
    else
        *state = s;
    return err;
}

static void kmeans_end(void *state)
{
    kmeans_state *s = state;
    strads_cut_free(s->cut);
    free(s);
}

/* ---- partitions -------------------------------------------------------- */

static void kmeans_close(void *local)
{
    kmeans_local *l = local;
    free(l->centre);
    free(l->before);
    free(l->distance);
    free(l);
}

static strads_err kmeans_open(const strads_task *task, void **local)
{
    uint64_t n = task->share->rows.end - task->share->rows.begin;
    kmeans_local *l = calloc(1, sizeof *l);
    if (!l)
        return no_memory();
    l->n = n;
    l->centre = calloc(n + 1, sizeof *l->centre);
    l->before = calloc(n + 1, sizeof *l->before);
    l->distance = calloc(n + 1, sizeof *l->distance);
    if (!l->centre || !l->before || !l->distance) {
        kmeans_close(l);
        return no_memory();
    }
    for (uint64_t i = 0; i < n; i++)
        l->before[i] = UINT32_MAX;
    *local = l;
    return STRADS_OK;
}

/* pick: centre c starts as a sample drawn from the c-th part of all rows, which
 * one partition has. */
static strads_err kmeans_pick(strads_task *task)
{
    const strads_range own = task->share->rows;
    const strads_sparse *x = &task->share->by_row;
    uint64_t rows = task->shape->rows, k = task->shape->parameters;
    for (uint32_t c = 0; c < task->block.n; c++) {
        uint64_t from = rows * c / k, to = rows * (c + 1) / k;
        uint64_t bits = strads_random_bits(task->seed, DRAW, c, 0);
        uint64_t i = from + bits % (to - from);
        if (i < own.begin || i >= own.end)
            continue;
        i -= own.begin;
        double *centre = task->partial + (size_t)c * task->width;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            centre[x->index[e]] = entry(x, e);
    }
    return STRADS_OK;
}

static strads_err kmeans_picked(strads_commit *commit)
{
    size_t numbers = (size_t)commit->block.n * commit->width;
    for (size_t i = 0; i < numbers; i++)
        commit->change[i] = commit->partial[i] - commit->value[i];
    return STRADS_OK;
}

/* |x - c|^2 = |c|^2 + sum over the sample's entries of x (x - 2 c). */
static double distance_to(const strads_sparse *x, uint64_t i, const double *c,
                          double norm)
{
    for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
        norm += entry(x, e) * (entry(x, e) - 2 * c[x->index[e]]);
    return norm > 0 ? norm : 0;
}

static void compare(kmeans_local *l, const strads_sparse *x, uint32_t number,
                    const double *c, uint32_t width)
{
    double norm = 0;
    for (uint32_t j = 0; j < width; j++)
        norm += c[j] * c[j];
    for (uint64_t i = 0; i < l->n; i++) {
        double d = distance_to(x, i, c, norm);
        if (d < l->distance[i] ||
            (d == l->distance[i] && number < l->centre[i])) {
            l->distance[i] = d;
            l->centre[i] = number;
        }
    }
}

/* nearest: the block's centres are in task->value, for as long as it is here.
 */
static strads_err kmeans_nearest(strads_task *task)
{
    kmeans_local *l = task->local;
    if (l->round != task->round) { /* the first block of a lap */
        l->round = task->round;
        for (uint64_t i = 0; i < l->n; i++) {
            l->distance[i] = INFINITY;
            l->centre[i] = UINT32_MAX;
        }
    }
    for (uint32_t k = 0; k < task->block.n; k++)
        compare(l, &task->share->by_row, strads_block_param(&task->block, k),
                task->value + (size_t)k * task->width, task->width);
    return STRADS_OK;
}

static size_t no_partial(const strads_task *task)
{
    (void)task;
    return 0;
}

/* Adds the partition's share of the totals, once an iteration. */
static void add_totals(kmeans_local *l, double *total)
{
    for (uint64_t i = 0; i < l->n; i++) {
        total[INERTIA] += l->distance[i];
        total[CHANGED] += l->centre[i] != l->before[i];
        l->before[i] = l->centre[i];
    }
}

/* Of each centre of a block: the sum of its samples; then how many they are. */
static size_t sums_partial(const strads_task *task)
{
    return (size_t)task->block.n * (task->width + 1);
}

static strads_err kmeans_sums(strads_task *task)
{
    kmeans_local *l = task->local;
    const strads_sparse *x = &task->share->by_row;
    double *count = task->partial + (size_t)task->block.n * task->width;
    if (l->round != task->round) {
        l->round = task->round;
        add_totals(l, task->total);
    }
    for (uint32_t k = 0; k < task->block.n; k++) {
        uint32_t number = strads_block_param(&task->block, k);
        double *sum = task->partial + (size_t)k * task->width;
        for (uint64_t i = 0; i < l->n; i++) {
            if (l->centre[i] != number)
                continue;
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
                sum[x->index[e]] += entry(x, e);
            count[k]++;
        }
    }
    return STRADS_OK;
}

/* A centre without samples stays where it is. */
static strads_err kmeans_centre(strads_commit *commit)
{
    kmeans_state *s = commit->state;
    const double *count =
        commit->partial + (size_t)commit->block.n * commit->width;
    for (uint32_t k = 0; k < commit->block.n; k++)
        for (uint32_t j = 0; count[k] > 0 && j < commit->width; j++) {
            size_t at = (size_t)k * commit->width + j;
            commit->change[at] =
                commit->partial[at] / count[k] - commit->value[at];
        }
    s->inertia = commit->total[INERTIA] - s->total[INERTIA];
    s->changed = commit->total[CHANGED] - s->total[CHANGED];
    return STRADS_OK;
}

/* ---- checkpoints: between two iterations --------------------------------- */

static strads_err kmeans_pack(const void *local, strads_bytes *out)
{
    const kmeans_local *l = local;
    return strads_bytes_append(out, l->before, l->n * sizeof *l->before);
}

static strads_err wrong_checkpoint(void)
{
    return strads_fail(STRADS_EFORMAT,
                       "the checkpoint is not of these samples");
}

static strads_err kmeans_unpack(strads_task *task, const void *bytes,
                                size_t size, void **local)
{
    strads_err err = kmeans_open(task, local);
    if (err)
        return err;
    kmeans_local *l = *local;
    if (size == l->n * sizeof *l->before) {
        memcpy(l->before, bytes, size);
        return STRADS_OK;
    }
    kmeans_close(l);
    *local = NULL;
    return wrong_checkpoint();
}

static strads_err kmeans_pack_state(const void *state, strads_bytes *out)
{
    const kmeans_state *s = state;
    const double told[] = {s->inertia, s->changed, s->total[INERTIA],
                           s->total[CHANGED]};
    return s->next == NEAREST ? strads_bytes_append(out, told, sizeof told)
                              : STRADS_OK; /* not now */
}

static strads_err kmeans_unpack_state(void *state, const void *bytes,
                                      size_t size)
{
    kmeans_state *s = state;
    double told[4];
    if (size != sizeof told)
        return wrong_checkpoint();
    memcpy(told, bytes, size);
    s->inertia = told[0];
    s->changed = told[1];
    s->total[INERTIA] = told[2];
    s->total[CHANGED] = told[3];
    s->next = NEAREST;
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

static strads_err kmeans_schedule(strads_turn *turn)
{
    kmeans_state *s = turn->state;
    if (turn->in_flight)
        return strads_turn_wait(turn);
    int phase = s->next;
    s->next = phase == NEAREST ? SUMS : NEAREST;
    if (phase == PICK)
        return strads_turn_all(turn, PICK);
    if (phase == NEAREST) {
        s->total[INERTIA] += s->inertia;
        s->total[CHANGED] += s->changed;
    }
    return strads_turn_dispatch(turn, (uint32_t)phase, s->cut->blocks,
                                s->cut->block);
}

static strads_err kmeans_objective(void *state, strads_report *report)
{
    const kmeans_state *s = state;
    report->objective = s->inertia;
    report->gap = NAN;
    report->stop = s->changed == 0;
    return STRADS_OK;
}

static const strads_option kmeans_table[] = {
    STRADS_OPTION(U32, kmeans_options, centres, "centres", "K",
                  "number of centres (default: 10)", .min = 1, .max = 1e6),
    {.name = NULL},
};

static const strads_phase kmeans_phases[] = {
    [PICK] = {.name = "pick",
              .when = STRADS_WHEN_CALLED,
              .ignores_values = true,
              .update = kmeans_pick,
              .aggregate = kmeans_picked},
    [NEAREST] = {.name = "nearest",
                 .to = STRADS_TO_RING,
                 .when = STRADS_WHEN_CALLED,
                 .partial = no_partial,
                 .update = kmeans_nearest},
    [SUMS] = {.name = "sums",
              .to = STRADS_TO_RING,
              .when = STRADS_WHEN_CALLED,
              .ignores_values = true,
              .reports = true,
              .partial = sums_partial,
              .update = kmeans_sums,
              .aggregate = kmeans_centre},
};

static const strads_program kmeans = {
    .size = sizeof kmeans,
    .name = "kmeans",
    .summary = "samples around k centres",
    .layout = STRADS_LAYOUT_ROWS,
    .options = kmeans_table,
    .config_size = sizeof(kmeans_options),
    .defaults = &(const kmeans_options){.centres = 10},
    .shape = kmeans_shape,
    .begin = kmeans_begin,
    .end = kmeans_end,
    .open = kmeans_open,
    .pack = kmeans_pack,
    .unpack = kmeans_unpack,
    .pack_state = kmeans_pack_state,
    .unpack_state = kmeans_unpack_state,
    .close = kmeans_close,
    .schedule = kmeans_schedule,
    .phases = kmeans_phases,
    .n_phases = sizeof kmeans_phases / sizeof *kmeans_phases,
    .objective = kmeans_objective,
};
STRADS_EXPORT_PROGRAM(kmeans)
