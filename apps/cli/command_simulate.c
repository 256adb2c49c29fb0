/* strads simulate: a training on simulated workers, in virtual time. Runs are
 * real: their model is that of a run with this many workers. Output depends
 * only on the seed and the costs, so that equal calls print equal output. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_log.h"
#include "cli_path.h"
#include "cli_plot.h"
#include "cli_plugin.h"
#include "cli_prices.h"
#include "cli_terminal.h"
#include "cli_train.h"

enum { MOST_WORKERS = 4096, MOST_POINTS = 16 };

/* One run of the curve. */
typedef struct point {
    uint32_t workers;
    strads_end end;
    bool has_gap;   /* the program reports a gap */
    double seconds; /* virtual time of the last report */
    strads_progress progress;
    strads_sim_outcome outcome;
} point;

/* One simulation. Options with units are kept as text, and parsed into `net`
 * and `slow`. */
typedef struct sim {
    cli_use use;
    const char *latency, *bandwidth, *message_cost, *receive_cost;
    const char *straggler, *slow_share, *cost, *save_cost, *curve;
    const char *svg, *log_path, *labels;
    double jitter;
    uint32_t asked; /* workers asked for */
    bool f32, intercept_by_default;

    const strads_program *program;
    const char *name; /* name of the command: "simulate lasso" */
    const char *data_path;
    void *config;
    char *config_text;
    strads_engine_options engine;
    strads_plan *plan;
    strads_sim_options net;
    double slow[MOST_WORKERS];
    uint32_t workers[MOST_POINTS]; /* of each point, ascending */
    point point[MOST_POINTS];
    uint32_t n_points;
    double reported; /* virtual time of the current run's last report */
    bool begun;      /* the input is checked, and the first run has started */
    cli_log log;
} sim;

/* ---- options ----------------------------------------------------------- */

/* RARE options are listed briefly in --help. */
#define RARE(field, name, metavar, help) \
    STRADS_OPTION(STRING, sim, field, name, metavar, help, .rare = true)

static const strads_option sim_table[] = {
    CLI_U32(sim, asked, "workers", "N",
            "simulated workers, one a node (default: 8)", 1, MOST_WORKERS),
    CLI_TEXT(sim, curve, "curve", "A..B",
             "simulate A, 2 A, 4 A, ... up to B workers instead"),
    CLI_TEXT(sim, svg, "svg", "FILE",
             "draw the curve there (default: nowhere)"),
    CLI_TEXT(sim, latency, "latency", "T",
             "latency of a message between nodes (default: 50us)"),
    CLI_TEXT(sim, bandwidth, "bandwidth", "R",
             "bandwidth of a node's port (default: 10Gbit)"),
    RARE(message_cost, "message-cost", "T",
         "sender's and receiver's time for it (default: 2us)"),
    RARE(receive_cost, "receive-cost", "T",
         "receiver's (default: as --message-cost)"),
    STRADS_OPTION(F64, sim, jitter, "jitter", "J",
                  "each time is drawn from 1 to 1 + J of it (default: 0)",
                  .rare = true, .max = 1000),
    RARE(straggler, "straggler", "W:F",
         "worker W takes F times as long; W:F,W:F"),
    RARE(slow_share, "slow-share", "S:F",
         "a share S of the workers takes F times as long"),
    CLI_TEXT(sim, cost, "cost", "C",
             "measured, a file, or a time an entry (default: measured)"),
    RARE(save_cost, "save-cost", "FILE", "write the measured costs there"),
    {.name = NULL},
};

static const strads_option file_table[] = {
    CLI_TEXT(sim, log_path, "log", "RUN.jsonl",
             "write JSON lines (default: none)"),
    CLI_TEXT(sim, labels, "labels", "FILE",
             "labels of MatrixMarket data, one a line"),
    STRADS_OPTION(BOOL, sim, f32, "f32", NULL,
                  "values in 4 bytes instead of 8 (default: no)", .rare = true),
    CLI_FLAG(sim, use.quiet, "quiet", "print the result only (default: no)"),
    {.name = NULL},
};

/* Selects the engine's options that simulations have. */
static const strads_option *
simulate_running_table(const strads_program *program)
{
    enum { MOST = 15 };
    static const char *const rounds[MOST] = {
        "partitions", "policy",    "depth",      "blocks", "schedulers",
        "threshold",  "tolerance", "max-rounds", "seed",   "deterministic",
        "time-limit", "trace",     "pools",      "plan"};
    static const char *const loops[MOST] = {"partitions", "tolerance",
                                            "max-rounds", "seed",
                                            "time-limit", "shards",
                                            "hold-below", "push-bytes",
                                            "window",     "cache-bytes",
                                            "trace"};
    static strads_option table[MOST + 1];
    const char *const *names = program->run ? loops : rounds;
    const strads_option *all = program->run ? strads_engine_loop_option_table()
                                            : strads_engine_option_table();
    size_t n = 0;
    for (size_t k = 0; names[k]; k++)
        if (cli_option_suits(program, names[k]))
            table[n++] = *strads_option_find(all, names[k]);
    table[n] = (strads_option){.name = NULL};
    return table;
}

static strads_err set_simulate_defaults(sim *s)
{
    s->asked = 8;
    s->latency = "50us";
    s->bandwidth = "10Gbit";
    s->message_cost = "2us";
    s->cost = "measured";
    s->use.out.format = "text";
    return cli_defaults(s->program, &s->engine, &s->config);
}

static strads_err read_network(sim *s)
{
    s->net = (strads_sim_options){.size = sizeof s->net,
                                  .jitter = s->jitter,
                                  .slow = s->slow,
                                  .n_slow = MOST_WORKERS};
    CLI_TRY(cli_seconds("latency", s->latency, &s->net.latency));
    CLI_TRY(cli_rate("bandwidth", s->bandwidth, &s->net.bandwidth));
    CLI_TRY(cli_seconds("message-cost", s->message_cost, &s->net.message_cost));
    return s->receive_cost ? cli_seconds("receive-cost", s->receive_cost,
                                         &s->net.receive_cost)
                           : STRADS_OK;
}

/* Parses --workers N, or "1..1024": whole numbers, in ascending order. */
static strads_err read_workers(sim *s)
{
    char *end;
    const char *text = s->curve;
    if (!text) {
        s->workers[s->n_points++] = s->asked;
        return STRADS_OK;
    }
    const unsigned long from = strtoul(text, &end, 10);
    const unsigned long to =
        strncmp(end, "..", 2) == 0 ? strtoul(end + 2, &end, 10) : 0;
    if (*end || from < 1 || to < from || to > MOST_WORKERS ||
        strspn(text, "0123456789.") != strlen(text)) {
        return strads_fail(STRADS_EINVAL,
                           "--curve %s: expected A..B, from 1 to %d, as in "
                           "1..1024",
                           text, MOST_WORKERS);
    }
    for (unsigned long n = from; n <= to; n *= 2)
        s->workers[s->n_points++] = (uint32_t)n;
    return STRADS_OK;
}

/* Slow workers are drawn one by one, so that a worker that is slow among 8 is
 * also slow among 1,000. */
static strads_err read_slow_share(sim *s)
{
    enum { PURPOSE = 0x736c6f77 };
    double share, factor;
    const char *end;
    CLI_TRY(cli_pair("slow-share", s->slow_share, &share, &factor, &end));
    if (*end || share > 1 || !(factor > 0 && factor <= 1e6)) {
        return strads_fail(STRADS_EINVAL,
                           "--slow-share %s: expected a share up to 1 and a "
                           "factor above 0, up to 1e6, as in 0.05:4",
                           s->slow_share);
    }
    for (uint32_t w = 0; w < MOST_WORKERS; w++)
        if (strads_random_unit(s->engine.seed, PURPOSE, w, 0) < share)
            s->slow[w] = factor;
    return STRADS_OK;
}

static strads_err read_stragglers(sim *s)
{
    const uint32_t most = s->workers[s->n_points - 1];
    for (const char *at = s->straggler;; at++) {
        double w, factor;
        CLI_TRY(cli_pair("straggler", at, &w, &factor, &at));
        if (!(w < most) || w != (double)(uint32_t)w ||
            !(factor > 0 && factor <= 1e6) || (*at && *at != ',')) {
            return strads_fail(STRADS_EINVAL,
                               "--straggler %s: expected a worker from 0 to "
                               "%" PRIu32 " and a factor above 0, up to 1e6, "
                               "as in 0:4",
                               s->straggler, most - 1);
        }
        s->slow[(uint32_t)w] = factor;
        if (!*at)
            return STRADS_OK;
    }
}

static strads_err check_simulate_outputs(const sim *s)
{
    const uint32_t most = s->workers[s->n_points - 1];
    const char *files[] = {s->svg, s->save_cost, s->use.out.path};
    if (s->engine.partitions && s->engine.partitions < most) {
        return strads_fail(STRADS_EINVAL,
                           "%" PRIu32 " workers need as many partitions, and "
                           "--partitions is %" PRIu32,
                           most, s->engine.partitions);
    }
    if (s->svg && !s->curve) {
        return strads_fail(STRADS_EINVAL,
                           "--svg draws a curve: add --curve A..B");
    }
    if (s->save_cost && strcmp(s->cost, "measured") != 0) {
        return strads_fail(STRADS_EINVAL,
                           "--save-cost writes measured costs, and --cost %s "
                           "measures nothing; leave one out",
                           s->cost);
    }
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        if (files[k])
            CLI_TRY(cli_output_check(files[k]));
    return STRADS_OK;
}

static strads_err understand(sim *s)
{
    for (uint32_t w = 0; w < MOST_WORKERS; w++)
        s->slow[w] = 1;
    CLI_TRY(read_network(s));
    CLI_TRY(read_workers(s));
    if (s->slow_share)
        CLI_TRY(read_slow_share(s));
    if (s->straggler)
        CLI_TRY(read_stragglers(s));
    CLI_TRY(cli_plan_take(s->program, &s->engine, &s->plan));
    return check_simulate_outputs(s);
}

/* The program by columns, if the option `cut` or the size of the pack asks for
 * it, as `train` chooses. Both have the same configuration. */
static void choose_cut(sim *s)
{
    char columns[64];
    const strads_option *cut =
        s->program->options ? strads_option_find(s->program->options, "cut")
                            : NULL;
    if (!cut)
        return;
    const char *const *asked =
        (const void *)((const char *)s->config + cut->offset);
    if (!cli_wants_columns(*asked, &s->engine, s->data_path))
        return;
    (void)snprintf(columns, sizeof columns, "%s-columns", s->program->name);
    const strads_program *found = strads_program_find(columns);
    if (found)
        s->program = found;
}

static strads_err read_line(sim *s, int argc, char **argv, bool *done)
{
    cli_parsed parsed;
    CLI_TRY(set_simulate_defaults(s));
    const strads_option *running = simulate_running_table(s->program);
    const cli_syntax syntax = {
        .name = s->name,
        .args = "DATA",
        .summary = "Trains in virtual time, on simulated workers and a network "
                   "between them.",
        .config = true,
        .program = s->program,
        .groups = {{NULL, s->program->options, s->config},
                   {"Simulated:", sim_table, s},
                   {"Running:", running, &s->engine},
                   {"Files:", file_table, s},
                   {NULL, cli_out_table("text"), s}},
    };
    CLI_TRY(cli_parse(&syntax, argc, argv, &parsed));
    *done = parsed.done;
    if (parsed.done)
        return STRADS_OK;
    s->data_path = parsed.arg[0];
    s->intercept_by_default = parsed.intercept_by_default;
    choose_cut(s);
    CLI_TRY(understand(s));
    const sti_config_part part[] = {{s->program->options, s->config},
                                    {sim_table, s},
                                    {running, &s->engine}};
    const size_t first = s->program->options ? 0 : 1;
    s->config_text = sti_config_text(part + first, 3 - first, 2);
    return s->config_text
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory left for the options");
}

/* ---- output ------------------------------------------------------------ */

/* The busy share of a time, 0 to 1. */
static double busy_share(double busy, double all)
{
    return all > 0 ? busy / all : 0;
}

static double workers_busy(const point *p)
{
    return busy_share(p->outcome.workers_busy,
                      p->outcome.makespan * p->outcome.workers);
}

static double coordinator_busy(const point *p)
{
    return busy_share(p->outcome.coordinator_busy, p->outcome.makespan);
}

/* Mean over the schedulers; loops have none. */
static double schedulers_busy(const point *p)
{
    const strads_sim_outcome *o = &p->outcome;
    return busy_share(o->schedulers_busy, o->makespan * o->schedulers);
}

static double rounds_of(const point *p)
{
    return p->progress.round ? (double)p->progress.round : 1;
}

static void tell_prices(const sim *s)
{
    for (uint32_t k = 0; k < s->net.n_phases; k++) {
        char update[CLI_TIME_SIZE], aggregate[CLI_TIME_SIZE];
        const strads_sim_phase *p = &s->net.phases[k];
        if (s->program->run) {
            cli_say(s->use.quiet,
                    "a clock: %s, and %.3g ns an entry of the share",
                    cli_time(p->update_cost, update), 1e9 * p->entry_cost);
            return;
        }
        if (p->update_cost + p->entry_cost + p->aggregate_cost > 0) {
            cli_say(s->use.quiet,
                    "%s: %s an update and %.3g ns an entry, %s a commit",
                    cli_prices_phase(s->program, k),
                    cli_time(p->update_cost, update), 1e9 * p->entry_cost,
                    cli_time(p->aggregate_cost, aggregate));
        }
    }
}

/* Prints the parameters of the simulation; writes the log's first line. */
static void announce_simulation(sim *s, const strads_data *data)
{
    const uint32_t most = s->workers[s->n_points - 1];
    uint32_t slow = 0;
    const cli_log_start start = {
        .program = s->program->name,
        .measures = s->program->measures,
        .options = s->config_text,
        .data_path = s->data_path,
        .data = data,
        .seed = s->engine.seed,
        .workers = most,
        .partitions = s->engine.partitions ? s->engine.partitions : most,
        .nodes = most,
    };
    cli_log_begin(&s->log, &start);
    if (s->intercept_by_default)
        cli_intercept_notice(s->use.quiet);
    for (uint32_t w = 0; w < most; w++)
        slow += s->slow[w] != 1;
    cli_say(s->use.quiet,
            "%s on %s: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64
            " entries; %" PRIu32 " of %" PRIu32 " workers slow, seed %" PRIu64,
            start.program, s->data_path, strads_data_rows(data),
            strads_data_cols(data), strads_data_nnz(data), slow, most,
            s->engine.seed);
    tell_prices(s);
}

static const char *const end_words[] = {
    [STRADS_END_CONVERGED] = "converged",  [STRADS_END_STOPPED] = "stopped",
    [STRADS_END_ROUNDS] = "max-rounds",    [STRADS_END_TIME] = "time-limit",
    [STRADS_END_CANCELED] = "interrupted",
};

static void log_traffic(cli_json *j, const char *name, strads_sim_traffic t)
{
    cli_json_open(j, name, '{');
    cli_json_count(j, "messages", t.messages);
    cli_json_count(j, "bytes", t.bytes);
    cli_json_close(j, '}');
}

static void log_point(sim *s, const point *p)
{
    const strads_sim_outcome *o = &p->outcome;
    char digest[17];
    if (!s->log.file)
        return;
    cli_json j = cli_log_line(&s->log, "simulation");
    (void)snprintf(digest, sizeof digest, "%016" PRIx64, o->digest);
    cli_json_count(&j, "workers", p->workers);
    cli_json_string(&j, "reason", end_words[p->end]);
    cli_json_count(&j, "rounds", p->progress.round);
    cli_json_number(&j, "seconds", p->seconds);
    cli_json_number(&j, "objective", p->progress.objective);
    cli_json_number(&j, "gap", p->progress.gap);
    cli_json_number(&j, "makespan", o->makespan);
    cli_json_number(&j, "workers_busy", workers_busy(p));
    cli_json_number(&j, "coordinator_busy", coordinator_busy(p));
    cli_json_number(&j, "schedulers_busy", schedulers_busy(p));
    log_traffic(&j, "all", (strads_sim_traffic){o->messages, o->bytes});
    log_traffic(&j, "dispatches", o->dispatches);
    log_traffic(&j, "partials", o->partials);
    log_traffic(&j, "ring_steps", o->ring_steps);
    if (s->program->run) {
        cli_json_number(&j, "waiting_seconds", p->progress.waiting_seconds);
        cli_json_number(&j, "network_seconds", p->progress.network_seconds);
        log_traffic(&j, "pushes", o->pushes);
        log_traffic(&j, "asks", o->asks);
        log_traffic(&j, "rows", o->rows);
    }
    cli_json_count(&j, "seed", s->engine.seed);
    cli_json_count(&j, "events", o->events);
    cli_json_string(&j, "digest", digest);
    cli_log_end_line(&s->log, &j);
}

static void print_percent(FILE *out, const char *name, double part)
{
    (void)fprintf(out, "  %-24s %10.1f %%\n", name, 100 * part);
}

static void print_traffic(FILE *out, const char *name, strads_sim_traffic t)
{
    char bytes[CLI_BYTES_SIZE];
    (void)fprintf(out, "  %-24s %10" PRIu64 " messages, %s\n", name, t.messages,
                  cli_bytes(t.bytes, bytes));
}

/* Prints where the time went, and the messages and bytes. */
static void print_one(const sim *s, const point *p, FILE *out)
{
    char seconds[CLI_TIME_SIZE], round[CLI_TIME_SIZE];
    const strads_sim_outcome *o = &p->outcome;
    const double all = o->makespan * o->workers;
    const bool loop = s->program->run != NULL;
    (void)fprintf(out, "%" PRIu32 " workers, seed %" PRIu64 ": %s\n",
                  p->workers, s->engine.seed, end_words[p->end]);
    if (!isnan(p->progress.objective)) {
        (void)fprintf(out, "  %-24s %10.9g\n", "objective",
                      p->progress.objective);
    }
    if (!isnan(p->progress.gap))
        (void)fprintf(out, "  %-24s %10.2e\n", "gap", p->progress.gap);
    (void)fprintf(out, "  %-24s %10s\n", "time to the objective",
                  cli_time(p->seconds, seconds));
    (void)fprintf(out, "  %-24s %10" PRIu64 ", %s each\n",
                  loop ? "clocks" : "rounds", p->progress.round,
                  cli_time(o->makespan / rounds_of(p), round));
    print_percent(out, "workers busy", workers_busy(p));
    if (loop) {
        print_percent(out, "waiting for clocks",
                      busy_share(p->progress.waiting_seconds, all));
        print_percent(out, "network",
                      busy_share(p->progress.network_seconds, all));
    } else {
        print_percent(out, "coordinator busy", coordinator_busy(p));
        (void)fprintf(out, "  %-24s %10.1f %%, of %" PRIu32 "\n",
                      "schedulers busy", 100 * schedulers_busy(p),
                      o->schedulers);
    }
    print_traffic(out, "sent in all",
                  (strads_sim_traffic){o->messages, o->bytes});
    print_traffic(out, loop ? "pushes" : "dispatches",
                  loop ? o->pushes : o->dispatches);
    print_traffic(out, loop ? "asks for rows" : "partials",
                  loop ? o->asks : o->partials);
    print_traffic(out, loop ? "rows" : "blocks on their way",
                  loop ? o->rows : o->ring_steps);
}

static double speed_up(const sim *s, const point *p)
{
    return p->seconds > 0 ? s->point[0].seconds / p->seconds : 1;
}

/* Prints a row of the curve, and before the first row a heading. */
static void print_row(const sim *s, const point *p, FILE *out)
{
    char seconds[CLI_TIME_SIZE];
    const bool loop = s->program->run != NULL;
    if (p == s->point) {
        (void)fprintf(out, "%7s %12s %8s %7s %7s %14s\n", "workers",
                      "to objective", "speed-up", "busy",
                      loop ? "clocks" : "rounds",
                      loop ? "bytes a clock" : "bytes a round");
    }
    (void)fprintf(out,
                  "%7" PRIu32 " %12s %8.2f %5.1f %% %7" PRIu64 " %14.0f%s\n",
                  p->workers, cli_time(p->seconds, seconds), speed_up(s, p),
                  100 * workers_busy(p), p->progress.round,
                  (double)p->outcome.bytes / rounds_of(p),
                  p->has_gap && p->end != STRADS_END_CONVERGED
                      ? "  not converged"
                      : "");
    (void)fflush(out);
}

/* On standard output, each row is printed when its run ends; in other formats,
 * all output is written at the end. */
static bool prints_at_once(const sim *s)
{
    return !s->use.out.path && cli_format_of(&s->use.out) == CLI_FORMAT_TEXT;
}

static strads_err put_points(void *arg, FILE *out)
{
    static const cli_column columns[] = {{"workers", CLI_COUNT, 0},
                                         {"reason", CLI_STRING, 0},
                                         {"seconds", CLI_NUMBER, 0},
                                         {"speed_up", CLI_NUMBER, 0},
                                         {"rounds", CLI_COUNT, 0},
                                         {"objective", CLI_NUMBER, 0},
                                         {"gap", CLI_NUMBER, 0},
                                         {"workers_busy", CLI_NUMBER, 0},
                                         {"coordinator_busy", CLI_NUMBER, 0},
                                         {"messages", CLI_COUNT, 0},
                                         {"bytes", CLI_COUNT, 0}};
    const sim *s = arg;
    cli_table t = {.column = columns,
                   .n = sizeof columns / sizeof *columns,
                   .rows = s->n_points};
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    const bool text = t.format == CLI_FORMAT_TEXT;
    for (const point *p = s->point; p < s->point + s->n_points; p++) {
        if (text) {
            (s->curve ? print_row : print_one)(s, p, out);
            continue;
        }
        cli_table_count(&t, p->workers);
        cli_table_text(&t, end_words[p->end]);
        cli_table_number(&t, p->seconds);
        cli_table_number(&t, speed_up(s, p));
        cli_table_count(&t, p->progress.round);
        cli_table_number(&t, p->progress.objective);
        cli_table_number(&t, p->progress.gap);
        cli_table_number(&t, workers_busy(p));
        cli_table_number(&t, coordinator_busy(p));
        cli_table_count(&t, p->outcome.messages);
        cli_table_count(&t, p->outcome.bytes);
    }
    return STRADS_OK;
}

/* Left: time to the objective, and the line of ideal speed-up. Right: busy
 * shares. */
static strads_err draw_curve(void *arg, FILE *out)
{
    const sim *s = arg;
    const uint32_t n = s->n_points;
    double x[MOST_POINTS], y[MOST_POINTS];
    cli_plot time = {.out = out,
                     .title = "time to the objective; dashed: half for twice "
                              "the workers",
                     .x = {.name = "workers",
                           .first = s->workers[0],
                           .last = s->workers[n - 1],
                           .logarithmic = true,
                           .tick = s->workers,
                           .n_ticks = n},
                     .y = {.name = "virtual time",
                           .first = INFINITY,
                           .logarithmic = true,
                           .seconds = true}};
    cli_plot busy = time;
    for (uint32_t k = 0; k < n; k++) {
        x[k] = s->workers[k];
        y[k] = fmax(s->point[k].seconds, 1e-9);
        /* gcc 12 fails on fmin and fmax here for arm64 */
        time.y.first = y[k] < time.y.first ? y[k] : time.y.first;
        time.y.last = y[k] > time.y.last ? y[k] : time.y.last;
    }
    cli_plot_begin(out, 2, s->name);
    cli_plot_frame(&time);
    const double end = fmin(x[n - 1], x[0] * y[0] / time.y.first);
    cli_plot_line(&time, 2, (double[]){x[0], end},
                  (double[]){y[0], y[0] * x[0] / end}, 7, CLI_PLOT_DASHED);
    cli_plot_line(&time, n, x, y, 0, CLI_PLOT_DOTS);
    busy.place = 1;
    busy.title = "workers busy";
    busy.y = (cli_axis){.name = "% of their time", .last = 100};
    for (uint32_t k = 0; k < n; k++)
        y[k] = 100 * workers_busy(&s->point[k]);
    cli_plot_frame(&busy);
    cli_plot_line(&busy, n, x, y, 0, CLI_PLOT_DOTS);
    cli_plot_end(out);
    return STRADS_OK;
}

/* ---- the runs ---------------------------------------------------------- */

static strads_err read_simulate_data(const void *arg, uint32_t partitions,
                                     strads_data **out)
{
    const sim *s = arg;
    const strads_program *program = s->program;
    const strads_engine_options as = {.size = sizeof as,
                                      .partitions = partitions};
    strads_data_options options = {
        .size = sizeof options,
        .values = s->f32 ? STRADS_F32 : STRADS_F64,
        .labels_path = s->labels,
    };
    CLI_TRY(strads_run_cut(program, s->config, &as, &options));
    return strads_data_read(s->data_path, &options, out);
}

static void record_report(void *arg, const strads_progress *progress)
{
    sim *s = arg;
    s->reported = progress->seconds;
    if (!s->curve)
        cli_log_round(&s->log, progress);
}

/* One point: splits the data and runs on it. */
static strads_err simulate_point(sim *s, uint32_t k)
{
    strads_data *data = NULL;
    strads_result *result = NULL;
    point *p = &s->point[k];
    strads_engine_options options = s->engine;
    p->workers = s->net.nodes = s->workers[k];
    if (options.partitions == 0)
        options.partitions = p->workers;
    s->reported = 0;
    CLI_TRY(read_simulate_data(s, options.partitions, &data));
    if (k == 0) {
        announce_simulation(s, data);
        s->begun = true;
    }
    const strads_err err =
        strads_simulate(s->program, s->config, data, &options, &s->net, &result,
                        &p->outcome);
    if (!err) {
        p->end = strads_result_end(result);
        p->progress = *strads_result_progress(result);
        p->has_gap = !isnan(p->progress.gap);
        p->seconds = s->reported > 0 ? s->reported : p->outcome.makespan;
        log_point(s, p);
        if (prints_at_once(s))
            (s->curve ? print_row : print_one)(s, p, stdout);
    }
    strads_result_free(result);
    strads_data_free(data);
    return err;
}

static strads_err simulate_all(sim *s)
{
    const cli_prices costs = {.program = s->program,
                              .config = s->config,
                              .engine = &s->engine,
                              .cost = s->cost,
                              .save = s->save_cost,
                              .few = s->workers[0],
                              .many = s->workers[s->n_points - 1],
                              .read = read_simulate_data,
                              .arg = s};
    CLI_TRY(cli_log_open(s->log_path, NULL, NULL, &s->log));
    CLI_TRY(cli_prices_find(&costs, &s->net));
    for (uint32_t k = 0; k < s->n_points; k++) {
        CLI_TRY(simulate_point(s, k));
        if (s->point[k].end == STRADS_END_CANCELED)
            s->n_points = k + 1;
    }
    if (s->svg)
        CLI_TRY(cli_output(s->svg, draw_curve, s));
    return prints_at_once(s) ? STRADS_OK
                             : cli_output(s->use.out.path, put_points, s);
}

/* The worst exit code of all points' runs. */
static int code_of(const sim *s)
{
    int code = CLI_OK;
    for (uint32_t k = 0; k < s->n_points; k++) {
        const point *p = &s->point[k];
        if (p->end == STRADS_END_CANCELED)
            return CLI_INTERRUPTED;
        if (p->has_gap &&
            (p->end == STRADS_END_ROUNDS || p->end == STRADS_END_TIME))
            code = CLI_BOUND;
    }
    return code;
}

static int carry_out(sim *s)
{
    s->engine.stop = cli_signal_catch();
    s->engine.progress = record_report;
    s->engine.progress_arg = s;
    strads_err err = simulate_all(s);
    const int code =
        err ? cli_complain(err, s->begun ? CLI_RUNNING : CLI_BEFORE)
            : code_of(s);
    err = cli_log_close(&s->log);
    return err ? cli_complain(err, CLI_RUNNING) : code;
}

static int simulate_program(const strads_program *program, const char *word,
                            int argc, char **argv)
{
    char name[256];
    bool done = false;
    sim *s = NULL;
    strads_err err = cli_reserve(1, sizeof *s, "a simulation", &s);
    if (err)
        return cli_complain(err, CLI_BEFORE);
    (void)snprintf(name, sizeof name, "simulate %s", word);
    s->program = program;
    s->name = name;
    err = read_line(s, argc, argv, &done);
    return err ? cli_complain(err, CLI_BEFORE) : done ? CLI_OK : carry_out(s);
}

static int run_simulate(const cli_command *self, int argc, char **argv)
{
    cli_plugin plugin;
    if (argc == 0 || argv[0][0] == '-') {
        return cli_plugin_missing(
            self, argc, argv,
            "strads simulate needs a program, such as lasso or "
            "PROGRAM.so, as its first argument",
            "`strads simulate lasso --help` lists the options.");
    }
    const strads_program *program = strads_program_find(argv[0]);
    if (program)
        return simulate_program(program, argv[0], argc - 1, argv + 1);
    const strads_err err = cli_plugin_open(argv[0], &plugin);
    if (err)
        return cli_complain(err, CLI_BEFORE);
    const int code =
        simulate_program(&plugin.program, argv[0], argc - 1, argv + 1);
    cli_plugin_close(&plugin);
    return code;
}

static const char *const programs[] = {"glm",
                                       "glm-path",
                                       "lasso",
                                       "lasso-path",
                                       "logistic",
                                       "logistic-dual",
                                       "logistic-path",
                                       "sgd-logistic",
                                       "svm",
                                       "svm-l1",
                                       "lda",
                                       "roles",
                                       "mf",
                                       "fm",
                                       "net",
                                       NULL};

const cli_command cli_simulate_commands[] = {
    {.name = "simulate",
     .args = "PROGRAM DATA",
     .summary = "train in virtual time, on simulated workers",
     .about =
         "Trains in virtual time, on simulated workers and a network "
         "between them. PROGRAM is the name of a built-in one, such as lasso, "
         "or a shared object.",
     .run = run_simulate,
     .first = programs},
    {.name = NULL},
};
