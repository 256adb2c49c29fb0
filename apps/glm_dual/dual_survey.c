/* The first phase of each problem: which labels there are, how many rows of
 * each, and what becomes of them. */
#include <string.h>

#include "dual.h"

size_t dual_partial_survey(const strads_task *task)
{
    (void)task;
    return sizeof(dual_survey);
}

void dual_merge_survey(void *into, const void *from, size_t bytes)
{
    dual_survey *all = into;
    const dual_survey *other = from;

    linear_survey_merge(&all->labels, &other->labels, bytes);
    dual_level_merge(all, other);
}

strads_err dual_update_survey(strads_task *task)
{
    dual_local *local = task->local;
    dual_survey *survey = (dual_survey *)(void *)task->partial;

    dual_open_problem(local, task);
    for (uint64_t i = 0; i < local->rows; i++)
        linear_survey_add(&survey->labels, task->share->label[i],
                          local->weight[i]);
    dual_level_survey(local, task->share, survey);
    return STRADS_OK;
}

/* The classes; and C, where the sum of all weights tells it. */
static strads_err classes_of(dual_problem *problem, const strads_names *names,
                             const linear_survey *survey, linear_classes *out)
{
    strads_svm_options *options = &problem->options;
    const linear_class_options given = {.names = names,
                                        .classes = options->classes,
                                        .class_weight = options->class_weight,
                                        .weights = options->weights};
    strads_err err;

    *out = (linear_classes){.weight = {1, 1}};
    if (!dual_loss_classifies(problem->loss))
        return STRADS_OK;
    err = linear_classes_of(&given, survey, out);
    if (!err && problem->lambda > 0)
        options->c = 1 / (problem->lambda * out->total);
    return err;
}

static bool has_start(const strads_commit *commit)
{
    const dual_state *state = commit->state;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const size_t at = dual_place(state, k);
        if (commit->value[at] + commit->change[at] != 0)
            return true;
    }
    return false;
}

strads_err dual_aggregate_survey(strads_commit *commit)
{
    dual_state *state = commit->state;
    const dual_survey *survey =
        (const dual_survey *)(const void *)commit->partial;
    const bool classifies = dual_loss_classifies(state->problem.loss);
    const strads_names *names = strads_data_label_names(state->data);
    strads_err err =
        classes_of(&state->problem, names, &survey->labels, &state->classes);

    if (!err && classifies &&
        linear_classes_width(state->classes.n) != state->width)
        err = linear_classes_unnamed(&state->classes);
    if (!err)
        err = dual_begin_first_passes(commit);
    if (err)
        return err;
    state->surveyed = true;
    state->bias = dual_level_bias(&state->problem, survey, state->columns);
    dual_level_begin(commit, survey);
    dual_newton_begin(commit);
    state->safety = state->partitions;
    dual_set_safety(commit);
    commit->total_change[DUAL_STEEP] = -commit->total[DUAL_STEEP];
    commit->total_change[DUAL_ENOUGH] = -commit->total[DUAL_ENOUGH];
    /* A join comes between the samples and their use. */
    state->moved = state->spread = true;
    state->seed_due = has_start(commit);
    if (!classifies)
        return STRADS_OK;
    linear_classes_write(&state->classes, names, state->classes_text);
    state->problem.options.classes = state->classes_text;
    if (state->target == 0)
        dual_note_first_values(state);
    return STRADS_OK;
}

/* Labels and weights become samples, none of which rests. */
static void take_samples(dual_local *local, const strads_share *share,
                         const linear_classes *classes)
{
    const dual_loss_kind kind = local->problem.loss;
    const double c = local->problem.options.c;
    const bool classifies = dual_loss_classifies(kind);
    const double positive =
        classes->label[linear_classes_positive(classes, local->target)];

    memset(local->awake, 0xff, local->groups * sizeof(*local->awake));
    memset(local->resting, 0, local->groups * sizeof(*local->resting));
    for (uint64_t i = 0; i < local->rows; i++) {
        const double label = share->label[i];
        const double square = local->sample[i].square;
        double target = label, weight = local->weight[i];
        if (classifies) {
            target = label == positive ? 1 : -1;
            weight *= linear_classes_weight(classes, label);
        }
        local->sample[i] = dual_sample_of(kind, target, c * weight);
        local->sample[i].square = square;
    }
}

strads_err dual_receive_survey(strads_task *task)
{
    dual_local *local = task->local;
    const dual_survey *survey =
        (const dual_survey *)(const void *)task->partial;
    linear_classes classes;
    const strads_err err = classes_of(&local->problem, task->share->label_names,
                                      &survey->labels, &classes);

    if (err)
        return err;
    dual_set_bias(local,
                  dual_level_bias(&local->problem, survey, local->columns));
    local->classes = classes;
    take_samples(local, task->share, &classes);
    return STRADS_OK;
}
