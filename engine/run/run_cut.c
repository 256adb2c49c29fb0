/* Into how many partitions data is cut when nobody says it: one a worker where
 * that pays. A second partition on one thread makes a round about a tenth
 * longer, and more where the program does something for each column whatever
 * its entries; another thread has to be woken or to be waited for. So few
 * entries are one partition's, and one worker's. Blocks that travel have no
 * rounds to be made longer: there a program may want several a worker. */
#include "engine/run/run_cut.h"

#include "engine/run/run_setup.h"

void sti_run_cut_as(const strads_program *program, const void *config,
                    strads_data_options *cut)
{
    cut->split = program->split;
    cut->layout = program->layout ? program->layout : STRADS_LAYOUT_COLS;
    cut->kind = program->kind;
    cut->named_labels =
        program->named_labels &&
        program->named_labels(config ? config : program->defaults);
    if (program->values)
        cut->values = program->values;
}

static bool has_ring(const strads_program *program)
{
    bool ring = false;
    for (uint32_t k = 0; k < program->n_phases; k++)
        ring = ring || program->phases[k].to == STRADS_TO_RING;
    return ring;
}

/* What travels or loops takes all workers there are. */
static bool takes_all_workers(const strads_program *program)
{
    return has_ring(program) || program->run;
}

static uint32_t usual_partitions(const strads_program *program,
                                 uint32_t workers)
{
    const bool several = workers > 1 && has_ring(program);
    return several && program->partitions_each
               ? program->partitions_each * workers
               : workers;
}

/* 0: neither the options nor their plan say it. */
static strads_err find_given(const strads_engine_options *options, uint32_t *K)
{
    strads_plan *read = NULL;
    *K = 0;
    if (!options)
        return STRADS_OK;
    *K = options->partitions;
    if (*K)
        return STRADS_OK;
    strads_err err = sti_setup_read_plan(options, &read);
    const strads_plan *plan = read ? read : options->plan_given;
    if (!err && plan)
        *K = plan->partitions;
    strads_plan_free(read);
    return err;
}

strads_err strads_run_cut(const strads_program *program, const void *config,
                          const strads_engine_options *options,
                          strads_data_options *cut)
{
    uint32_t given;
    strads_err err = find_given(options, &given);
    if (err)
        return err;
    sti_run_cut_as(program, config, cut);
    cut->keep_first = cut->keep_count = 0;
    cut->partitions =
        given ? given : usual_partitions(program, sti_setup_workers(options));
    cut->partition_entries = given || takes_all_workers(program) ? 0
                             : program->partition_entries
                                 ? program->partition_entries
                                 : STRADS_PARTITION_ENTRIES;
    return STRADS_OK;
}
