/* The `strads` command: the families of commands, and the choice of a
 * command. */
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli.h"
#include "cli_generate.h"
#include "cli_gsl.h"
#include "cli_options.h"
#include "cli_train.h"
#include "engine/base/option_table.h"

static const cli_command *const families[] = {
    cli_linear_commands, cli_summary_commands, cli_lda_commands,
    cli_roles_commands,  cli_mf_commands,      cli_fm_commands,
    cli_net_commands,    cli_run_commands,     cli_simulate_commands,
    cli_join_commands,   cli_launch_commands,  cli_plan_commands,
    cli_data_commands,   cli_synth_commands,   cli_report_commands,
    cli_doctor_commands, cli_export_commands,  cli_watch_commands,
};

const cli_command *cli_command_at(size_t place)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (const cli_command *c = families[f]; c->name; c++)
            if (place-- == 0)
                return c;
    }
    return NULL;
}

int cli_command_run(const cli_command *command, int argc, char **argv)
{
    return command->train  ? cli_train_main(command, argc, argv)
           : command->verb ? cli_verb_run(command, argc, argv)
                           : command->run(command, argc, argv);
}

static void list_command(FILE *out, const cli_command *command)
{
    char usage[64];
    (void)snprintf(usage, sizeof usage, "%s %s", command->name, command->args);
    (void)fprintf(out, "  strads %-26s %s\n", usage, command->summary);
}

/* Whether the command's name starts with `word` of `length` bytes and
 * continues: "lasso train" after "lasso". */
static bool begins_with(const cli_command *command, const char *word,
                        size_t length)
{
    return strncmp(command->name, word, length) == 0 &&
           command->name[length] == ' ';
}

/* Whether an earlier command has the same first word. */
static bool is_listed(size_t place, const char *word, size_t length)
{
    for (size_t k = 0; k < place; k++)
        if (begins_with(cli_command_at(k), word, length))
            return true;
    return false;
}

/* Lists all commands with the same first word as the one at `place`, which is
 * the first of them, in lines of a terminal. */
static void list_family(FILE *out, size_t place)
{
    enum { BEFORE = 35, WIDTH = 80 };
    const cli_command *c = cli_command_at(place);
    const char *word = c->name;
    const size_t length = strcspn(word, " ");
    char usage[64];
    size_t at = BEFORE;
    if (word[length] == '\0') {
        list_command(out, c);
        return;
    }
    if (is_listed(place, word, length))
        return;
    (void)snprintf(usage, sizeof usage, "%.*s ...", (int)length, word);
    (void)fprintf(out, "  strads %-26s", usage);
    for (; (c = cli_command_at(place)); place++) {
        const char *verb = c->name + length + 1;
        if (!begins_with(c, word, length))
            continue;
        if (at + 1 + strlen(verb) > WIDTH) {
            (void)fprintf(out, "\n%*s", BEFORE, "");
            at = BEFORE;
        }
        (void)fprintf(out, " %s", verb);
        at += 1 + strlen(verb);
    }
    (void)fputc('\n', out);
}

static int show_help(FILE *out)
{
    (void)fputs("Usage: strads COMMAND [OPTION...] ARGUMENTS\n\n", out);
    for (size_t k = 0; cli_command_at(k); k++)
        list_family(out, k);
    (void)fputs("  strads help COMMAND               options and defaults; "
                "commands of a family\n"
                "  strads --version                  the version\n\n"
                "Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 not "
                "converged,\n"
                "130 stopped; after 3 and 130 the model so far is written.\n",
                out);
    return CLI_OK;
}

enum { WORDS_SIZE = 128, MOST_WORDS = 3 };

/* Joins the first n words, truncated to the longest possible name. */
static void join_words(int n, char **argv, char out[WORDS_SIZE])
{
    size_t at = 0;
    for (int k = 0; k < n && at < WORDS_SIZE; k++) {
        at += (size_t)snprintf(out + at, WORDS_SIZE - at, "%s%s", k ? " " : "",
                               argv[k]);
    }
}

const cli_command *cli_command_find(int argc, char **argv, int *words)
{
    char name[WORDS_SIZE];
    const cli_command *command;
    for (*words = argc < MOST_WORDS ? argc : MOST_WORDS; *words > 0; --*words) {
        join_words(*words, argv, name);
        for (size_t k = 0; (command = cli_command_at(k)); k++)
            if (strcmp(command->name, name) == 0)
                return command;
    }
    return NULL;
}

/* For "lasso" alone: lists the words that may follow. False: none. */
static bool list_longer(const char *word, char *out, size_t size)
{
    size_t at = 0;
    const cli_command *c;
    for (size_t k = 0; (c = cli_command_at(k)) && at < size; k++) {
        if (begins_with(c, word, strlen(word))) {
            at += (size_t)snprintf(out + at, size - at, "%sstrads %s",
                                   at ? " or " : "", c->name);
        }
    }
    return at > 0;
}

/* If the words are an incomplete command: prints help for the commands that
 * start with them. */
static bool show_half(int n, char **argv)
{
    char word[WORDS_SIZE], longer[256];
    const cli_command *c;
    if (n < 1 || n > 2)
        return false;
    join_words(n, argv, word);
    if (!list_longer(word, longer, sizeof longer))
        return false;
    (void)printf("Usage: strads %s COMMAND [OPTION...] ARGUMENTS\n\n", word);
    for (size_t k = 0; (c = cli_command_at(k)); k++)
        if (begins_with(c, word, strlen(word)))
            list_command(stdout, c);
    return true;
}

static const char *nearest_command(const char *wrong)
{
    const char *best = NULL;
    unsigned best_distance = STI_NAME_FAR;
    const cli_command *c;
    for (size_t k = 0; (c = cli_command_at(k)); k++) {
        const unsigned distance = sti_nearest_distance(wrong, c->name);
        if (distance < best_distance) {
            best = c->name;
            best_distance = distance;
        }
    }
    return best;
}

static strads_err refuse_command(int argc, char **argv)
{
    char words[WORDS_SIZE];
    char longer[256];
    join_words(argc > 1 && argv[1][0] != '-' ? 2 : 1, argv, words);
    const char *best = nearest_command(words);
    if (list_longer(words, longer, sizeof longer)) {
        return strads_fail(STRADS_EINVAL,
                           "\"%s\" is half a command; expected %s", words,
                           longer);
    }
    if (!best)
        best = nearest_command(argv[0]);
    if (best) {
        return strads_fail(STRADS_EINVAL,
                           "unknown command \"%s\"; did you mean "
                           "\"strads %s\"?",
                           words, best);
    }
    return strads_fail(STRADS_EINVAL,
                       "unknown command \"%s\"; `strads help` lists them",
                       words);
}

static int run_command(int argc, char **argv)
{
    int words = 0;
    const cli_command *command = cli_command_find(argc, argv, &words);
    if (!command && strcmp(argv[argc - 1], "--help") == 0 &&
        show_half(argc - 1, argv))
        return CLI_OK;
    return command ? cli_command_run(command, argc - words, argv + words)
                   : cli_complain(refuse_command(argc, argv), CLI_BEFORE);
}

/* `strads help COMMAND` is `strads COMMAND --help`. */
static int help(int argc, char **argv)
{
    static char option[] = "--help";
    memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof *argv);
    argv[argc - 1] = option;
    return argc > 1 ? run_command(argc, argv) : show_help(stdout);
}

static int dispatch_command(int argc, char **argv)
{
    if (argc == 0) {
        (void)show_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[0], "--version") == 0) {
        (void)printf("strads %s (%s)\n", strads_version(), cli_gsl_text);
        return CLI_OK;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return show_help(stdout);
    if (strcmp(argv[0], "help") == 0)
        return help(argc, argv);
    if (strcmp(argv[0], "--generate") == 0)
        return cli_generate(argc - 1, argv + 1);
    if (strcmp(argv[0], "--complete") == 0)
        return cli_complete(argc - 1, argv + 1);
    return run_command(argc, argv);
}

/* ---- the heap ------------------------------------------------------------ */

/* A fit of a few milliseconds would spend a fifth of its time on faults for new
 * 4 KB pages, because its many small vectors are all new. With huge pages, the
 * heap's first megabytes cost a few faults. glibc takes such advice only from
 * the environment. So the end of the heap is moved once, and madvise is called
 * for the new part. Allocations then start on a huge page; the part before the
 * first huge page has small pages. */

enum { ROOM = 16 << 20, HUGE_PAGE = 2 << 20 };

/* Reserves the part before the first huge page. */
static void *volatile before;

static void widen_heap(void)
{
    /* After a mapping of this size is freed, malloc takes blocks up to this
     * size from the heap (mallopt(3), M_MMAP_THRESHOLD), and keeps twice as
     * much free at its end. */
    void *volatile mapping = malloc(ROOM + HUGE_PAGE);
    free(mapping);
    char *volatile block = malloc(ROOM + HUGE_PAGE);
    if (!block)
        return;
    const size_t part = HUGE_PAGE - (uintptr_t)block % HUGE_PAGE;
#ifdef MADV_HUGEPAGE
    (void)madvise(block + part, ROOM, MADV_HUGEPAGE);
#endif
    free(block);
    before = malloc(part - sizeof(size_t));
}

int main(int argc, char **argv)
{
    widen_heap();
    /* At a file size limit, a write then fails with an error that is
     * reported. */
    (void)signal(SIGXFSZ, SIG_IGN);
    int code = dispatch_command(argc - 1, argv + 1);
    /* Output that was printed but did not reach the file (a full disk) is a
     * failure. */
    bool broken = ferror(stdout) != 0;
    const bool judged = code == CLI_FAILED || code == CLI_USAGE;
    if ((fflush(stdout) != 0 || broken) && !judged) {
        code = cli_complain(strads_fail(STRADS_EIO,
                                        "standard output cannot be written"),
                            CLI_RUNNING);
    }
    return code;
}
