/* A shard of the store. What was accepted waits here while a job is at work;
 * the next one takes all that waits, so a busy shard answers less often. Owns
 * the pushes that wait and those that its job is at, and the asks whose clock
 * has not come.
 *
 * Invariants: of each stream applied <= accepted, and every push between the
 * two is in `at_work` or `waiting`, in the order in which they were accepted:
 * that of the journal. How many these can be is bounded by who pushes
 * (STI_PUSHES_MAX for each client), and asks are one for each worker. */
#include "engine/store/shard.h"

#include <stdlib.h>
#include <string.h>

typedef struct push_list {
    sti_taken_push *at;
    uint32_t n, room;
} push_list;

/* The last number of each kind. */
typedef struct stream_state {
    uint64_t accepted, applied;
    bool moved;         /* applied has grown in the last job */
    bool attaching;     /* ATTACH came, and is answered */
    uint64_t attach_at; /* once this is applied, */
    uint64_t life;      /* to that life of the client */
    bool silent;        /* since the restart */
} stream_state;

/* A worker's ask whose clock has not come; ids only grow. */
typedef struct parked_ask {
    uint64_t last_id;
    uint32_t stream;
    uint64_t since;   /* when it came */
    bool early;       /* before its clock had come */
    sti_row_ask *ask; /* NULL: none */
} parked_ask;

static const uint64_t default_piece = UINT64_C(256) << 10;
static const uint64_t default_retell_ns = 500000000;

struct sti_shard {
    sti_kept *kept;
    sti_journal *journal;
    sti_address address, first_client;
    uint32_t streams, workers;
    stream_state *stream; /* [streams] */
    parked_ask *parked;   /* [workers] */
    uint64_t clock;       /* after the last job */
    bool tell;            /* it has moved since eager rows were sent */
    push_list waiting, at_work;
    uint32_t durable; /* of at_work: in the journal, not yet applied */
    bool busy, failed;
    uint64_t now; /* of the last event */
    uint64_t retell_ns;
    sti_apply_job apply;
    sti_serve_job serve;
    sti_job_text said;
};

strads_err sti_shard_new(const sti_shard_setup *setup, sti_shard **out)
{
    sti_shard *shard = calloc(1, sizeof *shard);
    if (!shard)
        goto fail;
    shard->kept = setup->kept;
    shard->journal = setup->journal;
    shard->first_client = setup->first_client;
    shard->address = STI_SHARD_0 + sti_kept_shard(setup->kept);
    shard->streams = sti_kept_streams(setup->kept);
    shard->workers = sti_kept_workers(setup->kept);
    shard->clock = sti_kept_clock(setup->kept);
    shard->serve.piece_bytes =
        setup->piece_bytes ? setup->piece_bytes : default_piece;
    shard->serve.lend_bytes = setup->lend_bytes;
    shard->retell_ns = setup->retell_ns ? setup->retell_ns : default_retell_ns;
    shard->stream = calloc(shard->streams + 1, sizeof *shard->stream);
    shard->parked = calloc(shard->workers + 1, sizeof *shard->parked);
    shard->serve.asks = calloc(shard->workers + 1, sizeof *shard->serve.asks);
    if (!shard->stream || !shard->parked || !shard->serve.asks)
        goto fail;
    for (uint32_t c = 0; c < shard->streams; c++)
        shard->stream[c].accepted = shard->stream[c].applied =
            sti_kept_applied(setup->kept, c);
    *out = shard;
    return STRADS_OK;
fail:
    sti_shard_free(shard);
    return strads_fail(STRADS_ENOMEM, "no memory for a shard");
}

static void drop_pushes(push_list *list)
{
    for (uint32_t k = 0; k < list->n; k++)
        sti_object_drop(list->at[k].push);
    list->n = 0;
}

static void drop_asks(sti_serve_job *job)
{
    for (uint32_t k = 0; k < job->n; k++)
        sti_object_drop(job->asks[k].ask);
    job->n = 0;
}

static void drop_answers(sti_serve_job *job)
{
    for (uint32_t k = 0; k < job->n_answers; k++)
        sti_object_drop(job->answers[k].answer);
    job->n_answers = 0;
}

void sti_shard_free(sti_shard *shard)
{
    if (!shard)
        return;
    drop_pushes(&shard->waiting);
    drop_pushes(&shard->at_work);
    free(shard->waiting.at);
    free(shard->at_work.at);
    for (uint32_t w = 0; shard->parked && w < shard->workers; w++)
        sti_object_drop(shard->parked[w].ask);
    drop_asks(&shard->serve);
    drop_answers(&shard->serve);
    free(shard->serve.answers);
    free(shard->serve.asks);
    free(shard->parked);
    free(shard->stream);
    free(shard);
}

uint64_t sti_shard_clock(const sti_shard *shard)
{
    return shard->clock;
}

static void fail(sti_shard *shard, strads_err err, const char *text,
                 sti_effects *out)
{
    if (!shard->failed)
        sti_effect_send(out,
                        (sti_msg){.kind = STI_MSG_FAIL,
                                  .from = shard->address,
                                  .to = STI_COORDINATOR,
                                  .object = sti_failure_object(err, text)});
    shard->failed = true;
}

static void tell(const sti_shard *shard, sti_msg_kind kind, uint32_t stream,
                 uint64_t life, sti_effects *out)
{
    sti_effect_send(out, (sti_msg){.kind = kind,
                                   .from = shard->address,
                                   .to = shard->first_client + stream,
                                   .round = shard->stream[stream].applied,
                                   .life = life});
}

/* ---- taking in --------------------------------------------------------- */

static bool keep(push_list *list, sti_taken_push push)
{
    if (list->n == list->room) {
        uint32_t room = list->room ? 2 * list->room : 8;
        sti_taken_push *at = realloc(list->at, sizeof *at * room);
        if (!at)
            return false;
        list->at = at;
        list->room = room;
    }
    list->at[list->n++] = push;
    return true;
}

/* S1 ACCEPT: what was accepted before is not taken again; what comes too early
 * is dropped, and the answer says from where on it is to be sent. */
static void accept_push(sti_shard *shard, uint32_t stream, const sti_msg *msg,
                        sti_effects *out)
{
    sti_buffer *push = (sti_buffer *)msg->object;
    stream_state *s = &shard->stream[stream];
    bool due = msg->round == s->accepted + 1;
    if (!push || !due) {
        sti_object_drop(push);
        tell(shard, STI_MSG_ACK, stream, 0, out);
        return;
    }
    const sti_taken_push taken = {.stream = stream,
                                  .number = msg->round,
                                  .push = push};
    if (!keep(&shard->waiting, taken)) {
        sti_object_drop(push);
        fail(shard, STRADS_ENOMEM, "no memory for commits that wait", out);
        return;
    }
    s->accepted++;
}

/* S4 SERVE, parking: one ask for each worker. It is answered by a job, at once
 * when its clock has come. */
static void park(sti_shard *shard, uint32_t stream, const sti_msg *msg,
                 sti_effects *out)
{
    sti_row_ask *ask = (sti_row_ask *)msg->object;
    if (!ask || ask->worker >= shard->workers) {
        sti_object_drop(ask);
        fail(shard, STRADS_EPEER, "a node asked for rows in another's name",
             out);
        return;
    }
    parked_ask *parked = &shard->parked[ask->worker];
    if (ask->id < parked->last_id) { /* its worker has gone on */
        sti_object_drop(ask);
        return;
    }
    if (!parked->ask || ask->id > parked->last_id) { /* not sent again */
        parked->since = shard->now;
        parked->early = ask->needs > shard->clock;
    }
    sti_object_drop(parked->ask);
    parked->last_id = ask->id;
    parked->stream = stream;
    parked->ask = ask;
}

/* Which pushes of a former life are in is settled when those have been applied
 * that were accepted before: only then nothing else of it can come. */
static void answer_attach(sti_shard *shard, uint32_t stream, sti_effects *out)
{
    stream_state *s = &shard->stream[stream];
    if (!s->attaching || s->applied < s->attach_at)
        return;
    s->attaching = false;
    tell(shard, STI_MSG_ATTACHED, stream, s->life, out);
}

/* S6 COMPARE: what a client was told is in is in. Otherwise the disk has lost
 * what it had said was synced, and no client keeps it any more. */
static void compare(sti_shard *shard, uint32_t stream, uint64_t settled,
                    sti_effects *out)
{
    stream_state *s = &shard->stream[stream];
    s->silent = false;
    if (settled <= s->applied)
        return;
    strads_err err = strads_fail(
        STRADS_EIO,
        "shard %u has lost what its disk had said was synced: client %u was "
        "told that its pushes up to %llu are kept, the journal ends at %llu "
        "(clock %llu): run again with a journal on another disk, and never put "
        "back an older copy of its directory",
        (unsigned)(shard->address - STI_SHARD_0), (unsigned)stream,
        (unsigned long long)settled, (unsigned long long)s->applied,
        (unsigned long long)shard->clock);
    fail(shard, err, strads_error_text(), out);
}

static void take(sti_shard *shard, const sti_msg *msg, sti_effects *out)
{
    uint32_t stream = msg->from - shard->first_client;
    if (stream >= shard->streams) {
        sti_object_drop(msg->object);
        fail(shard, STRADS_EPEER, "a stranger uses the store", out);
        return;
    }
    switch (msg->kind) {
    case STI_MSG_PUSH:
        accept_push(shard, stream, msg, out);
        break;
    case STI_MSG_ASK_ROWS:
        park(shard, stream, msg, out);
        break;
    case STI_MSG_ATTACH:
        shard->stream[stream].attaching = true;
        shard->stream[stream].life = msg->life;
        shard->stream[stream].attach_at = shard->stream[stream].accepted;
        answer_attach(shard, stream, out);
        break;
    case STI_MSG_SETTLED:
        compare(shard, stream, msg->round, out);
        break;
    default:
        sti_object_drop(msg->object);
        break;
    }
}

/* Again and again to those who have not answered. */
static void tell_silent(sti_shard *shard, sti_effects *out)
{
    uint32_t silent = 0;
    for (uint32_t c = 0; c < shard->streams; c++) {
        if (!shard->stream[c].silent)
            continue;
        tell(shard, STI_MSG_ATTACHED, c, 0, out);
        silent++;
    }
    if (silent)
        sti_effect_timer(out, shard->now + shard->retell_ns);
}

/* S5 RESTART: before anything else came. */
static void restart(sti_shard *shard, sti_effects *out)
{
    sti_kept_restarted(shard->kept);
    for (uint32_t c = 0; c < shard->streams; c++)
        shard->stream[c].silent = true;
    tell_silent(shard, out);
}

/* ---- jobs -------------------------------------------------------------- */

static void start_apply(sti_shard *shard, sti_effects *out)
{
    if (shard->at_work.n == 0) {
        push_list empty = shard->at_work;
        shard->at_work = shard->waiting;
        shard->waiting = empty;
    }
    const push_list *work = &shard->at_work;
    shard->busy = true;
    shard->apply =
        (sti_apply_job){.job = {.call = STI_CALL_APPLY,
                                .role = shard->address,
                                .round = work->at[work->n - 1].number,
                                .said = &shard->said},
                        .kept = shard->kept,
                        .journal = shard->journal,
                        .n = work->n,
                        .durable = shard->durable,
                        .pushes = work->at};
    sti_effect_compute(out, &shard->apply.job);
}

/* Where an ask of this worker is answered: behind the others, or instead of
 * one that its worker does not wait for any more. NULL: the one that is being
 * answered is this very one, sent again. */
static sti_ready_ask *place_for(sti_serve_job *job, const sti_row_ask *ask)
{
    for (uint32_t k = 0; k < job->n; k++) {
        sti_row_ask *other = job->asks[k].ask;
        if (other->worker != ask->worker)
            continue;
        if (other->id == ask->id)
            return NULL;
        sti_object_drop(other);
        return &job->asks[k];
    }
    return &job->asks[job->n++];
}

/* Takes the asks whose clock has come; they are the job's then. */
static void gather(sti_shard *shard)
{
    for (uint32_t w = 0; w < shard->workers; w++) {
        parked_ask *parked = &shard->parked[w];
        if (!parked->ask || parked->ask->needs > shard->clock)
            continue;
        sti_ready_ask *place = place_for(&shard->serve, parked->ask);
        if (!place)
            continue;
        *place =
            (sti_ready_ask){.stream = parked->stream,
                            .parked_ns =
                                parked->early ? shard->now - parked->since : 0,
                            .ask = parked->ask};
        parked->ask = NULL;
    }
}

static void start_serve(sti_shard *shard, sti_effects *out)
{
    sti_serve_job *job = &shard->serve;
    shard->busy = true;
    job->job = (sti_job){.call = STI_CALL_SERVE,
                         .role = shard->address,
                         .round = shard->clock,
                         .said = &shard->said};
    job->kept = shard->kept;
    job->tell = shard->tell;
    shard->tell = false;
    sti_effect_compute(out, &job->job);
}

/* S3 APPLY, the end of it: what is durable and in the tables is acknowledged,
 * with one ACK for each stream. */
static void applied(sti_shard *shard, sti_effects *out)
{
    push_list *work = &shard->at_work;
    uint32_t done = shard->apply.done;
    for (uint32_t k = 0; k < done; k++) {
        stream_state *s = &shard->stream[work->at[k].stream];
        s->applied = work->at[k].number;
        s->moved = true;
        sti_object_drop(work->at[k].push);
    }
    work->n -= done;
    shard->durable = shard->apply.durable - done;
    memmove(work->at, work->at + done, sizeof *work->at * work->n);
    for (uint32_t c = 0; done && c < shard->streams; c++) {
        if (shard->stream[c].moved)
            tell(shard, STI_MSG_ACK, c, 0, out);
        shard->stream[c].moved = false;
        answer_attach(shard, c, out);
    }
    uint64_t clock = sti_kept_clock(shard->kept);
    shard->tell |= clock > shard->clock;
    shard->clock = clock;
}

/* S4 SERVE, the end of it. */
static void served(sti_shard *shard, sti_effects *out)
{
    sti_serve_job *job = &shard->serve;
    for (uint32_t k = 0; !job->job.err && k < job->n_answers; k++)
        sti_effect_send(out,
                        (sti_msg){.kind = STI_MSG_ROWS,
                                  .from = shard->address,
                                  .to = shard->first_client +
                                        job->answers[k].stream,
                                  .object = &job->answers[k].answer->head});
    if (job->job.err)
        drop_answers(job);
    job->n_answers = 0;
    uint32_t left = 0;
    for (uint32_t k = 0; k < job->n; k++)
        if (!job->job.err && job->asks[k].done < job->asks[k].ask->n)
            job->asks[left++] = job->asks[k];
        else
            sti_object_drop(job->asks[k].ask);
    job->n = left;
}

static void finish(sti_shard *shard, const sti_job *job, sti_effects *out)
{
    shard->busy = false;
    if (job->call == STI_CALL_APPLY)
        applied(shard, out);
    else
        served(shard, out);
    if (job->err)
        fail(shard, job->err, job->said->text, out);
}

/* Who waits for a clock is served before the next pushes, piece by piece: so a
 * snapshot is there until everybody who asked for it has it. */
static void advance(sti_shard *shard, sti_effects *out)
{
    if (shard->busy || shard->failed)
        return;
    gather(shard);
    if (shard->serve.n || shard->tell)
        start_serve(shard, out);
    else if (shard->at_work.n || shard->waiting.n)
        start_apply(shard, out);
}

void sti_shard_step(sti_shard *shard, const sti_event *events, size_t n,
                    sti_effects *out)
{
    for (size_t k = 0; k < n; k++) {
        shard->now = events[k].now;
        switch (events[k].kind) {
        case STI_EVENT_DONE:
            finish(shard, events[k].job, out);
            break;
        case STI_EVENT_MESSAGE:
            take(shard, &events[k].msg, out);
            break;
        case STI_EVENT_START:
            restart(shard, out);
            break;
        case STI_EVENT_TIMER:
            if (!shard->failed)
                tell_silent(shard, out);
            break;
        case STI_EVENT_CANCEL:
            break;
        }
    }
    advance(shard, out);
}
