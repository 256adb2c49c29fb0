/* The join phase. Node 0 numbers HELLOs in order of arrival and answers each
 * with PROGRAM, the run's program. When all nodes have accepted it, node 0
 * sends WELCOME to all. Another node sends HELLO to node 0, accepts the program
 * and receives WELCOME. It then dials every lower node, which answers SEEN once
 * it has bound the link, and is dialled by every higher one. */
#include "engine/net/mesh_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/stop_flag.h"
#include "engine/base/system.h"

enum { REDIAL_NS = 50000000 /* from an eviction to the next connection */ };

/* ---- failures of other nodes ------------------------------------------- */

/* While node 0 gathers nodes, their failures do not matter: others may join. */
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
    return failed || sti_stop_is_asked(mesh->options.stop);
}

/* ---- the queue --------------------------------------------------------- */

void sti_mesh_queue(sti_mesh *mesh, sti_arrival *a)
{
    a->next = NULL;
    *mesh->last = a;
    mesh->last = &a->next;
    pthread_cond_signal(&mesh->arrived);
}

static void requeue_arrival(sti_mesh *mesh, sti_arrival *a)
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

/* Returns the next arrival; NULL if none comes in `wait_ns`, or after a
 * failure. */
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

strads_err sti_mesh_await(sti_mesh *mesh, uint64_t until, sti_arrival **out)
{
    strads_err err = STRADS_OK;
    *out = NULL;
    while (!err && !*out) {
        if (sti_stop_is_asked(mesh->options.stop))
            return strads_fail(STRADS_ECANCELED,
                               "stopped while waiting for the other nodes");
        if (sti_monotonic_now() >= until)
            return strads_fail(STRADS_EIO, "no answer came in time");
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

/* Checks the limits that hold for a node of any run. */
static strads_err check_place(const sti_mesh *mesh, const sti_hello *hello)
{
    sti_url url;
    const unsigned least = mesh->options.takes_shards ? 0 : 1;
    if (hello->workers < least || hello->workers > 1024)
        return strads_fail(STRADS_EMISMATCH,
                           "a node came with %u workers, expected %u to 1024",
                           hello->workers, least);
    return sti_url_parse(hello->url, &url);
}

/* A node that joins a generation that has begun must retry: the next generation
 * may accept it. A node of an earlier generation is informed that the run has
 * continued without it. */
static strads_err put_off(sti_mesh *mesh, const sti_hello *hello)
{
    /* A HELLO with a run's number restores a link and gives 0 workers. */
    const strads_err err = hello->run ? STRADS_OK : check_place(mesh, hello);
    if (err)
        return err;
    pthread_mutex_lock(&mesh->lock);
    const bool over = mesh->leaving && mesh->is_done;
    mesh->put_off_ns = sti_monotonic_now();
    pthread_mutex_unlock(&mesh->lock);
    if (over)
        return strads_fail(STRADS_ESTATE, "the run at %s is over",
                           sti_mesh_url(mesh));
    if (hello->run)
        return strads_fail(STRADS_EREGROUP,
                           "the run at %s has continued without this node, "
                           "which was lost: it may join again",
                           sti_mesh_url(mesh));
    pthread_mutex_lock(&mesh->lock);
    if (mesh->attached && mesh->options.late)
        mesh->options.late(mesh->options.arg, hello->workers);
    pthread_mutex_unlock(&mesh->lock);
    return strads_fail(STRADS_EREGROUP,
                       "the run at %s has all its %u nodes: this node waits "
                       "until it is accepted",
                       sti_mesh_url(mesh), mesh->nodes);
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
                          "the node at %s is not the coordinator of its run: "
                          "join at the coordinator's URL",
                          sti_mesh_url(mesh));
    else if (!err && mesh->generation)
        err = put_off(mesh, &hello);
    else if (!err)
        err = strads_fail(STRADS_EMISMATCH,
                          "the run at %s has all its %u nodes already",
                          sti_mesh_url(mesh), mesh->nodes);
    sti_mesh_reject(mesh, link, err);
}

/* ---- node 0 ------------------------------------------------------------ */

static strads_err check_newcomer(sti_mesh *mesh, const sti_hello *hello,
                                 const char *url, uint32_t joined)
{
    const sti_hello mine = sti_mesh_hello(mesh);
    strads_err err = sti_hello_check(&mine, hello);
    uint32_t workers = hello->workers;
    if (err)
        return err;
    for (uint32_t k = 1; k < mesh->nodes; k++)
        workers += mesh->peers[k].workers;
    if (mesh->generation &&
        (joined == mesh->nodes || hello->run ||
         (mesh->options.workers && workers > mesh->options.workers)))
        return put_off(mesh, hello);
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
                           "the node that joins belongs to another run");
    return check_place(mesh, hello);
}

/* Gives the newcomer the lowest free number. A node's number never changes,
 * because its link is bound to it. `url` is its URL as reachable from this
 * node. */
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
    p->pace = hello->pace;
    (void)snprintf(p->url, sizeof p->url, "%s", url);
    pthread_mutex_unlock(&mesh->lock);
    return STRADS_OK;
}

/* Sends PROGRAM. A node without that program leaves; the run is not
 * affected. */
static void send_program(sti_mesh *mesh, sti_link link)
{
    sti_writer w = {0};
    const sti_header header = {.kind = STI_KIND_PROGRAM,
                               .from = 0,
                               .to = sti_mesh_node_of(mesh, link)};
    sti_write_string(&w, mesh->program);
    if (sti_mesh_send_payload(mesh, link, header, &w) == STRADS_ENOMEM)
        sti_net_drop(mesh->net, link, "no memory to answer its HELLO");
    sti_writer_free(&w);
}

/* Handles a HELLO: numbers the node, or refuses it with the reason. */
static void meet_newcomer(sti_mesh *mesh, const sti_arrival *a,
                          uint32_t *joined)
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
    else if (take_newcomer(mesh, a->link, &hello, url) == STRADS_OK) {
        ++*joined;
        send_program(mesh, a->link);
    }
}

/* A node has left before the mesh was settled: frees its number. */
static void part_early(sti_mesh *mesh, const sti_arrival *a, uint32_t *joined,
                       uint32_t *unfit)
{
    uint32_t node = sti_mesh_node_of(mesh, a->link);
    if (node == STI_NODE_NONE)
        return;
    pthread_mutex_lock(&mesh->lock);
    *unfit += !mesh->peers[node].accepted;
    mesh->peers[node] = (sti_peer){0};
    pthread_mutex_unlock(&mesh->lock);
    --*joined;
}

/* Draws the number of this generation. It is random, so that a node does not
 * mistake one run or generation for another. */
static strads_err draw_run(sti_mesh *mesh)
{
    while (mesh->run_id == 0)
        if (!sti_random_bytes(&mesh->run_id, sizeof mesh->run_id))
            return strads_fail(STRADS_EIO, "no number for the run: %s",
                               strerror(errno));
    return STRADS_OK;
}

/* Returns the number of nodes that have accepted the run's program. */
static uint32_t count_accepted(sti_mesh *mesh)
{
    uint32_t n = 0;
    pthread_mutex_lock(&mesh->lock);
    for (uint32_t k = 1; k < mesh->nodes; k++)
        n += mesh->peers[k].accepted;
    pthread_mutex_unlock(&mesh->lock);
    return n;
}

/* Asks the nodes that have joined to join again. */
static void reject_joined(sti_mesh *mesh)
{
    for (uint32_t k = 1; k < mesh->nodes; k++)
        if (mesh->peers[k].link)
            sti_mesh_reject(mesh, mesh->peers[k].link, STRADS_EREGROUP);
}

strads_err sti_mesh_gather(sti_mesh *mesh, uint32_t nodes, const char *program,
                           uint64_t wait_ns, uint32_t *out)
{
    const uint64_t until =
        wait_ns == UINT64_MAX ? UINT64_MAX : sti_monotonic_in(wait_ns);
    strads_err err = sti_mesh_number(mesh, 0, nodes);
    uint32_t joined = 1, unfit = 0;
    mesh->program = program;
    if (!err)
        err = draw_run(mesh);
    while (!err && nodes == 1 && !sti_mesh_settle(mesh)) {
        sti_arrival *a = next_arrival(mesh, 0);
        if (a && a->frame)
            sti_net_drop(mesh->net, a->link, "it must join again");
        sti_mesh_free_arrival(a);
    }
    while (!err && nodes > 1 &&
           (count_accepted(mesh) < nodes - 1 || !sti_mesh_settle(mesh))) {
        sti_arrival *a;
        /* A later generation does not wait for a replacement of a node that
         * lacks the program. */
        const bool short_of = mesh->generation > 1 && unfit > 0 &&
                              count_accepted(mesh) + unfit >= nodes - 1;
        err = sti_mesh_await(mesh, short_of ? 0 : until, &a);
        if (err == STRADS_EIO) {
            (void)strads_fail(STRADS_EIO,
                              "%u of %u nodes have not joined in time: see "
                              "what they print, or wait longer (--gather)",
                              nodes - joined, nodes);
            *out = joined - 1;
            reject_joined(mesh);
        }
        if (err)
            break;
        if (!a->frame)
            part_early(mesh, a, &joined, &unfit);
        else if (a->frame->header.kind == STI_KIND_HELLO)
            meet_newcomer(mesh, a, &joined);
        sti_mesh_free_arrival(a);
    }
    return err;
}

strads_err sti_mesh_welcome(sti_mesh *mesh, const char *options, uint64_t seed)
{
    strads_err err = STRADS_OK;
    const char **urls = calloc(mesh->nodes, sizeof *urls);
    if (!urls)
        return strads_fail(STRADS_ENOMEM, "no memory for the nodes' URLs");
    for (uint32_t n = 0; n < mesh->nodes; n++)
        urls[n] = mesh->peers[n].url; /* "" for node 0, which they dialled */
    for (uint32_t k = 1; k < mesh->nodes && !err; k++) {
        const sti_welcome welcome = {
            .node = k,
            .nodes = mesh->nodes,
            .urls = urls,
            .seed = seed,
            .run = mesh->run_id,
            .generation = mesh->generation,
            .options = options,
        };
        const sti_header header = {.kind = STI_KIND_WELCOME, .to = k};
        sti_writer w = {0};
        sti_welcome_encode(&welcome, &w);
        err = sti_mesh_send_payload(mesh, mesh->peers[k].link, header, &w);
        sti_writer_free(&w);
    }
    free(urls);
    return err;
}

/* ---- another node ------------------------------------------------------ */

static void pause_redial(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = REDIAL_NS}, NULL);
}

static strads_err send_hello(sti_mesh *mesh, sti_link link,
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
        mesh->generation = welcome.generation;
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

/* Handles PROGRAM, which arrives before node 0 counts this node. Without the
 * program this node leaves, and node 0 waits for another one. */
static strads_err accept_program(sti_mesh *mesh, sti_link link,
                                 const sti_frame *frame)
{
    sti_reader r;
    sti_reader_init(&r, frame->payload, frame->header.size);
    const char *name = sti_read_string(&r);
    strads_err err = sti_reader_end(&r, "a PROGRAM");
    if (!err && mesh->options.accepts)
        err = mesh->options.accepts(mesh->options.arg, name);
    const sti_outgoing answer = {
        .header = {.kind = STI_KIND_ACCEPT, .from = frame->header.to}};
    return err ? err : sti_net_send(mesh->net, link, &answer);
}

static strads_err handle_answer(sti_mesh *mesh, sti_link link, sti_arrival *a,
                                const char *url, sti_mesh_terms *terms)
{
    if (!a->frame)
        return strads_fail(STRADS_EPEER, "%s ended the connection: %s", url,
                           a->text);
    if (a->frame->header.kind == STI_KIND_PROGRAM)
        return accept_program(mesh, link, a->frame);
    if (a->frame->header.kind == STI_KIND_WELCOME)
        return take_welcome(mesh, link, a->frame, url, terms);
    if (a->frame->header.kind == STI_KIND_REJECT)
        return sti_mesh_rejected(a->frame);
    return strads_fail(STRADS_EPEER, "%s did not answer HELLO with WELCOME",
                       url);
}

/* Whether a HELLO comes from a node that wants to join. HELLOs of the run's
 * nodes have the sender's number. */
static bool is_newcomer(const sti_arrival *a)
{
    sti_hello hello;
    return a->frame && a->frame->header.kind == STI_KIND_HELLO &&
           (sti_hello_decode(a->frame->payload, a->frame->header.size,
                             &hello) ||
            hello.wanted_node == STI_NODE_NONE);
}

/* Waits for an answer to HELLO until `until`, then for WELCOME without limit:
 * node 0 waits for other nodes. *unanswered: the link broke before an answer
 * came. */
static strads_err await_welcome(sti_mesh *mesh, sti_link link, const char *url,
                                uint64_t until, sti_mesh_terms *terms,
                                bool *unanswered)
{
    sti_arrival *early = NULL; /* HELLOs of nodes that have their WELCOME */
    strads_err err = STRADS_OK;
    while (!err && !terms->options) {
        sti_arrival *a;
        err = sti_mesh_await(mesh, until, &a);
        if (err == STRADS_EIO)
            err = strads_fail(STRADS_EIO,
                              "%s did not answer this node's HELLO in time: is "
                              "it the coordinator of a run?",
                              url);
        if (err)
            break;
        if (a->link != link && !is_newcomer(a)) {
            a->next = early;
            early = a;
            continue;
        }
        if (a->link == link) {
            err = handle_answer(mesh, link, a, url, terms);
            *unanswered =
                !a->frame && a->why == STRADS_EIO && until != UINT64_MAX;
            until = UINT64_MAX;
        } else {
            sti_mesh_turn_away(mesh, a->link, a->frame);
        }
        sti_mesh_free_arrival(a);
    }
    while (early) {
        sti_arrival *a = early;
        early = a->next;
        requeue_arrival(mesh, a);
    }
    return err;
}

/* Enters a link into the table before the first frame is sent on it, so that
 * its loss is attributed to this peer. */
static void enter_link(sti_mesh *mesh, uint32_t node, sti_link link)
{
    pthread_mutex_lock(&mesh->lock);
    mesh->peers[node].link = link;
    pthread_mutex_unlock(&mesh->lock);
}

void sti_mesh_redial(sti_mesh *mesh, uint32_t node)
{
    mesh->peers[node].link = 0;
    mesh->peers[node].unanswered = true;
}

/* Dials a peer and sends HELLO. A peer that receives too many connections at
 * once drops some of them before it reads their HELLO; it is then dialled
 * again. */
static strads_err dial_peer(sti_mesh *mesh, uint32_t k, uint64_t until)
{
    sti_hello hello = sti_mesh_hello(mesh);
    hello.wanted_node = mesh->node;
    hello.workers = 1;
    sti_link link;
    const uint64_t now = sti_monotonic_now();
    strads_err err = sti_net_dial(mesh->net, mesh->peers[k].url,
                                  until > now ? until - now : 1, &link);
    if (err)
        return err;
    enter_link(mesh, k, link);
    err = sti_net_bind(mesh->net, link, k);
    if (!err)
        err = send_hello(mesh, link, &hello);
    if (err != STRADS_EPEER)
        return err;
    pthread_mutex_lock(&mesh->lock);
    sti_mesh_redial(mesh, k);
    pthread_mutex_unlock(&mesh->lock);
    return STRADS_OK;
}

static strads_err dial_lower(sti_mesh *mesh, uint64_t timeout_ns)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 1; k < mesh->node && !err; k++)
        err = dial_peer(mesh, k, sti_monotonic_in(timeout_ns));
    return err;
}

static bool take_unanswered(sti_mesh *mesh, uint32_t k)
{
    pthread_mutex_lock(&mesh->lock);
    const bool unanswered = mesh->peers[k].unanswered;
    mesh->peers[k].unanswered = false;
    pthread_mutex_unlock(&mesh->lock);
    return unanswered;
}

static strads_err dial_unanswered(sti_mesh *mesh, uint64_t until)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 1; k < mesh->node && !err; k++)
        if (take_unanswered(mesh, k)) {
            pause_redial();
            err = dial_peer(mesh, k, until);
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

/* Answers a higher node's HELLO with SEEN. It may send messages only after
 * that: a message on a link that is not bound is a breach. A lost link is
 * reported separately. */
static void confirm_hello(sti_mesh *mesh, sti_link link, uint32_t node)
{
    const sti_outgoing frame = {
        .header = {.kind = STI_KIND_SEEN, .from = mesh->node, .to = node}};
    (void)sti_net_send(mesh->net, link, &frame);
}

/* Handles the HELLO of a higher node: binds its link. */
static strads_err accept_higher(sti_mesh *mesh, const sti_arrival *a,
                                uint32_t *waiting)
{
    sti_hello hello;
    if (sti_hello_decode(a->frame->payload, a->frame->header.size, &hello) ||
        !is_awaited(mesh, &hello)) {
        sti_mesh_turn_away(mesh, a->link, a->frame);
        return STRADS_OK;
    }
    if (sti_net_bind(mesh->net, a->link, hello.wanted_node) != STRADS_OK)
        return STRADS_OK; /* the link has broken; its node dials again */
    enter_link(mesh, hello.wanted_node, a->link);
    confirm_hello(mesh, a->link, hello.wanted_node);
    --*waiting;
    return STRADS_OK;
}

static strads_err take_arrival(sti_mesh *mesh, const sti_arrival *a,
                               uint32_t *waiting)
{
    if (!a->frame)
        return STRADS_OK; /* a loss; sti_mesh_lose has handled it */
    switch (a->frame->header.kind) {
    case STI_KIND_REJECT:
        return sti_mesh_rejected(a->frame);
    case STI_KIND_SEEN:
        --*waiting;
        return STRADS_OK;
    default:
        return accept_higher(mesh, a, waiting);
    }
}

/* Waits for the HELLOs of the higher nodes and the answers of the lower ones.
 * All have received their WELCOME at about the same time as this node. */
static strads_err await_all(sti_mesh *mesh, uint64_t until)
{
    uint32_t waiting = mesh->nodes - 2; /* without node 0 and this node */
    strads_err err = STRADS_OK;
    while (!err && (waiting || !sti_mesh_settle(mesh))) {
        sti_arrival *a;
        err = dial_unanswered(mesh, until);
        if (err)
            break;
        err = sti_mesh_await(mesh, until, &a);
        if (err == STRADS_EIO)
            err = strads_fail(STRADS_EIO,
                              "%u of the other nodes have not connected to "
                              "this one in time: can all of them reach %s? "
                              "If not, give it --advertise URL",
                              waiting, sti_mesh_url(mesh));
        if (err)
            break;
        err = take_arrival(mesh, a, &waiting);
        sti_mesh_free_arrival(a);
    }
    return err;
}

void sti_mesh_hear_reason(sti_mesh *mesh)
{
    const uint64_t until = sti_monotonic_in(HEAR_NS);
    pthread_mutex_lock(&mesh->lock);
    bool late = !mesh->joins || !mesh->nodes;
    while (!mesh->failure && !late && !mesh->peers[0].gone)
        late = !sti_monotonic_wait(&mesh->arrived, &mesh->lock, until);
    pthread_mutex_unlock(&mesh->lock);
}

/* The failure of another node explains more than the loss of its link. */
strads_err sti_mesh_or_failure(sti_mesh *mesh, strads_err err)
{
    if (err != STRADS_EPEER && err != STRADS_EIO && err != STRADS_ECANCELED)
        return err;
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    if (err != STRADS_ECANCELED)
        sti_mesh_hear_reason(mesh);
    strads_err failure = sti_mesh_failure(mesh);
    return failure ? failure : strads_fail(err, "%s", text);
}

/* A node without a URL listens on the interface that reaches node 0: nodes that
 * reach node 0 can probably reach it there. Over ipc all nodes are on one
 * machine. */
static strads_err listen_towards(sti_mesh *mesh, sti_link link)
{
    char host[STI_HOST_MAX + 1], url[STI_URL_MAX + 1];
    if (sti_mesh_own_url(mesh)[0])
        return STRADS_OK;
    strads_err err = sti_net_own_host(mesh->net, link, host);
    (void)snprintf(url, sizeof url, "%stcp://%s:0",
                   sti_net_has_certificates(mesh->net) ? "tls+" : "",
                   err || !host[0] ? "127.0.0.1" : host);
    return err ? err : sti_net_listen(mesh->net, url);
}

/* Dials node 0, sends HELLO and waits for WELCOME, which has the terms. If node
 * 0 drops the connection before it answers, this node dials again. */
static strads_err ask_for_terms(sti_mesh *mesh, const char *url,
                                sti_hello *hello, uint64_t timeout_ns,
                                sti_link *link, sti_mesh_terms *terms)
{
    const uint64_t until = sti_monotonic_in(timeout_ns);
    *terms = (sti_mesh_terms){0};
    pthread_mutex_lock(&mesh->lock);
    mesh->joins = true;
    pthread_mutex_unlock(&mesh->lock);
    for (;;) {
        bool unanswered = false;
        const uint64_t now = sti_monotonic_now();
        strads_err err =
            sti_net_dial(mesh->net, url, until > now ? until - now : 1, link);
        const bool dialled = !err;
        if (!err)
            err = listen_towards(mesh, *link);
        hello->url = sti_mesh_url(mesh);
        if (!err)
            err = send_hello(mesh, *link, hello);
        unanswered = dialled && err == STRADS_EPEER;
        if (!err)
            err = await_welcome(mesh, *link, url, until, terms, &unanswered);
        if (!unanswered || sti_monotonic_in(REDIAL_NS) > until ||
            sti_mesh_gives_up(mesh))
            return err;
        pause_redial();
    }
}

/* Returns the final error of a join; frees the terms on failure. */
static strads_err conclude_join(sti_mesh *mesh, sti_mesh_terms *terms,
                                strads_err err)
{
    if (err) {
        free(terms->options);
        *terms = (sti_mesh_terms){0};
    }
    return sti_mesh_or_failure(mesh, err);
}

strads_err sti_mesh_join(sti_mesh *mesh, const char *url, uint32_t workers,
                         uint64_t pace, uint64_t timeout_ns,
                         sti_mesh_terms *terms)
{
    sti_link link;
    sti_hello hello = sti_mesh_hello(mesh);
    hello.workers = workers;
    hello.pace = pace;
    strads_err err = ask_for_terms(mesh, url, &hello, timeout_ns, &link, terms);
    if (!err)
        err = dial_lower(mesh, timeout_ns);
    if (!err)
        err = await_all(mesh, sti_monotonic_in(timeout_ns));
    return conclude_join(mesh, terms, err);
}
