/* Node 0's part of coming together: HELLOs are numbered in the order in which
 * they come, all are welcomed at once, and all must be ready. */
#include "engine/net/mesh_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static strads_err check_newcomer(const sti_mesh *mesh, const sti_hello *hello,
                                 const char *url, uint32_t joined)
{
    const sti_hello mine = sti_mesh_hello(mesh);
    strads_err err = sti_hello_check(&mine, hello);
    if (err)
        return err;
    if (joined == mesh->nodes)
        return strads_fail(STRADS_EMISMATCH,
                           "the run at %s has all its %u nodes already",
                           sti_mesh_url(mesh), mesh->nodes);
    for (uint32_t k = 1; k < mesh->nodes; k++)
        if (mesh->peers[k].link && strcmp(mesh->peers[k].url, url) == 0)
            return strads_fail(STRADS_EMISMATCH,
                               "the node at %s has joined this run already",
                               url);
    if (hello->run)
        return strads_fail(STRADS_EMISMATCH,
                           "the node that joins belongs to another run, whose "
                           "journal it has: give it an empty directory");
    const unsigned least = mesh->takes_shards ? 0 : 1;
    if (hello->workers < least || hello->workers > 1024)
        return strads_fail(STRADS_EMISMATCH,
                           "a node came with %u workers, expected %u to 1024",
                           hello->workers, least);
    return STRADS_OK;
}

/* The first place that is free; nobody's number ever changes, because its link
 * is bound to it. `url` is where the newcomer listens, as seen from here. */
static strads_err take_newcomer(sti_mesh *mesh, sti_link link,
                                const sti_hello *hello, const char *url)
{
    uint32_t number = 1;
    while (mesh->peers[number].link)
        number++;
    strads_err err = sti_net_bind(mesh->net, link, number);
    if (err)
        return err;
    sti_peer *p = &mesh->peers[number];
    pthread_mutex_lock(&mesh->lock);
    p->link = link;
    p->workers = hello->workers;
    (void)snprintf(p->url, sizeof p->url, "%s", url);
    pthread_mutex_unlock(&mesh->lock);
    return STRADS_OK;
}

/* A HELLO: numbered when it is welcome, told why not otherwise. */
static void meet(sti_mesh *mesh, const sti_arrival *a, uint32_t *joined)
{
    sti_hello hello;
    char url[STI_URL_MAX + 1];
    strads_err err =
        sti_hello_decode(a->frame->payload, a->frame->header.size, &hello);
    if (!err)
        err = sti_net_seen_url(mesh->net, a->link, hello.url, url);
    if (!err)
        err = check_newcomer(mesh, &hello, url, *joined);
    if (err)
        sti_mesh_reject(mesh, a->link, err);
    else if (take_newcomer(mesh, a->link, &hello, url) == STRADS_OK)
        ++*joined;
}

/* A node that joined and went away again leaves its place to the next. */
static void part_early(sti_mesh *mesh, const sti_arrival *a, uint32_t *joined)
{
    uint32_t node = sti_mesh_node_of(mesh, a->link);
    if (node == STI_NODE_NONE)
        return;
    pthread_mutex_lock(&mesh->lock);
    mesh->peers[node] = (sti_peer){0};
    pthread_mutex_unlock(&mesh->lock);
    --*joined;
}

/* No two runs have the same, so that nobody takes one for another. */
static strads_err draw_run(sti_mesh *mesh)
{
    while (mesh->run_id == 0)
        if (getrandom(&mesh->run_id, sizeof mesh->run_id, 0) !=
            (ssize_t)sizeof mesh->run_id)
            return strads_fail(STRADS_EIO, "no number for the run: %s",
                               strerror(errno));
    return STRADS_OK;
}

strads_err sti_mesh_gather(sti_mesh *mesh, uint32_t nodes)
{
    strads_err err = sti_mesh_number(mesh, 0, nodes);
    uint32_t joined = 1;
    if (!err)
        err = draw_run(mesh);
    while (!err && (joined < nodes || !sti_mesh_settle(mesh))) {
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

strads_err sti_mesh_say_welcome(sti_mesh *mesh, uint32_t k, sti_link link)
{
    const char **urls = calloc(mesh->nodes, sizeof *urls);
    if (!urls)
        return strads_fail(STRADS_ENOMEM, "no memory for the nodes' URLs");
    for (uint32_t n = 0; n < mesh->nodes; n++)
        urls[n] = mesh->peers[n].url; /* node 0's is known to who joined */
    const sti_welcome welcome = {
        .node = k,
        .nodes = mesh->nodes,
        .urls = urls,
        .seed = mesh->seed,
        .run = mesh->run_id,
        .options = mesh->options,
    };
    sti_writer w = {0};
    sti_welcome_encode(&welcome, &w);
    const sti_header header = {.kind = STI_KIND_WELCOME, .from = 0, .to = k};
    strads_err err = sti_mesh_send_payload(mesh, link, header, &w);
    sti_writer_free(&w);
    free(urls);
    return err;
}

strads_err sti_mesh_welcome(sti_mesh *mesh, const char *options, uint64_t seed)
{
    mesh->seed = seed;
    mesh->options = strdup(options);
    if (!mesh->options)
        return strads_fail(STRADS_ENOMEM, "no memory for the run's options");
    strads_err err = STRADS_OK;
    for (uint32_t k = 1; k < mesh->nodes && !err; k++)
        err = sti_mesh_say_welcome(mesh, k, mesh->peers[k].link);
    return err;
}

/* READY with the data's mark: right, or the run cannot be. */
strads_err sti_mesh_check_ready(sti_mesh *mesh, sti_link link,
                                const sti_frame *frame)
{
    sti_hello theirs;
    strads_err err =
        sti_hello_decode(frame->payload, frame->header.size, &theirs);
    if (err)
        return err;
    sti_hello mine = sti_mesh_hello(mesh);
    mine.rows = mesh->mark.rows;
    mine.cols = mesh->mark.cols;
    mine.nnz = mesh->mark.nnz;
    mine.checksum = mesh->mark.checksum;
    err = sti_hello_check(&mine, &theirs);
    if (err)
        sti_mesh_reject(mesh, link, err);
    return err;
}

/* Nothing but one READY of each node arrives in a mesh that is settled; a node
 * that goes is an error of the waiting itself. */
strads_err sti_mesh_await_ready(sti_mesh *mesh, const sti_data_mark *mark)
{
    strads_err err = STRADS_OK;
    mesh->mark = *mark;
    for (uint32_t waiting = mesh->nodes - 1; waiting && !err; waiting--) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, &a);
        if (err)
            break;
        err = sti_mesh_check_ready(mesh, a->link, a->frame);
        sti_mesh_free_arrival(a);
    }
    return err;
}
