/* Several labels at once: P(class k) = exp(z_k) / sum_l exp(z_l), the softmax.
 *
 *     P(W, b) = sum c_i (log sum_l exp(z_il) - z_i,label)
 *               + sum_k (L1 sum s_j |w_jk| + L2/2 sum s_j^2 w_jk^2)
 *
 * With o_i = log sum_{l != k} exp(z_il), what depends on class k alone is a
 * problem of two classes, sum c_i f(y_i (z_ik - o_i)): so it is solved by the
 * same scans, sets and models as those, class after class, turn after turn
 * (block coordinate descent; the penalty falls apart by class). Where a turn
 * begins, the worker's z is z_k - o.
 *
 * The certificate is the whole problem's. With p the probabilities, Y the
 * labels' indicators and G = c (Y - Q), rows of Q of the simplex,
 *
 *     D(Q) = sum c_i H(q_i) - sum_kj (|x_j' G_k| / s_j - L1)_+^2 / (2 L2),
 *
 * without L2 every |x_j' G_k| <= L1 s_j, and with an intercept sum_i G_ik = 0.
 * As in logistic_certificate.c Q = Y + t (P - Y), t one number for each label:
 * the sums of G are 0 where t is in balance between the labels,
 * t_k sum_m A_km = sum_l t_l A_lk, A_lk = sum c p_k over the rows of label l,
 * and one factor for all makes the columns feasible. H(q) has the form that it
 * has for two classes, u = 1 - p_label. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "logistic_parts.h"

bool logistic_is_softmax(const strads_logistic_options *options, uint32_t width)
{
    return width > 1 && options->multiclass &&
           strcmp(options->multiclass, "softmax") == 0;
}

/* ---- workers ----------------------------------------------------------- */

static double *margins_of(const logistic_local *local, uint64_t i)
{
    return local->all + i * local->classes.n;
}

/* log sum exp(z[l]) over l other than `but`. */
static double log_sum(const double *z, uint32_t n, uint32_t but)
{
    double most = -INFINITY, sum = 0;

    for (uint32_t l = 0; l < n; l++)
        most = l != but && z[l] > most ? z[l] : most;
    for (uint32_t l = 0; l < n; l++)
        sum += l != but ? exp(z[l] - most) : 0;
    return most + log(sum);
}

static void keep_margins(logistic_local *local)
{
    for (uint64_t i = 0; i < local->rows; i++)
        margins_of(local, i)[local->target] = local->z[i] + local->offset[i];
}

static void begin_turn(logistic_local *local, const strads_share *share,
                       uint32_t target)
{
    local->target = target;
    for (uint64_t i = 0; i < local->rows; i++) {
        const double *z = margins_of(local, i);
        local->offset[i] = log_sum(z, local->classes.n, target);
        local->z[i] = z[target] - local->offset[i];
        local->y[i] = share->label[i] == local->classes.label[target] ? 1 : -1;
    }
}

/* A start's part of the margins; z is room. */
static void add_start(const strads_task *task)
{
    logistic_local *local = task->local;
    const uint32_t n = local->classes.n;

    for (uint32_t k = 0; k < n; k++) {
        memset(local->z, 0, local->rows * sizeof(*local->z));
        for (uint32_t j = 0; j < local->columns; j++) {
            const double w = task->value[(size_t)j * n + k];
            const data_column x = data_column_of(task->share, j);
            if (w != 0)
                local->kernels->add(&x, w, local->z);
        }
        for (uint64_t i = 0; i < local->rows; i++)
            margins_of(local, i)[k] += local->z[i];
    }
}

strads_err logistic_softmax_start(const strads_task *task)
{
    logistic_local *local = task->local;
    const uint32_t n = local->classes.n;
    const size_t at = (size_t)local->columns * n;
    const strads_logistic_options *options = task->config;

    if (!local->all)
        local->all = calloc(local->rows * n + 1, sizeof(double));
    if (!local->offset)
        local->offset = calloc(local->rows + 1, sizeof(double));
    if (!local->all || !local->offset)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %u margins of %llu rows", n,
                           (unsigned long long)local->rows);
    memset(local->all, 0, local->rows * n * sizeof(double));
    for (uint64_t i = 0; i < local->rows && options->intercept; i++)
        memcpy(margins_of(local, i), task->value + at, n * sizeof(double));
    add_start(task);
    linear_pending_forget(&local->pending); /* b and w, as committed */
    begin_turn(local, task->share, 0);
    return STRADS_OK;
}

/* y c and z of each row, of the class whose turn it is. */
void logistic_softmax_turn(strads_task *task)
{
    logistic_local *local = task->local;

    logistic_catch_up(local, task->share);
    keep_margins(local);
    begin_turn(local, task->share,
               (uint32_t)(task->block.id - LOGISTIC_TURN_ID));
    for (uint64_t i = 0; i < local->rows; i++) {
        task->partial[2 * i] = local->y[i] * local->c[i];
        task->partial[2 * i + 1] = local->z[i];
    }
    task->partial_bytes = 2 * local->rows * sizeof(double);
}

/* What a judgement adds up behind the slopes of n columns x k classes. */
typedef struct verdict {
    logistic_side *side; /* [k], by the rows' label; `margin` is the entropy of
                            the other classes less loss_sum, `squares` sum c
                            |Y - p|^2 */
    double *flow;        /* [k x k] A */
} verdict;

static size_t sides_at(uint32_t columns, uint32_t k)
{
    return (size_t)columns * k;
}

static verdict verdict_of(const double *merged, uint32_t columns, uint32_t k)
{
    double *at = (double *)(uintptr_t)merged + sides_at(columns, k);

    return (verdict){.side = (logistic_side *)(void *)at,
                     .flow = at + k * (sizeof(logistic_side) / sizeof(*at))};
}

size_t logistic_judge_size(uint32_t columns, uint32_t k)
{
    return sides_at(columns, k) + k * (sizeof(logistic_side) / sizeof(double)) +
           (size_t)k * k;
}

/* One row: probabilities into p, sums of its label. */
static void judge_row(const double *z, double c, uint32_t n, uint32_t label,
                      double *p, verdict *out)
{
    logistic_side *side = &out->side[label];
    double most = z[0], others = 0, outer = 0, u = 0, squares = 0;

    for (uint32_t k = 1; k < n; k++)
        most = fmax(most, z[k]);
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

strads_err logistic_judge(strads_task *task)
{
    logistic_local *local = task->local;
    const uint32_t k = local->classes.n, n = task->block.n;
    double *r = calloc(local->rows * k + 1, sizeof(*r));
    verdict out = verdict_of(task->partial, n, k);
    double p[LINEAR_LABELS_MAX];

    if (!r)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the slopes of %llu rows",
                           (unsigned long long)local->rows);
    logistic_catch_up(local, task->share);
    keep_margins(local);
    for (uint64_t i = 0; i < local->rows; i++) {
        uint32_t label = 0;
        while (task->share->label[i] != local->classes.label[label])
            label++;
        judge_row(margins_of(local, i), local->c[i], k, label, p, &out);
        for (uint32_t l = 0; l < k; l++)
            r[l * local->rows + i] = local->c[i] * ((l == label) - p[l]);
    }
    for (uint32_t j = 0; j < n; j++) {
        const data_column x =
            data_column_of(task->share, strads_block_param(&task->block, j));
        for (uint32_t l = 0; l < k; l++)
            task->partial[(size_t)j * k + l] =
                local->kernels->dot(&x, r + l * local->rows);
    }
    free(r);
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

double logistic_softmax_intercept(const logistic_state *state, uint32_t k)
{
    const double *start = state->options.start_intercept;

    return start ? start[k] : log(state->classes.sum[k] / state->classes.total);
}

/* After a class has been told of a change between laps. */
static void next_telling(logistic_state *state)
{
    state->next = LOGISTIC_TO_ROWS;
    if (++state->target < state->width)
        return;
    state->target = 0;
    state->laps.telling = false;
}

strads_err logistic_softmax_rows(strads_commit *commit)
{
    logistic_state *state = commit->state;
    linear_set *set = &state->set;

    if (commit->partial_bytes != 2 * set->n_rows * sizeof(double))
        return strads_fail(STRADS_EPEER,
                           "the rows that a worker sent do not fit the data: a "
                           "node runs another version or is broken");
    for (uint64_t i = 0; i < set->n_rows; i++) {
        set->y[i] = copysign(1, commit->partial[2 * i]);
        set->c[i] = fabs(commit->partial[2 * i]);
        set->z[i] = commit->partial[2 * i + 1];
    }
    if (!state->laps.telling)
        return STRADS_OK;
    const strads_err err = logistic_laps_tell(commit);
    next_telling(state);
    return err;
}

/* The balance t of flows A [k x k], at most 1: Grassmann, Taksar and Heyman's
 * elimination, which subtracts nothing. Changes A. */
static void balance(uint32_t k, double *flow, double *t)
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

/* What the columns say: the steepest, the penalties, and the excess over L1. */
typedef struct columns_sum {
    double steepest, excess, penalty;
    uint64_t nonzeros;
} columns_sum;

static columns_sum look_at_columns(const strads_commit *commit,
                                   const double *level, double drift)
{
    const logistic_state *state = commit->state;
    const uint32_t k = state->width;
    columns_sum sum = {0};

    for (uint32_t c = 0; c < commit->block.n; c++) {
        const uint32_t j = strads_block_param(&commit->block, c);
        const double s = state->scale[j];
        for (uint32_t l = 0; l < k; l++) {
            const double slope =
                commit->partial[(size_t)c * k + l] - state->mean[j] * level[l];
            const double w = s * commit->value[(size_t)c * k + l];
            const double steep =
                (fabs(slope) + drift * sqrt(state->norm[j])) / s;
            const double over = fmax(steep - state->l1, 0);
            sum.steepest = fmax(sum.steepest, steep);
            sum.excess += over * over;
            sum.penalty += state->l1 * fabs(w) + state->l2 / 2 * w * w;
            sum.nonzeros += w != 0;
        }
    }
    return sum;
}

/* Where an intercept asks for it: t, the sums of Y - p by class, and how far t
 * moves a column's slope in units of its norm. */
static double make_fair(const logistic_state *state, const verdict *v,
                        double *t, double *level)
{
    const uint32_t k = state->width;
    double drift = 0;

    for (uint32_t l = 0; l < k; l++) {
        t[l] = 1;
        level[l] = state->options.intercept ? v->side[l].sum : 0;
        for (uint32_t m = 0; m < k && state->options.intercept; m++)
            level[l] -= m != l ? v->flow[(size_t)m * k + l] : 0;
    }
    if (!state->options.intercept)
        return 0;
    balance(k, v->flow, t);
    for (uint32_t l = 0; l < k; l++)
        drift += (1 - t[l]) * sqrt(v->side[l].squares);
    return drift;
}

static double entropies(uint32_t k, const verdict *v, const double *fair,
                        double t)
{
    double sum = 0;

    for (uint32_t l = 0; l < k; l++)
        sum += logistic_entropy(&v->side[l], t * fair[l]);
    return sum;
}

strads_err logistic_aggregate_judge(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const uint32_t k = state->width;
    double fair[LINEAR_LABELS_MAX], level[LINEAR_LABELS_MAX], loss = 0;
    const verdict v = verdict_of(commit->partial, commit->block.n, k);

    const double drift = make_fair(state, &v, fair, level);
    const columns_sum sum = look_at_columns(commit, level, drift);
    for (uint32_t l = 0; l < k; l++)
        loss += v.side[l].loss;
    const double primal = loss + sum.penalty;
    const double t = sum.steepest > state->l1 ? state->l1 / sum.steepest : 1;
    double dual = entropies(k, &v, fair, t);
    if (state->l2 > 0)
        dual = fmax(dual,
                    entropies(k, &v, fair, 1) - sum.excess / (2 * state->l2));
    if (!isfinite(primal))
        return strads_fail(STRADS_EPROGRAM,
                           "the sum of the losses overflows: scale the columns "
                           "down");
    linear_watch_scan(&state->judged.watch, primal,
                      fmax(dual - state->judged.dual, 0));
    state->judged.primal = primal;
    state->judged.dual = fmax(state->judged.dual, dual);
    state->judged.nonzeros = sum.nonzeros;
    logistic_laps_judge(state, commit);
    state->target = 0;
    logistic_begin_problem(state);
    state->next = LOGISTIC_TO_ROWS;
    return STRADS_OK;
}

/* After a class's turn. */
void logistic_softmax_next(logistic_state *state)
{
    if (state->target + 1 == state->width) {
        state->next = LOGISTIC_TO_JUDGE;
        return;
    }
    state->target++;
    logistic_begin_problem(state);
    state->next = LOGISTIC_TO_ROWS;
}
