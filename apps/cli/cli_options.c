/* Tables of strads_option as a command line, by glibc's argp.
 *
 * argp would take abbreviations and exit with messages of its own. So every
 * word is checked before argp sees it (check_words): what is left for argp
 * cannot fail, and its help is its best part. */
#include "cli_options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest_name.h"

enum { FIRST_KEY = 1000, MOST_PARTS = CLI_MOST_GROUPS + 1 };

typedef struct meta_options {
    const char *config;
    bool print_config;
} meta_options;

static const strads_option meta_table[] = {
    {.name = "config",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(meta_options, config),
     .metavar = "FILE",
     .help = "options from a JSON file; those given here win"},
    {.name = "print-config",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(meta_options, print_config),
     .help = "print all options as JSON and stop"},
    {.name = NULL},
};

/* An option on the command line, in the order of the line. */
typedef struct assignment {
    const strads_option *option;
    void *values;
    const char *text;
} assignment;

typedef struct reader {
    const cli_syntax *syntax;
    meta_options meta;
    sti_config_part part[MOST_PARTS]; /* the groups', then meta */
    const char *title[MOST_PARTS];
    size_t n_parts, n_config; /* n_config: of them may be in a file */
    size_t n_options;
    assignment *assignments;
    size_t n_assignments;
    const char *arg[CLI_MOST_ARGS];
    size_t n_args, n_wanted;
    bool help;
} reader;

/* ---- tables ------------------------------------------------------------ */

static const strads_option *find(const reader *r, const char *name,
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

static const char *nearest(const reader *r, const char *wrong)
{
    const char *best = NULL;
    unsigned best_distance = STI_NAME_FAR;
    for (size_t i = 0; i < r->n_parts; i++) {
        const char *name = strads_option_nearest(r->part[i].table, wrong);
        unsigned distance =
            name ? sti_nearest_distance(wrong, name) : STI_NAME_FAR;
        if (distance < best_distance) {
            best = name;
            best_distance = distance;
        }
    }
    return best;
}

static void add_part(reader *r, const char *title, const strads_option *table,
                     void *values)
{
    r->title[r->n_parts] = title;
    r->part[r->n_parts++] = (sti_config_part){table, values};
    for (const strads_option *o = table; o->name; o++) {
        r->n_options++;
    }
}

static void add_parts(reader *r)
{
    for (size_t g = 0; g < CLI_MOST_GROUPS; g++) {
        const cli_group *group = &r->syntax->groups[g];
        if (group->table) {
            add_part(r, group->title, group->table, group->values);
        }
    }
    r->n_config = r->n_parts;
    if (r->syntax->config) {
        add_part(r, NULL, meta_table, &r->meta);
    }
    r->n_wanted = *r->syntax->args != '\0';
    for (const char *c = r->syntax->args; *c; c++) {
        r->n_wanted += *c == ' ';
    }
}

/* A user's program may not give a name of the command another meaning. */
static strads_err check_tables(const reader *r)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        const strads_option *o = r->part[i].table;
        for (; o->name; o++) {
            void *values = NULL;
            if (find(r, o->name, &values) != o) {
                return strads_fail(STRADS_EINVAL,
                                   "two options are called --%s; the program "
                                   "has to rename its own",
                                   o->name);
            }
        }
    }
    return STRADS_OK;
}

/* ---- words ------------------------------------------------------------- */

static strads_err unknown_option(const reader *r, const char *name)
{
    const char *best = nearest(r, name);
    if (best) {
        return strads_fail(STRADS_EINVAL,
                           "unknown option --%s; did you mean --%s?", name,
                           best);
    }
    return strads_fail(STRADS_EINVAL,
                       "unknown option --%s; `strads %s --help` lists them",
                       name, r->syntax->name);
}

/* Checks the option in argv[*at]; steps over its value. */
static strads_err check_option(const reader *r, int argc, char **argv, int *at)
{
    char name[64];
    void *values;
    const char *word = argv[*at] + 2;
    size_t length = strcspn(word, "=");
    (void)snprintf(name, sizeof name, "%.*s", (int)length, word);
    const strads_option *option = find(r, name, &values);
    if (!option || length >= sizeof name) {
        return unknown_option(r, name);
    }
    if (option->kind != STRADS_OPTION_BOOL && word[length] == '\0' &&
        ++*at == argc) {
        return strads_fail(STRADS_EINVAL, "--%s needs a value: --%s %s", name,
                           name, option->metavar ? option->metavar : "VALUE");
    }
    return STRADS_OK;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
           strcmp(word, "-?") == 0;
}

/* After this every word is an option of ours with its value, or an argument. */
static strads_err check_words(reader *r, int argc, char **argv)
{
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        if (strcmp(word, "--") == 0) {
            break;
        }
        if (is_help(word)) {
            r->help = true;
            return STRADS_OK;
        }
        if (word[0] != '-' || word[1] == '\0') {
            continue;
        }
        if (word[1] != '-') {
            return strads_fail(STRADS_EINVAL,
                               "unknown option %s; options begin with two "
                               "dashes, `strads %s --help` lists them",
                               word, r->syntax->name);
        }
        strads_err err = check_option(r, argc, argv, &at);
        if (err) {
            return err;
        }
    }
    return STRADS_OK;
}

/* ---- argp -------------------------------------------------------------- */

/* One line of argp's table per option, and one per group's title. A flag takes
 * "=false" (to undo what a file says), which --help leaves out. */
static struct argp_option *make_options(const reader *r, bool for_help)
{
    size_t most = r->n_options + 2 * r->n_parts + 2;
    struct argp_option *options = calloc(most, sizeof *options);
    struct argp_option *at = options;
    int key = FIRST_KEY;
    if (!options) {
        return NULL;
    }
    for (size_t i = 0; i < r->n_parts; i++) {
        int group = r->title[i] ? (int)i + 1 : (int)i;
        if (r->title[i]) {
            *at++ = (struct argp_option){.doc = r->title[i], .group = group};
        }
        for (const strads_option *o = r->part[i].table; o->name; o++) {
            bool flag = o->kind == STRADS_OPTION_BOOL;
            *at = (struct argp_option){.name = o->name,
                                       .key = key++,
                                       .doc = o->help,
                                       .group = group};
            at->arg = flag && for_help ? NULL
                      : flag           ? "BOOL"
                      : o->metavar     ? o->metavar
                                       : "VALUE";
            at->flags = flag && !for_help ? OPTION_ARG_OPTIONAL : 0;
            at++;
        }
    }
    if (for_help) {
        *at++ = (struct argp_option){.name = "help",
                                     .key = key,
                                     .doc = "show this text"};
    }
    return options;
}

static void assign(reader *r, int key, const char *text)
{
    size_t k = (size_t)(key - FIRST_KEY);
    for (size_t i = 0; i < r->n_parts; i++) {
        for (const strads_option *o = r->part[i].table; o->name; o++) {
            if (k-- == 0) {
                r->assignments[r->n_assignments++] =
                    (assignment){o, r->part[i].values, text};
                return;
            }
        }
    }
}

static error_t collect(int key, char *arg, struct argp_state *state)
{
    reader *r = state->input;
    if (key >= FIRST_KEY && key < FIRST_KEY + (int)r->n_options) {
        assign(r, key, arg);
        return 0;
    }
    if (key == ARGP_KEY_ARG) {
        if (r->n_args < CLI_MOST_ARGS) {
            r->arg[r->n_args] = arg;
        }
        r->n_args++;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static strads_err run_argp(reader *r, int argc, char **argv)
{
    char name[] = "strads";
    char **words = calloc((size_t)argc + 2, sizeof *words);
    struct argp_option *options = make_options(r, false);
    r->assignments = calloc((size_t)argc + 1, sizeof *r->assignments);
    strads_err err = STRADS_OK;
    if (!words || !options || !r->assignments) {
        err = strads_fail(STRADS_ENOMEM, "no memory left for the options");
        goto done;
    }
    words[0] = name;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    struct argp argp = {.options = options, .parser = collect};
    if (argp_parse(&argp, argc + 1, words, ARGP_SILENT | ARGP_IN_ORDER, NULL,
                   r) != 0) {
        err = strads_fail(STRADS_EINVAL,
                          "the options of strads %s cannot be "
                          "read",
                          r->syntax->name);
    }
done:
    free(options);
    free(words);
    return err;
}

static strads_err show_help(const reader *r)
{
    char name[64];
    char *doc = NULL;
    const char *footer = r->syntax->footer ? r->syntax->footer : "";
    struct argp_option *options = make_options(r, true);
    if (!options || asprintf(&doc, "%s\v%s", r->syntax->summary, footer) < 0) {
        free(options);
        return strads_fail(STRADS_ENOMEM, "no memory left for the help");
    }
    (void)snprintf(name, sizeof name, "strads %s", r->syntax->name);
    /* One option a line, as long as its help fits 55 letters. */
    (void)setenv("ARGP_HELP_FMT",
                 "short-opt-col=2,long-opt-col=2,opt-doc-col=24,header-col=0,"
                 "no-dup-args-note,rmargin=80",
                 1);
    struct argp argp = {.options = options,
                        .args_doc = r->syntax->args,
                        .doc = doc};
    unsigned what = ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG;
    argp_help(&argp, stdout, footer[0] ? what | ARGP_HELP_POST_DOC : what,
              name);
    free(options);
    free(doc);
    return STRADS_OK;
}

/* ---- values ------------------------------------------------------------ */

static strads_err check_args(const reader *r)
{
    if (r->n_args < r->n_wanted) {
        return strads_fail(STRADS_EINVAL,
                           "%s is missing; usage: strads %s [OPTION...] %s",
                           r->n_args == 0 ? "an argument" : "the last argument",
                           r->syntax->name, r->syntax->args);
    }
    if (r->n_args > r->n_wanted) {
        return strads_fail(STRADS_EINVAL,
                           "\"%s\" is one argument too many; usage: strads %s "
                           "[OPTION...] %s",
                           r->arg[r->n_wanted], r->syntax->name,
                           r->syntax->args);
    }
    return STRADS_OK;
}

static strads_err set_all(const reader *r)
{
    for (size_t k = 0; k < r->n_assignments; k++) {
        const assignment *a = &r->assignments[k];
        strads_err err = strads_option_set(a->option, a->values, a->text);
        if (err) {
            return err;
        }
    }
    return STRADS_OK;
}

/* The line first, to know the file and whether the line is good at all; then
 * the file; then the line again, for it wins. */
static strads_err apply(reader *r, sti_config_strings *strings)
{
    strads_err err = set_all(r);
    if (err || !r->meta.config) {
        return err;
    }
    sti_config config = {r->part, r->n_config, strings};
    err = sti_config_load(&config, r->meta.config);
    return err ? err : set_all(r);
}

static strads_err print_config(const reader *r)
{
    char *text = sti_config_text(r->part, r->n_config, 0);
    if (!text) {
        return strads_fail(STRADS_ENOMEM, "no memory left for the options");
    }
    (void)puts(text);
    free(text);
    return STRADS_OK;
}

/* What has to be asked of a whole and consistent line. */
static strads_err finish(reader *r, sti_config_strings *strings,
                         cli_parsed *parsed)
{
    strads_err err = apply(r, strings);
    if (!err && r->meta.print_config) {
        parsed->done = true;
        return print_config(r);
    }
    if (!err) {
        err = check_args(r);
    }
    if (!err) {
        memcpy(parsed->arg, r->arg, sizeof r->arg);
    }
    return err;
}

strads_err cli_parse(const cli_syntax *syntax, int argc, char **argv,
                     sti_config_strings *strings, cli_parsed *parsed)
{
    reader r = {.syntax = syntax};
    add_parts(&r);
    *parsed = (cli_parsed){0};
    strads_err err = check_tables(&r);
    if (!err) {
        err = check_words(&r, argc, argv);
    }
    if (!err && r.help) {
        parsed->done = true;
        return show_help(&r);
    }
    if (!err) {
        err = run_argp(&r, argc, argv);
    }
    if (!err) {
        err = finish(&r, strings, parsed);
    }
    free(r.assignments);
    return err;
}
