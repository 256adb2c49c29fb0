/* A node's store: its birth, its end, and what it fails with. The first failure
 * stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/net/node_store_inside.h"

/* Between nodes nothing is lost (outbox.h), and a shard that was started again
 * says so (S5): what seems lost is only late. */
static const uint64_t resend_ns = UINT64_C(30000000000);

/* Rows are copied: a link keeps them until they have arrived. */
static const uint64_t lend_bytes = UINT64_MAX;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a node's store");
}

uint64_t sti_node_store_now(const sti_node_store *store)
{
    return sti_monotonic_now() - store->started_ns;
}

/* ---- failing ----------------------------------------------------------- */

void sti_node_store_abort(sti_node_store *store, strads_err err,
                          const char *text)
{
    pthread_mutex_lock(&store->fail_lock);
    if (!store->err) {
        store->err = err;
        (void)snprintf(store->text, sizeof store->text, "%s", text);
    }
    pthread_mutex_unlock(&store->fail_lock);
    atomic_store(&store->aborted, true);
    for (uint32_t k = 0; k < store->n_ends; k++)
        sti_client_outdate(store->end[k].client);
    sti_node_store_call(store);
}

strads_err sti_node_store_failure(sti_node_store *store)
{
    if (!atomic_load(&store->aborted))
        return STRADS_OK;
    pthread_mutex_lock(&store->fail_lock);
    strads_err err = strads_fail(store->err, "%s", store->text);
    pthread_mutex_unlock(&store->fail_lock);
    return err;
}

/* ---- opening ----------------------------------------------------------- */

static strads_err copy_tables(sti_node_store *store)
{
    uint32_t n = store->setup.n_tables;
    store->tables = calloc(n + 1, sizeof *store->tables);
    if (!store->tables)
        return no_memory();
    for (; store->n_tables < n; store->n_tables++) {
        strads_table_spec *spec = &store->tables[store->n_tables];
        *spec = store->setup.tables[store->n_tables];
        spec->name = strdup(spec->name);
        if (!spec->name)
            return no_memory();
    }
    return STRADS_OK;
}

static strads_err open_end(sti_node_store *store, uint32_t client,
                           uint32_t first_worker, uint32_t workers)
{
    sti_store_end *end = &store->end[store->n_ends];
    const sti_tuning *tuning = &store->setup.run->tuning;
    const sti_client_setup setup = {.client = client,
                                    .shards = store->setup.run->shards,
                                    .first_worker = first_worker,
                                    .workers = workers,
                                    .tables = store->tables,
                                    .n_tables = store->n_tables,
                                    .cache_bytes = tuning->cache_bytes,
                                    .max_pushes = tuning->window,
                                    .resend_ns = resend_ns};
    strads_err err = sti_store_end_init(end, store, &setup);
    store->n_ends += !err;
    return err;
}

/* The engine's own worker comes behind all partitions'. */
static strads_err open_ends(sti_node_store *store)
{
    const sti_node_store_setup *setup = &store->setup;
    const sti_run *run = setup->run;
    strads_err err =
        open_end(store, setup->node, setup->first_worker, setup->workers);
    if (err || setup->node != 0)
        return err;
    err = open_end(store, run->nodes, run->partitions, 1);
    return err ? err
               : sti_store_end_session(&store->end[1], run->partitions,
                                       &store->engine);
}

/* S5 RESTART: what its journal holds, which is nothing at first. */
static strads_err open_journal(const sti_node_store *store, uint32_t number,
                               sti_store_shard *shard)
{
    char path[4096];
    const sti_journal_options options = {.run = store->setup.run_id,
                                         .shard = number};
    int n = snprintf(path, sizeof path, "%s/shard-%u", store->setup.journal,
                     number);
    if (n >= (int)sizeof path)
        return strads_fail(STRADS_EIO, "%s: too long a path",
                           store->setup.journal);
    strads_err err = sti_journal_open(path, &options, &shard->journal);
    return err ? err : sti_kept_recover(shard->kept, shard->journal);
}

static strads_err open_shard(sti_node_store *store, uint32_t number)
{
    const sti_run *run = store->setup.run;
    sti_store_shard *shard = &store->shards[store->n_shards++];
    char name[32];
    const sti_kept_setup kept = {
        .shard = number,
        .shards = run->shards,
        .streams = run->nodes + 1,
        .workers = run->partitions + 1,
        .tables = store->tables,
        .n_tables = store->n_tables,
    };
    (void)snprintf(name, sizeof name, "shard %u", number);
    shard->timer_at = UINT64_MAX;
    shard->track = sti_trace_track(store->setup.trace, store->setup.node, name);
    strads_err err = sti_kept_open(&kept, &shard->kept);
    if (!err && store->setup.journal)
        err = open_journal(store, number, shard);
    const sti_shard_setup setup = {.kept = shard->kept,
                                   .first_client = STI_CLIENT_0,
                                   .journal = shard->journal,
                                   .lend_bytes = lend_bytes,
                                   .retell_ns = resend_ns};
    return err ? err : sti_shard_new(&setup, &shard->role);
}

static strads_err open_shards(sti_node_store *store)
{
    const sti_run *run = store->setup.run;
    store->shards = calloc(run->shards, sizeof *store->shards);
    strads_err err = store->shards ? STRADS_OK : no_memory();
    for (uint32_t s = 0; !err && s < run->shards; s++)
        if (sti_node_store_has(store, STI_SHARD_0 + s))
            err = open_shard(store, s);
    return err;
}

strads_err sti_node_store_open(const sti_node_store_setup *setup,
                               sti_node_store **out)
{
    sti_node_store *store = calloc(1, sizeof *store);
    if (!store)
        return no_memory();
    store->setup = *setup;
    store->started_ns = sti_monotonic_now();
    strads_err err = sti_inbox_init(&store->inbox);
    if (err) {
        free(store);
        return err;
    }
    pthread_mutex_init(&store->fail_lock, NULL);
    pthread_mutex_init(&store->driving, NULL);
    pthread_mutex_init(&store->bell_lock, NULL);
    (void)sti_monotonic_cond_init(&store->bell);
    err = copy_tables(store);
    if (!err)
        err = open_shards(store);
    if (!err)
        err = open_ends(store);
    store->started = !err && !pthread_create(&store->thread, NULL,
                                             sti_node_store_main, store);
    if (!err && !store->started)
        err = strads_fail(STRADS_EIO, "cannot start the store's thread: use "
                                      "fewer partitions");
    if (err)
        sti_node_store_close(store);
    else
        *out = store;
    return err;
}

void sti_node_store_stop(sti_node_store *store)
{
    atomic_store(&store->stopping, true);
    sti_node_store_call(store);
    if (store->started)
        pthread_join(store->thread, NULL);
    store->started = false;
    pthread_mutex_lock(&store->driving); /* who drives leaves first */
    pthread_mutex_unlock(&store->driving);
}

void sti_node_store_close(sti_node_store *store)
{
    if (!store)
        return;
    sti_node_store_stop(store);
    sti_session_free(store->engine);
    for (uint32_t k = 0; k < store->n_ends; k++)
        sti_store_end_free(&store->end[k]);
    for (uint32_t k = 0; k < store->n_shards; k++) {
        sti_shard_free(store->shards[k].role);
        sti_kept_free(store->shards[k].kept);
        sti_journal_close(store->shards[k].journal);
    }
    for (uint32_t t = 0; t < store->n_tables; t++)
        free((char *)(uintptr_t)store->tables[t].name);
    free(store->tables);
    free(store->shards);
    sti_effects_free(&store->effects);
    for (size_t k = 0; k < store->n_late; k++)
        sti_object_drop(store->late[k].object);
    free(store->late);
    free(store->taken);
    sti_inbox_free(&store->inbox);
    pthread_cond_destroy(&store->bell);
    pthread_mutex_destroy(&store->bell_lock);
    pthread_mutex_destroy(&store->driving);
    pthread_mutex_destroy(&store->fail_lock);
    free(store);
}
