/* strads_run: a whole run on the threads of this process. Also the results of
 * any run: a result owns a copy of table 0 and the program's coordinator
 * state. */
#include "engine/run/run_setup.h"

#include <stdlib.h>
#include <string.h>

#include "engine/exec/node.h"
#include "engine/round/job.h"
#include "engine/run/checkpoint_files.h"
#include "engine/run/loops.h"

/* With one process there is no peer to send to. */
static strads_err send_nowhere(void *arg, const sti_msg *msg)
{
    (void)arg;
    sti_object_drop(msg->object);
    return strads_fail(STRADS_ESTATE,
                       "a message for a worker that does not exist");
}

static strads_err drive_local_run(sti_setup *setup, strads_result **out)
{
    sti_trace *trace;
    strads_err err = sti_run_trace_open(&setup->options, &trace);
    if (err)
        return err;
    const sti_node_options options = {
        .run = &setup->run,
        .threads = setup->run.workers,
        .coordinates = true,
        .trace = trace,
        .stop = setup->options.stop,
        .report = sti_setup_report,
        .send = send_nowhere,
        .arg = &setup->options,
    };
    sti_node *node = NULL;
    err = sti_node_new(&options, &node);
    if (!err)
        err = sti_node_run(node);
    if (!err) {
        strads_progress progress;
        sti_node_progress(node, &progress);
        err = sti_result_new(setup, &progress, sti_node_end(node), out);
    }
    err = sti_run_trace_close(trace, err);
    sti_node_free(node);
    return err;
}

/* Each worker needs at least one partition. */
static uint32_t useful_workers(const strads_engine_options *options,
                               const strads_data *data)
{
    const uint32_t workers = sti_setup_workers(options);
    const uint32_t partitions = options->partitions
                                    ? options->partitions
                                    : strads_data_partitions(data);
    return partitions < workers ? partitions : workers;
}

strads_err strads_run(const strads_program *program, const void *config,
                      const strads_data *data,
                      const strads_engine_options *options, strads_result **out)
{
    strads_engine_options full;
    strads_err err = sti_setup_take_options(options, &full);
    if (err)
        return err;
    const uint32_t workers = useful_workers(&full, data);
    const sti_layout layout = {.workers = workers, .count = workers};
    sti_setup setup = {0};
    strads_result *result = NULL;
    sti_checkpoint_files *checkpoints = NULL;
    err = sti_setup_make(&setup, program, config, data, &full, &layout);
    if (!err)
        err = sti_checkpoint_files_open(&setup, data, false, &checkpoints);
    if (!err)
        err = setup.program.run ? sti_loop_run(&setup, &result)
                                : drive_local_run(&setup, &result);
    sti_checkpoint_files_close(checkpoints);
    sti_setup_free(&setup, result != NULL);
    if (result)
        *out = result;
    return err;
}

/* ---- results ------------------------------------------------------------ */

struct strads_result {
    strads_end end;
    strads_progress progress;
    uint32_t partitions;
    uint64_t parameters;
    uint64_t coefficients;
    uint32_t width;
    double *values;
    void *state; /* the program's coordinator state and its destructor */
    void (*state_end)(void *state);
};

strads_err sti_result_new(const sti_setup *setup,
                          const strads_progress *progress, strads_end end,
                          strads_result **out)
{
    const sti_run *run = &setup->run;
    size_t bytes = sizeof(double) * run->shape.parameters * run->shape.width;
    strads_err err = sti_job_check_finite(run, progress->objective);
    if (err)
        return err;
    strads_result *result = calloc(1, sizeof *result);
    if (!result)
        goto fail;
    result->values = malloc(bytes ? bytes : 1);
    if (!result->values)
        goto fail;
    if (bytes)
        memcpy(result->values, strads_store_dense(run->store, 0), bytes);
    result->end = end;
    result->progress = *progress;
    result->progress.n_workers = 0;
    result->progress.worker = NULL; /* the worker array belongs to the run */
    result->progress.priorities = NULL;
    result->partitions = run->partitions;
    result->parameters = run->shape.parameters;
    result->coefficients = run->shape.coefficients ? run->shape.coefficients
                                                   : run->shape.parameters;
    result->width = run->shape.width;
    result->state_end = run->program->end;
    result->state = run->state;
    *out = result;
    return STRADS_OK;
fail:
    free(result);
    return strads_fail(STRADS_ENOMEM, "no memory for the model: %zu bytes",
                       bytes);
}

void strads_result_free(strads_result *result)
{
    if (!result)
        return;
    if (result->state_end)
        result->state_end(result->state);
    free(result->values);
    free(result);
}

strads_end strads_result_end(const strads_result *result)
{
    return result->end;
}

const strads_progress *strads_result_progress(const strads_result *result)
{
    return &result->progress;
}

uint32_t strads_result_partitions(const strads_result *result)
{
    return result->partitions;
}

const double *strads_result_values(const strads_result *result,
                                   uint64_t *parameters, uint32_t *width)
{
    *parameters = result->parameters;
    *width = result->width;
    return result->values;
}

uint64_t strads_result_coefficients(const strads_result *result)
{
    return result->coefficients;
}

void *strads_result_state(const strads_result *result)
{
    return result->state;
}
