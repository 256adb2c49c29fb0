/* Peers without a server: the graph, the vectors and their queues. Invariants:
 * a vector is immutable once it is sent, so all receivers of a process share
 * one copy. Unread vectors of a sender are in the order of sending, because
 * links are streams. */
#include "engine/store/peer_vector.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/session.h"

/* ---- receive queues ------------------------------------------------------ */

static size_t vector_bytes(uint32_t n, bool sparse)
{
    return sizeof(sti_peer_vector) +
           n * (sizeof(double) + (sparse ? sizeof(uint32_t) : 0));
}

bool sti_peer_vector_fits(const sti_buffer *packed)
{
    const sti_peer_vector *l = sti_peer_vector_of(packed);
    return packed->size >= sizeof *l && l->sparse <= 1 && l->queue >= 1 &&
           l->queue <= STRADS_PEERS_QUEUE_MAX &&
           packed->size == vector_bytes(l->n, l->sparse);
}

strads_err sti_receive_queue_put(sti_receive_queue *received, uint32_t senders,
                                 sti_buffer *packed)
{
    const sti_peer_vector *l = sti_peer_vector_of(packed);
    if (!received->slot) {
        received->slot = calloc(senders, sizeof *received->slot);
        received->senders = received->slot ? senders : 0;
    }
    if (l->sender >= received->senders) {
        const bool known = l->sender < senders;
        sti_object_drop(packed);
        return known ? strads_fail(STRADS_ENOMEM, "no memory for a peer's "
                                                  "vectors")
                     : strads_fail(STRADS_EPEER, "an unknown peer "
                                                 "sent a vector");
    }
    sti_receive_slot *slot = &received->slot[l->sender];
    if (l->iteration >= STI_PEER_LOST) {
        slot->reached = STI_PEER_LEFT;
        if (l->iteration == STI_PEER_LOST && !slot->lost) {
            slot->lost = true;
            received->n_lost++;
        }
        sti_object_drop(packed);
        return STRADS_OK;
    }
    slot->reached = l->iteration + 1;
    while (slot->n >= l->queue) {
        sti_object_drop(slot->unread[0]);
        memmove(slot->unread, slot->unread + 1,
                --slot->n * sizeof(sti_buffer *));
    }
    slot->unread[slot->n++] = packed;
    return STRADS_OK;
}

void sti_receive_queue_free(sti_receive_queue *received)
{
    for (uint32_t s = 0; s < received->senders; s++)
        for (uint32_t k = 0; k < received->slot[s].n; k++)
            sti_object_drop(received->slot[s].unread[k]);
    free(received->slot);
    *received = (sti_receive_queue){0};
}

bool sti_receive_queue_take(sti_receive_queue *received, sti_collect *collect)
{
    for (uint32_t k = 0; collect->needs && k < collect->n; k++) {
        const uint64_t reached =
            received->slot ? received->slot[collect->from[k]].reached : 0;
        if (reached <= collect->needs && !(collect->late[k] && reached == 0)) {
            received->waits = true;
            return false;
        }
    }
    received->waits = false;
    collect->n_vectors = 0;
    for (uint32_t k = 0; received->slot && k < collect->n; k++) {
        sti_receive_slot *slot = &received->slot[collect->from[k]];
        for (uint32_t u = 0; u < slot->n; u++)
            collect->packed[collect->n_vectors++] = slot->unread[u];
        collect->left[k] = slot->reached == STI_PEER_LEFT;
        slot->n = 0;
    }
    for (uint32_t s = 0;
         collect->n_lost < received->n_lost && s < received->senders; s++)
        collect->lost[s] = received->slot[s].lost;
    collect->n_lost = received->n_lost;
    return true;
}

/* ---- graphs -------------------------------------------------------------- */

typedef struct edge {
    uint32_t from, to;
} edge;

typedef struct graph {
    const char *name;
    uint32_t peers;
    edge *at;
    size_t n, capacity;
} graph;

static strads_err add_edge(graph *g, uint32_t from, uint32_t to)
{
    if (g->n == g->capacity) {
        const size_t capacity = g->capacity ? 2 * g->capacity : 64;
        edge *more = realloc(g->at, capacity * sizeof *more);
        if (!more)
            return strads_fail(STRADS_ENOMEM, "no memory for the peers' graph");
        g->at = more;
        g->capacity = capacity;
    }
    g->at[g->n++] = (edge){from, to};
    return STRADS_OK;
}

static strads_err add_offset(graph *g, uint32_t offset)
{
    strads_err err = STRADS_OK;
    for (uint32_t r = 0; !err && r < g->peers; r++)
        err = add_edge(g, r, (uint32_t)(((uint64_t)r + offset) % g->peers));
    return err;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* Member k = 1, 2, ... of the sequence 1/2, 1/4, 3/4, 1/8, ... (the bits of k
 * mirrored at the point) times the number of peers. */
static uint32_t halton_offset(uint32_t k, uint32_t peers)
{
    double member = 0, weight = 0.5;
    for (; k; k /= 2, weight /= 2)
        member += k % 2 * weight;
    return (uint32_t)(member * peers);
}

/* Offsets connect all peers if they and N have no common divisor. Such a last
 * offset always exists: N 2^-m rounds down to 1 at the latest. */
static strads_err add_halton(graph *g)
{
    uint32_t offset[32], n = 0, degree = 0, common = g->peers;
    while ((UINT64_C(1) << degree) < g->peers)
        degree++;
    for (uint32_t k = 1; n < degree; k++) {
        const uint32_t o = halton_offset(k, g->peers);
        bool known = o == 0;
        for (uint32_t i = 0; i < n; i++)
            known |= offset[i] == o;
        if (known || (n + 1 == degree && common_divisor(common, o) != 1))
            continue;
        offset[n++] = o;
        common = common_divisor(common, o);
    }
    strads_err err = STRADS_OK;
    for (uint32_t i = 0; !err && i < n; i++)
        err = add_offset(g, offset[i]);
    return err;
}

static strads_err read_edge(graph *g, char *line, uint64_t number)
{
    uint64_t from, to;
    char rest;
    line[strcspn(line, "#\r\n")] = 0;
    const size_t blank = strspn(line, " \t");
    if (!line[blank])
        return STRADS_OK;
    if (line[strspn(line, "0123456789 \t")] ||
        sscanf(line, "%" SCNu64 " %" SCNu64 " %c", &from, &to, &rest) != 2)
        return strads_fail(STRADS_EFORMAT,
                           "%s:%" PRIu64 ": expected `FROM TO`, two ranks, "
                           "found \"%s\"",
                           g->name, number, line);
    if (from >= g->peers || to >= g->peers || from == to)
        return strads_fail(STRADS_EFORMAT,
                           "%s:%" PRIu64 ": %" PRIu64 " %" PRIu64 ": expected "
                           "two different ranks below %" PRIu32 ", the number "
                           "of peers",
                           g->name, number, from, to, g->peers);
    return add_edge(g, (uint32_t)from, (uint32_t)to);
}

static strads_err read_edges(graph *g)
{
    FILE *file = fopen(g->name, "r");
    char line[256];
    strads_err err = STRADS_OK;
    if (!file)
        return strads_fail(
            STRADS_EIO,
            "peers' graph \"%s\": expected all, exponential, halton, "
            "ring, or a file, and there is no such file",
            g->name);
    for (uint64_t k = 1; !err && fgets(line, sizeof line, file); k++)
        err = read_edge(g, line, k);
    if (!err && ferror(file))
        err = strads_fail(STRADS_EIO, "%s: cannot read it", g->name);
    (void)fclose(file);
    return err;
}

static strads_err make_edges(graph *g)
{
    strads_err err = STRADS_OK;
    if (strcmp(g->name, "all") == 0)
        for (uint32_t o = 1; !err && o < g->peers; o++)
            err = add_offset(g, o);
    else if (strcmp(g->name, "exponential") == 0)
        for (uint64_t o = 1; !err && o < g->peers; o *= 2)
            err = add_offset(g, (uint32_t)o);
    else if (strcmp(g->name, "halton") == 0)
        err = add_halton(g);
    else if (strcmp(g->name, "ring") == 0)
        err = g->peers > 1 ? add_offset(g, 1) : STRADS_OK;
    else
        err = read_edges(g);
    return err;
}

static int by_rank(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Sorts the edges by `from` and drops duplicates. */
static void sort_edges(graph *g)
{
    size_t n = 0;
    if (g->n > 0)
        qsort(g->at, g->n, sizeof *g->at, by_rank);
    for (size_t k = 0; k < g->n; k++)
        if (n == 0 || by_rank(&g->at[n - 1], &g->at[k]) != 0)
            g->at[n++] = g->at[k];
    g->n = n;
}

/* The first edge of a rank. */
static size_t first_edge(const graph *g, uint32_t rank)
{
    size_t low = 0, high = g->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (g->at[middle].from < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Removes a peer: its senders then send to its receivers. So all other peers
 * still reach each other, and the order of losses does not matter. */
static strads_err remove_peer(graph *g, uint32_t rank)
{
    strads_err err = STRADS_OK;
    const size_t edges = g->n, first = first_edge(g, rank);
    size_t n = 0;
    for (size_t a = 0; a < edges; a++)
        for (size_t b = first;
             !err && g->at[a].to == rank && b < edges && g->at[b].from == rank;
             b++)
            if (g->at[b].to != g->at[a].from)
                err = add_edge(g, g->at[a].from, g->at[b].to);
    for (size_t k = 0; k < g->n; k++)
        if (g->at[k].from != rank && g->at[k].to != rank)
            g->at[n++] = g->at[k];
    g->n = n;
    sort_edges(g);
    return err;
}

/* A peer that rank 0 does not reach along the edges, or `peers` if there is
 * none. `queue` has space for all peers; `seen` is cleared. */
static uint32_t find_unreached(const graph *g, uint32_t *queue, bool *seen)
{
    uint32_t head = 0, tail = 0, rank = 0;
    memset(seen, 0, g->peers);
    seen[0] = true;
    queue[tail++] = 0;
    while (head < tail) {
        const uint32_t from = queue[head++];
        for (size_t k = first_edge(g, from); k < g->n && g->at[k].from == from;
             k++)
            if (!seen[g->at[k].to]) {
                seen[g->at[k].to] = true;
                queue[tail++] = g->at[k].to;
            }
    }
    while (rank < g->peers && seen[rank])
        rank++;
    return rank;
}

static void reverse_edges(graph *g)
{
    for (size_t k = 0; k < g->n; k++)
        g->at[k] = (edge){g->at[k].to, g->at[k].from};
    sort_edges(g);
}

static strads_err fail_unreached(const graph *g, uint32_t from, uint32_t to)
{
    return strads_fail(STRADS_EINVAL,
                       "peers' graph \"%s\": peer %" PRIu32
                       " does not reach peer %" PRIu32 ": each of the %" PRIu32
                       " peers must reach all others; add edges, or use "
                       "exponential",
                       g->name, from, to, g->peers);
}

/* ---- opening ------------------------------------------------------------- */

struct strads_peers {
    strads_session *session;
    strads_peers_options options;
    char *graph;
    uint32_t *target, *source; /* [n_targets], [n_sources] in ascending order */
    uint32_t n_targets, n_sources;
    /* [n_sources] the sender has left; it became a source after a loss */
    bool *left, *late;
    bool *lost; /* [workers] the n_lost lost peers */
    uint32_t n_lost;
    sti_buffer **packed;         /* [n_sources x STRADS_PEERS_QUEUE_MAX] */
    strads_peers_vector *vector; /* of the same size */
    uint32_t *count; /* [length] all 0 between calls: counts for the mean */
};

static uint32_t *copy_ends(const graph *g, uint32_t rank, uint32_t *n)
{
    const size_t first = first_edge(g, rank);
    size_t end = first;
    while (end < g->n && g->at[end].from == rank)
        end++;
    uint32_t *ends = malloc((end - first + 1) * sizeof *ends);
    for (size_t k = first; ends && k < end; k++)
        ends[k - first] = g->at[k].to;
    *n = (uint32_t)(end - first);
    return ends;
}

/* Finds the neighbours and checks that every peer reaches every other. */
static strads_err find_edges_of_rank(strads_peers *peers, graph *g)
{
    const uint32_t rank = peers->session->worker;
    uint32_t *queue = calloc(g->peers, sizeof *queue);
    bool *seen = calloc(g->peers, sizeof *seen);
    strads_err err = queue && seen ? make_edges(g)
                                   : strads_fail(STRADS_ENOMEM, "no memory for "
                                                                "the peers' "
                                                                "graph");
    if (!err) {
        sort_edges(g);
        for (uint32_t r = 0; !err && r < g->peers; r++)
            if (peers->lost[r])
                err = remove_peer(g, r);
        const bool whole = peers->n_lost == 0;
        const uint32_t deaf = whole ? find_unreached(g, queue, seen) : g->peers;
        if (deaf < g->peers)
            err = fail_unreached(g, 0, deaf);
        peers->target = copy_ends(g, rank, &peers->n_targets);
        reverse_edges(g);
        const uint32_t mute =
            whole && !err ? find_unreached(g, queue, seen) : g->peers;
        if (mute < g->peers)
            err = fail_unreached(g, mute, 0);
        peers->source = copy_ends(g, rank, &peers->n_sources);
    }
    free(queue);
    free(seen);
    free(g->at);
    return err;
}

/* Finds the neighbours and allocates their arrays. */
static strads_err find_neighbours(strads_peers *peers)
{
    graph g = {.name = peers->graph, .peers = peers->session->workers};
    peers->target = peers->source = NULL;
    strads_err err = find_edges_of_rank(peers, &g);
    const size_t most = (size_t)peers->n_sources * STRADS_PEERS_QUEUE_MAX + 1;
    peers->left = calloc(peers->n_sources + (size_t)1, sizeof *peers->left);
    peers->late = calloc(peers->n_sources + (size_t)1, sizeof *peers->late);
    peers->packed = calloc(most, sizeof(sti_buffer *));
    peers->vector = calloc(most, sizeof *peers->vector);
    if (!err && !(peers->target && peers->source && peers->left &&
                  peers->late && peers->packed && peers->vector))
        err = strads_fail(STRADS_ENOMEM, "no memory for peers");
    return err;
}

static void free_neighbours(strads_peers *peers)
{
    free(peers->target);
    free(peers->source);
    free(peers->left);
    free(peers->late);
    free(peers->packed);
    free(peers->vector);
}

static void free_peers(strads_peers *peers)
{
    free_neighbours(peers);
    free(peers->lost);
    free(peers->count);
    free(peers->graph);
    free(peers);
}

/* Updates the graph after losses. Peers learn of a loss at different times, so
 * no peer waits for a new neighbour before its first vector. */
static strads_err update_neighbours(strads_peers *peers)
{
    strads_peers old = *peers;
    strads_err err = find_neighbours(peers);
    for (uint32_t k = 0, o = 0; !err && k < peers->n_sources; k++) {
        while (o < old.n_sources && old.source[o] < peers->source[k])
            o++;
        const bool is_old =
            o < old.n_sources && old.source[o] == peers->source[k];
        peers->late[k] = !is_old || old.late[o];
        peers->left[k] = is_old && old.left[o];
    }
    free_neighbours(&old);
    return err;
}

static strads_err check_options(const strads_session *session,
                                const strads_peers_options *o)
{
    if (session->peers)
        return strads_fail(STRADS_ESTATE,
                           "worker %" PRIu32 " has already opened its peers",
                           session->worker);
    if (o->size < sizeof *o || o->length == 0)
        return strads_fail(STRADS_EINVAL,
                           "peers' vectors of %" PRIu32
                           " numbers: expected at least 1, and "
                           "`size` to be set",
                           o->length);
    if (o->queue > STRADS_PEERS_QUEUE_MAX)
        return strads_fail(STRADS_EINVAL,
                           "peers' queue %" PRIu32 ": expected 1 to %d",
                           o->queue, STRADS_PEERS_QUEUE_MAX);
    if (o->mode > STRADS_PEERS_BSP)
        return strads_fail(STRADS_EINVAL, "peers' mode %d is unknown",
                           (int)o->mode);
    return STRADS_OK;
}

strads_err strads_peers_open(strads_session *session,
                             const strads_peers_options *options,
                             strads_peers **out)
{
    strads_err err = check_options(session, options);
    if (err)
        return err;
    strads_peers *peers = calloc(1, sizeof *peers);
    if (!peers)
        return strads_fail(STRADS_ENOMEM, "no memory for peers");
    peers->session = session;
    peers->options = *options;
    if (!peers->options.queue)
        peers->options.queue = 1;
    peers->graph = strdup(options->graph ? options->graph : "exponential");
    peers->lost = calloc(session->workers, sizeof *peers->lost);
    peers->count = calloc(options->length, sizeof *peers->count);
    err = peers->graph && peers->lost && peers->count
              ? find_neighbours(peers)
              : strads_fail(STRADS_ENOMEM, "no memory for peers");
    if (err) {
        free_peers(peers);
        return err;
    }
    session->peers = peers;
    *out = peers;
    return STRADS_OK;
}

bool strads_peers_alive(const strads_peers *peers, uint32_t rank)
{
    for (uint32_t k = 0; k < peers->n_sources; k++)
        if (peers->source[k] == rank)
            return !peers->left[k];
    return rank < peers->session->workers && !peers->lost[rank];
}

const uint32_t *strads_peers_targets(const strads_peers *peers, uint32_t *n)
{
    *n = peers->n_targets;
    return peers->target;
}

/* ---- sending ------------------------------------------------------------- */

static strads_err new_vector(const strads_peers *peers, uint32_t n,
                             uint64_t iteration, sti_buffer **out)
{
    strads_err err =
        sti_buffer_new(vector_bytes(n, peers->options.sparse), out);
    if (!err)
        *(sti_peer_vector *)(void *)(*out)->bytes =
            (sti_peer_vector){.sender = peers->session->worker,
                              .n = n,
                              .sparse = peers->options.sparse,
                              .queue = peers->options.queue,
                              .iteration = iteration};
    return err;
}

/* Sends to all targets; takes over the reference. */
static strads_err send_vector(strads_peers *peers, sti_buffer *packed)
{
    strads_session *session = peers->session;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < peers->n_targets; k++)
        err = session->ops->post(session, peers->target[k],
                                 sti_object_keep(packed));
    sti_object_drop(packed);
    return err;
}

static strads_err send_to_targets(strads_peers *peers, uint32_t n,
                                  const uint32_t *index, const double *value)
{
    strads_session *session = peers->session;
    sti_buffer *packed;
    strads_err err = peers->options.mode == STRADS_PEERS_BSP
                         ? strads_session_barrier(session)
                         : STRADS_OK;
    if (!err)
        err = new_vector(peers, n, session->clock, &packed);
    if (err)
        return err;
    double *values =
        (double *)(void *)(packed->bytes + sizeof(sti_peer_vector));
    if (n > 0)
        memcpy(values, value, n * sizeof *value);
    if (n > 0 && index)
        memcpy(values + n, index, n * sizeof *index);
    return send_vector(peers, packed);
}

strads_err strads_peers_scatter(strads_peers *peers, const double *value)
{
    if (peers->options.sparse)
        return strads_fail(STRADS_EINVAL, "these peers' vectors are sparse: "
                                          "strads_peers_scatter_sparse");
    return send_to_targets(peers, peers->options.length, NULL, value);
}

strads_err strads_peers_scatter_sparse(strads_peers *peers, uint32_t n,
                                       const uint32_t *index,
                                       const double *value)
{
    if (!peers->options.sparse)
        return strads_fail(STRADS_EINVAL, "these peers' vectors are dense: "
                                          "strads_peers_scatter");
    for (uint32_t k = 0; k < n; k++)
        if (index[k] >= peers->options.length)
            return strads_fail(STRADS_EINVAL,
                               "index %" PRIu32 " of a vector of %" PRIu32
                               " numbers",
                               index[k], peers->options.length);
    return send_to_targets(peers, n, index, value);
}

void sti_peers_leave(strads_peers *peers)
{
    sti_buffer *packed;
    peers->session->peers = NULL;
    if (!new_vector(peers, 0, STI_PEER_LEFT, &packed))
        (void)send_vector(peers, packed);
    peers->session = NULL; /* the session may be closed before its peers */
}

void strads_peers_close(strads_peers *peers)
{
    if (!peers)
        return;
    if (peers->session)
        sti_peers_leave(peers);
    free_peers(peers);
}

/* ---- folding ------------------------------------------------------------- */

static strads_err fold_mean(const strads_peers *peers, double *into, uint32_t n,
                            const strads_peers_vector *in)
{
    uint32_t *count = peers->count;
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t k = 0; k < in[v].n; k++) {
            const uint32_t j = in[v].index ? in[v].index[k] : k;
            into[j] += in[v].value[k];
            count[j]++;
        }
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t k = 0; k < in[v].n; k++) {
            const uint32_t j = in[v].index ? in[v].index[k] : k;
            into[j] /= 1.0 + count[j]; /* count is 0 at the next visit of j */
            count[j] = 0;
        }
    return STRADS_OK;
}

/* Reads a packed vector and checks that it matches these options. */
static strads_err read_vector(const strads_peers *peers,
                              const sti_buffer *packed,
                              strads_peers_vector *out)
{
    const sti_peer_vector *l = sti_peer_vector_of(packed);
    const strads_peers_options *o = &peers->options;
    const double *value = (const double *)(const void *)(l + 1);
    *out = (strads_peers_vector){.peer = l->sender,
                                 .iteration = l->iteration,
                                 .n = l->n,
                                 .value = value};
    bool good =
        (l->sparse != 0) == o->sparse && (o->sparse || l->n == o->length);
    if (good && o->sparse)
        out->index = (const uint32_t *)(const void *)(value + l->n);
    for (uint32_t k = 0; good && out->index && k < l->n; k++)
        good = out->index[k] < o->length;
    return good ? STRADS_OK
                : strads_fail(STRADS_EPEER,
                              "peer %" PRIu32 " sent another kind of vector "
                              "than peer %" PRIu32 " expects: open all peers "
                              "with the same options",
                              l->sender, peers->session->worker);
}

strads_err strads_peers_gather(strads_peers *peers, strads_peers_fold fold,
                               void *arg, double *into, uint32_t *n)
{
    const strads_peers_options *o = &peers->options;
    strads_session *session = peers->session;
    const uint64_t lag = o->mode == STRADS_PEERS_SSP ? o->staleness : 0;
    sti_collect collect = {.n = peers->n_sources,
                           .from = peers->source,
                           .late = peers->late,
                           .left = peers->left,
                           .packed = peers->packed,
                           .lost = peers->lost,
                           .n_lost = peers->n_lost};
    if (o->mode != STRADS_PEERS_ASYNC && session->clock > lag)
        collect.needs = session->clock - lag;
    strads_err err = session->ops->collect(session, &collect);
    for (uint32_t k = 0; !err && k < collect.n_vectors; k++)
        err = read_vector(peers, peers->packed[k], &peers->vector[k]);
    if (!err && fold)
        err = fold(arg, into, collect.n_vectors, peers->vector);
    else if (!err)
        err = fold_mean(peers, into, collect.n_vectors, peers->vector);
    for (uint32_t k = 0; k < collect.n_vectors; k++)
        sti_object_drop(peers->packed[k]);
    if (!err && n)
        *n = collect.n_vectors;
    if (!err && collect.n_lost > peers->n_lost) {
        peers->n_lost = collect.n_lost;
        err = update_neighbours(peers);
    }
    return err;
}
