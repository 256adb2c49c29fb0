#include "linear_evaluate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NORMAL_95 1.959963984540054

/* Both measures are functions of means. By the delta method their variance
 * is that of each row's influence: of e^2 on MSE, and of (e^2 - MSE / V d^2) /
 * V on R2 = 1 - MSE / V, where d = y - mean(y). No distribution of errors is
 * assumed. */
linear_errors linear_evaluate_numbers(uint64_t n, const double *predicted,
                                      const double *label)
{
    const double rows = (double)n;
    double shift = 0, squares = 0, spread = 0, absolute = 0;
    double of_squares = 0, of_r2 = 0;

    /* Shifts by the first label, so that equal labels have exactly no
     * variance. */
    for (uint64_t i = 0; i < n; i++)
        shift += (label[i] - label[0]) / rows;
    const double mean = label[0] + shift;
    for (uint64_t i = 0; i < n; i++) {
        const double e = label[i] - predicted[i], d = label[i] - mean;
        squares += e * e / rows;
        spread += d * d / rows;
        absolute += fabs(e) / rows;
    }
    for (uint64_t i = 0; i < n; i++) {
        const double e = label[i] - predicted[i], d = label[i] - mean;
        const double u = e * e - squares;
        const double v = (e * e - squares / spread * d * d) / spread;
        of_squares += u * u / rows;
        of_r2 += v * v / rows;
    }
    const linear_interval none = {NAN, NAN, NAN};
    const double reach = NORMAL_95 * sqrt(of_squares / rows);
    const double reach_r2 = NORMAL_95 * sqrt(of_r2 / rows);
    const double r2 = 1 - squares / spread;
    linear_errors errors = {.rmse = {sqrt(squares), NAN, NAN},
                            .r2 = none,
                            .absolute = absolute};
    if (n > 1) {
        errors.rmse.low = sqrt(fmax(squares - reach, 0));
        errors.rmse.high = sqrt(squares + reach);
    }
    if (spread > 0)
        errors.r2 =
            (linear_interval){r2, r2 - reach_r2, fmin(r2 + reach_r2, 1)};
    return errors;
}

linear_interval linear_evaluate_share(uint64_t right, uint64_t n)
{
    const double rows = (double)n, z = NORMAL_95 * NORMAL_95;
    const double p = (double)right / rows;
    const double middle = (p + z / (2 * rows)) / (1 + z / rows);
    const double reach = NORMAL_95 / (1 + z / rows) *
                         sqrt(p * (1 - p) / rows + z / (4 * rows * rows));

    return (linear_interval){p, fmax(middle - reach, 0),
                             fmin(middle + reach, 1)};
}

typedef struct scored {
    double score;
    unsigned char is_class;
} scored;

static int by_score(const void *a, const void *b)
{
    const double u = ((const scored *)a)->score, v = ((const scored *)b)->score;

    return (u > v) - (u < v);
}

/* Rows with one score on each side, and those below it. */
typedef struct tie {
    double here[2], below[2]; /* others, members */
} tie;

/* For each row, the share of the other side that is in the right order with
 * it: sums and sums of squares, for others and members. */
typedef struct placements {
    double n[2], sum[2], squares[2];
} placements;

static void place_ties(placements *p, const tie *t, const double all[2])
{
    for (int side = 0; side < 2; side++) {
        const int other = 1 - side;
        const double below =
            (t->below[other] + t->here[other] / 2) / all[other];
        const double share = side ? below : 1 - below;
        p->n[side] += t->here[side];
        p->sum[side] += t->here[side] * share;
        p->squares[side] += t->here[side] * share * share;
    }
}

/* The variance of the mean of a side's placements. */
static double variance_of(const placements *p, int side)
{
    const double n = p->n[side], mean = p->sum[side] / n;

    return fmax(p->squares[side] / n - mean * mean, 0) / fmax(n - 1, 1);
}

linear_interval linear_evaluate_auc(uint64_t n, const double *score,
                                    const unsigned char *is_class)
{
    scored *sorted = malloc((n + 1) * sizeof(*sorted));
    double all[2] = {0, 0};
    placements p = {0};
    tie t = {0};

    for (uint64_t i = 0; i < n; i++)
        all[is_class[i] != 0]++;
    if (!sorted || all[0] == 0 || all[1] == 0) {
        free(sorted);
        return (linear_interval){NAN, NAN, NAN};
    }
    for (uint64_t i = 0; i < n; i++)
        sorted[i] = (scored){score[i], is_class[i]};
    qsort(sorted, n, sizeof(*sorted), by_score);
    for (uint64_t i = 0, k = 0; i < n; i = k) {
        t.here[0] = t.here[1] = 0;
        for (; k < n && sorted[k].score == sorted[i].score; k++)
            t.here[sorted[k].is_class != 0]++;
        place_ties(&p, &t, all);
        t.below[0] += t.here[0];
        t.below[1] += t.here[1];
    }
    free(sorted);
    const double area = p.sum[1] / all[1];
    const double reach =
        NORMAL_95 * sqrt(variance_of(&p, 0) + variance_of(&p, 1));
    return (linear_interval){area, fmax(area - reach, 0),
                             fmin(area + reach, 1)};
}

linear_interval linear_evaluate_mean(uint64_t n, double sum, double squares)
{
    const double rows = (double)n, mean = sum / rows;
    const double reach =
        n > 1 ? NORMAL_95 *
                    sqrt(fmax(squares / rows - mean * mean, 0) / (rows - 1))
              : NAN;

    return (linear_interval){mean, mean - reach, mean + reach};
}

/* Of the rows that have the class or were assigned to it, a share J is both,
 * and F1 = 2 J / (1 + J) increases with it. */
static double f1_of(double share)
{
    return 2 * share / (1 + share);
}

linear_interval linear_evaluate_f1(uint64_t both, uint64_t given, uint64_t rows)
{
    const uint64_t either = given + rows - both;
    const linear_interval share = linear_evaluate_share(both, either);

    if (either == 0)
        return (linear_interval){NAN, NAN, NAN};
    return (linear_interval){f1_of(share.value), f1_of(share.low),
                             f1_of(share.high)};
}

/* ---- times --------------------------------------------------------------- */

typedef struct timed {
    double time, score;
    bool event;
    uint64_t rank; /* of the score, from 1; equal for equal scores */
} timed;

static int by_timed_score(const void *a, const void *b)
{
    const double x = ((const timed *)a)->score, y = ((const timed *)b)->score;

    return (x > y) - (x < y);
}

/* The latest first; at one time rows without an event. */
static int by_time_and_event(const void *a, const void *b)
{
    const timed *x = a, *y = b;

    return x->time != y->time ? (x->time < y->time) - (x->time > y->time)
                              : x->event - y->event;
}

/* Counts ranks up to `rank` in a Fenwick tree. */
static double count_ranks(const double *tree, uint64_t rank)
{
    double sum = 0;

    for (; rank > 0; rank &= rank - 1)
        sum += tree[rank];
    return sum;
}

static void add_rank(double *tree, uint64_t n, uint64_t rank)
{
    for (; rank <= n; rank += rank & (~rank + 1))
        tree[rank]++;
}

double linear_evaluate_concordance(uint64_t n, const double *score,
                                   const double *time)
{
    timed *row = malloc((n + 1) * sizeof(*row));
    double *tree = calloc(n + 1, sizeof(*tree));
    double right = 0, pairs = 0;
    uint64_t later = 0; /* rows in the tree */

    for (uint64_t i = 0; i < n && row && tree; i++)
        row[i] = (timed){fabs(time[i]), score[i], !signbit(time[i]), 0};
    if (row && tree)
        qsort(row, n, sizeof(*row), by_timed_score);
    for (uint64_t i = 0; i < n && row && tree; i++)
        row[i].rank =
            i > 0 && row[i].score == row[i - 1].score ? row[i - 1].rank : i + 1;
    if (row && tree)
        qsort(row, n, sizeof(*row), by_time_and_event);
    for (uint64_t i = 0, end; i < n && row && tree; i = end) {
        for (end = i; end < n && row[end].time == row[i].time &&
                      row[end].event == row[i].event;
             end++)
            ;
        for (uint64_t k = i; k < end && row[k].event; k++) {
            const double below = count_ranks(tree, row[k].rank - 1);
            right += (below + count_ranks(tree, row[k].rank)) / 2;
            pairs += (double)later;
        }
        for (uint64_t k = i; k < end; k++)
            add_rank(tree, n, row[k].rank);
        later += end - i;
    }
    free(row);
    free(tree);
    return pairs > 0 ? right / pairs : NAN;
}
