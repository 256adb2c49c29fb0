/* Several classes at once: P(class k) = exp(z_k) / sum_l exp(z_l), the
 * softmax.
 *
 *     P(W, b) = sum c_i (log sum_l exp(z_il) - z_i,label) + sum_k pen(w_k)
 *
 * With o_i = -log sum_{l != k} exp(z_il), the part that depends on class k
 * alone is a problem of two classes with these offsets. So it is solved by the
 * same scans, sets and models, class after class, in turns (block coordinate
 * descent; the penalty is separable by class). A cycle is a turn of each class.
 * Between cycles the whole is evaluated, and glm_cycles.c continues from there.
 *
 * The certificate is that of the whole problem. With p the probabilities, Y the
 * labels' indicators and G = c (Y - Q), rows of Q in the simplex,
 *
 *     D(Q) = sum c_i H(q_i) - sum_k pen*(X'G_k),
 *
 * where with an intercept sum_i G_ik = 0. Q = Y + t (P - Y), t one number for
 * each label: the sums of G are 0 if t balances the labels, t_k sum_m A_km =
 * sum_l t_l A_lk, A_lk = sum c p_k over the rows of label l, and one factor for
 * all makes pen* finite. H(q) has the same form as for two classes, u = 1 -
 * p_label. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* ---- workers ------------------------------------------------------------- */

bool glm_is_joint(const glm_local *local)
{
    return local->problem.loss->joint && local->classes.n > 2;
}

static double *margins_of(const glm_local *local, uint64_t i)
{
    return local->margins + i * local->classes.n;
}

/* Above `shift` by more than this, odds are too large; sums of odds below
 * this are too inaccurate. */
#define EXPONENT_MAX 500
#define SUM_MIN 1e-250

static double *odds_of(const glm_local *local, uint64_t i)
{
    return local->odds + i * local->classes.n;
}

static void find_odds(glm_local *local, uint64_t i)
{
    const double *z = margins_of(local, i);
    double *odds = odds_of(local, i), most = z[0];

    for (uint32_t l = 1; l < local->classes.n; l++)
        most = z[l] > most ? z[l] : most;
    local->shift[i] = most;
    for (uint32_t l = 0; l < local->classes.n; l++)
        odds[l] = exp(z[l] - most);
}

/* log sum exp(z[l]) over all l except `but`. */
static double log_sum(const double *z, uint32_t n, uint32_t but)
{
    double most = -INFINITY, sum = 0;

    for (uint32_t l = 0; l < n; l++)
        most = l != but && z[l] > most ? z[l] : most;
    for (uint32_t l = 0; l < n; l++)
        sum += l != but ? exp(z[l] - most) : 0;
    return most + log(sum);
}

/* The same for row i, by its odds if they are accurate for it. */
static double log_sum_others(const glm_local *local, uint64_t i, uint32_t but)
{
    const double *odds = odds_of(local, i);
    double sum = 0;

    for (uint32_t l = 0; l < but; l++)
        sum += odds[l];
    for (uint32_t l = but + 1; l < local->classes.n; l++)
        sum += odds[l];
    return sum > SUM_MIN ? local->shift[i] + log(sum)
                         : log_sum(margins_of(local, i), local->classes.n, but);
}

static void keep_class_margins(glm_local *local)
{
    const uint32_t k = local->target;

    for (uint64_t i = 0; i < local->rows; i++) {
        const double z = local->z[i] - local->o[i];
        margins_of(local, i)[k] = z;
        if (z - local->shift[i] < EXPONENT_MAX)
            odds_of(local, i)[k] = exp(z - local->shift[i]);
        else
            find_odds(local, i);
    }
}

static void begin_turn(glm_local *local, const strads_share *share,
                       uint32_t target)
{
    local->target = target;
    for (uint64_t i = 0; i < local->rows; i++) {
        local->o[i] = -log_sum_others(local, i, target);
        local->z[i] = margins_of(local, i)[target] + local->o[i];
        local->y[i] = share->label[i] == local->classes.label[target] ? 1 : -1;
    }
}

/* Margins of class k, from the block's values; without values, at w = 0: the
 * best b there is the log of the class's share. */
static void find_margins(const strads_task *task, uint32_t k)
{
    glm_local *local = task->local;
    const linear_classes *classes = &local->classes;
    const uint32_t n = task->block.n;
    double b = 0;

    if (n == 0 && local->problem.options.intercept)
        b = log(classes->sum[k] / classes->total);
    if (n > local->columns)
        b = task->value[(size_t)local->columns * classes->n + k];
    for (uint64_t i = 0; i < local->rows; i++)
        local->z[i] = b;
    for (uint32_t j = 0; j < n && j < local->columns; j++) {
        const double w = task->value[(size_t)j * classes->n + k];
        const data_column x = column_view_of(&local->view, j);
        if (w != 0)
            local->kernels->add(&x, w, local->z);
    }
    for (uint64_t i = 0; i < local->rows; i++)
        margins_of(local, i)[k] = local->z[i];
}

strads_err glm_softmax_start(const strads_task *task)
{
    glm_local *local = task->local;
    const uint32_t n = local->classes.n;

    if (!local->margins) {
        local->margins = calloc(local->rows * n + 1, sizeof(double));
        local->odds = calloc(local->rows * n + 1, sizeof(double));
        local->shift = calloc(local->rows + 1, sizeof(double));
    }
    if (!local->margins || !local->odds || !local->shift)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %u margins of %llu rows", n,
                           (unsigned long long)local->rows);
    for (uint32_t k = 0; k < n; k++)
        find_margins(task, k);
    for (uint64_t i = 0; i < local->rows; i++)
        find_odds(local, i);
    linear_pending_forget(&local->pending); /* the values include it */
    begin_turn(local, task->share, 0);
    return STRADS_OK;
}

void glm_softmax_turn(glm_local *local, const strads_share *share,
                      uint32_t target)
{
    keep_class_margins(local);
    begin_turn(local, share, target);
}

/* Sums of an evaluation, behind the slopes of n parameters x k classes. */
typedef struct sums {
    logistic_side *side; /* [k], by the rows' label; `margin` is the entropy
                          * of the other classes minus loss_sum, `squares` sum c
                          * |Y - p|^2 */
    double *flow;        /* [k x k] A */
    double *wrong;       /* rows in which another class has the largest
                          * margin */
} sums;

static sums sums_of(const double *merged, uint32_t n, uint32_t k)
{
    double *at = (double *)(uintptr_t)merged + (size_t)n * k;

    return (sums){.side = (logistic_side *)(void *)at,
                  .flow = at + (size_t)k * LOGISTIC_SUMS,
                  .wrong = at + (size_t)k * (LOGISTIC_SUMS + k)};
}

size_t glm_certify_size(const strads_task *task)
{
    const size_t n = task->block.n, k = task->width;

    return n * k + k * LOGISTIC_SUMS + k * k + 1;
}

/* One row: puts probabilities into p, and adds to the sums of its label. */
static void add_row(const double *z, double c, uint32_t n, uint32_t label,
                    double *p, sums *out)
{
    logistic_side *side = &out->side[label];
    double most = z[0], others = 0, outer = 0, u = 0, squares = 0;
    bool wrong = false;

    for (uint32_t k = 0; k < n; k++) {
        most = fmax(most, z[k]);
        wrong = wrong || (k != label && z[k] >= z[label]);
    }
    *out->wrong += c > 0 && wrong;
    for (uint32_t k = 0; k < n; k++) {
        p[k] = exp(z[k] - most);
        others += k != label ? p[k] : 0;
    }
    const double sum = others + p[label];
    const double f = p[label] < 1 ? log(sum) + most - z[label] : log1p(others);
    for (uint32_t k = 0; k < n; k++) {
        p[k] /= sum;
        if (k == label)
            continue;
        outer += p[k] * (log(sum) + most - z[k]);
        squares += p[k] * p[k];
        u += p[k];
        out->flow[(size_t)label * n + k] += c * p[k];
    }
    side->loss += c * f;
    side->sum += c * u;
    side->loss_sum += c * u * f;
    side->margin += c * (outer - u * f);
    side->odds += c > 0 ? c * u * (u / p[label]) : 0;
    side->squares += c * (squares + u * u);
}

/* X'r and sum r of one class. */
static void add_up_slopes(const strads_task *task, uint32_t k, const double *r)
{
    const glm_local *local = task->local;

    for (uint32_t j = 0; j < task->block.n; j++) {
        double *sum = &task->partial[(size_t)j * task->width + k];
        if (j < local->columns) {
            const data_column x = column_view_of(&local->view, j);
            *sum = local->kernels->dot(&x, r);
            continue;
        }
        for (uint64_t i = 0; i < local->rows; i++)
            *sum += r[i];
    }
}

strads_err glm_update_certify(strads_task *task)
{
    glm_local *local = task->local;
    const uint32_t n = local->classes.n;
    double *r = calloc(local->rows * n + 1, sizeof(*r));
    sums out = sums_of(task->partial, task->block.n, n);
    double p[GLM_SOFTMAX_MAX];

    if (!r)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the slopes of %llu rows",
                           (unsigned long long)local->rows);
    glm_catch_up(local);
    keep_class_margins(local);
    for (uint64_t i = 0; i < local->rows; i++) {
        uint32_t label = 0;
        while (task->share->label[i] != local->classes.label[label])
            label++;
        add_row(margins_of(local, i), local->c[i], n, label, p, &out);
        for (uint32_t l = 0; l < n; l++)
            r[l * local->rows + i] = local->c[i] * ((l == label) - p[l]);
    }
    for (uint32_t l = 0; l < n; l++)
        add_up_slopes(task, l, r + l * local->rows);
    free(r);
    return STRADS_OK;
}

/* ---- the coordinator: the certificate ------------------------------------ */

/* The balance t of flows A [k x k], at most 1: Grassmann, Taksar and
 * Heyman's elimination, which does no subtractions. Changes A. */
static void balance_flows(uint32_t k, double *flow, double *t)
{
    double most = 0;

    for (uint32_t n = k - 1; n > 0; n--) {
        double out = 0;
        for (uint32_t j = 0; j < n; j++)
            out += flow[(size_t)n * k + j];
        for (uint32_t i = 0; i < n; i++) {
            flow[(size_t)i * k + n] /= out;
            for (uint32_t j = 0; j < n; j++)
                if (i != j)
                    flow[(size_t)i * k + j] +=
                        flow[(size_t)i * k + n] * flow[(size_t)n * k + j];
        }
    }
    t[0] = 1;
    for (uint32_t n = 1; n < k; n++) {
        t[n] = 0;
        for (uint32_t i = 0; i < n; i++)
            t[n] += t[i] * flow[(size_t)i * k + n];
    }
    for (uint32_t n = 0; n < k; n++)
        most = fmax(most, t[n]);
    for (uint32_t n = 0; n < k; n++)
        t[n] = most > 0 && isfinite(most) ? t[n] / most : 0;
}

/* An evaluation of the whole at the coordinator. */
typedef struct evaluation {
    const strads_commit *commit;
    sums of;
    double loss, square;             /* sum c f, sum c |Y - p|^2 */
    double balance[GLM_SOFTMAX_MAX]; /* t by label */
    double slope_error; /* rounding error of slopes, by t, in units of their
                         * columns' norms */
} evaluation;

static evaluation evaluate_softmax(const strads_commit *commit)
{
    const glm_state *state = commit->state;
    const uint32_t k = state->width;
    evaluation e = {.commit = commit,
                    .of = sums_of(commit->partial, commit->block.n, k)};

    for (uint32_t n = 0; n < k; n++) {
        e.balance[n] = 1;
        e.loss += e.of.side[n].loss;
        e.square += e.of.side[n].squares;
    }
    if (!state->problem.options.intercept)
        return e;
    balance_flows(k, e.of.flow, e.balance);
    for (uint32_t n = 0; n < k; n++)
        e.slope_error += (1 - e.balance[n]) * sqrt(e.of.side[n].squares);
    return e;
}

/* Takes w and slopes of one class, as after a scan. */
static void take_class(glm_state *state, const evaluation *e, uint32_t k)
{
    const size_t width = state->width;

    state->target = k;
    for (uint32_t j = 0; j < e->commit->block.n; j++) {
        state->slope[j] = e->commit->partial[j * width + k];
        if (j < state->columns)
            state->w[j] = e->commit->value[j * width + k];
        else
            state->b[k] = e->commit->value[j * width + k];
    }
    glm_find_active(state);
}

/* The same, with slopes at least as steep as those of the balanced dual
 * point: with its intercept, columns are as good as centred. */
static void take_balanced(glm_state *state, const evaluation *e, uint32_t k)
{
    take_class(state, e, k);
    if (!state->problem.options.intercept)
        return;
    const double level = state->slope[state->columns];
    for (uint64_t j = 0; j < state->columns; j++) {
        const double mean = state->mean[j];
        const double centred = state->norm[j] - state->weight * mean * mean;
        const double slope = state->slope[j] - mean * level;
        state->slope[j] =
            slope + copysign(e->slope_error * sqrt(fmax(centred, 0)), slope);
    }
    glm_find_active(state);
}

static double softmax_dual(glm_state *state, const evaluation *e, double t)
{
    double sum = 0;

    for (uint32_t k = 0; k < state->width; k++) {
        take_balanced(state, e, k);
        sum += logistic_entropy(&e->of.side[k], t * e->balance[k]) -
               glm_conjugates(state, t);
    }
    return sum;
}

/* P and D of the whole. */
static void certify_whole(glm_state *state, const evaluation *e)
{
    const bool tangent = state->problem.penalty->tangent != NULL;
    glm_joint *joint = &state->joint;
    double widest = 1, tight = 1, violation = 0, gained = 0, rounding = 0;

    joint->primal = e->loss;
    joint->nonzeros = 0;
    for (uint32_t k = 0; k < state->width; k++) {
        if (tangent) {
            take_class(state, e, k);
            violation = fmax(violation, glm_worst_violation(state, e->square));
        } else {
            take_balanced(state, e, k);
        }
        const glm_totals sum = glm_add_up(state);
        joint->primal += sum.penalty;
        rounding += tangent ? 0 : glm_rounding(state, e->square, sum.penalty);
        joint->nonzeros += state->nonzeros;
        widest = fmin(widest, sum.widest);
        tight = fmin(tight, sum.tight);
    }
    joint->null = state->weight * log(state->width);
    if (!tangent) {
        double dual = fmax(softmax_dual(state, e, widest), 0);
        if (tight < widest)
            dual = fmax(dual, softmax_dual(state, e, tight));
        gained = fmax(dual - joint->dual, 0);
        joint->dual =
            glm_has_free_columns(state) ? dual : fmax(dual, joint->dual);
        violation = glm_excess(joint->primal, joint->dual) /
                    fmax(joint->primal, GLM_LEAST * joint->null);
    }
    if (!(rounding <= GLM_ROUNDING_MIN * joint->primal))
        violation += rounding / joint->primal;
    joint->gap = joint->primal <= GLM_NOTHING * joint->null ? 0 : violation;
    linear_watch_scan(&joint->watch, joint->primal, gained);
    state->separable = glm_is_separable_softmax(state, *e->of.wrong);
    joint->watch.stalled = joint->watch.stalled || state->separable;
}

/* ---- the coordinator: next phase ----------------------------------------- */

/* The first evaluation is at w = 0; its slopes give lambda_max. Returns true
 * if the model starts elsewhere. */
static bool begin_model(glm_state *state, const evaluation *e)
{
    const strads_commit *commit = e->commit;
    bool starts = state->problem.options.start_intercept != NULL;
    double critical = 0;

    state->joint.began = true;
    for (uint32_t k = 0; k < state->width; k++) {
        take_class(state, e, k);
        critical = fmax(critical, glm_critical(state, e->square));
    }
    if (!state->problem.penalty->off)
        glm_find_lambda(state, critical);
    for (size_t k = 0; k < state->columns * state->width; k++)
        starts = starts || commit->value[k] != 0;
    return starts;
}

strads_err glm_aggregate_certify(strads_commit *commit)
{
    glm_state *state = commit->state;
    const evaluation e = evaluate_softmax(commit);

    if (!state->joint.began && begin_model(state, &e)) {
        state->next = GLM_TO_TARGET;
        return STRADS_OK;
    }
    certify_whole(state, &e);
    if (!isfinite(state->joint.primal))
        return strads_fail(STRADS_EPROGRAM,
                           "the sum of the losses overflows: scale the columns "
                           "down");
    state->joint.certified = true;
    /* A run that ends here keeps the certified model. */
    const bool over =
        state->joint.gap <= commit->tolerance || state->joint.watch.stalled;
    state->next =
        !over && glm_cycles_next(commit) ? GLM_TO_TARGET : GLM_TO_ROWS;
    state->target = 0;
    glm_begin_problem(state);
    return STRADS_OK;
}

void glm_softmax_next(glm_state *state)
{
    if (state->target + 1 == state->width) {
        state->next = GLM_TO_CERTIFY;
        return;
    }
    state->target++;
    glm_begin_problem(state);
    state->next = GLM_TO_ROWS;
}
