/* The caller's thread while loops run: node 0 tells reports and the end, the
 * others hand their reports over. It alone sends notes, without a lock. */
#include "engine/base/steady.h"
#include "engine/base/stop_flag.h"
#include "engine/run/loop_nodes_state.h"

/* Sleeps until something has changed, or for a moment: users and clocks are
 * looked at then. With the lock held. */
static void wait_locked(struct sti_loop_nodes *nodes)
{
    enum { MOMENT_NS = 20000000 };
    (void)sti_steady_wait(&nodes->all.moved, &nodes->all.lock,
                          sti_steady_in(MOMENT_NS));
}

/* Another node cannot end the run with a model: its leaving ends it for all. */
static void look_at_user(struct sti_loop_nodes *nodes)
{
    if (nodes->node && sti_stop_is_asked(nodes->setup->setup->options.stop))
        sti_loop_nodes_note(nodes, STRADS_ECANCELED, "stopped by its user",
                            true);
}

/* What failed here ends the run everywhere, now: some wait for this node. */
static void say_failure(struct sti_loop_nodes *nodes)
{
    pthread_mutex_lock(&nodes->all.lock);
    bool due = nodes->err && nodes->is_own && !nodes->said_failure;
    nodes->said_failure = nodes->said_failure || due;
    pthread_mutex_unlock(&nodes->all.lock);
    if (due)
        sti_mesh_say_failed(nodes->setup->mesh, STRADS_EPEER, nodes->text);
}

/* Until it is true, or something has failed. */
strads_err sti_loop_nodes_wait(struct sti_loop_nodes *nodes, const bool *flag)
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
    return sti_loop_nodes_failure(nodes);
}

/* Node 0, with the lock held: a report to be told, into *progress, and whose it
 * was. */
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
    *progress = all->progress;
    return true;
}

/* With the lock held; lets it go meanwhile. */
static void tell_report(struct sti_loop_nodes *nodes, uint32_t node,
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
    sti_loop_nodes_say(nodes, STI_CLIENT_0 + node,
                       &(sti_loop_note){.word = STI_LOOP_TOLD});
    pthread_mutex_lock(&all->lock);
}

/* Node 0: tells reports and the end until all loops of all nodes are done. */
static void lead(struct sti_loop_nodes *nodes)
{
    sti_loops *all = &nodes->all;
    strads_progress progress;
    uint32_t node;
    bool told_end = false;
    pthread_mutex_lock(&all->lock);
    while (all->running || (!all->failed && (nodes->n_done < nodes->n_others ||
                                             all->reported))) {
        sti_loops_look_locked(all);
        if (all->ends && !told_end && !all->failed) {
            told_end = true;
            pthread_mutex_unlock(&all->lock);
            sti_loop_nodes_say_all(nodes, STI_LOOP_END);
            pthread_mutex_lock(&all->lock);
        } else if (!all->failed && next_report(nodes, &node, &progress)) {
            tell_report(nodes, node, &progress);
        } else {
            wait_locked(nodes);
        }
        pthread_mutex_unlock(&all->lock);
        say_failure(nodes);
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
    sti_loop_nodes_say(nodes, STI_COORDINATOR, &note);
    pthread_mutex_lock(&all->lock);
}

/* Another node: hands reports to node 0, one after the other, until all loops
 * of this node are done. */
static void follow(struct sti_loop_nodes *nodes)
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
        look_at_user(nodes);
        say_failure(nodes);
        pthread_mutex_lock(&all->lock);
    }
    pthread_mutex_unlock(&all->lock);
}

strads_err sti_loop_nodes_drive(struct sti_loop_nodes *nodes)
{
    uint32_t started = sti_loops_start(&nodes->all);
    if (started < nodes->all.count)
        sti_loop_nodes_note(
            nodes, STRADS_EIO,
            "cannot start a thread for each partition: use fewer "
            "partitions",
            true);
    if (nodes->node == 0)
        lead(nodes);
    else
        follow(nodes);
    (void)sti_loops_join(&nodes->all, started);
    say_failure(nodes);
    strads_err err = sti_loop_nodes_failure(nodes);
    return err ? err : sti_node_store_settle(nodes->store);
}
