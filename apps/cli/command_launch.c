/* strads launch: starts all processes of one run, on this machine or by ssh on
 * other machines. It prefixes their output with their number, forwards signals
 * to them and exits with the worst of their exit codes.
 *
 * Process 0 is the training itself with --nodes and --listen; the others are
 * `strads join` with its URL. A killed process is restarted, at most
 * --max-restarts times. Meanwhile the run continues without it, and then
 * accepts it again. Process 0 is restarted with --resume if it writes
 * checkpoints. Each process has its own process group, so that only launch
 * receives a terminal's Ctrl-C. It forwards the signal to process 0, which ends
 * the run for all processes. A process started by ssh runs under `launch
 * --guard` on its machine. The guard ends it when standard input closes, so
 * that no process outlives this one, even if this one is killed. */
#include <argz.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "cli_cluster.h"
#include "cli_options.h"
#include "engine/base/system.h"
#include "engine/run/checkpoint_files.h"

enum {
    MOST_PROCESSES = 1024,
    LINE_SIZE = 4096,   /* longer lines are split */
    PATIENCE = 10,      /* seconds from the first failure to SIGTERM for all */
    ALONE_PATIENCE = 1, /* the same if process 0 fails, which ends the run */
    TERM_PATIENCE = 5,  /* seconds from SIGTERM to SIGKILL */
    WAIT = 60,          /* seconds that other processes wait for process 0 */
    TOKEN_SIZE = 256
};

typedef struct launch_options {
    uint32_t processes, workers, max_restarts;
    const char *hosts, *ssh, *remote, *data;
    bool plain, guard;
} launch_options;

static const launch_options launch_defaults = {.max_restarts = 3,
                                               .ssh = "ssh",
                                               .remote = "strads"};

static const strads_option launch_table[] = {
    CLI_U32(launch_options, processes, "processes", "N",
            "processes in all (default: a line of --hosts, or else 2)", 1,
            MOST_PROCESSES),
    CLI_TEXT(launch_options, hosts, "hosts", "FILE",
             "start them by ssh: a line `HOST [PROCESSES]` for each machine, "
             "the first has process 0 (default: this machine)"),
    CLI_U32(launch_options, workers, "workers", "N",
            "threads of each process (default: the cores of its machine, "
            "divided by its processes)",
            1, 1024),
    CLI_U32(launch_options, max_restarts, "max-restarts", "N",
            "restarts of each killed process at most (default: 3)", 0, 1000000),
    CLI_TEXT(launch_options, data, "data", "PATH",
             "path of the data for the others (default: as process 0)"),
    CLI_TEXT(launch_options, ssh, "ssh", "COMMAND",
             "with --hosts: the command that reaches a host (default: ssh)"),
    CLI_TEXT(launch_options, remote, "remote", "PATH",
             "with --hosts: the path of strads there (default: strads)"),
    CLI_FLAG(launch_options, plain, "plain",
             "print lines without the number of their process (default: no)"),
    CLI_FLAG(launch_options, guard, "guard", NULL),
    {.name = NULL},
};

/* ---- words of a command line --------------------------------------------- */

/* Strings one after another, each with its NUL: an argz of glibc. */
typedef struct words {
    char *text;
    size_t size;
} words;

static strads_err check_added(error_t failed)
{
    return failed ? strads_fail(STRADS_ENOMEM,
                                "no memory left for the words of a command")
                  : STRADS_OK;
}

static strads_err add_argument(words *w, const char *word)
{
    return check_added(argz_add(&w->text, &w->size, word));
}

static strads_err add_all(words *w, const words *more)
{
    return check_added(argz_append(&w->text, &w->size, more->text, more->size));
}

static strads_err add_option(words *w, const char *name, const char *value)
{
    CLI_TRY(add_argument(w, name));
    return add_argument(w, value);
}

static strads_err add_number(words *w, const char *name, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", number);
    return add_option(w, name, text);
}

/* The word after `word` (NULL: the first word), or NULL at the end. */
static const char *next(const words *w, const char *word)
{
    return argz_next(w->text, w->size, word);
}

/* Adds all of `from` as one word for a shell, with each word quoted. */
static strads_err add_quoted(words *w, const words *from)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return check_added(ENOMEM);
    (void)fputs("exec", out);
    for (const char *word = NULL; (word = next(from, word));) {
        (void)fputs(" '", out);
        for (const char *c = word; *c; c++)
            (void)fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, out);
        (void)fputc('\'', out);
    }
    const strads_err err =
        fclose(out) ? check_added(ENOMEM) : add_argument(w, text);
    free(text);
    return err;
}

/* The value of the option, or NULL if it is not there. */
static const char *option_of(const words *w, const char *name)
{
    const size_t length = strlen(name);
    for (const char *word = NULL; (word = next(w, word));) {
        if (strncmp(word, name, length) == 0 && word[length] == '=')
            return word + length + 1;
        if (strcmp(word, name) == 0) {
            const char *value = next(w, word);
            return value ? value : "";
        }
    }
    return NULL;
}

/* ---- processes ----------------------------------------------------------- */

typedef struct stream {
    int fd; /* -1: at end of file */
    FILE *to;
    char line[LINE_SIZE];
    size_t n;
} stream;

typedef struct process {
    pid_t pid; /* 0: has ended, or was not started */
    int code;
    bool told;  /* ended by launch: ignore its exit code */
    bool again; /* to be restarted once its output is read */
    uint32_t restarts;
    int guard;        /* closing it ends a process behind ssh; or -1 */
    const char *host; /* NULL: this machine */
    stream out, err;
} process;

typedef struct launch {
    const launch_options *options;
    words command; /* the training's command line, as given */
    words hosts;   /* one word for each process slot */
    char self[4096], folder[64], url[512];
    const char *token; /* NULL: do not pass one on */
    process *all;
    uint32_t n, begun;
} launch;

static volatile sig_atomic_t caught, last_caught;

static void catch (int signal)
{
    last_caught = signal;
    caught++;
}

/* The child's side of fork; never returns. */
static _Noreturn void become(const words *w, int in, int out, int err)
{
    char **argv = calloc(argz_count(w->text, w->size) + 1, sizeof *argv);
#ifdef __linux__ /* elsewhere only the end of `in` ends it */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    if (argv) {
        argz_extract(w->text, w->size, argv);
        (void)execvp(argv[0], argv);
    }
    (void)dprintf(STDERR_FILENO, "strads: %s cannot be started: %s\n", w->text,
                  strerror(errno));
    _exit(127);
}

static strads_err start_process(launch *l, uint32_t k, const words *w)
{
    int out[2], err[2], guard[2];
    process *p = &l->all[k];
    if (!sti_pipe(out) || !sti_pipe(err) || !sti_pipe(guard)) {
        return strads_fail(STRADS_EIO, "no pipe for process %u: %s", k,
                           strerror(errno));
    }
    p->pid = fork();
    if (p->pid == 0) {
        (void)setpgid(0, 0);
        become(w, guard[0], out[1], err[1]);
    }
    (void)close(out[1]);
    (void)close(err[1]);
    (void)close(guard[0]);
    p->out.fd = out[0];
    p->err.fd = err[0];
    p->guard = guard[1];
    if (p->pid < 0) {
        p->pid = 0;
        return strads_fail(STRADS_EIO, "process %u cannot be started: %s", k,
                           strerror(errno));
    }
    (void)setpgid(p->pid, p->pid);
    if (p->host) /* a token on the command line would be visible to others */
        (void)dprintf(p->guard, "%s\n", l->token ? l->token : "");
    return STRADS_OK;
}

/* Without --workers, a process gets its share of this machine's cores. */
static strads_err add_workers(const launch *l, words *w)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t workers = l->options->workers;
    if (!workers && !l->hosts.size)
        workers = cores > l->n ? (uint32_t)cores / l->n : 1;
    return workers ? add_number(w, "--workers", workers) : STRADS_OK;
}

/* Process 0's folder of checkpoints; NULL: none, so it cannot be restarted. */
static const char *checkpoints_of(const launch *l)
{
    const char *checkpoint = option_of(&l->command, "--checkpoint");
    return checkpoint ? checkpoint : option_of(&l->command, "--resume");
}

/* The given command with --resume from its checkpoints. */
static strads_err add_resumed(const launch *l, words *w)
{
    static const char *const instead[] = {"--checkpoint", "--resume"};
    for (const char *word = NULL; (word = next(&l->command, word));) {
        size_t at = 0, length = 0;
        for (; at < 2; at++) {
            length = strlen(instead[at]);
            if (strncmp(word, instead[at], length) == 0 &&
                (word[length] == '\0' || word[length] == '='))
                break;
        }
        if (at == 2)
            CLI_TRY(add_argument(w, word));
        else if (word[length] == '\0' && !(word = next(&l->command, word)))
            break; /* its value is missing; the process will report that */
    }
    return add_option(w, "--resume", checkpoints_of(l));
}

static strads_err add_first(const launch *l, words *w)
{
    /* The folder of checkpoints on another machine cannot be checked from here;
     * if it has none, the process reports that. */
    const bool resumes =
        l->all[0].restarts > 0 &&
        (l->hosts.size || sti_checkpoint_partitions(checkpoints_of(l)) > 0);
    CLI_TRY(resumes ? add_resumed(l, w) : add_all(w, &l->command));
    CLI_TRY(add_number(w, "--nodes", l->n));
    CLI_TRY(add_option(w, "--listen", l->url));
    return option_of(&l->command, "--workers") ? STRADS_OK : add_workers(l, w);
}

static strads_err add_other(const launch *l, words *w)
{
    static const char *const passed[] = {"--token-file", "--tls-ca",
                                         "--tls-cert",   "--tls-key",
                                         "--users",      "--items",
                                         "--user",       "--item",
                                         "--rating",     "--time"};
    const char *first = next(&l->command, NULL);
    const char *second = next(&l->command, first);
    CLI_TRY(add_option(w, "join", l->url));
    CLI_TRY(add_workers(l, w));
    if (l->options->max_restarts > 0)
        CLI_TRY(add_number(w, "--wait", WAIT));
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        const char *value = option_of(&l->command, passed[i]);
        if (value)
            CLI_TRY(add_option(w, passed[i], value));
    }
    /* launch knows where process 0 reads its data. */
    CLI_TRY(l->options->data ? add_option(w, "--data", l->options->data)
                             : add_option(w, "--data-root", "/"));
    return second && strcmp(first, "run") == 0
               ? add_option(w, "--program", second)
               : STRADS_OK;
}

/* The command line of process k. For another host, it is one word after the
 * words of the ssh command. */
static strads_err add_process(const launch *l, uint32_t k, words *w)
{
    const char *host = l->all[k].host;
    words far = {0};
    strads_err err = STRADS_OK;
    if (!host) {
        CLI_TRY(add_argument(w, l->self));
        return k ? add_other(l, w) : add_first(l, w);
    }
    /* Blanks separate the words of --ssh. */
    CLI_TRY(
        check_added(argz_add_sep(&w->text, &w->size, l->options->ssh, ' ')));
    CLI_TRY(add_argument(w, host));
    err = add_option(&far, l->options->remote, "launch");
    err = err ? err : add_option(&far, "--guard", "--");
    err = err ? err : add_argument(&far, l->options->remote);
    err = err ? err : k ? add_other(l, &far) : add_first(l, &far);
    err = err ? err : add_quoted(w, &far);
    free(far.text);
    return err;
}

static strads_err launch_process(launch *l, uint32_t k)
{
    words w = {0};
    strads_err err = add_process(l, k, &w);
    err = err ? err : start_process(l, k, &w);
    free(w.text);
    return err;
}

/* Starts the processes that have not been started yet. */
static strads_err start_rest(launch *l)
{
    for (; l->begun < l->n; l->begun++)
        CLI_TRY(launch_process(l, l->begun));
    return STRADS_OK;
}

/* ---- output of the processes --------------------------------------------- */

static void hand_on(const launch *l, uint32_t k, stream *s, size_t n)
{
    /* Process 0's standard output is the result, so it stays unchanged. */
    if (!l->options->plain && (k > 0 || s->to == stderr))
        (void)fprintf(s->to, "[%u] ", k);
    (void)fwrite(s->line, 1, n, s->to);
    if (n == 0 || s->line[n - 1] != '\n')
        (void)fputc('\n', s->to);
    (void)fflush(s->to);
}

/* Process 0 on another machine reports its port in a line of output. */
static strads_err find_url(launch *l, const char *line)
{
    const char *at = strstr(line, ": strads join ");
    if (l->begun >= l->n || !at)
        return STRADS_OK;
    at += strlen(": strads join ");
    (void)snprintf(l->url, sizeof l->url, "%.*s", (int)strcspn(at, " \r\n"),
                   at);
    return start_rest(l);
}

/* Reads the available output and prints whole lines. */
static strads_err take_output(launch *l, uint32_t k, stream *s)
{
    const ssize_t got = read(s->fd, s->line + s->n, LINE_SIZE - 1 - s->n);
    if (got < 0 && errno == EINTR)
        return STRADS_OK;
    if (got <= 0) {
        if (s->n > 0)
            hand_on(l, k, s, s->n);
        (void)close(s->fd);
        s->fd = -1;
        s->n = 0;
        return STRADS_OK;
    }
    s->n += (size_t)got;
    for (;;) {
        char *end = memchr(s->line, '\n', s->n);
        const size_t n = end                     ? (size_t)(end - s->line) + 1
                         : s->n == LINE_SIZE - 1 ? s->n
                                                 : 0;
        if (n == 0)
            return STRADS_OK;
        if (k == 0 && s->to == stderr) {
            const char kept = s->line[n];
            s->line[n] = '\0';
            CLI_TRY(find_url(l, s->line));
            s->line[n] = kept;
        }
        hand_on(l, k, s, n);
        memmove(s->line, s->line + n, s->n - n);
        s->n -= n;
    }
}

/* ---- waiting ------------------------------------------------------------- */

static void signal_processes(launch *l, uint32_t first, int signal)
{
    for (uint32_t k = first; k < l->n; k++) {
        if (l->all[k].pid > 0) {
            l->all[k].told = caught == 0;
            (void)kill(-l->all[k].pid, signal);
        }
        if (l->all[k].guard >= 0 && signal != SIGINT) {
            (void)close(l->all[k].guard);
            l->all[k].guard = -1;
        }
    }
}

/* A process that was killed, here or behind ssh, is restarted; process 0 only
 * from a checkpoint. */
static bool comes_again(const launch *l, uint32_t k)
{
    const process *p = &l->all[k];
    return p->code >= 128 && p->code != CLI_INTERRUPTED && !p->told &&
           caught == 0 && p->restarts < l->options->max_restarts &&
           (k > 0 ? l->all[0].pid > 0 || l->all[0].again
                  : checkpoints_of(l) != NULL);
}

/* Restarts killed processes once their output is read. */
static strads_err start_again(launch *l)
{
    for (uint32_t k = 0; k < l->n; k++) {
        process *p = &l->all[k];
        if (!p->again || p->out.fd >= 0 || p->err.fd >= 0)
            continue;
        p->again = false;
        if (caught > 0)
            continue;
        p->code = 0;
        if (k > 0 && l->all[0].pid == 0 && !l->all[0].again)
            continue; /* the run has ended without it */
        p->restarts++;
        if (p->guard >= 0)
            (void)close(p->guard);
        cli_say(false, "process %u is started again (%u of --max-restarts %u)",
                k, p->restarts, l->options->max_restarts);
        CLI_TRY(launch_process(l, k));
    }
    return STRADS_OK;
}

/* Collects ended processes. True: one of them failed, so that the run cannot
 * continue. */
static bool reap_processes(launch *l)
{
    bool bad = false;
    int status;
    for (uint32_t k = 0; k < l->n; k++) {
        process *p = &l->all[k];
        if (p->pid <= 0 || waitpid(p->pid, &status, WNOHANG) != p->pid)
            continue;
        p->code =
            WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (WIFSIGNALED(status) && !p->told) {
            cli_say(false, "process %u was ended by signal %d (%s)", k,
                    WTERMSIG(status), strsignal(WTERMSIG(status)));
        }
        p->pid = 0;
        if (k > 0 && l->all[0].pid == 0 && !l->all[0].again &&
            l->all[0].code == 0)
            p->told = true; /* the run is over, so its code does not matter */
        p->again = comes_again(l, k);
        bad =
            bad || (!p->again &&
                    (k == 0 || (p->code && p->code < 128 && p->restarts == 0)));
    }
    return bad;
}

static bool any_left(const launch *l)
{
    for (uint32_t k = 0; k < l->n; k++)
        if (l->all[k].pid > 0 || l->all[k].again || l->all[k].out.fd >= 0 ||
            l->all[k].err.fd >= 0)
            return true;
    return false;
}

static strads_err read_outputs(launch *l)
{
    static struct pollfd polled[MOST_PROCESSES][2]; /* poll ignores fd -1 */
    for (uint32_t k = 0; k < l->n; k++) {
        polled[k][0] = (struct pollfd){l->all[k].out.fd, POLLIN, 0};
        polled[k][1] = (struct pollfd){l->all[k].err.fd, POLLIN, 0};
    }
    if (poll(polled[0], 2 * (nfds_t)l->n, 100) <= 0)
        return STRADS_OK;
    for (uint32_t k = 0; k < l->n; k++) {
        if (polled[k][0].revents)
            CLI_TRY(take_output(l, k, &l->all[k].out));
        if (polled[k][1].revents)
            CLI_TRY(take_output(l, k, &l->all[k].err));
    }
    return STRADS_OK;
}

/* Waits until all processes have ended. The first signal is forwarded to
 * process 0, the second ends all processes. PATIENCE seconds after a failure,
 * the remaining processes are ended. */
static strads_err wait_for_all(launch *l)
{
    double ends_at = 0;
    int seen = 0, stage = 0;
    strads_err err = STRADS_OK;
    while (any_left(l)) {
        err = err ? err : read_outputs(l);
        err = err ? err : start_again(l);
        if ((reap_processes(l) || err) && ends_at == 0) {
            ends_at = cli_now() + (err                  ? 0
                                   : l->all[0].pid == 0 ? ALONE_PATIENCE
                                                        : PATIENCE);
        }
        if (caught > seen) {
            seen = caught;
            if (seen == 1 && l->all[0].pid > 0) {
                /* A process behind ssh is reached through its guard. */
                if (l->all[0].host)
                    signal_processes(l, 0, SIGTERM);
                else
                    (void)kill(l->all[0].pid, last_caught);
            } else {
                signal_processes(l, 0, seen > 2 ? SIGKILL : SIGTERM);
            }
        }
        if (ends_at > 0 && cli_now() > ends_at && stage < 2) {
            signal_processes(l, 0, stage == 0 ? SIGTERM : SIGKILL);
            ends_at = cli_now() + TERM_PATIENCE;
            stage++;
        }
        if (err && stage == 2)
            break;
    }
    return err;
}

/* ---- hosts --------------------------------------------------------------- */

static strads_err take_host(void *arg, size_t number, char *text)
{
    launch *l = arg;
    char name[256], rest[8];
    uint32_t share = 1;
    text[strcspn(text, "#\r\n")] = '\0';
    const int found = sscanf(text, "%255s %u %7s", name, &share, rest);
    if (text[strspn(text, " \t")] == '\0')
        return STRADS_OK;
    if (found > 2 ||
        (found < 2 && text[strcspn(text, " \t")] != '\0' &&
         sscanf(text, "%*s %7s", rest) == 1) ||
        share < 1 || share > MOST_PROCESSES || name[0] == '-') {
        return strads_fail(STRADS_EINVAL,
                           "%s:%zu: found \"%.60s\"; expected a host and how "
                           "many processes it has, `node1 2`",
                           l->options->hosts, number, text);
    }
    for (uint32_t k = 0; k < share; k++)
        CLI_TRY(add_argument(&l->hosts, name));
    return STRADS_OK;
}

static strads_err read_hosts(launch *l)
{
    CLI_TRY(cli_lines(l->options->hosts, take_host, l));
    return l->hosts.size
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL, "--hosts %s: names no host",
                             l->options->hosts);
}

/* Assigns processes to hosts. */
static strads_err place_processes(launch *l)
{
    const size_t most = argz_count(l->hosts.text, l->hosts.size);
    const size_t n = l->options->processes ? l->options->processes
                     : most                ? most
                                           : 2;
    const char *host = NULL;
    if (most && n > most) {
        return strads_fail(STRADS_EINVAL,
                           "--processes is %zu and %s has room for %zu; give "
                           "its hosts more, `HOST PROCESSES`",
                           n, l->options->hosts, most);
    }
    if (n > MOST_PROCESSES) {
        return strads_fail(
            STRADS_ELIMIT,
            "%s: has room for %zu processes; give their number by "
            "--processes, up to %d",
            l->options->hosts, most, MOST_PROCESSES);
    }
    CLI_TRY(cli_reserve(n, sizeof *l->all, "processes", &l->all));
    l->n = (uint32_t)n;
    for (uint32_t k = 0; k < l->n; k++) {
        host = most ? next(&l->hosts, host) : NULL;
        l->all[k] = (process){.guard = -1,
                              .host = host,
                              .out = {.fd = -1, .to = stdout},
                              .err = {.fd = -1, .to = stderr}};
    }
    return STRADS_OK;
}

/* ---- the command --------------------------------------------------------- */

static strads_err set_launch_token(launch *l)
{
    if (option_of(&l->command, "--token-file"))
        return STRADS_OK; /* the other processes read the same file */
    CLI_TRY(cli_token_make());
    l->token = getenv("STRADS_TOKEN");
    return strlen(l->token) < TOKEN_SIZE
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "STRADS_TOKEN has %zu bytes; launch passes on up "
                             "to %d",
                             strlen(l->token), TOKEN_SIZE - 1);
}

static strads_err check_command(const launch *l)
{
    static const char *const ours[] = {"--nodes", "--listen", "--advertise"};
    if (l->command.size == 0) {
        return strads_fail(
            STRADS_EINVAL,
            "nothing to launch; give the command behind --, `strads "
            "launch -- lasso train DATA --model M`");
    }
    for (size_t k = 0; k < sizeof ours / sizeof *ours; k++) {
        if (option_of(&l->command, ours[k])) {
            return strads_fail(STRADS_EINVAL,
                               "%s behind --: launch sets the addresses and "
                               "the number of processes (--processes); leave "
                               "it out",
                               ours[k]);
        }
    }
    if (l->hosts.size && option_of(&l->command, "--quiet")) {
        return strads_fail(
            STRADS_EINVAL,
            "--quiet behind --: launch reads the address of process 0 on "
            "another machine from its output; leave it out");
    }
    return STRADS_OK;
}

static strads_err start_all(launch *l)
{
    const ssize_t n = readlink("/proc/self/exe", l->self, sizeof l->self - 1);
    if (n < 0)
        return strads_fail(STRADS_EIO, "/proc/self/exe: %s", strerror(errno));
    l->self[n] = '\0';
    if (l->hosts.size) {
        (void)snprintf(l->url, sizeof l->url, "%stcp://%s:0",
                       option_of(&l->command, "--tls-ca") ? "tls+" : "",
                       l->all[0].host);
        l->begun = 1; /* start the others once its port is known */
        return launch_process(l, 0);
    }
    if (option_of(&l->command, "--tls-ca")) {
        return strads_fail(
            STRADS_EINVAL,
            "--tls-ca behind --: without --hosts the processes are on this "
            "machine and use a socket that only you can open; leave it out");
    }
    (void)snprintf(l->folder, sizeof l->folder, "%s/strads-XXXXXX",
                   getenv("XDG_RUNTIME_DIR") ? getenv("XDG_RUNTIME_DIR")
                                             : "/tmp");
    if (!mkdtemp(l->folder)) {
        const strads_err err =
            strads_fail(STRADS_EIO, "%s: no folder for sockets: %s", l->folder,
                        strerror(errno));
        l->folder[0] = '\0';
        return err;
    }
    (void)snprintf(l->url, sizeof l->url, "ipc://%s/node0", l->folder);
    return start_rest(l);
}

static int worst(const launch *l)
{
    int code = CLI_OK;
    for (uint32_t k = 0; k < l->n; k++)
        if (l->all[k].code > code && !l->all[k].told)
            code = l->all[k].code;
    return code;
}

static void launch_free(launch *l)
{
    char path[128];
    if (l->folder[0]) {
        (void)snprintf(path, sizeof path, "%s/node0", l->folder);
        (void)unlink(path);
        (void)rmdir(l->folder);
    }
    free(l->command.text);
    free(l->hosts.text);
}

static int launch_all(launch *l)
{
    strads_err err = l->options->hosts ? read_hosts(l) : STRADS_OK;
    err = err ? err : check_command(l);
    err = err ? err : place_processes(l);
    err = err ? err : set_launch_token(l);
    if (err)
        return cli_complain(err, CLI_BEFORE);
    const struct sigaction action = {.sa_handler = catch};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        (void)sigaction(SIGHUP, &action, NULL); /* nohup ignores it */
    (void)signal(SIGPIPE, SIG_IGN);
    err = start_all(l);
    if (err)
        signal_processes(l, 0, SIGTERM);
    const strads_err later = wait_for_all(l);
    err = err ? err : later;
    return err ? cli_complain(err, CLI_RUNNING) : worst(l);
}

/* Runs the command and ends it when standard input closes. The first line of
 * standard input is the run's token. */
static int stand_guard(const launch *l)
{
    char line[TOKEN_SIZE];
    pid_t pid;
    size_t n = 0;
    while (n + 1 < sizeof line && read(STDIN_FILENO, line + n, 1) == 1 &&
           line[n] != '\n')
        n++;
    line[n] = '\0';
    if (n > 0)
        (void)setenv("STRADS_TOKEN", line, 1);
    (void)signal(SIGPIPE, SIG_IGN); /* the reader may be gone: continue to the
                                     * end */
    pid = fork();
    if (pid == 0) {
        become(&l->command, open("/dev/null", O_RDONLY), STDOUT_FILENO,
               STDERR_FILENO);
    }
    int status = 0;
    double ends_at = 0;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
        if (ends_at == 0 && poll(&in, 1, 50) > 0 &&
            read(STDIN_FILENO, line, sizeof line) <= 0) {
            (void)kill(pid, SIGTERM);
            ends_at = cli_now() + PATIENCE;
        } else if (ends_at > 0) {
            (void)usleep(50000);
            if (cli_now() > ends_at)
                (void)kill(pid, SIGKILL);
        }
    }
    return pid < 0               ? CLI_FAILED
           : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                 : WEXITSTATUS(status);
}

static int run_launch(const cli_command *self, int argc, char **argv)
{
    launch_options options = launch_defaults;
    launch l = {.options = &options};
    cli_parsed parsed;
    const cli_syntax syntax = {.name = self->name,
                               .args = "",
                               .tail = self->args,
                               .summary = self->about,
                               .groups = {{NULL, launch_table, &options}}};
    int n = 0;
    while (n < argc && strcmp(argv[n], "--") != 0)
        n++;
    strads_err err = cli_parse(&syntax, n, argv, &parsed);
    for (int k = n + 1; k < argc && !err; k++)
        err = add_argument(&l.command, argv[k]);
    int code = err             ? cli_complain(err, CLI_BEFORE)
               : parsed.done   ? CLI_OK
               : options.guard ? stand_guard(&l)
                               : launch_all(&l);
    launch_free(&l);
    return code;
}

const cli_command cli_launch_commands[] = {
    {.name = "launch",
     .args = "-- COMMAND...",
     .summary = "start all processes of a run, here or by ssh",
     .about = "Starts the training behind -- as process 0, and `strads join` "
              "for each other process. Prints their lines behind their "
              "numbers, passes Ctrl-C on, and exits with the worst exit code.",
     .run = run_launch},
    {.name = NULL},
};
