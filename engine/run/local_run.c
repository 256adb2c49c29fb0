/* strads_run: a whole run on the threads of this process. */
#include "engine/run/loop_run.h"
#include "engine/run/result.h"
#include "engine/run/run_setup.h"
#include "engine/run/run_trace.h"
#include "engine/exec/node.h"

static void tell_progress(void *arg, const strads_progress *progress)
{
    const strads_engine_options *options = arg;
    if (options->progress)
        options->progress(options->progress_arg, progress);
}

/* Nobody else is there to be sent to. */
static strads_err send_nowhere(void *arg, const sti_msg *msg)
{
    (void)arg;
    sti_object_drop(msg->object);
    return strads_fail(STRADS_ESTATE,
                       "a message for a worker that is not there");
}

static strads_err drive(sti_setup *setup, strads_result **out)
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
        .report = tell_progress,
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
    err = sti_run_trace_close(trace, err); /* it holds names of the node's */
    sti_node_free(node);
    return err;
}

/* More workers than partitions would have nothing to do. */
static uint32_t useful_workers(const strads_engine_options *options,
                               const strads_data *data)
{
    uint32_t workers = sti_setup_workers(options);
    uint32_t partitions = options && options->partitions
                              ? options->partitions
                              : strads_data_partitions(data);
    return partitions < workers ? partitions : workers;
}

strads_err strads_run(const strads_program *program, const void *config,
                      const strads_data *data,
                      const strads_engine_options *options, strads_result **out)
{
    uint32_t workers = useful_workers(options, data);
    const sti_layout layout = {.workers = workers, .count = workers};
    sti_setup setup = {0};
    strads_result *result = NULL;
    strads_err err =
        sti_setup_make(&setup, program, config, data, options, &layout);
    if (!err)
        err = program->run ? sti_loop_run(&setup, &result)
                           : drive(&setup, &result);
    sti_setup_free(&setup, result != NULL);
    if (result)
        *out = result;
    return err;
}
