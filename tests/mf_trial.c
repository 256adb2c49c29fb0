/* See mf_trial.h. */
#include "tests/mf_trial.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

enum { SEED = 5 };

strads_data *mf_trial_read(const char *path, uint32_t partitions)
{
    strads_data *data = NULL;
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = partitions,
                                         .layout = STRADS_LAYOUT_ROWS,
                                         .values = STRADS_F32,
                                         .kind = STRADS_KIND_RATINGS};
    expect_ok(strads_data_read(path, &options, &data));
    return data;
}

strads_result *mf_trial_run(const char *path, const strads_mf_options *config,
                            uint32_t workers, uint32_t partitions,
                            bool simulated)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = workers,
                                           .partitions = partitions,
                                           .seed = SEED};
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = workers,
                                    .latency = 1e-5,
                                    .bandwidth = 1e9,
                                    .update_cost = 1e-5,
                                    .jitter = 2};
    strads_data *data = mf_trial_read(path, partitions);
    strads_result *result = NULL;
    strads_err err =
        simulated
            ? strads_simulate(&strads_program_mf, config, data, &options, &sim,
                              &result, NULL)
            : strads_run(&strads_program_mf, config, data, &options, &result);
    strads_data_free(data);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    return result;
}

void mf_trial_expect_same(const strads_result *a, const strads_result *b,
                          uint64_t users)
{
    uint64_t n;
    uint32_t width;
    const float *p = strads_mf_users(strads_result_state(a));
    const float *q = strads_mf_users(strads_result_state(b));

    (void)strads_result_values(a, &n, &width);
    cr_expect(toy_same_values(a, b), "other items");
    cr_assert(p && q);
    cr_expect_eq(memcmp(p, q, sizeof *p * users * width), 0, "other users");
}

void mf_trial_expect_same_everywhere(const char *path,
                                     const strads_mf_options *config,
                                     uint64_t users)
{
    strads_result *alone = mf_trial_run(path, config, 1, 4, false);
    for (uint32_t workers = 2; workers <= 4; workers += 2) {
        for (int simulated = 0; simulated < 2; simulated++) {
            strads_result *others =
                mf_trial_run(path, config, workers, 4, simulated);
            mf_trial_expect_same(alone, others, users);
            strads_result_free(others);
        }
    }
    team t = {.program = &strads_program_mf,
              .config = config,
              .options = {.partitions = 4, .seed = SEED},
              .nodes = 2,
              .workers = {1, 2},
              .path = path};
    strads_result *spread = expect_team(&t);
    mf_trial_expect_same(alone, spread, users);
    strads_result_free(spread);
    strads_result_free(alone);
}

typedef struct course {
    uint32_t n, most;
    double *objective;
} course;

static void note(void *arg, const strads_progress *progress)
{
    course *c = arg;
    if (c->n < c->most)
        c->objective[c->n] = progress->objective;
    c->n++;
}

uint32_t mf_trial_objectives(const char *path, const strads_mf_options *config,
                             uint32_t partitions, uint32_t most, double *out)
{
    course c = {.most = most, .objective = out};
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 2,
                                           .partitions = partitions,
                                           .seed = SEED,
                                           .progress = note,
                                           .progress_arg = &c};
    strads_data *data = mf_trial_read(path, partitions);
    strads_result *result = NULL;
    expect_ok(strads_run(&strads_program_mf, config, data, &options, &result));
    strads_data_free(data);
    strads_result_free(result);
    return c.n;
}
