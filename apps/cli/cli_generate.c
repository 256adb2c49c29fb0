/* Makes man pages and completions from the same tables as --help: each command
 * is asked for help, but its syntax is captured instead of printed. So the
 * pages list exactly the options that exist. */
#include "cli_generate.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli_examples.h"
#include "cli_options.h"

/* The page or completion in progress. */
typedef struct page {
    FILE *out;
    const char *folder; /* folder of the man pages */
    const cli_command *command;
    void (*option)(const struct page *page, const strads_option *option);
    /* Completion: the start of the current word, the text before that start
     * within the word (`lead`), and the option that the word may be a value of
     * ("policy" or "policy="). */
    const char *begun, *valued;
    char lead[96];
} page;

enum { PATH_SIZE = 4096, PAGE_NAME = 128 };

static void each_option(const page *p, const cli_syntax *syntax)
{
    for (size_t g = 0; g <= CLI_MOST_GROUPS; g++) {
        const strads_option *o = g < CLI_MOST_GROUPS ? syntax->groups[g].table
                                 : syntax->config    ? cli_config_table
                                                     : NULL;
        for (; o && o->name; o++)
            if (cli_option_listed(syntax, o)) {
                const strads_option shown = cli_option_shown(syntax, o);
                p->option(p, &shown);
            }
    }
}

/* ---- man pages ----------------------------------------------------------- */

/* Writes text for troff: escapes backslashes and dashes, and dots at the start
 * of a line. */
static void put_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        (void)fputs("\\&", out);
    for (; *text; text++) {
        (void)fputs(*text == '\\' ? "\\e" : *text == '-' ? "\\-" : "", out);
        if (*text != '\\' && *text != '-')
            (void)fputc(*text, out);
    }
    (void)fputc('\n', out);
}

/* "lasso train": "strads-lasso-train". */
static const char *page_name(const char *command, char out[PAGE_NAME])
{
    (void)snprintf(out, PAGE_NAME, "strads-%s", command);
    for (char *c = out; *c; c++)
        *c = *c == ' ' ? '-' : *c;
    return out;
}

static void put_title(FILE *out, const char *name)
{
    (void)fputs(".TH ", out);
    for (; *name; name++)
        (void)fputc(toupper((unsigned char)*name), out);
    (void)fprintf(out, " 1 \"\" \"strads %s\" \"strads\"\n", strads_version());
}

static void put_exit_codes(FILE *out)
{
    static const struct {
        int code;
        const char *meaning;
    } codes[] = {
        {CLI_OK, "Done: converged, at the program's own end, or at a bound "
                 "with no gap to judge by."},
        {CLI_FAILED, "Failed while running: disk full, memory, a lost node, a "
                     "program's own error. No model is written, unless all "
                     "that failed is the log or the trace."},
        {CLI_USAGE, "Wrong usage or bad input: nothing was run, no model is "
                    "written."},
        {CLI_BOUND, "Not converged: a bound came before the tolerance, or the "
                    "objective does not get better any more; the model so far "
                    "is written."},
        {CLI_INTERRUPTED, "Interrupted by Ctrl-C or SIGTERM; the model so far "
                          "is written."},
    };
    (void)fputs(".SH EXIT STATUS\n", out);
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        (void)fprintf(out, ".TP\n.B %d\n", codes[k].code);
        put_roff(out, codes[k].meaning);
    }
}

static void put_man_option(const page *p, const strads_option *o)
{
    (void)fputs(".TP\n.B ", p->out);
    char name[96];
    const bool flag = o->kind == STRADS_OPTION_BOOL;
    const char letter = cli_option_letter(o->name);
    char by_letter[] = {'-', letter, ',', ' ', '\0'};
    (void)snprintf(name, sizeof name, "%s--%s%s%s", letter ? by_letter : "",
                   o->name, flag ? "" : "=",
                   flag         ? ""
                   : o->metavar ? o->metavar
                                : "VALUE");
    put_roff(p->out, name);
    put_roff(p->out, o->help);
    if (o->choices)
        (void)fprintf(p->out, "One of %s.\n", o->choices);
}

static void put_man_example(FILE *out, const char *command)
{
    char line[CLI_EXAMPLE_LINE];
    (void)fputs(".SH EXAMPLES\n.nf\n", out);
    for (size_t k = 0; cli_example_line(command, k, line); k++)
        put_roff(out, line);
    (void)fputs(".fi\n", out);
}

static FILE *open_page(const page *p, const char *name)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s.1", p->folder, name);
    return fopen(path, "we");
}

static void take_man(void *arg, const cli_syntax *syntax)
{
    page p = *(const page *)arg;
    const cli_command *c = p.command;
    char name[PAGE_NAME];
    p.out = open_page(&p, page_name(syntax->name, name));
    if (!p.out)
        return; /* the overview is the last page; it reports the folder */
    put_title(p.out, name);
    (void)fputs(".SH NAME\n", p.out);
    (void)fprintf(p.out, "%s \\- ", name);
    put_roff(p.out, c->summary);
    (void)fprintf(p.out, ".SH SYNOPSIS\n.B strads %s\n[\\fIOPTION\\fR...] ",
                  syntax->name);
    put_roff(p.out, syntax->tail ? syntax->tail : syntax->args);
    (void)fputs(".SH DESCRIPTION\n", p.out);
    put_roff(p.out, syntax->summary);
    (void)fputs(".SH OPTIONS\n", p.out);
    each_option(&p, syntax);
    put_man_example(p.out, syntax->name);
    put_exit_codes(p.out);
    (void)fputs(".SH SEE ALSO\n.BR strads (1)\n", p.out);
    (void)fclose(p.out);
}

static void put_reference(FILE *out, const cli_command *c, const char *first)
{
    char command[96], name[PAGE_NAME];
    (void)snprintf(command, sizeof command, "%s%s%s", c->name, first ? " " : "",
                   first ? first : "");
    (void)fprintf(out, ".TP\n.BR %s (1)\n", page_name(command, name));
    put_roff(out, c->summary);
}

static strads_err put_overview(const page *p)
{
    FILE *out = open_page(p, "strads");
    if (!out)
        return strads_fail(STRADS_EIO, "%s: cannot be written into", p->folder);
    put_title(out, "strads");
    (void)fputs(".SH NAME\nstrads \\- train models by scheduled model "
                "parallelism\n.SH SYNOPSIS\n.B strads\n\\fICOMMAND\\fR "
                "[\\fIOPTION\\fR...] \\fIARGUMENT\\fR...\n.SH COMMANDS\n",
                out);
    const cli_command *c;
    for (size_t k = 0; (c = cli_command_at(k)); k++) {
        put_reference(out, c, NULL);
        for (size_t f = 0; c->first && c->first[f]; f++)
            put_reference(out, c, c->first[f]);
    }
    (void)fputs(".TP\n.B strads help \\fICOMMAND\\fR\nits options and their "
                "defaults\n.TP\n.B strads \\-\\-version\nthe version\n",
                out);
    put_exit_codes(out);
    return fclose(out) == 0
               ? STRADS_OK
               : strads_fail(STRADS_EIO, "%s: cannot be written", p->folder);
}

/* Captures the syntax of every command, for each of its `first` arguments. */
int cli_generate(int argc, char **argv)
{
    char help[] = "--help";
    page p = {.option = put_man_option};
    int code = CLI_OK;
    if (argc != 2 || strcmp(argv[0], "man") != 0) {
        return cli_complain(strads_fail(STRADS_EINVAL,
                                        "--generate %s: expected man FOLDER",
                                        argc > 0 ? argv[0] : ""),
                            CLI_BEFORE);
    }
    p.folder = argv[1];
    cli_parse_describe(take_man, &p);
    for (size_t k = 0; code == CLI_OK && (p.command = cli_command_at(k)); k++) {
        char *words[] = {help, NULL};
        code = cli_command_run(p.command, 1, words);
        const char *const *first = p.command->first;
        for (; code == CLI_OK && first && *first; first++) {
            char word[64];
            (void)snprintf(word, sizeof word, "%s", *first);
            code = cli_command_run(p.command, 2, (char *[]){word, help});
        }
    }
    const strads_err err = code == CLI_OK ? put_overview(&p) : STRADS_OK;
    return err ? cli_complain(err, CLI_RUNNING) : code;
}

/* ---- completion ---------------------------------------------------------- */

/* Prints a candidate for the last word if it starts with `begun`, and its
 * description after a tab. */
static void offer(const page *p, const char *before, const char *word,
                  const char *what)
{
    if (strncmp(word, p->begun, strlen(p->begun)) == 0)
        (void)fprintf(p->out, "%s%s\t%s\n", before, word, what);
}

static void offer_option(const page *p, const strads_option *o)
{
    char word[96];
    (void)snprintf(word, sizeof word, "--%s", o->name);
    offer(p, "", word, o->help);
}

/* Offers the values of the option before the current word. */
static void offer_choices(const page *p, const strads_option *o)
{
    const size_t size = strlen(o->name);
    if (!o->choices || strncmp(p->valued, o->name, size) != 0 ||
        (p->valued[size] != '\0' && p->valued[size] != '='))
        return;
    for (const char *at = o->choices; *at;) {
        char word[64];
        const size_t n = strcspn(at, "|");
        (void)snprintf(word, sizeof word, "%.*s", (int)n, at);
        offer(p, p->lead, word, "");
        at += n + (at[n] == '|');
    }
}

static void take_options(void *arg, const cli_syntax *syntax)
{
    each_option(arg, syntax);
}

/* Offers the next words of commands that start with the first n words. */
static void offer_commands(const page *p, int n, char **argv)
{
    char last[64] = "";
    const cli_command *c;
    for (size_t k = 0; (c = cli_command_at(k)); k++) {
        const char *at = c->name;
        for (int w = 0; w < n && at; w++) {
            const size_t size = strlen(argv[w]);
            at = strncmp(at, argv[w], size) == 0 && at[size] == ' '
                     ? at + size + 1
                     : NULL;
        }
        const size_t size = at ? strcspn(at, " ") : 0;
        if (!at || strncmp(last, at, size) == 0)
            continue; /* list a family's word once */
        (void)snprintf(last, sizeof last, "%.*s", (int)size, at);
        offer(p, "", last, at[size] ? "" : c->summary);
    }
}

/* Finds the option that the current word is a value of. */
static void find_value(page *p, int argc, char **argv)
{
    const char *before = argc > 1 ? argv[argc - 2] : "";
    const char *equals = strchr(p->begun, '=');
    if (strncmp(p->begun, "--", 2) == 0 && equals) { /* --policy=pri */
        p->valued = p->begun + 2;
        (void)snprintf(p->lead, sizeof p->lead, "%.*s",
                       (int)(equals + 1 - p->begun), p->begun);
        p->begun = equals + 1;
    } else if (strcmp(p->begun, "=") == 0) { /* bash splits words at "=" */
        p->valued = before;
        p->begun = "";
    } else {
        p->valued =
            strcmp(before, "=") == 0 && argc > 2 ? argv[argc - 3] : before;
    }
    p->valued += strncmp(p->valued, "--", 2) == 0 ? 2 : 0;
    p->option = *p->begun == '-' ? offer_option : offer_choices;
}

int cli_complete(int argc, char **argv)
{
    char help[] = "--help";
    page p = {.out = stdout, .begun = argc > 0 ? argv[argc - 1] : ""};
    int words = 0;
    const cli_command *c = cli_command_find(argc - 1, argv, &words);
    if (!c) {
        offer_commands(&p, argc - 1, argv);
        return CLI_OK;
    }
    const bool at_first = argc - 1 == words;
    for (size_t k = 0; at_first && c->first && c->first[k]; k++)
        offer(&p, "", c->first[k], "");
    find_value(&p, argc - words, argv + words);
    /* The first argument may select the options. */
    char *line[] = {at_first || *argv[words] == '-' ? help : argv[words], help};
    cli_parse_describe(take_options, &p);
    return cli_command_run(c, line[0] == help ? 1 : 2, line);
}
