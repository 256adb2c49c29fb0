/* Data-parallel loops on several nodes. Table data goes through the store.
 * Everything else is a note (loop_message.h): node 0 announces the start, the
 * end of the run and when the nodes may leave; the other nodes send it their
 * reports and report when they are done.
 *
 * Invariants: only the caller's thread sends notes, and it holds no lock while
 * it does. Handlers of received notes only record them. The first failure is
 * kept and wakes all waiting threads of this node; if it happened here, the
 * other nodes are notified at once. */
#include "engine/run/loops.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/stop_flag.h"
#include "engine/net/node_store.h"
#include "engine/round/checkpoint.h"
#include "engine/store/cells.h"
#include "engine/store/session.h"

/* What node 0 knows of another node. */
typedef struct sti_other_node {
    bool reported; /* a report that has not been passed to the user yet: */
    strads_report report;
    bool done;
    sti_loop_times times;
    sti_buffer *parts; /* packed state for the checkpoint in progress */
} sti_other_node;

struct sti_loop_nodes {
    const sti_loop_nodes_setup *setup;
    sti_loops all;
    uint32_t node, n_nodes;
    sti_node_store *store;
    /* Guarded by all.lock; `all.moved` is signalled when they change. */
    sti_other_node *others; /* [n_nodes], on node 0 */
    uint32_t n_others;      /* other nodes that run loops */
    uint32_t n_done;
    bool end_sent;          /* node 0: END has been sent */
    bool may_go, may_leave; /* other nodes: GO, CLOSE have arrived */
    bool handed_over;       /* node 0 is handling this node's report */
    uint64_t leaves_ns;     /* other nodes: after a stop request, when this node
                         * leaves if node 0 has not ended the run; 0: no
                         * request */
    /* State of a checkpoint. On node 0: it has asked the other nodes for a
     * clock; their answers (n_answers, with the largest in `least`) and packed
     * state (n_parts) are counted; `refused`: a node cannot take part;
     * `declined`: a partition packed nothing. On other nodes: node 0 has asked;
     * this node has sent its packed state. */
    bool asked, refused, declined, sent;
    uint32_t n_answers, n_parts;
    bool has_checkpoint; /* node 0: at least one checkpoint exists */
    uint64_t least;
    sti_loop_note go; /* GO, as sent or received */
    strads_err err;   /* the first failure */
    char text[1024];
    bool is_own;       /* it happened on this node */
    bool failure_sent; /* the other nodes are notified */
};

bool sti_loop_nodes_follows(const struct sti_loop_nodes *nodes)
{
    return nodes && nodes->node != 0;
}

strads_err sti_loop_nodes_session(struct sti_loop_nodes *nodes,
                                  uint32_t partition, strads_session **out)
{
    return sti_node_store_session(nodes->store, partition, out);
}

/* ---- failing ----------------------------------------------------------- */

static void record_failure(struct sti_loop_nodes *nodes, strads_err err,
                           const char *text, bool is_own)
{
    pthread_mutex_lock(&nodes->all.lock);
    if (!nodes->err) {
        nodes->err = err;
        nodes->is_own = is_own;
        (void)snprintf(nodes->text, sizeof nodes->text, "%s", text);
    }
    nodes->all.failed = true;
    pthread_cond_broadcast(&nodes->all.moved);
    pthread_mutex_unlock(&nodes->all.lock);
    sti_node_store_abort(nodes->store, err, text);
}

void sti_loop_nodes_fail(struct sti_loop_nodes *nodes, strads_err err,
                         const char *text)
{
    record_failure(nodes, err, text, true);
}

void sti_loop_nodes_regroup(struct sti_loop_nodes *nodes, const char *text)
{
    record_failure(nodes, STRADS_EREGROUP, text, false);
}

static strads_err recorded_failure(struct sti_loop_nodes *nodes)
{
    pthread_mutex_lock(&nodes->all.lock);
    strads_err err =
        nodes->err ? strads_fail(nodes->err, "%s", nodes->text) : STRADS_OK;
    pthread_mutex_unlock(&nodes->all.lock);
    return err;
}

/* ---- notes ------------------------------------------------------------- */

static strads_err send_message_by_mesh(void *arg, const sti_msg *msg)
{
    const struct sti_loop_nodes *nodes = arg;
    return sti_mesh_send(nodes->setup->mesh, msg);
}

static void send_note(struct sti_loop_nodes *nodes, sti_address to,
                      const sti_loop_note *note)
{
    sti_loop_note *copy;
    strads_err err = sti_loop_note_new(note, &copy);
    if (!err) {
        const sti_msg msg = {.kind = STI_MSG_LOOP,
                             .from = STI_CLIENT_0 + nodes->node,
                             .to = to,
                             .object = &copy->head};
        err = send_message_by_mesh(nodes, &msg);
    }
    if (err)
        record_failure(nodes, err, strads_error_text(), true);
}

static void broadcast_note(struct sti_loop_nodes *nodes,
                           const sti_loop_note *note)
{
    for (uint32_t k = 1; k < nodes->n_nodes; k++)
        send_note(nodes, STI_CLIENT_0 + k, note);
}

static void broadcast_word(struct sti_loop_nodes *nodes, sti_loop_word word)
{
    broadcast_note(nodes, &(sti_loop_note){.word = word});
}

/* A checkpoint note. On node 0, with the lock held. */
static bool take_checkpoint_note(struct sti_loop_nodes *nodes,
                                 sti_other_node *other,
                                 const sti_loop_note *note)
{
    if (!nodes->all.checkpoint.keeps)
        return false;
    nodes->refused = nodes->refused || note->clock == 0;
    if (note->word == STI_LOOP_CHECKPOINT_AT) {
        nodes->n_answers++;
        if (note->clock > nodes->least)
            nodes->least = note->clock;
    } else if (note->clock && !other->parts && note->parts) {
        other->parts = note->parts;
        sti_object_keep(other->parts);
        nodes->declined = nodes->declined || !note->checkpoints;
        nodes->n_parts++;
    }
    return true;
}

/* With the lock held. False: the note is not valid now. */
static bool take_from_other(struct sti_loop_nodes *nodes, uint32_t node,
                            const sti_loop_note *note)
{
    sti_other_node *other = &nodes->others[node];
    sti_loops *all = &nodes->all;
    if (node == 0 || other->done)
        return false;
    if (note->word == STI_LOOP_CHECKPOINT_AT ||
        note->word == STI_LOOP_CHECKPOINT_PART)
        return take_checkpoint_note(nodes, other, note);
    if (other->reported ||
        (note->word != STI_LOOP_REPORT && note->word != STI_LOOP_DONE))
        return false;
    all->others.computing += note->times.computing - other->times.computing;
    all->others.waiting += note->times.waiting - other->times.waiting;
    all->others.network += note->times.network - other->times.network;
    other->times = note->times;
    other->reported = note->word == STI_LOOP_REPORT;
    other->report = note->report;
    other->done = note->word == STI_LOOP_DONE;
    nodes->n_done += other->done;
    all->counted = all->counted || note->counted;
    return true;
}

/* With the lock held, on another node. */
static bool take_from_first(struct sti_loop_nodes *nodes,
                            const sti_loop_note *note)
{
    switch (note->word) {
    case STI_LOOP_GO:
        if (nodes->may_go) /* a repeated GO */
            return true;
        nodes->go = *note;
        if (note->parts)
            sti_object_keep(note->parts);
        nodes->may_go = true;
        return true;
    case STI_LOOP_TOLD:
        nodes->handed_over = false;
        return true;
    case STI_LOOP_END:
        nodes->all.ends = true;
        return true;
    case STI_LOOP_CLOSE:
        nodes->may_leave = true;
        return true;
    case STI_LOOP_CHECKPOINT_ASK:
        nodes->asked = true;
        return true;
    case STI_LOOP_CHECKPOINT_SET:
        if (nodes->all.checkpoint.keeps)
            sti_loop_checkpoint_choose_locked(&nodes->all, note->clock);
        return true;
    case STI_LOOP_CHECKPOINT_GO:
        nodes->all.checkpoint.over =
            nodes->all.checkpoint.over || !note->checkpoints;
        sti_loop_checkpoint_release_locked(&nodes->all);
        nodes->sent = false;
        return true;
    case STI_LOOP_REPORT:
    case STI_LOOP_DONE:
    case STI_LOOP_CHECKPOINT_AT:
    case STI_LOOP_CHECKPOINT_PART:
        break;
    }
    return false;
}

static void deliver_note(void *arg, const sti_msg *msg)
{
    struct sti_loop_nodes *nodes = arg;
    if (msg->kind == STI_MSG_PEER_VECTOR ||
        (msg->kind >= STI_MSG_PUSH && msg->kind <= STI_MSG_ROWS)) {
        sti_node_store_deliver(nodes->store, msg);
        return;
    }
    bool good = msg->kind == STI_MSG_LOOP;
    pthread_mutex_lock(&nodes->all.lock);
    if (good)
        good = nodes->node == 0
                   ? take_from_other(nodes, msg->from - STI_CLIENT_0,
                                     (const sti_loop_note *)msg->object)
                   : take_from_first(nodes, (const sti_loop_note *)msg->object);
    pthread_cond_broadcast(&nodes->all.moved);
    pthread_mutex_unlock(&nodes->all.lock);
    sti_object_drop(msg->object);
    if (!good)
        record_failure(nodes, STRADS_EPEER,
                       "a node sent a message that was not requested: it runs "
                       "another version",
                       true);
}

/* ---- the caller's thread ------------------------------------------------ */

/* Sleeps until something changes, for a short time at most, because the stop
 * flag and the clock are polled. With the lock held. */
static void wait_locked(struct sti_loop_nodes *nodes)
{
    enum { MOMENT_NS = 20000000 };
    (void)sti_monotonic_wait(&nodes->all.moved, &nodes->all.lock,
                             sti_monotonic_in(MOMENT_NS));
}

/* A node other than node 0 has no model, so it asks node 0 to end the run and
 * keeps working until then. */
static void look_at_user(struct sti_loop_nodes *nodes)
{
    if (!nodes->node || !sti_stop_is_asked(nodes->setup->setup->options.stop))
        return;
    if (!nodes->leaves_ns) {
        nodes->leaves_ns = sti_monotonic_in(STI_STOP_PATIENCE_NS);
        sti_mesh_ask_stop(nodes->setup->mesh);
    } else if (sti_monotonic_now() >= nodes->leaves_ns) {
        record_failure(nodes, STRADS_ECANCELED, STI_STOP_LATE, true);
    }
}

/* Node 0: a user has asked another node to stop. */
static void stop_requested(void *arg)
{
    struct sti_loop_nodes *nodes = arg;
    pthread_mutex_lock(&nodes->all.lock);
    sti_loops_end_soon_locked(&nodes->all, STRADS_END_CANCELED);
    pthread_cond_broadcast(&nodes->all.moved);
    pthread_mutex_unlock(&nodes->all.lock);
}

/* Notifies the other nodes of a failure here at once, because some may be
 * waiting for this node. */
static void send_failure(struct sti_loop_nodes *nodes)
{
    pthread_mutex_lock(&nodes->all.lock);
    bool due = nodes->err && nodes->is_own && !nodes->failure_sent;
    nodes->failure_sent = nodes->failure_sent || due;
    pthread_mutex_unlock(&nodes->all.lock);
    if (due)
        sti_mesh_report_failed(nodes->setup->mesh, STRADS_EPEER, nodes->text);
}

/* Waits until *flag is set or the run has failed. */
static strads_err wait_for(struct sti_loop_nodes *nodes, const bool *flag)
{
    sti_loops *all = &nodes->all;
    pthread_mutex_lock(&all->lock);
    while (!*flag && !all->failed) {
        wait_locked(nodes);
        pthread_mutex_unlock(&all->lock);
        look_at_user(nodes);
        pthread_mutex_lock(&all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return recorded_failure(nodes);
}

/* Node 0, with the lock held: fetches the next report, its progress and its
 * node. */
static bool next_report(struct sti_loop_nodes *nodes, uint32_t *node,
                        strads_progress *progress)
{
    sti_loops *all = &nodes->all;
    *node = 0;
    while (*node < nodes->n_nodes && !nodes->others[*node].reported)
        ++*node;
    if (all->reported)
        *node = 0;
    else if (*node < nodes->n_nodes)
        sti_loops_take_locked(all, &nodes->others[*node].report);
    else
        return false;
    *progress = sti_loops_progress_locked(all);
    return true;
}

/* Called with the lock held; releases it during the callback. */
static void report_node(struct sti_loop_nodes *nodes, uint32_t node,
                        const strads_progress *progress)
{
    sti_loops *all = &nodes->all;
    pthread_mutex_unlock(&all->lock);
    nodes->setup->progress(nodes->setup->arg, progress);
    pthread_mutex_lock(&all->lock);
    if (node == 0) {
        all->reported = false;
        pthread_cond_broadcast(&all->moved);
        return;
    }
    nodes->others[node].reported = false;
    pthread_mutex_unlock(&all->lock);
    send_note(nodes, STI_CLIENT_0 + node,
              &(sti_loop_note){.word = STI_LOOP_TOLD});
    pthread_mutex_lock(&all->lock);
}

/* Copies table t from the shards into run->store. */
static strads_err gather_table(struct sti_loop_nodes *nodes, uint32_t t)
{
    enum { AT_ONCE = 1 << 22 }; /* bytes */
    const sti_run *run = &nodes->setup->setup->run;
    const strads_table_spec *spec = strads_store_spec(run->store, t);
    const size_t row = spec->cols * sti_cell_size(spec->type);
    const uint32_t most = row < AT_ONCE ? (uint32_t)(AT_ONCE / row) : 1;
    uint32_t *rows = malloc(sizeof *rows * most);
    void *values = malloc(row * most);
    strads_err err = rows && values
                         ? STRADS_OK
                         : strads_fail(STRADS_ENOMEM, "no memory for the "
                                                      "tables' rows");
    for (uint64_t at = 0; !err && at < spec->rows; at += most) {
        const uint64_t left = spec->rows - at;
        const uint32_t n = left < most ? (uint32_t)left : most;
        for (uint32_t k = 0; k < n; k++)
            rows[k] = (uint32_t)at + k;
        err = sti_node_store_get(nodes->store, t, n, rows, values);
        if (!err)
            err = strads_store_inc(run->store, t, n, rows, values, NULL);
    }
    free(rows);
    free(values);
    return err;
}

static strads_err gather_tables(struct sti_loop_nodes *nodes, uint32_t most)
{
    sti_run *run = &nodes->setup->setup->run;
    strads_err err = sti_job_make_tables(run);
    for (uint32_t t = 0; !err && t < most && strads_store_spec(run->store, t);
         t++)
        err = gather_table(nodes, t);
    return err;
}

static void drop_tables(sti_run *run)
{
    strads_store_free(run->store);
    run->store = NULL;
}

/* ---- checkpoints, on the caller's thread -------------------------------- */

/* Node 0: a checkpoint to return to exists. */
static void note_checkpoint(struct sti_loop_nodes *nodes)
{
    pthread_mutex_lock(&nodes->all.lock);
    nodes->has_checkpoint = true;
    pthread_mutex_unlock(&nodes->all.lock);
}

/* Node 0: all loops are at the checkpoint's clock. The pushes of node 0 are
 * applied here first. The run continues if there is no memory for the
 * checkpoint. */
static strads_err make_checkpoint(struct sti_loop_nodes *nodes)
{
    sti_loops *all = &nodes->all;
    sti_run *run = &all->setup->run;
    sti_buffer *parts = NULL;
    strads_err err = sti_buffer_new(0, &parts);
    pthread_mutex_lock(&all->lock);
    const uint64_t clock = all->checkpoint.at;
    const bool declined = nodes->declined || all->checkpoint.declined;
    all->progress.round = clock;
    sti_loops_sum_locked(all);
    if (!err && all->checkpoint.parts)
        err = sti_checkpoint_join(parts, all->checkpoint.parts);
    for (uint32_t k = 1; !err && k < nodes->n_nodes; k++)
        if (nodes->others[k].parts)
            err = sti_checkpoint_join(parts, nodes->others[k].parts);
    pthread_mutex_unlock(&all->lock);
    if (!err && !declined)
        err = sti_node_store_settle(nodes->store);
    if (!err && !declined) {
        err = gather_tables(nodes, UINT32_MAX);
        if (!err)
            err = sti_loop_checkpoint_make(all, parts, clock);
        if (!err)
            note_checkpoint(nodes);
        else if (err == STRADS_ENOMEM)
            run->checkpoints->take(run->checkpoints->arg, NULL);
        err = err == STRADS_ENOMEM ? STRADS_OK : err;
        drop_tables(run);
    }
    sti_object_drop(parts);
    return err;
}

static void lead_go_on(struct sti_loop_nodes *nodes, bool over)
{
    sti_loops *all = &nodes->all;
    pthread_mutex_lock(&all->lock);
    all->checkpoint.over = all->checkpoint.over || over;
    all->checkpoint.declined = all->checkpoint.declined || nodes->declined;
    sti_loop_checkpoint_release_locked(all);
    for (uint32_t k = 1; k < nodes->n_nodes; k++) {
        sti_object_drop(nodes->others[k].parts);
        nodes->others[k].parts = NULL;
    }
    nodes->asked = nodes->declined = false;
    nodes->n_answers = nodes->n_parts = 0;
    nodes->least = 0;
    const sti_loop_note note = {.word = STI_LOOP_CHECKPOINT_GO,
                                .checkpoints = !all->checkpoint.over};
    const bool ends = all->ends && !nodes->end_sent;
    nodes->end_sent = nodes->end_sent || ends;
    pthread_mutex_unlock(&all->lock);
    if (ends) /* END first, so that all loops end at this clock */
        broadcast_word(nodes, STI_LOOP_END);
    broadcast_note(nodes, &note);
}

/* Node 0: the next step of a checkpoint. */
static void lead_checkpoint(struct sti_loop_nodes *nodes)
{
    sti_loops *all = &nodes->all;
    sti_loop_checkpoint *checkpoint = &all->checkpoint;
    sti_loop_note note = {.word = STI_LOOP_CHECKPOINT_SET};
    pthread_mutex_lock(&all->lock);
    const bool going =
        checkpoint->keeps && !checkpoint->over && !all->ends && !all->failed;
    const bool left =
        nodes->refused || nodes->n_done > 0 || all->running < all->count;
    const bool there = checkpoint->at < UINT64_MAX && checkpoint->agreed &&
                       checkpoint->arrived == all->count &&
                       nodes->n_parts == nodes->n_others;
    bool says = false;
    if (going && !left && !nodes->asked &&
        sti_loop_checkpoint_is_due_locked(all)) {
        nodes->asked = says = true;
        const uint64_t own = sti_loop_checkpoint_ask_locked(all);
        nodes->least = own > nodes->least ? own : nodes->least;
        note.word = STI_LOOP_CHECKPOINT_ASK;
    } else if (going && !left && nodes->asked && !checkpoint->agreed &&
               nodes->n_answers == nodes->n_others) {
        says = true;
        sti_loop_checkpoint_choose_locked(all, nodes->least);
        note.clock = checkpoint->at;
    }
    pthread_mutex_unlock(&all->lock);
    if (says) {
        broadcast_note(nodes, &note);
    } else if (going && left) {
        lead_go_on(nodes, true);
    } else if (going && there) {
        strads_err err = make_checkpoint(nodes);
        if (err)
            record_failure(nodes, err, strads_error_text(), true);
        else if (!all->failed) /* failed: the next epoch resumes from this
                                * checkpoint */
            lead_go_on(nodes, false);
    }
}

/* Other nodes: the next step of a checkpoint. */
static void follow_checkpoint(struct sti_loop_nodes *nodes)
{
    sti_loops *all = &nodes->all;
    sti_loop_checkpoint *checkpoint = &all->checkpoint;
    sti_loop_note note = {.word = 0};
    pthread_mutex_lock(&all->lock);
    const bool going =
        checkpoint->keeps && !checkpoint->over && !all->ends && !all->failed;
    const bool left = all->running < all->count;
    if (going && nodes->asked) {
        nodes->asked = false;
        note.word = STI_LOOP_CHECKPOINT_AT;
        note.clock = left ? 0 : sti_loop_checkpoint_ask_locked(all);
    } else if (going && !nodes->sent &&
               (left ||
                (checkpoint->agreed && checkpoint->arrived == all->count))) {
        nodes->sent = true;
        note.word = STI_LOOP_CHECKPOINT_PART;
        note.clock = left ? 0 : checkpoint->at;
        note.checkpoints = !checkpoint->declined;
        note.parts = left ? NULL : checkpoint->parts;
        if (note.parts)
            sti_object_keep(note.parts);
    }
    pthread_mutex_unlock(&all->lock);
    if (note.word == STI_LOOP_CHECKPOINT_PART && note.clock)
        (void)sti_node_store_settle(nodes->store); /* records failures */
    if (note.word)
        send_note(nodes, STI_COORDINATOR, &note);
    sti_object_drop(note.parts);
}

/* Node 0: passes reports to the user and announces the end, until all loops of
 * all nodes are done. */
static void run_as_leader(struct sti_loop_nodes *nodes)
{
    sti_loops *all = &nodes->all;
    strads_progress progress;
    uint32_t node;
    pthread_mutex_lock(&all->lock);
    while (all->running || (!all->failed && (nodes->n_done < nodes->n_others ||
                                             all->reported))) {
        sti_loops_look_locked(all);
        if (all->ends && !nodes->end_sent && !all->failed) {
            nodes->end_sent = true;
            pthread_mutex_unlock(&all->lock);
            broadcast_word(nodes, STI_LOOP_END);
            pthread_mutex_lock(&all->lock);
        } else if (!all->failed && next_report(nodes, &node, &progress)) {
            report_node(nodes, node, &progress);
        } else {
            wait_locked(nodes);
        }
        pthread_mutex_unlock(&all->lock);
        lead_checkpoint(nodes);
        send_failure(nodes);
        pthread_mutex_lock(&all->lock);
    }
    pthread_mutex_unlock(&all->lock);
}

static void hand_over(struct sti_loop_nodes *nodes)
{
    sti_loops *all = &nodes->all;
    const sti_loop_note note = {.word = STI_LOOP_REPORT,
                                .report = all->report,
                                .times = sti_loops_times_locked(all)};
    nodes->handed_over = true;
    all->reported = false;
    pthread_cond_broadcast(&all->moved);
    pthread_mutex_unlock(&all->lock);
    send_note(nodes, STI_COORDINATOR, &note);
    pthread_mutex_lock(&all->lock);
}

/* Other nodes: send reports to node 0, one at a time, until all loops of this
 * node are done. */
static void run_as_follower(struct sti_loop_nodes *nodes)
{
    sti_loops *all = &nodes->all;
    pthread_mutex_lock(&all->lock);
    while (all->running ||
           (!all->failed && (all->reported || nodes->handed_over))) {
        if (all->reported && !nodes->handed_over && !all->failed)
            hand_over(nodes);
        else
            wait_locked(nodes);
        pthread_mutex_unlock(&all->lock);
        follow_checkpoint(nodes);
        look_at_user(nodes);
        send_failure(nodes);
        pthread_mutex_lock(&all->lock);
    }
    pthread_mutex_unlock(&all->lock);
}

static strads_err drive_loops_here(struct sti_loop_nodes *nodes)
{
    uint32_t started = sti_loops_start(&nodes->all);
    if (started < nodes->all.count)
        record_failure(nodes, STRADS_EIO,
                       "cannot start a thread for each partition: use fewer "
                       "partitions",
                       true);
    if (nodes->node == 0)
        run_as_leader(nodes);
    else
        run_as_follower(nodes);
    (void)sti_loops_join(&nodes->all, started);
    send_failure(nodes);
    strads_err err = recorded_failure(nodes);
    return err ? err : sti_node_store_settle(nodes->store);
}

/* ---- the model --------------------------------------------------------- */

static strads_err make_result(struct sti_loop_nodes *nodes, strads_result **out)
{
    sti_loops *all = &nodes->all;
    strads_err err = gather_tables(nodes, 1);
    if (err)
        return err;
    pthread_mutex_lock(&all->lock);
    if (!all->ends && all->counted)
        all->end = STRADS_END_ROUNDS;
    sti_loops_sum_locked(all);
    pthread_mutex_unlock(&all->lock);
    nodes->setup->add(nodes->setup->arg, &all->progress);
    return sti_result_new(nodes->setup->setup, &all->progress, all->end, out);
}

/* ---- one node's part ---------------------------------------------------- */

static void store_failed(void *arg, strads_err err, const char *text)
{
    record_failure(arg, err, text, true);
}

static void mesh_failed(void *arg, strads_err err, const char *text)
{
    record_failure(arg, err, text, false);
}

/* If a node is lost, its peers continue without it, unless it is node 0, which
 * makes the result. If a checkpoint exists, node 0 ends the epoch instead, so
 * that other nodes also take over the lost node's rows. */
static bool mesh_lost(void *arg, uint32_t node)
{
    struct sti_loop_nodes *nodes = arg;
    const strads_engine_options *o = &nodes->setup->setup->options;
    char text[96];
    pthread_mutex_lock(&nodes->all.lock);
    const bool goes_back = nodes->has_checkpoint;
    pthread_mutex_unlock(&nodes->all.lock);
    if (node == 0 || goes_back || !sti_node_store_lose(nodes->store, node))
        return false;
    pthread_mutex_lock(&nodes->all.lock);
    if (nodes->node == 0 && !nodes->others[node].done) {
        nodes->others[node].done = true;
        nodes->n_done++;
    }
    pthread_cond_broadcast(&nodes->all.moved);
    pthread_mutex_unlock(&nodes->all.lock);
    (void)snprintf(text, sizeof text,
                   "node %u was lost: its peers continue without it", node);
    if (o->notice && nodes->node == 0)
        o->notice(o->notice_arg, text);
    return true;
}

uint64_t sti_loop_nodes_busy(struct sti_loop_nodes *nodes)
{
    pthread_mutex_lock(&nodes->all.lock);
    const double computing = sti_loops_times_locked(&nodes->all).computing;
    pthread_mutex_unlock(&nodes->all.lock);
    return computing > 0 ? (uint64_t)(1e9 * computing) : 0;
}

static uint64_t trace_clock(const void *arg)
{
    const struct sti_loop_nodes *nodes = arg;
    return sti_monotonic_now() - nodes->all.zero_ns;
}

static bool has_capacity(void *arg, sti_address to, uint64_t bytes)
{
    const struct sti_loop_nodes *nodes = arg;
    return sti_mesh_has_capacity(nodes->setup->mesh, to, bytes);
}

/* Nodes other than node 0 need only the specs of the tables; node 0 also needs
 * their start values. */
static strads_err open_store(struct sti_loop_nodes *nodes)
{
    sti_run *run = &nodes->setup->setup->run;
    sti_begin_job begin = {0};
    strads_err err = nodes->node == 0 ? sti_job_begin(run, &begin)
                                      : sti_job_make_tables(run);
    sti_object_drop(begin.start);
    uint32_t n = 0;
    strads_table_spec *specs = NULL;
    if (!err)
        err = sti_loops_specs(run, &specs, &n);
    const sti_node_store_setup setup = {
        .run = run,
        .node = nodes->node,
        .first_worker = nodes->setup->first,
        .workers = nodes->setup->count,
        .tables = specs,
        .n_tables = n,
        .trace = nodes->all.trace,
        .zero_ns = nodes->all.zero_ns,
        .send = send_message_by_mesh,
        .has_capacity = has_capacity,
        .failed = store_failed,
        .arg = nodes,
    };
    if (!err)
        err = sti_node_store_open(&setup, &nodes->store);
    free(specs);
    return err;
}

/* Node 0, from opened store to result. */
static strads_err run_first(struct sti_loop_nodes *nodes, strads_result **out)
{
    sti_run *run = &nodes->setup->setup->run;
    strads_err err = sti_mesh_ready(nodes->setup->mesh, &nodes->setup->mark);
    if (!err)
        err = sti_node_store_put(nodes->store, run->store);
    if (err)
        return err;
    sti_loops_go_on(&nodes->all);
    if (nodes->all.start)
        note_checkpoint(nodes);
    if (run->checkpoints)
        sti_loop_checkpoints_open(&nodes->all, run->max_rounds);
    nodes->setup->begun(nodes->setup->arg, nodes);
    if (nodes->setup->stopped)
        stop_requested(nodes);
    drop_tables(run);
    nodes->all.wall = 1e-9 * (double)sti_loops_now(&nodes->all);
    nodes->go =
        (sti_loop_note){.word = STI_LOOP_GO,
                        .clock = nodes->all.start,
                        .last = run->max_rounds,
                        .checkpoints = run->checkpoints != NULL,
                        .parts = run->checkpoints && run->checkpoints->from
                                     ? run->checkpoints->from->parts
                                     : NULL};
    broadcast_note(nodes, &nodes->go);
    err = drive_loops_here(nodes);
    if (!err)
        err = make_result(nodes, out);
    if (!err)
        broadcast_word(nodes, STI_LOOP_CLOSE);
    return err ? err : recorded_failure(nodes);
}

/* After its loops are done, the node stays because of its shards. */
static strads_err run_other(struct sti_loop_nodes *nodes)
{
    strads_err err = sti_mesh_ready(nodes->setup->mesh, &nodes->setup->mark);
    if (!err)
        err = wait_for(nodes, &nodes->may_go);
    if (!err)
        nodes->setup->begun(nodes->setup->arg, nodes);
    nodes->all.start = nodes->go.clock;
    nodes->all.from = nodes->go.parts;
    if (!err && nodes->go.checkpoints && nodes->setup->count)
        sti_loop_checkpoints_open(&nodes->all, nodes->go.last);
    drop_tables(&nodes->setup->setup->run);
    if (!err && nodes->setup->count == 0)
        return wait_for(nodes, &nodes->may_leave);
    if (!err)
        err = drive_loops_here(nodes);
    if (err)
        return err;
    pthread_mutex_lock(&nodes->all.lock);
    const sti_loop_note done = {
        .word = STI_LOOP_DONE,
        .times = sti_loops_times_locked(&nodes->all),
        .counted = nodes->all.counted,
    };
    pthread_mutex_unlock(&nodes->all.lock);
    send_note(nodes, STI_COORDINATOR, &done);
    return wait_for(nodes, &nodes->may_leave);
}

/* Runs while the mesh is attached. */
static strads_err run_attached(struct sti_loop_nodes *nodes,
                               strads_result **out)
{
    sti_mesh *mesh = nodes->setup->mesh;
    const sti_mesh_host host = {.deliver = deliver_note,
                                .abort = mesh_failed,
                                .clock = trace_clock,
                                .stop = stop_requested,
                                .lost = mesh_lost,
                                .arg = nodes};
    sti_mesh_attach(mesh, &nodes->setup->setup->run, &host, nodes->all.trace);
    strads_err err =
        nodes->node == 0 ? run_first(nodes, out) : run_other(nodes);
    sti_node_store_stop(nodes->store); /* the store sends through the mesh */
    if (!err)
        sti_mesh_report_done(mesh);
    sti_mesh_detach(mesh);
    return err;
}

strads_err sti_loop_nodes_run(const sti_loop_nodes_setup *setup,
                              strads_progress *progress, strads_result **out)
{
    struct sti_loop_nodes nodes = {
        .setup = setup,
        .node = sti_mesh_node(setup->mesh),
        .n_nodes = sti_mesh_nodes(setup->mesh),
        .n_others = setup->with_loops - 1,
        .all = {.setup = setup->setup,
                .first = setup->first,
                .count = setup->count,
                .nodes = &nodes,
                .end = STRADS_END_STOPPED},
    };
    sti_progress_begin(&nodes.all.progress);
    strads_err err = sti_loops_open(&nodes.all);
    nodes.others = calloc(nodes.n_nodes, sizeof *nodes.others);
    if (!err && !nodes.others)
        err =
            strads_fail(STRADS_ENOMEM, "no memory for %u nodes", nodes.n_nodes);
    if (!err)
        err = open_store(&nodes);
    if (!err)
        err = run_attached(&nodes, out);
    if (err) /* otherwise make_result has summed them */
        sti_loops_sum_locked(&nodes.all);
    *progress = nodes.all.progress;
    sti_node_store_close(nodes.store);
    for (uint32_t k = 0; nodes.others && k < nodes.n_nodes; k++)
        sti_object_drop(nodes.others[k].parts);
    if (nodes.node)
        sti_object_drop(nodes.go.parts);
    free(nodes.others);
    return sti_loops_close(&nodes.all, err);
}
