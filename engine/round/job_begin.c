/* The first job of a run: the store and its tables, the program's coordinator
 * state, the weights, and the start values as the first commit. */
#include "engine/round/block_versions.h"
#include "engine/round/job.h"
#include "engine/round/owned_policy.h"
#include "engine/round/shared_totals.h"

#include <stdlib.h>
#include <string.h>

/* A loop's tables on several nodes are in no one's memory: what is made here is
 * their description, and pages that nobody touches. */
strads_err sti_job_make_parameters(sti_run *run)
{
    strads_err err =
        strads_store_open(run->nodes > 1 ? UINT64_MAX : 0, &run->store);
    if (err)
        return err;
    const strads_table_spec parameters = {
        .name = "parameters",
        .type = STRADS_F64,
        .rows = run->shape.parameters,
        .cols = run->shape.width,
    };
    uint32_t table;
    return strads_store_create(run->store, &parameters, &table);
}

strads_err sti_job_make_tables(sti_run *run)
{
    strads_err err = sti_job_make_parameters(run);
    if (!err && run->program->tables)
        err = run->program->tables(run->config, &run->shape, run->store);
    if (!err)
        err = sti_totals_create(run);
    return err ? err : sti_versions_create(run);
}

/* At least 1, so that a block of empty columns ends, too. */
strads_err sti_job_weigh(const sti_run *run, uint32_t first, uint32_t n,
                         float **out)
{
    float *all = malloc(sizeof *all * (n ? n : 1));
    if (!all)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the weights of %u parameters", n);
    bool columns = run->shape.parameters == strads_data_cols(run->data);
    for (uint32_t k = 0; k < n; k++) {
        double weight = 1;
        if (run->program->weight)
            weight = run->program->weight(run->config, run->data, first + k);
        else if (columns)
            weight = strads_data_col_nnz(run->data, first + k);
        all[k] = weight > 1 ? (float)weight : 1;
    }
    *out = all;
    return STRADS_OK;
}

static strads_err commit_start(sti_run *run, sti_begin_job *job)
{
    if (run->n_start == 0)
        return STRADS_OK;
    uint32_t n = (uint32_t)run->n_start;
    uint32_t width = run->shape.width;
    for (uint32_t k = 0; k < n; k++)
        if (run->start_param[k] >= run->shape.parameters)
            return strads_fail(STRADS_EINVAL,
                               "a start value is given for parameter %u, but "
                               "there are only %llu",
                               run->start_param[k],
                               (unsigned long long)run->shape.parameters);
    sti_news *news;
    strads_err err = sti_news_change(0, n, width, &news);
    if (err)
        return err;
    memcpy((void *)(uintptr_t)news->change.param, run->start_param,
           sizeof *run->start_param * n);
    memcpy((void *)(uintptr_t)news->change.change, run->start_value,
           sizeof *run->start_value * n * width);
    err = strads_store_inc(run->store, 0, n, news->change.param,
                           news->change.change, &news->change.version);
    if (err)
        sti_object_drop(news);
    else
        job->start = news;
    return err;
}

strads_err sti_job_begin(sti_run *run, sti_begin_job *job)
{
    strads_err err = sti_job_make_tables(run);
    if (!err && run->probe_phase < run->n_phases)
        err =
            sti_pairs_new(run->shape.parameters, STI_PAIRS_BYTES, &run->pairs);
    if (!err && run->program->begin) {
        err = run->program->begin(run->config, run->data, &run->shape,
                                  &run->state);
    }
    run->begun = !err;
    if (!err)
        err = sti_job_weigh(run, 0, (uint32_t)run->shape.parameters,
                            &run->weight);
    if (!err && run->program->owned)
        err = sti_owned_open(run, &run->owned);
    if (!err)
        err = commit_start(run, job);
    return err;
}
