/* Tables one after the other behind a head of 16 bytes; everything starts at a
 * multiple of 8. A table is a head of 120 bytes and its values: the cells of a
 * dense table as they lie in memory, or of a sparse one the rows that hold
 * columns, in ascending order, each with its number, its count, its columns in
 * the order of their coming, and their cells. Hosts are little-endian. */
#include "engine/store/store_image.h"

#include <string.h>

#include "engine/store/number_cells.h"
#include "engine/store/store_inside.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tables go to the disk as they lie: strads needs a little-endian host"
#endif

enum { VERSION = 1 };

static const unsigned char image_magic[8] = {'S', 'T', 'R', 'D',
                                             'I', 'M', 'G', 'E'};

typedef struct image_head {
    unsigned char magic[8];
    uint32_t version;
    uint32_t tables;
} image_head;

typedef struct table_head {
    char name[STI_TABLE_NAME]; /* filled up with zeros */
    uint32_t type, sparse;
    uint64_t rows;
    uint32_t cols, staleness;
    uint64_t version;
    uint64_t filled; /* sparse: rows that hold columns */
    uint64_t cells;  /* of all rows together */
    uint64_t bytes;  /* of the values that follow */
} table_head;
_Static_assert(sizeof(table_head) == 120, "no gaps");

typedef struct row_head {
    uint32_t row;
    uint32_t n;
} row_head;

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~UINT64_C(7);
}

/* ---- writing ----------------------------------------------------------- */

static strads_err put_padded(sti_sink *sink, const void *bytes, size_t size)
{
    static const unsigned char zeros[8];
    strads_err err = size ? sink->put(sink, bytes, size) : STRADS_OK;
    size_t rest = (size_t)padded(size) - size;
    return err || !rest ? err : sink->put(sink, zeros, rest);
}

/* Of a row with n columns, behind its head. */
static uint64_t row_bytes(const sti_table *table, uint64_t n)
{
    return padded(n * sizeof(uint32_t)) + padded(n * table->cell);
}

static table_head head_of(const sti_table *table)
{
    table_head head = {.type = (uint32_t)table->spec.type,
                       .sparse = table->spec.sparse,
                       .rows = table->spec.rows,
                       .cols = table->spec.cols,
                       .staleness = table->spec.staleness,
                       .version = atomic_load(&table->version)};
    memcpy(head.name, table->name, strlen(table->name));
    if (table->dense) {
        head.cells = head.rows * head.cols;
        head.bytes = padded(head.cells * table->cell);
    }
    for (uint64_t r = 0; table->sparse && r < head.rows; r++)
        if (table->sparse[r].n) {
            head.filled++;
            head.cells += table->sparse[r].n;
            head.bytes +=
                sizeof(row_head) + row_bytes(table, table->sparse[r].n);
        }
    return head;
}

static strads_err put_row(sti_sink *sink, const sti_table *table, uint32_t r)
{
    const sti_sparse_row *row = &table->sparse[r];
    const row_head head = {.row = r, .n = row->n};
    if (!row->n)
        return STRADS_OK;
    strads_err err = sink->put(sink, &head, sizeof head);
    if (!err)
        err = put_padded(sink, row->cols, row->n * sizeof *row->cols);
    return err ? err : put_padded(sink, row->values, row->n * table->cell);
}

static strads_err put_table(sti_sink *sink, const sti_table *table)
{
    const table_head head = head_of(table);
    strads_err err = sink->put(sink, &head, sizeof head);
    if (table->dense && !err)
        err = put_padded(sink, table->dense, head.cells * table->cell);
    for (uint64_t r = 0; table->sparse && !err && r < head.rows; r++)
        err = put_row(sink, table, (uint32_t)r);
    return err;
}

strads_err sti_store_image_write(const strads_store *store, sti_sink *sink)
{
    image_head head = {.version = VERSION, .tables = store->n_tables};
    memcpy(head.magic, image_magic, sizeof head.magic);
    strads_err err = sink->put(sink, &head, sizeof head);
    for (uint32_t t = 0; !err && t < store->n_tables; t++)
        err = put_table(sink, store->tables[t]);
    return err;
}

/* ---- reading ----------------------------------------------------------- */

/* What has not been read yet. */
typedef struct rest {
    const unsigned char *at;
    uint64_t size;
} rest;

static strads_err damaged(const char *what)
{
    return strads_fail(STRADS_EFORMAT,
                       "the image of a store is damaged: %s; take an older "
                       "one, or start anew",
                       what);
}

static bool take(rest *from, void *to, size_t size)
{
    if (size > from->size)
        return false;
    memcpy(to, from->at, size);
    from->at += size;
    from->size -= size;
    return true;
}

/* Whether the head agrees with itself and with how much there is to follow. */
static bool head_holds(const table_head *head, uint64_t left)
{
    size_t cell = sti_cell_size((strads_scalar)head->type);
    uint64_t cells, bytes;
    if (!cell || head->sparse > 1 || !head->cols || head->rows > UINT32_MAX ||
        head->bytes > left || head->bytes % 8 || !head->name[0] ||
        head->name[STI_TABLE_NAME - 1])
        return false;
    if (head->sparse)
        return head->filled <= head->rows &&
               head->filled <= head->bytes / sizeof(row_head);
    return !__builtin_mul_overflow(head->rows, head->cols, &cells) &&
           !__builtin_mul_overflow(cells, cell, &bytes) && bytes <= left &&
           cells == head->cells && padded(bytes) == head->bytes;
}

/* A row's columns, distinct and below the table's, and their cells. */
static strads_err fill_row(sti_table *table, const row_head *head,
                           const unsigned char *at)
{
    sti_sparse_row *row = &table->sparse[head->row];
    const uint32_t *cols = (const uint32_t *)(const void *)at;
    for (uint32_t i = 0; i < head->n; i++) {
        uint32_t place = i;
        if (cols[i] >= table->spec.cols)
            return damaged("a column that its table does not have");
        strads_err err = sti_sparse_row_place(row, cols[i], table->cell,
                                              table->budget, &place);
        if (err)
            return err;
        if (place != i)
            return damaged("a column that is twice in a row");
    }
    memcpy(row->values, at + padded(head->n * sizeof *cols),
           head->n * table->cell);
    return STRADS_OK;
}

/* `from` holds the values of this table and nothing else. */
static strads_err fill_sparse(sti_table *table, const table_head *head,
                              rest *from)
{
    uint64_t cells = 0;
    uint64_t next = 0; /* the least row that may come */
    for (uint64_t k = 0; k < head->filled; k++) {
        row_head row;
        if (!take(from, &row, sizeof row) || row.row < next ||
            row.row >= head->rows || row.n == 0 || row.n > head->cols ||
            row_bytes(table, row.n) > from->size)
            return damaged("a row that its table does not have");
        strads_err err = fill_row(table, &row, from->at);
        if (err)
            return err;
        from->at += row_bytes(table, row.n);
        from->size -= row_bytes(table, row.n);
        cells += row.n;
        next = (uint64_t)row.row + 1;
    }
    return from->size || cells != head->cells
               ? damaged("more or fewer values than it tells")
               : STRADS_OK;
}

static strads_err read_table(strads_store *store, rest *from)
{
    table_head head;
    uint32_t number;
    if (!take(from, &head, sizeof head) || !head_holds(&head, from->size))
        return damaged("a table that cannot be");
    const strads_table_spec spec = {.name = head.name,
                                    .type = (strads_scalar)head.type,
                                    .rows = head.rows,
                                    .cols = head.cols,
                                    .sparse = head.sparse != 0,
                                    .staleness = head.staleness};
    strads_err err = strads_store_create(store, &spec, &number);
    if (err)
        return err == STRADS_EINVAL ? damaged("a table twice") : err;
    sti_table *table = store->tables[number];
    rest values = {.at = from->at, .size = head.bytes};
    if (table->sparse)
        err = fill_sparse(table, &head, &values);
    else if (head.cells)
        memcpy(table->dense, values.at, head.cells * table->cell);
    atomic_store(&table->version, head.version);
    from->at += head.bytes;
    from->size -= head.bytes;
    return err;
}

strads_err sti_store_image_read(const void *bytes, size_t size,
                                strads_store *store, size_t *used)
{
    rest from = {.at = bytes, .size = size};
    image_head head;
    if (store->n_tables)
        return strads_fail(STRADS_ESTATE,
                           "a store that is in use cannot be filled from an "
                           "image: open a new one");
    if (!take(&from, &head, sizeof head) ||
        memcmp(head.magic, image_magic, sizeof head.magic) != 0)
        return damaged("it does not begin as one");
    if (head.version != VERSION)
        return strads_fail(STRADS_EMISMATCH,
                           "the image of a store is of version %u, and this "
                           "strads reads version %d: use the strads that "
                           "wrote it",
                           head.version, VERSION);
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < head.tables; t++)
        err = read_table(store, &from);
    if (!err)
        *used = size - (size_t)from.size;
    return err;
}
