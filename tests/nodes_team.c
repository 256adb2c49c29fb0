/* See nodes_team.h. */
#include "tests/nodes_team.h"

#include <stdio.h>
#include <string.h>

#include "tests/toy_data.h"

static const strads_program *find(void *arg, const char *name)
{
    const team *t = arg;
    return strcmp(name, t->program->name) == 0 ? t->program : NULL;
}

strads_err team_listen(const team *t, strads_engine **out)
{
    static _Thread_local strads_engine_options options;
    options = t->options;
    options.size = sizeof options;
    options.listen = t->listen ? t->listen : "tcp://127.0.0.1:0";
    options.nodes = t->nodes;
    options.workers = t->workers[0] ? t->workers[0] : 1;
    options.trace = t->trace[0];
    options.insecure = t->insecure;
    return strads_engine_listen(t->program, t->config, &options, out);
}

strads_err team_join(const team *t, uint32_t node, const char *url,
                     strads_engine **out)
{
    const strads_join_options options = {
        .size = sizeof options,
        .workers = t->workers[node] ? t->workers[node] : 1,
        .listen = t->joins[node],
        .stop = t->stop,
        .timeout = t->timeout,
        .insecure = t->insecure,
        .trace = t->trace[node],
        .find = find,
        .find_arg = (void *)(uintptr_t)t,
    };
    return strads_engine_join(url, &options, out);
}

strads_err team_work(const team *t, uint32_t node, strads_engine *engine,
                     strads_result **out)
{
    strads_data_options keep = {.size = sizeof keep};
    strads_data *data = NULL;
    strads_result *result = NULL;
    strads_err err = strads_engine_keep(engine, &keep);
    if (!err && t->path)
        err = strads_data_read(t->path, &keep, &data);
    else if (!err)
        data = toy_data(t->program, t->rows[node] ? t->rows[node] : 23, 17,
                        keep.partitions);
    if (!err)
        err = strads_engine_run(engine, data, &result);
    strads_data_free(data);
    if (out)
        *out = result;
    else
        strads_result_free(result);
    return err;
}

static void say_end(team_end *end, strads_err err)
{
    end->err = err;
    (void)snprintf(end->text, sizeof end->text, "%s",
                   err ? strads_error_text() : "");
}

static void *live(void *arg)
{
    team_node *n = arg;
    strads_data_options keep = {.size = sizeof keep};
    strads_err err = STRADS_OK;
    if (!n->engine)
        err = team_join(n->team, n->node, n->url, &n->engine);
    if (!err && n->until == TEAM_KEEPS)
        err = strads_engine_keep(n->engine, &keep);
    if (!err && n->until == TEAM_WORKS)
        err = team_work(n->team, n->node, n->engine, NULL);
    say_end(&n->end, err);
    if (n->until == TEAM_WORKS) {
        strads_engine_free(n->engine);
        n->engine = NULL;
    }
    n->ended = true;
    return NULL;
}

void team_node_start(team_node *node, const char *url)
{
    (void)snprintf(node->url, sizeof node->url, "%s", url ? url : "");
    (void)pthread_create(&node->thread, NULL, live, node);
}

void team_node_wait(team_node *node)
{
    pthread_join(node->thread, NULL);
}

void team_run(const team *t, strads_result **out, team_end end[TEAM_MAX])
{
    team_node members[TEAM_MAX];
    strads_engine *engine = NULL;
    *out = NULL;
    strads_err err = team_listen(t, &engine);
    if (err) {
        say_end(&end[0], err);
        return;
    }
    char url[300];
    (void)snprintf(url, sizeof url, "%s", strads_engine_url(engine));
    if (t->listening)
        t->listening(t->arg, url);
    for (uint32_t k = 1; k < t->nodes; k++) {
        members[k] = (team_node){.team = t, .node = k};
        team_node_start(&members[k], t->urls[k] ? t->urls[k] : url);
    }
    say_end(&end[0], team_work(t, 0, engine, out));
    strads_engine_free(engine);
    for (uint32_t k = 1; k < t->nodes; k++) {
        team_node_wait(&members[k]);
        end[k] = members[k].end;
    }
}
