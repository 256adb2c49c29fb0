/* Text read word by word, in order, for what depends on the order of words:
 * windows of a reference text, and the pairs of words that make phrases. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/memory.h"
#include "engine/data/naming.h"
#include "engine/data/read.h"

enum { OTHER = UINT32_MAX, FIRST_WORDS = 1024, FIRST_PAIRS = 4096 };

/* An open text, and the words of a document. */
typedef struct word_reader {
    strads_data_options options;
    sti_text text;
    sti_text_bytes all;
    uint32_t *word;
    size_t n, capacity;
} word_reader;

static strads_err check_order(const char *path, strads_data_options *o)
{
    strads_kind kind = o->kind;
    strads_err err = STRADS_OK;
    if (o->text_column != NULL)
        kind = STRADS_KIND_TEXT;
    else if (kind != STRADS_KIND_TEXT)
        err = strads_data_find_kind(path, &kind);
    if (err == STRADS_OK && kind != STRADS_KIND_TEXT)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: has counts of words, expected a text, because "
                          "the order of words matters",
                          path);
    o->kind = STRADS_KIND_TEXT;
    return err;
}

static strads_err open_words(word_reader *r, const char *path,
                             const strads_data_options *options)
{
    *r = (word_reader){0};
    if (path == NULL)
        return strads_fail(STRADS_EINVAL, "no file of text was named");
    strads_err err = sti_data_options(options, &r->options);
    if (err == STRADS_OK)
        err = check_order(path, &r->options);
    if (err != STRADS_OK)
        return err;
    const uint64_t limit = r->options.memory_limit;
    err = sti_texts_wanted(path, &r->options)
              ? sti_texts_open(&r->text, path, &r->options)
              : sti_text_open(&r->text, path, limit);
    if (err == STRADS_OK)
        err = sti_text_whole(&r->text, limit, &r->all);
    if (err == STRADS_OK)
        err = sti_text_refuse_page(path, r->all.begin, r->all.end);
    return err;
}

static void close_words(word_reader *r)
{
    free(r->word);
    sti_text_bytes_free(&r->all);
    sti_text_close(&r->text);
}

static strads_err push_word(word_reader *r, uint32_t number)
{
    if (r->n == r->capacity) {
        const size_t capacity = r->n == 0 ? FIRST_WORDS : 2 * r->n;
        uint32_t *more = realloc(r->word, capacity * sizeof *more);
        if (more == NULL)
            return strads_fail(STRADS_ENOMEM, "%s: no memory for its words",
                               r->text.path);
        r->word = more;
        r->capacity = capacity;
    }
    r->word[r->n++] = number;
    return STRADS_OK;
}

static strads_err push_name(word_reader *r, const char *bytes, size_t size)
{
    uint32_t number = OTHER;
    if (!strads_names_find(r->options.col_names, bytes, size, &number))
        number = OTHER;
    return push_word(r, number);
}

/* Reads the document at *p, and moves *p behind its line. */
static strads_err read_document(word_reader *r, const char **p)
{
    char word[STI_WORD_SIZE], before[STI_WORD_SIZE], phrase[STI_PHRASE_SIZE];
    size_t size, before_size = 0, joined;
    strads_err err = STRADS_OK;
    r->n = 0;
    while (err == STRADS_OK && *p < r->all.end && **p != '\n') {
        *p = sti_word_next(*p, r->all.end, word, &size);
        if (size == 0)
            continue;
        if (r->options.phrases == NULL) {
            err = push_name(r, word, size);
            continue;
        }
        joined = before_size > 0
                     ? sti_phrase_join(r->options.phrases, before, before_size,
                                       word, size, phrase)
                     : 0;
        if (joined > 0) {
            err = push_name(r, phrase, joined);
            before_size = 0;
            continue;
        }
        if (before_size > 0)
            err = push_name(r, before, before_size);
        memcpy(before, word, size);
        before_size = size;
    }
    if (err == STRADS_OK && before_size > 0)
        err = push_name(r, before, before_size);
    *p += *p < r->all.end;
    return err;
}

strads_err strads_data_read_words(const char *path,
                                  const strads_data_options *options,
                                  strads_take_words *take, void *arg)
{
    word_reader r;
    if (options == NULL || options->col_names == NULL)
        return strads_fail(STRADS_EINVAL, "no names of words were given");
    strads_err err = open_words(&r, path, options);
    const char *p = r.all.begin;
    if (err == STRADS_OK)
        p += sti_text_mark(p, r.all.end);
    while (err == STRADS_OK && p < r.all.end) {
        err = read_document(&r, &p);
        if (err == STRADS_OK)
            err = take(arg, r.word, r.n);
    }
    if (err == STRADS_OK)
        err = sti_text_unchanged(&r.text);
    close_words(&r);
    return err;
}

/* ---- pairs of words ------------------------------------------------------ */

/* Counts of pairs, by first << 32 | second; count 0: a free place. */
typedef struct pair {
    uint64_t key;
    uint64_t count;
} pair;

typedef struct pair_table {
    pair *places;
    size_t capacity, used; /* capacity: a power of 2 */
} pair_table;

static pair *pair_place(const pair_table *t, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20);
    for (at &= t->capacity - 1;
         t->places[at].count > 0 && t->places[at].key != key;)
        at = (at + 1) & (t->capacity - 1);
    return &t->places[at];
}

static bool grow_pairs(pair_table *t)
{
    const size_t capacity = t->capacity == 0 ? FIRST_PAIRS : 2 * t->capacity;
    pair_table larger = {calloc(capacity, sizeof(pair)), capacity, t->used};
    if (larger.places == NULL)
        return false;
    for (size_t i = 0; i < t->capacity; i++)
        if (t->places[i].count > 0)
            *pair_place(&larger, t->places[i].key) = t->places[i];
    free(t->places);
    *t = larger;
    return true;
}

static bool count_pair(pair_table *t, uint64_t key)
{
    if (2 * t->used >= t->capacity && !grow_pairs(t))
        return false;
    pair *p = pair_place(t, key);
    t->used += p->count == 0;
    p->key = key;
    p->count++;
    return true;
}

static int by_pair_key(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static double npmi_of_pair(const pair *p, const uint64_t *count, double all)
{
    const double first = (double)count[p->key >> 32];
    const double second = (double)count[p->key & UINT32_MAX];
    const double both = (double)p->count;
    return both >= all ? 0
                       : log(both * all / (first * second)) / log(all / both);
}

/* ---- phrases ------------------------------------------------------------- */

/* The words of a text by number, OTHER behind each document. */
typedef struct phrase_search {
    word_reader reader; /* its `word`: of the whole text */
    sti_naming naming;
    uint64_t *count; /* by word; 0: no part of a phrase */
    pair_table pairs;
} phrase_search;

static strads_err number_words(phrase_search *s)
{
    word_reader *r = &s->reader;
    sti_naming *n = &s->naming;
    char word[STI_WORD_SIZE];
    size_t size;
    bool known;
    const char *p = r->all.begin + sti_text_mark(r->all.begin, r->all.end);
    strads_err err = STRADS_OK;
    while (err == STRADS_OK && p < r->all.end) {
        uint32_t number = OTHER;
        if (*p == '\n') {
            n->rows++;
            p++;
            err = push_word(r, OTHER);
            continue;
        }
        p = sti_word_next(p, r->all.end, word, &size);
        if (size == 0)
            continue;
        n->words++;
        err = sti_axis_number(&n->col, word, size, &number, &known);
        if (err == STRADS_OK)
            err = sti_naming_count(n, number, n->rows);
        if (err == STRADS_OK)
            err = push_word(r, number);
    }
    return err;
}

static strads_err count_pairs(phrase_search *s, uint32_t least)
{
    const word_reader *r = &s->reader;
    const uint32_t words = strads_names_count(s->naming.col.own);
    s->count = calloc((size_t)words + 1, sizeof *s->count);
    bool enough = s->count != NULL;
    for (size_t i = 0; enough && i < r->n; i++)
        if (r->word[i] != OTHER)
            s->count[r->word[i]]++;
    for (uint32_t w = 0; enough && w < words; w++)
        if (s->count[w] < least ||
            sti_naming_drops(&s->naming, strads_names_at(s->naming.col.own, w)))
            s->count[w] = 0;
    for (size_t i = 1; enough && i < r->n; i++) {
        const uint32_t a = r->word[i - 1], b = r->word[i];
        if (a != OTHER && b != OTHER && s->count[a] > 0 && s->count[b] > 0)
            enough = count_pair(&s->pairs, (uint64_t)a << 32 | b);
    }
    return enough ? STRADS_OK
                  : strads_fail(STRADS_ENOMEM, "%s: no memory for its phrases",
                                r->text.path);
}

/* Names the phrases in the order in which their words appeared first. */
static strads_err name_phrases(phrase_search *s, uint32_t least,
                               strads_names *out)
{
    char phrase[STI_PHRASE_SIZE + 1];
    size_t n = 0;
    strads_err err = STRADS_OK;
    for (size_t i = 0; i < s->pairs.capacity; i++)
        if (s->pairs.places[i].count >= least)
            s->pairs.places[n++] = s->pairs.places[i];
    if (n > 0)
        qsort(s->pairs.places, n, sizeof *s->pairs.places, by_pair_key);
    for (size_t i = 0; i < n && err == STRADS_OK; i++) {
        const pair *p = &s->pairs.places[i];
        if (npmi_of_pair(p, s->count, (double)s->naming.words) <
            STRADS_PHRASE_NPMI)
            continue;
        const strads_names *names = s->naming.col.own;
        const char *a = strads_names_at(names, (uint32_t)(p->key >> 32));
        const char *b = strads_names_at(names, (uint32_t)p->key);
        uint32_t number;
        const int size = snprintf(phrase, sizeof phrase, "%s_%s", a, b);
        err = strads_names_add(out, phrase, (size_t)size, &number);
    }
    return err;
}

static strads_err open_search(phrase_search *s, const char *path,
                              const strads_data_options *options)
{
    sti_naming *n = &s->naming;
    strads_err err = open_words(&s->reader, path, options);
    if (err != STRADS_OK)
        return err;
    const strads_data_options *o = &s->reader.options;
    n->stop_words = o->stop_words;
    n->trims = o->trim_words;
    n->language = o->stop_language;
    if (n->language != NULL && strcmp(n->language, "auto") != 0)
        err = sti_stop_words(&n->language, &n->language_words);
    return err == STRADS_OK ? sti_axis_open(&n->col, NULL) : err;
}

strads_err strads_data_find_phrases(const char *path,
                                    const strads_data_options *options,
                                    uint32_t least, strads_names **out)
{
    phrase_search s = {0};
    strads_names *names = NULL;
    if (least == 0)
        return strads_fail(STRADS_EINVAL,
                           "phrases: expected a least count of 1 or more");
    strads_err err = open_search(&s, path, options);
    if (err == STRADS_OK)
        err = number_words(&s);
    if (err == STRADS_OK)
        err = sti_naming_choose(&s.naming);
    if (err == STRADS_OK)
        err = count_pairs(&s, least);
    if (err == STRADS_OK)
        err = strads_names_new(&names);
    if (err == STRADS_OK)
        err = name_phrases(&s, least, names);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&s.reader.text);
    free(s.count);
    free(s.pairs.places);
    sti_naming_free(&s.naming);
    close_words(&s.reader);
    if (err == STRADS_OK)
        *out = names;
    else
        strads_names_free(names);
    return err;
}
