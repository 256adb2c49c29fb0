/* Tables of Arrow's C data interface. Columns are copied into one matrix, or
 * used in place if they already form one. The structures come from another
 * library: lengths, offsets and buffers are checked before they are used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/sized.h"
#include "engine/data/build.h"
#include "strads/arrow.h"
#include "strads/names.h"

#define NO_LABEL UINT64_MAX

/* Formats of numbers; the width of one in bytes. 'b' is a bit. */
static const struct {
    char format;
    uint8_t width;
} number_types[] = {{'c', 1}, {'C', 1}, {'s', 2}, {'S', 2}, {'i', 4}, {'I', 4},
                    {'l', 8}, {'L', 8}, {'e', 2}, {'f', 4}, {'g', 8}, {'b', 0}};

typedef struct arrow_table {
    const strads_arrow *t;
    uint64_t rows, cols; /* without the labels */
    uint64_t label;      /* the child with the labels, or NO_LABEL */
    double *value;       /* [cols x rows] copied columns */
    double *own_label;   /* [rows] */
} arrow_table;

/* Returns the name of child c in `text`: "NAME", or its number from 1. */
static const char *column_name(const arrow_table *w, uint64_t c, char text[96])
{
    const char *name = w->t->schema->children[c]->name;
    if (name != NULL && *name != '\0')
        (void)snprintf(text, 96, "\"%.80s\"", name);
    else
        (void)snprintf(text, 96, "%llu", (unsigned long long)c + 1);
    return text;
}

static bool is_number_format(const char *format)
{
    for (size_t k = 0; k < sizeof number_types / sizeof number_types[0]; k++)
        if (format[0] == number_types[k].format)
            return format[1] == '\0';
    return false;
}

/* A half-precision number (IEEE 754 binary16). */
static double half_number(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 0    ? ldexp(fraction, -24)
                        : exponent != 31 ? ldexp(1024 + fraction, exponent - 25)
                        : fraction != 0  ? NAN
                                         : INFINITY;
    return bits >> 15 ? -size : size;
}

static bool bit_at(const void *bits, uint64_t i)
{
    return ((const uint8_t *)bits)[i / 8] >> i % 8 & 1;
}

static double read_arrow_number(char format, const void *v, uint64_t i)
{
    switch (format) {
    case 'c':
        return ((const int8_t *)v)[i];
    case 'C':
        return ((const uint8_t *)v)[i];
    case 's':
        return ((const int16_t *)v)[i];
    case 'S':
        return ((const uint16_t *)v)[i];
    case 'i':
        return ((const int32_t *)v)[i];
    case 'I':
        return ((const uint32_t *)v)[i];
    case 'l':
        return (double)((const int64_t *)v)[i];
    case 'L':
        return (double)((const uint64_t *)v)[i];
    case 'e':
        return half_number(((const uint16_t *)v)[i]);
    case 'f':
        return (double)((const float *)v)[i];
    case 'g':
        return ((const double *)v)[i];
    default: /* 'b' */
        return bit_at(v, i);
    }
}

/* ---- checks -------------------------------------------------------------- */

static strads_err check_column_type(const arrow_table *w, uint64_t c)
{
    const struct ArrowSchema *s = w->t->schema->children[c];
    char text[96];
    if (s == NULL || s->format == NULL)
        return strads_fail(STRADS_EINVAL,
                           "the schema has no type of column %llu",
                           (unsigned long long)c + 1);
    if (s->dictionary == NULL && is_number_format(s->format))
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "column %s has the Arrow type \"%.40s\"%s; expected "
                       "numbers or booleans: leave it out or encode it",
                       column_name(w, c, text), s->format,
                       s->dictionary != NULL ? " with a dictionary" : "");
}

static strads_err check_schema(arrow_table *w)
{
    const struct ArrowSchema *s = w->t->schema;
    if (s == NULL || s->release == NULL || s->format == NULL)
        return strads_fail(STRADS_EINVAL,
                           "the Arrow schema is missing or released");
    if (strcmp(s->format, "+s") != 0)
        return strads_fail(STRADS_EINVAL,
                           "the Arrow schema has the type \"%.40s\"; expected "
                           "a struct, \"+s\": a record batch",
                           s->format);
    if (s->n_children < 0 || (s->n_children > 0 && s->children == NULL))
        return strads_fail(STRADS_EINVAL, "the Arrow schema has no columns");
    w->label = NO_LABEL;
    for (uint64_t c = 0; c < (uint64_t)s->n_children; c++) {
        const strads_err err = check_column_type(w, c);
        if (err != STRADS_OK)
            return err;
        const char *name = s->children[c]->name;
        if (w->t->label == NULL || name == NULL ||
            strcmp(name, w->t->label) != 0)
            continue;
        if (w->label != NO_LABEL)
            return strads_fail(STRADS_EINVAL,
                               "two columns have the label's name \"%.80s\"",
                               name);
        w->label = c;
    }
    if (w->t->label != NULL && w->label == NO_LABEL)
        return strads_fail(STRADS_EINVAL,
                           "no column has the label's name \"%.80s\"",
                           w->t->label);
    w->cols = (uint64_t)s->n_children - (w->label != NO_LABEL);
    return STRADS_OK;
}

/* The first null among rows from .. from + n of an array; n if there is none.
 * null_count is 0, or -1 if it is not known. */
static uint64_t first_null(const struct ArrowArray *a, uint64_t from,
                           uint64_t n)
{
    const void *valid = a->n_buffers > 0 ? a->buffers[0] : NULL;
    uint64_t i = 0;
    if (a->null_count == 0 || valid == NULL)
        return a->null_count > 0 ? 0 : n;
    while (i < n && bit_at(valid, from + i))
        i++;
    return i;
}

static strads_err check_column(const arrow_table *w,
                               const struct ArrowArray *batch, uint64_t c,
                               uint64_t first)
{
    const struct ArrowArray *a = batch->children[c];
    const uint64_t n = (uint64_t)batch->length;
    char text[96];
    if (a == NULL || a->offset < 0 || a->length < 0 ||
        a->offset > INT64_MAX - a->length - batch->offset ||
        (uint64_t)batch->offset + n > (uint64_t)a->length ||
        a->n_buffers != 2 || a->buffers == NULL ||
        (n > 0 && a->buffers[1] == NULL))
        return strads_fail(STRADS_EINVAL,
                           "column %s: its Arrow array is shorter than the "
                           "batch or has no values",
                           column_name(w, c, text));
    const uint64_t null =
        first_null(a, (uint64_t)(a->offset + batch->offset), n);
    return null == n
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "column %s has a null in row %llu; fill nulls in, "
                             "or leave these rows out",
                             column_name(w, c, text),
                             (unsigned long long)(first + null) + 1);
}

static strads_err check_batch(arrow_table *w, uint64_t k)
{
    const struct ArrowArray *b = w->t->batch[k];
    if (b == NULL || b->release == NULL)
        return strads_fail(STRADS_EINVAL,
                           "Arrow batch %llu is missing or released",
                           (unsigned long long)k + 1);
    if (b->length < 0 || b->offset < 0 ||
        b->n_children != w->t->schema->n_children ||
        (b->n_children > 0 && b->children == NULL) ||
        (b->n_buffers > 0 && b->buffers == NULL))
        return strads_fail(STRADS_EINVAL,
                           "Arrow batch %llu does not fit its schema",
                           (unsigned long long)k + 1);
    const uint64_t n = (uint64_t)b->length;
    const uint64_t null = first_null(b, (uint64_t)b->offset, n);
    if (null < n)
        return strads_fail(STRADS_EINVAL,
                           "row %llu is null; leave such rows out",
                           (unsigned long long)(w->rows + null) + 1);
    for (uint64_t c = 0; c < (uint64_t)b->n_children; c++) {
        const strads_err err = check_column(w, b, c, w->rows);
        if (err != STRADS_OK)
            return err;
    }
    w->rows += n;
    return STRADS_OK;
}

/* ---- values -------------------------------------------------------------- */

/* Copies child c of all batches. */
static void copy_arrow_column(const arrow_table *w, uint64_t c, double *to)
{
    const char format = *w->t->schema->children[c]->format;
    for (uint64_t k = 0; k < w->t->batches; k++) {
        const struct ArrowArray *b = w->t->batch[k], *a = b->children[c];
        const uint64_t from = (uint64_t)(a->offset + b->offset);
        for (uint64_t i = 0; i < (uint64_t)b->length; i++)
            *to++ = read_arrow_number(format, a->buffers[1], from + i);
    }
}

/* The matrix that the columns form in memory, or NULL. */
static const void *find_matrix(const arrow_table *w, strads_scalar *values)
{
    const struct ArrowSchema *s = w->t->schema;
    const char *first = NULL;
    uint64_t at = 0;
    if (!w->t->borrow || w->t->batches != 1 || w->cols == 0)
        return NULL;
    const struct ArrowArray *b = w->t->batch[0];
    const char format = *s->children[w->label == 0]->format;
    const size_t width = format == 'f' ? sizeof(float) : sizeof(double);
    if (format != 'g' && format != 'f')
        return NULL;
    for (uint64_t c = 0; c < (uint64_t)s->n_children; c++) {
        const struct ArrowArray *a = b->children[c];
        if (c == w->label)
            continue;
        const char *own = (const char *)a->buffers[1] +
                          (uint64_t)(a->offset + b->offset) * width;
        if (at == 0)
            first = own;
        if (*s->children[c]->format != format ||
            (uintptr_t)own != (uintptr_t)first + at++ * w->rows * width)
            return NULL;
    }
    *values = format == 'f' ? STRADS_F32 : STRADS_F64;
    return first;
}

static strads_err copy_matrix(arrow_table *w)
{
    uint64_t at = 0;
    if (w->rows > 0 && w->cols > SIZE_MAX / sizeof(double) / w->rows)
        return strads_fail(STRADS_ELIMIT, "the Arrow table is too large");
    w->value = malloc((w->rows * w->cols + 1) * sizeof *w->value);
    if (w->value == NULL)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu rows of %llu Arrow columns",
                           (unsigned long long)w->rows,
                           (unsigned long long)w->cols);
    for (uint64_t c = 0; c < (uint64_t)w->t->schema->n_children; c++)
        if (c != w->label)
            copy_arrow_column(w, c, w->value + at++ * w->rows);
    return STRADS_OK;
}

static strads_err copy_labels(arrow_table *w)
{
    if (w->label == NO_LABEL)
        return STRADS_OK;
    w->own_label = malloc((w->rows + 1) * sizeof *w->own_label);
    if (w->own_label == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu labels",
                           (unsigned long long)w->rows);
    copy_arrow_column(w, w->label, w->own_label);
    return STRADS_OK;
}

/* Names of the columns; *out is NULL if some have none, or equal ones. */
static strads_err name_columns(const arrow_table *w, strads_names **out)
{
    const struct ArrowSchema *s = w->t->schema;
    strads_names *names = NULL;
    strads_err err = strads_names_new(&names);
    bool named = true;
    for (uint64_t c = 0;
         err == STRADS_OK && named && c < (uint64_t)s->n_children; c++) {
        const char *name = s->children[c]->name;
        uint32_t number = 0;
        if (c == w->label)
            continue;
        named = name != NULL && *name != '\0' &&
                !strads_names_find(names, name, strlen(name), &number);
        if (named)
            err = strads_names_add(names, name, strlen(name), &number);
    }
    if (err != STRADS_OK || !named) {
        strads_names_free(names);
        names = NULL;
    }
    *out = names;
    return err;
}

static strads_err make_data(arrow_table *w, const strads_data_options *options,
                            strads_data **out)
{
    strads_arrays a = {.size = sizeof a,
                       .rows = w->rows,
                       .cols = w->cols,
                       .borrow = true};
    strads_names *names = NULL;
    strads_data *data = NULL;
    strads_err err = copy_labels(w);
    a.label = w->own_label;
    a.value = err == STRADS_OK ? find_matrix(w, &a.values) : NULL;
    if (err == STRADS_OK && a.value == NULL) {
        a.borrow = false;
        err = copy_matrix(w);
        a.value = w->value;
    }
    if (err == STRADS_OK)
        err = strads_data_from_arrays(&a, options, &data);
    if (err == STRADS_OK && data->col_names == NULL && data->cols == w->cols)
        err = name_columns(w, &names);
    if (err != STRADS_OK) {
        strads_data_free(data);
        return err;
    }
    if (names != NULL) {
        data->col_names = data->own_col_names = names;
        for (uint32_t k = 0; k < data->keep_count; k++)
            data->shares[k].col_names = names;
    }
    *out = data;
    return STRADS_OK;
}

strads_err strads_data_from_arrow(const strads_arrow *table,
                                  const strads_data_options *options,
                                  strads_data **out)
{
    strads_arrow t = {0};
    arrow_table w = {.t = &t};
    if (table == NULL)
        return strads_fail(STRADS_EINVAL, "no Arrow table");
    strads_err err = sti_sized_copy(&t, sizeof t, table, "strads_arrow");
    if (err == STRADS_OK)
        err = check_schema(&w);
    for (uint64_t k = 0; err == STRADS_OK && k < t.batches; k++)
        err = check_batch(&w, k);
    if (err == STRADS_OK)
        err = make_data(&w, options, out);
    free(w.value);
    free(w.own_label);
    return err;
}
