/* Draws the designs of `strads data synth lasso` with GSL.
 *
 * Sparse: each column has a number of slots, with a row and a value each. From
 * one column to the next, a slot stays the same with probability c, otherwise
 * it is drawn again. So columns i and j have correlation c^|i - j|. If several
 * slots fall on the same row, the first one counts. Dense: rows are draws of an
 * AR(1) process, with the same correlations. Values are rounded to thousandths
 * first, so that text represents the design exactly. Labels are X b + e. b is
 * nonzero on a random support, where it is drawn from N(1, 1) or N(-1, 1), and
 * |X b|^2 = snr |e|^2. */
#include "cli_synth.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli_terminal.h"
#include "engine/base/random.h"

/* The columns over which a slot keeps its row and value. */
typedef struct run {
    uint32_t row, slot, begin, end; /* columns */
    int32_t thousandths;
} run;

/* An entry of the current row. */
typedef struct entry {
    uint32_t column, slot;
    int32_t thousandths;
} entry;

typedef struct synth {
    const cli_synth *o;
    gsl_rng *draw;
    run *runs;                     /* [n_runs], by row */
    size_t n_runs, capacity, next; /* next: first run of the next row */
    entry *entry;                  /* [most] entries of the current row */
    size_t n, most;
    double *label;    /* [rows] */
    uint32_t *chosen; /* [support] columns with nonzero weight */
    double *weight;   /* [columns] */
    const volatile bool *stop;
    uint64_t written;
} synth;

/* ---- random streams ------------------------------------------------------ */

/* GSL's distributions on the engine's streams: the numbers of a stream do not
 * depend on the use of other streams. */
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

/* Sets s->draw to the beginning of stream (seed, purpose, index). */
static void draw_stream(const synth *s, uint64_t purpose, uint64_t index)
{
    *(sti_random *)gsl_rng_state(s->draw) =
        sti_random_stream(s->o->seed, purpose, index);
}

/* Purposes of streams; the index is a slot or a row. */
enum { DRAW_SLOT = 1, DRAW_ROW, DRAW_SUPPORT, DRAW_WEIGHTS, DRAW_NOISE };

/* ---- the design ---------------------------------------------------------- */

static strads_err add_run(synth *s, run r)
{
    if (s->n_runs == s->capacity) {
        const size_t capacity = 2 * s->capacity + 1024;
        run *more = realloc(s->runs, capacity * sizeof *more);
        if (!more) {
            return strads_fail(STRADS_ENOMEM,
                               "no memory for a design of %zu stretches of "
                               "columns: give fewer columns or entries",
                               capacity);
        }
        s->runs = more;
        s->capacity = capacity;
    }
    s->runs[s->n_runs++] = r;
    return STRADS_OK;
}

static int by_row(const void *a, const void *b)
{
    const run *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static strads_err draw_runs(synth *s)
{
    for (uint32_t slot = 0; slot < s->o->entries; slot++) {
        draw_stream(s, DRAW_SLOT, slot);
        for (uint32_t j = 0; j < s->o->columns;) {
            const uint32_t length =
                gsl_ran_geometric(s->draw, 1 - s->o->correlation);
            run r = {.begin = j, .end = s->o->columns, .slot = slot};
            if (length < s->o->columns - j)
                r.end = j + length;
            r.row = (uint32_t)gsl_rng_uniform_int(s->draw, s->o->rows);
            const double x = s->o->uniform
                                 ? gsl_rng_uniform(s->draw)
                                 : gsl_ran_gaussian_ziggurat(s->draw, 1);
            r.thousandths = (int32_t)lrint(x * 1000);
            if (r.thousandths == 0)
                r.thousandths = 1; /* keep the entry nonzero */
            CLI_TRY(add_run(s, r));
            j = r.end;
        }
    }
    qsort(s->runs, s->n_runs, sizeof *s->runs, by_row);
    return STRADS_OK;
}

static strads_err add_entry(synth *s, entry e)
{
    if (s->n == s->most) {
        const size_t most = 2 * s->most + 1024;
        entry *more = realloc(s->entry, most * sizeof *more);
        if (!more)
            return strads_fail(STRADS_ENOMEM, "no memory left for a row");
        s->entry = more;
        s->most = most;
    }
    s->entry[s->n++] = e;
    return STRADS_OK;
}

static int by_column(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->column != y->column ? (x->column > y->column ? 1 : -1)
                                  : (x->slot > y->slot) - (x->slot < y->slot);
}

/* Of several entries in one column, the first slot's is kept. */
static strads_err sparse_row(synth *s, uint32_t i)
{
    size_t left = 0;
    s->n = 0;
    for (; s->next < s->n_runs && s->runs[s->next].row == i; s->next++) {
        const run *r = &s->runs[s->next];
        for (uint32_t j = r->begin; j < r->end; j++)
            CLI_TRY(add_entry(s, (entry){j, r->slot, r->thousandths}));
    }
    if (s->n > 0) /* the array is NULL before the first entry */
        qsort(s->entry, s->n, sizeof *s->entry, by_column);
    for (size_t k = 0; k < s->n; k++)
        if (left == 0 || s->entry[left - 1].column != s->entry[k].column)
            s->entry[left++] = s->entry[k];
    s->n = left;
    return STRADS_OK;
}

/* x_j = c x_(j-1) + sqrt(1 - c^2) z_j */
static strads_err dense_row(synth *s, uint32_t i)
{
    const double c = s->o->correlation, fresh = sqrt(1 - c * c);
    double x = 0;
    s->n = 0;
    draw_stream(s, DRAW_ROW, i);
    for (uint32_t j = 0; j < s->o->columns; j++) {
        const double z = gsl_ran_gaussian_ziggurat(s->draw, 1);
        x = j == 0 ? z : c * x + fresh * z;
        const int32_t thousandths = (int32_t)lrint(x * 1000);
        if (thousandths != 0)
            CLI_TRY(add_entry(s, (entry){j, 0, thousandths}));
    }
    return STRADS_OK;
}

/* Makes row i; rows must be requested in order. */
static strads_err next_row(synth *s, uint32_t i)
{
    if (*s->stop)
        return strads_fail(STRADS_ECANCELED, "interrupted");
    s->next = i == 0 ? 0 : s->next;
    return s->o->dense ? dense_row(s, i) : sparse_row(s, i);
}

/* ---- the answer and the labels ----------------------------------------- */

static strads_err draw_weights(synth *s)
{
    uint32_t *all;
    CLI_TRY(cli_reserve(s->o->columns, sizeof *all, "the columns", &all));
    for (uint32_t j = 0; j < s->o->columns; j++)
        all[j] = j;
    /* gsl_ran_choose keeps the order of its input. */
    draw_stream(s, DRAW_SUPPORT, 0);
    (void)gsl_ran_choose(s->draw, s->chosen, s->o->support, all, s->o->columns,
                         sizeof *all);
    draw_stream(s, DRAW_WEIGHTS, 0);
    for (uint32_t k = 0; k < s->o->support; k++) {
        const double sign = gsl_rng_uniform_int(s->draw, 2) ? 1 : -1;
        s->weight[s->chosen[k]] = sign + gsl_ran_gaussian_ziggurat(s->draw, 1);
    }
    return STRADS_OK;
}

static strads_err draw_labels(synth *s)
{
    double signal = 0, noise = 0;
    for (uint32_t i = 0; i < s->o->rows; i++) {
        double sum = 0;
        CLI_TRY(next_row(s, i));
        for (size_t k = 0; k < s->n; k++)
            sum += s->weight[s->entry[k].column] * s->entry[k].thousandths;
        s->label[i] = sum / 1000;
        signal += s->label[i] * s->label[i];
    }
    for (int pass = 0; pass < 2; pass++) {
        const double share =
            pass && noise > 0 ? sqrt(signal / s->o->snr / noise) : 0;
        draw_stream(s, DRAW_NOISE, 0);
        for (uint32_t i = 0; i < s->o->rows; i++) {
            const double e = gsl_ran_gaussian_ziggurat(s->draw, 1);
            noise += pass ? 0 : e * e;
            s->label[i] += share * e;
        }
    }
    return STRADS_OK;
}

/* ---- the command --------------------------------------------------------- */

/* n / 1000 without trailing zeros: "-1.25", "0.003". */
static void put_thousandths(FILE *out, int32_t n)
{
    const uint32_t size = n < 0 ? 0u - (uint32_t)n : (uint32_t)n;
    uint32_t rest = size % 1000;
    int digits = 3;
    for (; rest > 0 && rest % 10 == 0; rest /= 10)
        digits--;
    (void)fprintf(out, rest ? "%s%" PRIu32 ".%0*" PRIu32 : "%s%" PRIu32,
                  n < 0 ? "-" : "", size / 1000, digits, rest);
}

static strads_err put_design(void *state, FILE *out)
{
    synth *s = state;
    strads_err err = STRADS_OK;
    cli_progress line;
    cli_progress_begin(&line, s->o->use.quiet,
                       (cli_goal){.unit = "row", .total = s->o->rows});
    for (uint32_t i = 0; i < s->o->rows && !err; i++) {
        err = next_row(s, i);
        (void)fprintf(out, s->o->signs ? "%+.0f" : "%.6g",
                      !s->o->signs       ? s->label[i]
                      : s->label[i] >= 0 ? 1
                                         : -1);
        for (size_t k = 0; k < s->n; k++) {
            (void)fprintf(out, " %" PRIu32 ":", s->entry[k].column + 1);
            put_thousandths(out, s->entry[k].thousandths);
        }
        (void)fputc('\n', out);
        s->written += s->n;
        cli_progress_at(&line, i + 1, NULL);
    }
    cli_progress_end(&line);
    return err;
}

static strads_err put_truth(void *state, FILE *out)
{
    const synth *s = state;
    for (uint32_t k = 0; k < s->o->support; k++) {
        (void)fprintf(out, "%" PRIu32 " %.17g\n", s->chosen[k] + 1,
                      s->weight[s->chosen[k]]);
    }
    return STRADS_OK;
}

static strads_err draw_design(synth *s, const char *path)
{
    static const char what[] = "the design";
    const cli_synth *o = s->o;
    CLI_TRY(cli_reserve(o->rows, sizeof *s->label, what, &s->label));
    CLI_TRY(cli_reserve(o->support, sizeof *s->chosen, what, &s->chosen));
    CLI_TRY(cli_reserve(o->columns, sizeof *s->weight, what, &s->weight));
    CLI_TRY(draw_weights(s));
    if (!o->dense)
        CLI_TRY(draw_runs(s));
    CLI_TRY(draw_labels(s));
    CLI_TRY(cli_output(path, put_design, s));
    if (o->truth)
        CLI_TRY(cli_output(o->truth, put_truth, s));
    cli_say(o->use.quiet,
            "%s: %" PRIu32 " rows, %" PRIu32 " columns, %" PRIu64
            " entries, seed %" PRIu64,
            path, o->rows, o->columns, s->written, o->seed);
    return STRADS_OK;
}

strads_err cli_synth_lasso(const cli_synth *options, const char *path)
{
    synth s = {.o = options,
               .draw = gsl_rng_alloc(&streams),
               .stop = cli_signal_catch()};
    const strads_err err =
        s.draw ? draw_design(&s, path)
               : strads_fail(STRADS_ENOMEM, "no memory left for the draws");
    free(s.runs);
    free(s.entry);
    gsl_rng_free(s.draw);
    return err;
}
