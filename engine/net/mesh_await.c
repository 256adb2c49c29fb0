/* What a node waits for at its mesh: those who come, in a queue; what they are
 * told whom it does not take in; and how other nodes have failed. */
#include "engine/net/mesh_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/stop_flag.h"

/* ---- failures of others ------------------------------------------------ */

/* A node that only gathers can do without who leaves. */
void sti_mesh_note_failure(sti_mesh *mesh, strads_err err, const char *text)
{
    if (mesh->failure || mesh->leaving || (!mesh->settled && !mesh->joins))
        return;
    mesh->failure = err;
    (void)snprintf(mesh->failure_text, sizeof mesh->failure_text, "%s", text);
    pthread_cond_signal(&mesh->arrived);
}

strads_err sti_mesh_failure(sti_mesh *mesh)
{
    pthread_mutex_lock(&mesh->lock);
    strads_err err = mesh->failure
                         ? strads_fail(mesh->failure, "%s", mesh->failure_text)
                         : STRADS_OK;
    pthread_mutex_unlock(&mesh->lock);
    return err;
}

bool sti_mesh_gives_up(void *arg)
{
    sti_mesh *mesh = arg;
    pthread_mutex_lock(&mesh->lock);
    bool failed = mesh->failure != STRADS_OK;
    pthread_mutex_unlock(&mesh->lock);
    return failed || sti_stop_is_asked(mesh->stop);
}

/* ---- the queue --------------------------------------------------------- */

void sti_mesh_queue(sti_mesh *mesh, sti_arrival *a)
{
    a->next = NULL;
    *mesh->last = a;
    mesh->last = &a->next;
    pthread_cond_signal(&mesh->arrived);
}

void sti_mesh_requeue(sti_mesh *mesh, sti_arrival *a)
{
    pthread_mutex_lock(&mesh->lock);
    sti_mesh_queue(mesh, a);
    pthread_mutex_unlock(&mesh->lock);
}

void sti_mesh_free_arrival(sti_arrival *a)
{
    if (!a)
        return;
    sti_frame_free(a->frame);
    free(a);
}

/* The next arrival; NULL after `wait_ns` without one, or after a failure. */
static sti_arrival *next_arrival(sti_mesh *mesh, uint64_t wait_ns)
{
    const uint64_t until = sti_monotonic_in(wait_ns);
    pthread_mutex_lock(&mesh->lock);
    bool late = false;
    while (!mesh->first && !mesh->failure && !late)
        late = !sti_monotonic_wait(&mesh->arrived, &mesh->lock, until);
    sti_arrival *a = mesh->failure ? NULL : mesh->first;
    if (a) {
        mesh->first = a->next;
        if (!mesh->first)
            mesh->last = &mesh->first;
    }
    pthread_mutex_unlock(&mesh->lock);
    return a;
}

strads_err sti_mesh_await(sti_mesh *mesh, sti_arrival **out)
{
    strads_err err = STRADS_OK;
    *out = NULL;
    while (!err && !*out) {
        if (sti_stop_is_asked(mesh->stop))
            return strads_fail(STRADS_ECANCELED,
                               "stopped while waiting for the other nodes");
        *out = next_arrival(mesh, STI_SECOND / 20);
        err = *out ? STRADS_OK : sti_mesh_failure(mesh);
    }
    return err;
}

/* ---- answers to HELLO -------------------------------------------------- */

strads_err sti_mesh_rejected(const sti_frame *frame)
{
    sti_reject answer;
    strads_err err =
        sti_reject_decode(frame->payload, frame->header.size, &answer);
    return err ? err : strads_fail(answer.code, "%s", answer.text);
}

void sti_mesh_reject(sti_mesh *mesh, sti_link link, strads_err code)
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

void sti_mesh_turn_away(sti_mesh *mesh, sti_link link, const sti_frame *frame)
{
    sti_hello hello;
    const sti_hello mine = sti_mesh_hello(mesh);
    strads_err err =
        sti_hello_decode(frame->payload, frame->header.size, &hello);
    if (!err)
        err = sti_hello_check(&mine, &hello);
    if (!err && mesh->joins)
        err = strads_fail(STRADS_EMISMATCH,
                          "the node at %s is node %u of a run and takes nobody "
                          "in: join at the coordinator's URL",
                          sti_mesh_url(mesh), mesh->node);
    else if (!err)
        err = strads_fail(STRADS_EMISMATCH,
                          "the run at %s has all its %u nodes already",
                          sti_mesh_url(mesh), mesh->nodes);
    sti_mesh_reject(mesh, link, err);
}
