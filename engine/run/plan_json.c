/* Plans as JSON:
 *
 *   {"strads-plan": 1, "partitions": 2, "blocks": 4,
 *    "block-weight": [1, 1, 1, 1], "partition-weight": [1, 1],
 *    "steps": [[[0, 2], [1, 3]], [[1, 3], [0, 2]]]}
 *
 * steps[t][p] lists the blocks that partition p takes in step t; a number alone
 * stands for a list of one, null for an empty one. The weights may be left out.
 */
#include "engine/run/plan_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/atomic_file.h"
#include "engine/run/json_file.h"

enum { MOST = 1 << 20 };

static strads_err no_plan_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a plan");
}

/* ---- writing ----------------------------------------------------------- */

static json_t *weights_json(const double *weight, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t k = 0; list && k < n; k++) {
        /* Weights that are counts are written as whole numbers. */
        bool whole = weight[k] < 9e15 && weight[k] == floor(weight[k]);
        json_array_append_new(list, whole ? json_integer((json_int_t)weight[k])
                                          : json_real(weight[k]));
    }
    return list;
}

static json_t *step_json(const strads_plan *plan, uint32_t t)
{
    json_t *step = json_array();
    for (uint32_t p = 0; p < plan->partitions; p++) {
        const uint32_t *start = &plan->start[(size_t)t * plan->partitions + p];
        json_t *entry = json_array();
        for (uint32_t e = start[0]; e < start[1]; e++)
            json_array_append_new(entry, json_integer(plan->block[e]));
        json_array_append_new(step, entry);
    }
    return step;
}

json_t *sti_plan_json(const strads_plan *plan)
{
    json_t *steps = json_array();
    for (uint32_t t = 0; t < plan->steps; t++)
        json_array_append_new(steps, step_json(plan, t));
    return json_pack("{s:i, s:I, s:I, s:o, s:o, s:o}", "strads-plan", 1,
                     "partitions", (json_int_t)plan->partitions, "blocks",
                     (json_int_t)plan->blocks, "block-weight",
                     weights_json(plan->block_weight, plan->blocks),
                     "partition-weight",
                     weights_json(plan->partition_weight, plan->partitions),
                     "steps", steps);
}

strads_err strads_plan_write(const strads_plan *plan, const char *path)
{
    json_t *json = sti_plan_json(plan);
    if (!json)
        return no_plan_memory();
    sti_atomic_file target = {0};
    strads_err err = sti_atomic_file_open(path, &target);
    if (!err && (json_dumpf(json, target.stream,
                            JSON_COMPACT | JSON_REAL_PRECISION(17)) ||
                 fputc('\n', target.stream) == EOF))
        err = strads_fail(STRADS_EIO, "%s: cannot be written: %s", path,
                          strerror(errno));
    if (!err)
        err = sti_atomic_file_commit(&target);
    sti_atomic_file_abandon(&target);
    json_decref(json);
    return err;
}

/* ---- reading ----------------------------------------------------------- */

typedef struct reading {
    const char *where;
    strads_plan draft;
    uint32_t *start, *block;
    double *block_weight, *partition_weight;
    uint32_t n; /* entries read */
} reading;

static void free_reading(reading *r)
{
    free(r->start);
    free(r->block);
    free(r->block_weight);
    free(r->partition_weight);
}

static strads_err read_size(const json_t *json, const char *where,
                            const char *key, uint32_t *out)
{
    const json_t *value = json_object_get(json, key);
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 1 || n > MOST)
        return strads_fail(STRADS_EFORMAT,
                           "%s: \"%s\" is missing or not a whole number from "
                           "1 to %d",
                           where, key, MOST);
    *out = (uint32_t)n;
    return STRADS_OK;
}

static strads_err read_weights(const json_t *json, const char *where,
                               const char *key, uint32_t n, double **out)
{
    const json_t *list = json_object_get(json, key);
    if (!list)
        return STRADS_OK;
    if (!json_is_array(list) || json_array_size(list) != n)
        return strads_fail(STRADS_EFORMAT,
                           "%s: \"%s\" has %zu numbers, expected %u", where,
                           key, json_array_size(list), n);
    *out = malloc(sizeof **out * n);
    if (!*out)
        return no_plan_memory();
    for (uint32_t k = 0; k < n; k++) {
        const json_t *value = json_array_get(list, k);
        if (!json_is_number(value))
            return strads_fail(STRADS_EFORMAT, "%s: \"%s\"[%u] is not a number",
                               where, key, k);
        (*out)[k] = json_number_value(value);
    }
    return STRADS_OK;
}

static strads_err add_block(reading *r, const json_t *value, uint32_t t,
                            uint32_t p)
{
    json_int_t b = json_integer_value(value);
    char found[32] = "a value that is not a number";
    if (json_is_integer(value))
        (void)snprintf(found, sizeof found, "%" JSON_INTEGER_FORMAT, b);
    if (!json_is_integer(value) || b < 0 || b >= r->draft.blocks)
        return strads_fail(STRADS_EFORMAT,
                           "%s: \"steps\"[%u][%u] has %s, expected blocks 0 "
                           "to %u",
                           r->where, t, p, found, r->draft.blocks - 1);
    if (r->n == (uint64_t)r->draft.blocks * r->draft.partitions)
        return strads_fail(STRADS_EFORMAT,
                           "%s: \"steps\" has more than %u blocks x %u "
                           "partitions: a block is on a partition twice",
                           r->where, r->draft.blocks, r->draft.partitions);
    r->block[r->n++] = (uint32_t)b;
    return STRADS_OK;
}

static strads_err read_entry(reading *r, const json_t *entry, uint32_t t,
                             uint32_t p)
{
    if (json_is_null(entry))
        return STRADS_OK;
    if (!json_is_array(entry))
        return add_block(r, entry, t, p);
    strads_err err = STRADS_OK;
    for (size_t k = 0; k < json_array_size(entry) && !err; k++)
        err = add_block(r, json_array_get(entry, k), t, p);
    return err;
}

static strads_err read_steps(reading *r, const json_t *steps)
{
    uint32_t K = r->draft.partitions;
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; t < r->draft.steps && !err; t++) {
        const json_t *step = json_array_get(steps, t);
        if (!json_is_array(step) || json_array_size(step) != K)
            return strads_fail(STRADS_EFORMAT,
                               "%s: \"steps\"[%u] has %zu entries, expected "
                               "one for each of %u partitions",
                               r->where, t, json_array_size(step), K);
        for (uint32_t p = 0; p < K && !err; p++) {
            r->start[(size_t)t * K + p] = r->n;
            err = read_entry(r, json_array_get(step, p), t, p);
        }
    }
    r->start[(size_t)r->draft.steps * K] = r->n;
    return err;
}

static strads_err read_sizes(reading *r, const json_t *json)
{
    static const char *const keys[] = {"strads-plan",      "partitions",
                                       "blocks",           "block-weight",
                                       "partition-weight", "steps"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            known = known || strcmp(key, keys[k]) == 0;
        if (!known)
            return strads_fail(STRADS_EFORMAT, "%s: unknown key \"%s\"",
                               r->where, key);
    }
    if (json_integer_value(json_object_get(json, "strads-plan")) != 1)
        return strads_fail(STRADS_EFORMAT,
                           "%s: is not a plan of this version: expected "
                           "{\"strads-plan\": 1, ...}",
                           r->where);
    const json_t *steps = json_object_get(json, "steps");
    size_t n = json_array_size(steps);
    strads_err err =
        read_size(json, r->where, "partitions", &r->draft.partitions);
    if (!err)
        err = read_size(json, r->where, "blocks", &r->draft.blocks);
    if (!err && (n == 0 || n > MOST ||
                 (uint64_t)n * r->draft.partitions >= UINT32_MAX ||
                 (uint64_t)r->draft.blocks * r->draft.partitions >= UINT32_MAX))
        err = strads_fail(STRADS_EFORMAT,
                          "%s: \"steps\" is missing, empty or too long",
                          r->where);
    r->draft.steps = (uint32_t)n;
    return err;
}

strads_err sti_plan_from_json(const json_t *json, const char *where,
                              strads_plan **out)
{
    reading r = {.where = where};
    strads_plan *d = &r.draft;
    strads_err err = read_sizes(&r, json);
    if (err)
        return err;
    r.start = malloc(sizeof *r.start * ((size_t)d->steps * d->partitions + 1));
    r.block = malloc(sizeof *r.block * ((size_t)d->blocks * d->partitions));
    err = r.start && r.block ? STRADS_OK : no_plan_memory();
    if (!err)
        err = read_weights(json, where, "block-weight", d->blocks,
                           &r.block_weight);
    if (!err)
        err = read_weights(json, where, "partition-weight", d->partitions,
                           &r.partition_weight);
    if (!err)
        err = read_steps(&r, json_object_get(json, "steps"));
    d->start = r.start;
    d->block = r.block;
    d->block_weight = r.block_weight;
    d->partition_weight = r.partition_weight;
    if (!err) {
        err = strads_plan_new(d, out);
        if (err == STRADS_EINVAL) {
            char why[512];
            (void)snprintf(why, sizeof why, "%s", strads_error_text());
            err = strads_fail(STRADS_EINVAL, "%s: %s", where, why);
        }
    }
    free_reading(&r);
    return err;
}

strads_err strads_plan_read(const char *path, strads_plan **out)
{
    json_t *json;
    strads_err err = sti_json_load(path, "is not a plan: ", &json);
    if (err)
        return err;
    err = sti_plan_from_json(json, path, out);
    json_decref(json);
    return err;
}
