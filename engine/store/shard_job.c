/* The shard's jobs. */
#include "engine/store/shard_job.h"

#include <stdlib.h>

/* ---- APPLY ------------------------------------------------------------- */

/* S2 PERSIST: checks the pushes that are not durable yet and hands them to the
 * journal. What comes after a push that makes tables is left for later: it can
 * be checked only when these are there. */
static strads_err persist(sti_apply_job *job)
{
    strads_err err = STRADS_OK;
    bool makes_tables = false;
    uint32_t k = job->durable;
    while (k < job->n && !makes_tables) {
        const sti_taken_push *push = &job->pushes[k];
        err = sti_kept_check(job->kept, push->push, &makes_tables);
        if (!err && job->journal)
            err = sti_kept_append(job->journal, push->stream, push->number,
                                  push->push);
        if (err)
            break;
        k++;
    }
    strads_err late = job->journal && k > job->durable
                          ? job->journal->ops->sync(job->journal)
                          : STRADS_OK;
    if (!late)
        job->durable = k;
    return err ? err : late;
}

/* A checkpoint is of all that was appended. */
static strads_err shorten(const sti_apply_job *job)
{
    if (!job->journal || job->done < job->durable ||
        !sti_journal_is_long(job->journal))
        return STRADS_OK;
    return job->journal->ops->checkpoint(job->journal, sti_kept_state,
                                         job->kept);
}

/* S3 APPLY: only what is durable, so nobody ever reads what a restart may take
 * back. After a failure what came before it is applied. */
strads_err sti_job_apply(sti_apply_job *job)
{
    strads_err err = STRADS_OK;
    bool snapshot = false;
    while (!err && !snapshot && job->done < job->n) {
        if (job->durable == job->done)
            err = persist(job);
        strads_err failed = STRADS_OK;
        while (!failed && !snapshot && job->done < job->durable) {
            const sti_taken_push *push = &job->pushes[job->done];
            failed = sti_kept_apply(job->kept, push->stream, push->number,
                                    push->push, &snapshot);
            job->done += !failed;
        }
        err = failed ? failed : err;
    }
    return err ? err : shorten(job);
}

/* ---- SERVE ------------------------------------------------------------- */

static strads_err add_answer(sti_serve_job *job, uint32_t stream,
                             sti_row_answer **out)
{
    if (job->n_answers == job->room) {
        uint32_t room = job->room ? 2 * job->room : 8;
        sti_ready_answer *more = realloc(job->answers, sizeof *more * room);
        if (!more)
            return strads_fail(STRADS_ENOMEM, "no memory for rows to be sent");
        job->answers = more;
        job->room = room;
    }
    sti_row_answer *answer;
    strads_err err = sti_row_answer_new(&answer);
    if (err)
        return err;
    answer->as_of = sti_kept_clock(job->kept);
    answer->applied = sti_kept_applied(job->kept, stream);
    job->answers[job->n_answers++] =
        (sti_ready_answer){.stream = stream, .answer = answer};
    *out = answer;
    return sti_buffer_new(0, &answer->parts);
}

/* The next piece of an answer. */
static strads_err serve(sti_serve_job *job, sti_ready_ask *ready)
{
    const sti_row_ask *ask = ready->ask;
    const uint32_t *rows = ask->rows + ready->done;
    sti_row_answer *answer;
    strads_err err = add_answer(job, ready->stream, &answer);
    if (err)
        return err;
    answer->id = ask->id;
    answer->worker = ask->worker;
    answer->table = ask->table;
    answer->first = ready->done;
    answer->parked_ns = ready->parked_ns;
    if (ask->n == 0) /* the clock is what was asked for */
        return STRADS_OK;
    uint32_t n = sti_kept_fit(job->kept, ask->table, ask->n - ready->done, rows,
                              job->piece_bytes);
    ready->done += n;
    if (!ask->exact && job->lend_bytes)
        err = sti_kept_lend(job->kept, ready->stream, ask->table, n, rows,
                            job->lend_bytes, answer->parts, &answer->lent,
                            &answer->lent_bytes);
    if (err || answer->lent_bytes)
        return err;
    if (!ask->exact)
        return sti_kept_read(job->kept, ready->stream, ask->table, n, rows,
                             answer->parts);
    answer->exact = true;
    answer->as_of = ask->needs;
    err = sti_kept_read_image(job->kept, ask->needs, ask->table, n, rows,
                              answer->parts, &answer->gone);
    if (answer->gone)
        ready->done = ask->n;
    return err;
}

/* Eager tables: what each stream holds and has changed. */
static strads_err tell_changes(sti_serve_job *job)
{
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; t < sti_kept_tables(job->kept); t++)
        for (uint32_t c = 0; !err && c < sti_kept_streams(job->kept); c++) {
            sti_row_answer *answer;
            if (!sti_kept_has_changes(job->kept, c, t))
                continue;
            err = add_answer(job, c, &answer);
            if (err)
                break;
            answer->table = t;
            err = sti_kept_changes(job->kept, c, t, answer->parts,
                                   &answer->since);
        }
    sti_kept_told(job->kept);
    return err;
}

strads_err sti_job_serve(sti_serve_job *job)
{
    strads_err err = job->tell ? tell_changes(job) : STRADS_OK;
    for (uint32_t k = 0; !err && k < job->n; k++)
        err = serve(job, &job->asks[k]);
    return err;
}
