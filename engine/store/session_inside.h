/* engine/store/session_inside.h - what stands behind a session: the tables of
 * this process (session_local), or a node's end of tables that are spread over
 * shards (engine/runtime/node_store). The session keeps what is the worker's
 * own; the table of functions below carries it out. */
#ifndef STI_STORE_SESSION_INSIDE_H
#define STI_STORE_SESSION_INSIDE_H

#include "engine/store/adaptive_staleness.h"
#include "engine/store/pending_rows.h"

typedef struct sti_session_read {
    uint32_t table, n;
    const uint32_t *rows; /* [n], of the table */
    uint32_t staleness;   /* or STRADS_STALENESS_* */
    void *out;            /* [n x cols] */
} sti_session_read;

/* Each is called by the session's thread; those of other sessions are called at
 * the same time. What a call waits for is added to session->times. */
typedef struct sti_session_ops {
    /* How many tables there are, and the spec of one of them. */
    uint32_t (*tables)(const void *behind);
    const strads_table_spec *(*spec)(const void *behind, uint32_t table);
    /* The worker is at clock 0. STRADS_EINVAL, STRADS_ESTATE. */
    strads_err (*join)(strads_session *session);
    /* Fresh by the staleness rule, with what is pending. */
    strads_err (*read)(strads_session *session, const sti_session_read *read);
    /* Pending increments leave; all of them, or it fails and none of a table's
     * do. */
    strads_err (*flush)(strads_session *session);
    /* The same, and the clocks below `clock`, which are the next ones, end. */
    strads_err (*advance)(strads_session *session, uint64_t clock);
    /* All others have reached this session's clock, or have left. */
    strads_err (*barrier)(strads_session *session);
    /* The same as flush, and nobody waits for this worker any more. */
    void (*leave)(strads_session *session);
} sti_session_ops;

struct strads_session {
    const sti_session_ops *ops;
    void *behind; /* theirs */
    uint32_t worker, workers;
    uint64_t clock;
    uint64_t others;       /* local: the others' clocks are at least that */
    sti_adaptive adaptive; /* local, as store_client.c keeps it over nodes */
    uint32_t adaptive_most;
    strads_times times;
    sti_pending *pending; /* [n_pending] by number of the table */
    uint32_t n_pending;
};

strads_err sti_session_open(const sti_session_ops *ops, void *behind,
                            uint32_t worker, uint32_t workers,
                            strads_session **out);

/* Frees it; the worker does not leave by that. NULL is fine. */
void sti_session_free(strads_session *session);

/* All tables have their entry in session->pending. STRADS_ENOMEM. */
strads_err sti_session_make_pending(strads_session *session);

#endif
