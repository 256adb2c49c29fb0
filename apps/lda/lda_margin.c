/* Topics that separate labels: MedLDA by Gibbs sampling (Zhu, Chen, Perkins and
 * Zhang, JMLR 15, 2014). For each class y, one against the rest, a document
 * with that label or without (s = 1 or -1) costs exp(-2 C max(0, zeta)),
 *
 *     zeta = l - s eta'n / N,    eta ~ Normal(0, I)
 *
 * n: its topics' counts, N: its length. As a mixture over a > 0 (lemma 1; a is
 * their c^2 / lambda),
 *
 *     exp(-2 C max(0, zeta)) ~ integral of exp(-C zeta - a zeta^2 / 2) p(a),
 *     a | zeta ~ InverseGaussian(C / |zeta|, C^2)
 *     eta | a  ~ Normal(P^-1 v, P^-1),   P = I + sum_d a n n' / N^2
 *                                        v = sum_d s (C + a l) n / N
 *
 * and a token's topic z = k, with n and eta'n without the token's own part, has
 *
 *     g_k = sum_y eta_k (s (C + a l) / N - a eta'n / N^2) - a eta_k^2 / (2 N^2)
 *
 * added to log p(k) of LDA. A sweep draws all z, then all a on the documents'
 * partitions, and then eta from the summed moments, the same draw on every
 * partition. */
#include "lda_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>

enum { DRAW_WEIGHT = 0x6C646D77, DRAW_ETA };

static strads_err no_margin_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for documents' labels");
}

/* ---- labels ------------------------------------------------------------- */

void strads_lda_labels_free(strads_lda_labels *x)
{
    strads_names_free(x->classes);
    free(x->start);
    free(x->label);
    *x = (strads_lda_labels){0};
}

typedef struct label_name {
    const char *name;
    double value; /* NaN: not a number */
    uint32_t number;
} label_name;

static int by_name(const void *a, const void *b)
{
    const label_name *x = a, *y = b;
    const bool one = isnan(x->value), other = isnan(y->value);

    if (!one && !other && x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return one != other ? (one ? 1 : -1) : strcmp(x->name, y->name);
}

/* Orders the classes by their names. */
static strads_err sort_classes(strads_lda_labels *x)
{
    const uint32_t n = strads_names_count(x->classes);
    label_name *order = malloc((n + 1) * sizeof *order);
    uint32_t *number = malloc((n + 1) * sizeof *number), k;
    strads_names *sorted = NULL;
    strads_err err =
        order && number ? strads_names_new(&sorted) : no_margin_memory();

    for (uint32_t i = 0; i < n && !err; i++) {
        char *end;
        order[i] = (label_name){strads_names_at(x->classes, i), 0, i};
        order[i].value = strtod(order[i].name, &end);
        if (*end)
            order[i].value = NAN;
    }
    if (!err)
        qsort(order, n, sizeof *order, by_name);
    for (uint32_t i = 0; i < n && !err; i++) {
        number[order[i].number] = i;
        err =
            strads_names_add(sorted, order[i].name, strlen(order[i].name), &k);
    }
    for (uint64_t i = 0; !err && i < x->start[x->documents]; i++)
        x->label[i] = number[x->label[i]];
    if (!err) {
        strads_names_free(x->classes);
        x->classes = sorted;
        sorted = NULL;
    }
    strads_names_free(sorted);
    free(order);
    free(number);
    return err;
}

static strads_err add_label(strads_lda_labels *x, uint64_t *room, uint64_t d,
                            const char *path, const char *name, size_t size)
{
    uint64_t n = x->start[d + 1];
    json_t *utf8 = json_stringn(name, size);
    uint32_t number;

    json_decref(utf8);
    if (!utf8 || memchr(name, 0, size))
        return strads_fail(STRADS_EFORMAT,
                           "%s: line %" PRIu64 ": the label is not UTF-8", path,
                           d + 1);
    strads_err err = strads_names_add(x->classes, name, size, &number);
    for (uint64_t i = x->start[d]; !err && i < n; i++)
        if (x->label[i] == number)
            err = strads_fail(STRADS_EFORMAT,
                              "%s: line %" PRIu64 ": has the label %s twice",
                              path, d + 1, strads_names_at(x->classes, number));
    if (!err && n == *room) {
        *room = 2 * *room + 1024;
        uint32_t *more = realloc(x->label, *room * sizeof *more);
        if (!more)
            return no_margin_memory();
        x->label = more;
    }
    if (!err) {
        x->label[n] = number;
        x->start[d + 1] = n + 1;
    }
    return err;
}

/* Reads labels separated by commas and tabs, without surrounding blanks. */
static strads_err take_labels(strads_lda_labels *x, uint64_t *room, uint64_t d,
                              const char *path, const char *line, size_t size)
{
    const char *end = line + size;
    strads_err err = STRADS_OK;

    x->start[d + 1] = x->start[d];
    for (const char *p = line; p < end && !err;) {
        const char *next = p, *last;
        while (next < end && *next != ',' && *next != '\t')
            next++;
        for (last = next; last > p && strchr(" \r\n", last[-1]); last--)
            ;
        while (p < last && *p == ' ')
            p++;
        if (p < last)
            err = add_label(x, room, d, path, p, (size_t)(last - p));
        p = next + 1;
    }
    return err;
}

static strads_err read_label_lines(const char *path, uint64_t documents,
                                   strads_lda_labels *x)
{
    char *line = NULL;
    size_t line_room = 0;
    ssize_t size;
    uint64_t room = 0, n = 0;
    strads_err err = STRADS_OK;
    FILE *file = fopen(path, "re");

    if (!file)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(errno));
    while (!err && (size = getline(&line, &line_room, file)) >= 0) {
        if (n < documents)
            err = take_labels(x, &room, n, path, line, (size_t)size);
        n++;
    }
    if (!err && ferror(file))
        err = strads_fail(STRADS_EIO, "%s: cannot be read to its end", path);
    if (!err && n != documents)
        err = strads_fail(STRADS_EMISMATCH,
                          "%s: has %" PRIu64 " lines, the data %" PRIu64
                          " documents: expected a line of labels for each",
                          path, n, documents);
    free(line);
    (void)fclose(file);
    return err;
}

strads_err strads_lda_labels_read(const char *path, uint64_t documents,
                                  const strads_names *known,
                                  strads_lda_labels *x)
{
    uint32_t number;

    *x = (strads_lda_labels){.documents = documents};
    strads_err err = strads_names_new(&x->classes);
    for (uint32_t k = 0; !err && known && k < strads_names_count(known); k++) {
        const char *name = strads_names_at(known, k);
        err = strads_names_add(x->classes, name, strlen(name), &number);
    }
    if (err)
        return err;
    x->start = calloc(documents + 1, sizeof *x->start);
    err = x->start ? read_label_lines(path, documents, x) : no_margin_memory();
    const uint32_t n = strads_names_count(x->classes);
    if (!err && n < 2)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: has %s: expected two or more labels", path,
                          n ? "one label alone" : "no label");
    return err || known ? err : sort_classes(x);
}

/* ---- the classifier ------------------------------------------------------ */

void lda_classifier_free(lda_classifier *c)
{
    free(c->eta);
    free(c->mean);
    free(c->factor);
    free(c->side);
}

static strads_err classifier_make(lda_classifier *c, uint32_t classes,
                                  uint32_t topics)
{
    const size_t n = (size_t)classes * topics;

    c->classes = classes;
    c->topics = topics;
    c->eta = calloc(n, sizeof *c->eta);
    c->mean = calloc(n, sizeof *c->mean);
    c->factor = malloc((size_t)topics * topics * sizeof *c->factor);
    c->side = malloc(2 * (size_t)topics * sizeof *c->side);
    return c->eta && c->mean && c->factor && c->side ? STRADS_OK
                                                     : no_margin_memory();
}

size_t lda_moments(const strads_lda_options *options)
{
    const size_t k = options->topics;

    return k * (k + 1) / 2 + k;
}

/* L L' = I + the lower half, packed, line by line. */
static void factor_precision(const lda_classifier *c, const double *packed)
{
    const size_t n = c->topics;
    double *x = c->factor;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = *packed++ + (i == j);
            for (size_t k = 0; k < j; k++)
                sum -= x[i * n + k] * x[j * n + k];
            x[i * n + j] = i == j ? sqrt(sum) : sum / x[j * n + j];
        }
    }
}

/* x = L'^-1 x. */
static void solve_back(const lda_classifier *c, double *x)
{
    const size_t n = c->topics;

    for (size_t i = n; i-- > 0;) {
        x[i] /= c->factor[i * n + i];
        for (size_t k = 0; k < i; k++)
            x[k] -= c->factor[i * n + k] * x[i];
    }
}

/* Box and Muller. */
static double draw_normal(uint64_t seed, uint64_t purpose, uint64_t index,
                          uint64_t k)
{
    const double u = strads_random_unit(seed, purpose, index, 2 * k);
    const double v = strads_random_unit(seed, purpose, index, 2 * k + 1);

    return sqrt(-2 * log1p(-u)) * cos(2 * 3.14159265358979323846 * v);
}

/* The mean is that of the conditional means over the second half of all
 * sweeps. */
void lda_classifier_learn(lda_classifier *c, uint32_t y, uint64_t seed,
                          uint64_t sweep, uint32_t sweeps,
                          const double *moments)
{
    const size_t n = c->topics;
    double *eta = c->eta + y * n, *mean = c->mean + y * n;
    double *a = c->side, *b = c->side + n;
    const double kept = sweep > sweeps / 2 ? (double)(sweep - sweeps / 2) : 1;

    factor_precision(c, moments);
    memcpy(a, moments + n * (n + 1) / 2, n * sizeof *a);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            a[i] -= c->factor[i * n + k] * a[k];
        a[i] /= c->factor[i * n + i];
        b[i] = a[i] + draw_normal(seed, DRAW_ETA, sweep * c->classes + y, i);
    }
    solve_back(c, a);
    solve_back(c, b);
    memcpy(eta, b, n * sizeof *eta);
    for (size_t i = 0; i < n; i++)
        mean[i] += (a[i] - mean[i]) / kept;
}

strads_err lda_classifier_read(const strads_lda_options *options,
                               uint64_t documents, lda_classifier *c,
                               strads_lda_labels *labels)
{
    if (!options->labels)
        return STRADS_OK;
    strads_err err =
        strads_lda_labels_read(options->labels, documents, NULL, labels);
    if (err)
        return err;
    const uint32_t classes = strads_names_count(labels->classes);
    if (classes > LDA_LABELLED_CLASSES)
        return strads_fail(STRADS_ELIMIT,
                           "%s: has %u different labels, at most %d are "
                           "possible",
                           options->labels, classes, LDA_LABELLED_CLASSES);
    return classifier_make(c, classes, options->topics);
}

/* ---- a partition --------------------------------------------------------- */

struct lda_margin {
    lda_classifier c;
    lda_margins site;
    int8_t *sign; /* [documents x classes] 1 or -1 for class y; 0: unlabelled */
    float *a;     /* [documents x classes] */
    bool stale;   /* the documents' data belong to another eta or a */
};

void lda_margin_free(lda_margin *m)
{
    if (!m)
        return;
    lda_classifier_free(&m->c);
    free(m->site.eta);
    free(m->site.by_topic);
    free(m->site.document);
    free(m->sign);
    free(m->a);
    free(m);
}

static strads_err margin_make(lda_local *l, const strads_lda_labels *labels,
                              uint64_t first)
{
    lda_margin *m = l->margin;
    const uint32_t topics = l->site.topics, classes = m->c.classes;
    const size_t n = l->documents.n;

    m->site.classes = classes;
    m->site.wide = (classes + LDA_LANES - 1) / LDA_LANES * LDA_LANES;
    m->site.stride = 2 * (size_t)m->site.wide + l->site.padded;
    m->site.eta = calloc((size_t)classes * l->site.padded, sizeof *m->site.eta);
    m->site.by_topic =
        calloc(((size_t)topics + 2) * m->site.wide, sizeof *m->site.by_topic);
    m->site.document = lda_array_new(n * m->site.stride + 1, sizeof(float));
    m->sign = calloc(n * classes + 1, sizeof *m->sign);
    m->a = calloc(n * classes + 1, sizeof *m->a);
    if (!m->site.eta || !m->site.by_topic || !m->site.document || !m->sign ||
        !m->a)
        return no_margin_memory();
    for (size_t d = 0; d < n; d++) {
        const uint64_t from = labels->start[first + d];
        const uint64_t end = labels->start[first + d + 1];
        if (from == end)
            continue;
        memset(m->sign + d * classes, -1, classes);
        for (uint64_t i = from; i < end; i++)
            m->sign[d * classes + labels->label[i]] = 1;
    }
    m->stale = true;
    return STRADS_OK;
}

strads_err lda_margin_open(lda_local *l, const strads_task *task)
{
    const strads_lda_options *options = task->config;
    strads_lda_labels labels = {0};

    if (!options->labels)
        return STRADS_OK;
    l->margin = calloc(1, sizeof *l->margin);
    strads_err err = l->margin ? lda_classifier_read(options, task->shape->rows,
                                                     &l->margin->c, &labels)
                               : no_margin_memory();
    if (!err)
        err = margin_make(l, &labels, task->share->rows.begin);
    strads_lda_labels_free(&labels);
    return err;
}

/* Uses the current classifier and weights. */
static void refresh_document(lda_local *l, uint32_t d, double loss_weight,
                             double margin)
{
    lda_margin *m = l->margin;
    const lda_margins *x = &m->site;
    float *rise = x->document + d * x->stride, *pull = rise + x->wide;
    float *fall = pull + x->wide;
    const uint16_t *row = l->documents.row + (size_t)d * l->site.padded;
    const double n = l->length[d];

    memset(rise, 0, x->stride * sizeof *rise);
    for (uint32_t k = l->site.topics; k < l->site.padded; k++)
        fall[k] = 1e30F;
    for (uint32_t y = 0; y < x->classes && n > 0; y++) {
        const float *eta = x->eta + (size_t)y * l->site.padded;
        const double s = m->sign[(size_t)d * x->classes + y];
        const double a = (double)m->a[(size_t)d * x->classes + y];
        double score = 0;
        if (a == 0)
            continue;
        for (uint32_t k = 0; k < l->site.topics; k++)
            score += (double)eta[k] * row[k];
        rise[y] = (float)((s * loss_weight + a * (s * margin - score / n)) / n);
        pull[y] = (float)(a / (n * n));
        for (uint32_t k = 0; k < l->site.topics; k++)
            fall[k] += pull[y] / 2 * eta[k] * eta[k];
    }
}

void lda_margin_refresh(lda_local *l, const strads_lda_options *options)
{
    lda_margin *m = l->margin;
    const lda_margins *x = &m->site;

    if (!m->stale)
        return;
    m->stale = false;
    for (uint32_t y = 0; y < x->classes; y++)
        for (uint32_t k = 0; k < l->site.topics; k++) {
            const float eta = (float)m->c.eta[(size_t)y * l->site.topics + k];
            x->eta[(size_t)y * l->site.padded + k] = eta;
            x->by_topic[(size_t)k * x->wide + y] = eta;
        }
    for (uint32_t d = 0; d < l->documents.n; d++)
        refresh_document(l, d, options->loss_weight, options->margin);
}

void lda_margin_draw(lda_local *l, const lda_tokens *tokens)
{
    l->kernels->draw_labelled(&l->site, &l->margin->site, &l->documents,
                              tokens);
}

/* InverseGaussian(mean C / |zeta|, shape C^2): Michael, Schucany and Haas
 * (1976), with their root written without cancellation. `draw` names the
 * draw. */
double lda_draw_weight(double zeta, double loss_weight, uint64_t seed,
                       uint64_t sweep, uint64_t draw)
{
    const double mean = loss_weight / fmax(fabs(zeta), 1e-9);
    const double z = draw_normal(seed, DRAW_WEIGHT, sweep, 2 * draw);
    const double u = strads_random_unit(seed, DRAW_WEIGHT, sweep, 4 * draw + 2);
    const double w = mean * z * z / (loss_weight * loss_weight);
    const double low = 1 / (1 + w / 2 + sqrt(w + w * w / 4));

    return u * (1 + low) <= 1 ? mean * low : mean / low;
}

/* For a class: draws its margins' weights, and sums P - I and v, followed by
 * the time spent. */
strads_err lda_measure(strads_task *task)
{
    const strads_lda_options *options = task->config;
    lda_local *l = task->local;
    lda_margin *m = l->margin;
    const uint32_t topics = l->site.topics, classes = m->c.classes;
    const uint32_t y = (uint32_t)(task->block.id - task->shape->blocks - 1);
    const double *eta = m->c.eta + (size_t)y * topics;
    const uint64_t sweep = l->visits / task->shape->blocks;
    const double began = lda_cpu_now();
    double *p = task->partial, *v = p + (size_t)topics * (topics + 1) / 2;
    uint32_t at[LDA_LABELLED_TOPICS];
    double share[LDA_LABELLED_TOPICS];

    for (uint32_t d = 0; d < l->documents.n; d++) {
        const uint16_t *row = l->documents.row + (size_t)d * l->site.padded;
        const double s = m->sign[(size_t)d * classes + y];
        double score = 0;
        uint32_t n = 0;
        if (s == 0 || l->length[d] == 0)
            continue;
        for (uint32_t k = 0; k < topics; k++) {
            if (row[k] == 0)
                continue;
            share[n] = (double)row[k] / l->length[d];
            score += share[n] * eta[k];
            at[n++] = k;
        }
        const uint64_t document = task->share->rows.begin + d;
        const double a =
            lda_draw_weight(options->margin - s * score, options->loss_weight,
                            task->seed, sweep, document * classes + y);
        m->a[(size_t)d * classes + y] = (float)a;
        for (uint32_t i = 0; i < n; i++) {
            double *line = p + (size_t)at[i] * (at[i] + 1) / 2;
            const double x = a * share[i];
            v[at[i]] +=
                s * (options->loss_weight + a * options->margin) * share[i];
            for (uint32_t j = 0; j <= i; j++)
                line[at[j]] += x * share[j];
        }
    }
    m->stale = true;
    task->partial[lda_moments(options)] = lda_cpu_now() - began;
    return STRADS_OK;
}

strads_err lda_classify(strads_task *task)
{
    const strads_lda_options *options = task->config;
    lda_local *l = task->local;

    lda_classifier_learn(&l->margin->c,
                         (uint32_t)(task->block.id - task->shape->blocks - 1),
                         task->seed, l->visits / task->shape->blocks,
                         lda_sweeps(options), task->partial);
    return STRADS_OK;
}

/* Counts the labelled documents, and those that the classifier assigns to one
 * of their labels. */
void lda_margin_count(const lda_local *l, double *labelled, double *right)
{
    const lda_margin *m = l->margin;

    for (uint32_t d = 0; m && d < l->documents.n; d++) {
        const int8_t *sign = m->sign + (size_t)d * m->c.classes;
        const uint16_t *row = l->documents.row + (size_t)d * l->site.padded;
        double most = -INFINITY;
        uint32_t best = 0;
        for (uint32_t y = 0; y < m->c.classes; y++) {
            const double *mean = m->c.mean + (size_t)y * l->site.topics;
            double score = 0;
            for (uint32_t k = 0; k < l->site.topics; k++)
                score += mean[k] * row[k];
            if (score > most) {
                most = score;
                best = y;
            }
        }
        *labelled += sign[0] != 0;
        *right += sign[best] > 0;
    }
}

/* ---- checkpoints
 * ----------------------------------------------------------- */

void lda_classifier_pass(strads_walk *w, lda_classifier *c)
{
    const size_t bytes = (size_t)c->classes * c->topics * sizeof(double);

    strads_walk_pass(w, c->eta, bytes);
    strads_walk_pass(w, c->mean, bytes);
}

void lda_margin_pass(strads_walk *w, lda_local *l)
{
    lda_margin *m = l->margin;

    if (!m)
        return;
    lda_classifier_pass(w, &m->c);
    strads_walk_pass(w, m->a,
                     (size_t)l->documents.n * m->c.classes * sizeof *m->a);
}

/* ---- prediction ---------------------------------------------------------- */

strads_err strads_lda_decide(const strads_lda_model *m,
                             const strads_lda_draws *draws,
                             const strads_lda_words *words, double *score)
{
    double *theta = malloc(m->topics * sizeof *theta);
    double tokens = 0, alpha_sum = 0;

    if (m->classes == 0) {
        free(theta);
        return strads_fail(STRADS_ESTATE,
                           "the model has no classes: train it with --labels");
    }
    strads_err err =
        theta ? strads_lda_infer(m, draws, words, theta) : no_margin_memory();
    for (uint32_t i = 0; i < words->n; i++)
        tokens += words->count[i];
    for (uint32_t k = 0; k < m->topics; k++)
        alpha_sum += m->alpha[k];
    /* theta is (n + alpha) / (N + A); this gives n / N if there is a token. */
    for (uint32_t k = 0; !err && tokens > 0 && k < m->topics; k++)
        theta[k] = (theta[k] * (tokens + alpha_sum) - m->alpha[k]) / tokens;
    for (uint32_t y = 0; !err && y < m->classes; y++) {
        score[y] = 0;
        for (uint32_t k = 0; k < m->topics; k++)
            score[y] += m->weight[(size_t)y * m->topics + k] * theta[k];
    }
    free(theta);
    return err;
}
