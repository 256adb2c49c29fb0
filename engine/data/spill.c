/* A side with its entries on disk.
 *
 * Places are divided into windows of whole lines that fit into memory. A pass
 * over the text places the entries of one window. Its lines are then sorted
 * and written to a file without a name. When all windows are written, the file
 * is mapped, and the side is used like one in memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/data/build.h"
#include "engine/data/memory.h"
#include "engine/data/scratch_file.h"

enum { WINDOW_SHARE = 4, WINDOW_LEAST = 1 << 20, PAGE = 4096 };

struct sti_spill {
    int fd;
    uint64_t most;      /* entries of a window, unless one line has more */
    uint64_t capacity;  /* entries that the window's arrays hold */
    size_t width;       /* bytes of a value */
    uint64_t values_at; /* offset of the values in the file */
    uint64_t bytes;     /* of the file */
    sti_window window;
    bool in_window;
    sti_twice twice;
    char *map; /* [bytes], or NULL: not yet */
};

static bool may_spill(const strads_data_options *o)
{
    const bool kind =
        o->kind == STRADS_KIND_DOCUMENTS || o->kind == STRADS_KIND_CORPUS ||
        o->kind == STRADS_KIND_TEXT || o->kind == STRADS_KIND_RATINGS;
    return o->scratch != NULL && kind && o->layout != STRADS_LAYOUT_BOTH &&
           o->split != STRADS_SPLIT_GRID;
}

uint64_t sti_window_bytes(const strads_data_options *o, uint64_t bytes)
{
    uint64_t most = o->memory_limit / WINDOW_SHARE;
    most = most > WINDOW_LEAST ? most : WINDOW_LEAST;
    return may_spill(o) && bytes > most ? most : bytes;
}

bool sti_build_spills(const sti_build *b)
{
    return b->text && may_spill(&b->options);
}

static sti_side *spilled_side(const sti_build *b)
{
    strads_data *d = b->data;
    sti_side *side = d->by_col.wanted ? &d->by_col : &d->by_row;
    return side->count > 0 ? side : NULL;
}

static strads_err no_window_memory(const sti_build *b)
{
    return strads_fail(STRADS_ENOMEM,
                       "%s: no memory to read a part of it: allow more "
                       "(--memory)",
                       b->name);
}

strads_err sti_spill_open(sti_build *b)
{
    sti_side *side = spilled_side(b);
    if (side == NULL)
        return STRADS_OK;
    sti_spill *s = calloc(1, sizeof *s);
    if (s == NULL)
        return no_window_memory(b);
    side->spill = s;
    s->fd = -1;
    s->width = b->options.values == STRADS_F32 ? sizeof(float) : sizeof(double);
    side->capacity = side->nnz + STI_OVERREAD;
    const uint64_t entry = sizeof(uint32_t) + s->width;
    s->most = sti_window_bytes(&b->options, side->nnz * entry) / entry;
    s->values_at = (side->capacity * sizeof(uint32_t) + PAGE - 1) / PAGE * PAGE;
    s->bytes = s->values_at + side->capacity * s->width;
    return sti_scratch_file_open(&(sti_scratch_use){.folder =
                                                        b->options.scratch,
                                                    .needs = "the data needs",
                                                    .remedy = ""},
                                 s->bytes, &s->fd);
}

/* ---- windows ------------------------------------------------------------- */

static uint64_t lines_in(const sti_part *part)
{
    return part->line.end - part->line.begin;
}

/* The place of line k's first entry, if no entry from there on is placed. */
static uint64_t place_of(const sti_part *part, uint64_t k)
{
    return k < lines_in(part) ? part->start[k + 1] : part->base + part->nnz;
}

static sti_window next_window(const sti_side *side, const sti_spill *s)
{
    uint32_t p = s->window.last_part;
    uint64_t k = s->window.end_line;
    sti_window w = {.first_part = p,
                    .first_line = k,
                    .first = place_of(&side->parts[p], k)};
    for (w.end = w.first; w.end - w.first < s->most;) {
        const sti_part *part = &side->parts[p];
        if (k == lines_in(part)) {
            if (p + 1 == side->count)
                break;
            p++;
            k = 0;
            continue;
        }
        const uint64_t end = place_of(part, k + 1);
        if (end - w.first > s->most && w.end > w.first)
            break;
        w.end = end;
        k++;
    }
    w.last_part = p;
    w.end_line = k;
    return w;
}

static void free_window(sti_side *side)
{
    const uint64_t n = side->spill->capacity;
    sti_big_free(side->index, n * sizeof *side->index);
    sti_big_free(side->f32, n * sizeof *side->f32);
    sti_big_free(side->f64, n * sizeof *side->f64);
    side->index = NULL;
    side->f32 = NULL;
    side->f64 = NULL;
    side->spill->capacity = 0;
}

static bool make_window(sti_side *side)
{
    sti_spill *s = side->spill;
    const uint64_t n = s->window.end - s->window.first + STI_OVERREAD;
    if (n <= s->capacity)
        return true;
    free_window(side);
    s->capacity = n;
    side->index = sti_big_alloc(n * sizeof *side->index);
    if (s->width == sizeof(float))
        side->f32 = sti_big_alloc(n * sizeof *side->f32);
    else
        side->f64 = sti_big_alloc(n * sizeof *side->f64);
    return side->index != NULL && (side->f32 != NULL || side->f64 != NULL);
}

strads_err sti_spill_next(sti_build *b, bool *more)
{
    sti_side *side = spilled_side(b);
    *more = false;
    if (side == NULL)
        return STRADS_OK;
    sti_spill *s = side->spill;
    s->window = next_window(side, s);
    s->in_window = *more = s->window.end > s->window.first;
    return !*more || make_window(side) ? STRADS_OK : no_window_memory(b);
}

const sti_window *sti_spill_window(const sti_side *side)
{
    return side->spill != NULL && side->spill->in_window ? &side->spill->window
                                                         : NULL;
}

/* True if every line of the window lies within it, one after the other. */
static bool is_placed(const sti_side *side, const sti_window *w)
{
    uint64_t last = w->first;
    for (uint32_t p = w->first_part; p <= w->last_part; p++) {
        const sti_part *part = &side->parts[p];
        const uint64_t end = p == w->last_part ? w->end_line : lines_in(part);
        for (uint64_t k = p == w->first_part ? w->first_line : 0; k < end;
             k++) {
            if (part->start[k + 1] < last || part->start[k + 1] > w->end)
                return false;
            last = part->start[k + 1];
        }
    }
    return last == w->end;
}

strads_err sti_spill_write(sti_build *b)
{
    sti_side *side = spilled_side(b);
    sti_spill *s = side->spill;
    const sti_window *w = &s->window;
    const uint64_t n = w->end - w->first;
    if (!is_placed(side, w))
        return strads_fail(STRADS_EIO,
                           "%s: holds fewer entries than a moment ago; read it "
                           "again when no process writes to it",
                           b->name);
    const sti_twice twice = sti_side_order_window(side, w, b->options.threads);
    if (!s->twice.found)
        s->twice = twice;
    s->in_window = false;
    b->windows++;
    const void *values =
        side->f32 != NULL ? (const void *)side->f32 : (const void *)side->f64;
    strads_err err =
        sti_scratch_file_write(s->fd, w->first * sizeof *side->index,
                               side->index, n * sizeof *side->index);
    if (err == STRADS_OK)
        err = sti_scratch_file_write(s->fd, s->values_at + w->first * s->width,
                                     values, n * s->width);
    return err;
}

strads_err sti_spill_map(sti_build *b)
{
    sti_side *side = spilled_side(b);
    if (side == NULL)
        return STRADS_OK;
    sti_spill *s = side->spill;
    free_window(side);
    char *map =
        mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (map == MAP_FAILED)
        return no_window_memory(b);
    s->map = map;
    (void)close(s->fd);
    s->fd = -1;
    side->index = (uint32_t *)(void *)map;
    if (s->width == sizeof(float))
        side->f32 = (float *)(void *)(map + s->values_at);
    else
        side->f64 = (double *)(void *)(map + s->values_at);
    return STRADS_OK;
}

sti_twice sti_spill_twice(const sti_side *side)
{
    return side->spill->twice;
}

void sti_spill_free(sti_side *side)
{
    sti_spill *s = side->spill;
    if (s->map != NULL)
        (void)munmap(s->map, s->bytes);
    else
        free_window(side);
    if (s->fd >= 0)
        (void)close(s->fd);
    free(s);
    side->spill = NULL;
}
