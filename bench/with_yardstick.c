/* The yardstick that all solvers are held to: reads LIBSVM text and evaluates
 * objectives for coefficients that solvers wrote. Uses nothing of strads, so
 * that a mistake there cannot hide here.
 *
 *     with_yardstick dump FILE DIR
 *         leaves X by columns and y as plain binary numbers in DIR, for the
 *         peers, and prints "ROWS COLUMNS ENTRIES |X'y|_inf/ROWS"
 *     with_yardstick objective DIR KIND WEIGHT COEFFICIENTS...
 *         prints an objective a line; COEFFICIENTS has a line "COLUMN VALUE"
 *         for each nonzero, columns from 1
 *     with_yardstick path DIR MAX RATIO POINTS COEFFICIENTS
 *         prints a Lasso's objective for each of POINTS lambdas from MAX down
 *         to RATIO of it; lines are "POINT COLUMN VALUE", points from 0
 *
 * KIND, and what WEIGHT is in it:
 *     lasso          1/(2n)|y - Xw|^2 + WEIGHT |w|_1
 *     l1-logistic    1/n sum log(1 + exp(-y x'w)) + WEIGHT |w|_1
 *     l2-logistic    1/2 |w|^2 + WEIGHT sum log(1 + exp(-y x'w))
 *     squared-hinge  1/2 |w|^2 + WEIGHT sum max(0, 1 - y x'w)^2
 *     hinge          1/2 |w|^2 + WEIGHT sum max(0, 1 - y x'w) */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    int32_t row, col;
    double value;
} entry;

typedef struct matrix {
    int32_t rows, cols, *start, *index; /* by columns, from 0 */
    double *value, *label;
} matrix;

static _Noreturn void give_up(const char *what, const char *where)
{
    fprintf(stderr, "with_yardstick: %s: %s\n", what, where);
    exit(1);
}

static void *grown(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes ? bytes : 1);
    if (!memory)
        give_up("no memory", "for the data");
    return memory;
}

/* ---- text to columns --------------------------------------------------- */

typedef struct entries {
    size_t n, capacity;
    entry *all;
} entries;

static void read_line(char *at, int32_t row, matrix *x, entries *list)
{
    char *next;
    x->label[row] = strtod(at, &next);
    for (at = next;; at = next) {
        const long col = strtol(at, &next, 10);
        if (next == at || *next != ':')
            return;
        if (list->n == list->capacity) {
            list->capacity = 2 * list->capacity + 1024;
            list->all = grown(list->all, list->capacity * sizeof(entry));
        }
        entry *e = &list->all[list->n++];
        *e = (entry){.row = row, .col = (int32_t)col - 1};
        e->value = strtod(next + 1, &next);
        if (col > x->cols)
            x->cols = (int32_t)col;
    }
}

/* Counting sort: rows stay ascending in each column. */
static void sort_by_columns(matrix *x, const entries *list)
{
    const size_t cols = (size_t)x->cols;
    x->start = grown(NULL, (cols + 1) * sizeof(int32_t));
    memset(x->start, 0, (cols + 1) * sizeof(int32_t));
    x->index = grown(NULL, list->n * sizeof(int32_t));
    x->value = grown(NULL, list->n * sizeof(double));
    for (size_t k = 0; k < list->n; k++)
        x->start[list->all[k].col + 1]++;
    for (size_t j = 0; j < cols; j++)
        x->start[j + 1] += x->start[j];
    int32_t *place = grown(NULL, cols * sizeof(int32_t));
    memcpy(place, x->start, cols * sizeof(int32_t));
    for (size_t k = 0; k < list->n; k++) {
        const int32_t to = place[list->all[k].col]++;
        x->index[to] = list->all[k].row;
        x->value[to] = list->all[k].value;
    }
    free(place);
}

static matrix read_text(const char *path)
{
    matrix x = {0};
    entries list = {0};
    char *line = NULL;
    size_t capacity = 0;
    FILE *f = fopen(path, "r");
    if (!f)
        give_up("cannot read", path);
    while (getline(&line, &capacity, f) > 0) {
        if ((x.rows & (x.rows - 1)) == 0) {
            const size_t lines = x.rows ? 2 * (size_t)x.rows : 1;
            x.label = grown(x.label, lines * sizeof(double));
        }
        read_line(line, x.rows, &x, &list);
        x.rows++;
    }
    fclose(f);
    free(line);
    sort_by_columns(&x, &list);
    free(list.all);
    return x;
}

/* ---- plain numbers ----------------------------------------------------- */

static FILE *open_part(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, mode);
    if (!f)
        give_up("cannot open", path);
    return f;
}

static void write_part(const char *folder, const char *name, const void *from,
                       size_t size, size_t n)
{
    FILE *f = open_part(folder, name, "w");
    if (fwrite(from, size, n, f) != n || fclose(f) != 0)
        give_up("cannot write", name);
}

static void *read_part(const char *folder, const char *name, size_t size,
                       int32_t *n)
{
    FILE *f = open_part(folder, name, "r");
    fseek(f, 0, SEEK_END);
    const size_t count = (size_t)ftell(f) / size;
    rewind(f);
    void *to = grown(NULL, count * size);
    if (fread(to, size, count, f) != count)
        give_up("cannot read", name);
    fclose(f);
    *n = (int32_t)count;
    return to;
}

static double lambda_max(const matrix *x)
{
    double most = 0;
    for (int32_t j = 0; j < x->cols; j++) {
        double dot = 0;
        for (int32_t k = x->start[j]; k < x->start[j + 1]; k++)
            dot += x->value[k] * x->label[x->index[k]];
        most = fmax(most, fabs(dot) / x->rows);
    }
    return most;
}

static void dump(const char *path, const char *folder)
{
    const matrix x = read_text(path);
    const size_t n = (size_t)x.start[x.cols];
    write_part(folder, "start.i4", x.start, sizeof(int32_t),
               (size_t)x.cols + 1);
    write_part(folder, "index.i4", x.index, sizeof(int32_t), n);
    write_part(folder, "value.f8", x.value, sizeof(double), n);
    write_part(folder, "label.f8", x.label, sizeof(double), (size_t)x.rows);
    printf("%d %d %zu %.17g\n", x.rows, x.cols, n, lambda_max(&x));
}

/* ---- losses of a row --------------------------------------------------- */

static double half_square(double y, double z)
{
    return (y - z) * (y - z) / 2;
}

static double logistic(double y, double z)
{
    const double m = y * z;
    return m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
}

static double hinge(double y, double z)
{
    return fmax(0, 1 - y * z);
}

static double squared_hinge(double y, double z)
{
    return hinge(y, z) * hinge(y, z);
}

typedef struct kind {
    const char *name;
    double (*loss)(double y, double z);
    int sparse; /* 1: mean loss + WEIGHT |w|_1; 0: 1/2 |w|^2 + WEIGHT sum */
} kind;

static const kind kinds[] = {{"lasso", half_square, 1},
                             {"l1-logistic", logistic, 1},
                             {"l2-logistic", logistic, 0},
                             {"squared-hinge", squared_hinge, 0},
                             {"hinge", hinge, 0}};

static const kind *find_kind(const char *name)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k].name, name) == 0)
            return &kinds[k];
    give_up("no kind of objective", name);
}

/* ---- the objective ----------------------------------------------------- */

/* Coefficients at work: X w, and the norms of w. */
typedef struct point {
    double *scores; /* [rows] */
    double l1, l2;
} point;

static void clear(const matrix *x, point *at)
{
    memset(at->scores, 0, (size_t)x->rows * sizeof(double));
    at->l1 = at->l2 = 0;
}

static void add(const matrix *x, long col, double w, point *at)
{
    if (col < 1 || col > x->cols)
        give_up("a coefficient of no column", "in a model");
    for (int32_t k = x->start[col - 1]; k < x->start[col]; k++)
        at->scores[x->index[k]] += w * x->value[k];
    at->l1 += fabs(w);
    at->l2 += w * w;
}

static double value_at(const matrix *x, const kind *of, double weight,
                       const point *at)
{
    double sum = 0;
    for (int32_t i = 0; i < x->rows; i++)
        sum += of->loss(x->label[i], at->scores[i]);
    return of->sparse ? sum / x->rows + weight * at->l1
                      : at->l2 / 2 + weight * sum;
}

static FILE *open_coefficients(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        give_up("cannot read", path);
    return f;
}

static double objective(const matrix *x, const kind *of, double weight,
                        const char *path, point *at)
{
    long col;
    double w;
    FILE *f = open_coefficients(path);
    clear(x, at);
    while (fscanf(f, "%ld %lf", &col, &w) == 2)
        add(x, col, w, at);
    fclose(f);
    return value_at(x, of, weight, at);
}

static matrix read_parts(const char *folder)
{
    matrix x = {0};
    int32_t entries_read = 0;
    x.start = read_part(folder, "start.i4", sizeof(int32_t), &x.cols);
    x.index = read_part(folder, "index.i4", sizeof(int32_t), &entries_read);
    x.value = read_part(folder, "value.f8", sizeof(double), &entries_read);
    x.label = read_part(folder, "label.f8", sizeof(double), &x.rows);
    x.cols--;
    return x;
}

static void measure(const char *folder, const kind *of, double weight, int n,
                    char **path)
{
    const matrix x = read_parts(folder);
    point at = {.scores = grown(NULL, (size_t)x.rows * sizeof(double))};
    for (int k = 0; k < n; k++)
        printf("%.17g\n", objective(&x, of, weight, path[k], &at));
}

/* Points come in any order, a point's lines together; one without lines has
 * only zeros. */
static void measure_path(const char *folder, double most, double ratio,
                         long points, const char *path)
{
    const matrix x = read_parts(folder);
    point at = {.scores = grown(NULL, (size_t)x.rows * sizeof(double))};
    double *value = grown(NULL, (size_t)points * sizeof(double));
    double *lambda = grown(NULL, (size_t)points * sizeof(double)), w;
    long col, of, last = -1;
    FILE *f = open_coefficients(path);

    clear(&x, &at);
    for (long k = 0; k < points; k++) {
        lambda[k] = most * pow(ratio, (double)k / (double)(points - 1));
        value[k] = value_at(&x, &kinds[0], lambda[k], &at);
    }
    while (fscanf(f, "%ld %ld %lf", &of, &col, &w) == 3) {
        if (of < 0 || of >= points)
            give_up("a point that is none of the path's", path);
        if (of != last && last >= 0)
            value[last] = value_at(&x, &kinds[0], lambda[last], &at);
        if (of != last)
            clear(&x, &at);
        add(&x, col, w, &at);
        last = of;
    }
    if (last >= 0)
        value[last] = value_at(&x, &kinds[0], lambda[last], &at);
    fclose(f);
    for (long k = 0; k < points; k++)
        printf("%.17g\n", value[k]);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "dump") == 0) {
        dump(argv[2], argv[3]);
        return 0;
    }
    if (argc > 5 && strcmp(argv[1], "objective") == 0) {
        measure(argv[2], find_kind(argv[3]), strtod(argv[4], NULL), argc - 5,
                argv + 5);
        return 0;
    }
    if (argc == 7 && strcmp(argv[1], "path") == 0) {
        measure_path(argv[2], strtod(argv[3], NULL), strtod(argv[4], NULL),
                     strtol(argv[5], NULL, 10), argv[6]);
        return 0;
    }
    fprintf(stderr, "with_yardstick: dump FILE DIR, objective DIR KIND WEIGHT "
                    "COEFFICIENTS...,\nor path DIR MAX RATIO POINTS "
                    "COEFFICIENTS\n");
    return 2;
}
