/* Reads and the final state: each value is compared with the increments that it
 * must, may and cannot contain. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/store/shard_state.h"
#include "tests/swarm/store_checker_state.h"

static const char *const type_name[] = {"f64", "f32", "i32", "i64"};

/* ---- values ------------------------------------------------------------ */

double checker_value(strads_scalar type, const void *values, size_t at)
{
    switch (type) {
    case STRADS_F32:
        return (double)((const float *)values)[at];
    case STRADS_F64:
        return ((const double *)values)[at];
    case STRADS_I32:
        return ((const int32_t *)values)[at];
    case STRADS_I64:
        return (double)((const int64_t *)values)[at];
    }
    return -1;
}

/* The number n of increments, the first n once each, that give this value; -1:
 * none. */
static int count_of(double value)
{
    double sum = 0;
    for (int n = 0; n <= CHECKER_INCS; n++) {
        if (value == sum)
            return n;
        sum += (double)(1u << 2 * n);
    }
    return -1;
}

/* Describes a value that no number of increments gives. */
static const char *judge(double value)
{
    if (value != (double)(long long)value || value < 0)
        return "is of no increment";
    for (long long left = (long long)value; left; left /= 4)
        if (left % 4 > 1)
            return "holds an increment more than once";
    return "lacks an increment before one that it holds";
}

/* The place of a cell, for messages. */
typedef struct place {
    const char *what;
    uint32_t reader, table, row, worker;
    uint64_t clock;
} place;

/* Its digits in base 4, the first increment's first. */
static const char *digits_of(double value, char text[40])
{
    size_t n = 0;
    if (value < 0 || value > 1e15 || value != (double)(long long)value) {
        (void)snprintf(text, 40, "%g", value);
        return text;
    }
    for (long long left = (long long)value; left || n == 0; left /= 4)
        text[n++] = (char)('0' + left % 4);
    text[n] = '\0';
    return text;
}

static void cell_breach(checker *c, const char *promise, const place *p,
                        double value, const char *how)
{
    const strads_table_spec *spec = &c->setup.tables[p->table];
    char digits[40];
    checker_break(
        c,
        "%s: %s %u, table %u (%s %s), row %u: what worker %u added in "
        "clock %llu is, increment by increment, %s, which %s",
        promise, p->what, p->reader, p->table, type_name[spec->type],
        spec->sparse ? "sparse" : "dense", p->row, p->worker,
        (unsigned long long)p->clock, digits_of(value, digits), how);
}

/* Checks that a cell contains at least the first `least` increments, each at
 * most once, and no others. Returns their number, or -1 after a breach. */
static int check_cell(checker *c, const char *promise, const place *p,
                      double value, int least)
{
    const checker_cell *at =
        &checker_row(c, p->table, p->row)[checker_col(c, p->worker, p->clock)];
    int n = count_of(value);
    char how[96];
    if (n < 0) {
        cell_breach(c, "P3 once", p, value, judge(value));
    } else if (n > at->made) {
        cell_breach(c, "P3 once", p, value, "is more than was ever added");
    } else if (n < least) {
        (void)snprintf(how, sizeof how, "is %d of the %d that it must hold", n,
                       least);
        cell_breach(c, promise, p, value, how);
    } else {
        return n;
    }
    return -1;
}
/* ---- reads
 * ---------------------------------------------------------------- */

/* The number of a cell's increments that were pushed in clocks below
 * `clock`. */
static int pushed_before(const checker_cell *at, uint64_t own, uint64_t clock)
{
    if (at->late && at->late - UINT64_C(1) < clock)
        return at->made;
    return own < clock ? at->on_time : 0;
}

/* The number of a cell's increments that a read must see. */
static int least_of(const checker *c, const checker_read *read, const place *p)
{
    const checker_cell *at =
        &checker_row(c, p->table, p->row)[checker_col(c, p->worker, p->clock)];
    uint32_t each = c->setup.workers_each;
    uint64_t clock = read->needs > read->as_of ? read->needs : read->as_of;
    if (read->exact)
        return pushed_before(at, p->clock, read->needs);
    if (p->worker == read->worker) /* P2 */
        return at->made;
    if (p->worker / each == read->worker / each)
        return at->pushed;
    return pushed_before(at, p->clock, clock);
}

/* Checks one worker's cells of a row in order: a later increment implies all
 * earlier ones. */
static void check_worker(checker *c, const checker_read *read, place *p,
                         const void *values, size_t base)
{
    const checker_cell *cells = checker_row(c, p->table, p->row);
    bool some_missing = false;
    for (p->clock = 0; p->clock < c->setup.clocks; p->clock++) {
        uint32_t col = checker_col(c, p->worker, p->clock);
        double value =
            checker_value(c->setup.tables[p->table].type, values, base + col);
        bool own = p->worker == read->worker && p->clock >= read->needs;
        int least = least_of(c, read, p);
        int n = check_cell(c, own ? "P2 own" : "P1 staleness", p, value, least);
        if (n < 0)
            return;
        if (read->exact && n > least)
            cell_breach(c, "P3 once, exact snapshots", p, value,
                        "is of a clock after the snapshot's");
        if (some_missing && n > 0)
            cell_breach(c, "P3 once", p, value,
                        "is there before all of its earlier clocks");
        some_missing |= n < cells[col].made;
    }
}

/* P4, per node. The reported as-of is the least of the rows', so it is compared
 * with their least previous one. */
static void check_as_of(checker *c, const checker_read *read)
{
    const strads_table_spec *spec = &c->setup.tables[read->table];
    uint32_t client = read->worker / c->setup.workers_each;
    uint64_t *rows = &c->as_of[read->table][client * spec->rows];
    uint64_t least = UINT64_MAX;
    for (uint32_t k = 0; k < read->n; k++)
        if (rows[read->rows[k]] < least)
            least = rows[read->rows[k]];
    if (read->as_of < least)
        checker_break(
            c,
            "P4 clocks: worker %u reads table %u as of %llu, its node has "
            "read it as of %llu",
            read->worker, read->table, (unsigned long long)read->as_of,
            (unsigned long long)least);
    for (uint32_t k = 0; k < read->n; k++)
        if (rows[read->rows[k]] < read->as_of)
            rows[read->rows[k]] = read->as_of;
}

void checker_saw(checker *c, const checker_read *read)
{
    uint32_t cols = c->setup.tables[read->table].cols;
    if (!read->exact)
        check_as_of(c, read);
    if (read->as_of < read->needs)
        checker_break(c, "P1 staleness: worker %u reads as of %llu, needs %llu",
                      read->worker, (unsigned long long)read->as_of,
                      (unsigned long long)read->needs);
    for (uint32_t k = 0; k < read->n; k++)
        for (uint32_t v = 0; v < c->workers && !c->breach[0]; v++) {
            place p = {.what = read->exact ? "exact read of worker"
                                           : "read of worker",
                       .reader = read->worker,
                       .table = read->table,
                       .row = read->rows[k],
                       .worker = v};
            check_worker(c, read, &p, read->values, (size_t)k * cols);
        }
}

/* A shard has space for STI_IMAGES_MAX images, so no image is missing before a
 * worker is beyond the last of them. */
void checker_refused(checker *c, uint32_t worker, uint32_t table,
                     uint64_t clock)
{
    uint32_t every = c->setup.tables[table].snapshot_every;
    bool may_be = false;
    for (uint32_t v = 0; v < c->workers; v++)
        may_be |= c->worker[v].clock / every > STI_IMAGES_MAX;
    if (may_be)
        return;
    checker_break(
        c,
        "exact snapshots: worker %u cannot have that of clock %llu, though "
        "nobody is far ahead",
        worker, (unsigned long long)clock);
}
/* ---- the final state
 * ------------------------------------------------------ */

static void check_row(checker *c, uint32_t shard, uint32_t table, uint32_t row,
                      const void *values)
{
    const strads_table_spec *spec = &c->setup.tables[table];
    for (uint32_t v = 0; v < c->workers; v++)
        for (uint32_t k = 0; k < c->setup.clocks; k++) {
            uint32_t col = checker_col(c, v, k);
            const place p = {.what = "at the end of shard",
                             .reader = shard,
                             .table = table,
                             .row = row,
                             .worker = v,
                             .clock = k};
            (void)check_cell(c, "P3 once", &p,
                             checker_value(spec->type, values, col),
                             checker_row(c, table, row)[col].made);
        }
}

void checker_end(checker *c, uint32_t shard, const sti_shard *role)
{
    uint32_t shards = c->setup.shards;
    if (role->clock != STI_CLOCK_GONE)
        checker_break(c,
                      "P4 clocks: shard %u is at clock %llu when all have left",
                      shard, (unsigned long long)role->clock);
    for (uint32_t t = 0; t < c->setup.n_tables; t++) {
        const strads_table_spec *spec = &c->setup.tables[t];
        void *values = calloc(spec->cols, 8);
        for (uint32_t row = 0; values && row < spec->rows; row++) {
            uint32_t at = sti_row_place(row, shards);
            if (sti_row_shard(t, row, shards) != shard)
                continue;
            if (strads_store_read(role->store, t, 1, &at, values))
                checker_break(c, "at the end: %s", strads_error_text());
            else
                check_row(c, shard, t, row, values);
        }
        free(values);
    }
}
