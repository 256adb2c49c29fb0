/* Rows and the commits to them. Invariants: a row is read and written under its
 * stripe. A commit holds the stripes of all its rows until it is complete, so
 * no thread sees a part of it. A thread that holds all stripes sees the table
 * at exactly `version`. A failed commit has changed no value (in sparse rows it
 * may leave new columns at 0).
 *
 * The lock word: only the holder of `queue` sets or clears the queue bit. While
 * the bit is set, no thread bypasses the queue. So the stripes that the queue's
 * head waits for drain, even if it waits for all of them. */
#include "engine/store/table.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64, STRIPE_BYTES = 512 };

/* ---- locks --------------------------------------------------------------- */

#define QUEUED (UINT64_C(1) << STI_STRIPES)

enum { SPINS = 2000 }; /* takes about as long as a yield */

void sti_stripes_init(sti_stripes *stripes)
{
    atomic_init(&stripes->held, 0);
    pthread_mutex_init(&stripes->queue, NULL);
}

void sti_stripes_destroy(sti_stripes *stripes)
{
    pthread_mutex_destroy(&stripes->queue);
}

/* Tries once; fails only if a bit of `avoid` is set. */
static bool try_take(sti_stripes *stripes, uint64_t mask, uint64_t avoid,
                     uint64_t clear)
{
    uint64_t held = atomic_load_explicit(&stripes->held, memory_order_relaxed);
    while (!(held & avoid))
        if (atomic_compare_exchange_weak_explicit(&stripes->held, &held,
                                                  (held | mask) & ~clear,
                                                  memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Holders are in short copies, seldom in a snapshot. The queue's head therefore
 * spins and yields its core only after SPINS; all other threads sleep. */
static void queue_for_stripes(sti_stripes *stripes, uint64_t mask)
{
    pthread_mutex_lock(&stripes->queue);
    atomic_fetch_or_explicit(&stripes->held, QUEUED, memory_order_relaxed);
    for (unsigned spins = 0; !try_take(stripes, mask, mask, QUEUED); spins++)
        if (spins >= SPINS)
            sched_yield();
    pthread_mutex_unlock(&stripes->queue);
}

void sti_stripes_take(sti_stripes *stripes, uint64_t mask)
{
    if (!try_take(stripes, mask, mask | QUEUED, 0))
        queue_for_stripes(stripes, mask);
}

void sti_stripes_drop(sti_stripes *stripes, uint64_t mask)
{
    atomic_fetch_and_explicit(&stripes->held, ~mask, memory_order_release);
}

/* ---- opening ----------------------------------------------------------- */

static strads_err check_spec(const strads_table_spec *spec)
{
    const char *name = spec->name;
    if (!name || !name[0] || strnlen(name, STI_TABLE_NAME) == STI_TABLE_NAME)
        return strads_fail(STRADS_EINVAL,
                           "a table needs a name of 1 to %d bytes",
                           STI_TABLE_NAME - 1);
    if (!sti_cell_size(spec->type))
        return strads_fail(STRADS_EINVAL,
                           "table \"%s\" has the unknown type %d", name,
                           (int)spec->type);
    if (spec->push_bits && spec->push_bits != 8)
        return strads_fail(STRADS_EINVAL,
                           "table \"%s\": push_bits %" PRIu32
                           ": expected 8, or "
                           "0 for all of them",
                           name, spec->push_bits);
    if (spec->push_bits && (spec->sparse || (spec->type != STRADS_F64 &&
                                             spec->type != STRADS_F32)))
        return strads_fail(STRADS_EINVAL,
                           "table \"%s\": push_bits 8 is for dense rows of f64 "
                           "or f32, and this table is %s",
                           name, spec->sparse ? "sparse" : "of integers");
    if (spec->cols == 0)
        return strads_fail(
            STRADS_EINVAL,
            "table \"%s\" has no columns: at least 1 is expected", name);
    if (spec->rows > UINT32_MAX)
        return strads_fail(STRADS_ELIMIT,
                           "table \"%s\" has %" PRIu64 " rows: at most %" PRIu32
                           " are possible",
                           name, spec->rows, UINT32_MAX);
    return STRADS_OK;
}

static uint64_t sparse_bytes(const sti_table *table)
{
    return table->spec.rows * sizeof(sti_sparse_row);
}

/* The bytes include space to align the rows to a cache line. */
static strads_err dense_bytes(const sti_table *table, uint64_t *bytes)
{
    if (__builtin_mul_overflow(table->spec.rows, table->row_bytes, bytes) ||
        __builtin_add_overflow(*bytes, CACHE_LINE, bytes))
        return strads_fail(STRADS_ELIMIT,
                           "table \"%s\" of %" PRIu64 " x %" PRIu32
                           " numbers is beyond 2^64 bytes: make it sparse",
                           table->name, table->spec.rows, table->spec.cols);
    return STRADS_OK;
}

static strads_err make_rows(sti_table *table)
{
    char what[STI_TABLE_NAME + 16];
    uint64_t bytes = sparse_bytes(table);
    void *memory = NULL;
    strads_err err = STRADS_OK;
    (void)snprintf(what, sizeof what, "table \"%s\"", table->name);
    if (!table->spec.sparse)
        err = dense_bytes(table, &bytes);
    if (!err)
        err = sti_budget_alloc(table->budget, bytes, what, &memory);
    if (err)
        return err;
    if (table->spec.sparse) {
        table->sparse = memory;
    } else {
        uintptr_t at = (uintptr_t)memory + CACHE_LINE - 1;
        table->memory = memory;
        table->dense = (char *)(at & ~(uintptr_t)(CACHE_LINE - 1));
    }
    return STRADS_OK;
}

strads_err sti_table_open(const strads_table_spec *spec, sti_budget *budget,
                          sti_table **out)
{
    strads_err err = check_spec(spec);
    if (err)
        return err;
    sti_table *table = calloc(1, sizeof *table);
    if (!table)
        return strads_fail(STRADS_ENOMEM, "no memory for table \"%s\"",
                           spec->name);
    table->spec = *spec;
    (void)snprintf(table->name, sizeof table->name, "%s", spec->name);
    table->spec.name = table->name;
    table->cell = sti_cell_size(spec->type);
    table->row_bytes = table->cell * spec->cols;
    table->budget = budget;
    sti_stripes_init(&table->stripes);
    atomic_init(&table->version, 0);
    /* Narrow neighbouring rows share a stripe. Blocks are often ranges, so two
     * ranges seldom use the same stripe. */
    while (table->row_bytes << table->stripe_shift < STRIPE_BYTES)
        table->stripe_shift++;
    err = make_rows(table);
    if (err)
        goto fail;
    *out = table;
    return STRADS_OK;
fail:
    sti_table_free(table);
    return err;
}

void sti_table_free(sti_table *table)
{
    if (!table)
        return;
    uint64_t bytes;
    if (table->memory && !dense_bytes(table, &bytes))
        sti_budget_free(table->budget, table->memory, bytes);
    for (uint64_t r = 0; table->sparse && r < table->spec.rows; r++)
        sti_sparse_row_free(&table->sparse[r], table->cell, table->budget);
    sti_budget_free(table->budget, table->sparse, sparse_bytes(table));
    sti_stripes_destroy(&table->stripes);
    free(table);
}

/* ---- checks and locks -------------------------------------------------- */

strads_err sti_spec_no_row(const strads_table_spec *spec, uint64_t row)
{
    return strads_fail(STRADS_EINVAL,
                       "table \"%s\" has %" PRIu64 " rows, numbered from 0: "
                       "there is no row %" PRIu64,
                       spec->name, spec->rows, row);
}

strads_err sti_spec_no_snapshot(const strads_table_spec *spec, uint64_t clock)
{
    return spec->snapshot_every
               ? strads_fail(STRADS_EINVAL,
                             "table \"%s\" has no snapshot before clock "
                             "%" PRIu32 ", and this worker is at %" PRIu64,
                             spec->name, spec->snapshot_every, clock)
               : strads_fail(STRADS_EINVAL,
                             "table \"%s\" keeps no snapshots: its spec has "
                             "no snapshot_every",
                             spec->name);
}

strads_err sti_spec_check_col(const strads_table_spec *spec, uint32_t col)
{
    if (col < spec->cols)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "table \"%s\" has %" PRIu32 " columns, numbered from 0: "
                       "there is no column %" PRIu32,
                       spec->name, spec->cols, col);
}

static uint64_t stripe_of(const sti_table *table, uint32_t row)
{
    return sti_stripe(row >> table->stripe_shift);
}

static strads_err find_stripes(const sti_table *table, uint32_t n,
                               const uint32_t *rows, uint64_t *stripes)
{
    uint64_t mask = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (rows[k] >= table->spec.rows)
            return sti_spec_check_row(&table->spec, rows[k]);
        mask |= stripe_of(table, rows[k]);
    }
    *stripes = mask;
    return STRADS_OK;
}

/* Ends a commit, under its stripes. */
static void count_commit(sti_table *table, uint64_t *version)
{
    uint64_t before =
        atomic_fetch_add_explicit(&table->version, 1, memory_order_relaxed);
    if (version)
        *version = before + 1;
}

/* ---- reading ----------------------------------------------------------- */

sti_row_delta sti_table_row(const sti_table *table, uint32_t row)
{
    if (table->dense)
        return (sti_row_delta){.row = row,
                               .n = table->spec.cols,
                               .cells = table->dense + row * table->row_bytes};
    const sti_sparse_row *sparse = &table->sparse[row];
    return (sti_row_delta){.row = row,
                           .n = sparse->n,
                           .cols = sparse->cols,
                           .cells = sparse->values};
}

static void copy_row(const sti_table *table, uint32_t row, char *out)
{
    if (table->dense) {
        memcpy(out, table->dense + row * table->row_bytes, table->row_bytes);
        return;
    }
    const sti_row_delta sparse = sti_table_row(table, row);
    memset(out, 0, table->row_bytes);
    sti_row_add(table->spec.type, &sparse, out);
}

/* Copies rows of one 8-byte number, the common case, with a constant size. */
static void copy_numbers(const sti_table *table, uint32_t n,
                         const uint32_t *rows, char *out)
{
    const size_t size = sizeof(double);
    for (uint32_t k = 0; k < n; k++)
        memcpy(out + k * size, table->dense + rows[k] * size, size);
}

strads_err sti_table_read(sti_table *table, uint32_t n, const uint32_t *rows,
                          void *out)
{
    uint64_t stripes = 0;
    strads_err err = find_stripes(table, n, rows, &stripes);
    if (err)
        return err;
    sti_stripes_take(&table->stripes, stripes);
    if (table->dense && table->row_bytes == sizeof(double))
        copy_numbers(table, n, rows, out);
    else
        for (uint32_t k = 0; k < n; k++)
            copy_row(table, rows[k], (char *)out + k * table->row_bytes);
    sti_stripes_drop(&table->stripes, stripes);
    return STRADS_OK;
}

/* ---- committing -------------------------------------------------------- */

void sti_row_add(strads_scalar type, const sti_row_delta *delta, void *row)
{
    if (delta->cols)
        sti_cells_add_at(type, row, delta->cols, delta->cells, delta->n);
    else if (delta->packed)
        sti_cells_add_packed(type, row, delta->cells, delta->n);
    else
        sti_cells_add(type, row, delta->cells, delta->n);
}

strads_err sti_sparse_row_reserve(sti_sparse_row *row, strads_scalar type,
                                  const sti_row_delta *delta,
                                  sti_budget *budget)
{
    const size_t cell = sti_cell_size(type);
    strads_err err = STRADS_OK;
    uint32_t place = 0;
    for (uint32_t i = 0; !err && i < delta->n; i++)
        if (delta->cols || !sti_cell_is_zero(type, delta->cells, i)) {
            err = sti_sparse_row_place(row, delta->cols ? delta->cols[i] : i,
                                       cell, budget, &place);
            place++;
        }
    return err;
}

void sti_sparse_row_add(sti_sparse_row *row, strads_scalar type,
                        const sti_row_delta *delta)
{
    const size_t size = sti_cell_size(type);
    const char *cell = delta->cells;
    uint32_t guess = 0;
    for (uint32_t i = 0; i < delta->n; i++, cell += size) {
        uint32_t place =
            sti_sparse_row_find(row, delta->cols ? delta->cols[i] : i, guess);
        if (place == STI_NO_PLACE)
            continue;
        sti_cells_add_at(type, row->values, &place, cell, 1);
        guess = place + 1;
    }
}

static strads_err reserve_columns(sti_table *table, const sti_row_delta *delta)
{
    return table->sparse
               ? sti_sparse_row_reserve(&table->sparse[delta->row],
                                        table->spec.type, delta, table->budget)
               : STRADS_OK;
}

static void add_delta(sti_table *table, const sti_row_delta *delta)
{
    if (table->sparse)
        sti_sparse_row_add(&table->sparse[delta->row], table->spec.type, delta);
    else
        sti_row_add(table->spec.type, delta,
                    table->dense + delta->row * table->row_bytes);
}

static strads_err check_delta(const sti_table *table,
                              const sti_row_delta *delta)
{
    strads_err err = sti_spec_check_row(&table->spec, delta->row);
    for (uint32_t i = 0; !err && delta->cols && i < delta->n; i++)
        if (delta->cols[i] >= table->spec.cols)
            err = sti_spec_check_col(&table->spec, delta->cols[i]);
    return err;
}

strads_err sti_table_add(sti_table *table, uint32_t n,
                         const sti_row_delta *deltas, uint64_t *version)
{
    uint64_t stripes = 0;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < n; k++) {
        err = check_delta(table, &deltas[k]);
        stripes |= stripe_of(table, deltas[k].row);
    }
    if (err)
        return err;
    sti_stripes_take(&table->stripes, stripes);
    for (uint32_t k = 0; !err && k < n; k++)
        err = reserve_columns(table, &deltas[k]);
    for (uint32_t k = 0; !err && k < n; k++)
        add_delta(table, &deltas[k]);
    if (!err)
        count_commit(table, version);
    sti_stripes_drop(&table->stripes, stripes);
    return err;
}

/* Rows of one number are the common case: one loop over all of them. */
static void inc_dense(sti_table *table, uint32_t n, const uint32_t *rows,
                      const char *delta)
{
    if (table->spec.cols == 1) {
        sti_cells_add_at(table->spec.type, table->dense, rows, delta, n);
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        sti_cells_add(table->spec.type,
                      table->dense + rows[k] * table->row_bytes,
                      delta + k * table->row_bytes, table->spec.cols);
}

static strads_err inc_sparse(sti_table *table, uint32_t n, const uint32_t *rows,
                             const char *delta)
{
    strads_err err = STRADS_OK;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; !err && k < n; k++) {
            sti_row_delta row = {.row = rows[k],
                                 .n = table->spec.cols,
                                 .cells = delta + k * table->row_bytes};
            if (pass == 0)
                err = reserve_columns(table, &row);
            else
                add_delta(table, &row);
        }
    return err;
}

strads_err sti_table_inc(sti_table *table, uint32_t n, const uint32_t *rows,
                         const void *delta, uint64_t *version)
{
    uint64_t stripes = 0;
    strads_err err = find_stripes(table, n, rows, &stripes);
    if (err)
        return err;
    sti_stripes_take(&table->stripes, stripes);
    if (table->dense)
        inc_dense(table, n, rows, delta);
    else
        err = inc_sparse(table, n, rows, delta);
    if (!err)
        count_commit(table, version);
    sti_stripes_drop(&table->stripes, stripes);
    return err;
}
