/* Toy matrices and runs on them. The only state is the request to simulate,
 * which lasts until the test's process ends. */
#include "tests/toy_data.h"

#include <stdlib.h>
#include <string.h>

double toy_entry(uint64_t i, uint64_t j)
{
    uint64_t bits = strads_random_bits(7, i, j, 0);
    return bits & 1 ? (double)(bits >> 1 & 15) - 8 : 0;
}

double toy_label(uint64_t i)
{
    return (double)(strads_random_bits(8, i, 0, 0) & 31) - 16;
}

/* Fills column by column into arrays with space for every entry. */
static uint64_t fill(uint64_t rows, uint64_t cols, uint64_t *start,
                     uint32_t *index, double *value)
{
    uint64_t n = 0;
    for (uint64_t j = 0; j < cols; j++) {
        start[j] = n;
        for (uint64_t i = 0; i < rows; i++) {
            double x = toy_entry(i, j);
            if (x == 0)
                continue;
            index[n] = (uint32_t)i;
            value[n++] = x;
        }
    }
    start[cols] = n;
    return n;
}

strads_data *toy_data(const strads_program *program, uint64_t rows,
                      uint64_t cols, uint32_t partitions)
{
    uint64_t most = rows * cols + 1;
    uint64_t *start = malloc(sizeof *start * (cols + 1));
    uint32_t *index = malloc(sizeof *index * most);
    double *value = malloc(sizeof *value * most);
    double *label = malloc(sizeof *label * (rows + 1));
    strads_data *data = NULL;
    if (start && index && value && label) {
        fill(rows, cols, start, index, value);
        for (uint64_t i = 0; i < rows; i++)
            label[i] = toy_label(i);
        const strads_columns columns = {.rows = rows,
                                        .cols = cols,
                                        .start = start,
                                        .index = index,
                                        .value = value,
                                        .label = label};
        const strads_data_options options = {.size = sizeof options,
                                             .partitions = partitions,
                                             .split = program->split,
                                             .layout = program->layout};
        if (strads_data_from_columns(&columns, &options, &data))
            data = NULL;
    }
    free(start);
    free(index);
    free(value);
    free(label);
    return data;
}

static bool simulates;

void toy_simulate_from_now_on(void)
{
    simulates = true;
}

static strads_err run_or_simulate(const toy_run *run, const strads_data *data,
                                  const strads_engine_options *options,
                                  strads_result **out)
{
    if (!simulates)
        return strads_run(run->program, run->config, data, options, out);
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = options->workers,
                                    .latency = 1e-5,
                                    .bandwidth = 1e9,
                                    .update_cost = 1e-5,
                                    .jitter = 2};
    return strads_simulate(run->program, run->config, data, options, &sim, out,
                           NULL);
}

strads_err toy_run_it(const toy_run *run, strads_result **out)
{
    strads_engine_options options = run->options;
    options.size = sizeof options;
    if (options.workers == 0)
        options.workers = 1;
    if (options.partitions == 0)
        options.partitions = options.workers;
    strads_data *data =
        toy_data(run->program, run->rows ? run->rows : 23,
                 run->cols ? run->cols : 17, options.partitions);
    if (!data)
        return strads_fail(STRADS_ENOMEM, "no toy matrix");
    strads_result *result = NULL;
    strads_err err = run_or_simulate(run, data, &options, &result);
    if (out && !err)
        *out = result;
    else
        strads_result_free(result);
    strads_data_free(data);
    return err;
}

bool toy_same_values(const strads_result *a, const strads_result *b)
{
    uint64_t n, m;
    uint32_t width, width_b;
    const double *x = strads_result_values(a, &n, &width);
    const double *y = strads_result_values(b, &m, &width_b);
    return n == m && width == width_b &&
           memcmp(x, y, sizeof *x * n * width) == 0;
}

double toy_column_product(const strads_sparse *x, uint32_t i, uint32_t j)
{
    double sum = 0;
    uint64_t b = x->start[j];
    for (uint64_t a = x->start[i]; a < x->start[i + 1]; a++) {
        while (b < x->start[j + 1] && x->index[b] < x->index[a])
            b++;
        if (b < x->start[j + 1] && x->index[b] == x->index[a])
            sum += x->f64[a] * x->f64[b];
    }
    return sum;
}

/* ---- parts of programs ------------------------------------------------- */

strads_err toy_zeroed(size_t bytes, void **out)
{
    *out = calloc(1, bytes);
    return *out ? STRADS_OK : strads_fail(STRADS_ENOMEM, "no memory for a toy");
}

strads_err toy_begin_partitions(const void *config, const strads_data *data,
                                const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    strads_err err = toy_zeroed(sizeof(uint32_t), state);
    if (!err)
        *(uint32_t *)*state = shape->partitions;
    return err;
}

size_t toy_one_number(const strads_task *task)
{
    (void)task;
    return 1;
}

size_t toy_two_numbers(const strads_task *task)
{
    (void)task;
    return 2;
}

strads_err toy_does_nothing(strads_task *task)
{
    (void)task;
    return STRADS_OK;
}

strads_err toy_commits_nothing(strads_commit *commit)
{
    (void)commit;
    return STRADS_OK;
}

strads_err toy_replica_refresh(strads_task *task, const strads_change *changes,
                               uint32_t n)
{
    double *replica = task->local;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++)
            replica[changes[c].param[k]] += changes[c].change[k];
    return STRADS_OK;
}

void toy_keep_larger(void *into, const void *from, size_t bytes)
{
    double *a = into;
    const double *b = from;
    for (size_t k = 0; k < bytes / sizeof *a; k++)
        a[k] = b[k] > a[k] ? b[k] : a[k];
}

TOY_OPEN_OBJECT(counter_open, sizeof(uint64_t))

static strads_err counter_pack(const void *object, strads_bytes *out)
{
    return strads_bytes_append(out, object, sizeof(uint64_t));
}

static strads_err counter_unpack(const void *bytes, size_t size, void **object)
{
    TOY_CHECK(size == sizeof(uint64_t));
    strads_err err = toy_zeroed(size, object);
    if (!err)
        memcpy(*object, bytes, size);
    return err;
}

const strads_payload toy_counter = {.open = counter_open,
                                    .close = free,
                                    .pack = counter_pack,
                                    .unpack = counter_unpack};
