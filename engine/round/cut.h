/* engine/round/cut.h - a cut: a consistent state of a run, as bytes that another
 * run goes on from.
 *
 *     identity   program, data, options: what must be the same
 *     position   the next dispatch or clock, laps, counts
 *     tables     every table of the store
 *     state      the program's coordinator state, when it can be packed
 *     parts      of each partition: its local state, the blocks parked there
 *
 * What a program cannot pack is made again, as for a run that starts from a
 * model. The layout is that of engine/base/cursor.h: the same on all machines.
 */
#ifndef STI_CUT_H
#define STI_CUT_H

#include "engine/round/job.h"

/* A cut that was read; all of it lies in `bytes`. */
typedef struct sti_cut {
    sti_buffer *bytes;
    const char *identity;
    sti_cut_position at;
    const void *tables; /* a payload of its own */
    uint64_t tables_size;
    const void *state;
    uint64_t state_size; /* 0: begin makes it again */
    sti_buffer *parts; /* records, by partition; NULL: open makes them again */
} sti_cut;

/* What a run does about cuts. Fixed while it lasts. */
typedef struct sti_cuts {
    const char *identity;
    uint64_t every_ns;   /* 0: none but the last one */
    const sti_cut *from; /* NULL: from the start */
    /* Takes over a cut that was made, or is told by NULL and the thread's error
     * text why there is none: the run goes on. */
    void (*take)(void *arg, sti_buffer *bytes);
    void *arg;
} sti_cuts;

/* STRADS_ENOMEM. */
strads_err sti_cut_write(const sti_run *run, const sti_cut_position *at,
                         const sti_buffer *state, const sti_buffer *parts,
                         sti_buffer **out);

/* Keeps a reference of the bytes, which sti_cut_free drops. STRADS_EFORMAT: they
 * are no cut. */
strads_err sti_cut_read(sti_buffer *bytes, sti_cut *out);
void sti_cut_free(sti_cut *cut);

/* The tables' contents into run->store, which has just been made. *start: what
 * table 0 holds as one change for `refresh`. STRADS_EFORMAT: other tables. */
strads_err sti_cut_load(sti_run *run, const sti_cut *cut);
strads_err sti_cut_start(const sti_run *run, const sti_cut *cut,
                         sti_update **start);

/* A job that fills `out` by a program's `pack`. */
strads_err sti_cut_pack(strads_err (*pack)(const void *object,
                                           strads_bytes *out),
                        const void *object, sti_buffer **out);

/* Worker's jobs: a partition's part, and back. `parts`: all partitions'. */
strads_err sti_cut_pack_partition(const sti_run *run,
                                  const sti_worker_job *job);
/* A partition's part to the end of the records (empty: its program has packed
 * nothing), and the records of others. */
strads_err sti_cut_append_partition(const sti_run *run, uint32_t partition,
                                    sti_buffer *records, bool *empty);
strads_err sti_cut_join(sti_buffer *records, const sti_buffer *more);
strads_err sti_cut_open_partition(const sti_run *run, strads_task *task,
                                  const sti_buffer *parts);

/* Whether workers have something that only they can give. Where the
 * coordinator's state is made anew, so is theirs. */
static inline bool sti_cut_asks_workers(const strads_program *program)
{
    return (program->pack_state || !program->begin) &&
           (program->pack || program->payload);
}

/* Whether what is committed is a cut at any time: of rounds alone. */
static inline bool sti_cut_is_committed(const strads_program *program)
{
    return !program->run && !program->pack_state &&
           !sti_cut_asks_workers(program);
}

#endif
