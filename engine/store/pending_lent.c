/* Rows that whoever adds them keeps where they are, until they have left. */
#include <string.h>

#include "engine/store/pending_rows.h"
#include "engine/store/place_index.h"

/* Puts the rows into the index; false when one is named twice. */
static bool place_rows(sti_pending *pending, uint32_t n, const uint32_t *rows)
{
    const uint32_t slots = 2 * pending->room;
    for (uint32_t i = 0; i < n; i++) {
        if (sti_index_find(pending->slots, slots, pending->rows, rows[i]) !=
            STI_NO_PLACE)
            return false;
        pending->rows[i] = rows[i];
        sti_index_put(pending->slots, slots, pending->rows, i);
    }
    return true;
}

strads_err sti_pending_lend(sti_pending *pending, uint32_t n,
                            const uint32_t *rows, const void *cells, bool *lent)
{
    strads_err err = sti_pending_make_room(pending, n);
    *lent = !err && place_rows(pending, n, rows);
    if (err)
        return err;
    if (!*lent) {
        memset(pending->slots, 0,
               2 * (size_t)pending->room * sizeof *pending->slots);
        return STRADS_OK;
    }
    pending->n = n;
    pending->lent = true;
    pending->dense = (char *)(uintptr_t)cells;
    pending->added += n * pending->row_bytes;
    return STRADS_OK;
}

strads_err sti_pending_own(sti_pending *pending)
{
    char *cells;
    if (!pending->lent)
        return STRADS_OK;
    strads_err err = sti_pending_make_block(pending, &cells);
    if (err)
        return err;
    memcpy(cells, pending->dense, pending->n * pending->row_bytes);
    pending->dense = cells;
    pending->lent = false;
    return STRADS_OK;
}
