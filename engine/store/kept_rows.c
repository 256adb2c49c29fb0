/* A shard's state. Invariants: rows lie in the store's tables by their place
 * among the shard's rows (row_shard.h); a push changes rows, its stream's
 * number and its worker's clock together, or a failure ends the run; no number
 * and no clock ever goes back. */
#include "engine/store/kept_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/kept_inside.h"
#include "engine/store/row_shard.h"

strads_err sti_kept_no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a shard of the store");
}

strads_err sti_kept_broken(void)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent what does not fit the store: it runs "
                       "another version or is broken");
}

/* ---- opening ----------------------------------------------------------- */

strads_err sti_kept_adopt(sti_kept *kept, const strads_table_spec *spec)
{
    uint32_t number = kept->n_tables;
    sti_kept_table *more =
        realloc(kept->table, sizeof(sti_kept_table) * (number + 1));
    if (!more)
        return sti_kept_no_memory();
    kept->table = more;
    sti_kept_table *table = &more[number];
    *table = (sti_kept_table){.spec = *spec,
                              .rows = kept->store->tables[number],
                              .images = {.every = spec->snapshot_every}};
    table->spec.name = table->rows->name;
    kept->n_tables++;
    return spec->eager ? sti_eager_open(kept, table) : STRADS_OK;
}

static strads_err add_table(sti_kept *kept, const strads_table_spec *spec)
{
    uint32_t number = kept->n_tables;
    strads_table_spec held = *spec;
    held.rows = sti_rows_held(spec->rows, number, kept->shard, kept->shards);
    strads_err err = strads_store_create(kept->store, &held, &number);
    return err ? err : sti_kept_adopt(kept, spec);
}

strads_err sti_kept_open(const sti_kept_setup *setup, sti_kept **out)
{
    sti_kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return sti_kept_no_memory();
    kept->shard = setup->shard;
    kept->shards = setup->shards;
    kept->streams = setup->streams;
    kept->workers = setup->workers;
    kept->clock = setup->workers ? 0 : STI_CLOCK_GONE;
    kept->applied = calloc(setup->streams + 1, sizeof *kept->applied);
    kept->clocks = calloc(setup->workers + 1, sizeof *kept->clocks);
    strads_err err = kept->applied && kept->clocks
                         ? strads_store_open(setup->memory_limit, &kept->store)
                         : sti_kept_no_memory();
    for (uint32_t t = 0; !err && t < setup->n_tables; t++)
        err = add_table(kept, &setup->tables[t]);
    if (err)
        sti_kept_free(kept);
    else
        *out = kept;
    return err;
}

void sti_kept_drop_tables(sti_kept *kept)
{
    for (uint32_t t = 0; t < kept->n_tables; t++) {
        sti_images_free(&kept->table[t].images);
        sti_eager_free(kept, &kept->table[t]);
    }
    free(kept->table);
    strads_store_free(kept->store);
    kept->table = NULL;
    kept->store = NULL;
    kept->n_tables = 0;
}

void sti_kept_free(sti_kept *kept)
{
    if (!kept)
        return;
    sti_kept_drop_tables(kept);
    free(kept->applied);
    free(kept->clocks);
    free(kept->places);
    free(kept);
}

uint64_t sti_kept_applied(const sti_kept *kept, uint32_t stream)
{
    return kept->applied[stream];
}

uint64_t sti_kept_clock(const sti_kept *kept)
{
    return kept->clock;
}

uint32_t sti_kept_streams(const sti_kept *kept)
{
    return kept->streams;
}

uint32_t sti_kept_workers(const sti_kept *kept)
{
    return kept->workers;
}

uint32_t sti_kept_shard(const sti_kept *kept)
{
    return kept->shard;
}

uint32_t sti_kept_tables(const sti_kept *kept)
{
    return kept->n_tables;
}

const strads_store *sti_kept_store(const sti_kept *kept)
{
    return kept->store;
}

/* ---- checking ---------------------------------------------------------- */

static bool same_spec(const strads_table_spec *a, const strads_table_spec *b)
{
    return strcmp(a->name, b->name) == 0 && a->type == b->type &&
           a->rows == b->rows && a->cols == b->cols && a->sparse == b->sparse &&
           a->eager == b->eager && a->snapshot_every == b->snapshot_every;
}

bool sti_kept_holds(const sti_kept *kept, uint32_t table, uint32_t n,
                    const uint32_t *rows)
{
    for (uint32_t k = 0; kept->shards > 1 && k < n; k++)
        if (sti_row_shard(table, rows[k], kept->shards) != kept->shard)
            return false;
    return true;
}

static bool fits(const sti_kept *kept, const strads_table_spec *spec,
                 const sti_push_part *part)
{
    bool one = part->kind == STI_PUSH_COLS;
    return sti_push_fits(spec, part) &&
           sti_kept_holds(kept, part->table, one ? 1 : part->n,
                          one ? &part->row : part->places);
}

/* Tables that this very push makes, beyond those that are there. */
typedef struct new_tables {
    const sti_buffer *push;
    uint32_t n;
} new_tables;

/* The spec of a table that is there, or that the push made before. */
static bool find_spec(const sti_kept *kept, const new_tables *made,
                      uint32_t table, strads_table_spec *out)
{
    if (table < kept->n_tables) {
        *out = kept->table[table].spec;
        return true;
    }
    if (table - kept->n_tables >= made->n)
        return false;
    sti_push_part part;
    strads_err err;
    for (size_t at = 0; sti_push_next(made->push, &at, &part, &err);)
        if (part.kind == STI_PUSH_TABLE && part.table == table) {
            *out = part.spec;
            return true;
        }
    return false;
}

static strads_err check_part(const sti_kept *kept, const sti_push_part *part,
                             new_tables *made)
{
    strads_table_spec spec;
    bool known = find_spec(kept, made, part->table, &spec);
    bool good = false;
    switch (part->kind) {
    case STI_PUSH_MARK:
        good = part->worker < kept->workers && part->clock < STI_CLOCK_GONE / 2;
        break;
    case STI_PUSH_TABLE:
        good = known ? same_spec(&spec, &part->spec)
                     : part->table == kept->n_tables + made->n;
        made->n += !known;
        break;
    case STI_PUSH_ROWS:
    case STI_PUSH_COLS:
        good = known && fits(kept, &spec, part);
        break;
    }
    return good ? STRADS_OK : sti_kept_broken();
}

strads_err sti_kept_check(const sti_kept *kept, const sti_buffer *push,
                          bool *makes_tables)
{
    strads_err err = STRADS_OK;
    sti_push_part part;
    new_tables made = {.push = push};
    for (size_t at = 0; !err && sti_push_next(push, &at, &part, &err);)
        err = check_part(kept, &part, &made);
    *makes_tables = made.n > 0;
    return err;
}

/* ---- carrying out ------------------------------------------------------ */

static strads_err find_places(sti_kept *kept, uint32_t n, const uint32_t *rows)
{
    if (n > kept->room) {
        uint32_t *places = realloc(kept->places, sizeof *places * n);
        if (!places)
            return sti_kept_no_memory();
        kept->places = places;
        kept->room = n;
    }
    for (uint32_t k = 0; k < n; k++)
        kept->places[k] = sti_row_place(rows[k], kept->shards);
    return STRADS_OK;
}

static strads_err add_to(sti_table *rows, const sti_push_part *part, uint32_t n,
                         const uint32_t *places)
{
    if (part->kind == STI_PUSH_ROWS)
        return sti_table_inc(rows, n, places, part->cells, NULL);
    return sti_table_add(rows, 1,
                         &(sti_row_delta){.row = places[0],
                                          .n = part->n,
                                          .cols = part->places,
                                          .cells = part->cells},
                         NULL);
}

/* What must not see increments of that clock. In a checkpoint an image is a
 * table among the others, so it has a name of its own there: one that no
 * program gives. */
static strads_err put_aside(sti_kept *kept, sti_kept_table *table,
                            uint64_t clock)
{
    char name[STI_TABLE_NAME];
    if (kept->clock == STI_CLOCK_GONE)
        return STRADS_OK;
    (void)snprintf(name, sizeof name, "\x01%td", table - kept->table);
    return sti_images_begin(&table->images, table->rows, name, kept->clock,
                            clock);
}

/* The least clock has grown: true when a clock came by at which this table
 * keeps a snapshot. */
static bool pass_images(sti_kept_table *table, uint64_t before, uint64_t clock)
{
    uint64_t every = table->spec.snapshot_every;
    if (!every || before / every == clock / every)
        return false;
    sti_images_drop(&table->images, clock);
    return true;
}

/* Increments of a worker that is at `clock`. */
static strads_err apply_rows(sti_kept *kept, const sti_push_part *part,
                             uint64_t clock)
{
    sti_kept_table *table = &kept->table[part->table];
    bool one = part->kind == STI_PUSH_COLS;
    uint32_t n = one ? 1 : part->n;
    const uint32_t *rows = one ? &part->row : part->places;
    strads_err err = kept->shards > 1 ? find_places(kept, n, rows) : STRADS_OK;
    const uint32_t *places = kept->shards > 1 ? kept->places : rows;
    if (!err && table->spec.snapshot_every && kept->workers)
        err = put_aside(kept, table, clock);
    if (!err)
        err = add_to(table->rows, part, n, places);
    for (uint32_t k = 0; !err && k < STI_IMAGES_MAX; k++)
        if (table->images.image[k].clock > clock)
            err = add_to(table->images.image[k].table, part, n, places);
    if (!err && table->changed)
        sti_eager_changed(table, n, places);
    return err;
}

void sti_kept_find_clock(sti_kept *kept)
{
    kept->clock = STI_CLOCK_GONE;
    for (uint32_t w = 0; w < kept->workers; w++)
        if (kept->clocks[w] < kept->clock)
            kept->clock = kept->clocks[w];
}

/* Moves a worker's clock, and the least of them; true when that has come to a
 * clock of which there is a snapshot. */
static bool move_clock(sti_kept *kept, const sti_push_part *mark)
{
    uint64_t to = mark->end == STI_PUSH_LEAVE   ? STI_CLOCK_GONE
                  : mark->end == STI_PUSH_CLOCK ? mark->clock + 1
                                                : mark->clock;
    uint64_t before = kept->clock;
    if (to > kept->clocks[mark->worker])
        kept->clocks[mark->worker] = to;
    sti_kept_find_clock(kept);
    bool snapshot = false;
    if (kept->clock > before && kept->clock != STI_CLOCK_GONE)
        for (uint32_t t = 0; t < kept->n_tables; t++)
            snapshot |= pass_images(&kept->table[t], before, kept->clock);
    return snapshot;
}

strads_err sti_kept_apply(sti_kept *kept, uint32_t stream, uint64_t number,
                          const sti_buffer *push, bool *snapshot)
{
    strads_err err = STRADS_OK;
    sti_push_part part;
    sti_push_part mark = {.kind = STI_PUSH_ROWS};
    uint64_t clock = kept->clock;
    for (size_t at = 0; !err && sti_push_next(push, &at, &part, &err);) {
        if (part.kind == STI_PUSH_MARK) {
            mark = part;
            clock = part.clock;
        } else if (part.kind != STI_PUSH_TABLE) {
            err = apply_rows(kept, &part, clock);
        } else if (part.table >= kept->n_tables) {
            err = add_table(kept, &part.spec);
        }
    }
    if (err)
        return err;
    kept->applied[stream] = number;
    if (mark.kind == STI_PUSH_MARK && move_clock(kept, &mark))
        *snapshot = true;
    return STRADS_OK;
}
