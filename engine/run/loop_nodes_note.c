/* What nodes of a loop tell each other: notes (loop_message.h), and failures.
 * Who takes a note only notes it. The first failure stays, and ends all that
 * waits. */
#include <stdio.h>

#include "engine/run/loop_nodes_state.h"

/* ---- failing ----------------------------------------------------------- */

void sti_loop_nodes_note(struct sti_loop_nodes *nodes, strads_err err,
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
    sti_loop_nodes_note(nodes, err, text, true);
}

strads_err sti_loop_nodes_failure(struct sti_loop_nodes *nodes)
{
    pthread_mutex_lock(&nodes->all.lock);
    strads_err err =
        nodes->err ? strads_fail(nodes->err, "%s", nodes->text) : STRADS_OK;
    pthread_mutex_unlock(&nodes->all.lock);
    return err;
}

/* ---- notes ------------------------------------------------------------- */

strads_err sti_loop_nodes_send(void *arg, const sti_msg *msg)
{
    const struct sti_loop_nodes *nodes = arg;
    return sti_mesh_send(nodes->setup->mesh, msg);
}

void sti_loop_nodes_say(struct sti_loop_nodes *nodes, sti_address to,
                        const sti_loop_note *note)
{
    sti_loop_note *copy;
    strads_err err = sti_loop_note_new(note, &copy);
    if (!err) {
        const sti_msg msg = {.kind = STI_MSG_LOOP,
                             .from = STI_CLIENT_0 + nodes->node,
                             .to = to,
                             .object = &copy->head};
        err = sti_loop_nodes_send(nodes, &msg);
    }
    if (err)
        sti_loop_nodes_note(nodes, err, strads_error_text(), true);
}

/* Another node was started again, and has heard nothing. */
void sti_loop_nodes_say_again(void *arg, uint32_t node)
{
    struct sti_loop_nodes *nodes = arg;
    pthread_mutex_lock(&nodes->all.lock);
    const bool went = nodes->went, closed = nodes->closed;
    pthread_mutex_unlock(&nodes->all.lock);
    if (went)
        sti_loop_nodes_say(nodes, STI_CLIENT_0 + node,
                           &(sti_loop_note){.word = STI_LOOP_GO});
    if (closed)
        sti_loop_nodes_say(nodes, STI_CLIENT_0 + node,
                           &(sti_loop_note){.word = STI_LOOP_CLOSE});
}

/* Noted before: who is told again meanwhile is told twice, which is fine. */
void sti_loop_nodes_say_all(struct sti_loop_nodes *nodes, sti_loop_word word)
{
    pthread_mutex_lock(&nodes->all.lock);
    nodes->went = nodes->went || word == STI_LOOP_GO;
    nodes->closed = nodes->closed || word == STI_LOOP_CLOSE;
    pthread_mutex_unlock(&nodes->all.lock);
    for (uint32_t k = 1; k < nodes->n_nodes; k++)
        sti_loop_nodes_say(nodes, STI_CLIENT_0 + k,
                           &(sti_loop_note){.word = word});
}

/* With the lock held. False: nobody says that now. */
static bool take_from_other(struct sti_loop_nodes *nodes, uint32_t node,
                            const sti_loop_note *note)
{
    sti_other_node *other = &nodes->others[node];
    sti_loops *all = &nodes->all;
    if (node == 0 || other->done || other->reported ||
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
    case STI_LOOP_REPORT:
    case STI_LOOP_DONE:
        break;
    }
    return false;
}

void sti_loop_nodes_deliver(void *arg, const sti_msg *msg)
{
    struct sti_loop_nodes *nodes = arg;
    if (msg->kind >= STI_MSG_PUSH && msg->kind <= STI_MSG_SETTLED) {
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
        sti_loop_nodes_note(nodes, STRADS_EPEER,
                            "a node said what nobody had asked it for: it runs "
                            "another version",
                            true);
}
