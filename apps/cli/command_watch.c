/* strads watch: serves the page of a run from its log, after the run or during
 * it, and a page of all logs in a folder.
 *
 * Of a single log, this thread follows the file and publishes its lines as the
 * run did. A folder is read by the server's thread, when the page asks for
 * /runs (a line about each log) or /runs/K (the lines of log K). */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli_options.h"
#include "cli_terminal.h"
#include "engine/watch/watch.h"

/* page.html, embedded by cmake/embed.cmake. */
extern const char cli_page[];
extern const size_t cli_page_size;

enum { LOGS = 1000, LINES = 2048, TAIL = 1 << 18, LINE_MAX_BYTES = 1 << 20 };
static const struct timespec POLL = {.tv_nsec = 200000000};

/* A log of the folder. It keeps its place in the list, so that its number stays
 * valid; a file that is deleted has no summary. */
typedef struct log_file {
    char *name;
    off_t size;
    time_t changed;  /* seconds */
    json_t *summary; /* or NULL */
} log_file;

typedef struct watching {
    const char *address;
    double time_limit;
    bool quiet;
    const char *path;
    log_file log[LOGS]; /* of a folder; owned by the server's thread */
    size_t n;
} watching;

static const strads_option watch_table[] = {
    CLI_TEXT(watching, address, "http", "HOST:PORT",
             "serve the page there (default: 127.0.0.1, a free port)"),
    CLI_F64(watching, time_limit, "time-limit", "SECONDS",
            "serve it that long (default: until Ctrl-C)", 0, 1e9),
    CLI_FLAG(watching, quiet, "quiet", "print errors only (default: no)"),
    {.name = NULL},
};

static json_t *parse_event(const char *line)
{
    json_t *event = json_loads(line, 0, NULL);
    if (json_is_string(json_object_get(event, "event")))
        return event;
    json_decref(event);
    return NULL;
}

static bool is_event(const char *line, const char *name)
{
    char head[40];
    (void)snprintf(head, sizeof head, "{\"event\": \"%s\"", name);
    return strncmp(line, head, strlen(head)) == 0;
}

/* ---- one log ------------------------------------------------------------- */

/* A line of the log for the page. The page of a log has no button. */
static void publish_line(sti_watch *watch, const char *line, size_t size)
{
    static const char mark[] = "{\"viewer\": true, ";
    if (!is_event(line, "start")) {
        sti_watch_publish(watch, line, size, is_event(line, "round"));
        return;
    }
    char *marked = malloc(sizeof mark + size);
    if (!marked)
        return;
    (void)memcpy(marked, mark, sizeof mark - 1);
    (void)memcpy(marked + sizeof mark - 1, line + 1, size); /* with its 0 */
    sti_watch_publish(watch, marked, sizeof mark - 2 + size, false);
    free(marked);
}

/* Publishes the complete lines behind `at`. Returns the place behind them. */
static long publish_new(FILE *file, long at, sti_watch *watch)
{
    char *line = NULL;
    size_t room = 0;
    (void)fseek(file, at, SEEK_SET);
    for (ssize_t n; (n = getline(&line, &room, file)) > 0; at += n) {
        if (line[n - 1] != '\n')
            break; /* the run is still writing it */
        line[n - 1] = '\0';
        if (*line == '{' && n <= LINE_MAX_BYTES)
            publish_line(watch, line, (size_t)n - 1);
    }
    free(line);
    clearerr(file);
    return at;
}

/* Publishes what is new in the log. If another run has overwritten it, begins
 * again. */
static void follow_log(const watching *w, FILE **file, long *at,
                       sti_watch *watch)
{
    struct stat here, opened;
    if (stat(w->path, &here) != 0)
        return;
    if (*file && (fstat(fileno(*file), &opened) != 0 ||
                  opened.st_ino != here.st_ino || here.st_size < *at)) {
        (void)fclose(*file);
        *file = NULL;
    }
    if (!*file) {
        *file = fopen(w->path, "re");
        *at = 0;
    }
    if (*file && here.st_size > *at)
        *at = publish_new(*file, *at, watch);
}

static strads_err check_log(const char *path)
{
    char head[16] = "";
    FILE *file = fopen(path, "re");
    if (!file)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(errno));
    head[fread(head, 1, sizeof head - 1, file)] = '\0';
    (void)fclose(file);
    return *head == '\0' || strncmp(head, "{\"event\": ", 10) == 0
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "%s: is not a log; expected a file that --log "
                             "wrote, or a folder of them",
                             path);
}

/* ---- a folder ------------------------------------------------------------ */

/* The last report of a log, or its end: searched in the file's last part. */
static json_t *read_last(FILE *file, off_t size)
{
    char *text = malloc(TAIL + 1);
    json_t *found = NULL;
    if (!text)
        return NULL;
    (void)fseek(file, size > TAIL ? (long)(size - TAIL) : 0, SEEK_SET);
    size_t n = fread(text, 1, TAIL, file);
    text[n] = '\0';
    while (n > 0 && !found) {
        while (n > 0 && text[n - 1] != '\n')
            n--; /* the run may still be writing a line */
        text[n ? n - 1 : 0] = '\0';
        size_t begin = n ? n - 1 : 0;
        while (begin > 0 && text[begin - 1] != '\n')
            begin--;
        const char *line = text + begin;
        n = begin;
        if (is_event(line, "end") || is_event(line, "round"))
            found = parse_event(line);
    }
    free(text);
    return found;
}

static json_t *summarise_log(const watching *w, const log_file *log,
                             size_t number)
{
    static const char *const of_start[] = {"program", "data",   "time",
                                           "workers", "nodes",  "host",
                                           "seed",    "options"};
    static const char *const of_last[] = {"seconds", "round",  "objective",
                                          "gap",     "reason", "nonzeros"};
    char path[4096], *line = NULL;
    size_t room = 0;
    json_t *out = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", w->path, log->name);
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    json_t *start = getline(&line, &room, file) > 0 && is_event(line, "start")
                        ? parse_event(line)
                        : NULL;
    if (start) {
        json_t *last = read_last(file, log->size);
        out = json_pack("{s:I, s:s, s:I}", "id", (json_int_t)number, "name",
                        log->name, "changed", (json_int_t)log->changed);
        for (size_t k = 0; k < sizeof of_start / sizeof *of_start; k++)
            (void)json_object_set(out, of_start[k],
                                  json_object_get(start, of_start[k]));
        for (size_t k = 0; k < sizeof of_last / sizeof *of_last; k++)
            (void)json_object_set(out, of_last[k],
                                  json_object_get(last, of_last[k]));
        json_decref(last);
    }
    json_decref(start);
    free(line);
    (void)fclose(file);
    return out;
}

static log_file *find_log(watching *w, const char *name)
{
    for (size_t k = 0; k < w->n; k++)
        if (strcmp(w->log[k].name, name) == 0)
            return &w->log[k];
    if (w->n == LOGS)
        return NULL;
    w->log[w->n] = (log_file){.name = strdup(name)};
    return w->log[w->n].name ? &w->log[w->n++] : NULL;
}

static int is_log_name(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end && end != entry->d_name && strcmp(end, ".jsonl") == 0;
}

/* Reads the folder, and the files that have changed. */
static void scan_folder(watching *w)
{
    struct dirent **entry = NULL;
    const int n = scandir(w->path, &entry, is_log_name, alphasort);
    for (int k = 0; k < n; k++) {
        (void)find_log(w, entry[k]->d_name);
        free(entry[k]);
    }
    free(entry);
    for (size_t k = 0; k < w->n; k++) {
        log_file *log = &w->log[k];
        char path[4096];
        struct stat now;
        (void)snprintf(path, sizeof path, "%s/%s", w->path, log->name);
        const bool there = stat(path, &now) == 0 && S_ISREG(now.st_mode);
        if (there && log->size == now.st_size && log->changed == now.st_mtime)
            continue;
        json_decref(log->summary);
        log->summary = NULL;
        log->size = there ? now.st_size : 0;
        log->changed = there ? now.st_mtime : 0;
        if (there)
            log->summary = summarise_log(w, log, k);
    }
}

static char *list_runs(watching *w, size_t *size)
{
    json_t *all = json_array();
    scan_folder(w);
    for (size_t k = 0; k < w->n; k++)
        if (w->log[k].summary)
            (void)json_array_append(all, w->log[k].summary);
    char *text = json_dumps(all, JSON_REAL_PRECISION(17));
    json_decref(all);
    *size = text ? strlen(text) : 0;
    return text;
}

/* The lines of a log that the page keeps: reports are thinned like those of a
 * run that is watched. */
typedef struct kept {
    char *line[LINES];
    bool report[LINES];
    size_t n, stride, reports;
} kept;

/* Drops every second report. */
static void thin_kept(kept *all)
{
    size_t n = 0, reports = 0;
    for (size_t k = 0; k < all->n; k++) {
        if (all->report[k] && reports++ % 2 != 0) {
            free(all->line[k]);
            continue;
        }
        all->report[n] = all->report[k];
        all->line[n++] = all->line[k];
    }
    all->n = n;
    all->stride *= 2;
}

static void keep_line(kept *all, const char *line)
{
    const bool report = is_event(line, "round");
    if (report && all->reports++ % all->stride != 0)
        return;
    if (all->n == LINES)
        thin_kept(all);
    char *copy = all->n < LINES ? strdup(line) : NULL;
    if (!copy)
        return;
    all->report[all->n] = report;
    all->line[all->n++] = copy;
}

static char *read_run(const watching *w, const log_file *log, size_t *size)
{
    char path[4096], *line = NULL, *text = NULL;
    size_t room = 0;
    kept *all = calloc(1, sizeof *all);
    (void)snprintf(path, sizeof path, "%s/%s", w->path, log->name);
    FILE *file = all ? fopen(path, "re") : NULL;
    FILE *out = file ? open_memstream(&text, size) : NULL;
    if (all)
        all->stride = 1;
    for (ssize_t n; out && (n = getline(&line, &room, file)) > 0;)
        if (*line == '{' && line[n - 1] == '\n' && n <= LINE_MAX_BYTES)
            keep_line(all, line);
    for (size_t k = 0; all && k < all->n; k++) {
        if (out)
            (void)fputs(all->line[k], out);
        free(all->line[k]);
    }
    if (out)
        (void)fclose(out);
    if (file)
        (void)fclose(file);
    free(line);
    free(all);
    return text;
}

/* For GET /runs (`name` is "") and GET /runs/K. */
static char *read_runs(void *arg, const char *name, size_t *size)
{
    watching *w = arg;
    char *end = NULL;
    if (*name == '\0')
        return list_runs(w, size);
    const unsigned long k = strtoul(name, &end, 10);
    return strspn(name, "0123456789") == strlen(name) && k < w->n &&
                   w->log[k].summary
               ? read_run(w, &w->log[k], size)
               : NULL;
}

/* ---- the command --------------------------------------------------------- */

static strads_err serve_logs(watching *w)
{
    const volatile bool *stop = cli_signal_catch();
    const double begun = cli_now();
    sti_watch_options options = {.address =
                                     w->address ? w->address : "127.0.0.1:0",
                                 .page = cli_page,
                                 .page_size = cli_page_size,
                                 .arg = w};
    sti_watch *watch = NULL;
    struct stat kind;
    FILE *file = NULL;
    long at = 0;
    if (stat(w->path, &kind) != 0)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", w->path,
                           strerror(errno));
    const bool folder = S_ISDIR(kind.st_mode);
    if (folder)
        options.runs = read_runs;
    else
        CLI_TRY(check_log(w->path));
    CLI_TRY(sti_watch_open(&options, &watch));
    if (folder)
        sti_watch_publish(watch, "{\"event\": \"runs\"}", 17, false);
    else
        follow_log(w, &file, &at, watch);
    cli_say(w->quiet, "watch %s at %s until Ctrl-C",
            folder ? "the runs of this folder" : "this log",
            sti_watch_url(watch));
    while (!*stop &&
           !(w->time_limit > 0 && cli_now() - begun >= w->time_limit)) {
        (void)nanosleep(&POLL, NULL);
        if (!folder)
            follow_log(w, &file, &at, watch);
    }
    sti_watch_close(watch);
    if (file)
        (void)fclose(file);
    return STRADS_OK;
}

static int run_watch(const cli_command *self, int argc, char **argv)
{
    watching *w;
    cli_parsed parsed;
    strads_err err = cli_reserve(1, sizeof *w, "the command", &w);
    if (err)
        return cli_complain(err, CLI_BEFORE);
    const cli_syntax syntax = {.name = self->name,
                               .args = self->args,
                               .summary = self->about,
                               .groups = {{NULL, watch_table, w}}};
    err = cli_parse(&syntax, argc, argv, &parsed);
    w->path = parsed.arg[0];
    if (!err && !parsed.done)
        err = serve_logs(w);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}

const cli_command cli_watch_commands[] = {
    {.name = "watch",
     .args = "LOG|FOLDER",
     .summary = "show logs on the page of a run",
     .about = "Shows the log of a run, past or present, on the page of --http. "
              "Of a folder, it lists and compares the logs *.jsonl.",
     .run = run_watch},
    {.name = NULL},
};
