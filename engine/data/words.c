/* Plain text, one document per line, split into words. A word is a run of two
 * or more letters, marks, digits (by Unicode) and underscores between them. A
 * single ideograph is also a word, and so are contractions (don't, we've),
 * abbreviations of single letters (U.S.), C++ and C#. Words are converted to
 * lower case and, if they have marks, composed (NFC), so that all spellings
 * give one name. Format characters within a word, such as a soft hyphen, are
 * dropped. Runs of more than LONGEST bytes are ignored. Bytes that are not
 * UTF-8 are read as Windows-1252, which includes the letters of Latin-1. Each
 * word is an entry; repeats within a document are added up later. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "engine/data/memory.h"
#include "engine/data/naming.h"
#include "engine/data/read.h"

enum { LONGEST = STI_WORD_SIZE };

/* The word that is being read. */
typedef struct word {
    size_t size; /* LONGEST + 1 for every longer word */
    size_t characters;
    size_t sigma;   /* position of its last character, if a capital sigma;
                     * else 0 */
    bool compose;   /* has marks, or characters with several spellings */
    bool ideograph; /* the first character is an ideograph */
    char bytes[LONGEST + 8];
} word;

typedef enum part { SEPARATOR, LETTER, MARK, IGNORED } part;

/* By byte: 0 for bytes outside words, 1 for bytes that are not ASCII,
 * otherwise the byte in lower case. */
static const unsigned char ascii[256] = {
    ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3',      ['4'] = '4',
    ['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8',      ['9'] = '9',
    ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd',      ['E'] = 'e',
    ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i',      ['J'] = 'j',
    ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n',      ['O'] = 'o',
    ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r', ['S'] = 's',      ['T'] = 't',
    ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x',      ['Y'] = 'y',
    ['Z'] = 'z', ['_'] = '_', ['a'] = 'a', ['b'] = 'b',      ['c'] = 'c',
    ['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['g'] = 'g',      ['h'] = 'h',
    ['i'] = 'i', ['j'] = 'j', ['k'] = 'k', ['l'] = 'l',      ['m'] = 'm',
    ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q',      ['r'] = 'r',
    ['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v',      ['w'] = 'w',
    ['x'] = 'x', ['y'] = 'y', ['z'] = 'z', [128 ... 255] = 1};

/* Windows-1252 from 0x80 to 0x9f; 0 for undefined bytes. */
static const uint16_t windows[32] = {0x20ac, 0,      0x201a, 0x0192, 0x201e,
                                     0x2026, 0x2020, 0x2021, 0x02c6, 0x2030,
                                     0x0160, 0x2039, 0x0152, 0,      0x017d,
                                     0,      0,      0x2018, 0x2019, 0x201c,
                                     0x201d, 0x2022, 0x2013, 0x2014, 0x02dc,
                                     0x2122, 0x0161, 0x203a, 0x0153, 0,
                                     0x017e, 0x0178};

/* Decodes the non-ASCII character at p; returns its length in bytes. */
static size_t read_character(const char *p, const char *end, int32_t *code)
{
    const unsigned char *at = (const unsigned char *)p;
    utf8proc_int32_t found = 0;
    const utf8proc_ssize_t left = end - p < 4 ? end - p : 4;
    const utf8proc_ssize_t n = utf8proc_iterate(at, left, &found);
    if (n > 0) {
        *code = found;
        return (size_t)n;
    }
    *code = *at < 0xa0 ? windows[*at - 0x80] : *at;
    return 1;
}

static part part_of(int32_t code)
{
    enum { ZERO_WIDTH_SPACE = 0x200b };
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
        return LETTER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
        /* variation selectors choose a glyph */
        return code >= 0xfe00 && code <= 0xfe0f ? IGNORED : MARK;
    case UTF8PROC_CATEGORY_CF:
        return code == ZERO_WIDTH_SPACE ? SEPARATOR : IGNORED;
    default:
        return SEPARATOR;
    }
}

/* True if a letter has another spelling: Hangul written in parts, or a
 * character with a composed form. */
static bool has_forms(int32_t code)
{
    return (code >= 0x1100 && code <= 0x11ff) ||
           (code >= 0x1f00 &&
            utf8proc_get_property(code)->decomp_seqindex != UINT16_MAX);
}

static void add_character(word *w, int32_t code, part what)
{
    enum { CAPITAL_SIGMA = 0x3a3, FIRST_IDEOGRAPH = 0x2e80 };
    const bool sigma = code == CAPITAL_SIGMA && w->characters > 0;
    w->sigma = sigma ? w->size : 0;
    w->ideograph = w->characters == 0 && code >= FIRST_IDEOGRAPH &&
                   utf8proc_category(code) == UTF8PROC_CATEGORY_LO;
    w->compose = w->compose || what == MARK || has_forms(code);
    w->characters++;
    if (w->size <= LONGEST)
        w->size +=
            (size_t)utf8proc_encode_char(utf8proc_tolower(code),
                                         (unsigned char *)w->bytes + w->size);
    if (w->size > LONGEST)
        w->size = LONGEST + 1;
}

/* Continues a word at a non-ASCII byte. Returns the end of the word, or the
 * byte behind it if the separator is not ASCII. */
static const char *read_unicode(const char *p, const char *end, word *w)
{
    int32_t code;
    while (p < end) {
        const unsigned char c = ascii[(unsigned char)*p];
        if (c == 0)
            return p;
        if (c > 1) {
            add_character(w, *p, LETTER);
            p++;
            continue;
        }
        p += read_character(p, end, &code);
        const part what = part_of(code);
        if (what == SEPARATOR || (what == MARK && w->characters == 0))
            return p;
        if (what != IGNORED)
            add_character(w, code, what);
    }
    return p;
}

/* Returns the length of the end of a contraction at p, such as "t" or "ve"; 0
 * if there is none. */
static size_t contraction_size(const char *p, const char *end)
{
    static const char *const ends[] = {"t", "d", "m", "ll", "re", "ve"};
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        const size_t n = strlen(ends[k]);
        if ((size_t)(end - p) < n || ascii[(unsigned char)p[0]] != ends[k][0] ||
            ascii[(unsigned char)p[n - 1]] != ends[k][n - 1])
            continue;
        if (p + n == end || ascii[(unsigned char)p[n]] == 0)
            return n;
    }
    return 0;
}

static void append_ascii(word *w, char c)
{
    if (w->size < LONGEST)
        w->bytes[w->size] = c;
    w->size = w->size < LONGEST ? w->size + 1 : LONGEST + 1;
}

static bool is_ascii_letter(const char *p, const char *end)
{
    const unsigned char c = p < end ? ascii[(unsigned char)*p] : 0;
    return c >= 'a' && c <= 'z';
}

static bool ends_word(const char *p, const char *end)
{
    return p >= end || ascii[(unsigned char)*p] == 0;
}

/* Continues a word of one letter: U.S., C++, C#. */
static const char *extend_letter(const char *p, const char *end, word *w)
{
    bool dots = false;
    while (*p == '.' && is_ascii_letter(p + 1, end) && ends_word(p + 2, end)) {
        append_ascii(w, '.');
        append_ascii(w, (char)ascii[(unsigned char)p[1]]);
        dots = true;
        p += 2;
        if (p == end)
            break;
    }
    if (dots) {
        append_ascii(w, '.');
        return p < end && *p == '.' ? p + 1 : p;
    }
    if (end - p >= 2 && p[0] == '+' && p[1] == '+') {
        append_ascii(w, '+');
        append_ascii(w, '+');
        return p + 2;
    }
    if (*p == '#' && ends_word(p + 1, end)) {
        append_ascii(w, '#');
        return p + 1;
    }
    return p;
}

/* Continues a word of ASCII behind its letters, at p < end. */
static const char *extend_word(const char *p, const char *end, word *w)
{
    static const char quote[] = "\xe2\x80\x99"; /* a closing quotation mark */
    size_t mark = *p == '\'' ? 1 : 0;
    if ((size_t)(end - p) >= sizeof quote - 1 &&
        memcmp(p, quote, sizeof quote - 1) == 0)
        mark = sizeof quote - 1;
    const size_t n = mark > 0 ? contraction_size(p + mark, end) : 0;
    if (n == 0)
        return w->size == 1 && is_ascii_letter(w->bytes, w->bytes + 1)
                   ? extend_letter(p, end, w)
                   : p;
    append_ascii(w, '\'');
    for (size_t k = 0; k < n; k++)
        append_ascii(w, (char)ascii[(unsigned char)p[mark + k]]);
    return p + mark + n;
}

/* Drops underscores around a word. */
static void trim_word(word *w)
{
    size_t first = 0;
    while (w->size > 0 && w->size <= LONGEST && w->bytes[w->size - 1] == '_')
        w->size--;
    while (first < w->size && w->size <= LONGEST && w->bytes[first] == '_')
        first++;
    if (first > 0)
        memmove(w->bytes, w->bytes + first, w->size - first);
    w->size -= first;
}

static void compose(word *w)
{
    const utf8proc_option_t form =
        (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    utf8proc_int32_t codes[4 * LONGEST + 1];
    const utf8proc_ssize_t most = (utf8proc_ssize_t)4 * LONGEST;
    const utf8proc_ssize_t n =
        utf8proc_decompose((const unsigned char *)w->bytes,
                           (utf8proc_ssize_t)w->size, codes, most, form);
    const utf8proc_ssize_t size =
        n >= 0 && n <= most ? utf8proc_reencode(codes, n, form) : -1;
    w->size = size >= 0 && size <= LONGEST ? (size_t)size : LONGEST + 1;
    if (w->size <= LONGEST)
        memcpy(w->bytes, codes, w->size);
}

/* Reads the run at p, which is not a line end, and returns the position
 * after it. *found is false if the run is not a word. */
static inline const char *next_word(const char *p, const char *end, word *w,
                                    bool *found)
{
    size_t size = 0;
    unsigned char c = 0;
    for (; p < end && (c = ascii[(unsigned char)*p]) > 1; p++, size++)
        if (size < LONGEST)
            w->bytes[size] = (char)c;
    w->size = size <= LONGEST ? size : LONGEST + 1;
    if (size > 0 && p < end) {
        const char *after = extend_word(p, end, w);
        if (after > p) {
            trim_word(w);
            *found = w->size > 1 && w->size <= LONGEST;
            return after;
        }
    }
    if (p < end && c == 1) {
        w->characters = size;
        w->sigma = 0;
        w->compose = w->ideograph = false;
        p = read_unicode(p, end, w);
        if (w->sigma > 0 && w->size <= LONGEST)
            memcpy(w->bytes + w->sigma, "\xcf\x82", 2); /* a sigma at the end
                                                         * of a word */
        if (w->compose && w->size <= LONGEST)
            compose(w);
        trim_word(w);
        *found = w->size <= LONGEST &&
                 (w->characters > 1 || (w->characters == 1 && w->ideograph));
        return p;
    }
    trim_word(w);
    *found = w->size > 1 && w->size <= LONGEST;
    return size == 0 ? p + 1 : p;
}

const char *sti_word_next(const char *p, const char *end,
                          char bytes[STI_WORD_SIZE], size_t *size)
{
    word w;
    bool found;
    const char *after = next_word(p, end, &w, &found);
    *size = found ? w.size : 0;
    memcpy(bytes, w.bytes, *size);
    return after;
}

size_t sti_phrase_join(const strads_names *phrases, const char *a,
                       size_t a_size, const char *b, size_t b_size,
                       char out[STI_PHRASE_SIZE])
{
    const size_t size = a_size + 1 + b_size;
    uint32_t number;
    memcpy(out, a, a_size);
    out[a_size] = '_';
    memcpy(out + a_size + 1, b, b_size);
    return strads_names_find(phrases, out, size, &number) ? size : 0;
}

/* ---- one document per line ----------------------------------------------- */

static void count_word(sti_feed *f, const char *bytes, size_t size)
{
    sti_naming *naming = f->naming;
    uint32_t number;
    bool known;
    if (naming->col.adding)
        naming->words++;
    if (naming->stop_words != NULL &&
        strads_names_find(naming->stop_words, bytes, size, &number))
        return;
    if (naming->language_words != NULL &&
        strads_names_find(naming->language_words, bytes, size, &number))
        return;
    strads_err err =
        sti_axis_number(&naming->col, bytes, size, &number, &known);
    if (err == STRADS_OK && naming->col.adding)
        err = sti_naming_count(naming, number, f->row);
    if (err != STRADS_OK)
        sti_feed_trouble(f, err, NULL, NULL, "%s", strads_error_text());
    else if (known && !naming->col.adding)
        sti_feed_put(f, f->row, number, 1);
    else if (!known && f->values)
        __atomic_fetch_add(&naming->unknown, 1, __ATOMIC_RELAXED);
}

/* Counts the word that may have started a phrase. */
static void end_phrase(sti_feed *f)
{
    if (f->pending_size > 0)
        count_word(f, f->pending, f->pending_size);
    f->pending_size = 0;
}

/* Counts a word as part of a phrase, or keeps it until the next one. */
static void count_phrase(sti_feed *f, const char *bytes, size_t size)
{
    char phrase[STI_PHRASE_SIZE];
    const size_t joined =
        f->pending_size > 0
            ? sti_phrase_join(f->naming->phrases, f->pending, f->pending_size,
                              bytes, size, phrase)
            : 0;
    if (joined > 0) {
        count_word(f, phrase, joined);
        f->pending_size = 0;
        return;
    }
    end_phrase(f);
    memcpy(f->pending, bytes, size);
    f->pending_size = size;
}

static void end_words_row(sti_feed *f)
{
    end_phrase(f);
    if (f->sink->row_end != NULL)
        f->sink->row_end(f, f->row, f->row_nnz);
    f->row++;
    f->row_nnz = 0;
    f->in_row = false;
    if (f->naming->col.adding)
        f->naming->rows = f->row;
}

static void parse_words(sti_feed *f, const char *p, const char *end)
{
    word w;
    bool found;
    while (p < end && f->trouble.err == STRADS_OK) {
        if (*p == '\n') {
            end_words_row(f);
            p++;
            continue;
        }
        f->in_row = true;
        p = next_word(p, end, &w, &found);
        if (found && f->naming->phrases != NULL)
            count_phrase(f, w.bytes, w.size);
        else if (found)
            count_word(f, w.bytes, w.size);
    }
}

static void finish_lines(sti_feed *f)
{
    if (f->in_row)
        end_words_row(f);
}

const sti_parser sti_words_parser = {.name = "text",
                                     .row = "document",
                                     .col = "word",
                                     .row_form = "words of a document",
                                     .base = 1,
                                     .every_line = true,
                                     .cut = ' ',
                                     .take = parse_words,
                                     .finish = finish_lines};

/* ---- lists of words ------------------------------------------------------ */

static strads_err add_words(strads_names *names, const char *p, const char *end)
{
    word w;
    bool found;
    uint32_t number;
    strads_err err = STRADS_OK;
    while (p < end && err == STRADS_OK) {
        p = next_word(p, end, &w, &found);
        if (found)
            err = strads_names_add(names, w.bytes, w.size, &number);
    }
    return err;
}

strads_err strads_names_read_words(const char *path, strads_names **out)
{
    sti_text text;
    sti_text_bytes all = {0};
    strads_names *names = NULL;
    if (path == NULL)
        return strads_fail(STRADS_EINVAL, "no file of words was given");
    const uint64_t limit = sti_memory_available();
    strads_err err = sti_text_open(&text, path, limit);
    if (err != STRADS_OK)
        return err;
    err = sti_text_whole(&text, limit, &all);
    if (err == STRADS_OK)
        err = sti_text_refuse_page(path, all.begin, all.end);
    if (err == STRADS_OK)
        err = strads_names_new(&names);
    if (err == STRADS_OK)
        err = add_words(names, all.begin + sti_text_mark(all.begin, all.end),
                        all.end);
    sti_text_bytes_free(&all);
    sti_text_close(&text);
    if (err == STRADS_OK) {
        *out = names;
        return STRADS_OK;
    }
    strads_names_free(names);
    return err;
}
