/* engine/store/session_exact.h - exact snapshots where a store is in one
 * process: what sessions put aside of its tables, and read. */
#ifndef STI_STORE_SESSION_EXACT_H
#define STI_STORE_SESSION_EXACT_H

#include <pthread.h>

#include "engine/store/exact_image.h"
#include "engine/store/session_inside.h"

typedef struct sti_exact {
    pthread_mutex_t lock; /* guards all below, and commits of sessions to tables
                             that keep snapshots */
    uint64_t group;       /* of workers, whose clocks these are */
    sti_images *images;   /* [n] by number of the table */
    uint32_t n;
} sti_exact;

void sti_exact_init(sti_exact *exact);
void sti_exact_destroy(sti_exact *exact);

/* Commits what a session at its clock has pending for a table that keeps
 * snapshots. STRADS_ENOMEM: all of it is pending still. */
strads_err sti_exact_commit(const strads_session *session, uint32_t table);

/* Rows as of `clock`, which all workers have reached, and this session's clock
 * is before the next snapshot. STRADS_ESTATE: they were not kept. */
strads_err sti_exact_read(const strads_session *session,
                          const sti_session_read *read, uint64_t clock);

#endif
