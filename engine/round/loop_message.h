/* engine/round/loop_message.h - what the nodes of a data-parallel program tell
 * node 0, and it them, besides what goes through the store. Those to node 0 go
 * to STI_COORDINATOR, those to node k to STI_CLIENT_0 + k. */
#ifndef STI_LOOP_MESSAGE_H
#define STI_LOOP_MESSAGE_H

#include "engine/base/role.h"
#include "strads/program.h"

typedef enum sti_loop_word {
    STI_LOOP_GO = 1,     /* node 0: the tables hold what they start with */
    STI_LOOP_REPORT = 2, /* to node 0: `report`, and `times` so far */
    STI_LOOP_TOLD = 3,   /* node 0: the node's report has been told */
    STI_LOOP_END = 4,    /* node 0: the run is to end */
    STI_LOOP_DONE = 5,   /* to node 0: all loops of the node have left, and
                            their pushes are in; `times`, `counted` */
    STI_LOOP_CLOSE = 6   /* node 0: it has all it needs of the node */
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
    bool counted; /* a loop came to max_rounds */
} sti_loop_note;

/* STRADS_ENOMEM. */
strads_err sti_loop_note_new(const sti_loop_note *note, sti_loop_note **out);

#endif
