/* Man pages and completion are made of what --help is made of: each command is
 * asked for help, and its syntax is taken instead of printed. So no option is
 * ever told of that is not there, and none is left out. */
#include "cli_generate.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli_options.h"

/* What is being made. */
typedef struct page {
    FILE *out;
    const char *folder; /* of man pages */
    const cli_command *command;
    const char *name; /* of the command, with an argument that decides */
    void (*option)(const struct page *page, const strads_option *option);
} page;

enum { PATH_SIZE = 4096, PAGE_NAME = 128 };

static void each_option(const page *p, const cli_syntax *syntax)
{
    for (size_t g = 0; g <= CLI_MOST_GROUPS; g++) {
        const strads_option *o = g < CLI_MOST_GROUPS ? syntax->groups[g].table
                                 : syntax->config    ? cli_config_table
                                                     : NULL;
        for (; o && o->name; o++)
            if (cli_option_listed(syntax, o))
                p->option(p, o);
    }
}

/* Has every command hand its syntax over, for each argument that decides. */
static int each_command(page *p,
                        void (*take)(void *arg, const cli_syntax *syntax))
{
    char help[] = "--help";
    int code = CLI_OK;
    cli_parse_describe(take, p);
    for (size_t k = 0; code == CLI_OK && (p->command = cli_command_at(k));
         k++) {
        char *words[] = {help, NULL, NULL};
        code = cli_command_run(p->command, 1, words);
        const char *const *first = p->command->first;
        for (; code == CLI_OK && first && *first; first++) {
            char word[64];
            (void)snprintf(word, sizeof word, "%s", *first);
            words[0] = word;
            words[1] = help;
            code = cli_command_run(p->command, 2, words);
        }
    }
    cli_parse_describe(NULL, NULL);
    return code;
}

/* Calls `put` with each name that has options, and what it does. */
static void each_name(FILE *out, void (*put)(FILE *out, const char *name,
                                             const char *summary))
{
    const cli_command *c;
    for (size_t k = 0; (c = cli_command_at(k)); k++) {
        put(out, c->name, c->summary);
        for (size_t f = 0; c->first && c->first[f]; f++) {
            char name[96];
            (void)snprintf(name, sizeof name, "%s %s", c->name, c->first[f]);
            put(out, name, c->summary);
        }
    }
}

/* ---- man pages ------------------------------------------------------------- */

/* Text of troff: a backslash and a dash are letters, and a line does not begin
 * with a dot. */
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
        return; /* the overview, which comes last, tells of the folder */
    put_title(p.out, name);
    (void)fputs(".SH NAME\n", p.out);
    (void)fprintf(p.out, "%s \\- ", name);
    put_roff(p.out, c->summary);
    (void)fprintf(p.out, ".SH SYNOPSIS\n.B strads %s\n[\\fIOPTION\\fR...] ",
                  syntax->name);
    put_roff(p.out, syntax->args);
    (void)fputs(".SH DESCRIPTION\n", p.out);
    put_roff(p.out, syntax->summary);
    (void)fputs(".SH OPTIONS\n", p.out);
    each_option(&p, syntax);
    put_exit_codes(p.out);
    (void)fputs(".SH SEE ALSO\n.BR strads (1)\n", p.out);
    (void)fclose(p.out);
}

static void put_reference(FILE *out, const char *command, const char *summary)
{
    char name[PAGE_NAME];
    (void)fprintf(out, ".TP\n.BR %s (1)\n", page_name(command, name));
    put_roff(out, summary);
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
    each_name(out, put_reference);
    (void)fputs(".TP\n.B strads help \\fICOMMAND\\fR\nits options and their "
                "defaults\n.TP\n.B strads \\-\\-version\nthe version\n",
                out);
    put_exit_codes(out);
    return fclose(out) == 0
               ? STRADS_OK
               : strads_fail(STRADS_EIO, "%s: cannot be written", p->folder);
}

static int make_man(page *p)
{
    const int code = each_command(p, take_man);
    const strads_err err = code == CLI_OK ? put_overview(p) : STRADS_OK;
    return err ? cli_complain(err, CLI_RUNNING) : code;
}

/* ---- shells ------------------------------------------------------------------ */

/* Text without the characters of `bad`, which mean something there. */
static void put_plain(FILE *out, const char *text, const char *bad)
{
    for (; *text; text++)
        (void)fputc(strchr(bad, *text) ? ' ' : *text, out);
}

/* "a|b" as "a b". */
static void put_choices(FILE *out, const char *choices)
{
    for (; *choices; choices++)
        (void)fputc(*choices == '|' ? ' ' : *choices, out);
}

static void bash_option(const page *p, const strads_option *o)
{
    (void)fprintf(p->out, " --%s", o->name);
}

static void bash_choices(const page *p, const strads_option *o)
{
    if (o->choices) {
        (void)fprintf(p->out, "    '%s --%s') words='", p->name, o->name);
        put_choices(p->out, o->choices);
        (void)fputs("' ;;\n", p->out);
    }
}

static void take_bash(void *arg, const cli_syntax *syntax)
{
    page p = *(const page *)arg;
    (void)fprintf(p.out, "    '%s') options='", syntax->name);
    p.option = bash_option;
    each_option(&p, syntax);
    (void)fputs(" --help' ;;\n", p.out);
}

static void take_bash_choices(void *arg, const cli_syntax *syntax)
{
    page p = *(const page *)arg;
    p.name = syntax->name;
    p.option = bash_choices;
    each_option(&p, syntax);
}

static void bash_name(FILE *out, const char *name, const char *summary)
{
    (void)summary;
    (void)fprintf(out, " '%s'", name);
}

/* The longest command that the line begins with, then its options, the choices
 * of the option before, or files. */
static int make_bash(page *p)
{
    (void)fputs("# bash completion of strads; made by strads --generate bash\n"
                "_strads_options() {\n"
                "    options=\n"
                "    case $1 in\n",
                p->out);
    int code = each_command(p, take_bash);
    (void)fputs("    esac\n"
                "}\n"
                "_strads_choices() {\n"
                "    words=\n"
                "    case \"$1 $2\" in\n",
                p->out);
    code = code ? code : each_command(p, take_bash_choices);
    (void)fputs("    esac\n"
                "}\n"
                "_strads() {\n"
                "    local current=${COMP_WORDS[COMP_CWORD]} command= line= n\n"
                "    local before=${COMP_WORDS[COMP_CWORD-1]} options words\n"
                "    local commands=(",
                p->out);
    each_name(p->out, bash_name);
    (void)
        fputs(")\n"
              "    [ \"$current\" != = ] || current=\n"
              "    [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD-2]}\n"
              "    for ((n = 1; n < COMP_CWORD && n < 4; n++)); do\n"
              "        line=$line${line:+ }${COMP_WORDS[n]}\n"
              "        _strads_options \"$line\"\n"
              "        [ -z \"$options\" ] || command=$line\n"
              "    done\n"
              "    if [ -z \"$command\" ]; then\n"
              "        words=$(printf '%s\\n' \"${commands[@]}\" |\n"
              "            sed -n \"s/^${line:+$line }\\([^ ]*\\).*/\\1/p\" | "
              "sort -u)\n"
              "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
              "        return\n"
              "    fi\n"
              "    _strads_options \"$command\"\n"
              "    _strads_choices \"$command\" \"$before\"\n"
              "    if [ -n \"$words\" ]; then\n"
              "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
              "    elif [[ $current == -* ]]; then\n"
              "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
              "    else\n"
              "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
              "    fi\n"
              "}\n"
              "complete -o filenames -F _strads strads\n",
              p->out);
    return code;
}

static void zsh_option(const page *p, const strads_option *o)
{
    (void)fprintf(p->out, "        '--%s%s[", o->name,
                  o->kind == STRADS_OPTION_BOOL ? "" : "=");
    put_plain(p->out, o->help, "'[]:\\");
    (void)fputc(']', p->out);
    if (o->kind != STRADS_OPTION_BOOL) {
        (void)fprintf(p->out, ":%s:", o->metavar ? o->metavar : "VALUE");
        if (o->choices) {
            (void)fputc('(', p->out);
            put_choices(p->out, o->choices);
            (void)fputc(')', p->out);
        } else if (o->kind == STRADS_OPTION_STRING) {
            (void)fputs("_files", p->out);
        }
    }
    (void)fputs("' \\\n", p->out);
}

static void take_zsh(void *arg, const cli_syntax *syntax)
{
    page p = *(const page *)arg;
    (void)fprintf(p.out, "    '%s')\n        _arguments \\\n", syntax->name);
    p.option = zsh_option;
    each_option(&p, syntax);
    (void)fputs("        '--help[its options]' '*:file:_files' ;;\n", p.out);
}

static void zsh_name(FILE *out, const char *name, const char *summary)
{
    (void)fprintf(out, "        '%s:", name);
    put_plain(out, summary, "':\\");
    (void)fputs("'\n", out);
}

static int make_zsh(page *p)
{
    (void)fputs("#compdef strads\n"
                "# made by strads --generate zsh\n"
                "_strads_arguments() {\n"
                "    case $1 in\n",
                p->out);
    const int code = each_command(p, take_zsh);
    (void)fputs("    *) return 1 ;;\n"
                "    esac\n"
                "}\n"
                "_strads() {\n"
                "    local line='' n\n"
                "    local -a names left\n"
                "    names=(\n",
                p->out);
    each_name(p->out, zsh_name);
    (void)fputs("    )\n"
                "    for ((n = 2; n < CURRENT && n < 5; n++)); do\n"
                "        line=\"$line${line:+ }${words[n]}\"\n"
                "        if (( ${names[(I)$line:*]} )); then\n"
                "            shift $((n - 1)) words\n"
                "            (( CURRENT -= n - 1 ))\n"
                "            _strads_arguments \"$line\"\n"
                "            return\n"
                "        fi\n"
                "    done\n"
                "    left=(${(M)names:#${line:+$line }*})\n"
                "    left=(${left#${line:+$line }})\n"
                "    left=(${(u)left%%[ :]*})\n"
                "    compadd -a left\n"
                "}\n"
                "_strads \"$@\"\n",
                p->out);
    return code;
}

static void fish_option(const page *p, const strads_option *o)
{
    (void)fprintf(p->out, "complete -c strads -n '__strads_is \"%s\"' -l %s",
                  p->name, o->name);
    if (o->choices) {
        (void)fputs(" -x -a '", p->out);
        put_choices(p->out, o->choices);
        (void)fputc('\'', p->out);
    } else if (o->kind != STRADS_OPTION_BOOL) {
        (void)fputs(o->kind == STRADS_OPTION_STRING ? " -r" : " -x", p->out);
    }
    (void)fputs(" -d '", p->out);
    put_plain(p->out, o->help, "'\\");
    (void)fputs("'\n", p->out);
}

static void take_fish(void *arg, const cli_syntax *syntax)
{
    page p = *(const page *)arg;
    p.name = syntax->name;
    p.option = fish_option;
    each_option(&p, syntax);
}

/* Each word of a command, behind those before it. */
static void fish_name(FILE *out, const char *name, const char *summary)
{
    for (const char *at = name; at;) {
        const char *end = strchr(at, ' ');
        const int n = (int)(end ? (size_t)(end - at) : strlen(at));
        const int before = (int)(at > name ? at - name - 1 : 0);
        (void)fprintf(out,
                      "complete -c strads -f -n '__strads_before \"%.*s\"' "
                      "-a '%.*s' -d '",
                      before, name, n, at);
        put_plain(out, end ? "" : summary, "'\\");
        (void)fputs("'\n", out);
        at = end ? end + 1 : NULL;
    }
}

static int make_fish(page *p)
{
    (void)fputs("# fish completion of strads; made by strads --generate fish\n"
                "function __strads_line\n"
                "    set -l words (commandline -opc)\n"
                "    string join ' ' -- $words[2..-1]\n"
                "end\n"
                "function __strads_is\n"
                "    string match -rq -- \"^$argv[1]( |\\$)\" (__strads_line)\n"
                "end\n"
                "function __strads_before\n"
                "    test (__strads_line) = \"$argv[1]\"\n"
                "end\n",
                p->out);
    each_name(p->out, fish_name);
    return each_command(p, take_fish);
}

/* ---- which one --------------------------------------------------------------- */

int cli_generate(int argc, char **argv)
{
    page p = {.out = stdout, .option = put_man_option};
    const char *what = argc > 0 ? argv[0] : "";
    if (argc == 2 && strcmp(what, "man") == 0) {
        p.folder = argv[1];
        return make_man(&p);
    }
    if (argc == 1 && strcmp(what, "bash") == 0)
        return make_bash(&p);
    if (argc == 1 && strcmp(what, "zsh") == 0)
        return make_zsh(&p);
    if (argc == 1 && strcmp(what, "fish") == 0)
        return make_fish(&p);
    return cli_complain(
        strads_fail(STRADS_EINVAL,
                    "--generate %s: expected man FOLDER, bash, zsh or fish",
                    what),
        CLI_BEFORE);
}
