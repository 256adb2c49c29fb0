/* engine/store/session.h - a worker's session. A backend carries out its calls:
 * the tables of this process (local_store.c), or a node's client of tables that
 * are spread over shards (client_session.c). The session keeps the worker's own
 * state; a table of functions calls the backend. */
#ifndef STI_STORE_SESSION_H
#define STI_STORE_SESSION_H

#include <string.h>

#include "engine/base/trace.h"
#include "engine/store/message.h"
#include "engine/store/peer_vector.h"
#include "engine/store/pending.h"

/* ---- adaptive staleness ------------------------------------------------ */

/* Adaptive staleness by the rule of STRADS_STALENESS_ADAPTIVE. Zeroed:
 * staleness 0. The rule uses a worker's waiting times over all tables, so each
 * worker has one state; a table's own bound applies when the table is read. */
typedef struct sti_adaptive {
    uint32_t staleness;
    uint32_t clocks;    /* ended since the last check */
    uint64_t looked_at; /* time of the last check, ns */
    uint64_t waited;    /* ns since then spent waiting for reads */
    /* waiting share, in millionths, before the last increase */
    uint64_t before;
    uint64_t since;   /* sum of the shares under trial */
    uint32_t from;    /* the staleness before the increase */
    uint32_t trial;   /* checks until the trial is decided; 0: no trial */
    uint32_t pause;   /* checks until the next increase is allowed */
    uint32_t refused; /* the pause after the last failed trial */
} sti_adaptive;

/* The largest staleness that an adaptive read of the table may use. */
static inline uint32_t sti_staleness_max(const strads_table_spec *spec)
{
    return spec->staleness_max ? spec->staleness_max : 16;
}

static inline uint32_t sti_adaptive_staleness(const sti_adaptive *adaptive,
                                              const strads_table_spec *spec)
{
    uint32_t most = sti_staleness_max(spec);
    return adaptive->staleness < most ? adaptive->staleness : most;
}

static inline void sti_adaptive_waited(sti_adaptive *adaptive, uint64_t ns)
{
    adaptive->waited += ns;
}

/* Called at a check: the worker spent `share` of a million waiting. The
 * staleness jumps to `most`: single steps would take a whole run, and
 * differences between stragglers hide the effect of one step. After a jump the
 * worker runs ahead once, for about SKIP checks. The mean of the JUDGED checks
 * after these decides: a worker that waits for one slow peer waits equally long
 * at any staleness. */
static inline void sti_adaptive_look(sti_adaptive *a, uint64_t share,
                                     uint32_t most)
{
    enum { RAISE = 100000, LOWER = 50000, SKIP = 4, JUDGED = 4 };
    enum { PAUSE = 8, PAUSE_MAX = 256 };
    a->pause -= a->pause > 0;
    if (a->trial > 0) {
        a->since += --a->trial < JUDGED ? share : 0;
        if (a->trial > 0)
            return;
        const bool helped = a->since * 10 < a->before * 9 * JUDGED;
        a->staleness = helped ? a->staleness : a->from;
        a->refused = helped ? 0 : a->refused ? 2 * a->refused : PAUSE;
        a->refused = a->refused < PAUSE_MAX ? a->refused : PAUSE_MAX;
        a->pause = a->refused;
    } else if (share > RAISE && a->staleness < most && a->pause == 0) {
        a->from = a->staleness;
        a->staleness = most;
        a->before = share;
        a->since = 0;
        a->trial = SKIP + JUDGED;
    } else if (share < LOWER && a->staleness > 0) {
        a->staleness--;
    }
}

/* Called when the worker ends a clock. `most` is the largest bound of all
 * tables that it reads adaptively. */
static inline void sti_adaptive_clock(sti_adaptive *adaptive, uint64_t now,
                                      uint32_t most)
{
    enum { CLOCKS = 8 };
    if (++adaptive->clocks < CLOCKS)
        return;
    const uint64_t passed = now - adaptive->looked_at;
    sti_adaptive_look(adaptive,
                      passed ? adaptive->waited * 1000000 / passed : 0, most);
    adaptive->clocks = 0;
    adaptive->waited = 0;
    adaptive->looked_at = now;
}

/* ---- recent rows ------------------------------------------------------- */

/* Rows that a worker has read in its clock, which it can read again without a
 * call of the backend: no lock, no search.
 *
 * The backend counts the changes that could alter an answer. A row is stored
 * with the count before its read. It is used only if the count is unchanged,
 * the session has added nothing to the row, and the request is the same: the
 * backend would then return the same bytes. So the guarantees of a read do not
 * depend on this cache. It belongs to one thread; other threads change the
 * counts. */

/* Wider rows are not kept: copying them takes longer than a call. */
enum { STI_RECENT_ROWS = 64, STI_RECENT_BYTES = 256 };

typedef _Atomic uint64_t sti_change_count;

/* The parameters of a read. */
typedef struct sti_recent_key {
    uint64_t row, clock;
    uint32_t table, staleness; /* as the caller passed it */
} sti_recent_key;

typedef struct sti_recent_row {
    sti_recent_key key;
    const sti_change_count *changes; /* NULL: the values are not kept */
    uint64_t before;                 /* the count before the row was read */
} sti_recent_row;

/* Zeroed: empty. Each row maps to one entry, which holds the row read last. Its
 * values are stored at the second read, so that rows that are read once cost
 * nothing. */
typedef struct sti_recent_rows {
    sti_recent_row at[STI_RECENT_ROWS];
    char values[STI_RECENT_ROWS][STI_RECENT_BYTES];
} sti_recent_rows;

static inline uint32_t sti_recent_place(uint32_t table, uint64_t row)
{
    return (uint32_t)(row + 7 * (uint64_t)table) % STI_RECENT_ROWS;
}

/* The row's values; NULL: call the backend. */
static inline const void *sti_recent_find(const sti_recent_rows *recent,
                                          sti_recent_key key)
{
    const uint32_t place = sti_recent_place(key.table, key.row);
    const sti_recent_row *at = &recent->at[place];
    const bool same =
        at->changes && at->key.row == key.row && at->key.table == key.table &&
        at->key.clock == key.clock && at->key.staleness == key.staleness;
    return same && atomic_load_explicit(at->changes, memory_order_acquire) ==
                       at->before
               ? recent->values[place]
               : NULL;
}

/* Invalidates a row that the session adds to. */
static inline void sti_recent_discard(sti_recent_rows *recent, uint32_t table,
                                      uint64_t row)
{
    sti_recent_row *at = &recent->at[sti_recent_place(table, row)];
    if (at->key.row == row && at->key.table == table) {
        at->key.row = UINT64_MAX; /* no table has it */
        at->changes = NULL;
    }
}

/* ---- backend ----------------------------------------------------------- */

typedef struct sti_session_read {
    uint32_t table, n;
    const uint32_t *rows; /* [n], of the table */
    uint32_t staleness;   /* or STRADS_STALENESS_INFINITE */
    void *out;            /* [n x cols] */
    /* NULL: a normal read. Otherwise the last exact snapshot is read,
     * regardless of the staleness, and its clock is stored here */
    uint64_t *snapshot;
} sti_session_read;

/* The session's thread makes each call, while other sessions make theirs. A
 * call reports its waiting time to sti_session_waited. */
typedef struct sti_session_ops {
    /* The number of tables, and the spec of one of them. */
    uint32_t (*tables)(const void *behind);
    const strads_table_spec *(*spec)(const void *behind, uint32_t table);
    /* Registers the worker, at clock 0 unless join sets session->clock; it may
     * also set `shards` and `piece`. STRADS_EINVAL, STRADS_ESTATE. */
    strads_err (*join)(strads_session *session);
    /* Reads rows that are fresh by the staleness rule and include pending
     * increments; or a snapshot without pending increments: STRADS_EINVAL,
     * STRADS_ESTATE. */
    strads_err (*read)(strads_session *session, const sti_session_read *read);
    /* Requests rows at the freshness of the worker's next clock, without
     * waiting. NULL: the rows are local. */
    strads_err (*prefetch)(strads_session *session,
                           const sti_session_read *read);
    /* A counter that any thread raises when a repeated read of the table, in
     * the same clock and with nothing added by this session, could return
     * different values. Valid as long as the session. NULL: every read calls
     * the backend. */
    const sti_change_count *(*changes)(const void *behind, uint32_t table);
    /* Sends the pending increments: for each table all of them or, on failure,
     * none. CLOCK: filters may hold some back, and the session's clocks below
     * `clock` end. LEAVE: the worker leaves and other workers no longer wait
     * for it. `more`: a read follows at once and may share the message. */
    strads_err (*push)(strads_session *session, sti_push_end end,
                       uint64_t clock, bool more);
    /* Sends a piece of the pending increments as soon as there is space for it.
     * Fails if the session has ended; the next push reports all other errors.
     * NULL: nothing is sent early. */
    strads_err (*push_early)(strads_session *session, sti_pending *pending);
    /* Waits until all other workers have reached this session's clock or have
     * left. */
    strads_err (*barrier)(strads_session *session);
    /* Sends a packed vector to another worker; takes over the reference. */
    strads_err (*post)(strads_session *session, uint32_t to,
                       sti_buffer *packed);
    /* Waits until the vectors are there. */
    strads_err (*collect)(strads_session *session, sti_collect *collect);
    /* The cells of a dense table, which the sessions share. NULL: the sessions
     * share no memory. */
    void *(*cells)(const void *behind, uint32_t table);
    /* The clock for the times passed to sti_session_waited, in ns. */
    uint64_t (*now)(const void *behind);
} sti_session_ops;

/* The trace track of a session; times count from zero_ns. */
typedef struct sti_session_track {
    sti_trace *trace; /* NULL: no trace */
    uint32_t track;
    uint64_t zero_ns;
} sti_session_track;

struct strads_session {
    const sti_session_ops *ops;
    void *behind; /* the backend's state */
    uint32_t worker, workers;
    uint64_t clock;
    uint64_t others; /* local: a lower bound of the others' clocks */
    /* local: the session's group of workers, counted since the store was
     * opened */
    uint64_t group;
    sti_adaptive adaptive;
    /* the largest staleness_max of the tables read adaptively */
    uint32_t adaptive_most;
    strads_times times;
    uint64_t waited_ns; /* total time spent waiting */
    sti_session_track track;
    uint64_t clock_ns, computing_ns; /* traced: when these spans began */
    bool (*cut_off)(void *arg); /* whether the session must stop; NULL: never */
    /* Checkpoints. `boundary`: whether the session stops on the way to *clock,
     * and at which clock; NULL: it never stops. `arrive` runs there, after all
     * increments have been sent. */
    bool (*boundary)(void *arg, uint64_t *clock);
    strads_err (*arrive)(void *arg);
    void *loop;      /* the argument of these three functions */
    uint32_t shards; /* number of shards; 1 in one process */
    /* size of an early push of dense rows; 0: no early pushes */
    uint64_t piece;
    sti_pending *pending; /* [n_tables x shards] */
    uint32_t n_tables;
    strads_peers *peers; /* NULL: not open */
    sti_recent_rows recent;
};

/* STRADS_ENOMEM, and the errors of `join`. */
strads_err sti_session_open(const sti_session_ops *ops, void *behind,
                            uint32_t worker, uint32_t workers,
                            strads_session **out);

/* The worker leaves, as in closing; its times can still be read. */
void sti_session_leave(strads_session *session);

/* Frees the session, without a leave. NULL is allowed. */
void sti_session_free(strads_session *session);

/* From now on the session's clocks and activities are traced. */
void sti_session_traced(strads_session *session,
                        const sti_session_track *track);

/* Adds the waiting time from begin to end; parked_ns of it was spent waiting
 * for clocks, the remainder on the network. */
void sti_session_waited(strads_session *session, uint64_t begin_ns,
                        uint64_t end_ns, uint64_t parked_ns);

/* The pending increments for a row's table and shard. */
static inline sti_pending *sti_session_pending(const strads_session *session,
                                               uint32_t table, uint32_t row)
{
    return &session->pending[(size_t)table * session->shards +
                             sti_row_shard(table, row, session->shards)];
}

#endif
