/* See lda_alias.h. Each of n places has 1 / n of the sum: some of it is its own
 * topic's and the rest another one's. */
#include "lda_alias.h"

#include <stdlib.h>

bool lda_alias_make(lda_alias *t, uint32_t most)
{
    t->weight = malloc((most + 1) * sizeof *t->weight);
    t->topic = malloc((most + 1) * sizeof *t->topic);
    t->other = malloc((most + 1) * sizeof *t->other);
    t->heap = malloc((most + 1) * sizeof *t->heap);
    return t->weight && t->topic && t->other && t->heap;
}

void lda_alias_free(lda_alias *t)
{
    free(t->weight);
    free(t->topic);
    free(t->other);
    free(t->heap);
}

void lda_alias_clear(lda_alias *t)
{
    t->n = 0;
    t->sum = 0;
}

void lda_alias_add(lda_alias *t, uint32_t topic, double weight)
{
    t->weight[t->n] = weight;
    t->topic[t->n++] = topic;
    t->sum += weight;
}

/* Places with less than the mean are filled up from those with more. */
void lda_alias_build(lda_alias *t)
{
    uint32_t few = 0, many = t->n; /* stacks from both ends of the heap */

    for (uint32_t i = 0; i < t->n; i++) {
        t->weight[i] *= t->n / t->sum;
        t->other[i] = i;
        t->heap[t->weight[i] < 1 ? few++ : --many] = i;
    }
    while (few > 0 && many < t->n) {
        const uint32_t small = t->heap[--few], large = t->heap[many];
        t->other[small] = large;
        t->weight[large] -= 1 - t->weight[small];
        if (t->weight[large] < 1) {
            many++;
            t->heap[few++] = large;
        }
    }
    while (few > 0)
        t->weight[t->heap[--few]] = 1; /* but for rounding */
    while (many < t->n)
        t->weight[t->heap[many++]] = 1;
}

uint32_t lda_alias_draw(const lda_alias *t, lda_site *s)
{
    const double u = lda_alias_uniform(s) * t->n;
    const uint32_t i = (uint32_t)u;

    return t->topic[u - i < t->weight[i] ? i : t->other[i]];
}
