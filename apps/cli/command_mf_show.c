/* strads mf show: a model's factors as CSV, a line a user or an item, by the
 * names or numbers that people know. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_mf_ratings.h"
#include "cli_names.h"
#include "cli_options.h"
#include "cli_output.h"
#include "command.h"

typedef struct show_options {
    const char *of, *output;
} show_options;

static const strads_option show_table[] = {
    {.name = "of",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(show_options, of),
     .metavar = "WHOM",
     .help = "users or items (default: items)",
     .choices = "users|items"},
    CLI_OPTION_OUTPUT(offsetof(show_options, output)),
    {.name = NULL},
};

typedef struct shown {
    const cli_mf_model *model;
    bool users;
} shown;

static strads_err put_rows(void *arg, FILE *out)
{
    const cli_mf_model *m = ((const shown *)arg)->model;
    const bool users = ((const shown *)arg)->users;
    char room[CLI_MF_ID_SIZE];
    const strads_names *names = users ? m->user_names : m->item_names;
    const float *x = users ? m->user : m->item;
    const uint64_t n = users ? m->users : m->items;
    (void)fprintf(out, "%s,bias", users ? "user" : "item");
    for (uint32_t k = 1; k <= m->rank; k++) {
        (void)fprintf(out, ",factor_%" PRIu32, k);
    }
    (void)fputc('\n', out);
    for (uint64_t row = 0; row < n; row++) {
        cli_csv_text(out, cli_mf_id(names, row, m->index_base, room));
        for (uint32_t k = 0; k <= m->rank; k++) {
            (void)fputc(',', out);
            cli_csv_number(out, (double)*x++);
        }
        (void)fputc('\n', out);
    }
    return STRADS_OK;
}

int cli_mf_show(int argc, char **argv)
{
    show_options options = {.of = "items"};
    const cli_syntax syntax = {
        .name = "mf show",
        .args = "MODEL",
        .summary = "Writes a model's biases and factors as CSV with a header, "
                   "a line an item or a user.",
        .groups = {{NULL, show_table, &options}},
    };
    cli_mf_model model = {0};
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    const bool go = !err && !parsed.done;
    if (go) {
        err = cli_mf_model_read(parsed.arg[0], &model);
    }
    if (go && !err) {
        shown what = {&model, strcmp(options.of, "users") == 0};
        err = cli_output(options.output, put_rows, &what);
    }
    cli_mf_model_free(&model);
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
