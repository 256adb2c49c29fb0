/* What the shards of a simulated loop start with, and what they hold in the
 * end: before and after its time, without messages. */
#include <stdlib.h>

#include "engine/sim/sim_loop_state.h"
#include "engine/store/pending_push.h"
#include "engine/store/row_shard.h"

/* ---- before ------------------------------------------------------------ */

/* All of a table, as one push to each shard. */
static strads_err gather(const strads_snapshot *from, uint32_t table,
                         sti_pending *pending, uint32_t shards,
                         sti_buffer **pushes)
{
    strads_err err = STRADS_OK;
    for (uint64_t row = 0; !err && row < pending->spec->rows; row++) {
        sti_row_delta delta = {.row = (uint32_t)row};
        err =
            strads_snapshot_row(from, row, &delta.n, &delta.cols, &delta.cells);
        if (!err && delta.n)
            err = sti_pending_add(pending, &delta);
    }
    uint32_t *places = NULL, n = 0;
    if (!err)
        err = sti_pending_choose(pending, true, &n, &places);
    if (!err)
        err = sti_pending_split(pending, table, n, places, shards, pushes);
    free(places);
    return err;
}

strads_err sti_sim_loop_put(sti_sim_loop *sim, const strads_store *start)
{
    const sti_run *run = sim->setup.run;
    sti_buffer **pushes = calloc(run->shards, sizeof(sti_buffer *));
    strads_err err =
        pushes ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory for start values");
    for (uint32_t t = 0; !err && t < sim->setup.n_tables; t++) {
        strads_snapshot *snapshot;
        sti_pending pending;
        if (!strads_store_version(start, t))
            continue; /* nobody has added to it */
        err = strads_store_snapshot(start, t, &snapshot);
        if (err)
            break;
        sti_pending_init(&pending, &sim->setup.tables[t]);
        err = gather(snapshot, t, &pending, run->shards, pushes);
        sti_pending_free(&pending);
        strads_snapshot_free(snapshot);
    }
    for (uint32_t s = 0; pushes && s < run->shards; s++) {
        bool snapshot = false;
        if (!err && pushes[s])
            err = sti_kept_apply(sim->kept[s], run->nodes, 1, pushes[s],
                                 &snapshot);
        sti_object_drop(pushes[s]);
    }
    free(pushes);
    return err;
}

/* ---- after ------------------------------------------------------------- */

static strads_err add_part(sti_sim_loop *sim, uint32_t shard, uint32_t n,
                           const uint32_t *rows, strads_store *to)
{
    sti_buffer *parts = NULL;
    sti_push_part part;
    size_t at = 0;
    strads_err err = sti_buffer_new(0, &parts);
    if (!err)
        err = sti_kept_read(sim->kept[shard], 0, 0, n, rows, parts);
    while (!err && sti_push_next(parts, &at, &part, &err))
        err = strads_store_inc(to, 0, part.n, part.places, part.cells, NULL);
    sti_object_drop(parts);
    return err;
}

strads_err sti_sim_loop_model(sti_sim_loop *sim, strads_store *to)
{
    enum { AT_ONCE = 1024 };
    const uint32_t shards = sim->setup.run->shards;
    const uint64_t rows = sim->setup.tables[0].rows;
    uint32_t some[AT_ONCE], n = 0;
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; !err && s < shards; s++) {
        for (uint64_t row = sti_row_first(0, s, shards); !err && row < rows;
             row += shards) {
            some[n++] = (uint32_t)row;
            if (n == AT_ONCE || row + shards >= rows) {
                err = add_part(sim, s, n, some, to);
                n = 0;
            }
        }
    }
    return err;
}
