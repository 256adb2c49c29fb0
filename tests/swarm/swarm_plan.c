/* Everything is small, so that rare events of a real run (an eviction, a full
 * window) happen in most runs. Times are those of a local network: 20 to 120 us
 * for a message, rarely much more. */
#include "tests/swarm/swarm_plan.h"

#include <inttypes.h>

/* Each drawn part has its own random numbers, so that a new part does not
 * change the draws of older seeds. */
enum { PURPOSE = 0x73776172, CLUSTER = 0, AROUND = 2, HABIT };
enum { US = 1000 };

static uint32_t below(sti_random *r, uint32_t n)
{
    return (uint32_t)sti_random_below(r, n);
}

/* Draws one of the listed values. */
#define ONE_OF(r, ...)                                 \
    ((const uint64_t[]){__VA_ARGS__}[sti_random_below( \
        r, sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t))])

static void draw_table(sti_random *r, swarm_plan *plan, uint32_t number)
{
    static const char *const name[SWARM_TABLES] = {"one", "two", "three"};
    static const strads_scalar type[] = {STRADS_F32, STRADS_F64, STRADS_I32,
                                         STRADS_I64};
    const sti_sim_store_setup *s = &plan->setup;
    plan->tables[number] =
        (strads_table_spec){.name = name[number],
                            .type = type[below(r, 4)],
                            .rows = 1 + below(r, 8),
                            .cols = s->clients * s->workers_each * plan->clocks,
                            .sparse = below(r, 2),
                            .staleness =
                                (uint32_t)ONE_OF(r, 0, 0, 1, 2, 3,
                                                 STRADS_STALENESS_INFINITE,
                                                 STRADS_STALENESS_ADAPTIVE),
                            .staleness_max = 1 + below(r, 4),
                            .snapshot_every = (uint32_t)ONE_OF(r, 0, 1, 2, 3)};
    strads_table_spec *t = &plan->tables[number];
    /* A worker's k-th increment of a row in a clock is 4^k. */
    t->hold_below = (double)ONE_OF(r, 0, 0, 0, 0, 2, 6, 30, 1000);
    t->push_bytes = ONE_OF(r, 0, 0, 0, 0, 1, 8, t->cols * 8, t->cols * 20);
}

/* Three kinds of network: a good one, one like TCP with broken links, and one
 * that reorders and damages. */
static void draw_weather(sti_random *r, sti_sim_weather *w)
{
    uint32_t kind = below(r, 4);
    *w = (sti_sim_weather){.latency_ns = (20 + below(r, 100)) * US,
                           .jitter_ns = below(r, 100) * US,
                           .ordered = kind < 2};
    if (kind == 0)
        return;
    w->late = 0.01 * below(r, 6);
    w->late_ns = ONE_OF(r, 200, 1000, 5000) * US;
    if (kind == 1)
        return;
    w->lost = 0.001 * (double)ONE_OF(r, 0, 2, 20, 100);
    w->doubled = 0.001 * (double)ONE_OF(r, 0, 2, 20, 100);
    w->damaged = 0.001 * (double)ONE_OF(r, 0, 2, 20);
}

static void draw_fault(sti_random *r, const sti_sim_store_setup *s,
                       uint64_t until, sti_sim_fault *f)
{
    uint32_t shard = below(r, s->shards);
    uint32_t client = s->shards + below(r, s->clients);
    *f = (sti_sim_fault){.kind = (sti_sim_fault_kind)below(r, STI_SIM_FAULTS),
                         .at = sti_random_below(r, until),
                         .lasts = ONE_OF(r, 50, 500, 3000) * US + 1,
                         .factor = 2 + below(r, 20)};
    f->node = below(r, 2) ? shard : client;
    f->other = f->node == shard ? client : shard;
    if (f->kind == STI_SIM_BREAK) {
        f->node = client;
        f->other = shard;
    }
}

static void draw_cluster(sti_random *r, swarm_plan *plan, uint64_t seed)
{
    plan->clocks = 2 + below(r, below(r, 6) ? 8 : 28);
    plan->calls = 1 + below(r, 8);
    plan->think_ns = ONE_OF(r, 5, 30, 100, 300) * US;
    plan->setup =
        (sti_sim_store_setup){.seed = seed,
                              .shards = 1 + below(r, 3),
                              .clients = 1 + below(r, 4),
                              .workers_each = 1 + below(r, 3),
                              .tables = plan->tables,
                              .n_tables = 1 + below(r, SWARM_TABLES),
                              .cache_bytes = ONE_OF(r, 1, 1000, 5000, 1 << 20),
                              .max_bytes = ONE_OF(r, 1, 2000, 1 << 20),
                              .max_pushes = 1 + below(r, 6),
                              .piece_bytes = ONE_OF(r, 1, 100, 1000, 1 << 20),
                              .window_bytes = ONE_OF(r, 1, 200, 2000, 1 << 20),
                              .resend_ns = ONE_OF(r, 300, 1000, 4000) * US,
                              .job_ns = ONE_OF(r, 1, 20, 100) * US,
                              .faults = plan->faults};
    uint32_t workers = plan->setup.clients * plan->setup.workers_each;
    plan->straggler = below(r, 2 * workers);
}

/* Most programs add to the same rows, all of them, in every clock. In these
 * seeds workers do so, too: pushes are then made around the pending rows, and
 * the next increments come while the push is in flight. */
static void draw_habit(uint64_t seed, swarm_plan *plan)
{
    sti_random r = sti_random_stream(seed, PURPOSE, HABIT);
    plan->sweeps = below(&r, 4) == 0;
    plan->asks_ahead = below(&r, 3) == 0;
    if (!plan->sweeps)
        return;
    strads_table_spec *swept = &plan->tables[0];
    swept->sparse = false;
    swept->hold_below = 0;
    swept->push_bytes = 0;
    plan->setup.piece_bytes = 1 << 20;
    plan->setup.around_bytes = 1;
    if (plan->setup.max_bytes == 1) /* would allow no second push */
        plan->setup.max_bytes = 2000;
}

void swarm_plan_draw(uint64_t seed, swarm_plan *plan)
{
    sti_random r = sti_random_stream(seed, PURPOSE, CLUSTER);
    sti_sim_store_setup *s = &plan->setup;
    draw_cluster(&r, plan, seed);
    for (uint32_t t = 0; t < s->n_tables; t++)
        draw_table(&r, plan, t);
    draw_weather(&r, &s->weather);
    /* About the time that the work takes without faults. */
    uint64_t until = (plan->think_ns + 2 * s->weather.latency_ns) *
                         plan->clocks * (plan->calls + 2) / 2 +
                     1;
    s->n_faults = below(&r, 3) ? below(&r, SWARM_FAULTS + 1) : 0;
    for (uint32_t k = 0; k < s->n_faults; k++)
        draw_fault(&r, s, until, &plan->faults[k]);
    sti_random around = sti_random_stream(seed, PURPOSE, AROUND);
    s->around_bytes = ONE_OF(&around, 1, 1, 500);
    draw_habit(seed, plan);
    s->calm_at = until + 3000 * US;
    s->limit_events = 1000000;
    s->limit_ns = UINT64_C(100) * (s->calm_at + 100 * s->resend_ns);
}

/* ---- output ------------------------------------------------------------ */

static const char *staleness_text(uint32_t staleness, char *text, size_t size)
{
    if (staleness == STRADS_STALENESS_INFINITE)
        return "infinite";
    if (staleness == STRADS_STALENESS_ADAPTIVE)
        return "adaptive";
    (void)snprintf(text, size, "%" PRIu32, staleness);
    return text;
}

static void print_table(const strads_table_spec *t, uint32_t number, FILE *to)
{
    static const char *const type[] = {"f64", "f32", "i32", "i64"};
    char text[16];
    (void)fprintf(to,
                  "  table %u: %" PRIu64 " rows of %u %s, %s; staleness %s "
                  "(at most %u), snapshots every %u, held below %g, %" PRIu64
                  " bytes a push\n",
                  number, t->rows, t->cols, type[t->type],
                  t->sparse ? "sparse" : "dense",
                  staleness_text(t->staleness, text, sizeof text),
                  t->staleness_max, t->snapshot_every, t->hold_below,
                  t->push_bytes);
}

static void print_fault(const sti_sim_fault *f, FILE *to)
{
    static const char *const kind[] = {"pause", "slow", "cut", "isolate",
                                       "break"};
    (void)fprintf(to, "  %9.3f us %s node %u", 1e-3 * (double)f->at,
                  kind[f->kind], f->node);
    if (f->kind == STI_SIM_SLOW)
        (void)fprintf(to, " by %u", f->factor);
    if (f->kind == STI_SIM_CUT || f->kind == STI_SIM_BREAK)
        (void)fprintf(to, " from node %u", f->other);
    (void)fprintf(to, " for %.3f us\n", 1e-3 * (double)f->lasts);
}

void swarm_plan_print(const swarm_plan *plan, FILE *to)
{
    const sti_sim_store_setup *s = &plan->setup;
    const sti_sim_weather *w = &s->weather;
    (void)fprintf(to,
                  "seed %" PRIu64 ": %u shards (nodes 0 ..), %u clients (nodes "
                  "%u ..) of %u workers, %u clocks of up to %u calls\n",
                  s->seed, s->shards, s->clients, s->shards, s->workers_each,
                  plan->clocks, plan->calls);
    (void)fprintf(to,
                  "  cache %" PRIu64 " bytes, window %u pushes and %" PRIu64
                  " bytes, pieces of %" PRIu64 ", asked for %" PRIu64
                  " at once, resend after %" PRIu64 " us, jobs of %" PRIu64
                  " us, around from %" PRIu64 " bytes, worker %u straggles%s\n",
                  s->cache_bytes, s->max_pushes, s->max_bytes, s->piece_bytes,
                  s->window_bytes, s->resend_ns / US, s->job_ns / US,
                  s->around_bytes, plan->straggler,
                  plan->sweeps ? ", workers sweep" : "");
    (void)fprintf(to,
                  "  network: %" PRIu64 " to %" PRIu64
                  " us, late %g by %" PRIu64
                  " us, lost %g, doubled %g, damaged %g, %s; calm at %" PRIu64
                  " us\n",
                  w->latency_ns / US, (w->latency_ns + w->jitter_ns) / US,
                  w->late, w->late_ns / US, w->lost, w->doubled, w->damaged,
                  w->ordered ? "in order" : "in any order", s->calm_at / US);
    for (uint32_t t = 0; t < s->n_tables; t++)
        print_table(&s->tables[t], t, to);
    for (uint32_t k = 0; k < s->n_faults; k++)
        print_fault(&s->faults[k], to);
}
