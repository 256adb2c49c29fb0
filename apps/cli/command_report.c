/* strads report RUN.jsonl: a run as one self-contained HTML file: convergence,
 * the workers' times, the model's largest coefficients or its topics, the
 * quality of its scores, an evaluation, diagrams of path and cv, options and
 * machine. cli_plot draws all diagrams. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_gsl.h"
#include "cli_options.h"
#include "cli_plot.h"
#include "report_topics.h"

enum { ROUNDS = 4096, COEFFICIENTS = 30, LINES = 8, BINS = 10 };

/* A row of --scores. */
typedef struct scored {
    double score;
    bool positive;
} scored;

typedef struct report {
    cli_use use;
    const char *log_path, *model_path, *scores_path, *pictures;
    const char *evaluation_path, *names_path;
    strads_names *names;   /* of columns, or NULL */
    json_t *start, *end;   /* lines of the log, or NULL */
    json_t *round[ROUNDS]; /* every `stride`-th line */
    size_t n, seen, stride;
    strads_model *model;
    strads_lda_model *topics;
    json_t *evaluation;
    char *svg; /* text of all diagrams */
    size_t svg_size;
    scored *scores;
    size_t n_scores, n_positive, most_scores;
} report;

static const strads_option table[] = {
    CLI_TEXT(report, use.out.path, "output", "FILE.html",
             "write it there (default: standard output)"),
    CLI_TEXT(report, model_path, "model", "MODEL.json",
             "show its largest coefficients, or its topics (default: none)"),
    CLI_TEXT(report, names_path, "names", "FILE",
             "names of the model's columns, one a line (default: the model's)"),
    CLI_TEXT(report, scores_path, "scores", "FILE",
             "ROC and calibration of \"LABEL PROBABILITY\" lines (none)"),
    CLI_TEXT(report, evaluation_path, "evaluation", "FILE.json",
             "output of an evaluate with --format json (none)"),
    CLI_TEXT(report, pictures, "pictures", "FILES",
             "SVG files of --svg, commas between (none)"),
    {.name = NULL},
};

/* ---- input --------------------------------------------------------------- */

static void keep_round(report *r, json_t *line)
{
    if (r->n == ROUNDS) { /* full: drop every second line */
        for (size_t k = 0; k < ROUNDS; k++)
            if (k % 2)
                json_decref(r->round[k]);
            else
                r->round[k / 2] = r->round[k];
        r->n = ROUNDS / 2;
        r->stride *= 2;
    }
    if (r->seen++ % r->stride == 0)
        r->round[r->n++] = json_incref(line);
}

static strads_err take_line(void *arg, size_t number, char *text)
{
    report *r = arg;
    json_error_t error;
    json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const char *event = json_string_value(json_object_get(line, "event"));
    if (!event) {
        json_decref(line);
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %zu is not a line of a log (%s); expected "
                           "the output of --log",
                           r->log_path, number,
                           line ? "no \"event\"" : error.text);
    }
    if (strcmp(event, "start") == 0 && !r->start)
        r->start = json_incref(line);
    else if (strcmp(event, "round") == 0)
        keep_round(r, line);
    else if (strcmp(event, "end") == 0 && !r->end)
        r->end = json_incref(line);
    json_decref(line);
    return STRADS_OK;
}

static strads_err read_log(report *r)
{
    CLI_TRY(cli_lines(r->log_path, take_line, r));
    return r->start ? STRADS_OK
                    : strads_fail(STRADS_EFORMAT,
                                  "%s: has no \"start\"; expected a run's log, "
                                  "as --log writes it",
                                  r->log_path);
}

static int by_score(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

static strads_err take_score(void *arg, size_t number, char *text)
{
    report *r = arg;
    char rest;
    double label, score;
    if (r->n_scores == r->most_scores) {
        const size_t most = 2 * r->most_scores + 1024;
        scored *more = realloc(r->scores, most * sizeof *more);
        if (!more)
            return strads_fail(STRADS_ENOMEM, "no memory for the scores");
        r->scores = more;
        r->most_scores = most;
    }
    if (sscanf(text, "%lf%*[ ,\t]%lf %c", &label, &score, &rest) != 2 ||
        !(score >= 0 && score <= 1) ||
        !(label == 1 || label == 0 || label == -1)) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %zu: expected a label, 1 or 0 or -1, and "
                           "its probability, from 0 to 1",
                           r->scores_path, number);
    }
    r->scores[r->n_scores++] = (scored){score, label > 0};
    r->n_positive += label > 0;
    return STRADS_OK;
}

static strads_err read_scores(report *r)
{
    CLI_TRY(cli_lines(r->scores_path, take_score, r));
    if (r->n_positive == 0 || r->n_positive == r->n_scores) {
        return strads_fail(STRADS_EINVAL,
                           "%s: needs rows of both classes; %zu of %zu are 1",
                           r->scores_path, r->n_positive, r->n_scores);
    }
    qsort(r->scores, r->n_scores, sizeof *r->scores, by_score);
    return STRADS_OK;
}

/* Topic models have their own format. */
static strads_err read_report_model(report *r)
{
    char head[128] = "";
    FILE *file = fopen(r->model_path, "re");
    if (file) {
        head[fread(head, 1, sizeof head - 1, file)] = '\0';
        (void)fclose(file);
    }
    if (!strstr(head, "\"strads-lda-model\""))
        return strads_model_read(r->model_path, NULL, &r->model);
    CLI_TRY(cli_gsl_check("the map of a model's topics"));
    return strads_lda_model_read(r->model_path, &r->topics);
}

/* A diagram that is being read. */
typedef struct picture {
    const char *path;
    FILE *into;
    size_t lines;
} picture;

/* The file must come from strads: it must not contain scripts. */
static strads_err take_picture(void *arg, size_t number, char *line)
{
    picture *p = arg;
    p->lines = number;
    if ((number == 1 && strncmp(line, "<svg ", 5) != 0) ||
        strcasestr(line, "<script") || strcasestr(line, "href")) {
        return strads_fail(
            STRADS_EFORMAT,
            "%s: line %zu: expected a picture as --svg writes it", p->path,
            number);
    }
    (void)fputs(line, p->into);
    return STRADS_OK;
}

static strads_err read_picture(const char *path, FILE *into)
{
    picture p = {.path = path, .into = into};
    CLI_TRY(cli_lines(path, take_picture, &p));
    return p.lines > 0 ? STRADS_OK
                       : strads_fail(STRADS_EFORMAT,
                                     "%s: is empty; expected a picture as "
                                     "--svg writes it",
                                     path);
}

static strads_err read_pictures(report *r)
{
    char *names = strdup(r->pictures), *rest = NULL;
    FILE *into = open_memstream(&r->svg, &r->svg_size);
    strads_err err = names && into
                         ? STRADS_OK
                         : strads_fail(STRADS_ENOMEM, "no memory for pictures");
    for (char *name = err ? NULL : strtok_r(names, ",", &rest); name && !err;
         name = strtok_r(NULL, ",", &rest))
        err = read_picture(name, into);
    if (into)
        (void)fclose(into);
    free(names);
    return err;
}

static strads_err read_evaluation(report *r)
{
    json_error_t error;
    r->evaluation =
        json_load_file(r->evaluation_path, JSON_REJECT_DUPLICATES, &error);
    return json_is_object(r->evaluation)
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "%s: line %d: expected one object, as evaluate "
                             "--format json writes it (%s)",
                             r->evaluation_path, error.line,
                             r->evaluation ? "no object" : error.text);
}

static strads_err read_all(void *state, const char *const *args)
{
    report *r = state;
    r->stride = 1;
    r->log_path = args[0];
    if (args[1] && r->model_path)
        return strads_fail(STRADS_EINVAL, "two models, %s and %s: name one",
                           args[1], r->model_path);
    if (args[1])
        r->model_path = args[1];
    CLI_TRY(read_log(r));
    if (r->model_path)
        CLI_TRY(read_report_model(r));
    if (r->names_path && !r->model) {
        return strads_fail(STRADS_EINVAL, "--names: names the columns of a "
                                          "linear model; give one");
    }
    if (r->names_path)
        CLI_TRY(cli_names_read(r->names_path, r->model->columns, &r->names));
    if (r->evaluation_path)
        CLI_TRY(read_evaluation(r));
    if (r->pictures)
        CLI_TRY(read_pictures(r));
    return r->scores_path ? read_scores(r) : STRADS_OK;
}

/* ---- text ---------------------------------------------------------------- */

/* A member as text, or "-". */
static void put_member(FILE *out, const json_t *of, const char *name)
{
    const json_t *v = json_object_get(of, name);
    if (json_is_string(v))
        cli_xml_text(out, json_string_value(v));
    else if (json_is_number(v))
        (void)fprintf(out, "%.9g", json_number_value(v));
    else
        (void)fputs("-", out);
}

/* A member and its name for readers. */
typedef struct label {
    const char *name, *text;
} label;

/* The members that have a value. */
static void put_table(FILE *out, const json_t *of, const label *names)
{
    (void)fputs("<table>\n", out);
    for (; names->name; names++) {
        if (json_is_null(json_object_get(of, names->name)) ||
            !json_object_get(of, names->name))
            continue;
        (void)fprintf(out, "<tr><th scope=\"row\">%s</th><td>", names->text);
        put_member(out, of, names->name);
        (void)fputs("</td></tr>\n", out);
    }
    (void)fputs("</table>\n", out);
}

/* The options that are set, in columns. */
static void put_options(FILE *out, const json_t *options)
{
    const char *name;
    json_t *value;
    (void)fputs("<section><h2>Options</h2><dl>\n", out);
    json_object_foreach((json_t *)options, name, value)
    {
        if (json_is_null(value) || json_is_false(value))
            continue;
        (void)fputs("<div><dt>", out);
        cli_xml_text(out, name);
        (void)fputs("</dt><dd>", out);
        if (json_is_true(value))
            (void)fputs("yes", out);
        else
            put_member(out, options, name);
        (void)fputs("</dd></div>\n", out);
    }
    (void)fputs("</dl></section>\n", out);
}

/* ---- pictures ------------------------------------------------------------ */

/* A number of a report, at index `place` if it is a list; NaN: none. */
static double number_of(const json_t *line, const char *name, size_t place)
{
    const json_t *v = json_object_get(line, name);
    if (json_is_array(v))
        v = json_array_get(v, place);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* Points of y against seconds. Returns how many reports have both. */
static size_t series(const report *r, const char *name, bool positive,
                     double *x, double *y)
{
    size_t n = 0;
    for (size_t k = 0; k < r->n; k++) {
        x[n] = number_of(r->round[k], "seconds", 0);
        y[n] = number_of(r->round[k], name, 0);
        n += !isnan(x[n]) && !isnan(y[n]) && (!positive || y[n] > 0);
    }
    return n;
}

static void span(cli_axis *axis, size_t n, const double *v)
{
    axis->first = INFINITY;
    axis->last = -INFINITY;
    for (size_t k = 0; k < n; k++) {
        axis->first = fmin(axis->first, v[k]);
        axis->last = fmax(axis->last, v[k]);
    }
}

/* Draws a measure against time, on a log scale if it falls far. */
static void draw_measure(const report *r, FILE *out, const char *name,
                         const char *title)
{
    double x[ROUNDS], y[ROUNDS];
    const bool log = strcmp(name, "gap") == 0;
    const size_t n = series(r, name, log, x, y);
    cli_plot plot = {.out = out, .title = "", .x = {.name = "seconds"}};
    if (n < 2)
        return;
    span(&plot.x, n, x);
    span(&plot.y, n, y);
    plot.x.first = 0;
    plot.y.name = title;
    plot.y.logarithmic =
        log || (plot.y.first > 0 && plot.y.last > 50 * plot.y.first);
    cli_plot_begin_bare(out, title);
    cli_plot_frame(&plot);
    cli_plot_line(&plot, n, x, y, 0, n < 40 ? CLI_PLOT_DOTS : 0);
    cli_plot_end(out);
}

/* Draws the share of time that each worker computed between two reports. */
static void draw_workers(const report *r, FILE *out)
{
    const size_t workers =
        r->n ? json_array_size(
                   json_object_get(r->round[r->n - 1], "worker_computing"))
             : 0;
    cli_plot plot = {.out = out,
                     .title = "between two reports",
                     .x = {.name = "seconds", .first = 0},
                     .y = {.name = "share of time computing",
                           .first = 0,
                           .last = 1}};
    if (workers == 0 || r->n < 2)
        return;
    plot.x.last = number_of(r->round[r->n - 1], "seconds", 0);
    cli_plot_begin(out, 1, "What each worker did");
    cli_plot_frame(&plot);
    for (size_t w = 0; w < workers && w < LINES; w++) {
        static const char *const kinds[] = {"worker_computing",
                                            "worker_waiting", "worker_network"};
        double x[ROUNDS], y[ROUNDS], before[3] = {0};
        char name[32];
        size_t n = 0;
        const size_t share = r->n / 200 + 1; /* 200 points are enough */
        for (size_t k = share - 1; k < r->n; k += share) {
            double spent[3], all = 0;
            for (size_t s = 0; s < 3; s++) {
                const double v = number_of(r->round[k], kinds[s], w);
                spent[s] = isnan(v) ? 0 : fmax(v - before[s], 0);
                before[s] = isnan(v) ? 0 : v;
                all += spent[s];
            }
            x[n] = number_of(r->round[k], "seconds", 0);
            y[n] = all > 0 ? spent[0] / all : 0;
            n += isnan(x[n]) ? 0 : 1;
        }
        (void)snprintf(name, sizeof name, "worker %zu", w);
        cli_plot_line(&plot, n, x, y, (unsigned)w, 0);
        if (n > 0)
            cli_plot_note(&plot, y[n - 1], name, (unsigned)w);
    }
    cli_plot_finish(&plot);
    cli_plot_end(out);
}

/* Whether a measure counts up, such as sweeps. */
static bool counts_up(const report *r, const char *name)
{
    double before = -INFINITY;
    for (size_t k = 0; k < r->n; k++) {
        const double v = number_of(r->round[k], name, 0);
        if (isnan(v))
            continue;
        if (v < before || v != floor(v))
            return false;
        before = v;
    }
    return true;
}

/* Whether a measure is a + b times the objective, whose curve it would draw
 * again. */
static bool repeats_objective(const report *r, const char *name)
{
    const size_t last = r->n - 1;
    const double x = number_of(r->round[0], "objective", 0);
    const double y = number_of(r->round[0], name, 0);
    const double wide = number_of(r->round[last], "objective", 0) - x;
    const double by = (number_of(r->round[last], name, 0) - y) / wide;
    if (r->n < 3 || !isfinite(by))
        return false;
    for (size_t k = 0; k < r->n; k++) {
        const double off = number_of(r->round[k], name, 0) - y -
                           by * (number_of(r->round[k], "objective", 0) - x);
        if (!(fabs(off) <= 1e-6 * fabs(by * wide)))
            return false;
    }
    return true;
}

/* "log_likelihood" as "log likelihood". */
static void draw_named(const report *r, FILE *out, const char *name)
{
    char title[80];
    (void)snprintf(title, sizeof title, "%s", name);
    for (char *at = title; *at; at++)
        if (*at == '_')
            *at = ' ';
    draw_measure(r, out, name, title);
}

/* Draws each measure of the program's own that every report has and that
 * changes, but each curve once. */
static void draw_measures(const report *r, FILE *out)
{
    static const char *const known[] = {"round",           "seconds",
                                        "cpu_seconds",     "gap",
                                        "nonzeros",        "blocks",
                                        "updates_policy",  "updates_other",
                                        "probes",          "bytes_sent",
                                        "bytes_received",  "in_flight",
                                        "schema",          "pid",
                                        "memory_bytes",    "waiting_seconds",
                                        "objective",       "network_seconds",
                                        "callback_seconds"};
    const char *name;
    json_t *value;
    if (r->n == 0)
        return;
    json_object_foreach(r->round[r->n - 1], name, value)
    {
        bool own = json_is_number(value);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            own = own && strcmp(name, known[k]) != 0;
        if (own &&
            number_of(r->round[0], name, 0) != json_number_value(value) &&
            !counts_up(r, name) && !repeats_objective(r, name))
            draw_named(r, out, name);
    }
}

/* ---- the model ----------------------------------------------------------- */

static double size_of(const strads_model *m, uint64_t k)
{
    const uint32_t width = m->width ? m->width : 1;
    double most = 0;
    for (uint32_t c = 0; c < width; c++)
        most = fmax(most, fabs(m->value[k * width + c]));
    return most;
}

/* The largest coefficients, each with a bar; one column for each class. */
static void put_coefficients(const report *r, FILE *out)
{
    const strads_model *m = r->model;
    const uint32_t width = m->width ? m->width : 1;
    uint64_t best[COEFFICIENTS];
    size_t n = 0;
    for (uint64_t k = 0; k < m->n; k++) {
        size_t at = n < COEFFICIENTS ? n++ : COEFFICIENTS;
        while (at > 0 && size_of(m, best[at - 1]) < size_of(m, k)) {
            if (at < COEFFICIENTS)
                best[at] = best[at - 1];
            at--;
        }
        if (at < COEFFICIENTS)
            best[at] = k;
    }
    (void)fprintf(out,
                  "<section><h2>Coefficients</h2><p>the %zu largest of %" PRIu64
                  " that are not 0; intercept %.6g</p>"
                  "<div class=\"charts\"><table>\n",
                  n, m->n, m->intercepts ? m->intercepts[0] : m->intercept);
    for (size_t k = 0; k < n; k++) {
        char buffer[CLI_NAME_SIZE];
        if (k > 0 && k == (n + 1) / 2)
            (void)fputs("</table><table>\n", out);
        const double largest = size_of(m, best[0]);
        (void)fputs("<tr><th scope=\"row\">", out);
        cli_xml_text(out, cli_name(r->names ? r->names : m->names,
                                   m->index[best[k]], 1, buffer));
        (void)fputs("</th>", out);
        for (uint32_t c = 0; c < width && c < LINES; c++) {
            const double v = m->value[best[k] * width + c];
            (void)fprintf(out,
                          "<td>%.5g</td><td class=\"bar\"><i class=\"%s\" "
                          "style=\"width:%.1f%%\"></i></td>",
                          v, v < 0 ? "minus" : "plus",
                          100 * fabs(v) / fmax(largest, 1e-300));
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table></div></section>\n", out);
}

/* ---- scores -------------------------------------------------------------- */

/* Points of the ROC curve, thinned if there are many. The area under it counts
 * all rows; equal scores count half. */
static void draw_roc(const report *r, FILE *out)
{
    const double negative = (double)(r->n_scores - r->n_positive);
    const double positive = (double)r->n_positive;
    double x[ROUNDS] = {0}, y[ROUNDS] = {0}, hits = 0, misses = 0, area = 0;
    const size_t share = r->n_scores / (ROUNDS - 2) + 1;
    char title[64];
    size_t n = 1, told = 0;
    for (size_t k = 0; k < r->n_scores;) {
        const double score = r->scores[k].score, hits_before = hits,
                     misses_before = misses;
        for (; k < r->n_scores && r->scores[k].score == score; k++) {
            hits += r->scores[k].positive;
            misses += !r->scores[k].positive;
        }
        area += (misses - misses_before) * (hits + hits_before) / 2;
        if (k - told >= share || k == r->n_scores) {
            x[n] = misses / negative;
            y[n++] = hits / positive;
            told = k;
        }
    }
    (void)snprintf(title, sizeof title, "area under the curve %.4f",
                   area / negative / positive);
    cli_plot plot = {
        .out = out,
        .title = title,
        .x = {.name = "share of negatives above", .first = 0, .last = 1},
        .y = {.name = "share of positives above", .first = 0, .last = 1}};
    cli_plot_begin_bare(out, "ROC");
    cli_plot_frame(&plot);
    cli_plot_line(&plot, 2, (double[]){0, 1}, (double[]){0, 1}, 7,
                  CLI_PLOT_DASHED);
    cli_plot_line(&plot, n, x, y, 0, 0);
    cli_plot_end(out);
}

/* Predicted against observed frequency, by tenths of the predicted
 * probability. */
static void draw_calibration(const report *r, FILE *out)
{
    double said[BINS] = {0}, came[BINS] = {0}, x[BINS], y[BINS];
    size_t rows[BINS] = {0}, n = 0;
    for (size_t k = 0; k < r->n_scores; k++) {
        const int bin = (int)fmin(BINS * r->scores[k].score, BINS - 1);
        said[bin] += r->scores[k].score;
        came[bin] += r->scores[k].positive;
        rows[bin]++;
    }
    for (size_t b = 0; b < BINS; b++) {
        if (rows[b] > 0) {
            x[n] = said[b] / (double)rows[b];
            y[n++] = came[b] / (double)rows[b];
        }
    }
    cli_plot plot = {.out = out,
                     .title = "rows by tenths of their probability",
                     .x = {.name = "mean probability", .first = 0, .last = 1},
                     .y = {.name = "share that is positive",
                           .first = 0,
                           .last = 1}};
    cli_plot_begin_bare(out, "Calibration");
    cli_plot_frame(&plot);
    cli_plot_line(&plot, 2, (double[]){0, 1}, (double[]){0, 1}, 7,
                  CLI_PLOT_DASHED);
    cli_plot_line(&plot, n, x, y, 0, CLI_PLOT_DOTS);
    cli_plot_end(out);
}

static void put_scores(const report *r, FILE *out)
{
    size_t count[2][2] = {{0}}; /* [actual][predicted] */
    for (size_t k = 0; k < r->n_scores; k++)
        count[r->scores[k].positive][r->scores[k].score > 0.5]++;
    (void)fprintf(out,
                  "<section><h2>Scores</h2><p>%zu rows, %zu of them "
                  "positive</p>\n",
                  r->n_scores, r->n_positive);
    (void)fputs("<div class=\"charts\">", out);
    draw_roc(r, out);
    draw_calibration(r, out);
    (void)fputs("</div>", out);
    (void)fprintf(out,
                  "<h3>Confusion at probability 0.5</h3><table><tr><td></td>"
                  "<th scope=\"col\">said 0</th><th scope=\"col\">said 1</th>"
                  "</tr><tr><th scope=\"row\">is 0</th><td>%zu</td><td>%zu</td>"
                  "</tr><tr><th scope=\"row\">is 1</th><td>%zu</td><td>%zu</td>"
                  "</tr></table></section>\n",
                  count[0][0], count[0][1], count[1][0], count[1][1]);
}

/* ---- an evaluation ------------------------------------------------------- */

/* A number or an interval. */
static void put_value(FILE *out, const json_t *v)
{
    if (json_is_array(v)) {
        for (size_t k = 0; k < json_array_size(v); k++) {
            (void)fputs(k ? " to " : "", out);
            put_value(out, json_array_get(v, k));
        }
    } else if (json_is_number(v)) {
        (void)fprintf(out, "%.6g", json_number_value(v));
    } else {
        cli_xml_text(out, json_is_string(v) ? json_string_value(v) : "-");
    }
}

/* Nested objects become tables of their own, for example the precision and
 * recall of a ranking. */
static void put_evaluation_table(FILE *out, const json_t *of, const char *title)
{
    const char *name;
    json_t *value;
    (void)fputs("<div><h3>", out);
    cli_xml_text(out, title);
    (void)fputs("</h3><table>\n", out);
    json_object_foreach((json_t *)of, name, value)
    {
        if (!json_is_object(value)) {
            (void)fputs("<tr><th scope=\"row\">", out);
            cli_xml_text(out, name);
            (void)fputs("</th><td>", out);
            put_value(out, value);
            (void)fputs("</td></tr>\n", out);
        }
    }
    (void)fputs("</table></div>\n", out);
    json_object_foreach((json_t *)of, name, value)
    {
        if (json_is_object(value))
            put_evaluation_table(out, value, name);
    }
}

/* ---- the engine ---------------------------------------------------------- */

static void put_share(FILE *out, const char *name, double part, double all)
{
    if (all > 0 && part >= 0) {
        (void)fprintf(out,
                      "<tr><th scope=\"row\">%s</th><td>%.*f</td>"
                      "<td>%.1f %%</td></tr>\n",
                      name, part < 1000 ? 2 : 0, part, 100 * part / all);
    }
}

/* Seconds of the workers, of callbacks and of the engine, and updates by their
 * origin. */
static void put_engine(const report *r, FILE *out)
{
    const json_t *last = r->n ? r->round[r->n - 1] : NULL;
    const size_t workers =
        json_array_size(json_object_get(last, "worker_computing"));
    const double cpu = number_of(last, "cpu_seconds", 0);
    const double callbacks = number_of(last, "callback_seconds", 0);
    const double chosen = number_of(last, "updates_policy", 0);
    const double others = number_of(last, "updates_other", 0);
    double flight = 0;
    if (workers == 0)
        return;
    for (size_t k = 0; k < r->n; k++)
        flight = fmax(flight, number_of(r->round[k], "in_flight", 0));
    (void)fputs("<section><h2>Engine</h2><div class=\"columns\"><table>\n"
                "<tr><td></td><th scope=\"col\">seconds computing</th>"
                "<th scope=\"col\">of its time</th></tr>\n",
                out);
    for (size_t w = 0; w < workers && w < 64; w++) {
        char name[40];
        const double busy = number_of(last, "worker_computing", w);
        const double idle = number_of(last, "worker_waiting", w);
        const double net = number_of(last, "worker_network", w);
        (void)snprintf(name, sizeof name, "worker %zu", w);
        put_share(out, name, busy, busy + idle + (isnan(net) ? 0 : net));
    }
    (void)fputs("</table><table>\n", out);
    if (chosen + others > 0) {
        (void)fputs("<tr><td></td><th scope=\"col\">number</th>"
                    "<th scope=\"col\">share</th></tr>\n",
                    out);
        if (chosen > 0)
            put_share(out, "updates by the policy", chosen, chosen + others);
        put_share(out, chosen > 0 ? "other updates" : "updates", others,
                  chosen + others);
    }
    (void)fputs("</table><table>\n", out);
    if (flight > 1) {
        (void)fprintf(out,
                      "<tr><th scope=\"row\">most rounds in flight</th>"
                      "<td>%.0f</td><td></td></tr>\n",
                      flight);
    }
    (void)fprintf(out,
                  "<tr><th scope=\"row\">seconds in the program's callbacks, "
                  "all workers</th><td>%.3g</td><td></td></tr>\n",
                  callbacks);
    if (!isnan(cpu)) {
        (void)fprintf(out,
                      "<tr><th scope=\"row\">CPU seconds of all threads</th>"
                      "<td>%.3g</td><td></td></tr>\n",
                      cpu);
    }
    (void)fputs("</table></div></section>\n", out);
}

/* ---- the page ------------------------------------------------------------ */

static strads_err write_page(void *state, FILE *out)
{
    static const label outcome[] = {{"reason", "ended as"},
                                    {"objective", "objective"},
                                    {"gap", "relative gap"},
                                    {"seconds", "seconds"},
                                    {"cpu_seconds", "CPU seconds"},
                                    {"round", "rounds"},
                                    {"sweep", "sweeps"},
                                    {"log_likelihood_per_token",
                                     "log likelihood per token"},
                                    {"validation_rmse", "held-out RMSE"},
                                    {"memory_bytes", "most memory, bytes"},
                                    {NULL, NULL}};
    static const label about[] = {{"data", "data"},
                                  {"rows", "rows"},
                                  {"columns", "columns"},
                                  {"entries", "entries"},
                                  {"workers", "workers"},
                                  {"partitions", "partitions"},
                                  {"nodes", "nodes"},
                                  {"seed", "seed"},
                                  {NULL, NULL}};
    static const label machine[] = {{"version", "version of strads"},
                                    {"host", "host"},
                                    {"time", "begun"},
                                    {NULL, NULL}};
    const report *r = state;
    (void)fputs(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n<title>strads report</title>\n<style>\n"
        "body { margin: 0 auto; padding: 20px; max-width: 1400px; "
        "background: #f6f8fa; color: #1f2328; font: 14px/1.45 system-ui, "
        "\"DejaVu Sans\", sans-serif; }\nh1 { font-size: 20px; "
        "overflow-wrap: anywhere; }\nh2 { font-size: 16px; margin: 0; }\n"
        "section { background: #fff; border: 1px solid #d8dee4; "
        "border-radius: 8px; padding: 16px; margin: 14px 0; }\n"
        "p { margin: 0 0 8px; color: #57606a; }\nsvg { width: 100%; "
        "height: auto; display: block; }\n.charts svg { max-width: 760px; "
        "}\n.pictures { overflow-x: auto; }\n.pictures svg { min-width: "
        "900px; }\n"
        ".charts { display: grid; gap: 8px 24px; grid-template-columns: "
        "repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }\n"
        "dl { display: grid; gap: 0 32px; margin: 8px 0 0; "
        "grid-template-columns: repeat(auto-fill, minmax(230px, 1fr)); }\n"
        "dl div { display: flex; justify-content: space-between; gap: 12px; "
        "border-top: 1px solid #e6eaee; padding: 3px 0; }\n"
        "dt { color: #57606a; }\ndd { margin: 0; text-align: right; "
        "overflow-wrap: anywhere; }\ntable { border-collapse: collapse; }\nth, "
        "td { "
        "text-align: left; padding: 3px 14px 3px 0; font-weight: 400; "
        "overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }\n"
        "th { color: #57606a; }\n.bar { width: 40vw; max-width: 420px; }\n"
        ".bar i { display: block; height: 12px; border-radius: 2px; }\n"
        ".plus { background: #0b5cc4; }\n.minus { background: #b3261e; }\n"
        "@media (max-width: 600px) { body { padding: 8px; } section { "
        "padding: 12px; } .bar { width: 30vw; } }\n"
        ".columns { display: flex; flex-wrap: wrap; gap: 0 60px; align-items: "
        "flex-start; }\n"
        "</style></head><body><main>\n<h1>",
        out);
    put_member(out, r->start, "program");
    (void)fputs(" on ", out);
    put_member(out, r->start, "data");
    (void)fputs("</h1>\n<section><h2>Outcome</h2><div class=\"columns\">", out);
    put_table(out, r->end, outcome);
    put_table(out, r->start, about);
    put_table(out, r->start, machine);
    (void)fputs("</div></section>\n", out);
    if (r->n >= 2) {
        (void)fputs("<section><h2>Convergence</h2><div class=\"charts\">\n",
                    out);
        draw_measure(r, out, "objective", "Objective");
        draw_measure(r, out, "gap", "Gap");
        draw_measures(r, out);
        draw_workers(r, out);
        (void)fputs("</div></section>\n", out);
    }
    put_engine(r, out);
    if (r->model)
        put_coefficients(r, out);
    if (r->topics)
        CLI_TRY(report_topics_write(r->topics, out));
    if (r->n_scores)
        put_scores(r, out);
    if (r->evaluation) {
        (void)fputs("<section><h2>Evaluation</h2><div class=\"columns\">", out);
        put_evaluation_table(out, r->evaluation, "new data");
        (void)fputs("</div></section>\n", out);
    }
    if (r->svg)
        (void)fprintf(out,
                      "<section class=\"pictures\" tabindex=\"0\" "
                      "aria-label=\"Pictures\">%s</section>\n",
                      r->svg);
    put_options(out, json_object_get(r->start, "options"));
    (void)fputs("</main></body></html>\n", out);
    return STRADS_OK;
}

static const cli_verb report_verb = {.size = sizeof(report),
                                     .table = table,
                                     .read = read_all,
                                     .write = write_page};

const cli_command cli_report_commands[] = {
    {.name = "report",
     .args = "RUN.jsonl [MODEL]",
     .summary = "draw a run as one HTML file",
     .about = "Draws the log of a run, and its model, as one HTML file that "
              "needs no other files.",
     .verb = &report_verb},
    {.name = NULL},
};
