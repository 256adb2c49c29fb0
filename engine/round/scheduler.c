/* A scheduler. It counts its draws; its policy's knowledge is in run->range. At
 * most one request is open, because the coordinator waits for the answer. */
#include "engine/round/roles.h"

#include <stdlib.h>

struct sti_scheduler {
    sti_run *run;
    sti_choose_job job; /* its `ask` is the open request */
    sti_job_text said;
};

strads_err sti_scheduler_new(sti_run *run, uint32_t number, sti_scheduler **out)
{
    sti_scheduler *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for a scheduler");
    s->run = run;
    s->job.scheduler = number;
    *out = s;
    return STRADS_OK;
}

void sti_scheduler_free(sti_scheduler *s)
{
    if (!s)
        return;
    sti_object_drop(s->job.ask);
    sti_object_drop(s->job.choice);
    free(s);
}

static void start_choice(sti_scheduler *s, sti_ask *ask, sti_effects *out)
{
    s->job.job = (sti_job){.call = STI_CALL_CHOOSE,
                           .role = STI_SCHEDULER_0 + s->job.scheduler,
                           .said = &s->said};
    s->job.ask = ask;
    s->job.draw++;
    sti_effect_compute(out, &s->job.job);
}

static void finish_choice(sti_scheduler *s, sti_effects *out)
{
    sti_object_drop(s->job.ask);
    s->job.ask = NULL;
    sti_msg answer = {.kind = STI_MSG_CHOICE,
                      .from = STI_SCHEDULER_0 + s->job.scheduler,
                      .partition = s->job.scheduler,
                      .to = STI_COORDINATOR};
    if (s->job.job.err) {
        answer.kind = STI_MSG_FAIL;
        answer.object = sti_failure_object(s->job.job.err, s->said.text);
    } else {
        answer.object = &s->job.choice->head;
        s->job.choice = NULL;
    }
    sti_effect_send(out, answer);
}

void sti_scheduler_step(sti_scheduler *s, const sti_event *events, size_t n,
                        sti_effects *out)
{
    for (size_t k = 0; k < n; k++)
        if (events[k].kind == STI_EVENT_DONE)
            finish_choice(s, out);
        else if (events[k].msg.kind == STI_MSG_ASK && !s->job.ask)
            start_choice(s, (sti_ask *)events[k].msg.object, out);
        else
            sti_object_drop(events[k].msg.object);
}
