/* Runs of several nodes of which one is killed, stopped, leaves or receives
 * garbage. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/run/nodes_terms.h"
#include "engine/net/mesh_state.h"
#include "tests/expect.h"
#include "tests/link_node.h"
#include "tests/nodes_forger.h"
#include "tests/nodes_team.h"
#include "tests/nodes_toy.h"
#include "tests/toy_data.h"

/* ---- killed ------------------------------------------------------------ */

/* One node is a separate process, forked before this one has any connection. It
 * receives the URL through a pipe. */
typedef struct victim {
    pid_t pid;
    int pipe[2];
    bool killed;
} victim;

static void live_as_victim(const victim *v)
{
    char url[300] = "";
    strads_engine *engine;
    const team t = {.program = &nodes_toy_endless, .nodes = 3};
    if (read(v->pipe[0], url, sizeof url - 1) > 0 &&
        team_join(&t, 1, url, &engine) == STRADS_OK)
        (void)team_work(&t, 1, engine, NULL);
    _exit(1);
}

static void tell_url(void *arg, const char *url)
{
    const victim *v = arg;
    size_t n = strlen(url);
    cr_assert_eq(write(v->pipe[1], url, n), (ssize_t)n);
}

static void kill_it(void *arg, const strads_progress *progress)
{
    victim *v = arg;
    if (v->killed || progress->round < 20)
        return;
    v->killed = true;
    cr_assert_eq(kill(v->pid, SIGKILL), 0);
}

static void expect_loss(const char *listen)
{
    victim v = {0};
    cr_assert_eq(pipe(v.pipe), 0);
    v.pid = fork();
    if (v.pid == 0)
        live_as_victim(&v);
    const team t = {.program = &nodes_toy_endless,
                    .nodes = 3,
                    .listen = listen,
                    .options = {.progress = kill_it, .progress_arg = &v}};
    team_node s = {.team = &t, .node = 2};
    strads_engine *engine;
    expect_ok(team_listen(&t, &engine));
    tell_url(&v, strads_engine_url(engine));
    team_node_start(&s, strads_engine_url(engine));
    expect_error(team_work(&t, 0, engine, NULL), STRADS_EPEER, "was lost");
    strads_engine_free(engine);
    team_node_wait(&s);
    cr_expect_eq(s.end.err, STRADS_EPEER, "%s", s.end.text);
    cr_expect_not_null(strstr(s.end.text, "was lost"), "%s", s.end.text);
    cr_expect_null(strstr(s.end.text, "nothing was received"),
                   "by its silence");
    cr_assert_eq(waitpid(v.pid, NULL, 0), v.pid);
    close(v.pipe[0]);
    close(v.pipe[1]);
}

Test(nodes_loss, a_killed_node_ends_the_run_on_all_others_over_tcp)
{
    expect_loss("tcp://127.0.0.1:0");
}

Test(nodes_loss, a_killed_node_ends_the_run_on_all_others_over_ipc)
{
    char folder[] = "/tmp/strads-nodes-XXXXXX", url[64];
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(url, sizeof url, "ipc://%s/run", folder);
    expect_loss(url);
    cr_expect_eq(rmdir(folder), 0);
}

/* ---- stopped by its user ----------------------------------------------- */

static void tell_to_stop(void *arg, const strads_progress *progress)
{
    if (progress->round > 20)
        __atomic_store_n((volatile bool *)arg, true, __ATOMIC_RELAXED);
}

Test(nodes_loss, a_node_that_its_user_stops_ends_the_run_with_the_model)
{
    volatile bool stop = false;
    const team t = {.program = &nodes_toy_endless,
                    .nodes = 2,
                    .stop = &stop,
                    .options = {.progress = tell_to_stop,
                                .progress_arg = (void *)(uintptr_t)&stop}};
    team_node q = {.team = &t, .node = 1};
    strads_engine *engine;
    cr_assert_eq(team_listen(&t, &engine), STRADS_OK);
    team_node_start(&q, strads_engine_url(engine));
    strads_result *result = NULL;
    expect_ok(team_work(&t, 0, engine, &result));
    team_node_wait(&q);
    cr_expect_eq(q.end.err, STRADS_OK);
    cr_expect_eq(strads_result_end(result), STRADS_END_CANCELED);
    strads_result_free(result);
    strads_engine_free(engine);
}

/* ---- goodbyes ---------------------------------------------------------- */

static void expect_end(const team_end *end, const char *who, const char *why)
{
    cr_expect_eq(end->err, STRADS_EPEER, "%d: %s", (int)end->err, end->text);
    cr_expect_not_null(strstr(end->text, who), "no %s in: %s", who, end->text);
    cr_expect_not_null(strstr(end->text, why), "no %s in: %s", why, end->text);
}

static void say_nothing(forger *f)
{
    (void)f;
}

static void claim_to_be_done(forger *f)
{
    forger_send(f, STI_KIND_DONE, 1, 0);
    forger_wait_lost(f);
}

/* A run of three nodes. Node 1, a forger, receives work and leaves after
 * `last_words`. The other nodes must report `why`. */
static void expect_departure(void (*last_words)(forger *f), const char *why)
{
    const team t = {.program = &nodes_toy_endless, .nodes = 3};
    team_node l = {.team = &t}, s = {.team = &t, .node = 2};
    char url[300];
    forger f;
    cr_assert_eq(team_listen(&t, &l.engine), STRADS_OK);
    (void)snprintf(url, sizeof url, "%s", strads_engine_url(l.engine));
    team_node_start(&l, NULL);
    cr_assert(forger_open(&f, url));
    const sti_hello hello = forger_hello(&f);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    cr_assert(forger_wait_counted(url, hello.url, true));
    team_node_start(&s, url);
    forger_wait_welcome(&f);
    forger_say_ready(&f, t.program, 3);
    forger_wait_dispatch(&f);
    cr_expect(f.dispatched, "%s", f.text);
    forger_wait_called(&f); /* node 2 has its link to node 1 */
    last_words(&f);
    forger_close(&f);
    team_node_wait(&l);
    team_node_wait(&s);
    expect_end(&l.end, "node 1 at", why);
    expect_end(&s.end, "node 1 at", why);
}

Test(nodes_loss, a_goodbye_in_mid_run_ends_it_on_all_nodes)
{
    expect_departure(say_nothing, "left the run before it was over");
}

Test(nodes_loss, no_node_is_done_before_the_coordinator_has_closed_the_run)
{
    expect_departure(claim_to_be_done, "node 1 at");
}

static const sti_mesh_options loopback = {.url = "tcp://127.0.0.1:0"};

/* Node 0 until the other node is ready. */
static void call_together(sti_mesh *mesh, const team *t)
{
    uint32_t workers[] = {1, 1};
    strads_engine_options options = {.partitions = 2, .reconnect = 10};
    const sti_run_terms terms = {.program = t->program,
                                 .options = &options,
                                 .nodes = 2,
                                 .workers = workers};
    char *text = sti_run_terms_write(&terms);
    strads_data *data = toy_data(t->program, 23, 17, 2);
    const sti_data_mark mark = {.rows = strads_data_rows(data),
                                .cols = strads_data_cols(data),
                                .nnz = strads_data_nnz(data),
                                .checksum = strads_data_checksum(data)};
    cr_assert_eq(sti_mesh_gather(mesh, 2, t->program->name, UINT64_MAX, NULL),
                 STRADS_OK);
    cr_assert_eq(sti_mesh_welcome(mesh, text, 0), STRADS_OK);
    expect_ok(sti_mesh_ready(mesh, &mark));
    strads_data_free(data);
    free(text);
}

Test(nodes_loss, a_coordinators_goodbye_ends_the_run)
{
    const team t = {.program = &nodes_toy_endless, .nodes = 2};
    team_node s = {.team = &t, .node = 2};
    sti_mesh *mesh;
    cr_assert_eq(sti_mesh_open(&loopback, &mesh), STRADS_OK);
    team_node_start(&s, sti_mesh_url(mesh));
    call_together(mesh, &t);
    sti_mesh_close(mesh, STRADS_OK);
    team_node_wait(&s);
    expect_end(&s.end, "node 0 at", "left the run before it was over");
}

/* ---- the normal end ---------------------------------------------------- */

static team_node others[2];

static strads_err remember_partition(const strads_task *task, void **local)
{
    uint32_t *partition = malloc(sizeof *partition);
    cr_assert_not_null(partition);
    *partition = task->share->partition;
    *local = partition;
    return STRADS_OK;
}

/* Partition 2 is closed after another node has left. */
static void close_late(void *local)
{
    const uint32_t *partition = local;
    while (*partition == 2 && !others[0].ended && !others[1].ended)
        (void)usleep(1000);
    free(local);
}

Test(nodes_loss, a_node_that_is_done_may_leave_while_others_work)
{
    strads_program program = nodes_toy_endless;
    program.open = remember_partition;
    program.close = close_late;
    const team t = {.program = &program,
                    .nodes = 3,
                    .options = {.max_rounds = 40}};
    strads_engine *engine;
    cr_assert_eq(team_listen(&t, &engine), STRADS_OK);
    for (int k = 0; k < 2; k++) {
        others[k] = (team_node){.team = &t, .node = 2};
        team_node_start(&others[k], strads_engine_url(engine));
    }
    expect_ok(team_work(&t, 0, engine, NULL));
    for (int k = 0; k < 2; k++) {
        team_node_wait(&others[k]);
        cr_expect_eq(others[k].end.err, STRADS_OK, "%s", others[k].end.text);
    }
    strads_engine_free(engine);
}

/* Runs a mesh in which node 1 sends DONE, or nothing, and then breaks its link
 * without a goodbye. Returns the failure that node 0 has recorded. */
static strads_err break_off(bool done)
{
    sti_mesh *mesh;
    forger f;
    cr_assert_eq(sti_mesh_open(&loopback, &mesh), STRADS_OK);
    sti_mesh_set_window(mesh, 0); /* broken links are not restored */
    cr_assert(forger_open(&f, sti_mesh_url(mesh)));
    const sti_hello hello = forger_hello(&f);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    cr_assert_eq(sti_mesh_gather(mesh, 2, "toy", UINT64_MAX, NULL), STRADS_OK);
    const sti_link link = mesh->peers[1].link;
    pthread_mutex_lock(&mesh->lock);
    mesh->closing = true; /* as if this node had sent CLOSE */
    pthread_mutex_unlock(&mesh->lock);
    bool said = false;
    if (done)
        forger_send(&f, STI_KIND_DONE, 1, 0);
    while (done && !said) {
        pthread_mutex_lock(&mesh->lock);
        said = mesh->peers[1].is_done;
        pthread_mutex_unlock(&mesh->lock);
        (void)sched_yield();
    }
    sti_net_drop(f.net, f.link, "on purpose");
    while (sti_net_bind(mesh->net, link, 1) == STRADS_OK)
        (void)sched_yield();
    const strads_err err = sti_mesh_failure(mesh);
    sti_mesh_close(mesh, STRADS_OK);
    forger_close(&f);
    return err;
}

Test(nodes_loss, how_a_node_goes_that_is_done_does_not_matter)
{
    cr_expect_eq(break_off(false), STRADS_EPEER);
    expect_ok(break_off(true));
}

/* ---- garbage ----------------------------------------------------------- */

typedef struct vandal {
    char url[300];
    int attacks;
    int held[2]; /* connections that are silent until the run ends */
} vandal;

static void note_url(void *arg, const char *url)
{
    vandal *v = arg;
    (void)snprintf(v->url, sizeof v->url, "%s", url);
}

static void throw_bytes(const vandal *v, unsigned kind)
{
    unsigned char bytes[4096];
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (unsigned char)(k * 31 + kind);
    int fd = raw_connect(v->url);
    if (kind == 1) { /* a payload over a stranger's limit */
        const sti_header header = raw_header(STI_KIND_HELLO, 0, 1u << 30);
        sti_frame_encode_header(&header, bytes);
    } else if (kind == 2) { /* a frame from node 1 without HELLO */
        const sti_header header = raw_header(16 + 16 + 2, 1, 0);
        sti_frame_encode_header(&header, bytes);
    } else if (kind == 3) {
        memcpy(bytes, "GET / HTTP/1.1\r\n\r\n", 18);
    }
    raw_write(fd, bytes, kind == 4 ? 7 : sizeof bytes);
    if (kind == 4)
        close(fd);
    else
        raw_wait_closed(fd);
}

static void attack(void *arg, const strads_progress *progress)
{
    vandal *v = arg;
    (void)progress;
    if (v->attacks == 0)
        for (int k = 0; k < 2; k++)
            v->held[k] = raw_connect(v->url);
    if (v->attacks++ < 5)
        throw_bytes(v, (unsigned)v->attacks - 1);
}

Test(nodes_loss, garbage_at_the_listening_port_does_not_disturb_a_run)
{
    vandal v = {0};
    const team t = {.program = &nodes_toy_endless,
                    .nodes = 3,
                    .listening = note_url,
                    .arg = &v,
                    .options = {.max_rounds = 200,
                                .partitions = 4,
                                .progress = attack,
                                .progress_arg = &v}};
    strads_result *result = expect_team(&t);
    cr_expect_geq(v.attacks, 5);
    cr_expect_eq(strads_result_progress(result)->round, 200);
    strads_result_free(result);
    for (int k = 0; k < 2; k++)
        close(v.held[k]);
}
