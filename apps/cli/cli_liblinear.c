/* liblinear's model format: header lines of a word and its values, then "w",
 * one line for each column and, last, one for the bias:
 *
 *     solver_type L2R_LR
 *     nr_class 2
 *     label 1 -1
 *     nr_feature 2000
 *     bias -1
 *     w
 *     0.25
 *
 * A line of w has one number for each class. With two classes it has only the
 * number of the first label; in a regression it has one number. */
#include "cli_liblinear.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_labels.h"
#include "cli.h"
#include "cli_output.h"
#include "engine/base/number_text.h"
#include "engine/run/model_file.h"

/* Maps liblinear's solvers to programs. If several rows are equal, the first
 * one is written; for an SVM the penalty selects it. */
typedef struct solver {
    const char *name, *program;
    const char *key, *value; /* the option that distinguishes it from other
                              * solvers */
    bool classifies;
} solver;

static const solver solvers[] = {
    {"L2R_L1LOSS_SVC_DUAL", "svm", "loss", "hinge", true},
    {"L2R_L2LOSS_SVC_DUAL", "svm", "loss", "squared-hinge", true},
    {"L2R_L2LOSS_SVC", "svm", "loss", "squared-hinge", true},
    {"L1R_L2LOSS_SVC", "svm", "loss", "squared-hinge", true},
    {"L2R_L1LOSS_SVR_DUAL", "svm", "loss", "epsilon", false},
    {"L2R_L2LOSS_SVR", "svm", "loss", "squared-epsilon", false},
    {"L2R_L2LOSS_SVR_DUAL", "svm", "loss", "squared-epsilon", false},
    {"L2R_LR", "logistic", "multiclass", "one-vs-rest", true},
    {"L2R_LR_DUAL", "logistic", "multiclass", "one-vs-rest", true},
    {"L1R_LR", "logistic", "multiclass", "one-vs-rest", true},
};

enum { SOLVERS = sizeof(solvers) / sizeof(solvers[0]) };

/* ---- reading ----------------------------------------------------------- */

typedef struct reader {
    const char *path;
    FILE *file;
    char *line;
    size_t capacity;
    uint64_t number; /* line number */
    const solver *solver;
    uint32_t classes;
    cli_labels labels;
    uint64_t columns;
    double bias;
} reader;

static strads_err wrong_line(const reader *r, const char *expected)
{
    return strads_fail(STRADS_EFORMAT, "%s, line %" PRIu64 ": expected %s",
                       r->path, r->number, expected);
}

/* Reads the next line without its end. False: end of file. */
static bool next_line(reader *r)
{
    const ssize_t n = getline(&r->line, &r->capacity, r->file);

    r->number++;
    if (n < 0)
        return false;
    r->line[strcspn(r->line, "\r\n")] = 0;
    return true;
}

/* Reads the next number of a line. False: there is none. */
static bool next_number(char **at, double *out)
{
    char *save = NULL, *word = strtok_r(*at, " \t", &save);

    *at = save;
    return word && sti_number_parse(word, out);
}

static strads_err take_solver(reader *r, const char *name)
{
    for (size_t k = 0; k < SOLVERS; k++)
        if (strcmp(solvers[k].name, name) == 0)
            r->solver = &solvers[k];
    return r->solver ? STRADS_OK
                     : strads_fail(STRADS_EFORMAT,
                                   "%s, line %" PRIu64
                                   ": the solver \"%s\" is not supported; "
                                   "expected one of logistic regression, or of "
                                   "SVMs except Crammer and Singer's",
                                   r->path, r->number, name);
}

static strads_err take_labels(reader *r, char *at)
{
    cli_labels *l = &r->labels;

    while (l->n < CLI_LABELS_MAX && next_number(&at, &l->label[l->n]))
        l->n++;
    return l->n ? STRADS_OK : wrong_line(r, "labels");
}

static strads_err take_size(reader *r, char *at, double most, double *out)
{
    if (!next_number(&at, out) || *out < 0 || *out > most ||
        *out != floor(*out))
        return wrong_line(r, "a whole number that is not too large");
    return STRADS_OK;
}

/* Parses one header line. */
static strads_err take_head(reader *r)
{
    char *value = strchr(r->line, ' ');
    double size = 0;
    strads_err err = STRADS_OK;

    if (!value)
        return wrong_line(r, "a word and its value, or \"w\"");
    *value++ = 0;
    if (strcmp(r->line, "solver_type") == 0)
        return take_solver(r, value);
    if (strcmp(r->line, "label") == 0)
        return take_labels(r, value);
    if (strcmp(r->line, "nr_class") == 0) {
        err = take_size(r, value, CLI_LABELS_MAX, &size);
        r->classes = (uint32_t)size;
    } else if (strcmp(r->line, "nr_feature") == 0) {
        err = take_size(r, value, UINT32_MAX - 2, &size);
        r->columns = (uint64_t)size;
    } else if (strcmp(r->line, "bias") == 0 && !next_number(&value, &r->bias)) {
        err = wrong_line(r, "a number");
    }
    return err;
}

static strads_err check_header(const reader *r, const char *program)
{
    if (!r->solver)
        return wrong_line(r, "a solver_type before");
    if (program && strcmp(program, r->solver->program) != 0)
        return strads_fail(STRADS_EMISMATCH,
                           "%s is a model of %s, which is %s here; expected "
                           "one of %s",
                           r->path, r->solver->name, r->solver->program,
                           program);
    if (r->solver->classifies && (r->classes < 2 || r->labels.n != r->classes))
        return wrong_line(r, "as many labels as classes before, at least two");
    return STRADS_OK;
}

/* Builds the model's options that predictions need. With two classes, the
 * negative class comes first in strads. */
static char *write_options(const reader *r)
{
    char list[CLI_LABELS_MAX * (STI_NUMBER_SIZE + 1)] = "", *at = list;
    const bool two = r->classes == 2;

    for (uint32_t k = 0; k < r->labels.n; k++) {
        if (k > 0)
            *at++ = ',';
        at += sti_number_format(r->labels.label[two ? 1 - k : k], at);
    }
    json_t *options = json_pack("{s:s, s:s*}", r->solver->key, r->solver->value,
                                "classes", r->solver->classifies ? list : NULL);
    char *text = options ? json_dumps(options, JSON_PRESERVE_ORDER) : NULL;
    json_decref(options);
    return text;
}

/* Reads the lines after "w". Drops lines of zeros. */
static strads_err take_weights(reader *r, strads_model *model)
{
    const uint32_t width = model->width;
    uint32_t *index = (uint32_t *)(uintptr_t)model->index;
    double *value = (double *)(uintptr_t)model->value;

    model->n = 0;
    for (uint64_t j = 0; j < r->columns + (r->bias >= 0); j++) {
        double *row = value + model->n * width;
        bool zero = true;
        if (!next_line(r))
            return wrong_line(r, "another line of w: the file ends early");
        char *at = r->line;
        for (uint32_t k = 0; k < width; k++) {
            if (!next_number(&at, &row[k]))
                return wrong_line(r, "a number for each class");
            zero = zero && row[k] == 0;
        }
        if (j == r->columns) {
            double *intercept = ((sti_model *)model)->intercepts;
            for (uint32_t k = 0; k < width; k++)
                (width > 1 ? intercept : &model->intercept)[k] =
                    r->bias * row[k];
        } else if (!zero) {
            index[model->n++] = (uint32_t)j;
        }
    }
    return STRADS_OK;
}

static strads_err build_model(reader *r, strads_model **out)
{
    const uint32_t width =
        r->solver->classifies && r->classes > 2 ? r->classes : 1;
    strads_model *model = NULL;
    char *options = write_options(r);
    strads_err err = options ? sti_model_new(r->solver->program, options,
                                             r->columns + 1, width, &model)
                             : strads_fail(STRADS_ENOMEM, "no memory left");

    free(options);
    if (err)
        return err;
    model->columns = r->columns;
    model->fit = (strads_model_fit){.objective = NAN, .gap = NAN};
    if (width > 1) {
        double *list = calloc(width, sizeof *list);
        ((sti_model *)model)->intercepts = list;
        model->intercepts = list;
        err = list ? STRADS_OK : strads_fail(STRADS_ENOMEM, "no memory left");
    }
    if (!err)
        err = take_weights(r, model);
    if (err)
        strads_model_free(model);
    else
        *out = model;
    return err;
}

static strads_err read_liblinear(reader *r, const char *program,
                                 strads_model **out)
{
    strads_err err = STRADS_OK;
    bool head = true;

    while (head && !err) {
        if (!next_line(r))
            return wrong_line(r, "\"w\" and the weights: the file ends early");
        head = strcmp(r->line, "w") != 0;
        if (head)
            err = take_head(r);
    }
    if (!err)
        err = check_header(r, program);
    return err ? err : build_model(r, out);
}

strads_err cli_model_read(const char *path, const char *program,
                          strads_model **out)
{
    static const char first[] = "solver_type ";
    char seen[sizeof first] = "";
    reader *r;
    struct stat info;

    CLI_TRY(cli_reserve(1, sizeof *r, "the model", &r));
    r->path = path;
    r->bias = -1;
    /* Bytes that are read from a pipe cannot be read again. */
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        r->file = fopen(path, "re");
    const size_t n = r->file ? fread(seen, 1, sizeof first - 1, r->file) : 0;
    const bool is_ours = n < sizeof first - 1 || strcmp(seen, first) != 0;
    if (!is_ours)
        rewind(r->file);
    const strads_err err = is_ours ? strads_model_read(path, program, out)
                                   : read_liblinear(r, program, out);
    if (r->file)
        (void)fclose(r->file);
    return err;
}

/* ---- writing ----------------------------------------------------------- */

strads_err cli_model_kind_of(const char *options, const cli_model_kind **out)
{
    cli_model_kind *k;

    CLI_TRY(cli_reserve(1, sizeof *k, "the model", &k));
    k->options = json_loads(options, 0, NULL);
    k->loss = json_string_value(json_object_get(k->options, "loss"));
    k->classes = json_string_value(json_object_get(k->options, "classes"));
    k->multiclass =
        json_string_value(json_object_get(k->options, "multiclass"));
    k->l1_ratio = json_number_value(json_object_get(k->options, "l1-ratio"));
    k->context =
        (uint32_t)json_integer_value(json_object_get(k->options, "context"));
    *out = k;
    return STRADS_OK;
}

/* The state of writing a model. */
typedef struct writing {
    const strads_model *model;
    const cli_model_kind *kind;
    const solver *solver;
    bool quiet;
} writing;

static strads_err find_solver(const strads_model *model, writing *out)
{
    CLI_TRY(cli_model_kind_of(model->options, &out->kind));
    const cli_model_kind *k = out->kind;
    const bool l1 = strcmp(model->program, "svm") == 0 && k->l1_ratio > 0;

    for (size_t i = SOLVERS; i-- > 0;) {
        const solver *s = &solvers[i];
        if (l1 && strncmp(s->name, "L1R_", 4) != 0)
            continue;
        if (strcmp(s->program, model->program) == 0 &&
            (!k->loss || strcmp(k->loss, s->value) == 0) &&
            (!k->multiclass || k->loss || strcmp(k->multiclass, s->value) == 0))
            out->solver = s;
    }
    return out->solver
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "liblinear has no model like this one of %s: "
                             "write it under a name that does not end in "
                             ".liblinear",
                             model->program);
}

/* Replaces names by 1, 2, ... and reports that. */
static void number_names(cli_labels *l, bool quiet)
{
    char list[CLI_LABELS_MAX * (STRADS_LABEL_NAME_MAX + 8)];
    size_t at = 0;

    for (uint32_t k = 0; k < l->n; k++) {
        l->label[k] = k + 1;
        at += (size_t)snprintf(list + at, sizeof(list) - at,
                               "%s%" PRIu32 " is %s", k > 0 ? ", " : "", k + 1,
                               cli_labels_name(l, k));
    }
    cli_say(quiet, "labels are whole numbers in liblinear's models: %s", list);
}

static strads_err check_whole(const cli_labels *l)
{
    for (uint32_t k = 0; k < l->n; k++)
        if (l->label[k] != floor(l->label[k]) || fabs(l->label[k]) > INT32_MAX)
            return strads_fail(
                STRADS_EINVAL,
                "the label %g is not a whole number, as liblinear requires",
                l->label[k]);
    return STRADS_OK;
}

/* liblinear's labels are whole numbers, and of two labels the positive one
 * comes first. */
static strads_err write_labels(FILE *file, const char *classes, bool quiet)
{
    cli_labels *l;

    CLI_TRY(cli_reserve(1, sizeof *l, "the labels", &l));
    if (!cli_labels_read(classes, l))
        return strads_fail(STRADS_EINVAL,
                           "the model's classes are \"%s\", expected labels "
                           "separated by commas",
                           classes);
    if (l->names)
        number_names(l, quiet);
    else
        CLI_TRY(check_whole(l));
    (void)fprintf(file, "nr_class %" PRIu32 "\nlabel", l->n);
    for (uint32_t k = 0; k < l->n; k++)
        (void)fprintf(file, " %.0f", l->label[l->n == 2 ? 1 - k : k]);
    (void)fputc('\n', file);
    return STRADS_OK;
}

static void write_weights(FILE *file, const strads_model *model)
{
    const uint32_t width = model->width ? model->width : 1;
    uint64_t k = 0;

    for (uint64_t j = 0; j < model->columns; j++) {
        const bool there = k < model->n && model->index[k] == j;
        for (uint32_t c = 0; c < width; c++) {
            cli_csv_number(file, there ? model->value[k * width + c] : 0);
            (void)fputc(c + 1 < width ? ' ' : '\n', file);
        }
        k += there;
    }
    for (uint32_t c = 0; c < width; c++) {
        cli_csv_number(file, model->intercepts ? model->intercepts[c]
                                               : model->intercept);
        (void)fputc(c + 1 < width ? ' ' : '\n', file);
    }
}

static strads_err write_liblinear(void *arg, FILE *file)
{
    const writing *w = arg;
    (void)fprintf(file, "solver_type %s\n", w->solver->name);
    if (!w->solver->classifies)
        (void)fputs("nr_class 2\n", file);
    else if (w->kind->classes)
        CLI_TRY(write_labels(file, w->kind->classes, w->quiet));
    else
        return strads_fail(
            STRADS_EINVAL,
            "the model does not name its labels, as models of liblinear must");
    (void)fprintf(file, "nr_feature %" PRIu64 "\nbias 1\nw\n",
                  w->model->columns);
    write_weights(file, w->model);
    return STRADS_OK;
}

static bool is_liblinear(const char *path)
{
    static const char end[] = ".liblinear";
    const size_t n = strlen(path), m = sizeof end - 1;

    return n >= m && strcmp(path + n - m, end) == 0;
}

strads_err cli_model_check(const char *path, const char *program,
                           const char *options)
{
    const strads_model model = {.program = program, .options = options};
    writing w = {0};

    return is_liblinear(path) ? find_solver(&model, &w) : STRADS_OK;
}

strads_err cli_model_write(const strads_model *model, const char *path,
                           bool quiet)
{
    writing w = {.model = model, .quiet = quiet};

    if (!is_liblinear(path))
        return strads_model_write(model, path);
    CLI_TRY(find_solver(model, &w));
    return cli_output(path, write_liblinear, &w);
}
