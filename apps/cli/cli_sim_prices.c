/* What callbacks cost: measured here, given as a number, or read from the file
 * that an earlier measurement left. A file's keys are in nanoseconds. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli_sim.h"
#include "cli.h"
#include "cli.h"
#include "engine/base/atomic_file.h"
#include "engine/base/number_text.h"

/* Of a run that is timed: long enough for some hundred rounds. */
static const double MEASURED_SECONDS = 2;

typedef struct key {
    const char *name;
    size_t offset;
} key;

static const key phase_keys[] = {
    {"update-ns", offsetof(strads_sim_phase, update_cost)},
    {"entry-ns", offsetof(strads_sim_phase, entry_cost)},
    {"aggregate-ns", offsetof(strads_sim_phase, aggregate_cost)},
    {NULL, 0}};
static const key other_keys[] = {
    {"choose-ns", offsetof(strads_sim_options, choose_cost)},
    {"refresh-ns", offsetof(strads_sim_options, refresh_cost)},
    {"refresh-entry-ns", offsetof(strads_sim_options, refresh_entry_cost)},
    {"merge-byte-ns", offsetof(strads_sim_options, merge_cost)},
    {NULL, 0}};

const char *cli_sim_phase_name(const cli_sim *sim, uint32_t phase)
{
    const strads_program *program = sim->program;
    bool named = phase < program->n_phases && program->phases[phase].name;
    return named ? program->phases[phase].name : "update";
}

/* ---- reading ----------------------------------------------------------- */

static strads_err set_number(const char *path, const key *keys, void *values,
                             const char *name, const json_t *value)
{
    for (const key *k = keys; k->name; k++) {
        if (strcmp(k->name, name) == 0 && json_is_number(value) &&
            json_number_value(value) >= 0) {
            *(double *)(void *)((char *)values + k->offset) =
                1e-9 * json_number_value(value);
            return STRADS_OK;
        }
    }
    return strads_fail(STRADS_EFORMAT,
                       "%s: \"%s\" is no price, or not a number from 0 up; "
                       "--save-cost writes a file that is right",
                       path, name);
}

static strads_err read_phases(cli_sim *sim, const char *path, json_t *phases)
{
    const char *name;
    const char *field;
    json_t *phase;
    json_t *value;
    json_object_foreach(phases, name, phase)
    {
        uint32_t k = 0;
        while (k < sim->n_phases &&
               strcmp(cli_sim_phase_name(sim, k), name) != 0) {
            k++;
        }
        if (k == sim->n_phases || !json_is_object(phase)) {
            return strads_fail(STRADS_EFORMAT,
                               "%s: program %s has no phase \"%s\"", path,
                               sim->program->name, name);
        }
        json_object_foreach(phase, field, value)
        {
            strads_err err =
                set_number(path, phase_keys, &sim->phases[k], field, value);
            if (err) {
                return err;
            }
        }
    }
    return STRADS_OK;
}

static strads_err read_prices(cli_sim *sim, const char *path, json_t *root)
{
    const char *name;
    json_t *value;
    strads_err err = STRADS_OK;
    if (!json_is_object(root)) {
        return strads_fail(STRADS_EFORMAT, "%s: is not a JSON object", path);
    }
    json_object_foreach(root, name, value)
    {
        if (strcmp(name, "phases") == 0 && json_is_object(value)) {
            err = read_phases(sim, path, value);
        } else {
            err = set_number(path, other_keys, &sim->net, name, value);
        }
        if (err) {
            return err;
        }
    }
    return STRADS_OK;
}

static strads_err read_file(cli_sim *sim, const char *path)
{
    json_error_t where;
    FILE *file = fopen(path, "re");
    if (!file) {
        return strads_fail(STRADS_EIO,
                           "--cost %s: expected measured, a number of ns an "
                           "entry, or a file: %s",
                           path, strerror(errno));
    }
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &where);
    (void)fclose(file);
    if (!root) {
        return strads_fail(STRADS_EFORMAT, "%s:%d: %s", path, where.line,
                           where.text);
    }
    strads_err err = read_prices(sim, path, root);
    json_decref(root);
    return err;
}

/* ---- writing ----------------------------------------------------------- */

static void put(FILE *out, const char *indent, const key *keys,
                const void *values, const char *end)
{
    for (const key *k = keys; k->name; k++) {
        char text[STI_NUMBER_SIZE];
        double price =
            *(const double *)(const void *)((const char *)values + k->offset);
        (void)sti_number_format(1e9 * price, text);
        (void)fprintf(out, "%s\"%s\": %s%s", indent, k->name, text,
                      k[1].name ? ",\n" : end);
    }
}

static strads_err save(const cli_sim *sim, const char *path)
{
    sti_atomic_file target = {0};
    cli_writing();
    strads_err err = sti_atomic_file_open(path, &target);
    if (err) {
        return err;
    }
    (void)fputs("{\n", target.stream);
    put(target.stream, "  ", other_keys, &sim->net, ",\n");
    (void)fputs("  \"phases\": {\n", target.stream);
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        (void)fprintf(target.stream, "    \"%s\": {\n",
                      cli_sim_phase_name(sim, k));
        put(target.stream, "      ", phase_keys, &sim->phases[k], "\n");
        (void)fprintf(target.stream, "    }%s\n",
                      k + 1 < sim->n_phases ? "," : "");
    }
    (void)fputs("  }\n}\n", target.stream);
    return sti_atomic_file_commit(&target);
}

/* ---- finding ----------------------------------------------------------- */

/* A loop's clocks, cut into `partitions`: *entries are a partition's. */
static strads_err measure_clocks(cli_sim *sim, uint32_t partitions,
                                 double *seconds, double *entries)
{
    strads_data *data = NULL;
    strads_engine_options options = sim->engine;
    options.plan = NULL; /* it is for the partitions of the run */
    options.plan_given = NULL;
    options.partitions = partitions;
    strads_err err = cli_sim_read(sim, partitions, &data);
    if (!err) {
        err = strads_sim_measure(sim->program, sim->config, data, &options,
                                 MEASURED_SECONDS / 2, &sim->net, sim->phases,
                                 sim->n_phases);
    }
    if (!err) {
        *seconds = sim->phases[0].update_cost;
        *entries = (double)strads_data_nnz(data) / partitions;
    }
    strads_data_free(data);
    return err;
}

/* Some loops take a batch a clock, others all that they have: of a curve both
 * ends are measured, and what lies between is on a line. */
static strads_err measure_loop(cli_sim *sim)
{
    uint32_t given = sim->engine.partitions;
    uint32_t few = given ? given : sim->workers[0];
    uint32_t many = given ? given : sim->workers[sim->n_points - 1];
    double one = 0, other = 0, entries = 0, others = 0, slope = 0;
    strads_err err = measure_clocks(sim, few, &one, &entries);
    if (!err && many > few) {
        err = measure_clocks(sim, many, &other, &others);
        slope = entries > others ? (one - other) / (entries - others) : 0;
    }
    if (err) {
        return err;
    }
    slope = slope > 0 ? slope : 0;
    slope = entries > 0 && slope * entries > one ? one / entries : slope;
    sim->phases[0] = (strads_sim_phase){.update_cost = one - slope * entries,
                                        .entry_cost = slope};
    return STRADS_OK;
}

static strads_err measure_rounds(cli_sim *sim)
{
    strads_data *data = NULL;
    strads_engine_options options = sim->engine;
    options.plan = NULL; /* it is for the partitions of the run */
    options.plan_given = NULL;
    options.partitions = 2; /* so that there is something to merge */
    strads_err err = cli_sim_read(sim, options.partitions, &data);
    if (!err) {
        err = strads_sim_measure(sim->program, sim->config, data, &options,
                                 MEASURED_SECONDS, &sim->net, sim->phases,
                                 sim->n_phases);
    }
    strads_data_free(data);
    return err;
}

static strads_err measure(cli_sim *sim)
{
    strads_err err =
        sim->program->run ? measure_loop(sim) : measure_rounds(sim);
    if (!err && sim->words.save_cost) {
        err = save(sim, sim->words.save_cost);
    }
    return err;
}

/* "2.5" or "2.5ns"; false: it is something else. */
static bool is_number(const char *text, double *ns)
{
    char bare[40];
    size_t n = strlen(text);
    if (n > 2 && strcmp(text + n - 2, "ns") == 0) {
        n -= 2;
    }
    if (n >= sizeof bare) {
        return false;
    }
    memcpy(bare, text, n);
    bare[n] = '\0';
    return sti_number_parse(bare, ns) && *ns >= 0;
}

strads_err cli_sim_find_prices(cli_sim *sim)
{
    double ns;
    const char *cost = sim->words.cost;
    sim->n_phases = sim->program->n_phases ? sim->program->n_phases : 1;
    sim->phases = calloc(sim->n_phases, sizeof *sim->phases);
    if (!sim->phases) {
        return strads_fail(STRADS_ENOMEM, "no memory left for the prices");
    }
    if (strcmp(cost, "measured") == 0) {
        return measure(sim);
    }
    sim->net.phases = sim->phases;
    sim->net.n_phases = sim->n_phases;
    if (!is_number(cost, &ns)) {
        return read_file(sim, cost);
    }
    sim->net.refresh_entry_cost = 1e-9 * ns;
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        sim->phases[k].entry_cost = 1e-9 * ns;
    }
    return STRADS_OK;
}
