/* strads mf: trains a factorisation of ratings; predict, evaluate, recommend
 * and show use its models. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli_mf_model.h"
#include "cli_train.h"
#include "strads/mf.h"
#include "strads/recommend.h"

/* ---- train ------------------------------------------------------------- */

static void resolve_mf(const void *state, void *config)
{
    *(strads_mf_options *)config = *strads_mf_resolved(state);
}

static void describe_errors(const void *state)
{
    static const char *const what[] = {"training", "held out", "test"};
    double error[] = {NAN, NAN, NAN};
    char more[96] = "";
    size_t at = 0;
    const uint32_t undone = strads_mf_undone(state);
    strads_mf_errors(state, &error[0], &error[1], &error[2]);
    for (size_t k = 0; k < 3; k++) {
        if (!isnan(error[k])) {
            at += (size_t)snprintf(more + at, sizeof more - at, "%s%s %.6g",
                                   at ? ", " : "", what[k], error[k]);
        }
    }
    if (at) {
        cli_say(false, "root mean squared error: %s, after sweep %" PRIu32,
                more, strads_mf_best_sweep(state));
    }
    if (undone > 0) {
        cli_say(false,
                "%" PRIu32 " sweeps were undone because their loss exploded, "
                "and the step halved each time",
                undone);
    }
}

/* The search for options, for the log and the model. */
typedef struct mf_training {
    cli_use use;
    strads_mf_tuning tuning;
} mf_training;

static bool tunes_mf(const void *state, const void *config)
{
    (void)state;
    const strads_mf_options *o = config;
    const bool ranks = o->loss && strcmp(o->loss, "squared") != 0;
    return !o->implicit && !ranks && o->tune != STRADS_MF_NO_SEARCH;
}

static void describe_choice(const strads_mf_tuning *t)
{
    const strads_mf_trial *best = &t->trial[t->best];
    char factors[120] = "biases alone";
    char step[40] = "";
    if (best->step > 0)
        (void)snprintf(step, sizeof step, ", step %.3g", best->step);
    if (best->rank > 0) {
        (void)snprintf(factors, sizeof factors,
                       "rank %" PRIu32 ", lambda %.3g%s, %" PRIu32 " sweep%s",
                       best->rank, best->lambda, step, best->sweep,
                       best->sweep == 1 ? "" : "s");
    }
    cli_say(false,
            "chosen: %s, for a held-out error of %.6g, the best of %" PRIu32
            " fits on %" PRIu64 " ratings",
            factors, best->rmse, t->trials, t->ratings);
}

static strads_err tune_mf(void *state, void *config, const strads_data *data,
                          const strads_engine_options *engine, bool quiet)
{
    mf_training *t = state;
    CLI_TRY(strads_mf_tune(config, data, engine, &t->tuning));
    *(strads_mf_options *)config = t->tuning.options;
    if (t->tuning.trials > 0 && !quiet)
        describe_choice(&t->tuning);
    return STRADS_OK;
}

static strads_err log_trials(void *state, cli_log *log)
{
    const mf_training *t = state;
    for (uint32_t k = 0; k < t->tuning.trials; k++) {
        const strads_mf_trial *trial = &t->tuning.trial[k];
        cli_json j = cli_log_line(log, "trial");
        cli_json_count(&j, "rank", trial->rank);
        cli_json_number(&j, "lambda", trial->lambda);
        cli_json_number(&j, "step", trial->step);
        cli_json_count(&j, "sweep", trial->sweep);
        cli_json_number(&j, "validation_rmse", trial->rmse);
        cli_json_number(&j, "seconds", trial->seconds);
        cli_json_raw(&j, "chosen", k == t->tuning.best ? "true" : "false");
        cli_log_end_line(log, &j);
    }
    return STRADS_OK;
}

static const cli_train train = {
    .program = &strads_program_mf,
    .size = sizeof(mf_training),
    .tunes = tunes_mf,
    .tune = tune_mf,
    .tell = log_trials,
    .options = "Matrix factorisation:",
    .resolve = resolve_mf,
    .describe = describe_errors,
    .write = cli_mf_model_write,
};

/* ---- predict ----------------------------------------------------------- */

typedef struct prediction {
    cli_use use;
    const char *column[4];
    cli_mf_model model;
    cli_mf_ratings ratings;
} prediction;

static strads_err put_mf_predictions(void *state, FILE *out)
{
    const prediction *p = state;
    const cli_mf_model *m = &p->model;
    const cli_mf_ratings *r = &p->ratings;
    const strads_names *users = strads_data_row_names(r->data);
    const strads_names *items = strads_data_col_names(r->data);
    const uint64_t base = strads_data_index_base(r->data);
    const strads_share *share = strads_data_share(r->data, 0);
    const strads_sparse *rows = &share->by_row;
    const cli_column columns[] = {cli_id_column("user", users),
                                  cli_id_column("item", items),
                                  {"rating", CLI_NUMBER, 0}};
    cli_table t = {.column = columns, .n = 3, .rows = rows->nnz, .gap = "\t"};
    strads_err err = cli_table_begin(&t, &p->use.out, out);
    for (uint64_t u = 0; u < rows->lines && !err; u++) {
        for (uint64_t e = rows->start[u]; e < rows->start[u + 1]; e++) {
            const uint32_t i = rows->index[e];
            cli_table_id(&t, users, u, base);
            cli_table_id(&t, items, i, base);
            cli_table_number(&t,
                             cli_mf_model_predict(m, r->user[u], r->item[i],
                                                  share->time ? share->time + e
                                                              : NULL));
        }
    }
    return err;
}

static strads_err predict_ratings(void *state, const char *const *path)
{
    prediction *p = state;
    CLI_TRY(cli_mf_model_read(path[0], &p->model));
    p->model.column[2] = NULL; /* pairs to predict need no rating */
    CLI_TRY(cli_mf_model_columns(&p->model, p->column));
    return cli_mf_ratings_read_all(path[1], &p->model, &p->use, &p->ratings);
}

static const strads_option predict_table[] = {
    CLI_MF_COLUMNS(prediction, column),
    {.name = NULL},
};

static const cli_verb predict_verb = {
    .size = sizeof(prediction),
    .table = predict_table,
    .usual = "text",
    .has = CLI_HAS_WORKERS | CLI_HAS_QUIET,
    .read = predict_ratings,
    .write = put_mf_predictions,
};

/* ---- evaluate ---------------------------------------------------------- */

/* Errors of a model on ratings, and the quality of its ranking, compared with
 * ranking by popularity. */
typedef struct evaluation {
    cli_use use;
    const char *column[4];
    const char *train_path;
    double relevant;
    uint32_t top;
    cli_mf_model model;
    cli_mf_ratings ratings, rated; /* all users and items: of the test data, of
                                    * --train */
    strads_data *test, *train;     /* those that the model knows, for the
                                    * ranking */
    strads_recommender *recommender;
    strads_ranking ours, popular;
} evaluation;

static const strads_option evaluate_table[] = {
    CLI_TEXT(evaluation, train_path, "train", "RATINGS",
             "the training ratings: errors on them, and ranking (none)"),
    CLI_U32(evaluation, top, "top", "K",
            "items of a ranking that count (default: 10)", 1, 1e6),
    CLI_F64(evaluation, relevant, "relevant", "R",
            "ratings from R up are relevant (default: the model's mean)", 0, 0),
    CLI_MF_COLUMNS(evaluation, column),
    {.name = NULL},
};

/* The mean of n numbers from their sum and sum of squares, with its 95 %
 * interval by the normal distribution. One number has no interval. Lower ends
 * of errors are cut at 0. */
static cli_measure estimate(const char *name, const char *part, double n,
                            double sum, double squares)
{
    const double mean = sum / n;
    const double variance = fmax(squares - sum * mean, 0) / (n - 1);
    const double half = n > 1 ? 1.959964 * sqrt(variance / n) : NAN;
    return (cli_measure){name,        part,
                         mean,        isnan(half) ? NAN : fmax(mean - half, 0),
                         mean + half, true};
}

enum { PART_FIGURES = 4, RANK_FIGURES = 19 };

static void measure_errors(const cli_mf_model *model, const cli_mf_ratings *r,
                           const char *part, cli_measure out[PART_FIGURES])
{
    const strads_share *share = strads_data_share(r->data, 0);
    const strads_sparse *rows = &share->by_row;
    const double n = (double)rows->nnz;
    double absolute = 0, squares = 0, fourths = 0;
    for (uint64_t u = 0; u < rows->lines; u++) {
        for (uint64_t e = rows->start[u]; e < rows->start[u + 1]; e++) {
            double error =
                rows->f64[e] -
                cli_mf_model_predict(model, r->user[u], r->item[rows->index[e]],
                                     share->time ? share->time + e : NULL);
            absolute += fabs(error);
            squares += error * error;
            fourths += error * error * error * error;
        }
    }
    cli_measure mse = estimate("rmse", part, n, squares, fourths);
    out[0] = cli_figure("ratings", part, n);
    out[1] = (cli_measure){"rmse",        part,           sqrt(mse.value),
                           sqrt(mse.low), sqrt(mse.high), true};
    out[2] = estimate("mae", part, n, absolute, squares);
    out[3] = cli_figure("unknown", part, (double)r->unknown);
}

static uint32_t measure_all(const evaluation *e, cli_measure *out)
{
    const strads_ranking *ours = &e->ours, *popular = &e->popular;
    const cli_measure ranking[RANK_FIGURES] = {
        cli_figure("top", "ranking", (double)e->top),
        cli_figure("users", "ranking", (double)ours->users),
        cli_figure("relevant", "ranking", e->relevant),
        cli_figure("ndcg", "ranking", ours->ndcg),
        cli_figure("precision", "ranking", ours->precision),
        cli_figure("recall", "ranking", ours->recall),
        cli_figure("map", "ranking", ours->map),
        cli_figure("mrr", "ranking", ours->mrr),
        cli_figure("auc", "ranking", ours->auc),
        cli_figure("coverage", "ranking", ours->coverage),
        cli_figure("exposure", "ranking", ours->exposure),
        cli_figure("popularity_ndcg", "ranking", popular->ndcg),
        cli_figure("popularity_precision", "ranking", popular->precision),
        cli_figure("popularity_recall", "ranking", popular->recall),
        cli_figure("popularity_map", "ranking", popular->map),
        cli_figure("popularity_mrr", "ranking", popular->mrr),
        cli_figure("popularity_auc", "ranking", popular->auc),
        cli_figure("popularity_coverage", "ranking", popular->coverage),
        cli_figure("popularity_exposure", "ranking", popular->exposure)};
    measure_errors(&e->model, &e->ratings, NULL, out);
    if (!e->train)
        return PART_FIGURES;
    measure_errors(&e->model, &e->rated, "train", out + PART_FIGURES);
    memcpy(&out[2 * (size_t)PART_FIGURES], ranking, sizeof ranking);
    return 2 * PART_FIGURES + RANK_FIGURES;
}

static strads_err put_mf_evaluation(void *state, FILE *out)
{
    const evaluation *e = state;
    cli_measure measure[2 * PART_FIGURES + RANK_FIGURES];
    return cli_measures_write(out, &e->use.out, measure,
                              measure_all(e, measure));
}

static strads_err rank_items(evaluation *e)
{
    CLI_TRY(strads_recommender_new(&e->model.f, &e->recommender));
    return strads_recommender_judge(e->recommender, &e->model.f,
                                    &strads_data_share(e->train, 0)->by_row,
                                    &strads_data_share(e->test, 0)->by_row,
                                    e->relevant, e->top, &e->ours, &e->popular);
}

static strads_err evaluate_ratings(void *state, const char *const *path)
{
    evaluation *e = state;
    CLI_TRY(cli_mf_model_read(path[0], &e->model));
    CLI_TRY(cli_mf_model_columns(&e->model, e->column));
    CLI_TRY(cli_mf_ratings_read_all(path[1], &e->model, &e->use, &e->ratings));
    if (isnan(e->relevant))
        e->relevant = e->model.f.mean;
    if (!e->train_path)
        return STRADS_OK;
    CLI_TRY(
        cli_mf_ratings_read_all(e->train_path, &e->model, &e->use, &e->rated));
    CLI_TRY(cli_mf_ratings_read(path[1], &e->model, &e->use, STRADS_F64, false,
                                &e->test));
    CLI_TRY(cli_mf_ratings_read(e->train_path, &e->model, &e->use, STRADS_F64,
                                false, &e->train));
    return rank_items(e);
}

static const cli_verb evaluate_verb = {
    .size = sizeof(evaluation),
    .initial = &(const evaluation){.top = 10, .relevant = NAN},
    .table = evaluate_table,
    .usual = "json",
    .has = CLI_HAS_WORKERS | CLI_HAS_QUIET,
    .read = evaluate_ratings,
    .write = put_mf_evaluation,
};

/* ---- recommend --------------------------------------------------------- */

/* The items with the highest predicted ratings, for users of the model or for
 * new users that are folded in from their ratings. */
typedef struct recommendation {
    cli_use use;
    const char *user, *users, *exclude, *fold_in, *allow, *forbid;
    uint32_t top;
    cli_mf_model model;
    strads_data *seen;         /* --exclude; NULL: none */
    strads_data *folded;       /* --fold-in; NULL: users are the model's */
    strads_names *list;        /* --users; NULL: not given */
    uint64_t *chosen, n_users; /* [n_users]; NULL: all of them */
    strads_recommender *recommender;
    /* Users whose lists are computed together, up to `batch`. */
    uint32_t batch, n;
    uint64_t *user_at, *start, *end; /* [batch] number, and its seen items */
    float *row;                      /* [batch x (1 + rank)] */
    uint32_t *found;                 /* [batch] */
    strads_scored *scored;           /* [batch x top] */
    cli_table table;
    FILE *out;
} recommendation;

static const strads_option recommend_table[] = {
    CLI_TEXT(recommendation, user, "user", "ID",
             "for this user (default: all)"),
    CLI_TEXT(recommendation, users, "users", "FILE",
             "for these users, one a line (default: all)"),
    CLI_U32(recommendation, top, "top", "N", "items a user (default: 10)", 1,
            1e6),
    CLI_TEXT(recommendation, exclude, "exclude", "RATINGS",
             "leave out items that a user rated there (default: none)"),
    CLI_TEXT(recommendation, allow, "allow", "FILE",
             "only these items, one a line (default: all)"),
    CLI_TEXT(recommendation, forbid, "forbid", "FILE",
             "none of these items, one a line (default: none)"),
    CLI_TEXT(recommendation, fold_in, "fold-in", "RATINGS",
             "for the new users of that file, without items that they rated"),
    {.name = NULL},
};

typedef struct id_source {
    const strads_names *users;
    uint64_t base; /* first number of users without names */
} id_source;

/* JSON has one line for each user. */
static void put_json_user(const recommendation *r, const char *user,
                          const strads_scored *list, uint32_t n)
{
    char buffer[CLI_NAME_SIZE];
    cli_json j = cli_json_begin(r->out);
    cli_json_string(&j, "user", user);
    cli_json_open(&j, "items", '[');
    for (uint32_t k = 0; k < n; k++) {
        cli_json_open(&j, NULL, '{');
        cli_json_string(&j, "item",
                        cli_name(r->model.item_names, list[k].item,
                                 r->model.index_base, buffer));
        cli_json_number(&j, "score", (double)list[k].score);
        cli_json_close(&j, '}');
    }
    cli_json_close(&j, ']');
    cli_json_end(&j);
}

/* text: user item score; csv: user,rank,item,score. */
static void put_lines(recommendation *r, const char *user,
                      const strads_scored *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        cli_table_text(&r->table, user);
        if (r->table.n == 4)
            cli_table_count(&r->table, k + 1);
        cli_table_id(&r->table, r->model.item_names, list[k].item,
                     r->model.index_base);
        cli_table_number(&r->table, (double)list[k].score);
    }
}

/* Computes and writes the lists of the users so far. */
static strads_err put_batch(recommendation *r, const id_source *ids,
                            const strads_data *seen)
{
    const strads_top_users users = {
        .size = sizeof users,
        .n = r->n,
        .row = r->row,
        .start = seen ? r->start : NULL,
        .end = r->end,
        .seen = seen ? strads_data_share(seen, 0)->by_row.index : NULL};
    CLI_TRY(strads_recommender_top_many(r->recommender, &users, r->top,
                                        r->scored, r->found));
    for (uint32_t k = 0; k < r->n; k++) {
        char buffer[CLI_NAME_SIZE];
        const strads_scored *list = r->scored + (size_t)k * r->top;
        const char *name =
            cli_name(ids->users, r->user_at[k], ids->base, buffer);
        if (r->table.format == CLI_FORMAT_JSON)
            put_json_user(r, name, list, r->found[k]);
        else
            put_lines(r, name, list, r->found[k]);
    }
    r->n = 0;
    return STRADS_OK;
}

/* The row of the next user of the batch. */
static float *add_user(recommendation *r, uint64_t user,
                       const strads_data *seen)
{
    const strads_sparse *x = seen ? &strads_data_share(seen, 0)->by_row : NULL;
    const bool known = x && user < x->lines;
    r->user_at[r->n] = user;
    r->start[r->n] = known ? x->start[user] : 0;
    r->end[r->n] = known ? x->start[user + 1] : 0;
    return r->row + (size_t)r->n++ * (r->model.f.rank + 1);
}

/* ---- users ------------------------------------------------------------- */

static strads_err put_known(recommendation *r)
{
    const id_source ids = {r->model.user_names, r->model.index_base};
    const size_t width = r->model.f.rank + 1;
    for (uint64_t k = 0; k < r->n_users; k++) {
        const uint64_t user = r->chosen ? r->chosen[k] : k;
        memcpy(add_user(r, user, r->seen), r->model.f.user + user * width,
               sizeof(float) * width);
        if (r->n == r->batch || k + 1 == r->n_users)
            CLI_TRY(put_batch(r, &ids, r->seen));
    }
    return STRADS_OK;
}

static strads_err put_folded(recommendation *r)
{
    const strads_sparse *x = &strads_data_share(r->folded, 0)->by_row;
    const id_source ids = {strads_data_row_names(r->folded),
                           strads_data_index_base(r->folded)};
    for (uint64_t u = 0; u < x->lines; u++) {
        const uint64_t from = x->start[u];
        const uint32_t n = (uint32_t)(x->start[u + 1] - from);
        if (n > 0) { /* else no user has this number */
            CLI_TRY(strads_recommender_fold(r->recommender, n, x->index + from,
                                            x->f32 + from,
                                            add_user(r, u, r->folded)));
        }
        if (r->n == r->batch || (u + 1 == x->lines && r->n > 0))
            CLI_TRY(put_batch(r, &ids, r->folded));
    }
    return STRADS_OK;
}

static strads_err put_recommendations(void *state, FILE *out)
{
    recommendation *r = state;
    const cli_column ranked[] = {{"user", CLI_STRING, 0},
                                 {"rank", CLI_COUNT, 0},
                                 cli_id_column("item", r->model.item_names),
                                 {"score", CLI_NUMBER, 0}};
    const cli_column bare[] = {ranked[0], ranked[2], ranked[3]};
    const bool text = cli_format_of(&r->use.out) == CLI_FORMAT_TEXT;
    r->out = out;
    r->table = (cli_table){.column = text ? bare : ranked,
                           .n = text ? 3 : 4,
                           .gap = "\t"};
    (void)cli_table_begin(&r->table, &r->use.out, out);
    return r->folded ? put_folded(r) : put_known(r);
}

/* ---- input ------------------------------------------------------------- */

/* Selects the users of --user or --users; without them, all users. */
static strads_err choose_users(recommendation *r)
{
    if (r->users)
        CLI_TRY(strads_names_read(r->users, &r->list));
    r->n_users = r->list   ? strads_names_count(r->list)
                 : r->user ? 1
                           : r->model.f.users;
    if (!r->user && !r->list)
        return STRADS_OK;
    CLI_TRY(cli_reserve(r->n_users, sizeof *r->chosen, "users", &r->chosen));
    for (uint32_t k = 0; k < r->n_users; k++) {
        const char *name = r->list ? strads_names_at(r->list, k) : r->user;
        CLI_TRY(cli_mf_find_user(&r->model, name, &r->chosen[k]));
    }
    return STRADS_OK;
}

static strads_err check_mf_options(const recommendation *o)
{
    const int ways =
        (o->user != NULL) + (o->users != NULL) + (o->fold_in != NULL);
    if (ways > 1) {
        return strads_fail(STRADS_EINVAL,
                           "give one of --user, --users and --fold-in");
    }
    if (cli_format_of(&o->use.out) == CLI_FORMAT_NPY) {
        return strads_fail(STRADS_EINVAL,
                           "--format npy: lists of items are of unequal "
                           "length; choose text, csv or json");
    }
    if (o->fold_in && o->exclude) {
        return strads_fail(STRADS_EINVAL,
                           "--exclude is for the model's users; for those of "
                           "--fold-in, rated items are left out anyway");
    }
    return STRADS_OK;
}

/* Sets left_out of the items of a file to `value`. */
static strads_err mark_items(const cli_mf_model *model, const char *path,
                             bool value, bool *left_out)
{
    strads_names *list = NULL;
    CLI_TRY(strads_names_read(path, &list));
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < strads_names_count(list) && !err; k++) {
        uint64_t item = 0;
        err = cli_mf_find_item(model, strads_names_at(list, k), &item);
        if (!err)
            left_out[item] = value;
    }
    strads_names_free(list);
    return err;
}

/* Applies --allow and --forbid. */
static strads_err hide_items(recommendation *r)
{
    const uint64_t items = r->model.f.items;
    bool *left_out;
    uint32_t *hidden, n = 0;
    if (!r->allow && !r->forbid)
        return STRADS_OK;
    CLI_TRY(cli_reserve(items, sizeof *left_out, "the items", &left_out));
    CLI_TRY(cli_reserve(items, sizeof *hidden, "the items", &hidden));
    for (uint64_t i = 0; i < items; i++)
        left_out[i] = r->allow != NULL;
    if (r->allow)
        CLI_TRY(mark_items(&r->model, r->allow, false, left_out));
    if (r->forbid)
        CLI_TRY(mark_items(&r->model, r->forbid, true, left_out));
    for (uint32_t i = 0; i < items; i++)
        if (left_out[i])
            hidden[n++] = i;
    strads_recommender_hide(r->recommender, n, hidden);
    return STRADS_OK;
}

static strads_err reserve_batch(recommendation *r)
{
    enum { BATCH = 64, SCORED = 1 << 20 };
    const uint32_t most = SCORED / r->top;
    r->batch = most > BATCH ? BATCH : most > 0 ? most : 1;
    const size_t n = r->batch;
    CLI_TRY(cli_reserve(n, sizeof *r->user_at, "the users", &r->user_at));
    CLI_TRY(cli_reserve(n, sizeof *r->start, "the users", &r->start));
    CLI_TRY(cli_reserve(n, sizeof *r->end, "the users", &r->end));
    CLI_TRY(cli_reserve(n, sizeof *r->found, "the users", &r->found));
    CLI_TRY(cli_reserve(n * (r->model.f.rank + 1), sizeof *r->row, "the users",
                        &r->row));
    return cli_reserve(n * r->top, sizeof *r->scored, "the items", &r->scored);
}

static strads_err recommend(void *state, const char *const *path)
{
    recommendation *r = state;
    CLI_TRY(check_mf_options(r));
    CLI_TRY(cli_mf_model_read(path[0], &r->model));
    CLI_TRY(choose_users(r));
    if (r->exclude) {
        CLI_TRY(cli_mf_ratings_read(r->exclude, &r->model, &r->use, STRADS_F32,
                                    false, &r->seen));
    }
    if (r->fold_in) {
        CLI_TRY(cli_mf_ratings_read(r->fold_in, &r->model, &r->use, STRADS_F32,
                                    true, &r->folded));
    }
    /* Recommendations are for the end of the training. */
    r->model.f.mean += r->model.periods.bias[STRADS_MF_PERIODS - 1];
    CLI_TRY(strads_recommender_new(&r->model.f, &r->recommender));
    if (r->top > r->model.f.items)
        r->top = (uint32_t)r->model.f.items;
    CLI_TRY(hide_items(r));
    return reserve_batch(r);
}

static const cli_verb recommend_verb = {
    .size = sizeof(recommendation),
    .initial = &(const recommendation){.top = 10},
    .table = recommend_table,
    .usual = "text",
    .has = CLI_HAS_WORKERS | CLI_HAS_QUIET,
    .read = recommend,
    .write = put_recommendations,
};

/* ---- show -------------------------------------------------------------- */

typedef struct shown {
    cli_use use;
    const char *of;
    cli_mf_model model;
} shown;

static const strads_option show_table[] = {
    CLI_CHOICE(shown, of, "of", "WHOM", "users or items (default: items)",
               "users|items"),
    {.name = NULL},
};

/* A bias, and columns factor_1, factor_2, ... */
static strads_err put_factors(void *state, FILE *out)
{
    const shown *s = state;
    const cli_mf_model *m = &s->model;
    const bool users = strcmp(s->of, "users") == 0;
    const strads_names *names = users ? m->user_names : m->item_names;
    const float *x = users ? m->f.user : m->f.item;
    const uint64_t n = users ? m->f.users : m->f.items;
    cli_column *column;
    char(*name)[24];
    CLI_TRY(cli_reserve(m->f.rank + 2, sizeof *column, "a table", &column));
    CLI_TRY(cli_reserve(m->f.rank + 1, sizeof *name, "a table", &name));
    column[0] = cli_id_column(users ? "user" : "item", names);
    column[1] = (cli_column){"bias", CLI_NUMBER, 0};
    for (uint32_t k = 1; k <= m->f.rank; k++) {
        (void)snprintf(name[k], sizeof name[k], "factor_%" PRIu32, k);
        column[k + 1] = (cli_column){name[k], CLI_NUMBER, 0};
    }
    cli_table t = {.column = column, .n = m->f.rank + 2, .rows = n};
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    for (uint64_t row = 0; row < n; row++) {
        cli_table_id(&t, names, row, m->index_base);
        for (uint32_t k = 0; k <= m->f.rank; k++)
            cli_table_number(&t, (double)*x++);
    }
    return STRADS_OK;
}

static strads_err show_factors(void *state, const char *const *path)
{
    return cli_mf_model_read(path[0], &((shown *)state)->model);
}

static const cli_verb show_verb = {
    .size = sizeof(shown),
    .initial = &(const shown){.of = "items"},
    .table = show_table,
    .usual = "csv",
    .read = show_factors,
    .write = put_factors,
};

const cli_command cli_mf_commands[] = {
    {.name = "mf train",
     .args = "DATA",
     .summary = "factorise ratings of items by users",
     .about = "Factorises ratings of items by users: lines `user item rating`, "
              "CSV with a header and names, or MatrixMarket.",
     .train = &train},
    {.name = "mf predict",
     .args = "MODEL DATA",
     .summary = "write its ratings of the pairs in the data",
     .about = "Writes `user item rating`, tabs between, for each pair of user "
              "and item in the data, users in order.",
     .verb = &predict_verb},
    {.name = "mf evaluate",
     .args = "MODEL DATA",
     .summary = "measure its errors and its rankings",
     .about =
         "Measures a model on ratings: root mean squared error and mean "
         "absolute error, each with its 95 % interval; with --train, also on "
         "those ratings, and how well it ranks.",
     .verb = &evaluate_verb},
    {.name = "mf recommend",
     .args = "MODEL",
     .summary = "list the items that users would rate highest",
     .about = "Writes the items of highest predicted rating for each user, "
              "best first: `user item score`, tabs between.",
     .verb = &recommend_verb},
    {.name = "mf similar",
     .args = "MODEL",
     .summary = "list similar items or users",
     .about = "Writes the items, or users, with the largest cosine of their "
              "factors: `item similar cosine`, tabs between.",
     .verb = &cli_mf_similar_verb},
    {.name = "mf export",
     .args = "MODEL",
     .summary = "write its vectors for FAISS and hnswlib",
     .about = "Writes the vectors of users and items as npy arrays, and their "
              "ids, for an index by inner product, as FAISS and hnswlib have.",
     .verb = &cli_mf_export_verb},
    {.name = "mf show",
     .args = "MODEL",
     .summary = "write its biases and factors as CSV",
     .about = "Writes a model's biases and factors as CSV with a header, a "
              "line an item or a user.",
     .verb = &show_verb},
    {.name = NULL},
};
