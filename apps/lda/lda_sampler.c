/* A block's visit to a partition: redraws all tokens of its words here, word by
 * word. Each visit has its own stream of draws, named by sweep, word and
 * partition, so the draws do not depend on the thread or on the number of
 * reports between sweeps. */
#include "lda_parts.h"

#include <string.h>
#include <time.h>

#include <strads/policy.h>

enum { DRAWS = 0x6C6461 }; /* the purpose of the streams */

/* Starts the stream of draws of a word's visit. */
static void name_stream(const lda_local *l, lda_site *site,
                        const strads_task *task, uint32_t word)
{
    const uint64_t sweep = l->visits / task->shape->blocks;
    const uint64_t index =
        sweep * task->share->partitions + task->share->partition;

    site->random = strads_random_bits(task->seed, DRAWS, index, word);
}

typedef struct turn {
    lda_site *site;
    int32_t *empty;
    uint32_t k; /* index in the block's words */
    lda_tokens all, left;
} turn;

typedef struct turns {
    lda_local *local;
    const strads_task *task;
    lda_words *words;
    uint64_t least; /* smallest number of tokens of words drawn this way */
    uint32_t next;  /* index in the block's words */
    turn turn[2];
} turns;

/* Takes the next word for this turn, if there is one. */
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
        name_stream(l, mine->site, t->task, word);
        mine->site->word = lda_row_load(&t->words->row[k], mine->empty);
        l->kernels->build(mine->site);
    }
}

/* Draws tokens of both words; returns how many of each that has some left. */
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

/* Finishes a word if these were its last tokens. */
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

/* Draws those of a block's words that have at least `least` tokens here, two at
 * a time. Documents' counts are rows. */
static strads_err lda_draw_by_turns(lda_local *l, const strads_task *task,
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

/* ---- a visit ------------------------------------------------------------- */

enum {
    FEW_TOKENS = 24, /* words that change q in place ... */
    FEW_TOPICS = 24, /* ... instead of rebuilding it, if their list is short */
    /* such words before a rebuild, because rounding errors add up */
    MOST_AT_ONCE = 256,
    /* of an average topic, so that one token more or less is negligible */
    MANY_TOKENS = 1024
};

typedef struct visit {
    lda_local *local;
    strads_task *task;
    lda_words *words;
    bool sorts;       /* sort tokens before drawing them */
    uint32_t changed; /* words since q was rebuilt */
} visit;

double lda_cpu_now(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Draws a word with many tokens: rebuilds q for it. */
static strads_err draw_built(visit *v, lda_row *row, const lda_tokens *tokens,
                             uint64_t n)
{
    lda_local *l = v->local;

    l->flat = false;
    l->site.word = lda_row_load(row, l->empty);
    l->kernels->build(&l->site);
    if (l->margin)
        lda_margin_draw(l, tokens);
    else
        l->kernels->draw(&l->site, &l->documents, tokens);
    return lda_row_store(row, v->words, l->site.word, tokens->topic, n);
}

static void be_flat(visit *v)
{
    lda_local *l = v->local;

    if (l->flat && v->changed++ < MOST_AT_ONCE)
        return;
    l->site.word = l->empty;
    l->kernels->build(&l->site);
    l->flat = true;
    v->changed = 0;
}

/* Removes the word from q again, in the entries that it changed. */
static void undo_places(lda_local *l, const uint32_t *pair, uint32_t n_pairs,
                        const uint16_t *z, uint64_t n)
{
    lda_site *s = &l->site;

    s->word = l->empty;
    for (uint32_t i = 0; i < n_pairs; i++)
        lda_set_q(s, pair[i] & 0xFFFF);
    for (uint64_t i = 0; i < n; i++)
        lda_set_q(s, z[i]);
}

static strads_err draw_in_places(visit *v, lda_row *row,
                                 const lda_tokens *tokens, uint64_t n)
{
    lda_local *l = v->local;
    uint32_t had[FEW_TOPICS];
    const uint32_t n_had = row->n;

    be_flat(v);
    if (n_had)
        memcpy(had, row->at, n_had * sizeof *had);
    l->site.word = lda_row_load(row, l->empty);
    for (uint32_t i = 0; i < n_had; i++)
        lda_set_q(&l->site, had[i] & 0xFFFF);
    l->kernels->draw(&l->site, &l->documents, tokens);
    strads_err err =
        lda_row_store(row, v->words, l->site.word, tokens->topic, n);
    if (!err && row->n != LDA_FULL)
        undo_places(l, had, n_had, tokens->topic, n);
    else
        l->flat = false;
    return err;
}

static strads_err visit_word(visit *v, uint32_t k, bool few)
{
    lda_local *l = v->local;
    const uint32_t word = strads_block_param(&v->task->block, k);
    const uint64_t n = l->token[word + 1] - l->token[word];
    lda_row *row = &v->words->row[k];

    if (n == 0 || few != (n < FEW_TOKENS))
        return STRADS_OK;
    if (v->sorts)
        lda_tokens_sort(l, word);
    const lda_tokens tokens = lda_tokens_of(l, word);
    name_stream(l, &l->site, v->task, word);
    return few && row->n <= FEW_TOPICS && !l->margin
               ? draw_in_places(v, row, &tokens, n)
               : draw_built(v, row, &tokens, n);
}

/* Lists change much at first and little later. */
static bool is_time_to_sort(const lda_local *l, const strads_task *task)
{
    const uint64_t sweep = l->visits / task->shape->blocks;

    return l->documents.list && sweep > 0 && (sweep & (sweep - 1)) == 0;
}

static strads_err visit_each(visit *v, bool few)
{
    strads_err err = STRADS_OK;

    for (uint32_t k = 0; k < v->task->block.n && !err; k++)
        err = visit_word(v, k, few);
    return err;
}

/* Whether totals may be one token old. */
static bool has_many_tokens(const lda_site *s)
{
    double tokens = 0;

    for (uint32_t k = 0; k < s->topics; k++)
        tokens += s->total[k];
    return tokens >= (double)MANY_TOKENS * s->topics;
}

static strads_err visit_words(visit *v)
{
    lda_local *l = v->local;

    v->sorts = is_time_to_sort(l, v->task);
    if (l->margin)
        lda_margin_refresh(l, v->task->config);
    strads_err err = l->documents.row && !l->margin && has_many_tokens(&l->site)
                         ? lda_draw_by_turns(l, v->task, v->words, FEW_TOKENS)
                         : visit_each(v, false);
    return err ? err : visit_each(v, true);
}

static void take_totals(lda_local *l, const strads_task *task)
{
    for (uint32_t k = 0; k < l->site.topics; k++)
        lda_set_total(&l->site, k, (int32_t)task->total[k]);
    l->flat = false;
}

static void give_totals(const lda_local *l, strads_task *task)
{
    for (uint32_t k = 0; k < l->site.topics; k++)
        task->total[k] = l->site.total[k];
}

/* After a block's last visit of a sweep its counts are those of a report. */
static void sum_block_words(lda_local *l, const lda_words *words)
{
    lda_rise_set(&l->beta, l->prior.beta);
    for (uint32_t k = 0; k < words->n; k++)
        lda_row_sum(&words->row[k], words->topics, &l->beta, &l->log_words,
                    &l->psi_words);
}

strads_err lda_sample(strads_task *task)
{
    lda_local *l = task->local;
    visit v = {.local = l, .task = task, .words = task->object};
    const double began = lda_cpu_now();
    double drawn = 0;

    if (!v.words || v.words->n != task->block.n)
        return strads_fail(STRADS_EPEER,
                           "a block came without its words' counts");
    lda_restart_sending(l);
    take_totals(l, task);
    strads_err err = lda_scratch_visit(l, &task->block);
    if (!err)
        err = visit_words(&v);
    if (err)
        return err;
    lda_scratch_changed(l, v.sorts);
    give_totals(l, task);
    for (uint32_t k = 0; k < task->block.n; k++) {
        const uint32_t word = strads_block_param(&task->block, k);
        drawn += (double)(l->token[word + 1] - l->token[word]);
    }
    task->partial[LDA_DRAWN] = drawn;
    task->partial[LDA_CPU] = lda_cpu_now() - began;
    const uint64_t sweep = l->visits++ / task->shape->blocks + 1;
    if (task->step + 1 == task->share->partitions &&
        lda_is_evaluated(task->config, &l->prior, sweep))
        sum_block_words(l, v.words);
    return STRADS_OK;
}
