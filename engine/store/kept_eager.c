/* Who holds which rows of an eager table, and what has changed. It is no part
 * of what a restart brings back: then nobody is known to hold anything, and
 * who does is told again once it has asked again. Invariant: a row that a
 * stream has read since the last restart is known to be held by it for good
 * (that it was evicted there costs a row now and then, no promise). */
#include <stdlib.h>
#include <string.h>

#include "engine/store/kept_inside.h"

enum { BITS = 64 };

static uint64_t words_for(uint64_t bits)
{
    return (bits + BITS - 1) / BITS;
}

/* Bytes of each array. */
typedef struct sizes {
    uint64_t holders, holds, changed, list;
} sizes;

static sizes sizes_of(const sti_kept *kept, const sti_kept_table *table)
{
    uint64_t rows = table->rows->spec.rows;
    return (sizes){.holders = rows * table->words * sizeof(uint64_t),
                   .holds = kept->streams * sizeof(uint64_t),
                   .changed = words_for(rows) * sizeof(uint64_t),
                   .list = rows * sizeof(uint32_t)};
}

strads_err sti_eager_open(sti_kept *kept, sti_kept_table *table)
{
    sti_budget *budget = &kept->store->budget;
    table->words = (uint32_t)words_for(kept->streams);
    sizes size = sizes_of(kept, table);
    void *at[4] = {NULL};
    const uint64_t bytes[4] = {size.holders, size.holds, size.changed,
                               size.list};
    strads_err err = STRADS_OK;
    for (int k = 0; !err && k < 4; k++)
        err = sti_budget_alloc(budget, bytes[k], "who holds an eager table",
                               &at[k]);
    table->holders = at[0];
    table->holds = at[1];
    table->changed = at[2];
    table->list = at[3];
    return err;
}

void sti_eager_free(sti_kept *kept, sti_kept_table *table)
{
    sti_budget *budget = &kept->store->budget;
    sizes size = sizes_of(kept, table);
    sti_budget_free(budget, table->holders, size.holders);
    sti_budget_free(budget, table->holds, size.holds);
    sti_budget_free(budget, table->changed, size.changed);
    sti_budget_free(budget, table->list, size.list);
}

void sti_eager_changed(sti_kept_table *table, uint32_t n,
                       const uint32_t *places)
{
    for (uint32_t k = 0; k < n; k++) {
        uint64_t bit = UINT64_C(1) << places[k] % BITS;
        uint64_t *word = &table->changed[places[k] / BITS];
        if (!(*word & bit))
            table->list[table->n_changed++] = places[k];
        *word |= bit;
    }
}

void sti_eager_holds(sti_kept_table *table, uint32_t stream, uint32_t place)
{
    uint64_t bit = UINT64_C(1) << stream % BITS;
    uint64_t *word =
        &table->holders[(uint64_t)place * table->words + stream / BITS];
    if (!(*word & bit))
        table->holds[stream]++;
    *word |= bit;
}

static bool held_by(const sti_kept_table *table, uint32_t stream,
                    uint32_t place)
{
    return table->holders[(uint64_t)place * table->words + stream / BITS] >>
               stream % BITS &
           1;
}

bool sti_kept_has_changes(const sti_kept *kept, uint32_t stream, uint32_t table)
{
    const sti_kept_table *t = &kept->table[table];
    return kept->told < kept->clock && kept->clock != STI_CLOCK_GONE &&
           t->holds && t->holds[stream] > 0;
}

strads_err sti_kept_changes(sti_kept *kept, uint32_t stream, uint32_t table,
                            sti_buffer *parts, uint64_t *since)
{
    const sti_kept_table *t = &kept->table[table];
    uint32_t *places = malloc(sizeof *places * (t->n_changed + 1));
    if (!places)
        return strads_fail(STRADS_ENOMEM, "no memory for rows to be sent");
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->n_changed; k++)
        if (held_by(t, stream, t->list[k]))
            places[n++] = t->list[k];
    *since = kept->told;
    strads_err err =
        n ? sti_kept_put_rows(kept, table, t->rows, n, places, parts)
          : STRADS_OK;
    free(places);
    return err;
}

void sti_kept_told(sti_kept *kept)
{
    kept->told = kept->clock;
    for (uint32_t t = 0; t < kept->n_tables; t++) {
        sti_kept_table *table = &kept->table[t];
        for (uint32_t k = 0; k < table->n_changed; k++)
            table->changed[table->list[k] / BITS] = 0;
        table->n_changed = 0;
    }
}

void sti_kept_restarted(sti_kept *kept)
{
    sti_kept_told(kept);
    kept->told = STI_CLOCK_GONE;
}
