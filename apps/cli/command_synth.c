/* strads data synth lasso OUT: designs with correlated columns and known
 * weights, to test programs for linear models. cli_synth.c draws them. */
#include <inttypes.h>
#include <string.h>

#include "cli_gsl.h"
#include "cli_synth.h"
#include "cli_terminal.h"

static const strads_option synth_table[] = {
    CLI_U32(cli_synth, rows, "rows", "N", "rows (default: 5000)", 1,
            UINT32_MAX - 2),
    CLI_U32(cli_synth, columns, "columns", "P", "columns (default: 200000)", 1,
            UINT32_MAX - 2),
    CLI_U32(cli_synth, entries, "entries", "K",
            "entries of a column (default: 20)", 1, UINT32_MAX - 2),
    CLI_F64(cli_synth, correlation, "correlation", "C",
            "correlation of neighbours; of columns d apart C^d (default: 0.9)",
            0, 0.999999),
    CLI_U32(cli_synth, support, "support", "K",
            "columns with an effect on labels (default: 200)", 1,
            UINT32_MAX - 2),
    CLI_F64(cli_synth, snr, "snr", "S",
            "signal to noise, |Xb|^2 / |noise|^2 (default: 4)", 1e-9, 1e12),
    STRADS_OPTION(U64, cli_synth, seed, "seed", "S",
                  "seed of all random draws (default: 2)", .min = 0,
                  .max = 9007199254740991.),
    CLI_FLAG(cli_synth, dense, "dense",
             "dense normal rows with that correlation (default: no)"),
    CLI_FLAG(cli_synth, uniform, "uniform",
             "values from [0, 1) instead of normal ones (default: no)"),
    CLI_FLAG(cli_synth, signs, "signs",
             "labels are signs, -1 and +1 (default: no)"),
    CLI_TEXT(cli_synth, truth, "truth", "FILE",
             "write b there: a line \"COLUMN VALUE\" each (default: no)"),
    {.name = NULL},
};

static strads_err check_design(cli_synth *s)
{
    if (s->dense && s->entries > 0) {
        return strads_fail(STRADS_EINVAL,
                           "--entries %" PRIu32 " and --dense: a dense "
                           "design has all entries; give one of them",
                           s->entries);
    }
    s->entries = s->dense ? 0 : s->entries ? s->entries : 20;
    if (s->entries > s->rows) {
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

static strads_err synthesize(void *state, const char *const *path)
{
    cli_synth *s = state;
    const char *end = strrchr(path[0], '.');
    CLI_TRY(cli_gsl_check("strads data synth"));
    if (end && (strcmp(end, ".gz") == 0 || strcmp(end, ".zst") == 0)) {
        return strads_fail(STRADS_EINVAL,
                           "%s: this is written plain; write it to /dev/stdout "
                           "and compress that",
                           path[0]);
    }
    CLI_TRY(check_design(s));
    CLI_TRY(cli_output_check(path[0]));
    if (s->truth)
        CLI_TRY(cli_output_check(s->truth));
    cli_writing();
    return cli_synth_lasso(s, path[0]);
}

static const cli_verb synth_verb = {
    .size = sizeof(cli_synth),
    .initial = &(const cli_synth){.rows = 5000,
                                  .columns = 200000,
                                  .support = 200,
                                  .correlation = 0.9,
                                  .snr = 4,
                                  .seed = 2},
    .table = synth_table,
    .has = CLI_HAS_QUIET,
    .read = synthesize,
};

const cli_command cli_synth_commands[] = {
    {.name = "data synth lasso",
     .args = "OUT",
     .summary = "make data of known origin for linear models",
     .about = "Writes a design with correlated columns and labels of known "
              "origin as LIBSVM text.",
     .verb = &synth_verb},
    {.name = NULL},
};
