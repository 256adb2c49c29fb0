/* Writes and reads the terms of a run. No state. */
#include "engine/run/nodes_terms.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/run_context.h"
#include "engine/run/plan_json.h"
#include "engine/store/client.h"

#define TOLD(kind_, field, ...)                                       \
    {                                                                 \
        .name = #field, .kind = STRADS_OPTION_##kind_,                \
        .offset = offsetof(strads_engine_options, field), __VA_ARGS__ \
    }

/* Users have narrower ranges, see run_options.c. */
static const strads_option told[] = {
    TOLD(U32, partitions, .min = 1, .max = 1 << 20),
    TOLD(U32, depth, .max = 16),
    TOLD(U64, max_rounds),
    TOLD(U32, shards, .max = STI_SHARDS_MAX),
    TOLD(F64, reconnect, .min = 1e-9, .max = 1e6),
    TOLD(F64, hold_below, .max = 1e300),
    TOLD(U64, push_bytes),
    TOLD(U64, cache_bytes),
    TOLD(U32, window, .max = STI_PUSHES_MAX),
    TOLD(U32, blocks, .max = 1 << 20),
    TOLD(U32, pools, .max = 1 << 20),
    /* Parameters of the schedulers' policies on other nodes. */
    TOLD(U32, schedulers, .max = STI_SCHEDULERS_MAX),
    TOLD(F64, threshold),
    TOLD(STRING, policy),
    TOLD(STRING, data_path),
    {.name = NULL},
};

/* ---- writing ----------------------------------------------------------- */

static json_t *options_json(const strads_option *table, void *values)
{
    const sti_config_part part = {table, values};
    char *text = sti_config_text(&part, 1, 0);
    json_t *options = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return options;
}

static json_t *numbers_json(const uint32_t *numbers, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t k = 0; list && k < n; k++)
        json_array_append_new(list, json_integer(numbers[k]));
    return list;
}

char *sti_run_terms_write(const sti_run_terms *terms)
{
    const strads_plan *plan = terms->options->plan_given;
    uint32_t n_workers = 0;
    for (uint32_t k = 0; k < terms->nodes; k++)
        n_workers += terms->workers[k];
    json_t *all =
        json_pack("{s:o, s:o, s:o*, s:o, s:o*}", "config",
                  options_json(terms->program->options, terms->config),
                  "engine", options_json(told, terms->options), "plan",
                  plan ? sti_plan_json(plan) : NULL, "workers",
                  numbers_json(terms->workers, terms->nodes), "hosted",
                  terms->hosted ? numbers_json(terms->hosted, n_workers)
                                : NULL);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    return text;
}

/* ---- reading ----------------------------------------------------------- */

static strads_err refuse_terms(const char *what)
{
    return strads_fail(
        STRADS_EMISMATCH,
        "the coordinator sent invalid %s: it runs another version", what);
}

static strads_err read_options(const json_t *all, const char *key,
                               const strads_option *table, void *values,
                               sti_config_strings *strings)
{
    const sti_config_part part = {table, values};
    const sti_config config = {.parts = &part,
                               .n_parts = 1,
                               .strings = strings};
    char *text = json_dumps(json_object_get(all, key), JSON_COMPACT);
    strads_err err =
        text ? sti_config_parse(&config, "the coordinator", text, strlen(text))
             : refuse_terms("options");
    free(text);
    return err;
}

static strads_err read_engine(const json_t *all, sti_config_strings *strings,
                              strads_engine_options *out)
{
    strads_err err = read_options(all, "engine", told, out, strings);
    return err || (out->partitions && out->reconnect > 0)
               ? err
               : refuse_terms("options of a run");
}

static strads_err read_config(const json_t *all, sti_config_strings *strings,
                              sti_run_terms *out)
{
    const strads_program *program = out->program;
    out->config = calloc(1, program->config_size ? program->config_size : 1);
    if (!out->config)
        return strads_fail(STRADS_ENOMEM, "no memory for a program's options");
    if (program->defaults)
        memcpy(out->config, program->defaults, program->config_size);
    return read_options(all, "config", program->options, out->config, strings);
}

static strads_err read_workers(const json_t *all, sti_run_terms *out)
{
    const json_t *list = json_object_get(all, "workers");
    if (json_array_size(list) != out->nodes)
        return refuse_terms("numbers of workers");
    out->workers = calloc(out->nodes, sizeof *out->workers);
    if (!out->workers)
        return strads_fail(STRADS_ENOMEM, "no memory for %u nodes", out->nodes);
    for (uint32_t k = 0; k < out->nodes; k++) {
        json_int_t n = json_integer_value(json_array_get(list, k));
        if (n < (k ? 0 : 1) || n > 1024)
            return refuse_terms("numbers of workers");
        out->workers[k] = (uint32_t)n;
    }
    return STRADS_OK;
}

/* After workers and partitions, which give the lengths. */
static strads_err read_hosted(const json_t *all, sti_run_terms *out)
{
    const json_t *list = json_object_get(all, "hosted");
    const uint32_t partitions = out->options->partitions;
    uint32_t n = 0;
    json_int_t sum = 0;
    if (!list)
        return STRADS_OK;
    for (uint32_t k = 0; k < out->nodes; k++)
        n += out->workers[k];
    if (json_array_size(list) != n)
        return refuse_terms("spread of partitions");
    out->hosted = calloc((size_t)n + 1, sizeof *out->hosted);
    if (!out->hosted)
        return strads_fail(STRADS_ENOMEM, "no memory for %u workers", n);
    for (uint32_t w = 0; w < n; w++) {
        const json_int_t has = json_integer_value(json_array_get(list, w));
        if (has < 1 || has > partitions)
            return refuse_terms("spread of partitions");
        out->hosted[w] = (uint32_t)has;
        sum += has;
    }
    return sum == partitions ? STRADS_OK : refuse_terms("spread of partitions");
}

static strads_err read_plan(const json_t *all, sti_run_terms *out)
{
    const json_t *plan = json_object_get(all, "plan");
    if (!plan)
        return STRADS_OK;
    strads_err err =
        sti_plan_from_json(plan, "the plan that the coordinator sent",
                           &out->plan_read);
    out->options->plan_given = out->plan_read;
    return err;
}

strads_err sti_run_terms_read(const char *text, sti_config_strings *strings,
                              sti_run_terms *terms)
{
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!all)
        return refuse_terms("terms");
    strads_err err = read_engine(all, strings, terms->options);
    if (!err)
        err = read_plan(all, terms);
    if (!err)
        err = read_workers(all, terms);
    if (!err)
        err = read_hosted(all, terms);
    if (!err)
        err = read_config(all, strings, terms);
    json_decref(all);
    return err;
}

void sti_run_terms_free(sti_run_terms *terms)
{
    free(terms->config);
    free(terms->workers);
    free(terms->hosted);
    strads_plan_free(terms->plan_read);
    *terms = (sti_run_terms){0};
}
