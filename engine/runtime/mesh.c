/* The nodes' links: opening and closing, the table of peers, the attachment.
 * How nodes come together is in mesh_gather.c (node 0) and mesh_join.c (the
 * others), what arrives in mesh_arrival.c, what is sent in mesh_send.c. */
#include "engine/runtime/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/role/message_codec.h"

/* ---- opening and closing ----------------------------------------------- */

strads_err sti_mesh_open(const char *url, const volatile bool *stop,
                         sti_mesh **out)
{
    sti_mesh *mesh = calloc(1, sizeof *mesh);
    if (!mesh)
        return strads_fail(STRADS_ENOMEM, "no memory for the nodes' links");
    mesh->stop = stop;
    mesh->last = &mesh->first;
    pthread_mutex_init(&mesh->lock, NULL);
    pthread_cond_init(&mesh->arrived, NULL);
    pthread_cond_init(&mesh->delivered, NULL);
    const sti_net_options options = {
        .listen_url = url,
        .node = STI_NODE_NONE,
        .arg = mesh,
        .limit_of = sti_mesh_limit,
        .gives_up = sti_mesh_gives_up,
        .events = {.received = sti_mesh_received, .lost = sti_mesh_lost},
    };
    strads_err err = sti_net_open(&options, &mesh->net);
    if (err) {
        sti_mesh_close(mesh, false);
        return err;
    }
    *out = mesh;
    return STRADS_OK;
}

void sti_mesh_say_failed(sti_mesh *mesh, strads_err err, const char *text)
{
    sti_object *failure = sti_failure_object(err, text);
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        if (!mesh->peers[k].link)
            continue;
        sti_writer w = {0};
        sti_msg msg = {.kind = STI_MSG_FAIL, .object = failure};
        if (sti_msg_encode(&msg, &w) == STRADS_OK) {
            const sti_outgoing frame = {
                .header = {.kind = STI_KIND_ROLE + STI_MSG_FAIL,
                           .from = mesh->node,
                           .to = k,
                           .index = k ? STI_WORKER_0 : STI_COORDINATOR},
                .parts = {{w.bytes, w.size}},
                .part_count = 1,
            };
            (void)sti_net_send(mesh->net, mesh->peers[k].link, &frame);
        }
        sti_writer_free(&w);
    }
    sti_object_drop(failure);
}

void sti_mesh_close(sti_mesh *mesh, bool failed)
{
    if (!mesh)
        return;
    pthread_mutex_lock(&mesh->lock);
    mesh->leaving = true;
    pthread_mutex_unlock(&mesh->lock);
    char text[1024]; /* why it failed outlives what fails while parting */
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    if (failed && mesh->net)
        sti_mesh_say_failed(mesh, STRADS_EPEER, text);
    (void)sti_net_close(mesh->net, 10 * STI_SECOND);
    (void)strads_fail(STRADS_EPEER, "%s", text);
    while (mesh->first) {
        sti_arrival *a = mesh->first;
        mesh->first = a->next;
        sti_mesh_free_arrival(a);
    }
    free(mesh->peers);
    pthread_cond_destroy(&mesh->delivered);
    pthread_cond_destroy(&mesh->arrived);
    pthread_mutex_destroy(&mesh->lock);
    free(mesh);
}

const char *sti_mesh_url(const sti_mesh *mesh)
{
    return sti_net_url(mesh->net);
}

uint32_t sti_mesh_node(const sti_mesh *mesh)
{
    return mesh->node;
}

uint32_t sti_mesh_nodes(const sti_mesh *mesh)
{
    return mesh->nodes;
}

uint32_t sti_mesh_workers(const sti_mesh *mesh, uint32_t node)
{
    return mesh->peers[node].workers;
}

void sti_mesh_attach(sti_mesh *mesh, const sti_run *run,
                     const sti_mesh_host *host, sti_trace *trace)
{
    pthread_mutex_lock(&mesh->lock);
    mesh->run = run;
    mesh->loops = run->program->run != NULL;
    mesh->host = *host;
    mesh->attached = true;
    mesh->trace = trace;
    if (mesh->failure)
        host->abort(host->arg, mesh->failure, mesh->failure_text);
    pthread_mutex_unlock(&mesh->lock);
}

void sti_mesh_detach(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    mesh->attached = false;
    mesh->trace = NULL;
    while (mesh->delivering)
        pthread_cond_wait(&mesh->delivered, &mesh->lock);
    mesh->run = NULL;
    pthread_mutex_unlock(&mesh->lock);
}

void sti_mesh_count(const sti_mesh *mesh, uint64_t *sent, uint64_t *received)
{
    sti_net_counts counts;
    sti_net_count(mesh->net, &counts);
    *sent = counts.bytes_sent;
    *received = counts.bytes_received;
}

uint32_t sti_mesh_node_of(const sti_mesh *mesh, sti_link link)
{
    for (uint32_t k = 0; link && k < mesh->nodes; k++)
        if (mesh->peers[k].link == link)
            return k;
    return STI_NODE_NONE;
}

strads_err sti_mesh_number(sti_mesh *mesh, uint32_t node, uint32_t nodes)
{
    sti_peer *peers = calloc(nodes, sizeof *peers);
    if (!peers)
        return strads_fail(STRADS_ENOMEM, "no memory for %u nodes", nodes);
    pthread_mutex_lock(&mesh->lock);
    sti_peer *old = mesh->peers;
    mesh->peers = peers;
    mesh->node = node;
    mesh->nodes = nodes;
    pthread_mutex_unlock(&mesh->lock);
    free(old);
    sti_net_set_node(mesh->net, node);
    return STRADS_OK;
}

sti_hello sti_mesh_hello(const sti_mesh *mesh)
{
    return (sti_hello){
        .protocol = STI_PROTOCOL,
        .version_major = STRADS_VERSION_MAJOR,
        .version_minor = STRADS_VERSION_MINOR,
        .program = "",
        .kernel_level = strads_kernels(),
        .wanted_node = STI_NODE_NONE,
        .url = sti_mesh_url(mesh),
    };
}
