/* Checkpoints on disk. The directory is locked while a run writes to it. At
 * most one checkpoint waits for the writer thread. A thread that brings another
 * one blocks until the first is written, so that a slow disk makes checkpoints
 * rarer and costs no memory. */
#include "engine/run/checkpoint_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "engine/base/atomic_file.h"
#include "engine/base/stop_flag.h"
#include "engine/run/plan_json.h"
#include "strads/options.h"
#include "strads/version.h"

enum { KEPT = 2, PATH_ROOM = 4096, TEXT_ROOM = 1024 };

static const char checkpoint_magic[16] = "strads ckpt 1\n";

typedef struct head {
    char magic[16];
    uint64_t size, checksum;
} head;

struct sti_checkpoint_files {
    sti_checkpoints checkpoints;
    sti_checkpoint from;
    char *identity;
    strads_engine_options options;
    bool keeps;         /* keep the last checkpoint in `latest` */
    sti_buffer *latest; /* set by the run's threads, one at a time */
    void (*taken)(void *arg);
    void *taken_arg;
    const char *directory; /* NULL: do not write */
    int fd;                /* the locked directory, or -1 */
    uint64_t last;         /* number of the newest file in the directory */
    pthread_t writer;
    bool started;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t moved;
    sti_buffer *next; /* waits for the writer */
    bool closing;
};

/* ---- identity of a run --------------------------------------------------- */

/* If there is no memory for the line, or `value` is NULL, *text becomes NULL
 * and stays NULL. */
static void add_line(char **text, const char *name, const char *value)
{
    char *more = NULL;
    if (*text && value && asprintf(&more, "%s%s: %s\n", *text, name, value) < 0)
        more = NULL;
    free(*text);
    *text = more;
}

static void add_number(char **text, const char *name, uint64_t value)
{
    char number[32];
    (void)snprintf(number, sizeof number, "%" PRIu64, value);
    add_line(text, name, number);
}

static void add_options(char **text, const sti_run *run)
{
    for (const strads_option *o = run->program->options; o && o->name; o++) {
        if (o->of_machine)
            continue;
        const size_t size = strads_option_format(o, run->config, NULL, 0) + 1;
        char *value = malloc(size);
        if (value)
            (void)strads_option_format(o, run->config, value, size);
        add_line(text, o->name, value);
        free(value);
    }
}

static void add_plan(char **text, const strads_plan *plan)
{
    json_t *json = plan ? sti_plan_json(plan) : NULL;
    char *all = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    add_number(text, "plan", all ? XXH3_64bits(all, strlen(all)) : 0);
    free(all);
    json_decref(json);
}

static char *identity_of(const sti_setup *setup, const strads_data *data)
{
    const sti_run *run = &setup->run;
    char *text = strdup("");
    add_line(&text, "program", run->program->name);
    add_line(&text, "version of strads", strads_version());
    add_number(&text, "rows", strads_data_rows(data));
    add_number(&text, "columns", strads_data_cols(data));
    add_number(&text, "entries", strads_data_nnz(data));
    add_number(&text, "checksum of the data", strads_data_checksum(data));
    add_number(&text, "parameters", run->shape.parameters);
    add_number(&text, "numbers a parameter", run->shape.width);
    add_number(&text, "partitions", run->partitions);
    if (!sti_checkpoint_is_committed(
            run->program)) /* committed data fits any number
                                              * of pools */
        add_number(&text, "pools", run->pools);
    add_number(&text, "blocks", run->shape.blocks);
    add_number(&text, "depth", run->depth);
    add_number(&text, "seed", run->seed);
    add_plan(&text, setup->options.plan_given);
    add_options(&text, run);
    return text;
}

/* Reports the first line that differs. */
static strads_err compare_identity(const char *path, const char *then,
                                   const char *now)
{
    size_t at = 0, begin = 0;
    if (strcmp(then, now) == 0)
        return STRADS_OK;
    for (; then[at] && then[at] == now[at]; at++)
        if (then[at] == '\n')
            begin = at + 1;
    return strads_fail(STRADS_EMISMATCH,
                       "%s: is of a run with \"%.*s\", this one has \"%.*s\": "
                       "use the same data and options, or start from the "
                       "beginning with another directory for --checkpoint",
                       path, (int)strcspn(then + begin, "\n"), then + begin,
                       (int)strcspn(now + begin, "\n"), now + begin);
}

/* ---- the directory ----------------------------------------------------- */

static void path_of(const char *directory, uint64_t number,
                    char path[PATH_ROOM])
{
    (void)snprintf(path, PATH_ROOM, "%s/checkpoint-%06" PRIu64 ".strads",
                   directory, number);
}

/* The number in a checkpoint's file name, or 0 for any other file. Sets `part`
 * for an unfinished file. */
static uint64_t number_in(const char *name, bool *part)
{
    uint64_t number;
    int end = 0;
    if (sscanf(name, "checkpoint-%" SCNu64 ".strads%n", &number, &end) != 1 ||
        !end)
        return 0;
    *part = name[end] != '\0';
    return *part && !strstr(name + end, ".part") ? 0 : number;
}

/* The newest checkpoint below `below`, or 0 if there is none. With `tidy`, also
 * removes unfinished files of killed processes and checkpoints below
 * `oldest`. */
static uint64_t scan_directory(const char *directory, uint64_t below, bool tidy,
                               uint64_t oldest)
{
    DIR *dir = opendir(directory);
    uint64_t best = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        bool part;
        const uint64_t number = number_in(e->d_name, &part);
        if (number && tidy && (part || number < oldest))
            (void)unlinkat(dirfd(dir), e->d_name, 0);
        else if (number && !part && number < below && number > best)
            best = number;
    }
    if (dir)
        (void)closedir(dir);
    return best;
}

static void tidy(const sti_checkpoint_files *f)
{
    (void)scan_directory(f->directory, 0, true,
                         f->last < KEPT ? 0 : f->last - KEPT + 1);
}

static strads_err take_directory(sti_checkpoint_files *f)
{
    if (mkdir(f->directory, 0777) != 0 && errno != EEXIST)
        return strads_fail(STRADS_EIO, "checkpoint %s: cannot be made: %s",
                           f->directory, strerror(errno));
    f->fd = open(f->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0 || access(f->directory, W_OK | X_OK) != 0)
        return strads_fail(STRADS_EIO,
                           "checkpoint %s: cannot be written to: %s",
                           f->directory, strerror(errno));
    if (flock(f->fd, LOCK_EX | LOCK_NB) != 0)
        return strads_fail(STRADS_ESTATE,
                           "checkpoint %s: another run writes its checkpoints "
                           "there: give this one another directory",
                           f->directory);
    f->last = scan_directory(f->directory, UINT64_MAX, true, 0);
    tidy(f); /* removes unfinished files of a killed process */
    const char *resume = f->options.resume;
    if (f->last && !(resume && strcmp(resume, f->directory) == 0))
        return strads_fail(
            STRADS_EINVAL,
            "checkpoint %s: has checkpoints of an earlier run: continue from "
            "them with --resume %s, or give another "
            "directory",
            f->directory, f->directory);
    return STRADS_OK;
}

/* ---- reading ----------------------------------------------------------- */

static strads_err report_damage(const char *path, const char *how)
{
    return strads_fail(STRADS_EFORMAT, "%s: is damaged: %s", path, how);
}

static strads_err read_file(const char *path, FILE *file, sti_buffer **out)
{
    head h;
    sti_buffer *bytes;
    struct stat about;
    if (fread(&h, sizeof h, 1, file) != 1 ||
        memcmp(h.magic, checkpoint_magic, sizeof checkpoint_magic) != 0 ||
        fstat(fileno(file), &about) != 0)
        return report_damage(path, "it does not begin like a checkpoint");
    if ((uint64_t)about.st_size - sizeof h != h.size)
        return report_damage(path,
                             "its size differs from the one in its header");
    strads_err err = sti_buffer_new(h.size, &bytes);
    if (err)
        return err;
    if (fread(bytes->bytes, 1, h.size, file) != h.size ||
        XXH3_64bits(bytes->bytes, h.size) != h.checksum) {
        sti_object_drop(bytes);
        return report_damage(path, "its checksum is wrong");
    }
    *out = bytes;
    return STRADS_OK;
}

static strads_err read_checkpoint(const char *path, sti_checkpoint *out)
{
    sti_buffer *bytes = NULL;
    struct stat about;
    /* Without O_NONBLOCK, opening a FIFO would block. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &about) == 0 && !S_ISREG(about.st_mode)) {
        (void)close(fd);
        return report_damage(path, "it is not a plain file");
    }
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        const int why = errno;
        if (fd >= 0)
            (void)close(fd);
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(why));
    }
    strads_err err = read_file(path, file, &bytes);
    (void)fclose(file);
    if (!err && sti_checkpoint_read(bytes, out))
        err = report_damage(path, "its content is not a checkpoint");
    sti_object_drop(bytes);
    return err;
}

static void notice(const sti_checkpoint_files *f, const char *text)
{
    if (f->options.notice)
        f->options.notice(f->options.notice_arg, text);
}

/* Finds the newest checkpoint that is intact: if the last one is damaged, the
 * one before it is used. */
static strads_err find_checkpoint(sti_checkpoint_files *f,
                                  const char *directory)
{
    uint64_t number = scan_directory(directory, UINT64_MAX, false, 0);
    if (!number)
        return strads_fail(STRADS_EFORMAT,
                           "resume %s: has no checkpoint of a run: leave "
                           "--resume out to start from the beginning",
                           directory);
    for (;;) {
        char path[PATH_ROOM], text[TEXT_ROOM];
        path_of(directory, number, path);
        strads_err err = read_checkpoint(path, &f->from);
        if (!err)
            return compare_identity(path, f->from.identity, f->identity);
        number = scan_directory(directory, number, false, 0);
        if (!number)
            return err;
        (void)snprintf(text, sizeof text, "%s: the previous checkpoint is used",
                       strads_error_text());
        notice(f, text);
    }
}

bool sti_checkpoint_find(const char *directory, const char *name, char *value,
                         size_t room)
{
    sti_checkpoint checkpoint = {0};
    char path[PATH_ROOM], line[TEXT_ROOM];
    uint64_t number = UINT64_MAX;
    do {
        number = scan_directory(directory, number, false, 0);
        path_of(directory, number, path);
    } while (number && read_checkpoint(path, &checkpoint));
    if (number) {
        (void)snprintf(line, sizeof line, "%s: ", name);
        const char *at = checkpoint.identity;
        while (at && strncmp(at, line, strlen(line)) != 0)
            at = (at = strchr(at, '\n')) ? at + 1 : NULL;
        if (at)
            at += strlen(line);
        number = at != NULL;
        if (at)
            (void)snprintf(value, room, "%.*s", (int)strcspn(at, "\n"), at);
    }
    sti_checkpoint_free(&checkpoint);
    return number > 0;
}

uint32_t sti_checkpoint_partitions(const char *directory)
{
    char value[TEXT_ROOM];
    return sti_checkpoint_find(directory, "partitions", value, sizeof value)
               ? (uint32_t)strtoul(value, NULL, 10)
               : 0;
}

/* ---- writing ----------------------------------------------------------- */

static strads_err write_checkpoint(sti_checkpoint_files *f,
                                   const sti_buffer *bytes)
{
    char path[PATH_ROOM];
    sti_atomic_file file = {0};
    head h = {.size = bytes->size,
              .checksum = XXH3_64bits(bytes->bytes, bytes->size)};
    memcpy(h.magic, checkpoint_magic, sizeof checkpoint_magic);
    path_of(f->directory, f->last + 1, path);
    strads_err err = sti_atomic_file_open(path, &file);
    if (err)
        return err;
    (void)fwrite(&h, sizeof h, 1, file.stream); /* commit reports write
                                                 * errors */
    (void)fwrite(bytes->bytes, 1, bytes->size, file.stream);
    err = sti_atomic_file_commit(&file);
    if (err)
        return err;
    f->last++;
    tidy(f);
    return STRADS_OK;
}

/* The run continues if a checkpoint cannot be made or written. */
static void log_failure(const sti_checkpoint_files *f)
{
    char text[TEXT_ROOM];
    (void)snprintf(text, sizeof text,
                   "no checkpoint was made (%s): the run continues, %s",
                   strads_error_text(),
                   f->last ? "the previous checkpoint stays" : "without one");
    notice(f, text);
}

static void *write_checkpoints(void *arg)
{
    sti_checkpoint_files *f = arg;
    pthread_mutex_lock(&f->lock);
    while (f->next || !f->closing) {
        sti_buffer *bytes = f->next;
        if (!bytes) {
            pthread_cond_wait(&f->moved, &f->lock);
            continue;
        }
        pthread_mutex_unlock(&f->lock);
        if (write_checkpoint(f, bytes))
            log_failure(f);
        pthread_mutex_lock(&f->lock);
        sti_object_drop(bytes);
        f->next = NULL;
        pthread_cond_broadcast(&f->moved);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static void take_checkpoint(void *arg, sti_buffer *bytes)
{
    sti_checkpoint_files *f = arg;
    if (!bytes) {
        log_failure(f);
        return;
    }
    if (f->keeps) {
        sti_object_drop(f->latest);
        f->latest = sti_object_keep(bytes);
    }
    if (f->taken)
        f->taken(f->taken_arg);
    if (!f->directory) {
        sti_object_drop(bytes);
        return;
    }
    pthread_mutex_lock(&f->lock);
    while (f->next)
        pthread_cond_wait(&f->moved, &f->lock);
    f->next = bytes;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
}

/* ---- open and close ------------------------------------------------------ */

strads_err sti_checkpoint_files_can(const strads_program *program)
{
    if (program->run && !(program->pack && program->unpack))
        return strads_fail(STRADS_EINVAL,
                           "program %s is a loop without pack and unpack, so "
                           "no checkpoint of it can be made: add both",
                           program->name);
    if (!program->run && (program->payload || program->pack) &&
        !sti_checkpoint_asks_workers(program))
        return strads_fail(
            STRADS_EINVAL,
            "program %s has state in its partitions, or in blocks that travel, "
            "but no pack_state for the coordinator's state, so no checkpoint "
            "of it can be made: add pack_state",
            program->name);
    return STRADS_OK;
}

static strads_err open_all(sti_checkpoint_files *f, const sti_setup *setup,
                           const strads_data *data)
{
    const strads_engine_options *o = &f->options;
    const strads_err can = sti_checkpoint_files_can(&setup->program);
    if (can)
        return can;
    f->identity = identity_of(setup, data);
    if (!f->identity)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for a checkpoint's options");
    strads_err err = f->directory ? take_directory(f) : STRADS_OK;
    if (!err && o->resume)
        err = find_checkpoint(f, o->resume);
    if (err || !f->directory)
        return err;
    f->started = !pthread_create(&f->writer, NULL, write_checkpoints, f);
    return f->started
               ? STRADS_OK
               : strads_fail(STRADS_EIO,
                             "cannot start the thread that writes checkpoints");
}

/* Seconds between two checkpoints. 0: the committed parameters are a checkpoint
 * at any time. */
static double period_of(const sti_checkpoint_files *f,
                        const strads_program *program)
{
    if (f->options.checkpoint_every > 0)
        return f->options.checkpoint_every;
    if (f->directory)
        return 60;
    return sti_checkpoint_is_committed(program) ? 0 : 10;
}

strads_err sti_checkpoint_files_open(sti_setup *setup, const strads_data *data,
                                     bool keeps, sti_checkpoint_files **out)
{
    const strads_engine_options *o = &setup->options;
    *out = NULL;
    if (!o->checkpoint && !o->resume && !keeps)
        return STRADS_OK;
    sti_checkpoint_files *f = calloc(1, sizeof *f);
    if (!f)
        return strads_fail(STRADS_ENOMEM, "no memory for a run's checkpoints");
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->moved, NULL);
    f->fd = -1;
    f->options = *o;
    f->keeps = keeps;
    f->directory = o->checkpoint ? o->checkpoint : o->resume;
    strads_err err = open_all(f, setup, data);
    if (err) {
        sti_checkpoint_files_close(f);
        return err;
    }
    const double every = period_of(f, &setup->program);
    f->checkpoints = (sti_checkpoints){.identity = f->identity,
                                       .every_ns = (uint64_t)(every * 1e9),
                                       .from = f->from.bytes ? &f->from : NULL,
                                       .take = take_checkpoint,
                                       .arg = f};
    setup->run.checkpoints = &f->checkpoints;
    *out = f;
    return STRADS_OK;
}

strads_err sti_checkpoint_files_again(sti_checkpoint_files *f, sti_setup *setup)
{
    setup->run.checkpoints = &f->checkpoints;
    if (!f->latest)
        return STRADS_OK;
    sti_checkpoint_free(&f->from);
    f->checkpoints.from = &f->from;
    return sti_checkpoint_read(f->latest, &f->from);
}

void sti_checkpoint_files_hold(sti_checkpoint_files *f, const sti_run *run,
                               const sti_checkpoint_position *at)
{
    sti_buffer *bytes = NULL;
    if (!at || !sti_checkpoint_is_committed(run->program) ||
        sti_checkpoint_write(run, at, NULL, NULL, &bytes))
        return; /* keep the previous checkpoint */
    sti_object_drop(f->latest);
    f->latest = bytes;
}

void sti_checkpoint_files_notify(sti_checkpoint_files *f,
                                 void (*taken)(void *arg), void *arg)
{
    f->taken = taken;
    f->taken_arg = arg;
}

sti_buffer *sti_checkpoint_files_latest(const sti_checkpoint_files *f)
{
    return f->latest;
}

void sti_checkpoint_files_close(sti_checkpoint_files *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->closing = true;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
    if (f->started)
        pthread_join(f->writer, NULL);
    pthread_cond_destroy(&f->moved);
    pthread_mutex_destroy(&f->lock);
    if (f->fd >= 0)
        (void)close(f->fd);
    sti_checkpoint_free(&f->from);
    sti_object_drop(f->latest);
    free(f->identity);
    free(f);
}
