/* Parts in a buffer: a header of 40 bytes, then places and cells, each rounded
 * up to 8. Every part starts at a multiple of 8. Each message begins with its
 * sender; it carries the parts of pushes and rows as bytes. */
#include "engine/store/message.h"

#include <stdlib.h>
#include <string.h>

typedef struct header {
    uint32_t kind, table; /* MARK: table is the worker */
    uint32_t n, row;      /* MARK: row is `end` */
    uint64_t unused;
    uint64_t clock; /* MARK */
    uint64_t bytes; /* size of the cells */
} header;

static size_t round_to_8(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* ---- writing parts ----------------------------------------------------- */

/* Copies `bytes` and clears the padding. */
static unsigned char *put_padded(unsigned char *at, const void *from,
                                 size_t bytes)
{
    if (bytes)
        memcpy(at, from, bytes);
    memset(at + bytes, 0, round_to_8(bytes) - bytes);
    return at + round_to_8(bytes);
}

strads_err sti_push_append(sti_buffer *push, const sti_push_part *part)
{
    const bool mark = part->kind == STI_PUSH_MARK;
    const header h = {.kind = part->kind,
                      .table = mark ? part->worker : part->table,
                      .n = part->n,
                      .row = mark ? part->end : part->row,
                      .clock = part->clock,
                      .bytes = part->cell_bytes};
    const size_t places = sizeof(uint32_t) * part->n, at = push->size;
    strads_err err =
        sti_buffer_resize(push, at + sizeof h + round_to_8(places) +
                                    round_to_8(h.bytes));
    if (err)
        return err;
    unsigned char *to = put_padded(push->bytes + at, &h, sizeof h);
    to = put_padded(to, part->places, places);
    (void)put_padded(to, part->cells, h.bytes);
    return STRADS_OK;
}

strads_err sti_push_append_row(sti_buffer *push, uint32_t table,
                               const sti_row_delta *row, size_t cell)
{
    return sti_push_append(push, &(sti_push_part){.kind = STI_PUSH_COLS,
                                                  .table = table,
                                                  .row = row->row,
                                                  .n = row->n,
                                                  .places = row->cols,
                                                  .cells = row->cells,
                                                  .cell_bytes = row->n * cell});
}

size_t sti_push_head_bytes(uint32_t n)
{
    return sizeof(header) + round_to_8(sizeof(uint32_t) * n);
}

void sti_push_put_head(char *cells, sti_push_kind kind, uint32_t table,
                       uint32_t n, const uint32_t *rows, size_t row_bytes)
{
    const header h = {.kind = kind,
                      .table = table,
                      .n = n,
                      .bytes = n * row_bytes};
    unsigned char *to = (unsigned char *)cells - sti_push_head_bytes(n);
    to = put_padded(to, &h, sizeof h);
    (void)put_padded(to, rows, sizeof *rows * n);
    memset(cells + h.bytes, 0, round_to_8(h.bytes) - h.bytes);
}

strads_err sti_push_reserve(sti_buffer *push, sti_push_kind kind,
                            uint32_t table, uint32_t n, const uint32_t *rows,
                            size_t row_bytes, char **cells)
{
    const size_t at = push->size + sti_push_head_bytes(n);
    strads_err err = sti_buffer_resize(push, at + round_to_8(n * row_bytes));
    if (err)
        return err;
    *cells = (char *)push->bytes + at;
    sti_push_put_head(*cells, kind, table, n, rows, row_bytes);
    return STRADS_OK;
}

/* ---- reading parts ----------------------------------------------------- */

static bool mark_holds(const header *h)
{
    return h->n == 0 && h->bytes == 0 && h->row <= STI_PUSH_LEAVE;
}

bool sti_push_next(const sti_buffer *push, size_t *at, sti_push_part *out,
                   strads_err *err)
{
    header h;
    size_t left = push->size - *at;
    *err = STRADS_OK;
    if (left == 0)
        return false;
    if (left < sizeof h)
        goto fail;
    memcpy(&h, push->bytes + *at, sizeof h);
    left -= sizeof h;
    const size_t places = round_to_8(sizeof(uint32_t) * h.n);
    if (h.kind < STI_PUSH_ROWS || h.kind > STI_PUSH_PACKED || places > left ||
        h.bytes > left - places || round_to_8(h.bytes) > left - places)
        goto fail;
    const unsigned char *body = push->bytes + *at + sizeof h;
    *at += sizeof h + places + round_to_8(h.bytes);
    if (h.kind == STI_PUSH_MARK) {
        *out = (sti_push_part){.kind = STI_PUSH_MARK,
                               .worker = h.table,
                               .end = (sti_push_end)h.row,
                               .clock = h.clock};
        if (!mark_holds(&h))
            goto fail;
        return true;
    }
    *out = (sti_push_part){.kind = (sti_push_kind)h.kind,
                           .table = h.table,
                           .n = h.n,
                           .row = h.row,
                           .places = (const uint32_t *)(const void *)body,
                           .cells = body + places,
                           .cell_bytes = h.bytes};
    return true;
fail:
    *err = strads_fail(STRADS_EPEER,
                       "a node sent a push that does not fit the store: it "
                       "runs another version or is broken");
    return false;
}

bool sti_push_fits(const strads_table_spec *spec, const sti_push_part *part,
                   uint32_t shard, uint32_t shards)
{
    const bool packed = part->kind == STI_PUSH_PACKED;
    const bool rows = part->kind == STI_PUSH_ROWS || packed;
    const uint64_t bound = rows ? spec->rows : spec->cols;
    const uint64_t row =
        packed ? sti_packed_bytes(spec->cols)
               : sti_cell_size(spec->type) * (rows ? spec->cols : 1);
    uint64_t bytes;
    bool fits =
        (!packed || (spec->push_bits && !spec->sparse)) &&
        !__builtin_mul_overflow(row, part->n, &bytes) &&
        bytes == part->cell_bytes &&
        (rows || (part->row < spec->rows &&
                  sti_row_shard(part->table, part->row, shards) == shard));
    for (uint32_t k = 0; fits && k < part->n; k++)
        fits = part->places[k] < bound &&
               (!rows ||
                sti_row_shard(part->table, part->places[k], shards) == shard);
    return fits;
}

uint32_t sti_part_rows(const sti_push_part *part)
{
    return part->kind == STI_PUSH_COLS ? 1 : part->n;
}

sti_row_delta sti_part_row_at(const strads_table_spec *spec,
                              const sti_push_part *part, uint32_t k)
{
    if (part->kind == STI_PUSH_COLS)
        return (sti_row_delta){.row = part->row,
                               .n = part->n,
                               .cols = part->places,
                               .cells = part->cells};
    const bool packed = part->kind == STI_PUSH_PACKED;
    const size_t bytes = packed ? sti_packed_bytes(spec->cols)
                                : sti_cell_size(spec->type) * spec->cols;
    return (sti_row_delta){.row = part->places[k],
                           .n = spec->cols,
                           .packed = packed,
                           .cells = (const char *)part->cells + k * bytes};
}

/* ---- row requests and answers ------------------------------------------ */

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
        return strads_fail(STRADS_ENOMEM, "no memory to send rows");
    sti_object_init(&answer->head, answer_destroy);
    *out = answer;
    return STRADS_OK;
}

/* ---- encoding ---------------------------------------------------------- */

enum { EXACT = 1, GONE = 2 };

/* Writes the last item of a message, so `rest` may refer to the bytes in
 * place. */
static void put_buffer(sti_writer *w, const sti_buffer *buffer, sti_part *rest)
{
    const uint64_t size = buffer ? buffer->size : 0;
    if (rest && size) {
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
    sti_write_u32(w, (answer->exact ? EXACT : 0) | (answer->gone ? GONE : 0));
    sti_write_u32(w, answer->first);
    sti_write_u64(w, answer->id);
    sti_write_u64(w, answer->as_of);
    sti_write_u64(w, answer->applied);
    sti_write_u64(w, answer->parked_ns);
    put_buffer(w, answer->parts, rest);
}

void sti_store_encode(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    sti_write_u32(w, msg->from);
    if (msg->kind == STI_MSG_PUSH || msg->kind == STI_MSG_PEER_VECTOR)
        put_buffer(w, (const sti_buffer *)msg->object, rest);
    else if (msg->kind == STI_MSG_ASK_ROWS)
        put_ask(w, (const sti_row_ask *)msg->object);
    else if (msg->kind == STI_MSG_ROWS)
        put_rows(w, (const sti_row_answer *)msg->object, rest);
}

/* Reads a buffer in place; it keeps a reference to the payload. */
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
    /* separate statements, because the order of reads matters */
    sti_row_ask head = {.worker = sti_read_u32(r)};
    head.table = sti_read_u32(r);
    head.exact = sti_read_u32(r) & EXACT;
    head.id = sti_read_u64(r);
    head.needs = sti_read_u64(r);
    uint64_t n;
    const uint32_t *rows = sti_read_u32s(r, &n);
    strads_err err = sti_reader_end(r, "an ASK_ROWS");
    if (err)
        return err;
    sti_row_ask *ask = NULL;
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

static strads_err get_rows(sti_reader *r, sti_object *backing, sti_msg *msg)
{
    sti_row_answer *answer = NULL;
    strads_err err = sti_row_answer_new(&answer);
    if (err)
        return err;
    answer->worker = sti_read_u32(r);
    answer->table = sti_read_u32(r);
    const uint32_t flags = sti_read_u32(r);
    answer->exact = flags & EXACT;
    answer->gone = flags & GONE;
    answer->first = sti_read_u32(r);
    answer->id = sti_read_u64(r);
    answer->as_of = sti_read_u64(r);
    answer->applied = sti_read_u64(r);
    answer->parked_ns = sti_read_u64(r);
    err = get_buffer(r, "a ROWS", backing, &answer->parts);
    if (err)
        sti_object_drop(answer);
    else
        msg->object = &answer->head;
    return err;
}

static strads_err get_vector(sti_reader *r, sti_object *backing, sti_msg *msg)
{
    sti_buffer *packed;
    strads_err err = get_buffer(r, "a PEER_VECTOR", backing, &packed);
    if (err)
        return err;
    msg->object = &packed->head;
    if (sti_peer_vector_fits(packed))
        return STRADS_OK;
    msg->object = NULL;
    sti_object_drop(packed);
    return strads_fail(
        STRADS_EPEER,
        "a peer's vector does not have the size in its header: the "
        "node runs another version");
}

strads_err sti_store_decode(sti_reader *r, sti_object *backing, sti_msg *msg)
{
    msg->from = sti_read_u32(r);
    switch (msg->kind) {
    case STI_MSG_PUSH:
        return get_push(r, backing, msg);
    case STI_MSG_PEER_VECTOR:
        return get_vector(r, backing, msg);
    case STI_MSG_ASK_ROWS:
        return get_ask(r, msg);
    case STI_MSG_ROWS:
        return get_rows(r, backing, msg);
    default: /* the other messages are only the number in the frame's header */
        return sti_reader_end(r, "a message of the store");
    }
}
