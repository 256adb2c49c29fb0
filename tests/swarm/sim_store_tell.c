/* The event log of a simulated store: a line for each event. */
#include <inttypes.h>
#include <stdarg.h>

#include "engine/store/message.h"
#include "tests/swarm/sim_store_state.h"

static bool tells(const sti_sim_store *sim)
{
    return sim->setup.tell && sim->outcome.events >= sim->setup.tell_from;
}

void sti_sim_store_log(sti_sim_store *sim, const char *format, ...)
{
    va_list args;
    if (!tells(sim))
        return;
    (void)fprintf(sim->setup.tell, "%8" PRIu64 " %11.3f us  ",
                  sim->outcome.events, 1e-3 * (double)sim->now);
    va_start(args, format);
    (void)vfprintf(sim->setup.tell, format, args);
    va_end(args);
    (void)fputc('\n', sim->setup.tell);
}

static const char *name_of(sti_msg_kind kind)
{
    switch (kind) {
    case STI_MSG_PUSH:
        return "PUSH";
    case STI_MSG_ACK:
        return "ACK";
    case STI_MSG_ASK_ROWS:
        return "ASK_ROWS";
    case STI_MSG_ROWS:
        return "ROWS";
    default:
        return "another message";
    }
}

static const char *place_of(sti_address role, uint32_t *number)
{
    bool client = role >= STI_CLIENT_0;
    *number = role - (client ? STI_CLIENT_0 : STI_SHARD_0);
    return client ? "client" : "shard";
}

void sti_sim_store_log_msg(sti_sim_store *sim, const char *what,
                           const sti_msg *msg)
{
    uint32_t from, to;
    if (!tells(sim))
        return;
    const char *a = place_of(msg->from, &from), *b = place_of(msg->to, &to);
    char more[96] = "";
    if (msg->kind == STI_MSG_ASK_ROWS) {
        const sti_row_ask *ask = (const sti_row_ask *)msg->object;
        (void)snprintf(more, sizeof more,
                       " worker %u id %" PRIu64 " table %u needs %" PRIu64 "%s",
                       ask->worker, ask->id, ask->table, ask->needs,
                       ask->exact ? " exactly" : "");
    } else if (msg->kind == STI_MSG_ROWS) {
        const sti_row_answer *rows = (const sti_row_answer *)msg->object;
        (void)snprintf(more, sizeof more,
                       " worker %u id %" PRIu64 " table %u as of %" PRIu64
                       " applied %" PRIu64,
                       rows->worker, rows->id, rows->table, rows->as_of,
                       rows->applied);
    } else {
        (void)snprintf(more, sizeof more, " %" PRIu64, msg->round);
    }
    sti_sim_store_log(sim, "%s %u -> %s %u: %s%s%s", a, from, b, to,
                      name_of(msg->kind), more, what);
}
