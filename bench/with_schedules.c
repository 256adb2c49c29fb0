/* with_schedules FILE RATIO METHOD WIDTH SECONDS: one Lasso with the same
 * kernels; METHOD selects the schedule. Prints a line "SECONDS UPDATES
 * OBJECTIVE" at intervals, in processor seconds on one worker, without loading.
 * WIDTH columns are updated at once, from one residual.
 *
 *     scheduled      the priority policy; columns of a block that depend on
 *                    each other are solved together, by their pairs
 *     priority       the same policy, each column as if it were alone
 *     shotgun        blocks of random columns, each column as if alone
 *     cyclic         one block after the other, each column as if alone
 *     random-joint,  blocks as of shotgun and cyclic, solved as by `scheduled`
 *     cyclic-joint
 *     lasso          the Lasso of strads, to the end; WIDTH is its own
 *     sgd            data-parallel: proximal steps along gradients of batches
 *                    of WIDTH rows, through the store */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measuring.h"
#include "bench/schedules.h"
#include "strads/lasso.h"

typedef struct method {
    const char *name, *policy;
    bool joint, scans;
} method;

static const method methods[] = {{"scheduled", "priority", true, true},
                                 {"priority", "priority", false, true},
                                 {"shotgun", "uniform", false, false},
                                 {"cyclic", "cyclic", false, false},
                                 {"random-joint", "uniform", true, false},
                                 {"cyclic-joint", "cyclic", true, false}};

/* False: METHOD is not one of rounds. */
static bool choose_rounds(const char *name, schedules_setup *how)
{
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        if (strcmp(methods[k].name, name) != 0)
            continue;
        how->policy = methods[k].policy;
        how->joint = methods[k].joint;
        how->scans = methods[k].scans;
        return true;
    }
    return false;
}

static void tell_progress(void *begun, const strads_progress *p)
{
    schedules_tell(bench_cpu() - *(const double *)begun,
                   (double)p->updates_other, p->objective);
}

static strads_err run_lasso(const schedules_setup *how, const strads_data *data,
                            strads_result **result)
{
    double begun = bench_cpu();
    const strads_lasso_options config = {.lambda_ratio = how->ratio};
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .tolerance = 1e-12,
                                           .time_limit = how->limit,
                                           .progress = tell_progress,
                                           .progress_arg = &begun};
    return strads_run(&strads_program_lasso, &config, data, &options, result);
}

static strads_err run(const char *method_name, schedules_setup *how,
                      const strads_data *data, strads_result **result)
{
    const strads_program *program = &schedules_sgd;
    const schedules_setup *config = how;
    if (strcmp(method_name, "lasso") == 0)
        return run_lasso(how, data, result);
    if (choose_rounds(method_name, how))
        program = schedules_rounds(how->joint);
    else if (strcmp(method_name, "sgd") != 0)
        return strads_fail(STRADS_EINVAL, "no such method: %s", method_name);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .policy = how->policy};
    return strads_run(program, &config, data, &options, result);
}

int main(int argc, char **argv)
{
    if (argc != 6 || strtoul(argv[4], NULL, 10) == 0) {
        (void)fprintf(stderr,
                      "with_schedules FILE RATIO METHOD WIDTH SECONDS\n");
        return 2;
    }
    schedules_setup how = {.ratio = strtod(argv[2], NULL),
                           .width = (uint32_t)strtoul(argv[4], NULL, 10),
                           .limit = strtod(argv[5], NULL)};
    const bool by_rows = strcmp(argv[3], "sgd") == 0;
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = 1,
                                     .layout = by_rows ? STRADS_LAYOUT_ROWS
                                                       : STRADS_LAYOUT_COLS};
    strads_data *data = NULL;
    strads_result *result = NULL;
    strads_err err = strads_data_read(argv[1], &cut, &data);
    if (!err)
        err = run(argv[3], &how, data, &result);
    if (err)
        (void)fprintf(stderr, "with_schedules: %s\n", strads_error_text());
    strads_result_free(result);
    strads_data_free(data);
    return err ? 1 : 0;
}
