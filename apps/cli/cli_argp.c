/* glibc's argp over tables of strads_option. argp would take abbreviations and
 * exit with messages of its own; the words have been checked before, so that it
 * cannot fail here, and its help is its best part. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_reader.h"

enum { FIRST_KEY = 1000 };

static bool is_of_nodes(const strads_option *option)
{
    static const char *const names[] = {"listen", "nodes", "reconnect"};
    bool is = false;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        is = is || strcmp(option->name, names[k]) == 0;
    }
    return is;
}

/* Whether --help has nothing to say of it. */
static bool is_hidden(const cli_reader *r, const strads_option *option)
{
    const strads_program *program = r->syntax->program;
    return (r->syntax->one_process && is_of_nodes(option)) ||
           (program && !cli_option_suits(program, option->name));
}

/* One line of argp's table per option, and one per group's title. A flag takes
 * "=false" (to undo what a file says), which --help leaves out. */
static struct argp_option *make_options(const cli_reader *r, bool for_help)
{
    size_t most = r->n_options + 2 * r->n_parts + 2;
    struct argp_option *options = calloc(most, sizeof *options);
    struct argp_option *at = options;
    int key = FIRST_KEY, group = 0;
    if (!options) {
        return NULL;
    }
    for (size_t i = 0; i < r->n_parts; i++) {
        if (r->title[i]) {
            *at++ = (struct argp_option){.doc = r->title[i], .group = ++group};
        }
        for (const strads_option *o = r->part[i].table; o->name; o++) {
            bool flag = o->kind == STRADS_OPTION_BOOL;
            if (for_help && (o->rare || is_hidden(r, o))) {
                continue;
            }
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
    return options;
}

static void assign(cli_reader *r, int key, const char *text)
{
    size_t k = (size_t)(key - FIRST_KEY);
    for (size_t i = 0; i < r->n_parts; i++) {
        for (const strads_option *o = r->part[i].table; o->name; o++) {
            if (k-- == 0) {
                r->assignments[r->n_assignments++] =
                    (cli_assignment){o, r->part[i].values, text};
                return;
            }
        }
    }
}

static error_t collect(int key, char *arg, struct argp_state *state)
{
    cli_reader *r = state->input;
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

strads_err cli_argp_read(cli_reader *r, int argc, char **argv)
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

/* The default at the end of an option's help, "(default: 1)" or "(1)": "1". */
static int find_default(const char *help, const char **out)
{
    static const char word[] = "default";
    const size_t n = strlen(help);
    const char *begin = strrchr(help, '(');
    *out = NULL;
    if (!begin || help[n - 1] != ')') {
        return 0;
    }
    begin++;
    if (strncmp(begin, word, sizeof word - 1) == 0) {
        begin += sizeof word - 1;
        begin += strspn(begin, ": ");
    }
    *out = begin;
    return (int)(help + n - 1 - begin);
}

/* Options that few need, in the order of the tables: "--depth=D (0), ...". */
static void list_rare(const cli_reader *r, FILE *out)
{
    const char *before = "Rarely needed (docs/command.md): ";
    for (size_t i = 0; i < r->n_parts; i++) {
        for (const strads_option *o = r->part[i].table; o->name; o++) {
            const char *usual;
            const int n = find_default(o->help, &usual);
            if (!o->rare || is_hidden(r, o)) {
                continue;
            }
            (void)fprintf(out, "%s--%s%s%s", before, o->name,
                          o->metavar ? "=" : "", o->metavar ? o->metavar : "");
            if (usual) {
                (void)fprintf(out, " (%.*s)", n, usual);
            }
            before = ", ";
        }
    }
    (void)fputs(*before == ',' ? ".\n" : "", out);
}

/* What stands above and below the options; NULL: no memory. */
static char *make_doc(const cli_reader *r)
{
    const char *footer = r->syntax->footer ? r->syntax->footer : "";
    char *doc = NULL;
    size_t size;
    FILE *out = open_memstream(&doc, &size);
    if (!out) {
        return NULL;
    }
    (void)fprintf(out, "%s\v", r->syntax->summary);
    list_rare(r, out);
    (void)fputs(footer, out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(doc);
        return NULL;
    }
    return doc;
}

strads_err cli_argp_help(const cli_reader *r)
{
    char name[64];
    struct argp_option *options = make_options(r, true);
    char *doc = make_doc(r);
    if (!options || !doc) {
        free(options);
        free(doc);
        return strads_fail(STRADS_ENOMEM, "no memory left for the help");
    }
    (void)snprintf(name, sizeof name, "strads %s", r->syntax->name);
    /* One option a line, as long as its help fits 55 letters. */
    (void)setenv("ARGP_HELP_FMT",
                 "short-opt-col=2,long-opt-col=2,opt-doc-col=24,header-col=0,"
                 "no-dup-args-note,rmargin=80",
                 1);
    /* Of an empty table glibc's argp leaks its copy. */
    const bool some = options->name || options->doc;
    struct argp argp = {.options = some ? options : NULL,
                        .args_doc = r->syntax->args,
                        .doc = doc};
    unsigned what = ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG;
    const bool more = strchr(doc, '\v')[1] != '\0';
    argp_help(&argp, stdout, more ? what | ARGP_HELP_POST_DOC : what, name);
    free(options);
    free(doc);
    return STRADS_OK;
}
