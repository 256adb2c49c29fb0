/* A shard of the store. Pushes wait here while a job applies those before them;
 * the next job takes all that wait, so a busy shard answers less often. Owns
 * the pushes that wait and those that its job is at. Invariant: applied <=
 * accepted, and every push between the two is in `at_work` or `waiting`, in the
 * order of their numbers. How many these can be is bounded by who pushes
 * (STI_PUSHES_MAX). */
#include "engine/role/shard.h"

#include <stdlib.h>

typedef struct push_list {
    sti_buffer **at;
    uint32_t n, room;
} push_list;

struct sti_shard {
    sti_run *run;
    uint64_t accepted, applied; /* numbers of the last push of each kind */
    push_list waiting, at_work;
    bool busy;
    sti_apply_job job;
};

strads_err sti_shard_new(sti_run *run, sti_shard **out)
{
    sti_shard *shard = calloc(1, sizeof *shard);
    if (!shard)
        return strads_fail(STRADS_ENOMEM, "no memory for a shard");
    shard->run = run;
    *out = shard;
    return STRADS_OK;
}

static void drop_all(push_list *list)
{
    for (uint32_t k = 0; k < list->n; k++)
        sti_object_drop(list->at[k]);
    list->n = 0;
}

void sti_shard_free(sti_shard *shard)
{
    if (!shard)
        return;
    drop_all(&shard->waiting);
    drop_all(&shard->at_work);
    free(shard->waiting.at);
    free(shard->at_work.at);
    free(shard);
}

static void fail(strads_err err, const char *text, sti_effects *out)
{
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_FAIL,
                                   .from = STI_SHARD,
                                   .to = STI_COORDINATOR,
                                   .object = sti_failure_object(err, text)});
}

static void acknowledge(const sti_shard *shard, sti_effects *out)
{
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ACK,
                                   .from = STI_SHARD,
                                   .to = STI_COORDINATOR,
                                   .round = shard->applied});
}

static bool keep(push_list *list, sti_buffer *push)
{
    if (list->n == list->room) {
        uint32_t room = list->room ? 2 * list->room : 8;
        sti_buffer **at = realloc(list->at, sizeof(sti_buffer *) * room);
        if (!at)
            return false;
        list->at = at;
        list->room = room;
    }
    list->at[list->n++] = push;
    return true;
}

/* What was accepted before is not taken again; what comes too early is dropped,
 * and the answer says from where on it is to be sent. */
static void accept_push(sti_shard *shard, const sti_msg *msg, sti_effects *out)
{
    sti_buffer *push = (sti_buffer *)msg->object;
    if (!push || msg->round != shard->accepted + 1) {
        sti_object_drop(push);
        acknowledge(shard, out);
        return;
    }
    if (!keep(&shard->waiting, push)) {
        sti_object_drop(push);
        fail(STRADS_ENOMEM, "no memory for commits that wait", out);
        return;
    }
    shard->accepted++;
}

static void start(sti_shard *shard, sti_effects *out)
{
    push_list empty = shard->at_work;
    shard->at_work = shard->waiting;
    shard->waiting = empty;
    shard->busy = true;
    shard->job = (sti_apply_job){
        .job = {.call = STI_CALL_APPLY,
                .role = STI_SHARD,
                .round = shard->applied + shard->at_work.n},
        .n = shard->at_work.n,
        .pushes = shard->at_work.at,
    };
    sti_effect_compute(out, &shard->job.job);
}

static void finish(sti_shard *shard, sti_effects *out)
{
    shard->busy = false;
    if (shard->job.job.err) {
        fail(shard->job.job.err, shard->job.job.text, out);
        return;
    }
    shard->applied += shard->at_work.n;
    drop_all(&shard->at_work);
    acknowledge(shard, out);
}

void sti_shard_step(sti_shard *shard, const sti_event *events, size_t n,
                    sti_effects *out)
{
    for (size_t k = 0; k < n; k++) {
        if (events[k].kind == STI_EVENT_DONE)
            finish(shard, out);
        else if (events[k].msg.kind == STI_MSG_PUSH)
            accept_push(shard, &events[k].msg, out);
        else
            sti_object_drop(events[k].msg.object);
    }
    if (!shard->busy && !shard->job.job.err && shard->waiting.n)
        start(shard, out);
}
