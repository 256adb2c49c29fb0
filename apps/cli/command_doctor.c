/* strads doctor: what this machine has of what runs need. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_gsl.h"
#include "cli_options.h"
#include "engine/run/self_check.h"

enum { MOST_FINDINGS = 32 };

typedef struct doctor {
    cli_use use;
    sti_finding finding[MOST_FINDINGS];
    uint32_t n;
} doctor;

static void add_finding(void *arg, const sti_finding *finding)
{
    doctor *d = arg;
    if (d->n < MOST_FINDINGS)
        d->finding[d->n++] = *finding;
}

/* ---- the command's own needs --------------------------------------------- */

static void add_gsl(doctor *d)
{
    sti_finding f = {.name = "GSL",
                     .verdict = cli_gsl_check("") ? STI_NOTE : STI_FINE};
    (void)snprintf(f.text, sizeof f.text, "%s", cli_gsl_text);
    if (f.verdict != STI_FINE) {
        (void)snprintf(f.advice, sizeof f.advice,
                       "`data synth` and maps of topics need a build with it");
    }
    add_finding(d, &f);
}

static void add_blas(doctor *d)
{
    static const char *const library[] = {"libopenblas.so.0", "libblas.so.3"};
    sti_finding f = {.name = "BLAS", .verdict = STI_NOTE};
    for (size_t k = 0; k < 2 && f.verdict != STI_FINE; k++) {
        void *handle = dlopen(library[k], RTLD_LAZY | RTLD_LOCAL);
        if (!handle)
            continue;
        f.verdict = STI_FINE;
        (void)snprintf(f.text, sizeof f.text, "%s", library[k]);
        (void)dlclose(handle);
    }
    if (f.verdict != STI_FINE) {
        (void)snprintf(f.text, sizeof f.text, "none");
        (void)snprintf(f.advice, sizeof f.advice,
                       "`strads net` needs it (Debian: "
                       "libopenblas0-pthread)");
    }
    add_finding(d, &f);
}

/* Whether a folder of PATH has an executable of this name; its path. */
static bool search_path(const char *name, char *out, size_t size)
{
    const char *folder = getenv("PATH");
    while (folder && *folder) {
        const size_t length = strcspn(folder, ":");
        (void)snprintf(out, size, "%.*s/%s", (int)length, folder, name);
        if (access(out, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

static void add_ssh(doctor *d)
{
    sti_finding f = {.name = "ssh"};
    if (!search_path("ssh", f.text, sizeof f.text)) {
        f.verdict = STI_NOTE;
        (void)snprintf(f.text, sizeof f.text, "none");
        (void)snprintf(f.advice, sizeof f.advice,
                       "`strads launch --hosts` needs it (Debian: "
                       "openssh-client)");
    }
    add_finding(d, &f);
}

static strads_err examine(void *state, const char *const *args)
{
    (void)args;
    sti_self_check(add_finding, state);
    add_gsl(state);
    add_blas(state);
    add_ssh(state);
    return STRADS_OK;
}

/* ---- output -------------------------------------------------------------- */

static const char *const verdict_name[] = {"ok", "note", "fault"};

static void put_verdicts(const doctor *d, FILE *out)
{
    for (uint32_t k = 0; k < d->n; k++) {
        const sti_finding *f = &d->finding[k];
        (void)fprintf(out, "%-6s %-10s %s\n", verdict_name[f->verdict], f->name,
                      f->text);
        if (*f->advice)
            (void)fprintf(out, "%-6s %-10s -> %s\n", "", "", f->advice);
    }
}

static strads_err put_findings(void *state, FILE *out)
{
    static const cli_column columns[] = {{"check", CLI_STRING, 0},
                                         {"verdict", CLI_STRING, 0},
                                         {"found", CLI_STRING, 0},
                                         {"advice", CLI_STRING, 0}};
    const doctor *d = state;
    cli_table t = {.column = columns, .n = 4, .rows = d->n};
    CLI_TRY(cli_table_begin(&t, &d->use.out, out));
    if (t.format == CLI_FORMAT_TEXT) {
        put_verdicts(d, out);
        return STRADS_OK;
    }
    for (uint32_t k = 0; k < d->n; k++) {
        const sti_finding *f = &d->finding[k];
        cli_table_text(&t, f->name);
        cli_table_text(&t, verdict_name[f->verdict]);
        cli_table_text(&t, f->text);
        cli_table_text(&t, f->advice);
    }
    return STRADS_OK;
}

static strads_err judge(const void *state)
{
    const doctor *d = state;
    uint32_t faults = 0;
    for (uint32_t k = 0; k < d->n; k++)
        faults += d->finding[k].verdict == STI_FAULT;
    cli_writing();
    return faults == 0
               ? STRADS_OK
               : strads_fail(STRADS_EIO,
                             "%" PRIu32 " of %" PRIu32 " checks found a fault; "
                             "the table says what to do",
                             faults, d->n);
}

static const cli_verb doctor_verb = {.size = sizeof(doctor),
                                     .usual = "text",
                                     .read = examine,
                                     .write = put_findings,
                                     .tell = judge};

const cli_command cli_doctor_commands[] = {
    {.name = "doctor",
     .args = "",
     .summary = "check this machine for what runs need",
     .about = "Checks what runs need of this machine: kernels, cores, memory, "
              "limits, clock, network, disk and optional libraries. Exits with "
              "1 if something would make runs fail.",
     .verb = &doctor_verb},
    {.name = NULL},
};
