/* Tables of strads_option as a command line: which words are right, what is
 * meant by those that are not, and what is set by what in the end. Names are
 * taken in full only, so that a script means the same when an option is added.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_reader.h"
#include "engine/base/option_table.h"

static const strads_option meta_table[] = {
    {.name = "config",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(cli_meta, config),
     .metavar = "FILE",
     .help = "options from a JSON file; those given here win"},
    {.name = "print-config",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(cli_meta, print_config),
     .help = "print all options as JSON and stop"},
    {.name = NULL},
};

/* ---- tables ------------------------------------------------------------ */

static const strads_option *find(const cli_reader *r, const char *name,
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

static const char *nearest(const cli_reader *r, const char *wrong)
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

static void add_part(cli_reader *r, const char *title,
                     const strads_option *table, void *values)
{
    r->title[r->n_parts] = title;
    r->part[r->n_parts++] = (sti_config_part){table, values};
    for (const strads_option *o = table; o->name; o++) {
        r->n_options++;
    }
}

static void add_parts(cli_reader *r)
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
static strads_err check_tables(const cli_reader *r)
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

static strads_err unknown_option(const cli_reader *r, const char *name)
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
static strads_err check_option(const cli_reader *r, int argc, char **argv,
                               int *at)
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
    strads_err err = r->syntax->program
                         ? cli_option_refuse(r->syntax->program, name)
                         : STRADS_OK;
    if (err) {
        return err;
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
static strads_err check_words(cli_reader *r, int argc, char **argv)
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

/* ---- values ------------------------------------------------------------ */

static strads_err check_args(const cli_reader *r)
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

static strads_err set_all(const cli_reader *r)
{
    for (size_t k = 0; k < r->n_assignments; k++) {
        const cli_assignment *a = &r->assignments[k];
        strads_err err = strads_option_set(a->option, a->values, a->text);
        if (err) {
            return err;
        }
    }
    return STRADS_OK;
}

/* The line first, to know the file and whether the line is good at all; then
 * the file; then the line again, for it wins. */
static strads_err apply(cli_reader *r, sti_config_strings *strings)
{
    strads_err err = set_all(r);
    if (err || !r->meta.config) {
        return err;
    }
    sti_config config = {r->part, r->n_config, strings};
    err = sti_config_load(&config, r->meta.config);
    return err ? err : set_all(r);
}

static strads_err print_config(const cli_reader *r)
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
static strads_err finish(cli_reader *r, sti_config_strings *strings,
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
        err = cli_clash_check(r);
    }
    if (!err) {
        memcpy(parsed->arg, r->arg, sizeof r->arg);
    }
    return err;
}

strads_err cli_parse(const cli_syntax *syntax, int argc, char **argv,
                     sti_config_strings *strings, cli_parsed *parsed)
{
    cli_reader r = {.syntax = syntax};
    add_parts(&r);
    *parsed = (cli_parsed){0};
    strads_err err = check_tables(&r);
    if (!err) {
        err = check_words(&r, argc, argv);
    }
    if (!err && r.help) {
        parsed->done = true;
        return cli_argp_help(&r);
    }
    if (!err) {
        err = cli_argp_read(&r, argc, argv);
    }
    if (!err) {
        err = finish(&r, strings, parsed);
    }
    free(r.assignments);
    return err;
}
