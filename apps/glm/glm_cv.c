/* Cross-validation of a path: a run for each fold, on a copy of the others'
 * rows, several folds at once. Every thread takes the next free fold. Each
 * fold's results are stored separately and added up in fold order, so the
 * result does not depend on timing. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <strads/engine.h>

#include "glm_parts.h"

enum { THREADS_MAX = 64 };

typedef struct study {
    const strads_data *data;
    strads_glm_cv_options o; /* defaults filled in */
    glm_problem problem;
    /* The two classes of the whole data. Each fold gets about its share of
     * each, and the fit of each fold is required to have the same classes.
     * Empty: labels are numbers. */
    linear_classes classes;
    char *classes_text;
    glm_path *path; /* the lambdas */
    glm_folds folds;
    double *label, *weight; /* [rows] */
    double *count;          /* [rows] weights when a fit is evaluated */
    double *offset;         /* [rows]; NULL: 0 */
    uint32_t *stratum;      /* [rows]; NULL: none */
    double *rank;           /* [rows] of times, for a loss of all rows */
    double begin;           /* start time, by now() */
    _Atomic uint32_t next;
    _Atomic bool failed;
    pthread_mutex_t lock; /* guards err and why */
    strads_err err;
    char why[512]; /* the first failure's message */
} study;

static linear_weights weights_of(const study *s)
{
    return (linear_weights){s->o.path.fit.weights, s->o.path.fit.row_weight};
}

/* ---- one fold ---------------------------------------------------------- */

/* Rows by columns. */
typedef struct rows_copy {
    uint64_t *start;
    uint32_t *index;
    double *value;
} rows_copy;

/* The rows of the other folds and those of the fold, with their arrays. */
typedef struct rest {
    rows_copy other, held;
    uint64_t held_rows, other_rows;
    uint32_t *place; /* [rows] a row's number in its copy */
    double *label, *weight, *offset;
    uint32_t *stratum;
    double *sum;                     /* [rows of the fold] x'w */
    double *z, *c;                   /* [rows] for a loss of all rows */
    double *held_count;              /* [rows] */
    strads_glm_path_options options; /* including their weights */
} rest;

static void copy_free(rows_copy *copy)
{
    free(copy->start);
    free(copy->index);
    free(copy->value);
}

static bool copy_new(const study *s, rows_copy *copy)
{
    const uint64_t nnz = strads_data_nnz(s->data);

    copy->start = calloc(strads_data_cols(s->data) + 1, sizeof(uint64_t));
    copy->index = calloc(nnz + 1, sizeof(uint32_t));
    copy->value = calloc(nnz + 1, sizeof(double));
    return copy->start && copy->index && copy->value;
}

static void rest_free(rest *r)
{
    copy_free(&r->other);
    copy_free(&r->held);
    free(r->place);
    free(r->label);
    free(r->weight);
    free(r->offset);
    free(r->stratum);
    free(r->sum);
    free(r->z);
    free(r->c);
    free(r->held_count);
}

static bool rest_new(const study *s, rest *r)
{
    const uint64_t rows = strads_data_rows(s->data);

    *r = (rest){.place = calloc(rows + 1, sizeof(uint32_t)),
                .label = calloc(rows + 1, sizeof(double)),
                .weight = calloc(rows + 1, sizeof(double)),
                .offset = calloc(rows + 1, sizeof(double)),
                .stratum = calloc(rows + 1, sizeof(uint32_t)),
                .sum = calloc(rows + 1, sizeof(double)),
                .z = calloc(rows + 1, sizeof(double)),
                .c = calloc(rows + 1, sizeof(double)),
                .held_count = calloc(rows + 1, sizeof(double)),
                .options = s->o.path};
    strads_glm_options *fit = &r->options.fit;
    const bool weighs =
        linear_weighs(weights_of(s)) || strads_data_share(s->data, 0)->weight;
    fit->weights = fit->offset = fit->strata = NULL;
    fit->row_stratum = s->stratum ? r->stratum : NULL;
    fit->row_weight = weighs ? r->weight : NULL;
    fit->row_offset = s->offset ? r->offset : NULL;
    r->options.points = s->path->points;
    r->options.lambda = s->path->lambda;
    const bool other = copy_new(s, &r->other), held = copy_new(s, &r->held);
    return other && held && r->place && r->label && r->weight && r->offset &&
           r->stratum && r->sum && r->z && r->c && r->held_count;
}

static uint64_t row_of(const strads_sparse *by_col, uint64_t j, uint64_t e)
{
    return by_col->index ? by_col->index[e] : e - by_col->start[j];
}

static double entry(const strads_sparse *by_col, uint64_t e)
{
    return by_col->f64 ? by_col->f64[e] : (double)by_col->f32[e];
}

/* Copies column j's entries into both copies. */
static void copy_column(const study *s, rest *r, uint32_t f, uint64_t j)
{
    uint64_t n[2] = {r->other.start[j], r->held.start[j]};
    const strads_share *first = strads_data_share(s->data, 0);

    for (uint32_t k = 0; k < first->partitions; k++) {
        const strads_share *share = strads_data_share(s->data, k);
        const strads_sparse *x = &share->by_col;
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            const uint64_t i = share->rows.begin + row_of(x, j, e);
            const bool held = s->folds.of[i] == f;
            rows_copy *copy = held ? &r->held : &r->other;
            copy->index[n[held]] = r->place[i];
            copy->value[n[held]++] = entry(x, e);
        }
    }
    r->other.start[j + 1] = n[0];
    r->held.start[j + 1] = n[1];
}

static strads_err copy_rest(const study *s, rest *r, uint32_t f,
                            strads_data **out)
{
    const strads_share *first = strads_data_share(s->data, 0);
    const uint64_t cols = strads_data_cols(s->data);
    const strads_data_options options = {.size = sizeof(options),
                                         .named_labels = true,
                                         .label_names =
                                             strads_data_label_names(s->data)};
    uint64_t rows = 0, held = 0;

    for (uint32_t k = 0; k < first->partitions; k++) {
        const strads_share *share = strads_data_share(s->data, k);
        for (uint64_t i = share->rows.begin; i < share->rows.end; i++)
            if (s->folds.of[i] == f) {
                r->place[i] = (uint32_t)held++;
            } else {
                r->place[i] = (uint32_t)rows;
                r->weight[rows] = s->weight[i];
                r->offset[rows] = s->offset ? s->offset[i] : 0;
                r->stratum[rows] = s->stratum ? s->stratum[i] : 0;
                r->label[rows++] = share->label[i - share->rows.begin];
            }
    }
    for (uint64_t j = 0; j < cols; j++)
        copy_column(s, r, f, j);
    const strads_arrays lent = {.size = sizeof(lent),
                                .rows = rows,
                                .cols = cols,
                                .borrow = true,
                                .start = r->other.start,
                                .starts = STRADS_I64,
                                .index = r->other.index,
                                .indices = STRADS_I32,
                                .value = r->other.value,
                                .label = r->label};
    r->held_rows = held;
    r->other_rows = rows;
    return strads_data_from_arrays(&lent, &options, out);
}

/* x'w + b of the fold's rows. */
static void predict_rows(const rows_copy *x, uint64_t rows,
                         const strads_path_point *point, double *sum)
{
    for (uint64_t i = 0; i < rows; i++)
        sum[i] = point->intercept;
    for (uint64_t c = 0; c < point->nonzeros; c++) {
        const uint32_t j = point->index[c];
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
            sum[x->index[e]] += x->value[e] * point->value[c];
    }
}

static double twice_the_loss(const study *s, double label, double sum)
{
    const double y = s->classes.n == 0              ? label
                     : label == s->classes.label[1] ? 1
                                                    : -1;

    return 2 * s->problem.loss->value(y, sum, s->problem.p);
}

/* Evaluates a point on the fold's rows. */
static void judge_point(const study *s, rest *r, uint32_t f,
                        const strads_path_point *point, double *error,
                        double *right)
{
    const strads_share *first = strads_data_share(s->data, 0);
    double loss = 0;

    predict_rows(&r->held, r->held_rows, point, r->sum);
    *right = 0;
    for (uint32_t k = 0; k < first->partitions; k++) {
        const strads_share *share = strads_data_share(s->data, k);
        const uint64_t rows = share->rows.end - share->rows.begin;
        for (uint64_t i = 0; i < rows; i++) {
            const uint64_t row = share->rows.begin + i;
            const double label = share->label[i];
            if (s->folds.of[row] != f)
                continue;
            const double count = s->count[row];
            const double z =
                r->sum[r->place[row]] + (s->offset ? s->offset[row] : 0);
            loss += count * twice_the_loss(s, label, z);
            if (s->classes.n > 0 && (z > 0) == (label == s->classes.label[1]))
                *right += count;
        }
    }
    *error = s->folds.size[f] > 0 ? loss / s->folds.size[f] : 0;
}

/* The same for a loss of all rows: that of all minus that of the others. */
static void judge_point_whole(const study *s, rest *r, uint32_t f,
                              const strads_path_point *point, double *error)
{
    const glm_loss *loss = s->problem.loss;
    const uint64_t rows = s->folds.rows;
    const glm_rows all = {rows, s->rank, s->weight, r->z};
    const glm_rows others = {rows, s->rank, r->c, r->z};

    predict_rows(&r->held, r->held_rows, point, r->sum);
    for (uint64_t i = 0; i < rows; i++)
        if (s->folds.of[i] == f)
            r->z[i] = r->sum[r->place[i]] + (s->offset ? s->offset[i] : 0);
    predict_rows(&r->other, r->other_rows, point, r->sum);
    for (uint64_t i = 0; i < rows; i++) {
        if (s->folds.of[i] != f)
            r->z[i] = r->sum[r->place[i]] + (s->offset ? s->offset[i] : 0);
        r->c[i] = s->folds.of[i] != f ? s->weight[i] : 0;
    }
    if (loss->apart) { /* with the thresholds of the others */
        for (uint64_t i = 0; i < rows; i++) {
            const bool held = s->folds.of[i] == f;
            r->c[i] = held ? 0 : s->count[i];
            r->held_count[i] = held ? s->count[i] : 0;
        }
        *error =
            s->folds.size[f] > 0
                ? 2 * loss->apart(&others, r->held_count) / s->folds.size[f]
                : 0;
        return;
    }
    const double of_all = loss->evaluate(&all, s->problem.p, NULL, NULL);
    const double of_others = loss->evaluate(&others, s->problem.p, NULL, NULL);
    *error = s->folds.size[f] > 0 && isfinite(of_all)
                 ? 2 * (of_all - of_others) / s->folds.size[f]
             : s->folds.size[f] > 0 ? INFINITY
                                    : 0;
}

/* The number of fits that are judged at each lambda. */
static uint32_t count_shares(const study *s)
{
    return s->o.relax ? s->o.relaxes : 1;
}

static void judge_fit(const study *s, rest *r, uint32_t f,
                      const strads_path_point *point, size_t at)
{
    if (s->problem.loss->whole)
        judge_point_whole(s, r, f, point, &s->folds.error[at]);
    else
        judge_point(s, r, f, point, &s->folds.error[at], &s->folds.right[at]);
    s->folds.gap[at] = point->gap;
}

/* Judges the mixtures of each point of fold f's path with its relaxed fit. */
static strads_err judge_relaxed(const study *s, rest *r, uint32_t f,
                                const strads_data *data,
                                const strads_path_point *point, uint32_t n)
{
    const strads_glm_relax_options o = {.fit = r->options.fit,
                                        .stop = s->o.stop};
    strads_path_point *relaxed = calloc(n + 1, sizeof(*relaxed));
    double *value = calloc(strads_data_cols(data) + 1, sizeof(*value));
    strads_err err =
        relaxed && value
            ? strads_glm_relax(data, &o, point, n, relaxed)
            : strads_fail(STRADS_ENOMEM, "no memory for relaxed fits");
    const size_t each = s->o.relaxes, first = f * each * s->path->points;

    for (uint32_t k = 0; k < n && !err; k++)
        for (size_t share = 0; share < each; share++) {
            strads_path_point mixed;
            glm_mix_points(&point[k], relaxed[k].value, relaxed[k].intercept,
                           s->o.relax[share], value, &mixed);
            judge_fit(s, r, f, &mixed, first + k * each + share);
        }
    if (!err)
        strads_glm_relaxed_free(relaxed, n);
    free(relaxed);
    free(value);
    return err;
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The remaining time; 0: no limit. */
static double time_left(const study *s)
{
    const double left = s->begin + s->o.time_limit - now();

    return s->o.time_limit > 0 ? fmax(left, 1e-9) : 0;
}

/* Adds the fold to a message, because an error on the others' rows may not
 * apply to all rows. */
static strads_err name_fold(strads_err err, uint32_t f)
{
    char why[512];

    (void)snprintf(why, sizeof(why), "%s", strads_error_text());
    return strads_fail(err, "without the rows of fold %u: %s", f + 1, why);
}

static strads_err run_fold(const study *s, rest *r, uint32_t f)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = 1,
                                          .partitions = 1,
                                          .deterministic = true,
                                          .seed = s->o.seed,
                                          .tolerance = s->o.tolerance,
                                          .stop = s->o.stop,
                                          .time_limit = time_left(s)};
    strads_data *data = NULL;
    strads_result *result = NULL;
    uint32_t n = 0;
    strads_err err = copy_rest(s, r, f, &data);

    if (!err)
        err = strads_run(&strads_program_glm_path, &r->options, data, &engine,
                         &result);
    if (err)
        err = name_fold(err, f);
    if (!err) {
        const strads_path_point *point =
            strads_glm_path(strads_result_state(result), &n);
        const size_t at = (size_t)f * s->path->points;
        if (s->o.relax)
            err = judge_relaxed(s, r, f, data, point, n);
        for (uint32_t k = 0; k < n && !s->o.relax; k++)
            judge_fit(s, r, f, &point[k], at + k);
    }
    if (!err && n < s->path->points)
        err = strads_fail(STRADS_ECANCELED,
                          "the cross-validation was stopped in fold %u", f + 1);
    strads_result_free(result);
    strads_data_free(data);
    return err;
}

/* ---- all folds --------------------------------------------------------- */

static void note_failure(study *s, strads_err err)
{
    pthread_mutex_lock(&s->lock);
    if (!s->err) {
        s->err = err;
        strncpy(s->why, strads_error_text(), sizeof(s->why) - 1);
    }
    pthread_mutex_unlock(&s->lock);
    s->failed = true;
}

static void *take_folds(void *arg)
{
    study *s = arg;
    rest r;
    strads_err err = STRADS_OK;

    if (!rest_new(s, &r))
        err = strads_fail(STRADS_ENOMEM, "no memory for the rows of a fold");
    while (!err && !s->failed) {
        const uint32_t f = s->next++;
        if (f >= s->folds.n)
            break;
        err = run_fold(s, &r, f);
    }
    if (err)
        note_failure(s, err);
    rest_free(&r);
    return NULL;
}

/* The calling thread is one of them; fewer threads than requested are
 * enough. */
static void run_folds(study *s)
{
    pthread_t thread[THREADS_MAX];
    uint32_t n = 0;

    while (n + 1 < s->o.threads && n + 1 < s->folds.n && n < THREADS_MAX &&
           pthread_create(&thread[n], NULL, take_folds, s) == 0)
        n++;
    (void)take_folds(s);
    while (n > 0)
        pthread_join(thread[--n], NULL);
}

static strads_err check_options(const study *s)
{
    const strads_glm_cv_options *o = &s->o;

    if (!o->path.lambda && (!(o->path.first > 0) || o->path.lambdas))
        return strads_fail(
            STRADS_EINVAL,
            "the first lambda of a cross-validation is %g; it must be above 0, "
            "because all folds start from it; or give lambdas",
            o->path.first);
    if (o->relax && (o->relaxes == 0 || o->relaxes > GLM_POINTS_MAX))
        return strads_fail(STRADS_EINVAL,
                           "there are %u shares of relaxed fits; expected 1 to "
                           "%d",
                           o->relaxes, GLM_POINTS_MAX);
    for (uint32_t k = 0; k < strads_data_share(s->data, 0)->partitions; k++)
        if (!strads_data_share(s->data, k)->label)
            return strads_fail(STRADS_EINVAL,
                               "a cross-validation needs a label in each row, "
                               "and this data has none");
    return STRADS_OK;
}

/* Takes the classes of the whole data, because the fit of each fold must
 * have the same two. */
static strads_err find_classes(study *s)
{
    const strads_names *names = strads_data_label_names(s->data);
    linear_survey *survey = NULL;
    strads_err err = linear_survey_data(s->data, weights_of(s), &survey);

    if (!err)
        err = glm_classes_of(&s->problem, names, survey, 1, &s->classes);
    free(survey);
    if (!err && s->classes.n > 0)
        err = linear_classes_write(&s->classes, names, &s->classes_text);
    if (!err && s->classes.n > 0)
        s->o.path.fit.classes = s->classes_text;
    return err;
}

static strads_err read_offsets(study *s)
{
    const strads_glm_options *o = &s->o.path.fit;
    const uint64_t rows = strads_data_rows(s->data);

    if (!o->row_offset && !(o->offset && *o->offset))
        return STRADS_OK;
    s->offset = calloc(rows + 1, sizeof(*s->offset));
    return s->offset
               ? glm_read_offsets(o, &(strads_range){0, rows}, rows, s->offset)
               : strads_fail(STRADS_ENOMEM,
                             "no memory for the offsets of rows");
}

static void study_free(study *s)
{
    glm_folds_free(&s->folds);
    free(s->label);
    free(s->weight);
    free(s->count);
    free(s->offset);
    free(s->stratum);
    free(s->rank);
    free(s->classes_text);
    linear_classes_free(&s->classes);
    glm_path_free(s->path);
}

/* Copies labels and weights of all rows. */
static strads_err read_labels(study *s, uint64_t rows)
{
    const strads_share *share;
    strads_err err = STRADS_OK;

    s->label = calloc(rows + 1, sizeof(*s->label));
    s->weight = calloc(rows + 1, sizeof(*s->weight));
    s->count = calloc(rows + 1, sizeof(*s->count));
    if (!s->label || !s->weight || !s->count)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the labels of %llu rows",
                           (unsigned long long)rows);
    for (uint32_t p = 0; !err && (share = strads_data_share(s->data, p)); p++) {
        const uint64_t first = share->rows.begin;
        memcpy(s->label + first, share->label,
               (share->rows.end - first) * sizeof(*s->label));
        err =
            linear_read_weights(weights_of(s), share, rows, s->weight + first);
    }
    for (uint64_t i = 0; i < rows; i++)
        s->count[i] =
            s->weight[i] *
            (s->classes.n > 0 ? linear_classes_weight(&s->classes, s->label[i])
                              : 1);
    return err;
}

/* For a loss of levels: their numbers. */
static strads_err read_levels(study *s, uint64_t rows)
{
    s->rank = calloc(rows + 1, sizeof(*s->rank));
    if (!s->rank)
        return strads_fail(STRADS_ENOMEM, "no memory for the levels of rows");
    for (uint64_t i = 0; i < rows; i++)
        s->rank[i] = glm_level_of(&s->classes, s->label[i]);
    return STRADS_OK;
}

/* For a loss of all rows: ranks and strata. Folds are then as heavy as their
 * events. */
static strads_err read_times(study *s, uint64_t rows)
{
    strads_err err;

    if (!s->problem.loss->whole)
        return STRADS_OK;
    if (s->problem.loss->labels == GLM_LEVELS)
        return read_levels(s, rows);
    if ((err = glm_read_strata(&s->o.path.fit, rows, &s->stratum)))
        return err;
    s->rank = calloc(rows + 1, sizeof(*s->rank));
    if (!s->rank)
        return strads_fail(STRADS_ENOMEM, "no memory for the times of rows");
    memcpy(s->rank, s->label, rows * sizeof(*s->rank));
    for (uint64_t i = 0; i < rows; i++)
        s->count[i] = signbit(s->label[i]) ? 0 : s->weight[i];
    return glm_rank_times(rows, s->stratum, s->rank);
}

/* Prepares all data that the folds share. */
static strads_err prepare_study(study *s)
{
    const uint64_t rows = strads_data_rows(s->data);
    strads_err err = glm_options_resolve(&s->o.path.fit, &s->problem);

    if (err || (err = find_classes(s)) || (err = read_offsets(s)) ||
        (err = glm_path_check(&s->o.path)) || (err = check_options(s)) ||
        (err = glm_path_new(&s->o.path, &s->path)) ||
        (err = read_labels(s, rows)) || (err = read_times(s, rows)))
        return err;
    const glm_folds_plan plan = {.folds = s->o.folds,
                                 .points = s->path->points * count_shares(s),
                                 .file = s->o.fold_file,
                                 .rows = rows,
                                 .classes = s->classes.n > 0};
    err = glm_folds_new(&plan, &s->folds);
    return err ? err : glm_folds_deal(&s->folds, s->label, s->o.seed);
}

/* Each lambda counts once for each share. */
static strads_err sum_up(const study *s, strads_cv_point *points,
                         uint32_t *best, uint32_t *simplest)
{
    const uint32_t each = count_shares(s);
    double *lambda = calloc(s->folds.points + 1, sizeof(*lambda));

    if (!lambda)
        return strads_fail(STRADS_ENOMEM, "no memory for the points of a path");
    for (uint32_t k = 0; k < s->folds.points; k++)
        lambda[k] = s->path->lambda[k / each];
    glm_folds_sum_up(&s->folds, lambda, points, best, simplest);
    free(lambda);
    return STRADS_OK;
}

strads_err strads_glm_cv(const strads_data *data,
                         const strads_glm_cv_options *options,
                         strads_cv_point *points, uint32_t *best,
                         uint32_t *simplest)
{
    study s = {.data = data,
               .o = *options,
               .begin = now(),
               .lock = PTHREAD_MUTEX_INITIALIZER};
    strads_err err = prepare_study(&s);

    if (!err) {
        (void)glm_path_first(s.path, 0);
        glm_folds_weigh(&s.folds, s.count);
        run_folds(&s);
        err = s.err ? strads_fail(s.err, "%s", s.why) : STRADS_OK;
    }
    if (!err)
        err = sum_up(&s, points, best, simplest);
    study_free(&s);
    return err;
}
