/* The vector loops over rows against the portable ones, and both against
 * sums in long double: every length around a vector's, margins from 0 to the
 * rounding limit, including weights of 0. */
#include <criterion/criterion.h>
#include <math.h>

#include "numeric/logistic_loops.h"
#include "strads/policy.h"

enum { ROWS = 200, LENGTHS = 40 };

typedef struct fixture {
    double y[ROWS], c[ROWS], z[ROWS];
} fixture;

static void fill(fixture *f, double scale)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        f->y[i] = strads_random_unit(3, 1, i, 0) < .5 ? -1 : 1;
        f->c[i] = i % 11 == 3 ? 0 : .25 + strads_random_unit(3, 2, i, 0);
        f->z[i] = scale * (2 * strads_random_unit(3, 3, i, 0) - 1);
    }
    f->z[5] = 0;
}

static bool is_near(double a, long double b, double share)
{
    return fabsl(a - b) <= share * fabsl(b) + 1e-300L;
}

static void expect_look(const logistic_loops *loops, const fixture *f,
                        uint64_t n)
{
    const logistic_rows rows = {.n = n, .y = f->y, .c = f->c, .z = f->z};
    logistic_sides sides = {0};
    double r[ROWS + 1];
    long double loss[2] = {0, 0}, sum[2] = {0, 0}, loss_sum[2] = {0, 0};
    long double margin[2] = {0, 0}, squares[2] = {0, 0}, odds[2] = {0, 0};

    r[n] = 42;
    loops->look(&rows, r, &sides);
    for (uint64_t i = 0; i < n; i++) {
        const int s = f->y[i] > 0;
        const long double c = f->c[i], m = f->y[i] * f->z[i];
        const long double u = 1 / (1 + expl(m)), l = log1pl(expl(-m));
        cr_expect(is_near(r[i], c * f->y[i] * u, 4e-15), "%s: r[%llu]",
                  loops->name, (unsigned long long)i);
        loss[s] += c * l;
        sum[s] += c * u;
        loss_sum[s] += c * u * l;
        margin[s] += c * u * fabsl(m);
        odds[s] += c * u * expl(-m);
        squares[s] += c * u * u;
    }
    for (int s = 0; s < 2; s++) {
        const logistic_side *side = &sides.of[s];
        cr_expect(is_near(side->loss, loss[s], 1e-14), "%s", loops->name);
        cr_expect(is_near(side->sum, sum[s], 1e-14), "%s", loops->name);
        cr_expect(is_near(side->loss_sum, loss_sum[s], 1e-14));
        cr_expect(fabs(side->margin) <= (double)margin[s] * (1 + 1e-14));
        cr_expect(is_near(side->odds, odds[s], 1e-13), "%s", loops->name);
        cr_expect(is_near(side->squares, squares[s], 1e-14));
    }
    cr_expect_eq(r[n], 42, "%s wrote beyond the last row", loops->name);
}

static void expect_freeze(const logistic_loops *loops, const fixture *f,
                          uint64_t n)
{
    const logistic_rows rows = {.n = n, .y = f->y, .c = f->c, .z = f->z};
    double root[ROWS + 1], rest[ROWS + 1];
    long double loss = 0;

    root[n] = rest[n] = 42;
    const double got = loops->curve(&rows, rest, root);
    cr_expect_eq(loops->curve(&rows, NULL, NULL), got, "%s", loops->name);
    loops->freeze(n, f->c, 1e-12, root, rest);
    for (uint64_t i = 0; i < n; i++) {
        const long double c = f->c[i], m = f->y[i] * f->z[i];
        const long double u = 1 / (1 + expl(m));
        const long double h = c * fmaxl(u * (1 / (1 + expl(-m))), 1e-12L);
        loss += c * log1pl(expl(-m));
        cr_expect(is_near(root[i], sqrtl(h), 4e-15), "%s", loops->name);
        cr_expect(is_near(rest[i], c > 0 ? c * f->y[i] * u / sqrtl(h) : 0,
                          1e-14),
                  "%s", loops->name);
    }
    cr_expect(is_near(got, loss, 1e-14), "%s: %.17g", loops->name, got);
    cr_expect(root[n] == 42 && rest[n] == 42);
}

static void expect_right(const logistic_loops *loops)
{
    const double scales[] = {1e-9, 1, 30, 600};
    fixture f;

    for (size_t k = 0; k < sizeof(scales) / sizeof(scales[0]); k++) {
        fill(&f, scales[k]);
        for (uint64_t n = 0; n < LENGTHS; n++) {
            expect_look(loops, &f, n);
            expect_freeze(loops, &f, n);
        }
        expect_look(loops, &f, ROWS);
        expect_freeze(loops, &f, ROWS);
    }
}

Test(logistic_loops, the_portable_loops_are_right)
{
    expect_right(&logistic_loops_portable);
}

Test(logistic_loops, the_vector_loops_are_right)
{
    const logistic_loops *fast[] = {logistic_loops_avx2(),
                                    logistic_loops_avx512(),
                                    logistic_loops_neon()};

    for (int k = 0; k < 3; k++)
        if (fast[k])
            expect_right(fast[k]);
}

/* Beyond the range of exp, only the odds become infinite. */
Test(logistic_loops, margins_of_any_size_have_finite_losses)
{
    const logistic_loops *all[] = {&logistic_loops_portable,
                                   logistic_loops_avx2(),
                                   logistic_loops_avx512(),
                                   logistic_loops_neon()};
    const double y[] = {1, 1, -1, -1}, c[] = {1, 1, 1, 1};
    const double z[] = {1e6, -1e6, 1e6, -1e6};
    const logistic_rows rows = {.n = 4, .y = y, .c = c, .z = z};

    for (int k = 0; k < 4; k++) {
        if (!all[k])
            continue;
        double r[4], root[4];
        logistic_sides sides = {0};
        all[k]->look(&rows, r, &sides);
        cr_expect_eq(r[0], 0);
        cr_expect_eq(r[1], 1);
        cr_expect_eq(r[2], -1);
        cr_expect_float_eq(sides.of[1].loss, 1e6, 1e-6);
        cr_expect_float_eq(all[k]->curve(&rows, r, root), 2e6, 1e-6);
        all[k]->freeze(4, c, 1e-12, root, r);
        for (int i = 0; i < 4; i++)
            cr_expect(isfinite(r[i]) && root[i] > 0);
    }
}

/* The maximum of NaN and 0 is 0 in vector registers, as in fmax(). */
Test(logistic_loops, a_margin_that_is_not_a_number_has_no_loss)
{
    const logistic_loops *all[] = {&logistic_loops_portable,
                                   logistic_loops_avx2(),
                                   logistic_loops_avx512(),
                                   logistic_loops_neon()};
    const double y[] = {1, -1}, c[] = {1, 1}, z[] = {NAN, 1};
    const logistic_rows rows = {.n = 2, .y = y, .c = c, .z = z};

    for (int k = 0; k < 4; k++) {
        if (!all[k])
            continue;
        double r[2];
        logistic_sides sides = {0};
        all[k]->look(&rows, r, &sides);
        cr_expect(isnan(sides.of[1].loss), "%s", all[k]->name);
        cr_expect(isnan(all[k]->curve(&rows, r, NULL)), "%s", all[k]->name);
    }
}
