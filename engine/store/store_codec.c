/* Each kind begins with its sender. Parts of pushes and rows are bytes here;
 * push.h reads them where they lie, and never beyond. */
#include "engine/store/store_codec.h"

#include <string.h>

enum { EXACT = 1, GONE = 2, AGAIN = 4 };

/* ---- writing ----------------------------------------------------------- */

/* The last item of its message, in two: the second may stay where it is. */
static void put_two(sti_writer *w, const sti_buffer *first, const void *second,
                    uint64_t bytes, sti_part *rest)
{
    sti_write_u64(w, first->size + bytes);
    sti_write_raw(w, first->bytes, first->size);
    if (rest)
        *rest = (sti_part){second, bytes};
    else
        sti_write_raw(w, second, bytes);
}

/* The last item of its message: the bytes may stay where they are. */
static void put_buffer(sti_writer *w, const sti_buffer *buffer, sti_part *rest)
{
    uint64_t size = buffer ? buffer->size : 0;
    if (buffer && buffer->rest_bytes) {
        put_two(w, buffer, buffer->rest, buffer->rest_bytes, rest);
    } else if (rest && size) {
        sti_write_u64(w, size);
        *rest = (sti_part){buffer->bytes, size};
    } else {
        sti_write_bytes(w, buffer ? buffer->bytes : NULL, size);
    }
}

static void put_ask(sti_writer *w, const sti_row_ask *ask)
{
    sti_write_u32(w, ask->worker);
    sti_write_u32(w, ask->table);
    sti_write_u32(w, ask->exact ? EXACT : 0);
    sti_write_u64(w, ask->id);
    sti_write_u64(w, ask->needs);
    sti_write_u32s(w, ask->rows, ask->n);
}

static void put_rows(sti_writer *w, const sti_row_answer *answer,
                     sti_part *rest)
{
    sti_write_u32(w, answer->worker);
    sti_write_u32(w, answer->table);
    sti_write_u32(w, (answer->exact ? EXACT : 0) | (answer->gone ? GONE : 0) |
                         (answer->again ? AGAIN : 0));
    sti_write_u32(w, answer->first);
    sti_write_u64(w, answer->id);
    sti_write_u64(w, answer->as_of);
    sti_write_u64(w, answer->applied);
    sti_write_u64(w, answer->since);
    sti_write_u64(w, answer->parked_ns);
    if (answer->lent_bytes)
        put_two(w, answer->parts, answer->lent, answer->lent_bytes, rest);
    else
        put_buffer(w, answer->parts, rest);
}

void sti_store_encode(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    sti_write_u32(w, msg->from);
    if (msg->kind == STI_MSG_PUSH)
        put_buffer(w, (const sti_buffer *)msg->object, rest);
    else if (msg->kind == STI_MSG_ASK_ROWS)
        put_ask(w, (const sti_row_ask *)msg->object);
    else if (msg->kind == STI_MSG_ROWS)
        put_rows(w, (const sti_row_answer *)msg->object, rest);
    else if (msg->kind == STI_MSG_ATTACH || msg->kind == STI_MSG_ATTACHED)
        sti_write_u64(w, msg->life);
}

/* ---- reading ----------------------------------------------------------- */

/* The buffer lies in the payload, and keeps it. */
static strads_err get_buffer(sti_reader *r, const char *what,
                             sti_object *backing, sti_buffer **out)
{
    uint64_t size;
    const void *bytes = sti_read_bytes(r, &size);
    strads_err err = sti_reader_end(r, what);
    return err ? err
               : sti_buffer_over(backing, (void *)(uintptr_t)bytes, size, out);
}

static strads_err get_push(sti_reader *r, sti_object *backing, sti_msg *msg)
{
    sti_buffer *push;
    strads_err err = get_buffer(r, "a PUSH", backing, &push);
    if (!err)
        msg->object = &push->head;
    return err;
}

static strads_err get_ask(sti_reader *r, sti_msg *msg)
{
    sti_row_ask head = {.worker = sti_read_u32(r)}; /* one after the other */
    head.table = sti_read_u32(r);
    head.exact = sti_read_u32(r) & EXACT;
    head.id = sti_read_u64(r);
    head.needs = sti_read_u64(r);
    uint64_t n;
    const uint32_t *rows = sti_read_u32s(r, &n);
    strads_err err = sti_reader_end(r, "an ASK_ROWS");
    if (err)
        return err;
    sti_row_ask *ask;
    err = sti_row_ask_new((uint32_t)n, &ask);
    if (err)
        return err;
    ask->worker = head.worker;
    ask->table = head.table;
    ask->exact = head.exact;
    ask->id = head.id;
    ask->needs = head.needs;
    memcpy(ask->rows, rows, sizeof *rows * n);
    msg->object = &ask->head;
    return STRADS_OK;
}

static void read_answer(sti_reader *r, sti_row_answer *answer)
{
    answer->worker = sti_read_u32(r);
    answer->table = sti_read_u32(r);
    uint32_t flags = sti_read_u32(r);
    answer->exact = flags & EXACT;
    answer->gone = flags & GONE;
    answer->again = flags & AGAIN;
    answer->first = sti_read_u32(r);
    answer->id = sti_read_u64(r);
    answer->as_of = sti_read_u64(r);
    answer->applied = sti_read_u64(r);
    answer->since = sti_read_u64(r);
    answer->parked_ns = sti_read_u64(r);
}

static strads_err get_rows(sti_reader *r, sti_object *backing, sti_msg *msg)
{
    sti_row_answer *answer;
    strads_err err = sti_row_answer_new(&answer);
    if (err)
        return err;
    read_answer(r, answer);
    err = get_buffer(r, "a ROWS", backing, &answer->parts);
    if (err)
        sti_object_drop(answer);
    else
        msg->object = &answer->head;
    return err;
}

strads_err sti_store_decode(sti_reader *r, sti_object *backing, sti_msg *msg)
{
    msg->from = sti_read_u32(r);
    if (msg->kind == STI_MSG_PUSH)
        return get_push(r, backing, msg);
    if (msg->kind == STI_MSG_ASK_ROWS)
        return get_ask(r, msg);
    if (msg->kind == STI_MSG_ROWS)
        return get_rows(r, backing, msg);
    if (msg->kind == STI_MSG_ATTACH || msg->kind == STI_MSG_ATTACHED)
        msg->life = sti_read_u64(r);
    return sti_reader_end(r, "a message of the store");
}

bool sti_store_peek_rows(const void *bytes, uint64_t n, sti_address *from,
                         sti_row_answer *head, uint64_t *at, uint64_t *size)
{
    sti_reader r;
    sti_reader_init(&r, bytes, n);
    *from = sti_read_u32(&r);
    *head = (sti_row_answer){0};
    read_answer(&r, head);
    *size = sti_read_u64(&r);
    *at = r.at;
    return !r.err;
}
