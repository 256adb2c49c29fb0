/* tests/swarm/store_checker_state.h - state that the files of the checker
 * share. store_checker.c opens it and follows clocks, store_checker_push.c
 * increments and pushes, store_checker_see.c reads and the final state. */
#ifndef TESTS_STORE_CHECKER_STATE_H
#define TESTS_STORE_CHECKER_STATE_H

#include "tests/swarm/store_checker.h"

typedef struct checker_life {
    uint64_t clock;
    bool left;
} checker_life;

/* Increments of one worker in one clock to one row: how many were made; pushed
 * by calls that have returned; sent; sent in that clock. The others are sent
 * together later. */
typedef struct checker_cell {
    uint8_t made, pushed, sent, on_time;
    uint8_t late; /* 1 + the clock in which the others were sent; 0: not yet */
} checker_cell;

/* The numbers that a shard reported to a client, and the last push sent to
 * it. */
typedef struct checker_tale {
    uint64_t acknowledged, as_of, applied;
    uint64_t sent;
} checker_tale;

/* A push's view of one row: its largest change, and its size in bytes. */
typedef struct checker_found {
    double largest;
    uint64_t bytes;
    bool stays;
} checker_found;

struct checker {
    checker_setup setup;
    uint32_t workers;
    checker_life *worker; /* [workers] */
    checker_cell **cells; /* [tables][rows x workers x clocks] */
    /* [tables][cells x CHECKER_INCS] the push of each increment, by its number
     * in the stream */
    uint16_t **sent;
    checker_tale *told;   /* [shards x clients] */
    uint64_t **as_of;     /* [tables][clients x rows] the highest as-of seen */
    uint64_t held;        /* rows held back by pushes */
    checker_found *found; /* workspace, [rows of the largest table] */
    char breach[512];
};

/* Records the first breach. */
void checker_break(checker *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Number `at` of an array of the type. */
double checker_value(strads_scalar type, const void *values, size_t at);

/* A push was sent, perhaps again. */
void checker_saw_push(checker *c, const sti_msg *msg);

static inline uint32_t checker_col(const checker *c, uint32_t worker,
                                   uint64_t clock)
{
    return worker * c->setup.clocks + (uint32_t)clock;
}

/* The cells of a row, by column. */
static inline checker_cell *checker_row(const checker *c, uint32_t table,
                                        uint32_t row)
{
    return &c->cells[table][(size_t)row * c->workers * c->setup.clocks];
}

/* The pushes of its cells' increments, [CHECKER_INCS]. */
static inline uint16_t *checker_sent(const checker *c, uint32_t table,
                                     const checker_cell *at)
{
    return &c->sent[table][(size_t)(at - c->cells[table]) * CHECKER_INCS];
}

static inline checker_tale *checker_tale_of(const checker *c, uint32_t shard,
                                            uint32_t client)
{
    return &c->told[shard * c->setup.clients + client];
}

#endif
