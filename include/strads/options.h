/* strads/options.h - options described once.
 *
 * A table of strads_option describes the fields of a struct. The command makes
 * its flags, --help and completion from it; --config reads JSON with the same
 * names as keys, --print-config writes it, and nodes exchange it. So flag, key
 * and field have one name. No function below blocks. Any thread may call them,
 * one at a time for each config. */
#ifndef STRADS_OPTIONS_H
#define STRADS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum strads_option_kind {
    STRADS_OPTION_F64 = 0,    /* double */
    STRADS_OPTION_U64 = 1,    /* uint64_t */
    STRADS_OPTION_U32 = 2,    /* uint32_t */
    STRADS_OPTION_BOOL = 3,   /* bool; a flag without a value */
    STRADS_OPTION_STRING = 4, /* const char *; owned by the config */
    /* uint64_t, bytes. Text may end in K, M, G or T (or KB, KiB, ...), in units
     * of 1,024: "1.5G" */
    STRADS_OPTION_BYTES = 5
} strads_option_kind;

/* One option. `name` is written with '-' on the command line, in JSON and in
 * messages, and with '_' in C. */
typedef struct strads_option {
    const char *name; /* "lambda-ratio"; NULL ends a table */
    strads_option_kind kind;
    size_t offset;       /* offsetof(struct, field) */
    const char *metavar; /* "R"; NULL for flags */
    const char *help;    /* one line with the unit and the default */
    double min, max;     /* numbers: inclusive range; both 0: any finite.
                            Not-a-number is never accepted */
    const char *choices; /* strings: "a|b|c"; NULL: any */
    bool rare;           /* --help lists it below the others, without the
                            default that stands in brackets in `help` */
    bool keeps_zero;     /* F64 and U32 fields whose 0 means "not given": a 0
                            that is given as text is stored as -0.0, which
                            signbit() tells from it, or as STRADS_OPTION_ZERO. A
                            0 that is not given is written as null */
    bool of_machine;     /* the result does not depend on it (a folder): a
                        checkpoint may be resumed with another value */
} strads_option;

/* A given 0 in a U32 field with `keeps_zero`. */
#define STRADS_OPTION_ZERO UINT32_MAX

/* A row of a table: KIND without STRADS_OPTION_, the struct and its field, then
 * name, metavar and help, then further members by name:
 *     STRADS_OPTION(F64, my_options, step, "step", "S",
 *                   "of each update (default 0.1)", .min = 0, .max = 1) */
#define STRADS_OPTION(KIND, type, field, name_, metavar_, ...) \
    {                                                          \
        .name = name_, .kind = STRADS_OPTION_##KIND,           \
        .offset = offsetof(type, field), .metavar = metavar_,  \
        .help = __VA_ARGS__                                    \
    }

/* Sets one field of `config` from text; checks kind, range and choices. A
 * string field keeps the pointer, so `text` must outlive the config.
 * STRADS_EINVAL: the sentence names the option, the text and the expected
 * values. */
STRADS_API strads_err strads_option_set(const strads_option *option,
                                        void *config, const char *text);

/* Returns the option of that name in a table, or NULL. */
STRADS_API const strads_option *strads_option_find(const strads_option *table,
                                                   const char *name);

/* Returns the name in the table that is nearest to a wrong one (edit distance
 * at most 3), or NULL. For "did you mean ...?". */
STRADS_API const char *strads_option_nearest(const strads_option *table,
                                             const char *wrong);

/* Writes one field's value as JSON text ("0.1", "true", "\"priority\"") into
 * out[size]. Returns the length, as snprintf does. */
STRADS_API size_t strads_option_format(const strads_option *option,
                                       const void *config, char *out,
                                       size_t size);

#ifdef __cplusplus
}
#endif

#endif
