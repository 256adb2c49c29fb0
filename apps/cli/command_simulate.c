/* strads simulate: a training on simulated workers, in virtual time. The runs
 * are real: what they find is what so many workers would find. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_options.h"
#include "cli_plugin.h"
#include "cli_terminal.h"
#include "cli_sim.h"
#include "cli.h"

strads_err cli_sim_read(const cli_sim *sim, uint32_t partitions,
                        strads_data **out)
{
    strads_data_options options = {
        .size = sizeof options,
        .partitions = partitions,
        .split = sim->program->split,
        .layout = sim->program->layout,
        .kind = sim->program->kind,
        .values = sim->words.f32 ? STRADS_F32 : sim->program->values,
        .labels_path = sim->words.labels,
        .named_labels = sim->program->named_labels &&
                        sim->program->named_labels(sim->config),
    };
    return strads_data_read(sim->data_path, &options, out);
}

static void on_progress(void *arg, const strads_progress *progress)
{
    cli_sim *sim = arg;
    sim->reported = progress->seconds;
    if (!sim->words.curve) {
        cli_log_round(&sim->log, progress);
    }
}

/* One point: the data in as many partitions, and a run on them. */
static strads_err simulate(cli_sim *sim, uint32_t k)
{
    strads_data *data = NULL;
    strads_result *result = NULL;
    cli_sim_point *point = &sim->point[k];
    strads_engine_options options = sim->engine;
    point->workers = sim->net.nodes = sim->workers[k];
    if (options.partitions == 0) {
        options.partitions = point->workers;
    }
    sim->reported = 0;
    strads_err err = cli_sim_read(sim, options.partitions, &data);
    if (!err && k == 0) {
        cli_sim_announce(sim, data);
        sim->begun = true;
    }
    if (!err) {
        err = strads_simulate(sim->program, sim->config, data, &options,
                              &sim->net, &result, &point->outcome);
    }
    if (!err) {
        point->end = strads_result_end(result);
        point->progress = *strads_result_progress(result);
        point->has_gap = !isnan(point->progress.gap);
        point->seconds =
            sim->reported > 0 ? sim->reported : point->outcome.makespan;
        cli_sim_tell(sim, point);
    }
    strads_result_free(result);
    strads_data_free(data);
    return err;
}

/* The worst of all points, as a training of each would have told. */
static int code_of(const cli_sim *sim)
{
    int code = CLI_OK;
    for (uint32_t k = 0; k < sim->n_points; k++) {
        const cli_sim_point *p = &sim->point[k];
        if (p->end == STRADS_END_CANCELED) {
            return CLI_INTERRUPTED;
        }
        if (p->has_gap &&
            (p->end == STRADS_END_ROUNDS || p->end == STRADS_END_TIME)) {
            code = CLI_BOUND;
        }
    }
    return code;
}

static strads_err simulate_all(cli_sim *sim)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < sim->n_points && !err; k++) {
        err = simulate(sim, k);
        if (!err && sim->point[k].end == STRADS_END_CANCELED) {
            sim->n_points = k + 1;
        }
    }
    if (!err && sim->words.svg) {
        err = cli_sim_draw(sim);
    }
    return err;
}

static int carry_out(cli_sim *sim)
{
    sim->engine.stop = cli_signal_catch();
    sim->engine.progress = on_progress;
    sim->engine.progress_arg = sim;
    strads_err err = cli_log_open(sim->words.log, &sim->log);
    if (!err) {
        err = cli_sim_find_prices(sim);
    }
    if (!err) {
        err = simulate_all(sim);
    }
    int code = err ? cli_complain(err, sim->begun ? CLI_RUNNING : CLI_BEFORE)
                   : code_of(sim);
    err = cli_log_close(&sim->log);
    return err ? cli_complain(err, CLI_RUNNING) : code;
}

static int simulate_program(const strads_program *program, const char *word,
                            int argc, char **argv)
{
    char name[256];
    bool done = false;
    cli_sim *sim = NULL;
    sim = calloc(1, sizeof *sim);
    if (!sim) {
        return cli_complain(strads_fail(STRADS_ENOMEM,
                                        "no memory left for a simulation"),
                            CLI_BEFORE);
    }
    (void)snprintf(name, sizeof name, "simulate %s", word);
    sim->program = program;
    sim->name = name;
    strads_err err = cli_sim_options(sim, argc, argv, &done);
    int code = err    ? cli_complain(err, CLI_BEFORE)
               : done ? CLI_OK
                      : carry_out(sim);
    sti_config_strings_free(&sim->strings);
    strads_plan_free(sim->plan);
    free(sim->config_text);
    free(sim->phases);
    free(sim->config);
    free(sim);
    return code;
}

/* Without a program there are only the words around it to show. */
static int without_program(const cli_command *self, int argc, char **argv)
{
    cli_syntax syntax = {
        .name = self->name,
        .args = self->args,
        .summary = self->about,
        .footer = "`strads simulate lasso --help` lists the options.",
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err =
            strads_fail(STRADS_EINVAL, "strads simulate needs a program, lasso "
                                       "say or PROGRAM.so, as its first "
                                       "argument");
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}

static int run_simulate(const cli_command *self, int argc, char **argv)
{
    cli_plugin plugin;
    if (argc == 0 || argv[0][0] == '-') {
        return without_program(self, argc, argv);
    }
    const strads_program *program = strads_program_find(argv[0]);
    if (program) {
        return simulate_program(program, argv[0], argc - 1, argv + 1);
    }
    strads_err err = cli_plugin_open(argv[0], &plugin);
    if (err) {
        return cli_complain(err, CLI_BEFORE);
    }
    int code = simulate_program(&plugin.program, argv[0], argc - 1, argv + 1);
    cli_plugin_close(&plugin);
    return code;
}

static const char *const programs[] = {
    "lasso",         "lasso-path",   "logistic", "logistic-dual",
    "logistic-path", "sgd-logistic", "svm",      "svm-l1",
    "lda",           "mf",           NULL};

const cli_command cli_simulate_commands[] = {
    {.name = "simulate",
     .args = "PROGRAM DATA",
     .summary = "train in virtual time, on simulated workers",
     .about = "Trains in virtual time, on simulated workers and a network "
              "between them. PROGRAM is the name of a built-in one, lasso say, "
              "or a shared object.",
     .run = run_simulate,
     .first = programs},
    {.name = NULL},
};
