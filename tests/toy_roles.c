/* The bag of messages and the draws from it. */
#include "tests/toy_roles.h"

#include "engine/round/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

strads_err toy_roles_open(toy_roles *r, const toy_roles_setup *setup)
{
    memset(r, 0, sizeof *r);
    r->seed = setup->seed;
    r->program = (strads_program){.size = sizeof r->program,
                                  .name = "toy-roles",
                                  .phases = setup->phases,
                                  .n_phases = setup->n_phases,
                                  .refresh = setup->refresh};
    r->run = (sti_run){.program = &r->program,
                       .config = setup->config,
                       .shape = {.parameters = 100,
                                 .width = 1,
                                 .partitions = setup->partitions,
                                 .pools = setup->partitions},
                       .phases = setup->phases,
                       .n_phases = setup->n_phases,
                       .probe_phase = setup->n_phases,
                       .depth = setup->depth,
                       .partitions = setup->partitions,
                       .workers = setup->workers,
                       .node_of = r->node_of,
                       .partition = r->partition};
    for (uint32_t p = 0; p < setup->partitions; p++) {
        r->share[p] =
            (strads_share){.partition = p, .partitions = setup->partitions};
        r->partition[p].share = &r->share[p];
    }
    for (uint32_t w = 0; w < setup->workers; w++) {
        r->node_of[w] = setup->spread ? w : 0;
        strads_err err = sti_worker_new(&r->run, w, &r->worker[w]);
        if (err)
            return err;
    }
    return STRADS_OK;
}

void toy_roles_forget(toy_roles *r)
{
    for (uint32_t k = 0; k < r->n_got; k++)
        sti_object_drop(r->got[k].object);
    r->n_got = 0;
}

void toy_roles_close(toy_roles *r)
{
    for (uint32_t k = 0; k < r->n_bag; k++)
        sti_object_drop(r->bag[k].object);
    toy_roles_forget(r);
    for (uint32_t w = 0; w < r->run.workers; w++)
        sti_worker_free(r->worker[w]);
    for (uint32_t p = 0; p < r->run.partitions; p++)
        free(r->partition[p].parked);
    sti_effects_free(&r->effects);
}

strads_err toy_roles_dispatch(toy_roles *r, uint64_t seq, uint32_t phase,
                              uint32_t n, const strads_block *blocks,
                              uint32_t n_updates, sti_update *const *updates,
                              sti_dispatch **out)
{
    sti_prepare_job job = {.job = {.call = STI_CALL_PREPARE, .phase = phase},
                           .parts = {.round = seq,
                                     .seq = seq,
                                     .phase = phase,
                                     .width = 1,
                                     .n_blocks = n,
                                     .blocks = blocks,
                                     .n_updates = n_updates,
                                     .updates = updates}};
    sti_job_run(&r->run, &job.job);
    sti_object_drop(job.packed);
    *out = job.dispatch;
    return job.job.err;
}

void toy_roles_send(toy_roles *r, sti_msg msg)
{
    if (r->n_bag < TOY_BAG)
        r->bag[r->n_bag++] = msg;
    else
        sti_object_drop(msg.object);
}

static void keep_for_coordinator(toy_roles *r, const sti_msg *msg)
{
    if (msg->kind == STI_MSG_FAIL && r->n_fails++ == 0 && msg->object)
        (void)snprintf(r->text, sizeof r->text, "%s",
                       ((const sti_failure *)msg->object)->text);
    if (r->n_got < TOY_BAG)
        r->got[r->n_got++] = *msg;
    else
        sti_object_drop(msg->object);
}

static void take_effects(toy_roles *r)
{
    for (size_t k = 0; k < r->effects.n; k++) {
        const sti_effect *e = &r->effects.at[k];
        if (e->kind == STI_EFFECT_COMPUTE && r->n_jobs < TOY_BAG)
            r->job[r->n_jobs++] = e->job;
        else if (e->kind == STI_EFFECT_END)
            r->n_ended++;
        else if (e->kind == STI_EFFECT_SEND && e->msg.to == STI_COORDINATOR)
            keep_for_coordinator(r, &e->msg);
        else if (e->kind == STI_EFFECT_SEND)
            toy_roles_send(r, e->msg);
    }
    r->effects.n = 0;
}

void toy_roles_begin(toy_roles *r, sti_dispatch *dispatch)
{
    sti_buffer *packed;
    strads_err err = sti_broadcast_pack(&r->run, dispatch, &packed);
    if (!err)
        err = sti_broadcast_begin(&r->run, dispatch, packed, &r->effects);
    r->effects.lost = r->effects.lost || err;
    sti_object_drop(packed);
    sti_object_drop(dispatch);
    take_effects(r);
}

static void tell(toy_roles *r, sti_address to, const sti_event *event)
{
    sti_worker_step(r->worker[to - STI_WORKER_0], event, 1, &r->effects);
    take_effects(r);
}

/* Runs a random job. Jobs of one worker run in the order of its requests, as
 * on its thread; jobs of different workers run in any order. */
static void run_job(toy_roles *r, uint32_t drawn)
{
    uint32_t k = 0;
    while (r->job[k]->role != r->job[drawn]->role)
        k++;
    sti_job *job = r->job[k];
    r->n_jobs--;
    memmove(r->job + k, r->job + k + 1, sizeof(sti_job *) * (r->n_jobs - k));
    sti_job_run(&r->run, job);
    tell(r, job->role, &(sti_event){.kind = STI_EVENT_DONE, .job = job});
}

bool toy_roles_step(toy_roles *r)
{
    uint32_t n = r->n_bag + r->n_jobs;
    if (n == 0)
        return false;
    uint32_t k = (uint32_t)(strads_random_bits(r->seed, 1, r->draws++, 0) % n);
    if (k < r->n_bag) {
        const sti_msg msg = r->bag[k];
        r->bag[k] = r->bag[--r->n_bag];
        tell(r, msg.to, &(sti_event){.kind = STI_EVENT_MESSAGE, .msg = msg});
    } else {
        run_job(r, k - r->n_bag);
    }
    return true;
}

void toy_roles_deliver(toy_roles *r, sti_msg msg)
{
    tell(r, msg.to, &(sti_event){.kind = STI_EVENT_MESSAGE, .msg = msg});
    while (r->n_jobs)
        run_job(r, 0);
}
