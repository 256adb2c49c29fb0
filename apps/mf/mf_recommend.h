/* What a recommender holds, for its own files. */
#ifndef MF_RECOMMEND_H
#define MF_RECOMMEND_H

#include <strads/recommend.h>

#include "mf_room.h"

struct strads_recommender {
    strads_mf_factors model; /* its arrays are not looked at */
    uint32_t items, stride;
    float *q;         /* [items x stride] factors */
    float *bias;      /* [items] */
    uint32_t *number; /* [items] 0, 1, 2, ... */
    float *score;     /* [items] */
    float *gram;      /* [stride x stride]; implicit feedback only */
    float *p;         /* [stride] */
    mf_room room;
};

/* The highest of score[items] but those in seen, as strads_recommender_top. */
uint32_t mf_top(const float *score, uint32_t items, uint64_t n_seen,
                const uint32_t *seen, uint32_t top, strads_scored *out);

#endif
