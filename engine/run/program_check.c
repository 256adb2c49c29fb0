/* Whether a program's table can be run at all: said before anything of a run is
 * made, in one sentence. */
#include "engine/run/program_check.h"

/* A value that is none of its kind comes from a struct that was not zeroed, or
 * from newer headers. */
static bool knows_kinds(const strads_phase *phase)
{
    return (uint32_t)phase->to <= STRADS_TO_NOBODY &&
           (uint32_t)phase->merge <= STRADS_MERGE_OWN &&
           (uint32_t)phase->result <= STRADS_RESULT_WORKERS &&
           (uint32_t)phase->when <= STRADS_WHEN_CALLED;
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
    else if (held && (phase->when == STRADS_WHEN_START ||
                      phase->when == STRADS_WHEN_REST))
        why = "a START or REST phase has no change of its own to commit, so it "
              "goes to ALL or to NOBODY";
    else if (phase->flows && phase->to != STRADS_TO_RING)
        why = "only a RING phase flows";
    else if (phase->still &&
             (phase->when != STRADS_WHEN_CALLED || !phase->blind))
        why = "only a phase that is CALLED and blind is still";
    else if (phase->receive && phase->result != STRADS_RESULT_WORKERS)
        why = "a phase has a receive, but its result does not go to workers";
    if (why)
        return strads_fail(STRADS_EINVAL, "program %s: %s (%s)", program->name,
                           why, phase->name ? phase->name : "?");
    return STRADS_OK;
}

static strads_err check_phases(const strads_program *program)
{
    uint32_t probes = 0;
    if (program->n_phases && !program->phases)
        return strads_fail(STRADS_EINVAL, "program %s has %u phases at NULL",
                           program->name, program->n_phases);
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
    return STRADS_OK;
}

strads_err sti_program_check(const strads_program *program)
{
    if (program->size != sizeof *program || !program->name)
        return strads_fail(STRADS_EINVAL,
                           "a program table of %zu bytes, expected %zu: build "
                           "it against the headers of this library",
                           program->size, sizeof *program);
    if (program->run)
        return program->n_phases || program->update || program->schedule
                   ? strads_fail(STRADS_EINVAL,
                                 "program %s has both run and phases: leave "
                                 "one of them out",
                                 program->name)
                   : STRADS_OK;
    if (!program->n_phases && !program->update)
        return strads_fail(STRADS_EINVAL, "program %s has no update",
                           program->name);
    if (program->n_phases &&
        (program->update || program->partial || program->aggregate))
        return strads_fail(STRADS_EINVAL,
                           "program %s has both phases and an update, partial "
                           "or aggregate of its own: leave one of them out",
                           program->name);
    if (program->winds_up && !program->schedule)
        return strads_fail(STRADS_EINVAL,
                           "program %s winds up, but has no schedule that "
                           "could: leave winds_up out",
                           program->name);
    return check_phases(program);
}
