/* Puts the entries of each line in ascending order of index, in place: heapsort
 * for what is out of order, because a line may hold most of the memory there is
 * and a copy of it would not fit. */
#include "engine/data/sparse_build.h"

#include <stdatomic.h>

#include "engine/data/parallel_tasks.h"

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

/* The position of an index that equals the one before it; n when none does. */
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
    uint64_t tasks;
    _Atomic uint64_t twice_line; /* the first line with an entry twice */
} ordering;

static line_view view_line(const ordering *o, uint64_t k)
{
    uint64_t from = o->part->start[k];
    return (line_view){.index = o->side->index + from,
                       .f64 = o->side->f64 != NULL ? o->side->f64 + from : NULL,
                       .f32 = o->side->f32 != NULL ? o->side->f32 + from : NULL,
                       .n = o->part->start[k + 1] - from};
}

static void remember_first(ordering *o, uint64_t line)
{
    uint64_t known = atomic_load(&o->twice_line);
    while (line < known &&
           !atomic_compare_exchange_weak(&o->twice_line, &known, line))
        continue;
}

static void order_lines(void *context, size_t task)
{
    ordering *o = context;
    uint64_t lines = o->part->line.end - o->part->line.begin;
    uint64_t begin = lines / o->tasks * task;
    uint64_t end = task + 1 == o->tasks ? lines : lines / o->tasks * (task + 1);
    for (uint64_t k = begin; k < end; k++) {
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

sti_twice sti_side_order(sti_side *side, uint32_t threads)
{
    sti_twice twice = {0};
    for (uint32_t p = 0; p < side->count; p++) {
        ordering o = {.side = side,
                      .part = &side->parts[p],
                      .tasks = (uint64_t)threads * TASKS_PER_THREAD};
        atomic_init(&o.twice_line, UINT64_MAX);
        sti_parallel(threads, o.tasks, order_lines, &o);
        uint64_t k = atomic_load(&o.twice_line);
        if (k == UINT64_MAX || twice.found)
            continue;
        line_view v = view_line(&o, k);
        twice =
            (sti_twice){.found = true,
                        .line = o.part->line.begin + k,
                        .minor = o.part->minor.begin + v.index[find_twice(&v)]};
    }
    return twice;
}
