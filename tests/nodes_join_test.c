/* Failures of the join phase: nodes that fit are accepted, other nodes are
 * refused at once with the reason, and an impossible run reports why. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/nodes_forger.h"
#include "tests/nodes_team.h"
#include "tests/nodes_toy.h"
#include "tests/relay.h"
#include "tests/toy_data.h"

static void expect_end(const team_end *end, strads_err err, const char *word)
{
    cr_expect_eq(end->err, err, "%d: %s", (int)end->err, end->text);
    cr_expect_not_null(strstr(end->text, word), "no \"%s\" in: %s", word,
                       end->text);
}

/* Checks the thread's last error. */
static void expect_said(strads_err got, strads_err err, const char *word)
{
    team_end end = {.err = got};
    (void)snprintf(end.text, sizeof end.text, "%s", strads_error_text());
    expect_end(&end, err, word);
}

/* ---- refused at once --------------------------------------------------- */

/* Sends a HELLO, changed by `change`, that must be answered with a REJECT. */
static void expect_refused(const char *url, void (*change)(sti_hello *hello),
                           const char *word)
{
    forger f;
    cr_assert(forger_open(&f, url), "%s", strads_error_text());
    sti_hello hello = forger_hello(&f);
    if (change)
        change(&hello);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    forger_wait_lost(&f);
    cr_expect(f.rejected, "not refused: %s", f.text);
    cr_expect_not_null(strstr(f.text, word), "no \"%s\" in: %s", word, f.text);
    forger_close(&f);
}

static void other_version(sti_hello *hello)
{
    hello->version_minor++;
}

static void other_kernels(sti_hello *hello)
{
    hello->kernel_level = 77;
}

static void no_workers(sti_hello *hello)
{
    hello->workers = 0;
}

/* A node joins too late, after a round was committed. */
typedef struct late {
    char url[300];
    int rounds;
} late;

static void note_url(void *arg, const char *url)
{
    late *l = arg;
    (void)snprintf(l->url, sizeof l->url, "%s", url);
}

static void come_late(void *arg, const strads_progress *progress)
{
    late *l = arg;
    (void)progress;
    if (l->rounds++ == 1) {
        expect_refused(l->url, NULL, "has all its 2 nodes already");
        expect_refused(l->url, other_version, "install the same version");
    }
}

Test(nodes_join,
     who_comes_during_a_run_is_refused_at_once_and_nobody_else_minds)
{
    late l = {0};
    team t = {.program = &nodes_toy_endless,
              .nodes = 2,
              .listening = note_url,
              .arg = &l,
              .options = {.max_rounds = 60,
                          .progress = come_late,
                          .progress_arg = &l}};
    team_end end[TEAM_MAX];
    strads_result *result;
    team_run(&t, &result, end);
    cr_assert_not_null(result, "%s", end[0].text);
    cr_expect_gt(l.rounds, 1, "no second round");
    cr_expect_eq(end[1].err, STRADS_OK, "%s", end[1].text);
    strads_result_free(result);
}

static void more_workers_than_there_are(sti_hello *hello)
{
    hello->workers = UINT32_MAX;
}

static void no_url(sti_hello *hello)
{
    hello->url = "nonsense";
}

static void come_late_unfit(void *arg, const strads_progress *progress)
{
    late *l = arg;
    if (progress->seconds < 1.2 || l->rounds++)
        return; /* a later node could start another generation */
    expect_refused(l->url, more_workers_than_there_are, "expected 1 to 1024");
    expect_refused(l->url, no_workers, "expected 1 to 1024");
    expect_refused(l->url, no_url, "not a URL");
    expect_refused(l->url, other_version, "install the same version");
}

/* A run with generations accepts late nodes. */
Test(nodes_join, a_late_hello_that_no_run_can_take_starts_no_generation)
{
    late l = {0};
    team t = {.program = &nodes_toy_endless,
              .nodes = 2,
              .listening = note_url,
              .arg = &l,
              .options = {.time_limit = 2,
                          .partitions = 4,
                          .regroup = true,
                          .progress = come_late_unfit,
                          .progress_arg = &l}};
    team_end end[TEAM_MAX];
    strads_result *result;
    team_run(&t, &result, end);
    cr_assert_not_null(result, "%s", end[0].text);
    cr_expect_gt(l.rounds, 0, "nobody came");
    cr_expect_eq(end[1].err, STRADS_OK, "%s", end[1].text);
    strads_result_free(result);
}

/* ---- before the run ---------------------------------------------------- */

/* Node 1 only joins. */
static void start(team_node *n, const team *t, const char *url)
{
    *n = (team_node){.team = t, .node = 1, .until = TEAM_JOINS};
    team_node_start(n, url);
}

static void start_node(team_node *n, const team *t, uint32_t node,
                       const char *url)
{
    *n = (team_node){.team = t, .node = node};
    team_node_start(n, url);
}

/* Starts node 0, which gathers the others; returns its URL. */
static const char *gather(team_node *first, const team *t)
{
    *first = (team_node){.team = t, .until = TEAM_KEEPS};
    cr_assert_eq(team_listen(t, &first->engine), STRADS_OK);
    const char *url = strads_engine_url(first->engine);
    team_node_start(first, NULL);
    return url;
}

/* Node 0 and one other node that have joined but are not ready. */
static void pair(const team *t, strads_engine **first, team_node *second)
{
    strads_data_options keep = {.size = sizeof keep};
    expect_ok(team_listen(t, first));
    start(second, t, strads_engine_url(*first));
    cr_assert_eq(strads_engine_keep(*first, &keep), STRADS_OK);
    team_node_wait(second);
    cr_assert_eq(second->end.err, STRADS_OK, "%s", second->end.text);
}

Test(nodes_join, a_joiner_is_refused_at_once_while_data_is_read)
{
    const team t = {.program = &nodes_toy, .nodes = 2};
    strads_engine *first;
    team_node second;
    pair(&t, &first, &second);
    expect_refused(strads_engine_url(first), NULL, "has all its 2 nodes");
    expect_refused(strads_engine_url(second.engine), NULL,
                   "join at the coordinator's URL");
    strads_engine_free(second.engine);
    strads_engine_free(first);
}

Test(nodes_join, another_version_other_kernels_and_no_workers_are_refused)
{
    const team t = {.program = &nodes_toy, .nodes = 2};
    team_node second;
    team_node first;
    const char *url = gather(&first, &t);
    expect_refused(url, other_version, "install the same version");
    expect_refused(url, other_kernels, "unknown kernels");
    expect_refused(url, no_workers, "0 workers");
    start(&second, &t, url);
    team_node_wait(&second);
    team_node_wait(&first);
    cr_expect_eq(first.end.err, STRADS_OK);
    cr_expect_eq(second.end.err, STRADS_OK, "%s", second.end.text);
    strads_engine_free(second.engine);
    strads_engine_free(first.engine);
}

static void wait_counted(const char *url, const char *member, bool counted)
{
    cr_assert(forger_wait_counted(url, member, counted), "an answer");
}

Test(nodes_join, joining_twice_is_refused_with_the_reason)
{
    const team t = {.program = &nodes_toy, .nodes = 3};
    team_node first;
    forger f[2];
    team_node third;
    const char *url = gather(&first, &t);
    for (int k = 0; k < 2; k++) {
        cr_assert(forger_open(&f[k], url));
        sti_hello hello = forger_hello(&f[k]);
        hello.url = sti_net_url(f[0].net);
        forger_say(&f[k], STI_KIND_HELLO, STI_NODE_NONE, &hello);
        if (k == 0)
            wait_counted(url, hello.url, true);
    }
    forger_wait_lost(&f[1]);
    expect_text(f[1].text, "has joined this run already");
    start(&third, &t, url);
    forger_wait_welcome(&f[0]);
    team_node_wait(&first);
    team_node_wait(&third);
    cr_expect_eq(third.end.err, STRADS_OK, "%s", third.end.text);
    strads_engine_free(third.engine);
    strads_engine_free(first.engine);
    forger_close(&f[0]);
    forger_close(&f[1]);
}

/* Starts node 0 of three nodes. A forger joins as node 1 with the URL `member`
 * (NULL: its own) and does not answer HELLOs. */
static const char *listen_with(const team *t, team_node *first, forger *f,
                               const char *member)
{
    const char *url = gather(first, t);
    cr_assert(forger_open(f, url));
    f->silent = true;
    sti_hello hello = forger_hello(f);
    if (member)
        hello.url = member;
    forger_say(f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    wait_counted(url, hello.url, true);
    return url;
}

/* Before that, it could not send FAIL. */
Test(nodes_join, a_node_has_joined_when_all_have_met_it)
{
    const team t = {.program = &nodes_toy, .nodes = 3};
    team_node first;
    forger f;
    team_node third;
    start(&third, &t, listen_with(&t, &first, &f, NULL));
    forger_wait_called(&f);
    (void)usleep(50000);
    cr_expect_not(third.ended, "node 1 has not answered");
    forger_answer(&f);
    team_node_wait(&third);
    cr_expect_eq(third.end.err, STRADS_OK, "%s", third.end.text);
    team_node_wait(&first);
    strads_engine_free(third.engine);
    strads_engine_free(first.engine);
    forger_close(&f);
}

Test(nodes_join, the_place_of_one_that_leaves_early_goes_to_the_next)
{
    char folder[] = "/tmp/strads-nodes-XXXXXX", second_url[64];
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(second_url, sizeof second_url, "ipc://%s/2", folder);
    const team t = {.program = &nodes_toy,
                    .nodes = 4,
                    .joins = {NULL, second_url},
                    .options = {.partitions = 5}};
    char url[300];
    team_node work = {.team = &t};
    forger f;
    team_node others[3];
    cr_assert_eq(team_listen(&t, &work.engine), STRADS_OK);
    (void)snprintf(url, sizeof url, "%s", strads_engine_url(work.engine));
    team_node_start(&work, NULL);
    cr_assert(forger_open(&f, url));
    const sti_hello hello = forger_hello(&f);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    wait_counted(url, hello.url, true);
    start_node(&others[0], &t, 1, url);
    wait_counted(url, second_url, true);
    sti_net_part(f.net, f.link);
    wait_counted(url, hello.url, false);
    start_node(&others[1], &t, 2, url);
    start_node(&others[2], &t, 3, url);
    team_node_wait(&work);
    cr_expect_eq(work.end.err, STRADS_OK, "%s", work.end.text);
    for (int k = 0; k < 3; k++) {
        team_node_wait(&others[k]);
        cr_expect_eq(others[k].end.err, STRADS_OK, "%s", others[k].end.text);
    }
    forger_close(&f);
    cr_expect_eq(rmdir(folder), 0);
}

Test(nodes_join,
     a_node_without_the_program_gets_the_reason_and_the_run_continues)
{
    strads_program other = nodes_toy;
    other.name = "another";
    const team t = {.program = &nodes_toy, .nodes = 2};
    const team wrong = {.program = &other, .nodes = 2};
    team_node first;
    team_node second, third;
    const char *url = gather(&first, &t);
    start(&second, &wrong, url);
    team_node_wait(&second);
    expect_end(&second.end, STRADS_EMISMATCH, "give it the same program file");
    start(&third, &t, url);
    team_node_wait(&third);
    cr_expect_eq(third.end.err, STRADS_OK, "%s", third.end.text);
    team_node_wait(&first);
    cr_expect_eq(first.end.err, STRADS_OK, "%s", first.end.text);
    strads_engine_free(third.engine);
    strads_engine_free(first.engine);
}

/* As if other connections had evicted it: its HELLO is not read. */
Test(nodes_join,
     a_node_whose_connection_is_dropped_before_its_hello_dials_again)
{
    const team t = {.program = &nodes_toy, .nodes = 2};
    team_node first, second;
    relay *way = relay_open(gather(&first, &t));
    cr_assert_not_null(way);
    relay_hold(way, true);
    start(&second, &t, relay_url(way));
    for (unsigned k = 1; k <= 3; k++) {
        relay_wait_come(way, k);
        relay_cut(way);
    }
    relay_hold(way, false);
    team_node_wait(&second);
    cr_expect_eq(second.end.err, STRADS_OK, "%s", second.end.text);
    team_node_wait(&first);
    cr_expect_eq(first.end.err, STRADS_OK, "%s", first.end.text);
    strads_engine_free(second.engine);
    strads_engine_free(first.engine);
    relay_close(way);
}

/* Finds an address of this machine in a network; false: it has none. */
static bool find_address(char host[INET_ADDRSTRLEN])
{
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in at = {0};
    socklen_t size = sizeof at;
    (void)inet_pton(AF_INET, "192.0.2.1",
                    &far.sin_addr); /* UDP: sends nothing */
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const bool found = connect(fd, (void *)&far, sizeof far) == 0 &&
                       getsockname(fd, (void *)&at, &size) == 0;
    (void)close(fd);
    (void)inet_ntop(AF_INET, &at.sin_addr, host, INET_ADDRSTRLEN);
    return found && ntohl(at.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
}

static void expect_listens_like(const char *host)
{
    char url[64], wanted[64];
    (void)snprintf(url, sizeof url, "tcp://%s:0", host);
    (void)snprintf(wanted, sizeof wanted, "tcp://%s:", host);
    const team t = {.program = &nodes_toy,
                    .nodes = 2,
                    .listen = url,
                    .insecure = true};
    strads_engine *first;
    team_node second;
    pair(&t, &first, &second);
    const char *found = strads_engine_url(second.engine);
    cr_expect_eq(strncmp(found, wanted, strlen(wanted)), 0, "%s", found);
    strads_engine_free(second.engine);
    strads_engine_free(first);
}

Test(nodes_join, a_node_without_a_url_listens_where_it_reaches_node_0)
{
    char host[INET_ADDRSTRLEN];
    expect_listens_like("127.0.0.1");
    if (find_address(host))
        expect_listens_like(host);
}

/* Node 1 joins and vanishes. Node 2 must not dial it until the time limit. */
Test(nodes_join, dialling_a_node_that_is_gone_fails_at_once)
{
    const team t = {.program = &nodes_toy, .nodes = 3};
    team_node first;
    forger f;
    team_node third;
    start(&third, &t, listen_with(&t, &first, &f, "ipc:///nobody/is/here"));
    forger_wait_welcome(&f);
    forger_close(&f);
    team_node_wait(&first);
    expect_said(team_work(&t, 0, first.engine, NULL), STRADS_EPEER, "node 1");
    strads_engine_free(first.engine);
    team_node_wait(&third);
    expect_end(&third.end, STRADS_EPEER, "node 1");
}

Test(nodes_join, stopping_a_node_that_dials_ends_its_wait)
{
    static volatile bool stop = true;
    const team t = {.program = &nodes_toy, .stop = &stop};
    strads_engine *engine;
    expect_said(team_join(&t, 1, "ipc:///nobody/is/here", &engine),
                STRADS_ECANCELED, "nobody/is/here");
}

/* ---- answers that never come ------------------------------------------- */

static void make_ipc(char url[64])
{
    (void)snprintf(url, 64, "ipc:///tmp/strads-join-%d.%u", (int)getpid(),
                   (unsigned)(uintptr_t)url % 1000);
}

Test(nodes_join, joining_itself_is_refused_with_the_reason, .timeout = 20)
{
    char url[64];
    make_ipc(url);
    const team t = {.program = &nodes_toy, .joins = {NULL, url}};
    strads_engine *engine;
    expect_said(team_join(&t, 1, url, &engine), STRADS_EMISMATCH,
                "is not the coordinator of its run");
}

Test(nodes_join, joining_each_other_is_refused_with_the_reason, .timeout = 20)
{
    char a[64], b[80];
    make_ipc(a);
    (void)snprintf(b, sizeof b, "%s.too", a);
    const team t = {.program = &nodes_toy, .joins = {NULL, a, b}, .timeout = 5};
    team_node second;
    strads_engine *engine;
    start_node(&second, &t, 2, a);
    const strads_err err = team_join(&t, 1, b, &engine);
    cr_expect_neq(err, STRADS_OK, "%s", strads_error_text());
    team_node_wait(&second);
    cr_expect_neq(second.end.err, STRADS_OK, "%s", second.end.text);
}

Test(nodes_join, a_hello_without_an_answer_is_given_up_in_time, .timeout = 20)
{
    const team t = {.program = &nodes_toy, .timeout = 0.3};
    strads_engine *engine;
    forger f;
    cr_assert(forger_open_alone(&f));
    f.silent = true;
    expect_said(team_join(&t, 1, sti_net_url(f.net), &engine), STRADS_EIO,
                "did not answer this node's HELLO in time");
    forger_close(&f);
}

/* ---- impossible runs --------------------------------------------------- */

/* The nodes that node 0 has not refused must hear the reason, too, not only
 * that a node has left. */
static void expect_all_hear_of_other_data(uint32_t nodes, uint32_t other)
{
    team t = {.program = &nodes_toy, .nodes = nodes};
    team_end end[TEAM_MAX];
    strads_result *result;
    for (uint32_t k = 0; k < nodes; k++)
        t.rows[k] = 23 + (k >= other);
    team_run(&t, &result, end);
    cr_expect_null(result);
    expect_end(&end[0], STRADS_EMISMATCH, "row count of 24");
    for (uint32_t k = 1; k < nodes; k++)
        expect_end(&end[k], end[k].err ? end[k].err : STRADS_EMISMATCH,
                   "row count of 24");
}

Test(nodes_join, other_data_is_reported_to_all_nodes)
{
    for (uint32_t nodes = 2; nodes <= TEAM_MAX; nodes++)
        for (uint32_t other = 1; other < nodes; other++)
            expect_all_hear_of_other_data(nodes, other);
}

static _Thread_local bool shape_breaks;

static strads_err break_shape(const void *config, const strads_data *data,
                              strads_shape *shape)
{
    (void)config, (void)data, (void)shape;
    return shape_breaks ? strads_fail(STRADS_EPROGRAM, "the shape broke here")
                        : STRADS_OK;
}

Test(nodes_join, a_failure_reaches_nodes_that_still_read_their_data)
{
    strads_program program = nodes_toy_endless;
    program.shape = break_shape;
    const team t = {.program = &program, .nodes = 2};
    strads_engine *first;
    team_node second;
    pair(&t, &first, &second);
    shape_breaks = true;
    expect_said(team_work(&t, 0, first, NULL), STRADS_EPROGRAM,
                "the shape broke here");
    shape_breaks = false;
    expect_said(team_work(&t, 1, second.engine, NULL), STRADS_EPEER,
                "the shape broke here");
    strads_engine_free(second.engine);
    strads_engine_free(first);
}

Test(nodes_join, all_nodes_get_the_reason_if_the_run_does_not_suit_one)
{
    const team t = {.program = &nodes_toy,
                    .nodes = 3,
                    .workers = {2, 2, 1},
                    .options = {.partitions = 4}};
    team_end end[TEAM_MAX];
    strads_result *result;
    team_run(&t, &result, end);
    cr_expect_null(result);
    expect_end(&end[0], STRADS_EINVAL, "4 partitions for 5 workers");
    for (int k = 1; k < 3; k++)
        expect_end(&end[k], STRADS_EPEER, "4 partitions for 5 workers");
}

Test(nodes_join, an_engine_after_a_failed_run_reports_that)
{
    strads_program program = nodes_toy_endless;
    program.shape = break_shape;
    const team t = {.program = &program, .nodes = 1};
    strads_engine *engine;
    cr_assert_eq(team_listen(&t, &engine), STRADS_OK);
    shape_breaks = true;
    expect_said(team_work(&t, 0, engine, NULL), STRADS_EPROGRAM, "broke");
    shape_breaks = false;
    cr_expect_str_eq(strads_engine_url(engine), "");
    expect_said(team_work(&t, 0, engine, NULL), STRADS_ESTATE, "another run");
    strads_result *result = NULL;
    expect_said(strads_engine_run(engine, NULL, &result), STRADS_ESTATE,
                "another run");
    strads_engine_free(engine);
}

Test(nodes_join, an_engine_runs_once)
{
    const team t = {.program = &nodes_toy, .nodes = 1};
    strads_engine *engine;
    cr_assert_eq(team_listen(&t, &engine), STRADS_OK);
    cr_expect_eq(team_work(&t, 0, engine, NULL), STRADS_OK);
    expect_said(team_work(&t, 0, engine, NULL), STRADS_ESTATE, "another run");
    strads_engine_free(engine);
}

static strads_err make_tables(const void *config, const strads_shape *shape,
                              strads_store *store)
{
    (void)config, (void)shape, (void)store;
    return STRADS_OK;
}

Test(nodes_join, a_program_with_tables_is_refused_on_several_nodes)
{
    strads_program program = nodes_toy_endless;
    program.tables = make_tables;
    strads_engine *engine;
    const team two = {.program = &program, .nodes = 2};
    expect_said(team_listen(&two, &engine), STRADS_EINVAL, "tables");
    const team one = {.program = &program, .nodes = 1};
    cr_expect_eq(team_listen(&one, &engine), STRADS_OK);
    strads_engine_free(engine);
}

/* ---- kernels ----------------------------------------------------------- */

Test(nodes_join, an_unknown_word_for_the_kernels_ends_every_kind_of_run)
{
    (void)setenv("STRADS_KERNELS", "nonsense", 1);
    const team t = {.program = &nodes_toy, .nodes = 1};
    strads_engine *engine;
    expect_said(team_listen(&t, &engine), STRADS_EINVAL, "portable, avx2");
    expect_said(team_join(&t, 1, "tcp://127.0.0.1:1", &engine), STRADS_EINVAL,
                "'nonsense'");
    const toy_run run = {.program = &nodes_toy};
    expect_said(toy_run_it(&run, NULL), STRADS_EINVAL, "'nonsense'");
}
