/* Losses with a kink: fits minimise a smoothed loss with a centre for each row
 * (glm_smoothing). Workers and the coordinator hold the same centres and width:
 * they begin with the same values, and the phase `recentre` changes them alike.
 * Certificates are those of the true loss. */
#include <math.h>

#include "glm_parts.h"

/* The first width, as a share of the labels' deviation; each phase halves it,
 * down to this share of the first. */
#define FIRST_WIDTH .25
#define WIDTH_MIN 1e-3
/* The smoothed problem is solved when its gap is below this share of the true
 * one. */
#define SOLVED .1
/* Phases for one lambda. */
enum { RECENTRES_MAX = 400 };

double glm_first_width(double squares, double mean, double largest)
{
    const double rest = squares - mean * mean;
    const double size = rest > 1e-12 * squares ? sqrt(rest) : largest;

    return FIRST_WIDTH * (size > 0 ? size : 1);
}

void glm_smoothing_begin(const glm_problem *problem, uint64_t rows,
                         double width, glm_smoothing *s)
{
    s->width = s->first = width;
    for (uint64_t i = 0; i < rows && s->centre; i++)
        s->centre[i] = problem->p - .5;
}

/* room[rows] is overwritten. */
static void take_centres(const glm_problem *problem, const glm_rows *rows,
                         double *room, glm_smoothing *s)
{
    (void)problem->loss->smooth(rows, s, problem->p, room, NULL);
    for (uint64_t i = 0; i < rows->n; i++)
        if (rows->c[i] > 0)
            s->centre[i] = room[i] / rows->c[i];
    s->width = fmax(s->width / 2, WIDTH_MIN * s->first);
}

strads_err glm_update_recentre(strads_task *task)
{
    glm_local *local = task->local;
    const glm_rows rows = {local->rows, local->y, local->c, local->z};

    glm_catch_up(local);
    take_centres(&local->problem, &rows, local->r, &local->smoothing);
    return STRADS_OK;
}

strads_err glm_aggregate_recentre(strads_commit *commit)
{
    glm_state *state = commit->state;
    linear_set *set = &state->set;
    const glm_rows rows = {set->n_rows, set->y, set->c, set->z};

    take_centres(&state->problem, &rows, set->trial, &state->smoothing);
    set->looked = false; /* the next model is another one */
    state->watch = (linear_watch){.least = INFINITY};
    state->recentres = false;
    state->recentred++;
    state->next = GLM_TO_SCAN;
    return STRADS_OK;
}

double glm_smoothing_term(const glm_state *state, const double *r, double s)
{
    const linear_set *set = &state->set;
    double sum = 0;

    for (uint64_t i = 0; i < set->n_rows; i++)
        if (set->c[i] > 0) {
            const double off =
                s * r[i] / set->c[i] - state->smoothing.centre[i];
            sum += set->c[i] * off * off;
        }
    return state->smoothing.width / 2 * sum;
}

void glm_judge_smoothed(glm_state *state, double excess, double least)
{
    const bool stalled = state->watch.stalled;

    state->recentres = state->excess > least &&
                       (excess <= SOLVED * state->excess || stalled) &&
                       state->recentred < RECENTRES_MAX;
    state->watch.stalled = stalled && !state->recentres;
    state->excess = excess;
}
