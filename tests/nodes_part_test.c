/* Nodes that hold their own rows (strads_data_from_part) are compared with one
 * process that has all rows, split in the same way: the same data and the same
 * bits. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strads/lasso.h"
#include "strads/lda.h"
#include "strads/mf.h"
#include "strads/strads.h"
#include "strads/svm.h"
#include "tests/expect.h"
#include "tests/toy_data.h"

enum { NODES = 3, ROWS = 61, COLS = 17 };

/* Unequal parts; node 1 has no rows. */
static const uint32_t first_row[NODES + 1] = {0, 13, 13, ROWS};

typedef struct trial {
    const strads_program *program;
    const void *config;
    uint32_t workers[NODES], partitions, pools;
    bool columns;   /* parts come as compressed columns, borrowed */
    double wrong;   /* not 0: replaces the first entry of node 2 */
    uint32_t extra; /* additional columns on node 2 */
    bool reads;     /* node 2 makes a data set outside the run */
    double tolerance;
} trial;

typedef struct member {
    const trial *t;
    uint32_t node;
    const char *url;
    sem_t *numbered, *next; /* nodes join one after the other */
    strads_engine *engine;
    strads_data *data;
    strads_result *result;
    strads_err err;
    char text[512];
} member;

static double entry(const trial *t, uint64_t i, uint64_t j)
{
    const double x = toy_entry(i, j);
    return t->program->kind == STRADS_KIND_SAMPLES ? x : fabs(x);
}

static double label(const trial *t, uint64_t i)
{
    return t->program->named_labels || t->program == &strads_program_svm
               ? (double)(toy_label(i) > 0)
               : toy_label(i);
}

/* Rows [begin, end) as arrays: dense by row, or compressed columns. */
typedef struct table {
    double *dense, *value, *label;
    uint32_t *index;
    int64_t *start;
    strads_arrays arrays;
} table;

static table make(const trial *t, uint32_t begin, uint32_t end, uint32_t cols)
{
    const uint32_t n = end - begin;
    table x = {.dense = calloc((size_t)n * cols + 1, sizeof(double)),
               .value = calloc((size_t)n * cols + 32, sizeof(double)),
               .index = calloc((size_t)n * cols + 32, sizeof(uint32_t)),
               .start = calloc((size_t)cols + 1, sizeof(int64_t)),
               .label = calloc((size_t)n + 1, sizeof(double))};
    int64_t at = 0;
    for (uint32_t j = 0; j < cols; j++) {
        for (uint32_t i = 0; i < n; i++) {
            const double v = entry(t, begin + i, j);
            x.dense[i * cols + j] = v;
            x.value[at] = v;
            x.index[at] = i;
            at += v != 0;
        }
        x.start[j + 1] = at;
    }
    for (uint32_t i = 0; i < n; i++)
        x.label[i] = label(t, begin + i);
    x.arrays = (strads_arrays){
        .size = sizeof x.arrays,
        .rows = n,
        .cols = cols,
        .by_row = !t->columns,
        .borrow = true,
        .start = t->columns ? x.start : NULL,
        .starts = STRADS_I64,
        .index = x.index,
        .indices = STRADS_I32,
        .value = t->columns ? x.value : x.dense,
        .values = STRADS_F64,
        .label = t->program->kind == STRADS_KIND_SAMPLES ? x.label : NULL,
    };
    return x;
}

static void release(table *x)
{
    free(x->dense);
    free(x->value);
    free(x->index);
    free(x->start);
    free(x->label);
}

static const strads_program *find(void *arg, const char *name)
{
    member *m = arg;
    if (m->next) {
        sem_post(m->next);
        m->next = NULL;
    }
    return strcmp(name, m->t->program->name) == 0 ? m->t->program : NULL;
}

static strads_err begin(member *m)
{
    const trial *t = m->t;
    if (m->node == 0) {
        const strads_engine_options options = {.size = sizeof options,
                                               .listen = "tcp://127.0.0.1:0",
                                               .nodes = NODES,
                                               .workers = t->workers[0],
                                               .partitions = t->partitions,
                                               .pools = t->pools,
                                               .tolerance = t->tolerance,
                                               .seed = 5,
                                               .deterministic = true};
        return strads_engine_listen(t->program, t->config, &options,
                                    &m->engine);
    }
    const strads_join_options options = {.size = sizeof options,
                                         .workers = t->workers[m->node],
                                         .find = find,
                                         .find_arg = m};
    sem_wait(m->numbered);
    return strads_engine_join(m->url, &options, &m->engine);
}

static strads_err work(member *m, table *x)
{
    strads_data_options keep = {.size = sizeof keep};
    strads_err err = strads_engine_keep(m->engine, &keep);
    if (err)
        return err;
    if (m->t->wrong != 0 && m->node == 2)
        x->dense[0] = m->t->wrong;
    if (m->t->reads && m->node == 2)
        err = strads_data_from_arrays(&x->arrays, &keep, &m->data);
    else
        err = strads_data_from_part(m->engine, &x->arrays, &keep, &m->data);
    return err ? err : strads_engine_run(m->engine, m->data, &m->result);
}

static void *take_part(void *arg)
{
    member *m = arg;
    const uint32_t more = m->node == 2 ? m->t->extra : 0;
    table x =
        make(m->t, first_row[m->node], first_row[m->node + 1], COLS + more);
    m->err = m->engine ? STRADS_OK : begin(m);
    if (!m->err)
        m->err = work(m, &x);
    (void)snprintf(m->text, sizeof m->text, "%s",
                   m->err ? strads_error_text() : "");
    strads_engine_free(m->engine);
    if (m->node)
        strads_data_free(m->data);
    release(&x);
    return NULL;
}

/* The caller frees the data set and the result of node 0. */
static void run_parts(const trial *t, member m[NODES])
{
    char url[300];
    sem_t turn[NODES + 1];
    pthread_t threads[NODES];
    for (uint32_t n = 0; n < NODES; n++)
        m[n] = (member){.t = t,
                        .node = n,
                        .url = url,
                        .numbered = &turn[n],
                        .next = &turn[n + 1]};
    for (uint32_t n = 0; n <= NODES; n++)
        sem_init(&turn[n], 0, n == 1);
    expect_ok(begin(&m[0]));
    (void)snprintf(url, sizeof url, "%s", strads_engine_url(m[0].engine));
    for (uint32_t n = 1; n < NODES; n++)
        (void)pthread_create(&threads[n], NULL, take_part, &m[n]);
    (void)take_part(&m[0]);
    for (uint32_t n = 1; n < NODES; n++)
        pthread_join(threads[n], NULL);
    for (uint32_t n = 0; n <= NODES; n++)
        sem_destroy(&turn[n]);
}

static void compare_data(const strads_data *one, const strads_data *many)
{
    cr_expect_eq(strads_data_rows(many), ROWS);
    cr_expect_eq(strads_data_nnz(many), strads_data_nnz(one));
    cr_expect_eq(strads_data_checksum(many), strads_data_checksum(one));
    for (uint32_t j = 0; j < COLS; j++)
        cr_expect_eq(strads_data_col_nnz(many, j), strads_data_col_nnz(one, j));
    for (uint32_t i = 0; i < ROWS; i++)
        cr_expect_eq(strads_data_row_nnz(many, i), strads_data_row_nnz(one, i));
}

static void compare_values(const strads_result *one, const strads_result *many)
{
    uint64_t n, k;
    uint32_t width;
    const double *a = strads_result_values(one, &n, &width);
    const double *b = strads_result_values(many, &k, &width);
    bool moved = false;
    cr_assert_eq(n, k);
    for (uint64_t j = 0; j < n * width; j++)
        moved = moved || a[j] != 0;
    cr_expect(moved, "the run has changed nothing");
    cr_expect_eq(memcmp(a, b, n * width * sizeof *a), 0, "other bits");
}

static void compare_topics(const strads_result *one, const strads_result *many)
{
    strads_lda_model *a = NULL, *b = NULL;
    cr_assert_eq(strads_lda_model_from_result(one, &a), STRADS_OK);
    cr_assert_eq(strads_lda_model_from_result(many, &b), STRADS_OK);
    const uint64_t n = a->start[a->words];
    cr_assert_gt(n, 0);
    cr_assert_eq(n, b->start[b->words]);
    cr_expect_eq(memcmp(a->topic, b->topic, n * sizeof *a->topic), 0);
    cr_expect_eq(memcmp(a->count, b->count, n * sizeof *a->count), 0);
    strads_lda_model_free(a);
    strads_lda_model_free(b);
}

/* Compares with one process that has the same bounds of partitions. */
static void compare(trial t)
{
    member m[NODES];
    uint64_t bounds[ROWS + 1];
    run_parts(&t, m);
    for (uint32_t n = 0; n < NODES; n++)
        cr_assert_eq(m[n].err, STRADS_OK, "node %u: %s", n, m[n].text);
    const uint32_t partitions = strads_data_partitions(m[0].data);
    for (uint32_t p = 0; p < partitions; p++)
        bounds[p] = strads_data_part(m[0].data, p).begin;
    bounds[partitions] = ROWS;

    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .partitions = partitions,
                                           .pools = t.pools,
                                           .tolerance = t.tolerance,
                                           .seed = 5,
                                           .deterministic = true};
    strads_data_options cut = {.size = sizeof cut};
    table x = make(&t, 0, ROWS, COLS);
    strads_data *data = NULL;
    strads_result *result = NULL;
    cr_assert_eq(strads_run_cut(t.program, t.config, &options, &cut),
                 STRADS_OK);
    cut.row_bounds = bounds;
    expect_ok(strads_data_from_arrays(&x.arrays, &cut, &data));
    compare_data(data, m[0].data);
    expect_ok(strads_run(t.program, t.config, data, &options, &result));
    if (t.program == &strads_program_lda)
        compare_topics(result, m[0].result);
    else
        compare_values(result, m[0].result);
    strads_result_free(result);
    strads_result_free(m[0].result);
    strads_data_free(data);
    strads_data_free(m[0].data);
    release(&x);
}

TestSuite(nodes_part, .timeout = 60);

Test(nodes_part, a_lasso_on_parts_has_the_bits_of_one_process)
{
    const strads_lasso_options config = {.lambda_ratio = 0.05,
                                         .intercept = true};
    compare((trial){.program = &strads_program_lasso,
                    .config = &config,
                    .workers = {1, 1, 2}});
}

Test(nodes_part, columns_that_are_lent_to_one_partition_have_them_too)
{
    const strads_lasso_options config = {.lambda_ratio = 0.05};
    compare((trial){.program = &strads_program_lasso,
                    .config = &config,
                    .columns = true,
                    .workers = {1, 1, 1}});
}

Test(nodes_part, so_have_rows_of_an_svm)
{
    const strads_svm_options config = {.loss = "hinge", .bias = 1};
    compare((trial){.program = &strads_program_svm,
                    .config = &config,
                    .workers = {2, 1, 1},
                    .partitions = 7,
                    .pools = 7,
                    .tolerance = 1e-2});
}

Test(nodes_part, so_have_documents_of_a_topic_model)
{
    const strads_lda_options config = {
        .topics = 4, .alpha = 0.1, .beta = 0.1, .sweeps = 5, .evaluate = 5};
    compare((trial){.program = &strads_program_lda,
                    .config = &config,
                    .workers = {1, 1, 2},
                    .partitions = 5});
}

Test(nodes_part, so_have_users_and_their_ratings)
{
    const strads_mf_options config = {.rank = 3, .sweeps = 4};
    compare((trial){.program = &strads_program_mf,
                    .config = &config,
                    .workers = {1, 1, 1}});
}

/* All nodes end, and the others report the error of the faulty node. */
static void expect_refusal(trial t, strads_err err, const char *sentence)
{
    member m[NODES];
    run_parts(&t, m);
    cr_expect_eq(m[0].err == err || m[2].err == err, true, "%s / %s", m[0].text,
                 m[2].text);
    for (uint32_t n = 0; n < NODES; n++) {
        cr_expect_neq(m[n].err, STRADS_OK, "node %u went on", n);
        cr_expect_not_null(strstr(m[n].text, sentence), "node %u: %s", n,
                           m[n].text);
    }
    strads_data_free(m[0].data);
}

Test(nodes_part, parts_that_do_not_fit_together_are_refused)
{
    const strads_lasso_options config = {.lambda_ratio = 0.05};
    trial t = {.program = &strads_program_lasso,
               .config = &config,
               .workers = {1, 1, 1}};
    t.wrong = NAN;
    expect_refusal(t, STRADS_EINVAL, "expected a finite value");
    t.wrong = 0;
    t.extra = 2;
    expect_refusal(t, STRADS_EMISMATCH,
                   "the part of node 2 has 19 columns, that of node 0 has 17");
    t.extra = 0;
    t.reads = true;
    expect_refusal(t, STRADS_EMISMATCH, "give every node its part, or none");
}

Test(nodes_part, bounds_that_are_not_those_of_the_rows_are_refused)
{
    const uint64_t bounds[] = {0, 40, ROWS + 1};
    const trial t = {.program = &strads_program_lasso};
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = 2,
                                     .row_bounds = bounds};
    table x = make(&t, 0, ROWS, COLS);
    strads_data *data = NULL;
    expect_error(strads_data_from_arrays(&x.arrays, &cut, &data), STRADS_EINVAL,
                 "row_bounds");
    release(&x);
}
