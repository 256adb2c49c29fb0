/* No output may be a file that the same command reads, nor another output: it
 * would destroy what people cannot get again. Looked at before anything is
 * read or written. */
#include <string.h>
#include <sys/stat.h>

#include "cli_reader.h"

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

static strads_err check_args(const cli_reader *r, const strads_option *output,
                             const char *path)
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

static strads_err check_options(const cli_reader *r,
                                const strads_option *output, const char *path)
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

strads_err cli_clash_check(const cli_reader *r)
{
    strads_err err = STRADS_OK;
    for (size_t k = 0; k < r->n_parts; k++) {
        for (const strads_option *o = r->part[k].table; !err && o->name; o++) {
            const char *path =
                is_output(o->name) ? file_of(&r->part[k], o) : NULL;
            if (path) {
                err = check_args(r, o, path);
                err = err ? err : check_options(r, o, path);
            }
        }
    }
    return err;
}
