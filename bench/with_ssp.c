/* with_ssp METHOD STRAGGLER SECONDS: least squares by stochastic gradients on
 * four workers, which sleep for the time of computing, so that few cores
 * suffice. Prints a line "SECONDS ERROR" per clock of worker 0, ERROR being |w
 * - w*|^2 / |w*|^2, and last "total WAITING COMPUTING".
 *
 * METHOD: a staleness, "infinite", "adaptive", or "all": all-reduce style, a
 * round of the engine that merges the partials and returns its commit to all
 * workers. STRAGGLER: none; rotating: every 8 clocks another worker sleeps a
 * while; fixed: always the same one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/measuring.h"
#include "strads/strads.h"

enum { WORKERS = 4, COLS = 64, BATCH = 32, MOST = 100000, EVERY = 8 };

static const double STEP = 0.02, CLOCK = 1e-3, PAUSE = 10e-3, DONE = 1e-8;

typedef struct setup {
    uint32_t staleness;
    const char *straggler;
    double begun;
    uint32_t n;
    double second[MOST], error[MOST];
} setup;

static void pause_for(double seconds)
{
    const struct timespec t = {.tv_nsec = (long)(1e9 * seconds)};
    (void)nanosleep(&t, NULL);
}

static double target(uint32_t j)
{
    return j % 2 ? -1 : 0.5;
}

static void note(setup *s, const double *w)
{
    double off = 0, all = 0;
    for (uint32_t j = 0; j < COLS; j++) {
        off += (w[j] - target(j)) * (w[j] - target(j));
        all += target(j) * target(j);
    }
    if (s->n < MOST) {
        s->second[s->n] = bench_wall() - s->begun;
        s->error[s->n++] = off / all;
    }
}

static bool is_done(const setup *s)
{
    return s->n == MOST || (s->n > 0 && s->error[s->n - 1] < DONE);
}

/* The computing time of clock c. */
static void compute_for_a_while(const setup *s, uint32_t me, uint64_t c)
{
    const bool turns = strcmp(s->straggler, "rotating") == 0;
    const bool fixed = strcmp(s->straggler, "fixed") == 0;
    const uint32_t who = turns ? (uint32_t)(c / EVERY % WORKERS) : WORKERS - 1;
    pause_for(CLOCK);
    if ((turns || fixed) && c % EVERY == 0 && who == me)
        pause_for(PAUSE);
}

/* A step along the gradient of a batch of rows with entries in -1 .. 1; worker
 * `me` draws those of clock c. */
static void descend(uint32_t me, uint64_t c, const double *w, double *change)
{
    uint64_t state = strads_random_bits(1, 1, me, c) | 1;
    for (uint32_t i = 0; i < BATCH; i++) {
        double x[COLS], miss = 0;
        for (uint32_t j = 0; j < COLS; j++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            x[j] = sqrt(3) * (2 * (double)(state >> 11) * 0x1p-53 - 1);
            miss += x[j] * (target(j) - w[j]);
        }
        for (uint32_t j = 0; j < COLS; j++)
            change[j] += STEP / WORKERS / BATCH * miss * x[j];
    }
}

/* ---- through servers --------------------------------------------------- */

static strads_err loop_run(strads_task *task, strads_session *session)
{
    setup *s = *(setup *const *)task->config;
    const uint32_t me = task->share->partition;
    double w[COLS];
    strads_err err = STRADS_OK;
    for (uint64_t c = 0; !err && !strads_loop_ends(task); c++) {
        double change[COLS] = {0};
        err = strads_session_read_row(session, 0, 0, s->staleness, w);
        if (me == 0) {
            note(s, w);
            if (is_done(s))
                strads_loop_report(task,
                                   &(strads_report){.stop = true, .gap = NAN});
        }
        compute_for_a_while(s, me, c);
        descend(me, c, w, change);
        if (!err)
            err = strads_session_inc_row(session, 0, 0, change);
        if (!err)
            err = strads_session_clock(session);
    }
    return err;
}

/* ---- all-reduce style -------------------------------------------------- */

static strads_err all_update(strads_task *task)
{
    const setup *s = *(setup *const *)task->config;
    compute_for_a_while(s, task->share->partition, task->round);
    descend(task->share->partition, task->round, task->value, task->partial);
    return STRADS_OK;
}

static strads_err all_aggregate(strads_commit *commit)
{
    setup *s = *(setup *const *)commit->config;
    memcpy(commit->change, commit->partial, COLS * sizeof(double));
    note(s, commit->value);
    return STRADS_OK;
}

static strads_err all_schedule(strads_turn *turn)
{
    const setup *s = *(setup *const *)turn->config;
    return is_done(s) ? strads_turn_stop(turn) : strads_turn_all(turn, 0);
}

/* ---- both -------------------------------------------------------------- */

static strads_err shape(const void *config, const strads_data *data,
                        strads_shape *out)
{
    (void)config;
    (void)data;
    out->parameters = 1;
    out->width = COLS;
    return STRADS_OK;
}

static const strads_phase phase = {.name = "gradient",
                                   .when = STRADS_WHEN_CALLED,
                                   .update = all_update,
                                   .aggregate = all_aggregate};

static const strads_program servers = {.size = sizeof servers,
                                       .name = "ssp",
                                       .config_size = sizeof(setup *),
                                       .shape = shape,
                                       .run = loop_run};

static const strads_program reduce = {.size = sizeof reduce,
                                      .name = "all-reduce",
                                      .config_size = sizeof(setup *),
                                      .shape = shape,
                                      .schedule = all_schedule,
                                      .phases = &phase,
                                      .n_phases = 1};

/* The rows are drawn as they are needed: the data only gives the number of
 * workers. */
static strads_data *make_data(void)
{
    const double value[WORKERS] = {1, 1, 1, 1};
    const uint32_t index[WORKERS] = {0, 1, 2, 3};
    const uint64_t start[2] = {0, WORKERS};
    const strads_columns columns = {WORKERS, 1, start, index, value, value};
    const strads_data_options cut = {.size = sizeof cut, .partitions = WORKERS};
    strads_data *data = NULL;
    return strads_data_from_columns(&columns, &cut, &data) ? NULL : data;
}

int main(int argc, char **argv)
{
    static setup s;
    if (argc != 4) {
        (void)fprintf(stderr, "with_ssp METHOD STRAGGLER SECONDS\n");
        return 2;
    }
    setup *config = &s;
    const bool all = strcmp(argv[1], "all") == 0;
    strads_data *data = make_data();
    strads_result *result = NULL;
    s.straggler = argv[2];
    s.staleness = strcmp(argv[1], "infinite") == 0 ? STRADS_STALENESS_INFINITE
                  : strcmp(argv[1], "adaptive") == 0
                      ? STRADS_STALENESS_ADAPTIVE
                      : (uint32_t)strtoul(argv[1], NULL, 10);
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = WORKERS,
                                           .partitions = WORKERS,
                                           .time_limit = strtod(argv[3], NULL)};
    s.begun = bench_wall();
    if (!data || strads_run(all ? &reduce : &servers, &config, data, &options,
                            &result)) {
        (void)fprintf(stderr, "with_ssp: %s\n", strads_error_text());
        return 1;
    }
    for (uint32_t k = 0; k < s.n; k++)
        (void)printf("%.6f %.6g\n", s.second[k], s.error[k]);
    const strads_progress *p = strads_result_progress(result);
    (void)printf("total %.4f %.4f\n", p->waiting_seconds, p->callback_seconds);
    strads_result_free(result);
    strads_data_free(data);
    return 0;
}
