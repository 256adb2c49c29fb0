/* What is told of simulations: on standard output for people, in the log for
 * programs. Only what the seed and the prices decide is told, so that the same
 * call tells the same. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli_sim.h"
#include "cli.h"
#include "cli.h"
#include "engine/base/number_text.h"

double cli_sim_busy(const cli_sim_point *p)
{
    double all = p->outcome.makespan * p->outcome.workers;
    return all > 0 ? p->outcome.workers_busy / all : 0;
}

static double share(const cli_sim_point *p, double busy)
{
    return p->outcome.makespan > 0 ? busy / p->outcome.makespan : 0;
}

/* Of each scheduler, on average; a loop has none. */
static double schedulers_busy(const cli_sim_point *p)
{
    const strads_sim_outcome *o = &p->outcome;
    return o->schedulers ? share(p, o->schedulers_busy / o->schedulers) : 0;
}

/* ---- before ------------------------------------------------------------ */

static void tell_prices(const cli_sim *sim)
{
    const bool quiet = sim->words.quiet;
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        char update[CLI_TIME_SIZE], aggregate[CLI_TIME_SIZE];
        const strads_sim_phase *p = &sim->phases[k];
        if (sim->program->run) {
            cli_say(quiet, "a clock: %s, and %.3g ns an entry of the share",
                    cli_time(p->update_cost, update), 1e9 * p->entry_cost);
            return;
        }
        if (p->update_cost + p->entry_cost + p->aggregate_cost > 0) {
            cli_say(quiet, "%s: %s an update and %.3g ns an entry, %s a commit",
                    cli_sim_phase_name(sim, k),
                    cli_time(p->update_cost, update), 1e9 * p->entry_cost,
                    cli_time(p->aggregate_cost, aggregate));
        }
    }
}

void cli_sim_announce(cli_sim *sim, const strads_data *data)
{
    uint32_t most = sim->workers[sim->n_points - 1], slow = 0;
    cli_log_start start = {
        .program = sim->program->name,
        .measures = sim->program->measures,
        .options = sim->config_text,
        .data_path = sim->data_path,
        .data = data,
        .seed = sim->engine.seed,
        .workers = most,
        .partitions = sim->engine.partitions ? sim->engine.partitions : most,
        .nodes = most,
    };
    cli_log_begin(&sim->log, &start);
    for (uint32_t w = 0; w < most; w++) {
        slow += sim->slow[w] != 1;
    }
    cli_say(sim->words.quiet,
            "%s on %s: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64
            " entries; %" PRIu32 " of %" PRIu32 " workers slow, seed %" PRIu64,
            start.program, sim->data_path, strads_data_rows(data),
            strads_data_cols(data), strads_data_nnz(data), slow, most,
            sim->engine.seed);
    tell_prices(sim);
}

/* ---- the log ----------------------------------------------------------- */

static void put_number(FILE *out, const char *name, double value)
{
    char text[STI_NUMBER_SIZE];
    (void)sti_number_format(value, text);
    (void)fprintf(out, ", \"%s\": %s", name, text);
}

static void put_traffic(FILE *out, const char *name, strads_sim_traffic t)
{
    (void)fprintf(out,
                  ", \"%s\": {\"messages\": %" PRIu64 ", \"bytes\": %" PRIu64
                  "}",
                  name, t.messages, t.bytes);
}

static const char *const end_words[] = {
    [STRADS_END_CONVERGED] = "converged",  [STRADS_END_STOPPED] = "stopped",
    [STRADS_END_ROUNDS] = "max-rounds",    [STRADS_END_TIME] = "time-limit",
    [STRADS_END_CANCELED] = "interrupted",
};

static void log_point(const cli_sim *sim, const cli_sim_point *p)
{
    FILE *out = sim->log.file;
    const strads_sim_outcome *o = &p->outcome;
    if (!out) {
        return;
    }
    (void)fprintf(out,
                  "{\"event\": \"simulation\", \"workers\": %" PRIu32
                  ", \"reason\": \"%s\", \"rounds\": %" PRIu64,
                  p->workers, end_words[p->end], p->progress.round);
    put_number(out, "seconds", p->seconds);
    put_number(out, "objective", p->progress.objective);
    put_number(out, "gap", p->progress.gap);
    put_number(out, "makespan", o->makespan);
    put_number(out, "workers_busy", cli_sim_busy(p));
    put_number(out, "coordinator_busy", share(p, o->coordinator_busy));
    put_number(out, "schedulers_busy", schedulers_busy(p));
    put_traffic(out, "all", (strads_sim_traffic){o->messages, o->bytes});
    put_traffic(out, "dispatches", o->dispatches);
    put_traffic(out, "partials", o->partials);
    put_traffic(out, "hops", o->hops);
    if (sim->program->run) {
        put_number(out, "waiting_seconds", p->progress.waiting_seconds);
        put_number(out, "network_seconds", p->progress.network_seconds);
        put_traffic(out, "pushes", o->pushes);
        put_traffic(out, "asks", o->asks);
        put_traffic(out, "rows", o->rows);
    }
    (void)fprintf(out,
                  ", \"seed\": %" PRIu64 ", \"events\": %" PRIu64
                  ", \"digest\": \"%016" PRIx64 "\"}\n",
                  sim->engine.seed, o->events, o->digest);
    (void)fflush(out);
}

/* ---- after ------------------------------------------------------------- */

static void print_traffic(const char *name, strads_sim_traffic t)
{
    char bytes[CLI_BYTES_SIZE];
    (void)printf("  %-24s %10" PRIu64 " messages, %s\n", name, t.messages,
                 cli_bytes(t.bytes, bytes));
}

/* Where workers' time went, and what they sent. */
static void print_loop(const cli_sim_point *p)
{
    const strads_sim_outcome *o = &p->outcome;
    const double all = o->makespan * o->workers;
    const double percent = all > 0 ? 100 / all : 0;
    (void)printf("  %-24s %10.1f %%\n", "waiting for clocks",
                 percent * p->progress.waiting_seconds);
    (void)printf("  %-24s %10.1f %%\n", "network",
                 percent * p->progress.network_seconds);
    print_traffic("sent in all", (strads_sim_traffic){o->messages, o->bytes});
    print_traffic("pushes", o->pushes);
    print_traffic("asks for rows", o->asks);
    print_traffic("rows", o->rows);
}

static void print_rounds(const cli_sim_point *p)
{
    const strads_sim_outcome *o = &p->outcome;
    (void)printf("  %-24s %10.1f %%\n", "coordinator busy",
                 100 * share(p, o->coordinator_busy));
    (void)printf("  %-24s %10.1f %%, of %" PRIu32 "\n", "schedulers busy",
                 100 * schedulers_busy(p), o->schedulers);
    print_traffic("sent in all", (strads_sim_traffic){o->messages, o->bytes});
    print_traffic("dispatches", o->dispatches);
    print_traffic("partials", o->partials);
    print_traffic("blocks on their way", o->hops);
}

static void print_one(const cli_sim *sim, const cli_sim_point *p)
{
    char seconds[CLI_TIME_SIZE], round[CLI_TIME_SIZE];
    const strads_sim_outcome *o = &p->outcome;
    double rounds = p->progress.round ? (double)p->progress.round : 1;
    (void)printf("%" PRIu32 " workers, seed %" PRIu64 ": %s\n", p->workers,
                 sim->engine.seed, end_words[p->end]);
    if (!isnan(p->progress.objective)) {
        (void)printf("  %-24s %10.9g\n", "objective", p->progress.objective);
    }
    if (!isnan(p->progress.gap)) {
        (void)printf("  %-24s %10.2e\n", "gap", p->progress.gap);
    }
    (void)printf("  %-24s %10s\n", "time to the objective",
                 cli_time(p->seconds, seconds));
    (void)printf("  %-24s %10" PRIu64 ", %s each\n",
                 sim->program->run ? "clocks" : "rounds", p->progress.round,
                 cli_time(o->makespan / rounds, round));
    (void)printf("  %-24s %10.1f %%\n", "workers busy", 100 * cli_sim_busy(p));
    if (sim->program->run) {
        print_loop(p);
    } else {
        print_rounds(p);
    }
}

static void print_row(const cli_sim *sim, const cli_sim_point *p)
{
    char seconds[CLI_TIME_SIZE];
    double rounds = p->progress.round ? (double)p->progress.round : 1;
    if (p == sim->point) {
        (void)printf("%7s %12s %8s %7s %7s %14s\n", "workers", "to objective",
                     "speed-up", "busy",
                     sim->program->run ? "clocks" : "rounds",
                     sim->program->run ? "bytes a clock" : "bytes a round");
    }
    (void)printf("%7" PRIu32 " %12s %8.2f %5.1f %% %7" PRIu64 " %14.0f%s\n",
                 p->workers, cli_time(p->seconds, seconds),
                 p->seconds > 0 ? sim->point[0].seconds / p->seconds : 1,
                 100 * cli_sim_busy(p), p->progress.round,
                 (double)p->outcome.bytes / rounds,
                 p->has_gap && p->end != STRADS_END_CONVERGED
                     ? "  not converged"
                     : "");
    (void)fflush(stdout);
}

void cli_sim_tell(cli_sim *sim, const cli_sim_point *point)
{
    log_point(sim, point);
    if (sim->words.curve) {
        print_row(sim, point);
    } else {
        print_one(sim, point);
    }
}
