/* Node 0's part of coming together: HELLOs are numbered in the order in which
 * they come, all are welcomed at once, and all must be ready. */
#include "engine/runtime/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last sentence goes to the other side, and stays the last one here. */
static void reject(sti_mesh *mesh, sti_link link, strads_err code)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    sti_writer w = {0};
    const sti_reject answer = {code, text};
    sti_reject_encode(&answer, &w);
    const sti_header header = {.kind = STI_KIND_REJECT,
                               .from = mesh->node,
                               .to = STI_NODE_NONE};
    (void)sti_mesh_send_payload(mesh, link, header, &w);
    sti_writer_free(&w);
    sti_net_part(mesh->net, link);
    (void)strads_fail(code, "%s", text);
}

static strads_err check_newcomer(const sti_mesh *mesh, const sti_hello *hello,
                                 uint32_t joined)
{
    const sti_hello mine = sti_mesh_hello(mesh);
    strads_err err = sti_hello_check(&mine, hello);
    if (err)
        return err;
    if (joined == mesh->nodes)
        return strads_fail(STRADS_EMISMATCH,
                           "the run at %s has all its %u nodes already",
                           sti_mesh_url(mesh), mesh->nodes);
    if (hello->workers == 0 || hello->workers > 1024)
        return strads_fail(STRADS_EMISMATCH,
                           "a node came with %u workers, expected 1 to 1024",
                           hello->workers);
    for (uint32_t k = 1; k < joined; k++)
        if (strcmp(mesh->peers[k].url, hello->url) == 0)
            return strads_fail(STRADS_EMISMATCH,
                               "the node at %s has joined this run already",
                               hello->url);
    return STRADS_OK;
}

/* Where the newcomer listens, as seen from here. */
static strads_err take_newcomer(sti_mesh *mesh, sti_link link,
                                const sti_hello *hello, uint32_t number)
{
    sti_peer *p = &mesh->peers[number];
    strads_err err = sti_net_seen_url(mesh->net, link, hello->url, p->url);
    if (!err)
        err = sti_net_bind(mesh->net, link, number);
    if (err)
        return err;
    pthread_mutex_lock(&mesh->lock);
    p->link = link;
    p->workers = hello->workers;
    pthread_mutex_unlock(&mesh->lock);
    return STRADS_OK;
}

/* A HELLO: numbered when it is welcome, told why not otherwise. */
static void meet(sti_mesh *mesh, const sti_arrival *a, uint32_t *joined)
{
    sti_hello hello;
    strads_err err =
        a->frame->header.kind == STI_KIND_HELLO
            ? sti_hello_decode(a->frame->payload, a->frame->header.size, &hello)
            : STRADS_EPEER;
    if (err) {
        sti_net_drop(mesh->net, a->link, "it did not say a proper HELLO");
        return;
    }
    err = check_newcomer(mesh, &hello, *joined);
    if (!err && take_newcomer(mesh, a->link, &hello, *joined) == STRADS_OK)
        ++*joined;
    else if (err)
        reject(mesh, a->link, err);
}

/* A node that joined and went away again leaves its place to the next. */
static void part_early(sti_mesh *mesh, const sti_arrival *a, uint32_t *joined)
{
    uint32_t node = sti_mesh_node_of(mesh, a->link);
    if (node == STI_NODE_NONE || node == 0)
        return;
    pthread_mutex_lock(&mesh->lock);
    for (uint32_t k = node; k + 1 < *joined; k++)
        mesh->peers[k] = mesh->peers[k + 1];
    mesh->peers[--*joined] = (sti_peer){0};
    pthread_mutex_unlock(&mesh->lock);
}

strads_err sti_mesh_gather(sti_mesh *mesh, uint32_t nodes)
{
    strads_err err = sti_mesh_number(mesh, 0, nodes);
    uint32_t joined = 1;
    while (!err && joined < nodes) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, &a);
        if (err)
            break;
        if (a->frame)
            meet(mesh, a, &joined);
        else
            part_early(mesh, a, &joined);
        sti_mesh_free_arrival(a);
    }
    return err;
}

strads_err sti_mesh_welcome(sti_mesh *mesh, const char *options, uint64_t seed)
{
    const char **urls = calloc(mesh->nodes, sizeof *urls);
    if (!urls)
        return strads_fail(STRADS_ENOMEM, "no memory for the nodes' URLs");
    urls[0] = "";
    for (uint32_t k = 1; k < mesh->nodes; k++)
        urls[k] = mesh->peers[k].url;
    strads_err err = STRADS_OK;
    for (uint32_t k = 1; k < mesh->nodes && !err; k++) {
        const sti_welcome welcome = {
            .node = k,
            .nodes = mesh->nodes,
            .urls = urls,
            .seed = seed,
            .options = options,
        };
        sti_writer w = {0};
        sti_welcome_encode(&welcome, &w);
        const sti_header header = {.kind = STI_KIND_WELCOME,
                                   .from = 0,
                                   .to = k};
        err = sti_mesh_send_payload(mesh, mesh->peers[k].link, header, &w);
        sti_writer_free(&w);
    }
    free(urls);
    return err;
}

/* READY with the data's mark: right, or the run cannot be. */
static strads_err check_ready(sti_mesh *mesh, const sti_arrival *a,
                              const sti_data_mark *mark, uint32_t *waiting)
{
    uint32_t node = sti_mesh_node_of(mesh, a->link);
    if (!a->frame)
        return node == STI_NODE_NONE
                   ? STRADS_OK
                   : strads_fail(STRADS_EPEER, "node %u was lost: %s", node,
                                 a->text);
    if (a->frame->header.kind == STI_KIND_HELLO) {
        uint32_t all = mesh->nodes;
        meet(mesh, a, &all);
        return STRADS_OK;
    }
    sti_hello theirs;
    strads_err err =
        sti_hello_decode(a->frame->payload, a->frame->header.size, &theirs);
    if (err || node == STI_NODE_NONE || mesh->peers[node].ready)
        return err ? err : strads_fail(STRADS_EPEER, "a node was ready twice");
    sti_hello mine = sti_mesh_hello(mesh);
    mine.rows = mark->rows;
    mine.cols = mark->cols;
    mine.nnz = mark->nnz;
    mine.checksum = mark->checksum;
    err = sti_hello_check(&mine, &theirs);
    if (err) {
        reject(mesh, a->link, err);
        return err;
    }
    mesh->peers[node].ready = true;
    --*waiting;
    return STRADS_OK;
}

strads_err sti_mesh_await_ready(sti_mesh *mesh, const sti_data_mark *mark)
{
    uint32_t waiting = mesh->nodes - 1;
    strads_err err = STRADS_OK;
    while (waiting && !err) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, &a);
        if (err)
            break;
        err = check_ready(mesh, a, mark, &waiting);
        sti_mesh_free_arrival(a);
    }
    return err;
}
