/* Collects effects in a batch, and makes the failure object. */
#include "engine/base/role.h"

#include <stdio.h>
#include <stdlib.h>

static void add_effect(sti_effects *out, sti_effect effect)
{
    if (out->n == out->capacity) {
        size_t capacity = out->capacity ? 2 * out->capacity : 32;
        sti_effect *at = realloc(out->at, sizeof *at * capacity);
        if (!at) {
            out->lost = true;
            sti_object_drop(effect.msg.object);
            return;
        }
        out->at = at;
        out->capacity = capacity;
    }
    out->at[out->n++] = effect;
}

void sti_effect_send(sti_effects *out, sti_msg msg)
{
    add_effect(out, (sti_effect){.kind = STI_EFFECT_SEND, .msg = msg});
}

void sti_effect_compute(sti_effects *out, sti_job *job)
{
    add_effect(out, (sti_effect){.kind = STI_EFFECT_COMPUTE, .job = job});
}

void sti_effect_report(sti_effects *out)
{
    add_effect(out, (sti_effect){.kind = STI_EFFECT_REPORT});
}

void sti_effect_end(sti_effects *out, strads_err err)
{
    add_effect(out, (sti_effect){.kind = STI_EFFECT_END, .err = err});
}

void sti_effect_timer(sti_effects *out, uint64_t at)
{
    add_effect(out, (sti_effect){.kind = STI_EFFECT_TIMER, .at = at});
}

void sti_effect_wake(sti_effects *out, uint32_t worker)
{
    add_effect(out, (sti_effect){.kind = STI_EFFECT_WAKE, .worker = worker});
}

void sti_effects_free(sti_effects *out)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i].kind == STI_EFFECT_SEND)
            sti_object_drop(out->at[i].msg.object);
    free(out->at);
    *out = (sti_effects){0};
}

static void failure_destroy(sti_object *object)
{
    free(object);
}

sti_object *sti_failure_object(strads_err err, const char *text)
{
    sti_failure *failure = malloc(sizeof *failure);
    if (!failure)
        return NULL;
    sti_object_init(&failure->head, failure_destroy);
    failure->err = err;
    (void)snprintf(failure->text, sizeof failure->text, "%s", text);
    return &failure->head;
}
