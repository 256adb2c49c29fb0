/* The options of a simulation: the program's, those of the network and the
 * workers, and the engine's as far as they mean something here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli_options.h"
#include "cli_train.h"
#include "cli_sim.h"
#include "cli.h"
#include "engine/base/atomic_file.h"

/* What few simulations set is RARE in --help. */
#define RARE(field, name_, metavar_, help_)                            \
    {                                                                  \
        .name = name_, .kind = STRADS_OPTION_STRING,                   \
        .offset = offsetof(cli_sim_words, field), .metavar = metavar_, \
        .help = help_, .rare = true                                    \
    }

#define WORD(field, name_, metavar_, help_)                            \
    {                                                                  \
        .name = name_, .kind = STRADS_OPTION_STRING,                   \
        .offset = offsetof(cli_sim_words, field), .metavar = metavar_, \
        .help = help_                                                  \
    }

static const strads_option sim_table[] = {
    {.name = "workers",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(cli_sim_words, workers),
     .metavar = "N",
     .help = "simulated workers, one a node (default: 8)",
     .min = 1,
     .max = CLI_SIM_WORKERS},
    WORD(curve, "curve", "A..B", "A, 2 A, 4 A, ... workers up to B instead"),
    WORD(svg, "svg", "FILE", "draw the curve there (default: nowhere)"),
    WORD(latency, "latency", "T", "of a message between nodes (default: 50us)"),
    WORD(bandwidth, "bandwidth", "R", "of a node's port (default: 10Gbit)"),
    RARE(message_cost, "message-cost", "T",
         "sender's and receiver's time for it (default: 2us)"),
    RARE(receive_cost, "receive-cost", "T",
         "receiver's (default: as --message-cost)"),
    {.name = "jitter",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(cli_sim_words, jitter),
     .metavar = "J",
     .help = "each time is drawn from 1 to 1 + J of it (default: 0)",
     .rare = true,
     .min = 0,
     .max = 1000},
    WORD(straggler, "straggler", "W:F",
         "worker W takes F times as long; W:F,W:F"),
    RARE(slow_share, "slow-share", "S:F",
         "a share S of the workers takes F times as long"),
    WORD(cost, "cost", "C", "measured, a file, or ns an entry (measured)"),
    RARE(save_cost, "save-cost", "FILE", "write what was measured there"),
    {.name = NULL},
};

static const strads_option file_table[] = {
    WORD(log, "log", "RUN.jsonl", "write JSON lines (default: none)"),
    WORD(labels, "labels", "FILE", "labels of MatrixMarket data, one a line"),
    {.name = "f32",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(cli_sim_words, f32),
     .help = "values in 4 bytes instead of 8 (default: no)",
     .rare = true},
    CLI_FLAG(cli_sim_words, quiet, "quiet",
             "print the result only (default: no)"),
    {.name = NULL},
};

/* Of the engine's options those that a simulation has, too. */
static const strads_option *running_table(const cli_sim *sim)
{
    enum { MOST = 15 };
    static const char *const rounds[MOST] = {
        "partitions", "policy",    "depth",      "blocks", "schedulers",
        "threshold",  "tolerance", "max-rounds", "seed",   "deterministic",
        "time-limit", "trace",     "pools",      "plan"};
    static const char *const loops[MOST] = {"partitions",  "tolerance",
                                            "max-rounds",  "seed",
                                            "time-limit",  "shards",
                                            "eager",       "hold-below",
                                            "push-bytes",  "window",
                                            "cache-bytes", "trace"};
    static strads_option table[MOST + 1];
    const bool loop = sim->program->run != NULL;
    const char *const *names = loop ? loops : rounds;
    const strads_option *all =
        loop ? strads_engine_loop_option_table() : strads_engine_option_table();
    size_t n = 0;
    for (size_t k = 0; names[k]; k++) {
        if (cli_option_suits(sim->program, names[k])) {
            table[n++] = *strads_option_find(all, names[k]);
        }
    }
    table[n] = (strads_option){.name = NULL};
    return table;
}

static strads_err set_defaults(cli_sim *sim)
{
    const strads_program *program = sim->program;
    sim->engine = (strads_engine_options){
        .size = sizeof sim->engine,
        .policy = "priority",
        .blocks = 1,
        .threshold = 0.1,
        .tolerance = 1e-6,
        .shards = 1,
        .cache_bytes = UINT64_C(256) << 20,
    };
    sim->words = (cli_sim_words){.workers = 8,
                                 .latency = "50us",
                                 .bandwidth = "10Gbit",
                                 .message_cost = "2us",
                                 .cost = "measured"};
    sim->config = calloc(1, program->config_size + 1);
    if (!sim->config) {
        return strads_fail(STRADS_ENOMEM, "no memory left for the options");
    }
    if (program->defaults) {
        memcpy(sim->config, program->defaults, program->config_size);
    }
    return STRADS_OK;
}

/* ---- the network ------------------------------------------------------- */

static strads_err read_network(cli_sim *sim)
{
    const cli_sim_words *w = &sim->words;
    sim->net = (strads_sim_options){.size = sizeof sim->net,
                                    .jitter = w->jitter,
                                    .slow = sim->slow,
                                    .n_slow = CLI_SIM_WORKERS};
    strads_err err = cli_seconds("latency", w->latency, &sim->net.latency);
    if (!err) {
        err = cli_rate("bandwidth", w->bandwidth, &sim->net.bandwidth);
    }
    if (!err) {
        err = cli_seconds("message-cost", w->message_cost,
                          &sim->net.message_cost);
    }
    if (!err && w->receive_cost) {
        err = cli_seconds("receive-cost", w->receive_cost,
                          &sim->net.receive_cost);
    }
    return err;
}

/* ---- workers ----------------------------------------------------------- */

/* "1..1024": whole numbers, the second one not below the first. */
static strads_err read_curve(cli_sim *sim)
{
    char *end;
    const char *text = sim->words.curve;
    unsigned long from = strtoul(text, &end, 10), to = 0;
    if (strncmp(end, "..", 2) == 0) {
        to = strtoul(end + 2, &end, 10);
    }
    if (*end || from < 1 || to < from || to > CLI_SIM_WORKERS ||
        strspn(text, "0123456789.") != strlen(text)) {
        return strads_fail(STRADS_EINVAL,
                           "--curve %s: expected A..B, from 1 to %d, as in "
                           "1..1024",
                           text, CLI_SIM_WORKERS);
    }
    for (unsigned long n = from; n <= to; n *= 2) {
        sim->workers[sim->n_points++] = (uint32_t)n;
    }
    return STRADS_OK;
}

static strads_err read_workers(cli_sim *sim)
{
    if (sim->words.curve) {
        return read_curve(sim);
    }
    sim->workers[sim->n_points++] = sim->words.workers;
    return STRADS_OK;
}

static strads_err wrong_factor(const char *option, const char *text,
                               const char *expected)
{
    return strads_fail(STRADS_EINVAL, "--%s %s: expected %s", option, text,
                       expected);
}

/* Who is slow is drawn worker by worker, so that a worker that is slow among
 * eight is slow among a thousand. */
static strads_err read_slow_share(cli_sim *sim)
{
    enum { PURPOSE = 0x736c6f77 };
    double share, factor;
    const char *end;
    const char *text = sim->words.slow_share;
    strads_err err = cli_pair("slow-share", text, &share, &factor, &end);
    if (err) {
        return err;
    }
    if (*end || share > 1 || !(factor > 0 && factor <= 1e6)) {
        return wrong_factor("slow-share", text,
                            "a share up to 1 and a factor above 0, up to "
                            "1e6, as in 0.05:4");
    }
    for (uint32_t w = 0; w < CLI_SIM_WORKERS; w++) {
        if (strads_random_unit(sim->engine.seed, PURPOSE, w, 0) < share) {
            sim->slow[w] = factor;
        }
    }
    return STRADS_OK;
}

static strads_err read_stragglers(cli_sim *sim)
{
    uint32_t most = sim->workers[sim->n_points - 1];
    const char *at = sim->words.straggler;
    for (;;) {
        double w, factor;
        strads_err err = cli_pair("straggler", at, &w, &factor, &at);
        if (err) {
            return err;
        }
        if (!(w < most) || w != (double)(uint32_t)w ||
            !(factor > 0 && factor <= 1e6) || (*at && *at != ',')) {
            return strads_fail(STRADS_EINVAL,
                               "--straggler %s: expected a worker from 0 to "
                               "%" PRIu32 " and a factor above 0, up to 1e6, "
                               "as in 0:4",
                               sim->words.straggler, most - 1);
        }
        sim->slow[(uint32_t)w] = factor;
        if (!*at) {
            return STRADS_OK;
        }
        at++;
    }
}

static strads_err check(cli_sim *sim)
{
    uint32_t most = sim->workers[sim->n_points - 1];
    if (sim->engine.partitions && sim->engine.partitions < most) {
        return strads_fail(STRADS_EINVAL,
                           "%" PRIu32 " workers need as many partitions, and "
                           "--partitions says %" PRIu32,
                           most, sim->engine.partitions);
    }
    if (sim->words.svg && !sim->words.curve) {
        return strads_fail(STRADS_EINVAL,
                           "--svg draws a curve, which --curve A..B asks for");
    }
    if (sim->words.save_cost && strcmp(sim->words.cost, "measured") != 0) {
        return strads_fail(STRADS_EINVAL,
                           "--save-cost keeps what --cost measured finds; "
                           "--cost %s measures nothing",
                           sim->words.cost);
    }
    strads_err err =
        sim->words.svg ? sti_atomic_file_check(sim->words.svg) : STRADS_OK;
    if (!err && sim->words.save_cost) {
        err = sti_atomic_file_check(sim->words.save_cost);
    }
    return err;
}

static strads_err understand(cli_sim *sim)
{
    for (uint32_t w = 0; w < CLI_SIM_WORKERS; w++) {
        sim->slow[w] = 1;
    }
    strads_err err = read_network(sim);
    if (!err) {
        err = read_workers(sim);
    }
    if (!err && sim->words.slow_share) {
        err = read_slow_share(sim);
    }
    if (!err && sim->words.straggler) {
        err = read_stragglers(sim);
    }
    if (!err) {
        err = cli_plan_take(sim->program, &sim->engine, &sim->plan);
    }
    return err ? err : check(sim);
}

strads_err cli_sim_options(cli_sim *sim, int argc, char **argv, bool *done)
{
    cli_syntax syntax = {
        .name = sim->name,
        .args = "DATA",
        .summary = "Trains in virtual time, on simulated workers and a "
                   "network between them.",
        .config = true,
        .program = sim->program,
    };
    cli_parsed parsed;
    size_t g = 0;
    strads_err err = set_defaults(sim);
    if (err) {
        return err;
    }
    if (sim->program->options) {
        syntax.groups[g++] =
            (cli_group){NULL, sim->program->options, sim->config};
    }
    syntax.groups[g++] = (cli_group){"Simulated:", sim_table, &sim->words};
    syntax.groups[g++] =
        (cli_group){"Running:", running_table(sim), &sim->engine};
    syntax.groups[g++] = (cli_group){"Files:", file_table, &sim->words};
    err = cli_parse(&syntax, argc, argv, &sim->strings, &parsed);
    *done = parsed.done;
    if (err || parsed.done) {
        return err;
    }
    sim->data_path = parsed.arg[0];
    err = understand(sim);
    sti_config_part part[] = {{sim->program->options, sim->config},
                              {sim_table, &sim->words},
                              {running_table(sim), &sim->engine}};
    size_t first = sim->program->options ? 0 : 1;
    if (!err) {
        sim->config_text = sti_config_text(part + first, 3 - first, 2);
        err = sim->config_text ? STRADS_OK
                               : strads_fail(STRADS_ENOMEM,
                                             "no memory left for the options");
    }
    return err;
}
