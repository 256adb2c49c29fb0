/* Command lines from tables of strads_option: parsing, suggestions for unknown
 * names, the precedence of sources, and --help. Names must be given in full, so
 * that a new option never changes the meaning of a script. */
#include "cli_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_examples.h"
#include "engine/base/option_table.h"
#include "engine/run/program_check.h"

/* ---- options that a program uses ----------------------------------------- */

static bool has_pools(const strads_program *program)
{
    return program->pooled;
}

static bool has_loop(const strads_program *program)
{
    return program->run != NULL;
}

static bool has_samples(const strads_program *program)
{
    return program->kind == STRADS_KIND_SAMPLES;
}

static bool is_all_values(const strads_program *program)
{
    return program->payload == NULL;
}

/* A checkpoint of a path's values does not contain its lambda. */
static bool has_checkpoints(const strads_program *program)
{
    return program->run ? program->pack != NULL
                        : program->pack_state || !program->payload;
}

static const char no_checkpoints[] = "it has no callbacks that pack its state";

static const struct rule {
    const char *name;
    bool (*suits)(const strads_program *program);
    /* Why the option is refused; NULL: it is ignored, because `instead` may
     * choose a program that uses it. */
    const char *reason;
} rules[] = {
    {"pools", has_pools, NULL},
    {"shards", has_loop, "only the tables of a loop are kept in parts"},
    {"f32", has_samples, "it takes the values of its data as they are"},
    {"labels", has_samples, "its data have no labels"},
    {"target", has_samples, "its data are no table"},
    {"drop", has_samples, "its data are no table"},
    {"categorical", has_samples, "its data are no table"},
    {"missing", has_samples, "its data are no table"},
    {"checkpoint", has_checkpoints, no_checkpoints},
    {"checkpoint-every", has_checkpoints, no_checkpoints},
    {"resume", has_checkpoints, no_checkpoints},
    {"start", is_all_values, "its model is more than values"},
};

/* Whether the option has no effect on the program, and why (NULL: see
 * rules). */
static bool is_excluded(const strads_program *program, const char *name,
                        const char **reason)
{
    *reason = sti_program_excludes(program, name);
    if (*reason)
        return true;
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        if (strcmp(rules[k].name, name) == 0) {
            *reason = rules[k].reason;
            return !rules[k].suits(program);
        }
    }
    return false;
}

/* A program's own option may have the name of a common one that does not apply
 * to the program. */
static bool is_own(const strads_program *program, const strads_option *o)
{
    return program && strads_option_find(program->options, o->name) == o;
}

bool cli_option_suits(const strads_program *program, const char *name)
{
    const char *reason;
    return !is_excluded(program, name, &reason);
}

strads_err cli_option_refuse(const strads_program *program, const char *name)
{
    const char *reason;
    if (!is_excluded(program, name, &reason) || !reason)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "--%s: program %s has no use for it: %s; leave it out",
                       name, program->name, reason);
}

/* The first program of the command that uses the option; if none does, the
 * command's own, so that the refusal names it. */
static const strads_program *find_user(const cli_syntax *syntax,
                                       const char *name)
{
    const char *reason;
    if (!is_excluded(syntax->program, name, &reason) || !reason)
        return syntax->program;
    for (size_t k = 0; k < sizeof syntax->other / sizeof *syntax->other; k++)
        if (syntax->other[k] && cli_option_suits(syntax->other[k], name))
            return syntax->other[k];
    return syntax->program;
}

strads_kind cli_data_kind(const char *name, strads_kind usual)
{
    static const char *const names[] = {
        [STRADS_KIND_SAMPLES] = "samples",
        [STRADS_KIND_CORPUS] = "corpus",
        [STRADS_KIND_TEXT] = "text",
        [STRADS_KIND_RATINGS] = "ratings",
        [STRADS_KIND_DOCUMENTS] = "documents",
        [STRADS_KIND_GRAPH] = "graph",
    };
    for (size_t k = 0; name && k < sizeof names / sizeof *names; k++)
        if (strcmp(name, names[k]) == 0)
            return (strads_kind)k;
    return usual;
}

strads_err cli_samples_use(const cli_samples *t, strads_data_options *options)
{
    const char *other = t->drop          ? "drop"
                        : t->categorical ? "categorical"
                        : t->missing     ? "missing"
                                         : NULL;
    if (other && !t->target) {
        return strads_fail(STRADS_EINVAL,
                           "--%s is for tables: give --target NAME too, the "
                           "column with the labels",
                           other);
    }
    options->labels_path = t->labels;
    options->target = t->target;
    options->drop = t->drop;
    options->categorical = t->categorical;
    options->missing = t->missing;
    return STRADS_OK;
}

/* ---- the intercept ------------------------------------------------------- */

/* In this command, built-in linear programs fit an intercept, unless the user
 * gives --no-intercept or (svm) --bias B, which replaces it. The programs' own
 * default, for C callers, is no intercept. NULL: the program has no such
 * option. */
static const strads_option *find_intercept(const strads_program *program)
{
    if (!program || !program->options ||
        strads_program_find(program->name) != program)
        return NULL;
    return strads_option_find(program->options, "intercept");
}

/* The struct of the program's options, if `option` is one of them. */
static void *find_values(const cli_syntax *syntax, const strads_option *option)
{
    for (size_t g = 0; g < CLI_MOST_GROUPS; g++) {
        const cli_group *group = &syntax->groups[g];
        if (group->table &&
            strads_option_find(group->table, option->name) == option)
            return group->values;
    }
    return NULL;
}

static bool *intercept_of(const cli_syntax *syntax)
{
    const strads_option *o = find_intercept(syntax->program);
    char *values = o ? find_values(syntax, o) : NULL;
    return values ? (bool *)(values + o->offset) : NULL;
}

static bool has_bias(const cli_syntax *syntax)
{
    const strads_option *o =
        strads_option_find(syntax->program->options, "bias");
    const char *values = o ? find_values(syntax, o) : NULL;
    return values && *(const double *)(const void *)(values + o->offset) > 0;
}

void cli_intercept_notice(bool quiet)
{
    cli_say(quiet, "fits an intercept, the default as of this version; "
                   "--no-intercept leaves it out");
}

strads_option cli_option_shown(const cli_syntax *syntax, const strads_option *o)
{
    strads_option shown = *o;
    if (o == find_intercept(syntax->program)) {
        shown.name = "no-intercept";
        shown.help = "fit none (default: fit one, which is not penalised)";
    }
    return shown;
}

/* ---- the parser's state ------------------------------------------------- */

enum { CLI_MOST_PARTS = CLI_MOST_GROUPS + 1 };

/* --config and --print-config, which a file must not contain. */
typedef struct cli_meta {
    const char *config;
    bool print_config;
} cli_meta;

const strads_option cli_config_table[] = {
    CLI_TEXT(cli_meta, config, "config", "FILE",
             "options from a JSON file; those given here win"),
    CLI_FLAG(cli_meta, print_config, "print-config",
             "print all options as JSON and stop"),
    {.name = NULL},
};

/* An option on the command line, in order. */
typedef struct cli_assignment {
    const strads_option *option;
    void *values;
    const char *text; /* NULL: a flag without a value */
} cli_assignment;

typedef struct cli_reader {
    const cli_syntax *syntax;
    cli_meta meta;
    sti_config_part part[CLI_MOST_PARTS]; /* the groups', then meta */
    const char *title[CLI_MOST_PARTS];
    size_t n_parts, n_config; /* n_config: how many may be in a file */
    cli_assignment *assignments;
    size_t n_assignments;
    const char *arg[CLI_MOST_ARGS];
    size_t n_args, n_wanted, n_most;
    bool help;
    bool intercept_given; /* by the command line or the file */
} cli_reader;

static const strads_option *find_option(const cli_reader *r, const char *name,
                                        void **values)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        const strads_option *o = strads_option_find(r->part[i].table, name);
        if (o) {
            *values = r->part[i].values;
            return o;
        }
    }
    return NULL;
}

static strads_err unknown_option(const cli_reader *r, const char *wrong)
{
    const char *best = NULL;
    unsigned best_distance = STI_NAME_FAR;
    for (size_t i = 0; i < r->n_parts; i++) {
        const char *name = strads_option_nearest(r->part[i].table, wrong);
        const unsigned distance =
            name ? sti_nearest_distance(wrong, name) : STI_NAME_FAR;
        if (distance < best_distance) {
            best = name;
            best_distance = distance;
        }
    }
    return best ? strads_fail(STRADS_EINVAL,
                              "unknown option --%s; did you mean --%s?", wrong,
                              best)
                : strads_fail(
                      STRADS_EINVAL,
                      "unknown option --%s; `strads %s --help` lists them",
                      wrong, r->syntax->name);
}

static void add_part(cli_reader *r, const char *title,
                     const strads_option *table, void *values)
{
    r->title[r->n_parts] = title;
    r->part[r->n_parts++] = (sti_config_part){table, values};
}

static void add_parts(cli_reader *r)
{
    for (size_t g = 0; g < CLI_MOST_GROUPS; g++) {
        const cli_group *group = &r->syntax->groups[g];
        if (group->table)
            add_part(r, group->title, group->table, group->values);
    }
    r->n_config = r->n_parts;
    if (r->syntax->config)
        add_part(r, NULL, cli_config_table, &r->meta);
    r->n_most = *r->syntax->args != '\0';
    r->n_wanted = r->n_most;
    for (const char *c = r->syntax->args; *c; c++) {
        r->n_most += *c == ' ';
        r->n_wanted += *c == ' ' && c[1] != '[';
    }
    if (strstr(r->syntax->args, "..."))
        r->n_most = CLI_MOST_ARGS - 1;
}

/* A user's program must not redefine an option of the command. */
static strads_err check_tables(const cli_reader *r)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        for (const strads_option *o = r->part[i].table; o->name; o++) {
            void *values = NULL;
            const strads_option *first = find_option(r, o->name, &values);
            if (first != o &&
                !(is_own(r->syntax->program, first) &&
                  !cli_option_suits(find_user(r->syntax, o->name), o->name))) {
                return strads_fail(STRADS_EINVAL,
                                   "two options are called --%s; the program "
                                   "has to rename its own",
                                   o->name);
            }
        }
    }
    return STRADS_OK;
}

/* ---- words --------------------------------------------------------------- */

/* Short options of other commands that users may try. */
static const struct short_option {
    char letter;
    const char *name;
} short_options[] = {{'n', "processes"}, {'o', "output"}, {'q', "quiet"}};

char cli_option_letter(const char *name)
{
    for (size_t k = 0; k < sizeof short_options / sizeof *short_options; k++)
        if (strcmp(short_options[k].name, name) == 0)
            return short_options[k].letter;
    return '\0';
}

/* The long option that "-o" stands for in this command, or NULL. */
static const char *long_name(const cli_reader *r, const char *word)
{
    void *values;
    for (size_t k = 0; k < sizeof short_options / sizeof *short_options; k++)
        if (word[1] == short_options[k].letter && !word[2] &&
            find_option(r, short_options[k].name, &values))
            return short_options[k].name;
    return NULL;
}

/* "--no-quiet" undoes "--quiet": returns the flag, or NULL. */
static const strads_option *find_negated(const cli_reader *r, const char *name,
                                         void **values)
{
    const strads_option *o =
        strncmp(name, "no-", 3) == 0 ? find_option(r, name + 3, values) : NULL;
    return o && o->kind == STRADS_OPTION_BOOL ? o : NULL;
}

/* Handles the option in argv[*at]; `word` begins with its name. Skips its
 * value. */
static strads_err take_option(cli_reader *r, const char *word, int argc,
                              char **argv, int *at)
{
    char name[64];
    void *values;
    const size_t length = strcspn(word, "=");
    const char *text = word[length] ? word + length + 1 : NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, word);
    const strads_option *option = find_option(r, name, &values);
    if (!option && !text && (option = find_negated(r, name, &values)))
        text = "false";
    if (!option || length >= sizeof name)
        return unknown_option(r, name);
    if (r->syntax->program && !is_own(r->syntax->program, option))
        CLI_TRY(cli_option_refuse(find_user(r->syntax, name), name));
    if (option->kind != STRADS_OPTION_BOOL && !text) {
        if (++*at == argc) {
            return strads_fail(STRADS_EINVAL, "--%s needs a value: --%s %s",
                               name, name,
                               option->metavar ? option->metavar : "VALUE");
        }
        text = argv[*at];
    }
    r->assignments[r->n_assignments++] = (cli_assignment){option, values, text};
    return STRADS_OK;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
           strcmp(word, "-?") == 0;
}

/* Reads the words up to a request for help. After "--", all words are
 * arguments. */
static strads_err take_words(cli_reader *r, int argc, char **argv)
{
    bool options = true;
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        if (options && strcmp(word, "--") == 0) {
            options = false;
        } else if (options && is_help(word)) {
            r->help = true;
            return STRADS_OK;
        } else if (options && word[0] == '-' && word[1] == '-') {
            CLI_TRY(take_option(r, word + 2, argc, argv, &at));
        } else if (options && word[0] == '-' && word[1] && long_name(r, word)) {
            CLI_TRY(take_option(r, long_name(r, word), argc, argv, &at));
        } else if (options && word[0] == '-' && word[1]) {
            return strads_fail(STRADS_EINVAL,
                               "unknown option %s; options begin with two "
                               "dashes, `strads %s --help` lists them",
                               word, r->syntax->name);
        } else {
            if (r->n_args < CLI_MOST_ARGS)
                r->arg[r->n_args] = word;
            r->n_args++;
        }
    }
    return STRADS_OK;
}

/* ---- outputs ------------------------------------------------------------- */

/* An output must not be an input of the same command or another output, because
 * that would destroy the user's data. Checked before anything is read or
 * written. */

/* Options that name a file to write. */
static const char *const outputs[] = {"model",     "log",          "trace",
                                      "output",    "coefficients", "svg",
                                      "csv",       "truth",        "matrix",
                                      "save-cost", "assignments",  NULL};

/* Inputs that an output may replace: a model may be trained further in
 * place. */
static const char *const replaced[] = {"start", "from", NULL};

/* Options for runs of several processes. */
static const char *const of_nodes[] = {"listen",    "advertise", "nodes",
                                       "reconnect", "gather",    "token-file",
                                       "insecure",  "tls-ca",    "tls-cert",
                                       "tls-key",   NULL};

static bool is_in(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Devices and pipes may be used twice. A file that does not exist is compared
 * by name. */
static bool are_one_file(const char *a, const char *b)
{
    struct stat one, other;
    if (stat(a, &one) != 0 || stat(b, &other) != 0)
        return strcmp(a, b) == 0;
    return S_ISREG(one.st_mode) && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* The file that an option names, or NULL. */
static const char *file_of(const sti_config_part *part, const strads_option *o)
{
    if (o->kind != STRADS_OPTION_STRING)
        return NULL;
    return *(const char *const *)((const char *)part->values + o->offset);
}

/* Compares one output with all arguments and options. */
static strads_err check_output(const cli_reader *r, const strads_option *output,
                               const char *path)
{
    for (size_t k = 0; k < r->n_args && k < CLI_MOST_ARGS; k++) {
        if (are_one_file(path, r->arg[k])) {
            return strads_fail(STRADS_EINVAL,
                               "--%s %s: is the same file as the argument %s; "
                               "name another",
                               output->name, path, r->arg[k]);
        }
    }
    for (size_t k = 0; k < r->n_parts; k++) {
        for (const strads_option *o = r->part[k].table; o->name; o++) {
            const char *other = file_of(&r->part[k], o);
            if (o != output && other && !is_in(replaced, o->name) &&
                are_one_file(path, other)) {
                return strads_fail(STRADS_EINVAL,
                                   "--%s %s: is the same file as --%s %s; name "
                                   "another",
                                   output->name, path, o->name, other);
            }
        }
    }
    return STRADS_OK;
}

static strads_err check_outputs(const cli_reader *r)
{
    for (size_t k = 0; k < r->n_parts; k++) {
        for (const strads_option *o = r->part[k].table; o->name; o++) {
            const char *path =
                is_in(outputs, o->name) ? file_of(&r->part[k], o) : NULL;
            if (path)
                CLI_TRY(check_output(r, o, path));
        }
    }
    return STRADS_OK;
}

/* ---- --help -------------------------------------------------------------- */

enum { HELP_COLUMN = 24, HELP_WIDTH = 79, HELP_SIZE = 512 };

bool cli_option_listed(const cli_syntax *syntax, const strads_option *o)
{
    return o->help && !(syntax->one_process && is_in(of_nodes, o->name)) &&
           (!syntax->program || is_own(syntax->program, o) ||
            cli_option_suits(find_user(syntax, o->name), o->name));
}

/* Prints words from column `at` on, wrapped at HELP_WIDTH with `indent`, and
 * ends the line. */
static void put_wrapped(const char *text, size_t at, size_t indent)
{
    while (*text) {
        const size_t n = strcspn(text, " \n");
        if (at > indent && at + 1 + n > HELP_WIDTH) {
            (void)printf("\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            (void)putchar(' ');
            at++;
        }
        (void)printf("%.*s", (int)n, text);
        at += n;
        text += n + (text[n] != '\0');
    }
    (void)putchar('\n');
}

/* Whether the help text already lists every choice. */
static bool lists_choices(const strads_option *o)
{
    for (const char *at = o->choices; *at;) {
        char word[64];
        const size_t n = strcspn(at, "|");
        (void)snprintf(word, sizeof word, "%.*s", (int)n, at);
        if (!strstr(o->help, word))
            return false;
        at += n + (at[n] == '|');
    }
    return true;
}

/* An option's help; adds the choices if the text does not list them: "what is
 * minimised (squared): squared, logistic or huber". */
static void find_help(const strads_option *o, char out[HELP_SIZE])
{
    size_t size = (size_t)snprintf(out, HELP_SIZE, "%s", o->help);
    if (!o->choices || lists_choices(o))
        return;
    for (const char *at = o->choices; *at && size + 80 < HELP_SIZE;) {
        const size_t n = strcspn(at, "|");
        const char *before = at == o->choices  ? ": "
                             : strchr(at, '|') ? ", "
                                               : " or ";
        size += (size_t)snprintf(out + size, HELP_SIZE - size, "%s%.*s", before,
                                 (int)n, at);
        at += n + (at[n] == '|');
    }
}

/* Prints " --name=METAVAR help". */
static void put_option(const strads_option *o)
{
    char help[HELP_SIZE];
    const bool flag = o->kind == STRADS_OPTION_BOOL;
    const char *value = flag ? "" : o->metavar ? o->metavar : "VALUE";
    find_help(o, help);
    const char letter = cli_option_letter(o->name);
    int at = letter ? printf("  -%c, --%s%s%s", letter, o->name,
                             flag ? "" : "=", value)
                    : printf("  --%s%s%s", o->name, flag ? "" : "=", value);
    if (at + 2 > HELP_COLUMN && (size_t)at + 2 + strlen(help) > HELP_WIDTH) {
        (void)putchar('\n');
        at = 0;
    }
    const int gap = at + 2 > HELP_COLUMN ? 2 : HELP_COLUMN - at;
    (void)printf("%*s", gap, "");
    const size_t n = strcspn(help, " ");
    (void)printf("%.*s", (int)n, help);
    if (help[n])
        put_wrapped(help + n + 1, (size_t)(at + gap) + n, HELP_COLUMN);
    else
        (void)putchar('\n');
}

/* The default at the end of an option's help: "1" in "(default: 1)" or
 * "(1)". */
static int find_default(const char *help, const char **out)
{
    static const char word[] = "default";
    const size_t n = strlen(help);
    const char *begin = strrchr(help, '(');
    *out = NULL;
    if (!begin || help[n - 1] != ')')
        return 0;
    begin++;
    if (strncmp(begin, word, sizeof word - 1) == 0) {
        begin += sizeof word - 1;
        begin += strspn(begin, ": ");
    }
    *out = begin;
    return (int)(help + n - 1 - begin);
}

/* Prints the rarely used options, in the order of the tables: "--depth=D (0),
 * ...". */
static strads_err put_rare(const cli_reader *r)
{
    const char *before = "Rarely needed (docs/command.md): ";
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && i < r->n_parts; i++) {
        for (const strads_option *o = r->part[i].table; o->name; o++) {
            const char *usual;
            if (!o->rare || !cli_option_listed(r->syntax, o))
                continue;
            const int n = find_default(o->help, &usual);
            (void)fprintf(out, "%s--%s%s%s", before, o->name,
                          o->metavar ? "=" : "", o->metavar ? o->metavar : "");
            if (usual)
                (void)fprintf(out, " (%.*s)", n, usual);
            before = ", ";
        }
    }
    if (!out || fclose(out) != 0 || !text) {
        free(text);
        return strads_fail(STRADS_ENOMEM, "no memory left for the help");
    }
    if (*text) {
        (void)putchar('\n');
        put_wrapped(text, 0, 0);
    }
    free(text);
    return STRADS_OK;
}

/* The table has no example for a shared object: "run ./mine.so". */
static void put_example(const char *command)
{
    char line[CLI_EXAMPLE_LINE];
    size_t k = 0;
    (void)puts("\nExample:");
    for (; cli_example_line(command, k, line); k++)
        (void)printf("  %s\n", line);
    if (k == 0)
        (void)printf("  strads %s DATA\n", command);
}

static strads_err put_help(const cli_reader *r)
{
    (void)printf("Usage: strads %s [OPTION...] %s%s\n", r->syntax->name,
                 r->syntax->args, r->syntax->tail ? r->syntax->tail : "");
    put_wrapped(r->syntax->summary, 0, 0);
    if (r->n_parts > 0)
        (void)putchar('\n');
    for (size_t i = 0; i < r->n_parts; i++) {
        if (r->title[i])
            (void)printf("%s%s\n", i ? "\n" : "", r->title[i]);
        for (const strads_option *o = r->part[i].table; o->name; o++)
            if (!o->rare && cli_option_listed(r->syntax, o)) {
                const strads_option shown = cli_option_shown(r->syntax, o);
                put_option(&shown);
            }
    }
    CLI_TRY(put_rare(r));
    put_example(r->syntax->name);
    if (r->syntax->footer)
        put_wrapped(r->syntax->footer, 0, 0);
    return STRADS_OK;
}

static void (*described)(void *arg, const cli_syntax *syntax);
static void *described_arg;

void cli_parse_describe(void (*take)(void *arg, const cli_syntax *syntax),
                        void *arg)
{
    described = take;
    described_arg = arg;
}

bool cli_parse_is_described(void)
{
    return described != NULL;
}

/* ---- values ------------------------------------------------------------ */

static strads_err check_args(const cli_reader *r)
{
    if (r->n_args < r->n_wanted) {
        return strads_fail(STRADS_EINVAL,
                           "%s is missing; usage: strads %s [OPTION...] %s",
                           r->n_args == 0 ? "an argument" : "the last argument",
                           r->syntax->name, r->syntax->args);
    }
    if (r->n_args > r->n_most) {
        return strads_fail(STRADS_EINVAL,
                           "\"%s\" is one argument too many; usage: strads %s "
                           "[OPTION...] %s",
                           r->arg[r->n_most], r->syntax->name, r->syntax->args);
    }
    return STRADS_OK;
}

static strads_err set_all(const cli_reader *r)
{
    for (size_t k = 0; k < r->n_assignments; k++) {
        const cli_assignment *a = &r->assignments[k];
        CLI_TRY(strads_option_set(a->option, a->values, a->text));
    }
    return STRADS_OK;
}

/* Options that the program does not use are refused in a file, too; but not the
 * default policy: earlier versions printed it for every program. */
static strads_err see_key(void *arg, const strads_option *option,
                          const char *text)
{
    cli_reader *r = arg;
    const strads_program *program = r->syntax->program;
    if (option == find_intercept(program))
        r->intercept_given = true;
    if (strcmp(option->name, "policy") == 0 && strcmp(text, "priority") == 0)
        return STRADS_OK;
    return program && !is_own(program, option)
               ? cli_option_refuse(find_user(r->syntax, option->name),
                                   option->name)
               : STRADS_OK;
}

/* Applies the command line to find and check --config, then the file, then the
 * command line again, because it takes precedence. */
static strads_err apply_sources(cli_reader *r)
{
    sti_config_strings *strings; /* owns the strings that fields point to */
    const strads_option *intercept = find_intercept(r->syntax->program);
    CLI_TRY(set_all(r));
    if (r->meta.config) {
        CLI_TRY(cli_reserve(1, sizeof *strings, "the options", &strings));
        const sti_config config = {.parts = r->part,
                                   .n_parts = r->n_config,
                                   .strings = strings,
                                   .see = see_key,
                                   .see_arg = r};
        CLI_TRY(sti_config_load(&config, r->meta.config));
        CLI_TRY(set_all(r));
    }
    for (size_t k = 0; intercept && k < r->n_assignments; k++)
        if (r->assignments[k].option == intercept)
            r->intercept_given = true;
    if (intercept && !r->intercept_given && has_bias(r->syntax))
        *intercept_of(r->syntax) = false;
    return STRADS_OK;
}

/* Selects the options of a table that the command's programs use. */
static strads_err keep_suited(const cli_syntax *syntax,
                              const strads_option *table,
                              const strads_option **out)
{
    const strads_program *program = syntax->program;
    strads_option *kept;
    size_t n = 0;
    for (const strads_option *o = table; o->name; o++)
        n++;
    CLI_TRY(cli_reserve(n + 1, sizeof *kept, "the options", &kept));
    n = 0;
    for (const strads_option *o = table; o->name; o++)
        if (!program || is_own(program, o) ||
            cli_option_suits(find_user(syntax, o->name), o->name))
            kept[n++] = *o;
    kept[n] = (strads_option){.name = NULL};
    *out = kept;
    return STRADS_OK;
}

static strads_err print_config(const cli_reader *r)
{
    sti_config_part part[CLI_MOST_PARTS];
    for (size_t k = 0; k < r->n_config; k++) {
        part[k] = r->part[k];
        CLI_TRY(keep_suited(r->syntax, r->part[k].table, &part[k].table));
    }
    char *text = sti_config_text(part, r->n_config, 0);
    if (!text)
        return strads_fail(STRADS_ENOMEM, "no memory left for the options");
    (void)puts(text);
    free(text);
    return STRADS_OK;
}

strads_err cli_parse(const cli_syntax *syntax, int argc, char **argv,
                     cli_parsed *parsed)
{
    cli_reader r = {.syntax = syntax};
    bool *intercept = intercept_of(syntax);
    *parsed = (cli_parsed){0};
    if (intercept)
        *intercept = true;
    add_parts(&r);
    CLI_TRY(cli_reserve((size_t)argc + 1, sizeof *r.assignments, "the options",
                        &r.assignments));
    CLI_TRY(check_tables(&r));
    CLI_TRY(take_words(&r, argc, argv));
    parsed->done = r.help;
    if (r.help && described) {
        described(described_arg, syntax);
        return STRADS_OK;
    }
    if (r.help)
        return put_help(&r);
    CLI_TRY(apply_sources(&r));
    parsed->done = r.meta.print_config;
    if (r.meta.print_config)
        return print_config(&r);
    CLI_TRY(check_args(&r));
    CLI_TRY(check_outputs(&r));
    parsed->intercept_by_default =
        intercept && *intercept && !r.intercept_given;
    memcpy(parsed->arg, r.arg, sizeof r.arg);
    return STRADS_OK;
}

/* ---- commands that read, then write -------------------------------------- */

/* --output and --format, for a default format. */
#define OUT_TABLE(usual)                                               \
    {                                                                  \
        CLI_TEXT(cli_use, out.path, "output", "FILE",                  \
                 "write there (default: standard output)"),            \
            CLI_CHOICE(cli_use, out.format, "format", "F",             \
                       "text, csv, json (a line a row) or npy "        \
                       "(default: " usual ")",                         \
                       "text|csv|json|npy"),                           \
            CLI_FLAG(cli_use, out.json, "json", NULL), {.name = NULL}, \
    }

static const strads_option text_out[] = OUT_TABLE("text");
static const strads_option csv_out[] = OUT_TABLE("csv");
static const strads_option json_out[] = OUT_TABLE("json");

const strads_option *cli_out_table(const char *usual)
{
    return !usual          ? NULL
           : *usual == 't' ? text_out
           : *usual == 'c' ? csv_out
                           : json_out;
}

#define WORKERS_ROW                           \
    CLI_U32(cli_use, workers, "workers", "N", \
            "threads that read (default: one per core)", 1, 1024)

static const strads_option threads_table[] = {WORKERS_ROW, {.name = NULL}};
static const strads_option workers_table[] = {
    WORKERS_ROW,
    STRADS_OPTION(BYTES, cli_use, memory, "memory", "SIZE",
                  "bytes for data: 512M, 1.5G (default: the free memory)",
                  .min = 1, .max = 0x1p53),
    {.name = NULL},
};
static const strads_option quiet_table[] = {
    CLI_FLAG(cli_use, quiet, "quiet", "print the result only (default: no)"),
    {.name = NULL},
};

static strads_err use(const cli_command *command, int argc, char **argv)
{
    const cli_verb *verb = command->verb;
    cli_parsed parsed;
    cli_use *u;
    CLI_TRY(cli_reserve(1, verb->size, "the command", &u));
    if (verb->initial)
        memcpy(u, verb->initial, verb->size);
    u->command = command;
    u->out.format = verb->usual;
    const cli_syntax syntax = {
        .name = command->name,
        .args = command->args,
        .summary = command->about,
        .groups = {{NULL, verb->table, u},
                   {NULL, cli_out_table(verb->usual), u},
                   {NULL,
                    verb->has & CLI_HAS_WORKERS   ? workers_table
                    : verb->has & CLI_HAS_THREADS ? threads_table
                                                  : NULL,
                    u},
                   {NULL, verb->has & CLI_HAS_QUIET ? quiet_table : NULL, u},
                   {verb->title, verb->more, u}}};
    CLI_TRY(cli_parse(&syntax, argc, argv, &parsed));
    if (parsed.done)
        return STRADS_OK;
    if (u->out.path)
        CLI_TRY(cli_output_check(u->out.path));
    CLI_TRY(verb->read(u, parsed.arg));
    if (verb->write)
        CLI_TRY(cli_output(u->out.path, verb->write, u));
    return verb->tell ? verb->tell(u) : STRADS_OK;
}

int cli_verb_run(const cli_command *command, int argc, char **argv)
{
    const strads_err err = use(command, argc, argv);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
