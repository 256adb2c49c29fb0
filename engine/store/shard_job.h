/* engine/store/shard_job.h - what a shard asks for: pushes into the journal and
 * the tables, rows for those who asked. */
#ifndef STI_SHARD_JOB_H
#define STI_SHARD_JOB_H

#include "engine/base/role.h"
#include "engine/store/kept_rows.h"
#include "engine/store/store_message.h"

/* A push that was accepted. */
typedef struct sti_taken_push {
    uint32_t stream;
    uint64_t number;
    sti_buffer *push;
} sti_taken_push;

typedef struct sti_apply_job {
    sti_job job;
    sti_kept *kept;
    sti_journal *journal; /* or NULL */
    uint32_t n;
    const sti_taken_push *pushes; /* [n], in the order they were accepted */
    uint32_t durable; /* in and out: so many of them are in the journal */
    uint32_t done;    /* out: and so many in the tables; fewer than n when a
                         snapshot's clock came, so that it is served before
                         the next one's comes */
} sti_apply_job;

/* An ask whose clock has come, and an answer to a stream. */
typedef struct sti_ready_ask {
    uint32_t stream;
    uint32_t done; /* in and out: so many of its rows have been answered */
    uint64_t parked_ns;
    sti_row_ask *ask;
} sti_ready_ask;

typedef struct sti_ready_answer {
    uint32_t stream;
    sti_row_answer *answer;
} sti_ready_answer;

typedef struct sti_serve_job {
    sti_job job;
    sti_kept *kept;
    bool tell;            /* the clock has moved: eager tables */
    uint64_t piece_bytes; /* of rows, about: each ask gets one piece a job */
    uint64_t lend_bytes;  /* rows are lent from so many bytes on; 0: never */
    uint32_t n;
    sti_ready_ask *asks;       /* [n] */
    sti_ready_answer *answers; /* out: [n_answers], also after a failure */
    uint32_t n_answers, room;
} sti_serve_job;

/* On the calling thread; the shard touches the job no more until DONE. */
strads_err sti_job_apply(sti_apply_job *job);
strads_err sti_job_serve(sti_serve_job *job);

#endif
