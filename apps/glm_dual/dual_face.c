/* The last digits where losses have kinks and columns are many: conjugate
 * gradients in the b that are between their bounds.
 *
 * On that face D is a quadratic, and rises by r_i = target_i - z_i -+ e in b_i.
 * With s = X_J'r, over the face's rows J, a step goes along p and v = X_J'p:
 *
 *     beta = max(0, r'(r - r before)) / (r'r before)
 *     p = r + beta p                  v = s + beta v
 *     alpha = r'p / v'v               b += alpha p       w += alpha v
 *
 * (Hestenes and Stiefel, 1952; this beta is Polak's and Ribiere's, 1969). A row
 * that would leave its bounds stops there and is out of the face: w and v have
 * of it what they should not,
 *
 *     owed = sum (b - b unbounded) x,   gone = - sum p x
 *
 * and steps go on with w + owed and v + gone.
 *
 * Where there is one pool and a face has few entries, its first partition goes
 * all of these steps for all in one round: dual_face_rows.c. Otherwise a step is
 * a round: partitions give s and the products, the coordinator moves w, and
 * partitions move their b when they hear of alpha and beta, which is at the
 * next step; so r is of w without what is owed, and r'p - v'owed makes up for
 * it.
 *
 * That J is the right one is left to passes: they come before, until next to no
 * row comes to a bound or leaves it, and after, when a scan has woken who is
 * wrong at a bound. More and Toraldo, SIAM J. Optimization 1, 1991, go from
 * face to face so. */
#include <stdlib.h>

#include "dual_face.h"
#include "dual_newton.h"

/* Steps of one face; passes after a scan before the next, and twice as many
 * each time when the last one has not halved the gap. */
enum { STEPS_MAX = 100, PASSES = 3, PATIENCE_MAX = 96 };

/* A pass has settled when it leaves so much of the gap, and when so small a
 * share of rows between bounds has come or gone. */
#define SLOW .75
#define CROSSED .0008

/* Steps end when r'r is this share of what it was. */
#define SMALL 1e-6

/* ---- when -------------------------------------------------------------- */

bool dual_is_settled(const dual_pool *pool)
{
    return pool->since >= PASSES && pool->falls > SLOW &&
           pool->crossed <= CROSSED * pool->inside;
}

static bool suits(const dual_state *state)
{
    return state->columns >= DUAL_NEWTON_COLUMNS &&
           !dual_loss_is_smooth(state->problem.loss);
}

void dual_judge_face(dual_state *state)
{
    bool settled = suits(state) && !state->scan_due;

    for (uint32_t g = 0; g < state->pools; g++)
        settled = settled && state->pool[g].settled &&
                  state->pool[g].since >= state->patience;
    if (!settled)
        return;
    state->patience = state->gap < .5 * state->faced   ? PASSES
                      : state->patience < PATIENCE_MAX ? 2 * state->patience
                                                       : PATIENCE_MAX;
    state->faced = state->gap;
    state->step = DUAL_FACE;
}

/* ---- the way ----------------------------------------------------------- */

strads_err dual_heading_begin(dual_heading *heading, uint64_t columns)
{
    heading->steps = 0;
    if (!heading->v)
        heading->v = malloc((columns + 1) * sizeof(double));
    return heading->v ? STRADS_OK
                      : strads_fail(STRADS_ENOMEM, "no memory for %llu columns",
                                    (unsigned long long)columns);
}

/* The next heading. False: D does not rise along it, or does not bend. */
static bool head(dual_heading *heading, uint64_t columns,
                 const dual_face_step *found, double beta)
{
    const column_kernels *kernels = column_kernels_choose(columns);
    const double *sums = found->sums;
    const uint64_t n = columns + 1;
    double *v = heading->v;
    double along = sums[FACE_SQUARE] + beta * sums[FACE_ALONG];

    for (uint64_t j = 0; j < n && beta > 0 && found->gone; j++)
        v[j] += found->gone[j];
    for (uint64_t j = 0; j < n; j++)
        v[j] = found->rise[j] + (beta > 0 ? beta * v[j] : 0);
    const double bend = kernels->dot_dense(n, v, v);
    if (found->owed)
        along -= kernels->dot_dense(n, v, found->owed);
    heading->alpha = along / bend;
    heading->beta = beta;
    return bend > 1e-14 * sums[FACE_SQUARE] && along > 0;
}

/* How much of the last p is kept. */
static double beta_of(const dual_heading *heading, const double *sums)
{
    const double more = sums[FACE_SQUARE] - sums[FACE_BEFORE];

    return heading->steps > 1 && more > 0 ? more / heading->square : 0;
}

bool dual_heading_next(dual_heading *heading, uint64_t columns,
                       const dual_face_step *found, double enough)
{
    const double square = found->sums[FACE_SQUARE];

    if (++heading->steps == 1)
        heading->first = square;
    const double beta = beta_of(heading, found->sums);
    heading->square = square;
    return heading->steps <= STEPS_MAX && found->sums[FACE_GAP] > enough &&
           square > SMALL * heading->first &&
           (head(heading, columns, found, beta) ||
            head(heading, columns, found, 0));
}

/* ---- a step a round ---------------------------------------------------- */

/* What partitions are told of a step; a stride of 0: steps begin anew. */
static void tell_step(strads_commit *commit, double stride, double turn)
{
    commit->total_change[DUAL_STRIDE] = stride - commit->total[DUAL_STRIDE];
    commit->total_change[DUAL_TURN] = turn - commit->total[DUAL_TURN];
}

static void end_face(dual_state *state)
{
    state->step = DUAL_ASCEND;
    state->scan_due = true;
}

static strads_err aggregate_step(strads_commit *commit)
{
    dual_state *state = commit->state;
    const size_t n = state->columns + 1;
    const dual_face_step found = {.rise = commit->partial + FACE_RISE * n,
                                  .owed = commit->partial + FACE_OWED * n,
                                  .gone = commit->partial + FACE_GONE * n,
                                  .sums = commit->partial + FACE_VECTORS * n};
    dual_heading *heading = &state->heading;
    strads_err err = STRADS_OK;

    if (!(commit->total[DUAL_STRIDE] > 0))
        err = dual_heading_begin(heading, state->columns);
    if (err)
        return err;
    for (uint64_t j = 0; j < n && found.sums[FACE_HITS] > 0; j++)
        commit->change[dual_place(state, j)] = found.owed[j];
    tell_step(commit, 0, 0);
    strads_commit_moved(commit, (uint64_t)found.sums[FACE_MOVED]);
    if (dual_heading_next(heading, state->columns, &found, state->enough)) {
        for (uint64_t j = 0; j < n; j++)
            commit->change[dual_place(state, j)] +=
                heading->alpha * heading->v[j];
        tell_step(commit, heading->alpha, heading->beta);
    } else {
        end_face(state);
    }
    dual_take_intercept(commit);
    return STRADS_OK;
}

strads_err dual_aggregate_face(strads_commit *commit)
{
    dual_state *state = commit->state;

    if (commit->block.n > 0)
        return aggregate_step(commit);
    strads_commit_moved(commit, (uint64_t)commit->partial[FACE_MOVED]);
    state->moved = true;
    state->joined = false;
    end_face(state);
    return STRADS_OK;
}
