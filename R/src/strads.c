/* .Call functions of the package: a path, a path of softmax models, a
 * cross-validation, standard errors, a loss, and a pack.
 *
 * The library runs on a separate thread. Meanwhile R's thread waits and checks
 * for interrupts; an interrupt ends the run at its next commit.
 *
 * R's errors leave a function by a jump. So one `work` owns all memory of the
 * library and is freed before Rf_error is called. R objects are allocated after
 * the run, under `R_UnwindProtect`, which frees the library's memory on a jump.
 */
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <strads/glm.h>
#include <strads/model.h>
#include <strads/pack.h>
#include <strads/strads.h>

/* Softmax coefficients: those that are not 0 for some class. */
typedef struct softmax_point {
    strads_model *model; /* without intercepts */
    double *b;           /* [width] */
} softmax_point;

typedef struct work {
    strads_arrays x; /* R's own, and the labels */
    strads_glm_path_options path;
    double tolerance;
    uint32_t threads, folds;
    uint64_t seed;
    strads_data *data;
    strads_result *result;
    strads_cv_point *cv;
    uint32_t best, simplest;
    double null;            /* objective of the null model, for classes */
    softmax_point *classes; /* [reached] */
    double *lambda;         /* [path.points] of these */
    double *deviance;       /* [path.points] of these */
    uint32_t reached;
    double *w, *se; /* [columns + 1] of a summary */
    strads_glm_dispersion dispersion;
    const char *file; /* of a pack, or of folds */
    strads_pack_values values;
    strads_pack_result packed;
    volatile bool stop;
} work;

static void point_free(softmax_point *point)
{
    strads_model_free(point->model);
    free(point->b);
}

static void work_free(work *w)
{
    for (uint32_t k = 0; k < w->reached; k++)
        point_free(&w->classes[k]);
    free(w->classes);
    free(w->lambda);
    free(w->deviance);
    free(w->w);
    free(w->se);
    free(w->cv);
    strads_result_free(w->result);
    strads_data_free(w->data);
    *w = (work){0};
}

/* ---- arguments --------------------------------------------------------- */

static SEXP find_member(SEXP list, const char *name)
{
    SEXP names = Rf_getAttrib(list, R_NamesSymbol);
    for (R_xlen_t k = 0; k < Rf_xlength(list); k++)
        if (strcmp(CHAR(STRING_ELT(names, k)), name) == 0)
            return VECTOR_ELT(list, k);
    return R_NilValue;
}

/* A member that is a number; 0 if there is none. */
static double read_number(SEXP list, const char *name)
{
    SEXP found = find_member(list, name);
    return Rf_isNull(found) ? 0 : Rf_asReal(found);
}

static uint32_t read_count(SEXP list, const char *name)
{
    return (uint32_t)read_number(list, name);
}

static bool read_flag(SEXP list, const char *name)
{
    return Rf_asLogical(find_member(list, name)) == TRUE;
}

/* A member that is a vector of doubles; NULL if there is none. */
static const double *read_vector(SEXP list, const char *name)
{
    SEXP found = find_member(list, name);
    return Rf_isNull(found) ? NULL : REAL(found);
}

/* A member that is a vector of whole numbers from 0 up; NULL if there is none.
 */
static const uint32_t *read_counts(SEXP list, const char *name)
{
    SEXP found = find_member(list, name);
    return Rf_isNull(found) ? NULL : (const uint32_t *)INTEGER(found);
}

static const char *read_text(SEXP list, const char *name)
{
    SEXP found = find_member(list, name);
    return Rf_isNull(found) ? NULL : CHAR(STRING_ELT(found, 0));
}

/* `data`: x in R's compressed columns: start[cols + 1], index and value of each
 * entry; or start and index are NULL, and value is a matrix. The engine uses
 * them in place where it can. */
static work read_work(SEXP data, SEXP settings)
{
    SEXP start = find_member(data, "start");
    const bool dense = Rf_isNull(start);
    const int *dim = INTEGER(find_member(data, "dim"));
    const double share = read_number(settings, "alpha");
    const double *lambda = read_vector(settings, "lambda");
    const uint32_t *group = read_counts(settings, "group");
    return (work){
        .x = {.size = sizeof(strads_arrays),
              .rows = (uint64_t)dim[0],
              .cols = (uint64_t)dim[1],
              .borrow = true,
              .start = dense ? NULL : INTEGER(start),
              .starts = STRADS_I32,
              .index = dense ? NULL : INTEGER(find_member(data, "index")),
              .indices = STRADS_I32,
              .value = read_vector(data, "value"),
              .label = read_vector(data, "y")},
        .path = {.fit = {.loss = read_text(settings, "loss"),
                         .loss_parameter = read_number(settings, "parameter"),
                         .penalty = group        ? "group"
                                    : share == 0 ? "ridge"
                                                 : "elastic-net",
                         .l1_ratio = group ? 0 : share,
                         .intercept = read_flag(settings, "intercept"),
                         .standardize = read_flag(settings, "standardize"),
                         .lower = read_number(settings, "lower"),
                         .upper = read_number(settings, "upper"),
                         .row_weight = read_vector(data, "weights"),
                         .row_offset = read_vector(data, "offset"),
                         .penalty_factor = read_vector(settings, "factor"),
                         .column_group = group,
                         .row_stratum = read_counts(data, "stratum")},
                 .points = lambda ? (uint32_t)Rf_xlength(
                                        find_member(settings, "lambda"))
                                  : read_count(settings, "points"),
                 .ratio = lambda ? 0 : read_number(settings, "ratio"),
                 .first = lambda ? 0 : read_number(settings, "first"),
                 .lambda = lambda,
                 .gaps_of_null = true,
                 .most_explained = read_number(settings, "devmax"),
                 .least_gain = read_number(settings, "fdev")},
        .tolerance = read_number(settings, "thresh"),
        .threads = read_count(settings, "threads"),
        .folds = read_count(settings, "folds"),
        .file = read_text(settings, "file"),
        .values = (strads_pack_values)read_count(settings, "values"),
        .null = read_number(settings, "null"),
        .seed = (uint64_t)read_number(settings, "seed")};
}

/* ---- running ----------------------------------------------------------- */

static strads_err make_data(work *w, const strads_program *program,
                            const strads_engine_options *options)
{
    strads_data_options cut = {.size = sizeof cut};
    strads_err err = strads_run_cut(program, &w->path, options, &cut);
    return err ? err : strads_data_from_arrays(&w->x, &cut, &w->data);
}

static strads_engine_options engine_of(const work *w)
{
    return (strads_engine_options){.size = sizeof(strads_engine_options),
                                   .workers = w->threads,
                                   .tolerance = w->tolerance,
                                   .deterministic = true,
                                   .stop = &w->stop};
}

static strads_err run_path(work *w)
{
    const strads_engine_options options = engine_of(w);
    const strads_err err = make_data(w, &strads_program_glm_path, &options);
    return err ? err
               : strads_run(&strads_program_glm_path, &w->path, w->data,
                            &options, &w->result);
}

static strads_err run_cv(work *w)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .partitions = 1};
    const strads_glm_cv_options cv = {.path = w->path,
                                      .folds = w->folds,
                                      .fold_file = w->file,
                                      .threads = w->threads,
                                      .seed = w->seed,
                                      .tolerance = w->tolerance,
                                      .stop = &w->stop};
    strads_err err = make_data(w, &strads_program_glm_path, &options);
    w->cv = err ? NULL : calloc(w->path.points, sizeof *w->cv);
    if (!err && !w->cv)
        err = strads_fail(STRADS_ENOMEM, "no memory for %u points",
                          w->path.points);
    return err ? err
               : strads_glm_cv(w->data, &cv, w->cv, &w->best, &w->simplest);
}

/* ---- a path of softmax models: a fit for each lambda --------------------- */

/* The penalty of a fit at lambda; the columns are not standardized. */
static double penalty_of(const work *w, const strads_model *m, double lambda)
{
    const double share = w->path.fit.l1_ratio;
    const double *factor = w->path.fit.penalty_factor;
    double sum = 0;
    for (uint64_t e = 0; e < m->n * m->width; e++) {
        const double v = m->value[e];
        sum += (factor ? factor[m->index[e / m->width]] : 1) *
               (share * (v < 0 ? -v : v) + (1 - share) * v * v / 2);
    }
    return lambda * sum;
}

/* Fits at w->lambda[w->reached], or at lambda_max if that is 0, from the point
 * before. *objective is the one before, and then this one. */
static strads_err add_point(work *w, double *objective)
{
    const softmax_point *last = w->reached ? &w->classes[w->reached - 1] : NULL;
    const bool first = w->reached == 0 && !w->path.lambda;
    strads_glm_options fit = w->path.fit;
    strads_engine_options options = engine_of(w);
    softmax_point made = {0};
    strads_result *result = NULL;
    fit.lambda_ratio = first ? 1 : 0;
    fit.lambda = first ? 0 : w->lambda[w->reached];
    if (!first && fit.lambda == 0)
        fit.lambda = -0.0; /* no penalty */
    if (last) {
        fit.start_intercept = fit.intercept ? last->b : NULL;
        options.n_start = last->model->n;
        options.start_param = last->model->index;
        options.start_value = last->model->value;
    }
    const double share = w->null / *objective; /* of the null model's */
    options.tolerance = fmin(w->tolerance * fmax(share, 1), .5);
    strads_err err =
        strads_run(&strads_program_glm, &fit, w->data, &options, &result);
    if (!err && strads_result_end(result) == STRADS_END_CANCELED)
        err = strads_fail(STRADS_ECANCELED, "stopped");
    if (!err)
        err = strads_model_from_result(result, "glm", NULL, 0, &made.model);
    if (!err) {
        void *state = strads_result_state(result);
        const size_t bytes = made.model->width * sizeof(double);
        if (first)
            w->lambda[0] = strads_glm_lambda_max(state);
        if ((made.b = malloc(bytes)))
            memcpy(made.b, strads_glm_intercepts(state), bytes);
        else
            err = strads_fail(STRADS_ENOMEM, "no memory for a point");
    }
    strads_result_free(result);
    if (err) {
        point_free(&made);
        return err;
    }
    *objective = made.model->fit.objective;
    w->deviance[w->reached] =
        *objective - penalty_of(w, made.model, w->lambda[w->reached]);
    w->classes[w->reached++] = made;
    return STRADS_OK;
}

/* The rule of a path's early end, as strads_glm_path_options has it. */
static bool ends_early(const work *w)
{
    enum { EARLIEST = 5 };
    const uint32_t k = w->reached;
    if (w->path.lambda || k < EARLIEST)
        return false;
    const double now = 1 - w->deviance[k - 1] / w->null;
    const double before = 1 - w->deviance[k - 2] / w->null;
    return (w->path.most_explained > 0 && now > w->path.most_explained) ||
           (w->path.least_gain > 0 && now - before < w->path.least_gain * now);
}

static strads_err run_classes(work *w)
{
    const strads_engine_options options = engine_of(w);
    const uint32_t points = w->path.points;
    double objective = w->null;
    w->classes = calloc(points, sizeof *w->classes);
    w->lambda = calloc(points, sizeof *w->lambda);
    w->deviance = calloc(points, sizeof *w->deviance);
    if (!w->classes || !w->lambda || !w->deviance)
        return strads_fail(STRADS_ENOMEM, "no memory for %u points", points);
    w->path.fit.standardize = false; /* the caller has scaled the columns */
    strads_err err = make_data(w, &strads_program_glm, &options);
    while (!err && w->reached < points && !ends_early(w)) {
        const uint32_t k = w->reached;
        if (w->path.lambda)
            w->lambda[k] = w->path.lambda[k];
        else if (k > 0)
            w->lambda[k] = w->lambda[0] * pow(w->path.ratio, k / (points - 1.));
        err = add_point(w, &objective);
    }
    return err;
}

/* ---- a fit without a penalty, with its standard errors ------------------- */

static strads_err run_errors(work *w)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .partitions = 1,
                                           .tolerance = w->tolerance,
                                           .stop = &w->stop};
    const strads_data_options rows = {.size = sizeof rows,
                                      .layout = STRADS_LAYOUT_ROWS |
                                                STRADS_LAYOUT_COLS};
    const size_t cols = w->x.cols;
    strads_glm_options *fit = &w->path.fit;
    fit->penalty = "none";
    fit->l1_ratio = 0;
    fit->standardize = false;
    fit->penalty_factor = NULL;
    w->w = calloc(cols + 1, sizeof *w->w);
    w->se = calloc(cols + 1, sizeof *w->se);
    if (!w->w || !w->se)
        return strads_fail(STRADS_ENOMEM, "no memory for %zu errors", cols);
    strads_err err = strads_data_from_arrays(&w->x, &rows, &w->data);
    if (!err)
        err =
            strads_run(&strads_program_glm, fit, w->data, &options, &w->result);
    if (err)
        return err;
    void *state = strads_result_state(w->result);
    if (strads_result_end(w->result) == STRADS_END_CANCELED)
        return strads_fail(STRADS_ECANCELED, "stopped");
    if (strads_glm_separable(state))
        return strads_fail(STRADS_EINVAL,
                           "the fit has no minimum: some combination of "
                           "columns separates y, so there are no standard "
                           "errors");
    strads_model *made = NULL;
    if ((err = strads_model_from_result(w->result, "glm", NULL, 0, &made)))
        return err;
    for (uint64_t e = 0; e < made->n; e++)
        w->w[made->index[e]] = made->value[e];
    strads_model_free(made);
    w->w[cols] = *strads_glm_intercepts(state);
    return strads_glm_errors(w->data, fit, w->w, w->w[cols], w->se,
                             &w->dispersion);
}

/* ---- a pack -------------------------------------------------------------- */

static bool continues(void *arg, strads_pack_phase phase, uint64_t done,
                      uint64_t total)
{
    (void)phase;
    (void)done;
    (void)total;
    return !((const work *)arg)->stop;
}

static strads_err run_pack(work *w)
{
    const strads_data_options whole = {.size = sizeof whole};
    const strads_pack_options options = {.size = sizeof options,
                                         .values = w->values,
                                         .weight = w->path.fit.row_weight,
                                         .progress = continues,
                                         .arg = w};
    strads_err err = strads_data_from_arrays(&w->x, &whole, &w->data);
    w->packed.size = sizeof w->packed;
    return err ? err
               : strads_pack_write(w->data, w->file, &options, &w->packed);
}

/* ---- R's thread ---------------------------------------------------------- */

typedef struct job {
    work *w;
    strads_err (*run)(work *);
    pthread_mutex_t lock; /* guards done */
    pthread_cond_t ended;
    bool done;
    strads_err err;
    char text[1024]; /* copied from the job's thread, because messages are
                      * per thread */
} job;

static void *run_job(void *arg)
{
    job *j = arg;
    j->err = j->run(j->w);
    if (j->err)
        (void)snprintf(j->text, sizeof j->text, "%s", strads_error_text());
    pthread_mutex_lock(&j->lock);
    j->done = true;
    pthread_cond_signal(&j->ended);
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

static void check_interrupt(void *unused)
{
    (void)unused;
    R_CheckUserInterrupt();
}

/* Waits at most a tenth of a second; returns true if the job has ended. */
static bool wait_for_end(job *j)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&j->lock);
    if (!j->done)
        (void)pthread_cond_timedwait(&j->ended, &j->lock, &until);
    const bool done = j->done;
    pthread_mutex_unlock(&j->lock);
    return done;
}

/* Runs j->run; w->stop is true after an interrupt. */
static void run_interruptibly(job *j)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_job, j) != 0) {
        (void)run_job(j); /* without interrupts */
        return;
    }
    while (!wait_for_end(j))
        if (!R_ToplevelExec(check_interrupt, NULL))
            j->w->stop = true;
    pthread_join(thread, NULL);
}

/* ---- results ----------------------------------------------------------- */

static void free_on_jump(void *arg, Rboolean jumps)
{
    if (jumps)
        work_free(arg);
}

static SEXP named_list(const char *const *names, int n)
{
    SEXP list = PROTECT(Rf_allocVector(VECSXP, n));
    SEXP text = PROTECT(Rf_allocVector(STRSXP, n));
    for (int k = 0; k < n; k++)
        SET_STRING_ELT(text, k, Rf_mkChar(names[k]));
    Rf_setAttrib(list, R_NamesSymbol, text);
    UNPROTECT(2);
    return list;
}

static SEXP numbers(SEXP list, int at, R_xlen_t n)
{
    SEXP vector = Rf_allocVector(REALSXP, n);
    SET_VECTOR_ELT(list, at, vector);
    return vector;
}

static SEXP path_of(void *arg)
{
    static const char *const names[] = {"lambda", "a0", "gap", "deviance",
                                        "p",      "i",  "x",   "interrupted"};
    const work *w = arg;
    uint32_t n = 0;
    const strads_path_point *point =
        w->result ? strads_glm_path(strads_result_state(w->result), &n) : NULL;
    R_xlen_t nnz = 0;
    for (uint32_t k = 0; k < n; k++)
        nnz += (R_xlen_t)point[k].nonzeros;
    SEXP list = PROTECT(named_list(names, 8));
    double *lambda = REAL(numbers(list, 0, n)), *a0 = REAL(numbers(list, 1, n));
    double *gap = REAL(numbers(list, 2, n));
    double *deviance = REAL(numbers(list, 3, n));
    SET_VECTOR_ELT(list, 4, Rf_allocVector(INTSXP, (R_xlen_t)n + 1));
    SET_VECTOR_ELT(list, 5, Rf_allocVector(INTSXP, nnz));
    int *start = INTEGER(VECTOR_ELT(list, 4));
    int *index = INTEGER(VECTOR_ELT(list, 5));
    double *value = REAL(numbers(list, 6, nnz));
    int at = 0;
    for (uint32_t k = 0; k < n; k++) {
        lambda[k] = point[k].lambda;
        a0[k] = point[k].intercept;
        gap[k] = point[k].gap;
        deviance[k] = point[k].deviance;
        start[k] = at;
        for (uint64_t e = 0; e < point[k].nonzeros; e++, at++) {
            index[at] = (int)point[k].index[e];
            value[at] = point[k].value[e];
        }
    }
    start[n] = at;
    SET_VECTOR_ELT(list, 7, Rf_ScalarLogical(w->stop));
    UNPROTECT(1);
    return list;
}

static SEXP cv_of(void *arg)
{
    static const char *const names[] = {"lambda",     "error",    "deviation",
                                        "best",       "simplest", "gap",
                                        "interrupted"};
    const work *w = arg;
    SEXP list = PROTECT(named_list(names, 7));
    double *lambda = REAL(numbers(list, 0, w->path.points));
    double *error = REAL(numbers(list, 1, w->path.points));
    double *deviation = REAL(numbers(list, 2, w->path.points));
    double *gap = REAL(numbers(list, 5, w->path.points));
    for (uint32_t k = 0; k < w->path.points; k++) {
        lambda[k] = w->cv[k].lambda;
        error[k] = w->cv[k].error;
        deviation[k] = w->cv[k].deviation;
        gap[k] = w->cv[k].gap;
    }
    SET_VECTOR_ELT(list, 3, Rf_ScalarInteger((int)w->best + 1));
    SET_VECTOR_ELT(list, 4, Rf_ScalarInteger((int)w->simplest + 1));
    SET_VECTOR_ELT(list, 6, Rf_ScalarLogical(w->stop));
    UNPROTECT(1);
    return list;
}

/* Coefficients of all points and classes: value[columns x classes x points]. */
static SEXP classes_of(void *arg)
{
    static const char *const names[] = {"lambda",     "a0",   "gap",
                                        "deviance",   "beta", "width",
                                        "interrupted"};
    const work *w = arg;
    const R_xlen_t n = w->reached, cols = (R_xlen_t)w->x.cols;
    const R_xlen_t width = n ? w->classes[0].model->width : 0;
    SEXP list = PROTECT(named_list(names, 7));
    double *lambda = REAL(numbers(list, 0, n));
    double *a0 = REAL(numbers(list, 1, n * width));
    double *gap = REAL(numbers(list, 2, n));
    double *deviance = REAL(numbers(list, 3, n));
    double *beta = REAL(numbers(list, 4, n * width * cols));
    memset(beta, 0, (size_t)(n * width * cols) * sizeof *beta);
    for (R_xlen_t k = 0; k < n; k++) {
        const strads_model *m = w->classes[k].model;
        lambda[k] = w->lambda[k];
        gap[k] = m->fit.gap *
                 fmin(m->fit.objective / w->null, 1); /* of the null's */
        deviance[k] = w->deviance[k];
        memcpy(a0 + k * width, w->classes[k].b, (size_t)width * sizeof *a0);
        for (uint64_t e = 0; e < m->n; e++)
            for (R_xlen_t c = 0; c < width; c++)
                beta[(k * width + c) * cols + m->index[e]] =
                    m->value[(R_xlen_t)e * width + c];
    }
    SET_VECTOR_ELT(list, 5, Rf_ScalarInteger((int)width));
    SET_VECTOR_ELT(list, 6, Rf_ScalarLogical(w->stop));
    UNPROTECT(1);
    return list;
}

static SEXP errors_of(void *arg)
{
    static const char *const names[] = {"estimate",    "error",
                                        "dispersion",  "dof",
                                        "estimated",   "gap",
                                        "interrupted", "objective"};
    const work *w = arg;
    const R_xlen_t n = (R_xlen_t)w->x.cols + 1;
    SEXP list = PROTECT(named_list(names, 8));
    double *estimate = REAL(numbers(list, 0, n));
    double *error = REAL(numbers(list, 1, n));
    for (R_xlen_t k = 0; k < n; k++) {
        estimate[k] = w->w ? w->w[k] : 0;
        error[k] = w->se ? w->se[k] : 0;
    }
    *REAL(numbers(list, 2, 1)) = w->dispersion.value;
    *REAL(numbers(list, 3, 1)) = w->dispersion.dof;
    SET_VECTOR_ELT(list, 4, Rf_ScalarLogical(w->dispersion.estimated));
    *REAL(numbers(list, 5, 1)) =
        w->result ? strads_result_progress(w->result)->gap : 1;
    SET_VECTOR_ELT(list, 6, Rf_ScalarLogical(w->stop));
    *REAL(numbers(list, 7, 1)) =
        w->result ? strads_result_progress(w->result)->objective : 0;
    UNPROTECT(1);
    return list;
}

static SEXP pack_of(void *arg)
{
    static const char *const names[] = {"rows", "columns", "entries", "bytes",
                                        "interrupted"};
    const work *w = arg;
    SEXP list = PROTECT(named_list(names, 5));
    *REAL(numbers(list, 0, 1)) = (double)w->packed.rows;
    *REAL(numbers(list, 1, 1)) = (double)w->packed.cols;
    *REAL(numbers(list, 2, 1)) = (double)w->packed.nnz;
    *REAL(numbers(list, 3, 1)) = (double)w->packed.file_bytes;
    SET_VECTOR_ELT(list, 4, Rf_ScalarLogical(w->stop));
    UNPROTECT(1);
    return list;
}

/* Runs and frees; returns the list of `make`, or raises R's error. */
static SEXP finish(work *w, strads_err (*run)(work *), SEXP (*make)(void *))
{
    job j = {.w = w,
             .run = run,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .ended = PTHREAD_COND_INITIALIZER};
    run_interruptibly(&j);
    if (j.err && !(w->stop && j.err == STRADS_ECANCELED)) {
        work_free(w);
        Rf_error("%s", j.text);
    }
    SEXP token = PROTECT(R_MakeUnwindCont());
    SEXP list = PROTECT(R_UnwindProtect(make, w, free_on_jump, w, token));
    work_free(w);
    UNPROTECT(2);
    return list;
}

/* The sum of the weighted losses of rows at the margins z. */
SEXP loss(SEXP data, SEXP settings, SEXP z)
{
    const work w = read_work(data, settings);
    double sum = 0;
    if (strads_glm_loss(&w.path.fit, w.x.rows, w.x.label, REAL(z), &sum))
        Rf_error("%s", strads_error_text());
    return Rf_ScalarReal(sum);
}

/* `data` and `settings`: lists, see read_work. */
SEXP path(SEXP data, SEXP settings)
{
    work w = read_work(data, settings);
    return finish(&w, run_path, path_of);
}

SEXP classes(SEXP data, SEXP settings)
{
    work w = read_work(data, settings);
    return finish(&w, run_classes, classes_of);
}

SEXP cv(SEXP data, SEXP settings)
{
    work w = read_work(data, settings);
    return finish(&w, run_cv, cv_of);
}

SEXP errors(SEXP data, SEXP settings)
{
    work w = read_work(data, settings);
    return finish(&w, run_errors, errors_of);
}

SEXP pack(SEXP data, SEXP settings)
{
    work w = read_work(data, settings);
    return finish(&w, run_pack, pack_of);
}

static const R_CallMethodDef calls[] = {{"path", (DL_FUNC)&path, 2},
                                        {"classes", (DL_FUNC)&classes, 2},
                                        {"cv", (DL_FUNC)&cv, 2},
                                        {"loss", (DL_FUNC)&loss, 3},
                                        {"errors", (DL_FUNC)&errors, 2},
                                        {"pack", (DL_FUNC)&pack, 2},
                                        {NULL, NULL, 0}};

void R_init_strads(DllInfo *info)
{
    R_registerRoutines(info, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
}
