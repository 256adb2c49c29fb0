/* Factorisation machines as a program. Partitions hold rows, their margins, and
 * a copy of the parameters. The phases, and the results of merging them:
 *
 *     labels     labels, number of rows     -> classes, lambda
 *     limits     the next column of a row   -> blocks of columns without a
 *                                              common row
 *     init       no data                    -> the start values of V
 *     margins    loss, of new margins       -> progress; the end of the run
 *     block      equations of its columns   -> the minimum of each column
 *     intercept  slope and curvature        -> w_0
 *
 * A sweep is one `margins`, then `intercept`, then each block. Only one
 * dispatch is in flight, so every block sees the commits of those before it,
 * and the objective never rises. Margins are computed afresh in each sweep:
 * rounding does not add up, and a run that resumes from a checkpoint between
 * two sweeps has the same bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_cholesky.h"

#include "fm_parts.h"

enum fm_phase {
    FM_LABELS,
    FM_LIMITS,
    FM_INIT,
    FM_MARGINS,
    FM_BLOCK,
    FM_INTERCEPT,
    FM_PHASES
};

/* The most numbers in a block's partial, unless a column alone has more. */
enum { PARTIAL_NUMBERS = 1 << 16 };
/* The default of lambda, for each row. */
static const double LAMBDA_ROWS = 5;
/* The deviation of V's start values, and the name of their random stream. */
static const double START_SD = .1;
enum { START_STREAM = 0x666d };

typedef struct fm_local {
    fm_rows rows;
    bool logistic;
    double *y; /* [rows]; logistic: 1 or -1 */
} fm_local;

typedef struct fm_state {
    strads_fm_options options; /* with defaults; lambdas after `labels` */
    bool logistic;
    uint32_t rank;
    uint64_t columns;
    const strads_names *label_names;
    char *classes; /* logistic: the text of options.classes */
    double n;      /* rows */
    enum fm_phase next;
    uint32_t *bound; /* [blocks + 1] block b has the columns from bound[b] to
                        bound[b + 1] - 1 */
    uint32_t blocks, sent;
    bool resumed;
    uint32_t sweep; /* complete ones */
    double loss;    /* mean of the rows, after that sweep */
    double squares_w, squares_v;
    double objective, before; /* after that sweep, and after the one before */
    double tolerance;
    double *intercepts; /* [1 + rank] */
    double *matrix;     /* [width x width] of one column */
    const column_kernels *kernels;
} fm_state;

static strads_err lack_memory(const char *what)
{
    return strads_fail(STRADS_ENOMEM, "no memory for %s", what);
}

/* ---- sizes --------------------------------------------------------------- */

static uint32_t most_columns(uint32_t width)
{
    const uint32_t most = PARTIAL_NUMBERS / fm_equations_size(width);
    return most > 0 ? most : 1;
}

static strads_err fm_shape(const void *config, const strads_data *data,
                           strads_shape *shape)
{
    strads_fm_options o;
    strads_err err = fm_options_take(config, &o);
    if (err)
        return err;
    if (shape->cols > UINT32_MAX - 2)
        return strads_fail(STRADS_ELIMIT,
                           "the data has %llu columns; at most %u fit",
                           (unsigned long long)shape->cols, UINT32_MAX - 2);
    shape->width = 1 + fm_rank(&o);
    shape->coefficients = shape->cols;
    shape->parameters = shape->cols + 1;
    shape->block_max = most_columns(shape->width);
    shape->param_bytes = 24 * shape->width; /* table, result, a change */
    shape->run_bytes =
        strads_data_bytes(data) +
        shape->rows * (shape->width + 1) * sizeof(double) +
        shape->parameters * shape->width * sizeof(double) * shape->partitions;
    return STRADS_OK;
}

/* ---- a partition --------------------------------------------------------- */

static void fm_close(void *local)
{
    fm_local *l = local;
    if (!l)
        return;
    free(l->y);
    free(l->rows.margin);
    free(l->rows.q);
    free(l->rows.value);
    free(l->rows.z);
    free(l);
}

static strads_err fm_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    const uint64_t n = share->rows.end - share->rows.begin;
    fm_local *l = calloc(1, sizeof *l);
    if (!l)
        return lack_memory("a partition");
    fm_rows *r = &l->rows;
    l->logistic = fm_is_logistic(task->config);
    l->y = calloc(n + 1, sizeof *l->y);
    *r = (fm_rows){.columns = &share->by_col,
                   .n = n,
                   .rank = task->width - 1,
                   .y = l->y,
                   .margin = calloc(n + 1, sizeof *r->margin),
                   .q = calloc(n * task->width + 1, sizeof *r->q),
                   .value = calloc((share->by_col.lines + 1) * task->width,
                                   sizeof *r->value),
                   .z = calloc(task->width, sizeof *r->z)};
    if (l->y && r->margin && r->q && r->value && r->z) {
        *local = l;
        return STRADS_OK;
    }
    fm_close(l);
    return lack_memory("the margins of a partition's rows");
}

/* Until the first `margins`, the rows do not have their labels. */
static strads_err fm_refresh(strads_task *task, const strads_change *changes,
                             uint32_t n)
{
    fm_local *l = task->local;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++)
            fm_rows_move(&l->rows, changes[c].param[k],
                         changes[c].change + (size_t)k * task->width);
    return STRADS_OK;
}

/* ---- labels -------------------------------------------------------------- */

typedef struct fm_survey {
    double rows;
} fm_survey;

static size_t fm_labels_size(const strads_task *task)
{
    (void)task;
    return sizeof(fm_survey) + linear_survey_size(1);
}

static strads_err fm_survey_labels(strads_task *task)
{
    fm_local *l = task->local;
    fm_survey *s = (fm_survey *)(void *)task->partial;
    linear_survey *labels = (linear_survey *)(void *)(s + 1);
    linear_survey_begin(labels, 1);
    s->rows = (double)l->rows.n;
    if (l->rows.n > 0 && !task->share->label)
        return strads_fail(STRADS_EINVAL,
                           "fm needs a label for each row: --labels FILE");
    for (uint64_t i = 0; i < l->rows.n; i++) {
        l->y[i] = task->share->label[i];
        if (l->logistic)
            linear_survey_add(labels, l->y[i], 1);
    }
    return STRADS_OK;
}

static void fm_merge_labels(void *into, const void *from, size_t bytes)
{
    fm_survey *a = into;
    const fm_survey *b = from;
    a->rows += b->rows;
    linear_survey_merge(a + 1, b + 1, bytes - sizeof *a);
}

/* The two classes; the coordinator and each partition compute the same. */
static strads_err find_classes(const strads_fm_options *o,
                               const strads_names *names, const void *merged,
                               linear_classes *out)
{
    const linear_survey *labels =
        (const linear_survey *)(const void *)((const fm_survey *)merged + 1);
    const linear_class_options wanted = {.names = names, .classes = o->classes};
    strads_err err = linear_classes_of(&wanted, labels, out);
    if (!err && out->n != 2) {
        err = strads_fail(STRADS_EINVAL,
                          "the data has %u classes; the logistic loss of fm "
                          "takes two",
                          out->n);
        linear_classes_free(out);
    }
    return err;
}

static strads_err fm_receive_labels(strads_task *task)
{
    fm_local *l = task->local;
    linear_classes classes;
    if (!l->logistic)
        return STRADS_OK;
    strads_err err = find_classes(task->config, task->share->label_names,
                                  task->partial, &classes);
    if (err)
        return err;
    for (uint64_t i = 0; i < l->rows.n; i++)
        l->y[i] = l->y[i] == classes.label[1] ? 1 : -1;
    linear_classes_free(&classes);
    return STRADS_OK;
}

static double lambda_of(double given, double otherwise)
{
    return signbit(given) ? -0. : given > 0 ? given : otherwise;
}

static strads_err fm_take_labels(strads_commit *commit)
{
    fm_state *s = commit->state;
    linear_classes classes;
    s->n = ((const fm_survey *)(const void *)commit->partial)->rows;
    s->tolerance = commit->tolerance;
    s->options.lambda = lambda_of(s->options.lambda, LAMBDA_ROWS / s->n);
    s->options.lambda_factors =
        lambda_of(s->options.lambda_factors, s->options.lambda);
    s->next = FM_LIMITS;
    if (!s->logistic)
        return STRADS_OK;
    strads_err err =
        find_classes(&s->options, s->label_names, commit->partial, &classes);
    if (err)
        return err;
    err = linear_classes_write(&classes, s->label_names, &s->classes);
    s->options.classes = s->classes;
    linear_classes_free(&classes);
    return err;
}

/* ---- blocks -------------------------------------------------------------- */

/* For each column, columns - the least column that follows it in a row; 0: it
 * is the last one of its rows. */
static size_t fm_limits_size(const strads_task *task)
{
    return (task->shape->cols * sizeof(uint32_t) + 7) / 8 * 8;
}

static strads_err fm_find_limits(strads_task *task)
{
    const fm_local *l = task->local;
    const strads_sparse *x = l->rows.columns;
    uint32_t *limit = (uint32_t *)(void *)task->partial;
    uint32_t *next = calloc(l->rows.n + 1, sizeof *next);
    if (!next)
        return lack_memory("the limits of blocks");
    for (uint64_t j = x->lines; j-- > 0;)
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            uint32_t *of_row = &next[x->index[e]];
            limit[j] = *of_row > limit[j] ? *of_row : limit[j];
            *of_row = (uint32_t)(x->lines - j);
        }
    free(next);
    return STRADS_OK;
}

static void fm_merge_limits(void *into, const void *from, size_t bytes)
{
    uint32_t *a = into;
    const uint32_t *b = from;
    for (size_t j = 0; j < bytes / sizeof *a; j++)
        a[j] = b[j] > a[j] ? b[j] : a[j];
}

/* A block ends where one of its columns meets a later one in some row. */
static strads_err fm_take_limits(strads_commit *commit)
{
    fm_state *s = commit->state;
    const uint32_t *limit = (const uint32_t *)(const void *)commit->partial;
    const uint32_t columns = (uint32_t)s->columns;
    const uint32_t most = most_columns(1 + s->rank);
    s->bound = calloc(s->columns + 1, sizeof *s->bound);
    if (!s->bound)
        return lack_memory("the blocks");
    for (uint32_t j = 0, end = columns; j < columns; j++) {
        if (j == end || j - s->bound[s->blocks] == most) {
            s->bound[++s->blocks] = j;
            end = columns;
        }
        end = columns - limit[j] < end ? columns - limit[j] : end;
    }
    if (columns > 0)
        s->bound[++s->blocks] = columns;
    s->next = s->resumed ? FM_MARGINS : FM_INIT;
    return STRADS_OK;
}

/* ---- start values -------------------------------------------------------- */

/* A normal deviate by Box and Muller. */
static double draw_start(uint64_t seed, uint64_t j, uint32_t f)
{
    const double u = strads_random_unit(seed, START_STREAM, j, 2 * (uint64_t)f);
    const double v =
        strads_random_unit(seed, START_STREAM, j, 2 * (uint64_t)f + 1);
    return START_SD * sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

static void add_squares(fm_state *s, const double *value, double sign)
{
    s->squares_w += sign * value[0] * value[0];
    for (uint32_t f = 1; f <= s->rank; f++)
        s->squares_v += sign * value[f] * value[f];
}

/* Columns that have factors, from a start model, keep them. */
static strads_err fm_init(strads_commit *commit)
{
    fm_state *s = commit->state;
    const uint32_t width = commit->width;
    for (uint64_t j = 0; j < s->columns; j++) {
        const double *value = commit->value + j * width;
        double *change = commit->change + j * width;
        bool started = false;
        for (uint32_t f = 1; f < width; f++)
            started = started || value[f] != 0;
        for (uint32_t f = 1; f < width && !started; f++)
            change[f] = draw_start(commit->seed, j, f);
        add_squares(s, started ? value : change, 1);
        if (!started)
            s->squares_w += value[0] * value[0];
    }
    s->intercepts[0] = commit->value[s->columns * width];
    s->next = FM_MARGINS;
    return STRADS_OK;
}

/* ---- a sweep ------------------------------------------------------------- */

static size_t fm_one_number(const strads_task *task)
{
    (void)task;
    return 1;
}

static strads_err fm_find_margins(strads_task *task)
{
    fm_local *l = task->local;
    fm_rows_begin(&l->rows);
    task->partial[0] = fm_rows_loss(&l->rows, l->logistic);
    return STRADS_OK;
}

static strads_err fm_take_margins(strads_commit *commit)
{
    fm_state *s = commit->state;
    s->loss = commit->partial[0] / s->n;
    s->before = s->objective;
    s->objective = s->loss + (s->options.lambda * s->squares_w +
                              s->options.lambda_factors * s->squares_v) /
                                 2;
    if (!isfinite(s->objective))
        return strads_fail(STRADS_EPROGRAM,
                           "the objective is %g: the values are too large to "
                           "multiply; scale the columns down",
                           s->objective);
    s->next = FM_INTERCEPT;
    return STRADS_OK;
}

static size_t fm_two_numbers(const strads_task *task)
{
    (void)task;
    return 2;
}

static strads_err fm_slope(strads_task *task)
{
    const fm_local *l = task->local;
    fm_rows_intercept(&l->rows, l->logistic, task->partial);
    return STRADS_OK;
}

static strads_err fm_take_intercept(strads_commit *commit)
{
    fm_state *s = commit->state;
    commit->change[0] = -commit->partial[1] / commit->partial[0];
    s->intercepts[0] = commit->value[0] + commit->change[0];
    s->sent = 0;
    s->next = s->blocks > 0 ? FM_BLOCK : FM_MARGINS;
    s->sweep += s->blocks == 0;
    return STRADS_OK;
}

static size_t fm_block_size(const strads_task *task)
{
    return (size_t)task->block.n * fm_equations_size(task->width);
}

static strads_err fm_find_equations(strads_task *task)
{
    const fm_local *l = task->local;
    for (uint32_t k = 0; k < task->block.n; k++)
        fm_rows_equations(&l->rows, l->logistic,
                          strads_block_param(&task->block, k),
                          task->partial +
                              (size_t)k * fm_equations_size(task->width));
    return STRADS_OK;
}

/* The step d to the column's minimum: (A + n Lambda) d = -b - n Lambda theta */
static void solve_column(fm_state *s, const double *equations,
                         const double *value, double *step)
{
    const uint32_t width = 1 + s->rank;
    const double *b = equations + (size_t)width * (width + 1) / 2;
    for (uint32_t f = 0; f < width; f++) {
        const double weight =
            s->n * (f == 0 ? s->options.lambda : s->options.lambda_factors);
        double *line = s->matrix + (size_t)f * width;
        memcpy(line, equations, (f + 1) * sizeof *line);
        equations += f + 1;
        line[f] += weight;
        step[f] = -(b[f] + weight * value[f]);
    }
    linear_factor(s->kernels, width, s->matrix);
    linear_solve(s->kernels, width, s->matrix, step);
}

static strads_err fm_solve(strads_commit *commit)
{
    fm_state *s = commit->state;
    const uint32_t width = commit->width;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const double *value = commit->value + (size_t)k * width;
        double *step = commit->change + (size_t)k * width;
        solve_column(s, commit->partial + (size_t)k * fm_equations_size(width),
                     value, step);
        add_squares(s, value, -1);
        for (uint32_t f = 0; f < width; f++) {
            const double moved = value[f] + step[f];
            *(f == 0 ? &s->squares_w : &s->squares_v) += moved * moved;
        }
    }
    if (s->sent == s->blocks) {
        s->next = FM_MARGINS;
        s->sweep++;
    }
    return STRADS_OK;
}

/* ---- the schedule -------------------------------------------------------- */

static strads_err fm_schedule(strads_turn *turn)
{
    fm_state *s = turn->state;
    const strads_block none = {.id = s->blocks + 1};
    const strads_block intercept = {.id = s->blocks,
                                    .n = 1,
                                    .first = (uint32_t)s->columns};
    if (turn->in_flight)
        return strads_turn_wait(turn);
    switch (s->next) {
    case FM_INIT:
        return strads_turn_all(turn, FM_INIT);
    case FM_INTERCEPT:
        return strads_turn_dispatch(turn, FM_INTERCEPT, 1, &intercept);
    case FM_BLOCK:
        break;
    case FM_LABELS:
    case FM_LIMITS:
    case FM_MARGINS:
    case FM_PHASES:
        return strads_turn_dispatch(turn, s->next, 1, &none);
    }
    const uint32_t b = s->sent++;
    const strads_block block = {.id = b,
                                .n = s->bound[b + 1] - s->bound[b],
                                .first = s->bound[b]};
    return strads_turn_dispatch(turn, FM_BLOCK, 1, &block);
}

static const char *const fm_measures[] = {"sweep", "loss", NULL};

static strads_err fm_objective(void *state, strads_report *report)
{
    const fm_state *s = state;
    report->objective = s->objective;
    report->gap = NAN;
    report->measure[0] = s->sweep;
    report->measure[1] = s->loss;
    report->stop =
        s->sweep >= s->options.sweeps ||
        (s->sweep > 0 && s->before - s->objective <= s->tolerance * s->before);
    return STRADS_OK;
}

/* ---- the coordinator ----------------------------------------------------- */

static void fm_end(void *state)
{
    fm_state *s = state;
    if (!s)
        return;
    free(s->classes);
    free(s->bound);
    free(s->intercepts);
    free(s->matrix);
    free(s);
}

static strads_err fm_begin(const void *config, const strads_data *data,
                           const strads_shape *shape, void **state)
{
    fm_state *s = calloc(1, sizeof *s);
    if (!s)
        return lack_memory("the coordinator");
    strads_err err = fm_options_take(config, &s->options);
    if (err) {
        free(s);
        return err;
    }
    const uint32_t width = shape->width;
    s->logistic = fm_is_logistic(&s->options);
    s->rank = width - 1;
    s->columns = shape->cols;
    s->label_names = strads_data_label_names(data);
    s->objective = INFINITY;
    s->intercepts = calloc(width, sizeof *s->intercepts);
    s->matrix = calloc((size_t)width * width, sizeof *s->matrix);
    s->kernels = column_kernels_choose(width);
    if (!s->intercepts || !s->matrix) {
        fm_end(s);
        return lack_memory("the coordinator");
    }
    *state = s;
    return STRADS_OK;
}

/* The fields that a checkpoint between two sweeps needs; a resumed run surveys
 * the data again. */
static void pass_state(strads_walk *w, fm_state *s)
{
    strads_walk_pass(w, &s->sweep, sizeof s->sweep);
    strads_walk_pass(w, &s->squares_w, sizeof s->squares_w);
    strads_walk_pass(w, &s->squares_v, sizeof s->squares_v);
    strads_walk_pass(w, &s->objective, sizeof s->objective);
    strads_walk_pass(w, s->intercepts, sizeof *s->intercepts);
}

static strads_err fm_pack_state(const void *state, strads_bytes *out)
{
    fm_state copy = *(const fm_state *)state;
    strads_walk w = {.out = out};
    if (copy.next == FM_MARGINS)
        pass_state(&w, &copy);
    return w.err;
}

static strads_err fm_unpack_state(void *state, const void *bytes, size_t size)
{
    fm_state *s = state;
    const char *from = bytes;
    strads_walk w = {.from = from, .end = from + size};
    pass_state(&w, s);
    s->resumed = true;
    return strads_walk_fits(&w)
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "the checkpoint is not of this machine's rank");
}

const strads_fm_options *strads_fm_resolved(const void *state)
{
    return &((const fm_state *)state)->options;
}

const double *strads_fm_intercepts(const void *state)
{
    return ((const fm_state *)state)->intercepts;
}

double strads_fm_loss(const void *state)
{
    return ((const fm_state *)state)->loss;
}

/* ---- the program --------------------------------------------------------- */

static const strads_phase fm_phases[FM_PHASES] = {
    [FM_LABELS] = {.name = "labels",
                   .merge = STRADS_MERGE_OWN,
                   .result = STRADS_RESULT_WORKERS,
                   .when = STRADS_WHEN_CALLED,
                   .ignores_values = true,
                   .keeps_values = true,
                   .partial = fm_labels_size,
                   .update = fm_survey_labels,
                   .merge_with = fm_merge_labels,
                   .aggregate = fm_take_labels,
                   .receive = fm_receive_labels},
    [FM_LIMITS] = {.name = "limits",
                   .merge = STRADS_MERGE_OWN,
                   .when = STRADS_WHEN_CALLED,
                   .ignores_values = true,
                   .keeps_values = true,
                   .partial = fm_limits_size,
                   .update = fm_find_limits,
                   .merge_with = fm_merge_limits,
                   .aggregate = fm_take_limits},
    [FM_INIT] = {.name = "init",
                 .to = STRADS_TO_NOBODY,
                 .when = STRADS_WHEN_CALLED,
                 .aggregate = fm_init},
    [FM_MARGINS] = {.name = "margins",
                    .when = STRADS_WHEN_CALLED,
                    .reports = true,
                    .ignores_values = true,
                    .keeps_values = true,
                    .partial = fm_one_number,
                    .update = fm_find_margins,
                    .aggregate = fm_take_margins},
    [FM_BLOCK] = {.name = "block",
                  .when = STRADS_WHEN_CALLED,
                  .ignores_values = true,
                  .partial = fm_block_size,
                  .update = fm_find_equations,
                  .aggregate = fm_solve},
    [FM_INTERCEPT] = {.name = "intercept",
                      .when = STRADS_WHEN_CALLED,
                      .ignores_values = true,
                      .partial = fm_two_numbers,
                      .update = fm_slope,
                      .aggregate = fm_take_intercept},
};

static bool fm_names_labels(const void *config)
{
    return fm_is_logistic(config);
}

const strads_program strads_program_fm = {.size = sizeof(strads_program),
                                          .name = "fm",
                                          .summary = "a factorisation machine",
                                          .split = STRADS_SPLIT_ROWS,
                                          .layout = STRADS_LAYOUT_COLS,
                                          .options = fm_option_table,
                                          .config_size =
                                              sizeof(strads_fm_options),
                                          .defaults = &fm_defaults,
                                          .named_labels = fm_names_labels,
                                          .shape = fm_shape,
                                          .phases = fm_phases,
                                          .n_phases = FM_PHASES,
                                          .schedule = fm_schedule,
                                          .no_policy = true,
                                          .objective = fm_objective,
                                          .measures = fm_measures,
                                          .begin = fm_begin,
                                          .end = fm_end,
                                          .open = fm_open,
                                          .close = fm_close,
                                          .refresh = fm_refresh,
                                          .pack_state = fm_pack_state,
                                          .unpack_state = fm_unpack_state};
