/* Which options mean something to a program: by its phases, its data and what
 * its model is. One table of rules, read by --help and by the command line. */
#include <string.h>

#include "cli_options.h"

static bool has_ring(const strads_program *program)
{
    bool ring = false;
    for (uint32_t k = 0; k < program->n_phases; k++) {
        ring = ring || program->phases[k].to == STRADS_TO_RING;
    }
    return ring;
}

/* A ring goes by its plan, unless there are blocks for a policy beside it. */
static bool has_policy(const strads_program *program)
{
    bool policy = !has_ring(program);
    for (uint32_t k = 0; k < program->n_phases; k++) {
        policy = policy || program->phases[k].when == STRADS_WHEN_POLICY;
    }
    return policy;
}

static bool has_pools(const strads_program *program)
{
    return program->pooled;
}

static bool has_loop(const strads_program *program)
{
    return program->run != NULL;
}

static bool has_samples(const strads_program *program)
{
    return program->kind == STRADS_KIND_SAMPLES;
}

static bool is_all_values(const strads_program *program)
{
    return program->payload == NULL;
}

static const struct rule {
    const char *name;
    bool (*suits)(const strads_program *program);
    /* Why it is refused; NULL: it is not, for `instead` may choose a program
     * that it does mean something to. */
    const char *reason;
} rules[] = {
    {"plan", has_ring, "it has no RING phase that a plan could be for"},
    {"versions", has_ring, "it has no blocks that travel"},
    {"policy", has_policy, "its blocks go by a plan"},
    {"schedulers", has_policy, "its blocks go by a plan"},
    {"threshold", has_policy, "its blocks go by a plan"},
    {"pools", has_pools, NULL},
    {"shards", has_loop, "only the tables of a loop are kept in parts"},
    {"f32", has_samples, "it takes the values of its data as they are"},
    {"labels", has_samples, "its data have no labels"},
    {"start", is_all_values, "its model is more than values"},
};

static const struct rule *broken_rule(const strads_program *program,
                                      const char *name)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        if (strcmp(rules[k].name, name) == 0) {
            return rules[k].suits(program) ? NULL : &rules[k];
        }
    }
    return NULL;
}

bool cli_option_suits(const strads_program *program, const char *name)
{
    return broken_rule(program, name) == NULL;
}

strads_err cli_option_refuse(const strads_program *program, const char *name)
{
    const struct rule *rule = broken_rule(program, name);
    if (!rule || !rule->reason) {
        return STRADS_OK;
    }
    return strads_fail(STRADS_EINVAL,
                       "--%s: program %s has no use for it: %s; leave it out",
                       name, program->name, rule->reason);
}
