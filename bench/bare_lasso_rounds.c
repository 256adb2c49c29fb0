/* Owns the course of a run: a scan, then blocks until the policy finds nobody
 * above the level of rest, and so on. Invariant: between two phases no order is
 * being carried out, and what was committed is told with the next one. */
#include "bench/bare_lasso.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ending.h"
#include "bench/measuring.h"

uint32_t bare_loop_phase_number(const bare_loop *e, strads_when when)
{
    uint32_t k = 0;

    while (e->program->phases[k].when != when)
        k++;
    return k;
}

static const strads_phase *phase_of(const bare_loop *e, strads_when when)
{
    return &e->program->phases[bare_loop_phase_number(e, when)];
}

/* ---- one phase after the other ----------------------------------------- */

static void dispatch(bare_loop *e, const strads_phase *phase,
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
        double **into = t < e->threads ? &e->partial[t] : &e->merged;
        size_t *has = t < e->threads ? &e->capacity[t] : &e->room_merged;
        if (e->order.partial <= *has)
            continue;
        free(*into);
        *into = bench_reserve(e->order.partial, sizeof(double));
        *has = e->order.partial;
    }
    bare_loop_everyone(e);
}

/* Has the threads hear of the last commit's changes. */
static void tell(bare_loop *e)
{
    e->order.phase = NULL;
    e->order.partial = 0;
    if (e->order.refresh)
        bare_loop_everyone(e);
}

/* Commits: values, priorities, and the next order's refresh. */
static void settle(bare_loop *e, const strads_commit *commit)
{
    uint32_t n = 0;

    if (!commit->change)
        return;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (commit->priority[k] >= 0)
            bare_loop_prioritise(e, j, commit->priority[k]);
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

static void aggregate(bare_loop *e, const strads_phase *phase,
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

static strads_block everything(const bare_loop *e)
{
    return (strads_block){.n = (uint32_t)e->shape.parameters};
}

static void run_phase_of_all(bare_loop *e, const strads_phase *phase)
{
    dispatch(e, phase, everything(e), (strads_block){0});
    aggregate(e, phase, everything(e), e->value);
    if (!phase->receive)
        return;
    e->order.receive = true;
    bare_loop_everyone(e);
    e->order.receive = false;
}

/* Pairs of a group's new members with all of it. */
static void learn_pairs(bare_loop *e, const strads_phase *phase, bare_group *g)
{
    static double kept[BARE_GROUP * BARE_GROUP];
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
static bare_group *choose(bare_loop *e)
{
    bare_group *best = NULL;

    e->left = 0;
    for (uint32_t k = 0; k < e->n_groups; k++) {
        bare_group *g = e->groups[k];
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
static void grant_wish(bare_loop *e)
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
static bool solve_all(bare_loop *e, const strads_phase *phase)
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

static void solve_group(bare_loop *e, const strads_phase *phase, bare_group *g)
{
    const strads_block members = {.id = 1, .n = g->n, .param = g->param};
    double value[BARE_GROUP];

    learn_pairs(e, phase_of(e, STRADS_WHEN_PROBE), g);
    for (uint32_t k = 0; k < g->n; k++)
        value[k] = e->value[g->param[k]];
    dispatch(e, phase, members, (strads_block){0});
    aggregate(e, phase, members, value);
}

static void descend(bare_loop *e)
{
    const strads_phase *phase = &e->program->phases[e->route];
    bare_group *g;

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

static bool reached(const bare_target *target, const strads_report *report)
{
    if (report->stop)
        return true;
    return target->optimum > 0 ? report->objective - target->optimum <=
                                     target->gap * target->optimum
                               : report->gap <= target->gap;
}

void bare_loop_train(bare_loop *e, const bare_target *target,
                     strads_report *report)
{
    const strads_phase *scan = phase_of(e, STRADS_WHEN_REST);

    e->tolerance = target->gap;
    for (uint32_t k = 0; k < e->program->n_phases; k++)
        if (e->program->phases[k].when == STRADS_WHEN_START)
            run_phase_of_all(e, &e->program->phases[k]);
    for (;; descend(e)) {
        run_phase_of_all(e, scan);
        e->scans++;
        bench_check(e->program->objective(e->state, report));
        if (target->verbose)
            fprintf(stderr,
                    "scan %2llu blocks %5llu objective %.12g gap %.2e nonzeros "
                    "%llu groups %u left %.2e rest %.2e\n",
                    (unsigned long long)e->scans, (unsigned long long)e->blocks,
                    report->objective, report->gap,
                    (unsigned long long)report->nonzeros, e->n_groups, e->left,
                    e->rest);
        if (reached(target, report))
            return;
    }
}
