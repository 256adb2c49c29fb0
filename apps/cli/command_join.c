/* strads join URL: this process becomes a node of another process's run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_cluster.h"
#include "cli_join.h"
#include "cli_mf_model.h"
#include "cli_options.h"
#include "cli_plugin.h"
#include "cli_terminal.h"
#include "engine/run/same_machine.h"

static const strads_option join_table[] = {
    CLI_U32(cli_join, engine.workers, "workers", "N",
            "threads of this process (default: one per core)", 1, 1024),
    CLI_FLAG(cli_join, engine.shard, "shard",
             "hold tables of a loop, without workers (default: no)"),
    CLI_TEXT(cli_join, data, "data", "PATH",
             "the data here (default: the coordinator's path, on one machine)"),
    CLI_TEXT(cli_join, root, "data-root", "DIR",
             "read the coordinator's path only below DIR (default: none)"),
    CLI_TEXT(cli_join, engine.listen, "listen", "URL",
             "accept other nodes there (default: where the run is reached)"),
    CLI_TEXT(cli_join, engine.advertise, "advertise", "URL",
             "where others reach this one (default: --listen)"),
    CLI_TEXT(cli_join, engine.token_file, "token-file", "FILE",
             "the token that all nodes share (default: none)"),
    CLI_FLAG(cli_join, engine.insecure, "insecure",
             "allow any address without a token (default: no)"),
    CLI_TEXT(cli_join, engine.tls_ca, "tls-ca", "FILE",
             "tls+tcp: the CA of all nodes' certificates"),
    CLI_TEXT(cli_join, engine.tls_cert, "tls-cert", "FILE",
             "tls+tcp: this node's certificate (PEM)"),
    CLI_TEXT(cli_join, engine.tls_key, "tls-key", "FILE",
             "tls+tcp: its key, for this user alone"),
    CLI_TEXT(cli_join, program, "program", "FILE.so",
             "the program of a `strads run` (default: none)"),
    CLI_F64(cli_join, engine.timeout, "timeout", "SECONDS",
            "seconds for the coordinator to answer (default: 30)", 1e-3, 1e9),
    CLI_F64(cli_join, engine.wait, "wait", "SECONDS",
            "seconds to wait for a lost coordinator (default: "
            "0)",
            0, 1e9),
    STRADS_OPTION(BYTES, cli_join, memory, "memory", "SIZE",
                  "bytes for data: 512M, 1.5G (default: the free memory)",
                  .min = 1, .max = 0x1p53),
    CLI_MF_COLUMNS(cli_join, column),
    CLI_TEXT(cli_join, tables.users, "users", "FILE",
             "fm on ratings: the coordinator's table of users (default: none)"),
    CLI_TEXT(cli_join, tables.items, "items", "FILE", "the same for items"),
    CLI_SAMPLES_OPTIONS(cli_join, samples),
    CLI_FLAG(cli_join, f32, "f32",
             "values in 4 bytes, as the coordinator's (default: no)"),
    CLI_TEXT(cli_join, engine.trace, "trace", "FILE",
             "write a Chrome/Perfetto trace (default: none)"),
    CLI_FLAG(cli_join, quiet, "quiet", "print errors only (default: no)"),
    CLI_WORDS_OPTIONS(cli_join, words),
    {.name = NULL},
};

static const strads_program *find_program(void *arg, const char *name)
{
    const cli_join *s = arg;
    return s->own && strcmp(s->own->name, name) == 0
               ? s->own
               : strads_program_find(name);
}

static void print_notice(void *arg, const char *sentence)
{
    const cli_join *s = arg;
    cli_say(s->quiet, "%s", sentence);
}

/* Whether the file is below the folder, with links resolved. */
static bool is_below(const char *root, const char *path)
{
    char *folder = realpath(root, NULL), *file = realpath(path, NULL);
    const size_t n = folder ? strlen(folder) : 0;
    const bool below = folder && file && strncmp(folder, file, n) == 0 &&
                       (n == 1 || file[n] == '/' || file[n] == '\0');
    free(folder);
    free(file);
    return below;
}

/* The path given to this process, or the coordinator's path if that is
 * permitted. */
static strads_err find_data(const char *url, const strads_engine *engine,
                            const cli_join *s, const char **out)
{
    const char *told = strads_engine_data_path(engine);
    *out = s->data ? s->data : told;
    if (s->data)
        return STRADS_OK;
    if (!told) {
        return strads_fail(STRADS_EINVAL,
                           "the coordinator named no data; give --data PATH");
    }
    if (s->root) {
        return is_below(s->root, told)
                   ? STRADS_OK
                   : strads_fail(STRADS_EINVAL,
                                 "%s: is the coordinator's data, and not a "
                                 "file below --data-root %s; give --data PATH",
                                 told, s->root);
    }
    return sti_url_is_on_this_machine(url)
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "%s: is the data of a coordinator on another "
                             "machine; give --data PATH, or --data-root DIR to "
                             "allow files below DIR",
                             told);
}

static strads_err make_table_rows(void *state, const char *path,
                                  const strads_data_options *options,
                                  strads_data **out)
{
    const cli_join *s = state;
    uint32_t context;
    return cli_fm_rows_read(&s->tables, path, NULL, options, &context, out);
}

/* The data comes from ratings and tables if `strads join` is given them. */
static cli_source join_source(cli_join *s)
{
    if (!s->tables.users && !s->tables.items)
        return (cli_source){s->path, s->make, s->state};
    s->tables.user = s->column[0];
    s->tables.item = s->column[1];
    s->tables.rating = s->column[2];
    return (cli_source){s->path, make_table_rows, s};
}

static strads_err read_share(const char *url, strads_engine *engine,
                             cli_join *s)
{
    char held[CLI_BYTES_SIZE];
    s->wanted = (strads_data_options){
        .size = sizeof s->wanted,
        .values = s->f32 ? STRADS_F32 : STRADS_F64,
        .threads = s->engine.workers,
        .memory_limit = s->memory,
        .user = s->column[0],
        .item = s->column[1],
        .rating = s->column[2],
        .time = s->column[3],
    };
    const char *path = NULL;
    CLI_TRY(find_data(url, engine, s, &path));
    s->path = strdup(path);
    if (!s->path)
        return strads_fail(STRADS_ENOMEM, "no memory for the data's path");
    CLI_TRY(cli_samples_use(&s->samples, &s->wanted));
    CLI_TRY(strads_engine_keep(engine, &s->wanted));
    CLI_TRY(s->read ? s->read(s->state, s->path, &s->wanted)
                    : cli_words_use(&s->words, &s->wanted));
    CLI_TRY(cli_words_find_phrases(&s->words, s->path, &s->wanted));
    cli_cost_tell(s->quiet, s->path, &s->wanted);
    const cli_source source = join_source(s);
    CLI_TRY(cli_source_read(&source, &s->wanted, &s->held));
    strads_data_spend(s->held);
    cli_say(s->quiet, "keeps %s of the data in memory",
            cli_bytes(strads_data_bytes(s->held), held));
    return STRADS_OK;
}

static strads_err take_part(const char *url, cli_join *s)
{
    strads_engine *engine = NULL;
    strads_result *none = NULL;
    s->running = true;
    CLI_TRY(strads_engine_join(url, &s->engine, &engine));
    cli_say(s->quiet, "joined %s: program %s", url,
            strads_engine_program(engine)->name);
    s->running = false;
    strads_err err = read_share(url, engine, s);
    if (!err) {
        s->running = true;
        err = strads_engine_run(engine, s->held, &none);
    }
    while (err == STRADS_EREGROUP) {
        const cli_source source = join_source(s);
        err = cli_regroup(engine, s->quiet, &source, &s->wanted, &s->held);
        if (!err)
            err = strads_engine_run(engine, s->held, &none);
    }
    if (!err)
        cli_say(s->quiet, "the run is over; the coordinator has it");
    strads_result_free(none);
    strads_engine_free(engine);
    return err;
}

int cli_join_run(const char *url, cli_join *s)
{
    s->engine.size = sizeof s->engine;
    s->engine.find = find_program;
    s->engine.find_arg = s;
    s->engine.stop = cli_signal_catch();
    s->engine.regroup = true;
    s->engine.notice = print_notice;
    s->engine.notice_arg = s;
    const strads_err err = take_part(url, s);
    if (err == STRADS_ESTATE) { /* the run has ended */
        cli_say(s->quiet, "%s", strads_error_text());
        return CLI_OK;
    }
    return err ? cli_complain(err, s->running ? CLI_RUNNING : CLI_BEFORE)
               : CLI_OK;
}

static int run_join(const cli_command *self, int argc, char **argv)
{
    cli_join *s;
    cli_plugin plugin = {0};
    cli_parsed parsed;
    strads_err err = cli_reserve(1, sizeof *s, "the command", &s);
    if (err)
        return cli_complain(err, CLI_BEFORE);
    const cli_syntax syntax = {.name = self->name,
                               .args = self->args,
                               .summary = self->about,
                               .groups = {{NULL, join_table, s}}};
    err = cli_parse(&syntax, argc, argv, &parsed);
    if (!err && s->program)
        err = cli_plugin_open(s->program, &plugin);
    if (plugin.handle)
        s->own = &plugin.program;
    const int code = err           ? cli_complain(err, CLI_BEFORE)
                     : parsed.done ? CLI_OK
                                   : cli_join_run(parsed.arg[0], s);
    cli_plugin_close(&plugin);
    return code;
}

const cli_command cli_join_commands[] = {
    {.name = "join",
     .args = "URL",
     .summary = "take part in a run as one more process",
     .about =
         "Joins the run that listens at URL, reads this process's share of "
         "the data and works until the run is over.",
     .run = run_join},
    {.name = NULL},
};
