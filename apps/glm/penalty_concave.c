/* Penalties that rise like l1 |w| at 0 and are constant far out, so that
 * large coefficients are not shrunk. With L = l1 / unit and g = gamma, divided
 * by unit:
 *
 *     MCP (Zhang, Ann. Statist. 38, 2010)
 *         L |w| - w^2 / 2g up to g L, then g L^2 / 2
 *     SCAD (Fan and Li, J. Amer. Statist. Assoc. 96, 2001)
 *         L |w| up to L, (2 g L |w| - w^2 - L^2) / (2 (g - 1)) up to g L, then
 *         L^2 (g + 1) / 2
 *
 * They are not convex. A tangent in |w| lies above them and is an L1 penalty:
 * each model uses that (Zou and Li, Ann. Statist. 36, 2008). */
#include <math.h>

#include "glm_penalty.h"

static double mcp_value(const glm_term *t, const double *w)
{
    const double size = fabs(*w), end = t->gamma * t->l1 / t->unit;

    return size <= end ? t->l1 * size - t->unit * size * size / (2 * t->gamma)
                       : t->l1 * end / 2;
}

static glm_term mcp_tangent(const glm_term *t, double w)
{
    glm_term out = *t;

    out.l1 = fmax(t->l1 - t->unit * fabs(w) / t->gamma, 0);
    return out;
}

static double scad_value(const glm_term *t, const double *w)
{
    const double size = fabs(*w), knot = t->l1 / t->unit;
    const double beyond = fmin(size, t->gamma * knot) - knot;

    if (size <= knot)
        return t->l1 * size;
    return t->l1 * (knot + beyond) -
           t->unit * beyond * beyond / (2 * (t->gamma - 1));
}

static glm_term scad_tangent(const glm_term *t, double w)
{
    const double beyond = fabs(w) - t->l1 / t->unit;
    glm_term out = *t;

    if (beyond > 0)
        out.l1 = fmax(t->l1 - t->unit * beyond / (t->gamma - 1), 0);
    return out;
}

const glm_penalty glm_penalty_mcp = {.share = 1,
                                     .usual = 3,
                                     .least = 1,
                                     .value = mcp_value,
                                     .tangent = mcp_tangent};
const glm_penalty glm_penalty_scad = {.share = 1,
                                      .usual = 3.7,
                                      .least = 2,
                                      .value = scad_value,
                                      .tangent = scad_tangent};
