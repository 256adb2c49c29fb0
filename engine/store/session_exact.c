/* Exact snapshots of a store in one process (exact_image.h). Invariants: what a
 * session at clock c commits is added, under one lock, to the rows and to each
 * image of a clock above c, and images of clocks up to c have been begun
 * before. An image that memory ran out for is lost, and nothing else is. */
#include "engine/store/session_exact.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/store/store_inside.h"

void sti_exact_init(sti_exact *exact)
{
    *exact = (sti_exact){0};
    pthread_mutex_init(&exact->lock, NULL);
}

static void forget(sti_exact *exact)
{
    for (uint32_t t = 0; t < exact->n; t++)
        sti_images_free(&exact->images[t]);
}

void sti_exact_destroy(sti_exact *exact)
{
    forget(exact);
    free(exact->images);
    pthread_mutex_destroy(&exact->lock);
}

/* Those of a table; NULL: no memory. Clocks of another group of workers mean
 * nothing to this one. */
static sti_images *images_of(const strads_session *session, uint32_t table)
{
    strads_store *store = session->behind;
    sti_exact *exact = &store->exact;
    if (exact->group != session->group)
        forget(exact);
    exact->group = session->group;
    if (exact->n < store->n_tables) {
        sti_images *more =
            realloc(exact->images, store->n_tables * sizeof *more);
        if (!more)
            return NULL;
        exact->images = more;
        for (; exact->n < store->n_tables; exact->n++)
            more[exact->n] = (sti_images){
                .every = store->tables[exact->n]->spec.snapshot_every};
    }
    return &exact->images[table];
}

static strads_err put_aside(const strads_session *session, sti_images *images,
                            const sti_pending *pending, const sti_table *table)
{
    strads_store *store = session->behind;
    uint64_t least = sti_clocks_wait(&store->clocks, session->worker, 0);
    if (least > session->clock)
        least = session->clock;
    sti_images_drop(images, least);
    strads_err err =
        sti_images_begin(images, table, table->name, least, session->clock);
    for (uint32_t k = 0; !err && k < STI_IMAGES_MAX; k++)
        if (images->image[k].clock > session->clock)
            err = sti_pending_add_to(pending, images->image[k].table);
    return err;
}

strads_err sti_exact_commit(const strads_session *session, uint32_t table)
{
    strads_store *store = session->behind;
    sti_pending *pending = &session->pending[table];
    sti_table *rows = store->tables[table];
    if (pending->n == 0)
        return STRADS_OK;
    pthread_mutex_lock(&store->exact.lock);
    sti_images *images = images_of(session, table);
    if (images && put_aside(session, images, pending, rows))
        sti_images_lose(images, session->clock);
    strads_err err =
        images ? sti_pending_commit(pending, rows)
               : strads_fail(STRADS_ENOMEM, "no memory for snapshots");
    if (images && err)
        sti_images_lose(images, session->clock);
    pthread_mutex_unlock(&store->exact.lock);
    return err;
}

strads_err sti_exact_read(const strads_session *session,
                          const sti_session_read *read, uint64_t clock)
{
    strads_store *store = session->behind;
    sti_table *rows = store->tables[read->table];
    pthread_mutex_lock(&store->exact.lock);
    const sti_images *images = images_of(session, read->table);
    sti_table *as_of = images ? sti_images_at(images, rows, clock) : NULL;
    strads_err err =
        as_of ? sti_table_read(as_of, read->n, read->rows, read->out)
              : strads_fail(STRADS_ESTATE,
                            "the snapshot of clock %" PRIu64 " of table \"%s\" "
                            "was not kept: a worker is too many clocks ahead, "
                            "or there was no memory for it",
                            clock, rows->name);
    pthread_mutex_unlock(&store->exact.lock);
    return err;
}
