/* with_lasso_bare.c - the Lasso's own callbacks in a straight loop.
 *
 * What the engine adds to a run is measured against this (bare_lasso.h):
 *
 *     with_lasso_bare FILE [ratio=.1] [threads=1] [gap=1e-6] [optimum=P]
 *                      [repeats=1] [verbose=0]
 *
 * With optimum=P a run ends at (P' - P) / P <= gap instead. Prints one line of
 * JSON a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bare_lasso.h"
#include "bench/ending.h"
#include "bench/measuring.h"

typedef struct settings {
    const char *path;
    double ratio, gap, optimum;
    uint32_t threads, repeats, verbose;
} settings;

static void begin(bare_loop *e, const settings *s)
{
    const size_t p = strads_data_cols(e->data);

    e->shape =
        (strads_shape){.parameters = p, .width = 1, .block_max = BARE_GROUP};
    e->value = bench_reserve(p, sizeof(double));
    e->priority = bench_reserve(p, sizeof(double));
    e->change = bench_reserve(p, sizeof(double));
    e->new_priority = bench_reserve(p, sizeof(double));
    e->changed = bench_reserve(p, sizeof(uint32_t));
    e->group_of = bench_reserve(p, sizeof(uint32_t));
    e->groups = bench_reserve(p, sizeof(bare_group *));
    e->solved = bench_reserve(p, sizeof(uint32_t));
    e->solved_value = bench_reserve(p, sizeof(double));
    e->wish_param = bench_reserve(p, sizeof(uint32_t));
    e->wish_against = bench_reserve(p, sizeof(uint32_t));
    e->route = bare_loop_phase_number(e, STRADS_WHEN_POLICY);
    bench_check(e->program->shape(&e->config, e->data, &e->shape));
    bench_check(e->program->begin(&e->config, e->data, &e->shape, &e->state));
    for (uint32_t t = 0; t < s->threads; t++) {
        const strads_task task = bare_loop_task(e, t);
        bench_check(e->program->open(&task, &e->local[t]));
    }
}

static void end(bare_loop *e)
{
    for (uint32_t t = 0; t < e->threads; t++) {
        e->program->close(e->local[t]);
        free(e->partial[t]);
    }
    e->program->end(e->state);
    for (uint32_t k = 0; k < e->n_groups; k++)
        free(e->groups[k]);
    free(e->value);
    free(e->priority);
    free(e->change);
    free(e->new_priority);
    free(e->changed);
    free(e->group_of);
    free(e->groups);
    free(e->merged);
    free(e->solved);
    free(e->solved_value);
    free(e->wish_param);
    free(e->wish_against);
}

static void run(const settings *s, const strads_data *data)
{
    bare_loop *e = bench_reserve(1, sizeof(*e));
    const bare_target target = {.gap = s->gap,
                                .optimum = s->optimum,
                                .verbose = s->verbose > 0};
    strads_report report = {0};
    double busy = 0;

    e->program = &strads_program_lasso;
    e->config = (strads_lasso_options){.lambda_ratio = s->ratio};
    e->data = data;
    e->threads = s->threads;
    begin(e, s);
    bare_loop_start(e);
    const double begun = bench_wall();
    bare_loop_train(e, &target, &report);
    const double wall = bench_wall() - begun;
    bare_loop_stop(e);
    for (uint32_t t = 0; t < s->threads; t++)
        busy += e->busy[t];
    printf("{\"bench\": \"lasso_bare\", \"data\": \"%s\", \"ratio\": %g, "
           "\"threads\": %u, \"wall\": %.6f, \"callbacks\": %.6f, "
           "\"aggregate\": %.6f, "
           "\"objective\": %.17g, \"gap\": %.3e, \"nonzeros\": %llu, "
           "\"scans\": %llu, \"blocks\": %llu, \"updates\": %llu, "
           "\"probes\": %llu}\n",
           s->path, s->ratio, s->threads, wall, busy, e->alone,
           report.objective, report.gap, (unsigned long long)report.nonzeros,
           (unsigned long long)e->scans, (unsigned long long)e->blocks,
           (unsigned long long)e->updates, (unsigned long long)e->probes);
    end(e);
    free(e);
}

static void read_settings(int n, char **word, settings *s)
{
    for (int k = 0; k < n; k++) {
        const char *is = strchr(word[k], '=');
        const double number = is ? atof(is + 1) : 0;
        const size_t length = is ? (size_t)(is - word[k]) : 0;
        const struct {
            const char *name;
            double *real;
            uint32_t *whole;
        } known[] = {{"ratio", &s->ratio, NULL},
                     {"gap", &s->gap, NULL},
                     {"optimum", &s->optimum, NULL},
                     {"threads", 0, &s->threads},
                     {"repeats", 0, &s->repeats},
                     {"verbose", 0, &s->verbose}};
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (strlen(known[i].name) != length ||
                strncmp(known[i].name, word[k], length) != 0)
                continue;
            if (known[i].real)
                *known[i].real = number;
            else
                *known[i].whole = (uint32_t)number;
        }
    }
}

int main(int argc, char **argv)
{
    settings s = {.ratio = .1, .gap = 1e-6, .threads = 1, .repeats = 1};
    strads_data *data;

    if (argc < 2) {
        fprintf(stderr, "usage: with_lasso_bare FILE [ratio=.1] [threads=1] "
                        "[gap=1e-6] [optimum=P] [repeats=1] [verbose=0]\n");
        return 2;
    }
    s.path = argv[1];
    read_settings(argc - 2, argv + 2, &s);
    if (s.threads < 1 || s.threads > BARE_THREADS_MAX)
        s.threads = 1;
    const strads_data_options options = {.size = sizeof(options),
                                         .partitions = s.threads};
    bench_check(strads_data_read(s.path, &options, &data));
    for (uint32_t k = 0; k < s.repeats; k++)
        run(&s, data);
    strads_data_free(data);
    return 0;
}
