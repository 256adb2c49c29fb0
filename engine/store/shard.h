/* engine/store/shard.h - the role that keeps rows: it takes in pushes of each
 * client in the order of their numbers, each once, says how far it is, and
 * answers who asks for rows (S1 to S6 of the store's protocol).
 *
 * Clients are streams (push_stream.h): the coordinator of a run, or one
 * store_client.h on each node of a data-parallel program. */
#ifndef STI_SHARD_H
#define STI_SHARD_H

#include "engine/store/shard_job.h"

typedef struct sti_shard sti_shard;

typedef struct sti_shard_setup {
    sti_kept *kept;           /* what it keeps (kept_rows.h), with its number,
                                 sizes and, after a restart, its state */
    sti_address first_client; /* its clients: as many as `kept` has streams */
    sti_journal *journal;     /* S2; recovered (S5: sti_kept_recover); NULL:
                                 nothing is persisted */
    uint64_t piece_bytes;     /* of an answer, about; 0: 256 KB */
    /* Rows that lie one behind the other are lent to their answer (see
     * store_message.h) from so many bytes on: who carries out SEND encodes or
     * owns it before he does anything else. 0: none are. */
    uint64_t lend_bytes;
    uint64_t retell_ns; /* S6; 0: 0.5 s */
} sti_shard_setup;

/* STRADS_ENOMEM. `kept` and `journal` outlive the role; its jobs alone touch
 * them from now on. */
strads_err sti_shard_new(const sti_shard_setup *setup, sti_shard **out);

void sti_shard_free(sti_shard *shard);

/* Takes n events in order, appends effects: MESSAGE (PUSH, ASK_ROWS, ATTACH,
 * SETTLED), DONE, and START after a restart (S5): each client is told where it
 * stands, and again, by TIMER, until it has said what it was told before (S6).
 * It sends ACK, ROWS, ATTACHED, and FAIL to the coordinator when a job has
 * failed, a client broke a rule, or a client was told of more than there is;
 * then it goes no further. COMPUTE: one job at a time, whatever thread carries
 * it out. It ends when the run does: there is no END of its own. */
void sti_shard_step(sti_shard *shard, const sti_event *events, size_t n,
                    sti_effects *out);

/* The least clock of all workers that have not left, as what is durable says;
 * STI_CLOCK_GONE when all have. */
uint64_t sti_shard_clock(const sti_shard *shard);

#endif
