/* engine/round/checkpoint.h - checkpoints: a consistent state of a run, as
 * bytes from which another run resumes.
 *
 *     identity   program, data, options: these must match
 *     position   the next dispatch or clock, sweeps, counts
 *     tables     every table of the store
 *     state      the program's coordinator state, if it can be packed
 *     parts      of each partition: its local state, the blocks parked there
 *
 * State that a program cannot pack is made again, as in a run that starts from
 * a model. The layout is that of engine/base/cursor.h: the same on all
 * machines. */
#ifndef STI_CHECKPOINT_H
#define STI_CHECKPOINT_H

#include "engine/round/job.h"

/* A checkpoint that was read; its pointers refer to `bytes`. */
typedef struct sti_checkpoint {
    sti_buffer *bytes;
    const char *identity;
    sti_checkpoint_position at;
    const void *tables; /* a payload of its own */
    uint64_t tables_size;
    const void *state;
    uint64_t state_size; /* 0: begin makes it again */
    sti_buffer *parts; /* records, by partition; NULL: open makes them again */
} sti_checkpoint;

/* A run's checkpoint settings. Constant during the run. */
typedef struct sti_checkpoints {
    const char *identity;
    uint64_t every_ns;          /* 0: only the last one */
    const sti_checkpoint *from; /* NULL: from the start */
    /* Takes over a checkpoint. NULL: it failed with the thread's error text,
     * and the run continues. */
    void (*take)(void *arg, sti_buffer *bytes);
    void *arg;
} sti_checkpoints;

/* STRADS_ENOMEM. */
strads_err sti_checkpoint_write(const sti_run *run,
                                const sti_checkpoint_position *at,
                                const sti_buffer *state,
                                const sti_buffer *parts, sti_buffer **out);

/* Reads a checkpoint and keeps a reference to the bytes until
 * sti_checkpoint_free. STRADS_EFORMAT: they are not a checkpoint. */
strads_err sti_checkpoint_read(sti_buffer *bytes, sti_checkpoint *out);
void sti_checkpoint_free(sti_checkpoint *checkpoint);

/* Reads the tables' contents into run->store, which has just been made.
 * STRADS_EFORMAT: other tables. */
strads_err sti_checkpoint_load(sti_run *run, const sti_checkpoint *checkpoint);
/* Of a program whose state is made again: clears the shared totals. They belong
 * to a step that the checkpoint's run had begun, and the state that would
 * finish that step is gone. */
void sti_checkpoint_drop_step(sti_run *run);

/* *start: the values of table 0 as one change for `refresh`. STRADS_ENOMEM. */
strads_err sti_checkpoint_start(const sti_run *run,
                                const sti_checkpoint *checkpoint,
                                sti_update **start);

/* Fills `out` by a program's `pack`. */
strads_err sti_checkpoint_pack(strads_err (*pack)(const void *object,
                                                  strads_bytes *out),
                               const void *object, sti_buffer **out);

/* Worker's jobs: pack a partition's part, and restore it. `parts` holds all
 * partitions' parts. */
strads_err sti_checkpoint_pack_partition(const sti_run *run,
                                         const sti_worker_job *job);
/* Appends a partition's part to the records (empty: its program packed no
 * bytes), or other records. */
strads_err sti_checkpoint_append_partition(const sti_run *run,
                                           uint32_t partition,
                                           sti_buffer *records, bool *empty);
strads_err sti_checkpoint_join(sti_buffer *records, const sti_buffer *more);
strads_err sti_checkpoint_open_partition(const sti_run *run, strads_task *task,
                                         const sti_buffer *parts);

/* Whether workers must pack a part. If the coordinator's state is made again,
 * the partitions' state is, too. */
static inline bool sti_checkpoint_asks_workers(const strads_program *program)
{
    return (program->pack_state || !program->begin) &&
           (program->pack || program->payload);
}

/* Whether the committed state is a checkpoint at any time; only for programs in
 * rounds. */
static inline bool sti_checkpoint_is_committed(const strads_program *program)
{
    return !program->run && !program->pack_state &&
           !sti_checkpoint_asks_workers(program);
}

#endif
