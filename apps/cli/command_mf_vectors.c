/* strads mf similar and mf export: the factors of a model as vectors. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_mf_model.h"
#include "engine/base/atomic_file.h"

/* ---- similar ------------------------------------------------------------- */

/* The rows of one side with the largest cosine of their factors. */
typedef struct similarity {
    cli_use use;
    const char *of, *id, *ids;
    uint32_t top;
    cli_mf_model model;
    const strads_names *names;
    float *row;                /* [n x (1 + rank)]: 0, factors of length 1 */
    uint64_t n;                /* users or items */
    uint64_t *chosen, n_asked; /* NULL: all */
    strads_recommender *recommender;
} similarity;

static const strads_option similar_table[] = {
    CLI_CHOICE(similarity, of, "of", "WHOM", "users or items (default: items)",
               "users|items"),
    CLI_TEXT(similarity, id, "id", "ID", "to this one (default: to each)"),
    CLI_TEXT(similarity, ids, "ids", "FILE",
             "to these, one a line (default: to each)"),
    CLI_U32(similarity, top, "top", "N", "of each (default: 10)", 1, 1e6),
    {.name = NULL},
};

/* Without factors a row has no direction. */
static bool has_direction(const similarity *s, uint64_t i)
{
    const size_t width = s->model.f.rank + (size_t)1;
    return cli_mf_has_factors(s->row + i * width, width);
}

/* Refuses a row without factors that --id or --ids gives. */
static strads_err check_chosen(similarity *s, bool users)
{
    char buffer[CLI_NAME_SIZE];
    for (uint64_t k = 0; s->chosen && k < s->n_asked; k++)
        if (!has_direction(s, s->chosen[k]))
            return strads_fail(
                STRADS_EINVAL,
                "%s %s has no ratings, so it has no factors to compare; leave "
                "it out",
                users ? "user" : "item",
                cli_name(s->names, s->chosen[k], s->model.index_base, buffer));
    return STRADS_OK;
}

/* Divides the factors by their length. Rows without factors are left out of all
 * lists. */
static strads_err normalise_rows(similarity *s, bool users)
{
    const size_t width = s->model.f.rank + (size_t)1;
    const float *from = users ? s->model.f.user : s->model.f.item;
    uint32_t *empty, n = 0;
    CLI_TRY(cli_reserve(s->n * width, sizeof *s->row, "the factors", &s->row));
    CLI_TRY(cli_reserve(s->n, sizeof *empty, "the factors", &empty));
    for (uint64_t i = 0; i < s->n; i++, from += width) {
        float *to = s->row + i * width;
        double squares = 0;
        for (size_t k = 1; k < width; k++)
            squares += (double)from[k] * (double)from[k];
        for (size_t k = 1; k < width; k++)
            to[k] = squares > 0 ? (float)((double)from[k] / sqrt(squares)) : 0;
        to[0] = 0;
        if (!(squares > 0))
            empty[n++] = (uint32_t)i;
    }
    const strads_mf_factors vectors = {.users = s->n,
                                       .items = s->n,
                                       .rank = s->model.f.rank,
                                       .user = s->row,
                                       .item = s->row};
    CLI_TRY(strads_recommender_new(&vectors, &s->recommender));
    strads_recommender_hide(s->recommender, n, empty);
    return STRADS_OK;
}

static strads_err choose_rows(similarity *s, bool users)
{
    strads_names *list = NULL;
    if (s->ids)
        CLI_TRY(strads_names_read(s->ids, &list));
    s->n_asked = list ? strads_names_count(list) : s->id ? 1 : s->n;
    if (!s->id && !list)
        return STRADS_OK;
    CLI_TRY(cli_reserve(s->n_asked, sizeof *s->chosen, "the ids", &s->chosen));
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < s->n_asked && !err; k++) {
        const char *name = list ? strads_names_at(list, k) : s->id;
        err = users ? cli_mf_find_user(&s->model, name, &s->chosen[k])
                    : cli_mf_find_item(&s->model, name, &s->chosen[k]);
    }
    strads_names_free(list);
    return err;
}

static strads_err find_similar(void *state, const char *const *path)
{
    similarity *s = state;
    const bool users = strcmp(s->of, "users") == 0;
    if (s->id && s->ids)
        return strads_fail(STRADS_EINVAL, "give one of --id and --ids");
    if (cli_format_of(&s->use.out) == CLI_FORMAT_NPY) {
        return strads_fail(STRADS_EINVAL,
                           "--format npy: lists may be of unequal length; "
                           "choose text, csv or json");
    }
    CLI_TRY(cli_mf_model_read(path[0], &s->model));
    if (s->model.f.rank == 0) {
        return strads_fail(STRADS_EINVAL,
                           "%s: has biases alone; similarity needs factors, "
                           "train with --rank 1 or more",
                           path[0]);
    }
    s->n = users ? s->model.f.users : s->model.f.items;
    s->names = users ? s->model.user_names : s->model.item_names;
    if (s->top > s->n)
        s->top = (uint32_t)s->n;
    CLI_TRY(choose_rows(s, users));
    CLI_TRY(normalise_rows(s, users));
    return check_chosen(s, users);
}

static strads_err put_similar(void *state, FILE *out)
{
    enum { BATCH = 64 };
    const similarity *s = state;
    const size_t width = s->model.f.rank + (size_t)1;
    const bool users = strcmp(s->of, "users") == 0;
    const cli_column columns[] = {cli_id_column(users ? "user" : "item",
                                                s->names),
                                  cli_id_column("similar", s->names),
                                  {"cosine", CLI_NUMBER, 0}};
    cli_table t = {.column = columns, .n = 3, .gap = "\t"};
    uint64_t start[BATCH], end[BATCH];
    uint32_t own[BATCH], found[BATCH];
    float *row;
    strads_scored *list;
    CLI_TRY(cli_reserve(BATCH * width, sizeof *row, "the factors", &row));
    CLI_TRY(
        cli_reserve((size_t)BATCH * s->top, sizeof *list, "the lists", &list));
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    for (uint64_t from = 0; from < s->n_asked; from += BATCH) {
        const strads_top_users batch = {.size = sizeof batch,
                                        .n = s->n_asked - from < BATCH
                                                 ? s->n_asked - from
                                                 : BATCH,
                                        .row = row,
                                        .start = start,
                                        .end = end,
                                        .seen = own};
        for (uint32_t k = 0; k < batch.n; k++) {
            own[k] = (uint32_t)(s->chosen ? s->chosen[from + k] : from + k);
            start[k] = k;
            end[k] = k + (uint64_t)1;
            memcpy(row + k * width, s->row + own[k] * width,
                   sizeof *row * width);
        }
        CLI_TRY(strads_recommender_top_many(s->recommender, &batch, s->top,
                                            list, found));
        for (uint32_t k = 0; k < batch.n; k++) {
            if (!has_direction(s, own[k]))
                continue;
            for (uint32_t j = 0; j < found[k]; j++) {
                const strads_scored *x = &list[(size_t)k * s->top + j];
                cli_table_id(&t, s->names, own[k], s->model.index_base);
                cli_table_id(&t, s->names, x->item, s->model.index_base);
                cli_table_number(&t, (double)x->score);
            }
        }
    }
    return STRADS_OK;
}

const cli_verb cli_mf_similar_verb = {
    .size = sizeof(similarity),
    .initial = &(const similarity){.of = "items", .top = 10},
    .table = similar_table,
    .usual = "text",
    .read = find_similar,
    .write = put_similar,
};

/* ---- export -------------------------------------------------------------- */

/* Vectors for an index of nearest neighbours by inner product: an item's
 * factors and its bias, a user's factors and 1. */
typedef struct export_vectors {
    cli_use use;
    const char *ann;
    cli_mf_model model;
} export_vectors;

static const strads_option export_mf_table[] = {
    CLI_TEXT(export_vectors, ann, "ann", "DIR",
             "write users.npy, items.npy, users.txt and items.txt there"),
    {.name = NULL},
};

typedef struct vectors {
    const char *what;
    const float *row; /* [n x (1 + rank)]: bias, factors */
    uint64_t n;
    const strads_names *names;
    bool has_bias; /* last is the bias, else 1 */
} vectors;

static strads_err open_beside(const char *folder, const char *what,
                              const char *ending, sti_atomic_file *file)
{
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/%s.%s", folder, what, ending);
    return n < (int)sizeof path
               ? sti_atomic_file_open(path, file)
               : strads_fail(STRADS_EINVAL, "%s: the path is too long", folder);
}

static strads_err write_vectors(const export_vectors *e, const vectors *v)
{
    const uint32_t width = e->model.f.rank + 1;
    sti_atomic_file file = {0};
    char header[CLI_NPY_HEADER + 1];
    CLI_TRY(open_beside(e->ann, v->what, "npy", &file));
    cli_npy_header("<f4", v->n, width, header);
    (void)fwrite(header, 1, CLI_NPY_HEADER, file.stream);
    for (uint64_t i = 0; i < v->n; i++) {
        const float *row = v->row + i * width;
        const float last = v->has_bias ? row[0] : 1;
        (void)fwrite(row + 1, sizeof *row, width - 1, file.stream);
        (void)fwrite(&last, sizeof last, 1, file.stream);
    }
    CLI_TRY(sti_atomic_file_commit(&file));
    CLI_TRY(open_beside(e->ann, v->what, "txt", &file));
    for (uint64_t i = 0; i < v->n; i++) {
        char buffer[CLI_NAME_SIZE];
        (void)fprintf(file.stream, "%s\n",
                      cli_name(v->names, i, e->model.index_base, buffer));
    }
    return sti_atomic_file_commit(&file);
}

static strads_err export_mf(void *state, const char *const *path)
{
    export_vectors *e = state;
    if (!e->ann) {
        return strads_fail(STRADS_EINVAL,
                           "mf export needs --ann DIR, the folder to write "
                           "the vectors to");
    }
    CLI_TRY(cli_mf_model_read(path[0], &e->model));
    if (mkdir(e->ann, 0777) != 0 && errno != EEXIST) {
        return strads_fail(STRADS_EIO, "%s: cannot be made: %s", e->ann,
                           strerror(errno));
    }
    const strads_mf_factors *f = &e->model.f;
    const vectors users = {"users", f->user, f->users, e->model.user_names,
                           false};
    const vectors items = {"items", f->item, f->items, e->model.item_names,
                           true};
    CLI_TRY(write_vectors(e, &users));
    CLI_TRY(write_vectors(e, &items));
    cli_say(e->use.quiet,
            "%" PRIu64 " users and %" PRIu64 " items, %" PRIu32
            " numbers each, are in %s",
            f->users, f->items, f->rank + 1, e->ann);
    return STRADS_OK;
}

const cli_verb cli_mf_export_verb = {
    .size = sizeof(export_vectors),
    .table = export_mf_table,
    .has = CLI_HAS_QUIET,
    .read = export_mf,
};
