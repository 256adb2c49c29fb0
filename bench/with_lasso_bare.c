/* with_lasso_bare.c - the Lasso's own callbacks in a straight loop.
 *
 * What the engine adds to a run is measured against this: the same callbacks
 * on the same partitions, one thread each, with the simplest policy (columns
 * are grouped by 64 as they get a priority, the group with the most comes next;
 * a phase to nobody gets all that have one), nothing in flight, and barriers
 * that spin. It defines the calls that callbacks make into an engine, so that
 * the library's own stays out.
 *
 *     with_lasso_bare FILE [ratio=.1] [threads=1] [gap=1e-6] [optimum=P]
 *                      [repeats=1] [verbose=0]
 *
 * With optimum=P a run ends at (P' - P) / P <= gap instead. Prints one line of
 * JSON a run. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <strads/lasso.h>
#include <strads/strads.h>

#include "bench/ending.h"
#include "bench/measuring.h"

enum { GROUP = 64, THREADS_MAX = 64, SPINS = 20000 };

/* ---- the loop's state -------------------------------------------------- */

typedef struct group {
    uint32_t n, known; /* members; those whose pairs are known */
    uint32_t param[GROUP];
    double pairs[GROUP * GROUP]; /* [n x n] */
    double priority;             /* sum over members */
} group;

/* One order to all threads: changes to refresh, then a phase to update. */
typedef struct order {
    strads_change change;
    bool refresh, receive, quit;
    const strads_phase *phase;
    strads_block block, against;
    size_t partial; /* numbers */
} order;

struct bare_loop {
    const strads_program *program;
    strads_lasso_options config;
    const strads_data *data;
    strads_shape shape;
    void *state;
    uint32_t threads;

    double *value, *priority, *change, *new_priority, *merged;
    uint32_t *changed, *solved;
    double *solved_value;
    uint32_t *group_of; /* 1 + its group, 0: none yet */
    group **groups;
    uint32_t n_groups;
    double rest, left, tolerance;
    uint32_t route; /* the phase that the policy's blocks go to */
    uint32_t *wish_param, *wish_against; /* pairs that a commit asked for */
    uint32_t n_wish, m_wish;

    order order;
    void *local[THREADS_MAX];
    double *partial[THREADS_MAX];
    size_t room[THREADS_MAX], room_merged;
    double busy[THREADS_MAX], alone; /* in callbacks; in aggregate */
    atomic_uint turn, done;

    uint64_t scans, blocks, updates, probes;
};

/* ---- phases ------------------------------------------------------------ */

static uint32_t phase_number(const struct bare_loop *e, strads_when when)
{
    uint32_t k = 0;

    while (e->program->phases[k].when != when)
        k++;
    return k;
}

static const strads_phase *phase_of(const struct bare_loop *e, strads_when when)
{
    return &e->program->phases[phase_number(e, when)];
}

/* ---- what aggregate calls ---------------------------------------------- */

static void join_group(struct bare_loop *e, uint32_t j)
{
    if (e->n_groups == 0 || e->groups[e->n_groups - 1]->n == GROUP)
        e->groups[e->n_groups++] = bench_reserve(1, sizeof(group));
    group *last = e->groups[e->n_groups - 1];
    last->param[last->n++] = j;
    e->group_of[j] = e->n_groups;
}

static void set_priority(struct bare_loop *e, uint32_t j, double priority)
{
    if (e->group_of[j] == 0 && priority > 0)
        join_group(e, j);
    e->priority[j] = priority;
}

void strads_commit_prioritise(strads_commit *commit, uint32_t n,
                              const uint32_t *param, const double *priority)
{
    for (uint32_t k = 0; k < n; k++)
        set_priority(commit->engine, param[k], priority[k]);
}

void strads_commit_rest(strads_commit *commit, double level)
{
    struct bare_loop *e = commit->engine;

    e->rest = level;
}

strads_err strads_commit_route(strads_commit *commit, uint32_t phase,
                               double work)
{
    struct bare_loop *e = commit->engine;

    (void)work;
    e->route = phase;
    return STRADS_OK;
}

strads_err strads_commit_probe(strads_commit *commit, uint32_t n,
                               const uint32_t *param, uint32_t m,
                               const uint32_t *against)
{
    struct bare_loop *e = commit->engine;

    memcpy(e->wish_param, param, n * sizeof(*param));
    memcpy(e->wish_against, against, m * sizeof(*against));
    e->n_wish = n;
    e->m_wish = m;
    return STRADS_OK;
}

strads_err strads_commit_also(strads_commit *commit, uint32_t n,
                              const uint32_t *param, const double *change)
{
    (void)commit;
    (void)n;
    (void)param;
    (void)change;
    return strads_fail(STRADS_ESTATE, "the bare loop commits blocks alone");
}

strads_err strads_bytes_append(strads_bytes *bytes, const void *from,
                               size_t size)
{
    (void)bytes;
    (void)from;
    (void)size;
    return strads_fail(STRADS_ESTATE, "the bare loop packs nothing");
}

const double *strads_commit_pairs(const strads_commit *commit)
{
    const struct bare_loop *e = commit->engine;
    const uint32_t j = strads_block_param(&commit->block, 0);

    return e->groups[e->group_of[j] - 1]->pairs;
}

double strads_commit_pair(const strads_commit *commit, uint32_t i, uint32_t j)
{
    (void)commit;
    (void)i;
    (void)j;
    return NAN; /* nothing is ever in flight */
}

/* ---- threads ----------------------------------------------------------- */

static void pause_for(uint32_t tries)
{
    if (tries > SPINS)
        sched_yield();
}

static strads_task task_of(struct bare_loop *e, uint32_t t)
{
    return (strads_task){.share = strads_data_share(e->data, t),
                         .local = e->local[t],
                         .config = &e->config,
                         .width = 1};
}

/* Carries the order out on partition t. */
static void obey(struct bare_loop *e, uint32_t t)
{
    const order *o = &e->order;
    const double begun = bench_wall();
    strads_task task = task_of(e, t);

    if (o->refresh)
        bench_check(e->program->refresh(&task, &o->change, 1));
    task.block = o->block;
    task.against = o->against;
    task.partial_bytes = o->partial * sizeof(double);
    if (o->receive) {
        task.partial = e->merged;
        bench_check(o->phase->receive(&task));
    } else if (o->phase) {
        memset(e->partial[t], 0, task.partial_bytes);
        task.partial = e->partial[t];
        bench_check(o->phase->update(&task));
    }
    e->busy[t] += bench_wall() - begun;
}

static void *serve(void *argument)
{
    struct bare_loop *e = argument;
    static atomic_uint names;
    const uint32_t t = 1 + atomic_fetch_add(&names, 1) % (e->threads - 1);

    for (uint32_t turn = 1;; turn++) {
        for (uint32_t i = 0; atomic_load(&e->turn) < turn; i++)
            pause_for(i);
        if (e->order.quit)
            return NULL;
        obey(e, t);
        atomic_fetch_add(&e->done, 1);
    }
}

/* Has all threads carry the order out, and merges their partials. */
static void everyone(struct bare_loop *e)
{
    atomic_store(&e->done, 0);
    atomic_fetch_add(&e->turn, 1);
    obey(e, 0);
    for (uint32_t i = 0; atomic_load(&e->done) < e->threads - 1; i++)
        pause_for(i);
    e->order.refresh = false;
    if (e->order.receive)
        return;
    memcpy(e->merged, e->partial[0], e->order.partial * sizeof(double));
    for (uint32_t t = 1; t < e->threads; t++)
        for (size_t k = 0; k < e->order.partial; k++)
            e->merged[k] += e->partial[t][k];
}

/* ---- one phase after the other ----------------------------------------- */

static void dispatch(struct bare_loop *e, const strads_phase *phase,
                     strads_block block, strads_block against)
{
    strads_task task = {.config = &e->config,
                        .width = 1,
                        .block = block,
                        .against = against};

    e->order.phase = phase;
    e->order.block = block;
    e->order.against = against;
    e->order.partial = phase->partial ? phase->partial(&task)
                       : phase->when == STRADS_WHEN_PROBE
                           ? (size_t)block.n * against.n
                           : block.n;
    for (uint32_t t = 0; t <= e->threads; t++) {
        double **room = t < e->threads ? &e->partial[t] : &e->merged;
        size_t *has = t < e->threads ? &e->room[t] : &e->room_merged;
        if (e->order.partial <= *has)
            continue;
        free(*room);
        *room = bench_reserve(e->order.partial, sizeof(double));
        *has = e->order.partial;
    }
    everyone(e);
}

/* Has the threads hear of the last commit's changes. */
static void tell(struct bare_loop *e)
{
    e->order.phase = NULL;
    e->order.partial = 0;
    if (e->order.refresh)
        everyone(e);
}

/* Commits: values, priorities, and the next order's refresh. */
static void settle(struct bare_loop *e, const strads_commit *commit)
{
    uint32_t n = 0;

    if (!commit->change)
        return;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (commit->priority[k] >= 0)
            set_priority(e, j, commit->priority[k]);
        if (commit->change[k] == 0)
            continue;
        e->value[j] += commit->change[k];
        e->changed[n] = j;
        e->change[n++] = commit->change[k];
    }
    e->order.refresh = n > 0;
    e->order.change =
        (strads_change){.n = n, .param = e->changed, .change = e->change};
    e->updates += n;
}

static void aggregate(struct bare_loop *e, const strads_phase *phase,
                      strads_block block, const double *value)
{
    const double begun = bench_wall();
    strads_commit commit = {.state = e->state,
                            .config = &e->config,
                            .width = 1,
                            .block = block,
                            .against = e->order.against,
                            .partial = e->merged,
                            .value = value,
                            .engine = e,
                            .tolerance = e->tolerance};

    if (phase->when == STRADS_WHEN_POLICY) {
        commit.change = e->change;
        commit.priority = e->new_priority;
    }
    for (uint32_t k = 0; commit.change && k < block.n; k++) {
        e->change[k] = 0;
        e->new_priority[k] = -1;
    }
    bench_check(phase->aggregate(&commit));
    const double spent = bench_wall() - begun;
    e->busy[0] += spent;
    e->alone += spent;
    settle(e, &commit);
}

static strads_block everything(const struct bare_loop *e)
{
    return (strads_block){.n = (uint32_t)e->shape.parameters};
}

static void run_phase_of_all(struct bare_loop *e, const strads_phase *phase)
{
    dispatch(e, phase, everything(e), (strads_block){0});
    aggregate(e, phase, everything(e), e->value);
    if (!phase->receive)
        return;
    e->order.receive = true;
    everyone(e);
    e->order.receive = false;
}

/* Pairs of a group's new members with all of it. */
static void learn_pairs(struct bare_loop *e, const strads_phase *phase,
                        group *g)
{
    static double kept[GROUP * GROUP];
    const uint32_t n = g->n, known = g->known;
    const strads_block whole = {.id = 1, .n = n, .param = g->param};
    const strads_block fresh = {.id = known ? 2 : 1,
                                .n = n - known,
                                .param = g->param + known};

    if (known == n)
        return;
    memcpy(kept, g->pairs, sizeof(kept));
    for (uint32_t k = 0; k < known; k++)
        memcpy(g->pairs + k * n, kept + k * known, known * sizeof(double));
    dispatch(e, phase, fresh, whole);
    for (uint32_t k = known; k < n; k++)
        for (uint32_t l = 0; l < n; l++)
            g->pairs[k * n + l] = g->pairs[l * n + k] =
                e->merged[(k - known) * n + l];
    g->known = n;
    e->probes += (uint64_t)(n - known) * n;
}

/* The group with the most priority; all sums are taken anew on the way. */
static group *choose(struct bare_loop *e)
{
    group *best = NULL;

    e->left = 0;
    for (uint32_t k = 0; k < e->n_groups; k++) {
        group *g = e->groups[k];
        g->priority = 0;
        for (uint32_t i = 0; i < g->n; i++)
            g->priority += e->priority[g->param[i]];
        e->left += g->priority;
        if (!best || g->priority > best->priority)
            best = g;
    }
    return best;
}

/* The pairs that the last commit asked for. */
static void grant_wish(struct bare_loop *e)
{
    const strads_phase *pairs = phase_of(e, STRADS_WHEN_PROBE);
    const strads_block lines = {.id = 1,
                                .n = e->n_wish,
                                .param = e->wish_param};
    const strads_block against = {.id = 2,
                                  .n = e->m_wish,
                                  .param = e->wish_against};

    e->probes += (uint64_t)e->n_wish * e->m_wish;
    e->n_wish = 0;
    dispatch(e, pairs, lines, against);
    aggregate(e, pairs, lines, NULL);
}

/* All that have a priority, solved at once; false when nobody has. */
static bool solve_all(struct bare_loop *e, const strads_phase *phase)
{
    uint32_t n = 0;

    if (strcmp(phase->name, "solve") != 0)
        bench_check(
            strads_fail(STRADS_ELIMIT,
                        "this data has larger working sets than the bare "
                        "loop knows to solve: give a larger ratio"));
    for (uint32_t k = 0; k < e->n_groups; k++)
        for (uint32_t i = 0; i < e->groups[k]->n; i++) {
            const uint32_t j = e->groups[k]->param[i];
            if (e->priority[j] > 0) {
                e->solved[n] = j;
                e->solved_value[n++] = e->value[j];
            }
        }
    if (n == 0)
        return false;
    aggregate(e, phase, (strads_block){.id = 1, .n = n, .param = e->solved},
              e->solved_value);
    tell(e);
    return true;
}

static void solve_group(struct bare_loop *e, const strads_phase *phase,
                        group *g)
{
    const strads_block members = {.id = 1, .n = g->n, .param = g->param};
    double value[GROUP];

    learn_pairs(e, phase_of(e, STRADS_WHEN_PROBE), g);
    for (uint32_t k = 0; k < g->n; k++)
        value[k] = e->value[g->param[k]];
    dispatch(e, phase, members, (strads_block){0});
    aggregate(e, phase, members, value);
}

static void descend(struct bare_loop *e)
{
    const strads_phase *phase = &e->program->phases[e->route];
    group *g;

    if (e->n_wish)
        grant_wish(e);
    while ((g = choose(e)) && e->left > e->rest) {
        if (phase->to != STRADS_TO_NOBODY)
            solve_group(e, phase, g);
        else if (!solve_all(e, phase))
            return;
        e->blocks++;
    }
}

/* ---- a run ------------------------------------------------------------- */

typedef struct settings {
    const char *path;
    double ratio, gap, optimum;
    uint32_t threads, repeats, verbose;
} settings;

static void begin(struct bare_loop *e, const settings *s)
{
    const size_t p = strads_data_cols(e->data);

    e->shape = (strads_shape){.parameters = p, .width = 1, .block_max = GROUP};
    e->value = bench_reserve(p, sizeof(double));
    e->priority = bench_reserve(p, sizeof(double));
    e->change = bench_reserve(p, sizeof(double));
    e->new_priority = bench_reserve(p, sizeof(double));
    e->changed = bench_reserve(p, sizeof(uint32_t));
    e->group_of = bench_reserve(p, sizeof(uint32_t));
    e->groups = bench_reserve(p, sizeof(group *));
    e->solved = bench_reserve(p, sizeof(uint32_t));
    e->solved_value = bench_reserve(p, sizeof(double));
    e->wish_param = bench_reserve(p, sizeof(uint32_t));
    e->wish_against = bench_reserve(p, sizeof(uint32_t));
    e->route = phase_number(e, STRADS_WHEN_POLICY);
    bench_check(e->program->shape(&e->config, e->data, &e->shape));
    bench_check(e->program->begin(&e->config, e->data, &e->shape, &e->state));
    for (uint32_t t = 0; t < s->threads; t++) {
        const strads_task task = task_of(e, t);
        bench_check(e->program->open(&task, &e->local[t]));
    }
}

static void end(struct bare_loop *e)
{
    for (uint32_t t = 0; t < e->threads; t++) {
        e->program->close(e->local[t]);
        free(e->partial[t]);
    }
    e->program->end(e->state);
    for (uint32_t k = 0; k < e->n_groups; k++)
        free(e->groups[k]);
    free(e->value);
    free(e->priority);
    free(e->change);
    free(e->new_priority);
    free(e->changed);
    free(e->group_of);
    free(e->groups);
    free(e->merged);
    free(e->solved);
    free(e->solved_value);
    free(e->wish_param);
    free(e->wish_against);
}

static bool reached(const settings *s, const strads_report *report)
{
    if (report->stop)
        return true;
    return s->optimum > 0
               ? report->objective - s->optimum <= s->gap * s->optimum
               : report->gap <= s->gap;
}

static void train(struct bare_loop *e, const settings *s, strads_report *report)
{
    const strads_phase *scan = phase_of(e, STRADS_WHEN_REST);

    e->tolerance = s->gap;
    for (uint32_t k = 0; k < e->program->n_phases; k++)
        if (e->program->phases[k].when == STRADS_WHEN_START)
            run_phase_of_all(e, &e->program->phases[k]);
    for (;; descend(e)) {
        run_phase_of_all(e, scan);
        e->scans++;
        bench_check(e->program->objective(e->state, report));
        if (s->verbose)
            fprintf(stderr,
                    "scan %2llu blocks %5llu objective %.12g gap %.2e nonzeros "
                    "%llu groups %u left %.2e rest %.2e\n",
                    (unsigned long long)e->scans, (unsigned long long)e->blocks,
                    report->objective, report->gap,
                    (unsigned long long)report->nonzeros, e->n_groups, e->left,
                    e->rest);
        if (reached(s, report))
            return;
    }
}

static void run(const settings *s, const strads_data *data)
{
    static struct bare_loop zero;
    struct bare_loop *e = bench_reserve(1, sizeof(zero));
    pthread_t thread[THREADS_MAX];
    strads_report report = {0};
    double busy = 0;

    e->program = &strads_program_lasso;
    e->config = (strads_lasso_options){.lambda_ratio = s->ratio};
    e->data = data;
    e->threads = s->threads;
    begin(e, s);
    for (uint32_t t = 1; t < s->threads; t++)
        pthread_create(&thread[t], NULL, serve, e);
    const double begun = bench_wall();
    train(e, s, &report);
    const double wall = bench_wall() - begun;
    e->order.quit = true;
    atomic_fetch_add(&e->turn, 1);
    for (uint32_t t = 1; t < s->threads; t++)
        pthread_join(thread[t], NULL);
    for (uint32_t t = 0; t < s->threads; t++)
        busy += e->busy[t];
    printf("{\"bench\": \"lasso_bare\", \"data\": \"%s\", \"ratio\": %g, "
           "\"threads\": %u, \"wall\": %.6f, \"callbacks\": %.6f, "
           "\"aggregate\": %.6f, "
           "\"objective\": %.17g, \"gap\": %.3e, \"nonzeros\": %llu, "
           "\"scans\": %llu, \"blocks\": %llu, \"updates\": %llu, "
           "\"probes\": %llu}\n",
           s->path, s->ratio, s->threads, wall, busy, e->alone,
           report.objective, report.gap, (unsigned long long)report.nonzeros,
           (unsigned long long)e->scans, (unsigned long long)e->blocks,
           (unsigned long long)e->updates, (unsigned long long)e->probes);
    end(e);
    free(e);
}

static void read_settings(int n, char **word, settings *s)
{
    for (int k = 0; k < n; k++) {
        const char *is = strchr(word[k], '=');
        const double number = is ? atof(is + 1) : 0;
        const size_t length = is ? (size_t)(is - word[k]) : 0;
        const struct {
            const char *name;
            double *real;
            uint32_t *whole;
        } known[] = {{"ratio", &s->ratio, NULL},
                     {"gap", &s->gap, NULL},
                     {"optimum", &s->optimum, NULL},
                     {"threads", 0, &s->threads},
                     {"repeats", 0, &s->repeats},
                     {"verbose", 0, &s->verbose}};
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (strlen(known[i].name) != length ||
                strncmp(known[i].name, word[k], length) != 0)
                continue;
            if (known[i].real)
                *known[i].real = number;
            else
                *known[i].whole = (uint32_t)number;
        }
    }
}

int main(int argc, char **argv)
{
    settings s = {.ratio = .1, .gap = 1e-6, .threads = 1, .repeats = 1};
    strads_data *data;

    if (argc < 2) {
        fprintf(stderr, "usage: with_lasso_bare FILE [ratio=.1] [threads=1] "
                        "[gap=1e-6] [optimum=P] [repeats=1] [verbose=0]\n");
        return 2;
    }
    s.path = argv[1];
    read_settings(argc - 2, argv + 2, &s);
    if (s.threads < 1 || s.threads > THREADS_MAX)
        s.threads = 1;
    const strads_data_options options = {.size = sizeof(options),
                                         .partitions = s.threads};
    bench_check(strads_data_read(s.path, &options, &data));
    for (uint32_t k = 0; k < s.repeats; k++)
        run(&s, data);
    strads_data_free(data);
    return 0;
}
