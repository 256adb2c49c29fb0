/* The loops of normal equations against sums and solutions in f64, with
 * every kernel table that this processor supports. */
#include "apps/mf/mf_equations.h"

#include <criterion/criterion.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/policy.h"

enum { ROWS = 50, RATINGS = 700, STRIDE = 48, ALIGN = 64 };

static float *floats(size_t n)
{
    float *x = aligned_alloc(ALIGN, (sizeof *x * n + ALIGN) / ALIGN * ALIGN);
    return memset(x, 0, sizeof *x * n);
}

static float draw(uint64_t what, uint64_t k)
{
    return (float)(strads_random_unit(3, what, k, 0) - .5);
}

/* Ratings of one row. */
typedef struct trial {
    mf_line line;
    float *factor, *target, *weight;
    uint32_t index[RATINGS];
} trial;

static trial *new_trial(uint32_t n, bool weighted)
{
    trial *t = calloc(1, sizeof *t);
    t->factor = floats(ROWS * STRIDE);
    t->target = floats(RATINGS);
    t->weight = floats(RATINGS);
    for (size_t k = 0; k < ROWS * STRIDE; k++)
        t->factor[k] = draw(1, k);
    for (size_t k = 0; k < RATINGS; k++) {
        t->index[k] = (uint32_t)((draw(2, k) + .5F) * ROWS);
        t->target[k] = draw(3, k);
        t->weight[k] = draw(4, k) + 1;
    }
    t->line = (mf_line){.factor = t->factor,
                        .stride = STRIDE,
                        .n = n,
                        .index = t->index,
                        .target = t->target,
                        .weight = weighted ? t->weight : NULL};
    return t;
}

static void free_trial(trial *t)
{
    free(t->factor);
    free(t->target);
    free(t->weight);
    free(t);
}

static double weight_of(const mf_line *line, uint32_t k)
{
    return line->weight ? (double)line->weight[k] : 1;
}

static void check_gather(const mf_equations *eq, const mf_line *line,
                         uint32_t from, uint32_t width)
{
    float *matrix = floats((size_t)width * width), *side = floats(width);
    eq->gather(line, from, width, matrix, side);
    mf_equations_mirror(width, matrix);
    for (uint32_t i = 0; i < width; i++) {
        double right = 0;
        for (uint32_t j = 0; j < width; j++) {
            double sum = 0;
            for (uint32_t k = 0; k < line->n; k++) {
                const float *q = line->factor + line->index[k] * STRIDE + from;
                sum += weight_of(line, k) * (double)q[i] * (double)q[j];
                if (j == 0)
                    right += (double)line->target[k] * (double)q[i];
            }
            cr_assert_float_eq((double)matrix[i * width + j], sum,
                               1e-5 * (1 + line->n / 10.));
        }
        cr_assert_float_eq((double)side[i], right, 1e-5 * (1 + line->n / 10.));
    }
    free(matrix);
    free(side);
}

static void check_subtract(const mf_equations *eq, const mf_line *line,
                           uint32_t from, uint32_t width)
{
    float *row = floats(width), *error = floats(RATINGS);
    for (uint32_t k = 0; k < width; k++)
        row[k] = draw(5, k);
    memcpy(error, line->target, sizeof *error * line->n);
    eq->subtract(line, from, width, row, error);
    for (uint32_t k = 0; k < line->n; k++) {
        const float *q = line->factor + line->index[k] * STRIDE + from;
        double sum = 0;
        for (uint32_t j = 0; j < width; j++)
            sum += (double)q[j] * (double)row[j];
        cr_assert_float_eq((double)error[k],
                           (double)line->target[k] - weight_of(line, k) * sum,
                           1e-5);
    }
    free(row);
    free(error);
}

static void check_sums(const mf_equations *eq)
{
    const uint32_t lengths[] = {0, 1, 15, 17, 256, 257, RATINGS};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        for (int weighted = 0; weighted < 2; weighted++) {
            trial *t = new_trial(lengths[k], weighted);
            check_gather(eq, &t->line, 0, STRIDE);
            check_gather(eq, &t->line, MF_TILE, MF_TILE);
            check_subtract(eq, &t->line, 0, STRIDE);
            check_subtract(eq, &t->line, 2 * MF_TILE, MF_TILE);
            free_trial(t);
        }
    }
}

/* A matrix of width n from as many ratings as `line` has, with the penalty
 * added. */
static float *matrix_of(const mf_equations *eq, uint32_t ratings, float penalty,
                        float *side)
{
    trial *t = new_trial(ratings, false);
    float *matrix = floats(STRIDE * STRIDE);
    eq->gather(&t->line, 0, STRIDE, matrix, side);
    for (uint32_t k = 0; k < STRIDE; k++)
        matrix[k * (STRIDE + 1)] += penalty;
    free_trial(t);
    return matrix;
}

static void check_solve(const mf_equations *eq)
{
    float *side = floats(STRIDE);
    float *matrix = matrix_of(eq, RATINGS, .5F, side);
    gsl_matrix *a = gsl_matrix_alloc(STRIDE, STRIDE);
    gsl_vector *b = gsl_vector_alloc(STRIDE);
    mf_equations_mirror(STRIDE, matrix);
    for (size_t i = 0; i < STRIDE; i++) {
        gsl_vector_set(b, i, (double)side[i]);
        for (size_t j = 0; j < STRIDE; j++)
            gsl_matrix_set(a, i, j, (double)matrix[i * STRIDE + j]);
    }
    cr_assert_eq(gsl_linalg_cholesky_decomp1(a), 0);
    cr_assert_eq(gsl_linalg_cholesky_svx(a, b), 0);
    eq->solve(STRIDE, matrix, side);
    for (size_t i = 0; i < STRIDE; i++)
        cr_assert_float_eq((double)side[i], gsl_vector_get(b, i), 2e-5);
    gsl_matrix_free(a);
    gsl_vector_free(b);
    free(matrix);
    free(side);
}

/* Fewer ratings than factors, and no penalty: any solution, but no NaN. */
static void check_singular(const mf_equations *eq)
{
    float *side = floats(STRIDE), *x = floats(STRIDE);
    float *matrix = matrix_of(eq, 20, 0, side);
    float *kept = floats(STRIDE * STRIDE);
    mf_equations_mirror(STRIDE, matrix);
    memcpy(kept, matrix, sizeof *kept * STRIDE * STRIDE);
    memcpy(x, side, sizeof *x * STRIDE);
    eq->solve(STRIDE, matrix, x);
    for (size_t i = 0; i < STRIDE; i++) {
        double sum = 0;
        for (size_t j = 0; j < STRIDE; j++)
            sum += (double)kept[i * STRIDE + j] * (double)x[j];
        cr_assert_float_eq(sum, (double)side[i], 2e-2);
    }
    free(kept);
    free(matrix);
    free(side);
    free(x);
}

/* The KKT conditions: x >= 0, slope >= 0, and one of both is 0. */
static void check_nonnegative(const mf_equations *eq)
{
    float *side = floats(STRIDE), *slope = floats(STRIDE), *x = floats(STRIDE);
    float *matrix = matrix_of(eq, RATINGS, .5F, side);
    uint32_t zeros = 0;
    mf_equations_mirror(STRIDE, matrix);
    eq->solve_nonnegative(STRIDE, matrix, side, slope, x);
    for (size_t i = 0; i < STRIDE; i++) {
        double sum = -(double)side[i];
        for (size_t j = 0; j < STRIDE; j++)
            sum += (double)matrix[i * STRIDE + j] * (double)x[j];
        cr_assert_float_eq((double)slope[i], sum, 1e-4, "the slope itself");
        cr_assert_geq(x[i], 0);
        cr_assert_geq(sum, -1e-4);
        if (x[i] > 0)
            cr_assert_float_eq(sum, 0, 1e-4);
        else
            zeros++;
    }
    cr_expect(zeros > 0 && zeros < STRIDE, "%u zeros: no trial", zeros);
    free(matrix);
    free(side);
    free(slope);
    free(x);
}

/* out += sum (t - weight q'x) q, and the sum of t q'x. */
static void check_pull(const mf_equations *eq, uint32_t n, bool targets)
{
    trial *t = new_trial(n, true);
    float *x = floats(STRIDE), *out = floats(STRIDE);
    double wanted[STRIDE], side = 0;
    for (uint32_t j = 0; j < STRIDE; j++) {
        x[j] = draw(6, j);
        wanted[j] = (double)(out[j] = draw(7, j));
    }
    for (uint32_t k = 0; k < n; k++) {
        const float *q = t->factor + (size_t)t->index[k] * STRIDE;
        double dot = 0;
        if (k % 3 == 2)
            t->weight[k] = 0;
        for (uint32_t j = 0; j < STRIDE; j++)
            dot += (double)q[j] * (double)x[j];
        const double w = (double)t->weight[k];
        const double target = targets && w > 0 ? 1 + w : 0;
        side += target * dot;
        for (uint32_t j = 0; j < STRIDE; j++)
            wanted[j] += (target - w * dot) * (double)q[j];
    }
    const double found = eq->pull(&t->line, targets, x, out);
    cr_assert_float_eq(found, side, 1e-5 * (1 + n), "%u ratings", n);
    for (uint32_t j = 0; j < STRIDE; j++)
        cr_assert_float_eq((double)out[j], wanted[j], 1e-6 * (10 + n));
    free(x);
    free(out);
    free_trial(t);
}

static void check_multiply(const mf_equations *eq, uint32_t n)
{
    float *matrix = floats(STRIDE * STRIDE), *tiles = floats(STRIDE * STRIDE);
    float *x = floats((size_t)n * STRIDE), *out = floats(32 * STRIDE);
    for (uint32_t i = 0; i < STRIDE; i++) {
        for (uint32_t j = 0; j <= i; j++)
            matrix[i * STRIDE + j] = matrix[j * STRIDE + i] =
                draw(8, i * STRIDE + j);
    }
    for (uint32_t i = 0; i < STRIDE; i++)
        for (uint32_t j = 0; j < STRIDE; j++)
            tiles[(j / MF_TILE * STRIDE + i) * MF_TILE + j % MF_TILE] =
                matrix[i * STRIDE + j];
    for (uint32_t k = 0; k < n * STRIDE; k++)
        x[k] = draw(9, k);
    eq->multiply(STRIDE, STRIDE, tiles, n, x, out);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t j = 0; j < STRIDE; j++) {
            double sum = 0;
            for (uint32_t i = 0; i < STRIDE; i++)
                sum +=
                    (double)x[k * STRIDE + i] * (double)matrix[i * STRIDE + j];
            cr_assert_float_eq((double)out[k * STRIDE + j], sum, 1e-5);
        }
    }
    free(matrix);
    free(tiles);
    free(x);
    free(out);
}

/* One value above the bound at each place, and none. */
static void check_scan(const mf_equations *eq)
{
    enum { N = 4 * MF_SCAN };
    float *a = floats(N), *b = floats(N);
    for (uint32_t k = 0; k < N; k++)
        b[k] = -INFINITY;
    cr_assert_eq(eq->scan(0, N, a, b, -INFINITY), N);
    for (uint32_t k = 0; k < N; k++) {
        a[k] = 3;
        b[k] = -1;
        cr_assert_eq(eq->scan(0, N, a, b, 1.5F), k / MF_SCAN * MF_SCAN);
        cr_assert_eq(eq->scan(0, N, a, b, 2), N, "equal is not above");
        cr_assert_eq(eq->scan(MF_SCAN, N, a, b, 1.5F),
                     k < MF_SCAN ? N : k / MF_SCAN * MF_SCAN);
        b[k] = -INFINITY;
    }
    free(a);
    free(b);
}

/* As many steps as factors solve the equations. */
static void check_conjugate(const mf_equations *eq)
{
    float *side = floats(STRIDE), *matrix = matrix_of(eq, RATINGS, 5, side);
    float *x = floats(STRIDE), *left = floats(STRIDE), *way = floats(STRIDE);
    float *change = floats(STRIDE), *exact = floats(STRIDE);
    double value = 0, least = 0;
    mf_equations_mirror(STRIDE, matrix);
    memcpy(left, side, sizeof *left * STRIDE);
    memcpy(way, side, sizeof *way * STRIDE);
    for (uint32_t step = 0; step < STRIDE; step++) {
        for (uint32_t i = 0; i < STRIDE; i++) {
            double sum = 0;
            for (uint32_t j = 0; j < STRIDE; j++)
                sum += (double)matrix[i * STRIDE + j] * (double)way[j];
            change[i] = (float)-sum;
        }
        const double gain = eq->conjugate_step(STRIDE, x, left, way, change);
        cr_assert_geq(gain, 0);
        value -= gain;
    }
    memcpy(exact, side, sizeof *exact * STRIDE);
    eq->solve(STRIDE, matrix, exact);
    for (uint32_t j = 0; j < STRIDE; j++) {
        cr_assert_float_eq(x[j], exact[j], 2e-5F);
        least -= (double)side[j] * (double)exact[j];
    }
    cr_assert_float_eq(value, least, 1e-5 * (1 - least));
    free(side);
    free(matrix);
    free(x);
    free(left);
    free(way);
    free(change);
    free(exact);
}

static void check_gradients(const mf_equations *eq)
{
    const uint32_t lengths[] = {0, 1, 4, 7, 8, 9, 15, 16, 17, 24, RATINGS};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        check_pull(eq, lengths[k], true);
        check_pull(eq, lengths[k], false);
    }
    for (uint32_t n = 1; n <= 17; n++)
        check_multiply(eq, n);
    check_conjugate(eq);
    check_scan(eq);
}

static void check_all(const mf_equations *eq)
{
    check_sums(eq);
    check_gradients(eq);
    check_solve(eq);
    check_singular(eq);
    check_nonnegative(eq);
}

Test(mf_equations, the_portable_loops_agree_with_sums_and_solutions_in_f64)
{
    check_all(&mf_equations_portable);
}

Test(mf_equations, those_of_this_processor_do_as_well)
{
    const mf_equations *const fast[] = {mf_equations_avx512(),
                                        mf_equations_avx2(),
                                        mf_equations_neon()};

    if (!fast[0] && !fast[1] && !fast[2])
        cr_skip_test("this processor has portable loops alone");
    for (int k = 0; k < 3; k++)
        if (fast[k])
            check_all(fast[k]);
}
