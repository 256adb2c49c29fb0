/* strads plan make|check|show: plans of static programs. */
#include <inttypes.h>
#include <string.h>

#include "cli_options.h"
#include "engine/base/atomic_file.h"

typedef struct plan_state {
    cli_use use;
    uint32_t partitions, blocks;
    const char *data, *kind, *planner;
    double balance;
    double *block, *partition; /* weights, [blocks] and [partitions] */
    strads_plan *plan;
} plan_state;

static void describe_plan(const char *path, const strads_plan *plan)
{
    cli_say(false,
            "%s: %" PRIu32 " partitions, %" PRIu32 " blocks, %" PRIu32
            " steps; a step's busiest partition has %.3f times the mean work",
            path, plan->partitions, plan->blocks, plan->steps,
            strads_plan_imbalance(plan));
}

/* ---- make -------------------------------------------------------------- */

static const strads_option make_table[] = {
    CLI_U32(plan_state, partitions, "partitions", "K",
            "shares of the data that blocks visit (required)", 1, 65536),
    CLI_U32(plan_state, blocks, "blocks", "B",
            "blocks that travel (default: two a partition)", 1, 1048576),
    CLI_CHOICE(plan_state, planner, "planner", "NAME",
               "rotation or weighted (default: weighted)", "rotation|weighted"),
    CLI_TEXT(plan_state, data, "data", "FILE",
             "weigh blocks by its columns' entries (default: all 1)"),
    CLI_CHOICE(plan_state, kind, "kind", "KIND",
               "of data: samples, corpus, text, documents, ratings, graph "
               "(default: samples)",
               CLI_DATA_KINDS),
    {.name = NULL},
};

/* Computes weights for a program that deals out its columns: a block's entries,
 * and the entries of each partition's share. */
static strads_err weigh_by_data(plan_state *s, const strads_data *data)
{
    const uint64_t cols = strads_data_cols(data);
    double *count;
    strads_cut *cut;
    CLI_TRY(cli_reserve(cols, sizeof *count, "the columns", &count));
    for (uint64_t j = 0; j < cols; j++)
        count[j] = strads_data_col_nnz(data, j);
    CLI_TRY(
        strads_cut_deal((uint32_t)cols, count, s->blocks, s->partitions, &cut));
    for (uint32_t b = 0; b < s->blocks; b++)
        s->block[b] = cut->weight[b];
    for (uint32_t p = 0; p < s->partitions; p++)
        s->partition[p] = (double)strads_data_share(data, p)->by_col.nnz;
    strads_cut_free(cut);
    return STRADS_OK;
}

static strads_err weigh_blocks(plan_state *s)
{
    for (uint32_t b = 0; b < s->blocks; b++)
        s->block[b] = 1;
    for (uint32_t p = 0; p < s->partitions; p++)
        s->partition[p] = 1;
    if (!s->data)
        return STRADS_OK;
    strads_data_options options = {.size = sizeof options,
                                   .kind = cli_data_kind(s->kind,
                                                         STRADS_KIND_SAMPLES),
                                   .partitions = s->partitions,
                                   .layout = STRADS_LAYOUT_COLS,
                                   .named_labels = true,
                                   .memory_limit = s->use.memory,
                                   .threads = s->use.workers};
    strads_data *data = NULL;
    CLI_TRY(strads_data_read(s->data, &options, &data));
    CLI_TRY(weigh_by_data(s, data));
    strads_data_free(data);
    return STRADS_OK;
}

/* Makes a rotation with weights, so that `check` can evaluate it. */
static strads_err make_plan(plan_state *s)
{
    if (!s->planner || strcmp(s->planner, "rotation") != 0) {
        return strads_plan_weighted(s->partitions, s->blocks, s->block,
                                    s->partition, &s->plan);
    }
    strads_plan *bare = NULL;
    CLI_TRY(strads_plan_rotation(s->partitions, s->blocks, &bare));
    strads_plan draft = *bare;
    draft.block_weight = s->block;
    draft.partition_weight = s->partition;
    const strads_err err = strads_plan_new(&draft, &s->plan);
    strads_plan_free(bare);
    return err;
}

static strads_err write_plan(void *state, const char *const *path)
{
    plan_state *s = state;
    if (s->partitions == 0) {
        return strads_fail(STRADS_EINVAL,
                           "--partitions K is missing: how many shares of the "
                           "data the blocks visit");
    }
    s->blocks = s->blocks ? s->blocks : 2 * s->partitions;
    CLI_TRY(cli_reserve(s->blocks, sizeof *s->block, "a plan", &s->block));
    CLI_TRY(cli_reserve(s->partitions, sizeof *s->partition, "a plan",
                        &s->partition));
    CLI_TRY(sti_atomic_file_check(path[0]));
    CLI_TRY(weigh_blocks(s));
    CLI_TRY(make_plan(s));
    cli_writing();
    CLI_TRY(strads_plan_write(s->plan, path[0]));
    describe_plan(path[0], s->plan);
    return STRADS_OK;
}

/* ---- check ------------------------------------------------------------- */

static const strads_option check_table[] = {
    CLI_U32(plan_state, partitions, "partitions", "K",
            "expected partitions (default: any)", 1, 65536),
    CLI_U32(plan_state, blocks, "blocks", "B", "expected blocks (default: any)",
            1, 1048576),
    CLI_F64(plan_state, balance, "balance", "X",
            "limit of a step's largest work by its mean (default: any)", 1,
            1e9),
    {.name = NULL},
};

static strads_err check_number(const char *path, const char *what,
                               uint32_t found, uint32_t wanted)
{
    return wanted == 0 || found == wanted
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "%s: has %" PRIu32 " %s, expected %" PRIu32, path,
                             found, what, wanted);
}

static strads_err check_plan(void *state, const char *const *path)
{
    plan_state *s = state;
    CLI_TRY(strads_plan_read(path[0], &s->plan));
    CLI_TRY(check_number(path[0], "partitions", s->plan->partitions,
                         s->partitions));
    CLI_TRY(check_number(path[0], "blocks", s->plan->blocks, s->blocks));
    if (s->balance > 0 && strads_plan_check(s->plan, s->balance)) {
        char why[256];
        (void)snprintf(why, sizeof why, "%s", strads_error_text());
        return strads_fail(STRADS_EINVAL, "%s: %s", path[0], why);
    }
    describe_plan(path[0], s->plan);
    return STRADS_OK;
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

static void put_grid(const strads_plan *plan, FILE *out)
{
    char text[ENTRY_MAX];
    int width = widest_entry(plan);
    (void)fprintf(out, "%-6s", "step");
    for (uint32_t p = 0; p < plan->partitions; p++)
        (void)fprintf(out, "  p%-*" PRIu32, width - 1, p);
    (void)fputc('\n', out);
    for (uint32_t t = 0; t < plan->steps; t++) {
        (void)fprintf(out, "%-6" PRIu32, t);
        for (uint32_t p = 0; p < plan->partitions; p++) {
            entry_text(plan, t, p, text, sizeof text);
            (void)fprintf(out, "  %-*s", width, text);
        }
        (void)fputc('\n', out);
    }
}

/* csv and npy: one row for each block with its step and partition; json:
 * sizes. */
static strads_err put_plan(void *state, FILE *out)
{
    static const cli_column columns[] = {{"step", CLI_COUNT, 0},
                                         {"partition", CLI_COUNT, 0},
                                         {"block", CLI_COUNT, 0}};
    const plan_state *s = state;
    const strads_plan *plan = s->plan;
    const double busiest = strads_plan_imbalance(plan);
    const size_t cells = (size_t)plan->steps * plan->partitions;
    cli_table t = {.column = columns, .n = 3, .rows = plan->start[cells]};
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    if (t.format == CLI_FORMAT_JSON) {
        (void)fprintf(out,
                      "{\"partitions\": %" PRIu32 ", \"blocks\": %" PRIu32
                      ", \"steps\": %" PRIu32 ", \"imbalance\": %.15g}\n",
                      plan->partitions, plan->blocks, plan->steps, busiest);
        return STRADS_OK;
    }
    if (t.format == CLI_FORMAT_TEXT) {
        (void)fprintf(out,
                      "%" PRIu32 " partitions, %" PRIu32 " blocks, %" PRIu32
                      " steps; busiest by mean work of a step: %.3f\n\n",
                      plan->partitions, plan->blocks, plan->steps, busiest);
        put_grid(plan, out);
        return STRADS_OK;
    }
    for (size_t c = 0; c < cells; c++) {
        for (uint32_t e = plan->start[c]; e < plan->start[c + 1]; e++) {
            cli_table_count(&t, c / plan->partitions);
            cli_table_count(&t, c % plan->partitions);
            cli_table_count(&t, plan->block[e]);
        }
    }
    return STRADS_OK;
}

static strads_err show_plan(void *state, const char *const *path)
{
    return strads_plan_read(path[0], &((plan_state *)state)->plan);
}

/* ---- the commands -------------------------------------------------------- */

static const cli_verb make_verb = {.size = sizeof(plan_state),
                                   .table = make_table,
                                   .has = CLI_HAS_WORKERS,
                                   .read = write_plan};
static const cli_verb check_verb = {.size = sizeof(plan_state),
                                    .table = check_table,
                                    .read = check_plan};
static const cli_verb show_verb = {.size = sizeof(plan_state),
                                   .usual = "text",
                                   .read = show_plan,
                                   .write = put_plan};

const cli_command cli_plan_commands[] = {
    {.name = "plan make",
     .args = "OUT.json",
     .summary = "make a plan: the blocks of each step",
     .about = "Makes a plan: which partition takes which blocks in which step.",
     .verb = &make_verb},
    {.name = "plan check",
     .args = "FILE",
     .summary = "check that a plan keeps the rules",
     .about =
         "Checks that every block meets every partition once, and that no two "
         "partitions have the same block in a step. Reports where they do.",
     .verb = &check_verb},
    {.name = "plan show",
     .args = "FILE",
     .summary = "print a plan as a table",
     .about = "Prints a plan: a line for each step, a column for each "
              "partition.",
     .verb = &show_verb},
    {.name = NULL},
};
