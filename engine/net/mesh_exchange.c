/* What all nodes agree on before they are ready: each gives node 0 a few bytes,
 * and node 0 tells all what follows from them. A node that has given waits for
 * the answer, so that one exchange is under way at a time and what node 0 keeps
 * for the others is one answer each. */
#include "engine/net/mesh_state.h"

static strads_err take(const sti_exchange *e, const sti_arrival *a)
{
    const uint32_t node = a->frame->header.from;
    if (a->frame->header.kind != STI_KIND_GIVE)
        return strads_fail(STRADS_EMISMATCH,
                           "node %u has read the data itself, node 0 holds a "
                           "part of it: give every node its part, or none",
                           node);
    sti_reader r;
    sti_reader_init(&r, a->frame->payload, a->frame->header.size);
    const strads_err err = e->take(e->arg, node, &r);
    return err ? err : sti_reader_end(&r, e->what);
}

static strads_err tell_all(sti_mesh *mesh, const sti_exchange *e)
{
    strads_err err = STRADS_OK;
    pthread_mutex_lock(&mesh->lock);
    for (uint32_t k = 1; k < mesh->nodes; k++)
        mesh->peers[k].has_given = false;
    pthread_mutex_unlock(&mesh->lock);
    for (uint32_t k = 1; k < mesh->nodes && !err; k++) {
        sti_writer w = {0};
        const sti_header header = {.kind = STI_KIND_TELL, .to = k};
        e->tell(e->arg, &w);
        err = sti_mesh_put(mesh, k, header, &w, 60 * STI_SECOND);
    }
    return err;
}

static strads_err lead(sti_mesh *mesh, const sti_exchange *e)
{
    strads_err err = STRADS_OK;
    for (uint32_t waiting = mesh->nodes - 1; waiting && !err; waiting--) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, UINT64_MAX, &a);
        if (!err)
            err = take(e, a);
        sti_mesh_free_arrival(a);
    }
    if (!err && e->settle)
        err = e->settle(e->arg);
    return err ? err : tell_all(mesh, e);
}

static strads_err follow(sti_mesh *mesh, const sti_exchange *e)
{
    sti_arrival *a = NULL;
    sti_writer w = {0};
    const sti_header header = {.kind = STI_KIND_GIVE, .from = mesh->node};
    pthread_mutex_lock(&mesh->lock);
    mesh->hears = true;
    pthread_mutex_unlock(&mesh->lock);
    e->give(e->arg, &w);
    strads_err err = sti_mesh_put(mesh, 0, header, &w, 60 * STI_SECOND);
    if (!err)
        err = sti_mesh_await(mesh, UINT64_MAX, &a);
    if (!err) {
        sti_reader r;
        sti_reader_init(&r, a->frame->payload, a->frame->header.size);
        err = e->hear(e->arg, &r);
        if (!err)
            err = sti_reader_end(&r, e->what);
    }
    sti_mesh_free_arrival(a);
    return err;
}

strads_err sti_mesh_agree(sti_mesh *mesh, const sti_exchange *e)
{
    const strads_err err = mesh->joins ? follow(mesh, e) : lead(mesh, e);
    return err == STRADS_EPEER ? sti_mesh_or_failure(mesh, err) : err;
}
