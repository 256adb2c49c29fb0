/* A path: one run that goes from lambda to lambda. A scan that shows one point
 * to be reached is the first scan of the next: what is known of the columns is
 * the same, and only bounds and thresholds are others. Each point has a
 * certificate of its own, from the scan that ends it. */
#ifndef LINEAR_PATH_H
#define LINEAR_PATH_H

#include <stdbool.h>

#include <strads/path.h>
#include <strads/program.h>

enum { LINEAR_POINTS_MAX = 10000, LINEAR_POINTS = 100 };

/* Which lambdas, as options say. */
typedef struct linear_lambdas {
    uint32_t points;
    double ratio, first;
    const char *text;   /* "L,L,...", or a file; NULL or "": see list */
    const double *list; /* [points]; NULL: evenly in their logarithm */
} linear_lambdas;

typedef struct linear_path {
    uint32_t points;
    double *lambda;           /* [points], falling */
    strads_path_point *point; /* [points], n of them reached */
    uint32_t n;
    bool given;          /* lambda[] is a list */
    double first, ratio; /* where it is none */
    double before;       /* L1 of the point before the one at hand */
    double worst;        /* of the gaps of points reached */
    bool fresh;          /* nothing has been seeded for the point at hand */
} linear_path;

/* Where a fit stands after a scan, as users see it. */
typedef struct linear_standing {
    double lambda, objective, gap; /* gap: relative */
    double intercept, deviance;
    uint64_t nonzeros;
    bool stalled; /* it gets no nearer */
} linear_standing;

/* What a program does on its way. */
typedef struct linear_path_steps {
    linear_standing (*stand)(const void *state);
    /* Goes over to another lambda; looks at what was scanned once more, with
     * its bounds. */
    void (*go)(void *state, double lambda);
    void (*certify)(strads_commit *commit);
} linear_path_steps;

/* Fills defaults in, and says what is wrong. STRADS_EINVAL. */
strads_err linear_lambdas_resolve(linear_lambdas *lambdas);
/* A path of them, resolved. Lists are sorted, and may end at 0.
 * STRADS_EINVAL, STRADS_EFORMAT: what is wrong with a list. STRADS_ENOMEM. */
strads_err linear_path_new(const linear_lambdas *lambdas, linear_path **out);
void linear_path_free(linear_path *path);

/* The first lambda that is not reached, when lambda_max is known. */
double linear_path_begin(linear_path *path, double lambda_max);

/* After a scan of a block of columns that is certified: keeps the point at hand
 * if it is reached, and goes on to the first one that is not. The committed values are one number a parameter. STRADS_ENOMEM. */
strads_err linear_path_advance(strads_commit *commit, linear_path *path,
                               const linear_path_steps *steps,
                               uint64_t columns);

/* The points that are reached, for a cut and from one; their program makes the
 * rest again. STRADS_ENOMEM, STRADS_EFORMAT. */
strads_err linear_path_pack(const linear_path *path, strads_bytes *out);
strads_err linear_path_unpack(linear_path *path, const void *bytes,
                              size_t size);

/* Whether all points are reached. */
bool linear_path_is_over(const linear_path *path);

/* Progress: the gap of a path is the worst of its points'; one that is not
 * reached may have any gap up to 1. */
void linear_path_report(const linear_path *path, const linear_standing *at,
                        strads_report *report);

#endif
