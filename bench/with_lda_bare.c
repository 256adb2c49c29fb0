/* with_lda_bare.c - the topic model's own callbacks in a plain loop.
 *
 *     with_lda_bare FILE TOPICS SWEEPS
 *
 * One thread draws all tokens SWEEPS times, block by block, on one partition:
 * the callbacks of `strads lda train --workers 1`, without the engine,
 * messages, reports or the final model. The gain of two workers is measured
 * against the faster of the two. Prints a line of JSON per sweep, with seconds
 * of the clock and of this process's processor time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <strads/lda.h>
#include <strads/strads.h>

#include "bench/ending.h"
#include "bench/measuring.h"

enum { SEED = 1, BLOCKS = 2 };

typedef struct loop {
    const strads_program *program;
    strads_lda_options config;
    const strads_data *data;
    strads_shape shape;
    strads_cut *cut;
    strads_task task; /* of the one partition */
    void *object[BLOCKS];
} loop;

/* The blocks are those that the program deals by itself. */
static void deal(loop *l)
{
    const uint32_t words = (uint32_t)l->shape.parameters;
    double *weight = bench_reserve(words, sizeof *weight);

    for (uint32_t w = 0; w < words; w++)
        weight[w] = strads_data_col_nnz(l->data, w);
    bench_check(strads_cut_deal(words, weight, BLOCKS, 1, &l->cut));
    free(weight);
}

static void begin(loop *l)
{
    l->shape = (strads_shape){.parameters = strads_data_cols(l->data),
                              .width = 1,
                              .blocks = BLOCKS,
                              .rows = strads_data_rows(l->data),
                              .cols = strads_data_cols(l->data),
                              .partitions = 1,
                              .pools = 1};
    bench_check(l->program->shape(&l->config, l->data, &l->shape));
    deal(l);
    strads_task *t = &l->task;
    *t = (strads_task){.share = strads_data_share(l->data, 0),
                       .config = &l->config,
                       .seed = SEED,
                       .width = 1,
                       .shape = &l->shape,
                       .total =
                           bench_reserve(l->shape.totals, sizeof *t->total)};
    /* The program's first phase is the one that draws. */
    t->partial_bytes = l->program->phases[0].partial(t) * sizeof *t->partial;
    t->partial = bench_reserve(t->partial_bytes, 1);
    bench_check(l->program->open(t, &t->local));
    for (uint32_t b = 0; b < BLOCKS; b++) {
        t->block = l->cut->block[b];
        bench_check(l->program->payload->open(t, &l->object[b]));
    }
}

static void sweep(loop *l)
{
    for (uint32_t b = 0; b < BLOCKS; b++) {
        l->task.block = l->cut->block[b];
        l->task.object = l->object[b];
        bench_check(l->program->phases[0].update(&l->task));
        l->task.round++;
    }
}

static void end(loop *l)
{
    for (uint32_t b = 0; b < BLOCKS; b++)
        l->program->payload->close(l->object[b]);
    l->program->close(l->task.local);
    strads_cut_free(l->cut);
    free(l->task.total);
    free(l->task.partial);
}

static double tokens_of(const loop *l)
{
    double n = 0;

    for (uint32_t k = 0; k < l->shape.totals; k++)
        n += l->task.total[k];
    return n;
}

static void run(loop *l)
{
    for (uint32_t s = 1; s <= l->config.sweeps; s++) {
        const double wall = bench_wall(), cpu = bench_cpu();
        sweep(l);
        printf("{\"bench\": \"lda_bare\", \"topics\": %u, \"sweep\": %" PRIu32
               ", \"tokens\": %.0f, \"cpu\": %.6f, \"wall\": %.6f}\n",
               l->config.topics, s, tokens_of(l), bench_cpu() - cpu,
               bench_wall() - wall);
    }
}

int main(int argc, char **argv)
{
    loop l = {.program = &strads_program_lda};
    strads_data *data;

    if (argc != 4) {
        (void)fprintf(stderr, "usage: with_lda_bare FILE TOPICS SWEEPS\n");
        return 2;
    }
    l.config = *(const strads_lda_options *)l.program->defaults;
    l.config.topics = (uint32_t)strtoul(argv[2], NULL, 10);
    l.config.sweeps = (uint32_t)strtoul(argv[3], NULL, 10);
    l.config.evaluate = l.config.sweeps;
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = 1,
                                         .kind = STRADS_KIND_CORPUS,
                                         .values = l.program->values};
    bench_check(strads_data_read(argv[1], &options, &data));
    l.data = data;
    begin(&l);
    run(&l);
    end(&l);
    strads_data_free(data);
    return 0;
}
