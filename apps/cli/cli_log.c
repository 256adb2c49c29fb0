/* The run's log. Each line is built in memory and written at once, so that a
 * reader of the file never sees half a line. */
#include "cli_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "cli_watch.h"
#include "engine/watch/publish.h"

enum { SCHEMA = 1, LINE_MAX_BYTES = 1 << 16 };
static const double PAGE_SECONDS_APART = 0.02;

strads_err cli_log_open(const char *path, struct sti_watch *watch,
                        struct sti_publisher *publisher, cli_log *log)
{
    *log = (cli_log){.path = path, .watch = watch, .publisher = publisher};
    if (path || watch || publisher) {
        log->line = open_memstream(&log->text, &log->size);
        if (!log->line)
            return strads_fail(STRADS_ENOMEM, "no memory for the log");
    }
    if (path) {
        log->file = fopen(path, "we");
        if (!log->file) {
            const int why = errno;
            (void)cli_log_close(log);
            return strads_fail(STRADS_EIO, "%s: cannot be written: %s", path,
                               strerror(why));
        }
        (void)setvbuf(log->file, NULL, _IOFBF, LINE_MAX_BYTES);
    }
    return STRADS_OK;
}

/* If the program has a measure of the same name, such as its own training
 * seconds, only the program's is logged. */
static bool is_measured(const cli_log *log, const char *name)
{
    for (size_t k = 0; log->measures && log->measures[k]; k++)
        if (strcmp(log->measures[k], name) == 0)
            return true;
    return false;
}

cli_json cli_log_line(const cli_log *log, const char *event)
{
    cli_json j = {.out = log->line};
    rewind(log->line);
    cli_json_open(&j, NULL, '{');
    cli_json_string(&j, "event", event);
    return j;
}

/* Adds host, process and time (UTC, to the millisecond). */
static void end_line(cli_log *log, cli_json *j)
{
    struct timespec now;
    struct tm utc;
    char seconds[32], stamp[48], host[256] = "";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S",
                   gmtime_r(&now.tv_sec, &utc));
    (void)snprintf(stamp, sizeof stamp, "%s.%03ldZ", seconds,
                   now.tv_nsec / 1000000);
    (void)gethostname(host, sizeof host - 1);
    cli_json_count(j, "schema", SCHEMA);
    cli_json_string(j, "time", stamp);
    cli_json_string(j, "host", host);
    cli_json_count(j, "pid", (uint64_t)getpid());
    cli_json_close(j, '}');
    (void)fputc('\n', log->line);
    const bool good = fflush(log->line) == 0;
    if (good && log->file) {
        (void)fwrite(log->text, 1, log->size, log->file);
        (void)fflush(log->file);
    }
    if (good && log->publisher)
        sti_publisher_send(log->publisher, log->text, log->size);
}

/* Passes the finished line, without its line end, to the page. */
static void tell_page(const cli_log *log, bool report)
{
    if (log->watch)
        sti_watch_publish(log->watch, log->text, log->size - 1, report);
}

void cli_log_end_line(cli_log *log, cli_json *j)
{
    end_line(log, j);
    tell_page(log, false);
}

void cli_log_begin(cli_log *log, const cli_log_start *start)
{
    if (!log->line)
        return;
    log->measures = start->measures;
    cli_json j = cli_log_line(log, "start");
    cli_json_string(&j, "version", strads_version());
    cli_json_string(&j, "program", start->program);
    cli_json_string(&j, "data", start->data_path);
    cli_json_count(&j, "rows", strads_data_rows(start->data));
    cli_json_count(&j, "columns", strads_data_cols(start->data));
    cli_json_count(&j, "entries", strads_data_nnz(start->data));
    cli_json_count(&j, "seed", start->seed);
    cli_json_count(&j, "workers", start->workers);
    cli_json_count(&j, "partitions", start->partitions);
    cli_json_count(&j, "nodes", start->nodes);
    cli_json_raw(&j, "options", start->options);
    cli_log_end_line(log, &j);
}

/* A list of n values; `each` is an expression in k. */
#define PUT_EACH(j, name, n, format, each)                             \
    do {                                                               \
        cli_json_open(j, name, '[');                                   \
        for (uint32_t k = 0; k < (n); k++)                             \
            (void)fprintf((j)->out, "%s" format, k ? ", " : "", each); \
        cli_json_close(j, ']');                                        \
    } while (0)

/* Seconds, rounded to microseconds: they are only drawn. */
static void put_workers(cli_json *j, const strads_progress *p)
{
    const strads_worker_time *w = p->worker;
    uint32_t n = STRADS_PRIORITY_BINS;
    PUT_EACH(j, "worker_computing", p->n_workers, "%.6g",
             w[k].callback_seconds);
    PUT_EACH(j, "worker_waiting", p->n_workers, "%.6g", w[k].waiting_seconds);
    if (!p->priorities) { /* a data-parallel loop */
        PUT_EACH(j, "worker_network", p->n_workers, "%.6g",
                 w[k].network_seconds);
        PUT_EACH(j, "worker_clock", p->n_workers, "%.6g", (double)w[k].clock);
        return;
    }
    while (n > 0 && p->priorities[n - 1] == 0)
        n--; /* drop trailing zeros */
    PUT_EACH(j, "priorities", n, "%" PRIu64, p->priorities[k]);
}

static void put_nodes(cli_json *j, const strads_progress *p)
{
    const strads_node_state *node = p->node;
    PUT_EACH(j, "node_sent", p->n_nodes, "%" PRIu64, node[k].bytes_sent);
    PUT_EACH(j, "node_received", p->n_nodes, "%" PRIu64,
             node[k].bytes_received);
    PUT_EACH(j, "node_linked", p->n_nodes, "%d", node[k].linked ? 1 : 0);
}

/* The most memory that this process had, in bytes; 0: unknown. */
static uint64_t peak_memory(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) != 0 || used.ru_maxrss < 0)
        return 0;
#ifdef __APPLE__
    return (uint64_t)used.ru_maxrss;
#else
    return (uint64_t)used.ru_maxrss << 10;
#endif
}

static void put_progress(const cli_log *log, cli_json *j,
                         const strads_progress *p)
{
    cli_json_count(j, "round", p->round);
    if (!is_measured(log, "seconds"))
        cli_json_number(j, "seconds", p->seconds);
    if (!is_measured(log, "cpu_seconds"))
        cli_json_number(j, "cpu_seconds", p->cpu_seconds);
    cli_json_number(j, "callback_seconds", p->callback_seconds);
    cli_json_number(j, "waiting_seconds", p->waiting_seconds);
    cli_json_number(j, "network_seconds", p->network_seconds);
    cli_json_number(j, "objective", p->objective);
    cli_json_number(j, "gap", p->gap);
    cli_json_count(j, "nonzeros", p->nonzeros);
    for (size_t k = 0; log->measures && log->measures[k]; k++)
        cli_json_number(j, log->measures[k], p->measure[k]);
    cli_json_count(j, "blocks", p->blocks);
    cli_json_count(j, "updates_policy", p->updates_policy);
    cli_json_count(j, "updates_other", p->updates_other);
    cli_json_count(j, "probes", p->probes);
    cli_json_count(j, "bytes_sent", p->bytes_sent);
    cli_json_count(j, "bytes_received", p->bytes_received);
    cli_json_count(j, "in_flight", p->in_flight);
    cli_json_count(j, "memory_bytes", peak_memory());
    if (p->n_workers > 0)
        put_workers(j, p);
    if (p->n_nodes > 0)
        put_nodes(j, p);
}

static void name_nodes(cli_log *log, const strads_progress *p)
{
    log->named_nodes = p->n_nodes;
    cli_json j = cli_log_line(log, "nodes");
    cli_json_open(&j, "nodes", '[');
    for (uint32_t k = 0; k < p->n_nodes; k++) {
        cli_json_open(&j, NULL, '{');
        cli_json_string(&j, "url", p->node[k].url);
        cli_json_count(&j, "workers", k ? p->node[k].workers : p->n_workers);
        cli_json_close(&j, '}');
    }
    cli_json_close(&j, ']');
    cli_log_end_line(log, &j);
}

void cli_log_round(cli_log *log, const strads_progress *progress)
{
    const double now = cli_now();
    const bool page = log->watch && now - log->told >= PAGE_SECONDS_APART;
    if (!log->file && !log->publisher && !page)
        return;
    if (progress->n_nodes != log->named_nodes)
        name_nodes(log, progress);
    cli_json j = cli_log_line(log, "round");
    put_progress(log, &j, progress);
    end_line(log, &j);
    if (page) {
        log->told = now;
        tell_page(log, true);
        cli_watch_figures(log->watch, log, progress);
    }
}

void cli_log_end(cli_log *log, const char *reason,
                 const strads_progress *progress)
{
    if (log->line) {
        cli_json j = cli_log_line(log, "end");
        cli_json_string(&j, "reason", reason);
        if (progress) {
            put_progress(log, &j, progress);
            cli_watch_figures(log->watch, log, progress);
        }
        cli_log_end_line(log, &j);
    }
}

strads_err cli_log_close(cli_log *log)
{
    if (log->line) {
        (void)fclose(log->line);
        free(log->text);
        log->line = NULL;
    }
    if (!log->file)
        return STRADS_OK;
    int bad = ferror(log->file);
    int why = bad ? ENOSPC : 0;
    if (fclose(log->file) != 0 && !bad) {
        bad = 1;
        why = errno;
    }
    log->file = NULL;
    return bad ? strads_fail(STRADS_EIO, "%s: the log lacks lines: %s",
                             log->path, strerror(why))
               : STRADS_OK;
}
