/* The store's protocol, for spin. docs/consistency.md describes it in words,
 * engine/store/client*.c and shard*.c implement it, with the same names
 * C1..C6, S1..S3.
 *
 * Modelled: WORKERS workers, each a client of its own, and SHARDS shards of
 * one row each. In each of CLOCKS clocks a worker increments every shard's
 * row, reads every shard's row in turn (or, with SKIP, as many as it likes),
 * and ends the clock; after the last clock it reads once more and waits until all
 * pushes are acknowledged. FLUSHES times in a run a worker pushes before its
 * clock ends.
 *
 * The network is a bag: messages arrive in any order; LOSSES of them are
 * lost, DUPLICATES of them arrive twice.
 *
 * Six simplifications keep the states few. Only the third hides behaviour that
 * the budgets allow:
 * - A worker that waits does nothing, so its request takes no time: it
 *   arrives, is lost or is duplicated in the step that sends it.
 * - A timer fires only when no message in flight could make it needless. An
 *   early one would only add a copy, which is a duplicate.
 * - The network is rough between the first ROUGH_WORKERS workers and the first
 *   ROUGH_SHARDS shards. Between the others pushes are delayed but arrive once
 *   and in order, and answers arrive at once. Streams share only the
 *   shard's clock, and workers are alike; but a loss in one stream together
 *   with a duplicate in another is seen only where both are rough. (The rough
 *   shard is the one that is read first.)
 * - A push that is accepted and not yet applied is invisible; it might as well
 *   be in flight. So S1 and S2 are one step.
 * - A read from the cache is invisible to the others. It is part of the step
 *   that made the row fresh or moved the reader's clock.
 * - With ALIKE, two states that differ only by an exchange of workers 1 and 2
 *   (their streams are not rough) are searched once: the same steps are
 *   possible in both.
 *
 * Not modelled: several workers that share a client, clients that die, workers
 * that leave, eviction, snapshots, all sizes except the window's.
 *
 * Guarantees. Each is an assertion of the same name:
 * - P1: a row that is served as of clock a holds all updates of clocks below a, and
 *   a reader at clock c gets a >= c - s.
 * - P2: a served row holds the reader's pushes up to `applied`, and the client
 *   still keeps all pushes above.
 * - P3: no update is twice in a row that is served, and when all have ended
 *   each row is the sum of all increments sent.
 * - P4: neither clock nor as-of nor acknowledged numbers go back.
 * - All workers end: the first process waits for them and has no valid end
 *   state, so spin finds a deadlock; compiled with -DNP also a livelock.
 *
 * Searched in full by tests/check_store_protocol.sh, two clocks each:
 * - 3 workers, 2 shards, s = 0, with a loss and a duplicate in one run; s = 1
 *   with each of them alone (ONE_FAULT: the first step chooses);
 * - s = 1 with both: 3 workers and 1 shard, 2 workers and 2 shards;
 * - 2 workers, 1 shard, both: with a flush, a window of one push, reads left
 *   out, or both workers rough, and the search for cycles.
 * 3 workers, 2 shards, s = 1 and all three in one run are 10.9 M states, 1.7 GB
 * and a minute of a processor, too much for a test. A full search by hand
 * (`spin -a -DSTALENESS=1 -DALIKE`) found no fault.
 * The test also plants bugs, each of which spin must find: LOST_ACK,
 * STALE_READ, DOUBLE_COMMIT, NO_RESEND, and STALE_ROWS, which is C6 without
 * the check of `applied`. */

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef SHARDS
#define SHARDS 2
#endif
#ifndef CLOCKS
#define CLOCKS 2
#endif
#ifndef STALENESS
#define STALENESS 0
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifdef ONE_FAULT
#define LOSSES 0
#define DUPLICATES 0
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef DUPLICATES
#define DUPLICATES 1
#endif
#ifndef FLUSHES
#define FLUSHES 0
#endif
#ifndef ROUGH_WORKERS
#define ROUGH_WORKERS 1
#endif
#ifndef ROUGH_SHARDS
#define ROUGH_SHARDS 1
#endif

#if WORKERS > 3 || SHARDS > 2 || CLOCKS > 3 || CLOCKS + FLUSHES > 4
#error "the model has no macros for that many"
#endif

#define STREAMS (WORKERS * SHARDS)
#define AT(w, h) ((w) * SHARDS + (h))
#define ROUGH(w, h) ((w) < ROUGH_WORKERS && (h) < ROUGH_SHARDS)
#define BIT(n) (1 << (n))

/* A worker's part of a row is a number in base 4: digit k is the number of times
 * that its update of clock k is included. This one has the first k updates once
 * each. */
#define UPDATES(k) (85 & (BIT(2 * (k)) - 1))
#define DOUBLED 170

/* Push n carries the update and the mark of clock n - 1. If worker w
 * flushed, its push number flushed[w] carries an update without a mark, the
 * next one only the mark, and later ones are one behind. */
#define UP_TO(w, n) UPDATES((n) - (flushed[w] && (n) > flushed[w]))
#define MARK(w, n) ((n) - (flushed[w] && (n) >= flushed[w]))

#define NEEDS(c) ((c) > STALENESS -> (c) - STALENESS : 0)

/* Workers and their clients. An id is the reader's clock + 1; 0 is none. */
byte clock[WORKERS];
byte flushed[WORKERS]; /* number of the push that a flush made */
byte sent[WORKERS];    /* last push, the same number to each shard */
byte next[WORKERS];    /* the shard to read from next */
byte waits[WORKERS];   /* for rows of this shard + 1 */
byte acked[STREAMS];
byte cached[STREAMS]; /* as-of + 1 of the row in the cache */
byte ended;

/* In flight. */
byte pushes[STREAMS];  /* a bit for each number */
byte asks[STREAMS];    /* a bit for each id */
byte acks[STREAMS];    /* the last one; it includes those before it */
byte rows_id[STREAMS];
byte rows_as_of[STREAMS];
byte rows_applied[STREAMS];

/* Shards. */
byte applied[STREAMS];
byte mark[STREAMS];    /* the worker's clock */
byte part[STREAMS];    /* the worker's part of the row */
byte parked[STREAMS];  /* id */
byte seen[SHARDS];     /* greatest as-of that left the shard */

/* Remaining faults; with ONE_FAULT, one of the two, once. */
byte losses = LOSSES;
byte duplicates = DUPLICATES;
byte flushes = FLUSHES;

/* Not part of the state: used within a step. */
hidden byte P1_staleness;
hidden byte P2_own;
hidden byte P3_once;
hidden byte P4_never_back;
hidden byte i;
hidden byte j;
hidden byte v;
hidden byte least;

/* ---- workers that are alike ------------------------------------------ */

#if defined(ALIKE) && WORKERS == 3 && ROUGH_WORKERS == 1
#define ORDER c_code { order(); }
c_decl { static void order(void); }
c_code {
static uchar *const of_worker[] = {
    now.clock, now.flushed, now.sent, now.next, now.waits
};
static uchar *const of_stream[] = {
    now.acked, now.cached, now.pushes, now.asks, now.acks,
    now.rows_id, now.rows_as_of, now.rows_applied,
    now.applied, now.mark, now.part, now.parked
};
enum {
    OF_WORKER = sizeof of_worker / sizeof *of_worker,
    OF_STREAM = sizeof of_stream / sizeof *of_stream,
    PER_WORKER = sizeof now.acked / 3 /* streams */
};

static int compare(void)
{
    int d = 0;
    for (int k = 0; !d && k < OF_STREAM; k++)
        d = memcmp(of_stream[k] + PER_WORKER, of_stream[k] + 2 * PER_WORKER,
                   PER_WORKER);
    for (int k = 0; !d && k < OF_WORKER; k++)
        d = of_worker[k][1] - of_worker[k][2];
    return d;
}

static void exchange(uchar *a, uchar *b)
{
    uchar c = *a;
    *a = *b;
    *b = c;
}

/* After each step: all of their state, and the shards' state of them. */
static void order(void)
{
    if (compare() <= 0)
        return;
    for (int k = 0; k < OF_WORKER; k++)
        exchange(of_worker[k] + 1, of_worker[k] + 2);
    for (int k = 0; k < OF_STREAM; k++)
        for (int h = 0; h < PER_WORKER; h++)
            exchange(of_stream[k] + PER_WORKER + h,
                     of_stream[k] + 2 * PER_WORKER + h);
}
}
#else
#define ORDER skip
#endif

/* ---- client ---------------------------------------------------------- */

#define RUNS(w) (clock[w] < CLOCKS)
#define FRESH(w, h) (cached[AT(w, h)] > NEEDS(clock[w]))
#if SHARDS > 1
#define SETTLED(w, n) (acked[AT(w, 0)] >= (n) && acked[AT(w, 1)] >= (n))
#else
#define SETTLED(w, n) (acked[AT(w, 0)] >= (n))
#endif
#define ROOM(w) SETTLED(w, sent[w] + 1 - WINDOW)

/* C2: to every shard. It includes C1: the next clock's update is made when the
 * last clock ends, and a worker sees its own pending updates. */
inline push(w)
{
    sent[w]++;
    for (v : 0 .. SHARDS - 1) {
        pushes[AT(w, v)] = pushes[AT(w, v)] | BIT(sent[w]);
#ifdef LOST_ACK
        acked[AT(w, v)] = sent[w]
#endif
    }
    skip
}

/* C3 */
inline settle(w, h, n)
{
    acked[AT(w, h)] = (n > acked[AT(w, h)] -> n : acked[AT(w, h)])
}

/* C4: all unacknowledged pushes. */
inline resend(w, h)
{
    j = acked[AT(w, h)] + 1;
    do
    :: j <= sent[w] ->
        pushes[AT(w, h)] = pushes[AT(w, h)] | BIT(j);
        j++
    :: else -> break
    od;
    skip
}

/* C5, from the cache: invisible, so it is part of the step before. */
inline read_fresh(w)
{
    do
    :: next[w] < SHARDS && FRESH(w, next[w]) -> next[w]++
    :: else -> break
    od;
    skip
}

/* C6: rows that a worker waits for and that hold every push that the client
 * has dropped. They complete the waiting read. */
#ifdef STALE_ROWS
#define KNOWS_OURS(w, h) true
#else
#define KNOWS_OURS(w, h) (rows_applied[AT(w, h)] >= acked[AT(w, h)])
#endif
inline cache(w, h)
{
    if
    :: waits[w] == h + 1 && rows_id[AT(w, h)] == clock[w] + 1 &&
        KNOWS_OURS(w, h) ->
        P2_own = rows_applied[AT(w, h)] >= acked[AT(w, h)];
        assert(P2_own);
        P4_never_back = rows_as_of[AT(w, h)] + 1 >= cached[AT(w, h)];
        assert(P4_never_back);
        cached[AT(w, h)] = rows_as_of[AT(w, h)] + 1;
        P1_staleness = FRESH(w, h);
        assert(P1_staleness);
        waits[w] = 0;
        next[w]++;
        read_fresh(w)
    :: else
    fi
}
inline discard_rows(w, h)
{
    rows_id[AT(w, h)] = 0;
    rows_as_of[AT(w, h)] = 0;
    rows_applied[AT(w, h)] = 0
}

/* ---- shard ----------------------------------------------------------- */

inline find_clock(h)
{
    least = 255;
    for (j : 0 .. WORKERS - 1) {
        least = (mark[AT(j, h)] < least -> mark[AT(j, h)] : least)
    }
}

/* S3: the answer, as of the shard's clock, which is in `least`. */
inline serve(w, h, id)
{
    P1_staleness = 1;
    P3_once = 1;
    for (j : 0 .. WORKERS - 1) {
        P1_staleness = P1_staleness &&
            (part[AT(j, h)] & UPDATES(least)) == UPDATES(least);
        P3_once = P3_once && !(part[AT(j, h)] & DOUBLED)
    }
    P2_own = (part[AT(w, h)] == UP_TO(w, applied[AT(w, h)]));
    P4_never_back = least >= seen[h];
    assert(P3_once);
    assert(P1_staleness);
    assert(P2_own);
    assert(P4_never_back);
    seen[h] = least;
    rows_id[AT(w, h)] = id;
    rows_as_of[AT(w, h)] = least;
    rows_applied[AT(w, h)] = applied[AT(w, h)];
    if
    :: ROUGH(w, h)
    :: else ->
        cache(w, h);
        discard_rows(w, h)
    fi
}

#ifdef STALE_READ
#define MAY_SERVE(id) true
#else
#define MAY_SERVE(id) (NEEDS((id) - 1) <= least)
#endif

/* S3: at once, or parked; a copy of an earlier request replaces none. */
inline take_ask(w, h, id)
{
    find_clock(h);
    if
    :: MAY_SERVE(id) -> serve(w, h, id)
    :: else ->
        parked[AT(w, h)] = (id > parked[AT(w, h)] -> id : parked[AT(w, h)])
    fi
}

inline acknowledge(w, h)
{
    if
    :: ROUGH(w, h) -> acks[AT(w, h)] = applied[AT(w, h)]
    :: else -> settle(w, h, applied[AT(w, h)])
    fi
}
inline add(w, h, n)
{
    part[AT(w, h)] = part[AT(w, h)] + UP_TO(w, n) - UP_TO(w, n - 1)
}

/* S2, and S3 for the parked workers that the new mark lets read. */
inline apply(w, h)
{
    applied[AT(w, h)]++;
    add(w, h, applied[AT(w, h)]);
    mark[AT(w, h)] = MARK(w, applied[AT(w, h)]);
    acknowledge(w, h);
    find_clock(h);
    for (v : 0 .. WORKERS - 1) {
        if
        :: parked[AT(v, h)] && NEEDS(parked[AT(v, h)] - 1) <= least ->
            serve(v, h, parked[AT(v, h)]);
            parked[AT(v, h)] = 0
        :: else
        fi
    }
    skip
}

/* S1 */
inline accept(w, h, n)
{
    if
    :: n == applied[AT(w, h)] + 1 ->
        apply(w, h)
    :: n <= applied[AT(w, h)] ->
#ifdef DOUBLE_COMMIT
        add(w, h, n);
#endif
        acknowledge(w, h)
    :: else
    fi
}

/* ---- processes -------------------------------------------------------- */

/* C5: from the cache, or a request, which may be lost or duplicated; repeated if
 * the request or its answer was lost, or if the answer could not be used. */
#define MUST_ASK(w, h) (!waits[w] && next[w] == h && !FRESH(w, h))
#define READ(w, h) \
    :: d_step { MUST_ASK(w, h) -> \
        waits[w] = h + 1; take_ask(w, h, clock[w] + 1); ORDER } \
    :: d_step { ROUGH(w, h) && losses && MUST_ASK(w, h) -> \
        losses--; waits[w] = h + 1; ORDER } \
    :: d_step { ROUGH(w, h) && duplicates && MUST_ASK(w, h) -> \
        duplicates--; waits[w] = h + 1; \
        asks[AT(w, h)] = asks[AT(w, h)] | BIT(clock[w] + 1); \
        take_ask(w, h, clock[w] + 1); ORDER } \
    :: d_step { waits[w] == h + 1 && !parked[AT(w, h)] && \
        rows_id[AT(w, h)] != clock[w] + 1 && \
        !(asks[AT(w, h)] & BIT(clock[w] + 1)) -> \
        take_ask(w, h, clock[w] + 1); ORDER }

/* C1, C2 and C5: the worker. */
proctype Worker(byte w)
{
end:
    do
    :: d_step { RUNS(w) && next[w] == SHARDS && ROOM(w) ->
        push(w);
        clock[w]++;
        next[w] = 0;
        read_fresh(w); ORDER }
#if FLUSHES > 0
    :: d_step { flushes && RUNS(w) && !flushed[w] && !waits[w] && ROOM(w) ->
        flushes--;
        flushed[w] = clock[w] + 1;
        push(w); ORDER }
#endif
    :: d_step { !RUNS(w) && next[w] == SHARDS && SETTLED(w, sent[w]) ->
        next[w]++;
        ended++; ORDER }
#ifdef SKIP
    :: d_step { !waits[w] && next[w] < SHARDS ->
        next[w]++;
        read_fresh(w); ORDER }
#endif
    READ(w, 0)
#if SHARDS > 1
    READ(w, 1)
#endif
    od
}

#ifdef NO_RESEND
#define RESEND_TIME false
#else
#define RESEND_TIME true
#endif

/* C3, C4 and C6: its client, for a rough stream. */
proctype Answers(byte w; byte h)
{
    byte s = AT(w, h);
end:
    do
    :: d_step { acks[s] -> settle(w, h, acks[s]); acks[s] = 0 }
    :: d_step { losses && acks[s] -> losses--; acks[s] = 0 }
    :: d_step { duplicates && acks[s] ->
        duplicates--;
        settle(w, h, acks[s]) }
    :: d_step { rows_id[s] -> cache(w, h); discard_rows(w, h) }
    :: d_step { losses && rows_id[s] -> losses--; discard_rows(w, h) }
    :: d_step { duplicates && rows_id[s] -> duplicates--; cache(w, h) }
    :: d_step { RESEND_TIME && acked[s] < sent[w] && !acks[s] &&
        !(pushes[s] >> (acked[s] + 1)) ->
        resend(w, h) }
    od
}

#define ARRIVES(w, h, n) (pushes[AT(w, h)] & BIT(n))
#define PUSH(w, h, n) \
    :: d_step { ROUGH(w, h) && ARRIVES(w, h, n) -> \
        pushes[AT(w, h)] = pushes[AT(w, h)] - BIT(n); \
        accept(w, h, n); ORDER } \
    :: d_step { ROUGH(w, h) && losses && ARRIVES(w, h, n) -> \
        losses--; \
        pushes[AT(w, h)] = pushes[AT(w, h)] - BIT(n); ORDER } \
    :: d_step { ROUGH(w, h) && duplicates && ARRIVES(w, h, n) -> \
        duplicates--; \
        accept(w, h, n); ORDER }
#define PUSH_IN_ORDER(w, h) \
    :: d_step { !ROUGH(w, h) && ARRIVES(w, h, applied[AT(w, h)] + 1) -> \
        i = applied[AT(w, h)] + 1; \
        pushes[AT(w, h)] = pushes[AT(w, h)] - BIT(i); \
        accept(w, h, i); ORDER }
#define ASK(w, h, id) \
    :: d_step { asks[AT(w, h)] & BIT(id) -> \
        asks[AT(w, h)] = asks[AT(w, h)] - BIT(id); \
        take_ask(w, h, id); ORDER }

#if CLOCKS + FLUSHES > 3
#define PUSHES(w, h) \
    PUSH(w, h, 1) PUSH(w, h, 2) PUSH(w, h, 3) PUSH(w, h, 4)
#elif CLOCKS + FLUSHES > 2
#define PUSHES(w, h) PUSH(w, h, 1) PUSH(w, h, 2) PUSH(w, h, 3)
#else
#define PUSHES(w, h) PUSH(w, h, 1) PUSH(w, h, 2)
#endif
#if CLOCKS > 2
#define ASKS(w, h) ASK(w, h, 1) ASK(w, h, 2) ASK(w, h, 3) ASK(w, h, 4)
#else
#define ASKS(w, h) ASK(w, h, 1) ASK(w, h, 2) ASK(w, h, 3)
#endif

/* S1 to S3. */
proctype Shard(byte h)
{
end:
    do
    PUSH_IN_ORDER(0, h)
    PUSHES(0, h)
    ASKS(0, h)
#if WORKERS > 1
    PUSH_IN_ORDER(1, h)
#endif
#if WORKERS > 2
    PUSH_IN_ORDER(2, h)
#endif
#if ROUGH_WORKERS > 1
    PUSHES(1, h)
    ASKS(1, h)
#endif
#if ROUGH_WORKERS > 2
    PUSHES(2, h)
    ASKS(2, h)
#endif
    od
}

/* Starts all processes, waits for their ends, and checks the sums. */
init
{
    atomic {
#ifdef ONE_FAULT
        if
        :: losses = 1
        :: duplicates = 1
        fi;
#endif
        for (i : 0 .. WORKERS - 1) {
            run Worker(i);
            for (j : 0 .. SHARDS - 1) {
                if
                :: ROUGH(i, j) -> run Answers(i, j)
                :: else
                fi
            }
        }
        for (i : 0 .. SHARDS - 1) {
            run Shard(i)
        }
    }
    d_step { ended == WORKERS ->
        P3_once = 1;
        for (j : 0 .. STREAMS - 1) {
            P3_once = P3_once && part[j] == UPDATES(CLOCKS)
        }
        assert(P3_once)
    }
}
