/* See mf_family.h. */
#include "tests/mf_family.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/expect.h"

static double uniform(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    return strads_random_unit(seed, a, b, c);
}

static double normal(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    return sqrt(-2 * log(1 - uniform(seed, a, b, 2 * c))) *
           cos(6.283185307179586 * uniform(seed, a, b, 2 * c + 1));
}

mf_family mf_family_draw(uint64_t seed)
{
    const uint32_t users = 100 + (uint32_t)(900 * uniform(seed, 1, 0, 0));
    const uint32_t items = 80 + (uint32_t)(700 * uniform(seed, 1, 1, 0));

    return (mf_family){.seed = seed,
                       .users = users,
                       .items = items,
                       .rank = (uint32_t)(12 * uniform(seed, 1, 2, 0)),
                       .density = .04 + .2 * uniform(seed, 1, 3, 0),
                       .factors = 1.2 * uniform(seed, 1, 4, 0),
                       .noise = .2 + uniform(seed, 1, 5, 0),
                       .stars = uniform(seed, 1, 6, 0) < .5};
}

/* The propensity of a pair is that of its user and its item. */
static bool is_rated(const mf_family *f, uint32_t u, uint32_t i)
{
    const double user = exp(normal(f->seed, 2, u, 0) - .5);
    const double item = exp(normal(f->seed, 3, i, 0) - .5);

    return uniform(f->seed, 4, u, i) < fmin(f->density * user * item, .9);
}

static double rating_of(const mf_family *f, uint32_t u, uint32_t i)
{
    double r =
        3 + .4 * normal(f->seed, 5, u, 0) + .4 * normal(f->seed, 6, i, 0);

    for (uint32_t k = 0; k < f->rank; k++)
        r += f->factors / sqrt(f->rank) * normal(f->seed, 7, u, k) *
             normal(f->seed, 8, i, k);
    r += f->noise * normal(f->seed, 9, u, i);
    return f->stars ? fmin(fmax(round(r), 1), 5) : r;
}

typedef struct lines {
    uint64_t *start;
    uint32_t *index;
    double *value;
    uint64_t n;
} lines;

static lines make_lines(const mf_family *f)
{
    const size_t pairs = (size_t)f->users * f->items;
    lines x = {.start = calloc(f->users + (size_t)1, sizeof *x.start),
               .index = malloc(sizeof *x.index * pairs),
               .value = malloc(sizeof *x.value * pairs)};

    cr_assert(x.start && x.index && x.value);
    return x;
}

static strads_rows rows_of(const mf_family *f, const lines *x)
{
    return (strads_rows){.rows = f->users,
                         .cols = f->items,
                         .start = x->start,
                         .index = x->index,
                         .value = x->value};
}

mf_split_ratings mf_family_make(const mf_family *f)
{
    lines part[2] = {make_lines(f), make_lines(f)};

    for (uint32_t u = 0; u < f->users; u++) {
        for (uint32_t i = 0; i < f->items; i++) {
            lines *x = &part[uniform(f->seed, 10, u, i) < .1];
            if (!is_rated(f, u, i))
                continue;
            x->index[x->n] = i;
            x->value[x->n++] = rating_of(f, u, i);
        }
        part[0].start[u + 1] = part[0].n;
        part[1].start[u + 1] = part[1].n;
    }
    return (mf_split_ratings){rows_of(f, &part[0]), rows_of(f, &part[1])};
}

static void free_rows(const strads_rows *x)
{
    free((void *)(uintptr_t)x->start);
    free((void *)(uintptr_t)x->index);
    free((void *)(uintptr_t)x->value);
}

void mf_family_free(mf_split_ratings *ratings)
{
    free_rows(&ratings->train);
    free_rows(&ratings->test);
}

strads_data *mf_family_data(const strads_rows *rows, uint32_t partitions)
{
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = partitions,
                                         .layout = STRADS_LAYOUT_ROWS,
                                         .values = STRADS_F32,
                                         .kind = STRADS_KIND_RATINGS};
    strads_data *data = NULL;

    expect_ok(strads_data_from_rows(rows, &options, &data));
    return data;
}

/* Clipped predictions from the factors alone. */
static double error_of(const strads_result *result, const strads_rows *test)
{
    const void *state = strads_result_state(result);
    const float *p = strads_mf_users(state);
    uint64_t items;
    uint32_t width;
    const double *q = strads_result_values(result, &items, &width);
    double low, high, sum = 0;

    cr_assert_not_null(p);
    strads_mf_range(state, &low, &high);
    for (uint64_t u = 0; u < test->rows; u++) {
        for (uint64_t e = test->start[u]; e < test->start[u + 1]; e++) {
            const size_t i = test->index[e];
            double r =
                strads_mf_mean(state) + (double)p[u * width] + q[i * width];
            for (uint32_t k = 1; k < width; k++)
                r += (double)p[u * width + k] * q[i * width + k];
            r = test->value[e] - fmin(fmax(r, low), high);
            sum += r * r;
        }
    }
    return sqrt(sum / (double)test->start[test->rows]);
}

double mf_family_error(const strads_data *train, const strads_rows *test,
                       const strads_mf_options *config)
{
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 2,
                                          .seed = 1};
    strads_result *result = NULL;

    expect_ok(strads_run(&strads_program_mf, config, train, &engine, &result));
    const double error = error_of(result, test);
    strads_result_free(result);
    return error;
}
