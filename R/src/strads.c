/* .Call's of the package: a path and its cross-validation.
 *
 * R's errors leave a function by a jump. So all memory of the library's hangs
 * on one `work`, which is freed before Rf_error is called, and what R allocates
 * is allocated after the run, when nothing of the library's can be lost but
 * through `R_UnwindProtect`, which frees it. */
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <strads/glm.h>
#include <strads/lasso.h>
#include <strads/logistic.h>
#include <strads/strads.h>

/* ---- arguments --------------------------------------------------------- */

typedef struct design {
    strads_columns columns;
    uint64_t *start;
    const double *weight; /* [rows], or NULL */
    bool binomial;
    double alpha;
    bool standardize, intercept;
    double tolerance;
    uint32_t threads;
} design;

typedef struct work {
    design d;
    strads_data *data;
    strads_result *result;
    strads_cv_point *cv;
    double *lambda; /* given ones, or NULL */
    uint32_t points;
    double ratio, first;
    uint32_t folds;
    uint64_t seed;
    uint32_t best, simplest;
    volatile bool stop;
    const double *given;
    /* A fit for each given lambda, as points of a path. */
    strads_path_point *each;
    uint32_t n_each;
} work;

static void work_free(work *w)
{
    for (uint32_t k = 0; k < w->n_each; k++) {
        free((void *)(uintptr_t)w->each[k].index);
        free((void *)(uintptr_t)w->each[k].value);
    }
    free(w->each);
    free(w->cv);
    strads_result_free(w->result);
    strads_data_free(w->data);
    free(w->d.start);
    *w = (work){0};
}

/* x in compressed columns as R has it: p[cols + 1], i and x of each entry. */
static design read_design(SEXP p, SEXP i, SEXP x, SEXP dim, SEXP y,
                          SEXP weights, SEXP binomial)
{
    const uint64_t cols = (uint64_t)INTEGER(dim)[1];
    design d = {.columns = {.rows = (uint64_t)INTEGER(dim)[0],
                            .cols = cols,
                            .index = (const uint32_t *)INTEGER(i),
                            .value = REAL(x),
                            .label = REAL(y)},
                .weight = Rf_isNull(weights) ? NULL : REAL(weights),
                .binomial = Rf_asLogical(binomial) == TRUE};
    d.start = malloc((cols + 1) * sizeof *d.start);
    for (uint64_t j = 0; d.start && j <= cols; j++)
        d.start[j] = (uint64_t)INTEGER(p)[j];
    d.columns.start = d.start;
    return d;
}

/* ---- running ----------------------------------------------------------- */

static void check_interrupt(void *unused)
{
    (void)unused;
    R_CheckUserInterrupt();
}

/* On R's own thread, between two rounds. */
static void on_progress(void *arg, const strads_progress *progress)
{
    (void)progress;
    work *w = arg;
    if (!R_ToplevelExec(check_interrupt, NULL))
        w->stop = true;
}

static strads_lasso_options lasso_of(const design *d)
{
    return (strads_lasso_options){.l1_ratio = d->alpha,
                                  .intercept = d->intercept,
                                  .standardize = d->standardize,
                                  .row_weight = d->weight};
}

static strads_logistic_options logistic_of(const design *d)
{
    return (strads_logistic_options){.l1_ratio = d->alpha,
                                     .intercept = d->intercept,
                                     .standardize = d->standardize,
                                     .row_weight = d->weight};
}

static strads_err run_program(work *w, const strads_program *program,
                              const void *config,
                              const strads_engine_options *options)
{
    strads_data_options cut = {.size = sizeof cut};
    strads_err err = strads_run_cut(program, config, options, &cut);
    if (!err && !w->data)
        err = strads_data_from_columns(&w->d.columns, &cut, &w->data);
    strads_result_free(w->result);
    w->result = NULL;
    if (!err)
        err = strads_run(program, config, w->data, options, &w->result);
    if (!err && w->stop)
        err = strads_fail(STRADS_ECANCELED, "interrupted");
    return err;
}

static strads_err keep_point(work *w, double lambda, double intercept)
{
    uint64_t parameters;
    uint32_t width;
    const double *value = strads_result_values(w->result, &parameters, &width);
    const strads_progress *last = strads_result_progress(w->result);
    strads_path_point *point = &w->each[w->n_each++];
    uint32_t *index = malloc((w->d.columns.cols + 1) * sizeof *index);
    double *kept = malloc((w->d.columns.cols + 1) * sizeof *kept);
    *point = (strads_path_point){.lambda = lambda,
                                 .objective = last->objective,
                                 .gap = last->gap,
                                 .intercept = intercept,
                                 .index = index,
                                 .value = kept};
    if (!index || !kept)
        return strads_fail(STRADS_ENOMEM, "no memory for a point of the path");
    for (uint64_t j = 0; j < w->d.columns.cols; j++)
        if (value[j] != 0) {
            index[point->nonzeros] = (uint32_t)j;
            kept[point->nonzeros++] = value[j];
        }
    return STRADS_OK;
}

/* Fits at given lambdas, each from the coefficients of the one before. */
static strads_err run_each(work *w)
{
    strads_err err = STRADS_OK;
    w->each = calloc(w->points, sizeof *w->each);
    if (!w->each)
        return strads_fail(STRADS_ENOMEM, "no memory for %u lambdas",
                           w->points);
    for (uint32_t k = 0; k < w->points && !err; k++) {
        const strads_path_point *before = k > 0 ? &w->each[k - 1] : NULL;
        const strads_engine_options options = {
            .size = sizeof options,
            .workers = w->d.threads,
            .tolerance = w->d.tolerance,
            .deterministic = true,
            .progress = on_progress,
            .progress_arg = w,
            .stop = &w->stop,
            .n_start = before ? before->nonzeros : 0,
            .start_param = before ? before->index : NULL,
            .start_value = before ? before->value : NULL};
        strads_lasso_options lasso = lasso_of(&w->d);
        strads_logistic_options logistic = logistic_of(&w->d);
        lasso.lambda = logistic.lambda = w->given[k];
        if (w->d.binomial)
            err = run_program(w, &strads_program_logistic, &logistic, &options);
        else
            err = run_program(w, &strads_program_lasso, &lasso, &options);
        void *state = err ? NULL : strads_result_state(w->result);
        if (!err)
            err = keep_point(w, w->given[k],
                             w->d.binomial ? strads_glm_intercepts(state)[0]
                                           : *strads_glm_intercepts(state));
    }
    return err;
}

static strads_err run_path(work *w)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = w->d.threads,
                                           .tolerance = w->d.tolerance,
                                           .deterministic = true,
                                           .progress = on_progress,
                                           .progress_arg = w,
                                           .stop = &w->stop};
    if (w->d.binomial) {
        const strads_logistic_path_options path = {.fit = logistic_of(&w->d),
                                                   .points = w->points,
                                                   .ratio = w->ratio};
        return run_program(w, &strads_program_logistic_path, &path, &options);
    }
    const strads_lasso_path_options path = {.fit = lasso_of(&w->d),
                                            .points = w->points,
                                            .ratio = w->ratio};
    return run_program(w, &strads_program_lasso_path, &path, &options);
}

static strads_err run_cv(work *w)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .partitions = 1};
    strads_lasso_path_options lasso = {.fit = lasso_of(&w->d),
                                       .points = w->points,
                                       .ratio = w->ratio,
                                       .first = w->first};
    strads_logistic_path_options logistic = {.fit = logistic_of(&w->d),
                                             .points = w->points,
                                             .ratio = w->ratio,
                                             .first = w->first};
    const strads_program *program = w->d.binomial
                                        ? &strads_program_logistic_path
                                        : &strads_program_lasso_path;
    const void *config =
        w->d.binomial ? (const void *)&logistic : (const void *)&lasso;
    strads_data_options cut = {.size = sizeof cut};
    strads_err err = strads_run_cut(program, config, &options, &cut);
    if (!err)
        err = strads_data_from_columns(&w->d.columns, &cut, &w->data);
    w->cv = err ? NULL : calloc(w->points, sizeof *w->cv);
    if (!err && !w->cv)
        err = strads_fail(STRADS_ENOMEM, "no memory for %u points", w->points);
    if (err)
        return err;
    if (w->d.binomial) {
        const strads_logistic_cv_options cv = {.path = logistic,
                                               .folds = w->folds,
                                               .threads = w->d.threads,
                                               .seed = w->seed,
                                               .tolerance = w->d.tolerance,
                                               .stop = &w->stop};
        return strads_logistic_cv(w->data, &cv, w->cv, &w->best, &w->simplest);
    }
    const strads_lasso_cv_options cv = {.path = lasso,
                                        .folds = w->folds,
                                        .threads = w->d.threads,
                                        .seed = w->seed,
                                        .tolerance = w->d.tolerance,
                                        .stop = &w->stop};
    return strads_lasso_cv(w->data, &cv, w->cv, &w->best, &w->simplest);
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

/* Twice the loss, or the squared residuals: over the rows, as they weigh. */
static double deviance_of(const design *d, const strads_path_point *point,
                          double *fitted)
{
    const strads_columns *c = &d->columns;
    for (uint64_t i = 0; i < c->rows; i++)
        fitted[i] = point->intercept;
    for (uint64_t k = 0; k < point->nonzeros; k++) {
        const uint32_t j = point->index[k];
        for (uint64_t e = c->start[j]; e < c->start[j + 1]; e++)
            fitted[c->index[e]] += c->value[e] * point->value[k];
    }
    double sum = 0;
    for (uint64_t i = 0; i < c->rows; i++) {
        const double weight = d->weight ? d->weight[i] : 1;
        const double m = c->label[i] > 0 ? fitted[i] : -fitted[i];
        const double r = c->label[i] - fitted[i];
        sum += weight * (d->binomial
                             ? 2 * (m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m)
                             : r * r);
    }
    return sum;
}

static SEXP path_of(void *arg)
{
    static const char *const names[] = {"lambda", "a0", "gap", "deviance",
                                        "p",      "i",  "x"};
    work *w = arg;
    uint32_t n = w->n_each;
    const strads_path_point *point = w->each;
    if (!point && w->d.binomial)
        point = strads_logistic_path(strads_result_state(w->result), &n);
    else if (!point)
        point = strads_lasso_path(strads_result_state(w->result), &n);
    R_xlen_t nnz = 0;
    for (uint32_t k = 0; k < n; k++)
        nnz += (R_xlen_t)point[k].nonzeros;
    SEXP list = PROTECT(named_list(names, 7));
    double *lambda = REAL(numbers(list, 0, n)), *a0 = REAL(numbers(list, 1, n));
    double *gap = REAL(numbers(list, 2, n));
    double *deviance = REAL(numbers(list, 3, n));
    double *fitted = (double *)R_alloc(w->d.columns.rows + 1, sizeof *fitted);
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
        deviance[k] = deviance_of(&w->d, &point[k], fitted);
        start[k] = at;
        for (uint64_t e = 0; e < point[k].nonzeros; e++, at++) {
            index[at] = (int)point[k].index[e];
            value[at] = point[k].value[e];
        }
    }
    start[n] = at;
    UNPROTECT(1);
    return list;
}

static SEXP cv_of(void *arg)
{
    static const char *const names[] = {"lambda", "error", "deviation", "best",
                                        "simplest"};
    const work *w = arg;
    SEXP list = PROTECT(named_list(names, 5));
    double *lambda = REAL(numbers(list, 0, w->points));
    double *error = REAL(numbers(list, 1, w->points));
    double *deviation = REAL(numbers(list, 2, w->points));
    for (uint32_t k = 0; k < w->points; k++) {
        lambda[k] = w->cv[k].lambda;
        error[k] = w->cv[k].error;
        deviation[k] = w->cv[k].deviation;
    }
    SET_VECTOR_ELT(list, 3, Rf_ScalarInteger((int)w->best + 1));
    SET_VECTOR_ELT(list, 4, Rf_ScalarInteger((int)w->simplest + 1));
    UNPROTECT(1);
    return list;
}

/* Runs, frees, and gives `make`'s list or R's error. */
static SEXP finish(work *w, strads_err (*run)(work *), SEXP (*make)(void *))
{
    char text[1024];
    const strads_err err =
        w->d.start ? run(w) : strads_fail(STRADS_ENOMEM, "no memory");
    if (err) {
        (void)snprintf(text, sizeof text, "%s", strads_error_text());
        work_free(w);
        Rf_error("%s", text);
    }
    SEXP token = PROTECT(R_MakeUnwindCont());
    SEXP list = PROTECT(R_UnwindProtect(make, w, free_on_jump, w, token));
    work_free(w);
    UNPROTECT(2);
    return list;
}

SEXP path(SEXP p, SEXP i, SEXP x, SEXP dim, SEXP y, SEXP weights, SEXP binomial,
          SEXP alpha, SEXP points, SEXP ratio, SEXP lambda, SEXP standardize,
          SEXP intercept, SEXP tolerance, SEXP threads)
{
    const bool given = !Rf_isNull(lambda);
    work w = {.d = read_design(p, i, x, dim, y, weights, binomial),
              .points = given ? (uint32_t)Rf_xlength(lambda)
                              : (uint32_t)Rf_asInteger(points),
              .ratio = Rf_asReal(ratio),
              .given = given ? REAL(lambda) : NULL};
    w.d.alpha = Rf_asReal(alpha);
    w.d.standardize = Rf_asLogical(standardize) == TRUE;
    w.d.intercept = Rf_asLogical(intercept) == TRUE;
    w.d.tolerance = Rf_asReal(tolerance);
    w.d.threads = (uint32_t)Rf_asInteger(threads);
    return finish(&w, given ? run_each : run_path, path_of);
}

SEXP cv(SEXP p, SEXP i, SEXP x, SEXP dim, SEXP y, SEXP weights, SEXP binomial,
        SEXP alpha, SEXP points, SEXP ratio, SEXP first, SEXP standardize,
        SEXP intercept, SEXP tolerance, SEXP threads, SEXP folds, SEXP seed)
{
    work w = {.d = read_design(p, i, x, dim, y, weights, binomial),
              .points = (uint32_t)Rf_asInteger(points),
              .ratio = Rf_asReal(ratio),
              .first = Rf_asReal(first),
              .folds = (uint32_t)Rf_asInteger(folds),
              .seed = (uint64_t)Rf_asReal(seed)};
    w.d.alpha = Rf_asReal(alpha);
    w.d.standardize = Rf_asLogical(standardize) == TRUE;
    w.d.intercept = Rf_asLogical(intercept) == TRUE;
    w.d.tolerance = Rf_asReal(tolerance);
    w.d.threads = (uint32_t)Rf_asInteger(threads);
    return finish(&w, run_cv, cv_of);
}

static const R_CallMethodDef calls[] = {{"path", (DL_FUNC)&path, 15},
                                        {"cv", (DL_FUNC)&cv, 17},
                                        {NULL, NULL, 0}};

void R_init_strads(DllInfo *info)
{
    R_registerRoutines(info, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
}
