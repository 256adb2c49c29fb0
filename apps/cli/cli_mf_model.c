/* The JSON file is renamed last and contains the checksums of its arrays, so
 * that a reader always gets one complete model. Until then, the arrays of the
 * old model are kept beside it, under names with their checksums, where readers
 * find them. If the process is killed between two renames, either the old or
 * the new model is intact. */
#include "cli_mf_model.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli.h"
#include "cli_terminal.h"
#include "engine/base/atomic_file.h"
#include "strads/mf.h"

#define FORMAT "strads-mf"
enum { VERSION = 2, PATH_SIZE = 4096 };

static strads_err beside(const char *path, const char *what,
                         char out[PATH_SIZE])
{
    int n = snprintf(out, PATH_SIZE, "%s.%s.npy", path, what);
    return n < PATH_SIZE
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL, "%s: the path is too long", path);
}

static void checksum_text(const void *bytes, size_t size, char out[17])
{
    (void)snprintf(out, 17, "%016" PRIx64, (uint64_t)XXH3_64bits(bytes, size));
}

/* ---- arrays ------------------------------------------------------------ */

static const char *const array_name[2] = {"users", "items"};

/* One of a model's arrays. */
typedef struct array {
    const char *what; /* part of its file name */
    const float *x;   /* [rows x width] */
    uint64_t rows;
    uint32_t width;
} array;

static strads_err write_array(const char *path, const array *a,
                              sti_atomic_file *target)
{
    char name[PATH_SIZE];
    char header[CLI_NPY_HEADER + 1];
    strads_err err = beside(path, a->what, name);
    if (!err)
        err = sti_atomic_file_open(name, target);
    if (err)
        return err;
    cli_npy_header("<f4", a->rows, a->width, header);
    /* Committing the file reports write errors. */
    (void)fwrite(header, 1, CLI_NPY_HEADER, target->stream);
    (void)fwrite(a->x, sizeof *a->x * a->width, a->rows, target->stream);
    return sti_atomic_file_sync(target);
}

/* Reads the file into x. False: it is missing, or its checksum differs. */
static bool take_array(const char *name, const array *a, const char *checksum,
                       float *x)
{
    char header[CLI_NPY_HEADER + 1];
    char found[CLI_NPY_HEADER + 1] = "";
    char sum[17] = "";
    FILE *file = fopen(name, "re");
    if (!file)
        return false;
    size_t n = fread(found, 1, CLI_NPY_HEADER, file);
    cli_npy_header("<f4", a->rows, a->width, header);
    if (n == CLI_NPY_HEADER && memcmp(header, found, CLI_NPY_HEADER) == 0 &&
        fread(x, sizeof *x * a->width, a->rows, file) == a->rows)
        checksum_text(x, sizeof *x * a->width * a->rows, sum);
    (void)fclose(file);
    return strcmp(sum, checksum) == 0;
}

/* The name of an old array while a new one takes its place. */
static strads_err aside(const char *path, const char *what,
                        const char *checksum, char out[PATH_SIZE])
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s.%.16s", what, checksum);
    return beside(path, name, out);
}

static strads_err read_array(const char *path, const array *a,
                             const char *checksum, const float **out)
{
    char name[PATH_SIZE], old[PATH_SIZE];
    float *x;
    CLI_TRY(beside(path, a->what, name));
    CLI_TRY(aside(path, a->what, checksum, old));
    CLI_TRY(cli_reserve(a->rows * a->width, sizeof *x, "the model", &x));
    if (take_array(name, a, checksum, x) || take_array(old, a, checksum, x)) {
        *out = x;
        return STRADS_OK;
    }
    if (access(name, R_OK) != 0) {
        return strads_fail(STRADS_EIO,
                           "%s: cannot be read: %s; it belongs to the model %s",
                           name, strerror(errno), path);
    }
    return strads_fail(STRADS_EMISMATCH,
                       "%s: is not the file that was written with the model "
                       "%s (%" PRIu64 " rows of %" PRIu32
                       " f32, checksum %s): keep its files together",
                       name, path, a->rows, a->width, checksum);
}

/* ---- names ------------------------------------------------------------- */

static json_t *names_json(const strads_names *names)
{
    if (!names)
        return json_null();
    json_t *list = json_array();
    for (uint32_t k = 0; k < strads_names_count(names); k++) {
        const char *name = strads_names_at(names, k);
        if (json_array_append_new(list, json_string(name))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static strads_err names_from(const json_t *list, uint64_t n, const char *path,
                             strads_names **out)
{
    if (json_is_null(list))
        return STRADS_OK;
    CLI_TRY(strads_names_new(out));
    for (size_t k = 0; k < json_array_size(list); k++) {
        const char *name = json_string_value(json_array_get(list, k));
        uint32_t number = 0;
        name = name ? name : "";
        CLI_TRY(strads_names_add(*out, name, strlen(name), &number));
    }
    return strads_names_count(*out) == n
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "%s: has %" PRIu32 " different names for %" PRIu64
                             " users or items",
                             path, strads_names_count(*out), n);
}

/* ---- writing ----------------------------------------------------------- */

static json_t *periods_json(const strads_mf_periods *p)
{
    json_t *bias = p->any ? json_array() : NULL;
    for (uint32_t k = 0; bias && k < STRADS_MF_PERIODS; k++)
        (void)json_array_append_new(bias, json_real(p->bias[k]));
    return bias ? json_pack("{s:f, s:f, s:o}", "first", p->first, "last",
                            p->last, "biases", bias)
                : json_null();
}

static strads_err write_json(const cli_trained *t, const char *path,
                             const cli_mf_model *m, sti_atomic_file *target)
{
    char user_sum[17];
    char item_sum[17];
    size_t row = sizeof(float) * (m->f.rank + 1);
    checksum_text(m->f.user, row * m->f.users, user_sum);
    checksum_text(m->f.item, row * m->f.items, item_sum);
    json_t *json = json_pack(
        "{s:s, s:i, s:i, s:I, s:I, s:f, s:f, s:I, s:s, s:s, s:o, s:o, s:o, "
        "s:o, s:I, s:f, s:f, s:f, s:o}",
        "format", FORMAT, "version", VERSION, "rank", (int)m->f.rank, "users",
        (json_int_t)m->f.users, "items", (json_int_t)m->f.items, "mean",
        m->f.mean, "penalty", m->f.penalty, "index_base",
        (json_int_t)m->index_base, "users_checksum", user_sum, "items_checksum",
        item_sum, "options", json_loads(t->options, 0, NULL), "user_names",
        names_json(strads_data_row_names(t->data)), "item_names",
        names_json(strads_data_col_names(t->data)), "times",
        periods_json(&m->periods), "seed", (json_int_t)t->seed, "damping",
        m->f.damping, "lift", m->f.lift, "raise", m->f.raise, "range",
        isfinite(m->low) ? json_pack("[f, f]", m->low, m->high) : json_null());
    if (!json) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: a name is no UTF-8 text, which JSON needs",
                           path);
    }
    strads_err err = sti_atomic_file_open(path, target);
    if (!err) {
        (void)json_dumpf(json, target->stream, JSON_INDENT(1));
        (void)fputc('\n', target->stream);
        err = sti_atomic_file_sync(target);
    }
    json_decref(json);
    return err;
}

/* The arrays of the model that is being replaced, and their temporary names. */
typedef struct replaced {
    char from[2][PATH_SIZE], to[2][PATH_SIZE];
    bool any;
} replaced;

static strads_err find_replaced(const char *path, replaced *r)
{
    json_t *json = json_load_file(path, 0, NULL);
    const char *sum[2] = {NULL, NULL};
    if (!json ||
        json_unpack(json, "{s:s, s:s}", "users_checksum", &sum[0],
                    "items_checksum", &sum[1]) ||
        strchr(sum[0], '/') || strchr(sum[1], '/')) {
        json_decref(json);
        return STRADS_OK; /* no old model */
    }
    strads_err err = STRADS_OK;
    for (int k = 0; k < 2 && !err; k++) {
        char *there = NULL; /* replace the target of a link */
        err = beside(path, array_name[k], r->from[k]);
        if (!err && (there = realpath(r->from[k], NULL)) != NULL)
            (void)snprintf(r->from[k], PATH_SIZE, "%s", there);
        free(there);
        if (!err)
            err = aside(path, array_name[k], sum[k], r->to[k]);
    }
    r->any = !err;
    json_decref(json);
    return err;
}

/* Writes all three files or none. A full disk or a kill never leaves a mixture
 * of two models. */
static strads_err write_files(const cli_trained *t, const char *path,
                              const cli_mf_model *m)
{
    enum { FILES = 3 };
    sti_atomic_file target[FILES] = {{0}};
    const array users = {array_name[0], m->f.user, m->f.users, m->f.rank + 1},
                items = {array_name[1], m->f.item, m->f.items, m->f.rank + 1};
    strads_err err = write_array(path, &users, &target[0]);
    if (!err)
        err = write_array(path, &items, &target[1]);
    if (!err)
        err = write_json(t, path, m, &target[2]);
    replaced old = {.any = false};
    if (!err)
        err = find_replaced(path, &old);
    /* If the temporary name exists, an earlier writer was killed. Then the
     * array in its place belongs to a model that was never completed. */
    for (int k = 0; k < 2 && !err && old.any; k++)
        if (access(old.to[k], F_OK) != 0)
            (void)rename(old.from[k], old.to[k]);
    for (int k = 0; k < FILES && !err; k++)
        err = sti_atomic_file_commit(&target[k]);
    for (int k = 0; k < 2 && !err && old.any; k++)
        (void)unlink(old.to[k]);
    for (int k = 0; k < FILES; k++)
        sti_atomic_file_abandon(&target[k]);
    return err;
}

strads_err cli_mf_model_write(const cli_trained *t, const char *path)
{
    const void *state = strads_result_state(t->result);
    const float *user = strads_mf_users(state);
    uint32_t width = 0;
    float *item;
    cli_mf_model m = {.f = {.users = strads_data_rows(t->data),
                            .mean = strads_mf_mean(state),
                            .user = user,
                            .penalty = strads_mf_penalty(state),
                            .lift = strads_mf_lift(state),
                            .raise = strads_mf_raise(state),
                            .damping = strads_mf_damping(state)},
                      .index_base = strads_data_index_base(t->data),
                      .periods = *strads_mf_times(state)};
    strads_mf_range(state, &m.low, &m.high);
    if (!user) {
        return strads_fail(STRADS_ESTATE,
                           "%s: not written: the run was cut short before its "
                           "first sweep",
                           path);
    }
    const double *value = strads_result_values(t->result, &m.f.items, &width);
    CLI_TRY(cli_reserve(m.f.items * width, sizeof *item, "the model", &item));
    for (size_t k = 0; k < m.f.items * width; k++)
        item[k] = (float)value[k];
    m.f.rank = width - 1;
    m.f.item = item;
    return write_files(t, path, &m);
}

/* ---- reading ----------------------------------------------------------- */

static strads_err check_head(const json_t *json, const char *path)
{
    const char *format = json_string_value(json_object_get(json, "format"));
    const json_int_t version =
        json_integer_value(json_object_get(json, "version"));
    if (!format || strcmp(format, FORMAT) != 0) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: is no model of mf: \"format\" is \"%.40s\", "
                           "expected \"" FORMAT "\"",
                           path, format ? format : "");
    }
    if (version != VERSION) {
        return strads_fail(STRADS_EMISMATCH,
                           "%s: is a model of version %lld, this strads reads "
                           "version %d",
                           path, (long long)version, VERSION);
    }
    return STRADS_OK;
}

/* null or absent: the model has no times. */
static strads_err take_periods(json_t *times, const char *path, cli_mf_model *m)
{
    strads_mf_periods *p = &m->periods;
    const json_t *bias = NULL;
    if (!times || json_is_null(times))
        return STRADS_OK;
    bool good = json_unpack(times, "{s:F, s:F, s:o}", "first", &p->first,
                            "last", &p->last, "biases", &bias) == 0 &&
                json_array_size(bias) == STRADS_MF_PERIODS &&
                isfinite(p->first) && p->first <= p->last;
    for (size_t k = 0; good && k < STRADS_MF_PERIODS; k++) {
        const json_t *one = json_array_get(bias, k);
        good = json_is_number(one);
        p->bias[k] = json_number_value(one);
    }
    p->any = true;
    return good ? STRADS_OK
                : strads_fail(STRADS_EFORMAT,
                              "%s: \"times\" is not the first and the last "
                              "time, and %d biases",
                              path, STRADS_MF_PERIODS);
}

static strads_err take_json(json_t *json, const char *path, cli_mf_model *m)
{
    const char *user_sum = NULL, *item_sum = NULL;
    const json_t *user_names = NULL, *item_names = NULL;
    json_t *range = NULL;
    json_int_t users = 0, items = 0, base = 0;
    int rank = 0, no_biases = 0, nonnegative = 0, implicit = 0;
    int unweighted = 0;
    json_error_t error;
    if (json_unpack_ex(
            json, &error, 0,
            "{s:i, s:I, s:I, s:F, s:F, s:I, s:s, s:s, "
            "s:o, s:o, s?F, s?F, s?F, s?o, s:{s:b, s:b, s:b, s?:b, s:F}}",
            "rank", &rank, "users", &users, "items", &items, "mean", &m->f.mean,
            "penalty", &m->f.penalty, "index_base", &base, "users_checksum",
            &user_sum, "items_checksum", &item_sum, "user_names", &user_names,
            "item_names", &item_names, "damping", &m->f.damping, "lift",
            &m->f.lift, "raise", &m->f.raise, "range", &range, "options",
            "no-biases", &no_biases, "nonnegative", &nonnegative, "implicit",
            &implicit, "unweighted", &unweighted, "alpha", &m->f.alpha)) {
        return strads_fail(STRADS_EFORMAT, "%s: is no model of mf: %s", path,
                           error.text);
    }
    if (rank < 0 || rank > 1024 || users < 0 || items < 0 ||
        users > UINT32_MAX || items > UINT32_MAX || base < 0 || base > 1)
        return strads_fail(STRADS_EFORMAT, "%s: a size is out of range", path);
    m->low = -INFINITY;
    m->high = INFINITY;
    if (json_is_array(range) &&
        json_unpack(range, "[F, F]", &m->low, &m->high)) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: \"range\" is not a pair of numbers", path);
    }
    m->f.no_biases = no_biases;
    m->f.nonnegative = nonnegative;
    m->f.implicit = implicit;
    m->f.unweighted = unweighted;
    m->f.rank = (uint32_t)rank;
    m->f.users = (uint64_t)users;
    m->f.items = (uint64_t)items;
    m->index_base = (uint64_t)base;
    const array users_like = {array_name[0], NULL, m->f.users, m->f.rank + 1};
    const array items_like = {array_name[1], NULL, m->f.items, m->f.rank + 1};
    CLI_TRY(read_array(path, &users_like, user_sum, &m->f.user));
    CLI_TRY(read_array(path, &items_like, item_sum, &m->f.item));
    CLI_TRY(names_from(user_names, m->f.users, path, &m->user_names));
    CLI_TRY(names_from(item_names, m->f.items, path, &m->item_names));
    static const char *const key[] = {"user", "item", "rating", "time"};
    for (size_t k = 0; k < 4; k++) {
        m->column[k] = json_string_value(
            json_object_get(json_object_get(json, "options"), key[k]));
    }
    return take_periods(json_object_get(json, "times"), path, m);
}

static strads_err cannot_read(const char *path)
{
    return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                       strerror(errno));
}

strads_err cli_mf_model_read(const char *path, cli_mf_model *out)
{
    json_error_t error;
    *out = (cli_mf_model){0};
    FILE *file = fopen(path, "re");
    if (!file)
        return cannot_read(path);
    errno = 0;
    out->json = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    const strads_err broken = ferror(file) ? cannot_read(path) : STRADS_OK;
    (void)fclose(file);
    if (broken)
        return broken;
    if (!out->json) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: is no model of mf: line %d is not JSON: %s",
                           path, error.line, error.text);
    }
    CLI_TRY(check_head(out->json, path));
    return take_json(out->json, path, out);
}

bool cli_mf_has_factors(const float *row, size_t width)
{
    for (size_t k = 1; k < width && row; k++)
        if (row[k] != 0)
            return true;
    return false;
}

double cli_mf_model_predict(const cli_mf_model *m, uint64_t user, uint64_t item,
                            const double *time)
{
    size_t width = m->f.rank + 1;
    const float *p = user < m->f.users ? m->f.user + user * width : NULL;
    const float *q = item < m->f.items ? m->f.item + item * width : NULL;
    double sum = m->f.mean + (p ? (double)p[0] : 0) + (q ? (double)q[0] : 0);
    if (m->periods.any && time)
        sum += m->periods.bias[strads_mf_period(&m->periods, *time)];
    if (m->f.lift > 0 &&
        (!cli_mf_has_factors(p, width) || !cli_mf_has_factors(q, width)))
        sum += m->f.lift;
    for (size_t k = 1; k < width && p && q; k++)
        sum += (double)p[k] * (double)q[k];
    return fmin(fmax(sum, m->low), m->high);
}

/* ---- ratings for a model ------------------------------------------------- */

strads_err cli_mf_model_columns(cli_mf_model *model, const char *const given[4])
{
    for (size_t k = 0; k < 4; k++)
        if (given[k])
            model->column[k] = given[k];
    return given[3] && !model->periods.any
               ? strads_fail(STRADS_EINVAL,
                             "--time %s: the model was trained without times; "
                             "leave the option out",
                             given[3])
               : STRADS_OK;
}

static strads_err read_ratings(const char *path, const cli_mf_model *model,
                               const cli_use *use, strads_scalar values,
                               const strads_names *users,
                               const strads_names *items, bool timed,
                               strads_data **out)
{
    const strads_data_options wanted = {
        .size = sizeof wanted,
        .layout = STRADS_LAYOUT_ROWS,
        .values = values,
        .kind = STRADS_KIND_RATINGS,
        .memory_limit = use->memory,
        .threads = use->workers,
        .numbered = !model->item_names,
        .row_names = users,
        .col_names = items,
        .user = model->column[0],
        .item = model->column[1],
        .rating = model->column[2],
        .time = timed && model->periods.any ? model->column[3] : NULL,
    };
    cli_cost_tell(use->quiet, path, &wanted);
    CLI_TRY(strads_data_read(path, &wanted, out));
    if (strads_data_col_names(*out) && !model->item_names) {
        return strads_fail(STRADS_EMISMATCH,
                           "%s: its users have names, the model's are numbers",
                           path);
    }
    return STRADS_OK;
}

strads_err cli_mf_ratings_read(const char *path, const cli_mf_model *model,
                               const cli_use *use, strads_scalar values,
                               bool new_users, strads_data **out)
{
    CLI_TRY(read_ratings(path, model, use, values,
                         new_users ? NULL : model->user_names,
                         model->item_names, false, out));
    if (strads_data_unknown(*out) > 0) {
        cli_say(use->quiet,
                "%" PRIu64 " ratings are of users or items that the model does "
                "not know and are left out",
                strads_data_unknown(*out));
    }
    return STRADS_OK;
}

/* Maps the names of n users or items to the model's numbers. */
static strads_err number_all(const strads_names *known, uint64_t limit,
                             const strads_names *names, uint64_t base,
                             uint64_t n, uint64_t **out)
{
    CLI_TRY(cli_reserve(n + 1, sizeof **out, "users and items", out));
    for (uint64_t k = 0; k < n; k++) {
        char buffer[CLI_NAME_SIZE];
        const char *name = cli_name(names, k, base, buffer);
        uint32_t number = 0;
        if (!known)
            (*out)[k] = k < limit ? k : UINT64_MAX;
        else if (strads_names_find(known, name, strlen(name), &number))
            (*out)[k] = number;
        else
            (*out)[k] = UINT64_MAX;
    }
    return STRADS_OK;
}

strads_err cli_mf_ratings_read_all(const char *path, const cli_mf_model *model,
                                   const cli_use *use, cli_mf_ratings *out)
{
    CLI_TRY(read_ratings(path, model, use, STRADS_F64, NULL, NULL, true,
                         &out->data));
    const strads_data *data = out->data;
    const strads_sparse *x = &strads_data_share(data, 0)->by_row;
    CLI_TRY(number_all(model->user_names, model->f.users,
                       strads_data_row_names(data),
                       strads_data_index_base(data), x->lines, &out->user));
    CLI_TRY(number_all(model->item_names, model->f.items,
                       strads_data_col_names(data),
                       strads_data_index_base(data), strads_data_cols(data),
                       &out->item));
    for (uint64_t u = 0; u < x->lines; u++)
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++)
            out->unknown += out->user[u] == UINT64_MAX ||
                            out->item[x->index[e]] == UINT64_MAX;
    if (out->unknown > 0) {
        cli_say(use->quiet,
                "%" PRIu64
                " ratings are of users or items that the model does not know: "
                "for these it predicts the mean and the known bias",
                out->unknown);
    }
    return STRADS_OK;
}

/* Finds one of n users or items by name or number. */
static strads_err find_row(const strads_names *names, uint64_t base, uint64_t n,
                           const char *what, const char *text, uint64_t *out)
{
    if (names) {
        uint32_t number = 0;
        if (!strads_names_find(names, text, strlen(text), &number)) {
            return strads_fail(STRADS_EINVAL,
                               "the model has no %s called \"%s\"%s", what,
                               text,
                               strcmp(what, "user") == 0
                                   ? "; give the ratings of new users with "
                                     "--fold-in"
                                   : "");
        }
        *out = number;
        return STRADS_OK;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || number < base ||
        number - base >= n) {
        return strads_fail(STRADS_EINVAL,
                           "\"%s\" is no %s of the model: its %ss are the "
                           "numbers from %" PRIu64 " to %" PRIu64,
                           text, what, what, base, n + base - 1);
    }
    *out = number - base;
    return STRADS_OK;
}

strads_err cli_mf_find_user(const cli_mf_model *model, const char *text,
                            uint64_t *user)
{
    return find_row(model->user_names, model->index_base, model->f.users,
                    "user", text, user);
}

strads_err cli_mf_find_item(const cli_mf_model *model, const char *text,
                            uint64_t *item)
{
    return find_row(model->item_names, model->index_base, model->f.items,
                    "item", text, item);
}
