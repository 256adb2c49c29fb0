/* Exchanges before messages flow: each node sends a few bytes to node 0, which
 * answers all nodes with the combined result. A node waits for the answer
 * before the next exchange. Therefore node 0 keeps at most one answer for each
 * node. The last exchange is READY, which has no answer. */
#include "engine/net/mesh_state.h"

#include <stdio.h>

/* Refuses a node with other data. In a later generation that node has just
 * joined: the run continues without it. */
static strads_err refuse_data(sti_mesh *mesh, const sti_arrival *a)
{
    const uint32_t node = a->frame->header.from;
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    sti_mesh_reject(mesh, a->link, STRADS_EMISMATCH);
    if (mesh->generation <= 1)
        return STRADS_EMISMATCH;
    pthread_mutex_lock(&mesh->lock);
    mesh->peers[node].gone = true;
    pthread_mutex_unlock(&mesh->lock);
    return strads_fail(STRADS_EREGROUP, "node %u is refused: %s", node, text);
}

static strads_err take_given(sti_mesh *mesh, const sti_exchange *e,
                             const sti_arrival *a)
{
    const uint32_t node = a->frame->header.from;
    const bool ready = a->frame->header.kind == STI_KIND_READY;
    if (ready && !e->ready)
        return strads_fail(STRADS_EMISMATCH,
                           "node %u has read the data itself, node 0 holds a "
                           "part of it: give every node its part, or none",
                           node);
    if (!ready && e->ready)
        return strads_fail(STRADS_EMISMATCH,
                           "node %u holds a part of the data, node 0 has read "
                           "the data itself: give every node its part, or none",
                           node);
    sti_reader r;
    sti_reader_init(&r, a->frame->payload, a->frame->header.size);
    const strads_err err = e->take(e->arg, node, &r);
    if (ready && err == STRADS_EMISMATCH)
        return refuse_data(mesh, a);
    return err ? err : sti_reader_end(&r, e->what);
}

static strads_err send_to_all(sti_mesh *mesh, const sti_exchange *e)
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

/* Node 0's part. In a settled mesh only the due frames arrive, one from each
 * node. If a node leaves, sti_mesh_await returns an error. */
static strads_err lead_exchange(sti_mesh *mesh, const sti_exchange *e)
{
    strads_err err = STRADS_OK;
    for (uint32_t waiting = mesh->nodes - 1; waiting && !err; waiting--) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, UINT64_MAX, &a);
        if (!err)
            err = take_given(mesh, e, a);
        sti_mesh_free_arrival(a);
    }
    if (!err && e->settle)
        err = e->settle(e->arg);
    return err || e->ready ? err : send_to_all(mesh, e);
}

static strads_err follow_exchange(sti_mesh *mesh, const sti_exchange *e)
{
    sti_arrival *a = NULL;
    sti_writer w = {0};
    const sti_header header = {.kind =
                                   e->ready ? STI_KIND_READY : STI_KIND_GIVE,
                               .from = mesh->node};
    pthread_mutex_lock(&mesh->lock);
    mesh->hears = !e->ready;
    pthread_mutex_unlock(&mesh->lock);
    e->give(e->arg, &w);
    strads_err err = sti_mesh_put(mesh, 0, header, &w, 60 * STI_SECOND);
    mesh->is_ready = e->ready;
    if (e->ready)
        return err ? err : sti_mesh_failure(mesh);
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
    const strads_err err =
        mesh->joins ? follow_exchange(mesh, e) : lead_exchange(mesh, e);
    return err == STRADS_EPEER ? sti_mesh_or_failure(mesh, err) : err;
}

/* ---- READY --------------------------------------------------------------- */

static void give_mark(void *arg, sti_writer *w)
{
    const sti_data_mark *mark = arg;
    sti_write_u64(w, mark->rows);
    sti_write_u64(w, mark->cols);
    sti_write_u64(w, mark->nnz);
    sti_write_u64(w, mark->checksum);
    sti_write_u64(w, mark->value_bytes);
}

static strads_err report_difference(const char *what, uint64_t theirs,
                                    uint64_t mine)
{
    return strads_fail(STRADS_EMISMATCH,
                       "the node that joins has data with a %s count of %llu "
                       "where this run has %llu: start all nodes with the same "
                       "strads, data and options",
                       what, (unsigned long long)theirs,
                       (unsigned long long)mine);
}

static strads_err check_mark(const sti_data_mark *mine,
                             const sti_data_mark *theirs)
{
    if (theirs->rows != mine->rows)
        return report_difference("row", theirs->rows, mine->rows);
    if (theirs->cols != mine->cols)
        return report_difference("column", theirs->cols, mine->cols);
    if (theirs->nnz != mine->nnz)
        return report_difference("nonzero", theirs->nnz, mine->nnz);
    if (theirs->checksum != mine->checksum)
        return strads_fail(STRADS_EMISMATCH,
                           "the node that joins has data of the same size but "
                           "with checksum %016llx where this run has %016llx: "
                           "copy the same file to all nodes",
                           (unsigned long long)theirs->checksum,
                           (unsigned long long)mine->checksum);
    if (theirs->value_bytes && mine->value_bytes &&
        theirs->value_bytes != mine->value_bytes)
        return strads_fail(STRADS_EMISMATCH,
                           "the node that joins keeps values in %llu bytes "
                           "where this run has %llu: give all nodes --f32, or "
                           "none",
                           (unsigned long long)theirs->value_bytes,
                           (unsigned long long)mine->value_bytes);
    return STRADS_OK;
}

static strads_err take_mark(void *arg, uint32_t node, sti_reader *r)
{
    sti_data_mark theirs;
    (void)node;
    theirs.rows = sti_read_u64(r);
    theirs.cols = sti_read_u64(r);
    theirs.nnz = sti_read_u64(r);
    theirs.checksum = sti_read_u64(r);
    theirs.value_bytes = sti_read_u64(r);
    return r->err ? r->err : check_mark(arg, &theirs);
}

strads_err sti_mesh_ready(sti_mesh *mesh, const sti_data_mark *mark)
{
    const sti_exchange step = {.what = "a READY",
                               .ready = true,
                               .give = give_mark,
                               .take = take_mark,
                               .arg = (void *)(uintptr_t)mark};
    return sti_mesh_agree(mesh, &step);
}
