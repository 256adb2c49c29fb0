/* Parts in a buffer: a header of 40 bytes, then more of a spec and a name, or
 * places and cells, each rounded up to 8. Every part starts at a multiple of
 * 8. */
#include "engine/store/push.h"

#include <string.h>

#include "engine/store/number_cells.h"
#include "engine/store/store_inside.h"

typedef struct header {
    uint32_t kind, table;
    uint32_t n, row;      /* TABLE: columns, staleness; MARK: row is `end` */
    uint32_t type, flags; /* TABLE */
    uint64_t rows;        /* TABLE; MARK: clock */
    uint64_t bytes;       /* TABLE: of the name; else of the cells */
} header;

enum { SPARSE = 1, EAGER = 2 };

/* The rest of a table's spec. */
typedef struct spec_rest {
    uint32_t staleness_max, snapshot_every;
    double hold_below;
    uint64_t push_bytes;
} spec_rest;

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
        h.flags =
            (part->spec.sparse ? SPARSE : 0) | (part->spec.eager ? EAGER : 0);
        h.rows = part->spec.rows;
        h.bytes = strlen(part->spec.name) + 1;
    } else if (part->kind == STI_PUSH_MARK) {
        h.table = part->worker;
        h.row = part->end;
        h.rows = part->clock;
    }
    return h;
}

static spec_rest rest_of(const strads_table_spec *spec)
{
    return (spec_rest){.staleness_max = spec->staleness_max,
                       .snapshot_every = spec->snapshot_every,
                       .hold_below = spec->hold_below,
                       .push_bytes = spec->push_bytes};
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
    const spec_rest rest = rest_of(&part->spec);
    size_t places = table ? sizeof rest : sizeof(uint32_t) * part->n;
    size_t at = push->size;
    strads_err err = sti_buffer_resize(push, at + sizeof h + padded(places) +
                                                 padded(h.bytes));
    if (err)
        return err;
    unsigned char *to = put(push->bytes + at, &h, sizeof h);
    to = put(to, table ? (const void *)&rest : part->places, places);
    (void)put(to, table ? (const void *)part->spec.name : part->cells, h.bytes);
    return STRADS_OK;
}

strads_err sti_push_reserve(sti_buffer *push, uint32_t table, uint32_t n,
                            size_t row_bytes, sti_push_room *out)
{
    size_t at = push->size;
    size_t places = padded(sizeof(uint32_t) * n);
    const header h = {.kind = STI_PUSH_ROWS,
                      .table = table,
                      .n = n,
                      .bytes = n * row_bytes};
    strads_err err =
        sti_buffer_resize(push, at + sizeof h + places + padded(h.bytes));
    if (err)
        return err;
    memcpy(push->bytes + at, &h, sizeof h);
    unsigned char *body = push->bytes + at + sizeof h;
    if (n % 2) /* what rounds up is 0 */
        memset(body + places - sizeof(uint32_t), 0, sizeof(uint32_t));
    memset(body + places + h.bytes, 0, padded(h.bytes) - h.bytes);
    out->rows = (uint32_t *)(void *)body;
    out->cells = (char *)body + places;
    return STRADS_OK;
}

size_t sti_push_head_bytes(uint32_t n)
{
    return sizeof(header) + padded(sizeof(uint32_t) * n);
}

void sti_push_put_head(char *cells, uint32_t table, uint32_t n,
                       const uint32_t *rows, size_t row_bytes)
{
    const header h = {.kind = STI_PUSH_ROWS,
                      .table = table,
                      .n = n,
                      .bytes = n * row_bytes};
    unsigned char *to = (unsigned char *)cells - sti_push_head_bytes(n);
    to = put(to, &h, sizeof h);
    (void)put(to, rows, sizeof *rows * n);
    memset(cells + h.bytes, 0, padded(h.bytes) - h.bytes);
}

strads_err sti_push_refer(sti_buffer *push, uint32_t table, uint32_t n,
                          const uint32_t *rows, size_t row_bytes,
                          const void *cells)
{
    const header h = {.kind = STI_PUSH_ROWS,
                      .table = table,
                      .n = n,
                      .bytes = n * row_bytes};
    const size_t at = push->size;
    strads_err err = sti_buffer_resize(push, at + sti_push_head_bytes(n));
    if (err)
        return err;
    (void)put(put(push->bytes + at, &h, sizeof h), rows, sizeof *rows * n);
    push->rest = cells;
    push->rest_bytes = h.bytes;
    return STRADS_OK;
}

/* ---- reading ----------------------------------------------------------- */

static strads_err broken(void)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent a push that does not fit the store: it "
                       "runs another version or is broken");
}

static bool read_table(const header *h, const unsigned char *body,
                       sti_push_part *out)
{
    spec_rest rest;
    const unsigned char *name = body + sizeof rest;
    memcpy(&rest, body, sizeof rest);
    if (h->bytes == 0 || name[h->bytes - 1] != '\0')
        return false;
    out->spec = (strads_table_spec){.name = (const char *)name,
                                    .type = (strads_scalar)h->type,
                                    .rows = h->rows,
                                    .cols = h->n,
                                    .sparse = (h->flags & SPARSE) != 0,
                                    .eager = (h->flags & EAGER) != 0,
                                    .staleness = h->row,
                                    .staleness_max = rest.staleness_max,
                                    .snapshot_every = rest.snapshot_every,
                                    .hold_below = rest.hold_below,
                                    .push_bytes = rest.push_bytes};
    return true;
}

static bool read_mark(const header *h, sti_push_part *out)
{
    out->worker = h->table;
    out->end = (sti_push_end)h->row;
    out->clock = h->rows;
    return h->n == 0 && h->bytes == 0 && h->row <= STI_PUSH_LEAVE;
}

/* Are a part's cells the rest of its push? `left` is what comes behind its
 * places. */
static bool are_outside(const sti_buffer *push, const header *h, size_t left)
{
    return push->rest_bytes && h->kind == STI_PUSH_ROWS && left == 0 &&
           h->bytes == push->rest_bytes;
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
    size_t places = table ? sizeof(spec_rest) : padded(sizeof(uint32_t) * h.n);
    if (h.kind < STI_PUSH_TABLE || h.kind > STI_PUSH_MARK || places > left)
        goto fail;
    const bool outside = are_outside(push, &h, left - places);
    if (!outside &&
        (h.bytes > left - places || padded(h.bytes) > left - places))
        goto fail;
    const unsigned char *body = push->bytes + *at + sizeof h;
    *out = (sti_push_part){.kind = (sti_push_kind)h.kind, .table = h.table};
    if (table ? !read_table(&h, body, out)
              : h.kind == STI_PUSH_MARK && !read_mark(&h, out))
        goto fail;
    if (h.kind == STI_PUSH_ROWS || h.kind == STI_PUSH_COLS) {
        out->n = h.n;
        out->row = h.row;
        out->places = (const uint32_t *)(const void *)body;
        out->cells = outside ? push->rest : body + places;
        out->cell_bytes = h.bytes;
    }
    *at += sizeof h + places + (outside ? 0 : padded(h.bytes));
    return true;
fail:
    *err = broken();
    return false;
}

/* ---- carrying out ------------------------------------------------------ */

/* The cells are as many as the table's rows ask for. */
static bool has_all_cells(const strads_table_spec *spec,
                          const sti_push_part *part)
{
    uint64_t row = part->kind == STI_PUSH_ROWS ? spec->cols : 1;
    uint64_t bytes;
    return !__builtin_mul_overflow(row * sti_cell_size(spec->type), part->n,
                                   &bytes) &&
           bytes == part->cell_bytes;
}

bool sti_push_fits(const strads_table_spec *spec, const sti_push_part *part)
{
    bool rows = part->kind == STI_PUSH_ROWS;
    uint64_t bound = rows ? spec->rows : spec->cols;
    bool fits = has_all_cells(spec, part) && (rows || part->row < spec->rows);
    for (uint32_t k = 0; fits && k < part->n; k++)
        fits = part->places[k] < bound;
    return fits;
}

static strads_err apply(const sti_push_part *part, strads_store *store)
{
    if (part->kind == STI_PUSH_TABLE) {
        uint32_t table;
        strads_err err = strads_store_create(store, &part->spec, &table);
        return err || table == part->table ? err : broken();
    }
    if (part->kind == STI_PUSH_MARK)
        return STRADS_OK;
    const strads_table_spec *spec = strads_store_spec(store, part->table);
    if (!spec || !has_all_cells(spec, part))
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
