/* The options of a run: their tables, for rounds and for loops, and options as
 * JSON. strads/engine.h documents the fields; each help text fits one line of
 * --help. A JSON value is converted to text and passed to strads_option_set, so
 * that files and the command line accept the same values and report the same
 * errors. */
#include "engine/run/run_options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/option_table.h"
#include "engine/base/number_text.h"
#include "engine/run/json_file.h"
#include "strads/engine.h"

/* ---- the tables of the engine's own options ----------------------------- */

/* All JSON readers keep whole numbers up to this one exactly. */
#define LARGEST_WHOLE 9007199254740991.0

#define OPTIONS_OF_ALL                                                         \
    STRADS_OPTION(U32, strads_engine_options, workers, "workers", "N",         \
                  "threads of this process (default: one per core)", .min = 1, \
                  .max = 1024),                                                \
        STRADS_OPTION(                                                         \
            U32, strads_engine_options, partitions, "partitions", "K",         \
            "shares of the data (default: one a worker, if it pays)",          \
            .min = 1, .max = 65536),                                           \
        STRADS_OPTION(F64, strads_engine_options, tolerance, "tolerance", "T", \
                      "relative gap to stop at (default: 1e-6)", .min = 1e-15, \
                      .max = 1),                                               \
        STRADS_OPTION(U64, strads_engine_options, max_rounds, "max-rounds",    \
                      "N", "rounds at most (default: no bound)", .min = 1,     \
                      .max = LARGEST_WHOLE),                                   \
        STRADS_OPTION(F64, strads_engine_options, time_limit, "time-limit",    \
                      "SECONDS", "seconds at most (default: no bound)",        \
                      .min = 1e-3, .max = 1e9),                                \
        STRADS_OPTION(U64, strads_engine_options, seed, "seed", "S",           \
                      "seed of the random draws (default: 0)", .min = 0,       \
                      .max = LARGEST_WHOLE),                                   \
        STRADS_OPTION(                                                         \
            BYTES, strads_engine_options, memory, "memory", "SIZE",            \
            "bytes for all of it: 512M, 1.5G (default: free memory)",          \
            .rare = true, .min = 1, .max = LARGEST_WHOLE),                     \
        STRADS_OPTION(STRING, strads_engine_options, trace, "trace", "FILE",   \
                      "write a Chrome/Perfetto trace (default: none)",         \
                      .rare = true),                                           \
        STRADS_OPTION(                                                         \
            STRING, strads_engine_options, listen, "listen", "URL",            \
            "accept nodes there: tcp://, tls+tcp://, ws:// or ipc://"),        \
        STRADS_OPTION(STRING, strads_engine_options, advertise, "advertise",   \
                      "URL", "where others reach this one (default: none)",    \
                      .rare = true),                                           \
        STRADS_OPTION(U32, strads_engine_options, nodes, "nodes", "N",         \
                      "processes in all, with this one (default: 1)",          \
                      .min = 1, .max = 1024),                                  \
        STRADS_OPTION(STRING, strads_engine_options, token_file, "token-file", \
                      "FILE",                                                  \
                      "the token that all nodes share (default: none)",        \
                      .rare = true),                                           \
        STRADS_OPTION(BOOL, strads_engine_options, insecure, "insecure", NULL, \
                      "allow any address without a token (default: no)",       \
                      .rare = true),                                           \
        STRADS_OPTION(STRING, strads_engine_options, tls_ca, "tls-ca", "FILE", \
                      "tls+tcp: the CA of all nodes' certificates",            \
                      .rare = true),                                           \
        STRADS_OPTION(STRING, strads_engine_options, tls_cert, "tls-cert",     \
                      "FILE", "tls+tcp: this node's certificate (PEM)",        \
                      .rare = true),                                           \
        STRADS_OPTION(STRING, strads_engine_options, tls_key, "tls-key",       \
                      "FILE", "tls+tcp: its key, for this user alone",         \
                      .rare = true),                                           \
        STRADS_OPTION(F64, strads_engine_options, reconnect, "reconnect",      \
                      "SECONDS",                                               \
                      "how long a link may stay broken (default: 10)",         \
                      .rare = true, .min = 1e-3, .max = 1e6),                  \
        STRADS_OPTION(                                                         \
            F64, strads_engine_options, gather, "gather", "SECONDS",           \
            "how long to wait for all processes (default: none; srun, "        \
            "mpirun: 600)",                                                    \
            .rare = true, .min = 1e-3, .max = 1e9),                            \
        STRADS_OPTION(U32, strads_engine_options, shards, "shards", "N",       \
                      "a loop's tables on the first N nodes (default: 1)",     \
                      .rare = true, .min = 1, .max = 1024)

static const strads_option rounds[] = {
    OPTIONS_OF_ALL,
    STRADS_OPTION(STRING, strads_engine_options, policy, "policy", "NAME",
                  "priority, uniform or cyclic (default: priority)",
                  .choices = "priority|uniform|cyclic"),
    STRADS_OPTION(U32, strads_engine_options, depth, "depth", "D",
                  "rounds in flight beside the first (default: 0)",
                  .rare = true, .min = 0, .max = 16),
    STRADS_OPTION(U32, strads_engine_options, blocks, "blocks", "N",
                  "blocks in a round, or of a ring (default: 1)", .rare = true,
                  .min = 1, .max = 1048576),
    STRADS_OPTION(U32, strads_engine_options, schedulers, "schedulers", "N",
                  "they choose in turn, ahead of theirs (default: 1)",
                  .rare = true, .min = 1, .max = 256),
    STRADS_OPTION(U32, strads_engine_options, pools, "pools", "N",
                  "groups of shares to pool (default: one a node)",
                  .rare = true, .min = 1, .max = 1048576),
    STRADS_OPTION(STRING, strads_engine_options, plan, "plan", "FILE",
                  "plan of a static program (default: rotation)"),
    STRADS_OPTION(F64, strads_engine_options, threshold, "threshold", "T",
                  "dependency that keeps blocks apart (default: 0.1)",
                  .rare = true, .min = 1e-6, .max = 1),
    STRADS_OPTION(BOOL, strads_engine_options, deterministic, "deterministic",
                  NULL, "same seed and partitions, same bits (default: no)"),
    {.name = NULL},
};

/* The last four are for tables that are spread over nodes. */
static const strads_option loops[] = {
    OPTIONS_OF_ALL,
    STRADS_OPTION(F64, strads_engine_options, hold_below, "hold-below", "X",
                  "rows that change by less wait for more (default: 0)",
                  .rare = true, .max = 1e300),
    STRADS_OPTION(U64, strads_engine_options, push_bytes, "push-bytes", "N",
                  "numbers a worker pushes in a clock (default: all)",
                  .rare = true, .min = 1, .max = LARGEST_WHOLE),
    STRADS_OPTION(U32, strads_engine_options, window, "window", "N",
                  "a node's pushes on their way to a shard (default: 2 MB)",
                  .rare = true, .min = 1, .max = 64),
    STRADS_OPTION(U64, strads_engine_options, cache_bytes, "cache-bytes", "N",
                  "rows that a node keeps (default: 268435456)", .rare = true,
                  .min = 1, .max = LARGEST_WHOLE),
    {.name = NULL},
};

const strads_option *strads_engine_option_table(void)
{
    return rounds;
}

const strads_option *strads_engine_loop_option_table(void)
{
    return loops;
}

/* ---- options as JSON ---------------------------------------------------- */

/* A configuration is a page of text; a larger file is something else. */
enum { LARGEST_FILE = 1 << 20 };

void sti_config_strings_free(sti_config_strings *strings)
{
    for (size_t i = 0; i < strings->n; i++)
        free(strings->string[i]);
    free(strings->string);
    *strings = (sti_config_strings){0};
}

const char *sti_config_keep(sti_config_strings *strings, const char *text)
{
    char **grown =
        realloc(strings->string, (strings->n + 1) * sizeof *strings->string);
    if (!grown)
        return NULL;
    strings->string = grown;
    char *copy = strdup(text);
    if (copy)
        strings->string[strings->n++] = copy;
    return copy;
}

static strads_err unknown_key(const sti_config *config, const char *source,
                              const char *key)
{
    const char *best = NULL;
    unsigned best_distance = STI_NAME_FAR;
    for (size_t i = 0; i < config->n_parts; i++) {
        const char *name = strads_option_nearest(config->parts[i].table, key);
        unsigned distance =
            name ? sti_nearest_distance(key, name) : STI_NAME_FAR;
        if (distance < best_distance) {
            best = name;
            best_distance = distance;
        }
    }
    if (best) {
        return strads_fail(STRADS_EINVAL,
                           "%s: unknown key \"%s\"; did you mean \"%s\"?",
                           source, key, best);
    }
    return strads_fail(STRADS_EINVAL, "%s: unknown key \"%s\"", source, key);
}

static const char *kind_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "a whole number";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        break;
    }
    return "null";
}

static strads_err wrong_kind(const char *source, const strads_option *option,
                             const json_t *value)
{
    static const char *const wanted[] = {
        [STRADS_OPTION_F64] = "a number",
        [STRADS_OPTION_U64] = "a whole number",
        [STRADS_OPTION_U32] = "a whole number",
        [STRADS_OPTION_BOOL] = "true or false",
        [STRADS_OPTION_STRING] = "a string",
        [STRADS_OPTION_BYTES] = "a number of bytes, or \"1.5G\"",
    };
    return strads_fail(STRADS_EINVAL, "%s: \"%s\" is %s, expected %s", source,
                       option->name, kind_name(value), wanted[option->kind]);
}

/* The value as text in the form of the command line, or NULL if it has another
 * kind. `number` is storage for numbers. */
static const char *value_text(const strads_option *option, const json_t *value,
                              char number[STI_NUMBER_SIZE])
{
    switch (option->kind) {
    case STRADS_OPTION_BOOL:
        return !json_is_boolean(value) ? NULL
               : json_is_true(value)   ? "true"
                                       : "false";
    case STRADS_OPTION_STRING:
        return json_string_value(value);
    case STRADS_OPTION_BYTES:
        if (json_is_string(value))
            return json_string_value(value);
        break;
    case STRADS_OPTION_F64:
    case STRADS_OPTION_U64:
    case STRADS_OPTION_U32:
        break;
    }
    if (json_is_integer(value)) {
        (void)snprintf(number, STI_NUMBER_SIZE, "%lld",
                       (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        (void)sti_number_format(json_real_value(value), number);
    } else {
        return NULL;
    }
    return number;
}

static strads_err set_value(const sti_config *config, const char *source,
                            const strads_option *option, void *values,
                            const json_t *value)
{
    char number[STI_NUMBER_SIZE];
    const char *text = value_text(option, value, number);
    if (!text)
        return wrong_kind(source, option, value);
    if (option->kind == STRADS_OPTION_STRING) {
        text = sti_config_keep(config->strings, text);
        if (!text)
            return strads_fail(STRADS_ENOMEM, "%s: no memory left", source);
    }
    strads_err err = strads_option_set(option, values, text);
    return err ? strads_fail(err, "%s: %s", source, strads_error_text()) : err;
}

static strads_err set_key(const sti_config *config, const char *source,
                          const char *key, const json_t *value)
{
    for (size_t i = 0; i < config->n_parts; i++) {
        const sti_config_part *part = &config->parts[i];
        const strads_option *option = strads_option_find(part->table, key);
        if (option && json_is_null(value))
            return STRADS_OK;
        strads_err err = STRADS_OK;
        char number[STI_NUMBER_SIZE];
        const char *text = option ? value_text(option, value, number) : NULL;
        if (option && config->see)
            err = config->see(config->see_arg, option, text ? text : "");
        if (err)
            return strads_fail(err, "%s: %s", source, strads_error_text());
        if (option)
            return set_value(config, source, option, part->values, value);
    }
    return unknown_key(config, source, key);
}

/* Sets all members of an object and releases it. */
static strads_err set_all(const sti_config *config, const char *source,
                          json_t *root)
{
    strads_err err = STRADS_OK;
    const char *key;
    json_t *value;
    if (!json_is_object(root)) {
        err = strads_fail(STRADS_EFORMAT,
                          "%s: expected one JSON object {\"option\": value, "
                          "...}, found %s",
                          source, kind_name(root));
    }
    json_object_foreach(root, key, value)
    {
        err = set_key(config, source, key, value);
        if (err)
            break;
    }
    json_decref(root);
    return err;
}

strads_err sti_config_parse(const sti_config *config, const char *source,
                            const char *text, size_t size)
{
    json_error_t error;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        return strads_fail(STRADS_EFORMAT, "%s: line %d is not JSON: %s",
                           source, error.line, error.text);
    }
    return set_all(config, source, root);
}

strads_err sti_config_load(const sti_config *config, const char *path)
{
    struct stat about;
    json_t *root;
    if (stat(path, &about) == 0 && about.st_size > LARGEST_FILE)
        return strads_fail(STRADS_ELIMIT,
                           "%s: a configuration has at most %d bytes", path,
                           LARGEST_FILE);
    strads_err err = sti_json_load(path, "", &root);
    return err ? err : set_all(config, path, root);
}

/* False: no memory. */
static bool write_option(FILE *out, const strads_option *option,
                         const void *values)
{
    size_t size = strads_option_format(option, values, NULL, 0) + 1;
    char *text = malloc(size);
    if (!text)
        return false;
    (void)strads_option_format(option, values, text, size);
    (void)fprintf(out, "\"%s\": %s", option->name, text);
    free(text);
    return true;
}

char *sti_config_text(const sti_config_part *parts, size_t n_parts,
                      unsigned indent)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    bool whole = true;
    const char *before = "{\n";
    for (size_t i = 0; i < n_parts; i++) {
        for (const strads_option *o = parts[i].table; o && o->name; o++) {
            (void)fprintf(out, "%s%*s", before, (int)indent + 2, "");
            whole = write_option(out, o, parts[i].values) && whole;
            before = ",\n";
        }
    }
    if (*before == '{')
        (void)fputs("{}", out);
    else
        (void)fprintf(out, "\n%*s}", (int)indent, "");
    if (fclose(out) != 0 || !whole) {
        free(text);
        return NULL;
    }
    return text;
}
