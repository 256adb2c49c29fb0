/* All names are stored in one run of bytes, each with a zero at its end. A hash
 * table with open addressing finds them. At least a quarter of the slots stay
 * empty, which keeps probe sequences short. A slot has a short name itself,
 * such as an id of up to eight digits, and the hash of a longer one. So a
 * search reads one line of memory for a short name, and the bytes of one name
 * only for a longer one. */
#include "engine/data/naming.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/data/memory.h"
#include "engine/data/read.h"
#include "strads/names.h"

enum {
    FIRST_SLOTS = 64,
    FIRST_BYTES = 1024,
    SHORT_NAME = 8,
};

typedef struct name_slot {
    uint64_t key;    /* see name_key */
    uint32_t number; /* plus 1; 0: empty slot */
    uint32_t size;   /* bytes of the name */
} name_slot;

struct strads_names {
    char *bytes;
    uint32_t *at;    /* [count + 1] offsets of the names */
    name_slot *slot; /* [slots], a power of two */
    uint64_t slots, at_capacity, bytes_capacity;
    uint32_t count;
};

static strads_err no_names_memory(const strads_names *n)
{
    return strads_fail(STRADS_ENOMEM, "no memory for more than %u names",
                       n != NULL ? n->count : 0);
}

strads_err strads_names_new(strads_names **out)
{
    strads_names *n = calloc(1, sizeof *n);
    if (n == NULL)
        return no_names_memory(n);
    n->slots = FIRST_SLOTS;
    n->at_capacity = FIRST_SLOTS;
    n->bytes_capacity = FIRST_BYTES;
    n->slot = sti_big_alloc(n->slots * sizeof *n->slot);
    n->at = calloc(n->at_capacity, sizeof *n->at);
    n->bytes = sti_big_alloc(n->bytes_capacity);
    if (n->slot == NULL || n->at == NULL || n->bytes == NULL) {
        strads_names_free(n);
        return no_names_memory(NULL);
    }
    *out = n;
    return STRADS_OK;
}

void strads_names_free(strads_names *n)
{
    if (n == NULL)
        return;
    sti_big_free(n->bytes, n->bytes_capacity);
    free(n->at);
    sti_big_free(n->slot, n->slots * sizeof *n->slot);
    free(n);
}

/* All bytes of a name of at most SHORT_NAME bytes, which differ for any two
 * names of one size; otherwise the hash. */
static uint64_t name_key(const char *name, size_t size)
{
    uint32_t half[2];
    if (size > SHORT_NAME)
        return XXH3_64bits(name, size);
    if (size >= sizeof *half) {
        memcpy(&half[0], name, sizeof *half);
        memcpy(&half[1], name + size - sizeof *half, sizeof *half);
        return (uint64_t)half[1] << 32 | half[0];
    }
    const unsigned char *p = (const unsigned char *)name;
    return size == 0 ? 0
                     : p[0] | (uint64_t)p[size / 2] << 8 |
                           (uint64_t)p[size - 1] << 16;
}

static uint64_t slot_of_key(const strads_names *n, uint64_t key, size_t size)
{
    const uint64_t hash =
        size > SHORT_NAME ? key : XXH3_64bits(&key, sizeof key);
    return hash & (n->slots - 1);
}

/* The slot that holds the name, or the empty slot for it. */
static name_slot *find_slot(const strads_names *n, const char *name,
                            size_t size, uint64_t key)
{
    uint64_t s = slot_of_key(n, key, size);
    for (; n->slot[s].number != 0; s = (s + 1) & (n->slots - 1)) {
        const name_slot *x = &n->slot[s];
        if (x->key == key && x->size == size &&
            (size <= SHORT_NAME ||
             memcmp(n->bytes + n->at[x->number - 1], name, size) == 0))
            break;
    }
    return &n->slot[s];
}

/* All names differ, so a name of the old table takes the first empty slot. */
static void move_slots(const strads_names *n, name_slot *to, uint64_t slots)
{
    const strads_names wide = {.slots = slots};
    for (uint64_t k = 0; k < n->slots; k++) {
        const name_slot *from = &n->slot[k];
        if (from->number == 0)
            continue;
        uint64_t s = slot_of_key(&wide, from->key, from->size);
        while (to[s].number != 0)
            s = (s + 1) & (slots - 1);
        to[s] = *from;
    }
}

static bool widen_name_table(strads_names *n)
{
    name_slot *slot = sti_big_alloc(n->slots * 2 * sizeof *slot);
    uint32_t *at = realloc(n->at, n->slots * 2 * sizeof *at);
    if (at != NULL) {
        n->at = at;
        n->at_capacity = n->slots * 2;
    }
    if (slot == NULL || at == NULL) {
        sti_big_free(slot, n->slots * 2 * sizeof *slot);
        return false;
    }
    move_slots(n, slot, n->slots * 2);
    sti_big_free(n->slot, n->slots * sizeof *n->slot);
    n->slot = slot;
    n->slots *= 2;
    return true;
}

static bool reserve_names(strads_names *n, size_t size)
{
    uint64_t wanted = n->at[n->count] + size + 1;
    uint64_t capacity = n->bytes_capacity;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity > n->bytes_capacity) {
        char *bytes = sti_big_grow(n->bytes, n->bytes_capacity, capacity);
        if (bytes == NULL)
            return false;
        n->bytes = bytes;
        n->bytes_capacity = capacity;
    }
    return (n->count + UINT64_C(2)) * 4 <= n->slots * 3 || widen_name_table(n);
}

strads_err strads_names_add(strads_names *n, const char *name, size_t size,
                            uint32_t *number)
{
    if (strads_names_find(n, name, size, number))
        return STRADS_OK;
    if (n->count >= UINT32_MAX - 2 || size + 1 > UINT32_MAX - n->at[n->count])
        return strads_fail(STRADS_ELIMIT,
                           "more names than fit: there are %u already, which "
                           "take %u bytes",
                           n->count, n->at[n->count]);
    if (!reserve_names(n, size))
        return no_names_memory(n);
    const uint32_t k = n->count;
    const uint64_t key = name_key(name, size);
    char *to = n->bytes + n->at[k];
    memcpy(to, name, size);
    to[size] = '\0';
    n->at[k + 1] = n->at[k] + (uint32_t)size + 1;
    *find_slot(n, name, size, key) =
        (name_slot){.key = key, .number = k + 1, .size = (uint32_t)size};
    n->count = k + 1;
    *number = k;
    return STRADS_OK;
}

bool strads_names_find(const strads_names *n, const char *name, size_t size,
                       uint32_t *number)
{
    const name_slot *slot = find_slot(n, name, size, name_key(name, size));
    if (slot->number == 0)
        return false;
    *number = slot->number - 1;
    return true;
}

uint32_t strads_names_count(const strads_names *n)
{
    return n->count;
}

const char *strads_names_at(const strads_names *n, uint32_t number)
{
    return n->bytes + n->at[number];
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

strads_err sti_names_sorted(const strads_names *names, const char ***out,
                            uint32_t *n)
{
    *n = names != NULL ? names->count : 0;
    *out = calloc((size_t)*n + 1, sizeof **out);
    if (*out == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory to sort %u names", *n);
    for (uint32_t k = 0; k < *n; k++)
        (*out)[k] = strads_names_at(names, k);
    qsort(*out, *n, sizeof **out, by_bytes);
    return STRADS_OK;
}

/* strads_names_read: reads names from a text, one per line. */

typedef struct lines {
    const char *path;
    strads_names *names;
    uint64_t line; /* the current line, from 1 */
} lines;

static strads_err add_line_name(lines *l, const char *name, size_t size)
{
    uint32_t count = strads_names_count(l->names);
    uint32_t number;
    const size_t mark = l->line == 1 ? sti_text_mark(name, name + size) : 0;
    name += mark;
    size -= mark;
    if (size > 0 && name[size - 1] == '\r')
        size--;
    if (size == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %llu: found an empty line, expected a "
                           "name in each",
                           l->path, (unsigned long long)l->line);
    strads_err err = strads_names_add(l->names, name, size, &number);
    if (err == STRADS_OK && number < count) {
        char quoted[200];
        sti_text_quote(name, name + size, quoted, sizeof quoted);
        err = strads_fail(STRADS_EFORMAT,
                          "%s: line %llu: found '%s' again, expected each name "
                          "once (it is in line %u too)",
                          l->path, (unsigned long long)l->line, quoted,
                          number + 1);
    }
    l->line++;
    return err;
}

static strads_err add_lines(lines *l)
{
    sti_text text;
    sti_text_bytes bytes;
    const uint64_t limit = sti_memory_available();
    strads_err err = sti_text_open(&text, l->path, limit);
    if (err != STRADS_OK)
        return err;
    err = sti_text_whole(&text, limit, &bytes);
    if (err == STRADS_OK)
        err = sti_text_refuse_page(l->path, bytes.begin, bytes.end);
    for (const char *p = bytes.begin; err == STRADS_OK && p < bytes.end;) {
        const char *line_end = sti_line_end(p, bytes.end);
        err = add_line_name(l, p, (size_t)(line_end - p));
        p = line_end < bytes.end ? line_end + 1 : line_end;
    }
    sti_text_bytes_free(&bytes);
    sti_text_close(&text);
    return err;
}

strads_err strads_names_read(const char *path, strads_names **out)
{
    if (path == NULL)
        return strads_fail(STRADS_EINVAL, "no file of names was given");
    lines l = {.path = path, .line = 1};
    strads_err err = strads_names_new(&l.names);
    if (err == STRADS_OK)
        err = add_lines(&l);
    if (err != STRADS_OK) {
        strads_names_free(l.names);
        return err;
    }
    *out = l.names;
    return STRADS_OK;
}

enum { FIRST_CAPACITY = 1024 };

strads_err sti_axis_open(sti_axis *axis, const strads_names *given)
{
    *axis = (sti_axis){.names = given};
    if (given != NULL)
        return STRADS_OK;
    strads_err err = strads_names_new(&axis->own);
    axis->names = axis->own;
    axis->adding = err == STRADS_OK;
    return err;
}

void sti_axis_prefetch(const sti_axis *axis, const char *name, size_t size)
{
    const strads_names *n = axis->names;
    __builtin_prefetch(&n->slot[slot_of_key(n, name_key(name, size), size)]);
}

strads_err sti_axis_number(sti_axis *axis, const char *name, size_t size,
                           uint32_t *number, bool *known)
{
    *known = true;
    if (axis->adding)
        return strads_names_add(axis->own, name, size, number);
    *known = strads_names_find(axis->names, name, size, number);
    return STRADS_OK;
}

bool sti_feed_id(sti_feed *f, uint64_t id, uint64_t *col)
{
    char digits[20];
    char *p = digits + sizeof digits;
    uint32_t number = 0;
    bool known = false;
    do
        *--p = (char)('0' + id % 10);
    while ((id /= 10) > 0);
    strads_err err =
        sti_axis_number(&f->naming->col, p,
                        (size_t)(digits + sizeof digits - p), &number, &known);
    *col = number;
    if (err == STRADS_OK && known)
        return true;
    /* The first pass has seen each id, unless the file has changed. */
    sti_feed_trouble(f, err != STRADS_OK ? err : STRADS_EIO, NULL, NULL, "%s",
                     err != STRADS_OK ? strads_error_text()
                                      : "the ids that were read before");
    return false;
}

/* Ids have no leading zeros, so the longer one is the larger one. */
static int by_id(const void *a, const void *b)
{
    const char *x = *(const char *const *)a;
    const char *y = *(const char *const *)b;
    const size_t n = strlen(x), m = strlen(y);
    return n != m ? (n > m) - (n < m) : memcmp(x, y, n);
}

strads_err sti_axis_sort_ids(sti_axis *axis)
{
    const uint32_t n = strads_names_count(axis->own);
    const char **id = calloc((size_t)n + 1, sizeof *id);
    strads_names *sorted = NULL;
    strads_err err =
        id != NULL ? strads_names_new(&sorted) : no_names_memory(axis->own);
    uint32_t number;
    for (uint32_t k = 0; k < n && err == STRADS_OK; k++)
        id[k] = strads_names_at(axis->own, k);
    if (err == STRADS_OK)
        qsort(id, n, sizeof *id, by_id);
    for (uint32_t k = 0; k < n && err == STRADS_OK; k++)
        err = strads_names_add(sorted, id[k], strlen(id[k]), &number);
    free(id);
    if (err != STRADS_OK) {
        strads_names_free(sorted);
        return err;
    }
    strads_names_free(axis->own);
    axis->names = axis->own = sorted;
    return STRADS_OK;
}

static strads_err grow_word_counts(sti_naming *n, uint32_t word)
{
    uint64_t capacity = n->df_capacity == 0 ? FIRST_CAPACITY : n->df_capacity;
    while (capacity <= word)
        capacity *= 2;
    uint32_t *df = realloc(n->df, capacity * sizeof *df);
    if (df != NULL)
        n->df = df;
    uint64_t *last = realloc(n->last_row, capacity * sizeof *last);
    if (last != NULL)
        n->last_row = last;
    if (df == NULL || last == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory to count %u words", word);
    memset(df + n->df_capacity, 0, (capacity - n->df_capacity) * sizeof *df);
    memset(last + n->df_capacity, 0,
           (capacity - n->df_capacity) * sizeof *last);
    n->df_capacity = capacity;
    return STRADS_OK;
}

strads_err sti_naming_count(sti_naming *n, uint32_t word, uint64_t row)
{
    strads_err err =
        word >= n->df_capacity ? grow_word_counts(n, word) : STRADS_OK;
    if (err != STRADS_OK || n->last_row[word] == row + 1)
        return err;
    n->last_row[word] = row + 1;
    n->df[word]++;
    return STRADS_OK;
}

strads_err sti_naming_choose(sti_naming *n)
{
    enum { LEAST_WORDS = 1000, MANY = 1000, MIN_DF = 5 };
    if (n->language != NULL && strcmp(n->language, "auto") == 0) {
        n->language = n->col.adding && n->words >= LEAST_WORDS
                          ? sti_language_of(n->col.own, n->df)
                          : NULL;
        if (n->language != NULL) {
            strads_err err = sti_stop_words(&n->language, &n->language_words);
            if (err != STRADS_OK)
                return err;
        }
    }
    if (n->trims && n->col.adding) {
        if (n->min_df == 0)
            n->min_df = n->rows < (uint64_t)MANY * MIN_DF
                            ? (uint32_t)(n->rows / MANY)
                            : MIN_DF;
        if (n->max_df == 0 && n->rows >= MANY)
            n->max_df = .5;
    }
    return STRADS_OK;
}

static bool is_number(const char *name)
{
    return name[strspn(name, "0123456789")] == '\0';
}

static bool is_stop_word(const sti_naming *n, const char *name)
{
    uint32_t number;
    return n->language_words != NULL &&
           strads_names_find(n->language_words, name, strlen(name), &number);
}

bool sti_naming_drops(const sti_naming *n, const char *name)
{
    uint32_t number;
    return is_stop_word(n, name) || (n->trims && is_number(name)) ||
           (n->stop_words != NULL &&
            strads_names_find(n->stop_words, name, strlen(name), &number));
}

static strads_err forget_rare(sti_naming *n)
{
    strads_names *kept = NULL;
    strads_err err = strads_names_new(&kept);
    uint32_t count = strads_names_count(n->col.own);
    const double most =
        n->max_df > 0 ? n->max_df * (double)n->rows : (double)n->rows;
    for (uint32_t word = 0; err == STRADS_OK && word < count; word++) {
        if (n->df[word] < n->min_df || n->df[word] > most)
            continue;
        const char *name = strads_names_at(n->col.own, word);
        uint32_t number;
        if (sti_naming_drops(n, name))
            continue;
        err = strads_names_add(kept, name, strlen(name), &number);
    }
    strads_names_free(n->col.own);
    n->col.names = n->col.own = kept;
    return err;
}

strads_err sti_naming_end(sti_naming *n)
{
    strads_err err = sti_naming_choose(n);
    if (err == STRADS_OK && n->col.adding && n->df != NULL &&
        (n->min_df > 1 || n->max_df > 0 || n->trims || n->language != NULL))
        err = forget_rare(n);
    n->row.adding = n->col.adding = false;
    free(n->df);
    free(n->last_row);
    n->df = NULL;
    n->last_row = NULL;
    n->df_capacity = 0;
    return err;
}

void sti_naming_free(sti_naming *n)
{
    strads_names_free(n->row.own);
    strads_names_free(n->col.own);
    strads_names_free(n->language_words);
    free(n->df);
    free(n->last_row);
    *n = (sti_naming){0};
}
