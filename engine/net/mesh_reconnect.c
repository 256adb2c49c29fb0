/* Restores broken links. The side that dialled a link dials it again until
 * window_ns has passed. Its HELLO has the run's number and the number of frames
 * that it has received; the other side's SEEN has the same for the other
 * direction. Each side then resends the later frames. The accepting side only
 * probes, at intervals, whether the peer's port is open: a closed port means
 * that the process has ended.
 *
 * If a link breaks repeatedly before a frame has come over it, it counts as
 * broken since the first break. A network that damages every frame thus does
 * not delay a run forever.
 *
 * A node that leaves with a goodbye but without a reason was told one by node 0
 * before it had met this node. So this node waits a second for node 0's report,
 * and only then fails.
 *
 * Invariants: a new link is used only after the loss of the old one was
 * reported, which follows its last frame, so that `received` is final. While a
 * node's `link` is 0, its retransmit queue keeps the frames for it. Only the
 * reconnecting thread dials and waits; callbacks of the transport handle
 * arriving frames. */
#include "engine/net/mesh_state.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"

enum {
    CHECK_NS = 20000000,  /* between two checks of the broken links */
    PROBE_NS = 200000000, /* between two probes of a peer that must dial */
    SEEN_FRAMES = 64,     /* SEEN is due after so many frames .. */
    SEEN_BYTES = 1 << 20  /* .. or so many bytes */
};

/* ---- SEEN -------------------------------------------------------------- */

static sti_outgoing seen_frame(const sti_mesh *mesh, uint32_t node,
                               uint64_t received)
{
    return (sti_outgoing){.header = {.kind = STI_KIND_SEEN,
                                     .from = mesh->node,
                                     .to = node,
                                     .round = received}};
}

/* DONE is acknowledged at once, because its sender waits for that. */
void sti_reconnect_count(sti_mesh *mesh, sti_link link,
                         const sti_header *header)
{
    pthread_mutex_lock(&mesh->lock);
    if (header->from >= mesh->nodes) {
        pthread_mutex_unlock(&mesh->lock);
        return;
    }
    sti_peer *p = &mesh->peers[header->from];
    p->futile_ns = 0;
    p->received++;
    p->received_bytes += STI_HEADER_BYTES + header->size;
    p->unseen++;
    p->unseen_bytes += header->size;
    bool due = header->kind == STI_KIND_DONE || p->unseen >= SEEN_FRAMES ||
               p->unseen_bytes >= SEEN_BYTES;
    if (due) {
        p->unseen = 0;
        p->unseen_bytes = 0;
    }
    const sti_outgoing frame = seen_frame(mesh, header->from, p->received);
    pthread_mutex_unlock(&mesh->lock);
    if (due)
        (void)sti_net_send(mesh->net, link, &frame);
}

static void refuse_number(sti_mesh *mesh, sti_link link)
{
    sti_net_drop(mesh->net, link,
                 "it acknowledges frames that were not sent, or too few: it "
                 "runs another version");
}

/* With the lock held. */
static void is_mended(sti_peer *p, sti_link link)
{
    p->link = link;
    p->trying = 0;
    p->replaced = false;
    p->broken_ns = 0;
    p->mended_ns = sti_monotonic_now();
    p->unseen = 0;
    p->unseen_bytes = 0;
}

void sti_reconnect_seen(sti_mesh *mesh, sti_link link, const sti_header *header)
{
    bool known = false, mended = false;
    pthread_mutex_lock(&mesh->lock);
    if (header->from < mesh->nodes) {
        sti_peer *p = &mesh->peers[header->from];
        mended = p->trying == link;
        if (mended)
            is_mended(p, link);
        known = p->link == link;
    }
    pthread_mutex_unlock(&mesh->lock);
    if (!known)
        return;
    sti_retransmit *box = &mesh->retransmit[header->from];
    if (mended ? !sti_retransmit_go_on(box, link, header->round, NULL)
               : !sti_retransmit_seen(box, header->round))
        refuse_number(mesh, link);
}

/* ---- leaving ----------------------------------------------------------- */

bool sti_reconnect_left(sti_mesh *mesh, uint32_t node)
{
    sti_peer *p = &mesh->peers[node];
    if (!mesh->joins || node == 0 || p->is_done || p->gone || mesh->leaving ||
        mesh->failure || mesh->reconnect_stops || mesh->peers[0].gone)
        return false;
    p->left_ns = sti_monotonic_now();
    pthread_cond_signal(&mesh->mend);
    return true;
}

/* Fails the run if node 0 has not explained in time why a node has left. */
static void await_reason(sti_mesh *mesh, uint32_t node)
{
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = &mesh->peers[node];
    if (p->left_ns && (mesh->failure || mesh->peers[0].gone ||
                       sti_monotonic_now() - p->left_ns >= HEAR_NS)) {
        p->left_ns = 0;
        sti_mesh_lose(mesh, node, STRADS_OK, "");
    }
    pthread_mutex_unlock(&mesh->lock);
}

/* ---- breaking ---------------------------------------------------------- */

bool sti_reconnect_broke(sti_mesh *mesh, uint32_t node, strads_err why,
                         const char *text)
{
    sti_peer *p = &mesh->peers[node];
    if (!mesh->settled || mesh->reconnect_stops || mesh->window_ns == 0 ||
        (why != STRADS_EIO && !p->replaced))
        return false;
    p->link = 0;
    p->broken_ns = sti_monotonic_now();
    if (!p->futile_ns || p->broken_ns - p->mended_ns >= mesh->window_ns)
        p->futile_ns = p->broken_ns;
    p->probed_ns = 0;
    (void)snprintf(p->why, sizeof p->why, "%s", text);
    pthread_cond_signal(&mesh->mend);
    return true;
}

void sti_reconnect_discard(sti_mesh *mesh, sti_link link)
{
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        if (mesh->peers[k].trying == link)
            mesh->peers[k].trying = 0;
        if (mesh->peers[k].next == link)
            mesh->peers[k].next = 0;
    }
}

/* ---- the side that was dialled ----------------------------------------- */

/* Binds a restored link, sends SEEN with the number of received frames, and
 * resumes. */
static void take_back(sti_mesh *mesh, uint32_t node, sti_link link,
                      uint64_t seen)
{
    sti_retransmit *box = &mesh->retransmit[node];
    if (sti_net_bind(mesh->net, link, node) != STRADS_OK)
        return; /* the loss of the new link will be reported */
    pthread_mutex_lock(&mesh->lock);
    const sti_outgoing first =
        seen_frame(mesh, node, mesh->peers[node].received);
    pthread_mutex_unlock(&mesh->lock);
    if (!sti_retransmit_go_on(box, link, seen, &first))
        refuse_number(mesh, link);
}

void sti_reconnect_take_next(sti_mesh *mesh, uint32_t node)
{
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = &mesh->peers[node];
    const sti_link next = p->next;
    const uint64_t seen = p->next_seen;
    p->next = 0;
    if (next)
        is_mended(p, next);
    pthread_mutex_unlock(&mesh->lock);
    if (next)
        take_back(mesh, node, next, seen);
}

/* Whether a HELLO comes from a node of this run that dials this one. A node
 * that this one dials must not. */
static bool belongs_to_run(sti_mesh *mesh, const sti_hello *hello)
{
    const sti_hello mine = sti_mesh_hello(mesh);
    const uint32_t node = hello->wanted_node;
    if (!mesh->run_id || hello->run != mesh->run_id || node >= mesh->nodes ||
        node == mesh->node || sti_hello_check(&mine, hello))
        return false;
    pthread_mutex_lock(&mesh->lock);
    const bool may = !mesh->peers[node].gone && !mesh->peers[node].dialled;
    pthread_mutex_unlock(&mesh->lock);
    return may;
}

bool sti_reconnect_meet(sti_mesh *mesh, sti_link link, const sti_frame *frame)
{
    sti_hello hello;
    if (sti_hello_decode(frame->payload, frame->header.size, &hello) ||
        !belongs_to_run(mesh, &hello))
        return false;
    const uint32_t node = hello.wanted_node;
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = &mesh->peers[node];
    const sti_link old = p->link;
    if (old) {
        p->next = link;
        p->next_seen = hello.seen;
        p->replaced = true;
    } else {
        is_mended(p, link);
    }
    pthread_mutex_unlock(&mesh->lock);
    if (old)
        sti_net_drop(mesh->net, old, "its node has dialled again");
    else
        take_back(mesh, node, link, hello.seen);
    return true;
}

/* ---- the reconnecting thread ------------------------------------------- */

static strads_err say_hello_again(sti_mesh *mesh, uint32_t node, sti_link link,
                                  uint64_t seen)
{
    sti_hello hello = sti_mesh_hello(mesh);
    hello.wanted_node = mesh->node;
    hello.run = mesh->run_id;
    hello.seen = seen;
    sti_writer w = {0};
    sti_hello_encode(&hello, &w);
    const sti_header header = {.kind = STI_KIND_HELLO,
                               .from = mesh->node,
                               .to = node};
    strads_err err = sti_net_bind(mesh->net, link, node);
    if (!err)
        err = sti_mesh_send_payload(mesh, link, header, &w);
    sti_writer_free(&w);
    return err;
}

static void dial_again(sti_mesh *mesh, uint32_t node, const char *url)
{
    sti_link link;
    if (sti_net_dial(mesh->net, url, STI_SECOND, &link) != STRADS_OK)
        return;
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = &mesh->peers[node];
    const bool due = !p->link && !p->gone;
    const uint64_t seen = p->received;
    if (due)
        p->trying = link;
    pthread_mutex_unlock(&mesh->lock);
    if (due && say_hello_again(mesh, node, link, seen) == STRADS_OK)
        return;
    pthread_mutex_lock(&mesh->lock);
    sti_reconnect_discard(mesh, link);
    pthread_mutex_unlock(&mesh->lock);
    sti_net_drop(mesh->net, link, "it is not needed any more");
}

static void give_up(sti_mesh *mesh, uint32_t node, bool ended)
{
    char text[1200];
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = &mesh->peers[node];
    const bool due = p->broken_ns && !p->gone;
    p->broken_ns = 0;
    if (ended)
        (void)snprintf(text, sizeof text, "%s", p->why);
    else
        (void)snprintf(text, sizeof text,
                       "%s; it did not reconnect within %.3g s%s%s", p->why,
                       1e-9 * (double)mesh->window_ns,
                       mesh->trouble[0] ? ", and " : "", mesh->trouble);
    if (due)
        sti_mesh_lose(mesh, node, STRADS_EPEER, text);
    pthread_mutex_unlock(&mesh->lock);
    if (due)
        sti_retransmit_close(&mesh->retransmit[node]);
}

/* Handles a node with a broken link: gives up, probes or dials. */
static void restore_link(sti_mesh *mesh, uint32_t node)
{
    char url[STI_URL_MAX + 1];
    const uint64_t now = sti_monotonic_now();
    pthread_mutex_lock(&mesh->lock);
    sti_peer *p = &mesh->peers[node];
    const bool broken = p->broken_ns && !p->gone;
    const bool late = now - p->futile_ns >= mesh->window_ns;
    const bool dials = p->dialled && !p->trying;
    const bool looks = dials || (!p->dialled && now - p->probed_ns >= PROBE_NS);
    if (broken && looks)
        p->probed_ns = now;
    (void)snprintf(url, sizeof url, "%s", p->url);
    pthread_mutex_unlock(&mesh->lock);
    if (!broken)
        return;
    if (late) {
        give_up(mesh, node, false);
        return;
    }
    strads_err err = looks ? sti_net_probe(url) : STRADS_OK;
    if (err == STRADS_EPEER)
        give_up(mesh, node, true);
    else if (!err && dials)
        dial_again(mesh, node, url);
}

/* With the lock held. */
static bool anything_due(const sti_mesh *mesh)
{
    for (uint32_t k = 0; k < mesh->nodes; k++)
        if ((mesh->peers[k].broken_ns || mesh->peers[k].left_ns) &&
            !mesh->peers[k].gone)
            return true;
    return false;
}

static void *restore_links(void *arg)
{
    sti_mesh *mesh = arg;
    pthread_mutex_lock(&mesh->lock);
    while (!mesh->reconnect_stops) {
        if (!anything_due(mesh)) {
            const uint64_t second = sti_monotonic_in(STI_SECOND);
            if (!mesh->generation || !mesh->attached)
                pthread_cond_wait(&mesh->mend, &mesh->lock);
            else if (!sti_monotonic_wait(&mesh->mend, &mesh->lock, second)) {
                pthread_mutex_unlock(&mesh->lock);
                sti_mesh_send_pace(mesh);
                pthread_mutex_lock(&mesh->lock);
            }
            continue;
        }
        pthread_mutex_unlock(&mesh->lock);
        for (uint32_t k = 0; k < mesh->nodes; k++) {
            await_reason(mesh, k);
            restore_link(mesh, k);
        }
        const uint64_t until = sti_monotonic_in(CHECK_NS);
        pthread_mutex_lock(&mesh->lock);
        if (!mesh->reconnect_stops)
            (void)sti_monotonic_wait(&mesh->mend, &mesh->lock, until);
    }
    pthread_mutex_unlock(&mesh->lock);
    return NULL;
}

strads_err sti_reconnect_start(sti_mesh *mesh)
{
    int rv = pthread_create(&mesh->reconnector, NULL, restore_links, mesh);
    mesh->has_reconnector = rv == 0;
    return rv == 0 ? STRADS_OK
                   : strads_fail(STRADS_EIO, "no thread for the links: %s",
                                 strerror(rv));
}

void sti_reconnect_stop(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    mesh->reconnect_stops = true;
    pthread_cond_signal(&mesh->mend);
    pthread_mutex_unlock(&mesh->lock);
    if (mesh->has_reconnector)
        pthread_join(mesh->reconnector, NULL);
    mesh->has_reconnector = false;
}
