/* Parts in a buffer: a header of 40 bytes, then a name, or places and cells,
 * each rounded up to 8. Every part starts at a multiple of 8. */
#include "engine/store/push.h"

#include <string.h>

#include "engine/store/number_cells.h"
#include "engine/store/store_inside.h"

typedef struct header {
    uint32_t kind, table;
    uint32_t n, row;       /* TABLE: columns, staleness */
    uint32_t type, sparse; /* TABLE */
    uint64_t rows;         /* TABLE */
    uint64_t bytes;        /* TABLE: of the name; else of the cells */
} header;

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* ---- writing ----------------------------------------------------------- */

static header header_of(const sti_push_part *part)
{
    header h = {.kind = part->kind,
                .table = part->table,
                .n = part->n,
                .row = part->row,
                .bytes = part->cell_bytes};
    if (part->kind == STI_PUSH_TABLE) {
        h.n = part->spec.cols;
        h.row = part->spec.staleness;
        h.type = part->spec.type;
        h.sparse = part->spec.sparse;
        h.rows = part->spec.rows;
        h.bytes = strlen(part->spec.name) + 1;
    }
    return h;
}

/* Copies `bytes` and clears what rounds them up. */
static unsigned char *put(unsigned char *at, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(at, from, bytes);
    memset(at + bytes, 0, padded(bytes) - bytes);
    return at + padded(bytes);
}

strads_err sti_push_append(sti_buffer *push, const sti_push_part *part)
{
    bool table = part->kind == STI_PUSH_TABLE;
    header h = header_of(part);
    size_t places = table ? 0 : sizeof(uint32_t) * part->n;
    size_t at = push->size;
    strads_err err = sti_buffer_resize(push, at + sizeof h + padded(places) +
                                                 padded(h.bytes));
    if (err)
        return err;
    unsigned char *to = put(push->bytes + at, &h, sizeof h);
    to = put(to, part->places, places);
    (void)put(to, table ? (const void *)part->spec.name : part->cells, h.bytes);
    return STRADS_OK;
}

/* ---- reading ----------------------------------------------------------- */

static strads_err broken(void)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent a push that does not fit the store: it "
                       "runs another version or is broken");
}

static bool read_table(const header *h, const unsigned char *name,
                       sti_push_part *out)
{
    if (h->bytes == 0 || name[h->bytes - 1] != '\0')
        return false;
    out->spec = (strads_table_spec){.name = (const char *)name,
                                    .type = (strads_scalar)h->type,
                                    .rows = h->rows,
                                    .cols = h->n,
                                    .sparse = h->sparse != 0,
                                    .staleness = h->row};
    return true;
}

bool sti_push_next(const sti_buffer *push, size_t *at, sti_push_part *out,
                   strads_err *err)
{
    *err = STRADS_OK;
    size_t left = push->size - *at;
    if (left == 0)
        return false;
    header h;
    if (left < sizeof h)
        goto fail;
    memcpy(&h, push->bytes + *at, sizeof h);
    left -= sizeof h;
    bool table = h.kind == STI_PUSH_TABLE;
    size_t places = table ? 0 : padded(sizeof(uint32_t) * h.n);
    if (h.kind < STI_PUSH_TABLE || h.kind > STI_PUSH_COLS || places > left ||
        h.bytes > left - places || padded(h.bytes) > left - places)
        goto fail;
    const unsigned char *body = push->bytes + *at + sizeof h;
    *out = (sti_push_part){.kind = (sti_push_kind)h.kind, .table = h.table};
    if (table && !read_table(&h, body, out))
        goto fail;
    if (!table) {
        out->n = h.n;
        out->row = h.row;
        out->places = (const uint32_t *)(const void *)body;
        out->cells = body + places;
        out->cell_bytes = h.bytes;
    }
    *at += sizeof h + places + padded(h.bytes);
    return true;
fail:
    *err = broken();
    return false;
}

/* ---- carrying out ------------------------------------------------------ */

/* The cells are as many as the table's rows ask for. */
static bool fits(const strads_table_spec *spec, const sti_push_part *part)
{
    uint64_t row = part->kind == STI_PUSH_ROWS ? spec->cols : 1;
    uint64_t bytes;
    return !__builtin_mul_overflow(row * sti_cell_size(spec->type), part->n,
                                   &bytes) &&
           bytes == part->cell_bytes;
}

static strads_err apply(const sti_push_part *part, strads_store *store)
{
    if (part->kind == STI_PUSH_TABLE) {
        uint32_t table;
        strads_err err = strads_store_create(store, &part->spec, &table);
        return err || table == part->table ? err : broken();
    }
    const strads_table_spec *spec = strads_store_spec(store, part->table);
    if (!spec || !fits(spec, part))
        return broken();
    strads_err err =
        part->kind == STI_PUSH_ROWS
            ? strads_store_inc(store, part->table, part->n, part->places,
                               part->cells, NULL)
            : strads_store_inc_sparse(store, part->table, part->row, part->n,
                                      part->places, part->cells, NULL);
    return err == STRADS_EINVAL ? broken() : err;
}

strads_err sti_push_apply(const sti_buffer *push, strads_store *store)
{
    strads_err err = STRADS_OK;
    sti_push_part part;
    for (size_t at = 0; !err && sti_push_next(push, &at, &part, &err);)
        err = apply(&part, store);
    return err;
}
