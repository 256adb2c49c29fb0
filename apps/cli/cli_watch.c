/* Content for the page of a training: page.html, which the build embeds, and
 * the metrics with their names. */
#include "cli_watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli.h"
#include "cli_terminal.h"

/* page.html, embedded by cmake/embed.cmake. */
extern const char cli_page[];
extern const size_t cli_page_size;

static void stop_run(void *arg)
{
    const bool *quiet = arg;
    cli_say(*quiet, "stopping at the next commit, as the page asks");
    cli_signal_stop();
}

strads_err cli_watch_open(const char *address, const char *token_file,
                          bool quiet, sti_watch **out)
{
    static bool is_quiet;
    sti_token token = {0};
    is_quiet = quiet;
    if (!address)
        return STRADS_OK;
    CLI_TRY(sti_token_read(token_file, &token));
    const sti_watch_options options = {.address = address,
                                       .run_has_token = token.size > 0,
                                       .page = cli_page,
                                       .page_size = cli_page_size,
                                       .stop = stop_run,
                                       .arg = &is_quiet};
    CLI_TRY(sti_watch_open(&options, out));
    cli_say(quiet, "watch this run at %s", sti_watch_url(*out));
    return STRADS_OK;
}

/* ---- Prometheus' text format --------------------------------------------- */

static void name_metric(FILE *out, const char *name, const char *type,
                        const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_metric(FILE *out, const char *name, const char *type,
                       const char *help, double value)
{
    if (!isnan(value)) {
        name_metric(out, name, type, help);
        (void)fprintf(out, "%s %.17g\n", name, value);
    }
}

static void put_worker_metrics(FILE *out, const strads_progress *p)
{
    static const char *const state[] = {"computing", "waiting", "network"};
    name_metric(out, "strads_worker_seconds_total", "counter",
                "What each worker of this process did.");
    for (uint32_t w = 0; w < p->n_workers; w++) {
        const double value[] = {p->worker[w].callback_seconds,
                                p->worker[w].waiting_seconds,
                                p->worker[w].network_seconds};
        for (size_t s = 0; s < 3; s++) {
            (void)fprintf(out,
                          "strads_worker_seconds_total{worker=\"%" PRIu32
                          "\",state=\"%s\"} %.17g\n",
                          w, state[s], value[s]);
        }
    }
}

static void put_node_metrics(FILE *out, const strads_progress *p)
{
    static const char *const name[] = {"strads_node_sent_bytes_total",
                                       "strads_node_received_bytes_total",
                                       "strads_node_linked"};
    static const char *const help[] = {"Bytes sent to each node.",
                                       "Bytes received from each node.",
                                       "1: linked; 0: its link is broken."};
    for (size_t s = 0; s < 3; s++) {
        name_metric(out, name[s], s < 2 ? "counter" : "gauge", help[s]);
        for (uint32_t k = 0; k < p->n_nodes; k++) {
            const uint64_t value[] = {p->node[k].bytes_sent,
                                      p->node[k].bytes_received,
                                      p->node[k].linked};
            (void)fprintf(out, "%s{node=\"%" PRIu32 "\"} %" PRIu64 "\n",
                          name[s], k, value[s]);
        }
    }
}

static void put_all(FILE *out, const cli_log *log, const strads_progress *p)
{
    const struct {
        const char *name, *type, *help;
        double value;
    } all[] = {
        {"strads_objective", "gauge", "The objective as last reported.",
         p->objective},
        {"strads_gap", "gauge", "The relative gap as last reported.", p->gap},
        {"strads_nonzeros", "gauge", "Coefficients that are not 0.",
         (double)p->nonzeros},
        {"strads_rounds_total", "counter",
         "Rounds committed, or clocks of a loop.", (double)p->round},
        {"strads_rounds_in_flight", "gauge",
         "Rounds dispatched, not yet committed.", p->in_flight},
        {"strads_run_seconds_total", "counter",
         "Time of the run, without loading.", p->seconds},
        {"strads_cpu_seconds_total", "counter", "Time of all threads.",
         p->cpu_seconds},
        {"strads_blocks_total", "counter", "Blocks that the policy chose.",
         (double)p->blocks},
        {"strads_updates_total", "counter", "Coordinate updates committed.",
         (double)p->updates_policy + (double)p->updates_other},
        {"strads_sent_bytes_total", "counter", "Bytes sent to other nodes.",
         (double)p->bytes_sent},
        {"strads_received_bytes_total", "counter",
         "Bytes received from other nodes.", (double)p->bytes_received},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        put_metric(out, all[k].name, all[k].type, all[k].help, all[k].value);
    bool named = false;
    for (size_t k = 0; log->measures && log->measures[k]; k++) {
        if (!isnan(p->measure[k])) {
            if (!named) {
                name_metric(out, "strads_measure", "gauge",
                            "A measure of the program's own.");
            }
            named = true;
            (void)fprintf(out, "strads_measure{name=\"%s\"} %.17g\n",
                          log->measures[k], p->measure[k]);
        }
    }
    if (p->n_workers > 0)
        put_worker_metrics(out, p);
    if (p->n_nodes > 0)
        put_node_metrics(out, p);
}

void cli_watch_figures(sti_watch *watch, const cli_log *log,
                       const strads_progress *progress)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = watch ? open_memstream(&text, &size) : NULL;
    if (!out)
        return;
    put_all(out, log, progress);
    if (fclose(out) == 0)
        sti_watch_metrics(watch, text, size);
    free(text);
}
