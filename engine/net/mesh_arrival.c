/* What arrives from other nodes, on the transport's threads: messages go to the
 * attached node, what belongs to the coming together into the queue. No peer
 * can fill the queue: each kind is taken only while somebody waits for it, and
 * READY once. What nobody expects costs its sender the link. */
#include "engine/net/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/round/message_codec.h"

/* Messages of the store; a run without loops keeps them on node 0. */
static uint64_t limit_of_store(sti_mesh *mesh, uint16_t kind)
{
    pthread_mutex_lock(&mesh->lock);
    bool loops = mesh->loops;
    pthread_mutex_unlock(&mesh->lock);
    if (!loops || kind > STI_KIND_ROLE + STI_MSG_LOOP)
        return 0;
    switch (kind - STI_KIND_ROLE) {
    case STI_MSG_PUSH:
    case STI_MSG_ASK_ROWS:
    case STI_MSG_ROWS:
        return UINT64_MAX;
    default:
        return STI_NOTE_LIMIT;
    }
}

/* Questions and choices; an only scheduler's stay on node 0. */
static uint64_t limit_of_choices(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    bool asks = mesh->asks;
    pthread_mutex_unlock(&mesh->lock);
    return asks ? UINT64_MAX : 0;
}

uint64_t sti_mesh_limit(void *arg, uint16_t kind)
{
    switch (kind) {
    case STI_KIND_HELLO:
    case STI_KIND_READY:
        return STI_HELLO_LIMIT;
    case STI_KIND_WELCOME:
        return STI_WELCOME_LIMIT;
    case STI_KIND_REJECT:
    case STI_KIND_ROLE + STI_MSG_FAIL:
        return STI_SENTENCE_LIMIT;
    case STI_KIND_ROLE + STI_MSG_DISPATCH:
    case STI_KIND_ROLE + STI_MSG_PARTIAL:
    case STI_KIND_ROLE + STI_MSG_HOP:
    case STI_KIND_ROLE + STI_MSG_PIECE:
        return UINT64_MAX;
    case STI_KIND_ROLE + STI_MSG_ASK:
    case STI_KIND_ROLE + STI_MSG_CHOICE:
        return limit_of_choices(arg);
    default:
        return kind < STI_KIND_ROLE + STI_MSG_PUSH ? 0
                                                   : limit_of_store(arg, kind);
    }
}

/* ---- messages ---------------------------------------------------------- */

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

/* Takes the frame. `run` may be NULL for a FAIL. */
static strads_err decode(const sti_run *run, sti_frame *frame, sti_msg *msg)
{
    frame_holder *holder = malloc(sizeof *holder);
    if (!holder) {
        sti_frame_free(frame);
        return strads_fail(STRADS_ENOMEM, "no memory for a message");
    }
    sti_object_init(&holder->head, holder_destroy);
    holder->frame = frame;
    *msg = (sti_msg){
        .kind = (sti_msg_kind)(frame->header.kind - STI_KIND_ROLE),
        .to = frame->header.index,
        .partition = (uint32_t)frame->header.tag,
        .slice = frame->header.phase,
        .round = frame->header.round,
        .busy_ns = (frame->header.tag >> 32) * 1000,
    };
    strads_err err = sti_msg_decode(run, frame->payload, frame->header.size,
                                    &holder->head, msg);
    sti_object_drop(holder);
    return err;
}

/* Nobody speaks for a client, a shard or a scheduler of another node, asks a
 * scheduler but node 0, nor of a loop but node 0 to the others and they to
 * it. */
static strads_err check_sender(const sti_mesh *mesh, const sti_run *run,
                               uint32_t node, const sti_msg *msg)
{
    bool good = true;
    if (msg->kind == STI_MSG_LOOP)
        good = msg->to == STI_COORDINATOR
                   ? mesh->node == 0
                   : node == 0 && msg->to == STI_CLIENT_0 + mesh->node;
    else if (msg->kind == STI_MSG_ASK)
        good = node == 0 && sti_run_node_of(run, msg->to) == mesh->node;
    else if (msg->kind == STI_MSG_CHOICE ||
             (msg->kind >= STI_MSG_PUSH && msg->kind <= STI_MSG_SETTLED))
        good = sti_run_node_of(run, msg->from) == node &&
               sti_run_node_of(run, msg->to) == mesh->node;
    return good ? STRADS_OK
                : strads_fail(STRADS_EPEER,
                              "node %u spoke for another node, or to one that "
                              "is not here: it runs another version",
                              node);
}

static void take_failure(sti_mesh *mesh, const sti_failure *failure)
{
    pthread_mutex_lock(&mesh->lock);
    sti_mesh_note_failure(mesh, failure ? failure->err : STRADS_EPEER,
                          failure ? failure->text : "the run has failed");
    pthread_mutex_unlock(&mesh->lock);
}

static void deliver(sti_mesh *mesh, const sti_run *run,
                    const sti_mesh_host *host, sti_frame *frame)
{
    sti_msg msg;
    uint32_t node = frame->header.from;
    strads_err err = decode(run, frame, &msg);
    if (!err) {
        err = check_sender(mesh, run, node, &msg);
        if (err)
            sti_object_drop(msg.object);
    }
    if (err) {
        host->abort(host->arg, err, strads_error_text());
        return;
    }
    const sti_failure *failure = (const sti_failure *)msg.object;
    if (msg.kind == STI_MSG_LOOP)
        msg.from = STI_CLIENT_0 + node;
    if (msg.kind != STI_MSG_FAIL) {
        host->deliver(host->arg, &msg);
        return;
    }
    take_failure(mesh, failure);
    if (msg.to < STI_WORKER_0 && !run->program->run) {
        host->deliver(host->arg, &msg);
        return;
    }
    host->abort(host->arg, failure ? failure->err : STRADS_EPEER,
                failure ? failure->text : "the run has failed");
    sti_object_drop(msg.object);
}

/* Nobody is attached: only that the run has failed matters. */
static void deliver_early(sti_mesh *mesh, sti_frame *frame)
{
    sti_msg msg;
    if (frame->header.kind != STI_KIND_ROLE + STI_MSG_FAIL) {
        sti_frame_free(frame);
        return;
    }
    if (decode(NULL, frame, &msg))
        return;
    take_failure(mesh, (const sti_failure *)msg.object);
    sti_object_drop(msg.object);
}

static void end_delivery(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    if (--mesh->delivering == 0)
        pthread_cond_broadcast(&mesh->delivered);
    pthread_mutex_unlock(&mesh->lock);
}

/* Messages are decoded outside of the lock, so that one peer's large partial
 * holds up nobody else's; detaching waits for `delivering`. */
static void take_message(sti_mesh *mesh, sti_frame *frame)
{
    pthread_mutex_lock(&mesh->lock);
    const sti_run *run = mesh->run;
    const sti_mesh_host host = mesh->host;
    bool attached = mesh->attached;
    mesh->delivering += attached;
    pthread_mutex_unlock(&mesh->lock);
    if (!attached) {
        deliver_early(mesh, frame);
        return;
    }
    deliver(mesh, run, &host, frame);
    end_delivery(mesh);
}

/* ---- what belongs to the coming together, and to the parting ----------- */

typedef enum fate { QUEUE, NOTED, MEET, AGAIN, FAIL, DROP } fate;

/* With the lock held. Nobody is through before node 0 has sent CLOSE; another
 * node may hear from one that is before it hears of CLOSE itself. */
static fate judge_done(sti_mesh *mesh, uint32_t node)
{
    if (node == STI_NODE_NONE || !mesh->settled ||
        mesh->peers[node].said_done || !(mesh->joins || mesh->closing))
        return DROP;
    mesh->peers[node].said_done = true;
    return NOTED;
}

/* With the lock held. The answer to the HELLO with which this node joins. */
static fate judge_met(sti_mesh *mesh, uint32_t node)
{
    if (node == STI_NODE_NONE || node == 0 || mesh->peers[node].has_met ||
        !mesh->peers[node].dialled)
        return DROP;
    mesh->peers[node].has_met = true;
    return QUEUE;
}

/* With the lock held. Once in each life of a node. */
static fate judge_ready(sti_peer *p)
{
    fate due = !p->said_ready ? QUEUE : p->restarted ? AGAIN : DROP;
    p->said_ready = true;
    p->restarted = false;
    return due;
}

/* With the lock held. */
static fate judge(sti_mesh *mesh, sti_link link, uint16_t kind)
{
    uint32_t node = sti_mesh_node_of(mesh, link);
    switch (kind) {
    case STI_KIND_HELLO:
        return mesh->settled ? MEET : QUEUE;
    case STI_KIND_WELCOME:
        return mesh->joins && !mesh->settled && !mesh->nodes ? QUEUE : DROP;
    case STI_KIND_REJECT:
        return mesh->settled ? FAIL : QUEUE;
    case STI_KIND_READY:
        if (mesh->joins || !mesh->settled || node == STI_NODE_NONE)
            return DROP;
        return judge_ready(&mesh->peers[node]);
    case STI_KIND_DONE:
        return judge_done(mesh, node);
    case STI_KIND_SEEN:
        return judge_met(mesh, node);
    default:
        return DROP;
    }
}

/* This node's data is not the run's: it is told so after its READY. */
static void take_rejection(sti_mesh *mesh, const sti_frame *frame)
{
    strads_err err = sti_mesh_rejected(frame);
    pthread_mutex_lock(&mesh->lock);
    sti_mesh_note_failure(mesh, err, strads_error_text());
    if (mesh->attached)
        mesh->host.abort(mesh->host.arg, err, strads_error_text());
    pthread_mutex_unlock(&mesh->lock);
}

static void take_ready_again(sti_mesh *mesh, sti_link link,
                             const sti_frame *frame)
{
    if (sti_mesh_check_ready(mesh, link, frame))
        return;
    pthread_mutex_lock(&mesh->lock);
    const sti_mesh_host host = mesh->host;
    bool attached = mesh->attached && host.again;
    mesh->delivering += attached;
    pthread_mutex_unlock(&mesh->lock);
    if (!attached)
        return;
    host.again(host.arg, frame->header.from);
    end_delivery(mesh);
}

static void take_frame(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    if (frame->header.kind > STI_KIND_ROLE) {
        take_message(mesh, frame);
        return;
    }
    sti_arrival *a = calloc(1, sizeof *a);
    pthread_mutex_lock(&mesh->lock);
    fate due = a ? judge(mesh, link, frame->header.kind) : DROP;
    if (due == QUEUE) {
        *a = (sti_arrival){.link = link, .frame = frame};
        sti_mesh_queue(mesh, a);
    }
    pthread_mutex_unlock(&mesh->lock);
    if (due == QUEUE)
        return;
    if (due == MEET && !sti_mender_meet(mesh, link, frame))
        sti_mesh_turn_away(mesh, link, frame);
    else if (due == AGAIN)
        take_ready_again(mesh, link, frame);
    else if (due == FAIL)
        take_rejection(mesh, frame);
    else if (due == DROP)
        sti_net_drop(mesh->net, link,
                     a ? "it sent what nobody has asked it for"
                       : "no memory for its frame");
    sti_frame_free(frame);
    free(a);
}

static bool is_settled(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    bool settled = mesh->settled;
    pthread_mutex_unlock(&mesh->lock);
    return settled;
}

void sti_mesh_received(void *arg, sti_link link, sti_frame *frame)
{
    sti_mesh *mesh = arg;
    const sti_header header = frame->header;
    const bool counts = header.kind == STI_KIND_SEEN;
    if (counts && is_settled(mesh)) {
        sti_frame_free(frame);
        sti_mender_seen(mesh, link, &header);
        return;
    }
    if (header.kind >= STI_KIND_FIRST_MESSAGE && !counts)
        sti_mender_count(mesh, link, &header);
    take_frame(mesh, link, frame);
}

/* A node that has failed says so before it goes: that is then the failure that
 * counts. */
void sti_mesh_lose(sti_mesh *mesh, uint32_t node, strads_err why,
                   const char *text)
{
    char sentence[1024];
    mesh->peers[node].gone = true;
    if (mesh->peers[node].said_done)
        return;
    if (why)
        (void)snprintf(sentence, sizeof sentence, "node %u at %s was lost: %s",
                       node, mesh->peers[node].url, text);
    else
        (void)snprintf(sentence, sizeof sentence,
                       "node %u at %s left the run before it was over: every "
                       "node has to stay until its part is done; see there why "
                       "it went, then start all nodes again",
                       node, mesh->peers[node].url);
    sti_mesh_note_failure(mesh, STRADS_EPEER, sentence);
    if (mesh->failure && mesh->attached && !mesh->leaving)
        mesh->host.abort(mesh->host.arg, mesh->failure, mesh->failure_text);
}

static void queue_loss(sti_mesh *mesh, sti_link link, strads_err why,
                       const char *text)
{
    sti_arrival *a = calloc(1, sizeof *a);
    if (!a)
        return;
    a->link = link;
    a->why = why;
    (void)snprintf(a->text, sizeof a->text, "%s", text);
    sti_mesh_queue(mesh, a);
}

void sti_mesh_lost(void *arg, sti_link link, strads_err why, const char *text)
{
    sti_mesh *mesh = arg;
    pthread_mutex_lock(&mesh->lock);
    const uint32_t node = sti_mesh_node_of(mesh, link);
    const bool settled = mesh->settled;
    bool mends = false;
    if (node == STI_NODE_NONE)
        sti_mender_forget(mesh, link);
    else
        mends = sti_mender_broke(mesh, node, why, text);
    if (node != STI_NODE_NONE && !mends)
        sti_mesh_lose(mesh, node, why, text);
    if (!settled)
        queue_loss(mesh, link, why, text);
    pthread_mutex_unlock(&mesh->lock);
    if (mends)
        sti_mender_take_next(mesh, node);
    else if (settled && node != STI_NODE_NONE)
        sti_retransmit_close(&mesh->retransmit[node]);
}
