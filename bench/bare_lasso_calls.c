/* The calls that the Lasso's aggregate makes into an engine, answered by the
 * bare loop. Owns which group a column is in: the last one that has room when
 * it first gets a priority, for good. */
#include "bench/bare_lasso.h"

#include <math.h>
#include <string.h>

#include "bench/ending.h"

static void join_group(bare_loop *e, uint32_t j)
{
    if (e->n_groups == 0 || e->groups[e->n_groups - 1]->n == BARE_GROUP)
        e->groups[e->n_groups++] = bench_reserve(1, sizeof(bare_group));
    bare_group *last = e->groups[e->n_groups - 1];
    last->param[last->n++] = j;
    e->group_of[j] = e->n_groups;
}

void bare_loop_prioritise(bare_loop *e, uint32_t j, double priority)
{
    if (e->group_of[j] == 0 && priority > 0)
        join_group(e, j);
    e->priority[j] = priority;
}

void strads_commit_prioritise(strads_commit *commit, uint32_t n,
                              const uint32_t *param, const double *priority)
{
    for (uint32_t k = 0; k < n; k++)
        bare_loop_prioritise(commit->engine, param[k], priority[k]);
}

void strads_commit_rest(strads_commit *commit, double level)
{
    bare_loop *e = commit->engine;

    e->rest = level;
}

strads_err strads_commit_route(strads_commit *commit, uint32_t phase,
                               double work)
{
    bare_loop *e = commit->engine;

    (void)work;
    e->route = phase;
    return STRADS_OK;
}

strads_err strads_commit_probe(strads_commit *commit, uint32_t n,
                               const uint32_t *param, uint32_t m,
                               const uint32_t *against)
{
    bare_loop *e = commit->engine;

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
    const bare_loop *e = commit->engine;
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
