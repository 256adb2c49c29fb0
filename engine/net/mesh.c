/* The nodes of a run: opening and closing, arriving frames, and sending.
 * Messages go to the attached host on the transport's threads. Frames of the
 * join phase go to a queue (mesh_join.c), SEEN goes to mesh_reconnect.c. A peer
 * cannot fill the queue: a frame is accepted only if it is due. A frame that is
 * not due costs its sender the link. */
#include "engine/net/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/stop_flag.h"
#include "engine/round/dispatch.h"
#include "engine/round/loop_message.h"
#include "engine/round/message_codec.h"
#include "engine/store/message.h"

/* After the run, node 0 answers HELLOs until none has come for LATE_NS, but not
 * longer than LATE_MOST_NS. */
#define LATE_NS (STI_SECOND / 2)
#define LATE_MOST_NS (3 * STI_SECOND)

/* Result of handling a frame. */
typedef enum verdict {
    KEPT,    /* the callee has taken it over */
    HANDLED, /* it is to be freed */
    REFUSED  /* it was not due: the sender loses the link */
} verdict;

/* ---- messages ---------------------------------------------------------- */

/* A frame as an object to which messages hold references. */
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

/* Takes over the frame. `run` may be NULL for a FAIL. */
static strads_err decode_frame(const sti_run *run, sti_frame *frame,
                               sti_msg *msg)
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

/* A node may send only for its own clients, shards and schedulers. ASK comes
 * from node 0 only. LOOP travels between node 0 and the others only. */
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
    else if (msg->kind == STI_MSG_CHOICE || msg->kind == STI_MSG_PEER_VECTOR ||
             (msg->kind >= STI_MSG_PUSH && msg->kind <= STI_MSG_ROWS))
        good = sti_run_node_of(run, msg->from) == node &&
               sti_run_node_of(run, msg->to) == mesh->node;
    return good
               ? STRADS_OK
               : strads_fail(STRADS_EPEER,
                             "node %u sent a message for another node, or to a "
                             "role that is not here: it runs another version",
                             node);
}

/* Records the failure that another node reports. A node that ends the
 * generation will join the next one. */
static void take_failure(sti_mesh *mesh, uint32_t node,
                         const sti_failure *failure)
{
    pthread_mutex_lock(&mesh->lock);
    if (failure && failure->err == STRADS_EREGROUP && node < mesh->nodes)
        mesh->peers[node].comes_again = true;
    sti_mesh_note_failure(mesh, failure ? failure->err : STRADS_EPEER,
                          failure ? failure->text : "the run has failed");
    pthread_mutex_unlock(&mesh->lock);
}

static void deliver_message(sti_mesh *mesh, const sti_run *run,
                            const sti_mesh_host *host, sti_frame *frame)
{
    sti_msg msg;
    uint32_t node = frame->header.from;
    strads_err err = decode_frame(run, frame, &msg);
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
    take_failure(mesh, node, failure);
    if (msg.to < STI_WORKER_0 && !run->program->run) {
        host->deliver(host->arg, &msg);
        return;
    }
    host->abort(host->arg, failure ? failure->err : STRADS_EPEER,
                failure ? failure->text : "the run has failed");
    sti_object_drop(msg.object);
}

/* While no host is attached, only a FAIL matters. */
static void deliver_early(sti_mesh *mesh, sti_frame *frame)
{
    sti_msg msg;
    const uint32_t node = frame->header.from;
    if (frame->header.kind != STI_KIND_ROLE + STI_MSG_FAIL) {
        sti_frame_free(frame);
        return;
    }
    if (decode_frame(NULL, frame, &msg))
        return;
    take_failure(mesh, node, (const sti_failure *)msg.object);
    sti_object_drop(msg.object);
}

static void end_delivery(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    if (--mesh->delivering == 0)
        pthread_cond_broadcast(&mesh->delivered);
    pthread_mutex_unlock(&mesh->lock);
}

/* Decodes without the lock, so that a large message of one peer does not delay
 * those of others. Detaching waits until `delivering` is 0. */
static verdict take_message(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    (void)link;
    pthread_mutex_lock(&mesh->lock);
    const sti_run *run = mesh->run;
    const sti_mesh_host host = mesh->host;
    bool attached = mesh->attached;
    mesh->delivering += attached;
    pthread_mutex_unlock(&mesh->lock);
    if (!attached) {
        deliver_early(mesh, frame);
        return KEPT;
    }
    deliver_message(mesh, run, &host, frame);
    end_delivery(mesh);
    return KEPT;
}

/* ---- frames of the join phase and of the end --------------------------- */

/* With the lock held: appends the frame to the queue. */
static verdict queue_frame(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    sti_arrival *a = calloc(1, sizeof *a);
    if (!a)
        return REFUSED;
    *a = (sti_arrival){.link = link, .frame = frame};
    sti_mesh_queue(mesh, a);
    return KEPT;
}

static bool is_settled(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    bool settled = mesh->settled;
    pthread_mutex_unlock(&mesh->lock);
    return settled;
}

/* Queues a frame if it is `due`. Called with the lock held; releases it. */
static verdict queue_if(sti_mesh *mesh, sti_link link, sti_frame *frame,
                        bool due)
{
    const verdict v = due ? queue_frame(mesh, link, frame) : REFUSED;
    pthread_mutex_unlock(&mesh->lock);
    return v;
}

static verdict take_hello(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    pthread_mutex_lock(&mesh->lock);
    if (!mesh->settled)
        return queue_if(mesh, link, frame, true);
    pthread_mutex_unlock(&mesh->lock);
    if (!sti_reconnect_meet(mesh, link, frame))
        sti_mesh_turn_away(mesh, link, frame);
    return HANDLED;
}

/* A node that joins: handles PROGRAM and WELCOME from node 0. */
static verdict take_terms(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    pthread_mutex_lock(&mesh->lock);
    return queue_if(mesh, link, frame,
                    mesh->joins && !mesh->settled && !mesh->nodes);
}

/* With the lock held: returns the peer at the other end of a link, or NULL. */
static sti_peer *peer_of(sti_mesh *mesh, sti_link link)
{
    const uint32_t node = sti_mesh_node_of(mesh, link);
    return node == STI_NODE_NONE ? NULL : &mesh->peers[node];
}

static verdict take_accept(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = peer_of(mesh, link);
    const bool due = !mesh->joins && !mesh->settled && p && !p->accepted;
    if (due)
        p->accepted = true;
    return queue_if(mesh, link, frame, due);
}

/* In a settled mesh a REJECT answers this node's READY: its data differ from
 * the run's. In the first generation that ends the run, and this node tells the
 * others why: they may see it leave before they hear from node 0. */
static verdict take_reject(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    pthread_mutex_lock(&mesh->lock);
    if (!mesh->settled)
        return queue_if(mesh, link, frame, true);
    pthread_mutex_unlock(&mesh->lock);
    strads_err err = sti_mesh_rejected(frame);
    pthread_mutex_lock(&mesh->lock);
    mesh->dispensable = mesh->generation > 1 || err != STRADS_EMISMATCH;
    sti_mesh_note_failure(mesh, err, strads_error_text());
    if (mesh->attached)
        mesh->host.abort(mesh->host.arg, err, strads_error_text());
    pthread_mutex_unlock(&mesh->lock);
    return HANDLED;
}

/* Node 0: accepts one READY from each node. */
static verdict take_ready(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = peer_of(mesh, link);
    const bool first = !mesh->joins && mesh->settled && p && !p->is_ready;
    if (first)
        p->is_ready = true;
    return queue_if(mesh, link, frame, first);
}

/* Node 0: accepts one GIVE from each node before each answer. */
static verdict take_give(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = peer_of(mesh, link);
    const bool due =
        !mesh->joins && mesh->settled && p && !p->is_ready && !p->has_given;
    if (due)
        p->has_given = true;
    return queue_if(mesh, link, frame, due);
}

static verdict take_tell(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    pthread_mutex_lock(&mesh->lock);
    const bool due = mesh->joins && mesh->hears && mesh->peers &&
                     peer_of(mesh, link) == mesh->peers;
    mesh->hears = mesh->hears && !due;
    return queue_if(mesh, link, frame, due);
}

/* A node sends DONE after node 0 has sent CLOSE. Nodes other than node 0 may
 * receive a DONE before their own CLOSE. */
static verdict take_done(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    (void)frame;
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = peer_of(mesh, link);
    const bool due =
        p && mesh->settled && !p->is_done && (mesh->joins || mesh->closing);
    if (due)
        p->is_done = true;
    pthread_mutex_unlock(&mesh->lock);
    return due ? HANDLED : REFUSED;
}

/* Node 0: passes the request to the host, or keeps it until one is attached. */
static verdict take_stop(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    (void)frame;
    pthread_mutex_lock(&mesh->lock);
    const bool due = !mesh->joins && mesh->settled && peer_of(mesh, link);
    mesh->stop_asked = mesh->stop_asked || due;
    if (due && mesh->attached && mesh->host.stop)
        mesh->host.stop(mesh->host.arg);
    pthread_mutex_unlock(&mesh->lock);
    return due ? HANDLED : REFUSED;
}

/* Node 0 only. */
static verdict take_pace(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    sti_reader r;
    sti_reader_init(&r, frame->payload, frame->header.size);
    const uint64_t pace = sti_read_u64(&r);
    const bool whole = sti_reader_end(&r, "a PACE") == STRADS_OK;
    pthread_mutex_lock(&mesh->lock);
    const sti_peer *p = peer_of(mesh, link);
    const bool due = whole && !mesh->joins && mesh->settled && p;
    if (due && mesh->attached && mesh->options.paced)
        mesh->options.paced(mesh->options.arg, (uint32_t)(p - mesh->peers),
                            pace);
    pthread_mutex_unlock(&mesh->lock);
    return due ? HANDLED : REFUSED;
}

/* In the join phase SEEN answers this node's HELLO to a lower node. */
static verdict take_seen(sti_mesh *mesh, sti_link link, sti_frame *frame)
{
    if (is_settled(mesh)) {
        sti_reconnect_seen(mesh, link, &frame->header);
        return HANDLED;
    }
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = peer_of(mesh, link);
    const bool due = p && p != mesh->peers && p->dialled && !p->has_met;
    if (due)
        p->has_met = true;
    return queue_if(mesh, link, frame, due);
}

/* ---- the kinds --------------------------------------------------------- */

/* Limits of payloads. */
enum {
    SENTENCE_LIMIT = STI_REJECT_LIMIT,
    NOTE_LIMIT = 128,        /* of ACK and other small kinds */
    WELCOME_LIMIT = 4 << 20, /* the URLs of STI_NODES_MAX nodes, and options */
};
#define NO_LIMIT UINT64_MAX /* only the transport's limit */

/* Runs in which a kind is allowed. */
typedef enum where { ALWAYS, IN_LOOPS, WITH_SCHEDULERS } where;

/* All kinds that links deliver to the mesh. Messages of roles are encoded and
 * decoded by engine/round/message_codec. */
typedef struct message_kind {
    const char *name;
    uint64_t limit; /* bytes of the payload */
    where in;
    bool numbered; /* the sender keeps it until SEEN acknowledges it */
    verdict (*take)(sti_mesh *mesh, sti_link link, sti_frame *frame);
} message_kind;

#define ROLE(kind) [STI_KIND_ROLE + STI_MSG_##kind]

static const message_kind kinds[] = {
    [STI_KIND_HELLO] = {"HELLO", STI_HELLO_LIMIT, ALWAYS, false, take_hello},
    [STI_KIND_WELCOME] = {"WELCOME", WELCOME_LIMIT, ALWAYS, false, take_terms},
    [STI_KIND_REJECT] = {"REJECT", SENTENCE_LIMIT, ALWAYS, false, take_reject},
    [STI_KIND_READY] = {"READY", NOTE_LIMIT, ALWAYS, true, take_ready},
    [STI_KIND_DONE] = {"DONE", 0, ALWAYS, true, take_done},
    [STI_KIND_SEEN] = {"SEEN", 0, ALWAYS, false, take_seen},
    [STI_KIND_PROGRAM] = {"PROGRAM", SENTENCE_LIMIT, ALWAYS, false, take_terms},
    [STI_KIND_ACCEPT] = {"ACCEPT", 0, ALWAYS, false, take_accept},
    [STI_KIND_STOP] = {"STOP", 0, ALWAYS, true, take_stop},
    [STI_KIND_GIVE] = {"GIVE", NO_LIMIT, ALWAYS, true, take_give},
    [STI_KIND_TELL] = {"TELL", NO_LIMIT, ALWAYS, true, take_tell},
    [STI_KIND_PACE] = {"PACE", NOTE_LIMIT, ALWAYS, true, take_pace},
    ROLE(DISPATCH) = {"DISPATCH", NO_LIMIT, ALWAYS, true, take_message},
    ROLE(PARTIAL) = {"PARTIAL", NO_LIMIT, ALWAYS, true, take_message},
    ROLE(RING_STEP) = {"RING_STEP", NO_LIMIT, ALWAYS, true, take_message},
    ROLE(FAIL) = {"FAIL", SENTENCE_LIMIT, ALWAYS, true, take_message},
    ROLE(ASK) = {"ASK", NO_LIMIT, WITH_SCHEDULERS, true, take_message},
    ROLE(CHOICE) = {"CHOICE", NO_LIMIT, WITH_SCHEDULERS, true, take_message},
    ROLE(PUSH) = {"PUSH", NO_LIMIT, IN_LOOPS, true, take_message},
    ROLE(ACK) = {"ACK", NOTE_LIMIT, IN_LOOPS, true, take_message},
    ROLE(ASK_ROWS) = {"ASK_ROWS", NO_LIMIT, IN_LOOPS, true, take_message},
    ROLE(ROWS) = {"ROWS", NO_LIMIT, IN_LOOPS, true, take_message},
    ROLE(LOOP) = {"LOOP", NO_LIMIT, IN_LOOPS, true, take_message},
    ROLE(PEER_VECTOR) = {"PEER_VECTOR", NO_LIMIT, IN_LOOPS, true, take_message},
};

/* Returns NULL if this protocol has no kind of that number. */
static const message_kind *kind_of(uint16_t number)
{
    const bool known =
        number < sizeof kinds / sizeof *kinds && kinds[number].take != NULL;
    return known ? &kinds[number] : NULL;
}

/* Returns the payload limit of a kind; 0 for kinds that this run does not
 * send. */
static uint64_t limit_of(void *arg, uint16_t number)
{
    sti_mesh *mesh = arg;
    const message_kind *kind = kind_of(number);
    if (kind == NULL || kind->in == ALWAYS)
        return kind ? kind->limit : 0;
    pthread_mutex_lock(&mesh->lock);
    const bool here = kind->in == IN_LOOPS ? mesh->loops : mesh->asks;
    pthread_mutex_unlock(&mesh->lock);
    return here ? kind->limit : 0;
}

static void handle_frame(void *arg, sti_link link, sti_frame *frame)
{
    sti_mesh *mesh = arg;
    const message_kind *kind = kind_of(frame->header.kind);
    if (kind && kind->numbered)
        sti_reconnect_count(mesh, link, &frame->header);
    const verdict v = kind ? kind->take(mesh, link, frame) : REFUSED;
    if (v == REFUSED) {
        char text[128];
        (void)snprintf(text, sizeof text,
                       "it sent %s, which was not due: it runs another version",
                       kind ? kind->name : "an unknown kind");
        sti_net_drop(mesh->net, link, text);
    }
    if (v != KEPT)
        sti_frame_free(frame);
}

/* ---- losses ------------------------------------------------------------ */

/* Returns the error with which the loss of a node ends this generation or
 * run. */
static strads_err loss_of(const sti_mesh *mesh, uint32_t node)
{
    return mesh->generation && (node > 0 || mesh->options.outlives)
               ? STRADS_EREGROUP
               : STRADS_EPEER;
}

/* A node that fails reports it before it leaves: that failure was recorded
 * first, and is kept. */
void sti_mesh_lose(sti_mesh *mesh, uint32_t node, strads_err why,
                   const char *text)
{
    char sentence[1024];
    const strads_err loss = loss_of(mesh, node);
    mesh->peers[node].gone = true;
    mesh->peers[node].parted = why == STRADS_OK;
    pthread_cond_signal(&mesh->arrived); /* sti_mesh_await_goodbye */
    if (mesh->peers[node].is_done)
        return;
    if (mesh->attached && !mesh->leaving && !mesh->failure && mesh->host.lost &&
        mesh->host.lost(mesh->host.arg, node)) {
        mesh->peers[node].is_done = true;
        return;
    }
    if (why)
        (void)snprintf(sentence, sizeof sentence, "node %u at %s was lost: %s",
                       node, mesh->peers[node].url, text);
    else
        (void)snprintf(
            sentence, sizeof sentence,
            "node %u at %s left the run before it was over%s", node,
            mesh->peers[node].url,
            loss == STRADS_EREGROUP
                ? ""
                : ": every node must stay until its part is done; see its "
                  "output for the reason, then start all nodes again");
    sti_mesh_note_failure(mesh, loss, sentence);
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

/* With the lock held: whether the peer, dialled in the join phase, has evicted
 * the connection before it read HELLO. */
static bool may_redial(const sti_mesh *mesh, uint32_t node, strads_err why)
{
    const sti_peer *p = &mesh->peers[node];
    return mesh->joins && !mesh->settled && node > 0 && p->dialled &&
           !p->has_met && why == STRADS_EIO;
}

static void handle_loss(void *arg, sti_link link, strads_err why,
                        const char *text)
{
    sti_mesh *mesh = arg;
    pthread_mutex_lock(&mesh->lock);
    const uint32_t node = sti_mesh_node_of(mesh, link);
    const bool settled = mesh->settled;
    bool mends = false, redials = false;
    if (node == STI_NODE_NONE)
        sti_reconnect_discard(mesh, link);
    else if ((redials = may_redial(mesh, node, why)))
        sti_mesh_redial(mesh, node);
    else
        mends = sti_reconnect_broke(mesh, node, why, text);
    const bool waits = node != STI_NODE_NONE && why == STRADS_OK && !mends &&
                       !redials && sti_reconnect_left(mesh, node);
    if (node != STI_NODE_NONE && !mends && !redials && !waits)
        sti_mesh_lose(mesh, node, why, text);
    if (!settled)
        queue_loss(mesh, link, why, text);
    pthread_mutex_unlock(&mesh->lock);
    if (mends)
        sti_reconnect_take_next(mesh, node);
    else if (settled && node != STI_NODE_NONE)
        sti_retransmit_close(&mesh->retransmit[node]);
}

/* In the join phase this failure ends the run. Later it is only recorded: the
 * run may not need another connection. If a node then fails to reconnect, the
 * sentence about its loss includes the text. */
static void handle_trouble(void *arg, const char *text)
{
    sti_mesh *mesh = arg;
    pthread_mutex_lock(&mesh->lock);
    (void)snprintf(mesh->trouble, sizeof mesh->trouble, "%s", text);
    if (!mesh->settled && !mesh->leaving && !mesh->failure) {
        mesh->failure = STRADS_ELIMIT;
        (void)snprintf(mesh->failure_text, sizeof mesh->failure_text, "%s",
                       text);
        pthread_cond_signal(&mesh->arrived);
    }
    pthread_mutex_unlock(&mesh->lock);
}

/* ---- sending ----------------------------------------------------------- */

/* A message is encoded once and kept in the retransmit queue of its node. On
 * the trace, a transfer ends when the transport has finished with the frame for
 * the first time. */

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

/* A message that is being sent. */
typedef struct transfer {
    sti_retained retained;
    sti_mesh *mesh;
    uint32_t lane; /* STI_TRACE_LANES: it is not traced, or no longer */
    uint64_t begin_ns;
} transfer;

/* The host stays attached while it sends. At most STI_TRACE_LANES simultaneous
 * transfers to a node are recorded. */
static void begin_transfer(transfer *t)
{
    sti_mesh *mesh = t->mesh;
    const uint32_t to = t->retained.header.to;
    char name[32];
    t->lane = STI_TRACE_LANES;
    if (!mesh->trace)
        return;
    (void)snprintf(name, sizeof name, "link to node %u", to);
    pthread_mutex_lock(&mesh->lock);
    t->begin_ns = mesh->host.clock(mesh->host.arg);
    t->lane = sti_trace_take_lane(mesh->trace, &mesh->peers[to].lanes,
                                  mesh->node, name);
    pthread_mutex_unlock(&mesh->lock);
}

/* The last transfers of a run may end after its trace was closed; they are then
 * not recorded. */
static void end_transfer(sti_retained *retained)
{
    transfer *t = (transfer *)retained;
    sti_mesh *mesh = t->mesh;
    pthread_mutex_lock(&mesh->lock);
    if (t->lane < STI_TRACE_LANES) {
        sti_trace_lanes *lanes = &mesh->peers[retained->header.to].lanes;
        lanes->busy &= ~(UINT32_C(1) << t->lane);
        if (mesh->trace)
            sti_trace_span(mesh->trace, lanes->track[t->lane], "transfer",
                           t->begin_ns, mesh->host.clock(mesh->host.arg),
                           retained->header.round);
    }
    t->lane = STI_TRACE_LANES;
    pthread_mutex_unlock(&mesh->lock);
}

static strads_err put_transfer(transfer *t, const sti_msg *msg, uint32_t to)
{
    sti_mesh *mesh = t->mesh;
    const uint64_t busy_us = msg->busy_ns / 1000;
    strads_err err =
        sti_msg_encode(msg, &t->retained.payload, &t->retained.rest);
    if (err) {
        sti_writer_free(&t->retained.payload);
        free(t);
        return err;
    }
    t->retained.object = sti_object_keep(msg->object);
    t->retained.header = (sti_header){
        .kind = (uint16_t)(STI_KIND_ROLE + msg->kind),
        .from = mesh->node,
        .to = to,
        .phase = msg->slice,
        .index = msg->to,
        .round = msg->round,
        .tag = msg->partition | (busy_us > UINT32_MAX ? UINT32_MAX : busy_us)
                                    << 32,
    };
    begin_transfer(t);
    if (t->lane < STI_TRACE_LANES)
        t->retained.written = end_transfer;
    return sti_retransmit_put(&mesh->retransmit[to], &t->retained,
                              60 * STI_SECOND + mesh->window_ns);
}

static bool has_sent_done(sti_mesh *mesh, uint32_t node)
{
    pthread_mutex_lock(&mesh->lock);
    bool done = mesh->peers[node].is_done;
    pthread_mutex_unlock(&mesh->lock);
    return done;
}

/* A send may fail before the loss of the node was reported. If the node has
 * sent DONE, it needs no more messages, and this is not an error. */
static strads_err fail_loss(sti_mesh *mesh, uint32_t to)
{
    char text[1024];
    if (has_sent_done(mesh, to))
        return STRADS_OK;
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    sti_mesh_hear_reason(mesh);
    strads_err failure = sti_mesh_failure(mesh);
    if (failure)
        return failure;
    const strads_err loss = loss_of(mesh, to);
    return strads_fail(
        loss,
        "node %u at %s was lost, or left the run before it was "
        "over (%s)%s",
        to, mesh->peers[to].url, text,
        loss == STRADS_EREGROUP
            ? ""
            : ": see its output for the reason, then start all nodes again");
}

/* Called before the message is sent, because its receiver may send DONE at
 * once. */
static void note_closing(sti_mesh *mesh, const sti_msg *msg)
{
    bool closes = false;
    if (msg->kind == STI_MSG_DISPATCH && !msg->partition)
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
    transfer *t = calloc(1, sizeof *t);
    strads_err err =
        t ? STRADS_OK : strads_fail(STRADS_ENOMEM, "no memory for a message");
    if (t) {
        t->mesh = mesh;
        err = put_transfer(t, &msg, to);
    }
    if (err == STRADS_EPEER)
        err = fail_loss(mesh, to);
    sti_object_drop(msg.object);
    return err;
}

bool sti_mesh_has_capacity(sti_mesh *mesh, sti_address to, uint64_t bytes)
{
    sti_retransmit *box = &mesh->retransmit[sti_run_node_of(mesh->run, to)];
    return sti_retransmit_bytes(box) + bytes < STI_RETRANSMIT_BYTES_MAX / 2;
}

/* Errors are ignored: a node that DONE does not reach has left already, or will
 * report this node as lost. */
void sti_mesh_report_done(sti_mesh *mesh)
{
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        sti_writer nothing = {0};
        const sti_header header = {.kind = STI_KIND_DONE,
                                   .from = mesh->node,
                                   .to = k};
        if (k != mesh->node)
            (void)sti_mesh_put(mesh, k, header, &nothing, 60 * STI_SECOND);
    }
    pthread_mutex_lock(&mesh->lock);
    mesh->is_done = true;
    pthread_mutex_unlock(&mesh->lock);
}

/* ---- opening and closing ----------------------------------------------- */

/* Writes the URL for other nodes in full. */
static strads_err take_advertised(sti_mesh *mesh)
{
    const char *text = mesh->options.advertise;
    sti_url url;
    strads_err err = text ? sti_url_parse(text, &url) : STRADS_OK;
    if (!text || err)
        return err;
    if (!mesh->options.url)
        return strads_fail(STRADS_EINVAL,
                           "--advertise %s: other nodes cannot know where this "
                           "node listens: give --listen URL as well",
                           text);
    if (sti_url_is_wildcard(&url) || (url.tcp && url.port == 0))
        return strads_fail(STRADS_EINVAL,
                           "--advertise %s: other nodes cannot dial it: give "
                           "the host and the port that reach this node",
                           text);
    sti_url_write(&url, mesh->advertised);
    return STRADS_OK;
}

/* If `url` is NULL, the node starts to listen while it joins, on the interface
 * that reaches node 0. */
strads_err sti_mesh_open(const sti_mesh_options *given, sti_mesh **out)
{
    sti_mesh *mesh = calloc(1, sizeof *mesh);
    if (!mesh)
        return strads_fail(STRADS_ENOMEM, "no memory for the nodes' links");
    mesh->options = *given;
    mesh->generation = given->generation;
    mesh->window_ns =
        (uint64_t)((given->window > 0 ? given->window : 10) * 1e9);
    mesh->last = &mesh->first;
    pthread_mutex_init(&mesh->lock, NULL);
    (void)sti_monotonic_cond_init(&mesh->arrived);
    pthread_cond_init(&mesh->delivered, NULL);
    (void)sti_monotonic_cond_init(&mesh->mend);
    const sti_net_options options = {
        .listen_url = given->url ? given->url : "",
        .trust = given->trust,
        .node = STI_NODE_NONE,
        .arg = mesh,
        .limit_of = limit_of,
        .gives_up = sti_mesh_gives_up,
        .events = {.received = handle_frame,
                   .lost = handle_loss,
                   .troubled = handle_trouble},
    };
    strads_err err = take_advertised(mesh);
    if (!err)
        err = sti_net_open(&options, &mesh->net);
    if (!err)
        err = sti_reconnect_start(mesh);
    if (err) {
        sti_mesh_close(mesh, STRADS_OK);
        return err;
    }
    *out = mesh;
    return STRADS_OK;
}

void sti_mesh_set_window(sti_mesh *mesh, double seconds)
{
    pthread_mutex_lock(&mesh->lock); /* links may break concurrently */
    mesh->window_ns = (uint64_t)(seconds * 1e9);
    pthread_mutex_unlock(&mesh->lock);
}

uint32_t sti_mesh_others(sti_mesh *mesh)
{
    uint32_t there = 0;
    pthread_mutex_lock(&mesh->lock);
    for (uint32_t k = 0; k < mesh->nodes; k++)
        there += mesh->peers[k].comes_again ||
                 (mesh->peers[k].link != 0 && !mesh->peers[k].gone);
    pthread_mutex_unlock(&mesh->lock);
    return there;
}

bool sti_mesh_failed(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    const bool failed = mesh->failure != STRADS_OK;
    pthread_mutex_unlock(&mesh->lock);
    return failed;
}

bool sti_mesh_stop_was_asked(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    const bool asked = mesh->stop_asked;
    pthread_mutex_unlock(&mesh->lock);
    return asked;
}

void sti_mesh_ask_stop(sti_mesh *mesh)
{
    sti_writer nothing = {0};
    const sti_header header = {.kind = STI_KIND_STOP, .from = mesh->node};
    (void)sti_mesh_put(mesh, 0, header, &nothing, STI_SECOND);
}

void sti_mesh_send_pace(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    const sti_mesh_options *o = &mesh->options;
    const bool asks = mesh->attached && !mesh->leaving && o->pace;
    const uint64_t pace = asks ? o->pace(o->arg) : 0;
    if (pace && !mesh->joins)
        o->paced(o->arg, 0, pace);
    pthread_mutex_unlock(&mesh->lock);
    if (!pace || !mesh->joins)
        return;
    sti_writer w = {0};
    sti_write_u64(&w, pace);
    const sti_header header = {.kind = STI_KIND_PACE, .from = mesh->node};
    (void)sti_mesh_put(mesh, 0, header, &w, 0);
}

void sti_mesh_report_failed(sti_mesh *mesh, strads_err err, const char *text)
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
        if (sti_msg_encode(&msg, &w, NULL) == STRADS_OK)
            (void)sti_mesh_put(mesh, k, header, &w, 0);
        else
            sti_writer_free(&w);
    }
    sti_object_drop(failure);
}

/* Nodes that have not sent DONE may need the last messages of this node. */
static void drain_queues(sti_mesh *mesh)
{
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        pthread_mutex_lock(&mesh->lock);
        bool waits = k != mesh->node && !mesh->peers[k].is_done;
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
    pthread_cond_destroy(&mesh->mend);
    pthread_cond_destroy(&mesh->delivered);
    pthread_cond_destroy(&mesh->arrived);
    pthread_mutex_destroy(&mesh->lock);
    free(mesh);
}

strads_err sti_mesh_await_goodbye(sti_mesh *mesh)
{
    bool parted = false, gone = false;
    while (!gone && !sti_stop_is_asked(mesh->options.stop)) {
        const uint64_t until = sti_monotonic_in(STI_SECOND / 20);
        pthread_mutex_lock(&mesh->lock);
        gone = mesh->peers[0].gone || mesh->failure;
        if (!gone)
            (void)sti_monotonic_wait(&mesh->arrived, &mesh->lock, until);
        gone = mesh->peers[0].gone || mesh->failure;
        parted = mesh->peers[0].parted;
        pthread_mutex_unlock(&mesh->lock);
    }
    return parted || !gone
               ? STRADS_OK
               : strads_fail(STRADS_EREGROUP,
                             "node 0 at %s was lost before its result was "
                             "safe: this node waits for it",
                             mesh->peers[0].url);
}

/* Node 0: reports the end of the run to nodes that retry their join, and to
 * lost nodes that return. Stops when no HELLO has come for LATE_NS. */
static void answer_late(sti_mesh *mesh)
{
    const uint64_t began = sti_monotonic_now();
    pthread_mutex_lock(&mesh->lock);
    uint64_t last = mesh->options.misses ? began : mesh->put_off_ns;
    pthread_mutex_unlock(&mesh->lock);
    for (;;) {
        const uint64_t now = sti_monotonic_now();
        if (!last || now - last >= LATE_NS || now - began >= LATE_MOST_NS)
            return;
        (void)nanosleep(&(struct timespec){.tv_nsec = LATE_NS / 20}, NULL);
        pthread_mutex_lock(&mesh->lock);
        if (mesh->put_off_ns > last)
            last = mesh->put_off_ns;
        pthread_mutex_unlock(&mesh->lock);
    }
}

/* With the lock held: a node that joins a later generation and fails before it
 * is ready leaves without reporting a failure, because the run does not need
 * it. So does a node that node 0 has refused while the run continues. */
static bool leaves_quietly(const sti_mesh *mesh)
{
    return mesh->joins &&
           (mesh->dispensable || (mesh->generation > 1 && !mesh->is_ready));
}

void sti_mesh_close(sti_mesh *mesh, strads_err failed)
{
    if (!mesh)
        return;
    pthread_mutex_lock(&mesh->lock);
    mesh->leaving = true;
    if (failed != STRADS_EREGROUP && leaves_quietly(mesh))
        failed = STRADS_OK;
    pthread_mutex_unlock(&mesh->lock);
    char text[1024]; /* keeps the reason if closing fails, too */
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    if (failed && mesh->net)
        sti_mesh_report_failed(mesh, failed, text);
    else if (mesh->is_done)
        drain_queues(mesh);
    if (!failed && mesh->is_done && !mesh->joins && mesh->generation)
        answer_late(mesh);
    sti_reconnect_stop(mesh);
    /* Unsent frames of an ended generation are not needed. */
    (void)sti_net_close(mesh->net,
                        (failed == STRADS_EREGROUP ? 1 : 10) * STI_SECOND);
    (void)strads_fail(STRADS_EPEER, "%s", text);
    mesh_free(mesh);
}

const char *sti_mesh_own_url(const sti_mesh *mesh)
{
    return sti_net_url(mesh->net);
}

const char *sti_mesh_url(const sti_mesh *mesh)
{
    return mesh->advertised[0] ? mesh->advertised : sti_mesh_own_url(mesh);
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

uint64_t sti_mesh_pace(const sti_mesh *mesh, uint32_t node)
{
    return mesh->peers[node].pace;
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
    pthread_cond_signal(&mesh->mend); /* its thread now reports paces */
    mesh->trace = trace;
    if (mesh->failure)
        host->abort(host->arg, mesh->failure, mesh->failure_text);
    if (mesh->stop_asked && host->stop)
        host->stop(host->arg);
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

void sti_mesh_states(sti_mesh *mesh, strads_node_state *out)
{
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        const sti_peer *p = &mesh->peers[k];
        const bool self = k == mesh->node;
        const uint64_t sent =
            self ? 0 : sti_retransmit_put_bytes(&mesh->retransmit[k]);
        pthread_mutex_lock(&mesh->lock);
        out[k] = (strads_node_state){.url = self ? sti_mesh_url(mesh) : p->url,
                                     .workers = p->workers,
                                     .linked = self || p->link != 0,
                                     .bytes_sent = sent,
                                     .bytes_received = p->received_bytes};
        pthread_mutex_unlock(&mesh->lock);
    }
}

uint32_t sti_mesh_node_of(const sti_mesh *mesh, sti_link link)
{
    for (uint32_t k = 0; link && k < mesh->nodes; k++)
        if (mesh->peers[k].link == link)
            return k;
    return STI_NODE_NONE;
}

/* Called once: pointers to the retransmit queues stay valid. */
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
    sti_net_expect(mesh->net, nodes);
    return STRADS_OK;
}

/* If a link is lost meanwhile, an arrival is queued, and the mesh is not
 * settled. */
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
        .kernel_level = strads_kernels(),
        .wanted_node = STI_NODE_NONE,
        .url = sti_mesh_url(mesh),
    };
}
