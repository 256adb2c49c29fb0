/* Runs on several nodes have the same bits as a run in one process. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/lasso.h"
#include "strads/svm.h"
#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/nodes_toy.h"
#include "tests/toy_data.h"

enum { PARTITIONS = 7 };

static char folder[] = "/tmp/strads-nodes-XXXXXX";
static char socket_url[64];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(socket_url, sizeof socket_url, "ipc://%s/run", folder);
}

static void remove_folder(void)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/run", folder);
    (void)unlink(path);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(nodes_bits, .init = make_folder, .fini = remove_folder);

/* The same run in one process. */
static strads_result *run_alone(const team *t)
{
    strads_engine_options options = t->options;
    options.size = sizeof options;
    options.workers = 1;
    strads_data *data = NULL;
    const strads_data_options keep = {.size = sizeof keep,
                                      .partitions = options.partitions,
                                      .split = t->program->split,
                                      .layout = t->program->layout};
    if (t->path)
        cr_assert_eq(strads_data_read(t->path, &keep, &data), STRADS_OK);
    else
        data = toy_data(t->program, 23, 17, options.partitions);
    strads_result *result = NULL;
    expect_ok(strads_run(t->program, t->config, data, &options, &result));
    strads_data_free(data);
    return result;
}

static void expect_same(const strads_result *one, const strads_result *many)
{
    uint64_t n, m;
    uint32_t width;
    const double *a = strads_result_values(one, &n, &width);
    const double *b = strads_result_values(many, &m, &width);
    double largest = 0;
    cr_assert_eq(n, m);
    for (uint64_t j = 0; j < n; j++)
        largest = a[j] > largest ? a[j] : largest;
    cr_expect_gt(largest, 0, "the run has changed nothing");
    cr_expect_eq(memcmp(a, b, sizeof *a * n * width), 0, "other bits");
    cr_expect_eq(strads_result_progress(one)->round,
                 strads_result_progress(many)->round);
}

static void run_together(team *t, const strads_result *alone)
{
    strads_result *result = expect_team(t);
    if (alone)
        expect_same(alone, result);
    cr_expect_gt(strads_result_progress(result)->bytes_sent, 0);
    strads_result_free(result);
}

static void compare(team t)
{
    static const uint32_t spread[][TEAM_MAX] = {{1, 1, 0, 0},
                                                {2, 1, 0, 0},
                                                {1, 3, 2, 0},
                                                {1, 1, 1, 2}};
    static const uint32_t nodes[] = {2, 2, 3, 4};
    t.options.partitions = PARTITIONS;
    t.options.deterministic = true;
    const uint32_t depth = t.program->no_policy ? 0 : 2;
    for (t.options.depth = 0; t.options.depth <= depth; t.options.depth += 2) {
        strads_result *alone = run_alone(&t);
        for (uint32_t k = 0; k < sizeof nodes / sizeof *nodes; k++) {
            t.nodes = nodes[k];
            t.listen = k % 2 ? socket_url : NULL;
            memcpy(t.workers, spread[k], sizeof t.workers);
            run_together(&t, alone);
        }
        strads_result_free(alone);
    }
}

Test(nodes_bits, a_lasso_on_several_nodes_has_the_bits_of_one_process)
{
    const strads_lasso_options config = {.lambda_ratio = 0.05,
                                         .intercept = true};
    compare((team){.program = &strads_program_lasso,
                   .config = &config,
                   .path = STRADS_SOURCE_DIR "/data/sotu-tiny-year.train.svm"});
}

Test(nodes_bits, an_svm_on_several_nodes_has_the_bits_of_one_process)
{
    const strads_svm_options config = {.loss = "hinge", .bias = 1};
    compare(
        (team){.program = &strads_program_svm,
               .config = &config,
               /* By default the pools would depend on the nodes. */
               .options.pools = PARTITIONS,
               .options.tolerance = 1e-2,
               .path = STRADS_SOURCE_DIR "/data/sotu-tiny-party.train.svm"});
}

Test(nodes_bits, rings_owners_lists_and_random_sums_have_them_too)
{
    compare((team){.program = &nodes_toy, .options.seed = 41});
    cr_expect_gt(atomic_load(&nodes_toy_packed), 0, "nothing was packed");
    cr_expect_eq(atomic_load(&nodes_toy_packed),
                 atomic_load(&nodes_toy_unpacked));
    cr_expect_eq(atomic_load(&nodes_toy_alive), 0, "objects were left");
}

/* ---- the seed ---------------------------------------------------------- */

static strads_err tell_seed(strads_task *task)
{
    task->partial[0] = (double)task->seed;
    return STRADS_OK;
}

static strads_err check_seed(strads_commit *commit)
{
    if (commit->partial[0] != 3 * 7)
        return strads_fail(STRADS_EPROGRAM, "seeds sum to %g",
                           commit->partial[0]);
    return STRADS_OK;
}

Test(nodes_bits, every_node_draws_with_the_seed_of_the_run)
{
    const strads_program program = {.size = sizeof program,
                                    .name = "seeds",
                                    .update = tell_seed,
                                    .aggregate = check_seed};
    team t = {.program = &program,
              .nodes = 3,
              .options = {.seed = 7, .max_rounds = 2}};
    run_together(&t, NULL);
}

/* ---- the trace --------------------------------------------------------- */

static char *read_file(const char *path)
{
    char *text = calloc(1, 1 << 22);
    FILE *file = fopen(path, "r");
    cr_assert(text && file, "%s", path);
    cr_assert_lt(fread(text, 1, (1 << 22) - 1, file), (1 << 22) - 1);
    (void)fclose(file);
    return text;
}

Test(nodes_bits, the_traces_of_two_nodes_show_the_messages_between_them)
{
    char path[2][64];
    for (unsigned k = 0; k < 2; k++)
        (void)snprintf(path[k], sizeof path[k], "%s/%u.json", folder, k);
    team t = {.program = &nodes_toy,
              .nodes = 2,
              .trace = {path[0], path[1]},
              .options = {.partitions = 4, .depth = 1}};
    run_together(&t, NULL);
    for (unsigned k = 0; k < 2; k++) {
        char *text = read_file(path[k]);
        cr_expect_not_null(
            strstr(text, k ? "\"link to node 0\"" : "\"link to node 1\""));
        cr_expect_not_null(strstr(text, "\"transfer\""));
        cr_expect_not_null(strstr(text, "\"update walk\""));
        free(text);
        (void)unlink(path[k]);
    }
}
