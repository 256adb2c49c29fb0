/* Another node's part of coming together: HELLO to node 0, its WELCOME, then a
 * link to every lower node, which answers SEEN once it has bound it, and one
 * from every higher node. */
#include "engine/net/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static strads_err say_hello(sti_mesh *mesh, sti_link link,
                            const sti_hello *hello)
{
    sti_writer w = {0};
    sti_hello_encode(hello, &w);
    const sti_header header = {.kind = STI_KIND_HELLO, .from = mesh->node};
    strads_err err = sti_mesh_send_payload(mesh, link, header, &w);
    sti_writer_free(&w);
    return err;
}

static strads_err take_welcome(sti_mesh *mesh, sti_link link,
                               const sti_frame *frame, const char *url,
                               sti_mesh_terms *terms)
{
    sti_welcome welcome;
    strads_err err =
        sti_welcome_decode(frame->payload, frame->header.size, &welcome);
    if (err)
        return err;
    if (welcome.node == 0)
        err = strads_fail(STRADS_EPEER,
                          "%s gave this node the number 0, which is its own",
                          url);
    else
        err = sti_mesh_number(mesh, welcome.node, welcome.nodes);
    if (!err) {
        pthread_mutex_lock(&mesh->lock);
        for (uint32_t k = 0; k < welcome.nodes; k++)
            (void)snprintf(mesh->peers[k].url, sizeof mesh->peers[k].url, "%s",
                           k ? welcome.urls[k] : url);
        mesh->peers[0].link = link;
        mesh->run_id = welcome.run;
        pthread_mutex_unlock(&mesh->lock);
        err = sti_net_bind(mesh->net, link, 0);
    }
    if (!err) {
        terms->seed = welcome.seed;
        terms->options = strdup(welcome.options);
        if (!terms->options)
            err = strads_fail(STRADS_ENOMEM, "no memory for the options");
    }
    sti_welcome_free(&welcome);
    return err;
}

static strads_err look_for_welcome(sti_mesh *mesh, sti_link link,
                                   sti_arrival *a, const char *url,
                                   sti_mesh_terms *terms)
{
    if (!a->frame)
        return strads_fail(STRADS_EPEER, "%s ended the connection: %s", url,
                           a->text);
    if (a->frame->header.kind == STI_KIND_WELCOME)
        return take_welcome(mesh, link, a->frame, url, terms);
    if (a->frame->header.kind == STI_KIND_REJECT)
        return sti_mesh_rejected(a->frame);
    return strads_fail(STRADS_EPEER, "%s did not answer HELLO with WELCOME",
                       url);
}

static strads_err await_welcome(sti_mesh *mesh, sti_link link, const char *url,
                                sti_mesh_terms *terms)
{
    sti_arrival *early = NULL; /* of nodes that were welcomed before this one */
    strads_err err = STRADS_OK;
    while (!err && !terms->options) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, &a);
        if (err)
            break;
        if (a->link != link) {
            a->next = early;
            early = a;
            continue;
        }
        err = look_for_welcome(mesh, link, a, url, terms);
        sti_mesh_free_arrival(a);
    }
    while (early) {
        sti_arrival *a = early;
        early = a->next;
        sti_mesh_requeue(mesh, a);
    }
    return err;
}

/* The table knows a link before anything is said on it: if it is lost, that is
 * this peer's failure. */
static void know(sti_mesh *mesh, uint32_t node, sti_link link)
{
    pthread_mutex_lock(&mesh->lock);
    mesh->peers[node].link = link;
    pthread_mutex_unlock(&mesh->lock);
}

static strads_err dial_lower(sti_mesh *mesh)
{
    sti_hello hello = sti_mesh_hello(mesh);
    hello.wanted_node = mesh->node;
    hello.workers = 1;
    strads_err err = STRADS_OK;
    for (uint32_t k = 1; k < mesh->node && !err; k++) {
        sti_link link;
        err =
            sti_net_dial(mesh->net, mesh->peers[k].url, 30 * STI_SECOND, &link);
        if (err)
            break;
        know(mesh, k, link);
        err = sti_net_bind(mesh->net, link, k);
        if (!err)
            err = say_hello(mesh, link, &hello);
    }
    return err;
}

static bool is_awaited(const sti_mesh *mesh, const sti_hello *hello)
{
    const sti_hello mine = sti_mesh_hello(mesh);
    uint32_t node = hello->wanted_node;
    return sti_hello_check(&mine, hello) == STRADS_OK && node > mesh->node &&
           node < mesh->nodes && !mesh->peers[node].link;
}

/* Only then may it send: what comes on a link that is not bound is a breach.
 * If the link is gone, that is told, too. */
static void say_met(sti_mesh *mesh, sti_link link, uint32_t node)
{
    const sti_outgoing frame = {
        .header = {.kind = STI_KIND_SEEN, .from = mesh->node, .to = node}};
    (void)sti_net_send(mesh->net, link, &frame);
}

/* A higher node's HELLO binds its link. */
static strads_err meet_higher(sti_mesh *mesh, const sti_arrival *a,
                              uint32_t *waiting)
{
    sti_hello hello;
    if (sti_hello_decode(a->frame->payload, a->frame->header.size, &hello) ||
        !is_awaited(mesh, &hello)) {
        sti_mesh_turn_away(mesh, a->link, a->frame);
        return STRADS_OK;
    }
    know(mesh, hello.wanted_node, a->link);
    strads_err err = sti_net_bind(mesh->net, a->link, hello.wanted_node);
    if (!err)
        say_met(mesh, a->link, hello.wanted_node);
    *waiting -= !err;
    return err;
}

static strads_err take_arrival(sti_mesh *mesh, const sti_arrival *a,
                               uint32_t *waiting)
{
    if (!a->frame)
        return STRADS_OK; /* of a node, it is a failure; or a stranger's */
    switch (a->frame->header.kind) {
    case STI_KIND_REJECT:
        return sti_mesh_rejected(a->frame);
    case STI_KIND_SEEN:
        --*waiting;
        return STRADS_OK;
    default:
        return meet_higher(mesh, a, waiting);
    }
}

/* The HELLOs of the higher nodes, and the answers of the lower ones. */
static strads_err await_all(sti_mesh *mesh)
{
    uint32_t waiting = mesh->nodes - 2; /* but node 0 and this one */
    strads_err err = STRADS_OK;
    while (!err && (waiting || !sti_mesh_settle(mesh))) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, &a);
        if (err)
            break;
        err = take_arrival(mesh, a, &waiting);
        sti_mesh_free_arrival(a);
    }
    return err;
}

/* The failure of another node says more than that a link of it is gone. */
static strads_err or_failure(sti_mesh *mesh, strads_err err)
{
    if (err != STRADS_EPEER && err != STRADS_ECANCELED)
        return err;
    strads_err failure = sti_mesh_failure(mesh);
    return failure ? failure : err;
}

/* Dials node 0 and says HELLO; its WELCOME has the terms. */
static strads_err ask_for_terms(sti_mesh *mesh, const char *url,
                                const sti_hello *hello, uint64_t timeout_ns,
                                sti_link *link, sti_mesh_terms *terms)
{
    *terms = (sti_mesh_terms){0};
    pthread_mutex_lock(&mesh->lock);
    mesh->joins = true;
    pthread_mutex_unlock(&mesh->lock);
    strads_err err = sti_net_dial(mesh->net, url, timeout_ns, link);
    if (!err)
        err = say_hello(mesh, *link, hello);
    return err ? err : await_welcome(mesh, *link, url, terms);
}

/* What the caller is told; no terms behind an error. */
static strads_err conclude(sti_mesh *mesh, sti_mesh_terms *terms,
                           strads_err err)
{
    if (err) {
        free(terms->options);
        *terms = (sti_mesh_terms){0};
    }
    return or_failure(mesh, err);
}

strads_err sti_mesh_join(sti_mesh *mesh, const char *url, uint32_t workers,
                         uint64_t timeout_ns, sti_mesh_terms *terms)
{
    sti_link link;
    sti_hello hello = sti_mesh_hello(mesh);
    hello.workers = workers;
    strads_err err = ask_for_terms(mesh, url, &hello, timeout_ns, &link, terms);
    if (!err)
        err = dial_lower(mesh);
    if (!err)
        err = await_all(mesh);
    return conclude(mesh, terms, err);
}

/* The link that told the terms has done its part: from here on the mender dials
 * all others, node 0 too, as one who is new to them. Shards alone come back,
 * and their clients may push before the run is attached here again. */
static void link_up_again(sti_mesh *mesh, sti_link asked)
{
    pthread_mutex_lock(&mesh->lock);
    mesh->loops = true;
    for (uint32_t k = 0; k < mesh->nodes; k++) {
        if (k == mesh->node)
            continue;
        mesh->peers[k].link = 0;
        mesh->peers[k].dialled = true;
        mesh->peers[k].anew = true;
        (void)sti_mender_broke(mesh, k, STRADS_EIO, "it was not reached");
    }
    pthread_mutex_unlock(&mesh->lock);
    sti_net_part(mesh->net, asked);
}

/* Nobody has business with this node before it has dialled. */
static strads_err settle_alone(sti_mesh *mesh)
{
    strads_err err = STRADS_OK;
    while (!err && !sti_mesh_settle(mesh)) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, &a);
        if (!err && a->frame)
            sti_net_drop(mesh->net, a->link, "it is to be dialled first");
        if (!err)
            sti_mesh_free_arrival(a);
    }
    return err;
}

strads_err sti_mesh_come_back(sti_mesh *mesh, const char *url,
                              const sti_mesh_ticket *ticket,
                              uint64_t timeout_ns, sti_mesh_terms *terms)
{
    sti_link link;
    sti_hello hello = sti_mesh_hello(mesh);
    hello.wanted_node = ticket->node;
    hello.run = ticket->run;
    hello.seen = STI_SEEN_ASKS;
    strads_err err = ask_for_terms(mesh, url, &hello, timeout_ns, &link, terms);
    if (!err && (mesh->node != ticket->node || mesh->run_id != ticket->run))
        err = strads_fail(STRADS_EPEER, "%s told of another run", url);
    if (!err)
        err = settle_alone(mesh);
    if (!err)
        link_up_again(mesh, link);
    return conclude(mesh, terms, err);
}

strads_err sti_mesh_ready(sti_mesh *mesh, const sti_data_mark *mark)
{
    sti_hello hello = sti_mesh_hello(mesh);
    hello.wanted_node = mesh->node;
    hello.workers = 1;
    hello.rows = mark->rows;
    hello.cols = mark->cols;
    hello.nnz = mark->nnz;
    hello.checksum = mark->checksum;
    const sti_header header = {.kind = STI_KIND_READY, .from = mesh->node};
    sti_writer w = {0};
    sti_hello_encode(&hello, &w);
    strads_err err = sti_mesh_put(mesh, 0, header, &w, 60 * STI_SECOND);
    if (!err)
        err = sti_mesh_failure(mesh);
    return or_failure(mesh, err);
}
