/* One block of what several schedulers choose. A scheduler has a range of the
 * parameters, so what it may put into a block is a part of what ought to be
 * solved together; where that is light beside the work that a block should
 * have, the other schedulers' choices join it, until it has its work or
 * everybody has been looked at. So a block is as large however many schedulers
 * there are. Members of one block need not be independent of each other.
 *
 * The parts keep their schedulers' ids for the questions to them. The joint
 * block has an id of the range behind the last scheduler's, which it keeps as
 * long as its parts are the same. */
#include "engine/round/coordinator_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double weight_of(const sti_run *run, const strads_block *block)
{
    double sum = 0;
    for (uint32_t k = 0; k < block->n; k++)
        sum += (double)run->weight[strads_block_param(block, k)];
    return sum;
}

/* What policies call light, too: it does not pay for its round, and there is
 * room for as many members again. Where a block should have all the work there
 * is, whatever finds room joins. */
static bool is_light(const sti_coordinator *c, uint32_t n, double weight)
{
    uint32_t most = c->run->shape.block_max;
    if (isinf(c->joint.wanted))
        return n < most;
    return 2 * (uint64_t)n < most && 2 * weight < c->joint.wanted;
}

/* Whether blocks of this phase have no holder, who could be one's alone. */
static bool joins_blocks(const sti_run *run, uint32_t phase)
{
    return run->schedulers > 1 && (run->phases[phase].to == STRADS_TO_ALL ||
                                   run->phases[phase].to == STRADS_TO_NOBODY);
}

static bool fits(const sti_coordinator *c, const sti_choice *choice)
{
    const strads_block *block = choice->blocks;
    return choice->kind == STRADS_CHOOSE_BLOCKS && choice->n == 1 &&
           (uint64_t)c->joint.n + block->n <= c->run->shape.block_max &&
           is_light(c, block->n, weight_of(c->run, block));
}

static void add(sti_coordinator *c, uint32_t s, sti_choice *choice)
{
    sti_joint *joint = &c->joint;
    joint->part[s] = choice->blocks;
    choice->blocks = NULL;
    joint->n_parts++;
    joint->n += joint->part[s]->n;
    joint->weight += weight_of(c->run, joint->part[s]);
}

bool sti_coord_join_begins(sti_coordinator *c, uint32_t s, sti_choice *choice,
                           double wanted)
{
    sti_joint *joint = &c->joint;
    joint->wanted = wanted;
    joint->n = joint->n_parts = 0;
    joint->weight = 0;
    if (!joins_blocks(c->run, c->choice_phase) || !fits(c, choice))
        return false;
    add(c, s, choice);
    joint->open = true;
    joint->looked = 0;
    return true;
}

bool sti_coord_join_lacks(const sti_coordinator *c)
{
    const sti_joint *joint = &c->joint;
    return joint->looked < c->run->schedulers &&
           is_light(c, joint->n, joint->weight);
}

void sti_coord_join_take(sti_coordinator *c, uint32_t s)
{
    sti_chooser *chooser = &c->choosers[s];
    if (!fits(c, chooser->choice))
        return;
    add(c, s, chooser->choice);
    chooser->mass = chooser->choice->mass;
    chooser->state = STI_CHOOSER_IDLE;
    sti_object_drop(chooser->choice);
    chooser->choice = NULL;
}

/* ---- ids --------------------------------------------------------------- */

static bool is_of(const sti_joint_id *known, uint32_t n,
                  const strads_block *parts)
{
    bool same = known->n == n;
    for (uint32_t k = 0; same && k < n; k++)
        same = known->part[k] == parts[k].id;
    return same;
}

/* The id of a block of these parts; 0: no memory. Of the blocks made last the
 * parts are remembered. */
static uint64_t id_of(sti_coordinator *c, uint32_t n, const strads_block *parts)
{
    for (uint32_t k = 0; k < STI_JOINT_IDS; k++)
        if (is_of(&c->joint_id[k], n, parts))
            return c->joint_id[k].id;
    sti_joint_id *known = &c->joint_id[c->joints % STI_JOINT_IDS];
    uint64_t *part = realloc(known->part, n * sizeof *part);
    if (!part)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        part[k] = parts[k].id;
    *known = (sti_joint_id){
        .id = STRADS_POLICY_BLOCK_IDS + c->run->schedulers * STI_RANGE_IDS +
              c->joints++,
        .n = n,
        .part = part,
    };
    return known->id;
}

/* ---- the plan ---------------------------------------------------------- */

/* The parts in the order of schedulers, so of parameters; drops them. */
static strads_err gather_parts(sti_coordinator *c, strads_block **parts)
{
    sti_joint *joint = &c->joint;
    strads_block *list = malloc(joint->n_parts * sizeof *list);
    uint32_t n = 0;
    for (uint32_t s = 0; list && s < c->run->schedulers; s++)
        if (joint->part[s])
            list[n++] = *joint->part[s];
    strads_err err = list ? sti_blocks_copy(n, list, parts) : STRADS_ENOMEM;
    free(list);
    sti_coord_join_drop(c);
    return err;
}

static strads_err make_block(sti_coordinator *c, const strads_block *parts,
                             strads_block **out)
{
    const sti_joint *joint = &c->joint;
    uint32_t *param = malloc(joint->n * sizeof *param);
    uint32_t n = 0;
    for (uint32_t k = 0; param && k < joint->n_parts; k++)
        for (uint32_t l = 0; l < parts[k].n; l++)
            param[n++] = strads_block_param(&parts[k], l);
    const strads_block block = {
        .id = param ? id_of(c, joint->n_parts, parts) : 0,
        .n = n,
        .param = param,
    };
    strads_err err = block.id ? sti_blocks_copy(1, &block, out) : STRADS_ENOMEM;
    free(param);
    return err;
}

bool sti_coord_join_ends(sti_coordinator *c, strads_block **blocks,
                         strads_block **parts, uint32_t *n_parts)
{
    *parts = NULL;
    *n_parts = 0;
    c->joint.open = false;
    if (c->joint.n_parts == 1) {
        for (uint32_t s = 0; s < c->run->schedulers; s++)
            if (c->joint.part[s])
                *blocks = c->joint.part[s];
        memset(c->joint.part, 0, c->run->schedulers * sizeof *c->joint.part);
        return true;
    }
    strads_block *list = NULL;
    if (gather_parts(c, &list) || make_block(c, list, blocks)) {
        free(list);
        return false;
    }
    *parts = list;
    *n_parts = c->joint.n_parts;
    return true;
}

void sti_coord_join_drop(sti_coordinator *c)
{
    for (uint32_t s = 0; c->joint.part && s < c->run->schedulers; s++) {
        free(c->joint.part[s]);
        c->joint.part[s] = NULL;
    }
}
