/* The yardstick that all solvers are held to: reads LIBSVM text and evaluates
 * 1/(2n)|y - Xw|^2 + lambda |w|_1 for coefficients that solvers wrote. Uses
 * nothing of strads, so that a mistake there cannot hide here.
 *
 *     with_yardstick dump FILE DIR
 *         leaves X by columns and y as plain binary numbers in DIR, for the
 *         peers, and prints "ROWS COLUMNS ENTRIES LAMBDA_MAX"
 *     with_yardstick objective DIR LAMBDA COEFFICIENTS...
 *         prints an objective a line; COEFFICIENTS has a line "COLUMN VALUE"
 *         for each nonzero, columns from 1 */
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
    size_t n, room;
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
        if (list->n == list->room) {
            list->room = 2 * list->room + 1024;
            list->all = grown(list->all, list->room * sizeof(entry));
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
    size_t room = 0;
    FILE *f = fopen(path, "r");
    if (!f)
        give_up("cannot read", path);
    while (getline(&line, &room, f) > 0) {
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

/* ---- the objective ----------------------------------------------------- */

static double objective(const matrix *x, double lambda, const char *path)
{
    double *left = grown(NULL, (size_t)x->rows * sizeof(double));
    double norm = 0, squares = 0, w;
    long col;
    FILE *f = fopen(path, "r");
    if (!f)
        give_up("cannot read", path);
    memcpy(left, x->label, (size_t)x->rows * sizeof(double));
    while (fscanf(f, "%ld %lf", &col, &w) == 2) {
        if (col < 1 || col > x->cols)
            give_up("a coefficient of no column", path);
        for (int32_t k = x->start[col - 1]; k < x->start[col]; k++)
            left[x->index[k]] -= w * x->value[k];
        norm += fabs(w);
    }
    fclose(f);
    for (int32_t i = 0; i < x->rows; i++)
        squares += left[i] * left[i];
    free(left);
    return squares / (2 * (double)x->rows) + lambda * norm;
}

static void measure(const char *folder, double lambda, int n, char **path)
{
    matrix x = {0};
    int32_t entries_read = 0;
    x.start = read_part(folder, "start.i4", sizeof(int32_t), &x.cols);
    x.index = read_part(folder, "index.i4", sizeof(int32_t), &entries_read);
    x.value = read_part(folder, "value.f8", sizeof(double), &entries_read);
    x.label = read_part(folder, "label.f8", sizeof(double), &x.rows);
    x.cols--;
    for (int k = 0; k < n; k++)
        printf("%.17g\n", objective(&x, lambda, path[k]));
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "dump") == 0) {
        dump(argv[2], argv[3]);
        return 0;
    }
    if (argc > 4 && strcmp(argv[1], "objective") == 0) {
        measure(argv[2], strtod(argv[3], NULL), argc - 4, argv + 4);
        return 0;
    }
    fprintf(stderr, "with_yardstick: dump FILE DIR, or objective DIR LAMBDA "
                    "COEFFICIENTS...\n");
    return 2;
}
