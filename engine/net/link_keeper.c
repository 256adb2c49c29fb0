/* The keeper: one thread for each net that sends PINGs, notices silence and
 * deadlines, takes up accepting again after a pause, and buries connections.
 *
 * Its clock only counts time in which it ran: when the process was stopped, or
 * the machine slept, one tick passes and not an hour, so that no peer is taken
 * for dead because this node was not there to listen. */
#include <stdio.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/net/link_state.h"

enum {
    TICKS_PER_HEARTBEAT = 4,
    TICK_MIN_NS = 1000000,
    TICK_MAX_NS = 100000000
};

static uint64_t tick_ns(const sti_net *net)
{
    uint64_t shortest = net->options.heartbeat_ns;
    if (net->options.hello_ns < shortest)
        shortest = net->options.hello_ns;
    uint64_t tick = shortest / TICKS_PER_HEARTBEAT;
    if (tick < TICK_MIN_NS)
        return TICK_MIN_NS;
    return tick > TICK_MAX_NS ? TICK_MAX_NS : tick;
}

/* ---- one connection ---- */

typedef enum verdict { FINE, PING, SILENT, NO_HELLO, NO_BYE } verdict;

/* How long nothing has moved in either direction since parting began. The
 * caller holds conn->lock. */
static uint64_t stillness(const sti_conn *conn, uint64_t now)
{
    uint64_t heard = atomic_load(&conn->heard_ns);
    uint64_t said = atomic_load(&conn->said_ns);
    uint64_t last = heard > said ? heard : said;
    return now - (last > conn->parted_ns ? last : conn->parted_ns);
}

static verdict judge(sti_conn *conn, uint64_t now)
{
    const sti_net_options *o = &conn->net->options;
    /* In this order: a delivery that ends in between has renewed heard_ns. */
    const bool mute = atomic_load(&conn->delivering);
    const uint64_t silent = now - atomic_load(&conn->heard_ns);
    verdict v = FINE;
    pthread_mutex_lock(&conn->lock);
    if (conn->dead)
        v = FINE;
    else if (!conn->dialled && !conn->introduced)
        v = now - conn->born_ns >= o->hello_ns ? NO_HELLO : FINE;
    else if (conn->parting && (now >= conn->part_by ||
                               (!mute && stillness(conn, now) >= o->hello_ns)))
        v = NO_BYE;
    else if (!mute && !conn->bye_received && silent >= o->dead_ns)
        v = SILENT;
    else if (conn->introduced && !conn->parting && conn->first == NULL &&
             now - atomic_load(&conn->said_ns) >= o->heartbeat_ns)
        v = PING;
    pthread_mutex_unlock(&conn->lock);
    return v;
}

static void end_silent(sti_conn *conn, uint64_t ns)
{
    char text[STI_TEXT_MAX];
    (void)snprintf(text, sizeof text,
                   "nothing was heard for %.3g s: the peer is stopped, its "
                   "machine is down, or the network between is cut",
                   1e-9 * (double)ns);
    sti_conn_end(conn, STRADS_EIO, text);
}

static void look_after(sti_conn *conn, uint64_t now)
{
    switch (judge(conn, now)) {
    case FINE:
        break;
    case PING:
        (void)sti_conn_send_control(conn, STI_KIND_PING);
        break;
    case SILENT:
        end_silent(conn, conn->net->options.dead_ns);
        break;
    case NO_HELLO:
        sti_conn_end(conn, STRADS_EPEER,
                     "no complete HELLO came in time: not a strads node, or "
                     "one that hangs");
        break;
    case NO_BYE:
        sti_conn_end(conn, STRADS_EPEER,
                     "the goodbye was not answered in time: what was sent "
                     "last may be lost");
        break;
    }
}

/* Its connection has ended for want of a thread that writes. */
static bool has_no_writer(sti_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    bool none = conn->dead && conn->stuck && !conn->has_writer;
    pthread_mutex_unlock(&conn->lock);
    return none;
}

/* ---- all of them ---- */

static void tick(sti_net *net, uint64_t now)
{
    pthread_mutex_lock(&net->lock);
    uint32_t slots = net->slots_used;
    pthread_mutex_unlock(&net->lock);
    for (uint32_t i = 0; i < slots; i++) {
        sti_conn *conn = sti_conn_acquire_slot(net, i);
        if (conn == NULL)
            continue;
        look_after(conn, now);
        if (has_no_writer(conn))
            sti_conn_stop_writing(conn);
        sti_conn_release(conn);
    }
}

static sti_conn *unlink_finished(sti_net *net)
{
    sti_conn *found = NULL;
    pthread_mutex_lock(&net->lock);
    for (uint32_t i = 0; i < net->slots_used && found == NULL; i++) {
        sti_conn *conn = net->slots[i];
        if (conn != NULL && conn->finished && conn->users == 0) {
            found = conn;
            net->slots[i] = NULL;
        }
    }
    while (net->slots_used > 0 && net->slots[net->slots_used - 1] == NULL)
        net->slots_used--;
    pthread_mutex_unlock(&net->lock);
    return found;
}

static void bury_finished(sti_net *net)
{
    for (sti_conn *conn; (conn = unlink_finished(net)) != NULL;) {
        sti_conn_bury(conn);
        pthread_mutex_lock(&net->lock);
        net->conns--;
        pthread_cond_broadcast(&net->changed);
        pthread_mutex_unlock(&net->lock);
    }
}

static void resume_accepting(sti_net *net)
{
    pthread_mutex_lock(&net->lock);
    bool resume = net->accept_paused && !net->closing &&
                  net->strangers < STI_STRANGERS_MAX;
    if (resume)
        net->accept_paused = false;
    pthread_mutex_unlock(&net->lock);
    if (resume)
        sti_net_accept(net);
}

/* Sleeps until `next` or until something is to be done; false: stop. */
static bool keeper_sleep(sti_net *net, uint64_t next)
{
    pthread_mutex_lock(&net->lock);
    if (!net->keeper_stops && !net->keeper_called)
        (void)sti_monotonic_wait(&net->wake, &net->lock, next);
    net->keeper_called = false;
    bool go_on = !net->keeper_stops;
    pthread_mutex_unlock(&net->lock);
    return go_on;
}

static void *keeper_main(void *arg)
{
    sti_net *net = arg;
    const uint64_t period = tick_ns(net);
    uint64_t last = sti_monotonic_now(), next = last + period;
    while (keeper_sleep(net, next)) {
        uint64_t now = sti_monotonic_now();
        bury_finished(net);
        resume_accepting(net);
        if (now < next)
            continue;
        uint64_t passed = now - last < 2 * period ? now - last : 2 * period;
        last = now;
        next = now + period;
        tick(net, atomic_fetch_add(&net->clock_ns, passed) + passed);
    }
    return NULL;
}

void sti_keeper_call(sti_net *net)
{
    net->keeper_called = true;
    pthread_cond_signal(&net->wake);
}

strads_err sti_keeper_start(sti_net *net)
{
    int rv = pthread_create(&net->keeper, NULL, keeper_main, net);
    if (rv != 0)
        return strads_fail(STRADS_ENOMEM, "no thread for the network: %s",
                           strerror(rv));
    net->keeper_runs = true;
    return STRADS_OK;
}

void sti_keeper_stop(sti_net *net)
{
    if (!net->keeper_runs)
        return;
    pthread_mutex_lock(&net->lock);
    net->keeper_stops = true;
    sti_keeper_call(net);
    pthread_mutex_unlock(&net->lock);
    (void)pthread_join(net->keeper, NULL);
    net->keeper_runs = false;
}
