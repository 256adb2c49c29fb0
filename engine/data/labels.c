/* Labels that are names: which strings are names, the set of names and its
 * order; and labels in a separate file. */
#include "engine/data/naming.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/data/build.h"
#include "engine/data/parse_number.h"
#include "engine/data/read.h"
#include "engine/data/text.h"

/* ---- syntax of a name ---------------------------------------------------- */

const char *sti_label_end(const char *p, const char *end)
{
    const char *after = sti_token_end(p);
    return after < end ? after : end;
}

size_t sti_character(const unsigned char *p, size_t size)
{
    if (p[0] < 0x80)
        return p[0] > ' ' && p[0] != 0x7f;
    const size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n > size)
        return 0;
    uint32_t code = p[0] & (0xffu >> (n + 1));
    for (size_t k = 1; k < n; k++) {
        if ((p[k] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[k] & 0x3fu);
    }
    const bool longer = code < (n == 4 ? 0x10000u : n == 3 ? 0x800u : 0x80u);
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    const bool mark = code == 0xfeff; /* byte order mark: not part of a name */
    return longer || surrogate || mark || code > 0x10ffff ? 0 : n;
}

static bool is_spelled_number(const char *p, size_t size)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    const size_t sign = *p == '+' || *p == '-';
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        if (strlen(words[k]) == size - sign &&
            strncasecmp(p + sign, words[k], size - sign) == 0)
            return true;
    return false;
}

static bool is_label_number(const char *p, const char *after)
{
    double number;
    const char *read = p;
    switch (sti_number_read(p, &read, &number)) {
    case STI_NUMBER_OK:
        return read >= after;
    case STI_NUMBER_HUGE:
    case STI_NUMBER_LONG:
        return true;
    default:
        return is_spelled_number(p, (size_t)(after - p));
    }
}

/* Lists of labels contain commas, options contain equals signs, entries
 * contain colons; so names must not. */
bool sti_label_is_name(const char *p, const char *after)
{
    if (p == after || after - p > STRADS_LABEL_NAME_MAX ||
        is_label_number(p, after))
        return false;
    for (const char *q = p; q < after;) {
        const size_t n =
            sti_character((const unsigned char *)q, (size_t)(after - q));
        if (n == 0 || strchr(",:=#", *q) != NULL)
            return false;
        q += n;
    }
    return true;
}

/* The label of the first row; `end` if there is none. */
static const char *find_first(const char *p, const char *end)
{
    while (p < end) {
        while (p < end && (sti_is_blank(*p) || *p == '\n'))
            p++;
        if (p < end && *p != '#')
            return p;
        const char *line_end =
            p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        p = line_end != NULL ? line_end : end;
    }
    return end;
}

bool sti_label_names_are(const char *begin, const char *end, const char **form)
{
    const char *p = find_first(begin, end);
    const char *after = sti_label_end(p, end);
    if (sti_label_is_name(p, after)) {
        *form = "a label (a name without , : = #, as in the first row)";
        return true;
    }
    *form = is_label_number(p, after)
                ? "a label (a number, as in the first row)"
                : "a label (a number, or a name without , : = #)";
    return false;
}

/* Guards every `found`. Contention is low, because new names are rare. */
static pthread_mutex_t collecting = PTHREAD_MUTEX_INITIALIZER;

/* ---- the set of names ---------------------------------------------------- */

strads_err sti_label_names_open(sti_label_names *n, const strads_names *given)
{
    n->names = given;
    return given == NULL ? strads_names_new(&n->found) : STRADS_OK;
}

strads_err sti_label_names_restart(sti_label_names *n)
{
    if (n->found == NULL)
        return STRADS_OK;
    strads_names_free(n->found);
    n->found = NULL;
    return strads_names_new(&n->found);
}

void sti_label_names_free(sti_label_names *n)
{
    strads_names_free(n->own);
    strads_names_free(n->found);
    *n = (sti_label_names){0};
}

static bool collect_label(sti_feed *f, const char *p, const char *after,
                          const char *end)
{
    sti_label_names *n = f->label_names;
    const size_t size = (size_t)(after - p);
    const uint64_t hash = XXH3_64bits(p, size);
    uint64_t *met = &f->met[hash % STI_LABELS_MET];
    uint32_t number;
    if (*met == hash)
        return true;
    pthread_mutex_lock(&collecting);
    const strads_err err = strads_names_add(n->found, p, size, &number);
    const uint32_t count = strads_names_count(n->found);
    pthread_mutex_unlock(&collecting);
    *met = hash;
    if (err != STRADS_OK)
        sti_feed_trouble(f, err, NULL, NULL, "no memory for names of labels");
    else if (count > STRADS_LABEL_NAMES_MAX)
        sti_feed_trouble(f, STRADS_ELIMIT, p, end,
                         "at most %d different names of labels, and this is "
                         "one more",
                         STRADS_LABEL_NAMES_MAX);
    return f->trouble.err == STRADS_OK;
}

/* If names are given, an unknown name gets the number behind the last one. */
static bool look_up_label(sti_feed *f, const char *p, const char *after,
                          double *number)
{
    const sti_label_names *n = f->label_names;
    uint32_t found = strads_names_count(n->names);
    const bool known =
        strads_names_find(n->names, p, (size_t)(after - p), &found);
    if (!known && n->own != NULL)
        sti_feed_trouble(f, STRADS_EIO, NULL, NULL,
                         "holds other labels than a moment ago; read it again "
                         "when no process writes to it");
    *number = found;
    return f->trouble.err == STRADS_OK;
}

bool sti_label_names_number(sti_feed *f, const char *p, const char *end,
                            double *number)
{
    const char *after = sti_label_end(p, end);
    if (f->label_names->names != NULL)
        return look_up_label(f, p, after, number);
    if (!sti_label_is_name(p, after)) {
        if (after - p > STRADS_LABEL_NAME_MAX)
            sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                             "a label of at most %d bytes",
                             STRADS_LABEL_NAME_MAX);
        else
            sti_feed_trouble(f, STRADS_EFORMAT, p, end, "%s", f->label_form);
        return false;
    }
    *number = 0;
    return collect_label(f, p, after, end);
}

/* ---- order of names ------------------------------------------------------ */

strads_err sti_label_names_end(sti_label_names *n)
{
    const char **sorted;
    uint32_t count, number;
    if (n->found == NULL)
        return STRADS_OK;
    strads_err err = sti_names_sorted(n->found, &sorted, &count);
    if (err == STRADS_OK)
        err = strads_names_new(&n->own);
    for (uint32_t k = 0; k < count && err == STRADS_OK; k++)
        err = strads_names_add(n->own, sorted[k], strlen(sorted[k]), &number);
    free(sorted);
    strads_names_free(n->found);
    n->found = NULL;
    n->names = n->own;
    return err;
}

/* ---- labels in a separate file -------------------------------------------
 *
 * The file is read like samples: lines with one label and no entries, or a
 * matrix of one column or one row. */

/* *found: the number of labels. */
static strads_err check_file(const char *path, const strads_data *data,
                             uint64_t *found)
{
    const strads_share *share = strads_data_share(data, 0);
    uint64_t row = 0;
    *found = share->label ? data->rows : data->rows * data->cols;
    if (!share->label && data->rows != 1 && data->cols != 1)
        return strads_fail(STRADS_EFORMAT,
                           "%s: line 1: found a matrix, expected labels: an "
                           "array of one column",
                           path);
    while (share->label && row < data->rows && data->row_nnz[row] == 0)
        row++;
    return !share->label || row == data->rows
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "%s: label %llu is followed by index:value, "
                             "expected one number a line",
                             path, (unsigned long long)row + 1);
}

/* labels[] starts as zeros, and a matrix omits zeros. */
static void take_labels(const strads_data *data, double *labels)
{
    const strads_share *share = strads_data_share(data, 0);
    const strads_sparse *x = &share->by_row;
    if (share->label)
        memcpy(labels, share->label, data->rows * sizeof *labels);
    for (uint64_t row = 0; row < data->rows; row++)
        for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++)
            labels[data->cols == 1 ? row : x->index[e]] =
                strads_sparse_value(x, e);
}

strads_err sti_labels_read(const char *path, const sti_labels_options *options,
                           sti_label_names *names, double *labels)
{
    const strads_data_options samples = {.size = sizeof samples,
                                         .layout = STRADS_LAYOUT_ROWS,
                                         .memory_limit = options->memory,
                                         .named_labels = options->named,
                                         .label_names = options->given};
    strads_data *data;
    uint64_t found = 0;
    strads_err err = strads_data_read(path, &samples, &data);
    if (err != STRADS_OK)
        return err;
    err = check_file(path, data, &found);
    if (err == STRADS_OK && found != options->rows)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: found %llu labels, expected %llu, one for each "
                          "row",
                          path, (unsigned long long)found,
                          (unsigned long long)options->rows);
    if (err == STRADS_OK) {
        take_labels(data, labels);
        names->names = data->label_names;
        names->own = data->own_label_names;
        data->own_label_names = NULL;
    }
    strads_data_free(data);
    return err;
}
