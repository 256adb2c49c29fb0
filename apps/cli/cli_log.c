/* The run's log. A line is built whole and leaves in one write, so that who
 * follows the file never reads half of one. */
#include "cli_log.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/number_text.h"

strads_err cli_log_open(const char *path, cli_log *log)
{
    *log = (cli_log){.path = path};
    if (path) {
        log->file = fopen(path, "we");
        if (!log->file) {
            return strads_fail(STRADS_EIO, "%s: cannot be written: %s", path,
                               strerror(errno));
        }
    }
    return STRADS_OK;
}

/* A program may measure better what the engine knows too, its own seconds of
 * training, say: then only that is told. */
static bool is_measured(const cli_log *log, const char *name)
{
    for (size_t k = 0; log->measures && log->measures[k]; k++) {
        if (strcmp(log->measures[k], name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_number(cli_log *log, const char *name, double value)
{
    char text[STI_NUMBER_SIZE];
    (void)sti_number_format(value, text);
    (void)fprintf(log->file, ", \"%s\": %s", name, text);
}

static void put_count(cli_log *log, const char *name, uint64_t value)
{
    (void)fprintf(log->file, ", \"%s\": %" PRIu64, name, value);
}

static void put_string(cli_log *log, const char *name, const char *value)
{
    json_t *string = json_string(value);
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    (void)fprintf(log->file, ", \"%s\": %s", name, text ? text : "null");
    free(text);
    json_decref(string);
}

/* The options in one line: a log has a line an event. */
static void put_options(cli_log *log, const char *options)
{
    (void)fputs(", \"options\": ", log->file);
    for (const char *c = options; *c; c++) {
        bool indent = c > options && c[-1] == '\n';
        if (*c == '\n') {
            if (c > options && c[-1] == ',') {
                (void)fputc(' ', log->file);
            }
            while (c[1] == ' ') {
                c++;
            }
        } else if (!indent) {
            (void)fputc(*c, log->file);
        }
    }
}

static void end_line(cli_log *log)
{
    (void)fputs("}\n", log->file);
    (void)fflush(log->file);
}

void cli_log_begin(cli_log *log, const cli_log_start *start)
{
    if (!log->file) {
        return;
    }
    log->measures = start->measures;
    (void)fputs("{\"event\": \"start\"", log->file);
    put_string(log, "version", strads_version());
    put_string(log, "program", start->program);
    put_string(log, "data", start->data_path);
    put_count(log, "rows", strads_data_rows(start->data));
    put_count(log, "columns", strads_data_cols(start->data));
    put_count(log, "entries", strads_data_nnz(start->data));
    put_count(log, "seed", start->seed);
    put_count(log, "workers", start->workers);
    put_count(log, "partitions", start->partitions);
    put_count(log, "nodes", start->nodes);
    put_options(log, start->options);
    end_line(log);
}

static void put_measures(cli_log *log, const strads_progress *p)
{
    for (size_t k = 0; log->measures && log->measures[k]; k++) {
        put_number(log, log->measures[k], p->measure[k]);
    }
}

static void put_progress(cli_log *log, const strads_progress *p)
{
    put_count(log, "round", p->round);
    if (!is_measured(log, "seconds")) {
        put_number(log, "seconds", p->seconds);
    }
    if (!is_measured(log, "cpu_seconds")) {
        put_number(log, "cpu_seconds", p->cpu_seconds);
    }
    put_number(log, "callback_seconds", p->callback_seconds);
    put_number(log, "waiting_seconds", p->waiting_seconds);
    put_number(log, "network_seconds", p->network_seconds);
    put_number(log, "objective", p->objective);
    put_number(log, "gap", p->gap);
    put_count(log, "nonzeros", p->nonzeros);
    put_measures(log, p);
    put_count(log, "blocks", p->blocks);
    put_count(log, "updates_policy", p->updates_policy);
    put_count(log, "updates_other", p->updates_other);
    put_count(log, "probes", p->probes);
    put_count(log, "bytes_sent", p->bytes_sent);
    put_count(log, "bytes_received", p->bytes_received);
}

void cli_log_round(cli_log *log, const strads_progress *progress)
{
    if (log->file) {
        (void)fputs("{\"event\": \"round\"", log->file);
        put_progress(log, progress);
        end_line(log);
    }
}

void cli_log_end(cli_log *log, const char *reason,
                 const strads_progress *progress)
{
    if (!log->file) {
        return;
    }
    (void)fputs("{\"event\": \"end\"", log->file);
    put_string(log, "reason", reason);
    if (progress) {
        put_progress(log, progress);
    }
    end_line(log);
}

strads_err cli_log_close(cli_log *log)
{
    if (!log->file) {
        return STRADS_OK;
    }
    int bad = ferror(log->file);
    int why = bad ? ENOSPC : 0;
    if (fclose(log->file) != 0 && !bad) {
        bad = 1;
        why = errno;
    }
    log->file = NULL;
    return bad ? strads_fail(STRADS_EIO, "%s: the log has lines missing: %s",
                             log->path, strerror(why))
               : STRADS_OK;
}
