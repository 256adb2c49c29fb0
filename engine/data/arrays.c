/* Data sets from arrays in memory. The build is the same as for a file, but
 * whole lines are counted, checked and placed at once (lines.h). If the owner
 * lends arrays that already have the layout of the result, the data set borrows
 * them and makes only the starts of lines. */
#include <math.h>
#include <stdlib.h>

#include "engine/base/sized.h"
#include "engine/data/build.h"
#include "engine/data/lines.h"
#include "engine/data/memory.h"

enum { PAGE = 4096 };

typedef struct source {
    const strads_arrays *a;
    sti_lines l;
    uint64_t nnz;
    const char *line, *minor; /* for messages: "row" and "column" */
    const char *name;         /* of the source, for messages */
    bool others;              /* a label may equal the number of names */
    const sti_whole *whole;   /* the data set that these rows are part of, or
                               * NULL */
    strads_range own;         /* the range of these rows in the whole */
} source;

/* ---- checks -------------------------------------------------------------- */

static strads_err check_line(const source *s, uint64_t k, strads_scalar values)
{
    const uint64_t first = sti_lines_start(&s->l, k);
    uint64_t last = 0;
    for (uint64_t at = first; at < sti_lines_start(&s->l, k + 1); at++) {
        const uint64_t i = sti_lines_index(&s->l, at, first);
        const double value = sti_lines_value(&s->l, at);
        if (i >= s->l.minors)
            return strads_fail(STRADS_EINVAL,
                               "%s %llu: found %s %llu, expected below %llu",
                               s->line, (unsigned long long)k, s->minor,
                               (unsigned long long)i,
                               (unsigned long long)s->l.minors);
        if (at > first && i <= last)
            return strads_fail(STRADS_EINVAL,
                               "%s %llu: found %s %llu after %s %llu, expected "
                               "ascending %ss, none twice",
                               s->line, (unsigned long long)k, s->minor,
                               (unsigned long long)i, s->minor,
                               (unsigned long long)last, s->minor);
        if (!isfinite(value))
            return strads_fail(STRADS_EINVAL,
                               "%s %llu, %s %llu: found %g, expected a finite "
                               "value",
                               s->line, (unsigned long long)k, s->minor,
                               (unsigned long long)i, value);
        if (values == STRADS_F32 && isinf((float)value))
            return strads_fail(STRADS_ELIMIT,
                               "value %g does not fit in 32 bits; use f64",
                               value);
        last = i;
    }
    return STRADS_OK;
}

static bool is_integer_type(strads_scalar type)
{
    return type == STRADS_I32 || type == STRADS_I64;
}

static strads_err check_sizes(const source *s)
{
    const strads_arrays *a = s->a;
    const bool sparse = a->start != NULL;
    if (a->rows == 0 && s->whole == NULL)
        return strads_fail(STRADS_EINVAL, "%s without rows", s->name);
    if (a->rows > STI_MOST_LINES || a->cols > STI_MOST_LINES)
        return strads_fail(STRADS_ELIMIT,
                           "%llu rows by %llu columns, at most %llu fit",
                           (unsigned long long)a->rows,
                           (unsigned long long)a->cols,
                           (unsigned long long)STI_MOST_LINES);
    if (is_integer_type(a->values) ||
        (sparse &&
         (!is_integer_type(a->starts) || !is_integer_type(a->indices))))
        return strads_fail(STRADS_EINVAL,
                           "%s: values are f64 or f32, starts and indices i32 "
                           "or i64",
                           s->name);
    if (sparse && sti_lines_start(&s->l, 0) != 0)
        return strads_fail(STRADS_EINVAL, "start[0] is %llu, expected 0",
                           (unsigned long long)sti_lines_start(&s->l, 0));
    for (uint64_t k = 0; sparse && k < s->l.lines; k++)
        if (sti_lines_start(&s->l, k + 1) < sti_lines_start(&s->l, k))
            return strads_fail(STRADS_EINVAL,
                               "start[%llu] is below start[%llu], expected "
                               "ascending starts",
                               (unsigned long long)k + 1,
                               (unsigned long long)k);
    if (sti_lines_start(&s->l, s->l.lines) > 0 &&
        ((sparse && a->index == NULL) || a->value == NULL))
        return strads_fail(STRADS_EINVAL,
                           "%s without an index or a value array", s->name);
    return STRADS_OK;
}

/* Names of the labels; NULL if labels are numbers. */
static const strads_names *names_of(const strads_data_options *o)
{
    return o->named_labels ? o->label_names : NULL;
}

static strads_err check_label(const strads_names *names, bool others,
                              uint64_t i, double label)
{
    if (!isfinite(label))
        return strads_fail(STRADS_EINVAL,
                           "row %llu: found label %g, expected a finite one",
                           (unsigned long long)i, label);
    if (names != NULL &&
        (label < 0 || label >= strads_names_count(names) + (double)others ||
         label != floor(label)))
        return strads_fail(STRADS_EINVAL,
                           "row %llu: found label %g, expected the number of "
                           "one of %u names, counted from 0",
                           (unsigned long long)i, label,
                           strads_names_count(names));
    return STRADS_OK;
}

/* An array can have billions of empty lines at no cost to the caller. So
 * this check of the memory for their counts comes before any loop over lines.
 */
static strads_err check_memory(const source *s, const strads_data_options *o)
{
    const strads_arrays *a = s->a;
    const uint64_t cols = a->cols > o->min_cols ? a->cols : o->min_cols;
    const sti_needs needs =
        sti_needs_of(o, a->rows, cols, a->start && !a->borrow ? s->nnz : 0);
    return sti_needs_check(s->name, o, &needs);
}

/* Keeps ratings in f64 if f32 would round away their differences. */
static void choose_values(const source *s, strads_data_options *o)
{
    sti_value_range range = {0};
    if (o->kind != STRADS_KIND_RATINGS || o->values != STRADS_F32)
        return;
    for (uint64_t at = 0; at < sti_lines_start(&s->l, s->l.lines); at++)
        if (s->a->start != NULL || sti_lines_value(&s->l, at) != 0)
            sti_value_range_add(&range, sti_lines_value(&s->l, at));
    if (sti_value_range_needs_f64(&range))
        o->values = STRADS_F64;
}

/* Counts and checks the entries in one pass. If it finds an error, a slow
 * pass finds the first one. */
static strads_err count_source(const source *s, const strads_data_options *o,
                               sti_totals *counts)
{
    const strads_arrays *a = s->a;
    counts->rows = a->rows;
    counts->cols = a->cols > o->min_cols ? a->cols : o->min_cols;
    counts->col_nnz = sti_big_alloc(counts->cols * sizeof *counts->col_nnz);
    counts->row_nnz = sti_big_alloc(counts->rows * sizeof *counts->row_nnz);
    if (counts->col_nnz == NULL || counts->row_nnz == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to count them",
                           s->name);
    uint32_t *line = a->by_row ? counts->row_nnz : counts->col_nnz;
    uint32_t *minor = a->by_row ? counts->col_nnz : counts->row_nnz;
    strads_err err = STRADS_OK;
    if (!sti_lines_count(&s->l, o->values, line, minor))
        for (uint64_t k = 0; err == STRADS_OK && k < s->l.lines; k++)
            err = check_line(s, k, o->values);
    for (uint64_t k = 0; k < s->l.lines; k++)
        counts->nnz += line[k];
    return err;
}

static strads_err check_source(const source *s, const strads_data_options *o,
                               sti_totals *counts)
{
    const strads_names *const names[] = {o->row_names, o->col_names};
    const uint64_t sizes[] = {s->a->rows, s->a->cols};
    const int first = s->whole != NULL; /* the whole's rows are not known yet */
    strads_err err = check_sizes(s);
    if (err == STRADS_OK)
        err = check_memory(s, o);
    if (err == STRADS_OK)
        err = count_source(s, o, counts);
    for (uint64_t i = 0; err == STRADS_OK && s->a->label && i < s->a->rows; i++)
        err = check_label(names_of(o), s->others, i, s->a->label[i]);
    for (int k = first; k < 2 && err == STRADS_OK; k++)
        if (names[k] != NULL && strads_names_count(names[k]) != sizes[k])
            err =
                strads_fail(STRADS_EINVAL, "%s: %llu %s and %u names for them",
                            s->name, (unsigned long long)sizes[k],
                            k == 0 ? "rows" : "columns",
                            strads_names_count(names[k]));
    return err;
}

/* ---- the build ----------------------------------------------------------- */

/* Replaces the counts of a part by those of the whole. All processes agree
 * on the partition bounds. */
static strads_err join_whole(source *s, sti_build *b, uint64_t **bounds)
{
    if (s->whole == NULL) {
        s->own = (strads_range){0, b->counts->rows};
        return STRADS_OK;
    }
    b->options.partition_entries = 0;
    sti_totals *v = b->counts;
    sti_counts counts = {v->rows, v->cols, v->nnz, v->col_nnz, v->row_nnz};
    const strads_err err =
        s->whole->count(s->whole->arg, &b->options, b->has_labels, &counts,
                        &s->own, bounds);
    v->rows = counts.rows;
    v->nnz = counts.nnz;
    v->row_nnz = counts.row_nnz;
    b->options.row_bounds = *bounds;
    return err;
}

/* Kernels may read a little beyond the end of an array. True if those bytes
 * lie on the last page of the array, or if the array is empty. */
static bool may_overread(const void *array, uint64_t n, size_t width)
{
    const uintptr_t end = (uintptr_t)array + n * width;
    return n == 0 ||
           (end - 1) / PAGE == (end + STI_OVERREAD * width - 1) / PAGE;
}

/* The side that has exactly the layout of these arrays, or NULL. */
static sti_side *find_lent(const source *s, sti_build *b)
{
    const strads_arrays *a = s->a;
    sti_side *side = a->by_row ? &b->data->by_row : &b->data->by_col;
    const bool dense = a->start == NULL;
    const bool same = a->borrow &&
                      (dense ? side->full : a->indices == STRADS_I32) &&
                      a->values == b->options.values && side->wanted &&
                      (!side->cross || s->whole != NULL) && side->count == 1 &&
                      (a->by_row || a->cols >= b->data->cols);
    return same &&
                   (dense ||
                    may_overread(a->index, s->nnz, sizeof(uint32_t))) &&
                   may_overread(a->value, s->nnz,
                                a->values == STRADS_F32 ? sizeof(float)
                                                        : sizeof(double))
               ? side
               : NULL;
}

static void lend(const source *s, sti_side *side)
{
    sti_part *part = &side->parts[0];
    const uint64_t lines = part->line.end - part->line.begin;
    const uint64_t from = part->line.begin - (s->a->by_row ? s->own.begin : 0);
    const uint64_t first = sti_lines_start(&s->l, from);
    for (uint64_t k = 0; k <= lines; k++)
        part->start[k] = sti_lines_start(&s->l, from + k) - first;
    part->base = 0;
    part->nnz = part->start[lines];
    /* The build never writes to a lent side. */
    if (s->a->start != NULL)
        side->index = (uint32_t *)(uintptr_t)s->a->index + first;
    if (s->a->values == STRADS_F32)
        side->f32 = (float *)(uintptr_t)s->a->value + first;
    else
        side->f64 = (double *)(uintptr_t)s->a->value + first;
}

static void set_axis_names(strads_data *data, const strads_data_options *o)
{
    data->label_names = names_of(o);
    data->row_names = o->row_names;
    data->col_names = o->col_names;
    for (uint32_t k = 0; k < data->keep_count; k++) {
        data->shares[k].label_names = data->label_names;
        data->shares[k].row_names = data->row_names;
        data->shares[k].col_names = data->col_names;
    }
}

/* Lines that all have every minor index need no index. */
static void note_full_sides(const source *s, sti_build *b)
{
    const strads_data *d = b->data;
    const bool full = b->options.unindexed && s->a->start == NULL &&
                      s->whole == NULL && d->nnz > 0 &&
                      d->nnz == d->rows * d->cols;
    b->data->by_col.full = full && d->by_col.wanted;
    b->data->by_row.full = full && d->by_row.wanted;
}

static void count_cross(const source *s, sti_side *side)
{
    for (uint32_t p = 0; side->cross && p < side->count; p++)
        sti_lines_count_part(&s->l, side->by_col, &side->parts[p]);
}

static void place(const source *s, sti_side *side)
{
    for (uint32_t p = 0; side->wanted && !side->lent && p < side->count; p++)
        sti_lines_place_part(&s->l, side, &side->parts[p]);
}

/* With all partitions in this process, the checksum is only computed when it
 * is needed. */
static strads_err sum_up(const source *s, sti_build *b)
{
    uint64_t sums[2] = {0, b->digest.label_sum};
    if (s->whole == NULL && b->data->keep_count == b->data->partitions) {
        b->data->unsummed = true;
        return STRADS_OK;
    }
    sums[0] = sti_lines_digest(&s->l);
    const strads_err err =
        s->whole != NULL ? s->whole->add(s->whole->arg, sums) : STRADS_OK;
    b->digest.entry_sum = sums[0];
    b->digest.label_sum = sums[1] + sti_digest_names(names_of(&b->options));
    return err;
}

static strads_err build_from(const source *s, sti_build *b, strads_data **out)
{
    strads_err err = sti_build_begin(b);
    if (err != STRADS_OK)
        return err;
    strads_data *d = b->data;
    note_full_sides(s, b);
    sti_side *lent = find_lent(s, b);
    if (lent != NULL)
        lent->lent = true;
    err = sti_build_allocate(b);
    if (err != STRADS_OK)
        return err;
    count_cross(s, &d->by_col);
    count_cross(s, &d->by_row);
    if (lent != NULL)
        lend(s, lent);
    err = sti_build_open(b, NULL, 1);
    if (err != STRADS_OK)
        return err;
    place(s, &d->by_col);
    place(s, &d->by_row);
    if (s->a->label != NULL)
        sti_build_give_labels(b, s->own, s->a->label);
    sti_twice twice;
    err = sti_build_order(b, true, &twice);
    if (err == STRADS_OK)
        err = sum_up(s, b);
    if (err == STRADS_OK)
        err = sti_build_finish(b, out);
    if (err == STRADS_OK)
        set_axis_names(*out, &b->options);
    return err;
}

static strads_err from_source(source *s, const strads_data_options *options,
                              strads_data **out)
{
    uint64_t *bounds = NULL;
    strads_data_options o;
    sti_totals counts = {0};
    strads_err err = sti_data_options(options, &o);
    if (err == STRADS_OK)
        err = check_source(s, &o, &counts);
    if (err == STRADS_OK) {
        choose_values(s, &o);
        sti_build build = {.name = s->name,
                           .options = o,
                           .counts = &counts,
                           .has_labels = s->a->label != NULL};
        err = join_whole(s, &build, &bounds);
        s->l.first_row = s->own.begin;
        if (err == STRADS_OK)
            err = build_from(s, &build, out);
        sti_build_free(&build);
    }
    free(bounds);
    sti_totals_free(&counts);
    return err;
}

static source source_of(const strads_arrays *a, const char *name)
{
    source s = {.a = a,
                .l = {.a = a,
                      .lines = a->by_row ? a->rows : a->cols,
                      .minors = a->by_row ? a->cols : a->rows},
                .line = a->by_row ? "row" : "column",
                .minor = a->by_row ? "column" : "row",
                .name = name};
    const bool whole = is_integer_type(a->starts) || a->start == NULL;
    s.nnz = whole && s.l.lines <= STI_MOST_LINES
                ? sti_lines_start(&s.l, s.l.lines)
                : 0;
    return s;
}

strads_err sti_data_from_arrays(const char *name, const strads_arrays *arrays,
                                bool others, const strads_data_options *options,
                                strads_data **out)
{
    source s = source_of(arrays, name);
    s.others = others;
    return from_source(&s, options, out);
}

strads_err sti_data_from_part(const strads_arrays *part, const sti_whole *whole,
                              const strads_data_options *options,
                              strads_data **out)
{
    source s = source_of(part, "a part");
    s.whole = whole;
    return from_source(&s, options, out);
}

strads_err strads_data_from_arrays(const strads_arrays *arrays,
                                   const strads_data_options *options,
                                   strads_data **out)
{
    strads_arrays a = {0};
    strads_err err = arrays != NULL
                         ? sti_sized_copy(&a, sizeof a, arrays, "strads_arrays")
                         : strads_fail(STRADS_EINVAL, "no arrays");
    return err == STRADS_OK
               ? sti_data_from_arrays("arrays", &a, false, options, out)
               : err;
}

static strads_err from_lines(const char *name, bool by_row,
                             const strads_columns *c,
                             const strads_data_options *options,
                             strads_data **out)
{
    if (c == NULL || c->start == NULL)
        return strads_fail(STRADS_EINVAL, "%s without a start array", name);
    const strads_arrays a = {.rows = c->rows,
                             .cols = c->cols,
                             .by_row = by_row,
                             .start = c->start,
                             .starts = STRADS_I64,
                             .index = c->index,
                             .indices = STRADS_I32,
                             .value = c->value,
                             .label = c->label};
    return sti_data_from_arrays(name, &a, false, options, out);
}

strads_err strads_data_from_columns(const strads_columns *columns,
                                    const strads_data_options *options,
                                    strads_data **out)
{
    return from_lines("columns", false, columns, options, out);
}

strads_err strads_data_from_rows(const strads_rows *rows,
                                 const strads_data_options *options,
                                 strads_data **out)
{
    return from_lines("rows", true, rows, options, out);
}
