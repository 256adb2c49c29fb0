/* engine/store/table.h - one table: its rows, their locks, its version. */
#ifndef STI_STORE_TABLE_H
#define STI_STORE_TABLE_H

#include <pthread.h>

#include "engine/store/cells.h"
#include "strads/store.h"

/* Many small locks that are taken in one step. Bit s of `held` is the lock of
 * stripe s. A batch takes the locks of all its rows with a single
 * compare-and-swap, or none of them. So it cannot deadlock, and without
 * contention 64 rows cost as little as one. */
#define STI_STRIPES 63
#define STI_STRIPES_ALL ((UINT64_C(1) << STI_STRIPES) - 1)

typedef struct sti_stripes {
    _Atomic uint64_t held; /* bits 0 .. 62: stripes; 63: a thread is queued */
    pthread_mutex_t queue; /* held by the thread that waits for stripes */
} sti_stripes;

void sti_stripes_init(sti_stripes *stripes);
void sti_stripes_destroy(sti_stripes *stripes);

/* Waits until all stripes of `mask` are free and takes them. The caller must
 * not hold any stripe. */
void sti_stripes_take(sti_stripes *stripes, uint64_t mask);
void sti_stripes_drop(sti_stripes *stripes, uint64_t mask);

/* The stripe of line `line` as a mask. */
static inline uint64_t sti_stripe(uint32_t line)
{
    return UINT64_C(1) << line % STI_STRIPES;
}

/* ---- the table ----------------------------------------------------------- */

enum { STI_TABLE_NAME = 64 };

typedef struct sti_table {
    /* changes only under a stripe, so it is fixed while all stripes are held; a
     * cache line apart from these, as readers poll it */
    _Atomic uint64_t version;
    strads_table_spec spec; /* spec.name points to `name` */
    char name[STI_TABLE_NAME];
    size_t cell;      /* bytes of a cell */
    size_t row_bytes; /* bytes of a dense row */
    unsigned stripe_shift;
    sti_budget *budget;
    /* stripe of row r guards row r; a commit holds the stripes of all its
     * rows */
    sti_stripes stripes;
    void *memory;           /* the allocation that `dense` points into */
    char *dense;            /* [rows x cols] cells, aligned to a cache line */
    sti_sparse_row *sparse; /* [rows]; exactly one of dense and sparse is set */
} sti_table;

/* An increment of one row: n cells, for columns cols[n], or for 0 .. n - 1 if
 * cols is NULL. */
typedef struct sti_row_delta {
    uint32_t row;
    uint32_t n;
    const uint32_t *cols;
    const void *cells;
    bool packed; /* the cells are packed (sti_cells_pack): a whole row */
} sti_row_delta;

/* Adds the delta to a dense row. */
void sti_row_add(strads_scalar type, const sti_row_delta *delta, void *row);

/* sti_sparse_row_add adds the delta to a sparse row that has all columns of the
 * delta; sti_sparse_row_reserve adds these columns first. STRADS_ENOMEM: no
 * value has changed. */
strads_err sti_sparse_row_reserve(sti_sparse_row *row, strads_scalar type,
                                  const sti_row_delta *delta,
                                  sti_budget *budget);
void sti_sparse_row_add(sti_sparse_row *row, strads_scalar type,
                        const sti_row_delta *delta);

/* STRADS_EINVAL, STRADS_ELIMIT: the spec is invalid. STRADS_ENOMEM. */
strads_err sti_table_open(const strads_table_spec *spec, sti_budget *budget,
                          sti_table **out);
void sti_table_free(sti_table *table);

/* STRADS_EINVAL: the table has no such row or column. */
strads_err sti_spec_no_row(const strads_table_spec *spec, uint64_t row);
static inline strads_err sti_spec_check_row(const strads_table_spec *spec,
                                            uint64_t row)
{
    return row < spec->rows ? STRADS_OK : sti_spec_no_row(spec, row);
}
/* STRADS_EINVAL: a worker at `clock` has no snapshot to read. */
strads_err sti_spec_no_snapshot(const strads_table_spec *spec, uint64_t clock);
strads_err sti_spec_check_col(const strads_table_spec *spec, uint32_t col);

/* Returns a row in place, as a delta that can be added to another table. The
 * caller must know that no commit runs meanwhile. */
sti_row_delta sti_table_row(const sti_table *table, uint32_t row);

/* Copies n rows to out[n x cols]. */
strads_err sti_table_read(sti_table *table, uint32_t n, const uint32_t *rows,
                          void *out);

/* Adds delta[n x cols] to n rows as one commit. */
strads_err sti_table_inc(sti_table *table, uint32_t n, const uint32_t *rows,
                         const void *delta, uint64_t *version);

/* Adds n row deltas as one commit. On STRADS_ENOMEM no value has changed. */
strads_err sti_table_add(sti_table *table, uint32_t n,
                         const sti_row_delta *deltas, uint64_t *version);

#endif
