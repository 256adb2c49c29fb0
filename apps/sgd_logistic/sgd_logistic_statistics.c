/* The first clock: each partition writes its facts to the tables, and all read
 * them afterwards: labels, how often rows of weights are touched, and a bound
 * on the gradient of a batch's loss. */
#include <math.h>
#include <stdlib.h>

#include "sgd_logistic_parts.h"

static strads_err put_fact(sgd_worker *w, uint32_t fact, double value)
{
    return strads_session_inc(w->session, SGD_FACTS, w->task->share->partition,
                              fact, value);
}

/* A label as users write it. */
typedef struct label_text {
    char text[LINEAR_LABEL_TEXT];
} label_text;

static const char *write(const sgd_worker *w, double label, label_text *out)
{
    return linear_label_write(w->task->share->label_names, label, "%g",
                              out->text);
}

static strads_err refuse_label(const sgd_worker *w, double a, double b,
                               uint64_t i)
{
    const strads_share *share = w->task->share;
    label_text text[3];
    return strads_fail(STRADS_EFORMAT,
                       "row %llu has the label %s, others have %s and %s; "
                       "expected labels of two values",
                       (unsigned long long)share->rows.begin + i + 1,
                       write(w, share->label[i], &text[0]),
                       write(w, a, &text[1]), write(w, b, &text[2]));
}

/* Writes the least and greatest label of this share, which must not have a
 * third one. */
static strads_err tell_labels(sgd_worker *w)
{
    const double *label = w->task->share->label;
    double low = NAN, high = NAN;
    strads_err err = put_fact(w, SGD_FACT_ROWS, (double)w->n);
    if (err || w->n == 0)
        return err;
    if (!label)
        return strads_fail(STRADS_EINVAL,
                           "sgd-logistic needs a label for each row: --labels "
                           "FILE");
    low = high = label[0];
    for (uint64_t i = 0; i < w->n; i++) {
        if (label[i] != low && label[i] != high && low != high)
            return refuse_label(w, low, high, i);
        low = fmin(low, label[i]);
        high = fmax(high, label[i]);
    }
    err = put_fact(w, SGD_FACT_LOW, low);
    return err ? err : put_fact(w, SGD_FACT_HIGH, high);
}

/* The gradient of a row's loss is at most as long as (x_i, 1). */
static strads_err tell_steepness(sgd_worker *w)
{
    const strads_sparse *x = &w->task->share->by_row;
    const double one = w->rules.options.intercept;
    double steepest = 0;
    if (w->rules.step != SGD_THEOREM)
        return STRADS_OK;
    for (uint32_t b = 0; b < w->batches; b++) {
        double sum = 0;
        for (uint64_t at = sgd_batch_at(w, b); at < sgd_batch_at(w, b + 1);
             at++)
            sum += hypot(sgd_norm(x, w->order[at]), one);
        steepest = fmax(steepest, w->scale * sum);
    }
    return put_fact(w, SGD_FACT_STEEP, steepest);
}

static strads_err tell_touches(sgd_worker *w)
{
    for (uint64_t k = 0; k < w->first[w->batches]; k++)
        w->penalty[w->touched[k]]++; /* a count, until q_k is known */
    return strads_session_inc_row(w->session, SGD_TOUCHES, 0, w->penalty);
}

/* ---- merged statistics ------------------------------------------------- */

/* The two classes of the options or else of the data. */
static strads_err find_classes(const sgd_worker *w, double low, double high,
                               linear_classes *out)
{
    const char *given = w->rules.options.classes;
    label_text text;
    if (!(low < high))
        return strads_fail(STRADS_EFORMAT,
                           "all rows have the label %s; expected labels of two "
                           "values",
                           write(w, low, &text));
    linear_classes_free(out);
    if (!given || !*given) {
        const strads_err no_memory = linear_classes_new(2, out);
        if (no_memory)
            return no_memory;
        out->label[0] = low;
        out->label[1] = high;
        return STRADS_OK;
    }
    strads_err err =
        linear_classes_read(given, w->task->share->label_names, out);
    if (!err && out->n != 2)
        err = strads_fail(STRADS_EINVAL,
                          "--classes %s: expected two labels; strads logistic "
                          "takes more",
                          given);
    return err;
}

static strads_err agree_on_labels(sgd_worker *w, const double *facts)
{
    double low = INFINITY, high = -INFINITY;
    for (uint32_t p = 0; p < w->task->shape->partitions; p++) {
        const double *fact = facts + (size_t)p * SGD_N_FACTS;
        if (fact[SGD_FACT_ROWS] > 0) {
            low = fmin(low, fact[SGD_FACT_LOW]);
            high = fmax(high, fact[SGD_FACT_HIGH]);
        }
    }
    strads_err err = find_classes(w, low, high, &w->classes);
    const double *class = w->classes.label;
    for (uint64_t i = 0; !err && i < w->n; i++) {
        const double label = w->task->share->label[i];
        if (label != class[0] && label != class[1])
            return refuse_label(w, class[0], class[1], i);
        w->y[i] = label == class[1] ? 1 : -1;
    }
    return err;
}

/* Computes lambda / q_k; *most is the largest. */
static void take_penalty(sgd_worker *w, const double *touches, double *most)
{
    const double clocks =
        (double)w->batches * (double)w->task->shape->partitions;
    *most = 0;
    for (uint32_t k = 0; k + 1 < w->rows; k++) {
        w->penalty[k] =
            touches[k] > 0 ? w->rules.options.lambda * clocks / touches[k] : 0;
        *most = fmax(*most, w->penalty[k]);
    }
    w->penalty[w->rows - 1] = 0; /* no penalty on b */
}

/* F: at the minimum |w|^2 lambda / 2 <= loss(0), because that is the objective
 * at w = 0, and half the squared distance must be at most F^2. L: the bound for
 * the loss, plus that for the penalty within this distance. */
static void take_theorem(sgd_worker *w, const double *facts, double penalty)
{
    strads_sgd_logistic_options *o = &w->rules.options;
    const double s = w->rules.staleness_most, p = w->task->shape->partitions;
    double steep = 0;
    for (uint32_t q = 0; q < w->task->shape->partitions; q++)
        steep = fmax(steep, facts[(size_t)q * SGD_N_FACTS + SGD_FACT_STEEP]);
    if (o->diameter == 0)
        o->diameter = sqrt(sgd_loss(w->rules.hinge, 0) / o->lambda);
    if (o->lipschitz == 0)
        o->lipschitz = steep + penalty * sqrt(2) * o->diameter;
    if (o->lipschitz == 0)
        o->lipschitz = 1; /* no entries: any step size works */
    w->sigma = o->diameter / (o->lipschitz * sqrt(2 * (s + 1) * p));
    if (w->rules.staleness == 0)
        w->grain = exp2(floor(log2(o->diameter)) - 46);
}

strads_err sgd_statistics(sgd_worker *w)
{
    const uint32_t partitions = w->task->shape->partitions;
    double *facts = malloc(sizeof(*facts) * partitions * SGD_N_FACTS);
    uint32_t *all = malloc(sizeof(*all) * partitions);
    double most = 0;
    strads_err err = STRADS_OK;
    if (!facts || !all)
        err = strads_fail(STRADS_ENOMEM, "no memory for %u partitions' facts",
                          partitions);
    for (uint32_t p = 0; !err && p < partitions; p++)
        all[p] = p;
    if (!err && strads_session_now(w->session) == 0 &&
        !(err = tell_labels(w)) && !(err = tell_steepness(w)) &&
        !(err = tell_touches(w)))
        err = strads_session_clock(w->session);
    if (!err)
        err = strads_session_read_rows(w->session, SGD_FACTS, partitions, all,
                                       0, facts);
    if (!err)
        err = agree_on_labels(w, facts);
    if (!err)
        err =
            strads_session_read_row(w->session, SGD_TOUCHES, 0, 0, w->fetched);
    if (!err) {
        take_penalty(w, w->fetched, &most);
        take_theorem(w, facts, most);
    }
    free(facts);
    free(all);
    return err;
}
