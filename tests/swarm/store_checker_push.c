/* Increments and pushes: the push that carries each increment, and what filters
 * may hold back. */
#include <math.h>

#include "tests/swarm/store_checker_state.h"

/* ---- increments
 * ----------------------------------------------------------- */

bool checker_inc(checker *c, uint32_t worker, uint32_t table, uint32_t row,
                 uint32_t *col, double *value)
{
    *col = checker_col(c, worker, c->worker[worker].clock);
    checker_cell *at = &checker_row(c, table, row)[*col];
    if (at->made == CHECKER_INCS)
        return false;
    *value = (double)(1u << 2 * at->made++);
    return true;
}
/* ---- filters ----------------------------------------------------------- */

/* The sum of increments from..to - 1 of a clock. */
static double sum_of(uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t k = from; k < to; k++)
        sum += (double)(1u << 2 * k);
    return sum;
}

static checker_found find_row(const checker *c, uint32_t worker, uint32_t t,
                              uint32_t row, const sti_pending *pending)
{
    const strads_table_spec *spec = &c->setup.tables[t];
    const checker_cell *cells =
        &checker_row(c, t, row)[checker_col(c, worker, 0)];
    checker_found found = {0};
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
    checker_break(c, "filters: worker %u, table %u, row %u: %s", worker, t, row,
                  how);
}

/* Checks that sent rows are large enough and within the byte limit together.
 * Returns their least change; INFINITY: none was sent. */
static double check_leaving(checker *c, uint32_t worker, uint32_t t,
                            uint32_t shard, const checker_found *found,
                            bool all)
{
    const strads_table_spec *spec = &c->setup.tables[t];
    double least = INFINITY;
    uint64_t bytes = 0;
    uint32_t n = 0;
    for (uint32_t r = 0; r < spec->rows; r++) {
        if (found[r].stays || found[r].largest == 0 ||
            sti_row_shard(t, r, c->setup.shards) != shard)
            continue;
        n++;
        bytes += found[r].bytes;
        if (found[r].largest < least)
            least = found[r].largest;
        if (!all && found[r].largest < spec->hold_below)
            held_wrongly(c, worker, t, r, "a small change is not held back");
    }
    if (!all && spec->push_bytes && n > 1 &&
        bytes > spec->push_bytes / c->setup.shards)
        held_wrongly(c, worker, t, 0, "more was pushed than its bound");
    return least;
}

/* Checks that a held row is small, or no larger than all sent rows. */
static void check_staying(checker *c, uint32_t worker, uint32_t t, uint32_t row,
                          const checker_found *found, bool all, double least)
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

/* A row of a sent push. */
typedef struct sent_row {
    uint64_t number; /* the push's number */
    /* the part with the row as its k-th; NULL: not seen in a push, all
     * increments were sent */
    const sti_push_part *part;
    uint32_t k;
} sent_row;

/* Its change of a column. */
static double change_of(const checker *c, const sent_row *sent, uint32_t col)
{
    const sti_push_part *part = sent->part;
    const strads_table_spec *spec = &c->setup.tables[part->table];
    if (part->kind == STI_PUSH_ROWS)
        return checker_value(spec->type, part->cells,
                             (size_t)sent->k * spec->cols + col);
    for (uint32_t i = 0; i < part->n; i++)
        if (part->places[i] == col)
            return checker_value(spec->type, part->cells, i);
    return 0;
}

/* The end of the increments of a cell that it contains, starting with the first
 * unsent one. */
static uint8_t end_of(const checker *c, const sent_row *sent, uint32_t col,
                      const checker_cell *at)
{
    if (!sent->part)
        return at->made;
    const double change = change_of(c, sent, col);
    uint8_t n = at->sent;
    while (n < at->made && change >= 0 && change < UINT32_MAX &&
           ((uint32_t)change >> 2 * n & 1))
        n++;
    return n;
}

/* Increments held back from earlier clocks count as sent now. */
static void row_is_sent(checker *c, uint32_t worker, uint32_t t, uint32_t row,
                        const sent_row *sent)
{
    const uint64_t now = c->worker[worker].clock;
    const uint32_t first = checker_col(c, worker, 0);
    checker_cell *cells = &checker_row(c, t, row)[first];
    for (uint32_t k = 0; k <= now && k < c->setup.clocks; k++) {
        checker_cell *at = &cells[k];
        const uint8_t end = end_of(c, sent, first + k, at);
        if (k == now)
            at->on_time = end;
        else if (at->sent < end)
            at->late = (uint8_t)(1 + now);
        for (; at->sent < end; at->sent++)
            checker_sent(c, t, at)[at->sent] = (uint16_t)sent->number;
    }
}

/* A call has returned: increments that are not pending were sent. */
static void row_is_pushed(checker *c, uint32_t worker, uint32_t t, uint32_t row)
{
    checker_cell *cells = &checker_row(c, t, row)[checker_col(c, worker, 0)];
    for (uint32_t k = 0; k < c->setup.clocks; k++) {
        if (cells[k].sent < cells[k].made)
            checker_break(
                c,
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
            row_is_sent(c, worker, part.table, part.places[k],
                        &(sent_row){msg->round, &part, k});
        if (part.kind == STI_PUSH_COLS)
            row_is_sent(c, worker, part.table, part.row,
                        &(sent_row){msg->round, &part, 0});
    }
}

/* Handles the part of a table that goes to one shard. */
static void part_pushed(checker *c, uint32_t worker, uint32_t t, uint32_t shard,
                        bool all, const sti_pending *pending)
{
    const uint32_t rows = (uint32_t)c->setup.tables[t].rows;
    const uint32_t shards = c->setup.shards;
    for (uint32_t r = 0; r < rows; r++) {
        if (sti_row_shard(t, r, shards) != shard)
            continue;
        if (!pending)
            row_is_sent(c, worker, t, r, &(sent_row){0});
        c->found[r] = find_row(c, worker, t, r, pending);
    }
    double least = check_leaving(c, worker, t, shard, c->found, all);
    for (uint32_t r = 0; r < rows; r++) {
        if (sti_row_shard(t, r, shards) != shard)
            continue;
        if (c->found[r].stays)
            check_staying(c, worker, t, r, &c->found[r], all, least);
        else
            row_is_pushed(c, worker, t, r);
    }
}

void checker_pushed(checker *c, uint32_t worker, sti_push_end end,
                    const sti_pending *pending)
{
    const uint32_t shards = c->setup.shards;
    checker_life *w = &c->worker[worker];
    for (uint32_t t = 0; t < c->setup.n_tables; t++)
        for (uint32_t s = 0; s < shards; s++)
            part_pushed(c, worker, t, s, end != STI_PUSH_CLOCK,
                        pending ? &pending[t * shards + s] : NULL);
    w->clock += end == STI_PUSH_CLOCK;
    w->left = end == STI_PUSH_LEAVE;
}

uint64_t checker_held(const checker *c)
{
    return c->held;
}

void checker_saw_push(checker *c, const sti_msg *msg)
{
    checker_tale *t =
        checker_tale_of(c, msg->to - STI_SHARD_0, msg->from - STI_CLIENT_0);
    if (msg->round <= t->sent) /* a resend */
        return;
    t->sent = msg->round;
    rows_are_sent(c, msg);
}
