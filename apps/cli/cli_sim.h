/* cli_sim.h - one simulation, as its parts hand it on: options
 * (cli_sim_options.c), prices (cli_sim_prices.c), the runs
 * (command_simulate.c), what is told of them (cli_sim_report.c). */
#ifndef CLI_SIM_H
#define CLI_SIM_H

#include <stdbool.h>

#include "cli_log.h"
#include "engine/run/run_options.h"
#include "strads/strads.h"

enum { CLI_SIM_WORKERS = 4096, CLI_SIM_POINTS = 16 };

/* As they were written; units are parsed into cli_sim's `net` and `slow`. */
typedef struct cli_sim_words {
    uint32_t workers;
    const char *latency, *bandwidth, *message_cost, *receive_cost;
    double jitter;
    const char *straggler, *slow_share, *cost, *save_cost, *curve;
    const char *svg, *log, *labels;
    bool f32, quiet;
} cli_sim_words;

/* One run of the curve. */
typedef struct cli_sim_point {
    uint32_t workers;
    strads_end end;
    bool has_gap;   /* something to converge by */
    double seconds; /* virtual, to the last report */
    strads_progress progress;
    strads_sim_outcome outcome;
} cli_sim_point;

/* Start with {0}, `program` and `name`; freed as a whole. */
typedef struct cli_sim {
    const strads_program *program;
    const char *name; /* of the command: "simulate lasso" */
    const char *data_path;
    void *config;
    char *config_text;
    strads_engine_options engine;
    cli_sim_words words;
    sti_config_strings strings;
    strads_plan *plan;
    strads_sim_options net;
    strads_sim_phase *phases; /* [n_phases], of `net` */
    uint32_t n_phases;
    double slow[CLI_SIM_WORKERS];
    uint32_t workers[CLI_SIM_POINTS]; /* of each point, rising */
    cli_sim_point point[CLI_SIM_POINTS];
    uint32_t n_points;
    double reported; /* the running one's virtual time of its last report */
    bool begun;      /* the input is good, and the first run is under way */
    cli_log log;
} cli_sim;

/* Reads and checks the command line; *done: it asked for help or options, and
 * has been answered. */
strads_err cli_sim_options(cli_sim *sim, int argc, char **argv, bool *done);

/* Reads the data, cut into that many partitions. */
strads_err cli_sim_read(const cli_sim *sim, uint32_t partitions,
                        strads_data **out);

/* Finds the prices that --cost names, by measuring or in a file; keeps them
 * where --save-cost says. */
strads_err cli_sim_find_prices(cli_sim *sim);

/* The name of a phase in files and reports. */
const char *cli_sim_phase_name(const cli_sim *sim, uint32_t phase);

/* What is simulated, for people; the log's first line. */
void cli_sim_announce(cli_sim *sim, const strads_data *data);
/* What came of one run; a table, line by line, for a curve. */
void cli_sim_tell(cli_sim *sim, const cli_sim_point *point);
/* Share of the time that a worker was busy, 0 to 1. */
double cli_sim_busy(const cli_sim_point *point);
/* Draws the curve. STRADS_EIO. */
strads_err cli_sim_draw(const cli_sim *sim);

#endif
