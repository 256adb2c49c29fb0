/* The nodes' links: opening and closing, the table of peers, the attachment.
 * How nodes come together is in mesh_gather.c (node 0) and mesh_join.c (the
 * others), what arrives in mesh_arrival.c, what is sent in mesh_send.c, what
 * happens when a link breaks in mesh_mend.c. */
#include "engine/net/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/round/message_codec.h"

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
    (void)sti_monotonic_cond_init(&mesh->arrived);
    pthread_cond_init(&mesh->delivered, NULL);
    (void)sti_monotonic_cond_init(&mesh->mend);
    mesh->window_ns = 10 * STI_SECOND;
    const sti_net_options options = {
        .listen_url = url,
        .node = STI_NODE_NONE,
        .arg = mesh,
        .limit_of = sti_mesh_limit,
        .gives_up = sti_mesh_gives_up,
        .events = {.received = sti_mesh_received, .lost = sti_mesh_lost},
    };
    strads_err err = sti_net_open(&options, &mesh->net);
    if (!err)
        err = sti_mender_start(mesh);
    if (err) {
        sti_mesh_close(mesh, false);
        return err;
    }
    *out = mesh;
    return STRADS_OK;
}

void sti_mesh_rules(sti_mesh *mesh, double window, bool takes_shards)
{
    mesh->window_ns = (uint64_t)(window * 1e9);
    mesh->takes_shards = takes_shards;
}

sti_mesh_ticket sti_mesh_ticket_of(const sti_mesh *mesh)
{
    return (sti_mesh_ticket){.run = mesh->run_id, .node = mesh->node};
}

void sti_mesh_expect_back(sti_mesh *mesh, uint32_t node)
{
    pthread_mutex_lock(&mesh->lock);
    mesh->peers[node].comes_back = true;
    pthread_mutex_unlock(&mesh->lock);
}

void sti_mesh_say_failed(sti_mesh *mesh, strads_err err, const char *text)
{
    sti_object *failure = sti_failure_object(err, text);
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        if (k == mesh->node)
            continue;
        sti_writer w = {0};
        const sti_msg msg = {.kind = STI_MSG_FAIL, .object = failure};
        const sti_header header = {.kind = STI_KIND_ROLE + STI_MSG_FAIL,
                                   .from = mesh->node,
                                   .to = k,
                                   .index = k ? STI_WORKER_0 : STI_COORDINATOR};
        if (sti_msg_encode(&msg, &w) == STRADS_OK)
            (void)sti_mesh_put(mesh, k, header, &w, 0);
        else
            sti_writer_free(&w);
    }
    sti_object_drop(failure);
}

/* Who is not through may be waiting for what this node said last. */
static void drain(sti_mesh *mesh)
{
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        pthread_mutex_lock(&mesh->lock);
        bool waits = k != mesh->node && !mesh->peers[k].said_done;
        pthread_mutex_unlock(&mesh->lock);
        if (waits)
            sti_retransmit_drain(&mesh->retransmit[k], mesh->window_ns);
    }
}

static void mesh_free(sti_mesh *mesh)
{
    while (mesh->first) {
        sti_arrival *a = mesh->first;
        mesh->first = a->next;
        sti_mesh_free_arrival(a);
    }
    for (uint32_t k = 0; mesh->retransmit && k < mesh->nodes; k++)
        sti_retransmit_destroy(&mesh->retransmit[k]);
    free(mesh->retransmit);
    free(mesh->peers);
    free(mesh->options);
    pthread_cond_destroy(&mesh->mend);
    pthread_cond_destroy(&mesh->delivered);
    pthread_cond_destroy(&mesh->arrived);
    pthread_mutex_destroy(&mesh->lock);
    free(mesh);
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
    else if (mesh->said_done)
        drain(mesh);
    sti_mender_stop(mesh);
    (void)sti_net_close(mesh->net, 10 * STI_SECOND);
    (void)strads_fail(STRADS_EPEER, "%s", text);
    mesh_free(mesh);
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
    mesh->asks = run->schedulers > 1;
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

/* Once: retransmit queues stay where they are. */
strads_err sti_mesh_number(sti_mesh *mesh, uint32_t node, uint32_t nodes)
{
    sti_peer *peers = calloc(nodes, sizeof *peers);
    sti_retransmit *retransmit = calloc(nodes, sizeof *retransmit);
    if (!peers || !retransmit) {
        free(peers);
        free(retransmit);
        return strads_fail(STRADS_ENOMEM, "no memory for %u nodes", nodes);
    }
    for (uint32_t k = 0; k < nodes; k++) {
        sti_retransmit_init(&retransmit[k], mesh->net);
        peers[k].dialled = k < node;
    }
    pthread_mutex_lock(&mesh->lock);
    mesh->peers = peers;
    mesh->retransmit = retransmit;
    mesh->node = node;
    mesh->nodes = nodes;
    pthread_mutex_unlock(&mesh->lock);
    sti_net_set_node(mesh->net, node);
    return STRADS_OK;
}

/* What is lost while the retransmit queues are told shows as an arrival. */
bool sti_mesh_settle(sti_mesh *mesh)
{
    for (uint32_t k = 0; k < mesh->nodes; k++)
        if (mesh->peers[k].link)
            (void)sti_retransmit_go_on(&mesh->retransmit[k],
                                       mesh->peers[k].link, 0, NULL);
    pthread_mutex_lock(&mesh->lock);
    mesh->settled = !mesh->first;
    pthread_mutex_unlock(&mesh->lock);
    return mesh->settled;
}

strads_err sti_mesh_put(sti_mesh *mesh, uint32_t node, sti_header header,
                        sti_writer *payload, uint64_t wait_ns)
{
    sti_retained *retained = calloc(1, sizeof *retained);
    if (!retained || payload->err) {
        strads_err err = payload->err;
        sti_writer_free(payload);
        free(retained);
        return err ? err
                   : strads_fail(STRADS_ENOMEM, "no memory for a message");
    }
    retained->header = header;
    retained->payload = *payload;
    *payload = (sti_writer){0};
    return sti_retransmit_put(&mesh->retransmit[node], retained, wait_ns);
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
