/* A node's store: its thread, its shards, and where messages go. Invariants:
 * what a client sends leaves in the order in which it was asked for, because
 * its lock is held until it has left; the thread never waits for a worker, so
 * what a worker waits for comes. The first failure stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/role/job.h"
#include "engine/runtime/job_names.h"
#include "engine/runtime/node_store_inside.h"

enum { SLEEP_NS = 20 * 1000000 }; /* then timers are looked at again */

/* Between nodes nothing is lost (outbox.h), and a shard that was started again
 * says so (S5): what seems lost is only late. */
static const uint64_t resend_ns = UINT64_C(30000000000);

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a node's store");
}

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t sti_node_store_now(const sti_node_store *store)
{
    return clock_ns() - store->started_ns;
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
    sti_inbox_stir(&store->inbox);
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

static void fail(sti_node_store *store, strads_err err)
{
    store->setup.failed(store->setup.arg, err, strads_error_text());
}

static void take_failure(sti_node_store *store, const sti_msg *msg)
{
    const sti_failure *failure = (const sti_failure *)msg->object;
    store->setup.failed(store->setup.arg,
                        failure ? failure->err : STRADS_ENOMEM,
                        failure ? failure->text : "no memory for the store");
    sti_object_drop(msg->object);
}

/* ---- sending ----------------------------------------------------------- */

static bool is_here(const sti_node_store *store, sti_address a)
{
    return sti_run_node_of(store->setup.run, a) == store->setup.node;
}

static void send(sti_node_store *store, const sti_msg *msg)
{
    strads_err err = STRADS_OK;
    if (msg->kind == STI_MSG_FAIL)
        take_failure(store, msg);
    else if (is_here(store, msg->to))
        err = sti_inbox_put(&store->inbox, msg);
    else
        err = store->setup.send(store->setup.arg, msg);
    if (err)
        fail(store, err);
}

/* A message that leaves from a thread which must not wait for room in a link's
 * queue: this store's own thread sends it. */
static void send_later(sti_node_store *store, const sti_msg *msg)
{
    strads_err err = STRADS_OK;
    if (msg->kind == STI_MSG_FAIL)
        take_failure(store, msg);
    else
        err = sti_inbox_put(&store->inbox, msg);
    if (err)
        fail(store, err);
}

void sti_store_end_carry_out(sti_store_end *end, bool may_wait)
{
    for (size_t k = 0; k < end->effects.n; k++) {
        const sti_effect *effect = &end->effects.at[k];
        sti_store_waiter *waiter;
        switch (effect->kind) {
        case STI_EFFECT_SEND:
            if (may_wait)
                send(end->store, &effect->msg);
            else
                send_later(end->store, &effect->msg);
            break;
        case STI_EFFECT_TIMER:
            end->timer_at = effect->at;
            break;
        case STI_EFFECT_WAKE:
            waiter = &end->workers[effect->worker - end->first_worker];
            waiter->woken = true;
            pthread_cond_signal(&waiter->wake);
            break;
        case STI_EFFECT_COMPUTE:
        case STI_EFFECT_REPORT:
        case STI_EFFECT_END:
            break; /* no client asks for these */
        }
    }
    end->effects.n = 0;
    if (end->effects.lost)
        fail(end->store, no_memory());
}

/* ---- clients ----------------------------------------------------------- */

/* How long the answer waited for clocks is no fault of the network. */
static void note_parked(sti_store_end *end, const sti_row_answer *answer)
{
    uint32_t index = answer ? answer->worker - end->first_worker : UINT32_MAX;
    if (index < end->n_workers && answer->id &&
        answer->parked_ns > end->workers[index].parked_ns)
        end->workers[index].parked_ns = answer->parked_ns;
}

/* With the lock held. */
static void step_locked(sti_store_end *end, const sti_event *event,
                        bool may_wait)
{
    if (event->kind == STI_EVENT_MESSAGE && event->msg.kind == STI_MSG_ROWS)
        note_parked(end, (const sti_row_answer *)event->msg.object);
    sti_client_step(end->client, event, 1, &end->effects);
    sti_store_end_carry_out(end, may_wait);
    if (sti_client_settled(end->client))
        pthread_cond_broadcast(&end->acknowledged);
}

static void step_client(sti_store_end *end, const sti_event *event)
{
    pthread_mutex_lock(&end->lock);
    step_locked(end, event, true);
    pthread_mutex_unlock(&end->lock);
}

/* On the transport's thread, when the client is free and nothing waits for it:
 * rows that have come are taken while they are in the processor's cache, and
 * who waits for them is woken one thread sooner. */
static bool step_at_once(sti_store_end *end, const sti_event *event)
{
    if (atomic_load(&end->waiting) || pthread_mutex_trylock(&end->lock))
        return false;
    step_locked(end, event, false);
    pthread_mutex_unlock(&end->lock);
    return true;
}

static void look_at_timer(sti_store_end *end, uint64_t now)
{
    pthread_mutex_lock(&end->lock);
    bool due = now >= end->timer_at;
    if (due)
        end->timer_at = UINT64_MAX;
    pthread_mutex_unlock(&end->lock);
    if (due)
        step_client(end, &(sti_event){.kind = STI_EVENT_TIMER, .now = now});
}

static void wake_all(sti_store_end *end)
{
    pthread_mutex_lock(&end->lock);
    for (uint32_t w = 0; w < end->n_workers; w++)
        pthread_cond_signal(&end->workers[w].wake);
    pthread_cond_broadcast(&end->acknowledged);
    pthread_mutex_unlock(&end->lock);
}

static sti_store_end *end_of(sti_node_store *store, sti_address client)
{
    bool own = client - STI_CLIENT_0 == store->setup.node;
    return &store->end[own ? 0 : store->n_ends - 1];
}

/* ---- shards ------------------------------------------------------------ */

static sti_store_shard *shard_of(sti_node_store *store, sti_address a)
{
    const sti_run *run = store->setup.run;
    return &store->shards[(a - STI_SHARD_0) /
                          (run->n_hosts ? run->n_hosts : run->nodes)];
}

static void step_shard(sti_node_store *store, sti_store_shard *shard,
                       const sti_event *event)
{
    sti_effects *out = &store->effects;
    sti_shard_step(shard->role, event, 1, out);
    for (size_t k = 0; k < out->n; k++) {
        const sti_effect *effect = &out->at[k];
        const sti_msg *msg = &effect->msg;
        if (effect->kind == STI_EFFECT_COMPUTE)
            shard->job = effect->job;
        else if (effect->kind == STI_EFFECT_TIMER)
            shard->timer_at = effect->at;
        else if (msg->kind != STI_MSG_FAIL && is_here(store, msg->to))
            step_client(end_of(store, msg->to),
                        &(sti_event){.now = event->now, .msg = *msg});
        else
            send(store, msg);
    }
    out->n = 0;
    if (out->lost)
        fail(store, no_memory());
}

static void run_job(sti_node_store *store, const sti_store_shard *shard,
                    sti_job *job)
{
    uint64_t from = store->started_ns - store->setup.zero_ns;
    uint64_t begin = sti_node_store_now(store);
    sti_job_run(NULL, job);
    sti_trace_span(store->setup.trace, shard->track, sti_job_name(NULL, job),
                   from + begin, from + sti_node_store_now(store), 0);
}

static void look_at_shards_timer(sti_node_store *store, sti_store_shard *shard,
                                 uint64_t now)
{
    if (now < shard->timer_at)
        return;
    shard->timer_at = UINT64_MAX;
    step_shard(store, shard, &(sti_event){.kind = STI_EVENT_TIMER, .now = now});
}

/* One job of the shards, in turn. */
static bool run_next_job(sti_node_store *store)
{
    for (uint32_t k = 0; k < store->n_shards; k++) {
        sti_store_shard *shard = &store->shards[store->next_shard];
        store->next_shard = (store->next_shard + 1) % store->n_shards;
        if (!shard->job)
            continue;
        sti_job *job = shard->job;
        shard->job = NULL;
        run_job(store, shard, job);
        step_shard(store, shard,
                   &(sti_event){.kind = STI_EVENT_DONE,
                                .now = sti_node_store_now(store),
                                .job = job});
        return true;
    }
    return false;
}

/* ---- the thread -------------------------------------------------------- */

void sti_node_store_deliver(sti_node_store *store, const sti_msg *msg)
{
    if (msg->to >= STI_CLIENT_0) {
        sti_store_end *end = end_of(store, msg->to);
        const sti_event event = {.now = sti_node_store_now(store), .msg = *msg};
        if (step_at_once(end, &event))
            return;
        atomic_fetch_add(&end->waiting, 1);
    }
    strads_err err = sti_inbox_put(&store->inbox, msg);
    if (err)
        fail(store, err);
}

static bool take_inbox(sti_node_store *store)
{
    size_t n = sti_inbox_take(&store->inbox, &store->taken, &store->room_taken);
    uint64_t now = sti_node_store_now(store);
    for (size_t k = 0; k < n; k++) {
        const sti_event event = {.now = now, .msg = store->taken[k]};
        if (!is_here(store, event.msg.to)) {
            send(store, &event.msg);
        } else if (event.msg.to >= STI_CLIENT_0) {
            sti_store_end *end = end_of(store, event.msg.to);
            step_client(end, &event);
            atomic_fetch_sub(&end->waiting, 1);
        } else
            step_shard(store, shard_of(store, event.msg.to), &event);
    }
    for (uint32_t k = 0; k < store->n_ends; k++)
        look_at_timer(&store->end[k], now);
    for (uint32_t k = 0; k < store->n_shards; k++)
        look_at_shards_timer(store, &store->shards[k], now);
    return n > 0;
}

static void restart_shards(sti_node_store *store)
{
    const sti_event start = {.kind = STI_EVENT_START,
                             .now = sti_node_store_now(store)};
    for (uint32_t k = 0; k < store->n_shards; k++)
        if (store->shards[k].journal)
            step_shard(store, &store->shards[k], &start);
}

void sti_node_store_restart(sti_node_store *store)
{
    atomic_store(&store->restarts, true);
    sti_inbox_stir(&store->inbox);
}

static void *drive(void *arg)
{
    sti_node_store *store = arg;
    bool told = false;
    while (!atomic_load(&store->stopping)) {
        if (atomic_exchange(&store->restarts, false))
            restart_shards(store);
        bool busy = take_inbox(store);
        if (!told && atomic_load(&store->aborted)) {
            told = true;
            for (uint32_t k = 0; k < store->n_ends; k++)
                wake_all(&store->end[k]);
        }
        if (!run_next_job(store) && !busy)
            sti_inbox_wait(&store->inbox, 0, SLEEP_NS);
    }
    return NULL;
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
    *end =
        (sti_store_end){.store = store,
                        .first_worker = first_worker,
                        .timer_at = UINT64_MAX,
                        .workers = calloc(workers + 1, sizeof *end->workers)};
    if (!end->workers)
        return no_memory();
    pthread_mutex_init(&end->lock, NULL);
    pthread_cond_init(&end->acknowledged, NULL);
    store->n_ends++;
    for (; end->n_workers < workers; end->n_workers++)
        pthread_cond_init(&end->workers[end->n_workers].wake, NULL);
    return sti_client_new(&setup, &end->client);
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
                                   .retell_ns = resend_ns};
    return err ? err : sti_shard_new(&setup, &shard->role);
}

static strads_err open_shards(sti_node_store *store)
{
    const sti_run *run = store->setup.run;
    store->shards = calloc(run->shards, sizeof *store->shards);
    strads_err err = store->shards ? STRADS_OK : no_memory();
    for (uint32_t s = 0; !err && s < run->shards; s++)
        if (is_here(store, STI_SHARD_0 + s))
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
    store->started_ns = clock_ns();
    strads_err err = sti_inbox_init(&store->inbox);
    if (err) {
        free(store);
        return err;
    }
    pthread_mutex_init(&store->fail_lock, NULL);
    err = copy_tables(store);
    if (!err)
        err = open_shards(store);
    if (!err)
        err = open_ends(store);
    store->started =
        !err && !pthread_create(&store->thread, NULL, drive, store);
    if (!err && !store->started)
        err = strads_fail(STRADS_EIO, "cannot start the store's thread: use "
                                      "fewer partitions");
    if (err)
        sti_node_store_close(store);
    else
        *out = store;
    return err;
}

static void free_end(sti_store_end *end)
{
    sti_client_free(end->client);
    sti_effects_free(&end->effects);
    for (uint32_t w = 0; w < end->n_workers; w++)
        pthread_cond_destroy(&end->workers[w].wake);
    free(end->workers);
    pthread_cond_destroy(&end->acknowledged);
    pthread_mutex_destroy(&end->lock);
}

void sti_node_store_stop(sti_node_store *store)
{
    atomic_store(&store->stopping, true);
    sti_inbox_stir(&store->inbox);
    if (store->started)
        pthread_join(store->thread, NULL);
    store->started = false;
}

void sti_node_store_close(sti_node_store *store)
{
    if (!store)
        return;
    sti_node_store_stop(store);
    sti_session_free(store->engine);
    for (uint32_t k = 0; k < store->n_ends; k++)
        free_end(&store->end[k]);
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
    free(store->taken);
    sti_inbox_free(&store->inbox);
    pthread_mutex_destroy(&store->fail_lock);
    free(store);
}
