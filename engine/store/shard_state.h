/* engine/store/shard_state.h - the state of a shard. */
#ifndef STI_STORE_SHARD_STATE_H
#define STI_STORE_SHARD_STATE_H

#include "engine/store/message.h"
#include "engine/store/shard.h"

typedef struct sti_shard_table {
    strads_table_spec spec; /* of the whole table; the store owns the name */
    sti_table *rows;        /* the shard's rows; the store owns them */
    sti_images images;      /* of exact clocks */
} sti_shard_table;

/* A client's stream: applied <= accepted, and every push between the two waits,
 * in the order of acceptance. */
typedef struct sti_shard_client {
    uint64_t accepted, applied; /* the last number of each kind */
    bool moved;                 /* applied has grown in the last work */
} sti_shard_client;

/* A worker: its clock and its request. Ids only grow. */
typedef struct sti_shard_worker {
    uint64_t clock;
    uint64_t last_id;
    uint32_t client;
    uint64_t since;   /* when the request arrived */
    bool early;       /* it arrived before its clock was reached */
    sti_row_ask *ask; /* parked or being answered; NULL: none */
    uint32_t done;    /* number of its rows that have been answered */
    bool again; /* it arrived again meanwhile; answer it again from the start */
} sti_shard_worker;

/* A push that was accepted. */
typedef struct sti_taken_push {
    uint32_t client;
    uint64_t number;
    sti_buffer *push;
} sti_taken_push;

struct sti_shard {
    sti_shard_setup setup;   /* with defaults filled in */
    strads_store *store;     /* its rows of each table, by place (message.h) */
    sti_shard_table *tables; /* [n_tables] */
    sti_shard_client *clients; /* [clients] */
    sti_shard_worker *workers; /* [workers] */
    uint64_t clock; /* the least of theirs; STI_CLOCK_GONE: all have left */
    sti_taken_push *waiting; /* [n_waiting], in the order of acceptance */
    uint32_t n_waiting, room_waiting;
    void *scratch;
    size_t scratch_bytes;
    bool failed;
    uint64_t now; /* of the last event */
};

#endif
