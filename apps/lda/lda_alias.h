/* lda_alias.h - tables that draw topics in O(1) (Walker 1977; Vose 1991). */
#ifndef LDA_ALIAS_H
#define LDA_ALIAS_H

#include "lda_kernels.h"

/* Draws topic[i] with probability weight_i / sum. */
typedef struct lda_alias {
    uint32_t n;
    double sum;
    double *weight;  /* [n] as given, then of the first of two topics, 0 .. 1 */
    uint32_t *topic; /* [n] the first */
    uint32_t *other; /* [n] the second one's place */
    uint32_t *heap;  /* [n] places that are yet to be shared out */
} lda_alias;

/* Room for so many; false: no memory. Start with {0}; free either way. */
bool lda_alias_make(lda_alias *t, uint32_t most);
void lda_alias_free(lda_alias *t);

/* A table is cleared, filled with weights above 0, and built. */
void lda_alias_clear(lda_alias *t);
void lda_alias_add(lda_alias *t, uint32_t topic, double weight);
void lda_alias_build(lda_alias *t);
/* Of a table that is not empty, by the site's stream. */
uint32_t lda_alias_draw(const lda_alias *t, lda_site *s);

/* Uniform in [0, 1), 53 bits, by the site's stream. */
static inline double lda_alias_uniform(lda_site *s)
{
    const double high = (double)lda_uniform(s);

    return high + (double)lda_uniform(s) / 16777216.0;
}

#endif
