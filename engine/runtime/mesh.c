/* The nodes' links: what arrives, what is sent, opening and closing. How nodes
 * come together is in mesh_gather.c (node 0) and mesh_join.c (the others). */
#include "engine/runtime/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/role/message_codec.h"

/* ---- arrivals ---------------------------------------------------------- */

/* With the lock held. */
static void queue_arrival(sti_mesh *mesh, sti_arrival *a)
{
    a->next = NULL;
    *mesh->last = a;
    mesh->last = &a->next;
    pthread_cond_signal(&mesh->arrived);
}

/* A frame as an object that messages keep references of. */
typedef struct frame_holder {
    sti_object head;
    sti_frame *frame;
} frame_holder;

static void holder_destroy(sti_object *object)
{
    frame_holder *holder = (frame_holder *)object;
    sti_frame_free(holder->frame);
    free(holder);
}

/* Decodes a message and hands it over. With the lock held, so that the node
 * stays. */
static void deliver(sti_mesh *mesh, sti_frame *frame)
{
    frame_holder *holder = malloc(sizeof *holder);
    if (!holder) {
        sti_frame_free(frame);
        sti_node_abort(mesh->target, STRADS_ENOMEM, "no memory for a message");
        return;
    }
    sti_object_init(&holder->head, holder_destroy);
    holder->frame = frame;
    sti_msg msg = {
        .kind = (sti_msg_kind)(frame->header.kind - STI_KIND_ROLE),
        .to = frame->header.index,
        .partition = (uint32_t)frame->header.tag,
        .round = frame->header.round,
        .busy_ns = (frame->header.tag >> 32) * 1000,
    };
    strads_err err = sti_msg_decode(mesh->run, frame->payload,
                                    frame->header.size, &holder->head, &msg);
    sti_object_drop(holder);
    if (err) {
        sti_node_abort(mesh->target, err, strads_error_text());
    } else if (msg.kind == STI_MSG_FAIL && msg.to >= STI_WORKER_0) {
        const sti_failure *failure = (const sti_failure *)msg.object;
        sti_node_abort(mesh->target, failure ? failure->err : STRADS_EPEER,
                       failure ? failure->text : "the run has failed");
        sti_object_drop(msg.object);
    } else {
        sti_node_deliver(mesh->target, &msg);
    }
}

static void on_received(void *arg, sti_link link, sti_frame *frame)
{
    sti_mesh *mesh = arg;
    pthread_mutex_lock(&mesh->lock);
    if (frame->header.kind > STI_KIND_ROLE) {
        if (mesh->target)
            deliver(mesh, frame);
        else
            sti_frame_free(frame);
        pthread_mutex_unlock(&mesh->lock);
        return;
    }
    if (frame->header.kind == STI_KIND_REJECT && mesh->target) {
        /* Its data is not the run's: it had begun already. */
        strads_err err = sti_mesh_rejected(frame);
        sti_node_abort(mesh->target, err, strads_error_text());
        sti_frame_free(frame);
        pthread_mutex_unlock(&mesh->lock);
        return;
    }
    sti_arrival *a = calloc(1, sizeof *a);
    if (a) {
        a->link = link;
        a->frame = frame;
        queue_arrival(mesh, a);
    }
    pthread_mutex_unlock(&mesh->lock);
    if (!a) {
        sti_frame_free(frame);
        sti_net_drop(mesh->net, link, "no memory for its frame");
    }
}

uint32_t sti_mesh_node_of(const sti_mesh *mesh, sti_link link)
{
    for (uint32_t k = 0; k < mesh->nodes; k++)
        if (mesh->peers[k].link == link)
            return k;
    return STI_NODE_NONE;
}

static void on_lost(void *arg, sti_link link, strads_err why, const char *text)
{
    sti_mesh *mesh = arg;
    pthread_mutex_lock(&mesh->lock);
    uint32_t node = sti_mesh_node_of(mesh, link);
    if (why && mesh->target && !mesh->leaving && node != STI_NODE_NONE) {
        char sentence[1024];
        (void)snprintf(sentence, sizeof sentence, "node %u at %s was lost: %s",
                       node, mesh->peers[node].url, text);
        sti_node_abort(mesh->target, STRADS_EPEER, sentence);
    }
    /* Node 0 may still be waiting for others to be ready. */
    sti_arrival *a = calloc(1, sizeof *a);
    if (a) {
        a->link = link;
        a->why = why;
        (void)snprintf(a->text, sizeof a->text, "%s", text);
        queue_arrival(mesh, a);
    }
    pthread_mutex_unlock(&mesh->lock);
}

void sti_mesh_requeue(sti_mesh *mesh, sti_arrival *a)
{
    pthread_mutex_lock(&mesh->lock);
    queue_arrival(mesh, a);
    pthread_mutex_unlock(&mesh->lock);
}

/* The next arrival; NULL after `wait_ns` without one. */
static sti_arrival *next_arrival(sti_mesh *mesh, uint64_t wait_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + wait_ns;
    until.tv_sec += (time_t)(ns / STI_SECOND);
    until.tv_nsec = (long)(ns % STI_SECOND);
    pthread_mutex_lock(&mesh->lock);
    int late = 0;
    while (!mesh->first && !late)
        late = pthread_cond_timedwait(&mesh->arrived, &mesh->lock, &until);
    sti_arrival *a = mesh->first;
    if (a) {
        mesh->first = a->next;
        if (!mesh->first)
            mesh->last = &mesh->first;
    }
    pthread_mutex_unlock(&mesh->lock);
    return a;
}

void sti_mesh_free_arrival(sti_arrival *a)
{
    if (!a)
        return;
    sti_frame_free(a->frame);
    free(a);
}

strads_err sti_mesh_await(sti_mesh *mesh, sti_arrival **out)
{
    do {
        if (mesh->stop && *mesh->stop)
            return strads_fail(STRADS_ECANCELED,
                               "stopped while waiting for the other nodes");
        *out = next_arrival(mesh, STI_SECOND / 20);
    } while (!*out);
    return STRADS_OK;
}

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
    const sti_net_options options = {
        .listen_url = url,
        .node = STI_NODE_NONE,
        .arg = mesh,
        .events = {.received = on_received, .lost = on_lost},
    };
    strads_err err = sti_net_open(&options, &mesh->net);
    if (err) {
        sti_mesh_close(mesh, false);
        return err;
    }
    *out = mesh;
    return STRADS_OK;
}

static void tell_failure(sti_mesh *mesh)
{
    sti_object *failure = sti_failure_object(STRADS_EPEER, strads_error_text());
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
        tell_failure(mesh);
    (void)sti_net_close(mesh->net, 10 * STI_SECOND);
    (void)strads_fail(STRADS_EPEER, "%s", text);
    while (mesh->first) {
        sti_arrival *a = mesh->first;
        mesh->first = a->next;
        sti_mesh_free_arrival(a);
    }
    free(mesh->peers);
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

void sti_mesh_attach(sti_mesh *mesh, const sti_run *run, sti_node *node)
{
    pthread_mutex_lock(&mesh->lock);
    mesh->run = run;
    mesh->target = node;
    pthread_mutex_unlock(&mesh->lock);
}

void sti_mesh_detach(sti_mesh *mesh)
{
    sti_mesh_attach(mesh, NULL, NULL);
}

void sti_mesh_count(const sti_mesh *mesh, uint64_t *sent, uint64_t *received)
{
    sti_net_counts counts;
    sti_net_count(mesh->net, &counts);
    *sent = counts.bytes_sent;
    *received = counts.bytes_received;
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

/* ---- sending ----------------------------------------------------------- */

strads_err sti_mesh_send_payload(sti_mesh *mesh, sti_link link,
                                 sti_header header, const sti_writer *w)
{
    if (w->err)
        return w->err;
    const sti_outgoing frame = {
        .header = header,
        .parts = {{w->bytes, w->size}},
        .part_count = 1,
        .wait_ns = 60 * STI_SECOND,
    };
    return sti_net_send(mesh->net, link, &frame);
}

static uint32_t node_of_role(const sti_mesh *mesh, sti_address to)
{
    return to < STI_WORKER_0 ? 0 : mesh->run->node_of[to - STI_WORKER_0];
}

/* The largest payloads are a scan's partials: they are encoded once and, when
 * too large to be copied again, live until the transport has sent them. */
static void free_payload(void *arg)
{
    sti_writer *w = arg;
    sti_writer_free(w);
    free(w);
}

strads_err sti_mesh_send(sti_mesh *mesh, const sti_msg *msg)
{
    sti_writer *w = calloc(1, sizeof *w);
    strads_err err = w ? sti_msg_encode(msg, w)
                       : strads_fail(STRADS_ENOMEM, "no memory for a message");
    sti_object_drop(msg->object);
    if (err) {
        if (w)
            free_payload(w);
        return err;
    }
    uint32_t to = node_of_role(mesh, msg->to);
    uint64_t busy_us = msg->busy_ns / 1000;
    const sti_outgoing frame = {
        .header = {.kind = (uint16_t)(STI_KIND_ROLE + msg->kind),
                   .from = mesh->node,
                   .to = to,
                   .index = msg->to,
                   .round = msg->round,
                   .tag = msg->partition |
                          (busy_us > UINT32_MAX ? UINT32_MAX : busy_us) << 32},
        .parts = {{w->bytes, w->size}},
        .part_count = 1,
        .sent = free_payload,
        .sent_arg = w,
        .wait_ns = 60 * STI_SECOND,
    };
    err = sti_net_send(mesh->net, mesh->peers[to].link, &frame);
    if (err)
        free_payload(w);
    return err;
}
