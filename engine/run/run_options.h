/* engine/run/run_options.h - options as one JSON object: {"lambda-ratio": 0.1,
 * ...}.
 *
 * The keys are the options' names. Several structs may share one object, for
 * example the engine's options and a program's. */
#ifndef STI_RUN_OPTIONS_H
#define STI_RUN_OPTIONS_H

#include <stddef.h>

#include "strads/error.h"
#include "strads/options.h"

/* A table and the struct that it describes. */
typedef struct sti_config_part {
    const strads_option *table;
    void *values;
} sti_config_part;

/* The strings that options read from JSON point to. Start with {0}. */
typedef struct sti_config_strings {
    char **string;
    size_t n;
} sti_config_strings;

void sti_config_strings_free(sti_config_strings *strings);

/* Copies `text`; the copy lives as long as `strings`. NULL: no memory. */
const char *sti_config_keep(sti_config_strings *strings, const char *text);

/* The structs to set, and the owner of their strings. */
typedef struct sti_config {
    const sti_config_part *parts;
    size_t n_parts;
    sti_config_strings *strings;
    /* Called for each option before it is set to `text`; an error stops the
     * reading. NULL: none. */
    strads_err (*see)(void *arg, const strads_option *option, const char *text);
    void *see_arg;
} sti_config;

/* Sets the options in a JSON text; `null` leaves a field unchanged. `source`,
 * for example a file name, starts each error message. STRADS_EFORMAT: not a
 * JSON object. STRADS_EINVAL: an unknown key (the message suggests the nearest
 * one), or a value of the wrong kind or out of range. After an error, some
 * fields may already be set. */
strads_err sti_config_parse(const sti_config *config, const char *source,
                            const char *text, size_t size);

/* The same for a file. Also STRADS_EIO. */
strads_err sti_config_load(const sti_config *config, const char *path);

/* All options of all parts as a JSON object, one key on each line, indented by
 * `indent` blanks; null if not set. The caller frees it. NULL: no memory. */
char *sti_config_text(const sti_config_part *parts, size_t n_parts,
                      unsigned indent);

#endif
