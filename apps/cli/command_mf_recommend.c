/* strads mf recommend: the items of highest predicted rating for users of the
 * model, or for new ones that are folded in from their ratings. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_mf_ratings.h"
#include "cli_names.h"
#include "cli_options.h"
#include "cli_output.h"
#include "command.h"
#include "strads/recommend.h"

typedef struct recommend_options {
    const char *user, *users, *exclude, *fold_in, *format, *output;
    uint32_t top, workers;
    bool quiet;
} recommend_options;

#define FIELD(name) offsetof(recommend_options, name)

static const strads_option recommend_table[] = {
    {.name = "user",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(user),
     .metavar = "ID",
     .help = "for this user (default: all)"},
    {.name = "users",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(users),
     .metavar = "FILE",
     .help = "for these users, one a line"},
    {.name = "top",
     .kind = STRADS_OPTION_U32,
     .offset = FIELD(top),
     .metavar = "N",
     .help = "items a user (default 10)",
     .min = 1,
     .max = 1e6},
    {.name = "exclude",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(exclude),
     .metavar = "RATINGS",
     .help = "leave out what a user rated there (default: nothing)"},
    {.name = "fold-in",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(fold_in),
     .metavar = "RATINGS",
     .help = "for the users of that file, new ones, without what they rated"},
    {.name = "format",
     .kind = STRADS_OPTION_STRING,
     .offset = FIELD(format),
     .metavar = "F",
     .help = "text, csv, or json: a line a user (default: text)",
     .choices = "text|csv|json"},
    CLI_OPTION_OUTPUT(FIELD(output)),
    CLI_OPTION_READERS(FIELD(workers)),
    CLI_OPTION_RESULT_ONLY(FIELD(quiet)),
    {.name = NULL},
};

typedef struct recommendation {
    recommend_options o;
    cli_mf_model model;
    strads_data *seen;   /* --exclude; NULL: none */
    strads_data *folded; /* --fold-in; NULL: users are the model's */
    strads_names *list;  /* --users; NULL: not given */
    strads_recommender *recommender;
    float *row; /* of a user that is folded in */
    strads_scored *scored;
    FILE *out;
} recommendation;

/* ---- output ------------------------------------------------------------ */

typedef struct id_source {
    const strads_names *users;
    uint64_t base; /* of users without names */
} id_source;

static void put_json(const recommendation *r, const char *user, uint32_t n)
{
    char room[CLI_MF_ID_SIZE];
    (void)fputs("{\"user\": ", r->out);
    cli_json_text(r->out, user);
    (void)fputs(", \"items\": [", r->out);
    for (uint32_t k = 0; k < n; k++) {
        (void)fputs(k ? ", {\"item\": " : "{\"item\": ", r->out);
        cli_json_text(r->out, cli_mf_id(r->model.item_names, r->scored[k].item,
                                        r->model.index_base, room));
        (void)fputs(", \"score\": ", r->out);
        cli_csv_number(r->out, (double)r->scored[k].score);
        (void)fputc('}', r->out);
    }
    (void)fputs("]}\n", r->out);
}

static void put_lines(const recommendation *r, const char *user, uint32_t n)
{
    char room[CLI_MF_ID_SIZE];
    const bool csv = strcmp(r->o.format, "csv") == 0;
    for (uint32_t k = 0; k < n; k++) {
        const char *item = cli_mf_id(r->model.item_names, r->scored[k].item,
                                     r->model.index_base, room);
        if (csv) {
            cli_csv_text(r->out, user);
            (void)fprintf(r->out, ",%" PRIu32 ",", k + 1);
            cli_csv_text(r->out, item);
            (void)fputc(',', r->out);
        } else {
            (void)fprintf(r->out, "%s\t%s\t", user, item);
        }
        cli_csv_number(r->out, (double)r->scored[k].score);
        (void)fputc('\n', r->out);
    }
}

static void put_user(recommendation *r, const id_source *ids, uint64_t user,
                     const float *row, const strads_data *seen)
{
    char room[CLI_MF_ID_SIZE];
    const strads_sparse *x =
        seen ? &strads_data_share(seen, 0)->by_row : &(strads_sparse){0};
    const bool known = user < x->lines;
    const uint64_t from = known ? x->start[user] : 0;
    const uint64_t to = known ? x->start[user + 1] : 0;
    uint32_t n = strads_recommender_top(r->recommender, row, to - from,
                                        known ? x->index + from : NULL,
                                        r->o.top, r->scored);
    const char *name = cli_mf_id(ids->users, user, ids->base, room);
    (strcmp(r->o.format, "json") == 0 ? put_json : put_lines)(r, name, n);
}

/* ---- users ------------------------------------------------------------- */

static void put_known(recommendation *r, uint64_t user)
{
    const id_source ids = {r->model.user_names, r->model.index_base};
    put_user(r, &ids, user, r->model.user + user * (r->model.rank + 1),
             r->seen);
}

static strads_err put_folded(recommendation *r)
{
    const strads_sparse *x = &strads_data_share(r->folded, 0)->by_row;
    const id_source ids = {strads_data_row_names(r->folded),
                           strads_data_index_base(r->folded)};
    strads_err err = STRADS_OK;
    for (uint64_t u = 0; u < x->lines && !err; u++) {
        const uint64_t from = x->start[u];
        const uint32_t n = (uint32_t)(x->start[u + 1] - from);
        if (n == 0) {
            continue; /* a number that nobody has */
        }
        err = strads_recommender_fold(r->recommender, n, x->index + from,
                                      x->f32 + from, r->row);
        if (!err) {
            put_user(r, &ids, u, r->row, r->folded);
        }
    }
    return err;
}

static strads_err put_all(void *arg, FILE *out)
{
    recommendation *r = arg;
    const uint32_t listed = r->list ? strads_names_count(r->list) : 0;
    uint64_t user = 0;
    r->out = out;
    if (strcmp(r->o.format, "csv") == 0) {
        (void)fputs("user,rank,item,score\n", r->out);
    }
    if (r->folded) {
        return put_folded(r);
    }
    for (uint32_t k = 0; k < listed; k++) {
        (void)cli_mf_find_user(&r->model, strads_names_at(r->list, k), &user);
        put_known(r, user);
    }
    if (r->o.user) {
        (void)cli_mf_find_user(&r->model, r->o.user, &user);
        put_known(r, user);
    }
    for (user = 0; user < r->model.users && !r->o.user && !r->list; user++) {
        put_known(r, user);
    }
    return STRADS_OK;
}

/* ---- input ------------------------------------------------------------- */

/* Before anything is written. */
static strads_err check_users(const recommendation *r)
{
    uint64_t user = 0;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; r->list && k < strads_names_count(r->list) && !err;
         k++) {
        err = cli_mf_find_user(&r->model, strads_names_at(r->list, k), &user);
    }
    if (!err && r->o.user) {
        err = cli_mf_find_user(&r->model, r->o.user, &user);
    }
    return err;
}

static strads_err check_options(const recommend_options *o)
{
    const int ways =
        (o->user != NULL) + (o->users != NULL) + (o->fold_in != NULL);
    if (ways > 1) {
        return strads_fail(STRADS_EINVAL,
                           "give one of --user, --users and --fold-in");
    }
    if (o->fold_in && o->exclude) {
        return strads_fail(STRADS_EINVAL,
                           "--exclude is for the model's users; those of "
                           "--fold-in are not offered what they rated anyway");
    }
    return STRADS_OK;
}

static strads_err read_input(recommendation *r, const char *path)
{
    cli_mf_reading reading = {.workers = r->o.workers,
                              .quiet = r->o.quiet,
                              .values = STRADS_F32};
    strads_err err = cli_mf_model_read(path, &r->model);
    if (!err && r->o.users) {
        err = strads_names_read(r->o.users, &r->list);
    }
    if (!err) {
        err = check_users(r);
    }
    if (!err && r->o.exclude) {
        err = cli_mf_ratings_read(r->o.exclude, &r->model, &reading, &r->seen);
    }
    reading.new_users = true;
    if (!err && r->o.fold_in) {
        err =
            cli_mf_ratings_read(r->o.fold_in, &r->model, &reading, &r->folded);
    }
    const strads_mf_factors factors = cli_mf_model_factors(&r->model);
    if (!err) {
        err = strads_recommender_new(&factors, &r->recommender);
    }
    if (!err && r->o.top > r->model.items) {
        r->o.top = (uint32_t)r->model.items;
    }
    r->row = calloc(r->model.rank + 1, sizeof *r->row);
    r->scored = calloc((size_t)r->o.top + 1, sizeof *r->scored);
    return err || (r->row && r->scored)
               ? err
               : strads_fail(STRADS_ENOMEM, "no memory left for the items");
}

int cli_mf_recommend(int argc, char **argv)
{
    recommendation r = {.o = {.top = 10, .format = "text"}};
    const cli_syntax syntax = {
        .name = "mf recommend",
        .args = "MODEL",
        .summary = "Writes, for each user, the items of highest predicted "
                   "rating, best first: `user item score`, tabs between.",
        .groups = {{NULL, recommend_table, &r.o}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    const bool go = !err && !parsed.done;
    if (go) {
        err = check_options(&r.o);
    }
    if (go && !err) {
        err = read_input(&r, parsed.arg[0]);
    }
    if (go && !err) {
        err = cli_output(r.o.output, put_all, &r);
    }
    strads_recommender_free(r.recommender);
    strads_data_free(r.seen);
    strads_data_free(r.folded);
    strads_names_free(r.list);
    cli_mf_model_free(&r.model);
    free(r.row);
    free(r.scored);
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
