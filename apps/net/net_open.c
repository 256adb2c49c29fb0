/* Opening a partition: its rows, classes and arrays. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <strads/policy.h>

#include "net_blas.h"
#include "net_worker.h"

/* Rows of a batch lie anywhere in large arrays, so these have large pages where
 * the system has them. */
static void *allocate_zeroed(uint64_t n, uint64_t size)
{
    enum { PAGE = 2 << 20 };
    if (n < PAGE / size)
        return calloc(n, size);
    if (n > (SIZE_MAX - PAGE) / size)
        return NULL;
    const size_t bytes = (size_t)((n * size + PAGE - 1) / PAGE * PAGE);
    void *x = aligned_alloc(PAGE, bytes);
#ifdef MADV_HUGEPAGE
    if (x)
        (void)madvise(x, bytes, MADV_HUGEPAGE);
#endif
    return x ? memset(x, 0, bytes) : NULL;
}

strads_err net_reserve_array(uint64_t n, uint64_t size, void *out)
{
    void *scratch = allocate_zeroed(n, size);
    memcpy(out, &scratch, sizeof scratch);
    return scratch ? STRADS_OK
                   : strads_fail(STRADS_ENOMEM,
                                 "no memory for %llu numbers of the network",
                                 (unsigned long long)n);
}

static void densify(const net_worker *w)
{
    for (uint64_t i = 0; i < w->rows; i++)
        for (uint64_t e = w->x->start[i]; e < w->x->start[i + 1]; e++) {
            const double v = strads_sparse_value(w->x, e);
            net_narrow(w, 1, &v,
                       net_number_at(w, w->dense,
                                     i * w->columns + w->x->index[e]));
        }
}

static bool keeps_best(const net_worker *w)
{
    return w->options.holdout > 0 && (w->groups == 1 || w->group == 0);
}

static strads_err allocate_worker(net_worker *w)
{
    const net_sizes *s = &w->sizes;
    const uint64_t size = w->arithmetic->bytes, ld = s->width;
    const uint64_t parameters = w->columns + net_upper(s);
    const uint64_t slots = w->batch_max + w->flags;
    const double cells = (double)w->rows * (double)w->columns;
    const bool dense = (double)w->x->nnz >= NET_DENSE_SHARE * cells;
    const uint64_t weights = (net_uses_adam(&w->options) ? 3 : 1) * parameters;
    struct {
        void *out;
        uint64_t n, size;
    } of[] = {
        {&w->class, w->rows, sizeof *w->class},
        {&w->order, w->all_rows, sizeof *w->order},
        {&w->row, w->batch_max, sizeof *w->row},
        {&w->label, w->batch_max, sizeof *w->label},
        {&w->mark, w->columns, sizeof *w->mark},
        {&w->id, parameters, sizeof *w->id},
        {&w->place, parameters, sizeof *w->place},
        {&w->dense, dense ? w->rows * w->columns : 0, size},
        {&w->gather, dense ? w->batch_max * w->columns : 0, size},
        {&w->w, weights * ld, size},
        {&w->grad, parameters * ld, size},
        {&w->z, w->batch_max * ld, size},
        {&w->scratch, ld * w->batch_max * (s->layers - 1), size},
        {&w->p, w->batch_max * s->size[s->layers], size},
        {&w->delta, w->batch_max * ld, size},
        {&w->spare, w->batch_max * ld, size},
        {&w->exchanged, (parameters > slots ? parameters : slots) * ld,
         sizeof *w->exchanged},
        {&w->old[0], w->member == 0 ? w->batch_max * ld : 0, sizeof(double)},
        {&w->old[1], w->member == 0 ? w->batch_max * ld : 0, sizeof(double)},
        {&w->slot, slots, sizeof *w->slot},
        {&w->start, w->groups == 1 ? parameters * ld : 0, sizeof *w->start},
        {&w->best, keeps_best(w) ? parameters * ld : 0, size},
    };
    strads_err err = STRADS_OK;
    for (size_t k = 0; !err && k < sizeof of / sizeof *of; k++)
        if (of[k].n > 0)
            err = net_reserve_array(of[k].n, of[k].size, of[k].out);
    if (!err && dense)
        densify(w);
    return err;
}

void net_close(void *local)
{
    net_worker *w = local;
    if (!w)
        return;
    void *const scratch[] = {w->class,   w->order,     w->row,    w->label,
                             w->mark,    w->id,        w->place,  w->dense,
                             w->gather,  w->w,         w->grad,   w->z,
                             w->scratch, w->p,         w->delta,  w->spare,
                             w->slot,    w->exchanged, w->old[0], w->old[1],
                             w->start,   w->best,      w->packed};
    for (size_t k = 0; k < sizeof scratch / sizeof *scratch; k++)
        free(scratch[k]);
    free(w);
}

/* Number of rows of "sums" for the flags of all partitions. */
static uint32_t flag_rows(const net_sizes *s, const strads_shape *shape)
{
    return (shape->partitions + s->width - 1) / s->width;
}

uint32_t net_batch_rows(const strads_net_options *o, uint64_t rows)
{
    return o->batch < rows ? o->batch : (uint32_t)rows;
}

bool net_is_held(const net_worker *w, uint64_t row)
{
    return w->options.holdout > 0 &&
           strads_random_unit(w->task->seed, NET_DRAW_HELD, row, 0) <
               w->options.holdout;
}

static strads_err count_held(net_worker *w)
{
    uint64_t held = 0;
    for (uint64_t i = 0; i < w->all_rows; i++)
        held += net_is_held(w, i);
    w->train_rows = w->all_rows - held;
    if (w->options.holdout > 0 && (held == 0 || w->train_rows == 0))
        return strads_fail(STRADS_EINVAL,
                           "--holdout %g leaves out %llu of %llu rows: change "
                           "it so that there are rows to train on and rows to "
                           "measure on",
                           w->options.holdout, (unsigned long long)held,
                           (unsigned long long)w->all_rows);
    return STRADS_OK;
}

/* Partition 0 publishes the labels that the coordinator found. */
static strads_err agree_on_classes(net_worker *w, linear_classes *out)
{
    double fact[NET_N_FACTS];
    strads_err err = STRADS_OK;
    if (!w->packed && w->task->share->partition == 0) {
        const net_state *state = w->task->state;
        err = strads_session_inc(w->session, NET_FACTS, NET_LABELS, 0,
                                 state->classes.n);
        for (uint32_t k = 0; !err && k < state->classes.n; k++)
            err = strads_session_inc(w->session, NET_FACTS, NET_LABELS, k + 1,
                                     state->classes.label[k]);
    }
    if (!err && !w->packed)
        err = strads_session_clock(w->session);
    if (!err)
        err =
            strads_session_read_row(w->session, NET_FACTS, NET_LABELS, 0, fact);
    if (err)
        return err;
    err = linear_classes_new((uint32_t)fact[0], out);
    if (!err)
        memcpy(out->label, fact + 1, out->n * sizeof *out->label);
    return err;
}

static strads_err find_classes(net_worker *w, const linear_classes *all)
{
    const strads_share *share = w->task->share;
    for (uint64_t i = 0; i < w->rows; i++) {
        uint32_t k = 0;
        while (k < all->n && all->label[k] != share->label[i])
            k++;
        if (k == all->n) {
            char text[LINEAR_LABEL_TEXT];
            return strads_fail(STRADS_EINVAL,
                               "row %llu has the label %s, which is no class",
                               (unsigned long long)share->rows.begin + i + 1,
                               linear_label_write(share->label_names,
                                                  share->label[i], "%g", text));
        }
        w->class[i] = k;
    }
    return STRADS_OK;
}

static strads_err make_with(net_worker *w, const linear_classes *classes)
{
    const strads_task *task = w->task;
    const strads_share *share = task->share;
    strads_err err =
        net_sizes_make(&w->options, task->shape->cols, classes->n, &w->sizes);
    if (err)
        return err;
    if (w->sizes.rows != task->shape->parameters)
        return linear_classes_unnamed(classes);
    if ((share->partition % w->options.columns == 0) !=
        (share->cols.begin == 0))
        return strads_fail(STRADS_EINVAL,
                           "the data is not cut into %u ranges of columns "
                           "(strads_run_cut sets the ranges)",
                           w->options.columns);
    w->members = w->options.columns;
    w->groups = task->shape->partitions / w->members;
    w->group = share->partition / w->members;
    w->member = share->partition % w->members;
    w->rows = share->rows.end - share->rows.begin;
    w->columns = share->cols.end - share->cols.begin;
    w->all_rows = task->shape->rows;
    w->batch_max = net_batch_rows(&w->options, w->all_rows);
    w->flags = flag_rows(&w->sizes, task->shape);
    w->arithmetic = w->x->f32 ? &net_f32 : &net_f64;
    w->ends_at = UINT64_MAX;
    err = count_held(w);
    if (!err)
        err = net_blas_load();
    if (!err)
        err = allocate_worker(w);
    return err ? err : find_classes(w, classes);
}

strads_err net_open(const strads_task *task, void **local)
{
    (void)task;
    *local = calloc(1, sizeof(net_worker));
    return *local ? STRADS_OK
                  : strads_fail(STRADS_ENOMEM, "no memory for a worker");
}

strads_err net_worker_make(net_worker *w, const strads_task *task,
                           strads_session *session)
{
    linear_classes classes = {0};
    w->task = task;
    w->session = session;
    w->x = &task->share->by_row;
    strads_err err = net_options_take(task->config, &w->options);
    if (!err)
        err = agree_on_classes(w, &classes);
    if (!err)
        err = make_with(w, &classes);
    linear_classes_free(&classes);
    return err;
}
