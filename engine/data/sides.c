/* Places entries into compressed lines. See build.h for the meaning of
 * `start` while a side is built. Entries are never written beyond the counted
 * places, even if a file has other contents in the second pass. */
#include "engine/data/build.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/memory.h"

static uint64_t lines_of(const sti_part *part)
{
    return part->line.end - part->line.begin;
}

static uint64_t starts_of(const sti_side *s)
{
    uint64_t starts = 0;
    for (uint32_t p = 0; p < s->count; p++)
        starts += lines_of(&s->parts[p]) + 1;
    return starts;
}

uint64_t sti_side_bytes(const sti_side *s, strads_scalar values)
{
    uint64_t value = values == STRADS_F32 ? sizeof(float) : sizeof(double);
    uint64_t entry = (s->full ? 0 : sizeof(uint32_t)) + value;
    const uint64_t entries = s->lent ? 0 : s->nnz + STI_OVERREAD;
    return s->wanted ? starts_of(s) * sizeof(uint64_t) + entries * entry : 0;
}

bool sti_side_make_starts(sti_side *s, uint32_t spare)
{
    s->start_capacity = starts_of(s) + spare;
    s->start = sti_big_alloc(s->start_capacity * sizeof *s->start);
    if (s->start == NULL)
        return false;
    uint64_t *next = s->start;
    for (uint32_t p = 0; p < s->count; p++) {
        s->parts[p].start = next;
        next += lines_of(&s->parts[p]) + 1;
    }
    return true;
}

bool sti_side_make_entries(sti_side *s, strads_scalar values)
{
    uint64_t capacity = s->nnz + STI_OVERREAD;
    s->capacity = capacity;
    if (!s->full)
        s->index = sti_big_alloc(capacity * sizeof *s->index);
    if (values == STRADS_F32)
        s->f32 = sti_big_alloc(capacity * sizeof *s->f32);
    else
        s->f64 = sti_big_alloc(capacity * sizeof *s->f64);
    return (s->full || s->index != NULL) && (s->f32 != NULL || s->f64 != NULL);
}

static bool holds(const sti_part *part, uint64_t line, uint64_t minor)
{
    return minor >= part->minor.begin && minor < part->minor.end &&
           line >= part->line.begin && line < part->line.end;
}

/* True if the part ends before the entry, in the order of parts: by rows,
 * then by columns. */
static bool ends_before(const sti_side *s, const sti_part *part, uint64_t line,
                        uint64_t minor)
{
    const strads_range rows = s->by_col ? part->minor : part->line;
    const strads_range cols = s->by_col ? part->line : part->minor;
    const uint64_t row = s->by_col ? minor : line;
    const uint64_t col = s->by_col ? line : minor;
    return row >= rows.end || (row >= rows.begin && col >= cols.end);
}

/* Finds the part that holds an entry, starting from the last one; returns
 * `count` if there is none. */
static uint32_t find_part(const sti_side *s, uint64_t line, uint64_t minor,
                          uint32_t last)
{
    if (last < s->count && holds(&s->parts[last], line, minor))
        return last;
    uint32_t low = 0;
    uint32_t high = s->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ends_before(s, &s->parts[middle], line, minor))
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && holds(&s->parts[low], line, minor) ? low
                                                                : s->count;
}

static inline uint64_t take_place(uint64_t *place, bool shared)
{
    return shared ? __atomic_fetch_add(place, 1, __ATOMIC_RELAXED) : (*place)++;
}

void sti_side_count(sti_side *s, const sti_batch *b)
{
    const uint32_t *line = s->by_col ? b->col : b->row;
    const uint32_t *minor = s->by_col ? b->row : b->col;
    bool shared = s->writers == STI_WRITERS_ATOMIC;
    uint32_t p = 0;
    for (size_t i = 0; i < b->n; i++) {
        p = find_part(s, line[i], minor[i], p);
        if (p < s->count) {
            const sti_part *part = &s->parts[p];
            (void)take_place(&part->start[line[i] - part->line.begin + 1],
                             shared);
        }
    }
}

void sti_side_open(sti_side *s)
{
    uint64_t place = 0;
    for (uint32_t p = 0; p < s->count; p++) {
        sti_part *part = &s->parts[p];
        part->base = place;
        part->start[0] = place;
        for (uint64_t k = 1; k <= lines_of(part); k++) {
            uint64_t nnz = part->start[k];
            part->start[k] = place;
            place += nnz;
        }
        part->nnz = place - part->base;
    }
}

bool sti_side_open_private(sti_side *s, uint32_t *const *counts,
                           const uint64_t *lines, size_t chunks)
{
    sti_part *part = &s->parts[0];
    uint64_t n = lines_of(part);
    s->private = chunks - 1;
    s->places = calloc(chunks, sizeof *s->places);
    bool enough = s->places != NULL;
    for (size_t t = 0; enough && t < s->private; t++) {
        s->places[t] = sti_big_alloc(n * sizeof **s->places);
        enough = s->places[t] != NULL;
    }
    if (!enough)
        return false;
    uint64_t place = 0;
    part->start[0] = 0;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t line = part->line.begin + k;
        for (size_t t = 0; t < chunks; t++) {
            *(t < s->private ? &s->places[t][k] : &part->start[k + 1]) = place;
            place += line < lines[t] ? counts[t][line] : 0;
        }
    }
    part->base = 0;
    part->nnz = place;
    return true;
}

/* Where and how one batch is placed into one part. */
typedef struct target {
    uint64_t *place; /* by line */
    uint64_t first_line, lines;
    uint64_t first; /* place of index[0] */
    uint64_t limit; /* places end here */
    uint32_t *index;
    double *f64;
    float *f32;
} target;

/* Compiled separately for each width, and for shared and unshared places,
 * because most of the reading time is spent in this loop. */
static inline bool place_batch(const target *t, const uint32_t *line,
                               const uint32_t *minor, const double *value,
                               size_t n, const bool narrow, const bool shared)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t k = line[i] - t->first_line;
        if (k >= t->lines)
            continue;
        uint64_t at = take_place(&t->place[k], shared);
        if (at >= t->limit)
            return false;
        at -= t->first;
        t->index[at] = minor[i];
        if (narrow)
            t->f32[at] = (float)value[i];
        else
            t->f64[at] = value[i];
    }
    return true;
}

static bool place_along(sti_side *s, size_t chunk, const sti_batch *b)
{
    const uint32_t *line = s->by_col ? b->col : b->row;
    const uint32_t *minor = s->by_col ? b->row : b->col;
    sti_part *part = &s->parts[0];
    target t = {.place =
                    chunk < s->private ? s->places[chunk] : part->start + 1,
                .first_line = part->line.begin,
                .lines = lines_of(part),
                .limit = s->nnz,
                .index = s->index,
                .f64 = s->f64,
                .f32 = s->f32};
    const sti_window *window = sti_spill_window(s);
    if (window != NULL) {
        t.place += window->first_line;
        t.first_line += window->first_line;
        t.lines = window->end_line - window->first_line;
        t.first = window->first;
        t.limit = window->end;
    }
    bool shared = s->writers == STI_WRITERS_ATOMIC;
    if (s->f32 != NULL)
        return shared
                   ? place_batch(&t, line, minor, b->value, b->n, true, true)
                   : place_batch(&t, line, minor, b->value, b->n, true, false);
    return shared ? place_batch(&t, line, minor, b->value, b->n, false, true)
                  : place_batch(&t, line, minor, b->value, b->n, false, false);
}

static bool is_in_window(const sti_window *w, uint32_t part, uint64_t line)
{
    return part >= w->first_part && part <= w->last_part &&
           (part > w->first_part || line >= w->first_line) &&
           (part < w->last_part || line < w->end_line);
}

static bool place_across(sti_side *s, const sti_batch *b)
{
    const sti_window *window = sti_spill_window(s);
    const uint64_t limit = window != NULL ? window->end : s->nnz;
    const uint64_t first = window != NULL ? window->first : 0;
    const uint32_t *line = s->by_col ? b->col : b->row;
    const uint32_t *minor = s->by_col ? b->row : b->col;
    bool shared = s->writers == STI_WRITERS_ATOMIC;
    uint32_t p = 0;
    for (size_t i = 0; i < b->n; i++) {
        p = find_part(s, line[i], minor[i], p);
        if (p == s->count)
            continue;
        const sti_part *part = &s->parts[p];
        const uint64_t k = line[i] - part->line.begin;
        if (window != NULL && !is_in_window(window, p, k))
            continue;
        uint64_t at = take_place(&part->start[k + 1], shared);
        if (at >= limit)
            return false;
        at -= first;
        s->index[at] = (uint32_t)(minor[i] - part->minor.begin);
        if (s->f32 != NULL)
            s->f32[at] = (float)b->value[i];
        else
            s->f64[at] = b->value[i];
    }
    return true;
}

bool sti_side_place(sti_side *s, size_t chunk, const sti_batch *b)
{
    if (s->count == 0 || b->n == 0 || s->lent)
        return true;
    return s->cross ? place_across(s, b) : place_along(s, chunk, b);
}

bool sti_side_is_full(const sti_side *s)
{
    uint64_t end = 0;
    for (uint32_t p = 0; p < s->count; p++) {
        const sti_part *part = &s->parts[p];
        end += part->nnz;
        if (part->start[lines_of(part)] != (lines_of(part) > 0 ? end : 0) &&
            lines_of(part) > 0)
            return false;
    }
    return true;
}

bool sti_side_split(sti_side *s, const uint64_t *bounds, uint32_t count)
{
    sti_part *split = calloc(count == 0 ? 1 : count, sizeof *split);
    if (split == NULL)
        return false;
    sti_part whole = s->parts[0];
    /* From the last part down: each start moves up by the number of its
     * part. */
    for (uint32_t p = count; p-- > 0;) {
        uint64_t from = bounds[p] - whole.line.begin;
        uint64_t lines = bounds[p + 1] - bounds[p];
        uint64_t *start = whole.start + from + p;
        memmove(start, whole.start + from, (lines + 1) * sizeof *start);
        split[p] = (sti_part){.line = {bounds[p], bounds[p + 1]},
                              .minor = whole.minor,
                              .start = start,
                              .base = start[0],
                              .nnz = start[lines] - start[0]};
    }
    free(s->parts);
    s->parts = split;
    s->count = count;
    return true;
}

void sti_side_rebase(sti_side *s)
{
    for (uint32_t p = 0; p < s->count; p++) {
        sti_part *part = &s->parts[p];
        for (uint64_t k = 0; k <= lines_of(part); k++)
            part->start[k] -= part->base;
    }
}

void sti_side_free_places(sti_side *s)
{
    for (size_t t = 0; s->places != NULL && t < s->private; t++)
        sti_big_free(s->places[t], lines_of(&s->parts[0]) * sizeof **s->places);
    free(s->places);
    s->places = NULL;
    s->private = 0;
}

void sti_side_free(sti_side *s)
{
    uint64_t capacity = s->capacity;
    sti_side_free_places(s);
    sti_big_free(s->start, s->start_capacity * sizeof *s->start);
    if (s->spill != NULL) {
        sti_spill_free(s);
    } else if (!s->lent) {
        sti_big_free(s->index, capacity * sizeof *s->index);
        sti_big_free(s->f64, capacity * sizeof *s->f64);
        sti_big_free(s->f32, capacity * sizeof *s->f32);
    }
    free(s->parts);
    *s = (sti_side){0};
}

/* Sorts the entries of each line by index, in place. Lines that are out of
 * order use heapsort, because a line may take most of the memory and a copy of
 * it would not fit. */

enum { INSERTION = 24, TASKS_PER_THREAD = 16 };

typedef struct line_view {
    uint32_t *index;
    double *f64;
    float *f32;
    uint64_t n;
} line_view;

static void swap_entries(const line_view *v, uint64_t a, uint64_t b)
{
    uint32_t index = v->index[a];
    v->index[a] = v->index[b];
    v->index[b] = index;
    if (v->f64 != NULL) {
        double value = v->f64[a];
        v->f64[a] = v->f64[b];
        v->f64[b] = value;
    } else {
        float value = v->f32[a];
        v->f32[a] = v->f32[b];
        v->f32[b] = value;
    }
}

static void insertion_sort(const line_view *v)
{
    for (uint64_t i = 1; i < v->n; i++)
        for (uint64_t k = i; k > 0 && v->index[k] < v->index[k - 1]; k--)
            swap_entries(v, k, k - 1);
}

static void sift_down(const line_view *v, uint64_t root, uint64_t n)
{
    for (uint64_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && v->index[child + 1] > v->index[child])
            child++;
        if (v->index[root] >= v->index[child])
            return;
        swap_entries(v, root, child);
        root = child;
    }
}

static void heap_sort(const line_view *v)
{
    for (uint64_t root = v->n / 2; root-- > 0;)
        sift_down(v, root, v->n);
    for (uint64_t n = v->n; n > 1; n--) {
        swap_entries(v, 0, n - 1);
        sift_down(v, 0, n - 1);
    }
}

static bool is_ascending(const line_view *v)
{
    for (uint64_t i = 1; i < v->n; i++)
        if (v->index[i] < v->index[i - 1])
            return false;
    return true;
}

/* The position of an index that equals the one before it; n if there is
 * none. */
static uint64_t find_twice(const line_view *v)
{
    for (uint64_t i = 1; i < v->n; i++)
        if (v->index[i] == v->index[i - 1])
            return i;
    return v->n;
}

typedef struct ordering {
    sti_side *side;
    sti_part *part;
    uint64_t first, end; /* lines of the part */
    uint64_t place;      /* of the side's index[0] */
    uint64_t tasks;
    _Atomic uint64_t twice_line; /* the first line with a repeated entry */
} ordering;

static line_view view_line(const ordering *o, uint64_t k)
{
    uint64_t from = o->part->start[k] - o->place;
    return (line_view){.index = o->side->index + from,
                       .f64 = o->side->f64 != NULL ? o->side->f64 + from : NULL,
                       .f32 = o->side->f32 != NULL ? o->side->f32 + from : NULL,
                       .n = o->part->start[k + 1] - o->part->start[k]};
}

static void remember_first(ordering *o, uint64_t line)
{
    uint64_t known = atomic_load(&o->twice_line);
    while (line < known &&
           !atomic_compare_exchange_weak(&o->twice_line, &known, line))
        continue;
}

static void order_side_lines(void *context, size_t task)
{
    ordering *o = context;
    uint64_t lines = o->end - o->first;
    uint64_t begin = lines / o->tasks * task;
    uint64_t end = task + 1 == o->tasks ? lines : lines / o->tasks * (task + 1);
    for (uint64_t k = o->first + begin; k < o->first + end; k++) {
        line_view v = view_line(o, k);
        if (!is_ascending(&v)) {
            if (v.n <= INSERTION)
                insertion_sort(&v);
            else
                heap_sort(&v);
        }
        if (find_twice(&v) < v.n)
            remember_first(o, k);
    }
}

/* Sorts lines first .. end - 1 of part p, and adds the first repeated entry. */
static void order_part(sti_side *side, uint32_t p, const sti_window *lines,
                       uint32_t threads, sti_twice *twice)
{
    ordering o = {.side = side,
                  .part = &side->parts[p],
                  .first = lines->first_line,
                  .end = lines->end_line,
                  .place = lines->first,
                  .tasks = (uint64_t)threads * TASKS_PER_THREAD};
    atomic_init(&o.twice_line, UINT64_MAX);
    sti_parallel(threads, o.tasks, order_side_lines, &o);
    const uint64_t k = atomic_load(&o.twice_line);
    if (k == UINT64_MAX || twice->found)
        return;
    line_view v = view_line(&o, k);
    *twice =
        (sti_twice){.found = true,
                    .line = o.part->line.begin + k,
                    .minor = o.part->minor.begin + v.index[find_twice(&v)]};
}

sti_twice sti_side_order(sti_side *side, uint32_t threads)
{
    sti_twice twice = {0};
    for (uint32_t p = 0; p < side->count; p++) {
        const sti_window all = {.end_line = lines_of(&side->parts[p])};
        order_part(side, p, &all, threads, &twice);
    }
    return twice;
}

sti_twice sti_side_order_window(sti_side *side, const sti_window *w,
                                uint32_t threads)
{
    sti_twice twice = {0};
    for (uint32_t p = w->first_part; p <= w->last_part; p++) {
        const sti_window lines = {.first_line =
                                      p == w->first_part ? w->first_line : 0,
                                  .end_line = p == w->last_part
                                                  ? w->end_line
                                                  : lines_of(&side->parts[p]),
                                  .first = w->first};
        order_part(side, p, &lines, threads, &twice);
    }
    return twice;
}
