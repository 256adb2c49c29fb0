/* Peers without a server (strads/peers.h): graphs against their definition,
 * the mean against a matrix of the graph, and the guarantees of the three
 * modes, on threads, over nodes and simulated. Invalid options are rejected. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/store/peer_vector.h"
#include "engine/store/session.h"
#include "strads/peers.h"
#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

enum { LENGTH = 3, CLOCKS = 12, PEERS_MAX = 8 };

/* Parameters and results of the next run; global, because nodes are threads
 * here. */
static struct {
    strads_peers_options options;
    uint32_t leaves; /* 1 + the clock in which peer 0 leaves */
    double end[PEERS_MAX][LENGTH];
    atomic_uint wrong, came;
} plan;

typedef struct watch {
    uint64_t now, last[PEERS_MAX];
} watch;

/* The mean; first checks the received vectors. */
static strads_err watching(void *arg, double *into, uint32_t n,
                           const strads_peers_vector *in)
{
    watch *w = arg;
    const strads_peers_options *o = &plan.options;
    for (uint32_t v = 0; v < n; v++) {
        const uint64_t c = in[v].iteration;
        bool good = c > w->last[in[v].peer] && in[v].n == LENGTH &&
                    (v == 0 || in[v - 1].peer <= in[v].peer);
        if (o->mode == STRADS_PEERS_BSP)
            good = good && c == w->now;
        plan.wrong += !good;
        w->last[in[v].peer] = c;
        for (uint32_t j = 0; j < LENGTH; j++)
            into[j] += in[v].value[j];
    }
    for (uint32_t j = 0; j < LENGTH; j++)
        into[j] /= n + 1;
    plan.came += n;
    return STRADS_OK;
}

static strads_err mixing_run(strads_task *task, strads_session *session)
{
    const uint32_t p = task->share->partition;
    double *x = plan.end[p];
    strads_peers *peers;
    watch w = {0};
    strads_err err = strads_peers_open(session, &plan.options, &peers);
    if (err)
        return err;
    for (uint32_t j = 0; j < LENGTH; j++)
        x[j] = p * (j + 1.0) + j;
    while (!err && w.now < CLOCKS && !(p == 0 && plan.leaves == w.now + 1)) {
        err = strads_session_clock(session);
        w.now = strads_session_now(session);
        if (!err)
            err = strads_peers_scatter(peers, x);
        if (!err)
            err = strads_peers_gather(peers, watching, &w, x, NULL);
        for (uint32_t q = 0; q < task->shape->partitions; q++)
            if (plan.options.mode == STRADS_PEERS_SSP && w.last[q] &&
                w.last[q] + plan.options.staleness < w.now &&
                strads_peers_alive(peers, q))
                plan.wrong++;
        if (plan.leaves && w.now == CLOCKS && p == 1 &&
            strads_peers_alive(peers, 0))
            plan.wrong++;
    }
    strads_peers_close(peers);
    return err ? err : strads_session_inc(session, 0, p, 0, x[0]);
}

TOY_SHAPE(mixing_shape, shape->parameters = PEERS_MAX)

static const strads_program mixing = {
    .size = sizeof mixing,
    .name = "mixing",
    .layout = STRADS_LAYOUT_ROWS,
    .shape = mixing_shape,
    .run = mixing_run,
};

static void set(const char *graph, strads_peers_mode mode)
{
    memset(&plan, 0, sizeof plan);
    plan.options = (strads_peers_options){.size = sizeof plan.options,
                                          .graph = graph,
                                          .length = LENGTH,
                                          .mode = mode,
                                          .staleness = 2};
}

static void run_on_threads(uint32_t peers)
{
    strads_result_free(
        expect_run(&mixing, NULL,
                   (strads_engine_options){.partitions = peers, .workers = 2}));
    cr_expect_eq(atomic_load(&plan.wrong), 0);
}

static void simulate(uint32_t peers, uint32_t nodes, double jitter)
{
    strads_data *data = toy_data(&mixing, 23, 17, peers);
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = peers};
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = nodes,
                                    .latency = 50e-6,
                                    .bandwidth = 1e9,
                                    .update_cost = 20e-6,
                                    .jitter = jitter};
    strads_result *result;
    expect_ok(
        strads_simulate(&mixing, NULL, data, &options, &sim, &result, NULL));
    cr_expect_eq(atomic_load(&plan.wrong), 0);
    strads_result_free(result);
    strads_data_free(data);
}

/* ---- graphs ------------------------------------------------------------ */

/* The neighbours' offsets, as bits. */
static uint32_t offsets(const char *graph, uint32_t peers)
{
    strads_store *store;
    strads_session *session;
    strads_peers *out;
    const strads_peers_options options = {.size = sizeof options,
                                          .graph = graph,
                                          .length = 1};
    uint32_t n, bits = 0;
    cr_assert_eq(strads_store_open(0, &store), STRADS_OK);
    cr_assert_eq(strads_session_open(store, 0, peers, &session), STRADS_OK);
    expect_ok(strads_peers_open(session, &options, &out));
    const uint32_t *to = strads_peers_targets(out, &n);
    for (uint32_t k = 0; k < n; k++)
        bits |= 1u << to[k];
    strads_peers_close(out);
    strads_session_close(session);
    strads_store_free(store);
    return bits;
}

Test(peers, graphs_have_their_documented_offsets)
{
    for (uint32_t n = 1; n <= 31; n++)
        cr_expect_eq(offsets("all", n), (1u << n) - 2);
    cr_expect_eq(offsets("exponential", 8), 1u << 1 | 1u << 2 | 1u << 4);
    cr_expect_eq(offsets("exponential", 6), 1u << 1 | 1u << 2 | 1u << 4);
    cr_expect_eq(offsets("ring", 5), 1u << 1);
    cr_expect_eq(offsets("ring", 1), 0);
    cr_expect_eq(offsets("halton", 8), 1u << 4 | 1u << 2 | 1u << 1);
    cr_expect_eq(offsets("halton", 5), 1u << 2 | 1u << 1 | 1u << 3);
    cr_expect_eq(offsets("halton", 16), 1u << 8 | 1u << 4 | 1u << 12 | 1u << 1);
}

/* ---- the mean ---------------------------------------------------------- */

/* x <- W x, by the graph's definition. */
static void expect_means(const char *graph, uint32_t peers)
{
    double x[PEERS_MAX][LENGTH], y[PEERS_MAX][LENGTH];
    const uint32_t bits = offsets(graph, peers);
    for (uint32_t p = 0; p < peers; p++)
        for (uint32_t j = 0; j < LENGTH; j++)
            x[p][j] = p * (j + 1.0) + j;
    for (int c = 0; c < CLOCKS; c++) {
        for (uint32_t p = 0; p < peers; p++)
            for (uint32_t j = 0; j < LENGTH; j++) {
                double sum = x[p][j], n = 1;
                for (uint32_t q = 0; q < peers; q++)
                    if (bits >> (p + peers - q) % peers & 1 && q != p) {
                        sum += x[q][j];
                        n++;
                    }
                y[p][j] = sum / n;
            }
        memcpy(x, y, sizeof x);
    }
    for (uint32_t p = 0; p < peers; p++)
        cr_expect_arr_eq(plan.end[p], x[p], sizeof x[p], "%s, %u peers", graph,
                         peers);
}

static const char *const graphs[] = {"all", "exponential", "halton", "ring"};

Test(peers, of_one_clock_have_the_mean_of_their_neighbours_anywhere)
{
    for (uint32_t n = 1; n <= PEERS_MAX; n++)
        for (int g = 0; g < 4; g++) {
            set(graphs[g], STRADS_PEERS_BSP);
            run_on_threads(n);
            expect_means(graphs[g], n);
            for (uint32_t nodes = 1; nodes <= n; nodes += 2) {
                set(graphs[g], STRADS_PEERS_BSP);
                simulate(n, nodes, 0.5);
                expect_means(graphs[g], n);
            }
        }
}

Test(peers, over_nodes_have_it_too)
{
    for (uint32_t nodes = 2; nodes <= 3; nodes++)
        for (int g = 0; g < 4; g++) {
            const team t = {.program = &mixing,
                            .nodes = nodes,
                            .workers = {2, 1, 2}};
            set(graphs[g], STRADS_PEERS_BSP);
            strads_result *result = expect_team(&t);
            expect_means(graphs[g], nodes == 2 ? 3 : 5);
            cr_expect_eq(atomic_load(&plan.wrong), 0);
            strads_result_free(result);
        }
}

/* ---- modes ------------------------------------------------------------- */

Test(peers, see_no_vector_twice_and_none_that_is_too_old)
{
    for (uint32_t n = 2; n <= PEERS_MAX; n += 3)
        for (int g = 0; g < 4; g++)
            for (int mode = STRADS_PEERS_ASYNC; mode <= STRADS_PEERS_SSP;
                 mode++) {
                set(graphs[g], (strads_peers_mode)mode);
                run_on_threads(n);
                simulate(n, n, 2);
            }
}

Test(peers, a_neighbour_that_leaves_is_not_waited_for)
{
    for (int mode = STRADS_PEERS_SSP; mode <= STRADS_PEERS_BSP; mode++)
        for (uint32_t leaves = 1; leaves <= 5; leaves += 2) {
            set("ring", (strads_peers_mode)mode);
            plan.leaves = leaves;
            run_on_threads(4);
            simulate(4, 3, 0.1);
        }
}

/* Two sessions of one thread, which never wait. */
typedef struct pair {
    strads_store *store;
    strads_session *session[2];
    strads_peers *peers[2];
} pair;

static pair open_pair(strads_peers_options options)
{
    pair p;
    options.size = sizeof options;
    cr_assert_eq(strads_store_open(0, &p.store), STRADS_OK);
    for (uint32_t k = 0; k < 2; k++) {
        cr_assert_eq(strads_session_open(p.store, k, 2, &p.session[k]),
                     STRADS_OK);
        cr_assert_eq(strads_peers_open(p.session[k], &options, &p.peers[k]),
                     STRADS_OK);
    }
    return p;
}

static void close_pair(pair *p)
{
    for (int k = 0; k < 2; k++) {
        strads_session_close(p->session[k]); /* a peer may leave before its
                                              * peers */
        strads_peers_close(p->peers[k]);
    }
    strads_store_free(p->store);
}

Test(peers, a_newer_vector_takes_the_place_of_the_oldest_unread_one)
{
    for (uint32_t queue = 0; queue <= 3; queue++) {
        pair p = open_pair((strads_peers_options){.length = 1, .queue = queue});
        const uint32_t capacity = queue ? queue : 1;
        double sum = 0, x = 0;
        uint32_t n;
        for (uint32_t c = 1; c <= 5; c++) {
            x = 1 << c;
            sum += c + capacity > 5 ? x : 0;
            cr_assert_eq(strads_peers_scatter(p.peers[0], &x), STRADS_OK);
        }
        x = 1;
        cr_assert_eq(strads_peers_gather(p.peers[1], NULL, NULL, &x, &n),
                     STRADS_OK);
        cr_expect_eq(n, capacity);
        cr_expect_eq(x, (1 + sum) / (1 + capacity));
        cr_assert_eq(strads_peers_gather(p.peers[1], NULL, NULL, &x, &n),
                     STRADS_OK);
        cr_expect_eq(n, 0);
        close_pair(&p);
    }
}

Test(peers, a_sparse_vector_does_not_affect_entries_that_it_lacks)
{
    pair p = open_pair((strads_peers_options){.length = 4, .sparse = true});
    const uint32_t index[2] = {3, 0};
    const double value[2] = {10, 20};
    double x[4] = {1, 2, 3, 4};
    cr_assert_eq(strads_peers_scatter_sparse(p.peers[0], 2, index, value),
                 STRADS_OK);
    cr_assert_eq(strads_peers_gather(p.peers[1], NULL, NULL, x, NULL),
                 STRADS_OK);
    cr_expect_eq(x[0], 10.5);
    cr_expect_eq(x[1], 2);
    cr_expect_eq(x[3], 7);
    expect_error(strads_peers_scatter_sparse(p.peers[0], 1, &(uint32_t){4},
                                             value),
                 STRADS_EINVAL, "index 4 of a vector of 4");
    expect_error(strads_peers_scatter(p.peers[0], value), STRADS_EINVAL,
                 "sparse");
    close_pair(&p);
}

/* ---- losses ------------------------------------------------------------- */

/* The message by which node_store.c reports a loss to the remaining workers. */
static void say_lost(strads_session *session, uint32_t to, uint32_t lost)
{
    sti_buffer *packed;
    cr_assert_eq(sti_buffer_new(sizeof(sti_peer_vector), &packed), STRADS_OK);
    *(sti_peer_vector *)(void *)packed->bytes =
        (sti_peer_vector){.sender = lost,
                          .queue = 1,
                          .iteration = STI_PEER_LOST};
    cr_assert_eq(session->ops->post(session, to, packed), STRADS_OK);
}

/* Of 6 peers some are lost, one after the other, in any order. After each
 * loss all remaining peers can reach all others. */
static void expect_reach(const char *graph, const uint32_t *lost, uint32_t n)
{
    enum { N = 6 };
    strads_store *store;
    strads_session *session[N];
    strads_peers *peers[N];
    uint32_t gone = 0, k, degree;
    double x = 0;
    cr_assert_eq(strads_store_open(0, &store), STRADS_OK);
    for (k = 0; k < N; k++) {
        const strads_peers_options options = {.size = sizeof options,
                                              .graph = graph,
                                              .length = 1};
        cr_assert_eq(strads_session_open(store, k, N, &session[k]), STRADS_OK);
        cr_assert_eq(strads_peers_open(session[k], &options, &peers[k]),
                     STRADS_OK);
    }
    for (uint32_t l = 0; l < n; l++) {
        uint32_t reach[N] = {0};
        gone |= 1u << lost[l];
        for (k = 0; k < N; k++) {
            say_lost(session[k], k, lost[l]);
            cr_assert_eq(strads_peers_gather(peers[k], NULL, NULL, &x, NULL),
                         STRADS_OK);
            const uint32_t *to = strads_peers_targets(peers[k], &degree);
            for (uint32_t d = 0; d < degree; d++)
                reach[k] |= 1u << to[d];
            cr_expect_not(strads_peers_alive(peers[k], lost[l]));
            cr_expect(gone >> k & 1 || (reach[k] & gone) == 0,
                      "%s: peer %u sends to one that is lost", graph, k);
        }
        for (uint32_t via = 0; via < N; via++)
            for (k = 0; k < N; k++)
                if (reach[k] >> via & 1)
                    reach[k] |= reach[via];
        for (k = 0; k < N; k++)
            cr_expect(gone >> k & 1 ||
                          (reach[k] | 1u << k) == (((1u << N) - 1) & ~gone),
                      "%s: peer %u reaches %x without %x", graph, k, reach[k],
                      gone);
    }
    for (k = 0; k < N; k++) {
        strads_peers_close(peers[k]);
        strads_session_close(session[k]);
    }
    strads_store_free(store);
}

Test(peers, that_are_left_reach_each_other_along_every_graph)
{
    for (int g = 0; g < 4; g++) {
        expect_reach(graphs[g], (const uint32_t[]){3, 4, 1, 0}, 4);
        expect_reach(graphs[g], (const uint32_t[]){5, 0, 2, 3, 1}, 5);
    }
}

/* After a loss, a new neighbour is waited for only from its first vector on. */
Test(peers, a_neighbour_since_a_loss_is_waited_for_from_its_first_vector_on)
{
    strads_store *store;
    strads_session *session[3];
    strads_peers *peers[3];
    const strads_peers_options options = {.size = sizeof options,
                                          .graph = "ring",
                                          .length = 1,
                                          .mode = STRADS_PEERS_SSP,
                                          .staleness = 0};
    double x = 1;
    uint32_t n;
    cr_assert_eq(strads_store_open(0, &store), STRADS_OK);
    for (uint32_t k = 0; k < 3; k++) {
        cr_assert_eq(strads_session_open(store, k, 3, &session[k]), STRADS_OK);
        cr_assert_eq(strads_peers_open(session[k], &options, &peers[k]),
                     STRADS_OK);
        cr_assert_eq(strads_session_clock(session[k]), STRADS_OK);
    }
    say_lost(session[2], 2, 1); /* 0 -> 1 -> 2 -> 0 */
    cr_assert_eq(strads_peers_gather(peers[2], NULL, NULL, &x, &n), STRADS_OK);
    cr_expect_eq(n, 0);
    cr_assert_eq(strads_peers_gather(peers[2], NULL, NULL, &x, &n), STRADS_OK);
    say_lost(session[0], 0, 1);
    cr_assert_eq(strads_peers_scatter(peers[2], &x), STRADS_OK);
    cr_assert_eq(strads_peers_gather(peers[0], NULL, NULL, &x, &n), STRADS_OK);
    cr_expect_eq(n, 1);
    cr_assert_eq(strads_peers_scatter(peers[0], &x), STRADS_OK);
    cr_assert_eq(strads_peers_gather(peers[2], NULL, NULL, &x, &n), STRADS_OK);
    cr_expect_eq(n, 1);
    for (uint32_t k = 0; k < 3; k++) {
        strads_peers_close(peers[k]);
        strads_session_close(session[k]);
    }
    strads_store_free(store);
}

/* ---- refused options ----------------------------------------------------- */

static strads_err open_graph(const char *graph, uint32_t peers,
                             strads_peers_options o)
{
    strads_store *store;
    strads_session *session;
    strads_peers *out = NULL;
    o.size = sizeof o;
    o.graph = graph;
    cr_assert_eq(strads_store_open(0, &store), STRADS_OK);
    cr_assert_eq(strads_session_open(store, 0, peers, &session), STRADS_OK);
    strads_err err = strads_peers_open(session, &o, &out);
    strads_peers_close(out);
    strads_session_close(session);
    strads_store_free(store);
    return err;
}

static void expect_file(const char *text, strads_err err, const char *sentence)
{
    char path[] = "/tmp/strads-graph-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    const strads_peers_options o = {.length = 1};
    if (err)
        expect_error(open_graph(path, 4, o), err, sentence);
    else
        expect_ok(open_graph(path, 4, o));
    (void)unlink(path);
}

Test(peers, graphs_that_leave_one_out_are_refused_by_name)
{
    expect_file("# a ring\n0 1\n1 2 # on\n\n2 3\n3 0\n", STRADS_OK, "");
    expect_file("0 1\n1 0\n2 3\n3 2\n", STRADS_EINVAL,
                "peer 0 does not reach peer 2");
    expect_file("0 1\n1 2\n2 0\n0 3\n", STRADS_EINVAL,
                "peer 3 does not reach peer 0");
    expect_file("0 1\n1 4\n", STRADS_EFORMAT, ":2: 1 4: expected two");
    expect_file("0 1\n1 1\n", STRADS_EFORMAT, ":2: 1 1: expected two");
    expect_file("0 one\n", STRADS_EFORMAT, ":1: expected `FROM TO`");
    expect_file("0 1 2\n", STRADS_EFORMAT, ":1: expected `FROM TO`");
    expect_file("", STRADS_EINVAL, "does not reach peer 1");
}

Test(peers, options_out_of_range_are_refused)
{
    expect_error(open_graph("star", 4, (strads_peers_options){.length = 1}),
                 STRADS_EIO, "expected all, exponential, halton, ring");
    expect_error(open_graph("all", 4, (strads_peers_options){0}), STRADS_EINVAL,
                 "at least 1");
    expect_error(open_graph("all", 4,
                            (strads_peers_options){.length = 1, .queue = 9}),
                 STRADS_EINVAL, "queue 9");
}
