/* Fits by columns: from lambda to lambda, and from fold to fold.
 *
 * A task is a lambda of a path, or the only one, on all rows or without those
 * of a fold. Its candidates are solved; the solution then waits, with its
 * margins on every partition, for a scan of all columns. One scan certifies all
 * solutions that wait, and keeps the candidates of the lambdas that come next
 * by the strong rule (Tibshirani et al., JRSS B 74, 2012). A solution that the
 * scan does not certify is solved again, with the columns that it found.
 *
 * Lambda goes down in steps of at most COLUMNS_FALL. Where the lambdas lie
 * farther apart, a solution on the way, of no task, fills the gap.
 * Folds come lambda by lambda, because their solutions at one lambda are near
 * each other, and need no candidates but those of all rows. */
#include <stdlib.h>
#include <string.h>

#include "columns_parts.h"

/* A scan keeps the columns of lambdas down to this share of the present one: a
 * larger share takes more passes, a smaller one more rounds. The strong rule
 * admits slopes from 2 FALL - 1 of the present lambda on, below 0 here, so that
 * COLUMNS_SCREEN of the smallest lambda decides. */
#define COLUMNS_FALL .4
#define COLUMNS_SCREEN .7

/* A solution of candidates ends at this share of the tolerance; of a lambda on
 * the way, at this gap. */
#define COLUMNS_INNER .3
#define COLUMNS_ON_THE_WAY_GAP 1e-3

/* And of free columns alone: their slopes give lambda_max. */
#define COLUMNS_ALONE_GAP 1e-13

/* Lambdas this near are the same. */
#define SAME (1 - 1e-12)

/* ---- tasks --------------------------------------------------------------- */

static uint32_t fold_of(const columns_state *s, uint32_t task)
{
    return task < s->points ? 0 : 1 + (task - s->points) % s->folds.n;
}

static uint32_t point_of(const columns_state *s, uint32_t task)
{
    return task < s->points ? task : (task - s->points) / s->folds.n;
}

double columns_wanted(const columns_state *s)
{
    const strads_glm_options *o = &s->plan.problem.options;
    return o->lambda > 0 ? o->lambda
           : o->c > 0    ? 1 / (o->c * s->weight_sum)
                         : o->lambda_ratio * s->lambda_max;
}

static double lambda_of(const columns_state *s, uint32_t task)
{
    return s->path ? s->path->lambda[point_of(s, task)] : columns_wanted(s);
}

/* The first task that is neither done nor pending; s->tasks: none. */
static uint32_t find_open(const columns_state *s)
{
    uint32_t task = 0;
    while (task < s->tasks && s->done[task] != COLUMNS_OPEN)
        task++;
    return task;
}

static strads_err new_path(columns_state *s)
{
    const glm_folds_plan plan = {.folds = s->plan.folds,
                                 .points = s->plan.path.points,
                                 .file = s->plan.fold_file,
                                 .rows = s->rows,
                                 .classes = s->plan.problem.loss->labels ==
                                            GLM_CLASSES};
    if (s->plan.path.most_explained > 0 || s->plan.path.least_gain > 0 ||
        s->plan.path.gaps_of_null)
        return strads_fail(STRADS_EINVAL,
                           "a path by columns has no early end, and gaps of "
                           "its points' objectives: leave most-explained, "
                           "least-gain and gaps_of_null out");
    strads_err err = glm_path_new(&s->plan.path, &s->path);
    for (uint32_t k = 0; !err && s->path->given && k < s->path->points; k++)
        if (s->path->lambda[k] == 0)
            err = strads_fail(STRADS_EINVAL,
                              "one of the lambdas is 0; a path by columns "
                              "needs lambdas above 0: leave --cut columns out");
    if (!err && columns_validates(&s->plan))
        err = glm_folds_new(&plan, &s->folds);
    return err;
}

strads_err columns_tasks_new(columns_state *s)
{
    strads_err err = s->plan.is_path ? new_path(s) : STRADS_OK;
    if (err)
        return err;
    s->points = s->path ? s->path->points : 1;
    if (s->folds.n > UINT32_MAX / 2 / s->points)
        return strads_fail(STRADS_ELIMIT,
                           "%u folds at %u lambdas are too many: give fewer",
                           s->folds.n, s->points);
    s->tasks = s->points * (1 + s->folds.n);
    s->views = columns_views(&s->plan, s->rows);
    s->done = calloc(s->tasks, sizeof *s->done);
    s->tried = calloc(s->tasks, sizeof *s->tried);
    s->point = calloc(s->points, sizeof *s->point);
    s->pending = calloc(s->views, sizeof *s->pending);
    if (!s->done || !s->tried || !s->point || !s->pending)
        return strads_fail(STRADS_ENOMEM, "no memory for %u points", s->tasks);
    for (uint32_t task = 0; task < s->tasks; task++)
        s->tried[task] = INFINITY;
    s->task = COLUMNS_ON_THE_WAY;
    return STRADS_OK;
}

void columns_free_point(strads_path_point *point)
{
    free((void *)(uintptr_t)point->index);
    free((void *)(uintptr_t)point->value);
    *point = (strads_path_point){0};
}

void columns_tasks_free(columns_state *s)
{
    for (uint32_t k = 0; s->point && k < s->points; k++)
        columns_free_point(&s->point[k]);
    for (uint32_t k = 0; s->pending && k < s->views; k++) {
        columns_free_point(&s->pending[k].point);
        free(s->pending[k].r);
        free(s->pending[k].z);
    }
    glm_path_free(s->path);
    glm_folds_free(&s->folds);
    free(s->done);
    free(s->tried);
    free(s->point);
    free(s->pending);
}

/* The rows that a fit without a fold has left must suffice. */
static strads_err check_fold(columns_state *s, uint32_t fold)
{
    const glm_loss *loss = s->plan.problem.loss;
    bool seen[2] = {false, false};
    const double left = columns_weigh(&s->weigh, fold, s->other);
    for (uint64_t i = 0; i < s->rows; i++)
        if (s->other[i] > 0)
            seen[s->y[i] > 0] = true;
    if (!(left > 0))
        return strads_fail(STRADS_EINVAL,
                           "without the rows of fold %u, no row has a weight: "
                           "give other folds",
                           fold);
    if (loss->labels == GLM_COUNTS && s->plan.problem.options.intercept &&
        !seen[1])
        return strads_fail(STRADS_EINVAL,
                           "without the rows of fold %u, all labels are 0, and "
                           "there is no minimum: give other folds",
                           fold);
    return !s->folds.classes || (seen[0] && seen[1])
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "without the rows of fold %u, all rows have the "
                             "same label: give other folds",
                             fold);
}

strads_err columns_deal(columns_state *s, uint64_t seed)
{
    if (s->folds.n == 0)
        return STRADS_OK;
    strads_err err = glm_folds_deal(&s->folds, s->y, seed);
    s->weigh.fold_of = s->folds.of;
    for (uint32_t fold = 1; fold <= s->folds.n && !err; fold++)
        err = check_fold(s, fold);
    if (!err)
        glm_folds_weigh(&s->folds, s->count);
    return err;
}

/* ---- from task to task --------------------------------------------------- */

/* Takes up a lambda, and the weights of a fold; b follows. */
strads_err columns_set_lambda(columns_state *s, strads_commit *commit,
                              uint32_t fold, double lambda)
{
    strads_err err = STRADS_OK;
    s->lambda = lambda;
    if (fold != s->fold) {
        s->fold = fold;
        s->weight_sum = columns_weigh(&s->weigh, fold, s->c);
        err = columns_move(s, commit, s->trial, 0);
    }
    s->primal = columns_primal(s);
    s->before = s->narrowest = s->narrowest_before = INFINITY;
    s->rounds = 0;
    columns_set_total(commit, COLUMNS_L1, columns_l1(s));
    columns_set_total(commit, COLUMNS_L2, columns_l2(s));
    columns_set_total(commit, COLUMNS_FOLD, fold);
    return err;
}

static strads_err begin_task(columns_state *s, strads_commit *commit,
                             uint32_t task)
{
    s->task = task;
    s->next = s->n > 0 ? COLUMNS_TO_SOLVE : COLUMNS_TO_KEEP;
    return columns_set_lambda(s, commit, fold_of(s, task), lambda_of(s, task));
}

double columns_inner(const columns_state *s, double tolerance)
{
    const double inner = COLUMNS_INNER * tolerance;
    return s->alone                        ? fmin(COLUMNS_ALONE_GAP, inner)
           : s->task == COLUMNS_ON_THE_WAY ? fmax(COLUMNS_ON_THE_WAY_GAP, inner)
                                           : inner;
}

/* The next scan keeps the columns of lambdas down to this one, at least
 * COLUMNS_FALL of the present one. */
static double find_screening(const columns_state *s)
{
    const double floor = s->lambda * COLUMNS_FALL;
    const uint32_t first = find_open(s);
    double least = INFINITY;
    if (first == s->tasks || lambda_of(s, first) >= s->screened * SAME)
        return s->screened;
    for (uint32_t task = first; task < s->tasks; task++) {
        const double lambda = lambda_of(s, task);
        if (s->done[task] == COLUMNS_OPEN && lambda >= floor * SAME)
            least = fmin(least, lambda);
    }
    return fmin(s->screened, least < s->screened * SAME ? least : floor);
}

/* Goes to a scan, which certifies the pending solutions, and keeps the columns
 * of the next lambdas. */
static void begin_scan(columns_state *s, strads_commit *commit)
{
    s->screening = find_screening(s);
    const double strong =
        fmax(2 * s->screening - s->lambda, COLUMNS_SCREEN * s->screening);
    s->next = COLUMNS_TO_SCAN;
    s->starts = false;
    columns_set_total(commit, COLUMNS_THRESHOLD,
                      s->weight_sum * s->plan.problem.options.l1_ratio *
                          (s->screening < s->screened ? strong : s->lambda));
}

/* Behind a solution: solves on while solutions may wait and candidates are
 * there. */
static strads_err plan_next(columns_state *s, strads_commit *commit)
{
    const uint32_t task = find_open(s);
    if (!s->starts && s->task != COLUMNS_ON_THE_WAY &&
        s->n_pending < s->views && task < s->tasks &&
        lambda_of(s, task) >= s->screened * SAME)
        return begin_task(s, commit, task);
    begin_scan(s, commit);
    return STRADS_OK;
}

/* Behind a scan. */
static strads_err plan_after_scan(columns_state *s, strads_commit *commit)
{
    const uint32_t task = find_open(s);
    s->screened = s->screening;
    if (task == s->tasks) {
        s->next = s->path ? COLUMNS_TO_END : COLUMNS_TO_STOP;
        s->over = !s->path;
        return STRADS_OK;
    }
    if (lambda_of(s, task) >= s->screened * SAME)
        return begin_task(s, commit, task);
    s->task = COLUMNS_ON_THE_WAY;
    s->next = s->n > 0 ? COLUMNS_TO_SOLVE : COLUMNS_TO_KEEP;
    return columns_set_lambda(s, commit, s->fold, s->screened);
}

/* ---- solutions ----------------------------------------------------------- */

/* Copies the nonzero coefficients to a point. */
strads_err columns_copy(const columns_state *s, const double *w,
                        strads_path_point *point)
{
    uint32_t *index = calloc(s->n + 1, sizeof *index);
    double *value = calloc(s->n + 1, sizeof *value);
    point->index = index;
    point->value = value;
    point->nonzeros = 0;
    if (!index || !value)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the coefficients of a point");
    for (uint32_t k = 0; k < s->n; k++)
        if (w[s->candidate[k]] != 0) {
            index[point->nonzeros] = s->candidate[k];
            value[point->nonzeros++] = w[s->candidate[k]];
        }
    return STRADS_OK;
}

/* Measures the margins now on the rows of a fold. Margins are sums of moves, so
 * one that is 0 may have a rounding error: it counts as 0. */
static void measure_fold(const columns_state *s, columns_pending *p)
{
    const double zero = 1e-10 * s->unit;
    const glm_problem *problem = &s->plan.problem;
    const double size = s->folds.size[p->fold - 1];
    double loss = 0;
    p->right = 0;
    for (uint64_t i = 0; i < s->rows; i++) {
        if (s->folds.of[i] + 1 != p->fold)
            continue;
        loss += s->count[i] * 2 *
                problem->loss->value(s->y[i], s->z[i], problem->p);
        if (s->folds.classes && (s->z[i] > zero) == (s->y[i] > 0))
            p->right += s->count[i];
    }
    p->error = size > 0 ? loss / size : 0;
}

/* The present solution, of a task or on the way. */
static strads_err fill_pending(columns_state *s, const strads_commit *commit,
                               columns_pending *p)
{
    const double *w = strads_store_dense(commit->store, 0);
    p->task = s->task;
    p->fold = s->fold;
    p->b = s->b;
    p->primal = s->primal = columns_primal(s);
    if (!p->r)
        p->r = calloc(s->rows + 1, sizeof *p->r);
    if (!p->z)
        p->z = calloc(s->rows + 1, sizeof *p->z);
    if (!p->r || !p->z)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu rows",
                           (unsigned long long)s->rows);
    memcpy(p->r, s->r, s->rows * sizeof *p->r);
    memcpy(p->z, s->z, s->rows * sizeof *p->z);
    p->point = (strads_path_point){.lambda = s->lambda,
                                   .objective = s->primal / s->weight_sum,
                                   .intercept = s->b - s->origins,
                                   .deviance = 2 * s->loss,
                                   .round = commit->round};
    if (p->fold > 0)
        measure_fold(s, p);
    /* The points of folds are not asked for. */
    return s->path && p->fold == 0 ? columns_copy(s, w, &p->point) : STRADS_OK;
}

strads_err columns_keep(strads_commit *commit)
{
    columns_state *s = commit->state;
    if (s->alone) {
        s->next = COLUMNS_TO_LARGEST;
        return STRADS_OK;
    }
    const strads_err err = fill_pending(s, commit, &s->pending[s->n_pending]);
    if (err)
        return err;
    s->n_pending++;
    if (s->task != COLUMNS_ON_THE_WAY)
        s->done[s->task] = COLUMNS_PENDING;
    return plan_next(s, commit);
}

/* fmax() would drop a gap that is NaN. */
static double worse_gap(double a, double b)
{
    return isnan(a) || isnan(b) ? INFINITY : fmax(a, b);
}

/* The task is done, with this gap. */
static void accept(columns_state *s, columns_pending *p, double gap)
{
    const uint32_t k = point_of(s, p->task);
    s->done[p->task] = COLUMNS_DONE;
    if (!s->path) {
        s->gap = gap;
    } else if (p->fold == 0) {
        s->point[k] = p->point;
        s->point[k].gap = gap;
        p->point = (strads_path_point){0};
    } else {
        const size_t at = (size_t)(p->fold - 1) * s->points + k;
        s->folds.error[at] = p->error;
        s->folds.right[at] = p->right;
        s->folds.gap[at] = gap;
    }
}

/* A pending solution after its scan. Without new columns and without a gain
 * since its last scan, no further one would help. */
static void judge_pending(columns_state *s, columns_pending *p,
                          columns_seen seen, double tolerance, uint64_t found)
{
    const double *c = s->c;
    if (p->fold != s->fold) {
        (void)columns_weigh(&s->weigh, p->fold, s->other);
        c = s->other;
    }
    const double gap = columns_gap(s, p, c, seen);
    const bool helps = found > 0 || p->primal < s->tried[p->task] * (1 - 1e-15);
    if (gap <= tolerance || !helps) {
        accept(s, p, gap);
        return;
    }
    s->done[p->task] = COLUMNS_OPEN;
    s->tried[p->task] = fmin(s->tried[p->task], p->primal);
    s->gap = s->path ? 1 : gap;
}

strads_err columns_certify(columns_state *s, strads_commit *commit,
                           const columns_seen *seen, uint64_t found)
{
    for (uint32_t k = 0; k < s->n_pending; k++) {
        columns_pending *p = &s->pending[k];
        if (p->task != COLUMNS_ON_THE_WAY)
            judge_pending(s, p, seen[k], commit->tolerance, found);
        columns_free_point(&p->point);
    }
    s->n_pending = 0;
    return plan_after_scan(s, commit);
}

/* At w = 0 all lambdas from lambda_max on are solved. Rounding may have made
 * the largest slope a little steeper than l1. */
static strads_err accept_zero(columns_state *s, const strads_commit *commit)
{
    strads_err err = STRADS_OK;
    for (uint32_t task = 0; task < s->points && !err; task++) {
        if (lambda_of(s, task) < s->lambda_max || s->done[task] != COLUMNS_OPEN)
            continue;
        columns_pending *p = s->pending;
        s->task = task;
        s->lambda = lambda_of(s, task);
        err = fill_pending(s, commit, p);
        const double steep = s->lambda_max / s->lambda;
        const columns_seen seen = {.tight = steep, .forced = steep};
        const double gap = err ? 1 : columns_gap(s, p, s->c, seen);
        if (gap <= commit->tolerance)
            accept(s, p, gap);
        columns_free_point(&p->point);
    }
    s->task = COLUMNS_ON_THE_WAY;
    return err;
}

strads_err columns_begin_tasks(columns_state *s, strads_commit *commit)
{
    strads_err err = STRADS_OK;
    if (s->path && !s->path->given)
        (void)glm_path_first(s->path, s->lambda_max);
    s->screened = s->screening = s->lambda_max;
    if (s->n == 0)
        err = accept_zero(s, commit);
    const uint32_t task = find_open(s);
    if (err || task == s->tasks)
        return err ? err : plan_after_scan(s, commit);
    /* A start is taken to be near. */
    if (s->starts) {
        s->screened = fmin(s->screened, lambda_of(s, task));
        s->task = task;
        s->next = fold_of(s, task) > 0 ? COLUMNS_TO_SOLVE : COLUMNS_TO_KEEP;
        return columns_set_lambda(s, commit, fold_of(s, task),
                                  lambda_of(s, task));
    }
    if (lambda_of(s, task) >= s->screened * SAME)
        return begin_task(s, commit, task);
    s->next = COLUMNS_TO_KEEP;
    return columns_set_lambda(s, commit, 0, s->lambda_max);
}

/* ---- the end ------------------------------------------------------------- */

/* The change of a coefficient on the way to a point. */
strads_err columns_return_to(const columns_state *s, strads_commit *commit,
                             const strads_path_point *to)
{
    const double *w = strads_store_dense(commit->store, 0);
    uint32_t *param = calloc(s->n + 1, sizeof *param), n = 0;
    double *change = calloc(s->n + 1, sizeof *change);
    uint64_t at = 0;
    strads_err err = STRADS_OK;
    if (!param || !change)
        err = strads_fail(STRADS_ENOMEM, "no memory for %u coefficients", s->n);
    for (uint32_t k = 0; k < s->n && !err; k++) {
        const uint32_t j = s->candidate[k];
        const bool has = at < to->nonzeros && to->index[at] == j;
        const double wanted = has ? to->value[at++] : 0;
        if (wanted != w[j]) {
            param[n] = j;
            change[n++] = wanted - w[j];
        }
    }
    if (!err && n > 0)
        err = strads_commit_also(commit, n, param, change);
    free(param);
    free(change);
    return err;
}

strads_err columns_end_path(strads_commit *commit)
{
    columns_state *s = commit->state;
    const strads_path_point *last = &s->point[s->points - 1];
    s->gap = 0;
    for (uint32_t k = 0; k < s->points; k++)
        s->gap = worse_gap(s->gap, s->point[k].gap);
    for (size_t k = 0; k < (size_t)s->folds.n * s->points; k++)
        s->gap = worse_gap(s->gap, s->folds.gap[k]);
    s->over = true;
    s->next = COLUMNS_TO_STOP;
    s->b = last->intercept;
    s->origins = 0;
    s->lambda = last->lambda;
    s->nonzeros = last->nonzeros;
    return columns_return_to(s, commit, last);
}

strads_err columns_report(void *state, strads_report *report)
{
    const columns_state *s = state;
    report->objective = s->path && s->over ? s->point[s->points - 1].objective
                                           : s->primal / s->weight_sum;
    report->gap = s->gap;
    report->nonzeros = s->nonzeros;
    report->stop = s->over;
    if (s->path) {
        uint32_t done = 0;
        for (uint32_t task = 0; task < s->tasks; task++)
            done += s->done[task] == COLUMNS_DONE;
        report->measure[0] = (double)done / (1 + s->folds.n);
        report->measure[1] = s->lambda;
    }
    return STRADS_OK;
}

/* ---- results ------------------------------------------------------------- */

const strads_path_point *strads_columns_path(const void *state, uint32_t *n)
{
    const columns_state *s = state;
    *n = 0;
    while (s->path && *n < s->points && s->done[*n] == COLUMNS_DONE)
        ++*n;
    return s->path ? s->point : NULL;
}

strads_err strads_columns_cv(const void *state, strads_cv_point *points,
                             uint32_t *best, uint32_t *simplest)
{
    const columns_state *s = state;
    if (s->folds.n == 0)
        return strads_fail(STRADS_EINVAL,
                           "the run had no folds: give folds or a fold file");
    if (!s->over)
        return strads_fail(STRADS_ECANCELED,
                           "the cross-validation ended before its last fold, "
                           "and has no errors");
    glm_folds_sum_up(&s->folds, s->path->lambda, points, best, simplest);
    return STRADS_OK;
}

/* ---- checkpoints --------------------------------------------------------- */

/* Solutions that wait for a scan are solved again. */
static strads_err walk_tasks(columns_state *s, strads_walk *w)
{
    const size_t marks = (size_t)s->folds.n * s->points * sizeof(double);
    strads_err err = STRADS_OK;
    for (uint32_t task = 0; task < s->tasks; task++) {
        uint32_t done = s->done[task] == COLUMNS_DONE;
        strads_walk_pass(w, &done, sizeof done);
        if (!w->out)
            s->done[task] = done ? COLUMNS_DONE : COLUMNS_OPEN;
    }
    for (uint32_t k = 0; k < s->points && !err && !w->is_short; k++)
        if (s->done[k] == COLUMNS_DONE)
            err = glm_path_walk(w, &s->point[k]);
    strads_walk_pass(w, s->folds.error, marks);
    strads_walk_pass(w, s->folds.right, marks);
    strads_walk_pass(w, s->folds.gap, marks);
    return err ? err : w->err;
}

strads_err columns_pack(const void *state, strads_bytes *out)
{
    strads_walk w = {.out = out};
    return walk_tasks((columns_state *)(uintptr_t)state, &w);
}

strads_err columns_unpack(void *state, const void *bytes, size_t size)
{
    strads_walk w = {.from = bytes, .end = (const char *)bytes + size};
    const strads_err err = walk_tasks(state, &w);
    return err || strads_walk_fits(&w)
               ? err
               : strads_fail(STRADS_EFORMAT,
                             "the checkpoint's points are not of this path");
}
