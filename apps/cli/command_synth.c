/* strads data synth lasso OUT: data of known origin for linear models. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli_design.h"
#include "cli_options.h"
#include "cli_progress.h"
#include "cli_signal.h"
#include "cli_text_out.h"
#include "command.h"
#include "engine/base/atomic_file.h"

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
    cli_design_spec spec;
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

static cli_design_spec find_preset(const char *name)
{
    size_t k = 0;
    while (name && strcmp(presets[k].name, name) != 0) {
        k++; /* the option's choices are these names */
    }
    return presets[k].spec;
}

static strads_err check_spec(const cli_design_spec *s)
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

static strads_err fill_spec(const synth_options *o, cli_design_spec *s)
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

enum { ENTRY_MOST = 32 };

static void write_label(cli_text_out *text, double label, bool sign)
{
    char *at = cli_text_room(text, ENTRY_MOST);
    const int n = sign ? snprintf(at, ENTRY_MOST, label >= 0 ? "+1" : "-1")
                       : snprintf(at, ENTRY_MOST, "%.6g", label);
    cli_text_took(text, (size_t)n);
}

static void write_row(cli_text_out *text, const cli_design_row *row, bool sign)
{
    write_label(text, row->label, sign);
    for (uint32_t k = 0; k < row->n; k++) {
        char *const begin = cli_text_room(text, ENTRY_MOST), *at = begin;
        *at++ = ' ';
        at = cli_text_u32(at, row->column[k] + 1);
        *at++ = ':';
        at = cli_text_thousandths(at, row->thousandths[k]);
        cli_text_took(text, (size_t)(at - begin));
    }
    *cli_text_room(text, 1) = '\n';
    cli_text_took(text, 1);
}

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct synth_job {
    const char *path;
    const synth_options *options;
    cli_design_spec spec;
    cli_design *design;
    const volatile bool *stop;
    uint64_t entries, bytes; /* written */
} synth_job;

static strads_err write_rows(synth_job *job, cli_text_out *text)
{
    const double begun = seconds_now();
    strads_err err = STRADS_OK;
    cli_progress line;

    cli_progress_begin(&line, job->options->quiet);
    for (uint32_t i = 0; i < job->spec.rows && !err; i++) {
        char note[64];
        const cli_design_row row = cli_design_at(job->design, i);
        write_row(text, &row, job->options->signs);
        job->entries += row.n;
        (void)snprintf(note, sizeof note, "row %" PRIu32 " of %" PRIu32, i + 1,
                       job->spec.rows);
        cli_progress_note(&line, seconds_now() - begun, note);
        err = *job->stop ? strads_fail(STRADS_ECANCELED, "interrupted")
                         : STRADS_OK;
    }
    cli_progress_end(&line);
    return err;
}

static strads_err write_data(synth_job *job)
{
    cli_text_out *text = NULL;
    strads_err err = cli_text_open(job->path, &text);
    if (err) {
        return err;
    }
    err = write_rows(job, text);
    if (err) {
        cli_text_abandon(text);
        return err;
    }
    return cli_text_close(text, &job->bytes);
}

static strads_err write_truth(const synth_job *job)
{
    sti_atomic_file target = {0};
    if (!job->options->truth) {
        return STRADS_OK;
    }
    strads_err err = sti_atomic_file_open(job->options->truth, &target);
    for (uint32_t k = 0; k < job->spec.support && !err; k++) {
        (void)fprintf(target.stream, "%" PRIu32 " %.17g\n",
                      cli_design_support(job->design)[k] + 1,
                      cli_design_weights(job->design)[k]);
    }
    return err ? err : sti_atomic_file_commit(&target);
}

static strads_err check_paths(const synth_job *job)
{
    strads_err err = sti_atomic_file_check(job->path);
    return err || !job->options->truth
               ? err
               : sti_atomic_file_check(job->options->truth);
}

static strads_err synthesize(synth_job *job)
{
    char size[CLI_BYTES_SIZE];
    strads_err err = cli_design_new(&job->spec, job->stop, &job->design);
    if (!err) {
        err = write_data(job);
    }
    if (!err) {
        err = write_truth(job);
    }
    if (!err) {
        cli_say(job->options->quiet,
                "%s: %" PRIu32 " rows, %" PRIu32 " columns, %" PRIu64
                " entries, seed %" PRIu64 ", %s",
                job->path, job->spec.rows, job->spec.columns, job->entries,
                job->spec.seed, cli_bytes(job->bytes, size));
    }
    cli_design_free(job->design);
    return err;
}

int cli_data_synth_lasso(int argc, char **argv)
{
    synth_options options = {.correlation = NOT_GIVEN,
                             .snr = NOT_GIVEN,
                             .seed = UINT64_MAX};
    const cli_syntax syntax = {
        .name = "data synth lasso",
        .args = "OUT",
        .summary = "Writes a design with correlated columns and labels of "
                   "known origin as LIBSVM text; OUT.zst is packed.",
        .groups = {{NULL, synth_table, &options}},
    };
    cli_parsed parsed;
    cli_stage stage = CLI_BEFORE;
    sti_config_strings strings = {0};
    synth_job job = {.options = &options};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        job.path = parsed.arg[0];
        err = fill_spec(&options, &job.spec);
        if (!err) {
            err = check_paths(&job);
        }
        if (!err) {
            stage = CLI_RUNNING;
            job.stop = cli_signal_catch();
            err = synthesize(&job);
        }
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, stage) : CLI_OK;
}
