/* Checks whether a program's table can be run, before any part of a run is
 * made. */
#include "engine/run/program_check.h"

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/sized.h"

/* A value outside the enums comes from a struct that was not zeroed, or from
 * newer headers. */
static bool knows_kinds(const strads_phase *phase)
{
    return (uint32_t)phase->to <= STRADS_TO_NOBODY &&
           (phase->merge == STRADS_MERGE_SUM ||
            phase->merge == STRADS_MERGE_CONCAT ||
            phase->merge == STRADS_MERGE_OWN) &&
           (phase->result == STRADS_RESULT_COORDINATOR ||
            phase->result == STRADS_RESULT_WORKERS) &&
           (phase->when == STRADS_WHEN_POLICY ||
            phase->when == STRADS_WHEN_REST ||
            phase->when == STRADS_WHEN_PROBE ||
            phase->when == STRADS_WHEN_CALLED);
}

static strads_err check_phase(const strads_program *program,
                              const strads_phase *phase)
{
    const char *why = NULL;
    bool held = phase->to == STRADS_TO_OWNER || phase->to == STRADS_TO_RING;
    if (!phase->name)
        why = "a phase has no name";
    else if (!knows_kinds(phase))
        why = "a phase has an unknown to, merge, result or when";
    else if (!phase->update && phase->to != STRADS_TO_NOBODY)
        why = "a phase has no update";
    else if (!phase->aggregate && phase->to == STRADS_TO_NOBODY)
        why = "a phase to NOBODY has no aggregate";
    else if (phase->merge == STRADS_MERGE_OWN && !phase->merge_with)
        why = "a phase with STRADS_MERGE_OWN has no merge_with";
    else if (phase->merge == STRADS_MERGE_CONCAT && phase->to == STRADS_TO_RING)
        why = "a RING phase cannot concatenate";
    else if (phase->when == STRADS_WHEN_PROBE && phase->to != STRADS_TO_ALL)
        why = "a PROBE phase goes to ALL";
    else if (held && phase->when == STRADS_WHEN_REST)
        why = "a REST phase reads all parameters, so it goes to ALL or to "
              "NOBODY";
    else if (phase->keeps_values &&
             (phase->when != STRADS_WHEN_CALLED || !phase->ignores_values))
        why = "only a phase that is CALLED and ignores values "
              "(.ignores_values) can keep them (.keeps_values)";
    else if (phase->receive && phase->result != STRADS_RESULT_WORKERS)
        why = "a phase has a receive, but its result does not go to workers";
    if (why)
        return strads_fail(STRADS_EINVAL, "program %s: %s (%s)", program->name,
                           why, phase->name ? phase->name : "?");
    return STRADS_OK;
}

/* Whether the engine dispatches any phase of the program by itself. */
static bool dispatches(const strads_program *program)
{
    bool any = program->schedule || program->n_phases == 0;
    for (uint32_t k = 0; k < program->n_phases; k++)
        any = any || (program->phases[k].when != STRADS_WHEN_CALLED &&
                      program->phases[k].when != STRADS_WHEN_PROBE);
    return any;
}

static strads_err check_phases(const strads_program *program)
{
    uint32_t probes = 0;
    for (uint32_t k = 0; k < program->n_phases; k++) {
        strads_err err = check_phase(program, &program->phases[k]);
        if (err)
            return err;
        probes += program->phases[k].when == STRADS_WHEN_PROBE;
    }
    if (probes && program->owned)
        return strads_fail(STRADS_EINVAL,
                           "program %s has owned parameters and a PROBE phase: "
                           "policies compare no parameters of several owners",
                           program->name);
    if (probes > 1)
        return strads_fail(STRADS_EINVAL,
                           "program %s has %u PROBE phases, expected one",
                           program->name, probes);
    if (!dispatches(program))
        return strads_fail(STRADS_EINVAL,
                           "program %s has phases that only a schedule calls, "
                           "but no schedule: add one, or give a phase "
                           "another `when`",
                           program->name);
    return STRADS_OK;
}

/* ---- the table ---------------------------------------------------------- */

static size_t field_size(strads_option_kind kind)
{
    switch (kind) {
    case STRADS_OPTION_F64:
    case STRADS_OPTION_U64:
    case STRADS_OPTION_BYTES:
        return 8;
    case STRADS_OPTION_U32:
        return 4;
    case STRADS_OPTION_BOOL:
        return sizeof(bool);
    case STRADS_OPTION_STRING:
        return sizeof(char *);
    }
    return SIZE_MAX / 2; /* unknown kind: never fits */
}

static strads_err check_option_table(const strads_program *program)
{
    for (const strads_option *o = program->options; o && o->name; o++)
        if (o->offset + field_size(o->kind) > program->config_size)
            return strads_fail(STRADS_EINVAL,
                               "option %s of program %s lies outside its "
                               "config_size of %zu bytes: set config_size to "
                               "sizeof of the options' struct",
                               o->name, program->name, program->config_size);
    return STRADS_OK;
}

static bool has_ring_phase(const strads_program *program)
{
    bool ring = false;
    for (uint32_t k = 0; k < program->n_phases; k++)
        ring = ring || program->phases[k].to == STRADS_TO_RING;
    return ring;
}

static bool has_phase_when(const strads_program *program, strads_when when)
{
    bool has =
        !program->n_phases && !program->run && when == STRADS_WHEN_POLICY;
    for (uint32_t k = 0; k < program->n_phases; k++)
        has = has || program->phases[k].when == when;
    return has;
}

const char *sti_program_excludes(const strads_program *program,
                                 const char *option)
{
    const bool ring = has_ring_phase(program);
    const bool policy = has_phase_when(program, STRADS_WHEN_POLICY);
    const bool probe = has_phase_when(program, STRADS_WHEN_PROBE);
    const char *chooses = ring ? "its blocks go by a plan"
                               : "it has no POLICY phase: its schedule names "
                                 "the phases and blocks of all rounds";

    if (strcmp(option, "plan") == 0)
        return ring ? NULL : "it has no RING phase, so it takes no plan";
    if (strcmp(option, "policy") == 0 || strcmp(option, "schedulers") == 0)
        return policy ? NULL : chooses;
    if (strcmp(option, "threshold") == 0 && policy && !probe)
        return "it has no PROBE phase, which finds dependencies";
    if (strcmp(option, "threshold") == 0)
        return policy ? NULL : chooses;
    if (strcmp(option, "depth") == 0 && program->no_policy)
        return "its schedule waits for each round";
    if (strcmp(option, "depth") == 0)
        return policy || !ring ? NULL : chooses;
    if (strcmp(option, "blocks") == 0)
        return policy || ring ? NULL : chooses;
    return NULL;
}

/* If the policy chooses a phase's blocks, the phase has to change them. */
static strads_err check_policy_phases(const strads_program *program)
{
    for (uint32_t k = 0; k < program->n_phases; k++) {
        const strads_phase *phase = &program->phases[k];
        if (phase->when == STRADS_WHEN_POLICY && phase->to == STRADS_TO_ALL &&
            !phase->aggregate)
            return strads_fail(STRADS_EINVAL,
                               "program %s: a POLICY phase has no aggregate "
                               "that would change a parameter: add aggregate, "
                               "which fills commit->change (%s)",
                               program->name, phase->name);
    }
    return STRADS_OK;
}

/* A contradiction between the slots, or NULL. */
static const char *contradiction(const strads_program *p)
{
    const bool simple = p->update || p->partial || p->aggregate;
    if (p->run && (p->n_phases || simple || p->schedule || p->objective ||
                   p->refresh || p->payload))
        return "has both run and phases, or slots of programs of rounds: a "
               "loop reads its tables and reports by strads_loop_report; leave "
               "either run or the others out";
    if (!p->pack != !p->unpack)
        return "has one of pack and unpack: give both or none";
    if (!p->pack_state != !p->unpack_state)
        return "has one of pack_state and unpack_state: give both or none";
    if (p->run)
        return NULL;
    if (p->n_phases && simple)
        return "has both phases and an update, partial or aggregate of its "
               "own: leave one of them out";
    if (p->n_phases && !p->phases)
        return "has n_phases, but phases is NULL: give both or none";
    if (!p->n_phases && !p->update)
        return "has no update: give update and aggregate, or phases, or run";
    if (!p->n_phases && !p->aggregate)
        return "has an update, but no aggregate that would change a "
               "parameter: add aggregate, which fills commit->change";
    if (p->no_policy && !p->schedule)
        return "has no_policy, but no schedule to choose instead: leave "
               "no_policy out";
    if (p->finalises && !p->schedule)
        return "finalises, but has no schedule to do it: leave finalises out";
    if (p->pooled && !p->owned)
        return "is pooled, but owns no parameters that a pool could share: add "
               "owned, or leave pooled out";
    if (p->payload && !has_ring_phase(p))
        return "has a payload, but no RING phase that it could travel in: "
               "leave payload out";
    return NULL;
}

strads_err sti_program_take(const strads_program *program, strads_program *out)
{
    strads_err err =
        sti_sized_copy(out, sizeof *out, program, "a program's slots");
    if (err)
        return err;
    if (!out->name || !*out->name)
        return strads_fail(
            STRADS_EINVAL,
            "a program's table has no name: give it one, for models and logs");
    const char *why = contradiction(out);
    if (why)
        return strads_fail(STRADS_EINVAL, "program %s %s", out->name, why);
    err = check_option_table(out);
    if (!err)
        err = check_phases(out);
    return err ? err : check_policy_phases(out);
}
