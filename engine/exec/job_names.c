/* Names of jobs, one string for each kind of job and phase, made beforehand. */
#include "engine/exec/job_names.h"

#include <stdio.h>
#include <stdlib.h>

enum { CALLS = STI_CALL_CUT + 1, NAME_MAX_BYTES = 80 };

static const char *const verb[CALLS] = {
    [STI_CALL_OPEN] = "open",
    [STI_CALL_WORK] = "update",
    [STI_CALL_RING_STEP] = "update",
    [STI_CALL_MERGE] = "merge",
    [STI_CALL_CLOSE] = "close",
    [STI_CALL_BEGIN] = "begin",
    [STI_CALL_SCHEDULE] = "schedule",
    [STI_CALL_PREPARE] = "prepare",
    [STI_CALL_AGGREGATE] = "aggregate",
    [STI_CALL_REPORT] = "objective",
    [STI_CALL_CHOOSE] = "schedule",
    [STI_CALL_PACK] = "pack",
    [STI_CALL_CUT] = "cut",
};

struct sti_job_names {
    uint32_t n_phases;
    char (*name)[NAME_MAX_BYTES]; /* [CALLS x n_phases] */
};

strads_err sti_job_names_new(const sti_run *run, sti_job_names **out)
{
    sti_job_names *names = malloc(sizeof *names);
    if (!names)
        goto fail;
    names->n_phases = run->n_phases;
    names->name = malloc(sizeof *names->name * CALLS * (run->n_phases + 1));
    if (!names->name)
        goto fail;
    for (uint32_t c = 0; c < CALLS; c++)
        for (uint32_t p = 0; p < run->n_phases; p++)
            (void)snprintf(names->name[c * run->n_phases + p], NAME_MAX_BYTES,
                           "%s %s", verb[c],
                           run->phases[p].name ? run->phases[p].name : "");
    *out = names;
    return STRADS_OK;
fail:
    sti_job_names_free(names);
    return strads_fail(STRADS_ENOMEM, "no memory for a trace's names");
}

void sti_job_names_free(sti_job_names *names)
{
    if (!names)
        return;
    free(names->name);
    free(names);
}

const char *sti_job_name(const sti_job_names *names, const sti_job *job)
{
    bool of_phase =
        job->call == STI_CALL_WORK || job->call == STI_CALL_RING_STEP ||
        job->call == STI_CALL_MERGE || job->call == STI_CALL_PREPARE ||
        job->call == STI_CALL_AGGREGATE;
    if (!of_phase || job->phase >= names->n_phases)
        return verb[job->call];
    return names->name[job->call * names->n_phases + job->phase];
}

bool sti_job_is_callback(const sti_job *job)
{
    return job->call != STI_CALL_PREPARE;
}
