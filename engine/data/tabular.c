/* Samples from a table: lines of fields after a line with the columns'
 * names.
 *
 * The text is read up to three times: to find the columns of text (if the
 * options do not give them), to collect their values, and to read the numbers
 * as compressed rows. sti_data_from_arrays makes the data set from these rows.
 * A column of text becomes one column of 0 and 1 for each of its values,
 * `column=value`, in byte order of the values; columns keep the order of the
 * header. If the columns are known from a model, fields find their columns by
 * these names, and an unknown field is ignored. Zeros are left out. A missing
 * number is NaN until the column's mean is known. */
#include "engine/data/tabular.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "engine/data/build.h"
#include "engine/data/memory.h"
#include "engine/data/npy.h"
#include "engine/data/read.h"

enum { LONGEST_NAME = 4096, MOST_FIELDS = 1 << 20 };

typedef enum use { NUMBER, LEVELS, TARGET, DROPPED } use;

typedef struct column {
    use use;
    bool unnamed;         /* no name in the header; `use` is DROPPED */
    uint32_t at;          /* NUMBER: column of the data set */
    strads_names *levels; /* LEVELS: the values, in the order found */
    double sum;
    uint64_t missing;
} column;

typedef struct entry {
    uint32_t at;
    double value;
} entry;

typedef struct table {
    const char *path;
    strads_data_options o;
    sti_text text;
    sti_text_bytes whole;
    const char *begin, *end; /* the text of the rows */
    uint64_t line;           /* line of the current row */
    char separator;
    uint32_t n; /* fields in a row */
    column *columns;
    sti_field *fields;
    strads_names *header;
    uint32_t target; /* n: no target */
    bool named;      /* the values of the target are names */
    sti_label_names labels;
    strads_names *own_names;
    const strads_names *names; /* names of the data set's columns */
    entry *entries;            /* [n] entries of the current row */
    uint64_t *start;           /* [rows + 1]; this and the arrays below grow */
    uint32_t *index;
    double *value, *label, *means;
    uint64_t rows, row_capacity, nnz, capacity;
    uint64_t unknown; /* fields with a value that has no column */
} table;

bool sti_tabular_wanted(const char *path, const strads_data_options *o)
{
    strads_data_options full;
    return sti_data_options(o, &full) == STRADS_OK &&
           full.kind == STRADS_KIND_SAMPLES &&
           (full.table || full.target != NULL || sti_npy_format(path) != NULL);
}

/* ---- messages ------------------------------------------------------------ */

static const char *name_of(const table *t, uint32_t k)
{
    return strads_names_at(t->header, k);
}

static strads_err wrong_field(const table *t, uint32_t k, const char *expected)
{
    char quoted[120];
    const sti_field *f = &t->fields[k];
    sti_text_quote(f->begin, f->end, quoted, sizeof quoted);
    return strads_fail(STRADS_EFORMAT,
                       "%s: line %llu: found '%s' in column '%s', expected %s",
                       t->path, (unsigned long long)t->line, quoted,
                       name_of(t, k), expected);
}

static strads_err no_table_memory(const table *t)
{
    return strads_fail(STRADS_ENOMEM,
                       "%s: the table takes more memory than may be used, %llu "
                       "bytes: read it in another format, or allow more "
                       "(--memory)",
                       t->path, (unsigned long long)t->o.memory_limit);
}

static uint64_t held(const table *t)
{
    return t->whole.capacity + t->row_capacity * 2 * sizeof(double) +
           t->capacity * (sizeof(double) + sizeof(uint32_t));
}

static bool grow_array(void *array, uint64_t old, uint64_t wanted, size_t size)
{
    void *grown = sti_big_grow(*(void **)array, old * size, wanted * size);
    if (grown != NULL)
        *(void **)array = grown;
    return grown != NULL;
}

/* ---- opening the text ---------------------------------------------------- */

static strads_err open_text(table *t)
{
    strads_err err = sti_text_open(&t->text, t->path, t->o.memory_limit);
    if (err != STRADS_OK)
        return err;
    err = sti_text_whole(&t->text, t->o.memory_limit, &t->whole);
    t->begin = t->whole.begin;
    t->end = t->whole.end;
    if (err == STRADS_OK)
        err = sti_text_refuse_page(t->path, t->begin, t->end);
    if (err == STRADS_OK)
        t->begin += sti_text_mark(t->begin, t->end);
    return err == STRADS_ENOMEM ? no_table_memory(t) : err;
}

/* True for a line with an entry `number:value`, which no header has. */
static bool is_sparse(const char *p, const char *end)
{
    const char *line_end = sti_line_end(p, end);
    while (p < line_end) {
        const char *digits = p;
        while (p < line_end && *p >= '0' && *p <= '9')
            p++;
        if (p > digits && p < line_end && *p == ':')
            return true;
        while (p < line_end && !sti_is_blank(*p))
            p++;
        while (p < line_end && sti_is_blank(*p))
            p++;
    }
    return false;
}

strads_err sti_tabular_refuse(const char *path, const char *begin,
                              const char *end)
{
    const char *line_end = sti_line_end(begin, end);
    const size_t size = (size_t)(line_end - begin);
    char quoted[120];
    if (size == 0 || is_sparse(begin, end) || memchr(begin, '#', size) ||
        (!memchr(begin, ',', size) && !memchr(begin, ';', size)))
        return STRADS_OK;
    sti_text_quote(begin, line_end, quoted, sizeof quoted);
    return strads_fail(STRADS_EFORMAT,
                       "%s: line 1: found '%s', expected LIBSVM or "
                       "MatrixMarket text; if this is a table with a header, "
                       "name the column of the labels (--target NAME)",
                       path, quoted);
}

/* ---- reading the header -------------------------------------------------- */

/* True if a name can be stored in a model's JSON. */
static bool is_text(const char *p, size_t size)
{
    for (const char *end = p + size; p < end;) {
        const size_t n =
            sti_character((const unsigned char *)p, (size_t)(end - p));
        if (n == 0 && *p != ' ')
            return false;
        p += n > 0 ? n : 1;
    }
    return size > 0;
}

/* Copies the field's text to `out` and sets its size. STRADS_EFORMAT if it
 * is not a valid name. `k` is the field's number, for messages. */
static strads_err copy_field_name(const table *t, const sti_field *f,
                                  uint32_t k, char *out, size_t *size)
{
    const bool fits = f->end - f->begin < LONGEST_NAME;
    *size = fits ? sti_field_plain(f, out) : 0;
    /* A line end in quotes becomes a blank of the name. */
    for (size_t i = 0; i < *size; i++)
        if (out[i] == '\n' || out[i] == '\r' || out[i] == '\t')
            out[i] = ' ';
    return fits && is_text(out, *size)
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "%s: line %llu, field %u: expected a name of 1 to "
                             "%d bytes of UTF-8",
                             t->path, (unsigned long long)t->line, k + 1,
                             (int)LONGEST_NAME - 1);
}

static strads_err wrong_quotes(const table *t, const char *at,
                               const char *line_end)
{
    char quoted[120];
    sti_text_quote(at, line_end, quoted, sizeof quoted);
    return strads_fail(STRADS_EFORMAT,
                       "%s: line %llu: found '%s', expected a field with "
                       "quotes that close before a separator or a line end",
                       t->path, (unsigned long long)t->line, quoted);
}

/* Makes a placeholder name for an unnamed column; no header can contain it. */
static size_t stand_in(uint32_t k, char *name)
{
    return (size_t)snprintf(name, LONGEST_NAME, "\x01%u", k);
}

static strads_err read_header(table *t)
{
    char name[LONGEST_NAME];
    size_t size;
    uint32_t number;
    t->line = 1;
    while (t->begin < t->end && (sti_is_blank(*t->begin) || *t->begin == '\n'))
        t->line += *t->begin++ == '\n';
    const char *line_end = sti_line_end(t->begin, t->end);
    t->separator = sti_separator_of(t->begin, line_end);
    const char *after;
    const char *wrong = sti_record_split(t->begin, t->end, t->separator, NULL,
                                         0, &t->n, &after);
    if (wrong != NULL)
        return wrong_quotes(t, wrong, sti_line_end(wrong, t->end));
    if (t->n > MOST_FIELDS)
        return strads_fail(STRADS_ELIMIT, "%s: has %u columns, at most %d fit",
                           t->path, t->n, (int)MOST_FIELDS);
    t->target = t->n;
    t->columns = calloc(t->n, sizeof *t->columns);
    t->fields = calloc(t->n, sizeof *t->fields);
    t->entries = calloc(t->n, sizeof *t->entries);
    if (!t->columns || !t->fields || !t->entries)
        return no_table_memory(t);
    (void)sti_record_split(t->begin, t->end, t->separator, t->fields, t->n,
                           &t->n, &after);
    strads_err err = strads_names_new(&t->header);
    for (uint32_t k = 0; k < t->n && err == STRADS_OK; k++) {
        column *c = &t->columns[k];
        c->unnamed = t->fields[k].begin == t->fields[k].end;
        c->use = c->unnamed ? DROPPED : NUMBER;
        size = c->unnamed ? stand_in(k, name) : 0;
        err = c->unnamed ? STRADS_OK
                         : copy_field_name(t, &t->fields[k], k, name, &size);
        if (err == STRADS_OK)
            err = strads_names_add(t->header, name, size, &number);
        if (err == STRADS_OK && number != k)
            err = strads_fail(STRADS_EFORMAT,
                              "%s: line %llu: the header has column '%s' "
                              "twice, expected names that differ",
                              t->path, (unsigned long long)t->line,
                              name_of(t, number));
    }
    t->line += sti_text_count_lines(t->begin, after);
    t->begin = after < t->end ? after + 1 : t->end;
    return err;
}

/* ---- choosing the columns ------------------------------------------------ */

static strads_err find_named(const table *t, const char *option,
                             const char *name, size_t size, uint32_t *k)
{
    return strads_names_find(t->header, name, size, k)
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "%s: has no column '%.*s', which --%s names",
                             t->path, (int)size, name, option);
}

/* Unnamed columns at the start of the header are an index, as data frames
 * write it. Other unnamed columns must be dropped by --drop "". */
static strads_err check_unnamed(const table *t, bool dropped)
{
    bool index = true;
    for (uint32_t k = 0; k < t->n; k++) {
        index = index && t->columns[k].unnamed;
        if (t->columns[k].unnamed && !index && !dropped)
            return strads_fail(STRADS_EFORMAT,
                               "%s: field %u of the header has no name: give "
                               "it one, or leave such columns out (--drop "
                               "\"\")",
                               t->path, k + 1);
    }
    return STRADS_OK;
}

/* Assigns a use to the columns in a list, which is a line of CSV. */
static strads_err use_listed(table *t, const char *option, const char *list,
                             use found, bool *unnamed)
{
    char name[LONGEST_NAME];
    const char *end = list + strlen(list);
    strads_err err = STRADS_OK;
    for (const char *p = list; p != NULL && err == STRADS_OK;) {
        uint32_t k = 0, n;
        sti_field f;
        const char *comma = p;
        for (bool quoted = false; comma < end && (quoted || *comma != ',');
             comma++)
            quoted ^= *comma == '"';
        if (sti_fields_split(p, comma, ',', &f, 1, &n) != NULL ||
            f.end - f.begin >= LONGEST_NAME)
            return strads_fail(STRADS_EINVAL,
                               "--%s %s: expected names separated by commas",
                               option, list);
        const size_t size = sti_field_plain(&f, name);
        p = comma < end ? comma + 1 : NULL;
        if (size == 0 && found == DROPPED) {
            *unnamed = true;
            continue;
        }
        err = find_named(t, option, name, size, &k);
        if (err == STRADS_OK && k == t->target)
            err = strads_fail(STRADS_EINVAL, "--%s names the target, '%s'",
                              option, name_of(t, k));
        if (err == STRADS_OK)
            t->columns[k].use = found;
    }
    return err;
}

/* If columns are known, a number has the field's name, a value of text
 * `name=`. */
static void use_known(table *t)
{
    const uint32_t all = strads_names_count(t->names);
    for (uint32_t k = 0; k < t->n; k++) {
        column *c = &t->columns[k];
        const char *name = name_of(t, k);
        if (c->use == NUMBER &&
            !strads_names_find(t->names, name, strlen(name), &c->at))
            c->use = DROPPED;
    }
    for (uint32_t j = 0; j < all; j++) {
        const char *name = strads_names_at(t->names, j);
        uint32_t k;
        for (const char *at = strchr(name, '='); at; at = strchr(at + 1, '='))
            if (strads_names_find(t->header, name, (size_t)(at - name), &k) &&
                t->columns[k].use == DROPPED && k != t->target)
                t->columns[k].use = LEVELS;
    }
}

/* Checks that each known column comes from a field. */
static strads_err check_known(const table *t)
{
    const uint32_t all = strads_names_count(t->names);
    for (uint32_t j = 0; j < all; j++) {
        const char *name = strads_names_at(t->names, j);
        uint32_t k;
        bool found = strads_names_find(t->header, name, strlen(name), &k) &&
                     t->columns[k].use == NUMBER;
        for (const char *at = strchr(name, '='); at && !found;
             at = strchr(at + 1, '='))
            found =
                strads_names_find(t->header, name, (size_t)(at - name), &k) &&
                t->columns[k].use == LEVELS;
        if (!found)
            return strads_fail(
                STRADS_EFORMAT,
                "%s: has no column for '%s', which the model "
                "has: expected the header that it was trained on",
                t->path, name);
    }
    return STRADS_OK;
}

static bool is_one_hot(const char *categorical, const char **list)
{
    static const char one_hot[] = "one-hot";
    const size_t n = sizeof one_hot - 1;
    *list = NULL;
    if (strncmp(categorical, one_hot, n) != 0)
        return false;
    if (categorical[n] == '=' && categorical[n + 1] != '\0')
        *list = categorical + n + 1;
    return categorical[n] == '\0' || *list != NULL;
}

static strads_err find_uses(table *t, bool *search)
{
    const strads_data_options *o = &t->o;
    const char *list = NULL;
    strads_err err = STRADS_OK;
    *search = false;
    if (o->missing && strcmp(o->missing, "refuse") != 0 &&
        strcmp(o->missing, "mean") != 0)
        return strads_fail(STRADS_EINVAL,
                           "--missing %s: expected refuse or mean", o->missing);
    if (o->categorical && !is_one_hot(o->categorical, &list))
        return strads_fail(STRADS_EINVAL,
                           "--categorical %s: expected one-hot or "
                           "one-hot=NAMES",
                           o->categorical);
    if (o->target)
        err = find_named(t, "target", o->target, strlen(o->target), &t->target);
    if (err != STRADS_OK && t->names == NULL)
        return err;
    if (err != STRADS_OK) /* no labels when predicting */
        t->target = t->n;
    if (t->target < t->n)
        t->columns[t->target].use = TARGET;
    bool unnamed = false;
    err =
        o->drop ? use_listed(t, "drop", o->drop, DROPPED, &unnamed) : STRADS_OK;
    if (err == STRADS_OK && t->names == NULL)
        err = check_unnamed(t, unnamed);
    if (err != STRADS_OK)
        return err;
    if (t->names != NULL) {
        use_known(t);
        return check_known(t);
    }
    *search = o->categorical && list == NULL;
    return list ? use_listed(t, "categorical", list, LEVELS, NULL) : STRADS_OK;
}

/* ---- reading rows -------------------------------------------------------- */

typedef strads_err (*visitor)(table *t);

/* Calls `visit` for each row, with its fields in t->fields. */
static strads_err each_row(table *t, uint64_t first_line, visitor visit)
{
    strads_err err = STRADS_OK;
    t->line = first_line;
    for (const char *p = t->begin; p < t->end && err == STRADS_OK; t->line++) {
        const char *after;
        const char *line_end = sti_line_end(p, t->end);
        const char *next = line_end < t->end ? line_end + 1 : t->end;
        uint32_t n;
        const char *q = p;
        while (q < line_end && sti_is_blank(*q) && *q != t->separator)
            q++;
        if (q == line_end) {
            p = next;
            continue;
        }
        const char *wrong = sti_record_split(p, t->end, t->separator, t->fields,
                                             t->n, &n, &after);
        if (wrong != NULL) {
            t->line += sti_text_count_lines(p, wrong);
            return wrong_quotes(t, wrong, sti_line_end(wrong, t->end));
        }
        if (n != t->n)
            return strads_fail(STRADS_EFORMAT,
                               "%s: line %llu: found %u fields, expected %u, "
                               "as the header has%s",
                               t->path, (unsigned long long)t->line, n, t->n,
                               n == t->n + 1 && t->rows == 0
                                   ? " (R's write.table names the column of "
                                     "row names with col.names = NA)"
                                   : "");
        err = visit(t);
        t->line += after > line_end ? sti_text_count_lines(p, after) : 0;
        p = after < t->end ? after + 1 : t->end;
    }
    return err;
}

static bool is_missing(const sti_field *f)
{
    static const char *const words[] = {"",     "na",   "n/a", "nan",
                                        "null", "none", "?"};
    const size_t size = (size_t)(f->end - f->begin);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strlen(words[k]) == size &&
            strncasecmp(f->begin, words[k], size) == 0)
            return true;
    return false;
}

static strads_err look_for_text(table *t)
{
    double value;
    for (uint32_t k = 0; k < t->n; k++)
        if (t->columns[k].use == NUMBER && !is_missing(&t->fields[k]) &&
            sti_field_number(&t->fields[k], &value) == STI_NUMBER_NONE)
            t->columns[k].use = LEVELS;
    return STRADS_OK;
}

/* `name` has space for LONGEST_NAME and STI_TEXT_SLACK bytes. */
static strads_err take_label_name(const table *t, char *name, size_t *size)
{
    strads_err err =
        copy_field_name(t, &t->fields[t->target], t->target, name, size);
    if (err == STRADS_OK)
        memset(name + *size, 0, STI_TEXT_SLACK);
    return err == STRADS_OK && sti_label_is_name(name, name + *size)
               ? STRADS_OK
               : wrong_field(t, t->target,
                             "a label (one word of up to 63 bytes without , : "
                             "= #, as in the first row)");
}

static strads_err collect_levels(table *t)
{
    char name[LONGEST_NAME + STI_TEXT_SLACK];
    size_t size;
    uint32_t number;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < t->n && err == STRADS_OK; k++) {
        column *c = &t->columns[k];
        if (c->use != LEVELS || is_missing(&t->fields[k]))
            continue;
        err = c->levels ? STRADS_OK : strads_names_new(&c->levels);
        if (err == STRADS_OK)
            err = copy_field_name(t, &t->fields[k], k, name, &size);
        if (err == STRADS_OK)
            err = strads_names_add(c->levels, name, size, &number);
    }
    if (err == STRADS_OK && t->labels.found != NULL) {
        err = take_label_name(t, name, &size);
        if (err == STRADS_OK)
            err = strads_names_add(t->labels.found, name, size, &number);
        if (err == STRADS_OK &&
            strads_names_count(t->labels.found) > STRADS_LABEL_NAMES_MAX)
            err = wrong_field(t, t->target, "at most 1000 different labels");
    }
    return err;
}

/* ---- columns of the data set --------------------------------------------- */

static strads_err add_column_name(table *t, const char *field,
                                  const char *level, uint32_t *number)
{
    char name[2 * LONGEST_NAME];
    const uint32_t before = strads_names_count(t->own_names);
    const int size = snprintf(name, sizeof name, "%s%s%s", field,
                              level ? "=" : "", level ? level : "");
    strads_err err = strads_names_add(t->own_names, name, (size_t)size, number);
    return err != STRADS_OK || *number == before
               ? err
               : strads_fail(STRADS_EFORMAT,
                             "%s: two columns would be called '%s': rename one "
                             "in the header",
                             t->path, name);
}

static strads_err add_levels(table *t, uint32_t k)
{
    const char **sorted;
    uint32_t count, number;
    strads_err err = sti_names_sorted(t->columns[k].levels, &sorted, &count);
    for (uint32_t j = 0; j < count && err == STRADS_OK; j++)
        err = add_column_name(t, name_of(t, k), sorted[j], &number);
    free(sorted);
    return err;
}

static strads_err make_names(table *t)
{
    strads_err err = strads_names_new(&t->own_names);
    for (uint32_t k = 0; k < t->n && err == STRADS_OK; k++)
        if (t->columns[k].use == NUMBER)
            err = add_column_name(t, name_of(t, k), NULL, &t->columns[k].at);
        else if (t->columns[k].use == LEVELS)
            err = add_levels(t, k);
    t->names = t->own_names;
    return err;
}

/* ---- reading numbers ----------------------------------------------------- */

static strads_err refuse_missing(const table *t, uint32_t k)
{
    return wrong_field(t, k,
                       t->o.col_names == NULL
                           ? "a value (--missing mean puts the mean of the "
                             "column there, --drop leaves the column out)"
                           : "a value: the model was not trained with "
                             "--missing mean");
}

/* True if a missing field may be filled in. */
static bool may_fill(const table *t)
{
    return t->o.col_names != NULL
               ? t->o.col_means != NULL
               : t->o.missing != NULL && strcmp(t->o.missing, "mean") == 0;
}

static strads_err parse_table_number(table *t, uint32_t k, entry *out)
{
    column *c = &t->columns[k];
    out->at = c->at;
    switch (sti_field_number(&t->fields[k], &out->value)) {
    case STI_NUMBER_OK:
        c->sum += out->value;
        return STRADS_OK;
    case STI_NUMBER_NONE:
        return wrong_field(t, k,
                           "a number (--categorical one-hot makes columns of "
                           "text, --drop leaves one out)");
    default:
        return wrong_field(t, k, "a number that a double can hold");
    }
}

/* Adds an entry for the column of a text value; *n is the number of entries
 * so far. */
static strads_err take_level(table *t, uint32_t k, uint32_t *n)
{
    char name[2 * LONGEST_NAME];
    size_t size;
    uint32_t at;
    const int begin = snprintf(name, LONGEST_NAME + 1, "%s=", name_of(t, k));
    strads_err err = copy_field_name(t, &t->fields[k], k, name + begin, &size);
    if (err != STRADS_OK)
        return err;
    if (strads_names_find(t->names, name, (size_t)begin + size, &at))
        t->entries[(*n)++] = (entry){at, 1};
    else
        t->unknown++;
    return STRADS_OK;
}

static strads_err parse_table_label(table *t)
{
    char name[LONGEST_NAME + STI_TEXT_SLACK];
    size_t size;
    double *label = &t->label[t->rows];
    const sti_field *f = &t->fields[t->target];
    if (is_missing(f))
        return wrong_field(t, t->target, "the label of its row");
    if (!t->named)
        return sti_field_number(f, label) == STI_NUMBER_OK
                   ? STRADS_OK
                   : wrong_field(t, t->target, "a label (a number)");
    uint32_t number = strads_names_count(t->labels.names);
    strads_err err = take_label_name(t, name, &size);
    (void)strads_names_find(t->labels.names, name, size, &number);
    *label = number;
    return err;
}

static bool reserve_row(table *t)
{
    const uint64_t rows = t->row_capacity ? 2 * t->row_capacity : 4096;
    if (t->rows + 1 >= t->row_capacity) {
        if (held(t) + rows * 16 > t->o.memory_limit ||
            !grow_array(&t->start, t->row_capacity, rows, sizeof *t->start) ||
            !grow_array(&t->label, t->row_capacity, rows, sizeof *t->label))
            return false;
        t->row_capacity = rows;
    }
    if (t->nnz + t->n > t->capacity) {
        const uint64_t capacity = 2 * t->capacity + 4096 + t->n;
        if (held(t) + capacity * 12 > t->o.memory_limit ||
            !grow_array(&t->index, t->capacity, capacity, sizeof *t->index) ||
            !grow_array(&t->value, t->capacity, capacity, sizeof *t->value))
            return false;
        t->capacity = capacity;
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static strads_err encode(table *t)
{
    uint32_t n = 0;
    bool ascends = true;
    strads_err err = reserve_row(t) ? STRADS_OK : no_table_memory(t);
    for (uint32_t k = 0; k < t->n && err == STRADS_OK; k++) {
        column *c = &t->columns[k];
        if (c->use == TARGET)
            err = parse_table_label(t);
        if (c->use != NUMBER && c->use != LEVELS)
            continue;
        const bool missing = is_missing(&t->fields[k]);
        if (missing && !may_fill(t))
            err = refuse_missing(t, k);
        else if (missing && c->use == NUMBER) {
            c->missing++;
            t->entries[n++] = (entry){c->at, NAN};
        } else if (c->use == NUMBER) {
            err = parse_table_number(t, k, &t->entries[n]);
            n += t->entries[n].value != 0;
        } else if (!missing)
            err = take_level(t, k, &n);
        ascends =
            ascends && (n < 2 || t->entries[n - 1].at >= t->entries[n - 2].at);
    }
    if (!ascends)
        qsort(t->entries, n, sizeof *t->entries, by_place);
    for (uint32_t k = 0; k < n && err == STRADS_OK; k++) {
        t->index[t->nnz] = t->entries[k].at;
        t->value[t->nnz++] = t->entries[k].value;
    }
    t->rows++;
    if (err == STRADS_OK)
        t->start[t->rows] = t->nnz;
    return err;
}

/* Replaces missing numbers by the column's mean. */
static strads_err fill_in(table *t)
{
    const uint32_t cols = strads_names_count(t->names);
    const double *means = t->o.col_means;
    if (!may_fill(t))
        return STRADS_OK;
    if (means == NULL) {
        t->means = calloc((size_t)cols + 1, sizeof *t->means);
        if (t->means == NULL)
            return no_table_memory(t);
        for (uint32_t k = 0; k < t->n; k++) {
            const column *c = &t->columns[k];
            if (c->use != NUMBER)
                continue;
            t->means[c->at] = c->sum / (double)(t->rows - c->missing);
            if (!isfinite(t->means[c->at]))
                return strads_fail(STRADS_EFORMAT,
                                   "%s: column '%s' has no mean for what is "
                                   "missing: leave it out (--drop)",
                                   t->path, name_of(t, k));
        }
        means = t->means;
    }
    for (uint64_t e = 0; e < t->nnz; e++)
        if (isnan(t->value[e]))
            t->value[e] = means[t->index[e]];
    return STRADS_OK;
}

/* ---- making the data set ------------------------------------------------- */

static strads_err make_table_data(table *t, strads_data **out)
{
    strads_data_options o = t->o;
    const strads_arrays a = {.rows = t->rows,
                             .cols = strads_names_count(t->names),
                             .by_row = true,
                             .start = t->start,
                             .starts = STRADS_I64,
                             .index = t->index,
                             .indices = STRADS_I32,
                             .value = t->value,
                             .label = t->target < t->n ? t->label : NULL};
    o.col_names = t->names;
    o.named_labels = t->named;
    o.label_names = t->named ? t->labels.names : NULL;
    o.memory_limit -= held(t) < o.memory_limit ? held(t) : o.memory_limit;
    strads_err err = sti_data_from_arrays(t->path, &a, true, &o, out);
    if (err != STRADS_OK)
        return err;
    strads_data *data = *out;
    data->index_base = 1;
    data->unknown = t->unknown;
    data->own_col_names = t->own_names;
    data->own_label_names = t->labels.own;
    data->own_col_means = t->means;
    t->own_names = t->labels.own = NULL;
    t->means = NULL;
    return STRADS_OK;
}

static strads_err open_labels(table *t)
{
    double value;
    uint32_t n;
    const char *p = t->begin;
    while (p < t->end && (*p == '\n' || sti_is_blank(*p)))
        p++;
    if (!t->o.named_labels || t->target == t->n || p == t->end)
        return STRADS_OK;
    const char *after;
    if (sti_record_split(p, t->end, t->separator, t->fields, t->n, &n,
                         &after) ||
        n != t->n)
        return STRADS_OK; /* a missing target is reported when rows are read */
    t->named =
        sti_field_number(&t->fields[t->target], &value) == STI_NUMBER_NONE;
    return t->named ? sti_label_names_open(&t->labels, t->o.label_names)
                    : STRADS_OK;
}

static strads_err read_rows(table *t, strads_data **out)
{
    bool search;
    strads_err err = find_uses(t, &search);
    const uint64_t first_line = t->line + 1;
    bool levels = false;
    if (err == STRADS_OK)
        err = open_labels(t);
    if (err == STRADS_OK && search)
        err = each_row(t, first_line, look_for_text);
    for (uint32_t k = 0; k < t->n; k++)
        levels = levels || t->columns[k].use == LEVELS;
    if (err == STRADS_OK &&
        ((levels && t->names == NULL) || t->labels.found != NULL))
        err = each_row(t, first_line, collect_levels);
    if (err == STRADS_OK && t->named)
        err = sti_label_names_end(&t->labels);
    if (err == STRADS_OK && t->names == NULL)
        err = make_names(t);
    if (err == STRADS_OK)
        err = each_row(t, first_line, encode);
    if (err == STRADS_OK && t->rows == 0)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: found no rows behind its header, expected at "
                          "least one",
                          t->path);
    if (err == STRADS_OK)
        err = fill_in(t);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&t->text);
    return err == STRADS_OK ? make_table_data(t, out) : err;
}

static void free_table(table *t)
{
    for (uint32_t k = 0; k < t->n && t->columns; k++)
        strads_names_free(t->columns[k].levels);
    free(t->columns);
    free(t->fields);
    free(t->entries);
    free(t->means);
    strads_names_free(t->header);
    strads_names_free(t->own_names);
    sti_label_names_free(&t->labels);
    sti_big_free(t->start, t->row_capacity * sizeof *t->start);
    sti_big_free(t->label, t->row_capacity * sizeof *t->label);
    sti_big_free(t->index, t->capacity * sizeof *t->index);
    sti_big_free(t->value, t->capacity * sizeof *t->value);
    sti_text_bytes_free(&t->whole);
    sti_text_close(&t->text);
}

strads_err sti_tabular_read(const char *path,
                            const strads_data_options *options,
                            sti_tabular_file *file, strads_data **out)
{
    table t = {.path = path};
    strads_err err = sti_data_options(options, &t.o);
    *file = (sti_tabular_file){.format = sti_npy_format(path)};
    if (err == STRADS_OK && file->format != NULL) {
        struct stat info;
        file->file_bytes = file->text_bytes =
            stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
        file->is_table = true;
        return t.o.target == NULL || t.o.col_names != NULL
                   ? sti_npy_read(path, &t.o, out)
                   : strads_fail(STRADS_EINVAL,
                                 "%s: is an array, and its columns have no "
                                 "names: labels are a file of their own "
                                 "(--labels instead of --target)",
                                 path);
    }
    *file = (sti_tabular_file){.is_table = true, .format = "table"};
    if (err == STRADS_OK && path == NULL)
        err = strads_fail(STRADS_EINVAL, "no data file was named");
    if (err == STRADS_OK)
        err = open_text(&t);
    t.names = t.o.col_names;
    if (err == STRADS_OK && t.text.regular)
        file->is_table = !sti_market_is(t.begin, t.end) &&
                         !(t.names != NULL && is_sparse(t.begin, t.end));
    if (err == STRADS_OK && file->is_table && t.o.labels_path != NULL)
        err = strads_fail(STRADS_EINVAL,
                          "%s: is a table, with its labels in a column "
                          "(--target); labels from %s belong to MatrixMarket",
                          path, t.o.labels_path);
    if (err == STRADS_OK && file->is_table) {
        file->codec = t.text.codec;
        file->file_bytes = t.text.size;
        file->text_bytes = (uint64_t)(t.end - t.begin);
        err = read_header(&t);
        if (err == STRADS_OK)
            err = read_rows(&t, out);
    }
    free_table(&t);
    return err;
}
