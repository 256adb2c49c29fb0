/* Another node's part of coming together: HELLO to node 0, its WELCOME, then a
 * link to every lower node, and one from every higher node. */
#include "engine/runtime/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static strads_err say_hello(sti_mesh *mesh, sti_link link,
                            const sti_hello *hello, uint16_t kind)
{
    sti_writer w = {0};
    sti_hello_encode(hello, &w);
    const sti_header header = {.kind = kind, .from = mesh->node, .to = 0};
    strads_err err = sti_mesh_send_payload(mesh, link, header, &w);
    sti_writer_free(&w);
    return err;
}

strads_err sti_mesh_rejected(const sti_frame *frame)
{
    sti_reject answer;
    strads_err err =
        sti_reject_decode(frame->payload, frame->header.size, &answer);
    if (err)
        return err;
    if (answer.code == STRADS_OK || answer.code > STRADS_ESTATE)
        answer.code = STRADS_EPEER;
    return strads_fail(answer.code, "%s", answer.text);
}

static strads_err take_welcome(sti_mesh *mesh, sti_link link,
                               const sti_frame *frame, const char *url,
                               char **options)
{
    sti_welcome welcome;
    strads_err err =
        sti_welcome_decode(frame->payload, frame->header.size, &welcome);
    if (err)
        return err;
    err = sti_mesh_number(mesh, welcome.node, welcome.nodes);
    if (!err) {
        pthread_mutex_lock(&mesh->lock);
        for (uint32_t k = 0; k < welcome.nodes; k++)
            (void)snprintf(mesh->peers[k].url, sizeof mesh->peers[k].url, "%s",
                           k ? welcome.urls[k] : url);
        mesh->peers[0].link = link;
        pthread_mutex_unlock(&mesh->lock);
        err = sti_net_bind(mesh->net, link, 0);
    }
    if (!err) {
        *options = strdup(welcome.options);
        if (!*options)
            err = strads_fail(STRADS_ENOMEM, "no memory for the options");
    }
    sti_welcome_free(&welcome);
    return err;
}

static strads_err look_for_welcome(sti_mesh *mesh, sti_link link,
                                   sti_arrival *a, const char *url,
                                   char **options)
{
    if (!a->frame)
        return strads_fail(STRADS_EPEER, "%s ended the connection: %s", url,
                           a->text);
    if (a->frame->header.kind == STI_KIND_WELCOME)
        return take_welcome(mesh, link, a->frame, url, options);
    if (a->frame->header.kind == STI_KIND_REJECT)
        return sti_mesh_rejected(a->frame);
    return strads_fail(STRADS_EPEER, "%s did not answer HELLO with WELCOME",
                       url);
}

static strads_err await_welcome(sti_mesh *mesh, sti_link link, const char *url,
                                char **options)
{
    sti_arrival *early = NULL; /* of nodes that were welcomed before this one */
    strads_err err = STRADS_OK;
    while (!err && !*options) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, &a);
        if (err)
            break;
        if (a->link != link) {
            a->next = early;
            early = a;
            continue;
        }
        err = look_for_welcome(mesh, link, a, url, options);
        sti_mesh_free_arrival(a);
    }
    while (early) {
        sti_arrival *a = early;
        early = a->next;
        sti_mesh_requeue(mesh, a);
    }
    return err;
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
        if (!err)
            err = sti_net_bind(mesh->net, link, k);
        if (!err)
            err = say_hello(mesh, link, &hello, STI_KIND_HELLO);
        pthread_mutex_lock(&mesh->lock);
        if (!err)
            mesh->peers[k].link = link;
        pthread_mutex_unlock(&mesh->lock);
    }
    return err;
}

/* A higher node's HELLO binds its link. */
static strads_err meet_higher(sti_mesh *mesh, const sti_arrival *a,
                              uint32_t *waiting)
{
    sti_hello hello;
    if (!a->frame)
        return sti_mesh_node_of(mesh, a->link) == STI_NODE_NONE
                   ? STRADS_OK
                   : strads_fail(STRADS_EPEER, "a node was lost: %s", a->text);
    if (a->frame->header.kind == STI_KIND_REJECT)
        return sti_mesh_rejected(a->frame);
    if (a->frame->header.kind != STI_KIND_HELLO ||
        sti_hello_decode(a->frame->payload, a->frame->header.size, &hello) ||
        hello.wanted_node <= mesh->node || hello.wanted_node >= mesh->nodes ||
        mesh->peers[hello.wanted_node].link) {
        sti_net_drop(mesh->net, a->link, "it is none of this run's nodes");
        return STRADS_OK;
    }
    strads_err err = sti_net_bind(mesh->net, a->link, hello.wanted_node);
    if (err)
        return STRADS_OK; /* gone again: it dials once more */
    pthread_mutex_lock(&mesh->lock);
    mesh->peers[hello.wanted_node].link = a->link;
    pthread_mutex_unlock(&mesh->lock);
    --*waiting;
    return STRADS_OK;
}

static strads_err await_higher(sti_mesh *mesh)
{
    uint32_t waiting = mesh->nodes - 1 - mesh->node;
    strads_err err = STRADS_OK;
    while (waiting && !err) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, &a);
        if (err)
            break;
        err = meet_higher(mesh, a, &waiting);
        sti_mesh_free_arrival(a);
    }
    return err;
}

strads_err sti_mesh_join(sti_mesh *mesh, const char *url, uint32_t workers,
                         uint64_t timeout_ns, char **options)
{
    *options = NULL;
    sti_link link;
    strads_err err = sti_net_dial(mesh->net, url, timeout_ns, &link);
    if (err)
        return err;
    sti_hello hello = sti_mesh_hello(mesh);
    hello.workers = workers;
    err = say_hello(mesh, link, &hello, STI_KIND_HELLO);
    if (!err)
        err = await_welcome(mesh, link, url, options);
    if (!err)
        err = dial_lower(mesh);
    if (!err)
        err = await_higher(mesh);
    if (err) {
        free(*options);
        *options = NULL;
    }
    return err;
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
    return say_hello(mesh, mesh->peers[0].link, &hello, STI_KIND_READY);
}
