/* cli_design.h - sparse or dense designs with correlated columns and a planted
 * answer, row by row, for programs of linear models to be tried on.
 *
 * Sparse: each column has so many slots, a row and a value in each. From one
 * column to the next a slot stays as it is with probability c, and is drawn
 * anew otherwise: columns i and j correlate by c^|i - j|. Of slots that fall
 * on one row the first counts. Dense: rows are draws of an AR(1) process,
 * which correlates in the same way. Values are rounded to thousandths first,
 * so that text holds the design exactly. Labels are X b + e, where b is not 0
 * in a random support (a normal draw, and 1 added or taken off) and
 * |X b|^2 = snr |e|^2. */
#ifndef CLI_DESIGN_H
#define CLI_DESIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct cli_design_spec {
    uint32_t rows, columns;
    uint32_t
        entries; /* slots of a column, at most `rows`; not of a dense one */
    uint32_t support;   /* columns with a weight, at most `columns` */
    double correlation; /* c, 0 to below 1 */
    double snr;         /* above 0 */
    uint64_t seed;
    bool dense;
    bool uniform; /* values from [0, 1) instead of normal ones */
} cli_design_spec;

/* What is not 0 of a row, columns ascending from 0; values in thousandths. */
typedef struct cli_design_row {
    uint32_t n;
    const uint32_t *column;
    const int32_t *thousandths;
    double label;
} cli_design_row;

typedef struct cli_design cli_design;

/* Draws everything but a dense design's values: memory for a tenth of the
 * entries at c = 0.9. Ends early when *stop becomes true: STRADS_ECANCELED.
 * STRADS_ENOMEM. */
strads_err cli_design_new(const cli_design_spec *spec,
                          const volatile bool *stop, cli_design **out);
void cli_design_free(cli_design *design);

/* Row i; it lasts until the next call. */
cli_design_row cli_design_at(cli_design *design, uint32_t i);

/* b: its columns, ascending from 0, and values; spec->support of them. */
const uint32_t *cli_design_support(const cli_design *design);
const double *cli_design_weights(const cli_design *design);

#endif
