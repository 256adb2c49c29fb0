/* How tokens go through lists, whatever the registers. Included by files that
 * say before how place_in looks for a topic. */
#ifndef LDA_LISTS_LOOPS_H
#define LDA_LISTS_LOOPS_H

#include "lda_kernels.h"

enum { FAR_AHEAD = 20 }; /* tokens that lists are fetched before */

INLINE void move_listed(lda_site *s, uint32_t *list, uint32_t *used,
                        lda_change c)
{
    if (c.to_at < 0)
        c.to_at = place_in(list, *used, c.to);
    lda_change_list(s, list, used, c);
    lda_move(s, c.from, c.to);
}

/* Into the second cache: as many lines as these tokens have would be more than
 * the first one asks for at a time. */
INLINE void fetch_list(const lda_documents *documents, uint32_t d)
{
    const char *list = (const char *)(documents->list +
                                      (uint64_t)documents->line[d] * LDA_LANES);

    for (uint32_t at = 0; at < documents->used[d]; at += LDA_LANES)
        __builtin_prefetch(list + at * sizeof(uint32_t), 0, 2);
}

/* Tokens of one word in one document stand together: as long as they stay where
 * they are, the next of them that has the same topic sees the same sums. */
INLINE bool sees_the_same(const lda_tokens *t, uint64_t i)
{
    return i + 1 < t->n && t->document[i] == t->document[i + 1] &&
           t->topic[i] == t->topic[i + 1];
}

INLINE void fetch_ahead(const lda_documents *documents, const lda_tokens *t,
                        uint64_t i)
{
    const uint64_t next = i + FAR_AHEAD < t->n ? i + FAR_AHEAD : t->n - 1;

    fetch_list(documents, t->document[next]);
}

#endif
