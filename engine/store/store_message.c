/* What clients ask and shards answer, as counted objects. */
#include "engine/store/store_message.h"

#include <stdlib.h>
#include <string.h>

static void ask_destroy(sti_object *object)
{
    free(object);
}

strads_err sti_row_ask_new(uint32_t n, sti_row_ask **out)
{
    sti_row_ask *ask = calloc(1, sizeof *ask + sizeof(uint32_t) * n);
    if (!ask)
        return strads_fail(STRADS_ENOMEM, "no memory to ask for %u rows",
                           (unsigned)n);
    sti_object_init(&ask->head, ask_destroy);
    ask->n = n;
    *out = ask;
    return STRADS_OK;
}

static void answer_destroy(sti_object *object)
{
    sti_row_answer *answer = (sti_row_answer *)object;
    sti_object_drop(answer->parts);
    free(answer);
}

strads_err sti_row_answer_new(sti_row_answer **out)
{
    sti_row_answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return strads_fail(STRADS_ENOMEM, "no memory for rows to be sent");
    sti_object_init(&answer->head, answer_destroy);
    *out = answer;
    return STRADS_OK;
}

strads_err sti_row_answer_own(sti_row_answer *answer)
{
    if (!answer->lent_bytes)
        return STRADS_OK;
    size_t before = answer->parts->size;
    strads_err err =
        sti_buffer_resize(answer->parts, before + answer->lent_bytes);
    if (err)
        return err;
    memcpy(answer->parts->bytes + before, answer->lent, answer->lent_bytes);
    answer->lent = NULL;
    answer->lent_bytes = 0;
    return STRADS_OK;
}

static bool is_lent(const sti_msg *msg)
{
    const sti_row_answer *answer = (const sti_row_answer *)msg->object;
    const sti_buffer *push = (const sti_buffer *)msg->object;
    return (msg->kind == STI_MSG_ROWS && answer->lent_bytes) ||
           (msg->kind == STI_MSG_PUSH && push->rest_bytes);
}

bool sti_store_instead(const sti_msg *msg, sti_row_answer *again, sti_msg *out)
{
    if (!is_lent(msg))
        return false;
    *out = *msg;
    if (msg->kind == STI_MSG_PUSH) {
        out->kind = STI_MSG_ATTACH;
        out->object = NULL;
        return true;
    }
    *again = *(const sti_row_answer *)msg->object;
    again->again = true;
    again->parts = NULL;
    again->lent = NULL;
    again->lent_bytes = 0;
    out->object = &again->head;
    return true;
}
