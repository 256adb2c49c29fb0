/* Writing and reading of the run's terms: nothing is kept. */
#include "engine/run/nodes_terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/run/plan_json.h"
#include "engine/store/client.h"

static json_t *config_json(const sti_run_terms *terms)
{
    if (!terms->program->options)
        return json_object();
    const sti_config_part part = {terms->program->options, terms->config};
    char *text = sti_config_text(&part, 1, 0);
    json_t *config = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return config;
}

static json_t *tuning_json(const sti_tuning *t)
{
    return json_pack("{s:f, s:I, s:I, s:I}", "hold_below", t->hold_below,
                     "push_bytes", (json_int_t)t->push_bytes, "cache_bytes",
                     (json_int_t)t->cache_bytes, "window",
                     (json_int_t)t->window);
}

static json_t *choosing_json(const sti_run_terms *terms)
{
    return json_pack("{s:I, s:f, s:s?}", "schedulers",
                     (json_int_t)terms->schedulers, "threshold",
                     terms->threshold, "policy", terms->policy);
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
    uint32_t n_workers = 0;
    for (uint32_t k = 0; k < terms->nodes; k++)
        n_workers += terms->workers[k];
    json_t *all = json_pack(
        "{s:s, s:o, s:I, s:I, s:I, s:I, s:f, s:o, s:I, s:I, s:o, s:o*, s:o, "
        "s:o*, s:s?}",
        "program", terms->program->name, "config", config_json(terms),
        "partitions", (json_int_t)terms->partitions, "depth",
        (json_int_t)terms->depth, "max_rounds", (json_int_t)terms->max_rounds,
        "shards", (json_int_t)terms->shards, "reconnect", terms->reconnect,
        "tables", tuning_json(&terms->tuning), "blocks",
        (json_int_t)terms->blocks, "pools", (json_int_t)terms->pools,
        "choosing", choosing_json(terms), "plan",
        terms->plan ? sti_plan_json(terms->plan) : NULL, "workers",
        numbers_json(terms->workers, terms->nodes), "hosted",
        terms->hosted ? numbers_json(terms->hosted, n_workers) : NULL, "data",
        terms->data_path);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    return text;
}

char *sti_run_terms_program(const char *text)
{
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const char *name = json_string_value(json_object_get(all, "program"));
    char *copy = name ? strdup(name) : NULL;
    json_decref(all);
    return copy;
}

static strads_err refuse(const char *what)
{
    return strads_fail(STRADS_EMISMATCH,
                       "the coordinator told no proper %s: it runs another "
                       "version",
                       what);
}

static strads_err read_config(json_t *all, sti_config_strings *strings,
                              sti_run_terms *out)
{
    const strads_program *program = out->program;
    out->config = calloc(1, program->config_size ? program->config_size : 1);
    if (!out->config)
        return strads_fail(STRADS_ENOMEM, "no memory for a program's options");
    if (program->defaults)
        memcpy(out->config, program->defaults, program->config_size);
    if (!program->options)
        return STRADS_OK;
    char *text = json_dumps(json_object_get(all, "config"), JSON_COMPACT);
    if (!text)
        return refuse("options");
    const sti_config_part part = {program->options, out->config};
    const sti_config config = {&part, 1, strings};
    strads_err err =
        sti_config_parse(&config, "the coordinator", text, strlen(text));
    free(text);
    return err;
}

static strads_err read_workers(json_t *all, sti_run_terms *out)
{
    const json_t *list = json_object_get(all, "workers");
    if (json_array_size(list) != out->nodes)
        return refuse("numbers of workers");
    out->workers = calloc(out->nodes, sizeof *out->workers);
    if (!out->workers)
        return strads_fail(STRADS_ENOMEM, "no memory for %u nodes", out->nodes);
    for (uint32_t k = 0; k < out->nodes; k++) {
        json_int_t n = json_integer_value(json_array_get(list, k));
        if (n < (k ? 0 : 1) || n > 1024)
            return refuse("numbers of workers");
        out->workers[k] = (uint32_t)n;
    }
    return STRADS_OK;
}

/* Behind workers and partitions. */
static strads_err read_hosted(json_t *all, sti_run_terms *out)
{
    const json_t *list = json_object_get(all, "hosted");
    uint32_t n = 0;
    json_int_t sum = 0;
    if (!list)
        return STRADS_OK;
    for (uint32_t k = 0; k < out->nodes; k++)
        n += out->workers[k];
    if (json_array_size(list) != n)
        return refuse("spread of partitions");
    out->hosted = calloc((size_t)n + 1, sizeof *out->hosted);
    if (!out->hosted)
        return strads_fail(STRADS_ENOMEM, "no memory for %u workers", n);
    for (uint32_t w = 0; w < n; w++) {
        const json_int_t has = json_integer_value(json_array_get(list, w));
        if (has < 1 || has > out->partitions)
            return refuse("spread of partitions");
        out->hosted[w] = (uint32_t)has;
        sum += has;
    }
    return sum == out->partitions ? STRADS_OK : refuse("spread of partitions");
}

static strads_err read_tuning(json_t *all, sti_tuning *out)
{
    json_t *t = json_object_get(all, "tables");
    double hold = json_number_value(json_object_get(t, "hold_below"));
    json_int_t push = json_integer_value(json_object_get(t, "push_bytes"));
    json_int_t cache = json_integer_value(json_object_get(t, "cache_bytes"));
    json_int_t window = json_integer_value(json_object_get(t, "window"));
    if (!t || !(hold >= 0) || push < 0 || cache < 0 || window < 0 ||
        window > STI_PUSHES_MAX)
        return refuse("terms of tables");
    *out = (sti_tuning){.hold_below = hold,
                        .push_bytes = (uint64_t)push,
                        .cache_bytes = (uint64_t)cache,
                        .window = (uint32_t)window};
    return STRADS_OK;
}

static strads_err read_choosing(json_t *all, sti_run_terms *out)
{
    const json_t *c = json_object_get(all, "choosing");
    json_int_t schedulers =
        json_integer_value(json_object_get(c, "schedulers"));
    const json_t *threshold = json_object_get(c, "threshold");
    const char *policy = json_string_value(json_object_get(c, "policy"));
    if (schedulers < 0 || schedulers > STI_SCHEDULERS_MAX ||
        !json_is_number(threshold))
        return refuse("numbers of schedulers");
    out->schedulers = (uint32_t)schedulers;
    out->threshold = json_number_value(threshold);
    out->policy = policy ? strdup(policy) : NULL;
    return STRADS_OK;
}

static strads_err read_numbers(json_t *all, sti_run_terms *out)
{
    json_int_t partitions =
        json_integer_value(json_object_get(all, "partitions"));
    json_int_t depth = json_integer_value(json_object_get(all, "depth"));
    json_int_t rounds = json_integer_value(json_object_get(all, "max_rounds"));
    json_int_t shards = json_integer_value(json_object_get(all, "shards"));
    json_int_t blocks = json_integer_value(json_object_get(all, "blocks"));
    json_int_t pools = json_integer_value(json_object_get(all, "pools"));
    out->reconnect = json_number_value(json_object_get(all, "reconnect"));
    if (!(out->reconnect > 0) || out->reconnect > 1e6)
        return refuse("time for links");
    if (partitions < 1 || partitions > 1 << 20 || depth < 0 || depth > 16)
        return refuse("numbers of partitions");
    if (rounds < 0 || shards < 1 || shards > STI_SHARDS_MAX)
        return refuse("numbers of shards");
    if (blocks < 0 || blocks > 1 << 20)
        return refuse("number of blocks");
    if (pools < 0 || pools > 1 << 20)
        return refuse("number of pools");
    out->partitions = (uint32_t)partitions;
    out->depth = (uint32_t)depth;
    out->max_rounds = (uint64_t)rounds;
    out->shards = (uint32_t)shards;
    out->blocks = (uint32_t)blocks;
    out->pools = (uint32_t)pools;
    const char *path = json_string_value(json_object_get(all, "data"));
    out->data_path = path ? strdup(path) : NULL;
    return STRADS_OK;
}

static strads_err read_plan(json_t *all, sti_run_terms *out)
{
    const json_t *plan = json_object_get(all, "plan");
    if (!plan)
        return STRADS_OK;
    strads_err err = sti_plan_from_json(plan,
                                        "the plan that the coordinator "
                                        "told",
                                        &out->plan_read);
    out->plan = out->plan_read;
    return err;
}

strads_err sti_run_terms_read(const char *text, const strads_program *program,
                              uint32_t nodes, sti_config_strings *strings,
                              sti_run_terms *out)
{
    *out = (sti_run_terms){.program = program, .nodes = nodes};
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!all)
        return refuse("terms");
    strads_err err = read_numbers(all, out);
    if (!err)
        err = read_tuning(all, &out->tuning);
    if (!err)
        err = read_plan(all, out);
    if (!err)
        err = read_choosing(all, out);
    if (!err)
        err = read_workers(all, out);
    if (!err)
        err = read_hosted(all, out);
    if (!err)
        err = read_config(all, strings, out);
    json_decref(all);
    return err;
}

void sti_run_terms_free(sti_run_terms *terms)
{
    free(terms->config);
    free(terms->workers);
    free(terms->hosted);
    free(terms->data_path);
    strads_plan_free(terms->plan_read);
    free(terms->policy);
    *terms = (sti_run_terms){0};
}
