/* What a run tells: progress after each sweep, and its result. */
#include <math.h>
#include <string.h>

#include "mf_parts.h"

const char *const mf_measures[] = {"sweep",
                                   "seconds",
                                   "cpu_seconds",
                                   "train_rmse",
                                   "validation_rmse",
                                   "test_rmse",
                                   "ratings_per_second",
                                   "step",
                                   "preparation_cpu_seconds",
                                   NULL};

/* Implicit feedback has no ratings to miss. */
static double train_rmse(const mf_state *s)
{
    return s->options.implicit ? NAN : s->scale.sd * sqrt(s->course.train);
}

strads_err mf_objective(void *state, strads_report *report)
{
    const mf_state *s = state;
    const mf_course *c = &s->course;
    const bool descends = c->descends;
    const double figure[] = {
        c->done,
        s->seconds,
        s->cpu_seconds,
        c->exploded ? NAN : train_rmse(s),
        c->exploded ? NAN : s->scale.sd * sqrt(c->held),
        c->exploded ? NAN : s->test_rmse,
        s->scale.n / s->sweep_seconds,
        descends ? NAN : mf_course_step(c),
        s->preparation,
    };

    memcpy(report->measure, figure, sizeof(figure));
    report->objective = descends ? s->objective : figure[3];
    report->gap = NAN;
    return STRADS_OK;
}

const float *strads_mf_users(const void *state)
{
    const mf_state *s = state;

    return s->users_home == s->users ? s->user : NULL;
}

double strads_mf_mean(const void *state)
{
    return ((const mf_state *)state)->scale.mean;
}

double strads_mf_penalty(const void *state)
{
    const mf_state *s = state;

    return s->scale.sd * s->course.lambda;
}

const strads_mf_options *strads_mf_resolved(const void *state)
{
    return &((const mf_state *)state)->options;
}

uint32_t strads_mf_undone(const void *state)
{
    return ((const mf_state *)state)->course.undone;
}

void strads_mf_errors(const void *state, double *train, double *validation,
                      double *test)
{
    const mf_state *s = state;

    *train = train_rmse(s);
    *validation = s->scale.sd * sqrt(s->course.held);
    *test = s->test_rmse;
}
