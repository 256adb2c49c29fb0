/* Every increment ever made, by (table, row, worker, clock), and how many of
 * them were pushed; the highest numbers that each shard told. */
#include "tests/store_checker.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/adaptive_staleness.h"
#include "engine/store/kept_inside.h"
#include "engine/store/number_cells.h"
#include "engine/store/row_shard.h"

typedef struct life {
    uint64_t clock;
    bool left;
} life;

/* Increments of one worker in one clock to one row: how many; how many of them
 * were pushed by calls that are through, were sent, and were sent in that
 * clock; the others leave together later. */
typedef struct cell {
    uint8_t made, pushed, sent, on_time;
    uint8_t late; /* 1 + the clock in which the others left; 0: they did not */
} cell;

/* What a shard told a client, and the last push that it was sent. */
typedef struct told {
    uint64_t acknowledged, as_of, applied;
    uint64_t sent;
    bool cut; /* the client has died, and sent nothing since */
} told;

/* What a push found of one row: its largest change, and what it would weigh. */
typedef struct found_row {
    double largest;
    uint64_t bytes;
    bool stays;
} found_row;

struct checker {
    checker_setup setup;
    uint32_t workers;
    life *worker;     /* [workers] */
    cell **cells;     /* [tables][rows x workers x clocks] */
    uint16_t **sent;  /* [tables][cells x CHECKER_INCS] each one's push, by its
                         number in the stream */
    told *told;       /* [shards x clients] */
    uint64_t **as_of; /* [tables][clients x rows] the highest that was seen */
    uint64_t held;    /* rows, by pushes */
    found_row *found; /* scratch, [rows of the largest table] */
    char breach[512];
};

static const char *const type_name[] = {"f64", "f32", "i32", "i64"};

/* ---- a breach ---------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
breach(checker *c, const char *format, ...)
{
    va_list args;
    if (c->breach[0])
        return;
    va_start(args, format);
    (void)vsnprintf(c->breach, sizeof c->breach, format, args);
    va_end(args);
}

const char *checker_breach(const checker *c)
{
    return c->breach;
}

/* ---- opening ----------------------------------------------------------- */

checker *checker_new(const checker_setup *setup)
{
    checker *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->setup = *setup;
    c->workers = setup->clients * setup->workers_each;
    c->worker = calloc(c->workers, sizeof *c->worker);
    c->told = calloc((size_t)setup->shards * setup->clients, sizeof *c->told);
    c->cells = calloc(setup->n_tables, sizeof(cell *));
    c->sent = calloc(setup->n_tables, sizeof(uint16_t *));
    c->as_of = calloc(setup->n_tables, sizeof(uint64_t *));
    uint64_t rows = 0;
    for (uint32_t t = 0; t < setup->n_tables; t++)
        if (setup->tables[t].rows > rows)
            rows = setup->tables[t].rows;
    c->found = calloc(rows, sizeof *c->found);
    bool all =
        c->worker && c->told && c->cells && c->sent && c->as_of && c->found;
    for (uint32_t t = 0; all && t < setup->n_tables; t++) {
        uint64_t cells =
            setup->tables[t].rows * c->workers * (uint64_t)setup->clocks;
        c->cells[t] = calloc(cells, sizeof(cell));
        c->sent[t] = calloc(cells * CHECKER_INCS, sizeof(uint16_t));
        c->as_of[t] =
            calloc(setup->tables[t].rows * setup->clients, sizeof(uint64_t));
        all = c->cells[t] && c->sent[t] && c->as_of[t];
    }
    if (all)
        return c;
    checker_free(c);
    return NULL;
}

void checker_free(checker *c)
{
    if (!c)
        return;
    for (uint32_t t = 0; c->cells && t < c->setup.n_tables; t++)
        free(c->cells[t]);
    for (uint32_t t = 0; c->as_of && t < c->setup.n_tables; t++)
        free(c->as_of[t]);
    free(c->as_of);
    for (uint32_t t = 0; c->sent && t < c->setup.n_tables; t++)
        free(c->sent[t]);
    free(c->sent);
    free(c->cells);
    free(c->told);
    free(c->found);
    free(c->worker);
    free(c);
}

static uint32_t col_of(const checker *c, uint32_t worker, uint64_t clock)
{
    return worker * c->setup.clocks + (uint32_t)clock;
}

/* The cells of a row, by column. */
static cell *row_of(const checker *c, uint32_t table, uint32_t row)
{
    return &c->cells[table][(size_t)row * c->workers * c->setup.clocks];
}

/* The pushes of its cells' increments, [CHECKER_INCS]. */
static uint16_t *sent_of(const checker *c, uint32_t table, const cell *at)
{
    return &c->sent[table][(size_t)(at - c->cells[table]) * CHECKER_INCS];
}

static told *told_of(const checker *c, uint32_t shard, uint32_t client)
{
    return &c->told[shard * c->setup.clients + client];
}

/* ---- what workers do --------------------------------------------------- */

bool checker_inc(checker *c, uint32_t worker, uint32_t table, uint32_t row,
                 uint32_t *col, double *value)
{
    *col = col_of(c, worker, c->worker[worker].clock);
    cell *at = &row_of(c, table, row)[*col];
    if (at->made == CHECKER_INCS)
        return false;
    *value = (double)(1u << 2 * at->made++);
    return true;
}

/* ---- filters ----------------------------------------------------------- */

/* What increments from..to - 1 of a clock add up to. */
static double sum_of(uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t k = from; k < to; k++)
        sum += (double)(1u << 2 * k);
    return sum;
}

static found_row find_row(const checker *c, uint32_t worker, uint32_t t,
                          uint32_t row, const sti_pending *pending)
{
    const strads_table_spec *spec = &c->setup.tables[t];
    const cell *cells = &row_of(c, t, row)[col_of(c, worker, 0)];
    found_row found = {0};
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->setup.clocks; k++) {
        double change = sum_of(cells[k].pushed, cells[k].made);
        n += change > 0;
        if (change > found.largest)
            found.largest = change;
    }
    found.bytes = sti_cell_size(spec->type) * (spec->sparse ? n : spec->cols);
    for (uint32_t i = 0; pending && i < pending->n; i++)
        found.stays |= pending->rows[i] == row;
    return found;
}

static void held_wrongly(checker *c, uint32_t worker, uint32_t t, uint32_t row,
                         const char *how)
{
    breach(c, "filters: worker %u, table %u, row %u: %s", worker, t, row, how);
}

/* Rows that leave are large enough, and within the bound together. The least
 * change of them; INFINITY: nothing left. */
static double check_leaving(checker *c, uint32_t worker, uint32_t t,
                            const found_row *found, bool all)
{
    const strads_table_spec *spec = &c->setup.tables[t];
    double least = INFINITY;
    uint64_t bytes = 0;
    uint32_t n = 0;
    for (uint32_t r = 0; r < spec->rows; r++) {
        if (found[r].stays || found[r].largest == 0)
            continue;
        n++;
        bytes += found[r].bytes;
        if (found[r].largest < least)
            least = found[r].largest;
        if (!all && found[r].largest < spec->hold_below)
            held_wrongly(c, worker, t, r, "a small change is not held back");
    }
    if (!all && spec->push_bytes && n > 1 && bytes > spec->push_bytes)
        held_wrongly(c, worker, t, 0, "more was pushed than its bound");
    return least;
}

/* A row that stays is small, or no larger than all that left. */
static void check_staying(checker *c, uint32_t worker, uint32_t t, uint32_t row,
                          const found_row *found, bool all, double least)
{
    const strads_table_spec *spec = &c->setup.tables[t];
    c->held++;
    if (all)
        held_wrongly(c, worker, t, row,
                     "held back by a flush, or by one who leaves");
    else if (found->largest == 0)
        held_wrongly(c, worker, t, row, "held back though it was pushed");
    else if (found->largest >= spec->hold_below &&
             (!spec->push_bytes || found->largest > least || isinf(least)))
        held_wrongly(c, worker, t, row, "a large change is held back");
}

/* ---- pushes ------------------------------------------------------------ */

/* A row is sent, with push `number`: what was held back of earlier clocks
 * counts to this one. */
static void row_is_sent(checker *c, uint32_t worker, uint32_t t, uint32_t row,
                        uint64_t number)
{
    uint64_t now = c->worker[worker].clock;
    cell *cells = &row_of(c, t, row)[col_of(c, worker, 0)];
    for (uint64_t k = 0; k <= now && k < c->setup.clocks; k++) {
        cell *at = &cells[k];
        if (k == now)
            at->on_time = at->made;
        else if (at->sent < at->made)
            at->late = (uint8_t)(1 + now);
        for (; at->sent < at->made; at->sent++)
            sent_of(c, t, at)[at->sent] = (uint16_t)number;
    }
}

/* A call is through: what does not stay with the worker was sent. */
static void row_is_pushed(checker *c, uint32_t worker, uint32_t t, uint32_t row)
{
    cell *cells = &row_of(c, t, row)[col_of(c, worker, 0)];
    for (uint32_t k = 0; k < c->setup.clocks; k++) {
        if (cells[k].sent < cells[k].made)
            breach(c,
                   "P3 once: worker %u, table %u, row %u: an increment was "
                   "neither sent nor held back",
                   worker, t, row);
        cells[k].pushed = cells[k].made;
    }
}

/* The rows of a push that is sent for the first time. */
static void rows_are_sent(checker *c, const sti_msg *msg)
{
    uint32_t worker = UINT32_MAX;
    sti_push_part part;
    strads_err err;
    for (size_t at = 0;
         sti_push_next((const sti_buffer *)msg->object, &at, &part, &err);) {
        if (part.kind == STI_PUSH_MARK)
            worker = part.worker;
        for (uint32_t k = 0; part.kind == STI_PUSH_ROWS && k < part.n; k++)
            row_is_sent(c, worker, part.table, part.places[k], msg->round);
        if (part.kind == STI_PUSH_COLS)
            row_is_sent(c, worker, part.table, part.row, msg->round);
    }
}

static void table_pushed(checker *c, uint32_t worker, uint32_t t, bool all,
                         const sti_pending *pending)
{
    uint32_t rows = (uint32_t)c->setup.tables[t].rows;
    for (uint32_t r = 0; !pending && r < rows; r++)
        row_is_sent(c, worker, t, r, 0);
    for (uint32_t r = 0; r < rows; r++)
        c->found[r] = find_row(c, worker, t, r, pending);
    double least = check_leaving(c, worker, t, c->found, all);
    for (uint32_t r = 0; r < rows; r++)
        if (c->found[r].stays)
            check_staying(c, worker, t, r, &c->found[r], all, least);
        else
            row_is_pushed(c, worker, t, r);
}

void checker_pushed(checker *c, uint32_t worker, sti_push_end end,
                    const sti_pending *pending)
{
    life *w = &c->worker[worker];
    for (uint32_t t = 0; t < c->setup.n_tables; t++)
        table_pushed(c, worker, t, end != STI_PUSH_CLOCK,
                     pending ? &pending[t] : NULL);
    w->clock += end == STI_PUSH_CLOCK;
    w->left = end == STI_PUSH_LEAVE;
}

uint64_t checker_held(const checker *c)
{
    return c->held;
}

void checker_adaptive(checker *c, uint32_t worker, uint32_t table,
                      uint32_t staleness)
{
    uint32_t most = sti_staleness_max(&c->setup.tables[table]);
    if (staleness > most)
        breach(c,
               "P1 staleness: worker %u reads table %u %u clocks old, at most "
               "%u were promised",
               worker, table, staleness, most);
}

/* ---- clients that die -------------------------------------------------- */

/* Of a cell the increments of pushes below `number` are left. */
static void cut_cell(const checker *c, uint32_t table, cell *at,
                     uint64_t number)
{
    uint32_t n = 0;
    while (n < at->sent && sent_of(c, table, at)[n] < number)
        n++;
    at->made = at->pushed = at->sent = (uint8_t)n;
    if (n <= at->on_time) {
        at->on_time = (uint8_t)n;
        at->late = 0;
    }
}

/* All cells of a client's workers that a shard holds. */
static void cut(checker *c, uint32_t shard, uint32_t client, uint64_t number)
{
    uint32_t each = c->setup.workers_each;
    for (uint32_t t = 0; t < c->setup.n_tables; t++)
        for (uint32_t r = 0; r < c->setup.tables[t].rows; r++) {
            cell *cells = &row_of(c, t, r)[col_of(c, client * each, 0)];
            if (sti_row_shard(t, r, c->setup.shards) != shard)
                continue;
            for (uint32_t k = 0; k < each * c->setup.clocks; k++)
                cut_cell(c, t, &cells[k], number);
        }
}

void checker_died(checker *c, uint32_t client)
{
    for (uint32_t s = 0; s < c->setup.shards; s++) {
        cut(c, s, client, UINT64_MAX);
        told_of(c, s, client)->cut = true;
    }
    for (uint32_t t = 0; t < c->setup.n_tables; t++)
        memset(&c->as_of[t][client * c->setup.tables[t].rows], 0,
               sizeof(uint64_t) * c->setup.tables[t].rows);
}

/* A next life leaves out no number that was used, and uses none again that is
 * in. */
static void saw_push(checker *c, const sti_msg *msg)
{
    uint32_t shard = msg->to - STI_SHARD_0, client = msg->from - STI_CLIENT_0;
    told *t = told_of(c, shard, client);
    if (t->cut && (msg->round <= t->acknowledged || msg->round > t->sent + 1))
        breach(
            c,
            "P3 once: client %u comes back with push %llu to shard %u, which "
            "has acknowledged %llu of the %llu before",
            client, (unsigned long long)msg->round, shard,
            (unsigned long long)t->acknowledged, (unsigned long long)t->sent);
    if (t->cut)
        cut(c, shard, client, msg->round);
    if (!t->cut && msg->round <= t->sent) /* again */
        return;
    t->cut = false;
    t->sent = msg->round;
    rows_are_sent(c, msg);
}

void checker_clock(checker *c, uint32_t worker, uint64_t clock)
{
    if (clock != c->worker[worker].clock)
        breach(c, "P4 clocks: worker %u is at clock %llu, it says %llu", worker,
               (unsigned long long)c->worker[worker].clock,
               (unsigned long long)clock);
}

void checker_barrier(checker *c, uint32_t worker)
{
    for (uint32_t v = 0; v < c->workers; v++)
        if (!c->worker[v].left && c->worker[v].clock < c->worker[worker].clock)
            breach(c,
                   "barrier: worker %u is let go at clock %llu, worker %u is "
                   "at clock %llu",
                   worker, (unsigned long long)c->worker[worker].clock, v,
                   (unsigned long long)c->worker[v].clock);
}

/* ---- values ------------------------------------------------------------ */

static double value_of(strads_scalar type, const void *values, size_t at)
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

/* How many increments, each once, from the first on, make this value; -1: none
 * do. */
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

/* What is wrong with a value that no number of increments makes. */
static const char *judge(double value)
{
    if (value != (double)(long long)value || value < 0)
        return "is of no increment";
    for (long long left = (long long)value; left; left /= 4)
        if (left % 4 > 1)
            return "holds an increment more than once";
    return "lacks an increment before one that it holds";
}

/* Where a cell was seen. */
typedef struct place {
    const char *what;
    uint32_t reader, table, row, worker;
    uint64_t clock;
} place;

/* Its digits, the first increment's first. */
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
    breach(c,
           "%s: %s %u, table %u (%s %s%s), row %u: what worker %u added in "
           "clock %llu is, increment by increment, %s, which %s",
           promise, p->what, p->reader, p->table, type_name[spec->type],
           spec->sparse ? "sparse" : "dense", spec->eager ? ", eager" : "",
           p->row, p->worker, (unsigned long long)p->clock,
           digits_of(value, digits), how);
}

/* A cell holds at least the first `least` of the increments made, none twice,
 * none that was not made; -1 is a breach, else how many it holds. */
static int check_cell(checker *c, const char *promise, const place *p,
                      double value, int least)
{
    const cell *at =
        &row_of(c, p->table, p->row)[col_of(c, p->worker, p->clock)];
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

/* ---- what workers see -------------------------------------------------- */

/* How many of a cell's increments were pushed in clocks below `clock`. */
static int pushed_before(const cell *at, uint64_t own, uint64_t clock)
{
    if (at->late && at->late - UINT64_C(1) < clock)
        return at->made;
    return own < clock ? at->on_time : 0;
}

/* How many of a cell's increments must be there. */
static int least_of(const checker *c, const checker_read *read, const place *p)
{
    const cell *at =
        &row_of(c, p->table, p->row)[col_of(c, p->worker, p->clock)];
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

/* One worker's cells of a row, in order: what it added later is there only
 * when all that it added before is. */
static void check_worker(checker *c, const checker_read *read, place *p,
                         const void *values, size_t base)
{
    const cell *cells = row_of(c, p->table, p->row);
    bool some_missing = false;
    for (p->clock = 0; p->clock < c->setup.clocks; p->clock++) {
        uint32_t col = col_of(c, p->worker, p->clock);
        double value =
            value_of(c->setup.tables[p->table].type, values, base + col);
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

/* P4, on a node. What is told is the least of the rows', so it is held against
 * the least that they had. */
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
        breach(c,
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
        breach(c, "P1 staleness: worker %u reads as of %llu, needs %llu",
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

/* A shard has room for STI_IMAGES_MAX of them at once: before a worker is
 * beyond the last of these, none can be missing. */
void checker_refused(checker *c, uint32_t worker, uint32_t table,
                     uint64_t clock)
{
    uint32_t every = c->setup.tables[table].snapshot_every;
    bool may_be = false;
    for (uint32_t v = 0; v < c->workers; v++)
        may_be |= c->worker[v].clock / every > STI_IMAGES_MAX;
    if (may_be)
        return;
    breach(c,
           "exact snapshots: worker %u cannot have that of clock %llu, though "
           "nobody is far ahead",
           worker, (unsigned long long)clock);
}

/* ---- what roles tell --------------------------------------------------- */

static void told_number(checker *c, const sti_msg *msg, const char *what,
                        uint64_t now, uint64_t *last)
{
    if (now < *last)
        breach(c, "P4 clocks: shard %u tells client %u %s %llu, after %llu",
               msg->from - STI_SHARD_0, msg->to - STI_CLIENT_0, what,
               (unsigned long long)now, (unsigned long long)*last);
    *last = now;
}

void checker_told(checker *c, const sti_msg *msg)
{
    if (msg->kind == STI_MSG_PUSH)
        saw_push(c, msg);
    if (msg->to < STI_CLIENT_0)
        return;
    told *t = told_of(c, msg->from - STI_SHARD_0, msg->to - STI_CLIENT_0);
    if (msg->kind == STI_MSG_ACK || msg->kind == STI_MSG_ATTACHED)
        told_number(c, msg, "acknowledged", msg->round, &t->acknowledged);
    if (msg->kind != STI_MSG_ROWS)
        return;
    const sti_row_answer *rows = (const sti_row_answer *)msg->object;
    told_number(c, msg, "applied", rows->applied, &t->applied);
    if (!rows->exact)
        told_number(c, msg, "as of", rows->as_of, &t->as_of);
}

/* ---- the end ----------------------------------------------------------- */

static void check_row(checker *c, uint32_t shard, uint32_t table, uint32_t row,
                      const void *values)
{
    const strads_table_spec *spec = &c->setup.tables[table];
    for (uint32_t v = 0; v < c->workers; v++)
        for (uint32_t k = 0; k < c->setup.clocks; k++) {
            uint32_t col = col_of(c, v, k);
            const place p = {.what = "at the end of shard",
                             .reader = shard,
                             .table = table,
                             .row = row,
                             .worker = v,
                             .clock = k};
            (void)check_cell(c, "P3 once", &p,
                             value_of(spec->type, values, col),
                             row_of(c, table, row)[col].made);
        }
}

void checker_end(checker *c, uint32_t shard, const sti_kept *kept)
{
    uint32_t shards = c->setup.shards;
    if (sti_kept_clock(kept) != STI_CLOCK_GONE)
        breach(c, "P4 clocks: shard %u is at clock %llu when all have left",
               shard, (unsigned long long)sti_kept_clock(kept));
    for (uint32_t t = 0; t < c->setup.n_tables; t++) {
        const strads_table_spec *spec = &c->setup.tables[t];
        void *values = calloc(spec->cols, 8);
        for (uint32_t row = 0; values && row < spec->rows; row++) {
            uint32_t at = sti_row_place(row, shards);
            if (sti_row_shard(t, row, shards) != shard)
                continue;
            if (strads_store_read(sti_kept_store(kept), t, 1, &at, values))
                breach(c, "at the end: %s", strads_error_text());
            else
                check_row(c, shard, t, row, values);
        }
        free(values);
    }
}
