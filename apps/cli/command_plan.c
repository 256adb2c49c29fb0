/* strads plan make|check|show: plans of static programs. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_options.h"
#include "cli.h"
#include "engine/base/atomic_file.h"

typedef struct plan_options {
    uint32_t partitions, blocks, workers;
    const char *data, *kind, *planner;
    double balance;
    bool json;
} plan_options;

#define FIELD(field) .offset = offsetof(plan_options, field)

static const strads_option make_table[] = {
    {.name = "partitions",
     .kind = STRADS_OPTION_U32,
     FIELD(partitions),
     .metavar = "K",
     .help = "shares of the data that blocks visit (needed)",
     .min = 1,
     .max = 65536},
    {.name = "blocks",
     .kind = STRADS_OPTION_U32,
     FIELD(blocks),
     .metavar = "B",
     .help = "blocks that travel (default: two a partition)",
     .min = 1,
     .max = 1048576},
    {.name = "planner",
     .kind = STRADS_OPTION_STRING,
     FIELD(planner),
     .metavar = "NAME",
     .help = "rotation or weighted (default: weighted)",
     .choices = "rotation|weighted"},
    {.name = "data",
     .kind = STRADS_OPTION_STRING,
     FIELD(data),
     .metavar = "FILE",
     .help = "weights from its columns' counts (default: all 1)"},
    {.name = "kind",
     .kind = STRADS_OPTION_STRING,
     FIELD(kind),
     .metavar = "KIND",
     .help = "of data: samples (default), corpus, text, documents, ratings"},
    {.name = "workers",
     .kind = STRADS_OPTION_U32,
     FIELD(workers),
     .metavar = "N",
     .help = "threads that read it (default: one per core)",
     .min = 1,
     .max = 1024},
    {.name = NULL},
};

static const strads_option check_table[] = {
    {.name = "partitions",
     .kind = STRADS_OPTION_U32,
     FIELD(partitions),
     .metavar = "K",
     .help = "it has to be for so many (default: any)",
     .min = 1,
     .max = 65536},
    {.name = "blocks",
     .kind = STRADS_OPTION_U32,
     FIELD(blocks),
     .metavar = "B",
     .help = "and have so many (default: any)",
     .min = 1,
     .max = 1048576},
    {.name = "balance",
     .kind = STRADS_OPTION_F64,
     FIELD(balance),
     .metavar = "X",
     .help = "work of a step's busiest by its mean one (default: any)",
     .min = 1,
     .max = 1e9},
    {.name = NULL},
};

static const strads_option show_table[] = {
    {.name = "json",
     .kind = STRADS_OPTION_BOOL,
     FIELD(json),
     .help = "its sizes as one JSON object (default: a table)"},
    {.name = NULL},
};

/* ---- make -------------------------------------------------------------- */

/* What a program that deals its columns gets: a block's entries, and the
 * entries of each partition's share. */
static strads_err weigh_by_data(const plan_options *o, const strads_data *data,
                                double *block, double *partition)
{
    uint64_t cols = strads_data_cols(data);
    double *count = malloc(sizeof *count * (cols + 1));
    strads_cut *cut = NULL;
    if (!count) {
        return strads_fail(STRADS_ENOMEM,
                           "no memory left for %" PRIu64 " columns", cols);
    }
    for (uint64_t j = 0; j < cols; j++) {
        count[j] = strads_data_col_nnz(data, j);
    }
    strads_err err =
        strads_cut_deal((uint32_t)cols, count, o->blocks, o->partitions, &cut);
    for (uint32_t b = 0; b < o->blocks && !err; b++) {
        block[b] = cut->weight[b];
    }
    for (uint32_t p = 0; p < o->partitions && !err; p++) {
        partition[p] = (double)strads_data_share(data, p)->by_col.nnz;
    }
    strads_cut_free(cut);
    free(count);
    return err;
}

static strads_err weigh(const plan_options *o, double *block, double *partition)
{
    for (uint32_t b = 0; b < o->blocks; b++) {
        block[b] = 1;
    }
    for (uint32_t p = 0; p < o->partitions; p++) {
        partition[p] = 1;
    }
    if (!o->data) {
        return STRADS_OK;
    }
    strads_data_options options = {.size = sizeof options,
                                   .partitions = o->partitions,
                                   .layout = STRADS_LAYOUT_COLS,
                                   .named_labels = true,
                                   .threads = o->workers};
    strads_data *data = NULL;
    strads_err err = cli_data_kind(o->kind, &options.kind);
    if (!err) {
        err = strads_data_read(o->data, &options, &data);
    }
    if (!err) {
        err = weigh_by_data(o, data, block, partition);
    }
    strads_data_free(data);
    return err;
}

/* A rotation that has weights, so that `check` can judge it by them. */
static strads_err make_plan(const plan_options *o, const double *block,
                            const double *partition, strads_plan **out)
{
    if (!o->planner || strcmp(o->planner, "rotation") != 0) {
        return strads_plan_weighted(o->partitions, o->blocks, block, partition,
                                    out);
    }
    strads_plan *bare = NULL;
    strads_err err = strads_plan_rotation(o->partitions, o->blocks, &bare);
    if (err) {
        return err;
    }
    strads_plan draft = *bare;
    draft.block_weight = block;
    draft.partition_weight = partition;
    err = strads_plan_new(&draft, out);
    strads_plan_free(bare);
    return err;
}

static void tell(const char *path, const strads_plan *plan)
{
    cli_say(false,
            "%s: %" PRIu32 " partitions, %" PRIu32 " blocks, %" PRIu32
            " steps; a step's busiest partition has %.3f times the mean work",
            path, plan->partitions, plan->blocks, plan->steps,
            strads_plan_imbalance(plan));
}

static strads_err make(const char *path, plan_options *o)
{
    if (o->partitions == 0) {
        return strads_fail(STRADS_EINVAL,
                           "--partitions K is needed: how many shares of the "
                           "data the blocks visit");
    }
    if (o->blocks == 0) {
        o->blocks = 2 * o->partitions;
    }
    double *block = malloc(sizeof *block * o->blocks);
    double *partition = malloc(sizeof *partition * o->partitions);
    strads_plan *plan = NULL;
    strads_err err = block && partition
                         ? sti_atomic_file_check(path)
                         : strads_fail(STRADS_ENOMEM, "no memory for a plan");
    if (!err) {
        err = weigh(o, block, partition);
    }
    if (!err) {
        err = make_plan(o, block, partition, &plan);
    }
    if (!err) {
        cli_writing();
        err = strads_plan_write(plan, path);
    }
    if (!err) {
        tell(path, plan);
    }
    strads_plan_free(plan);
    free(block);
    free(partition);
    return err;
}

/* ---- check ------------------------------------------------------------- */

static strads_err check_number(const char *path, const char *what,
                               uint32_t found, uint32_t wanted)
{
    return wanted == 0 || found == wanted
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "%s: has %" PRIu32 " %s, expected %" PRIu32, path,
                             found, what, wanted);
}

static strads_err check(const char *path, plan_options *o)
{
    strads_plan *plan = NULL;
    strads_err err = strads_plan_read(path, &plan);
    if (!err) {
        err = check_number(path, "partitions", plan->partitions, o->partitions);
    }
    if (!err) {
        err = check_number(path, "blocks", plan->blocks, o->blocks);
    }
    if (!err && o->balance > 0 && strads_plan_check(plan, o->balance)) {
        char why[256];
        (void)snprintf(why, sizeof why, "%s", strads_error_text());
        err = strads_fail(STRADS_EINVAL, "%s: %s", path, why);
    }
    if (!err) {
        tell(path, plan);
    }
    strads_plan_free(plan);
    return err;
}

/* ---- show -------------------------------------------------------------- */

/* An entry as "0 4"; "-" where the partition idles. */
static void entry_text(const strads_plan *plan, uint32_t t, uint32_t p,
                       char *out, size_t size)
{
    const uint32_t *start = &plan->start[(size_t)t * plan->partitions + p];
    size_t at =
        (size_t)snprintf(out, size, "%s", start[0] == start[1] ? "-" : "");
    for (uint32_t e = start[0]; e < start[1] && at < size; e++) {
        at += (size_t)snprintf(out + at, size - at, "%s%" PRIu32,
                               e > start[0] ? " " : "", plan->block[e]);
    }
}

enum { ENTRY_MAX = 256 };

static int widest_entry(const strads_plan *plan)
{
    char text[ENTRY_MAX];
    size_t widest = 4;
    for (uint32_t t = 0; t < plan->steps; t++) {
        for (uint32_t p = 0; p < plan->partitions; p++) {
            entry_text(plan, t, p, text, sizeof text);
            widest = strlen(text) > widest ? strlen(text) : widest;
        }
    }
    return (int)widest;
}

static void print_table(const strads_plan *plan)
{
    char text[ENTRY_MAX];
    int width = widest_entry(plan);
    (void)printf("%-6s", "step");
    for (uint32_t p = 0; p < plan->partitions; p++) {
        (void)printf("  p%-*" PRIu32, width - 1, p);
    }
    (void)putchar('\n');
    for (uint32_t t = 0; t < plan->steps; t++) {
        (void)printf("%-6" PRIu32, t);
        for (uint32_t p = 0; p < plan->partitions; p++) {
            entry_text(plan, t, p, text, sizeof text);
            (void)printf("  %-*s", width, text);
        }
        (void)putchar('\n');
    }
}

static void print_sizes(const strads_plan *plan, const plan_options *o)
{
    if (o->json) {
        (void)printf("{\"partitions\": %" PRIu32 ", \"blocks\": %" PRIu32
                     ", \"steps\": %" PRIu32 ", \"imbalance\": %.15g}\n",
                     plan->partitions, plan->blocks, plan->steps,
                     strads_plan_imbalance(plan));
        return;
    }
    (void)printf("%" PRIu32 " partitions, %" PRIu32 " blocks, %" PRIu32
                 " steps; busiest by mean work of a step: %.3f\n\n",
                 plan->partitions, plan->blocks, plan->steps,
                 strads_plan_imbalance(plan));
    print_table(plan);
}

static strads_err show(const char *path, plan_options *o)
{
    strads_plan *plan = NULL;
    strads_err err = strads_plan_read(path, &plan);
    if (!err) {
        print_sizes(plan, o);
    }
    strads_plan_free(plan);
    return err;
}

/* ---- the three of them ------------------------------------------------- */

static int run_plan(const cli_syntax *syntax, int argc, char **argv,
                    plan_options *options,
                    strads_err (*work)(const char *path, plan_options *o))
{
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = work(parsed.arg[0], options);
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}

int cli_plan_make(int argc, char **argv)
{
    plan_options options = {0};
    const cli_syntax syntax = {
        .name = "plan make",
        .args = "OUT.json",
        .summary = "Makes a plan: which partition takes which blocks in which "
                   "step.",
        .groups = {{NULL, make_table, &options}},
    };
    return run_plan(&syntax, argc, argv, &options, make);
}

int cli_plan_check(int argc, char **argv)
{
    plan_options options = {0};
    const cli_syntax syntax = {
        .name = "plan check",
        .args = "FILE",
        .summary = "Says whether every block meets every partition once, and "
                   "nobody shares a block in a step; if not, where.",
        .groups = {{NULL, check_table, &options}},
    };
    return run_plan(&syntax, argc, argv, &options, check);
}

int cli_plan_show(int argc, char **argv)
{
    plan_options options = {0};
    const cli_syntax syntax = {
        .name = "plan show",
        .args = "FILE",
        .summary = "Prints a plan: a line for each step, a column for each "
                   "partition.",
        .groups = {{NULL, show_table, &options}},
    };
    return run_plan(&syntax, argc, argv, &options, show);
}
