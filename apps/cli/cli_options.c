/* Tables of strads_option as a command line: which words are right, what is
 * meant by those that are not, and what is set by what in the end. Names are
 * taken in full only, so that a script means the same when an option is added.
 *
 * glibc's argp reads the line: it would take abbreviations and exit with
 * messages of its own, so all words are checked before and it cannot fail; its
 * help is its best part. */
#include "cli_options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "engine/base/option_table.h"

/* ---- which options suit a program ------------------------------------- */

static bool has_ring(const strads_program *program)
{
    bool ring = false;
    for (uint32_t k = 0; k < program->n_phases; k++) {
        ring = ring || program->phases[k].to == STRADS_TO_RING;
    }
    return ring;
}

/* A ring goes by its plan, unless there are blocks for a policy beside it. */
static bool has_policy(const strads_program *program)
{
    bool policy = !has_ring(program);
    for (uint32_t k = 0; k < program->n_phases; k++) {
        policy = policy || program->phases[k].when == STRADS_WHEN_POLICY;
    }
    return policy;
}

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

static const struct rule {
    const char *name;
    bool (*suits)(const strads_program *program);
    /* Why it is refused; NULL: it is not, for `instead` may choose a program
     * that it does mean something to. */
    const char *reason;
} rules[] = {
    {"plan", has_ring, "it has no RING phase that a plan could be for"},
    {"versions", has_ring, "it has no blocks that travel"},
    {"policy", has_policy, "its blocks go by a plan"},
    {"schedulers", has_policy, "its blocks go by a plan"},
    {"threshold", has_policy, "its blocks go by a plan"},
    {"pools", has_pools, NULL},
    {"shards", has_loop, "only the tables of a loop are kept in parts"},
    {"f32", has_samples, "it takes the values of its data as they are"},
    {"labels", has_samples, "its data have no labels"},
    {"start", is_all_values, "its model is more than values"},
};

static const struct rule *broken_rule(const strads_program *program,
                                      const char *name)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        if (strcmp(rules[k].name, name) == 0) {
            return rules[k].suits(program) ? NULL : &rules[k];
        }
    }
    return NULL;
}

bool cli_option_suits(const strads_program *program, const char *name)
{
    return broken_rule(program, name) == NULL;
}

strads_err cli_option_refuse(const strads_program *program, const char *name)
{
    const struct rule *rule = broken_rule(program, name);
    if (!rule || !rule->reason) {
        return STRADS_OK;
    }
    return strads_fail(STRADS_EINVAL,
                       "--%s: program %s has no use for it: %s; leave it out",
                       name, program->name, rule->reason);
}

strads_err cli_data_kind(const char *name, strads_kind *kind)
{
    static const char *const names[] = {
        [STRADS_KIND_SAMPLES] = "samples",
        [STRADS_KIND_CORPUS] = "corpus",
        [STRADS_KIND_TEXT] = "text",
        [STRADS_KIND_RATINGS] = "ratings",
        [STRADS_KIND_DOCUMENTS] = "documents",
    };
    for (size_t k = 0; name && k < sizeof names / sizeof *names; k++) {
        if (strcmp(name, names[k]) == 0) {
            *kind = (strads_kind)k;
            return STRADS_OK;
        }
    }
    return name ? strads_fail(
                      STRADS_EINVAL,
                      "--kind %s: expected samples, corpus, text, documents "
                      "or ratings",
                      name)
                : STRADS_OK;
}

/* ---- the line at hand --------------------------------------------------- */

enum { CLI_MOST_PARTS = CLI_MOST_GROUPS + 1 };

/* --config and --print-config, which no file may hold. */
typedef struct cli_meta {
    const char *config;
    bool print_config;
} cli_meta;

/* An option on the command line, in the order of the line. */
typedef struct cli_assignment {
    const strads_option *option;
    void *values;
    const char *text;
} cli_assignment;

typedef struct cli_reader {
    const cli_syntax *syntax;
    cli_meta meta;
    sti_config_part part[CLI_MOST_PARTS]; /* the groups', then meta */
    const char *title[CLI_MOST_PARTS];
    size_t n_parts, n_config; /* n_config: of them may be in a file */
    size_t n_options;
    cli_assignment *assignments;
    size_t n_assignments;
    const char *arg[CLI_MOST_ARGS];
    size_t n_args, n_wanted;
    bool help;
} cli_reader;

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

/* ---- argp ---------------------------------------------------------------- */

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
    return !option->help || (r->syntax->one_process && is_of_nodes(option)) ||
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

static strads_err read_line(cli_reader *r, int argc, char **argv)
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
            if (!o->rare || is_hidden(r, o)) {
                continue;
            }
            const int n = find_default(o->help, &usual);
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

static strads_err print_help(const cli_reader *r)
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

/* ---- outputs ------------------------------------------------------------- */

/* No output may be a file that the same command reads, nor another output: it
 * would destroy what people cannot get again. Looked at before anything is
 * read or written. */

/* Options that name a file to write. */
static const char *const outputs[] = {
    "model", "log",   "trace",  "output",    "coefficients", "svg",
    "csv",   "truth", "matrix", "save-cost", "assignments",
};

/* Options that may name the file that an output replaces: a model goes on from
 * itself. */
static const char *const replaced[] = {"start", "from"};

static bool is_in(const char *const *names, size_t n, const char *name)
{
    for (size_t k = 0; k < n; k++) {
        if (strcmp(names[k], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_output(const char *name)
{
    return is_in(outputs, sizeof outputs / sizeof *outputs, name);
}

static bool may_be_replaced(const char *name)
{
    return is_in(replaced, sizeof replaced / sizeof *replaced, name);
}

/* Devices and pipes may be named twice; what is not there yet has its name
 * alone. */
static bool are_one_file(const char *a, const char *b)
{
    struct stat one, other;
    if (stat(a, &one) != 0 || stat(b, &other) != 0) {
        return strcmp(a, b) == 0;
    }
    return S_ISREG(one.st_mode) && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* The file that an option names; NULL: none. */
static const char *file_of(const sti_config_part *part, const strads_option *o)
{
    if (o->kind != STRADS_OPTION_STRING) {
        return NULL;
    }
    return *(const char *const *)((const char *)part->values + o->offset);
}

static strads_err clash_with_args(const cli_reader *r,
                                  const strads_option *output, const char *path)
{
    for (size_t k = 0; k < r->n_args; k++) {
        if (are_one_file(path, r->arg[k])) {
            return strads_fail(STRADS_EINVAL,
                               "--%s %s: is the same file as the argument %s; "
                               "name another",
                               output->name, path, r->arg[k]);
        }
    }
    return STRADS_OK;
}

static strads_err clash_with_options(const cli_reader *r,
                                     const strads_option *output,
                                     const char *path)
{
    for (size_t k = 0; k < r->n_parts; k++) {
        for (const strads_option *o = r->part[k].table; o->name; o++) {
            const char *other = file_of(&r->part[k], o);
            if (o != output && other && !may_be_replaced(o->name) &&
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
    strads_err err = STRADS_OK;
    for (size_t k = 0; k < r->n_parts; k++) {
        for (const strads_option *o = r->part[k].table; !err && o->name; o++) {
            const char *path =
                is_output(o->name) ? file_of(&r->part[k], o) : NULL;
            if (path) {
                err = clash_with_args(r, o, path);
                err = err ? err : clash_with_options(r, o, path);
            }
        }
    }
    return err;
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
        err = check_outputs(r);
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
        return print_help(&r);
    }
    if (!err) {
        err = read_line(&r, argc, argv);
    }
    if (!err) {
        err = finish(&r, strings, parsed);
    }
    free(r.assignments);
    return err;
}

int cli_run(const cli_syntax *syntax, int argc, char **argv,
            strads_err (*work)(void *arg, const char *const *args), void *arg)
{
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = work(arg, parsed.arg);
    }
    const int code = err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
    sti_config_strings_free(&strings);
    return code;
}
