/* Computations before the first scan: labels become targets, columns get
 * norms and scales, and the coordinator receives the values of each row that a
 * model needs. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* ---- labels -------------------------------------------------------------- */

/* Statistics of the labels of some rows. */
typedef struct survey {
    double weight, sum, squares; /* sum c, c y, c y^2 */
    double least;                /* least label, at most 0 */
    double not_positive;         /* number of labels that are at most 0 */
    double events;               /* of times: rows with a weight and an event */
    double largest; /* largest |label| of a row with a weight; the survey of
                     * labels follows */
} survey;

size_t glm_labels_size(const strads_task *task)
{
    return sizeof(survey) + linear_survey_size(task->width);
}

strads_err glm_update_labels(strads_task *task)
{
    const glm_local *local = task->local;
    survey *s = (survey *)(void *)task->partial;
    linear_survey *labels = (linear_survey *)(void *)(s + 1);
    const bool classes = glm_is_of_classes(local->problem.loss);

    linear_survey_begin(labels, task->width);
    for (uint64_t i = 0; i < local->rows; i++) {
        const double y = task->share->label[i], c = local->c[i];
        if (classes)
            linear_survey_add(labels, y, c);
        s->weight += c;
        s->sum += c * y;
        s->squares += c * y * y;
        s->least = fmin(s->least, y);
        s->not_positive += !(y > 0);
        s->events += c > 0 && !signbit(y);
        s->largest = c > 0 ? fmax(s->largest, fabs(y)) : s->largest;
    }
    return STRADS_OK;
}

void glm_merge_labels(void *into, const void *from, size_t bytes)
{
    survey *a = into;
    const survey *b = from;

    linear_survey_merge(a + 1, b + 1, bytes - sizeof(survey));
    a->weight += b->weight;
    a->sum += b->sum;
    a->squares += b->squares;
    a->least = fmin(a->least, b->least);
    a->not_positive += b->not_positive;
    a->events += b->events;
    a->largest = fmax(a->largest, b->largest);
}

strads_err glm_classes_of(const glm_problem *problem, const strads_names *names,
                          const linear_survey *labels, uint32_t width,
                          linear_classes *out)
{
    const strads_glm_options *o = &problem->options;
    const linear_class_options wanted = {.names = names,
                                         .classes = o->classes,
                                         .class_weight = o->class_weight,
                                         .weights = o->weights};

    *out = (linear_classes){0};
    if (!glm_is_of_classes(problem->loss))
        return STRADS_OK;
    const strads_err err = linear_classes_of(&wanted, labels, out);
    const uint32_t n = out->n;
    if (err || problem->loss->labels == GLM_LEVELS ||
        linear_classes_width(n) == width)
        return err;
    linear_classes_free(out);
    return strads_fail(STRADS_EINVAL,
                       "there are %u different labels; a path is for two of "
                       "them, and a fit of more whose rows are on several "
                       "processes must be given them with classes",
                       n);
}

static strads_err check_labels(const glm_problem *problem, const survey *s,
                               double total)
{
    if (problem->loss->labels == GLM_POSITIVE && s->not_positive > 0)
        return strads_fail(STRADS_EINVAL,
                           "the loss %s needs labels above 0; labels at or "
                           "below it: %.0f",
                           problem->options.loss, s->not_positive);
    if (problem->loss->labels == GLM_COUNTS && s->least < 0)
        return strads_fail(
            STRADS_EINVAL,
            "the loss %s needs labels from 0 up, and a label is %g",
            problem->options.loss, s->least);
    if (problem->loss->labels == GLM_COUNTS && problem->options.intercept &&
        s->largest == 0 && s->weight > 0)
        return strads_fail(STRADS_EINVAL,
                           "all labels are 0: with an intercept there is no "
                           "minimum");
    if (!(total > 0))
        return strads_fail(
            STRADS_EINVAL,
            "there is nothing to fit: no rows, or all weights are 0");
    if (!isfinite(total))
        return strads_fail(STRADS_EINVAL,
                           "the sum of the rows' weights overflows: scale the "
                           "weights down");
    if (problem->loss->labels == GLM_TIMES && !(s->events > 0))
        return strads_fail(STRADS_EINVAL,
                           "no row has an event: for the loss %s the label is "
                           "the time of an event, or minus the time up to "
                           "which there was none",
                           problem->options.loss);
    if (glm_is_of_classes(problem->loss) || problem->loss->labels == GLM_TIMES)
        return STRADS_OK;
    if (s->largest > GLM_NUMBER_MAX)
        return strads_fail(STRADS_EINVAL,
                           "a label is %g, and its square would overflow: "
                           "scale the labels down",
                           s->largest);
    if (!isfinite(s->sum))
        return strads_fail(STRADS_EINVAL,
                           "the sum of the labels times their rows' weights "
                           "overflows: scale the weights or the labels down");
    if (s->largest > 0 && s->largest < GLM_NUMBER_MIN)
        return strads_fail(STRADS_EINVAL,
                           "the largest label is %g, and its square would "
                           "underflow: scale the labels up",
                           s->largest);
    return STRADS_OK;
}

/* The program uses weights times this power of 2, which changes no result.
 * Otherwise sums of squares of tiny or huge weights would underflow or
 * overflow. */
static int weight_exponent(double total)
{
    enum { EXPONENT_MAX = 100 };
    const int exponent = ilogb(total);

    return abs(exponent) > EXPONENT_MAX ? -exponent : 0;
}

/* *exponent: of the weights; `out` does not include it yet. */
static strads_err classes_of(const glm_problem *problem,
                             const strads_names *names, const survey *s,
                             uint32_t width, linear_classes *out, int *exponent)
{
    strads_err err =
        glm_classes_of(problem, names,
                       (const linear_survey *)(const void *)(s + 1), width,
                       out);

    if (err)
        return err;
    if (out->n == 0)
        out->total = s->weight;
    err = check_labels(problem, s, out->total);
    if (err)
        linear_classes_free(out);
    else
        *exponent = weight_exponent(out->total);
    return err;
}

double glm_level_of(const linear_classes *classes, double label)
{
    for (uint32_t k = 0; k < classes->n; k++)
        if (classes->label[k] == label)
            return k + 1;
    return 0;
}

static void take_levels(glm_local *local, const strads_share *share)
{
    for (uint64_t i = 0; i < local->rows; i++)
        local->y[i] = glm_level_of(&local->classes, share->label[i]);
}

/* Sets the signs of the current problem's positive rows. */
static void take_signs(glm_local *local, const strads_share *share)
{
    const linear_classes *classes = &local->classes;
    const double positive =
        classes->label[linear_classes_positive(classes, local->target)];

    for (uint64_t i = 0; i < local->rows; i++)
        local->y[i] = share->label[i] == positive ? 1 : -1;
}

/* Converts rows by the classes, which the partition owns from then on. */
static void take_classes(glm_local *local, const strads_share *share,
                         linear_classes *classes, int exponent)
{
    linear_classes_free(&local->classes);
    local->classes = *classes;
    *classes = (linear_classes){0};
    classes = &local->classes;
    if (classes->n > 0 && local->problem.loss->labels == GLM_LEVELS)
        take_levels(local, share);
    else if (classes->n > 0)
        take_signs(local, share);
    else
        memcpy(local->y, share->label, local->rows * sizeof(*local->y));
    for (uint64_t i = 0; i < local->rows && classes->n > 0; i++)
        local->c[i] *= linear_classes_weight(classes, share->label[i]);
    for (uint64_t i = 0; i < local->rows && exponent != 0; i++)
        local->c[i] = scalbn(local->c[i], exponent);
}

/* The level that numbers and margins exclude if b compensates for it, so
 * that they keep all their digits. */
static double mean_label(const glm_problem *problem, const survey *s)
{
    return problem->loss->labels == GLM_NUMBERS && problem->options.intercept
               ? s->sum / s->weight
               : 0;
}

static double kink_width_of(const glm_problem *problem, const survey *s)
{
    return glm_first_width(s->squares / s->weight, mean_label(problem, s),
                           s->largest);
}

static void take_level(glm_local *local, double level)
{
    local->level = level;
    for (uint64_t i = 0; i < local->rows && level != 0; i++) {
        local->y[i] -= level;
        local->o[i] -= level;
        local->z[i] -= level;
    }
}

/* Call when the weights are final. */
static strads_err take_roots(glm_local *local)
{
    local->plain = true;
    for (uint64_t i = 0; i < local->rows; i++)
        local->plain = local->plain && local->c[i] == 1;
    if (local->plain || !local->problem.loss->constant)
        return STRADS_OK;
    local->root = malloc((local->rows + 1) * sizeof(*local->root));
    if (!local->root)
        return strads_fail(STRADS_ENOMEM, "no memory for weights of %llu rows",
                           (unsigned long long)local->rows);
    for (uint64_t i = 0; i < local->rows; i++)
        local->root[i] = sqrt(local->c[i]);
    return STRADS_OK;
}

strads_err glm_receive_labels(strads_task *task)
{
    const survey *s = (const survey *)(const void *)task->partial;
    glm_local *local = task->local;
    linear_classes classes;
    int exponent;
    const strads_err err = classes_of(&local->problem, task->share->label_names,
                                      s, task->width, &classes, &exponent);

    if (err)
        return err;
    take_classes(local, task->share, &classes, exponent);
    take_level(local, mean_label(&local->problem, s));
    if (local->problem.loss->smooth)
        glm_smoothing_begin(&local->problem, local->rows,
                            kink_width_of(&local->problem, s),
                            &local->smoothing);
    return take_roots(local);
}

/* The weight of a problem's positive rows. */
static double positive_of(const linear_classes *classes, uint32_t k)
{
    return classes->sum[linear_classes_positive(classes, k)];
}

/* ---- origins of columns -------------------------------------------------- */

strads_err glm_update_origins(strads_task *task)
{
    linear_origins_sample(task);
    return STRADS_OK;
}

strads_err glm_receive_origins(strads_task *task)
{
    glm_local *local = task->local;
    const strads_err err = linear_moved_new(task, &local->moved);

    local->view.moved = local->moved.at;
    return err;
}

strads_err glm_aggregate_origins(strads_commit *commit)
{
    glm_state *state = commit->state;

    state->next = GLM_TO_LABELS;
    return linear_origins_take(&commit->block, commit->partial, state->columns,
                               &state->origin);
}

double glm_origins_sum(const glm_state *state, const double *w, uint32_t step)
{
    long double sum = 0;

    for (uint64_t j = 0; j < state->columns && state->origin; j++)
        sum += (long double)state->origin[j] * w[j * step];
    return (double)sum;
}

/* Converts b to that of the unshifted columns. */
strads_err glm_aggregate_unscale(strads_commit *commit)
{
    glm_state *state = commit->state;
    const uint32_t width = state->width;

    state->over = true;
    if (state->problem.loss->whole)
        state->drift = glm_origins_sum(state, commit->value, width);
    for (uint32_t k = 0; k < width; k++) {
        const size_t at = state->columns * width + k;
        state->b[k] =
            state->problem.loss->whole
                ? 0
                : commit->value[at] -
                      glm_origins_sum(state, commit->value + k, width);
        commit->change[at] = state->b[k] - commit->value[at];
    }
    return STRADS_OK;
}

/* ---- the first intercepts ------------------------------------------------ */

/* Sets every b to its optimum at w = 0, ignoring offsets; or to the start's,
 * unless that has to wait until lambda is found. */
static strads_err set_first_intercepts(strads_commit *commit, const survey *s,
                                       const linear_classes *classes)
{
    glm_state *state = commit->state;
    const uint32_t last = (uint32_t)state->columns;
    const double *value = strads_store_dense(commit->store, 0);
    const strads_glm_options *o = &state->problem.options;
    const bool waits = o->lambda_ratio > 0 && !state->joint.used;
    const double *start = waits ? NULL : o->start_intercept;
    double *change = state->wide;

    if (!o->intercept || state->problem.loss->whole)
        return STRADS_OK;
    for (uint32_t k = 0; k < state->width; k++) {
        const double sum = classes->n > 0 ? positive_of(classes, k) : s->sum;
        const double share = sum / classes->total;
        const double best =
            state->joint.used ? log(share) : state->problem.loss->link(share);
        state->b[k] = isfinite(best) ? best : 0;
        if (start)
            state->b[k] =
                start[k] + glm_origins_sum(state, value + k, state->width);
        change[k] = state->b[k] - value[(size_t)last * state->width + k];
    }
    return strads_commit_also(commit, 1, &last, change);
}

/* For problems that have not started: P at w = 0. */
static void note_first_values(glm_state *state, const linear_classes *classes)
{
    const glm_loss *loss = state->problem.loss;
    const double p = state->problem.p, unit = state->weight / classes->total;

    for (uint32_t k = 0; k < state->width; k++) {
        const double positive = positive_of(classes, k), b = state->b[k];
        const double first =
            positive * loss->value(1, b, p) +
            (classes->total - positive) * loss->value(-1, b, p);
        state->done[k] = (glm_outcome){.primal = unit * first, .gap = 1};
    }
}

/* Call when W is known. */
static void take_c(glm_state *state)
{
    strads_glm_options *o = &state->problem.options;

    if (o->c > 0)
        state->lambda = o->lambda = 1 / (o->c * state->weight);
    o->c = 0;
    state->surveys =
        state->width > 1 && o->lambda_ratio > 0 && !state->joint.used;
}

strads_err glm_aggregate_labels(strads_commit *commit)
{
    glm_state *state = commit->state;
    const survey *s = (const survey *)(const void *)commit->partial;
    const strads_names *names = strads_data_label_names(state->data);
    linear_classes classes;
    int exponent;
    strads_err err = classes_of(&state->problem, names, s, state->width,
                                &classes, &exponent);

    if (err)
        return err;
    state->weight = classes.total;
    take_c(state);
    state->weight = scalbn(state->weight, exponent);
    state->unit = 1;
    state->level = mean_label(&state->problem, s);
    if (state->problem.loss->smooth)
        glm_smoothing_begin(&state->problem, state->set.rows,
                            kink_width_of(&state->problem, s),
                            &state->smoothing);
    err = set_first_intercepts(commit, s, &classes);
    if (classes.n > 0 && !err) {
        if (state->problem.loss->labels == GLM_LEVELS)
            state->levels = classes.n;
        else
            note_first_values(state, &classes);
        err = linear_classes_write(&classes, names, &state->classes);
        state->problem.options.classes = state->classes;
    } else if (state->problem.loss->labels == GLM_NUMBERS && s->largest > 0) {
        state->unit =
            isnormal(s->squares) ? sqrt(s->squares / s->weight) : s->largest;
    }
    linear_classes_free(&classes);
    state->next = state->joint.used ? GLM_TO_TARGET : GLM_TO_ROWS;
    return err;
}

/* ---- one of several problems, or all as a whole -------------------------- */

size_t glm_target_size(const strads_task *task)
{
    (void)task;
    return 0;
}

strads_err glm_update_target(strads_task *task)
{
    glm_local *local = task->local;

    if (glm_is_joint(local))
        return glm_softmax_start(task);
    local->target = (uint32_t)(task->block.id - GLM_TARGET_ID);
    take_signs(local, task->share);
    linear_pending_forget(&local->pending);
    memcpy(local->z, local->o, local->rows * sizeof(*local->z));
    for (uint32_t k = 0; k < task->block.n; k++) {
        const double w = task->value[(size_t)k * task->width + local->target];
        if (w != 0)
            linear_pending_move(&local->pending, k, w);
    }
    return STRADS_OK;
}

strads_err glm_aggregate_target(strads_commit *commit)
{
    glm_state *state = commit->state;

    state->next = GLM_TO_ROWS;
    if (state->joint.used && !state->joint.certified)
        state->next = state->known ? GLM_TO_CERTIFY : GLM_TO_MOMENTS;
    return STRADS_OK;
}

/* ---- the first scan: also sum c x^2 and sum c x -------------------------- */

/* From this lambda on, a column with underflowing squares has a negligible
 * coefficient. */
#define LAMBDA_LEAST 1e-100

/* Standard deviations, a softmax certificate and pairs need the sums of
 * columns. */
static bool sums_columns(const glm_problem *problem)
{
    return problem->options.intercept &&
           (problem->options.standardize || problem->loss->joint ||
            problem->loss->constant);
}

/* True if columns may have no penalty. */
static bool frees_columns(const glm_problem *problem)
{
    const strads_glm_options *o = &problem->options;

    return problem->penalty->off || glm_has_factors(o) ||
           !(o->lambda > 0 || o->lambda_ratio > 0);
}

/* True if the last lambda of a path is 0. */
static bool ends_free(const glm_path *path)
{
    return path && path->given && path->lambda[path->points - 1] == 0;
}

/* sum c (x - m)^2 over the rows of a partition with this sum of c, m the mean
 * there. */
static double spread_within(const data_column *x, const double *c, double all)
{
    double sum = 0, square = 0, seen = 0;

    for (uint64_t e = 0; e < x->n; e++) {
        const double own = c[x->index ? x->index[e] : e];
        seen += own;
        sum += own * (x->f64 ? x->f64[e] : (double)x->f32[e]);
    }
    if (all <= 0)
        return 0;
    const double mean = sum / all;
    for (uint64_t e = 0; e < x->n; e++) {
        const double v = x->f64 ? x->f64[e] : (double)x->f32[e];
        square += c[x->index ? x->index[e] : e] * (v - mean) * (v - mean);
    }
    return square + fmax(all - seen, 0) * mean * mean;
}

size_t glm_moments_size(const strads_task *task)
{
    return (size_t)task->block.n + GLM_REST + 3 * (size_t)task->shape->cols;
}

/* A sum of squares that underflows becomes the smallest number, so that its
 * column is not mistaken for 0. */
static double tell_from_zero(const data_column *x, const double *c,
                             double squares)
{
    if (squares >= DBL_MIN)
        return squares;
    for (uint64_t e = 0; e < x->n; e++) {
        const double v = x->f64 ? x->f64[e] : (double)x->f32[e];
        if (c[x->index ? x->index[e] : e] > 0 && fabs(v) > 0)
            return DBL_MIN;
    }
    return 0;
}

strads_err glm_update_moments(strads_task *task)
{
    glm_local *local = task->local;
    const column_kernels *kernels = local->kernels;
    double *slope = task->partial, *rest = slope + task->block.n;
    double *squares = rest + GLM_REST;
    double *sum = squares + local->columns;
    double *within = sum + local->columns;
    const bool plain = local->plain; /* only the coordinator has the lambdas */
    const bool frees = frees_columns(&local->problem) || local->problem.is_path;
    const bool sums = sums_columns(&local->problem) || frees;
    double all = 0;

    glm_take_slopes(local);
    for (uint64_t i = 0; i < local->rows && frees; i++)
        all += local->c[i];
    for (uint64_t j = 0; j < local->columns; j++) {
        const data_column x = column_view_of(&local->view, j);
        slope[j] = kernels->dot(&x, local->r);
        squares[j] = plain && x.f64 ? kernels->dot_dense(x.n, x.f64, x.f64)
                                    : column_squares(&x, local->c);
        squares[j] = tell_from_zero(&x, local->c, squares[j]);
        if (sums)
            sum[j] = kernels->dot(&x, local->c);
        if (frees)
            within[j] = spread_within(&x, local->c, all);
    }
    for (uint64_t i = 0; i < local->rows && task->block.n > local->columns; i++)
        slope[local->columns] += local->r[i];
    glm_end_scan(local, rest);
    return STRADS_OK;
}

/* True if the penalty keeps a column with underflowing squares at about 0;
 * then no square of its coefficient matters. */
static bool is_held(const glm_state *state, uint64_t j)
{
    const strads_glm_options *o = &state->problem.options;
    const glm_path *path = state->path;
    const bool by_ratio = o->lambda_ratio > 0 || (path && !path->given);
    const double lambda = by_ratio ? 1
                          : path   ? path->lambda[path->points - 1]
                                   : o->lambda;

    return !state->problem.penalty->off && !o->standardize &&
           !(state->factor && state->factor[j] == 0) && lambda >= LAMBDA_LEAST;
}

/* STRADS_EINVAL: the squares of a column that may have a coefficient
 * underflow. */
static strads_err check_columns(const glm_state *state)
{
    const double least = state->weight * GLM_NUMBER_MIN * GLM_NUMBER_MIN;
    uint64_t tiny = 0;
    bool held = true, usual = false;

    for (uint64_t j = 0; j < state->columns; j++) {
        usual = usual || state->norm[j] >= least;
        if (!(state->norm[j] > 0 && state->norm[j] < least))
            continue;
        held = held && is_held(state, j);
        tiny = j + 1;
    }
    if (tiny == 0 || (usual && held))
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "the squares of column %llu underflow: scale it up",
                       (unsigned long long)tiny);
}

/* The size that the coefficient of a column without a penalty may have: where
 * it moves margins by their unit, apart from a shift of all of them, because
 * others may compensate for a shift. A constant column compensates for those of
 * all others. Deviations below 1e-12 of a column's size are rounding. */
static void find_reaches(glm_state *state, const double *sum,
                         const double *within)
{
    double largest = 0, second = 0;

    for (uint64_t j = 0; j < state->columns; j++) {
        const double norm = state->norm[j], mean = sum[j] / state->weight;
        const double rest = norm - state->weight * mean * mean;
        const double spread =
            fmax(within[j], rest > 1e-12 * norm ? rest : 0) / state->weight;
        const bool varies = spread * state->weight > 1e-24 * norm;
        state->reach[j] = varies ? state->unit / sqrt(spread) : INFINITY;
        if (!varies || (state->factor && state->factor[j] > 0 &&
                        !state->problem.penalty->off))
            continue;
        const double shift = state->reach[j] * fabs(mean);
        second = fmax(second, fmin(shift, largest));
        largest = fmax(largest, shift);
    }
    state->shift = largest;
    for (uint64_t j = 0; j < state->columns; j++) {
        const double mean = fabs(sum[j]) / state->weight;
        const double own = state->reach[j] * mean;
        const double others = own == largest ? second : largest;
        const double alone = state->unit / sqrt(state->norm[j] / state->weight);
        if (mean > 0)
            state->reach[j] = fmin(state->reach[j], others / mean + alone);
    }
}

strads_err glm_aggregate_moments(strads_commit *commit)
{
    glm_state *state = commit->state;
    const strads_glm_options *o = &state->problem.options;
    const double *squares = commit->partial + commit->block.n + GLM_REST;
    const double *sum = squares + state->columns;
    const bool sums = sums_columns(&state->problem);

    for (uint64_t j = 0; j < state->columns; j++) {
        const double square = squares[j] / state->weight;
        const double mean = sums ? sum[j] / state->weight : 0;
        const double rest = square - mean * mean;
        if (!(square <= GLM_NUMBER_MAX * GLM_NUMBER_MAX))
            return strads_fail(STRADS_EINVAL,
                               "the squares of column %llu overflow: scale it "
                               "down",
                               (unsigned long long)j + 1);
        state->norm[j] = squares[j];
        state->mean[j] = mean;
        state->scale[j] = 1;
        if (o->standardize && square > 0) /* a constant has no deviation */
            state->scale[j] = sqrt(rest > 1e-12 * square ? rest : square);
    }
    if (frees_columns(&state->problem) || ends_free(state->path))
        find_reaches(state, sum, sum + state->columns);
    state->known = true;
    const strads_err err = check_columns(state);
    if (err)
        return err;
    if (!state->joint.used)
        return glm_aggregate_scan(commit);
    state->next = GLM_TO_CERTIFY;
    return STRADS_OK;
}

/* ---- rows ---------------------------------------------------------------- */

enum { ROW = 4 };

strads_err glm_read_offsets(const strads_glm_options *o,
                            const strads_range *rows, uint64_t total,
                            double *offset)
{
    static const linear_lines lines = {.option = "--offset",
                                       .what = "the offset of a row",
                                       .of = "rows",
                                       .least = -INFINITY};
    const uint64_t n = rows->end - rows->begin;
    strads_err err = STRADS_OK;

    memset(offset, 0, n * sizeof(*offset));
    if (o->row_offset)
        memcpy(offset, o->row_offset + rows->begin, n * sizeof(*offset));
    else if (o->offset && *o->offset)
        err = linear_read_lines(&lines, o->offset, rows, total, offset);
    for (uint64_t i = 0; i < n && !err; i++)
        if (!isfinite(offset[i]))
            err =
                strads_fail(STRADS_EINVAL,
                            "the offset of row %llu is %g; expected a number",
                            (unsigned long long)rows->begin + i + 1, offset[i]);
    return err;
}

size_t glm_rows_size(const strads_task *task)
{
    return task->shape->rows * ROW * sizeof(double);
}

void glm_catch_up(glm_local *local)
{
    linear_pending_apply(&local->pending, &local->view, local->kernels, 1,
                         local->z);
}

strads_err glm_update_rows(strads_task *task)
{
    glm_local *local = task->local;
    double *out = task->partial;

    glm_catch_up(local);
    if (glm_is_joint(local))
        glm_softmax_turn(local, task->share,
                         (uint32_t)(task->block.id - GLM_TARGET_ID));
    for (uint64_t i = 0; i < local->rows; i++) {
        *out++ = local->y[i];
        *out++ = local->c[i];
        *out++ = local->o[i];
        *out++ = local->z[i];
    }
    task->partial_bytes = local->rows * ROW * sizeof(double);
    return STRADS_OK;
}

/* P at w = 0 and, with an intercept, near the best b there, so that offsets in
 * another unit do not change it. Newton's steps move the margins in `along`
 * from b = 0. An order of magnitude is enough. */
static double find_null(glm_state *state)
{
    enum { STEPS_MAX = 100 };
    linear_set *set = &state->set;
    const glm_rows rows = {set->rows, set->y, set->c, set->along};
    double *r = set->trial, *h = set->frozen; /* no model is open */
    double least =
        glm_evaluate(&state->problem, &state->smoothing, &rows, r, h);

    for (int k = 0; k < STEPS_MAX && state->problem.options.intercept; k++) {
        double slope = 0, bend = 0;
        for (uint64_t i = 0; i < set->rows; i++) {
            slope += r[i];
            bend += h[i];
        }
        for (uint64_t i = 0; i < set->rows; i++)
            set->along[i] += slope / bend;
        const double next =
            glm_evaluate(&state->problem, &state->smoothing, &rows, r, h);
        if (!(next < .9 * least))
            break;
        least = next;
    }
    return least;
}

strads_err glm_aggregate_rows(strads_commit *commit)
{
    glm_state *state = commit->state;
    linear_set *set = &state->set;
    const double *in = commit->partial;

    if (commit->partial_bytes != set->rows * ROW * sizeof(double))
        return strads_fail(STRADS_EPEER,
                           "the rows that workers sent do not fit the data: a "
                           "node runs another version or is broken");
    state->offsets = 0;
    for (uint64_t i = 0; i < set->rows; i++, in += ROW) {
        set->y[i] = in[0];
        set->c[i] = in[1];
        state->offset[i] = in[2];
        set->z[i] = in[3];
        state->offsets += in[1] * (in[2] + state->level);
    }
    if (state->problem.loss->labels == GLM_TIMES) {
        strads_err err = state->stratum
                             ? STRADS_OK
                             : glm_read_strata(&state->problem.options,
                                               set->rows, &state->stratum);
        if (!err)
            err = glm_rank_times(set->rows, state->stratum, set->y);
        if (err)
            return err;
    }
    if (!state->began) {
        for (uint64_t i = 0; i < set->rows; i++)
            set->along[i] = state->offset[i] + state->level;
        state->null = find_null(state);
        if (!isfinite(state->null)) /* no gap is relative to it */
            state->null = 0;
    }
    state->next = !state->known         ? GLM_TO_MOMENTS
                  : state->slopes_known ? GLM_TO_FETCH
                                        : GLM_TO_SCAN;
    state->slopes_known = false;
    return STRADS_OK;
}
