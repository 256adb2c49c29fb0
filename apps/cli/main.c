/* The `strads` command: a table of commands, and which one is meant. */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli.h"
#include "cli_linear.h"
#include "engine/base/option_table.h"

static const cli_command commands[] = {
    {.name = "lasso train",
     .args = "DATA",
     .summary = "train a Lasso or an elastic net",
     .run = cli_lasso_train},
    {.name = "lasso predict",
     .args = "MODEL DATA",
     .summary = "a model's predictions, one a line",
     .of = cli_linear_predict},
    {.name = "lasso path",
     .args = "DATA",
     .summary = "a Lasso at one lambda after the other",
     .run = cli_lasso_path},
    {.name = "lasso cv",
     .args = "DATA",
     .summary = "the lambda that predicts best",
     .run = cli_lasso_cv},
    {.name = "lasso evaluate",
     .args = "MODEL DATA",
     .summary = "how good its predictions are",
     .of = cli_linear_evaluate},
    {.name = "lasso show",
     .args = "MODEL",
     .summary = "its largest weights, by name",
     .of = cli_linear_show},
    {.name = "logistic train",
     .args = "DATA",
     .summary = "train a logistic regression",
     .run = cli_logistic_train},
    {.name = "logistic predict",
     .args = "MODEL DATA",
     .summary = "its probabilities, one a line",
     .of = cli_linear_predict},
    {.name = "logistic path",
     .args = "DATA",
     .summary = "the same at one lambda after the other",
     .run = cli_logistic_path},
    {.name = "logistic cv",
     .args = "DATA",
     .summary = "the lambda that predicts best",
     .run = cli_logistic_cv},
    {.name = "logistic evaluate",
     .args = "MODEL DATA",
     .summary = "how good its predictions are",
     .of = cli_linear_evaluate},
    {.name = "logistic show",
     .args = "MODEL",
     .summary = "its largest weights, by name",
     .of = cli_linear_show},
    {.name = "sgd-logistic train",
     .args = "DATA",
     .summary = "the same by stochastic gradients",
     .run = cli_sgd_logistic_train},
    {.name = "sgd-logistic predict",
     .args = "MODEL DATA",
     .summary = "its probabilities, one a line",
     .of = cli_linear_predict},
    {.name = "sgd-logistic evaluate",
     .args = "MODEL DATA",
     .summary = "how good its predictions are",
     .of = cli_linear_evaluate},
    {.name = "sgd-logistic show",
     .args = "MODEL",
     .summary = "its largest weights, by name",
     .of = cli_linear_show},
    {.name = "svm train",
     .args = "DATA",
     .summary = "train a linear support vector machine",
     .run = cli_svm_train},
    {.name = "svm predict",
     .args = "MODEL DATA",
     .summary = "its labels or decision values, one a line",
     .of = cli_linear_predict},
    {.name = "svm evaluate",
     .args = "MODEL DATA",
     .summary = "how good its predictions are",
     .of = cli_linear_evaluate},
    {.name = "svm show",
     .args = "MODEL",
     .summary = "its largest weights, by name",
     .of = cli_linear_show},
    {.name = "lda train",
     .args = "DATA",
     .summary = "find the topics of documents",
     .run = cli_lda_train},
    {.name = "lda topics",
     .args = "MODEL",
     .summary = "the top words of its topics",
     .run = cli_lda_topics},
    {.name = "lda infer",
     .args = "MODEL DATA",
     .summary = "shares of its topics in new documents",
     .run = cli_lda_infer},
    {.name = "lda evaluate",
     .args = "MODEL DATA",
     .summary = "how well it predicts; coherence of topics",
     .run = cli_lda_evaluate},
    {.name = "mf train",
     .args = "DATA",
     .summary = "factorise ratings of items by users",
     .run = cli_mf_train},
    {.name = "mf predict",
     .args = "MODEL DATA",
     .summary = "its ratings of the pairs in the data",
     .run = cli_mf_predict},
    {.name = "mf evaluate",
     .args = "MODEL DATA",
     .summary = "its errors on ratings, and how well it ranks",
     .run = cli_mf_evaluate},
    {.name = "mf recommend",
     .args = "MODEL",
     .summary = "the items that users would rate highest",
     .run = cli_mf_recommend},
    {.name = "mf show",
     .args = "MODEL",
     .summary = "its biases and factors as CSV",
     .run = cli_mf_show},
    {.name = "run",
     .args = "PROGRAM.so DATA",
     .summary = "train by a program of your own",
     .run = cli_run_program},
    {.name = "simulate",
     .args = "PROGRAM DATA",
     .summary = "train in virtual time, on simulated workers",
     .run = cli_simulate},
    {.name = "join",
     .args = "URL",
     .summary = "take part in a run as one more process",
     .run = cli_join},
    {.name = "plan make",
     .args = "OUT.json",
     .summary = "who takes which blocks when: a plan",
     .run = cli_plan_make},
    {.name = "plan check",
     .args = "FILE",
     .summary = "whether a plan keeps the rules",
     .run = cli_plan_check},
    {.name = "plan show",
     .args = "FILE",
     .summary = "a plan as a table",
     .run = cli_plan_show},
    {.name = "data info",
     .args = "FILE",
     .summary = "what a data file holds",
     .run = cli_data_info},
    {.name = "data synth lasso",
     .args = "OUT",
     .summary = "data of known origin for linear models",
     .run = cli_data_synth_lasso},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void list_command(FILE *out, const cli_command *command)
{
    char usage[64];
    (void)snprintf(usage, sizeof usage, "%s %s", command->name, command->args);
    (void)fprintf(out, "  strads %-26s %s\n", usage, command->summary);
}

static int show_help(FILE *out)
{
    (void)fputs("strads trains models by scheduled model parallelism.\n"
                "Usage: strads COMMAND [OPTION...] ARGUMENTS\n\n",
                out);
    for (size_t k = 0; k < N_COMMANDS; k++) {
        list_command(out, &commands[k]);
    }
    (void)fputs("  strads help COMMAND               its options and their "
                "defaults\n"
                "  strads --version                  the version\n\n"
                "Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 not "
                "converged,\n"
                "130 stopped; after 3 and 130 the model so far is written.\n",
                out);
    return CLI_OK;
}

/* How many of the words name this command; 0: they do not. */
static int words_of(const cli_command *command, int argc, char **argv)
{
    const char *rest = command->name;
    for (int k = 0; k < argc; k++) {
        size_t length = strlen(argv[k]);
        if (length == 0 || strncmp(rest, argv[k], length) != 0) {
            return 0;
        }
        if (rest[length] == '\0') {
            return k + 1;
        }
        if (rest[length] != ' ') {
            return 0;
        }
        rest += length + 1;
    }
    return 0;
}

static const cli_command *find_command(int argc, char **argv, int *words)
{
    for (size_t k = 0; k < N_COMMANDS; k++) {
        *words = words_of(&commands[k], argc, argv);
        if (*words > 0) {
            return &commands[k];
        }
    }
    return NULL;
}

enum { WORDS_SIZE = 128 };

/* One word or two. */
static void join_words(int n, char **argv, char out[WORDS_SIZE])
{
    (void)snprintf(out, WORDS_SIZE, "%s%s%s", argv[0], n > 1 ? " " : "",
                   n > 1 ? argv[1] : "");
}

/* Whether the command goes on from `word`: "lasso train" does from "lasso". */
static bool goes_on(const cli_command *command, const char *word)
{
    size_t length = strlen(word);
    return strncmp(command->name, word, length) == 0 &&
           command->name[length] == ' ';
}

/* "lasso" alone: names what goes on from there. False: nothing does. */
static bool list_longer(const char *word, char *out, size_t size)
{
    size_t at = 0;
    for (size_t k = 0; k < N_COMMANDS && at < size; k++) {
        if (goes_on(&commands[k], word)) {
            at += (size_t)snprintf(out + at, size - at, "%sstrads %s",
                                   at ? " or " : "", commands[k].name);
        }
    }
    return at > 0;
}

/* The help of half a command, if these words are one: the commands that it may
 * become. */
static bool show_half(int n, char **argv)
{
    char word[WORDS_SIZE], longer[256];
    if (n < 1 || n > 2) {
        return false;
    }
    join_words(n, argv, word);
    if (!list_longer(word, longer, sizeof longer)) {
        return false;
    }
    (void)printf("Usage: strads %s COMMAND [OPTION...] ARGUMENTS\n\n", word);
    for (size_t k = 0; k < N_COMMANDS; k++) {
        if (goes_on(&commands[k], word)) {
            list_command(stdout, &commands[k]);
        }
    }
    return true;
}

static const char *nearest_command(const char *wrong)
{
    const char *best = NULL;
    unsigned best_distance = STI_NAME_FAR;
    for (size_t k = 0; k < N_COMMANDS; k++) {
        unsigned distance = sti_nearest_distance(wrong, commands[k].name);
        if (distance < best_distance) {
            best = commands[k].name;
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
    if (!best) {
        best = nearest_command(argv[0]);
    }
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

static int unknown_command(int argc, char **argv)
{
    return cli_complain(refuse_command(argc, argv), CLI_BEFORE);
}

/* Some commands are the same for several programs. */
static int start(const cli_command *command, int argc, char **argv)
{
    char program[32];
    if (!command->of) {
        return command->run(argc, argv);
    }
    (void)snprintf(program, sizeof program, "%.*s",
                   (int)strcspn(command->name, " "), command->name);
    return command->of(program, command->name, argc, argv);
}

static int run_command(int argc, char **argv)
{
    int words = 0;
    const cli_command *command = find_command(argc, argv, &words);
    if (!command && strcmp(argv[argc - 1], "--help") == 0 &&
        show_half(argc - 1, argv)) {
        return CLI_OK;
    }
    return command ? start(command, argc - words, argv + words)
                   : unknown_command(argc, argv);
}

/* `strads help [COMMAND]` */
static int help(int argc, char **argv)
{
    char option[] = "--help";
    char *words[] = {option, NULL};
    int n = 0;
    if (argc == 0) {
        return show_help(stdout);
    }
    const cli_command *command = find_command(argc, argv, &n);
    if (!command && show_half(argc, argv)) {
        return CLI_OK;
    }
    return command ? start(command, 1, words) : unknown_command(argc, argv);
}

static int dispatch(int argc, char **argv)
{
    if (argc == 0) {
        (void)show_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[0], "--version") == 0) {
        (void)printf("strads %s\n", strads_version());
        return CLI_OK;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        return show_help(stdout);
    }
    if (strcmp(argv[0], "help") == 0) {
        return help(argc - 1, argv + 1);
    }
    return run_command(argc, argv);
}

/* ---- the heap -------------------------------------------------------------- */

/* A fit of a few milliseconds spends a fifth of them on new pages of 4 KB: its
 * vectors are small, and each is new. On huge pages the heap's first megabytes
 * cost a few faults. glibc takes such advice from the environment alone, so
 * the heap's end is moved once, and the kernel is told of what is there. What
 * follows begins on a huge page: what lies before the first is small ones. */

enum { ROOM = 16 << 20, HUGE_PAGE = 2 << 20 };

/* What lies before the first huge page, which nobody is to be given. */
static void *volatile before;

static void widen_heap(void)
{
    /* Freeing a mapping tells malloc to take as much from the heap from now on
     * (mallopt(3), M_MMAP_THRESHOLD), and to keep twice that at its end. */
    void *volatile mapping = malloc(ROOM + HUGE_PAGE);
    free(mapping);
    char *volatile room = malloc(ROOM + HUGE_PAGE);
    if (!room)
        return;
    const size_t part = HUGE_PAGE - (uintptr_t)room % HUGE_PAGE;
    (void)madvise(room + part, ROOM, MADV_HUGEPAGE);
    free(room);
    before = malloc(part - sizeof(size_t));
}

int main(int argc, char **argv)
{
    widen_heap();
    int code = dispatch(argc - 1, argv + 1);
    /* What was printed but never arrived (a full disk) is a failure too. */
    bool broken = ferror(stdout) != 0;
    const bool judged = code == CLI_FAILED || code == CLI_USAGE;
    if ((fflush(stdout) != 0 || broken) && !judged) {
        code = cli_complain(strads_fail(STRADS_EIO,
                                        "standard output cannot be written"),
                            CLI_RUNNING);
    }
    return code;
}
