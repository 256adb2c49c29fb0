/* A linear model has one score of a row for each of its outputs: intercept plus
 * the sum of coefficient times entry. The programs interpret scores
 * differently: as a number (lasso, svm on numbers), or as classes with
 * probabilities (logistic, sgd-logistic) or without (svm). */
#include "cli_linear.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_classes.h"
#include "apps/linear/linear_evaluate.h"
#include "cli_fm_rows.h"
#include "cli_labels.h"
#include "cli_liblinear.h"
#include "cli_terminal.h"
#include "strads/fm.h"
#include "strads/glm.h"
#include "strads/net.h"
#include "strads/pack.h"

/* The output that a row's scores are turned into. */
typedef enum what { NUMBER, PROBABILITY, LABEL, DECISION, SURVIVAL } what;

/* Totals over the rows that have labels. */
typedef struct tally {
    uint64_t rows, right;
    uint64_t unknown;     /* rows with a label that the model lacks */
    double loss, squares; /* sums of the rows' losses, and of their squares */
} tally;

/* A loaded model and the rows to apply it to. */
typedef struct linear {
    cli_use use;
    const char *write, *labels_path;
    const char *times, *strata; /* of survival: times, and a file of rows */
    cli_fm_tables tables;
    strads_model *model;
    cli_linear_outputs as;
    strads_net *net; /* a network that computes the scores, or NULL */
    uint64_t rows;
    uint64_t entries; /* in the model's columns */
    double *sums; /* [rows x width], of a network, a factorisation machine or a
                   * pack; otherwise NULL */
    strads_data *data;
    const strads_share *share;
    double *w;         /* [columns x width] */
    double *b;         /* [width] intercepts */
    double *sum, *say; /* [width] scores of the current row; its outputs */
    what what;         /* the output to write */
    double *time;      /* [n_times] of survival */
    double *stratum;   /* [rows] of survival; NULL: all are 0 */
    uint32_t n_times;
    tally tally;
} linear;

/* ---- the model and the rows ---------------------------------------------- */

static const cli_linear_kind *kind_of(const cli_use *use)
{
    return use->command->of;
}

/* Only built-in programs' models of several classes have more numbers. */
static strads_err refuse_width(const char *path, const strads_model *model)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s: program %s has %" PRIu32
                       " numbers for each parameter; predict, evaluate and "
                       "show read models with one; read \"value\" in the file "
                       "instead",
                       path, model->program, model->width);
}

/* The model's options list the labels. */
strads_err cli_linear_outputs_read(const cli_linear_kind *kind,
                                   const char *path, const strads_model *model,
                                   cli_linear_outputs *out)
{
    const cli_model_kind *says;
    CLI_TRY(cli_linear_kind_find(kind, path, model, &kind));
    CLI_TRY(cli_model_kind_of(model->options, &says));
    const char *loss = says->loss, *all = says->classes,
               *multi = says->multiclass;
    const bool glm = strcmp(model->program, "glm") == 0;
    const bool classes =
        kind->classifies &&
        (!kind->by_loss ||
         (loss && (glm        ? strads_glm_classifies(loss)
                   : kind->fm ? strcmp(loss, "logistic") == 0
                              : strstr(loss, "hinge") != NULL)));
    out->kind = kind;
    out->probabilities =
        classes && kind->probabilities && !(loss && strstr(loss, "hinge"));
    out->softmax =
        kind->net || (multi && strcmp(multi, "softmax") == 0) ||
        (glm && loss &&
         (strcmp(loss, "multinomial") == 0 || strcmp(loss, "ordinal") == 0));
    out->ordinal = glm && loss && strcmp(loss, "ordinal") == 0;
    out->loss = glm ? loss : NULL;
    out->context = kind->fm ? says->context : 0;
    const bool good =
        (!kind->by_loss || loss) &&
        (!classes || (all && cli_labels_read(all, &out->of))) &&
        (kind->net || kind->fm ||
         (out->ordinal
              ? model->width == 1 && model->n_thresholds + 1 == out->of.n
              : model->width == cli_labels_sums(&out->of)));
    out->width =
        kind->net || kind->fm ? cli_labels_sums(&out->of) : model->width;
    if (!good && !kind->classifies)
        return refuse_width(path, model);
    return good ? STRADS_OK
                : strads_fail(STRADS_EFORMAT,
                              "%s: its options do not name %sthe labels, "
                              "\"classes\", as many as the model has",
                              path,
                              kind->by_loss ? "the loss, \"loss\", and " : "");
}

/* Computes a network's scores of all rows: log probabilities or, with two
 * classes, their difference. */
static strads_err find_sums(linear *l)
{
    const uint64_t rows = l->rows;
    const uint32_t k = l->as.of.n;
    double *p;
    CLI_TRY(
        cli_reserve(3 * (size_t)l->as.width, sizeof *l->b, "the sums", &l->b));
    l->sum = l->b + l->as.width;
    l->say = l->sum + l->as.width;
    CLI_TRY(cli_reserve(rows * l->as.width + 1, sizeof *l->sums, "the sums",
                        &l->sums));
    CLI_TRY(cli_reserve(rows * k + 1, sizeof *p, "the sums", &p));
    CLI_TRY(strads_net_predict(l->net, &l->share->by_row, p));
    for (uint64_t i = 0; i < rows; i++) {
        const double *of = p + i * k;
        double *sum = l->sums + i * l->as.width;
        sum[0] = log(fmax(of[1], DBL_MIN)) - log(fmax(of[0], DBL_MIN));
        for (uint32_t c = 0; k > 2 && c < k; c++)
            sum[c] = log(fmax(of[c], DBL_MIN));
    }
    return STRADS_OK;
}

/* Computes a factorisation machine's scores of all rows. */
static strads_err find_fm_sums(linear *l)
{
    CLI_TRY(cli_reserve(2, sizeof *l->sum, "the sums", &l->sum));
    l->say = l->sum + 1;
    CLI_TRY(cli_reserve(l->rows + 1, sizeof *l->sums, "the sums", &l->sums));
    return strads_fm_predict(l->model, &l->share->by_row, l->sums);
}

static strads_err make_vectors(linear *l)
{
    const strads_model *m = l->model;
    const size_t width = m->width;
    const uint64_t there = strads_data_cols(l->data);
    const uint64_t columns = there > m->columns ? there : m->columns;
    CLI_TRY(cli_reserve((columns + 1) * width, sizeof *l->w, "the coefficients",
                        &l->w));
    const size_t scores = l->as.ordinal ? l->as.of.n : width;
    CLI_TRY(cli_reserve(3 * scores, sizeof *l->b, "the coefficients", &l->b));
    l->sum = l->b + scores;
    l->say = l->sum + scores;
    for (uint64_t k = 0; k < m->n; k++) {
        memcpy(l->w + m->index[k] * width, m->value + k * width,
               width * sizeof *l->w);
    }
    memcpy(l->b, m->intercepts ? m->intercepts : &m->intercept,
           width * sizeof *l->b);
    return STRADS_OK;
}

/* Adds the entries of a chunk's columns to the sums. */
static strads_err add_chunk(linear *l, strads_pack_reader *reader,
                            const strads_pack_chunk *chunk, uint32_t *row,
                            double *value)
{
    const uint32_t width = l->as.width;
    for (uint32_t k = 0; k < chunk->cols; k++) {
        l->entries += chunk->first + k < l->model->columns
                          ? chunk->start[k + 1] - chunk->start[k]
                          : 0;
        const uint64_t column = chunk->first + k;
        const double *w = l->w + column * width;
        bool used = false;
        for (uint32_t c = 0; column < l->model->columns && c < width; c++)
            used = used || w[c] != 0;
        if (!used)
            continue;
        CLI_TRY(strads_pack_reader_column(reader, k, row, value));
        const uint64_t n = chunk->start[k + 1] - chunk->start[k];
        for (uint64_t e = 0; e < n; e++)
            for (uint32_t c = 0; c < width; c++)
                l->sums[(uint64_t)row[e] * width + c] += value[e] * w[c];
    }
    return STRADS_OK;
}

/* Computes the scores of all rows of a pack in one pass over its columns, in a
 * memory that does not depend on its entries. Each row adds its columns in
 * ascending order, as for other files. */
static strads_err sum_pack(linear *l, const char *path)
{
    const uint64_t rows = l->rows;
    strads_pack *pack = NULL;
    strads_pack_reader *reader = NULL;
    strads_pack_chunk chunk;
    uint32_t *row;
    double *value;
    CLI_TRY(cli_reserve(rows * l->as.width + 1, sizeof *l->sums, "the sums",
                        &l->sums));
    CLI_TRY(cli_reserve(rows + 1, sizeof *row, "a column", &row));
    CLI_TRY(cli_reserve(rows + 1, sizeof *value, "a column", &value));
    for (uint64_t i = 0; i < rows; i++)
        memcpy(l->sums + i * l->as.width, l->b, l->as.width * sizeof *l->b);
    CLI_TRY(strads_pack_open(path, &pack));
    const bool direct = strads_pack_exceeds(path, l->use.memory);
    strads_err err = strads_pack_reader_open(pack, 0, strads_data_cols(l->data),
                                             direct, &reader);
    while (!err && !(err = strads_pack_reader_next(reader, &chunk)) &&
           chunk.cols > 0)
        err = add_chunk(l, reader, &chunk, row, value);
    strads_pack_reader_close(reader);
    strads_pack_free(pack);
    return err;
}

static strads_err read_rows(linear *l, const char *path,
                            const strads_data_options *how)
{
    bool tables;
    uint32_t context;
    CLI_TRY(cli_fm_tables_check(&l->tables, &tables));
    if (!tables)
        return strads_data_read(path, how, &l->data);
    if (!l->model->names)
        return strads_fail(STRADS_EINVAL,
                           "--%s: the model was not trained on ratings with "
                           "tables; leave it out",
                           l->tables.users ? "users" : "items");
    return cli_fm_rows_read(&l->tables, path, l->model->names, how, &context,
                            &l->data);
}

/* Numbers names as the model does. Columns that the model lacks take no memory,
 * even if their numbers are large. */
static strads_err read_both(void *state, const char *const *path)
{
    linear *l = state;
    CLI_TRY(cli_model_read(path[0], kind_of(&l->use)->program, &l->model));
    CLI_TRY(
        cli_linear_outputs_read(kind_of(&l->use), path[0], l->model, &l->as));
    uint64_t columns = l->model->columns > 0 ? l->model->columns : 1;
    if (l->as.kind->net) {
        CLI_TRY(strads_net_from_model(l->model, &l->net));
        columns = strads_net_inputs(l->net);
    }
    const bool whole = l->net || l->as.kind->fm; /* all of a row at once */
    const bool packed = !whole && strads_pack_is(path[1]);
    const strads_data_options wanted = {
        .size = sizeof wanted,
        .split = packed ? STRADS_SPLIT_COLS : STRADS_SPLIT_ROWS,
        .packed = packed,
        .layout = STRADS_LAYOUT_ROWS,
        .memory_limit = l->use.memory,
        .threads = l->use.workers,
        .min_cols = packed ? 0 : columns,
        .most_cols = packed ? 0 : columns,
        .labels_path = l->labels_path,
        .named_labels = l->as.of.n > 0,
        .label_names = l->as.of.names,
        .table = l->model->names,
        .target = l->model->names ? l->model->target : NULL,
        .col_names = l->model->names,
        .col_means = l->model->means,
    };
    cli_cost_tell(l->use.quiet, path[1], &wanted);
    CLI_TRY(read_rows(l, path[1], &wanted));
    l->share = strads_data_share(l->data, 0);
    l->rows = strads_data_rows(l->data);
    if (strads_data_unknown(l->data) > 0) {
        cli_say(l->use.quiet,
                "fields with a text that the model was not trained on: %" PRIu64
                "; they are ignored",
                strads_data_unknown(l->data));
    }
    l->entries = packed ? 0 : strads_data_nnz(l->data);
    CLI_TRY(l->net           ? find_sums(l)
            : l->as.kind->fm ? find_fm_sums(l)
                             : make_vectors(l));
    if (packed)
        CLI_TRY(sum_pack(l, path[1]));
    if (l->entries == 0 && l->model->n > 0) {
        cli_say(false,
                "%s: none of its %" PRIu64 " rows has a value in one of the "
                "model's %" PRIu64
                " columns; results are those of the intercept alone",
                path[1], l->rows, l->model->columns);
    }
    return STRADS_OK;
}

/* log(1 / (1 + exp(-sum))), without underflow. */
static double log_sigmoid(double sum)
{
    return sum < 0 ? sum - log1p(exp(sum)) : -log1p(exp(-sum));
}

/* Replaces the margin z of ordered classes by scores as of other classes: the
 * log odds of the second of two, or log probabilities. Of P(class <= k) =
 * s(t_k - z) they are those of s(a) - s(b) = s(a) s(-b) (1 - exp(b - a)). */
static void score_levels(linear *l)
{
    const double z = l->sum[0], *t = l->model->thresholds;
    const uint32_t n = l->as.of.n;
    if (n == 2) {
        l->sum[0] = z - t[0];
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        const double a = k + 1 < n ? t[k] - z : INFINITY;
        const double b = k > 0 ? t[k - 1] - z : -INFINITY;
        l->sum[k] = fmax(log_sigmoid(a) + log_sigmoid(-b) + log(-expm1(b - a)),
                         log(DBL_MIN));
    }
}

/* The number of a row's scores. */
static uint32_t count_scores(const linear *l)
{
    return l->as.ordinal && l->what != DECISION ? cli_labels_sums(&l->as.of)
                                                : l->as.width;
}

static void add_up_row(linear *l, uint64_t i)
{
    const strads_sparse *rows = &l->share->by_row;
    const uint32_t width = l->as.width;
    memcpy(l->sum, l->sums ? l->sums + i * width : l->b,
           width * sizeof *l->sum);
    if (l->net || l->as.kind->fm)
        return;
    for (uint64_t e = l->sums ? 0 : rows->start[i];
         !l->sums && e < rows->start[i + 1]; e++) {
        const double *w = l->w + (size_t)rows->index[e] * width;
        for (uint32_t c = 0; c < width; c++)
            l->sum[c] += rows->f64[e] * w[c];
    }
    if (l->as.ordinal && l->what != DECISION)
        score_levels(l);
    if (l->as.loss && l->as.of.n == 0 && l->what < DECISION)
        l->sum[0] = strads_glm_mean(l->as.loss, l->sum[0]);
}

/* If only one side has names, no label matches. */
static double label_of(const linear *l, uint64_t i)
{
    const bool named = l->as.of.names != NULL;
    return named == (l->share->label_names != NULL) ? l->share->label[i] : NAN;
}

/* ---- from scores to outputs ---------------------------------------------- */

/* With more than two classes: log probabilities, from the probability of each
 * class against the rest, scaled to a sum of 1. */
static void find_logs(const linear *l, const double *sum, double *out)
{
    double most = -INFINITY, all = 0;
    for (uint32_t k = 0; k < l->as.of.n; k++) {
        out[k] = l->as.softmax ? sum[k] : log_sigmoid(sum[k]);
        most = fmax(most, out[k]);
    }
    for (uint32_t k = 0; k < l->as.of.n; k++)
        all += exp(out[k] - most);
    for (uint32_t k = 0; k < l->as.of.n; k++)
        out[k] -= most + log(all);
}

/* Fills `say` with probabilities; with two classes only that of the positive
 * one. */
static void find_probabilities(linear *l)
{
    if (l->as.of.n == 2) {
        l->say[0] = l->as.loss && !l->as.ordinal
                        ? strads_glm_mean(l->as.loss, l->sum[0])
                        : 1 / (1 + exp(-l->sum[0]));
        return;
    }
    find_logs(l, l->sum, l->say);
    for (uint32_t k = 0; k < l->as.of.n; k++)
        l->say[k] = exp(l->say[k]);
}

/* Minus the log of the probability of a row's own label. */
static double log_loss(const linear *l, double label)
{
    double log_of[CLI_LABELS_MAX];
    const uint32_t k = cli_labels_find(&l->as.of, label);
    if (k == l->as.of.n)
        return -log(DBL_MIN); /* a label that the model lacks */
    if (l->as.of.n == 2)
        return -log_sigmoid(k == 1 ? l->sum[0] : -l->sum[0]);
    find_logs(l, l->sum, log_of);
    return -log_of[k];
}

/* Compares the current row's outputs with its label. */
static void judge_row(linear *l, double label)
{
    double loss = (l->sum[0] - label) * (l->sum[0] - label);
    if (l->as.of.n) {
        const uint32_t best = cli_labels_best(&l->as.of, l->sum);
        l->tally.right += l->as.of.label[best] == label;
        l->tally.unknown += cli_labels_find(&l->as.of, label) == l->as.of.n;
        loss = l->as.probabilities ? log_loss(l, label) : 0;
    }
    l->tally.rows++;
    l->tally.loss += loss;
    l->tally.squares += loss * loss;
}

/* ---- predict ------------------------------------------------------------- */

static const char *const what_words[] = {[NUMBER] = "prediction",
                                         [PROBABILITY] = "probability",
                                         [LABEL] = "label",
                                         [DECISION] = "decision",
                                         [SURVIVAL] = "survival"};

static what find_what(const linear *l)
{
    for (what w = PROBABILITY; l->write && w <= SURVIVAL; w++)
        if (strcmp(what_words[w], l->write) == 0)
            return l->as.of.n || w >= DECISION ? w : NUMBER;
    return l->as.probabilities ? PROBABILITY : l->as.of.n ? LABEL : NUMBER;
}

/* Columns of a table of predictions, one for each label if there are
 * several. */
typedef struct heading {
    cli_column column[CLI_LABELS_MAX];
    char name[CLI_LABELS_MAX][STRADS_LABEL_NAME_MAX + 16];
} heading;

static uint32_t make_heading(const linear *l, heading *h)
{
    char buffer[32];
    const bool alone = l->what == NUMBER || l->what == LABEL;
    const uint32_t n = l->what == SURVIVAL ? l->n_times
                       : alone             ? 1
                                           : count_scores(l);
    const bool names = l->what == LABEL && l->as.of.names;
    for (uint32_t k = 0; l->what == SURVIVAL && k < n; k++) {
        (void)snprintf(h->name[k], sizeof h->name[k], "survival_%g",
                       l->time[k]);
        h->column[k] = (cli_column){h->name[k], CLI_NUMBER, 0};
    }
    for (uint32_t k = 0; l->what != SURVIVAL && k < n; k++) {
        (void)snprintf(h->name[k], sizeof h->name[k], "%s%s%s",
                       what_words[l->what], n > 1 ? "_" : "",
                       n > 1 ? cli_labels_text(&l->as.of, k, buffer) : "");
        h->column[k] =
            (cli_column){h->name[k], names ? CLI_STRING : CLI_NUMBER, 0};
    }
    return n;
}

/* Models of times until an event. */
static bool has_times(const linear *l)
{
    return l->as.loss && strncmp(l->as.loss, "cox", 3) == 0;
}

/* The times of --times. */
static strads_err parse_survival_times(linear *l)
{
    const char *at = l->times ? l->times : "";
    CLI_TRY(
        cli_reserve(CLI_LABELS_MAX, sizeof *l->time, "the times", &l->time));
    for (;;) {
        char *end;
        const double time = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(time >= 0) ||
            !isfinite(time) || l->n_times == CLI_LABELS_MAX) {
            return strads_fail(STRADS_EINVAL,
                               "--times is \"%s\"; expected the times of "
                               "--write survival, numbers from 0 up: T,T,... "
                               "(at most %d)",
                               l->times ? l->times : "", CLI_LABELS_MAX);
        }
        l->time[l->n_times++] = time;
        if (!*end)
            return STRADS_OK;
        at = end + 1;
    }
}

static strads_err prepare_survival(linear *l)
{
    static const linear_lines lines = {.option = "--strata",
                                       .what = "the stratum of a row",
                                       .of = "rows"};
    if (l->what != SURVIVAL) {
        return l->times || l->strata
                   ? strads_fail(STRADS_EINVAL,
                                 "--times and --strata are for --write "
                                 "survival; leave them out")
                   : STRADS_OK;
    }
    if (!has_times(l)) {
        return strads_fail(STRADS_EINVAL,
                           "--write survival: the model is not one of times "
                           "until an event; expected one of the loss cox or "
                           "cox-efron");
    }
    if (l->model->baseline.n == 0) {
        return strads_fail(STRADS_EINVAL,
                           "--write survival: the model has no baseline "
                           "hazard; train it with this version of strads");
    }
    CLI_TRY(parse_survival_times(l));
    if (!l->strata)
        return STRADS_OK;
    CLI_TRY(cli_reserve(l->rows + 1, sizeof *l->stratum, "the strata",
                        &l->stratum));
    return linear_read_lines(&lines, l->strata, &(strads_range){0, l->rows},
                             l->rows, l->stratum);
}

static strads_err put_survival(const linear *l, uint64_t i, cli_table *t)
{
    const double stratum = l->stratum ? l->stratum[i] : 0;
    for (uint32_t k = 0; k < l->n_times; k++) {
        const double share =
            stratum <= UINT32_MAX && stratum == floor(stratum)
                ? strads_glm_survival(&l->model->baseline, (uint32_t)stratum,
                                      l->time[k], l->sum[0])
                : NAN;
        if (isnan(share)) {
            return strads_fail(STRADS_EINVAL,
                               "row %" PRIu64 " is of stratum %g, which has no "
                               "events in the model; %s",
                               i + 1, stratum,
                               l->strata ? "expected one of the model's"
                                         : "give --strata");
        }
        cli_table_number(t, share);
    }
    return STRADS_OK;
}

static void put_row(linear *l, cli_table *t)
{
    if (l->what == LABEL) {
        const uint32_t best = cli_labels_best(&l->as.of, l->sum);
        if (l->as.of.names)
            cli_table_text(t, cli_labels_name(&l->as.of, best));
        else
            cli_table_number(t, l->as.of.label[best]);
        return;
    }
    if (l->what == PROBABILITY)
        find_probabilities(l);
    for (uint32_t k = 0; k < t->n; k++)
        cli_table_number(t, (l->what == PROBABILITY ? l->say : l->sum)[k]);
}

static strads_err put_predictions(void *state, FILE *out)
{
    linear *l = state;
    heading *h;
    l->what = find_what(l);
    if (l->what == PROBABILITY && !l->as.probabilities) {
        return strads_fail(STRADS_EINVAL,
                           "--write probability: a model of a hinge has none; "
                           "expected label or decision");
    }
    CLI_TRY(prepare_survival(l));
    CLI_TRY(cli_reserve(1, sizeof *h, "a table", &h));
    cli_table t = {.column = h->column,
                   .n = make_heading(l, h),
                   .rows = l->rows};
    CLI_TRY(cli_table_begin(&t, &l->use.out, out));
    for (uint64_t i = 0; i < l->rows; i++) {
        add_up_row(l, i);
        if (l->what == SURVIVAL)
            CLI_TRY(put_survival(l, i, &t));
        else
            put_row(l, &t);
        if (l->share->label && !has_times(l))
            judge_row(l, label_of(l, i));
    }
    return STRADS_OK;
}

static strads_err tell_tally(const void *state)
{
    const linear *l = state;
    const tally *t = &l->tally;
    const double rows = (double)t->rows;
    char loss[48] = "";
    if (t->rows == 0 || l->as.context > 0) /* scores have no unit */
        return STRADS_OK;
    if (l->as.of.n == 0) {
        cli_say(l->use.quiet, "%" PRIu64 " rows, root mean squared error %.6g",
                t->rows, sqrt(t->loss / rows));
        return STRADS_OK;
    }
    if (l->as.probabilities)
        (void)snprintf(loss, sizeof loss, ", log loss %.6g", t->loss / rows);
    cli_say(l->use.quiet, "%" PRIu64 " rows, %.2f %% of labels right%s",
            t->rows, 100 * (double)t->right / rows, loss);
    if (t->unknown > 0) {
        cli_say(l->use.quiet,
                "%" PRIu64 " of them have labels that the model does not know, "
                "and count as wrong",
                t->unknown);
    }
    return STRADS_OK;
}

#define LABELS_OPTION                               \
    CLI_TEXT(linear, labels_path, "labels", "FILE", \
             "labels of MatrixMarket data, one a line")

static const strads_option labels_table[] = {LABELS_OPTION, {.name = NULL}};
static const strads_option probability_table[] = {
    CLI_CHOICE(linear, write, "write", "WHAT",
               "probability, label or decision (default: probability)",
               "probability|label|decision"),
    LABELS_OPTION,
    {.name = NULL},
};
static const strads_option glm_table[] = {
    CLI_CHOICE(linear, write, "write", "WHAT",
               "of classes: probability, label or decision (default: "
               "probability); of cox: survival (default: the risk)",
               "probability|label|decision|survival"),
    CLI_TEXT(linear, times, "times", "T,T,...",
             "survival: the probability of no event up to each of these times, "
             "in the unit of the labels"),
    CLI_TEXT(linear, strata, "strata", "FILE",
             "survival: the number of each row's stratum, one a line "
             "(default: 0)"),
    LABELS_OPTION,
    {.name = NULL},
};
static const strads_option fm_table[] = {
    CLI_CHOICE(linear, write, "write", "WHAT",
               "of classes: probability, label or decision (default: "
               "probability)",
               "probability|label|decision"),
    LABELS_OPTION,
    CLI_FM_TABLES_OPTIONS(linear, tables),
    {.name = NULL},
};
static const strads_option label_table[] = {
    CLI_CHOICE(linear, write, "write", "WHAT",
               "label or decision (default: label)", "label|decision"),
    LABELS_OPTION,
    {.name = NULL},
};

#define PREDICT(table_)                                            \
    {                                                              \
        .size = sizeof(linear), .table = table_, .usual = "text",  \
        .has = CLI_HAS_WORKERS | CLI_HAS_QUIET, .read = read_both, \
        .write = put_predictions, .tell = tell_tally               \
    }

const cli_verb cli_predict_numbers = PREDICT(labels_table);
const cli_verb cli_predict_probabilities = PREDICT(probability_table);
const cli_verb cli_predict_glm = PREDICT(glm_table);
const cli_verb cli_predict_labels = PREDICT(label_table);
const cli_verb cli_fm_predict = PREDICT(fm_table);

/* ---- evaluate ------------------------------------------------------------ */

/* Counts for one class: rows that have it, rows predicted as it, and rows with
 * both. */
typedef struct class_tally {
    uint64_t rows, given, both;
} class_tally;

/* The figures: first for all rows, then for each class. */
enum { FIGURES = 3, CLASS_FIGURES = 4 };

typedef struct evaluation {
    linear l;
    double *sums;  /* [rows x width] */
    double *label; /* [rows] */
    class_tally *tally;
    double *score;
    unsigned char *is_class;
    cli_measure measure[FIGURES + CLI_LABELS_MAX * CLASS_FIGURES];
    uint32_t n_all, n; /* figures for all rows; all figures */
    char names[CLI_LABELS_MAX][STRADS_LABEL_NAME_MAX + 1];
} evaluation;

static void add_measure(evaluation *e, const char *name, const char *part,
                        linear_interval v)
{
    const bool whole = isfinite(v.low) && isfinite(v.high);
    e->measure[e->n++] = (cli_measure){
        name, part, v.value, whole ? v.low : NAN, whole ? v.high : NAN, true};
}

static linear_interval interval_of(double value)
{
    return (linear_interval){value, NAN, NAN};
}

static strads_err take_sums(evaluation *e, const char *data)
{
    linear *l = &e->l;
    const uint64_t rows = l->share->label ? l->rows : 0;
    const size_t width = count_scores(l);
    if (rows == 0) {
        return strads_fail(STRADS_EINVAL,
                           "%s: has no rows with labels to judge the model by",
                           data);
    }
    CLI_TRY(cli_reserve(rows * width, sizeof *e->sums, "the sums", &e->sums));
    CLI_TRY(cli_reserve(rows, sizeof *e->label, "the labels", &e->label));
    CLI_TRY(cli_reserve((size_t)l->as.of.n + 1, sizeof *e->tally, "the classes",
                        &e->tally));
    CLI_TRY(cli_reserve(rows, sizeof *e->score, "the scores", &e->score));
    CLI_TRY(cli_reserve(rows, 1, "the scores", &e->is_class));
    for (uint64_t i = 0; i < rows; i++) {
        add_up_row(l, i);
        memcpy(e->sums + i * width, l->sum, width * sizeof *l->sum);
        e->label[i] = label_of(l, i);
        judge_row(l, e->label[i]);
    }
    return STRADS_OK;
}

/* With two classes, the AUC of the second. With more, the mean over the classes
 * that have rows, each against the rest, with the mean of their intervals,
 * which is at least as wide as the interval of the mean. */
static linear_interval find_auc(evaluation *e)
{
    const cli_labels *of = &e->l.as.of;
    const uint64_t rows = e->l.tally.rows;
    linear_interval sum = {0};
    double n = 0;
    for (uint32_t c = of->n == 2; c < of->n; c++) {
        for (uint64_t i = 0; i < rows; i++) {
            e->score[i] =
                e->sums[i * count_scores(&e->l) + (of->n == 2 ? 0 : c)];
            e->is_class[i] = e->label[i] == of->label[c];
        }
        linear_interval auc = linear_evaluate_auc(rows, e->score, e->is_class);
        if (isfinite(auc.value)) {
            sum.value += auc.value;
            sum.low += auc.low;
            sum.high += auc.high;
            n++;
        }
    }
    return (linear_interval){sum.value / n, sum.low / n, sum.high / n};
}

static double ratio_of(uint64_t part, uint64_t all)
{
    return all > 0 ? (double)part / (double)all : 0;
}

static void measure_class(evaluation *e, uint32_t c)
{
    const class_tally *t = &e->tally[c];
    char buffer[32];
    char *name = e->names[c];
    (void)snprintf(name, sizeof e->names[c], "%s",
                   cli_labels_text(&e->l.as.of, c, buffer));
    add_measure(e, "rows", name, interval_of((double)t->rows));
    add_measure(e, "precision", name, interval_of(ratio_of(t->both, t->given)));
    add_measure(e, "recall", name, interval_of(ratio_of(t->both, t->rows)));
    add_measure(e, "f1", name, linear_evaluate_f1(t->both, t->given, t->rows));
}

static void measure_classes(evaluation *e)
{
    const linear *l = &e->l;
    const cli_labels *of = &l->as.of;
    for (uint64_t i = 0; i < l->tally.rows; i++) {
        uint32_t given = cli_labels_best(of, e->sums + i * count_scores(l));
        for (uint32_t c = 0; c < of->n; c++)
            e->tally[c].rows += e->label[i] == of->label[c];
        e->tally[given].given++;
        e->tally[given].both += e->label[i] == of->label[given];
    }
    add_measure(e, "accuracy", NULL,
                linear_evaluate_share(l->tally.right, l->tally.rows));
    add_measure(e, "auc", NULL, find_auc(e));
    if (l->as.probabilities) {
        add_measure(e, "log_loss", NULL,
                    linear_evaluate_mean(l->tally.rows, l->tally.loss,
                                         l->tally.squares));
    }
    e->n_all = e->n;
    for (uint32_t c = 0; c < of->n; c++)
        measure_class(e, c);
}

/* Labels are times: how often larger predictions have earlier events. */
static void measure_times(evaluation *e)
{
    const double share =
        linear_evaluate_concordance(e->l.tally.rows, e->sums, e->label);
    add_measure(e, "concordance", NULL, (linear_interval){share, NAN, NAN});
    e->n_all = e->n;
}

static void measure_numbers(evaluation *e)
{
    linear_errors errors =
        linear_evaluate_numbers(e->l.tally.rows, e->sums, e->label);
    add_measure(e, "r2", NULL, errors.r2);
    add_measure(e, "rmse", NULL, errors.rmse);
    add_measure(e, "mae", NULL, interval_of(errors.absolute));
    e->n_all = e->n;
}

/* Scores order the items of a context, the user's columns. */
static strads_err measure_order(evaluation *e)
{
    const linear *l = &e->l;
    double pairs, ordered;
    CLI_TRY(strads_fm_order(&l->share->by_row, l->as.context, e->label, e->sums,
                            &pairs, &ordered));
    if (pairs == 0)
        return strads_fail(STRADS_EINVAL,
                           "no user has both rows with a label above 0 and "
                           "others: add rows of items that users did not have, "
                           "with the label 0");
    add_measure(e, "auc", NULL, interval_of(ordered / pairs));
    e->n_all = e->n;
    return STRADS_OK;
}

/* A figure that these rows do not determine is null. One row gives no
 * interval. */
static void put_json_measure(cli_json *j, const cli_measure *m)
{
    if (!isfinite(m->value) || strcmp(m->name, "mae") == 0 ||
        (m->part && strcmp(m->name, "f1") != 0)) {
        cli_json_number(j, m->name, m->value);
        return;
    }
    cli_json_open(j, m->name, '[');
    cli_json_number(j, NULL, m->value);
    cli_json_number(j, NULL, m->low);
    cli_json_number(j, NULL, m->high);
    cli_json_close(j, ']');
}

static void put_json(const evaluation *e, FILE *out)
{
    const linear *l = &e->l;
    cli_json j = cli_json_begin(out);
    cli_json_count(&j, "rows", l->tally.rows);
    if (l->tally.unknown > 0)
        cli_json_count(&j, "unknown_labels", l->tally.unknown);
    for (uint32_t k = 0; k < e->n_all; k++)
        put_json_measure(&j, &e->measure[k]);
    if (l->as.of.n > 0) {
        cli_json_open(&j, "classes", '[');
        for (uint32_t k = e->n_all; k < e->n; k++) {
            if ((k - e->n_all) % CLASS_FIGURES == 0) {
                const uint32_t c = (k - e->n_all) / CLASS_FIGURES;
                cli_json_open(&j, NULL, '{');
                if (l->as.of.names)
                    cli_json_string(&j, "label", e->names[c]);
                else
                    cli_json_number(&j, "label", l->as.of.label[c]);
            }
            put_json_measure(&j, &e->measure[k]);
            if ((k - e->n_all) % CLASS_FIGURES == CLASS_FIGURES - 1)
                cli_json_close(&j, '}');
        }
        cli_json_close(&j, ']');
    }
    cli_json_end(&j);
}

/* The figures of all rows under their usual names. */
static void put_text(const evaluation *e, FILE *out)
{
    static const char *const words[][2] = {{"r2", "R2"},
                                           {"rmse", "RMSE"},
                                           {"mae", "mean |error|"},
                                           {"auc", "AUC"},
                                           {"log_loss", "log loss"}};
    const linear *l = &e->l;
    (void)fprintf(out, "rows         %" PRIu64, l->tally.rows);
    if (l->tally.unknown > 0) {
        (void)fprintf(out,
                      ", %" PRIu64 " of labels that the model does not know: "
                      "they count as wrong",
                      l->tally.unknown);
    }
    (void)fputc('\n', out);
    for (uint32_t k = 0; k < e->n_all; k++) {
        const cli_measure *m = &e->measure[k];
        const char *name = m->name;
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            name = strcmp(words[w][0], m->name) == 0 ? words[w][1] : name;
        if (!isfinite(m->value)) {
            (void)fprintf(out, "%-12s not to be had from these rows\n", name);
        } else if (isfinite(m->low)) {
            (void)fprintf(out, "%-12s %.6g (95 %%: %.6g to %.6g)\n", name,
                          m->value, m->low, m->high);
        } else {
            (void)fprintf(out, "%-12s %.6g\n", name, m->value);
        }
    }
    for (uint32_t c = 0; c < l->as.of.n; c++) {
        const cli_measure *m = &e->measure[e->n_all + c * CLASS_FIGURES];
        (void)fprintf(out, "class %-6s %.0f rows, precision %.4g, recall %.4g",
                      e->names[c], m[0].value, m[1].value, m[2].value);
        if (isfinite(m[3].value)) {
            (void)fprintf(out, ", F1 %.4g (95 %%: %.4g to %.4g)", m[3].value,
                          m[3].low, m[3].high);
        }
        (void)fputc('\n', out);
    }
}

static strads_err put_evaluation(void *state, FILE *out)
{
    const evaluation *e = state;
    const cli_format format = cli_format_of(&e->l.use.out);
    if (format == CLI_FORMAT_TEXT)
        put_text(e, out);
    else if (format == CLI_FORMAT_JSON)
        put_json(e, out);
    else
        return cli_measures_write(out, &e->l.use.out, e->measure, e->n);
    return STRADS_OK;
}

static strads_err evaluate_rows(void *state, const char *const *path)
{
    evaluation *e = state;
    CLI_TRY(read_both(&e->l, path));
    CLI_TRY(take_sums(e, path[1]));
    if (e->l.as.context > 0)
        return measure_order(e);
    (e->l.as.of.n > 0   ? measure_classes
     : has_times(&e->l) ? measure_times
                        : measure_numbers)(e);
    return STRADS_OK;
}

const cli_verb cli_linear_evaluate = {
    .size = sizeof(evaluation),
    .table = labels_table,
    .usual = "text",
    .has = CLI_HAS_WORKERS | CLI_HAS_QUIET,
    .read = evaluate_rows,
    .write = put_evaluation,
};

static const strads_option fm_evaluate_table[] = {
    LABELS_OPTION, CLI_FM_TABLES_OPTIONS(linear, tables), {.name = NULL}};

const cli_verb cli_fm_evaluate = {
    .size = sizeof(evaluation),
    .table = fm_evaluate_table,
    .usual = "text",
    .has = CLI_HAS_WORKERS | CLI_HAS_QUIET,
    .read = evaluate_rows,
    .write = put_evaluation,
};

/* ---- show ---------------------------------------------------------------- */

/* One coefficient: of column `index`, for output `output`. */
typedef struct weight {
    uint32_t index, output;
    double value;
} weight;

typedef struct shown {
    cli_use use;
    const char *names_path, *csv;
    uint32_t top;
    strads_model *model;
    strads_names *own_names;   /* --names */
    const strads_names *names; /* these, the model's names, or NULL: numbers */
    cli_labels of;             /* n is 0: the model has one score */
    weight *weight;
    uint64_t n;
    cli_out as; /* format of the current file */
} shown;

static const strads_option show_table[] = {
    CLI_U32(shown, top, "top", "N",
            "text: show the N largest (default: 20); other formats have all", 0,
            UINT32_MAX),
    CLI_TEXT(shown, names_path, "names", "FILE",
             "the columns' names, one a line (default: the model's)"),
    CLI_TEXT(shown, csv, "csv", "FILE", NULL),
    {.name = NULL},
};

static int compare_weights(const void *a, const void *b)
{
    const weight *u = a, *v = b;
    double x = fabs(u->value), y = fabs(v->value);
    if (x != y)
        return x < y ? 1 : -1;
    return u->index < v->index ? -1 : u->index > v->index;
}

static double intercept_at(const strads_model *model, uint32_t output)
{
    return model->intercepts ? model->intercepts[output] : model->intercept;
}

static void put_weight(const shown *s, FILE *out, double value,
                       const char *name, uint32_t output)
{
    char buffer[32];
    (void)fprintf(out, "%14.6g  %s", value, name);
    if (s->of.n > 0) {
        (void)fprintf(out, "  of label %s",
                      cli_labels_text(&s->of, output, buffer));
    }
    (void)fputc('\n', out);
}

static void put_top(const shown *s, FILE *out)
{
    char buffer[CLI_NAME_SIZE];
    (void)fprintf(out, "%s, %" PRIu64 " columns, %" PRIu64 " with weights\n",
                  s->model->program, s->model->columns, s->model->n);
    for (uint32_t c = 0; c < s->model->width; c++)
        put_weight(s, out, intercept_at(s->model, c), "(intercept)", c);
    for (uint64_t k = 0; k < s->n && k < s->top; k++) {
        const weight *w = &s->weight[k];
        put_weight(s, out, w->value, cli_name(s->names, w->index, 1, buffer),
                   w->output);
    }
}

static void put_coefficient(const shown *s, cli_table *t, uint64_t column,
                            const char *name, uint32_t output, double value)
{
    char buffer[32];
    cli_table_count(t, column);
    cli_table_text(t, name);
    if (s->of.n > 0)
        cli_table_text(t, cli_labels_text(&s->of, output, buffer));
    cli_table_number(t, value);
}

static strads_err put_shown(void *arg, FILE *out)
{
    static const cli_column with_label[] = {{"column", CLI_COUNT, 0},
                                            {"name", CLI_STRING, 0},
                                            {"label", CLI_STRING, 0},
                                            {"value", CLI_NUMBER, 0}};
    static const cli_column alone_[] = {{"column", CLI_COUNT, 0},
                                        {"name", CLI_STRING, 0},
                                        {"value", CLI_NUMBER, 0}};
    const shown *s = arg;
    const strads_model *m = s->model;
    char buffer[CLI_NAME_SIZE];
    cli_table t = {.column = s->of.n ? with_label : alone_,
                   .n = s->of.n ? 4 : 3,
                   .rows = (m->n + 1) * m->width};
    if (cli_format_of(&s->as) == CLI_FORMAT_TEXT) {
        put_top(s, out);
        return STRADS_OK;
    }
    strads_err err = cli_table_begin(&t, &s->as, out);
    for (uint32_t c = 0; c < m->width && !err; c++)
        put_coefficient(s, &t, 0, "(intercept)", c, intercept_at(m, c));
    for (uint64_t k = 0; k < m->n && !err; k++) {
        const char *name = cli_name(s->names, m->index[k], 1, buffer);
        for (uint32_t c = 0; c < m->width; c++) {
            put_coefficient(s, &t, (uint64_t)m->index[k] + 1, name, c,
                            m->value[k * m->width + c]);
        }
    }
    return err;
}

static strads_err sort_weights(shown *s)
{
    const strads_model *m = s->model;
    CLI_TRY(cli_reserve(m->n * m->width, sizeof *s->weight, "the weights",
                        &s->weight));
    for (uint64_t k = 0; k < m->n; k++) {
        for (uint32_t c = 0; c < m->width; c++) {
            const double value = m->value[k * m->width + c];
            if (value != 0)
                s->weight[s->n++] = (weight){m->index[k], c, value};
        }
    }
    qsort(s->weight, s->n, sizeof *s->weight, compare_weights);
    return STRADS_OK;
}

static strads_err show_weights(void *state, const char *const *path)
{
    shown *s = state;
    CLI_TRY(cli_model_read(path[0], kind_of(&s->use)->program, &s->model));
    if (s->model->width > 1) {
        const cli_model_kind *says;
        CLI_TRY(cli_model_kind_of(s->model->options, &says));
        if (!strads_program_find(s->model->program))
            return refuse_width(path[0], s->model);
        if (!says->classes || !cli_labels_read(says->classes, &s->of) ||
            s->of.n != s->model->width) {
            return strads_fail(STRADS_EFORMAT,
                               "%s: its options do not name the labels, "
                               "\"classes\", as many as the model has",
                               path[0]);
        }
    }
    CLI_TRY(cli_names_read(s->names_path, s->model->columns, &s->own_names));
    s->names = s->own_names ? s->own_names : s->model->names;
    CLI_TRY(sort_weights(s));
    s->as = (cli_out){.format = "csv"};
    if (s->csv) /* --csv FILE is the old name of --output FILE --format csv */
        CLI_TRY(cli_output(s->csv, put_shown, s));
    s->as = s->use.out;
    return STRADS_OK;
}

const cli_verb cli_linear_show = {
    .size = sizeof(shown),
    .initial = &(const shown){.top = 20},
    .table = show_table,
    .usual = "text",
    .read = show_weights,
    .write = put_shown,
};
