/* Owns the process's stop flag, and whether a line of progress is open, so that
 * a message after a signal starts on a clean line. */
#include "cli_terminal.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "strads/pack.h"

static volatile bool stop;
static atomic_bool line_open;

/* ---- progress ------------------------------------------------------------ */

static const double SECONDS_APART = 0.2;
static const double PASS_SECONDS = 0.1; /* shorter passes are not shown */

/* Formats seconds as "1 min 20 s". */
static void put_seconds(char *out, size_t size, double s)
{
    if (s < 100) {
        (void)snprintf(out, size, "%.*f s", s < 10 ? 1 : 0, s);
    } else if (s < 6000) {
        (void)snprintf(out, size, "%.0f min %.0f s", floor(s / 60),
                       floor(fmod(s, 60)));
    } else {
        (void)snprintf(out, size, "%.0f h %.0f min", floor(s / 3600),
                       floor(fmod(s, 3600) / 60));
    }
}

/* Estimates the remaining time from the elapsed time; below 0: unknown. */
static double seconds_left(const cli_progress *line, double elapsed)
{
    double left = INFINITY;
    if (line->goal.total > 0 && line->done > 0)
        left = elapsed * fmax(line->goal.total / line->done - 1, 0);
    if (line->goal.seconds > 0)
        left = fmin(left, fmax(line->goal.seconds - elapsed, 0));
    return isfinite(left) ? left : -1;
}

/* Describes the pass in progress over the goal's pack; false: there is none. */
static bool describe_pass(cli_progress *line, char *out, size_t size)
{
    uint64_t done = 0, total = 0;
    char read[CLI_BYTES_SIZE], all[CLI_BYTES_SIZE], rate[CLI_BYTES_SIZE];
    char left[24];
    if (!line->goal.pack)
        return false;
    strads_pack_progress(line->goal.pack, &done, &total);
    if (done == total) {
        line->passed = UINT64_MAX;
        return false;
    }
    if (done < line->passed)
        line->pass_begun = cli_now();
    line->passed = done;
    const double seconds = cli_now() - line->pass_begun;
    if (done == 0 || seconds < PASS_SECONDS)
        return false;
    const double speed = (double)done / seconds;
    put_seconds(left, sizeof left, (double)(total - done) / speed);
    (void)snprintf(out, size, "pass: %s of %s, %s/s, %s left",
                   cli_bytes(done, read), cli_bytes(total, all),
                   cli_bytes((uint64_t)speed, rate), left);
    return true;
}

/* A line of more than 80 columns would wrap, and could not be rewritten. */
static void draw_line(cli_progress *line)
{
    char text[200], elapsed[24], left[24], total[24] = "", pass[100];
    const double seconds = cli_now() - line->begun;
    const double rest = seconds_left(line, seconds);
    put_seconds(elapsed, sizeof elapsed, seconds);
    put_seconds(left, sizeof left, rest);
    if (line->goal.total > 0)
        (void)snprintf(total, sizeof total, " of %.0f", line->goal.total);
    (void)snprintf(text, sizeof text, "%s %.0f%s  %s%s%s%s  %s",
                   line->goal.unit, line->done, total, elapsed,
                   rest < 0 ? "" : ", ", rest < 0 ? "" : left,
                   rest < 0 ? "" : " left", line->figures);
    if (describe_pass(line, pass, sizeof pass))
        (void)snprintf(text, sizeof text, "%s %.0f%s  %s  %s", line->goal.unit,
                       line->done, total, elapsed, pass);
    text[79] = '\0';
    atomic_store(&line_open, true);
    (void)fprintf(stderr, "\r%s\033[K", text);
    (void)fflush(stderr);
}

static void *redraw(void *arg)
{
    cli_progress *line = arg;
    (void)pthread_mutex_lock(&line->lock);
    while (!line->ending) {
        struct timespec due;
        (void)clock_gettime(CLOCK_REALTIME, &due);
        due.tv_nsec += (long)(1e9 * SECONDS_APART);
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&line->ended, &line->lock, &due);
        if (!line->ending)
            draw_line(line);
    }
    (void)pthread_mutex_unlock(&line->lock);
    return NULL;
}

void cli_progress_begin(cli_progress *line, bool quiet, cli_goal goal)
{
    *line =
        (cli_progress){.goal = goal, .begun = cli_now(), .passed = UINT64_MAX};
    if (!quiet && isatty(STDERR_FILENO)) {
        (void)pthread_mutex_init(&line->lock, NULL);
        (void)pthread_cond_init(&line->ended, NULL);
        line->shown = pthread_create(&line->thread, NULL, redraw, line) == 0;
    }
}

void cli_progress_at(cli_progress *line, double done, const char *figures)
{
    if (line->shown) {
        (void)pthread_mutex_lock(&line->lock);
        line->done = done;
        (void)snprintf(line->figures, sizeof line->figures, "%.47s",
                       figures ? figures : "");
        (void)pthread_mutex_unlock(&line->lock);
    }
}

void cli_progress_show(cli_progress *line, double done,
                       const strads_progress *progress)
{
    char objective[24] = "", gap[20] = "", nonzeros[32] = "", all[80];
    if (!line->shown)
        return;
    if (!isnan(progress->objective)) {
        (void)snprintf(objective, sizeof objective, "objective %.6g",
                       progress->objective);
    }
    if (!isnan(progress->gap))
        (void)snprintf(gap, sizeof gap, "  gap %.1e", progress->gap);
    /* A model without a list of weights has no nonzeros. */
    if (!isnan(progress->gap) || progress->nonzeros > 0) {
        (void)snprintf(nonzeros, sizeof nonzeros, "  nonzeros %" PRIu64,
                       progress->nonzeros);
    }
    (void)snprintf(all, sizeof all, "%s%s%s", objective, gap, nonzeros);
    cli_progress_at(line, done, all);
}

void cli_progress_end(cli_progress *line)
{
    if (!line->shown)
        return;
    (void)pthread_mutex_lock(&line->lock);
    line->ending = true;
    (void)pthread_cond_signal(&line->ended);
    (void)pthread_mutex_unlock(&line->lock);
    (void)pthread_join(line->thread, NULL);
    (void)pthread_mutex_destroy(&line->lock);
    (void)pthread_cond_destroy(&line->ended);
    line->shown = false;
    if (atomic_exchange(&line_open, false)) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
}

/* ---- Ctrl-C -------------------------------------------------------------- */

/* Calls only async-signal-safe functions. */
static void on_signal(int number)
{
    static const char told[] =
        "\r\033[Kstrads: stopping at the next commit; once more ends at once\n";
    enum { TO_CLEAN_LINE = 4 }; /* "\r\033[K" */
    (void)number;
    if (stop)
        _exit(CLI_INTERRUPTED);
    stop = true;
    const size_t skip = atomic_load(&line_open) ? 0 : TO_CLEAN_LINE;
    ssize_t written = write(STDERR_FILENO, told + skip, sizeof told - 1 - skip);
    (void)written;
}

void cli_notice(const char *sentence)
{
    (void)fprintf(stderr, "%sstrads: %s\n",
                  atomic_load(&line_open) ? "\r\033[K" : "", sentence);
}

const volatile bool *cli_signal_catch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGUSR1, &action, NULL); /* Slurm: the time limit is near */
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        (void)sigaction(SIGHUP, &action, NULL); /* nohup ignores it */
    return &stop;
}

void cli_signal_stop(void)
{
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

/* ---- cost of reading a file ---------------------------------------------- */

static const double WORTH_TELLING = 64e6; /* bytes of a file */

/* Estimates the entries from the density of the file's first bytes. For
 * compressed files only the size is reported. */

enum { SAMPLE = 1 << 16 };

/* Entries in the text: LIBSVM has one colon for each, MatrixMarket one line. */
static double count_entries(const char *text, size_t size)
{
    bool market = size > 2 && memcmp(text, "%%", 2) == 0;
    double entries = 0;
    for (size_t k = 0; k < size; k++)
        entries += text[k] == (market ? '\n' : ':');
    return entries;
}

/* Entries per byte of the file; 0: unknown. */
static double density(const char *path)
{
    static char text[SAMPLE];
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t size = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    if (size < sizeof text || memchr(text, '\0', size))
        return 0;
    return count_entries(text, size) / (double)size;
}

static double kept_share(const strads_data_options *options)
{
    return options->keep_count && options->partitions
               ? (double)options->keep_count / options->partitions
               : 1;
}

/* The entries of a file: a pack has their number, text is estimated. 0:
 * unknown. */
static double entries_of(const char *path, double size)
{
    strads_pack *pack = NULL;
    strads_pack_result held = {.size = sizeof held};
    if (strads_pack_open(path, &pack))
        return density(path) * size;
    strads_pack_describe(pack, &held);
    strads_pack_free(pack);
    return (double)held.nnz;
}

void cli_cost_tell(bool quiet, const char *path,
                   const strads_data_options *options)
{
    struct stat info;
    char size[CLI_BYTES_SIZE];
    char memory[CLI_BYTES_SIZE];
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        (double)info.st_size < WORTH_TELLING ||
        (options->packed && strads_pack_is(path)))
        return;
    double value = options->values == STRADS_F32 ? 4 : 8;
    double both = options->layout == STRADS_LAYOUT_BOTH ? 2 : 1;
    double bytes = entries_of(path, (double)info.st_size) * both * (value + 4) *
                   kept_share(options);
    (void)cli_bytes((uint64_t)info.st_size, size);
    if (bytes > 0) {
        cli_say(quiet, "reading %s, %s; it will take about %s of memory", path,
                size, cli_bytes((uint64_t)bytes, memory));
    } else {
        cli_say(quiet, "reading %s, %s", path, size);
    }
}
