/* The slices of a large partial: nothing is left out or twice, all are sums of
 * the same stretches, few hops away, and everybody has about as much to do. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/tree.h"
#include "strads/policy.h"

/* A dispatch of one phase whose partial has so many bytes. */
static sti_slices slices_of(uint32_t partitions, uint32_t totals, size_t bytes,
                            strads_phase phase)
{
    size_t at[] = {0, bytes / 3 / 8 * 8, bytes};
    const sti_dispatch d = {.n_blocks = 2, .partial_at = at};
    const sti_run run = {.phases = &phase,
                         .n_phases = 1,
                         .partitions = partitions,
                         .shape.totals = totals};
    return sti_slices_of(&run, &d);
}

static const uint32_t sizes[] = {5, 6, 7, 8, 16, 31, 32, 33, 100, 256, 1024};
enum { SIZES = sizeof sizes / sizeof *sizes };
static const size_t lengths[] = {32768, 32776, 100000, 1600024, 16000024};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void check_cuts(const sti_slices *s)
{
    cr_assert_eq(sti_slices_begin(s, 0), 0);
    cr_assert_eq(sti_slices_begin(s, s->n), s->bytes);
    cr_assert_geq(sti_slices_begin(s, 1), s->head);
    for (uint32_t k = 0; k < s->n; k++) {
        const size_t begin = sti_slices_begin(s, k);
        const size_t size = sti_slices_begin(s, k + 1) - begin;
        cr_assert_eq(begin % STI_SLICE_ALIGN, 0);
        cr_assert_geq(size, s->partitions <= 16 ? STI_SLICE_BYTES / 2 : 1024);
        cr_assert_leq(size, (s->bytes - s->head) / s->n + s->head +
                                STI_SLICE_ALIGN + s->n);
    }
}

Test(role_slices, cuts_leave_nothing_out_and_are_even)
{
    for (uint32_t k = 0; k < SIZES; k++)
        for (uint32_t l = 0; l < LENGTHS; l++)
            for (uint32_t totals = 0; totals <= 77; totals += 77) {
                sti_slices s =
                    slices_of(sizes[k], totals, lengths[l], (strads_phase){0});
                cr_assert_gt(s.n, 1);
                cr_assert_leq(s.n, sizes[k]);
                cr_assert_leq(s.n, STI_SLICES_MAX);
                cr_assert_eq(s.bytes, lengths[l] + totals * sizeof(double));
                check_cuts(&s);
            }
}

Test(role_slices, what_is_small_or_no_numbers_goes_whole)
{
    const size_t large = 1 << 20;
    cr_assert_gt(slices_of(8, 0, large, (strads_phase){0}).n, 1);
    cr_assert_eq(slices_of(8, 0, 32760, (strads_phase){0}).n, 1);
    cr_assert_eq(slices_of(4, 0, large, (strads_phase){0}).n, 1);
    cr_assert_eq(
        slices_of(8, 0, large, (strads_phase){.merge = STRADS_MERGE_CONCAT}).n,
        1);
    cr_assert_eq(
        slices_of(8, 0, large, (strads_phase){.merge = STRADS_MERGE_OWN}).n, 1);
    cr_assert_eq(
        slices_of(8, 0, large, (strads_phase){.to = STRADS_TO_OWNER}).n, 1);
    cr_assert_eq(slices_of(8, 0, large, (strads_phase){.to = STRADS_TO_RING}).n,
                 1);
}

/* ---- ways -------------------------------------------------------------- */

/* Up to so many partitions meet in pairs. */
enum { PAIRED = 16 };

/* Who gives a slice to whom, by partition and rank. */
typedef struct way {
    uint32_t n, ranks;
    sti_place *place; /* [n] */
    uint32_t *child;  /* [n * ranks] */
    uint64_t shape;   /* of all sums that were formed: what was added to what */
} way;

static way way_of(const sti_slices *s, uint32_t slice)
{
    way w = {.n = s->partitions,
             .ranks = sti_slices_children_max(s->partitions)};
    const size_t children = (size_t)w.n * w.ranks;
    w.place = calloc(w.n, sizeof *w.place);
    w.child = malloc(children * sizeof *w.child);
    cr_assert(w.place && w.child);
    memset(w.child, 0xff, children * sizeof *w.child);
    for (uint32_t p = 0; p < w.n; p++) {
        w.place[p] = sti_slices_place(s, slice, p);
        cr_assert_leq(w.place[p].n_children, w.ranks);
        if (w.place[p].parent == p)
            continue;
        cr_assert_lt(w.place[p].parent, w.n);
        cr_assert_lt(w.place[p].rank, w.ranks);
        uint32_t *at = &w.child[w.place[p].parent * w.ranks + w.place[p].rank];
        cr_assert_eq(*at, UINT32_MAX, "two children of one rank");
        *at = p;
    }
    return w;
}

static void free_way(way *w)
{
    free(w->place);
    free(w->child);
}

typedef struct range {
    uint64_t begin, end, n;
} range;

/* What a partition's sum is of once its children are in. Of pairs each sum on
 * the way is of neighbours, else each that is given away. */
static range sum_of(way *w, uint32_t p)
{
    range sum = {p, p + 1, 1};
    for (uint32_t rank = 0; rank < w->place[p].n_children; rank++) {
        const uint32_t child = w->child[p * w->ranks + rank];
        cr_assert_lt(child, w->n, "a child is missing");
        range more = sum_of(w, child);
        range left = more.begin < sum.begin ? more : sum;
        range right = more.begin < sum.begin ? sum : more;
        w->shape += strads_random_bits(left.begin, left.end, right.end, 0);
        const uint64_t end = left.end > right.end ? left.end : right.end;
        sum = (range){left.begin, end, left.n + right.n};
        if (w->n <= PAIRED)
            cr_assert_eq(left.end, right.begin, "a sum of what is apart");
    }
    cr_assert_eq(sum.end - sum.begin, sum.n, "a sum with holes");
    return sum;
}

static void check_way(way *w)
{
    uint32_t roots = 0;
    for (uint32_t p = 0; p < w->n; p++) {
        uint32_t hops = 0;
        for (uint32_t at = p; w->place[at].parent != at; hops++)
            at = w->place[at].parent;
        cr_assert_leq(hops, w->n <= PAIRED ? 4 : 3);
        if (w->place[p].parent != p)
            continue;
        const range all = sum_of(w, p);
        cr_assert(all.begin == 0 && all.end == w->n);
        roots++;
    }
    cr_assert_eq(roots, 1);
}

Test(role_slices, all_slices_are_sums_of_everybody_few_hops_away)
{
    for (uint32_t k = 0; k < SIZES; k++) {
        const sti_slices s = slices_of(sizes[k], 0, 1 << 20, (strads_phase){0});
        uint64_t shape = 0;
        for (uint32_t slice = 0; slice < s.n; slice++) {
            way w = way_of(&s, slice);
            check_way(&w);
            shape = slice == 0 ? w.shape : shape;
            cr_assert(w.shape == shape || w.n > PAIRED,
                      "slice %u is summed otherwise", slice);
            free_way(&w);
        }
    }
}

/* What one partition takes in, in partials: of the tree its root has as many
 * as children, of slices nobody has much more than one. The same of a node that
 * hosts a quarter of them all, where these are a power of 2: what others give
 * it. */
Test(role_slices, nobody_takes_in_much_more_than_one_partial)
{
    for (uint32_t k = 0; k < SIZES; k++) {
        const sti_slices s = slices_of(sizes[k], 0, 4 << 20, (strads_phase){0});
        const sti_tree tree = sti_tree_of_partials(sizes[k]);
        double most = 0, node = 0;
        for (uint32_t p = 0; p < sizes[k]; p++) {
            uint32_t children = 0;
            for (uint32_t slice = 0; slice < s.n; slice++)
                children += sti_slices_place(&s, slice, p).n_children;
            most = fmax(most, (double)children / s.n);
        }
        for (uint32_t slice = 0; slice < s.n; slice++)
            for (uint32_t p = 0; p < sizes[k]; p++) {
                const uint32_t parent = sti_slices_place(&s, slice, p).parent;
                node += (parent < sizes[k] / 4) != (p < sizes[k] / 4) &&
                        parent < sizes[k] / 4;
            }
        cr_log_info("%4u partitions: %u slices, %.2f partials, not %u; of a "
                    "quarter of them %.2f",
                    sizes[k], s.n, most, sti_tree_find(&tree, 0).n_children,
                    node / s.n);
        cr_assert_leq(most, sizes[k] <= PAIRED ? 1 : 1.5);
        if ((sizes[k] & (sizes[k] - 1)) == 0)
            cr_assert_leq(node / s.n, sizes[k] <= PAIRED ? 1 : 1.5);
    }
}

/* Who gives half of its partial away at once begins with that half, and ends
 * with the slice that it keeps longest. (Where groups of more than two are not
 * full, who gives away how much depends on the group.) */
Test(role_slices, everybody_looks_at_all_slices_those_it_gives_away_first)
{
    for (uint32_t k = 0; k < SIZES; k++) {
        const sti_slices s = slices_of(sizes[k], 0, 1 << 20, (strads_phase){0});
        const bool full = (sizes[k] & (sizes[k] - 1)) == 0;
        for (uint32_t p = 0; p < sizes[k]; p++) {
            bool seen[STI_SLICES_MAX] = {0};
            for (uint32_t turn = 0; turn < s.n; turn++) {
                const uint32_t slice = sti_slices_turn(&s, p, turn);
                cr_assert(slice < s.n && !seen[slice]);
                seen[slice] = true;
                cr_assert_eq(sti_slices_when(&s, p, slice), turn);
                const sti_place place = sti_slices_place(&s, slice, p);
                if (turn < s.n / 2 && (p ^ 1) < sizes[k] &&
                    (full || sizes[k] <= PAIRED))
                    cr_assert(place.parent != p && place.n_children == 0);
                else if (turn == s.n - 1 && full)
                    cr_assert_geq(1 << place.n_children, s.n);
            }
        }
    }
}
