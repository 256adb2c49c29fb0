/* The tables of the options that a run has, of rounds or of loops. Each help
 * fits one line of --help; what fields mean is told in strads/engine.h. */
#include "strads/engine.h"

#define FIELD(field) .offset = offsetof(strads_engine_options, field)

/* Every reader of JSON keeps whole numbers up to here exactly. */
#define LARGEST_WHOLE 9007199254740991.0

#define OPTIONS_OF_ALL                                                         \
    {.name = "workers",                                                        \
     .kind = STRADS_OPTION_U32,                                                \
     FIELD(workers),                                                           \
     .metavar = "N",                                                           \
     .help = "threads of this process (default: one per core)",                \
     .min = 1,                                                                 \
     .max = 1024},                                                             \
        {.name = "partitions",                                                 \
         .kind = STRADS_OPTION_U32,                                            \
         FIELD(partitions),                                                    \
         .metavar = "K",                                                       \
         .help = "shares of the data (default: one a worker, as it pays)",     \
         .min = 1,                                                             \
         .max = 65536},                                                        \
        {.name = "tolerance",                                                  \
         .kind = STRADS_OPTION_F64,                                            \
         FIELD(tolerance),                                                     \
         .metavar = "T",                                                       \
         .help = "relative gap to stop at (default: 1e-6)",                    \
         .min = 1e-15,                                                         \
         .max = 1},                                                            \
        {.name = "max-rounds",                                                 \
         .kind = STRADS_OPTION_U64,                                            \
         FIELD(max_rounds),                                                    \
         .metavar = "N",                                                       \
         .help = "rounds at most (default: no bound)",                         \
         .min = 1,                                                             \
         .max = LARGEST_WHOLE},                                                \
        {.name = "time-limit",                                                 \
         .kind = STRADS_OPTION_F64,                                            \
         FIELD(time_limit),                                                    \
         .metavar = "SECONDS",                                                 \
         .help = "seconds at most (default: no bound)",                        \
         .min = 1e-3,                                                          \
         .max = 1e9},                                                          \
        {.name = "seed",                                                       \
         .kind = STRADS_OPTION_U64,                                            \
         FIELD(seed),                                                          \
         .metavar = "S",                                                       \
         .help = "names the random draws (default: 0)",                        \
         .min = 0,                                                             \
         .max = LARGEST_WHOLE},                                                \
        {.name = "trace",                                                      \
         .kind = STRADS_OPTION_STRING,                                         \
         FIELD(trace),                                                         \
         .metavar = "FILE",                                                    \
         .rare = true,                                                         \
         .help = "write a Chrome/Perfetto trace (default: none)"},             \
        {.name = "listen",                                                     \
         .kind = STRADS_OPTION_STRING,                                         \
         FIELD(listen),                                                        \
         .metavar = "URL",                                                     \
         .help = "tcp://HOST:PORT or ipc://PATH for other nodes"},             \
        {.name = "nodes",                                                      \
         .kind = STRADS_OPTION_U32,                                            \
         FIELD(nodes),                                                         \
         .metavar = "N",                                                       \
         .help = "processes in all, this one too (default: 1)",                \
         .min = 1,                                                             \
         .max = 1024},                                                         \
        {.name = "reconnect",                                                  \
         .kind = STRADS_OPTION_F64,                                            \
         FIELD(reconnect),                                                     \
         .metavar = "SECONDS",                                                 \
         .rare = true,                                                         \
         .help = "how long a link may stay broken (default: 10)",              \
         .min = 1e-3,                                                          \
         .max = 1e6},                                                          \
    {                                                                          \
        .name = "shards", .kind = STRADS_OPTION_U32, FIELD(shards),            \
        .metavar = "N", .rare = true,                                          \
        .help = "a loop's tables on the first N nodes (default: 1)", .min = 1, \
        .max = 1024                                                            \
    }

static const strads_option rounds[] = {
    OPTIONS_OF_ALL,
    {.name = "policy",
     .kind = STRADS_OPTION_STRING,
     FIELD(policy),
     .metavar = "NAME",
     .help = "priority, uniform or cyclic (default: priority)",
     .choices = "priority|uniform|cyclic"},
    {.name = "depth",
     .kind = STRADS_OPTION_U32,
     FIELD(depth),
     .metavar = "D",
     .rare = true,
     .help = "rounds in flight beside the first (default: 0)",
     .min = 0,
     .max = 16},
    {.name = "blocks",
     .kind = STRADS_OPTION_U32,
     FIELD(blocks),
     .metavar = "N",
     .rare = true,
     .help = "blocks in a round, or of a ring (default: 1)",
     .min = 1,
     .max = 1048576},
    {.name = "schedulers",
     .kind = STRADS_OPTION_U32,
     FIELD(schedulers),
     .metavar = "N",
     .rare = true,
     .help = "they choose in turn, ahead of theirs (default: 1)",
     .min = 1,
     .max = 256},
    {.name = "pools",
     .kind = STRADS_OPTION_U32,
     FIELD(pools),
     .metavar = "N",
     .rare = true,
     .help = "groups whose shares are pooled (default: one a node)",
     .min = 1,
     .max = 1048576},
    {.name = "plan",
     .kind = STRADS_OPTION_STRING,
     FIELD(plan),
     .metavar = "FILE",
     .help = "plan of a static program (default: rotation)"},
    {.name = "versions",
     .kind = STRADS_OPTION_U32,
     FIELD(versions),
     .metavar = "N",
     .rare = true,
     .help = "keep travelling blocks every N laps (default: no)",
     .min = 1,
     .max = 1e6},
    {.name = "threshold",
     .kind = STRADS_OPTION_F64,
     FIELD(threshold),
     .metavar = "T",
     .rare = true,
     .help = "dependency that keeps blocks apart (default: 0.1)",
     .min = 1e-6,
     .max = 1},
    {.name = "deterministic",
     .kind = STRADS_OPTION_BOOL,
     FIELD(deterministic),
     .help = "same seed and partitions, same bits (default: no)"},
    {.name = NULL},
};

/* The last five are of tables that are spread over nodes. */
static const strads_option loops[] = {
    OPTIONS_OF_ALL,
    {.name = "eager",
     .kind = STRADS_OPTION_BOOL,
     FIELD(eager),
     .rare = true,
     .help = "changed rows go to nodes that have read them (no)"},
    {.name = "hold-below",
     .kind = STRADS_OPTION_F64,
     FIELD(hold_below),
     .metavar = "X",
     .rare = true,
     .help = "rows that change by less wait for more (default: 0)",
     .max = 1e300},
    {.name = "push-bytes",
     .kind = STRADS_OPTION_U64,
     FIELD(push_bytes),
     .metavar = "N",
     .rare = true,
     .help = "numbers a worker pushes in a clock (default: all)",
     .min = 1,
     .max = LARGEST_WHOLE},
    {.name = "window",
     .kind = STRADS_OPTION_U32,
     FIELD(window),
     .metavar = "N",
     .rare = true,
     .help = "a node's pushes on their way to a shard (default: 2 MB)",
     .min = 1,
     .max = 64},
    {.name = "cache-bytes",
     .kind = STRADS_OPTION_U64,
     FIELD(cache_bytes),
     .metavar = "N",
     .rare = true,
     .help = "rows that a node keeps (default: 268435456)",
     .min = 1,
     .max = LARGEST_WHOLE},
    {.name = NULL},
};

const strads_option *strads_engine_option_table(void)
{
    return rounds;
}

const strads_option *strads_engine_loop_option_table(void)
{
    return loops;
}
