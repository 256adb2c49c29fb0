/* The Lasso by columns, against a certificate that the test computes from the
 * coefficients alone: families of shapes, penalties and origins of columns, in
 * memory and packed, with 1 to 4 partitions and workers. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "strads/lasso.h"
#include "strads/pack.h"
#include "strads/strads.h"
#include "tests/expect.h"

TestSuite(columns, .init = oracle_enter, .fini = oracle_leave);

static uint64_t state;

static double unit(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

typedef struct design {
    uint64_t rows, cols, nnz;
    uint64_t *start;
    uint32_t *row;
    double *value, *label;
} design;

typedef struct shape {
    uint64_t rows, cols;
    double density, shared, origin; /* correlation; mean of full columns */
} shape;

static design make_design(const shape *s, uint64_t seed)
{
    design d = {.rows = s->rows, .cols = s->cols};
    d.start = calloc(d.cols + 1, sizeof *d.start);
    d.row = calloc(d.rows * d.cols, sizeof *d.row);
    d.value = calloc(d.rows * d.cols, sizeof *d.value);
    d.label = calloc(d.rows, sizeof *d.label);
    double *common = calloc(d.rows, sizeof *common);
    state = seed;
    for (uint64_t i = 0; i < d.rows; i++)
        common[i] = unit() - .5;
    for (uint64_t j = 0; j < d.cols; j++) {
        const double weight = j % 10 == 2 ? 3 * unit() - 1.5 : 0;
        for (uint64_t i = 0; i < d.rows; i++) {
            if (unit() >= s->density)
                continue;
            const double x = unit() - .5 + s->shared * common[i] + s->origin;
            d.row[d.nnz] = (uint32_t)i;
            d.value[d.nnz++] = x;
            d.label[i] += weight * (x - s->origin);
        }
        d.start[j + 1] = d.nnz;
    }
    for (uint64_t i = 0; i < d.rows; i++)
        d.label[i] += .1 * (unit() - .5) + 7;
    free(common);
    return d;
}

static void free_design(design *d)
{
    free(d->start);
    free(d->row);
    free(d->value);
    free(d->label);
}

/* The relative duality gap of w and b, by the definitions. */
static double gap_of(const design *d, const double *w, double b,
                     const strads_lasso_options *o)
{
    const double n = (double)d->rows;
    const double l1 = n * o->lambda * o->l1_ratio;
    const double l2 = n * o->lambda * (1 - o->l1_ratio);
    double *r = calloc(d->rows, sizeof *r), mean = 0, primal = 0;
    for (uint64_t i = 0; i < d->rows; i++)
        r[i] = d->label[i] - b;
    for (uint64_t j = 0; j < d->cols; j++) {
        for (uint64_t e = d->start[j]; e < d->start[j + 1]; e++)
            r[d->row[e]] -= d->value[e] * w[j];
        primal += l1 * fabs(w[j]) + l2 / 2 * w[j] * w[j];
    }
    for (uint64_t i = 0; i < d->rows; i++) {
        primal += r[i] * r[i] / 2;
        mean += r[i] / n;
    }
    double largest = l1, beyond = 0, dual = 0;
    for (uint64_t i = 0; i < d->rows && o->intercept; i++)
        r[i] -= mean; /* a dual point */
    for (uint64_t j = 0; j < d->cols; j++) {
        double slope = 0;
        for (uint64_t e = d->start[j]; e < d->start[j + 1]; e++)
            slope += d->value[e] * r[d->row[e]];
        largest = fmax(largest, fabs(slope));
        beyond += pow(fmax(fabs(slope) - l1, 0), 2);
    }
    const double s = l2 > 0 ? 1 : l1 / largest;
    for (uint64_t i = 0; i < d->rows; i++)
        dual += s * r[i] * d->label[i] - s * s * r[i] * r[i] / 2;
    if (l2 > 0)
        dual -= beyond / (2 * l2);
    free(r);
    return (primal - dual) / primal;
}

typedef struct fit {
    uint32_t partitions, workers, pools;
    bool packed;
} fit;

static double *fit_design(const design *d, const strads_lasso_options *o,
                          const fit *f, strads_lasso_options *resolved,
                          double *b)
{
    strads_data *data = NULL;
    strads_result *result = NULL;
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = f->partitions,
                                     .split = STRADS_SPLIT_COLS,
                                     .packed = f->packed};
    const strads_columns columns = {d->rows, d->cols,  d->start,
                                    d->row,  d->value, d->label};
    if (f->packed) {
        const char *path = oracle_path("columns.pack");
        const strads_data_options whole = {.size = sizeof whole};
        expect_ok(strads_data_from_columns(&columns, &whole, &data));
        expect_ok(strads_pack_write(data, path, NULL, NULL));
        strads_data_free(data);
        expect_ok(strads_data_read(path, &cut, &data));
    } else {
        expect_ok(strads_data_from_columns(&columns, &cut, &data));
    }
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = f->workers,
                                          .pools = f->pools,
                                          .tolerance = 1e-8,
                                          .time_limit = 60};
    expect_ok(
        strads_run(&strads_program_lasso_columns, o, data, &engine, &result));
    const strads_progress *p = strads_result_progress(result);
    cr_assert_eq(
        strads_result_end(result), STRADS_END_CONVERGED,
        "%d after %llu rounds at gap %g, %llu x %llu, lambda ratio %g, "
        "l1 ratio %g, intercept %d, pools %u",
        (int)strads_result_end(result), (unsigned long long)p->round, p->gap,
        (unsigned long long)d->rows, (unsigned long long)d->cols,
        o->lambda_ratio, o->l1_ratio, o->intercept, f->pools);
    cr_assert_leq(strads_result_progress(result)->gap, 1e-8);
    const void *made = strads_result_state(result);
    *resolved = strads_columns_resolved(made);
    *b = *strads_columns_intercept(made);
    const strads_columns_work work = strads_columns_worked(made);
    cr_assert(work.worker_updates > 0 && work.coordinator_updates == 0);
    double *w = calloc(d->cols, sizeof *w);
    uint64_t parameters;
    uint32_t width;
    memcpy(w, strads_result_values(result, &parameters, &width),
           d->cols * sizeof *w);
    strads_result_free(result);
    strads_data_free(data);
    return w;
}

static const shape shapes[] = {
    {30, 8, 1, 0, 0},      {40, 200, .3, 0, 0}, {200, 40, .2, .5, 0},
    {150, 600, .1, 2, 0},  {100, 100, 1, 3, 0}, {60, 90, 1, .5, 1e4},
    {500, 300, .02, 0, 0},
};

Test(columns, every_fit_has_the_gap_that_it_reports)
{
    static const fit fits[] = {
        {1, 1, 1, false}, {1, 1, 1, true}, {2, 2, 1, false},
        {2, 2, 2, true},  {4, 2, 1, true}, {4, 4, 2, false},
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int how = 0; how < 8; how++) {
            design d = make_design(&shapes[k], 100 * k + (unsigned)how);
            const bool intercept = how % 2 == 0 || shapes[k].origin != 0;
            const strads_lasso_options o = {.lambda_ratio = how < 4 ? .2 : .02,
                                            .l1_ratio = how % 4 < 2 ? 1 : .5,
                                            .intercept = intercept};
            for (size_t f = 0; f < sizeof fits / sizeof *fits; f++) {
                strads_lasso_options resolved;
                double b;
                if (fits[f].pools > 1 && how >= 4)
                    continue; /* dependent columns of several pools: slow */
                double *w = fit_design(&d, &o, &fits[f], &resolved, &b);
                const double gap = gap_of(&d, w, b, &resolved);
                cr_expect_leq(gap, 2e-8, "shape %zu, options %d, fit %zu: %g",
                              k, how, f, gap);
                free(w);
            }
            free_design(&d);
        }
}

/* Values beyond the range of f32 are screened in f64. */
Test(columns, columns_of_any_scale_are_found)
{
    design d = make_design(&shapes[2], 3);
    const fit how = {1, 1, 1, true};
    for (uint64_t j = 0; j < d.cols; j += 3)
        for (uint64_t e = d.start[j]; e < d.start[j + 1]; e++)
            d.value[e] *= 1e60;
    const strads_lasso_options o = {.lambda = 1e57,
                                    .l1_ratio = 1,
                                    .intercept = true};
    strads_lasso_options resolved;
    double b;
    double *w = fit_design(&d, &o, &how, &resolved, &b);
    cr_expect_leq(gap_of(&d, w, b, &resolved), 2e-8);
    uint64_t found = 0;
    for (uint64_t j = 0; j < d.cols; j++)
        found += w[j] != 0;
    cr_expect_gt(found, 0);
    free(w);
    free_design(&d);
}

/* More columns pass the first screening than a scan keeps: the steepest stay,
 * later scans find the others that move. */
Test(columns, a_scan_keeps_the_steepest_of_too_many)
{
    static const shape wide = {20, 400000, .3, 0, 0};
    static const fit fits[] = {{1, 1, 1, false}, {1, 1, 1, true}};
    design d = make_design(&wide, 9);
    const strads_lasso_options o = {.lambda_ratio = .2,
                                    .l1_ratio = 1,
                                    .intercept = true};
    for (size_t f = 0; f < sizeof fits / sizeof *fits; f++) {
        strads_lasso_options resolved;
        double b;
        double *w = fit_design(&d, &o, &fits[f], &resolved, &b);
        cr_expect_leq(gap_of(&d, w, b, &resolved), 2e-8);
        free(w);
    }
    free_design(&d);
}

/* The objective of a program at its certified end. */
static double objective_of(const design *d, const strads_program *program,
                           const strads_glm_options *o, const fit *f)
{
    strads_data *data = NULL;
    strads_result *result = NULL;
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = f->partitions,
                                     .split = program->split,
                                     .packed = f->packed};
    const strads_columns columns = {d->rows, d->cols,  d->start,
                                    d->row,  d->value, d->label};
    const strads_data_options whole = {.size = sizeof whole};
    const char *path = oracle_path("loss.pack");
    expect_ok(strads_data_from_columns(&columns, &whole, &data));
    expect_ok(strads_pack_write(data, path, NULL, NULL));
    strads_data_free(data);
    expect_ok(strads_data_read(path, &cut, &data));
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = f->workers,
                                          .tolerance = 1e-7,
                                          .time_limit = 60};
    expect_ok(strads_run(program, o, data, &engine, &result));
    const strads_progress *end = strads_result_progress(result);
    cr_assert_eq(strads_result_end(result), STRADS_END_CONVERGED,
                 "%s, %s, %s, %llu x %llu, intercept %d: %d after %llu rounds, "
                 "gap %g, objective %g",
                 program->name, o->loss, o->penalty,
                 (unsigned long long)d->rows, (unsigned long long)d->cols,
                 o->intercept, (int)strads_result_end(result),
                 (unsigned long long)end->round, end->gap, end->objective);
    const double objective = strads_result_progress(result)->objective;
    strads_result_free(result);
    strads_data_free(data);
    return objective;
}

/* Of every loss, the optimum of the program by rows, which has oracles of its
 * own. */
Test(columns, every_loss_ends_at_the_optimum_by_rows)
{
    static const char *const losses[] = {"squared", "logistic", "squared-hinge",
                                         "poisson", "huber"};
    static const fit by_rows = {1, 1, 1, false};
    static const fit fits[] = {{1, 1, 1, true}, {3, 2, 1, true}};
    for (size_t l = 0; l < sizeof losses / sizeof *losses; l++)
        for (int how = 0; how < 6; how++) {
            design d = make_design(&shapes[1 + how % 3], 10 * l + (size_t)how);
            for (uint64_t i = 0; i < d.rows; i++)
                d.label[i] = l == 1 || l == 2 ? d.label[i] > 7
                             : l == 3         ? floor(fabs(d.label[i]))
                                              : d.label[i];
            const strads_glm_options o = {.loss = losses[l],
                                          .penalty =
                                              how < 3 ? "l1" : "elastic-net",
                                          .lambda_ratio = .1,
                                          .intercept = how % 2 == 0};
            const double best =
                objective_of(&d, &strads_program_glm, &o, &by_rows);
            for (size_t f = 0; f < sizeof fits / sizeof *fits; f++)
                cr_expect_float_eq(objective_of(&d, &strads_program_glm_columns,
                                                &o, &fits[f]),
                                   best, 1e-6 * best, "%s, options %d, fit %zu",
                                   losses[l], how, f);
            free_design(&d);
        }
}

/* Bits depend on pools alone. */
Test(columns, bits_do_not_depend_on_partitions_workers_or_packing)
{
    design d = make_design(&shapes[3], 5);
    const strads_lasso_options o = {.lambda_ratio = .05, .intercept = true};
    const fit fits[] = {{1, 1, 1, false},
                        {2, 1, 1, true},
                        {2, 2, 1, true},
                        {4, 2, 1, false},
                        {4, 4, 1, true}};
    double *first = NULL;
    for (size_t f = 0; f < sizeof fits / sizeof *fits; f++) {
        strads_lasso_options resolved;
        double b;
        double *w = fit_design(&d, &o, &fits[f], &resolved, &b);
        if (first)
            cr_expect_eq(memcmp(first, w, d.cols * sizeof *w), 0, "fit %zu", f);
        else
            first = w;
        if (w != first)
            free(w);
    }
    free(first);
    free_design(&d);
}

Test(columns, options_that_it_lacks_are_refused)
{
    design d = make_design(&shapes[0], 1);
    const strads_columns columns = {d.rows, d.cols,  d.start,
                                    d.row,  d.value, d.label};
    const strads_data_options cut = {.size = sizeof cut,
                                     .split = STRADS_SPLIT_COLS};
    strads_data *data = NULL;
    strads_result *result = NULL;
    expect_ok(strads_data_from_columns(&columns, &cut, &data));
    const strads_lasso_options refused[] = {{.standardize = true},
                                            {.positive = true},
                                            {.lambda = -0.0}};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        expect_error(strads_run(&strads_program_lasso_columns, &refused[k],
                                data, NULL, &result),
                     STRADS_EINVAL, "a fit by columns");
    strads_data_free(data);
    free_design(&d);
}
