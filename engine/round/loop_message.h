/* engine/round/loop_message.h - what the nodes of a data-parallel program tell
 * node 0, and it them, besides what goes through the store. Those to node 0 go
 * to STI_COORDINATOR, those to node k to STI_CLIENT_0 + k. */
#ifndef STI_LOOP_MESSAGE_H
#define STI_LOOP_MESSAGE_H

#include "engine/base/object.h"
#include "engine/base/role.h"
#include "strads/program.h"

typedef enum sti_loop_word {
    STI_LOOP_GO = 1,     /* node 0: the tables hold what they start with; clock:
                            where loops begin, `last`, `cuts`, and `parts` of
                            the cut that they go on from */
    STI_LOOP_REPORT = 2, /* to node 0: `report`, and `times` so far */
    STI_LOOP_TOLD = 3,   /* node 0: the node's report has been told */
    STI_LOOP_END = 4,    /* node 0: the run is to end */
    STI_LOOP_DONE = 5,   /* to node 0: all loops of the node have left, and
                            their pushes are in; `times`, `counted` */
    STI_LOOP_CLOSE = 6,  /* node 0: it has all it needs of the node */
    /* A cut, see engine/run/loop_cut.c; nodes without loops have no part in it. */
    STI_LOOP_CUT_ASK = 7, /* node 0: wait at a clock that no loop has reached */
    STI_LOOP_CUT_AT = 8,  /* to node 0: that is `clock`; 0: it cannot wait */
    STI_LOOP_CUT_SET = 9, /* node 0: the cut is of `clock` */
    STI_LOOP_CUT_PART = 10, /* to node 0: all loops are at it, their pushes are
                               in; `parts`; `cuts`: none has packed nothing. A
                               clock of 0: a loop has left */
    STI_LOOP_CUT_GO = 11    /* node 0: go on; `cuts`: others may follow */
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
    bool cuts;
    uint64_t clock, last;
    sti_buffer *parts; /* records, by partition; NULL: none */
} sti_loop_note;

/* Keeps a reference of the parts. STRADS_ENOMEM. */
strads_err sti_loop_note_new(const sti_loop_note *note, sti_loop_note **out);

#endif
