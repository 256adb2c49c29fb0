/* strads data synth lasso OUT: data of known origin for linear models. Sparse or
 * dense designs with correlated columns and a planted
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
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cli.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_terminal.h"
#include "engine/base/atomic_file.h"
#include "engine/base/random.h"

typedef struct synth_spec {
    uint32_t rows, columns;
    uint32_t
        entries; /* slots of a column, at most `rows`; not of a dense one */
    uint32_t support;   /* columns with a weight, at most `columns` */
    double correlation; /* c, 0 to below 1 */
    double snr;         /* above 0 */
    uint64_t seed;
    bool dense;
    bool uniform; /* values from [0, 1) instead of normal ones */
} synth_spec;

/* What is not 0 of a row, columns ascending from 0; values in thousandths. */
typedef struct synth_row {
    uint32_t n;
    const uint32_t *column;
    const int32_t *thousandths;
    double label;
} synth_row;

/* ---- draws ---------------------------------------------------------------- */

/* GSL's distributions over the engine's streams: what a stream gives does not
 * depend on what others were asked for. */
static unsigned long next_word(void *state)
{
    return (unsigned long)sti_random_bits(state);
}

static double next_unit(void *state)
{
    return sti_random_unit(state);
}

static void set_seed(void *state, unsigned long seed)
{
    *(sti_random *)state = sti_random_stream(seed, 0, 0);
}

static const gsl_rng_type streams = {.name = "streams",
                                     .max = UINT64_MAX,
                                     .min = 0,
                                     .size = sizeof(sti_random),
                                     .set = set_seed,
                                     .get = next_word,
                                     .get_double = next_unit};

/* From now on `draw` gives the stream (seed, purpose, index) from its
 * beginning. */
static void draw_stream(gsl_rng *draw, uint64_t seed, uint64_t purpose,
                        uint64_t index)
{
    *(sti_random *)gsl_rng_state(draw) =
        sti_random_stream(seed, purpose, index);
}

/* Purposes of streams; the index is a slot or a row. */
enum { DRAW_SLOT = 1, DRAW_ROW, DRAW_SUPPORT, DRAW_WEIGHTS, DRAW_NOISE };

/* Rows between two looks at the stop flag. */
enum { LOOK_EVERY = 64 };

typedef struct run {
    uint32_t begin, end; /* columns */
    uint32_t slot;
    int32_t thousandths;
} run;

typedef struct synth {
    synth_spec spec;
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
} synth;

/* ---- runs of slots ----------------------------------------------------- */

static int32_t draw_value(const synth *design)
{
    const double x = design->spec.uniform
                         ? gsl_rng_uniform(design->draw)
                         : gsl_ran_gaussian_ziggurat(design->draw, 1);
    const int32_t thousandths = (int32_t)lrint(x * 1000);
    return thousandths != 0 ? thousandths : 1; /* an entry is there */
}

/* Draws all runs; the same ones each time. */
static void each_run(const synth *design,
                     void (*take)(const synth *design, uint64_t row,
                                  const run *r))
{
    const synth_spec *spec = &design->spec;
    for (uint32_t slot = 0; slot < spec->entries; slot++) {
        draw_stream(design->draw, spec->seed, DRAW_SLOT, slot);
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
static void count_run(const synth *design, uint64_t row, const run *r)
{
    (void)r;
    design->start[row + 2]++;
}

static void keep_run(const synth *design, uint64_t row, const run *r)
{
    design->runs[design->start[row + 1]++] = *r;
}

static int by_begin(const void *a, const void *b)
{
    const run *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static strads_err draw_runs(synth *design)
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

static uint32_t sparse_row(synth *design, uint32_t i)
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
static uint32_t dense_row(synth *design, uint32_t i)
{
    const synth_spec *spec = &design->spec;
    const double c = spec->correlation, fresh = sqrt(1 - c * c);
    uint32_t n = 0;
    double x = 0;

    draw_stream(design->draw, spec->seed, DRAW_ROW, i);
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

/* Row i; it lasts until the next call. */
static synth_row row_at(synth *design, uint32_t i)
{
    return (synth_row){.n = design->spec.dense ? dense_row(design, i)
                                               : sparse_row(design, i),
                       .column = design->column,
                       .thousandths = design->thousandths,
                       .label = design->label[i]};
}

/* ---- the answer and the labels ----------------------------------------- */

static void draw_weights(synth *design)
{
    const synth_spec *spec = &design->spec;

    draw_stream(design->draw, spec->seed, DRAW_SUPPORT, 0);
    for (uint32_t j = 0; j < spec->columns; j++) {
        design->column[j] = j;
    }
    /* Keeps the order of what it chooses from. */
    (void)gsl_ran_choose(design->draw, design->support, spec->support,
                         design->column, spec->columns,
                         sizeof *design->support);
    draw_stream(design->draw, spec->seed, DRAW_WEIGHTS, 0);
    for (uint32_t k = 0; k < spec->support; k++) {
        const double sign = gsl_rng_uniform_int(design->draw, 2) ? 1 : -1;
        design->weight[k] = sign + gsl_ran_gaussian_ziggurat(design->draw, 1);
        design->by_column[design->support[k]] = design->weight[k];
    }
}

static strads_err draw_labels(synth *design, const volatile bool *stop)
{
    const synth_spec *spec = &design->spec;
    double signal = 0, noise = 0;

    for (uint32_t i = 0; i < spec->rows; i++) {
        if (i % LOOK_EVERY == 0 && *stop) {
            return strads_fail(STRADS_ECANCELED, "interrupted");
        }
        const synth_row row = row_at(design, i);
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
        draw_stream(design->draw, spec->seed, DRAW_NOISE, 0);
        for (uint32_t i = 0; i < spec->rows; i++) {
            const double e = gsl_ran_gaussian_ziggurat(design->draw, 1);
            noise += pass ? 0 : e * e;
            design->label[i] += share * e;
        }
    }
    return STRADS_OK;
}

/* ---- the whole --------------------------------------------------------- */

static bool reserve(synth *design)
{
    const synth_spec *spec = &design->spec;
    const size_t columns = spec->columns;

    design->draw = gsl_rng_alloc(&streams);
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

static void free_design(synth *design)
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

/* Draws everything but a dense design's values: memory for a tenth of the
 * entries at c = 0.9. Ends early when *stop becomes true. */
static strads_err make_design(const synth_spec *spec, const volatile bool *stop,
                              synth **out)
{
    synth *design = calloc(1, sizeof *design);
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
    free_design(design);
    return err;
}

/* ---- the command -------------------------------------------------------------- */

/* What an option is until it is given. */
#define NOT_GIVEN (-1.)

typedef struct synth_options {
    const char *preset, *truth;
    uint32_t rows, columns, entries, support;
    double correlation, snr;
    uint64_t seed;
    bool dense, uniform, signs, quiet;
} synth_options;

#define FIELD(field) .offset = offsetof(synth_options, field)

static const strads_option synth_table[] = {
    {.name = "preset",
     .kind = STRADS_OPTION_STRING,
     FIELD(preset),
     .metavar = "NAME",
     .help = "what the options below are unless given (default: mid)",
     .choices = "mid|big|ssp500|dense_ar"},
    {.name = "rows",
     .kind = STRADS_OPTION_U32,
     FIELD(rows),
     .metavar = "N",
     .help = "rows (mid: 5000)",
     .min = 1,
     .max = UINT32_MAX - 2},
    {.name = "columns",
     .kind = STRADS_OPTION_U32,
     FIELD(columns),
     .metavar = "P",
     .help = "columns (mid: 200000)",
     .min = 1,
     .max = UINT32_MAX - 2},
    {.name = "entries",
     .kind = STRADS_OPTION_U32,
     FIELD(entries),
     .metavar = "K",
     .help = "entries of a column (mid: 20)",
     .min = 1,
     .max = UINT32_MAX - 2},
    {.name = "correlation",
     .kind = STRADS_OPTION_F64,
     FIELD(correlation),
     .metavar = "C",
     .help = "of neighbours; of columns d apart it is C^d (mid: 0.9)",
     .min = 0,
     .max = 0.999999},
    {.name = "support",
     .kind = STRADS_OPTION_U32,
     FIELD(support),
     .metavar = "K",
     .help = "columns that the labels come from (mid: 200)",
     .min = 1,
     .max = UINT32_MAX - 2},
    {.name = "snr",
     .kind = STRADS_OPTION_F64,
     FIELD(snr),
     .metavar = "S",
     .help = "|Xb|^2 by |noise|^2 (mid: 4)",
     .min = 1e-9,
     .max = 1e12},
    {.name = "seed",
     .kind = STRADS_OPTION_U64,
     FIELD(seed),
     .metavar = "S",
     .help = "names all random draws (mid: 2)",
     .min = 0,
     .max = 9007199254740991.},
    {.name = "dense",
     .kind = STRADS_OPTION_BOOL,
     FIELD(dense),
     .help = "normal rows with such a correlation, nothing is 0"},
    {.name = "uniform",
     .kind = STRADS_OPTION_BOOL,
     FIELD(uniform),
     .help = "values from [0, 1) instead of normal ones"},
    {.name = "signs",
     .kind = STRADS_OPTION_BOOL,
     FIELD(signs),
     .help = "labels are -1 and +1: their signs"},
    {.name = "truth",
     .kind = STRADS_OPTION_STRING,
     FIELD(truth),
     .metavar = "FILE",
     .help = "writes b there: a line \"COLUMN VALUE\" each"},
    {.name = "quiet",
     .kind = STRADS_OPTION_BOOL,
     FIELD(quiet),
     .help = "errors only (default: no)"},
    {.name = NULL},
};

/* ---- presets ----------------------------------------------------------- */

typedef struct preset {
    const char *name;
    synth_spec spec;
} preset;

static const preset presets[] = {
    {"mid",
     {.rows = 5000,
      .columns = 200000,
      .entries = 20,
      .correlation = 0.9,
      .support = 200,
      .snr = 4,
      .seed = 2}},
    {"big",
     {.rows = 20000,
      .columns = 1000000,
      .entries = 20,
      .correlation = 0.9,
      .support = 1000,
      .snr = 4,
      .seed = 3}},
    {"ssp500",
     {.rows = 500,
      .columns = 400000,
      .entries = 10,
      .correlation = 0.5,
      .support = 50,
      .snr = 4,
      .seed = 1}},
    {"dense_ar",
     {.rows = 200,
      .columns = 10000,
      .correlation = 0.9,
      .support = 30,
      .snr = 4,
      .seed = 4,
      .dense = true}},
};

static synth_spec find_preset(const char *name)
{
    size_t k = 0;
    while (name && strcmp(presets[k].name, name) != 0) {
        k++; /* the option's choices are these names */
    }
    return presets[k].spec;
}

static strads_err check_spec(const synth_spec *s)
{
    if (!s->dense && s->entries > s->rows) {
        return strads_fail(STRADS_EINVAL,
                           "a column of %" PRIu32 " rows has no room for "
                           "%" PRIu32 " entries; give fewer --entries or "
                           "--dense",
                           s->rows, s->entries);
    }
    if (s->support > s->columns) {
        return strads_fail(STRADS_EINVAL,
                           "--support is %" PRIu32 ", but there are %" PRIu32
                           " columns",
                           s->support, s->columns);
    }
    return STRADS_OK;
}

static strads_err fill_spec(const synth_options *o, synth_spec *s)
{
    *s = find_preset(o->preset);
    if (o->dense && o->entries > 0) {
        return strads_fail(STRADS_EINVAL,
                           "--entries %" PRIu32 " and --dense: a dense "
                           "design has all entries; give one of them",
                           o->entries);
    }
    s->dense = (s->dense && o->entries == 0) || o->dense;
    s->entries = s->dense ? 0 : o->entries ? o->entries : s->entries;
    s->uniform = o->uniform;
    s->rows = o->rows ? o->rows : s->rows;
    s->columns = o->columns ? o->columns : s->columns;
    s->support = o->support ? o->support : s->support;
    s->correlation = o->correlation >= 0 ? o->correlation : s->correlation;
    s->snr = o->snr > 0 ? o->snr : s->snr;
    s->seed = o->seed != UINT64_MAX ? o->seed : s->seed;
    return check_spec(s);
}

/* ---- writing ----------------------------------------------------------- */

static bool ends_in(const char *path, const char *end)
{
    const size_t length = strlen(path), n = strlen(end);
    return length > n && strcmp(path + length - n, end) == 0;
}

/* Text on its way to a file, plain or, where the name ends in .zst, packed. */
typedef struct packer {
    FILE *file;
    ZSTD_CCtx *zstd;
    char out[1 << 16];
    uint64_t bytes; /* that have reached the file */
} packer;

static bool pack(packer *p, const void *from, size_t n, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = {from, n, 0};
    size_t left = 1;
    while (left > 0) {
        ZSTD_outBuffer out = {p->out, sizeof p->out, 0};
        left = ZSTD_compressStream2(p->zstd, &out, &in, how);
        if (ZSTD_isError(left) ||
            fwrite(p->out, 1, out.pos, p->file) != out.pos) {
            return false;
        }
        p->bytes += out.pos;
        left = how == ZSTD_e_end ? left : in.size - in.pos;
    }
    return true;
}

static ssize_t take_text(void *cookie, const char *text, size_t n)
{
    packer *p = cookie;
    if (p->zstd) {
        return pack(p, text, n, ZSTD_e_continue) ? (ssize_t)n : 0;
    }
    p->bytes += n;
    return (ssize_t)fwrite(text, 1, n, p->file);
}

/* n / 1000 without trailing zeros: "-1.25", "0.003". */
static void put_thousandths(FILE *out, int32_t n)
{
    const uint32_t size = n < 0 ? 0u - (uint32_t)n : (uint32_t)n;
    uint32_t rest = size % 1000;
    int digits = 3;
    for (; rest > 0 && rest % 10 == 0; rest /= 10) {
        digits--;
    }
    (void)fprintf(out, rest ? "%s%" PRIu32 ".%0*" PRIu32 : "%s%" PRIu32,
                  n < 0 ? "-" : "", size / 1000, digits, rest);
}

static void write_row(FILE *out, const synth_row *row, bool sign)
{
    if (sign) {
        (void)fputs(row->label >= 0 ? "+1" : "-1", out);
    } else {
        (void)fprintf(out, "%.6g", row->label);
    }
    for (uint32_t k = 0; k < row->n; k++) {
        (void)fprintf(out, " %" PRIu32 ":", row->column[k] + 1);
        put_thousandths(out, row->thousandths[k]);
    }
    (void)fputc('\n', out);
}

typedef struct synth_job {
    const char *path;
    synth_options options;
    synth_spec spec;
    synth *design;
    const volatile bool *stop;
    uint64_t entries, bytes; /* written */
} synth_job;

static strads_err write_rows(synth_job *job, FILE *out)
{
    strads_err err = STRADS_OK;
    cli_progress line;
    cli_progress_begin(&line, job->options.quiet,
                       (cli_goal){.unit = "row", .total = job->spec.rows});
    for (uint32_t i = 0; i < job->spec.rows && !err; i++) {
        const synth_row row = row_at(job->design, i);
        write_row(out, &row, job->options.signs);
        job->entries += row.n;
        cli_progress_at(&line, i + 1, NULL);
        err = *job->stop ? strads_fail(STRADS_ECANCELED, "interrupted")
                         : STRADS_OK;
    }
    cli_progress_end(&line);
    return err;
}

/* Through the packer; ends it. */
static strads_err write_text(synth_job *job, packer *p)
{
    FILE *text =
        fopencookie(p, "w", (cookie_io_functions_t){.write = take_text});
    if (!text || (ends_in(job->path, ".zst") && !p->zstd)) {
        if (text) {
            (void)fclose(text);
        }
        return strads_fail(STRADS_ENOMEM, "%s: no memory to write it",
                           job->path);
    }
    (void)setvbuf(text, NULL, _IOFBF, 1 << 16);
    strads_err err = write_rows(job, text);
    bool bad = ferror(text) != 0;
    bad = fclose(text) != 0 || bad;
    bad = (p->zstd && !pack(p, "", 0, ZSTD_e_end)) || bad;
    if (!err && bad) {
        err =
            strads_fail(STRADS_EIO, "%s: cannot be written: is the disk full?",
                        job->path);
    }
    return err;
}

static strads_err put_data(void *arg, FILE *file)
{
    synth_job *job = arg;
    packer *p = calloc(1, sizeof *p);
    if (!p) {
        return strads_fail(STRADS_ENOMEM, "%s: no memory to write it",
                           job->path);
    }
    p->file = file;
    p->zstd = ends_in(job->path, ".zst") ? ZSTD_createCCtx() : NULL;
    strads_err err = write_text(job, p);
    job->bytes = p->bytes;
    (void)ZSTD_freeCCtx(p->zstd);
    free(p);
    return err;
}

static strads_err put_truth(void *arg, FILE *out)
{
    const synth_job *job = arg;
    for (uint32_t k = 0; k < job->spec.support; k++) {
        (void)fprintf(out, "%" PRIu32 " %.17g\n", job->design->support[k] + 1,
                      job->design->weight[k]);
    }
    return STRADS_OK;
}

static strads_err check_paths(const synth_job *job)
{
    if (ends_in(job->path, ".gz")) {
        return strads_fail(STRADS_EINVAL,
                           "%s: this is written plain or as .zst, not as .gz",
                           job->path);
    }
    strads_err err = sti_atomic_file_check(job->path);
    return err || !job->options.truth
               ? err
               : sti_atomic_file_check(job->options.truth);
}

static strads_err synthesize(void *arg, const char *const *path)
{
    synth_job *job = arg;
    char size[CLI_BYTES_SIZE];
    job->path = path[0];
    strads_err err = fill_spec(&job->options, &job->spec);
    if (!err) {
        err = check_paths(job);
    }
    if (!err) {
        cli_writing();
        job->stop = cli_signal_catch();
        err = make_design(&job->spec, job->stop, &job->design);
    }
    if (!err) {
        err = cli_output(job->path, put_data, job);
    }
    if (!err && job->options.truth) {
        err = cli_output(job->options.truth, put_truth, job);
    }
    if (!err) {
        cli_say(job->options.quiet,
                "%s: %" PRIu32 " rows, %" PRIu32 " columns, %" PRIu64
                " entries, seed %" PRIu64 ", %s",
                job->path, job->spec.rows, job->spec.columns, job->entries,
                job->spec.seed, cli_bytes(job->bytes, size));
    }
    return err;
}

int cli_data_synth_lasso(int argc, char **argv)
{
    synth_job job = {.options = {.correlation = NOT_GIVEN,
                                 .snr = NOT_GIVEN,
                                 .seed = UINT64_MAX}};
    const cli_syntax syntax = {
        .name = "data synth lasso",
        .args = "OUT",
        .summary = "Writes a design with correlated columns and labels of "
                   "known origin as LIBSVM text; OUT.zst is packed.",
        .groups = {{NULL, synth_table, &job.options}},
    };
    const int code = cli_run(&syntax, argc, argv, synthesize, &job);
    free_design(job.design);
    return code;
}
