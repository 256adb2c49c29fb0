/* k-means (Lloyd 1982) with travelling centres: a first lap finds the nearest
 * centre of every sample, a second adds up the samples of every centre. The
 * samples never move, and no node holds all centres. Compiled, not run. */
#include <math.h>
#include <stdlib.h>

#include "strads/strads.h"

enum { PICK, NEAREST, SUMS, DRAW_PICK = 1 };

struct kmeans_config {
    uint32_t k;
};

struct kmeans_local {
    size_t rows;
    uint64_t round;
    uint32_t *nearest;
    double *distance; /* squared */
};

struct kmeans_state {
    strads_block *block;
    uint32_t n_blocks;
    int next;
    double inertia, before, moved;
};

static strads_err kmeans_shape(const void *config, const strads_data *data,
                               strads_shape *shape)
{
    uint32_t k = ((const struct kmeans_config *)config)->k;
    if (k > strads_data_rows(data))
        return strads_fail(STRADS_EINVAL, "%u centres for %llu samples", k,
                           (unsigned long long)strads_data_rows(data));
    shape->parameters = k;
    shape->width = (uint32_t)strads_data_cols(data);
    return STRADS_OK;
}

static strads_err kmeans_begin(const void *config, const strads_data *data,
                               const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    uint32_t n = shape->partitions;
    struct kmeans_state *s = calloc(1, sizeof *s + n * sizeof *s->block);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for %u blocks", n);
    s->block = (strads_block *)(s + 1);
    s->n_blocks = n;
    s->before = INFINITY;
    for (uint32_t b = 0; b < n; b++) {
        uint64_t first = shape->parameters * b / n;
        uint64_t end = shape->parameters * (b + 1) / n;
        s->block[b] = (strads_block){.id = b,
                                     .first = (uint32_t)first,
                                     .n = (uint32_t)(end - first),
                                     .owner = b};
    }
    *state = s;
    return STRADS_OK;
}

static strads_err kmeans_open(const strads_task *task, void **local)
{
    size_t rows = task->share->rows.end - task->share->rows.begin;
    struct kmeans_local *l = calloc(1, sizeof *l);
    double *distance = calloc(rows + 1, sizeof *distance);
    uint32_t *nearest = calloc(rows + 1, sizeof *nearest);
    if (!l || !distance || !nearest) {
        free(l);
        free(distance);
        free(nearest);
        return strads_fail(STRADS_ENOMEM, "no memory for %zu samples", rows);
    }
    *l = (struct kmeans_local){.rows = rows,
                               .nearest = nearest,
                               .distance = distance};
    *local = l;
    return STRADS_OK;
}

static void kmeans_close(void *local)
{
    struct kmeans_local *l = local;
    free(l->nearest);
    free(l->distance);
    free(l);
}

/* pick: centre c starts as a drawn sample, which one partition has. */
static strads_err kmeans_pick(strads_task *task)
{
    const strads_range own = task->share->rows;
    const strads_sparse *x = &task->share->by_row;
    uint64_t rows = task->shape->rows, k = task->shape->parameters;
    for (uint32_t c = 0; c < task->block.n; c++) {
        uint64_t from = rows * c / k, to = rows * (c + 1) / k;
        uint64_t bits = strads_random_bits(task->seed, DRAW_PICK, c, 0);
        uint64_t i = from + bits % (to - from);
        if (i < own.begin || i >= own.end)
            continue;
        i -= own.begin;
        double *centre = task->partial + (size_t)c * task->width;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            centre[x->index[e]] = x->f64[e];
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
        norm += x->f64[e] * (x->f64[e] - 2 * c[x->index[e]]);
    return fmax(norm, 0);
}

static strads_err kmeans_nearest(strads_task *task)
{
    struct kmeans_local *l = task->local;
    if (l->round != task->round) { /* a new lap: this is its first block here */
        l->round = task->round;
        for (size_t i = 0; i < l->rows; i++)
            l->distance[i] = INFINITY;
    }
    for (uint32_t k = 0; k < task->block.n; k++) {
        const double *c = task->value + (size_t)k * task->width;
        double norm = 0;
        for (uint32_t j = 0; j < task->width; j++)
            norm += c[j] * c[j];
        for (size_t i = 0; i < l->rows; i++) {
            double d = distance_to(&task->share->by_row, i, c, norm);
            if (d < l->distance[i]) {
                l->distance[i] = d;
                l->nearest[i] = strads_block_param(&task->block, k);
            }
        }
    }
    return STRADS_OK;
}

static size_t kmeans_no_partial(const strads_task *task)
{
    (void)task;
    return 0;
}

/* sums: of each centre's samples, n x width, then their numbers, then the
 * squared distances of them all. */
static size_t kmeans_sums_partial(const strads_task *task)
{
    return (size_t)task->block.n * (task->width + 1) + 1;
}

static strads_err kmeans_sums(strads_task *task)
{
    const struct kmeans_local *l = task->local;
    const strads_sparse *x = &task->share->by_row;
    double *count = task->partial + (size_t)task->block.n * task->width;
    for (size_t i = 0; i < l->rows; i++) {
        uint32_t k = l->nearest[i] - task->block.first;
        if (k >= task->block.n)
            continue;
        double *sum = task->partial + (size_t)k * task->width;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            sum[x->index[e]] += x->f64[e];
        count[k]++;
        count[task->block.n] += l->distance[i];
    }
    return STRADS_OK;
}

static strads_err kmeans_centre(strads_commit *commit)
{
    struct kmeans_state *s = commit->state;
    const double *count =
        commit->partial + (size_t)commit->block.n * commit->width;
    for (uint32_t k = 0; k < commit->block.n; k++)
        for (uint32_t j = 0; count[k] > 0 && j < commit->width; j++) {
            size_t at = (size_t)k * commit->width + j;
            commit->change[at] =
                commit->partial[at] / count[k] - commit->value[at];
            s->moved += fabs(commit->change[at]);
        }
    s->inertia += count[commit->block.n];
    return STRADS_OK;
}

static strads_err kmeans_schedule(strads_turn *turn)
{
    struct kmeans_state *s = turn->state;
    if (turn->in_flight)
        return strads_turn_wait(turn);
    switch (s->next) {
    case PICK:
        s->next = NEAREST;
        return strads_turn_all(turn, PICK);
    case NEAREST:
        s->next = SUMS;
        return strads_turn_dispatch(turn, NEAREST, s->n_blocks, s->block);
    default:
        s->next = NEAREST;
        s->before = s->inertia;
        s->inertia = s->moved = 0;
        return strads_turn_dispatch(turn, SUMS, s->n_blocks, s->block);
    }
}

static strads_err kmeans_objective(void *state, strads_report *report)
{
    const struct kmeans_state *s = state;
    report->objective = s->inertia;
    report->gap = NAN;
    report->stop = s->moved == 0 || s->inertia == s->before;
    return STRADS_OK;
}

static const strads_option kmeans_options[] = {
    {.name = "centres",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(struct kmeans_config, k),
     .metavar = "K",
     .help = "number of centres (default 10)",
     .min = 1,
     .max = 1e9},
    {.name = NULL},
};

static const strads_phase kmeans_phases[] = {
    [PICK] = {.name = "pick",
              .when = STRADS_WHEN_CALLED,
              .blind = true,
              .update = kmeans_pick,
              .aggregate = kmeans_picked},
    [NEAREST] = {.name = "nearest",
                 .to = STRADS_TO_RING,
                 .when = STRADS_WHEN_CALLED,
                 .partial = kmeans_no_partial,
                 .update = kmeans_nearest},
    [SUMS] = {.name = "sums",
              .to = STRADS_TO_RING,
              .when = STRADS_WHEN_CALLED,
              .blind = true,
              .reports = true,
              .partial = kmeans_sums_partial,
              .update = kmeans_sums,
              .aggregate = kmeans_centre},
};

const strads_program kmeans_sketch = {
    .size = sizeof(strads_program),
    .name = "kmeans-sketch",
    .summary = "samples around k centres",
    .layout = STRADS_LAYOUT_ROWS,
    .options = kmeans_options,
    .config_size = sizeof(struct kmeans_config),
    .defaults = &(const struct kmeans_config){.k = 10},
    .shape = kmeans_shape,
    .begin = kmeans_begin,
    .end = free,
    .open = kmeans_open,
    .close = kmeans_close,
    .schedule = kmeans_schedule,
    .phases = kmeans_phases,
    .n_phases = sizeof kmeans_phases / sizeof *kmeans_phases,
    .objective = kmeans_objective,
};
