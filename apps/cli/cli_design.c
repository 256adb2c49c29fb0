/* Designs with correlated columns. A slot's stay at one row with one value is a
 * run of columns; runs are drawn slot by slot, kept by rows, and a row is what
 * its runs cover. */
#include "cli_design.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

#include "cli_draw.h"

/* Purposes of streams; the index is a slot or a row. */
enum { DRAW_SLOT = 1, DRAW_ROW, DRAW_SUPPORT, DRAW_WEIGHTS, DRAW_NOISE };

/* Rows between two looks at the stop flag. */
enum { LOOK_EVERY = 64 };

typedef struct run {
    uint32_t begin, end; /* columns */
    uint32_t slot;
    int32_t thousandths;
} run;

struct cli_design {
    cli_design_spec spec;
    gsl_rng *draw;
    uint64_t *start; /* [rows + 2] of a row's runs */
    run *runs;
    run **covering;       /* [entries] of the column at hand */
    uint32_t *column;     /* [columns] of the row at hand */
    int32_t *thousandths; /* [columns] */
    double *label;        /* [rows] */
    uint32_t *support;    /* [spec.support] */
    double *weight;       /* [spec.support] */
    double *by_column;    /* [columns] the same, 0 elsewhere */
};

/* ---- runs of slots ----------------------------------------------------- */

static int32_t draw_value(const cli_design *design)
{
    const double x = design->spec.uniform
                         ? gsl_rng_uniform(design->draw)
                         : gsl_ran_gaussian_ziggurat(design->draw, 1);
    const int32_t thousandths = (int32_t)lrint(x * 1000);
    return thousandths != 0 ? thousandths : 1; /* an entry is there */
}

/* Draws all runs; the same ones each time. */
static void each_run(const cli_design *design,
                     void (*take)(const cli_design *design, uint64_t row,
                                  const run *r))
{
    const cli_design_spec *spec = &design->spec;
    for (uint32_t slot = 0; slot < spec->entries; slot++) {
        cli_draw_stream(design->draw, spec->seed, DRAW_SLOT, slot);
        for (uint32_t j = 0; j < spec->columns;) {
            const uint32_t length =
                gsl_ran_geometric(design->draw, 1 - spec->correlation);
            run r = {.begin = j, .end = spec->columns, .slot = slot};
            if (length < spec->columns - j) {
                r.end = j + length;
            }
            const uint64_t row = gsl_rng_uniform_int(design->draw, spec->rows);
            r.thousandths = draw_value(design);
            take(design, row, &r);
            j = r.end;
        }
    }
}

/* Counts go two places on, so that start[row + 1] can run. */
static void count_run(const cli_design *design, uint64_t row, const run *r)
{
    (void)r;
    design->start[row + 2]++;
}

static void keep_run(const cli_design *design, uint64_t row, const run *r)
{
    design->runs[design->start[row + 1]++] = *r;
}

static int by_begin(const void *a, const void *b)
{
    const run *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static strads_err draw_runs(cli_design *design)
{
    const uint64_t rows = design->spec.rows;
    each_run(design, count_run);
    for (uint64_t i = 0; i < rows; i++) {
        design->start[i + 2] += design->start[i + 1];
    }
    const uint64_t n = design->start[rows + 1];
    design->runs = malloc((n + 1) * sizeof *design->runs);
    if (!design->runs) {
        return strads_fail(STRADS_ENOMEM,
                           "no memory for a design of %llu stretches of "
                           "columns: give fewer columns or entries",
                           (unsigned long long)n);
    }
    each_run(design, keep_run);
    for (uint64_t i = 0; i < rows; i++) {
        qsort(design->runs + design->start[i],
              design->start[i + 1] - design->start[i], sizeof *design->runs,
              by_begin);
    }
    return STRADS_OK;
}

/* ---- a row ------------------------------------------------------------- */

/* Of the n runs that cover column j: the value of the first slot, and up to
 * which column nothing changes. */
static int32_t first_of(run *const *covering, uint32_t n, uint32_t *end)
{
    const run *first = covering[0];
    for (uint32_t k = 0; k < n; k++) {
        if (covering[k]->slot < first->slot) {
            first = covering[k];
        }
        if (covering[k]->end < *end) {
            *end = covering[k]->end;
        }
    }
    return first->thousandths;
}

static uint32_t drop_ended(run **covering, uint32_t n, uint32_t j)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (covering[k]->end > j) {
            covering[left++] = covering[k];
        }
    }
    return left;
}

static uint32_t sparse_row(cli_design *design, uint32_t i)
{
    run *next = design->runs + design->start[i];
    run *const last = design->runs + design->start[i + 1];
    uint32_t n = 0, n_covering = 0, j = 0;

    while (next < last || n_covering > 0) {
        if (n_covering == 0) {
            j = next->begin;
        }
        while (next < last && next->begin == j) {
            design->covering[n_covering++] = next++;
        }
        uint32_t end = next < last ? next->begin : design->spec.columns;
        const int32_t value = first_of(design->covering, n_covering, &end);
        for (; j < end; j++) {
            design->column[n] = j;
            design->thousandths[n++] = value;
        }
        n_covering = drop_ended(design->covering, n_covering, j);
    }
    return n;
}

/* x_j = c x_(j-1) + sqrt(1 - c^2) z_j */
static uint32_t dense_row(cli_design *design, uint32_t i)
{
    const cli_design_spec *spec = &design->spec;
    const double c = spec->correlation, fresh = sqrt(1 - c * c);
    uint32_t n = 0;
    double x = 0;

    cli_draw_stream(design->draw, spec->seed, DRAW_ROW, i);
    for (uint32_t j = 0; j < spec->columns; j++) {
        const double z = gsl_ran_gaussian_ziggurat(design->draw, 1);
        x = j == 0 ? z : c * x + fresh * z;
        const int32_t thousandths = (int32_t)lrint(x * 1000);
        if (thousandths == 0) {
            continue;
        }
        design->column[n] = j;
        design->thousandths[n++] = thousandths;
    }
    return n;
}

cli_design_row cli_design_at(cli_design *design, uint32_t i)
{
    return (cli_design_row){.n = design->spec.dense ? dense_row(design, i)
                                                    : sparse_row(design, i),
                            .column = design->column,
                            .thousandths = design->thousandths,
                            .label = design->label[i]};
}

/* ---- the answer and the labels ----------------------------------------- */

static void draw_weights(cli_design *design)
{
    const cli_design_spec *spec = &design->spec;

    cli_draw_stream(design->draw, spec->seed, DRAW_SUPPORT, 0);
    for (uint32_t j = 0; j < spec->columns; j++) {
        design->column[j] = j;
    }
    /* Keeps the order of what it chooses from. */
    (void)gsl_ran_choose(design->draw, design->support, spec->support,
                         design->column, spec->columns,
                         sizeof *design->support);
    cli_draw_stream(design->draw, spec->seed, DRAW_WEIGHTS, 0);
    for (uint32_t k = 0; k < spec->support; k++) {
        const double sign = gsl_rng_uniform_int(design->draw, 2) ? 1 : -1;
        design->weight[k] = sign + gsl_ran_gaussian_ziggurat(design->draw, 1);
        design->by_column[design->support[k]] = design->weight[k];
    }
}

static strads_err draw_labels(cli_design *design, const volatile bool *stop)
{
    const cli_design_spec *spec = &design->spec;
    double signal = 0, noise = 0;

    for (uint32_t i = 0; i < spec->rows; i++) {
        if (i % LOOK_EVERY == 0 && *stop) {
            return strads_fail(STRADS_ECANCELED, "interrupted");
        }
        const cli_design_row row = cli_design_at(design, i);
        double sum = 0;
        for (uint32_t k = 0; k < row.n; k++) {
            sum += design->by_column[row.column[k]] * row.thousandths[k];
        }
        design->label[i] = sum / 1000;
        signal += design->label[i] * design->label[i];
    }
    for (int pass = 0; pass < 2; pass++) {
        const double share =
            pass && noise > 0 ? sqrt(signal / spec->snr / noise) : 0;
        cli_draw_stream(design->draw, spec->seed, DRAW_NOISE, 0);
        for (uint32_t i = 0; i < spec->rows; i++) {
            const double e = gsl_ran_gaussian_ziggurat(design->draw, 1);
            noise += pass ? 0 : e * e;
            design->label[i] += share * e;
        }
    }
    return STRADS_OK;
}

/* ---- the whole --------------------------------------------------------- */

static bool reserve(cli_design *design)
{
    const cli_design_spec *spec = &design->spec;
    const size_t columns = spec->columns;

    design->draw = cli_draw_new();
    design->start = calloc((size_t)spec->rows + 2, sizeof *design->start);
    design->covering = calloc((size_t)spec->entries + 1, sizeof(run *));
    design->column = calloc(columns, sizeof *design->column);
    design->thousandths = calloc(columns, sizeof *design->thousandths);
    design->label = calloc(spec->rows, sizeof *design->label);
    design->support = calloc((size_t)spec->support + 1, sizeof(uint32_t));
    design->weight = calloc((size_t)spec->support + 1, sizeof(double));
    design->by_column = calloc(columns, sizeof *design->by_column);
    return design->draw && design->start && design->covering &&
           design->column && design->thousandths && design->label &&
           design->support && design->weight && design->by_column;
}

strads_err cli_design_new(const cli_design_spec *spec,
                          const volatile bool *stop, cli_design **out)
{
    cli_design *design = calloc(1, sizeof *design);
    strads_err err;

    if (design) {
        design->spec = *spec;
    }
    if (!design || !reserve(design)) {
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for a design of %u rows and %u columns",
                          spec->rows, spec->columns);
        goto fail;
    }
    draw_weights(design);
    err = spec->dense ? STRADS_OK : draw_runs(design);
    if (!err) {
        err = draw_labels(design, stop);
    }
    if (err) {
        goto fail;
    }
    *out = design;
    return STRADS_OK;
fail:
    cli_design_free(design);
    return err;
}

void cli_design_free(cli_design *design)
{
    if (!design) {
        return;
    }
    gsl_rng_free(design->draw);
    free(design->start);
    free(design->runs);
    free(design->covering);
    free(design->column);
    free(design->thousandths);
    free(design->label);
    free(design->support);
    free(design->weight);
    free(design->by_column);
    free(design);
}

const uint32_t *cli_design_support(const cli_design *design)
{
    return design->support;
}

const double *cli_design_weights(const cli_design *design)
{
    return design->weight;
}
