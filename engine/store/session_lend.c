/* Rows that their owner lends to a session (pending_lent.c). Of a table one
 * piece of them waits for its clock, as other increments do; before the next
 * one comes it leaves, and what cannot is copied. */
#include "engine/store/pending_push.h"
#include "engine/store/session_inside.h"

/* Pieces that are lent leave, as soon as there is room for them. */
static strads_err push_lent(strads_session *session, const sti_pending *pending)
{
    strads_err err = STRADS_OK;
    uint32_t before = UINT32_MAX;
    while (!err && session->ops->push_early && pending->lent &&
           pending->n < before) {
        before = pending->n;
        err = session->ops->push_early(session);
    }
    return err;
}

/* Rows that fit a piece. Those that cannot be lent are added one by one. */
static strads_err lend(strads_session *session, uint32_t table,
                       sti_pending *pending, uint32_t n, const uint32_t *rows,
                       const char *delta)
{
    bool lent = false;
    strads_err err = push_lent(session, pending);
    if (!err && pending->n == 0 && !pending->spec->sparse &&
        !sti_pending_is_filtered(pending))
        err = sti_pending_lend(pending, n, rows, delta, &lent);
    for (uint32_t k = 0; !err && !lent && k < n; k++)
        err = strads_session_inc_row(session, table, rows[k],
                                     delta + k * pending->row_bytes);
    return err;
}

strads_err strads_session_lend_rows(strads_session *session, uint32_t table,
                                    uint32_t n, const uint32_t *rows,
                                    const void *delta)
{
    sti_pending *pending = NULL;
    strads_err err = sti_session_find_pending(session, table, &pending);
    for (uint32_t k = 0; !err && k < n; k++)
        err = sti_spec_check_row(pending->spec, rows[k]);
    if (err)
        return err;
    for (uint32_t k = 0; k < n; k++)
        sti_recent_forget(&session->recent, table, rows[k]);
    const size_t bytes = pending->row_bytes;
    const uint64_t fit = session->piece / bytes ? session->piece / bytes : 1;
    const uint32_t most = session->piece && fit < n ? (uint32_t)fit : n;
    for (uint32_t k = 0, m; !err && k < n; k += m) {
        m = n - k < most ? n - k : most;
        err = lend(session, table, pending, m, rows + k,
                   (const char *)delta + k * bytes);
    }
    return err;
}

strads_err strads_session_reclaim(strads_session *session)
{
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < session->n_pending; t++)
        err = sti_pending_own(&session->pending[t]);
    strads_err late =
        session->ops->reclaim ? session->ops->reclaim(session) : STRADS_OK;
    return err ? err : late;
}
