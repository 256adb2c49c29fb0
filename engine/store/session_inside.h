/* engine/store/session_inside.h - what stands behind a session: the tables of
 * this process (session_local), or a node's end of tables that are spread over
 * shards (engine/runtime/node_store). The session keeps what is the worker's
 * own; the table of functions below carries it out. */
#ifndef STI_STORE_SESSION_INSIDE_H
#define STI_STORE_SESSION_INSIDE_H

#include "engine/base/trace.h"
#include "engine/store/adaptive_staleness.h"
#include "engine/store/pending_rows.h"
#include "engine/store/recent_rows.h"

typedef struct sti_session_read {
    uint32_t table, n;
    const uint32_t *rows; /* [n], of the table */
    uint32_t staleness;   /* or STRADS_STALENESS_* */
    void *out;            /* [n x cols] */
    uint64_t *snapshot;   /* NULL; else the last exact one is read, whatever the
                             staleness, and its clock goes there */
} sti_session_read;

/* Where a session's spans go; its times count from zero_ns on. */
typedef struct sti_session_track {
    sti_trace *trace; /* NULL: nowhere */
    uint32_t track;
    uint64_t zero_ns;
} sti_session_track;

/* Each is called by the session's thread; those of other sessions are called at
 * the same time. What a call waits for is told to sti_session_waited. */
typedef struct sti_session_ops {
    /* How many tables there are, and the spec of one of them. */
    uint32_t (*tables)(const void *behind);
    const strads_table_spec *(*spec)(const void *behind, uint32_t table);
    /* The worker is at clock 0. STRADS_EINVAL, STRADS_ESTATE. */
    strads_err (*join)(strads_session *session);
    /* Fresh by the staleness rule, with what is pending; or a snapshot, with
     * nothing pending: STRADS_EINVAL, STRADS_ESTATE. */
    strads_err (*read)(strads_session *session, const sti_session_read *read);
    /* Counts, from any thread, whatever may change the answer to a read of the
     * table that was answered before: in the same clock of this session, with
     * nothing added by it meanwhile. Valid as long as the session. NULL: each
     * read is asked for. */
    const sti_change_count *(*changes)(const void *behind, uint32_t table);
    /* A piece of what is pending leaves now, as soon as there is room for it.
     * Fails where the session can do nothing any more; whatever else keeps it,
     * the next push says. NULL: nothing leaves early. */
    strads_err (*push_early)(strads_session *session);
    /* Pending increments leave; all of them, or it fails and none of a table's
     * do. */
    strads_err (*flush)(strads_session *session);
    /* The same, and the clocks below `clock`, which are the next ones, end. */
    strads_err (*advance)(strads_session *session, uint64_t clock);
    /* The clock ends, which sti_session_passed is told, and a read is of the
     * next one: what the two send leaves together. NULL: advance, then read. */
    strads_err (*advance_and_read)(strads_session *session,
                                   const sti_session_read *read);
    /* All others have reached this session's clock, or have left. */
    strads_err (*barrier)(strads_session *session);
    /* No push refers to rows that the session has lent, also when it fails.
     * NULL: none ever does. */
    strads_err (*reclaim)(strads_session *session);
    /* The same as flush, and nobody waits for this worker any more. */
    void (*leave)(strads_session *session);
    /* ns, as sti_session_waited is told. NULL: sti_session_clock_ns. */
    uint64_t (*now)(const void *behind);
} sti_session_ops;

struct strads_session {
    const sti_session_ops *ops;
    void *behind; /* theirs */
    uint32_t worker, workers;
    uint64_t clock;
    uint64_t others;       /* local: the others' clocks are at least that */
    uint64_t group;        /* local: of workers, since the store was opened */
    sti_adaptive adaptive; /* local, as store_client.c keeps it over nodes */
    uint32_t adaptive_most;
    strads_times times;
    sti_session_track track;
    uint64_t clock_ns, computing_ns; /* traced: when these spans began */
    bool (*cut_off)(void *arg);      /* may it not go on? NULL: it may */
    void *cut_off_arg;
    sti_pending *pending; /* [n_pending] by number of the table */
    uint32_t n_pending;
    uint64_t piece; /* of rows that are lent at once; 0: all of them */
    sti_recent_rows recent;
};

strads_err sti_session_open(const sti_session_ops *ops, void *behind,
                            uint32_t worker, uint32_t workers,
                            strads_session **out);

/* The worker leaves: what closing does, but that its times can still be read.
 */
void sti_session_leave(strads_session *session);

/* Frees it; the worker does not leave by that. NULL is fine. */
void sti_session_free(strads_session *session);

/* ns of CLOCK_MONOTONIC. */
uint64_t sti_session_clock_ns(void);

/* From now on its clocks, and what it does in them, are on a trace. */
void sti_session_traced(strads_session *session,
                        const sti_session_track *track);

/* It has waited from begin to end, parked_ns of that for clocks, the rest for
 * the network. */
void sti_session_waited(strads_session *session, uint64_t begin_ns,
                        uint64_t end_ns, uint64_t parked_ns);

/* Its clocks below `clock` have ended. */
void sti_session_passed(strads_session *session, uint64_t clock);

/* Its entry in session->pending. STRADS_EINVAL: no such table.
 * STRADS_ENOMEM. */
strads_err sti_session_find_pending(strads_session *session, uint32_t table,
                                    sti_pending **out);

/* All tables have their entry in session->pending. STRADS_ENOMEM. */
strads_err sti_session_make_pending(strads_session *session);

/* The same; and of dense tables without filters what is more than `piece` bytes
 * may leave early. */
strads_err sti_session_make_pieces(strads_session *session, uint64_t piece);

#endif
