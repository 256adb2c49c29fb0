/* The way to other nodes. A message is encoded once, rows of the store not at
 * all: these are sent from where they lie. Its receiver's retransmit keeps all of
 * it; its span on the trace, a lane of the link's tracks, ends when the
 * transport has first done with it. */
#include "engine/net/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/round/dispatch.h"
#include "engine/round/loop_message.h"
#include "engine/round/message_codec.h"
#include "engine/store/store_message.h"

strads_err sti_mesh_send_payload(sti_mesh *mesh, sti_link link,
                                 sti_header header, const sti_writer *w)
{
    if (w->err)
        return w->err;
    const sti_outgoing frame = {
        .header = header,
        .parts = {{w->bytes, w->size}},
        .part_count = 1,
    };
    return sti_net_send(mesh->net, link, &frame);
}

/* A message on its way. */
typedef struct transfer {
    sti_retained retained;
    sti_mesh *mesh;
    unsigned lane; /* STI_LANES_MAX: none, it is not traced (any more) */
    uint64_t begin_ns;
} transfer;

/* With the lock held: the lowest lane of a link that is free. More than
 * STI_LANES_MAX transfers to one node at once are not all recorded. */
static unsigned take_lane(sti_mesh *mesh, uint32_t to)
{
    sti_peer *p = &mesh->peers[to];
    unsigned lane = 0;
    while (lane < STI_LANES_MAX && p->busy >> lane & 1)
        lane++;
    if (lane == STI_LANES_MAX)
        return lane;
    if (lane == p->lanes) {
        char name[32];
        (void)snprintf(name, sizeof name, "link to node %u", to);
        p->lane_track[p->lanes++] =
            sti_trace_track(mesh->trace, mesh->node, name);
    }
    p->busy |= UINT32_C(1) << lane;
    return lane;
}

/* The attachment stays as it is while the node runs, which alone sends. */
static void begin_transfer(transfer *t)
{
    sti_mesh *mesh = t->mesh;
    t->lane = STI_LANES_MAX;
    if (!mesh->trace)
        return;
    pthread_mutex_lock(&mesh->lock);
    t->begin_ns = mesh->host.clock(mesh->host.arg);
    t->lane = take_lane(mesh, t->retained.header.to);
    pthread_mutex_unlock(&mesh->lock);
}

/* The last transfers of a run end after its trace, which goes without them. */
static void end_transfer(sti_retained *retained)
{
    transfer *t = (transfer *)retained;
    sti_mesh *mesh = t->mesh;
    pthread_mutex_lock(&mesh->lock);
    if (t->lane < STI_LANES_MAX) {
        sti_peer *p = &mesh->peers[retained->header.to];
        p->busy &= ~(UINT32_C(1) << t->lane);
        if (mesh->trace)
            sti_trace_span(mesh->trace, p->lane_track[t->lane], "transfer",
                           t->begin_ns, mesh->host.clock(mesh->host.arg),
                           retained->header.round);
    }
    t->lane = STI_LANES_MAX;
    pthread_mutex_unlock(&mesh->lock);
}

static uint16_t kind_of(const sti_msg *msg)
{
    return (uint16_t)(STI_KIND_ROLE + msg->kind);
}

/* Rows that are lent are there for this call alone: the message gets copies. */
static strads_err own_rows(sti_msg *msg)
{
    const sti_buffer *push = (const sti_buffer *)msg->object;
    if (msg->kind == STI_MSG_ROWS)
        return sti_row_answer_own((sti_row_answer *)msg->object);
    if (msg->kind != STI_MSG_PUSH || !push->rest_bytes)
        return STRADS_OK;
    sti_buffer *whole;
    strads_err err = sti_buffer_copy(push, &whole);
    if (!err) {
        sti_object_drop(msg->object);
        msg->object = &whole->head;
    }
    return err;
}

static strads_err put_transfer(transfer *t, const sti_msg *msg, uint32_t to)
{
    sti_mesh *mesh = t->mesh;
    const uint64_t busy_us = msg->busy_ns / 1000;
    strads_err err =
        sti_msg_encode_parts(msg, &t->retained.payload, &t->retained.rest);
    if (err) {
        sti_writer_free(&t->retained.payload);
        free(t);
        return err;
    }
    t->retained.object = sti_object_keep(msg->object);
    t->retained.header = (sti_header){
        .kind = kind_of(msg),
        .from = mesh->node,
        .to = to,
        .phase = msg->slice,
        .index = msg->to,
        .round = msg->round,
        .tag = msg->partition | (busy_us > UINT32_MAX ? UINT32_MAX : busy_us)
                                    << 32,
    };
    begin_transfer(t);
    if (t->lane < STI_LANES_MAX)
        t->retained.written = end_transfer;
    return sti_retransmit_put(&mesh->retransmit[to], &t->retained,
                              60 * STI_SECOND + mesh->window_ns);
}

static bool has_done(sti_mesh *mesh, uint32_t node)
{
    pthread_mutex_lock(&mesh->lock);
    bool done = mesh->peers[node].said_done;
    pthread_mutex_unlock(&mesh->lock);
    return done;
}

/* A send may notice a loss before its report has come. Who has said DONE wants
 * nothing any more. */
static strads_err say_loss(sti_mesh *mesh, uint32_t to)
{
    char text[1024];
    if (has_done(mesh, to))
        return STRADS_OK;
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    strads_err failure = sti_mesh_failure(mesh);
    return failure ? failure
                   : strads_fail(STRADS_EPEER,
                                 "node %u at %s was lost, or left the run "
                                 "before it was over (%s): see there why, then "
                                 "start all nodes again",
                                 to, mesh->peers[to].url, text);
}

/* Before it is sent: who reads it may be through at once. */
static void note_closing(sti_mesh *mesh, const sti_msg *msg)
{
    bool closes = false;
    if (msg->kind == STI_MSG_DISPATCH)
        closes = ((const sti_dispatch *)msg->object)->phase == STI_PHASE_CLOSE;
    else if (msg->kind == STI_MSG_LOOP)
        closes = ((const sti_loop_note *)msg->object)->word == STI_LOOP_CLOSE;
    if (!closes)
        return;
    pthread_mutex_lock(&mesh->lock);
    mesh->closing = true;
    pthread_mutex_unlock(&mesh->lock);
}

strads_err sti_mesh_send(sti_mesh *mesh, const sti_msg *given)
{
    sti_msg msg = *given;
    uint32_t to = sti_run_node_of(mesh->run, msg.to);
    note_closing(mesh, &msg);
    strads_err err = own_rows(&msg);
    transfer *t = err ? NULL : calloc(1, sizeof *t);
    if (t) {
        t->mesh = mesh;
        err = put_transfer(t, &msg, to);
        if (err == STRADS_EPEER)
            err = say_loss(mesh, to);
    } else if (!err) {
        err = strads_fail(STRADS_ENOMEM, "no memory for a message");
    }
    sti_object_drop(msg.object);
    return err;
}

bool sti_mesh_has_room(sti_mesh *mesh, sti_address to, uint64_t bytes)
{
    sti_retransmit *box = &mesh->retransmit[sti_run_node_of(mesh->run, to)];
    return sti_retransmit_bytes(box) + bytes < STI_RETRANSMIT_BYTES_MAX / 2;
}

/* Whom it does not reach has gone, or will take this node's going for a loss,
 * which is then what it is. */
void sti_mesh_say_done(sti_mesh *mesh)
{
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        sti_writer nothing = {0};
        const sti_header header = {.kind = STI_KIND_DONE,
                                   .from = mesh->node,
                                   .to = k};
        if (k != mesh->node)
            (void)sti_mesh_put(mesh, k, header, &nothing, 60 * STI_SECOND);
    }
    mesh->said_done = true;
}
