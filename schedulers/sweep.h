/* What the uniform and the cyclic policy share: all parameters cut into blocks
 * once, and a count of what was dispatched since the last rest. */
#ifndef STI_SWEEP_H
#define STI_SWEEP_H

#include "schedulers/builtin.h"

typedef struct sti_sweep {
    strads_policy_setup setup;
    double total;      /* weight */
    uint32_t *order;   /* [J], or NULL: 0, 1, 2, ... */
    uint32_t *start;   /* [blocks + 1] where in the order each one begins */
    uint32_t blocks;   /* 0: not cut yet */
    uint64_t first_id; /* of block 0 */
    double work;       /* that the cut was made for */
    uint64_t sent;     /* parameters dispatched since the last rest */
    strads_block *out; /* [out_size] what was chosen */
    uint32_t out_size;
} sti_sweep;

/* `shuffle`: blocks of random parameters, by the setup's seed. */
strads_err sti_sweep_open(const strads_policy_setup *setup, bool shuffle,
                          sti_sweep **out);
void sti_sweep_close(sti_sweep *sweep);

/* Gets ready to choose: cuts where needed, makes room in `out`. When a block
 * may be chosen, choice->kind is STRADS_CHOOSE_BLOCKS with n = 0; otherwise the
 * answer is complete. */
strads_err sti_sweep_begin(sti_sweep *sweep,
                           const strads_choice_request *request,
                           strads_choice *choice);

/* Adds block b to the choice, unless it is in it already or in flight. */
bool sti_sweep_add(sti_sweep *sweep, const strads_choice_request *request,
                   uint32_t b, strads_choice *choice);

/* Completes the answer. */
void sti_sweep_end(sti_sweep *sweep, strads_choice *choice);

#endif
