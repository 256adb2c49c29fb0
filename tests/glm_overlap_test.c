/* Groups that overlap against a proximal gradient method on the parts of
 * coefficients, and files of groups. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/glm.h"
#include "tests/expect.h"
#include "tests/glm_design.h"

enum { COLS = 7, COPIES = 11, GROUPS = 4 };

/* Columns 1, 2, 4 and 5 are in two groups each. */
static const char text[] = "0\n0,1\n1, 0\n1\n2,1\n2,3\n3\n";
static const uint32_t source[COPIES] = {0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6};
static const uint32_t group[COPIES] = {0, 0, 1, 1, 0, 1, 2, 1, 2, 3, 3};

static strads_err read_text(const char *given, uint64_t columns,
                            strads_glm_overlap *out)
{
    char path[] = "/tmp/strads-groups-XXXXXX";
    const int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, given, strlen(given)), (ssize_t)strlen(given));
    (void)close(fd);
    const strads_err err = strads_glm_overlap_read(path, columns, out);
    (void)unlink(path);
    return err;
}

Test(glm_overlap, files_list_the_groups_of_each_column)
{
    strads_glm_overlap o;

    expect_ok(read_text(text, COLS, &o));
    cr_assert_eq(o.copies, COPIES);
    for (uint32_t k = 0; k < COPIES; k++) {
        cr_assert_eq(o.source[k], source[k]);
        cr_assert_eq(o.group[k], group[k]);
    }
    strads_glm_overlap_free(&o);
    expect_error(read_text("0\n1,1\n", 2, &o), STRADS_EFORMAT,
                 ":2: found \"1,1\"");
    expect_error(read_text("0\n1,\n", 2, &o), STRADS_EFORMAT,
                 ":2: found \"1,\"");
    expect_error(read_text("0\n-1\n", 2, &o), STRADS_EFORMAT,
                 "from 0 up, different and separated by commas");
    expect_error(read_text("0\n\n", 2, &o), STRADS_EFORMAT, ":2: found \"\"");
    expect_error(read_text("0\n1,0\n", 3, &o), STRADS_EINVAL,
                 "has 2 lines and the data 3 columns");
}

/* 1/(2n) |y - X sum v|^2 + lambda sum_g root(n_g) |v_g|, and its minimum by
 * steps of a proximal gradient method. */
static double value_of_parts(const lasso_design *d, double lambda,
                             const double *v)
{
    double sum = 0, size[GROUPS] = {0}, count[GROUPS] = {0};

    for (uint64_t i = 0; i < d->rows; i++) {
        double away = d->y[i];
        for (uint32_t k = 0; k < COPIES; k++)
            away -= lasso_design_col(d, source[k])[i] * v[k];
        sum += away * away / (2 * (double)d->rows);
    }
    for (uint32_t k = 0; k < COPIES; k++) {
        size[group[k]] += v[k] * v[k];
        count[group[k]]++;
    }
    for (uint32_t g = 0; g < GROUPS; g++)
        sum += lambda * sqrt(count[g] * size[g]);
    return sum;
}

static double minimise_parts(const lasso_design *d, double lambda, double *v)
{
    double trace = 0, count[GROUPS] = {0};

    for (uint32_t k = 0; k < COPIES; k++) {
        v[k] = 0;
        count[group[k]]++;
        for (uint64_t i = 0; i < d->rows; i++)
            trace += pow(lasso_design_col(d, source[k])[i], 2);
    }
    const double step = (double)d->rows / trace;
    for (int round = 0; round < 20000; round++) {
        double slope[COPIES] = {0}, size[GROUPS] = {0};
        for (uint64_t i = 0; i < d->rows; i++) {
            double away = d->y[i];
            for (uint32_t k = 0; k < COPIES; k++)
                away -= lasso_design_col(d, source[k])[i] * v[k];
            for (uint32_t k = 0; k < COPIES; k++)
                slope[k] += away * lasso_design_col(d, source[k])[i];
        }
        for (uint32_t k = 0; k < COPIES; k++) {
            v[k] += step * slope[k] / (double)d->rows;
            size[group[k]] += v[k] * v[k];
        }
        for (uint32_t k = 0; k < COPIES; k++) {
            const double most = step * lambda * sqrt(count[group[k]]);
            const double own = sqrt(size[group[k]]);
            v[k] = own > most ? v[k] * (1 - most / own) : 0;
        }
    }
    return value_of_parts(d, lambda, v);
}

Test(glm_overlap, fits_are_the_minimum_over_parts)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            const lasso_recipe recipe = {.rows = 20 + 10 * seed,
                                         .cols = COLS,
                                         .seed = seed,
                                         .density = seed == 2 ? .5 : 1,
                                         .noise = 1};
            const double lambda = .1 * (double)seed;
            lasso_design d = lasso_design_random(&recipe);
            strads_glm_overlap o;
            strads_data *plain, *data;
            strads_result *result;
            double v[COPIES], w[COLS], own[COLS];
            uint64_t n;
            uint32_t width;
            expect_ok(read_text(text, COLS, &o));
            expect_ok(lasso_design_data(&d, workers, &plain));
            expect_ok(strads_glm_overlap_data(plain, &o, &data));
            cr_assert_eq(strads_data_partitions(data), workers);
            const strads_glm_options options = {.penalty = "group",
                                                .lambda = lambda,
                                                .column_group = o.group};
            const strads_engine_options engine = {.size = sizeof(engine),
                                                  .workers = workers,
                                                  .partitions = workers,
                                                  .deterministic = true,
                                                  .tolerance = 1e-9};
            expect_ok(strads_run(&strads_program_glm, &options, data, &engine,
                                 &result));
            const double *parts = strads_result_values(result, &n, &width);
            const double least = minimise_parts(&d, lambda, v);
            const double found = value_of_parts(&d, lambda, parts);
            cr_assert_leq(strads_result_progress(result)->gap, 1e-9);
            cr_assert_float_eq(found, least, 1e-6 * least, "%.10g, %.10g",
                               found, least);
            strads_glm_overlap_fold(&o, parts, own);
            strads_glm_overlap_fold(&o, v, w);
            for (uint32_t j = 0; j < COLS; j++)
                cr_assert_float_eq(own[j], w[j], 1e-2);
            strads_result_free(result);
            strads_data_free(data);
            strads_data_free(plain);
            strads_glm_overlap_free(&o);
            lasso_design_free(&d);
        }
}
