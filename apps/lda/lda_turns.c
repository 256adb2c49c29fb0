/* A block's words with many tokens, two at a time, where documents' counts are
 * rows. A draw is one long chain of steps, and the next one of the word waits
 * for its end; those of another word do not. When one of the two is through,
 * the next word takes its place. */
#include "lda_parts.h"

typedef struct turn {
    lda_site *site;
    int32_t *empty;
    uint32_t k; /* of the block's words */
    lda_tokens all, left;
} turn;

typedef struct turns {
    lda_local *local;
    const strads_task *task;
    lda_words *words;
    uint64_t least; /* tokens of a word that is drawn so */
    uint32_t next;  /* of the block's words */
    turn turn[2];
} turns;

/* Makes the next word this turn's, if there is one. */
static void open_turn(turns *t, turn *mine)
{
    lda_local *l = t->local;

    while (mine->left.n == 0 && t->next < t->task->block.n) {
        const uint32_t k = t->next++;
        const uint32_t word = strads_block_param(&t->task->block, k);
        const lda_tokens tokens = lda_tokens_of(l, word);
        if (tokens.n < t->least)
            continue;
        mine->k = k;
        mine->all = mine->left = tokens;
        lda_name_stream(l, mine->site, t->task, word);
        mine->site->word = lda_row_load(&t->words->row[k], mine->empty);
        l->kernels->build(mine->site);
    }
}

/* Returns how many tokens it has drawn, of each that has some left. */
static uint64_t draw_turns(const turns *t)
{
    const lda_local *l = t->local;
    const turn *a = &t->turn[0], *b = &t->turn[1];
    const turn *longer = a->left.n > b->left.n ? a : b;
    const uint64_t shorter = a->left.n + b->left.n - longer->left.n;

    if (shorter == 0) {
        l->kernels->draw(longer->site, &l->documents, &longer->left);
        return longer->left.n;
    }
    l->kernels->draw_by_turns(a->site, b->site, &l->documents, &a->left,
                              &b->left);
    return shorter;
}

/* Lets a word go whose last tokens were among these. */
static strads_err close_turn(const turns *t, turn *mine, uint64_t drawn)
{
    if (mine->left.n == 0)
        return STRADS_OK;
    mine->left.document += drawn;
    mine->left.topic += drawn;
    mine->left.n -= drawn;
    if (mine->left.n > 0)
        return STRADS_OK;
    return lda_row_store(&t->words->row[mine->k], t->words, mine->site->word,
                         mine->all.topic, mine->all.n);
}

strads_err lda_draw_by_turns(lda_local *l, const strads_task *task,
                             lda_words *words, uint64_t least)
{
    lda_site other = l->site;
    turns t = {.local = l, .task = task, .words = words, .least = least};
    turn *a = &t.turn[0], *b = &t.turn[1];
    strads_err err = STRADS_OK;

    other.q = l->other_q;
    *a = (turn){.site = &l->site, .empty = l->empty};
    *b = (turn){.site = &other, .empty = l->other_empty};
    while (!err) {
        open_turn(&t, a);
        open_turn(&t, b);
        if (a->left.n == 0 && b->left.n == 0)
            break;
        const uint64_t drawn = draw_turns(&t);
        err = close_turn(&t, a, drawn);
        if (!err)
            err = close_turn(&t, b, drawn);
    }
    return err;
}
