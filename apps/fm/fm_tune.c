/* The search for lambda and rank by the loss of held-out rows. A row's part is
 * drawn by its number, so the sample does not depend on partitions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fm_parts.h"

enum { FITS = 16, ROWS_LEAST = 100, SAMPLE_STREAM = 0x666e };
/* The most entries of a sample, and its held-out share. */
static const double SAMPLE_ENTRIES = 500000, HELD_SHARE = .2;
/* A larger rank has to lower the loss by this share. */
static const double RANK_GAIN = .003;
/* Lambda for n rows is BASE / n x 2^exponent, within these. */
static const double BASE = 5;
enum { EXPONENT_MIN = -10, EXPONENT_MAX = 14, RANK_START = 8, RANK_END = 32 };

/* Rows in compressed form. */
typedef struct row_part {
    uint64_t rows, entries;
    uint64_t *start;
    uint32_t *index;
    double *value, *label;
} row_part;

typedef struct search {
    strads_fm_options options; /* as given, with defaults */
    strads_engine_options engine;
    const strads_names *label_names;
    row_part part[2]; /* to fit, to judge by */
    strads_data *data;
    double rows;       /* of all data */
    bool fixed_lambda; /* it is given, -0.0: none */
    uint32_t most;
    int exponent; /* of the best fit */
    strads_fm_tuning *out;
} search;

static void free_part(row_part *p)
{
    free(p->start);
    free(p->index);
    free(p->value);
    free(p->label);
}

/* 0: fit, 1: judge, -1: neither. */
static int part_of(uint64_t seed, uint64_t row, double kept)
{
    const double u = strads_random_unit(seed, SAMPLE_STREAM, row, 0);
    return u < kept * HELD_SHARE ? 1 : u < kept ? 0 : -1;
}

/* Counts the rows and entries of both parts, and makes their memory. */
static strads_err size_parts(search *s, const strads_data *data, double kept)
{
    for (uint32_t k = 0; k < strads_data_partitions(data); k++) {
        const strads_share *share = strads_data_share(data, k);
        if (!share || (share->rows.end > share->rows.begin && !share->label))
            return strads_fail(STRADS_EINVAL,
                               share ? "fm needs a label for each row: "
                                       "--labels FILE"
                                     : "the search needs all partitions of the "
                                       "data");
        for (uint64_t i = share->rows.begin; i < share->rows.end; i++) {
            const int part = part_of(s->engine.seed, i, kept);
            if (part >= 0)
                s->part[part].rows++;
        }
        const strads_sparse *x = &share->by_col;
        for (uint64_t e = 0; e < x->nnz; e++) {
            const int part =
                part_of(s->engine.seed, share->rows.begin + x->index[e], kept);
            if (part >= 0)
                s->part[part].entries++;
        }
    }
    for (int k = 0; k < 2; k++) {
        row_part *p = &s->part[k];
        p->start = calloc(p->rows + 2, sizeof *p->start);
        p->index = calloc(p->entries + 1, sizeof *p->index);
        p->value = calloc(p->entries + 1, sizeof *p->value);
        p->label = calloc(p->rows + 1, sizeof *p->label);
        if (!p->start || !p->index || !p->value || !p->label)
            return strads_fail(STRADS_ENOMEM, "no memory for a sample of rows");
    }
    return STRADS_OK;
}

/* Copies one share's rows behind those of the shares before it. place[i] is the
 * row's number in its part. */
static void copy_share(search *s, const strads_share *share, double kept,
                       uint64_t done[2], uint64_t *place, signed char *part)
{
    const uint64_t n = share->rows.end - share->rows.begin;
    const strads_sparse *x = &share->by_col;
    for (uint64_t i = 0; i < n; i++) {
        part[i] =
            (signed char)part_of(s->engine.seed, share->rows.begin + i, kept);
        if (part[i] >= 0) {
            place[i] = done[(int)part[i]]++;
            s->part[(int)part[i]].label[place[i]] = share->label[i];
        }
    }
    /* start[r + 2] counts row r, then start[r + 1] is where it is filled. */
    for (uint64_t e = 0; e < x->nnz; e++)
        if (part[x->index[e]] >= 0)
            s->part[(int)part[x->index[e]]].start[place[x->index[e]] + 2]++;
}

static void fill_share(search *s, const strads_share *share,
                       const uint64_t *place, const signed char *part)
{
    const strads_sparse *x = &share->by_col;
    for (uint64_t j = 0; j < x->lines; j++)
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            const uint32_t i = x->index[e];
            if (part[i] < 0)
                continue;
            row_part *p = &s->part[(int)part[i]];
            const uint64_t at = p->start[place[i] + 1]++;
            p->index[at] = (uint32_t)j;
            p->value[at] = strads_sparse_value(x, e);
        }
}

static strads_err take_sample(search *s, const strads_data *data)
{
    const double entries = (double)strads_data_nnz(data);
    const double kept = fmin(1, SAMPLE_ENTRIES / fmax(1, entries));
    const uint64_t rows = strads_data_rows(data);
    uint64_t done[2] = {0};
    uint64_t *place = calloc(rows + 1, sizeof *place);
    signed char *part = calloc(rows + 1, sizeof *part);
    strads_err err = place && part
                         ? size_parts(s, data, kept)
                         : strads_fail(STRADS_ENOMEM, "no memory for a sample");
    for (int fill = 0; !err && fill < 2; fill++) {
        for (uint32_t k = 0; k < strads_data_partitions(data); k++) {
            const strads_share *share = strads_data_share(data, k);
            const uint64_t at = share->rows.begin;
            if (fill)
                fill_share(s, share, place + at, part + at);
            else
                copy_share(s, share, kept, done, place + at, part + at);
        }
        for (int k = 0; !fill && k < 2; k++)
            for (uint64_t r = 0; r < s->part[k].rows; r++)
                s->part[k].start[r + 2] += s->part[k].start[r + 1];
    }
    free(place);
    free(part);
    return err;
}

/* A small sample may lack rows or, for the logistic loss, a class. */
static bool can_fit(const search *s)
{
    const row_part *p = &s->part[0];
    bool differ = !fm_is_logistic(&s->options);
    for (uint64_t i = 1; i < p->rows && !differ; i++)
        differ = p->label[i] != p->label[0];
    return p->rows > 0 && s->part[1].rows > 0 && differ;
}

static strads_err make_data(search *s, uint64_t columns)
{
    const row_part *p = &s->part[0];
    const strads_rows rows = {p->rows,  columns,  p->start,
                              p->index, p->value, p->label};
    strads_data_options cut = {.size = sizeof cut,
                               .named_labels = s->label_names != NULL,
                               .label_names = s->label_names};
    s->engine.partitions = 1;
    strads_err err =
        strads_run_cut(&strads_program_fm, &s->options, &s->engine, &cut);
    return err ? err : strads_data_from_rows(&rows, &cut, &s->data);
}

/* ---- fits ---------------------------------------------------------------- */

/* The label that is positive, of the logistic loss. */
static strads_err find_positive(const search *s, const void *state, double *out)
{
    linear_classes classes;
    strads_err err = linear_classes_read(strads_fm_resolved(state)->classes,
                                         s->label_names, &classes);
    if (err)
        return err;
    *out = classes.label[1];
    linear_classes_free(&classes);
    return STRADS_OK;
}

static strads_err judge_fit(const search *s, const strads_result *result,
                            double *loss)
{
    const row_part *p = &s->part[1];
    const void *state = strads_result_state(result);
    const bool logistic = fm_is_logistic(&s->options);
    const strads_sparse rows = {.lines = p->rows,
                                .nnz = p->entries,
                                .start = p->start,
                                .index = p->index,
                                .f64 = p->value};
    strads_model *model = NULL;
    double positive = 0, *margin = calloc(p->rows + 1, sizeof *margin);
    strads_err err =
        margin ? strads_model_from_result(result, "fm", NULL, 0, &model)
               : strads_fail(STRADS_ENOMEM, "no memory for predictions");
    if (!err) {
        strads_model whole = *model;
        whole.intercepts = strads_fm_intercepts(state);
        err = strads_fm_predict(&whole, &rows, margin);
    }
    if (!err && logistic)
        err = find_positive(s, state, &positive);
    double sum = 0;
    for (uint64_t i = 0; !err && i < p->rows; i++) {
        const double y = p->label[i];
        const double m = y == positive ? margin[i] : -margin[i];
        sum +=
            logistic ? fm_log_loss(m) : (margin[i] - y) * (margin[i] - y) / 2;
    }
    *loss = sum / (double)p->rows;
    strads_model_free(model);
    free(margin);
    return err;
}

/* Fits once and keeps the figures; *better: it is the best fit so far. */
static strads_err try_fit(search *s, uint32_t rank, int exponent, bool *better)
{
    strads_fm_tuning *out = s->out;
    strads_fm_options o = s->options;
    strads_result *result = NULL;
    double loss = INFINITY;
    *better = false;
    if (out->trials == s->most || (s->engine.stop && *s->engine.stop))
        return STRADS_OK;
    o.rank = rank == 0 ? STRADS_FM_LINEAR : rank;
    if (!s->fixed_lambda)
        o.lambda = ldexp(BASE / (double)s->part[0].rows, exponent);
    strads_err err =
        strads_run(&strads_program_fm, &o, s->data, &s->engine, &result);
    if (!err)
        err = judge_fit(s, result, &loss);
    strads_result_free(result);
    if (err)
        return err;
    strads_fm_trial *best = &out->trial[out->best];
    const uint32_t k = out->trials++;
    out->trial[k] =
        (strads_fm_trial){rank,
                          s->fixed_lambda ? fabs(s->options.lambda)
                                          : ldexp(BASE / s->rows, exponent),
                          loss};
    *better =
        k == 0 || loss < best->loss * (rank > best->rank ? 1 - RANK_GAIN : 1);
    if (*better) {
        out->best = k;
        s->exponent = exponent;
    }
    return STRADS_OK;
}

/* Moves the exponent by `step` while the loss falls. *moved: it did. */
static strads_err climb(search *s, uint32_t rank, int step, bool *moved)
{
    bool better = true;
    strads_err err = STRADS_OK;
    *moved = false;
    while (!err && better && s->exponent + step >= EXPONENT_MIN &&
           s->exponent + step <= EXPONENT_MAX) {
        err = try_fit(s, rank, s->exponent + step, &better);
        *moved = *moved || better;
    }
    return err;
}

static strads_err search_lambda(search *s, uint32_t rank)
{
    strads_err err = STRADS_OK;
    for (int step = 2; !err && step > 0; step--) {
        bool moved;
        err = climb(s, rank, step, &moved);
        if (!err && !moved)
            err = climb(s, rank, -step, &moved);
    }
    return err;
}

static strads_err search_all(search *s)
{
    const bool fixed = s->fixed_lambda;
    const bool ranks = s->out->options.rank == 0;
    uint32_t rank = ranks ? RANK_START : fm_rank(&s->options);
    bool better = true;
    strads_err err = try_fit(s, rank, 0, &better);
    if (!err && !fixed)
        err = search_lambda(s, rank);
    if (err || !ranks)
        return err;
    err = try_fit(s, 0, s->exponent, &better);
    if (!err && better && !fixed)
        return search_lambda(s, 0);
    for (better = true; !err && better && rank < RANK_END;) {
        rank *= 2;
        err = try_fit(s, rank, s->exponent, &better);
        if (!err && !better && !fixed)
            err = try_fit(s, rank, s->exponent + 1, &better);
    }
    return err;
}

strads_err strads_fm_tune(const strads_fm_options *given,
                          const strads_data *data,
                          const strads_engine_options *engine,
                          strads_fm_tuning *out)
{
    search s = {.engine = {.size = sizeof s.engine},
                .label_names = strads_data_label_names(data),
                .rows = (double)strads_data_rows(data),
                .fixed_lambda = given->lambda != 0 || signbit(given->lambda),
                .out = out};
    *out = (strads_fm_tuning){.options = *given};
    strads_err err = fm_options_take(given, &s.options);
    if (err || (s.fixed_lambda && given->rank != 0) ||
        given->tune == STRADS_FM_NO_SEARCH || fm_is_bpr(given) ||
        s.rows < ROWS_LEAST)
        return err;
    s.most = given->tune > 0 ? given->tune : FITS;
    if (engine) {
        s.engine.workers = engine->workers;
        s.engine.seed = engine->seed;
        s.engine.tolerance = engine->tolerance;
        s.engine.stop = engine->stop;
    }
    err = take_sample(&s, data);
    out->rows = s.part[0].rows;
    out->held = s.part[1].rows;
    if (!err && can_fit(&s))
        err = make_data(&s, strads_data_cols(data));
    if (!err && s.data)
        err = search_all(&s);
    strads_data_free(s.data);
    free_part(&s.part[0]);
    free_part(&s.part[1]);
    if (err || out->trials == 0)
        return err;
    const strads_fm_trial *best = &out->trial[out->best];
    out->options.rank = best->rank == 0 ? STRADS_FM_LINEAR : best->rank;
    if (!s.fixed_lambda)
        out->options.lambda = best->lambda;
    return STRADS_OK;
}
