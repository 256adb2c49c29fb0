/* Every loss and every penalty of the glm program's tables against what defines
 * them: differences, Fenchel's inequality, and search by hand. */
#include <criterion/criterion.h>
#include <math.h>

#include "apps/glm/glm_loss.h"
#include "apps/glm/glm_penalty.h"

#define LOSS_ROW(word, name) {word, &glm_loss_##name},
#define PENALTY_ROW(word, name) {word, &glm_penalty_##name},

static const struct {
    const char *word;
    const glm_loss *loss;
} losses[] = {GLM_LOSSES(LOSS_ROW)};
static const struct {
    const char *word;
    const glm_penalty *penalty;
} penalties[] = {GLM_PENALTIES(PENALTY_ROW)};

enum { LOSSES = sizeof(losses) / sizeof(losses[0]) };
enum { PENALTIES = sizeof(penalties) / sizeof(penalties[0]) };

/* ---- losses -------------------------------------------------------------- */

/* Labels of each kind. */
static const struct {
    double y[6];
    size_t n;
} labels[] = {[GLM_NUMBERS] = {{-3, -.5, 0, .25, 2, 40}, 6},
              [GLM_COUNTS] = {{0, .01, 1, 7}, 4},
              [GLM_POSITIVE] = {{.01, 1, 7}, 3},
              [GLM_CLASSES] = {{-1, 1}, 2}};

/* Runs `evaluate` on one row of weight 2. */
static double evaluate(const glm_loss *loss, double y, double z, double *r,
                       double *h)
{
    const double c = 2;
    const glm_rows row = {1, &y, &c, &z};

    return loss->evaluate(&row, loss->usual, r, h);
}

static void check_slopes(const char *word, const glm_loss *loss, double y,
                         double z)
{
    const double p = loss->usual, d = 1e-4;
    const double here = loss->value(y, z, p), size = 1 + fabs(here);
    const double up = loss->value(y, z + d, p), down = loss->value(y, z - d, p);
    double r, h;

    cr_expect_float_eq(evaluate(loss, y, z, &r, &h), 2 * here, 1e-12 * size);
    cr_expect_float_eq(-r / 2, (up - down) / (2 * d), 1e-5 * size,
                       "%s f'(%g, %g)", word, y, z);
    /* A model must not be flatter than the loss, but for its jumps. */
    cr_expect_geq(h / 2, (up - 2 * here + down) / (d * d) - 1e-3 * size,
                  "%s f''(%g, %g)", word, y, z);
    cr_expect(!loss->constant || h == 2);
    cr_expect_geq(here, -1e-14 * size, "%s is below 0", word);
}

static void check_conjugate(const char *word, const glm_loss *loss, double y,
                            double z)
{
    const double p = loss->usual, here = loss->value(y, z, p);
    double r;

    (void)evaluate(loss, y, z, &r, NULL);
    const double u = -r / 2, at = loss->conjugate(y, u, p);
    cr_expect_float_eq(at, u * z - here, 1e-10 * (1 + fabs(here) + fabs(u * z)),
                       "%s f*(%g, %g) is %g, not %g", word, y, u, at,
                       u * z - here);
    for (double v = -6; v <= 6; v += .125)
        cr_expect_geq(here + loss->conjugate(y, v, p), v * z - 1e-10,
                      "%s at y %g, z %g, u %g", word, y, z, v);
    cr_expect_float_eq(loss->conjugate(y, 0, p), 0, 1e-14, "%s f*(%g, 0)", word,
                       y);
}

/* What is predicted is the label, or the mean of both, at which the margin at
 * hand is best. Of a loss without probabilities it is the nearer class. */
static void check_mean(const char *word, const glm_loss *loss, double z)
{
    const double m = loss->mean(z);
    double r, other;

    if (loss->labels != GLM_CLASSES) {
        (void)evaluate(loss, m, z, &r, NULL);
        cr_expect_float_eq(r, 0, 1e-9 * (1 + fabs(m)), "%s mean at %g", word,
                           z);
        return;
    }
    (void)evaluate(loss, 1, z, &r, NULL);
    (void)evaluate(loss, -1, z, &other, NULL);
    cr_expect_float_eq(m * r + (1 - m) * other, 0, 1e-12, "%s mean at %g", word,
                       z);
}

static void check_link(const char *word, const glm_loss *loss, double z)
{
    const double m = loss->mean(z);

    if (loss->labels == GLM_CLASSES && (m <= 0 || m >= 1))
        return; /* outside the range of the link */
    cr_expect_float_eq(loss->link(m), z, 1e-9 * (1 + fabs(z)), "%s link of %g",
                       word, m);
}

/* All rows at once: no less than row by row, and the same at s = 1. */
static void check_conjugates(const char *word, const glm_loss *loss)
{
    enum { ROWS = 40 };
    double y[ROWS], c[ROWS], z[ROWS], r[ROWS], room[ROWS];
    const glm_rows rows = {ROWS, y, c, z};

    if (!loss->conjugates)
        return;
    for (int i = 0; i < ROWS; i++) {
        y[i] = i % 3 ? 1 : -1;
        c[i] = i % 5 ? 1 + .1 * i : 0;
        z[i] = -6 + .31 * i;
    }
    (void)loss->evaluate(&rows, loss->usual, r, NULL);
    for (double s = 0; s <= 1; s += .125) {
        double sum = 0;
        for (int i = 0; i < ROWS; i++)
            sum += c[i] > 0 ? c[i] * loss->conjugate(y[i], -s * r[i] / c[i],
                                                     loss->usual)
                            : 0;
        const double all = loss->conjugates(&rows, s, room);
        cr_expect_geq(all, sum - 1e-9, "%s at %g: %g below %g", word, s, all,
                      sum);
        if (s == 1)
            cr_expect_float_eq(all, sum, 1e-9, "%s: %g, not %g", word, all,
                               sum);
    }
}

/* A margin that has overflowed must not look like a row that is fitted. */
Test(glm_tables, losses_of_nan_are_nan)
{
    for (size_t k = 0; k < LOSSES; k++) {
        if (losses[k].loss->whole) /* glm_cox_test.c */
            continue;
        const glm_loss *loss = losses[k].loss;
        double r;

        cr_expect(isnan(loss->value(1, NAN, loss->usual)), "%s",
                  losses[k].word);
        cr_expect(isnan(evaluate(loss, 1, NAN, &r, NULL)), "%s",
                  losses[k].word);
    }
}

static void check_loss(const char *word, const glm_loss *loss)
{
    const double *y = labels[loss->labels].y;

    for (double z = -4.03; z < 4; z += .37) {
        for (size_t i = 0; i < labels[loss->labels].n; i++) {
            check_slopes(word, loss, y[i], z);
            check_conjugate(word, loss, y[i], z);
        }
        check_mean(word, loss, z);
        check_link(word, loss, z);
    }
    check_conjugates(word, loss);
}

Test(glm_tables, losses_have_their_slopes_conjugates_means_and_links)
{
    for (size_t k = 0; k < LOSSES; k++) {
        if (losses[k].loss->whole) /* glm_cox_test.c */
            continue;
        check_loss(losses[k].word, losses[k].loss);
        cr_expect_eq(glm_loss_find(losses[k].word), losses[k].loss);
    }
    cr_expect_null(glm_loss_find("none such"));
    cr_expect_null(glm_penalty_find("none such"));
}

Test(glm_tables, tweedie_losses_of_other_powers)
{
    static const double powers[] = {1.01, 1.2, 1.8, 1.99};

    for (size_t k = 0; k < sizeof powers / sizeof *powers; k++) {
        glm_loss loss = glm_loss_tweedie;
        loss.usual = powers[k];
        check_loss("tweedie", &loss);
    }
}

/* ---- penalties of one coefficient ---------------------------------------- */

#define TERM(...)           \
    {                       \
        __VA_ARGS__, .n = 1 \
    }

static const glm_term terms[] = {TERM(1, 0, -INFINITY, INFINITY),
                                 TERM(.7, .5, -INFINITY, INFINITY),
                                 TERM(0, 1.5, -INFINITY, INFINITY),
                                 TERM(.7, .5, 0, INFINITY),
                                 TERM(.3, 0, -.5, 1.25),
                                 TERM(0, .5, -1, 0),
                                 TERM(0, 0, -2, 2)};

enum { TERMS = sizeof(terms) / sizeof(terms[0]) };

/* a/2 w^2 - u w + pen(w). */
static double model(const glm_penalty *pen, const glm_term *t, double u,
                    double a, double w)
{
    return a / 2 * w * w - u * w + pen->value(t, &w);
}

static void check_prox(const char *word, const glm_penalty *pen,
                       const glm_term *t, double u, double a)
{
    const double step = 1. / 256;
    double w;

    pen->prox(t, &u, a, &w);
    const double found = model(pen, t, u, a, w), q = u - a * w;
    for (double v = -12; v <= 12; v += step)
        cr_expect_leq(found, model(pen, t, u, a, v) + 1e-12,
                      "%s prox of %g, %g is %g and not %g", word, u, a, w, v);
    cr_expect_leq(pen->violation(t, &w, &q), 1e-12 * (1 + fabs(u)),
                  "%s at the prox of %g, %g", word, u, a);
}

static void check_dual(const char *word, const glm_penalty *pen,
                       const glm_term *t, double q)
{
    const double s = pen->shrink(t, &q), inside = s * (1 - 1e-12) * q;
    const double dual = pen->conjugate(t, &inside), beyond = s * 1.01 * q;
    double most = 0;

    cr_expect(s >= 0 && s <= 1 && isfinite(dual), "%s shrinks %g by %g", word,
              q, s);
    for (double w = -12; w <= 12; w += 1. / 256)
        most = fmax(most, inside * w - pen->value(t, &w));
    cr_expect_geq(dual, most - 1e-9, "%s* at %g", word, inside);
    cr_expect_leq(dual, most + 1e-4, "%s* at %g", word, inside);
    cr_expect(s == 1 || isinf(pen->conjugate(t, &beyond)));
}

Test(glm_tables, penalties_have_their_steps_and_conjugates)
{
    for (size_t k = 0; k < PENALTIES; k++) {
        const char *word = penalties[k].word;
        const glm_penalty *pen = penalties[k].penalty;
        cr_expect_eq(glm_penalty_find(word), pen);
        for (size_t i = 0; i < TERMS && !pen->grouped && !pen->tangent; i++)
            for (double q = -3.1; q < 3.2; q += .31) {
                const glm_term *t = &terms[i];
                check_prox(word, pen, t, q, 1);
                check_prox(word, pen, t, q, .4);
                check_dual(word, pen, t, q);
            }
    }
}

static void check_nan(const char *word, const glm_penalty *pen,
                      const glm_term *t, double at)
{
    const double none[] = {NAN, NAN, NAN}, w[] = {at, at, at};

    cr_expect(isnan(pen->conjugate(t, none)), "%s* of NaN", word);
    cr_expect(isnan(pen->violation(t, w, none)), "%s at %g", word, at);
}

/* fmax(NaN, 0) is 0, which would be a slope that keeps a coefficient. */
Test(glm_tables, slopes_that_are_not_a_number_satisfy_no_penalty)
{
    for (size_t k = 0; k < PENALTIES; k++) {
        const glm_penalty *pen = penalties[k].penalty;
        for (size_t i = 0; i < TERMS && !pen->tangent; i++) {
            check_nan(penalties[k].word, pen, &terms[i], 0);
            check_nan(penalties[k].word, pen, &terms[i],
                      terms[i].low < 0 ? -.25 : .25);
        }
    }
}

/* ---- concave ones -------------------------------------------------------- */

/* From 0 at 0 up, never faster than l1 nor than before, in the end not at all;
 * tangents touch, and are nowhere below. */
static void check_concave(const char *word, const glm_penalty *pen,
                          const glm_term *t)
{
    const double step = 1. / 64;
    double before = INFINITY;

    for (double w = 0; w < 8; w += step) {
        const double next = w + step, here = pen->value(t, &w);
        const double rise = (pen->value(t, &next) - here) / step;
        const glm_term line = pen->tangent(t, w), back = pen->tangent(t, -w);
        cr_expect(rise >= -1e-12 && rise <= fmin(before, t->l1) + 1e-12,
                  "%s at %g rises by %g", word, w, rise);
        cr_expect_eq(line.l1, back.l1);
        for (double v = -8; v <= 8; v += step)
            cr_expect_leq(pen->value(t, &v),
                          here + line.l1 * (fabs(v) - w) + 1e-12,
                          "%s at %g, tangent at %g", word, v, w);
        before = rise;
    }
    cr_expect_eq(before, 0, "%s is not flat", word);
    cr_expect_eq(pen->tangent(t, 0).l1, t->l1);
}

Test(glm_tables, concave_penalties_are_below_their_tangents)
{
    const glm_term t[] = {{.l1 = 1, .n = 1, .unit = 1, .gamma = 3},
                          {.l1 = .7, .n = 1, .unit = .5, .gamma = 2.1}};

    for (size_t k = 0; k < PENALTIES; k++)
        for (size_t i = 0; i < 2 && penalties[k].penalty->tangent; i++)
            check_concave(penalties[k].word, penalties[k].penalty, &t[i]);
}

/* ---- of groups ----------------------------------------------------------- */

enum { GROUP = 3 };

/* a/2 |w|^2 - u'w + pen(w). */
static double group_model(const glm_penalty *pen, const glm_term *t,
                          const double *u, double a, const double *w)
{
    double sum = pen->value(t, w);

    for (int k = 0; k < GROUP; k++)
        sum += a / 2 * w[k] * w[k] - u[k] * w[k];
    return sum;
}

static void check_group(const char *word, const glm_penalty *pen,
                        const glm_term *t, const double *u, double a)
{
    double w[GROUP], q[GROUP], v[GROUP];

    pen->prox(t, u, a, w);
    const double found = group_model(pen, t, u, a, w);
    for (int k = 0; k < GROUP; k++)
        q[k] = u[k] - a * w[k];
    cr_expect_lt(pen->violation(t, w, q), 1e-12, "%s at the prox", word);
    for (v[0] = -4; v[0] <= 4; v[0] += .25)
        for (v[1] = -4; v[1] <= 4; v[1] += .25)
            for (v[2] = -4; v[2] <= 4; v[2] += .25)
                cr_expect_leq(found, group_model(pen, t, u, a, v) + 1e-12,
                              "%s: prox at %g %g %g", word, u[0], u[1], u[2]);
    const double s = pen->shrink(t, u);
    double most = 0;
    for (int k = 0; k < GROUP; k++)
        q[k] = s * (1 - 1e-12) * u[k];
    for (v[0] = -4; v[0] <= 4; v[0] += .25)
        for (v[1] = -4; v[1] <= 4; v[1] += .25)
            for (v[2] = -4; v[2] <= 4; v[2] += .25)
                most = fmax(most, -group_model(pen, t, q, 0, v));
    cr_expect_float_eq(pen->conjugate(t, q), most, 1e-9, "%s*", word);
    for (int k = 0; k < GROUP; k++)
        q[k] *= 1.01;
    cr_expect(s == 1 || isinf(pen->conjugate(t, q)));
}

/* The dual norm against a bisection of what it is defined by; it is a norm, so
 * twice the slopes have twice of it. After the shrinking, the conjugate is
 * finite in spite of rounding. */
static void check_dual_norm(const glm_penalty *pen, glm_term t, uint64_t seed)
{
    enum { MOST = 40 };
    double q[MOST], size = 0, at[MOST];
    long double low = 0, high = 1e40L;

    t.n = 1 + (uint32_t)(seed % MOST);
    for (uint32_t k = 0; k < t.n; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double u = (double)(seed >> 11) * 0x1p-53;
        q[k] = seed / 7 % 5 == 0   ? 0
               : seed / 7 % 5 == 1 ? 1
                                   : pow(10, 8 * u - 4) * (u < .5 ? 1 : -1);
        size = hypot(size, q[k]);
    }
    for (int half = 0; half < 200; half++) {
        const long double x = (low + high) / 2;
        long double square = 0;
        for (uint32_t k = 0; k < t.n; k++)
            square += powl(fmaxl((t.low < 0 ? fabsl((long double)q[k]) : q[k]) -
                                     t.share * x,
                                 0),
                           2);
        *(sqrtl(square) > (1 - (long double)t.share) * x ? &low : &high) = x;
    }
    const double norm = pen->dual_norm(&t, q), s = pen->shrink(&t, q);
    cr_expect_float_eq(norm, (double)high, 1e-13 * norm + 1e-19,
                       "share %g: %g, %g", t.share, norm, (double)high);
    cr_expect_leq(norm, size * (1 + 1e-14));
    for (uint32_t k = 0; k < t.n; k++)
        at[k] = s * q[k];
    cr_expect_eq(pen->conjugate(&t, at), 0, "share %.17g, n %u", t.share, t.n);
    for (uint32_t k = 0; k < t.n; k++)
        at[k] = 2 * q[k];
    cr_expect_float_eq(pen->dual_norm(&t, at), 2 * norm, 1e-13 * norm);
}

Test(glm_tables, dual_norms_of_groups_are_those_of_their_definition)
{
    static const double shares[] = {0, 1e-9, .01, .3, .5, .9, 1 - 1e-12, 1};

    for (size_t k = 0; k < PENALTIES; k++)
        for (uint64_t i = 0; i < 1600 && penalties[k].penalty->grouped; i++)
            check_dual_norm(penalties[k].penalty,
                            (glm_term){.l1 = i % 3 ? .7 : 1e-6,
                                       .low = i % 5 == 4 ? 0 : -INFINITY,
                                       .high = INFINITY,
                                       .share = shares[i % 8]},
                            i);
}

Test(glm_tables, penalties_of_groups_have_their_steps_and_conjugates)
{
    static const double shares[] = {0, .1, .6, 1};
    static const double u[][GROUP] = {
        {0, 0, 0}, {.5, -.5, .9}, {3, 0, 0}, {-1, 2, .5}, {0, -1.2, 0}};

    for (size_t k = 0; k < PENALTIES; k++)
        for (size_t i = 0;
             i < 4 * sizeof(u) / sizeof(u[0]) && penalties[k].penalty->grouped;
             i++) {
            const glm_term t = {.l1 = 1.2,
                                .low = i % 3 == 2 ? 0 : -INFINITY,
                                .high = INFINITY,
                                .n = GROUP,
                                .share = shares[i % 4]};
            check_group(penalties[k].word, penalties[k].penalty, &t, u[i / 4],
                        1);
            check_group(penalties[k].word, penalties[k].penalty, &t, u[i / 4],
                        .8);
        }
}
