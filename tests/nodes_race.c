/* Runs of several nodes inside one process, for a race detector to watch: one
 * that ends well, with traces; one whose partials go in slices; one that a
 * stranger and a late comer knock at; one that fails in the middle, and one
 * that a node leaves there. Exits with 1 when an end is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/link_node.h"
#include "tests/nodes_forger.h"
#include "tests/nodes_team.h"
#include "tests/nodes_toy.h"
#include "tests/wide_toy.h"

static int wrong;

static void expect(bool right, const char *what, const char *text)
{
    if (right)
        return;
    wrong = 1;
    fprintf(stderr, "%s: %s\n", what, text);
}

static void run(const team *t, strads_err err, const char *what)
{
    team_end end[TEAM_MAX];
    strads_result *result;
    team_run(t, &result, end);
    for (uint32_t k = 0; k < t->nodes; k++)
        expect(end[k].err == err || (err && end[k].err == STRADS_EPEER), what,
               end[k].text);
    expect(!err == (result != NULL), what, "a result");
    strads_result_free(result);
}

static void errands(void)
{
    char folder[] = "/tmp/strads-nodes-XXXXXX", trace[3][64];
    team t = {.program = &nodes_toy,
              .nodes = 3,
              .workers = {2, 1, 3},
              .options = {.seed = 3, .partitions = 7, .depth = 2}};
    if (!mkdtemp(folder)) {
        wrong = 1;
        return;
    }
    for (uint32_t k = 0; k < 3; k++) {
        (void)snprintf(trace[k], sizeof trace[k], "%s/%u", folder, k);
        t.trace[k] = trace[k];
    }
    run(&t, STRADS_OK, "errands");
    for (uint32_t k = 0; k < 3; k++)
        (void)unlink(trace[k]);
    (void)rmdir(folder);
}

typedef struct visit {
    char url[300];
    int reports;
} visit;

static void note_url(void *arg, const char *url)
{
    visit *v = arg;
    (void)snprintf(v->url, sizeof v->url, "%s", url);
}

static void knock(void *arg, const strads_progress *progress)
{
    visit *v = arg;
    forger f;
    (void)progress;
    if (v->reports++ != 3)
        return;
    int fd = raw_connect(v->url);
    raw_write(fd, "who are you", 11);
    close(fd);
    if (!forger_open(&f, v->url)) {
        wrong = 1;
        return;
    }
    const sti_hello hello = forger_hello(&f);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    forger_wait_lost(&f);
    expect(f.rejected, "a late comer", f.text);
    forger_close(&f);
}

static void visitors(void)
{
    visit v = {0};
    const team t = {.program = &nodes_toy_endless,
                    .nodes = 3,
                    .workers = {1, 2, 1},
                    .listening = note_url,
                    .arg = &v,
                    .options = {.max_rounds = 100,
                                .depth = 1,
                                .progress = knock,
                                .progress_arg = &v}};
    run(&t, STRADS_OK, "visitors");
}

static strads_err break_down(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] = 1;
    return task->round == 30 && task->share->partition == 3
               ? strads_fail(STRADS_EPROGRAM, "broken on purpose")
               : STRADS_OK;
}

static void failure(void)
{
    strads_program program = nodes_toy_endless;
    program.update = break_down;
    const team t = {.program = &program,
                    .nodes = 3,
                    .workers = {1, 2, 1},
                    .options = {.partitions = 5, .depth = 2}};
    run(&t, STRADS_EPROGRAM, "failure");
}

static void *come_and_go(void *arg)
{
    forger f;
    if (!forger_open(&f, arg)) {
        wrong = 1;
        return NULL;
    }
    const sti_hello hello = forger_hello(&f);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    forger_wait_welcome(&f);
    forger_say_ready(&f, &nodes_toy_endless, 2);
    forger_wait_dispatch(&f);
    forger_close(&f);
    return NULL;
}

static void departure(void)
{
    const team t = {.program = &nodes_toy_endless, .nodes = 2};
    char url[300];
    pthread_t other;
    strads_engine *engine;
    if (team_listen(&t, &engine)) {
        wrong = 1;
        return;
    }
    (void)snprintf(url, sizeof url, "%s", strads_engine_url(engine));
    (void)pthread_create(&other, NULL, come_and_go, url);
    strads_err err = team_work(&t, 0, engine, NULL);
    expect(err == STRADS_EPEER &&
               strstr(strads_error_text(), "left the run before it was over"),
           "departure", strads_error_text());
    pthread_join(other, NULL);
    strads_engine_free(engine);
}

/* Partials that go in slices, of which some are sent while others are merged
 * into the same bytes. */
static void slices(void)
{
    const team t = {.program = &wide_toy,
                    .nodes = 2,
                    .workers = {2, 3},
                    .options = {.partitions = 11, .depth = 2}};
    run(&t, STRADS_OK, "slices");
}

int main(void)
{
    for (int k = 0; k < 3; k++) {
        errands();
        slices();
        visitors();
        failure();
        departure();
    }
    return wrong;
}
