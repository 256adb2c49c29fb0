/* The cost of a store on another node, over loopback tcp: one shard in one
 * process, one worker in another, rows of 1024 f32. Push: adds to every row and
 * ends the clock, repeatedly, until the shard has all increments. Pull: reads
 * every row from the shard in each clock. The floor, in the same run and in
 * turn: a raw tcp stream of as many bytes, which the receiver adds (push) or
 * copies (pull; see bare_streams.h). The raw stream does not keep sent bytes
 * until they are acknowledged, as the store does; the cost of that alone is
 * measured, too (pieces). Then the cost of a cached read of one row of two
 * numbers: of 64 rows in turn, which their worker keeps, and of 4,096 in turn,
 * which it looks up; the cost of an inc of one value of 64 rows in turn; and
 * get + inc of 64 rows x 16,384 per clock, with the store in this process.
 *
 * Neither the store nor the stream waits for single pushes: the time stops when
 * the last one has been added.
 *
 * Medians of the rounds, also of the store's ratio to the raw stream in each of
 * them; a table, and JSON. No arguments. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/bare_streams.h"
#include "bench/measuring.h"
#include "strads/strads.h"

enum { COLS = 1024, ROUNDS = 9, SIZES = 3, MOST_ROWS = 10240 };
enum { WIDE_ROWS = 64, WIDE_COLS = 16384 };

/* Narrow rows, 2^n of them. */
enum { HOT = 64, SMALL_ROWS = 4096, SMALL_COLS = 2, SMALL_CALLS = 2000000 };

static const uint32_t rows_of[SIZES] = {64, 1024, MOST_ROWS};

/* How often a size is moved in a round: some 160 MB. */
static int turns(int size)
{
    return (int)(40960 / rows_of[size]);
}

/* Of a round: values per second, and ns of processor per value of both ends. */
typedef struct pace {
    double values, cpu;
} pace;

enum { PUSH, PULL, WAYS };

static const char *const way_names[WAYS] = {"push", "pull"};

/* ns of one call. */
typedef struct small_calls {
    double read, look_up, inc;
} small_calls;

typedef struct figures {
    pace store[WAYS][SIZES], bare[WAYS][BARE_KINDS][SIZES];
    /* Ratios to the raw stream: of the store, and of the stream with pieces. */
    pace ratio[WAYS][SIZES], pieces[WAYS][SIZES];
    small_calls small;
} figures;

/* Processor time of a process so far; 0: it does not exist. */
static double cpu_of(pid_t process)
{
    struct timespec t;
    clockid_t clock;
    if (clock_getcpuclockid(process, &clock) || clock_gettime(clock, &t))
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A time interval, of this process and the one at the other end. */
typedef struct stretch {
    pid_t other;
    double began, cpu;
} stretch;

static stretch begin_stretch(pid_t other)
{
    return (stretch){.other = other,
                     .began = bench_wall(),
                     .cpu = cpu_of(0) + cpu_of(other)};
}

static pace end_stretch(const stretch *s, int size)
{
    double values = (double)turns(size) * rows_of[size] * COLS;
    return (pace){.values = values / (bench_wall() - s->began),
                  .cpu =
                      1e9 * (cpu_of(0) + cpu_of(s->other) - s->cpu) / values};
}

/* The median of ratios of consecutive measurements, so that the machine's load
 * affects both. */
static pace median_ratio(const pace *of, const pace *to)
{
    double values[ROUNDS], cpu[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        values[r] = of[r].values / to[r].values;
        cpu[r] = of[r].cpu / to[r].cpu;
    }
    return (pace){bench_median(values, ROUNDS), bench_median(cpu, ROUNDS)};
}

static pace median_pace(const pace *of)
{
    double values[ROUNDS], cpu[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        values[r] = of[r].values;
        cpu[r] = of[r].cpu;
    }
    return (pace){bench_median(values, ROUNDS), bench_median(cpu, ROUNDS)};
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "with_store_net: %s: %s\n", what, strads_error_text());
    exit(1);
}

/* ---- the floor --------------------------------------------------------- */

static pid_t floor_pid; /* the far end of the floor */
static bare_streams *bare;

static pace time_bare(bare_kind kind, int size, bool pull, char *array)
{
    size_t n = (size_t)rows_of[size] * COLS * sizeof(float);
    stretch s = begin_stretch(floor_pid);
    for (int k = 0; k < turns(size); k++)
        if (pull)
            bare_pull(bare, kind, array, n);
        else /* at the end all pushes are added, as the store settles */
            bare_push(bare, kind, array, n, k + 1 == turns(size));
    return end_stretch(&s, size);
}

/* ---- the store --------------------------------------------------------- */

static pid_t shard_pid; /* the process with the shard */

static strads_err tables(const void *config, const strads_shape *shape,
                         strads_store *store)
{
    const strads_table_spec spec = {.name = "values",
                                    .type = STRADS_F32,
                                    .rows = MOST_ROWS,
                                    .cols = COLS};
    uint32_t table;
    (void)config, (void)shape;
    return strads_store_create(store, &spec, &table);
}

static strads_err settle(strads_session *s)
{
    static float row[COLS];
    return strads_session_read_row(s, 1, 0, 0, row);
}

static strads_err time_push(strads_session *s, int size, const float *values,
                            pace *out)
{
    strads_err err = STRADS_OK;
    stretch spell = begin_stretch(shard_pid);
    for (int k = 0; !err && k < turns(size); k++) {
        for (uint32_t r = 0; !err && r < rows_of[size]; r++)
            err = strads_session_inc_row(s, 1, r, values + (size_t)r * COLS);
        if (!err)
            err = strads_session_clock(s);
    }
    if (!err)
        err = settle(s);
    *out = end_stretch(&spell, size);
    return err;
}

static const uint32_t *all_rows(void)
{
    static uint32_t rows[MOST_ROWS];
    for (uint32_t r = 0; r < MOST_ROWS; r++)
        rows[r] = r;
    return rows;
}

static strads_err time_pull(strads_session *s, int size, float *values,
                            pace *out)
{
    const uint32_t *rows = all_rows();
    strads_err err = STRADS_OK;
    stretch spell = begin_stretch(shard_pid);
    for (int k = 0; !err && k < turns(size); k++) {
        err =
            strads_session_clock_and_read(s, 1, rows_of[size], rows, 0, values);
    }
    *out = end_stretch(&spell, size);
    return err;
}

/* ns of this thread's processor time: nothing here waits, and other processes'
 * load is excluded. */
static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Of 2^n rows in turn, at staleness 1. */
static strads_err time_reads(strads_session *s, uint32_t table, uint32_t rows,
                             double *ns)
{
    double row[SMALL_COLS];
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < SMALL_ROWS; k++) /* so they are cached */
        err = strads_session_read_row(s, table, k, 1, row);
    double begin = thread_ns();
    for (uint32_t k = 0; !err && k < SMALL_CALLS; k++)
        err = strads_session_read_row(s, table, k & (rows - 1), 1, row);
    *ns = (thread_ns() - begin) / SMALL_CALLS;
    return err;
}

static strads_err time_small(strads_session *s, uint32_t table,
                             small_calls *out)
{
    strads_err err = time_reads(s, table, HOT, &out->read);
    if (!err)
        err = time_reads(s, table, SMALL_ROWS, &out->look_up);
    double begin = thread_ns();
    for (uint32_t k = 0; !err && k < SMALL_CALLS; k++)
        err = strads_session_inc(s, table, k & (HOT - 1), 1, 1.0);
    out->inc = (thread_ns() - begin) / SMALL_CALLS;
    return err;
}

static figures result;

/* The store and the floors in turn. */
static strads_err time_size(strads_session *s, int way, int size, float *values)
{
    pace store[ROUNDS], floor[BARE_KINDS][ROUNDS];
    strads_err err = STRADS_OK;
    for (int r = 0; !err && r < ROUNDS; r++) {
        for (int k = 0; k < BARE_KINDS; k++)
            floor[k][r] =
                time_bare((bare_kind)k, size, way == PULL, (char *)values);
        err = way == PULL ? time_pull(s, size, values, &store[r])
                          : time_push(s, size, values, &store[r]);
    }
    if (err)
        return err;
    result.store[way][size] = median_pace(store);
    result.ratio[way][size] = median_ratio(store, floor[BARE_SOCKET]);
    result.pieces[way][size] =
        median_ratio(floor[BARE_PIECES], floor[BARE_SOCKET]);
    for (int k = 0; k < BARE_KINDS; k++)
        result.bare[way][k][size] = median_pace(floor[k]);
    return STRADS_OK;
}

/* Partition 0 is beside the shard and leaves at once; partition 1 measures. */
static strads_err run(strads_task *task, strads_session *s)
{
    if (task->share->partition == 0)
        return STRADS_OK;
    float *values = calloc((size_t)MOST_ROWS * COLS, sizeof *values);
    must(values != NULL, "memory");
    for (size_t k = 0; k < (size_t)MOST_ROWS * COLS; k++)
        values[k] = 1; /* private pages, not the shared zero page */
    strads_err err = strads_session_clock(s);
    for (int way = 0; way < WAYS; way++)
        for (int size = 0; !err && size < SIZES; size++)
            err = time_size(s, way, size, values);
    free(values);
    return err ? err : time_small(s, 0, &result.small);
}

static strads_err shape(const void *config, const strads_data *data,
                        strads_shape *shape_)
{
    (void)config, (void)data;
    shape_->parameters = SMALL_ROWS;
    shape_->width = SMALL_COLS;
    return STRADS_OK;
}

static const strads_program program = {.size = sizeof(strads_program),
                                       .name = "store-net",
                                       .shape = shape,
                                       .tables = tables,
                                       .run = run};

static const strads_program *find(void *arg, const char *name)
{
    (void)arg, (void)name;
    return &program;
}

static strads_data *make_data(const strads_data_options *options)
{
    double label[4] = {0}, value[4] = {0};
    const uint32_t index[4] = {0, 1, 2, 3};
    const uint64_t start[2] = {0, 4};
    const strads_columns columns = {4, 1, start, index, value, label};
    strads_data *data = NULL;
    must(!strads_data_from_columns(&columns, options, &data), "data");
    return data;
}

static void take_part(strads_engine *engine)
{
    strads_data_options keep = {.size = sizeof keep};
    strads_result *out = NULL;
    must(!strads_engine_keep(engine, &keep), "keep");
    strads_data *data = make_data(&keep);
    must(!strads_engine_run(engine, data, &out), "run");
    strads_result_free(out);
    strads_data_free(data);
    strads_engine_free(engine);
}

/* The shard's process sends its URL through the raw stream. */
static void keep_shard(int fd)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .nodes = 2,
                                           .listen = "tcp://127.0.0.1:0"};
    strads_engine *engine;
    char url[200] = "";
    must(!strads_engine_listen(&program, NULL, &options, &engine), "listen");
    (void)snprintf(url, sizeof url, "%s", strads_engine_url(engine));
    bare_move(fd, url, sizeof url, true);
    take_part(engine);
}

static void measure_nodes(int fd)
{
    char url[200];
    const strads_join_options options = {.size = sizeof options,
                                         .workers = 1,
                                         .find = find};
    strads_engine *engine;
    bare_move(fd, url, sizeof url, false);
    must(!strads_engine_join(url, &options, &engine), "join");
    take_part(engine);
}

/* ---- in this process --------------------------------------------------- */

static void measure_here(double *values_per_s, small_calls *calls)
{
    strads_store *store;
    strads_session *s;
    uint32_t wide, small, rows[WIDE_ROWS];
    const strads_table_spec specs[2] = {{.name = "wide",
                                         .type = STRADS_F32,
                                         .rows = WIDE_ROWS,
                                         .cols = WIDE_COLS},
                                        {.name = "small",
                                         .rows = SMALL_ROWS,
                                         .cols = SMALL_COLS}};
    float *values = calloc((size_t)WIDE_ROWS * WIDE_COLS, sizeof *values);
    double per_round[ROUNDS];
    must(values && !strads_store_open(0, &store) &&
             !strads_store_create(store, &specs[0], &wide) &&
             !strads_store_create(store, &specs[1], &small) &&
             !strads_session_open(store, 0, 1, &s),
         "a store");
    for (uint32_t k = 0; k < WIDE_ROWS; k++)
        rows[k] = k;
    for (int r = 0; r < ROUNDS; r++) {
        enum { CLOCKS = 100 };
        strads_err err = STRADS_OK;
        double begin = bench_wall();
        for (int c = 0; !err && c < CLOCKS; c++) {
            err = strads_session_read_rows(s, wide, WIDE_ROWS, rows, 0, values);
            for (uint32_t k = 0; !err && k < WIDE_ROWS; k++)
                err = strads_session_inc_row(s, wide, k,
                                             values + (size_t)k * WIDE_COLS);
            if (!err)
                err = strads_session_clock(s);
        }
        must(!err, "get + inc");
        per_round[r] =
            (double)CLOCKS * WIDE_ROWS * WIDE_COLS / (bench_wall() - begin);
    }
    *values_per_s = bench_median(per_round, ROUNDS);
    must(!time_small(s, small, calls), "small rows");
    strads_session_close(s);
    strads_store_free(store);
    free(values);
}

static void print_size(int way, int size)
{
    const char *name = way_names[way];
    int values = (int)rows_of[size] * COLS;
    const pace *store = &result.store[way][size];
    const pace *raw = &result.bare[way][BARE_SOCKET][size];
    const pace *ratio = &result.ratio[way][size];
    const pace *pieces = &result.pieces[way][size];
    printf("%s %-9d %5.0f (%4.2f) %5.0f (%4.2f) %5.2f (%4.2f) %5.2f (%4.2f)\n",
           name, values, 1e-6 * store->values, store->cpu, 1e-6 * raw->values,
           raw->cpu, ratio->values, ratio->cpu, pieces->values, pieces->cpu);
    printf("{\"bench\": \"store-net\", \"way\": \"%s\", \"values\": %d, "
           "\"store\": %.4g, \"raw\": %.4g, \"store_cpu_ns\": %.3g, "
           "\"raw_cpu_ns\": %.3g, \"of_raw\": %.3g, "
           "\"of_raw_cpu\": %.3g, \"pieces_of_raw\": %.3g, "
           "\"pieces_of_raw_cpu\": %.3g}\n",
           name, values, store->values, raw->values, store->cpu, raw->cpu,
           ratio->values, ratio->cpu, pieces->values, pieces->cpu);
}

static void print(void)
{
    const small_calls *there = &result.small;
    small_calls here;
    double load[1] = {0}, wide;
    (void)getloadavg(load, 1);
    printf("loopback tcp; one shard, one worker, rows of %d\nf32; M values/s, "
           "in brackets ns of processor a value, of both "
           "ends; load %.1f\n",
           COLS, load[0]);
    printf("%-14s %12s %12s %12s %12s\n", "values", "store", "raw", "of raw",
           "pieces");
    for (int way = 0; way < WAYS; way++)
        for (int size = 0; size < SIZES; size++)
            print_size(way, size);
    measure_here(&wide, &here);
    printf("ns over nodes and in process: a cached read of %d numbers, of %d "
           "rows: %.0f and %.0f,\nof %d rows: %.0f and %.0f; an inc: %.0f and "
           "%.0f\n",
           SMALL_COLS, HOT, there->read, here.read, SMALL_ROWS, there->look_up,
           here.look_up, there->inc, here.inc);
    printf("get + inc of %d rows x %d a clock, in process: %.0f M values/s\n",
           WIDE_ROWS, WIDE_COLS, 1e-6 * wide);
    printf("{\"bench\": \"store-session\", \"read_ns_nodes\": %.1f, "
           "\"read_ns\": %.1f, \"look_up_ns_nodes\": %.1f, "
           "\"look_up_ns\": %.1f, \"inc_ns_nodes\": %.1f, "
           "\"inc_ns\": %.1f, \"get_inc_values\": %.4g}\n",
           there->read, here.read, there->look_up, here.look_up, there->inc,
           here.inc, wide);
}

/* A pair of connected tcp sockets, not paced, as links within one machine. */
static void connect_pair(int fd[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int one = 1, door = socket(AF_INET, SOCK_STREAM, 0);
    must(door >= 0 && !bind(door, (void *)&at, size) && !listen(door, 1) &&
             !getsockname(door, (void *)&at, &size),
         "a socket");
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    must(fd[0] >= 0 && !connect(fd[0], (void *)&at, size), "a connection");
    fd[1] = accept(door, NULL, NULL);
    must(fd[1] >= 0, "a connection");
    for (int k = 0; k < 2; k++) {
        (void)setsockopt(fd[k], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        (void)setsockopt(fd[k], IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    }
    close(door);
}

int main(void)
{
    int raw[2], url[2];
    connect_pair(raw);
    connect_pair(url);
    floor_pid = fork();
    if (floor_pid == 0) {
        close(raw[0]);
        bare_streams_serve(raw[1], (size_t)MOST_ROWS * COLS * sizeof(float));
        _exit(0);
    }
    shard_pid = fork();
    if (shard_pid == 0) {
        close(raw[0]);
        close(raw[1]);
        keep_shard(url[1]);
        _exit(0);
    }
    close(raw[1]);
    bare = bare_streams_open(raw[0]);
    measure_nodes(url[0]);
    bare_streams_close(bare);
    (void)waitpid(shard_pid, NULL, 0);
    (void)waitpid(floor_pid, NULL, 0);
    print();
    return 0;
}
