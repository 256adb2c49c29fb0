/* The world of tests/store_swarm.h. Worker w adds 1 to column w of a row: so a
 * row says how many increments of whom are in it, and each is checked against
 * how many were made before which clock. */
#include "tests/store_swarm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/role/message_codec.h"
#include "engine/role/shard.h"
#include "engine/role/store_client.h"
#include "engine/store/journal_memory.h"

enum {
    CLIENTS = 3,
    SHARDS = 3,
    PER_CLIENT = 2,
    WORKERS = CLIENTS * PER_CLIENT,
    TABLES = 3,
    ROWS = 7,
    CLOCKS = 7,
    BAG = 4096,
    MOST_STEPS = 60000,
    RESEND = 400
};

static const strads_table_spec tables[TABLES] = {
    {.name = "dense",
     .type = STRADS_I64,
     .rows = ROWS,
     .cols = WORKERS,
     .staleness = 1,
     .snapshot_every = 2},
    {.name = "eager",
     .type = STRADS_I32,
     .rows = ROWS,
     .cols = WORKERS,
     .sparse = true,
     .eager = true,
     .staleness = STRADS_STALENESS_ADAPTIVE,
     .staleness_max = 3},
    {.name = "loose",
     .type = STRADS_F64,
     .rows = ROWS,
     .cols = WORKERS,
     .eager = true,
     .staleness = STRADS_STALENESS_INFINITE},
};

typedef enum op_kind { OP_READ, OP_EXACT, OP_PUSH, OP_BARRIER } op_kind;

/* A worker, and the call that it is at. */
typedef struct worker {
    uint64_t clock;
    sti_pending pending[TABLES];
    uint32_t made[TABLES][ROWS][CLOCKS + 2]; /* increments in each clock */
    uint32_t ops_left;
    bool at_call, may_go, left;
    op_kind kind;
    uint32_t table, n, rows[3], staleness;
    sti_push_end end;
} worker;

/* What SWARM_FORGETS has instead of a journal. */
typedef struct lazy_journal {
    sti_journal head;
    sti_journal *real;
} lazy_journal;

typedef struct shard {
    sti_kept *kept;
    sti_shard *role;
    sti_job *job, *done;
    sti_memory_disk *disk;
    sti_journal *journal;
    lazy_journal lazy;
    uint64_t told[CLIENTS]; /* the highest number acknowledged */
} shard;

typedef struct world {
    sti_random random;
    swarm_wrong wrong;
    swarm_result *result;
    uint32_t shards;
    uint64_t now;
    uint64_t timer[CLIENTS];
    sti_client *client[CLIENTS];
    uint64_t as_of[CLIENTS][TABLES][ROWS];
    worker worker[WORKERS];
    shard shard[SHARDS];
    sti_msg bag[BAG];
    uint32_t n_bag;
    bool did_wrong;
} world;

static uint32_t draw(world *w, uint32_t below)
{
    return (uint32_t)sti_random_below(&w->random, below);
}

static void breach(world *w, const char *what, uint32_t who, uint64_t a,
                   uint64_t b)
{
    if (!w->result->breach[0])
        (void)snprintf(w->result->breach, sizeof w->result->breach,
                       "%s: worker or shard %u, %llu against %llu", what, who,
                       (unsigned long long)a, (unsigned long long)b);
}

static void check(world *w, strads_err err)
{
    if (err)
        breach(w, strads_error_text(), 0, (uint64_t)err, 0);
}

/* ---- a journal that forgets -------------------------------------------- */

static strads_err pass_append(sti_journal *journal,
                              const sti_journal_record *records, size_t n)
{
    sti_journal *real = ((lazy_journal *)journal)->real;
    return real->ops->append(real, records, n);
}

/* Says that all is durable, and does nothing. */
static strads_err no_sync(sti_journal *journal)
{
    (void)journal;
    return STRADS_OK;
}

static const sti_journal_ops lazy_ops = {.append = pass_append,
                                         .sync = no_sync};

/* ---- messages ---------------------------------------------------------- */

/* What crosses nodes goes through bytes. */
static sti_msg through_bytes(world *w, sti_msg msg)
{
    sti_writer out = {0};
    sti_buffer *backing = NULL;
    check(w, sti_msg_encode(&msg, &out));
    check(w, sti_buffer_new(out.size, &backing));
    if (out.size)
        memcpy(backing->bytes, out.bytes, out.size);
    sti_msg arrived = msg;
    check(w, sti_msg_decode(NULL, backing->bytes, out.size, &backing->head,
                            &arrived));
    if (arrived.from != msg.from)
        breach(w, "another sender", 0, arrived.from, msg.from);
    sti_object_drop(backing);
    sti_object_drop(msg.object);
    sti_writer_free(&out);
    return arrived;
}

/* P4: an acknowledged number never goes back. */
static void see_ack(world *w, const sti_msg *msg)
{
    shard *s = &w->shard[msg->from - STI_SHARD_0];
    uint64_t *told = &s->told[msg->to - STI_CLIENT_0];
    if (msg->round < *told)
        breach(w, "P4: an acknowledged number went back",
               msg->from - STI_SHARD_0, msg->round, *told);
    *told = msg->round;
}

static void do_wrong(world *w, sti_msg *msg)
{
    sti_row_answer *answer = (sti_row_answer *)msg->object;
    if (w->wrong == SWARM_ACK_OF_MORE && msg->kind == STI_MSG_ACK) {
        msg->round++;
    } else if (w->wrong == SWARM_OLD_AS_NEW && msg->kind == STI_MSG_ROWS &&
               answer->as_of < CLOCKS) {
        answer->as_of += 2;
    } else if (w->wrong == SWARM_APPLIED_EARLY && msg->kind == STI_MSG_ROWS) {
        answer->applied++;
    } else if (w->wrong == SWARM_TWICE && msg->kind == STI_MSG_PUSH &&
               !w->did_wrong && msg->round > 2 && w->n_bag < BAG) {
        sti_msg again = *msg;
        again.round++;
        again.object = sti_object_keep(msg->object);
        w->bag[w->n_bag++] = again;
        w->did_wrong = true;
    }
}

static void put_in_bag(world *w, sti_msg msg)
{
    msg = through_bytes(w, msg);
    if (msg.kind == STI_MSG_ACK || msg.kind == STI_MSG_ATTACHED)
        see_ack(w, &msg);
    do_wrong(w, &msg);
    if (w->n_bag == BAG) {
        sti_object_drop(msg.object);
        w->result->lost++;
        return;
    }
    w->bag[w->n_bag++] = msg;
}

static void carry_out(world *w, uint32_t of_client, sti_effects *effects)
{
    for (size_t k = 0; k < effects->n; k++) {
        const sti_effect *e = &effects->at[k];
        if (e->kind == STI_EFFECT_WAKE) {
            w->worker[e->worker].may_go = true;
        } else if (e->kind == STI_EFFECT_TIMER) {
            w->timer[of_client] = e->at ? e->at : 1;
        } else if (e->kind == STI_EFFECT_COMPUTE) {
            w->shard[e->job->role - STI_SHARD_0].job = e->job;
        } else if (e->msg.kind == STI_MSG_FAIL) {
            const sti_failure *f = (const sti_failure *)e->msg.object;
            breach(w, f ? f->text : "no memory", e->msg.from, 0, 0);
            sti_object_drop(e->msg.object);
        } else {
            put_in_bag(w, e->msg);
        }
    }
    effects->n = 0;
    sti_effects_free(effects);
}

static void tell_shard(world *w, uint32_t s, const sti_event *event)
{
    sti_effects effects = {0};
    sti_shard_step(w->shard[s].role, event, 1, &effects);
    carry_out(w, 0, &effects);
}

static void tell_client(world *w, uint32_t c, const sti_event *event)
{
    sti_effects effects = {0};
    sti_client_step(w->client[c], event, 1, &effects);
    carry_out(w, c, &effects);
}

/* Any message of the bag: lost, delivered, or delivered and left in it. */
static void deliver(world *w)
{
    if (w->n_bag == 0)
        return;
    uint32_t at = draw(w, w->n_bag);
    uint32_t fate = draw(w, 10);
    sti_event event = {.now = w->now, .msg = w->bag[at]};
    if (fate == 1) {
        sti_object_keep(event.msg.object);
        w->result->doubled++;
    } else {
        w->bag[at] = w->bag[--w->n_bag];
    }
    if (fate == 0) {
        sti_object_drop(event.msg.object);
        w->result->lost++;
    } else if (event.msg.to < STI_CLIENT_0) {
        tell_shard(w, event.msg.to - STI_SHARD_0, &event);
    } else {
        tell_client(w, event.msg.to - STI_CLIENT_0, &event);
    }
}

/* ---- shards ------------------------------------------------------------ */

static void open_shard(world *w, uint32_t number)
{
    shard *s = &w->shard[number];
    const sti_kept_setup setup = {.shard = number,
                                  .shards = w->shards,
                                  .streams = CLIENTS,
                                  .workers = WORKERS,
                                  .tables = tables,
                                  .n_tables = TABLES,
                                  .memory_limit = 1 << 24};
    const sti_journal_options options = {.run = 1,
                                         .shard = number,
                                         .log_room = 3000};
    if (!s->disk)
        check(w, sti_memory_disk_new(&s->disk));
    check(w, sti_journal_open_memory(s->disk, "test", &options, &s->journal));
    check(w, sti_kept_open(&setup, &s->kept));
    check(w, sti_kept_recover(s->kept, s->journal));
    s->lazy = (lazy_journal){.head = {.ops = &lazy_ops}, .real = s->journal};
    bool lazy = w->wrong == SWARM_FORGETS;
    const sti_shard_setup role = {.kept = s->kept,
                                  .first_client = STI_CLIENT_0,
                                  .journal = lazy ? &s->lazy.head : s->journal};
    check(w, sti_shard_new(&role, &s->role));
}

static void close_shard(shard *s)
{
    sti_shard_free(s->role);
    sti_kept_free(s->kept);
    sti_journal_close(s->journal);
    s->job = s->done = NULL;
}

/* S5. Of what was appended and not synced any number of bytes is there. */
static void restart(world *w, uint32_t number)
{
    shard *s = &w->shard[number];
    close_shard(s);
    sti_memory_disk_lose(s->disk,
                         draw(w,
                              (uint32_t)sti_memory_disk_unsynced(s->disk) + 1));
    open_shard(w, number);
    tell_shard(w, number, &(sti_event){.kind = STI_EVENT_START});
    w->result->restarts++;
}

/* A job, and the news of it, are two steps: a crash may come between. */
static void work(world *w, uint32_t number)
{
    shard *s = &w->shard[number];
    if (s->done) {
        sti_job *job = s->done;
        s->done = NULL;
        tell_shard(w, number, &(sti_event){.kind = STI_EVENT_DONE, .job = job});
    } else if (s->job) {
        s->done = s->job;
        s->job = NULL;
        sti_job_run(NULL, s->done);
    }
}

/* ---- workers ----------------------------------------------------------- */

static uint32_t made_before(const worker *v, uint32_t table, uint32_t row,
                            uint64_t clock)
{
    uint32_t n = 0;
    for (uint64_t c = 0; c < clock && c <= CLOCKS; c++)
        n += v->made[table][row][c];
    return n;
}

static int64_t cell(uint32_t table, const void *values, uint32_t i)
{
    if (tables[table].type == STRADS_I64)
        return ((const int64_t *)values)[i];
    if (tables[table].type == STRADS_I32)
        return ((const int32_t *)values)[i];
    return (int64_t)((const double *)values)[i];
}

/* P1, P2, and that nothing is there that nobody made. */
static void check_row(world *w, uint32_t reader, uint32_t k, uint64_t needs,
                      const void *values)
{
    const worker *me = &w->worker[reader];
    uint32_t row = me->rows[k];
    bool exact = me->kind == OP_EXACT;
    for (uint32_t v = 0; v < WORKERS; v++) {
        const worker *them = &w->worker[v];
        int64_t got = cell(me->table, values, k * WORKERS + v);
        int64_t all = made_before(them, me->table, row, CLOCKS + 1);
        int64_t least = made_before(them, me->table, row, needs);
        if (exact && got != least)
            breach(w, "an exact snapshot is not", reader, (uint64_t)got,
                   (uint64_t)least);
        else if (!exact && v == reader && got != all)
            breach(w, "P2: own increments", reader, (uint64_t)got,
                   (uint64_t)all);
        else if (got < least)
            breach(w, "P1: an old value", reader, (uint64_t)got,
                   (uint64_t)least);
        else if (got > all)
            breach(w, "P3: more than was ever added", reader, (uint64_t)got,
                   (uint64_t)all);
    }
}

static void check_read(world *w, uint32_t reader, uint64_t needs,
                       uint64_t as_of, const void *values)
{
    const worker *me = &w->worker[reader];
    if (as_of < needs)
        breach(w, "P1: rows are as of", reader, as_of, needs);
    for (uint32_t k = 0; k < me->n; k++) {
        check_row(w, reader, k, needs, values);
        uint64_t *last = &w->as_of[reader / PER_CLIENT][me->table][me->rows[k]];
        if (me->kind == OP_READ && me->n == 1 && as_of < *last)
            breach(w, "P4: an as-of went back", reader, as_of, *last);
        if (me->kind == OP_READ && me->n == 1)
            *last = as_of;
    }
}

static bool call_read(world *w, uint32_t number, sti_effects *effects)
{
    worker *me = &w->worker[number];
    sti_client *client = w->client[number / PER_CLIENT];
    uint64_t values[3 * WORKERS], as_of = 0;
    uint32_t s = me->staleness;
    bool wait;
    const sti_client_read read = {.worker = number,
                                  .table = me->table,
                                  .n = me->n,
                                  .rows = me->rows,
                                  .staleness = s,
                                  .exact = me->kind == OP_EXACT,
                                  .pending = &me->pending[me->table],
                                  .now = w->now};
    if (s == STRADS_STALENESS_DEFAULT)
        s = tables[me->table].staleness;
    if (s == STRADS_STALENESS_ADAPTIVE)
        s = sti_client_staleness(client, number, me->table);
    uint64_t needs = me->clock > s ? me->clock - s : 0;
    if (read.exact)
        needs = me->clock / 2 * 2;
    strads_err err =
        sti_client_read_rows(client, &read, values, &as_of, &wait, effects);
    if (err == STRADS_ESTATE && read.exact && w->result->restarts)
        return true; /* the snapshot was under way at a checkpoint */
    check(w, err);
    if (wait)
        return false;
    if (!w->result->breach[0])
        check_read(w, number, needs, as_of, values);
    w->result->reads++;
    w->result->snapshots += read.exact;
    return true;
}

static bool call_push(world *w, uint32_t number, sti_effects *effects)
{
    worker *me = &w->worker[number];
    bool wait;
    check(w, sti_client_push(w->client[number / PER_CLIENT], number, me->end,
                             me->pending, w->now, &wait, effects));
    if (wait)
        return false;
    if (me->end == STI_PUSH_CLOCK)
        me->clock++;
    me->left = me->end == STI_PUSH_LEAVE;
    return true;
}

static bool call_barrier(world *w, uint32_t number, sti_effects *effects)
{
    bool wait;
    check(w, sti_client_barrier(w->client[number / PER_CLIENT], number, w->now,
                                &wait, effects));
    for (uint32_t v = 0; !wait && v < WORKERS; v++)
        if (!w->worker[v].left && w->worker[v].clock < w->worker[number].clock)
            breach(w, "a barrier let go", number, w->worker[v].clock,
                   w->worker[number].clock);
    return !wait;
}

static void increment(world *w, uint32_t number)
{
    worker *me = &w->worker[number];
    uint32_t table = draw(w, TABLES), row = draw(w, ROWS);
    union {
        int64_t i64;
        int32_t i32;
        double f64;
    } one = {.i64 = 1};
    if (tables[table].type == STRADS_F64)
        one.f64 = 1;
    check(w, sti_pending_add(&me->pending[table],
                             &(sti_row_delta){.row = row,
                                              .n = 1,
                                              .cols = &number,
                                              .cells = &one}));
    me->made[table][row][me->clock]++;
    w->result->incs++;
}

static void choose_call(world *w, uint32_t number)
{
    static const uint32_t staleness[] = {0,
                                         1,
                                         2,
                                         STRADS_STALENESS_DEFAULT,
                                         STRADS_STALENESS_DEFAULT,
                                         STRADS_STALENESS_INFINITE};
    worker *me = &w->worker[number];
    me->at_call = me->may_go = true;
    if (me->ops_left == 0) {
        me->kind = OP_PUSH;
        me->end = me->clock == CLOCKS ? STI_PUSH_LEAVE : STI_PUSH_CLOCK;
        me->ops_left = 2 + draw(w, 5);
        return;
    }
    me->ops_left--;
    uint32_t what = draw(w, 12);
    me->table = draw(w, TABLES);
    me->n = 1 + draw(w, 3);
    me->staleness = staleness[draw(w, 6)];
    for (uint32_t k = 0; k < me->n; k++)
        me->rows[k] = draw(w, ROWS);
    me->kind = OP_READ;
    if (what == 0) {
        me->kind = OP_BARRIER;
    } else if (what == 1) {
        me->kind = OP_PUSH;
        me->end = STI_PUSH_FLUSH;
    } else if (what < 4 && me->clock >= 2) {
        me->kind = OP_EXACT;
        me->table = 0;
    }
}

static void go(world *w, uint32_t number)
{
    worker *me = &w->worker[number];
    sti_effects effects = {0};
    if (me->left)
        return;
    if (!me->at_call) {
        increment(w, number);
        choose_call(w, number);
    }
    if (!me->may_go && draw(w, 20))
        return;
    me->may_go = false;
    bool through = me->kind == OP_PUSH      ? call_push(w, number, &effects)
                   : me->kind == OP_BARRIER ? call_barrier(w, number, &effects)
                                            : call_read(w, number, &effects);
    me->at_call = !through;
    carry_out(w, number / PER_CLIENT, &effects);
}

/* ---- the world --------------------------------------------------------- */

static void open_world(world *w, uint64_t seed)
{
    w->random = sti_random_stream(seed, 77, 0);
    w->shards = 1 + draw(w, SHARDS);
    w->now = 1;
    for (uint32_t s = 0; s < w->shards; s++)
        open_shard(w, s);
    for (uint32_t c = 0; c < CLIENTS; c++) {
        const sti_client_setup setup = {.client = c,
                                        .shards = w->shards,
                                        .first_worker = c * PER_CLIENT,
                                        .workers = PER_CLIENT,
                                        .tables = tables,
                                        .n_tables = TABLES,
                                        .cache_bytes =
                                            draw(w, 2) ? 1 << 20 : 700,
                                        .max_pushes = 1 + draw(w, 6),
                                        .resend_ns = RESEND};
        check(w, sti_client_new(&setup, &w->client[c]));
    }
    for (uint32_t v = 0; v < WORKERS; v++)
        for (uint32_t t = 0; t < TABLES; t++)
            sti_pending_init(&w->worker[v].pending[t], &tables[t]);
}

static bool at_end(const world *w)
{
    for (uint32_t v = 0; v < WORKERS; v++)
        if (!w->worker[v].left)
            return false;
    for (uint32_t c = 0; c < CLIENTS; c++)
        if (!sti_client_settled(w->client[c]))
            return false;
    return true;
}

/* P3: what the shards hold in the end is what was added, each once. */
static void check_end(world *w)
{
    for (uint32_t s = 0; s < w->shards; s++)
        while (w->shard[s].job || w->shard[s].done)
            work(w, s);
    for (uint32_t t = 0; t < TABLES; t++)
        for (uint32_t row = 0; row < ROWS; row++) {
            uint32_t s = (row + t) % w->shards, place = row / w->shards;
            uint64_t values[WORKERS];
            check(w, strads_store_read(sti_kept_store(w->shard[s].kept), t, 1,
                                       &place, values));
            for (uint32_t v = 0; v < WORKERS; v++) {
                uint64_t got = (uint64_t)cell(t, values, v);
                uint64_t all = made_before(&w->worker[v], t, row, CLOCKS + 1);
                if (got != all)
                    breach(w, "P3: lost or doubled", v, got, all);
            }
        }
}

static void close_world(world *w)
{
    for (uint32_t k = 0; k < w->n_bag; k++)
        sti_object_drop(w->bag[k].object);
    for (uint32_t s = 0; s < w->shards; s++) {
        close_shard(&w->shard[s]);
        sti_memory_disk_free(w->shard[s].disk);
    }
    for (uint32_t c = 0; c < CLIENTS; c++)
        sti_client_free(w->client[c]);
    for (uint32_t v = 0; v < WORKERS; v++)
        for (uint32_t t = 0; t < TABLES; t++)
            sti_pending_free(&w->worker[v].pending[t]);
}

static void step(world *w)
{
    uint32_t what = draw(w, 1000);
    w->now += draw(w, 4);
    for (uint32_t c = 0; c < CLIENTS; c++)
        if (w->timer[c] && w->now >= w->timer[c]) {
            w->timer[c] = 0;
            tell_client(w, c,
                        &(sti_event){.kind = STI_EVENT_TIMER, .now = w->now});
        }
    if (what < 2)
        restart(w, draw(w, w->shards));
    else if (what < 300)
        go(w, draw(w, WORKERS));
    else if (what < 550)
        work(w, draw(w, w->shards));
    else if (w->n_bag)
        deliver(w);
}

void swarm_run(uint64_t seed, swarm_wrong wrong, swarm_result *result)
{
    world *w = calloc(1, sizeof *w);
    *result = (swarm_result){0};
    if (!w)
        return;
    w->wrong = wrong;
    w->result = result;
    open_world(w, seed);
    while (!result->ended && !result->breach[0] &&
           result->steps++ < MOST_STEPS) {
        step(w);
        result->ended = at_end(w);
    }
    if (result->ended)
        check_end(w);
    else if (!result->breach[0])
        breach(w, "it came to no end", 0, w->n_bag, 0);
    close_world(w);
    free(w);
}
