/* Nets and their connections: birth, lookup, end, burial. Owns the table of
 * links. Invariants: a link's number is serial x STI_LINKS_MAX + slot with a
 * serial that only grows; a connection leaves the table only when both its
 * activities have ended, `lost` was reported and no call holds it. */
#include "engine/net/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/monotonic_clock.h"
#include "engine/net/link_state.h"

static const uint64_t second_ns = 1000000000u;

/* ---- connections by number ---- */

sti_conn *sti_conn_acquire_slot(sti_net *net, uint32_t slot)
{
    sti_conn *conn = NULL;
    pthread_mutex_lock(&net->lock);
    if (slot < net->slots_used)
        conn = net->slots[slot];
    if (conn != NULL)
        conn->users++;
    pthread_mutex_unlock(&net->lock);
    return conn;
}

sti_conn *sti_conn_acquire(sti_net *net, sti_link link)
{
    sti_conn *conn =
        sti_conn_acquire_slot(net, (uint32_t)(link % STI_LINKS_MAX));
    if (conn == NULL || conn->id == link)
        return conn;
    sti_conn_release(conn);
    return NULL;
}

void sti_conn_release(sti_conn *conn)
{
    sti_net *net = conn->net;
    pthread_mutex_lock(&net->lock);
    conn->users--;
    if (conn->users == 0 && conn->finished)
        sti_keeper_call(net);
    pthread_mutex_unlock(&net->lock);
}

/* ---- birth ---- */

static void tell_where(sti_conn *conn, const char *url)
{
    unsigned port = 0;
    const int process = sti_socket_process(conn->fd);
    sti_socket_peer(conn->fd, conn->host, &port);
    if (url != NULL)
        (void)snprintf(conn->where, sizeof conn->where, "the node at %s", url);
    else if (conn->host[0] != 0)
        (void)snprintf(conn->where, sizeof conn->where,
                       "the connection from %s:%u", conn->host, port);
    else if (process != 0)
        (void)snprintf(conn->where, sizeof conn->where,
                       "the connection from process %d", process);
    else
        (void)snprintf(conn->where, sizeof conn->where, "a connection");
}

static strads_err conn_alloc(sti_net *net, int fd, const char *where,
                             sti_conn **out)
{
    sti_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        (void)close(fd);
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    }
    conn->net = net;
    conn->fd = fd;
    conn->dialled = where != NULL;
    conn->node = STI_NODE_NONE;
    conn->last = &conn->first;
    conn->part_by = UINT64_MAX;
    conn->reading = true;
    conn->born_ns = atomic_load(&net->clock_ns);
    atomic_init(&conn->heard_ns, conn->born_ns);
    atomic_init(&conn->said_ns, conn->born_ns);
    (void)pthread_mutex_init(&conn->lock, NULL);
    (void)sti_monotonic_cond_init(&conn->room);
    (void)pthread_cond_init(&conn->unstuck, NULL);
    tell_where(conn, where);
    sti_conn_look_near(conn);
    sti_socket_no_delay(fd);
    if (sti_socket_is_local(fd))
        sti_socket_no_pacing(fd);
    *out = conn;
    return STRADS_OK;
}

/* Gives the connection a slot and a number, unless the net is closing. */
static strads_err enlist(sti_net *net, sti_conn *conn)
{
    uint32_t slot = 0;
    strads_err err = STRADS_OK;
    pthread_mutex_lock(&net->lock);
    while (slot < net->slots_used && net->slots[slot] != NULL)
        slot++;
    if (net->closing)
        err = strads_fail(STRADS_ESTATE, "this node is shutting down");
    else if (slot == STI_LINKS_MAX)
        err = strads_fail(STRADS_ELIMIT, "%s: there are %d links already",
                          conn->where, STI_LINKS_MAX);
    if (err == STRADS_OK) {
        conn->id = ++net->serial * STI_LINKS_MAX + slot;
        net->slots[slot] = conn;
        if (slot == net->slots_used)
            net->slots_used++;
        net->conns++;
        net->strangers += conn->dialled ? 0 : 1;
        conn->users++;
    }
    pthread_mutex_unlock(&net->lock);
    return err;
}

strads_err sti_conn_start(sti_net *net, int fd, const char *where,
                          sti_link *out)
{
    sti_conn *conn = NULL;
    strads_err err = conn_alloc(net, fd, where, &conn);
    if (err != STRADS_OK)
        return err;
    err = enlist(net, conn);
    if (err != STRADS_OK) {
        sti_conn_bury(conn);
        return err;
    }
    *out = conn->id;
    sti_conn_start_reading(conn);
    sti_conn_release(conn);
    return STRADS_OK;
}

/* ---- end ---- */

void sti_conn_end(sti_conn *conn, strads_err why, const char *text)
{
    pthread_mutex_lock(&conn->lock);
    bool first = !conn->dead;
    if (first) {
        conn->dead = true;
        conn->why = why;
        if (conn->bound)
            (void)snprintf(conn->text, sizeof conn->text, "node %u, %s: %s",
                           conn->node, conn->where, text);
        else
            (void)snprintf(conn->text, sizeof conn->text, "%s: %s", conn->where,
                           text);
    }
    pthread_cond_broadcast(&conn->room);
    pthread_mutex_unlock(&conn->lock);
    if (first)
        (void)shutdown(conn->fd, SHUT_RDWR);
}

bool sti_conn_is_dead(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool dead = conn->dead;
    pthread_mutex_unlock(&conn->lock);
    return dead;
}

/* What the reading saw as an end of the stream was a goodbye when all of ours
 * was written by then; only now is that certain. */
static void settle(sti_conn *conn)
{
    if (!conn->left || (!conn->bye_written && !conn->bye_acked))
        return;
    conn->why = STRADS_OK;
    (void)snprintf(conn->text, sizeof conn->text,
                   "%s: both sides have said goodbye", conn->where);
}

static void report(sti_conn *conn)
{
    const sti_net_options *o = &conn->net->options;
    if (conn->dialled || conn->introduced) {
        if (o->events.lost != NULL)
            o->events.lost(o->arg, conn->id, conn->why, conn->text);
        return;
    }
    atomic_fetch_add(&conn->net->strangers_dropped, 1);
    if (o->events.stranger != NULL)
        o->events.stranger(o->arg, conn->text);
}

static void retire(sti_conn *conn)
{
    sti_net *net = conn->net;
    pthread_mutex_lock(&net->lock);
    if (!conn->dialled && !conn->introduced)
        net->strangers--;
    else if (conn->part_by != UINT64_MAX && conn->why != STRADS_OK &&
             conn->why != STRADS_ECANCELED && !net->unclean) {
        net->unclean = true;
        (void)snprintf(net->unclean_text, sizeof net->unclean_text, "%s",
                       conn->text);
    }
    conn->finished = true;
    sti_keeper_call(net);
    pthread_mutex_unlock(&net->lock);
}

void sti_conn_rest(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool last =
        conn->dead && !conn->reading && !conn->writing && !conn->reported;
    conn->reported = conn->reported || last;
    if (last)
        settle(conn);
    pthread_mutex_unlock(&conn->lock);
    if (!last)
        return;
    sti_queue_free(conn->first);
    conn->first = NULL;
    report(conn);
    retire(conn);
}

void sti_conn_bury(sti_conn *conn)
{
    if (conn->has_reader)
        (void)pthread_join(conn->reader, NULL);
    sti_conn_join_writer(conn);
    (void)close(conn->fd);
    sti_frame_free(conn->frame);
    sti_conn_free_rings(conn);
    (void)pthread_cond_destroy(&conn->room);
    (void)pthread_cond_destroy(&conn->unstuck);
    (void)pthread_mutex_destroy(&conn->lock);
    free(conn);
}

/* ---- what the owner does with a link ---- */

strads_err sti_net_bind(sti_net *net, sti_link link, uint32_t node)
{
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return strads_fail(STRADS_EPEER, "the link to node %u is gone", node);
    pthread_mutex_lock(&conn->lock);
    conn->bound = true;
    conn->node = node;
    pthread_mutex_unlock(&conn->lock);
    sti_conn_release(conn);
    return STRADS_OK;
}

void sti_net_part(sti_net *net, sti_link link)
{
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return;
    sti_conn_part(conn, UINT64_MAX);
    sti_conn_release(conn);
}

void sti_net_drop(sti_net *net, sti_link link, const char *text)
{
    sti_conn *conn = sti_conn_acquire(net, link);
    if (conn == NULL)
        return;
    sti_conn_end(conn, STRADS_ECANCELED, text);
    sti_conn_release(conn);
}

/* ---- the net ---- */

static void fill_defaults(sti_net_options *o)
{
    if (o->frame_limit == 0)
        o->frame_limit = UINT64_C(1) << 30;
    if (o->queue_limit == 0)
        o->queue_limit = UINT64_C(1) << 28;
    if (o->heartbeat_ns == 0)
        o->heartbeat_ns = second_ns;
    if (o->dead_ns == 0)
        o->dead_ns = 5 * o->heartbeat_ns;
    if (o->hello_ns == 0)
        o->hello_ns = 5 * second_ns;
}

static strads_err check_options(const sti_net_options *o)
{
    const uint64_t day_ns = 86400 * second_ns;
    if (o->events.received == NULL)
        return strads_fail(STRADS_EINVAL, "a net needs somebody who receives");
    if (o->heartbeat_ns > day_ns || o->dead_ns < 2 * o->heartbeat_ns)
        return strads_fail(STRADS_EINVAL,
                           "a peer cannot be dead after %.3g s when heartbeats "
                           "are %.3g s apart: at least two must fit",
                           1e-9 * (double)o->dead_ns,
                           1e-9 * (double)o->heartbeat_ns);
    if (o->frame_limit > SIZE_MAX / 4)
        return strads_fail(STRADS_EINVAL, "a frame limit of %llu bytes",
                           (unsigned long long)o->frame_limit);
    return STRADS_OK;
}

/* The keeper goes first: it may be about to accept again. */
static void net_free(sti_net *net)
{
    sti_keeper_stop(net);
    sti_net_stop_listening(net);
    (void)pthread_cond_destroy(&net->wake);
    (void)pthread_cond_destroy(&net->changed);
    (void)pthread_mutex_destroy(&net->lock);
    free(net->slots);
    free(net);
}

strads_err sti_net_open(const sti_net_options *options, sti_net **out)
{
    const char *url = options->listen_url;
    sti_net_options o = *options;
    fill_defaults(&o);
    strads_err err = check_options(&o);
    if (err != STRADS_OK)
        return err;
    sti_net *net = calloc(1, sizeof *net);
    if (net == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory for a net");
    net->options = o;
    if (o.checks_all)
        net->options.machine = 0;
    else if (o.machine == 0)
        net->options.machine = sti_near_machine();
    net->listener = net->accept_bell = -1;
    atomic_init(&net->node, o.node);
    (void)pthread_mutex_init(&net->lock, NULL);
    (void)sti_monotonic_cond_init(&net->wake);
    (void)sti_monotonic_cond_init(&net->changed);
    net->slots = calloc(STI_LINKS_MAX, sizeof *net->slots);
    if (net->slots == NULL)
        err = strads_fail(STRADS_ENOMEM, "no memory for a net");
    if (err == STRADS_OK)
        err = sti_keeper_start(net);
    if (err == STRADS_OK && (url == NULL || url[0] != 0))
        err = sti_net_listen(net, url == NULL ? "tcp://127.0.0.1:0" : url);
    if (err != STRADS_OK)
        goto fail;
    *out = net;
    return STRADS_OK;
fail:
    net_free(net);
    return err;
}

const char *sti_net_url(const sti_net *net)
{
    return net->url;
}

void sti_net_set_node(sti_net *net, uint32_t node)
{
    atomic_store(&net->node, node);
}

void sti_net_count(const sti_net *net, sti_net_counts *out)
{
    *out = (sti_net_counts){
        .frames_sent = atomic_load(&net->frames_sent),
        .bytes_sent = atomic_load(&net->bytes_sent),
        .frames_received = atomic_load(&net->frames_received),
        .bytes_received = atomic_load(&net->bytes_received),
        .strangers = atomic_load(&net->strangers_dropped),
    };
}

/* The keeper's clock ticks on while this waits, and ends what lasts too long:
 * the wait itself needs no limit. */
static void part_with_all(sti_net *net, uint64_t timeout_ns)
{
    const uint64_t now = atomic_load(&net->clock_ns);
    const uint64_t by =
        timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    pthread_mutex_lock(&net->lock);
    uint32_t slots = net->slots_used;
    pthread_mutex_unlock(&net->lock);
    for (uint32_t i = 0; i < slots; i++) {
        sti_conn *conn = sti_conn_acquire_slot(net, i);
        if (conn == NULL)
            continue;
        sti_conn_part(conn, by);
        sti_conn_release(conn);
    }
    pthread_mutex_lock(&net->lock);
    while (net->conns > 0)
        (void)pthread_cond_wait(&net->changed, &net->lock);
    pthread_mutex_unlock(&net->lock);
}

strads_err sti_net_close(sti_net *net, uint64_t timeout_ns)
{
    strads_err err = STRADS_OK;
    if (net == NULL)
        return STRADS_OK;
    pthread_mutex_lock(&net->lock);
    net->closing = true;
    pthread_mutex_unlock(&net->lock);
    sti_net_close_door(net);
    part_with_all(net, timeout_ns);
    if (net->unclean)
        err = strads_fail(STRADS_EPEER, "while shutting down: %s",
                          net->unclean_text);
    net_free(net);
    return err;
}
