/* Passes over lines in arrays: count and check, count a part, place a part.
 *
 * Values and indices of any type are read in blocks of f64 and u32, so the
 * loops exist once and without branches. A dense matrix in the other
 * orientation is transposed in tiles of TILE_LINES by BLOCK values: each cache
 * line of the source is read once, and each line of the side is written in
 * runs of BLOCK values. */
#include "engine/data/lines.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 128, TILE_LINES = 8, LANES = 8 };

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Values at .. at + n - 1, n <= BLOCK: in place, or converted. */
static const double *values_at(const sti_lines *l, uint64_t at, uint64_t n,
                               double buffer[BLOCK])
{
    if (l->a->values == STRADS_F64)
        return (const double *)l->a->value + at;
    const float *from = (const float *)l->a->value + at;
    for (uint64_t i = 0; i < n; i++)
        buffer[i] = (double)from[i];
    return buffer;
}

/* Indices of compressed lines. Indices that do not fit 32 bits become the
 * largest, which no minor index has. */
static const uint32_t *indices_at(const sti_lines *l, uint64_t at, uint64_t n,
                                  uint32_t buffer[BLOCK])
{
    if (l->a->indices == STRADS_I32)
        return (const uint32_t *)l->a->index + at;
    const uint64_t *from = (const uint64_t *)l->a->index + at;
    for (uint64_t i = 0; i < n; i++)
        buffer[i] = from[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)from[i];
    return buffer;
}

/* ---- count and check ----------------------------------------------------- */

/* True if all values are finite, and if `narrow` also as f32. 0 times any
 * other value is NaN. */
static bool are_finite(const double *v, uint64_t n, bool narrow)
{
    double sum[LANES] = {0}, all = 0;
    uint64_t i = 0;
    if (narrow)
        for (; i < n; i++)
            all += (double)((float)v[i] * 0.0F);
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] += v[i + (uint64_t)k] * 0.0;
    for (; i < n; i++)
        all += v[i] * 0.0;
    for (int k = 0; k < LANES; k++)
        all += sum[k];
    return all == 0;
}

static uint64_t count_nonzeros(const double *v, uint64_t n)
{
    double sum[LANES] = {0}, all = 0;
    uint64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] += v[i + (uint64_t)k] != 0 ? 1.0 : 0.0;
    for (; i < n; i++)
        all += v[i] != 0 ? 1.0 : 0.0;
    for (int k = 0; k < LANES; k++)
        all += sum[k];
    return (uint64_t)all;
}

/* Dense. `full` counts the lines without zeros, for all minors at once. */
static bool count_dense(const sti_lines *l, bool narrow, uint32_t *line_nnz,
                        uint32_t *minor_nnz)
{
    double buffer[BLOCK];
    uint32_t full = 0;
    bool good = true;
    for (uint64_t k = 0; k < l->lines && good; k++) {
        const uint64_t first = k * l->minors;
        uint64_t nnz = 0;
        for (uint64_t i = 0; i < l->minors; i += BLOCK) {
            const uint64_t n = smaller(BLOCK, l->minors - i);
            const double *v = values_at(l, first + i, n, buffer);
            good = good && are_finite(v, n, narrow);
            nnz += count_nonzeros(v, n);
        }
        line_nnz[k] = (uint32_t)nnz;
        full += nnz == l->minors;
        for (uint64_t i = 0; i < l->minors && nnz < l->minors; i += BLOCK) {
            const uint64_t n = smaller(BLOCK, l->minors - i);
            const double *v = values_at(l, first + i, n, buffer);
            for (uint64_t e = 0; e < n; e++)
                minor_nnz[i + e] += v[e] != 0;
        }
    }
    for (uint64_t i = 0; i < l->minors; i++)
        minor_nnz[i] += full;
    return good;
}

/* The number of entries whose index is not above that of the entry before;
 * `before` is the one before the first. Clears *inside if an index is not
 * below `minors`. */
static uint64_t count_descents(const uint32_t *index, uint64_t n,
                               uint32_t before, uint64_t minors, bool *inside)
{
    const uint32_t most = (uint32_t)(minors > 0 ? minors - 1 : 0);
    uint32_t descents = index[0] <= before, outside = index[0] > most;
    for (uint64_t i = 1; i < n; i++) {
        descents += index[i] <= index[i - 1];
        outside |= index[i] > most;
    }
    *inside = *inside && !outside && minors > 0;
    return descents;
}

/* Compressed. Within a line every index is above the one before; so the
 * array has as many descents as there are descents from line to line. */
static bool count_compressed(const sti_lines *l, bool narrow,
                             uint32_t *line_nnz, uint32_t *minor_nnz)
{
    const uint64_t nnz = sti_lines_start(l, l->lines);
    double values[BLOCK];
    uint32_t indices[BLOCK], before = 0;
    uint64_t descents = 0, between = 0;
    bool good = true;
    for (uint64_t at = 0; at < nnz && good; at += BLOCK) {
        const uint64_t n = smaller(BLOCK, nnz - at);
        const uint32_t *index = indices_at(l, at, n, indices);
        descents += count_descents(index, n, before, l->minors, &good);
        good = good && are_finite(values_at(l, at, n, values), n, narrow);
        before = index[n - 1];
        for (uint64_t i = 0; i < n && good; i++)
            minor_nnz[index[i]]++;
    }
    for (uint64_t k = 0; k < l->lines && good; k++) {
        const uint64_t first = sti_lines_start(l, k);
        const uint64_t n = sti_lines_start(l, k + 1) - first;
        line_nnz[k] = (uint32_t)n;
        between +=
            n > 0 && sti_lines_index(l, first, first) <=
                         (first > 0 ? sti_lines_index(l, first - 1, 0) : 0);
    }
    return good && descents == between;
}

bool sti_lines_count(const sti_lines *l, strads_scalar values,
                     uint32_t *line_nnz, uint32_t *minor_nnz)
{
    const bool narrow = values == STRADS_F32;
    return l->a->start == NULL
               ? count_dense(l, narrow, line_nnz, minor_nnz)
               : count_compressed(l, narrow, line_nnz, minor_nnz);
}

/* ---- parts --------------------------------------------------------------- */

/* A part as ranges of these lines and minors. */
typedef struct rectangle {
    bool along; /* the part's lines are lines of the source */
    strads_range line, minor;
    /* Added to a line or minor of the source, they give those of the part. */
    uint64_t line_shift, minor_shift;
    sti_part *part;
    const sti_side *side; /* NULL: count */
} rectangle;

/* The lines at `at`, of n, that are in a range of the data set. */
static strads_range common(strads_range r, uint64_t at, uint64_t n)
{
    const uint64_t begin = r.begin > at ? smaller(r.begin - at, n) : 0;
    const uint64_t end = r.end > at ? smaller(r.end - at, n) : 0;
    return (strads_range){begin, end > begin ? end : begin};
}

static rectangle rectangle_of(const sti_lines *l, bool by_col, sti_part *part,
                              const sti_side *side)
{
    const strads_range rows = by_col ? part->minor : part->line;
    const strads_range cols = by_col ? part->line : part->minor;
    const strads_range row = common(rows, l->first_row, l->a->rows);
    const strads_range col = common(cols, 0, l->a->cols);
    const uint64_t row_shift = l->first_row - rows.begin;
    const uint64_t col_shift = 0 - cols.begin;
    const bool by_row = l->a->by_row;
    return (rectangle){.along = by_col != by_row,
                       .line = by_row ? row : col,
                       .minor = by_row ? col : row,
                       .line_shift = by_row ? row_shift : col_shift,
                       .minor_shift = by_row ? col_shift : row_shift,
                       .part = part,
                       .side = side};
}

/* Writes n entries of line k of the part; n <= BLOCK. */
static void write_entries(const rectangle *r, uint64_t k, const uint32_t *index,
                          const double *value, uint64_t n)
{
    uint64_t *place = &r->part->start[k + 1];
    const uint64_t at = *place;
    const uint64_t room = at < r->side->nnz ? r->side->nnz - at : 0;
    *place += n;
    n = smaller(n, room);
    if (r->side->index != NULL)
        memcpy(r->side->index + at, index, n * sizeof *index);
    if (r->side->f64 != NULL)
        memcpy(r->side->f64 + at, value, n * sizeof *value);
    else
        for (uint64_t e = 0; e < n; e++)
            r->side->f32[at + e] = (float)value[e];
}

/* A run of dense values of line k, from minor index `from` on. */
static void put_run(const rectangle *r, uint64_t k, uint64_t from,
                    const double *v, uint64_t n)
{
    uint32_t index[BLOCK + 1];
    double value[BLOCK + 1];
    uint64_t nnz = 0;
    if (r->side == NULL) {
        r->part->start[k + 1] += count_nonzeros(v, n);
        return;
    }
    if (r->side->index == NULL) {
        write_entries(r, k, NULL, v, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        index[nnz] = (uint32_t)(from + i);
        value[nnz] = v[i];
        nnz += v[i] != 0;
    }
    write_entries(r, k, index, value, nnz);
}

static void put_dense_along(const sti_lines *l, const rectangle *r)
{
    double buffer[BLOCK];
    for (uint64_t k = r->line.begin; k < r->line.end; k++)
        for (uint64_t i = r->minor.begin; i < r->minor.end; i += BLOCK) {
            const uint64_t n = smaller(BLOCK, r->minor.end - i);
            put_run(r, k + r->line_shift, i + r->minor_shift,
                    values_at(l, k * l->minors + i, n, buffer), n);
        }
}

/* Source lines k .. k + lines - 1 become minors of the part's lines i .. i +
 * n - 1. */
static void put_tile(const sti_lines *l, const rectangle *r, uint64_t k,
                     uint64_t lines, uint64_t i, uint64_t n)
{
    double tile[TILE_LINES][BLOCK], buffer[BLOCK];
    for (uint64_t m = 0; m < lines; m++) {
        const double *v = values_at(l, (k + m) * l->minors + i, n, buffer);
        for (uint64_t c = 0; c < n; c++)
            tile[c][m] = v[c];
    }
    for (uint64_t c = 0; c < n; c++)
        put_run(r, i + c + r->minor_shift, k + r->line_shift, tile[c], lines);
}

static void put_dense_across(const sti_lines *l, const rectangle *r)
{
    for (uint64_t k = r->line.begin; k < r->line.end; k += BLOCK)
        for (uint64_t i = r->minor.begin; i < r->minor.end; i += TILE_LINES)
            put_tile(l, r, k, smaller(BLOCK, r->line.end - k), i,
                     smaller(TILE_LINES, r->minor.end - i));
}

/* The place in [at, end) of the first index of a line that is not below i. */
static uint64_t find_index(const sti_lines *l, uint64_t at, uint64_t end,
                           uint64_t i)
{
    while (at < end) {
        const uint64_t middle = at + (end - at) / 2;
        if (sti_lines_index(l, middle, 0) < i)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* Entries at .. end - 1 of source line k. */
static void put_along(const sti_lines *l, const rectangle *r, uint64_t k,
                      uint64_t at, uint64_t end)
{
    double values[BLOCK];
    uint32_t indices[BLOCK], moved[BLOCK];
    if (r->side == NULL) {
        r->part->start[k + r->line_shift + 1] += end - at;
        return;
    }
    for (uint64_t n; at < end; at += n) {
        n = smaller(BLOCK, end - at);
        const uint32_t *index = indices_at(l, at, n, indices);
        for (uint64_t e = 0; e < n; e++)
            moved[e] = index[e] + (uint32_t)r->minor_shift;
        write_entries(r, k + r->line_shift, moved, values_at(l, at, n, values),
                      n);
    }
}

static void put_across(const sti_lines *l, const rectangle *r, uint64_t k,
                       uint64_t at, uint64_t end)
{
    const uint32_t minor = (uint32_t)(k + r->line_shift);
    const sti_side *side = r->side;
    double values[BLOCK];
    uint32_t indices[BLOCK];
    for (uint64_t n; at < end; at += n) {
        n = smaller(BLOCK, end - at);
        const uint32_t *index = indices_at(l, at, n, indices);
        const double *v = values_at(l, at, n, values);
        for (uint64_t e = 0; e < n; e++) {
            const uint64_t to = r->part->start[index[e] + r->minor_shift + 1]++;
            if (side == NULL || to >= side->nnz)
                continue;
            side->index[to] = minor;
            if (side->f64 != NULL)
                side->f64[to] = v[e];
            else
                side->f32[to] = (float)v[e];
        }
    }
}

static void put_compressed(const sti_lines *l, const rectangle *r)
{
    const bool all = r->minor.begin == 0 && r->minor.end == l->minors;
    for (uint64_t k = r->line.begin; k < r->line.end; k++) {
        uint64_t at = sti_lines_start(l, k), end = sti_lines_start(l, k + 1);
        if (!all) {
            at = find_index(l, at, end, r->minor.begin);
            end = find_index(l, at, end, r->minor.end);
        }
        if (r->along)
            put_along(l, r, k, at, end);
        else
            put_across(l, r, k, at, end);
    }
}

static void put_rectangle(const sti_lines *l, const rectangle *r)
{
    if (l->a->start != NULL)
        put_compressed(l, r);
    else if (r->along)
        put_dense_along(l, r);
    else
        put_dense_across(l, r);
}

void sti_lines_count_part(const sti_lines *l, bool by_col, sti_part *part)
{
    const rectangle r = rectangle_of(l, by_col, part, NULL);
    put_rectangle(l, &r);
}

void sti_lines_place_part(const sti_lines *l, const sti_side *side,
                          sti_part *part)
{
    const rectangle r = rectangle_of(l, side->by_col, part, side);
    put_rectangle(l, &r);
}

/* ---- the checksum -------------------------------------------------------- */

uint64_t sti_lines_digest(const sti_lines *l)
{
    sti_batch batch = {0};
    uint64_t sum = 0;
    for (uint64_t k = 0; k < l->lines; k++) {
        const uint64_t first = sti_lines_start(l, k);
        for (uint64_t at = first; at < sti_lines_start(l, k + 1); at++) {
            const uint64_t i = sti_lines_index(l, at, first);
            const double value = sti_lines_value(l, at);
            if (l->a->start == NULL && value == 0)
                continue;
            batch.row[batch.n] =
                (uint32_t)(l->first_row + (l->a->by_row ? k : i));
            batch.col[batch.n] = (uint32_t)(l->a->by_row ? i : k);
            batch.value[batch.n++] = value;
            if (batch.n == STI_BATCH) {
                sum += sti_digest_entries(&batch);
                batch.n = 0;
            }
        }
    }
    return sum + sti_digest_entries(&batch);
}
