/* strads watch: serves the page of a run from its log, after the run or during
 * it, and a page of all logs in a folder.
 *
 * Of a single log, this thread follows the file and publishes its lines as the
 * run did. A folder is read by the server's thread, when the page asks for
 * /runs (a line about each log) or /runs/K (the lines of log K). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli_options.h"
#include "cli_terminal.h"
#include "engine/watch/watch.h"

/* page.html, embedded by cmake/embed.cmake. */
extern const char cli_page[];
extern const size_t cli_page_size;

enum { LOGS = 1000, LINES = 2048, TAIL = 1 << 18, LINE_MAX_BYTES = 1 << 20 };
static const struct timespec POLL = {.tv_nsec = 200000000};

/* A log of the folder. It keeps its place in the list, so that its number stays
 * valid. A deleted file has no summary, and loses its place to a new one if the
 * list is full. */
typedef struct log_file {
    char *name;
    bool is_deleted;
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

/* ---- lines --------------------------------------------------------------- */

/* A log that is being read. Anything may be in it. */
typedef struct log_reader {
    FILE *file;
    size_t size; /* of `line` */
    bool skips;  /* `line` and what follows belong to a line too long to keep */
    char line[LINE_MAX_BYTES + 1];
} log_reader;

/* Opens a regular file: to open or read another one, such as a FIFO, could
 * block. On failure it returns NULL and sets errno. */
static FILE *open_log(const char *path)
{
    struct stat kind;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    FILE *file =
        fstat(fd, &kind) == 0 && S_ISREG(kind.st_mode) ? fdopen(fd, "r") : NULL;
    if (!file) {
        (void)close(fd);
        errno = EINVAL;
    }
    return file;
}

static log_reader *open_reader(const char *path)
{
    log_reader *r = malloc(sizeof *r);
    if (!r)
        return NULL;
    r->size = 0;
    r->skips = false;
    r->line[0] = '\0';
    r->file = open_log(path);
    if (r->file)
        return r;
    free(r);
    return NULL;
}

static void close_reader(log_reader *r)
{
    if (r)
        (void)fclose(r->file);
    free(r);
}

/* Reads a line with its end, or a piece of LINE_MAX_BYTES of a longer one.
 * False: the file has ended, perhaps within the line. */
static bool read_piece(log_reader *r)
{
    int c = '\0';
    if (r->size > 0 && r->line[r->size - 1] == '\n')
        r->skips = false;
    else if (r->size == LINE_MAX_BYTES)
        r->skips = true;
    r->size = 0;
    while (c != '\n' && r->size < LINE_MAX_BYTES &&
           (c = getc_unlocked(r->file)) != EOF)
        r->line[r->size++] = (char)c;
    r->line[r->size] = '\0';
    return c != EOF;
}

/* Whether the line is complete and may be an event. */
static bool is_usable(const log_reader *r)
{
    return !r->skips && *r->line == '{' && r->line[r->size - 1] == '\n' &&
           strlen(r->line) == r->size;
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
static long publish_new(log_reader *r, long at, sti_watch *watch)
{
    (void)fseek(r->file, at, SEEK_SET);
    r->size = 0;
    for (; read_piece(r); at += (long)r->size) {
        if (!is_usable(r))
            continue;
        r->line[r->size - 1] = '\0';
        publish_line(watch, r->line, r->size - 1);
        r->line[r->size - 1] = '\n';
    }
    clearerr(r->file);
    return at;
}

/* Publishes what is new in the log. If another run has overwritten it, begins
 * again. */
static void follow_log(const watching *w, log_reader **r, long *at,
                       sti_watch *watch)
{
    struct stat here, opened;
    if (stat(w->path, &here) != 0)
        return;
    if (*r && (fstat(fileno((*r)->file), &opened) != 0 ||
               opened.st_ino != here.st_ino || here.st_size < *at)) {
        close_reader(*r);
        *r = NULL;
    }
    if (!*r) {
        *r = open_reader(w->path);
        *at = 0;
    }
    if (*r && here.st_size > *at)
        *at = publish_new(*r, *at, watch);
}

static strads_err check_log(const char *path)
{
    char head[16] = "";
    struct stat kind;
    FILE *file = open_log(path);
    const int why = errno;
    const bool regular = stat(path, &kind) == 0 && S_ISREG(kind.st_mode);
    if (!file && regular)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(why));
    const size_t n = file ? fread(head, 1, sizeof head - 1, file) : 0;
    if (file)
        (void)fclose(file);
    return file && (n == 0 || strncmp(head, "{\"event\": ", 10) == 0)
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

/* Of an event: the page relies on its type; JSON_REAL is any number. */
typedef struct member {
    const char *name;
    json_type type;
} member;

static void copy_members(json_t *to, const json_t *from, const member *m)
{
    for (; m->name; m++) {
        json_t *value = json_object_get(from, m->name);
        if (value && (json_typeof(value) == m->type ||
                      (m->type == JSON_REAL && json_is_number(value))))
            (void)json_object_set(to, m->name, value);
    }
}

static json_t *summarise_log(const watching *w, const log_file *log,
                             size_t number)
{
    static const member of_start[] = {
        {"program", JSON_STRING}, {"data", JSON_STRING},
        {"time", JSON_STRING},    {"workers", JSON_REAL},
        {"nodes", JSON_REAL},     {"host", JSON_STRING},
        {"seed", JSON_REAL},      {"options", JSON_OBJECT},
        {NULL, JSON_NULL}};
    static const member of_last[] = {{"seconds", JSON_REAL},
                                     {"round", JSON_REAL},
                                     {"objective", JSON_REAL},
                                     {"gap", JSON_REAL},
                                     {"reason", JSON_STRING},
                                     {"nonzeros", JSON_REAL},
                                     {NULL, JSON_NULL}};
    char path[4096];
    json_t *out = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", w->path, log->name);
    log_reader *r = open_reader(path);
    if (!r)
        return NULL;
    json_t *start = read_piece(r) && is_usable(r) && is_event(r->line, "start")
                        ? parse_event(r->line)
                        : NULL;
    if (start) {
        json_t *last = read_last(r->file, log->size);
        out = json_pack("{s:I, s:s, s:I}", "id", (json_int_t)number, "name",
                        log->name, "changed", (json_int_t)log->changed);
        copy_members(out, start, of_start);
        copy_members(out, last, of_last);
        json_decref(last);
    }
    json_decref(start);
    close_reader(r);
    return out;
}

static bool has_log(const watching *w, const char *name)
{
    for (size_t k = 0; k < w->n; k++)
        if (strcmp(w->log[k].name, name) == 0)
            return true;
    return false;
}

/* False: the list is full. */
static bool add_log(watching *w, const char *name)
{
    size_t k = w->n;
    if (w->n == LOGS)
        for (k = 0; k < LOGS && !w->log[k].is_deleted;)
            k++;
    char *copy = k < LOGS ? strdup(name) : NULL;
    if (!copy)
        return false;
    free(w->log[k].name);
    w->log[k] = (log_file){.name = copy};
    w->n += k == w->n;
    return true;
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
    bool full = false;
    for (int k = 0; k < n; k++) {
        if (!full && !has_log(w, entry[k]->d_name))
            full = !add_log(w, entry[k]->d_name);
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
        log->is_deleted = !there;
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
    char path[4096], *text = NULL;
    kept *all = calloc(1, sizeof *all);
    (void)snprintf(path, sizeof path, "%s/%s", w->path, log->name);
    log_reader *r = all ? open_reader(path) : NULL;
    FILE *out = r ? open_memstream(&text, size) : NULL;
    if (all)
        all->stride = 1;
    while (out && read_piece(r))
        if (is_usable(r))
            keep_line(all, r->line);
    for (size_t k = 0; all && k < all->n; k++) {
        if (out)
            (void)fputs(all->line[k], out);
        free(all->line[k]);
    }
    if (out)
        (void)fclose(out);
    close_reader(r);
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
    log_reader *reader = NULL;
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
        follow_log(w, &reader, &at, watch);
    cli_say(w->quiet, "watch %s at %s until Ctrl-C",
            folder ? "the runs of this folder" : "this log",
            sti_watch_url(watch));
    while (!*stop &&
           !(w->time_limit > 0 && cli_now() - begun >= w->time_limit)) {
        (void)nanosleep(&POLL, NULL);
        if (!folder)
            follow_log(w, &reader, &at, watch);
    }
    sti_watch_close(watch);
    close_reader(reader);
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
