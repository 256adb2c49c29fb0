/* engine/round/loop_message.h - messages between node 0 and the other nodes of
 * a data-parallel program, beside the store's. Messages to node 0 go to
 * STI_COORDINATOR, messages to node k to STI_CLIENT_0 + k. */
#ifndef STI_LOOP_MESSAGE_H
#define STI_LOOP_MESSAGE_H

#include "engine/base/object.h"
#include "engine/base/role.h"
#include "strads/program.h"

typedef enum sti_loop_word {
    /* node 0: the tables hold their start values; `clock`: where loops begin;
     * `last`, `checkpoints`, and `parts` of the checkpoint that they resume
     * from */
    STI_LOOP_GO = 1,
    STI_LOOP_REPORT = 2, /* to node 0: `report`, and `times` so far */
    STI_LOOP_TOLD = 3,   /* node 0: the node's report has been handled */
    STI_LOOP_END = 4,    /* node 0: end the run */
    /* to node 0: all loops of the node have left and their pushes are applied;
     * `times`, `counted` */
    STI_LOOP_DONE = 5,
    STI_LOOP_CLOSE = 6, /* node 0: it needs nothing more from the node */
    /* A checkpoint, see engine/run/loop_checkpoint.c; nodes without loops do
     * not take part. */
    /* node 0: wait at a clock that no loop has reached */
    STI_LOOP_CHECKPOINT_ASK = 7,
    /* to node 0: that clock is `clock`; 0: it cannot wait */
    STI_LOOP_CHECKPOINT_AT = 8,
    STI_LOOP_CHECKPOINT_SET = 9, /* node 0: the checkpoint is at `clock` */
    /* to node 0: all loops have reached it and their pushes are applied;
     * `parts`; `checkpoints`: every loop has packed its state. Clock 0: a loop
     * has left */
    STI_LOOP_CHECKPOINT_PART = 10,
    /* node 0: continue; `checkpoints`: more checkpoints may follow */
    STI_LOOP_CHECKPOINT_GO = 11
} sti_loop_word;

/* Seconds, summed over a node's workers. */
typedef struct sti_loop_times {
    double computing, waiting, network;
} sti_loop_times;

typedef struct sti_loop_note {
    sti_object head;
    sti_loop_word word;
    strads_report report;
    sti_loop_times times;
    bool counted; /* a loop reached max_rounds */
    bool checkpoints;
    uint64_t clock, last;
    sti_buffer *parts; /* records, by partition; NULL: none */
} sti_loop_note;

/* Copies a note; keeps a reference to the parts. STRADS_ENOMEM. */
strads_err sti_loop_note_new(const sti_loop_note *note, sti_loop_note **out);

#endif
