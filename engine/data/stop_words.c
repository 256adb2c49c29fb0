/* Function words of some languages: articles, pronouns, prepositions,
 * conjunctions, auxiliary verbs, and adverbs of time and degree, as the parser
 * of texts writes them (stop_words.inc). */
#include <string.h>

#include "engine/data/naming.h"

typedef struct language {
    const char *code, *words;
} language;

static const language languages[] = {
#include "engine/data/stop_words.inc"
};

enum { N_LANGUAGES = sizeof languages / sizeof *languages };

static const language *find_language(const char *code)
{
    for (size_t k = 0; k < N_LANGUAGES; k++)
        if (strcmp(languages[k].code, code) == 0)
            return &languages[k];
    return NULL;
}

static strads_err fill_words(const language *of, strads_names *names)
{
    strads_err err = STRADS_OK;
    uint32_t number;
    for (const char *p = of->words; *p != '\0' && err == STRADS_OK;) {
        const size_t size = strcspn(p, " ");
        err = strads_names_add(names, p, size, &number);
        p += size + (p[size] == ' ');
    }
    return err;
}

strads_err sti_stop_words(const char **code, strads_names **out)
{
    const language *of = find_language(*code);
    if (of == NULL)
        return strads_fail(STRADS_EINVAL,
                           "there are no stop words of language \"%.20s\", "
                           "expected de, en, es, fr, it, nl, pt or ru",
                           *code);
    strads_names *names = NULL;
    strads_err err = strads_names_new(&names);
    if (err == STRADS_OK)
        err = fill_words(of, names);
    if (err != STRADS_OK) {
        strads_names_free(names);
        return err;
    }
    *code = of->code;
    *out = names;
    return STRADS_OK;
}

/* The documents with a stop word, summed over the language's words. */
static uint64_t count_stops(const language *of, const strads_names *names,
                            const uint32_t *df)
{
    uint64_t sum = 0;
    uint32_t number;
    for (const char *p = of->words; *p != '\0';) {
        const size_t size = strcspn(p, " ");
        if (strads_names_find(names, p, size, &number))
            sum += df[number];
        p += size + (p[size] == ' ');
    }
    return sum;
}

const char *sti_language_of(const strads_names *names, const uint32_t *df)
{
    static const double LEAST_SHARE = .1;
    const char *found = NULL;
    uint64_t all = 0, most = 0;
    for (uint32_t w = 0; w < strads_names_count(names); w++)
        all += df[w];
    for (size_t k = 0; k < N_LANGUAGES; k++) {
        const uint64_t stops = count_stops(&languages[k], names, df);
        if (stops > most && (double)stops >= LEAST_SHARE * (double)all) {
            most = stops;
            found = languages[k].code;
        }
    }
    return found;
}
