/* engine/store/session.h - a worker's session, and what stands behind it: the
 * tables of this process (local_store.c), or a node's client of tables that are
 * spread over shards (client_session.c). The session keeps what is the worker's
 * own; a table of functions carries the rest out. */
#ifndef STI_STORE_SESSION_H
#define STI_STORE_SESSION_H

#include <string.h>

#include "engine/base/trace.h"
#include "engine/store/message.h"
#include "engine/store/peer_vector.h"
#include "engine/store/pending.h"

/* ---- adaptive staleness ------------------------------------------------ */

/* The staleness that a worker picks itself, by the rule of
 * STRADS_STALENESS_ADAPTIVE. Zeroed: at staleness 0. It looks at how a worker
 * waits in all tables, so there is one for a worker; a table's own bound holds
 * when it reads. */
typedef struct sti_adaptive {
    uint32_t staleness;
    uint32_t clocks;    /* ended since it looked last */
    uint64_t looked_at; /* ns */
    uint64_t waited;    /* ns since then, for reads */
    uint64_t before;    /* waited of a million ns, when it grew last */
    uint64_t since;     /* the sum of what is judged */
    uint32_t from;      /* what it grew from */
    uint32_t trial;     /* looks until that is judged; 0: it has been */
    uint32_t pause;     /* looks until it may grow again, */
    uint32_t refused;   /* and how many that were after it last stepped back */
} sti_adaptive;

/* The bound of a table that is read so. */
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

/* At a look, of which `share` in a million was waiting. It grows to `most` at once:
 * step by step a run is over before it is there, and one straggler after the other
 * makes single looks differ more than steps do. A worker then runs ahead for once,
 * for about SKIP looks; the mean of the JUDGED ones behind them decides. Who waits
 * for one that is always slow waits as long at any staleness. */
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

/* The worker has ended a clock. `most` is the largest bound of all tables that
 * are read so. */
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

/* Rows that a worker has read in its clock, to be read again without asking what
 * stands behind its session: no lock, no search.
 *
 * What stands behind counts the changes of what it would answer. A row is kept
 * together with that count, as it was before the row was read, and is used only
 * while nothing has been counted since, nothing was added to it here, and the
 * same is asked for: then the answer would be these bytes again. So nothing
 * that is promised of a read depends on whether it is answered here. Belongs to
 * one thread; others do the counting. */

/* Wider rows are not kept: to copy them takes longer than to ask. */
enum { STI_RECENT_ROWS = 64, STI_RECENT_BYTES = 256 };

typedef _Atomic uint64_t sti_change_count;

/* What was asked for. */
typedef struct sti_recent_key {
    uint64_t row, clock;
    uint32_t table, staleness; /* as the caller says it */
} sti_recent_key;

typedef struct sti_recent_row {
    sti_recent_key key;
    const sti_change_count *changes; /* NULL: its values are not kept */
    uint64_t before;                 /* what it was when the row was read */
} sti_recent_row;

/* Zeroed: empty. Each row has one place, which the last one read has; its
 * values are kept when it is read again: rows that are read once cost nothing.
 */
typedef struct sti_recent_rows {
    sti_recent_row at[STI_RECENT_ROWS];
    char values[STI_RECENT_ROWS][STI_RECENT_BYTES];
} sti_recent_rows;

static inline uint32_t sti_recent_place(uint32_t table, uint64_t row)
{
    return (uint32_t)(row + 7 * (uint64_t)table) % STI_RECENT_ROWS;
}

/* The row's values; NULL: what stands behind is to be asked. */
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

/* Something is added to a row here. */
static inline void sti_recent_forget(sti_recent_rows *recent, uint32_t table,
                                     uint64_t row)
{
    sti_recent_row *at = &recent->at[sti_recent_place(table, row)];
    if (at->key.row == row && at->key.table == table) {
        at->key.row = UINT64_MAX; /* of no table */
        at->changes = NULL;
    }
}

/* ---- what stands behind ------------------------------------------------ */

typedef struct sti_session_read {
    uint32_t table, n;
    const uint32_t *rows; /* [n], of the table */
    uint32_t staleness;   /* or STRADS_STALENESS_INFINITE */
    void *out;            /* [n x cols] */
    uint64_t *snapshot;   /* NULL; else the last exact one is read, whatever the
                             staleness, and its clock goes there */
} sti_session_read;

/* Each is called by the session's thread; those of other sessions are called at
 * the same time. What a call waits for is told to sti_session_waited. */
typedef struct sti_session_ops {
    /* How many tables there are, and the spec of one of them. */
    uint32_t (*tables)(const void *behind);
    const strads_table_spec *(*spec)(const void *behind, uint32_t table);
    /* The worker is there, at clock 0 unless session->clock is set to another;
     * so may be `shards` and `piece`. STRADS_EINVAL, STRADS_ESTATE. */
    strads_err (*join)(strads_session *session);
    /* Fresh by the staleness rule, with what is pending; or a snapshot, with
     * nothing pending: STRADS_EINVAL, STRADS_ESTATE. */
    strads_err (*read)(strads_session *session, const sti_session_read *read);
    /* The rows are asked for, as the worker's next clock needs them. Does not
     * wait. NULL: they are here. */
    strads_err (*prefetch)(strads_session *session,
                           const sti_session_read *read);
    /* Counts, from any thread, whatever may change the answer to a read of the
     * table that was answered before: in the same clock of this session, with
     * nothing added by it meanwhile. Valid as long as the session. NULL: each
     * read is asked for. */
    const sti_change_count *(*changes)(const void *behind, uint32_t table);
    /* Pending increments leave; all of them, or it fails and none of a table's
     * do. CLOCK: filters may keep some, and the clocks below `clock`, which are
     * the next ones, end. LEAVE: nobody waits for this worker any more.
     * `more`: a read follows at once; what is sent now may leave with that. */
    strads_err (*push)(strads_session *session, sti_push_end end,
                       uint64_t clock, bool more);
    /* A piece of what is pending leaves now, as soon as there is room for it.
     * Fails where the session can do nothing any more; whatever else keeps it,
     * the next push says. NULL: nothing leaves early. */
    strads_err (*push_early)(strads_session *session, sti_pending *pending);
    /* All others have reached this session's clock, or have left. */
    strads_err (*barrier)(strads_session *session);
    /* A packed vector to another worker; takes over the reference. */
    strads_err (*post)(strads_session *session, uint32_t to,
                       sti_buffer *packed);
    /* Waits until it can be had. */
    strads_err (*collect)(strads_session *session, sti_collect *collect);
    /* The cells of a dense table, which the sessions share. NULL: they share
     * no memory. */
    void *(*cells)(const void *behind, uint32_t table);
    /* ns, as sti_session_waited is told. */
    uint64_t (*now)(const void *behind);
} sti_session_ops;

/* Where a session's spans go; its times count from zero_ns on. */
typedef struct sti_session_track {
    sti_trace *trace; /* NULL: nowhere */
    uint32_t track;
    uint64_t zero_ns;
} sti_session_track;

struct strads_session {
    const sti_session_ops *ops;
    void *behind; /* theirs */
    uint32_t worker, workers;
    uint64_t clock;
    uint64_t others; /* local: the others' clocks are at least that */
    uint64_t group;  /* local: of workers, since the store was opened */
    sti_adaptive adaptive;
    uint32_t adaptive_most; /* the largest staleness_max that was read by */
    strads_times times;
    uint64_t waited_ns; /* for whatever it was */
    sti_session_track track;
    uint64_t clock_ns, computing_ns; /* traced: when these spans began */
    bool (*cut_off)(void *arg);      /* may it not go on? NULL: it may */
    /* Cuts: whether it stops on the way to *clock, and then where; and what it
     * does there, all that it has added having left. NULL: it does not stop. */
    bool (*boundary)(void *arg, uint64_t *clock);
    strads_err (*arrive)(void *arg);
    void *loop;           /* the argument of all three */
    uint32_t shards;      /* that tables are spread over; 1 in one process */
    uint64_t piece;       /* of dense rows that may leave early; 0: none may */
    sti_pending *pending; /* [n_tables x shards] */
    uint32_t n_tables;
    strads_peers *peers; /* NULL: none are open */
    sti_recent_rows recent;
};

/* STRADS_ENOMEM, and what joining says. */
strads_err sti_session_open(const sti_session_ops *ops, void *behind,
                            uint32_t worker, uint32_t workers,
                            strads_session **out);

/* The worker leaves: what closing does, but that its times can still be read.
 */
void sti_session_leave(strads_session *session);

/* Frees it; the worker does not leave by that. NULL is fine. */
void sti_session_free(strads_session *session);

/* From now on its clocks, and what it does in them, are on a trace. */
void sti_session_traced(strads_session *session,
                        const sti_session_track *track);

/* It has waited from begin to end, parked_ns of that for clocks, the rest for
 * the network. */
void sti_session_waited(strads_session *session, uint64_t begin_ns,
                        uint64_t end_ns, uint64_t parked_ns);

/* What is pending for a row: of its table, and its shard. */
static inline sti_pending *sti_session_pending(const strads_session *session,
                                               uint32_t table, uint32_t row)
{
    return &session->pending[(size_t)table * session->shards +
                             sti_row_shard(table, row, session->shards)];
}

#endif
