/* Files of costs have keys in nanoseconds. Missing keys cost nothing. */
#include "cli_prices.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "cli.h"
#include "cli_output.h"
#include "engine/base/number_text.h"

/* Length of a timed run: enough for some hundred rounds. */
static const double MEASURED_SECONDS = 2;
/* A run with a pass over large data must come to all of its phases: one that
 * did not run would cost nothing. */
static const double MEASURED_SECONDS_OF_ROUNDS = 60;

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

const char *cli_prices_phase(const strads_program *program, uint32_t phase)
{
    const bool named = phase < program->n_phases && program->phases[phase].name;
    return named ? program->phases[phase].name : "update";
}

/* Costs as they are read from or written to a file. */
typedef struct prices {
    const char *path;
    const strads_program *program;
    strads_sim_options *net;
    strads_sim_phase *phases;
} prices;

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
                       "%s: \"%s\" is not a price, or not a number of at least "
                       "0; --save-cost writes a valid file",
                       path, name);
}

static strads_err read_phases(const prices *p, json_t *phases)
{
    const char *name, *field;
    json_t *phase, *value;
    json_object_foreach(phases, name, phase)
    {
        uint32_t k = 0;
        while (k < p->net->n_phases &&
               strcmp(cli_prices_phase(p->program, k), name) != 0)
            k++;
        if (k == p->net->n_phases || !json_is_object(phase)) {
            return strads_fail(STRADS_EFORMAT,
                               "%s: program %s has no phase \"%s\"", p->path,
                               p->program->name, name);
        }
        json_object_foreach(phase, field, value)
        {
            CLI_TRY(
                set_number(p->path, phase_keys, &p->phases[k], field, value));
        }
    }
    return STRADS_OK;
}

static strads_err read_prices(const prices *p, json_t *root)
{
    const char *name;
    json_t *value;
    if (!json_is_object(root))
        return strads_fail(STRADS_EFORMAT, "%s: is not a JSON object", p->path);
    json_object_foreach(root, name, value)
    {
        CLI_TRY(strcmp(name, "phases") == 0 && json_is_object(value)
                    ? read_phases(p, value)
                    : set_number(p->path, other_keys, p->net, name, value));
    }
    return STRADS_OK;
}

static strads_err read_file(const prices *p)
{
    json_error_t where;
    FILE *file = fopen(p->path, "re");
    if (!file) {
        return strads_fail(STRADS_EIO,
                           "--cost %s: expected measured, a number of ns an "
                           "entry, or a file: %s",
                           p->path, strerror(errno));
    }
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &where);
    (void)fclose(file);
    if (!root) {
        return strads_fail(STRADS_EFORMAT, "%s:%d: %s", p->path, where.line,
                           where.text);
    }
    const strads_err err = read_prices(p, root);
    json_decref(root);
    return err;
}

/* ---- writing ----------------------------------------------------------- */

static void put_prices(cli_json *j, const key *keys, const void *values)
{
    for (const key *k = keys; k->name; k++) {
        const char *at = (const char *)values + k->offset;
        cli_json_number(j, k->name, 1e9 * *(const double *)(const void *)at);
    }
}

static strads_err put_file(void *arg, FILE *out)
{
    const prices *p = arg;
    cli_json j = cli_json_begin(out);
    put_prices(&j, other_keys, p->net);
    cli_json_open(&j, "phases", '{');
    for (uint32_t k = 0; k < p->net->n_phases; k++) {
        cli_json_open(&j, cli_prices_phase(p->program, k), '{');
        put_prices(&j, phase_keys, &p->phases[k]);
        cli_json_close(&j, '}');
    }
    cli_json_close(&j, '}');
    cli_json_end(&j);
    return STRADS_OK;
}

/* ---- measuring --------------------------------------------------------- */

/* Measures on data in `partitions` partitions and returns their mean
 * *entries. */
static strads_err measure_run(const cli_prices *c, uint32_t partitions,
                              double seconds, prices *p, double *entries)
{
    strads_data *data = NULL;
    strads_engine_options options = *c->engine;
    options.plan = NULL; /* the plan is for the run's number of partitions */
    options.plan_given = NULL;
    options.partitions = partitions;
    strads_err err = c->read(c->arg, partitions, &data);
    if (!err) {
        err = strads_sim_measure(c->program, c->config, data, &options, seconds,
                                 p->net, p->phases, p->net->n_phases);
        *entries = (double)strads_data_nnz(data) / partitions;
    }
    strads_data_free(data);
    return err;
}

/* Some loops process a batch in each clock, others all their entries. So both
 * ends of a curve are measured and costs between them are interpolated
 * linearly. */
static strads_err measure_loop(const cli_prices *c, prices *p)
{
    const double each = MEASURED_SECONDS / 2;
    const uint32_t given = c->engine->partitions;
    const uint32_t few = given ? given : c->few, many = given ? given : c->many;
    double entries = 0, others = 0, slope = 0;
    CLI_TRY(measure_run(c, few, each, p, &entries));
    const double one = p->phases[0].update_cost;
    if (many > few) {
        CLI_TRY(measure_run(c, many, each, p, &others));
        const double other = p->phases[0].update_cost;
        slope = entries > others ? (one - other) / (entries - others) : 0;
    }
    slope = slope > 0 ? slope : 0;
    slope = entries > 0 && slope * entries > one ? one / entries : slope;
    p->phases[0] = (strads_sim_phase){.update_cost = one - slope * entries,
                                      .entry_cost = slope};
    return STRADS_OK;
}

/* Parses "2.5" or "2.5ns". False: the text is something else. */
static bool is_number(const char *text, double *ns)
{
    char bare[40];
    size_t n = strlen(text);
    if (n > 2 && strcmp(text + n - 2, "ns") == 0)
        n -= 2;
    if (n >= sizeof bare)
        return false;
    memcpy(bare, text, n);
    bare[n] = '\0';
    return sti_number_parse(bare, ns) && *ns >= 0;
}

strads_err cli_prices_find(const cli_prices *c, strads_sim_options *net)
{
    const uint32_t n = c->program->n_phases ? c->program->n_phases : 1;
    prices p = {.path = c->cost, .program = c->program, .net = net};
    double ns, entries;
    CLI_TRY(cli_reserve(n, sizeof *p.phases, "the prices", &p.phases));
    net->phases = p.phases;
    net->n_phases = n;
    if (strcmp(c->cost, "measured") == 0) {
        /* Rounds are measured in two partitions, so that there are results to
         * merge. */
        CLI_TRY(c->program->run ? measure_loop(c, &p)
                                : measure_run(c, 2, MEASURED_SECONDS_OF_ROUNDS,
                                              &p, &entries));
        return c->save ? cli_output(c->save, put_file, &p) : STRADS_OK;
    }
    if (!is_number(c->cost, &ns))
        return read_file(&p);
    net->refresh_entry_cost = 1e-9 * ns;
    for (uint32_t k = 0; k < n; k++)
        p.phases[k].entry_cost = 1e-9 * ns;
    return STRADS_OK;
}
