/* .Call functions of the package: a path, its cross-validation, and a pack.
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
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <strads/glm.h>
#include <strads/pack.h>
#include <strads/strads.h>

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
    const char *file; /* of a pack */
    strads_pack_values values;
    strads_pack_result packed;
    volatile bool stop;
} work;

static void work_free(work *w)
{
    free(w->cv);
    strads_result_free(w->result);
    strads_data_free(w->data);
    *w = (work){0};
}

/* ---- arguments --------------------------------------------------------- */

/* x in R's compressed columns: p[cols + 1], i and x of each entry; or p and i
 * are NULL, and x is a matrix. The engine uses them in place where it can. */
static work read_data(SEXP p, SEXP i, SEXP x, SEXP dim, SEXP y)
{
    const bool dense = Rf_isNull(p);
    return (work){.x = {.size = sizeof(strads_arrays),
                        .rows = (uint64_t)INTEGER(dim)[0],
                        .cols = (uint64_t)INTEGER(dim)[1],
                        .borrow = true,
                        .start = dense ? NULL : INTEGER(p),
                        .starts = STRADS_I32,
                        .index = dense ? NULL : INTEGER(i),
                        .indices = STRADS_I32,
                        .value = REAL(x),
                        .label = REAL(y)}};
}

static void read_model(work *w, SEXP weights, SEXP binomial, SEXP alpha,
                       SEXP standardize, SEXP intercept)
{
    const double share = Rf_asReal(alpha);
    const bool two = Rf_asLogical(binomial) == TRUE;
    w->path.fit =
        (strads_glm_options){.loss = two ? "logistic" : "squared",
                             .penalty = share == 0 ? "ridge" : "elastic-net",
                             .l1_ratio = share,
                             .intercept = Rf_asLogical(intercept) == TRUE,
                             .standardize = Rf_asLogical(standardize) == TRUE,
                             .row_weight =
                                 Rf_isNull(weights) ? NULL : REAL(weights)};
}

/* ---- running ----------------------------------------------------------- */

static strads_err make_data(work *w, const strads_engine_options *options)
{
    strads_data_options cut = {.size = sizeof cut};
    strads_err err =
        strads_run_cut(&strads_program_glm_path, &w->path, options, &cut);
    return err ? err : strads_data_from_arrays(&w->x, &cut, &w->data);
}

static strads_err run_path(work *w)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = w->threads,
                                           .tolerance = w->tolerance,
                                           .deterministic = true,
                                           .stop = &w->stop};
    const strads_err err = make_data(w, &options);
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
                                      .threads = w->threads,
                                      .seed = w->seed,
                                      .tolerance = w->tolerance,
                                      .stop = &w->stop};
    strads_err err = make_data(w, &options);
    w->cv = err ? NULL : calloc(w->path.points, sizeof *w->cv);
    if (!err && !w->cv)
        err = strads_fail(STRADS_ENOMEM, "no memory for %u points",
                          w->path.points);
    return err ? err
               : strads_glm_cv(w->data, &cv, w->cv, &w->best, &w->simplest);
}

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

SEXP path(SEXP p, SEXP i, SEXP x, SEXP dim, SEXP y, SEXP weights, SEXP binomial,
          SEXP alpha, SEXP points, SEXP ratio, SEXP lambda, SEXP standardize,
          SEXP intercept, SEXP tolerance, SEXP threads, SEXP explained,
          SEXP gain)
{
    const bool given = !Rf_isNull(lambda);
    work w = read_data(p, i, x, dim, y);
    read_model(&w, weights, binomial, alpha, standardize, intercept);
    w.path.points =
        given ? (uint32_t)Rf_xlength(lambda) : (uint32_t)Rf_asInteger(points);
    w.path.ratio = given ? 0 : Rf_asReal(ratio);
    w.path.lambda = given ? REAL(lambda) : NULL;
    w.path.gaps_of_null = true;
    w.path.most_explained = Rf_asReal(explained);
    w.path.least_gain = Rf_asReal(gain);
    w.tolerance = Rf_asReal(tolerance);
    w.threads = (uint32_t)Rf_asInteger(threads);
    return finish(&w, run_path, path_of);
}

SEXP cv(SEXP p, SEXP i, SEXP x, SEXP dim, SEXP y, SEXP weights, SEXP binomial,
        SEXP alpha, SEXP points, SEXP ratio, SEXP first, SEXP standardize,
        SEXP intercept, SEXP tolerance, SEXP threads, SEXP folds, SEXP seed)
{
    work w = read_data(p, i, x, dim, y);
    read_model(&w, weights, binomial, alpha, standardize, intercept);
    w.path.points = (uint32_t)Rf_asInteger(points);
    w.path.ratio = Rf_asReal(ratio);
    w.path.first = Rf_asReal(first);
    w.path.gaps_of_null = true;
    w.tolerance = Rf_asReal(tolerance);
    w.threads = (uint32_t)Rf_asInteger(threads);
    w.folds = (uint32_t)Rf_asInteger(folds);
    w.seed = (uint64_t)Rf_asReal(seed);
    return finish(&w, run_cv, cv_of);
}

SEXP pack(SEXP p, SEXP i, SEXP x, SEXP dim, SEXP y, SEXP weights, SEXP file,
          SEXP values)
{
    work w = read_data(p, i, x, dim, y);
    w.path.fit.row_weight = Rf_isNull(weights) ? NULL : REAL(weights);
    w.file = CHAR(STRING_ELT(file, 0));
    w.values = (strads_pack_values)Rf_asInteger(values);
    return finish(&w, run_pack, pack_of);
}

static const R_CallMethodDef calls[] = {{"path", (DL_FUNC)&path, 17},
                                        {"cv", (DL_FUNC)&cv, 17},
                                        {"pack", (DL_FUNC)&pack, 8},
                                        {NULL, NULL, 0}};

void R_init_strads(DllInfo *info)
{
    R_registerRoutines(info, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
}
