/* The store as its users see it: tables by number and by name, and what may be
 * done to them. Invariant: tables are only added, so a number stays valid for
 * the store's life. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/memory.h"
#include "engine/store/store_inside.h"

strads_err strads_store_open(uint64_t memory_limit, strads_store **out)
{
    strads_store *store = calloc(1, sizeof *store);
    if (!store)
        return strads_fail(STRADS_ENOMEM, "no memory for a store");
    store->budget.limit = memory_limit ? memory_limit : sti_memory_available();
    sti_clocks_init(&store->clocks);
    sti_exact_init(&store->exact);
    *out = store;
    return STRADS_OK;
}

void strads_store_free(strads_store *store)
{
    if (!store)
        return;
    sti_exact_destroy(&store->exact);
    for (uint32_t t = 0; t < store->n_tables; t++)
        sti_table_free(store->tables[t]);
    free(store->tables);
    sti_clocks_destroy(&store->clocks);
    free(store);
}

static bool find(const strads_store *store, const char *name, uint32_t *table)
{
    for (uint32_t t = 0; t < store->n_tables; t++)
        if (strcmp(store->tables[t]->name, name) == 0) {
            *table = t;
            return true;
        }
    return false;
}

strads_err strads_store_create(strads_store *store,
                               const strads_table_spec *spec, uint32_t *table)
{
    uint32_t other;
    if (spec->name && find(store, spec->name, &other))
        return strads_fail(STRADS_EINVAL,
                           "there is a table \"%s\" already, number %" PRIu32
                           ": names are unique in a store",
                           spec->name, other);
    size_t n = store->n_tables;
    sti_table **tables = realloc(store->tables, (n + 1) * sizeof(sti_table *));
    if (!tables)
        return strads_fail(STRADS_ENOMEM, "no memory for one more table");
    store->tables = tables;
    strads_err err = sti_table_open(spec, &store->budget, &tables[n]);
    if (err)
        return err;
    *table = store->n_tables++;
    return STRADS_OK;
}

strads_err strads_store_find(const strads_store *store, const char *name,
                             uint32_t *table)
{
    char names[512] = "";
    size_t length = 0;
    if (find(store, name, table))
        return STRADS_OK;
    for (uint32_t t = 0; t < store->n_tables && length < sizeof names; t++)
        length +=
            (size_t)snprintf(names + length, sizeof names - length, "%s\"%s\"",
                             t ? ", " : "", store->tables[t]->name);
    return strads_fail(STRADS_EINVAL, "there is no table \"%s\"; there %s%s",
                       name, store->n_tables ? "are: " : "are none", names);
}

strads_err sti_store_table(const strads_store *store, uint32_t number,
                           sti_table **out)
{
    if (number >= store->n_tables)
        return strads_fail(STRADS_EINVAL,
                           "there is no table %" PRIu32 ": the store has "
                           "%" PRIu32 ", numbered from 0",
                           number, store->n_tables);
    *out = store->tables[number];
    return STRADS_OK;
}

const strads_table_spec *strads_store_spec(const strads_store *store,
                                           uint32_t table)
{
    return table < store->n_tables ? &store->tables[table]->spec : NULL;
}

strads_err strads_store_read(const strads_store *store, uint32_t table,
                             uint32_t n, const uint32_t *rows, void *out)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(store, table, &found);
    return err ? err : sti_table_read(found, n, rows, out);
}

strads_err strads_store_inc(strads_store *store, uint32_t table, uint32_t n,
                            const uint32_t *rows, const void *delta,
                            uint64_t *version)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(store, table, &found);
    return err ? err : sti_table_inc(found, n, rows, delta, version);
}

strads_err strads_store_inc_sparse(strads_store *store, uint32_t table,
                                   uint64_t row, uint32_t n,
                                   const uint32_t *cols, const void *delta,
                                   uint64_t *version)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(store, table, &found);
    if (!err)
        err = sti_spec_check_row(&found->spec, row);
    if (err)
        return err;
    return sti_table_add(found, 1,
                         &(sti_row_delta){.row = (uint32_t)row,
                                          .n = n,
                                          .cols = cols,
                                          .cells = delta},
                         version);
}

uint64_t strads_store_version(const strads_store *store, uint32_t table)
{
    return table < store->n_tables ? atomic_load(&store->tables[table]->version)
                                   : 0;
}

const void *strads_store_dense(const strads_store *store, uint32_t table)
{
    return table < store->n_tables ? store->tables[table]->dense : NULL;
}

uint64_t strads_store_bytes(const strads_store *store)
{
    return atomic_load(&store->budget.used);
}
