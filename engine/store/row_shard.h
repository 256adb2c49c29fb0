/* engine/store/row_shard.h - which shard of a store holds a row.
 *
 * Rows go round robin, table t from shard t on. Rows that are neighbours are
 * often hot together (words by how frequent they are, blocks as ranges), and so
 * they are spread, where ranges would give all of them to one shard; tables of
 * one row do not all meet on shard 0; and a shard's rows are numbered without
 * gaps by a division, so that a hash's look-up is not needed. All nodes compute
 * the same from the same three numbers: nobody is told where a row is. */
#ifndef STI_STORE_ROW_SHARD_H
#define STI_STORE_ROW_SHARD_H

#include <stdint.h>

static inline uint32_t sti_row_shard(uint32_t table, uint32_t row,
                                     uint32_t shards)
{
    return (uint32_t)(((uint64_t)row + table) % shards);
}

/* The first row that a shard may hold of a table: below `shards`. */
static inline uint32_t sti_row_first(uint32_t table, uint32_t shard,
                                     uint32_t shards)
{
    return (shard + shards - table % shards) % shards;
}

/* How many of a table's rows a shard holds. */
static inline uint64_t sti_rows_held(uint64_t rows, uint32_t table,
                                     uint32_t shard, uint32_t shards)
{
    uint32_t first = sti_row_first(table, shard, shards);
    return rows > first ? (rows - 1 - first) / shards + 1 : 0;
}

/* The number of a row among those that its shard holds, and back. */
static inline uint32_t sti_row_place(uint32_t row, uint32_t shards)
{
    return row / shards;
}

static inline uint32_t sti_row_at(uint32_t place, uint32_t table,
                                  uint32_t shard, uint32_t shards)
{
    return place * shards + sti_row_first(table, shard, shards);
}

#endif
