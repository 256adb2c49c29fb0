/* The slow reader shares no code with the library: lines by fgets, numbers
 * by strtod, entries in one sorted list. */
#include "data_oracle.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/expect.h"

static char folder[64];

void oracle_enter(void)
{
    strcpy(folder, "/tmp/strads-data-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

void oracle_leave(void)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if (e->d_name[0] != '.')
            (void)remove(oracle_path(e->d_name));
    (void)closedir(dir);
    (void)rmdir(folder);
}

const char *oracle_path(const char *name)
{
    static char paths[8][400];
    static unsigned next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *oracle_write(const char *name, const void *bytes, size_t size)
{
    const char *path = oracle_path(name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    (void)fclose(file);
    return path;
}

const char *oracle_text(const char *name, const char *text)
{
    return oracle_write(name, text, strlen(text));
}

static char *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    (void)fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    cr_assert_eq(fread(bytes, 1, *size, file), *size);
    (void)fclose(file);
    return bytes;
}

const char *oracle_gzip(const char *path, int members)
{
    size_t size;
    char *bytes = read_all(path, &size);
    static char out[420];
    (void)snprintf(out, sizeof out, "%s.gz", path);
    (void)remove(out);
    for (int m = 0; m < members; m++) {
        size_t from = size * (size_t)m / (size_t)members;
        size_t to = size * (size_t)(m + 1) / (size_t)members;
        gzFile file = gzopen(out, "ab1");
        cr_assert_eq(gzwrite(file, bytes + from, (unsigned)(to - from)),
                     (int)(to - from));
        (void)gzclose(file);
    }
    free(bytes);
    return out;
}

const char *oracle_zstd(const char *path, int frames)
{
    size_t size;
    char *bytes = read_all(path, &size);
    static char out[420];
    (void)snprintf(out, sizeof out, "%s.zst", path);
    FILE *file = fopen(out, "wb");
    for (int m = 0; m < frames; m++) {
        size_t from = size * (size_t)m / (size_t)frames;
        size_t to = size * (size_t)(m + 1) / (size_t)frames;
        size_t capacity = ZSTD_compressBound(to - from);
        char *packed = malloc(capacity);
        size_t n = ZSTD_compress(packed, capacity, bytes + from, to - from, 1);
        cr_assert_eq(fwrite(packed, 1, n, file), n);
        free(packed);
    }
    (void)fclose(file);
    free(bytes);
    return out;
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double uniform(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1p-53;
}

static void add_entry(oracle *m, uint32_t row, uint32_t col, double value)
{
    if (m->nnz == m->capacity) {
        m->capacity = m->capacity == 0 ? 1024 : 2 * m->capacity;
        m->entry = realloc(m->entry, m->capacity * sizeof *m->entry);
        cr_assert_not_null(m->entry);
    }
    m->entry[m->nnz++] = (oracle_entry){row, col, value};
}

static double random_value(uint64_t *state)
{
    char text[64];
    double sign = draw(state) % 2 == 0 ? 1 : -1;
    switch (draw(state) % 5) {
    case 0:
        return sign * (double)(1 + draw(state) % 5000);
    case 1:
        return sign * uniform(state);
    case 2:
        return sign * uniform(state) * 1e-30;
    case 3:
        return sign * uniform(state) * 1e17;
    default: /* short, like hand-written numbers */
        (void)snprintf(text, sizeof text, "%.5g", uniform(state));
        return sign * strtod(text, NULL);
    }
}

oracle oracle_random(oracle_shape shape)
{
    oracle m = {.rows = shape.rows};
    uint64_t state = shape.seed * UINT64_C(2654435761) + 88172645463325252u;
    m.label = calloc(shape.rows, sizeof *m.label);
    for (uint64_t i = 0; i < shape.rows; i++) {
        m.label[i] = (double)(draw(&state) % 7) - 3 + uniform(&state);
        for (uint64_t j = 0; j < shape.cols; j++) {
            double rank = (double)(j + 1) / (double)shape.cols;
            double chance = shape.density * shape.spread;
            for (double r = 0; r < shape.spread - 1; r += 1)
                chance *= 1 - rank;
            if (uniform(&state) < chance) {
                add_entry(&m, (uint32_t)i, (uint32_t)j, random_value(&state));
                m.cols = j + 1 > m.cols ? j + 1 : m.cols;
            }
        }
    }
    return m;
}

const char *oracle_write_libsvm(const oracle *m, const char *name)
{
    static const char *const spelling[] = {"%.17g", "%+.17g", "%.17e", "%.20g"};
    const char *path = oracle_path(name);
    FILE *file = fopen(path, "wb");
    uint64_t state = 1234567;
    size_t at = 0;
    for (uint64_t i = 0; i < m->rows; i++) {
        uint64_t way = draw(&state);
        if (way % 13 == 0)
            (void)fprintf(file, "# a comment 1:2 3:4\n");
        if (way % 17 == 0)
            (void)fprintf(file, " \t\n");
        (void)fprintf(file, spelling[way % 4], m->label[i]);
        if (way % 7 == 0)
            (void)fprintf(file, " qid:%d", (int)(way % 100));
        for (; at < m->nnz && m->entry[at].row == i; at++) {
            (void)fprintf(file, way % 11 == 0 ? "\t %u:" : " %u:",
                          m->entry[at].col + 1);
            (void)fprintf(file, spelling[draw(&state) % 4], m->entry[at].value);
        }
        if (way % 5 == 0)
            (void)fprintf(file, " # the end");
        if (i + 1 < m->rows || way % 2 == 0)
            (void)fprintf(file, way % 3 == 0 ? " \r\n" : "\n");
    }
    (void)fclose(file);
    return path;
}

const char *oracle_write_market(const oracle *m, const char *name)
{
    const char *path = oracle_path(name);
    FILE *file = fopen(path, "wb");
    uint64_t state = 7654321;
    uint64_t *order = calloc(m->nnz + 1, sizeof *order);
    for (uint64_t i = 0; i < m->nnz; i++) {
        uint64_t k = draw(&state) % (i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    (void)fprintf(file,
                  "%%%%MatrixMarket matrix coordinate real general\n"
                  "%% a comment\n\n %llu %llu %llu\n",
                  (unsigned long long)m->rows, (unsigned long long)m->cols,
                  (unsigned long long)m->nnz);
    for (uint64_t i = 0; i < m->nnz; i++) {
        const oracle_entry *e = &m->entry[order[i]];
        (void)fprintf(file, i % 7 == 0 ? " %u\t%u %.17g \r\n" : "%u %u %.17g\n",
                      e->row + 1, e->col + 1, e->value);
        if (i % 101 == 0)
            (void)fprintf(file, "%% between\n");
    }
    free(order);
    (void)fclose(file);
    return path;
}

oracle oracle_read_libsvm(const char *path)
{
    oracle m = {0};
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    size_t capacity = 16u << 20;
    char *line = malloc(capacity);
    uint64_t labels = 0;
    while (fgets(line, (int)capacity, file) != NULL) {
        line[strcspn(line, "#\n")] = '\0';
        char *at = line + strspn(line, " \t\r");
        if (*at == '\0')
            continue;
        if (m.rows == labels) {
            labels = labels == 0 ? 1024 : 2 * labels;
            m.label = realloc(m.label, labels * sizeof *m.label);
        }
        m.label[m.rows] = strtod(at, &at);
        for (char *word = strtok(at, " \t\r"); word != NULL;
             word = strtok(NULL, " \t\r")) {
            if (strncmp(word, "qid:", 4) == 0)
                continue;
            char *colon;
            unsigned long col = strtoul(word, &colon, 10);
            add_entry(&m, (uint32_t)m.rows, (uint32_t)(col - 1),
                      strtod(colon + 1, NULL));
            m.cols = col > m.cols ? col : m.cols;
        }
        m.rows++;
    }
    free(line);
    (void)fclose(file);
    return m;
}

void oracle_free(oracle *m)
{
    free(m->entry);
    free(m->label);
    *m = (oracle){0};
}

static int by_column(const void *a, const void *b)
{
    const oracle_entry *x = a;
    const oracle_entry *y = b;
    if (x->col != y->col)
        return x->col < y->col ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool inside(uint64_t at, strads_range range)
{
    return at >= range.begin && at < range.end;
}

/* The first of the entries that is in this line or after it. They are in the
 * order of lines. */
static uint64_t find_line(const oracle_entry *entry, uint64_t nnz, bool by_col,
                          uint64_t line)
{
    uint64_t low = 0, high = nnz;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if ((by_col ? entry[middle].col : entry[middle].row) < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Compares the entries of a part, in the part's order. */
static void expect_part(const oracle_entry *entry, uint64_t nnz, bool by_col,
                        strads_range rows, strads_range cols,
                        const strads_sparse *s, bool f32)
{
    strads_range lines = by_col ? cols : rows;
    strads_range minors = by_col ? rows : cols;
    cr_assert_eq(s->lines, lines.end - lines.begin);
    cr_assert_eq(s->start[0], 0);
    cr_assert_eq(s->start[s->lines], s->nnz);
    cr_assert((s->f64 != NULL) == !f32 && (s->f32 != NULL) == f32);
    uint64_t line = 0;
    uint64_t at = 0;
    const uint64_t end = find_line(entry, nnz, by_col, lines.end);
    for (uint64_t i = find_line(entry, nnz, by_col, lines.begin); i < end;
         i++) {
        const oracle_entry *e = &entry[i];
        if (!inside(e->row, rows) || !inside(e->col, cols))
            continue;
        uint64_t want = (by_col ? e->col : e->row) - lines.begin;
        for (; line < want; line++)
            cr_assert_eq(s->start[line + 1], at, "line %llu ends at %llu",
                         (unsigned long long)line,
                         (unsigned long long)s->start[line + 1]);
        cr_assert_lt(at, s->nnz);
        cr_assert_eq(s->index[at], (by_col ? e->row : e->col) - minors.begin);
        if (f32)
            cr_assert_eq(s->f32[at], (float)e->value);
        else
            cr_assert_eq(s->f64[at], e->value,
                         "row %u col %u: %.17g, not %.17g", e->row, e->col,
                         s->f64[at], e->value);
        at++;
    }
    for (; line < s->lines; line++)
        cr_assert_eq(s->start[line + 1], at);
    cr_assert_eq(at, s->nnz);
    for (uint64_t k = 0; k < 16; k++)
        cr_assert(s->index[at + k] <= UINT32_MAX, "may be read beyond its end");
}

static void expect_balance(const oracle *m, const strads_data *data,
                           strads_split split, uint32_t partitions)
{
    uint64_t most = 0;
    uint64_t *line = calloc(m->rows + m->cols + 1, sizeof *line);
    for (uint64_t i = 0; i < m->nnz; i++)
        line[split == STRADS_SPLIT_COLS ? m->entry[i].col : m->entry[i].row]++;
    for (uint64_t k = 0; k < m->rows + m->cols; k++)
        most = line[k] > most ? line[k] : most;
    free(line);
    for (uint32_t p = 0; p < partitions; p++) {
        const strads_share *share = strads_data_share(data, p);
        if (share == NULL || split > STRADS_SPLIT_COLS)
            continue;
        uint64_t nnz =
            share->by_col.start != NULL ? share->by_col.nnz : share->by_row.nnz;
        cr_assert_leq(nnz, m->nnz / partitions + most + 1);
    }
}

static void expect_share(const oracle *m, const oracle_entry *by_col,
                         const strads_share *s, strads_data_options o)
{
    strads_range rows = s->rows;
    strads_range cols = s->cols;
    uint64_t all = m->cols > o.min_cols ? m->cols : o.min_cols;
    bool f32 = o.values == STRADS_F32;
    if (o.split == STRADS_SPLIT_BOTH)
        rows = (strads_range){0, m->rows};
    if (o.layout != STRADS_LAYOUT_ROWS)
        expect_part(by_col, m->nnz, true, rows, s->cols, &s->by_col, f32);
    else
        cr_assert_null(s->by_col.start);
    if (o.split == STRADS_SPLIT_BOTH)
        cols = (strads_range){0, all};
    if ((o.layout & STRADS_LAYOUT_ROWS) != 0)
        expect_part(m->entry, m->nnz, false, s->rows, cols, &s->by_row, f32);
    else
        cr_assert_null(s->by_row.start);
    for (uint64_t i = s->rows.begin; s->label != NULL && i < s->rows.end; i++)
        cr_assert_eq(s->label[i - s->rows.begin], m->label[i]);
}

/* Returns the entries in column order, and compares the counts of each
 * column. */
static oracle_entry *sort_columns(const oracle *m, const strads_data *data)
{
    oracle_entry *sorted = calloc(m->nnz + 1, sizeof *sorted);
    for (uint64_t i = 0; i < m->nnz; i++)
        sorted[i] = m->entry[i];
    qsort(sorted, m->nnz, sizeof *sorted, by_column);
    uint64_t next = 0;
    for (uint64_t j = 0; j < strads_data_cols(data); j++) {
        uint64_t from = next;
        while (next < m->nnz && sorted[next].col == j)
            next++;
        cr_assert_eq(strads_data_col_nnz(data, j), next - from);
    }
    return sorted;
}

/* Kept shares are adjacent and, if all are kept, cover everything. */
static void expect_cover(const strads_data *data, strads_data_options o,
                         uint32_t parts)
{
    uint32_t count = o.keep_count == 0 ? parts - o.keep_first : o.keep_count;
    const uint32_t across =
        o.split == STRADS_SPLIT_GRID && o.grid_cols > 1 ? o.grid_cols : 1;
    uint64_t row = 0, up_to = 0;
    uint64_t col = 0;
    for (uint32_t p = 0; p < parts; p++) {
        const strads_share *s = strads_data_share(data, p);
        cr_assert((s != NULL) ==
                  (p >= o.keep_first && p < o.keep_first + count));
        if (s == NULL)
            continue;
        cr_assert(s->partition == p && s->partitions == parts);
        bool first = p == o.keep_first && p > 0;
        if (o.split == STRADS_SPLIT_GRID && p % across == 0) {
            cr_assert(s->cols.begin == 0 &&
                      (p == 0 || col == 0 || col == strads_data_cols(data)));
            up_to = row;
            col = 0;
        }
        cr_assert(first || o.split == STRADS_SPLIT_COLS ||
                  s->rows.begin ==
                      (o.split == STRADS_SPLIT_GRID ? up_to : row));
        cr_assert(first || o.split == STRADS_SPLIT_ROWS ||
                  s->cols.begin == col);
        if (first)
            up_to = s->rows.begin;
        row = s->rows.end;
        col = s->cols.end;
    }
    cr_assert_null(strads_data_share(data, parts));
    if (o.keep_first + count == parts && count > 0)
        cr_assert(row == strads_data_rows(data) &&
                  col == strads_data_cols(data));
}

void oracle_expect_data(const oracle *m, const strads_data *data,
                        strads_data_options o, bool labels)
{
    uint32_t parts = o.partitions == 0 ? 1 : o.partitions;
    if (o.layout == 0)
        o.layout = STRADS_LAYOUT_COLS;
    cr_assert_eq(strads_data_rows(data), m->rows);
    cr_assert_eq(strads_data_cols(data),
                 m->cols > o.min_cols ? m->cols : o.min_cols);
    cr_assert_eq(strads_data_nnz(data), m->nnz);
    oracle_entry *sorted = sort_columns(m, data);
    for (uint32_t p = 0; p < parts; p++) {
        const strads_share *s = strads_data_share(data, p);
        if (s == NULL)
            continue;
        cr_assert((s->label != NULL) == labels);
        expect_share(m, sorted, s, o);
    }
    expect_cover(data, o, parts);
    expect_balance(m, data, o.split, parts);
    free(sorted);
}

void oracle_expect(const oracle *m, const char *path, strads_data_options o,
                   bool labels)
{
    strads_data *data = NULL;
    o.size = sizeof o;
    expect_ok(strads_data_read(path, &o, &data));
    oracle_expect_data(m, data, o, labels);
    strads_data_free(data);
}

/* ---- refused files ------------------------------------------------------- */

static void expect_sentence(const char *path, const oracle_wrong *wrong,
                            strads_err err)
{
    const char *text = strads_error_text();
    cr_assert_eq(err, wrong->err ? wrong->err : STRADS_EFORMAT, "%s: %s",
                 strads_error_name(err), text);
    cr_assert_not_null(strstr(text, path), "%s", text);
    for (size_t k = 0; k < 4 && wrong->part[k] != NULL; k++)
        cr_assert_not_null(strstr(text, wrong->part[k]), "'%s' in '%s'",
                           wrong->part[k], text);
    cr_assert_null(strchr(text, '\n'), "one sentence");
    cr_assert_lt(strlen(text), 600);
    for (const char *p = text; *p != '\0'; p++)
        cr_assert(*p >= ' ' && *p < 127, "printable");
}

void oracle_refuse(const char *path, strads_data_options options,
                   const oracle_wrong *wrong, bool too)
{
    const char *named = options.labels_path ? options.labels_path : path;
    options.size = sizeof options;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        strads_data *data = NULL;
        strads_data_summary summary;
        options.threads = options.partitions = threads;
        expect_sentence(named, wrong, strads_data_read(path, &options, &data));
        cr_assert_null(data);
        if (too)
            expect_sentence(named, wrong,
                            strads_data_summarize(path, &options, &summary));
    }
}

void oracle_refuse_all(const char *name, strads_data_options options,
                       const oracle_wrong *wrong, size_t n, bool too)
{
    for (size_t k = 0; k < n; k++) {
        const char *path = oracle_text(name, wrong[k].text);
        oracle_refuse(path, options, &wrong[k], too);
        oracle_refuse(oracle_gzip(path, 1), options, &wrong[k], too);
        oracle_refuse(oracle_zstd(path, 1), options, &wrong[k], too);
    }
}
