/* The checker: every increment, by (table, row, worker, clock), how many of
 * them were pushed, and the highest numbers that each shard reported. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/session.h"
#include "tests/swarm/store_checker_state.h"

/* ---- a breach ---------------------------------------------------------- */

void checker_break(checker *c, const char *format, ...)
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
    c->cells = calloc(setup->n_tables, sizeof(checker_cell *));
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
        c->cells[t] = calloc(cells, sizeof(checker_cell));
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
/* ---- clocks ------------------------------------------------------------ */

void checker_adaptive(checker *c, uint32_t worker, uint32_t table,
                      uint32_t staleness)
{
    uint32_t most = sti_staleness_max(&c->setup.tables[table]);
    if (staleness > most)
        checker_break(
            c,
            "P1 staleness: worker %u reads table %u %u clocks old, at most "
            "%u were promised",
            worker, table, staleness, most);
}
void checker_clock(checker *c, uint32_t worker, uint64_t clock)
{
    if (clock != c->worker[worker].clock)
        checker_break(c, "P4 clocks: worker %u is at clock %llu, it says %llu",
                      worker, (unsigned long long)c->worker[worker].clock,
                      (unsigned long long)clock);
}

void checker_barrier(checker *c, uint32_t worker)
{
    for (uint32_t v = 0; v < c->workers; v++)
        if (!c->worker[v].left && c->worker[v].clock < c->worker[worker].clock)
            checker_break(
                c,
                "barrier: worker %u is let go at clock %llu, worker %u is "
                "at clock %llu",
                worker, (unsigned long long)c->worker[worker].clock, v,
                (unsigned long long)c->worker[v].clock);
}

/* ---- messages of roles -------------------------------------------------- */

static void told_number(checker *c, const sti_msg *msg, const char *what,
                        uint64_t now, uint64_t *last)
{
    if (now < *last)
        checker_break(c,
                      "P4 clocks: shard %u tells client %u %s %llu, after %llu",
                      msg->from - STI_SHARD_0, msg->to - STI_CLIENT_0, what,
                      (unsigned long long)now, (unsigned long long)*last);
    *last = now;
}

void checker_told(checker *c, const sti_msg *msg)
{
    if (msg->kind == STI_MSG_PUSH)
        checker_saw_push(c, msg);
    if (msg->to < STI_CLIENT_0)
        return;
    checker_tale *t =
        checker_tale_of(c, msg->from - STI_SHARD_0, msg->to - STI_CLIENT_0);
    if (msg->kind == STI_MSG_ACK)
        told_number(c, msg, "acknowledged", msg->round, &t->acknowledged);
    if (msg->kind != STI_MSG_ROWS)
        return;
    const sti_row_answer *rows = (const sti_row_answer *)msg->object;
    told_number(c, msg, "applied", rows->applied, &t->applied);
    if (!rows->exact)
        told_number(c, msg, "as of", rows->as_of, &t->as_of);
}
