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
 * and the objective never rises. By stochastic gradients, these phases take the
 * place of `limits` and `block`:
 *
 *     counts     entries of each column     -> rates
 *     steps      steps by each of some rows -> none
 *     moves      the block's moves          -> their means
 *
 * A sweep has 1 to MERGES_MAX times `steps` and then `moves` of each block. A
 * row touches many blocks, so blocks that travel would not serve: each
 * partition moves a copy of all columns.
 *
 * Margins are computed afresh in each sweep: rounding does not add up, and a
 * run that resumes from a checkpoint between two sweeps has the same bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/linear_cholesky.h"

#include "fm_parts.h"

enum fm_phase {
    FM_LABELS,
    FM_LIMITS,
    FM_COUNTS,
    FM_INIT,
    FM_MARGINS,
    FM_BLOCK,
    FM_INTERCEPT,
    FM_STEPS,
    FM_MOVES,
    FM_PHASES
};

/* The most numbers in a block's partial, unless a column alone has more. */
enum { PARTIAL_NUMBERS = 1 << 16 };
/* The default of lambda, for each row. */
static const double LAMBDA_ROWS = 5;
/* The deviation of V's start values, and the name of their random stream. */
static const double START_SD = .1;
enum { START_STREAM = 0x666d };
/* Of stochastic gradients: the most merges of copies in a sweep, and the least
 * entries of a partition between two, for each column. */
enum { MERGES_MAX = 8, MERGE_ENTRIES = 2 };
/* The last step, as a share of the first. */
static const double LAST_STEP = .02;
/* The draws of pairs by which the loss bpr is reported. */
static const uint64_t REPORT_DRAW = UINT32_MAX;

typedef struct fm_local {
    fm_rows rows;
    strads_fm_options options; /* with defaults */
    bool logistic, bpr;
    double *y;   /* [rows]; logistic: 1 or -1 */
    fm_sgd *sgd; /* NULL: by least squares */
    double n;    /* rows of all partitions; bpr: with labels above 0 */
    uint32_t merges;
} fm_local;

typedef struct fm_state {
    strads_fm_options options; /* with defaults; lambdas after `labels` */
    bool logistic, sgd;
    uint32_t rank;
    uint64_t columns;
    const strads_names *label_names;
    char *classes; /* logistic: the text of options.classes */
    double n;      /* rows */
    enum fm_phase next;
    uint32_t *bound; /* [blocks + 1] block b has the columns from bound[b] to
                        bound[b + 1] - 1 */
    uint32_t blocks, sent;
    uint32_t merges, merged; /* of a sweep, and done in this one */
    uint32_t partitions;
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

static uint32_t most_columns(bool sgd, uint32_t width)
{
    const uint32_t most =
        PARTIAL_NUMBERS / (sgd ? width : fm_equations_size(width));
    return most > 0 ? most : 1;
}

static uint32_t count_merges(double entries, uint64_t columns,
                             uint32_t partitions)
{
    const double most =
        entries / partitions / MERGE_ENTRIES / fmax(1, (double)columns);
    return partitions == 1 || most < 1 ? 1
           : most < MERGES_MAX         ? (uint32_t)most
                                       : MERGES_MAX;
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
    if (fm_is_bpr(&o) && (o.context == 0 || o.context >= shape->cols))
        return strads_fail(STRADS_EINVAL,
                           "--loss bpr needs the columns of the user before "
                           "those of the item, and their number: --context N, "
                           "from 1 to %llu",
                           (unsigned long long)shape->cols - 1);
    const bool sgd = fm_is_sgd(&o);
    shape->width = 1 + fm_rank(&o);
    shape->coefficients = shape->cols;
    shape->parameters = shape->cols + 1;
    shape->block_max = most_columns(sgd, shape->width);
    shape->param_bytes = 24 * shape->width; /* table, result, a change */
    shape->run_bytes =
        strads_data_bytes(data) +
        (sgd ? 12 * strads_data_nnz(data) + shape->rows * 28
             : shape->rows * (shape->width + 1) * sizeof(double)) +
        shape->parameters * (shape->width * (1 + sgd) + 4 * sgd) *
            sizeof(double) * shape->partitions;
    return STRADS_OK;
}

/* ---- a partition --------------------------------------------------------- */

static void fm_close(void *local)
{
    fm_local *l = local;
    if (!l)
        return;
    if (l->sgd)
        fm_sgd_free(l->sgd);
    free(l->sgd);
    free(l->y);
    free(l->rows.margin);
    free(l->rows.q);
    free(l->rows.value);
    free(l->rows.z);
    free(l);
}

/* The parameters of least squares and the sums of their rows. */
static strads_err open_margins(fm_rows *r, uint64_t parameters)
{
    const size_t width = (size_t)r->rank + 1;
    r->q = calloc(r->n * width + 1, sizeof *r->q);
    r->value = calloc(parameters * width, sizeof *r->value);
    r->z = calloc(width, sizeof *r->z);
    return r->q && r->value && r->z
               ? STRADS_OK
               : lack_memory("the margins of a partition's rows");
}

static strads_err fm_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    const uint64_t n = share->rows.end - share->rows.begin;
    fm_local *l = calloc(1, sizeof *l);
    if (!l)
        return lack_memory("a partition");
    strads_err err = fm_options_take(task->config, &l->options);
    l->logistic = fm_is_logistic(&l->options);
    l->bpr = fm_is_bpr(&l->options);
    l->y = calloc(n + 1, sizeof *l->y);
    l->rows = (fm_rows){.columns = &share->by_col,
                        .n = n,
                        .rank = task->width - 1,
                        .y = l->y,
                        .margin = calloc(n + 1, sizeof *l->rows.margin)};
    if (!err && fm_is_sgd(&l->options))
        l->sgd = calloc(1, sizeof *l->sgd);
    if (!err &&
        (!l->y || !l->rows.margin || (fm_is_sgd(&l->options) && !l->sgd)))
        err = lack_memory("the labels of a partition's rows");
    if (!err)
        err = l->sgd ? fm_sgd_open(l->sgd, share, task->width - 1, &l->options)
                     : open_margins(&l->rows, share->by_col.lines + 1);
    if (!err) {
        *local = l;
        return STRADS_OK;
    }
    fm_close(l);
    return err;
}

/* Until the first `margins`, the rows do not have their labels. */
static strads_err fm_refresh(strads_task *task, const strads_change *changes,
                             uint32_t n)
{
    fm_local *l = task->local;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            const double *change = changes[c].change + (size_t)k * task->width;
            if (l->sgd)
                fm_sgd_commit(l->sgd, changes[c].param[k], change);
            else
                fm_rows_move(&l->rows, changes[c].param[k], change);
        }
    return STRADS_OK;
}

/* ---- labels -------------------------------------------------------------- */

typedef struct fm_survey {
    double rows; /* bpr: with labels above 0 */
    double entries;
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
    s->rows = l->bpr ? 0 : (double)l->rows.n;
    s->entries = (double)l->rows.columns->nnz;
    if (l->rows.n > 0 && !task->share->label)
        return strads_fail(STRADS_EINVAL,
                           "fm needs a label for each row: --labels FILE");
    for (uint64_t i = 0; i < l->rows.n; i++) {
        l->y[i] = task->share->label[i];
        s->rows += l->bpr && l->y[i] > 0;
        if (l->logistic)
            linear_survey_add(labels, l->y[i], 1);
    }
    return l->bpr ? fm_pairs_open(l->sgd, l->y) : STRADS_OK;
}

static void fm_merge_labels(void *into, const void *from, size_t bytes)
{
    fm_survey *a = into;
    const fm_survey *b = from;
    a->rows += b->rows;
    a->entries += b->entries;
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
    const fm_survey *all = (const fm_survey *)(const void *)task->partial;
    linear_classes classes;
    l->n = all->rows;
    l->merges =
        count_merges(all->entries, task->shape->cols, task->shape->partitions);
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
    const fm_survey *all = (const fm_survey *)(const void *)commit->partial;
    s->n = all->rows;
    s->merges = count_merges(all->entries, s->columns, s->partitions);
    if (s->n == 0 && fm_is_bpr(&s->options))
        return strads_fail(STRADS_EINVAL,
                           "--loss bpr: no row has a label above 0; give the "
                           "rows of what users had the label 1");
    s->tolerance = commit->tolerance;
    s->options.lambda = lambda_of(s->options.lambda, LAMBDA_ROWS / s->n);
    s->options.lambda_factors =
        lambda_of(s->options.lambda_factors, s->options.lambda);
    s->next = s->sgd ? FM_COUNTS : FM_LIMITS;
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
    const uint32_t most = most_columns(false, 1 + s->rank);
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

/* ---- counts of stochastic gradients -------------------------------------- */

static size_t fm_counts_size(const strads_task *task)
{
    return 2 * (size_t)task->shape->cols;
}

static strads_err fm_count_entries(strads_task *task)
{
    fm_sgd_count(((fm_local *)task->local)->sgd, task->partial);
    return STRADS_OK;
}

static strads_err fm_receive_counts(strads_task *task)
{
    const fm_local *l = task->local;
    const double w = lambda_of(l->options.lambda, LAMBDA_ROWS / l->n);
    const double v = lambda_of(l->options.lambda_factors, w);
    fm_sgd_scale(l->sgd, task->partial, (double)task->shape->rows,
                 (const double[2]){w, v});
    return STRADS_OK;
}

static strads_err fm_take_counts(strads_commit *commit)
{
    fm_state *s = commit->state;
    const uint32_t most = most_columns(true, 1 + s->rank);
    s->bound = calloc(s->columns / most + 2, sizeof *s->bound);
    if (!s->bound)
        return lack_memory("the blocks");
    for (uint64_t j = most; j < s->columns; j += most)
        s->bound[++s->blocks] = (uint32_t)j;
    if (s->columns > 0)
        s->bound[++s->blocks] = (uint32_t)s->columns;
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

static void move_squares(fm_state *s, const double *value, const double *step)
{
    add_squares(s, value, -1);
    for (uint32_t f = 0; f <= s->rank; f++) {
        const double moved = value[f] + step[f];
        *(f == 0 ? &s->squares_w : &s->squares_v) += moved * moved;
    }
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

/* The loss of pairs that are the same after each sweep. */
static double find_pair_losses(const fm_local *l, const strads_task *task)
{
    const uint64_t first = task->share->rows.begin;
    double sum = 0;
    for (uint64_t i = 0; i < l->rows.n; i++) {
        uint64_t other;
        if (l->y[i] > 0 && fm_pairs_draw(l->sgd, i, task->seed, first + i,
                                         REPORT_DRAW, &other))
            sum += fm_log_loss(fm_pairs_margin(l->sgd, i, other));
    }
    return sum;
}

static strads_err fm_find_margins(strads_task *task)
{
    fm_local *l = task->local;
    for (uint64_t i = 0; l->sgd && !l->bpr && i < l->rows.n; i++)
        l->rows.margin[i] = fm_sgd_margin(l->sgd, i);
    if (!l->sgd)
        fm_rows_begin(&l->rows);
    task->partial[0] = l->bpr ? find_pair_losses(l, task)
                              : fm_rows_loss(&l->rows, l->logistic);
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
    s->merged = 0;
    s->next = fm_is_bpr(&s->options) ? FM_STEPS : FM_INTERCEPT;
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
    s->next = s->blocks == 0 ? FM_MARGINS : s->sgd ? FM_STEPS : FM_BLOCK;
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
        move_squares(s, value, step);
    }
    if (s->sent == s->blocks) {
        s->next = FM_MARGINS;
        s->sweep++;
    }
    return STRADS_OK;
}

/* ---- a sweep of stochastic gradients ------------------------------------- */

/* The step falls linearly over all merges of the run. */
static double step_of_merge(const fm_local *l, uint64_t merge)
{
    const double last = (double)l->options.sweeps * l->merges - 1;
    const double done = last > 0 ? (double)merge / last : 0;
    return l->options.step * (1 - (1 - LAST_STEP) * fmin(1, done));
}

static void step_row(fm_local *l, const strads_task *task, uint64_t i,
                     uint64_t sweep, double step)
{
    const uint64_t row = task->share->rows.begin + i;
    uint64_t other;
    if (!l->bpr)
        fm_sgd_step(l->sgd, i, l->y[i], step);
    else if (l->y[i] > 0 &&
             fm_pairs_draw(l->sgd, i, task->seed, row, sweep, &other))
        fm_pairs_step(l->sgd, i, other, step);
}

/* The block's id counts the merges of the run, from columns + 2 on. */
static strads_err fm_make_steps(strads_task *task)
{
    fm_local *l = task->local;
    const uint64_t merge = task->block.id - task->shape->cols - 2;
    const uint64_t sweep = merge / l->merges, part = merge % l->merges;
    const double step = step_of_merge(l, merge);
    const uint64_t end = l->rows.n * (part + 1) / l->merges;
    l->sgd->contraction = step * l->sgd->per_entry / l->merges;
    if (part == 0)
        fm_sgd_shuffle(l->sgd, task->seed, sweep, task->share->partition);
    for (uint64_t k = l->rows.n * part / l->merges; k < end; k++)
        step_row(l, task, l->sgd->order[k], sweep, step);
    return STRADS_OK;
}

static strads_err fm_take_steps(strads_commit *commit)
{
    fm_state *s = commit->state;
    s->sent = 0;
    s->next = FM_MOVES;
    return STRADS_OK;
}

static strads_err fm_find_moves(strads_task *task)
{
    const fm_local *l = task->local;
    for (uint32_t k = 0; k < task->block.n; k++)
        fm_sgd_moved(l->sgd, strads_block_param(&task->block, k),
                     task->partial + (size_t)k * task->width);
    return STRADS_OK;
}

static strads_err fm_take_moves(strads_commit *commit)
{
    fm_state *s = commit->state;
    const uint32_t width = commit->width;
    memcpy(commit->change, commit->partial,
           sizeof *commit->change * commit->block.n * width);
    for (uint32_t k = 0; k < commit->block.n; k++)
        move_squares(s, commit->value + (size_t)k * width,
                     commit->change + (size_t)k * width);
    if (s->sent < s->blocks)
        return STRADS_OK;
    s->merged++;
    s->next = s->merged < s->merges ? FM_STEPS : FM_MARGINS;
    s->sweep += s->merged == s->merges;
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
    case FM_STEPS: {
        const strads_block merge = {
            .id = s->columns + 2 + (uint64_t)s->sweep * s->merges + s->merged};
        return strads_turn_dispatch(turn, FM_STEPS, 1, &merge);
    }
    case FM_BLOCK:
    case FM_MOVES:
        break;
    case FM_LABELS:
    case FM_LIMITS:
    case FM_COUNTS:
    case FM_MARGINS:
    case FM_PHASES:
        return strads_turn_dispatch(turn, s->next, 1, &none);
    }
    const uint32_t b = s->sent++;
    const strads_block block = {.id = b,
                                .n = s->bound[b + 1] - s->bound[b],
                                .first = s->bound[b]};
    return strads_turn_dispatch(turn, s->next, 1, &block);
}

static const char *const fm_measures[] = {"sweep", "loss", NULL};

static strads_err fm_objective(void *state, strads_report *report)
{
    const fm_state *s = state;
    report->objective = s->objective;
    report->gap = NAN;
    report->measure[0] = s->sweep;
    report->measure[1] = s->loss;
    report->stop = s->sweep >= s->options.sweeps ||
                   (!s->sgd && s->sweep > 0 &&
                    s->before - s->objective <= s->tolerance * s->before);
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
    s->sgd = fm_is_sgd(&s->options);
    s->rank = width - 1;
    s->partitions = shape->partitions;
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
    [FM_COUNTS] = {.name = "counts",
                   .result = STRADS_RESULT_WORKERS,
                   .when = STRADS_WHEN_CALLED,
                   .ignores_values = true,
                   .keeps_values = true,
                   .partial = fm_counts_size,
                   .update = fm_count_entries,
                   .aggregate = fm_take_counts,
                   .receive = fm_receive_counts},
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
    [FM_STEPS] = {.name = "steps",
                  .when = STRADS_WHEN_CALLED,
                  .ignores_values = true,
                  .keeps_values = true,
                  .partial = fm_one_number,
                  .update = fm_make_steps,
                  .aggregate = fm_take_steps},
    [FM_MOVES] = {.name = "moves",
                  .when = STRADS_WHEN_CALLED,
                  .ignores_values = true,
                  .update = fm_find_moves,
                  .aggregate = fm_take_moves},
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
