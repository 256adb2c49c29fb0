/* Packs: they read back as they were written, for families of shapes, values
 * and gaps, from memory and from files, whole and by partitions; their size;
 * and what damage is refused with. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data_oracle.h"
#include "engine/data/pack_format.h"
#include "strads/pack.h"
#include "tests/expect.h"
#include "tests/sample.h"

TestSuite(data_pack, .init = oracle_enter, .fini = oracle_leave);

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (state >> 33) % below;
}

/* Columns in memory, and a pack of them. */
typedef struct design {
    uint64_t rows, cols, nnz, capacity;
    uint64_t *start;
    uint32_t *row;
    double *value, *label;
} design;

static void add_entry(design *d, uint64_t row, double value)
{
    if (d->nnz == d->capacity) {
        d->capacity = 2 * d->capacity + 1024;
        d->row = realloc(d->row, d->capacity * sizeof *d->row);
        d->value = realloc(d->value, d->capacity * sizeof *d->value);
        cr_assert(d->row && d->value);
    }
    d->row[d->nnz] = (uint32_t)row;
    d->value[d->nnz++] = value;
}

typedef double value_of(uint64_t k);

/* Gaps are drawn below `gap`, one in `rare` of them below 1000 gap. */
typedef struct family {
    uint64_t rows, cols, gap, rare;
    value_of *value;
    const char *name;
} family;

static double one(uint64_t k)
{
    (void)k;
    return 1;
}

static double sign(uint64_t k)
{
    return k % 3 ? 1 : -1;
}

static double byte(uint64_t k)
{
    return (double)(k * 7919 % 255) / 64 - 2;
}

static double single(uint64_t k)
{
    return (double)((float)k * 0.1F);
}

static double wide(uint64_t k)
{
    return sin((double)k) * pow(10, (double)(k % 200) - 100);
}

static double zero(uint64_t k)
{
    return k % 4 == 0 ? 0. : k % 4 == 1 ? -0. : (double)(k % 4);
}

static design make_design(const family *f)
{
    design d = {.rows = f->rows, .cols = f->cols};
    state = f->rows + f->cols;
    d.start = calloc(f->cols + 1, sizeof *d.start);
    d.label = calloc(f->rows, sizeof *d.label);
    for (uint64_t j = 0; j < f->cols; j++) {
        const bool empty = j % 7 == 3;
        for (uint64_t row = draw(f->gap); row < f->rows && !empty;) {
            const uint64_t far = f->rare && draw(f->rare) == 0 ? 1000 : 1;
            add_entry(&d, row, f->value(draw(100000)));
            row += 1 + draw(f->gap * far);
        }
        d.start[j + 1] = d.nnz;
    }
    for (uint64_t i = 0; i < f->rows; i++)
        d.label[i] = (double)draw(1000) / 7 - 50;
    return d;
}

static void free_design(design *d)
{
    free(d->start);
    free(d->row);
    free(d->value);
    free(d->label);
}

static strads_data *data_of(const design *d)
{
    strads_data *data = NULL;
    const strads_columns columns = {.rows = d->rows,
                                    .cols = d->cols,
                                    .start = d->start,
                                    .index = d->row,
                                    .value = d->value,
                                    .label = d->label};
    expect_ok(strads_data_from_columns(&columns, NULL, &data));
    return data;
}

static const char *pack_design(const design *d, strads_pack_values values,
                               strads_pack_result *made)
{
    const char *path = oracle_path("d.pack");
    const strads_pack_options options = {.size = sizeof options,
                                         .values = values};
    strads_data *data = data_of(d);
    made->size = sizeof *made;
    expect_ok(strads_pack_write(data, path, &options, made));
    strads_data_free(data);
    return path;
}

/* The moments of each column, by their definition. */
static void expect_moments(const design *d, const strads_pack *pack)
{
    double *sum = calloc(d->cols + 1, sizeof *sum);
    double *centred = calloc(d->cols + 1, sizeof *centred);
    expect_ok(strads_pack_moments(pack, 0, d->cols, sum, centred));
    for (uint64_t j = 0; j < d->cols; j++) {
        double s = 0, scale = 0, c = 0;
        const uint64_t n = d->start[j + 1] - d->start[j];
        for (uint64_t e = d->start[j]; e < d->start[j + 1]; e++) {
            s += d->value[e];
            scale = fmax(scale, fabs(d->value[e]));
        }
        scale = scale > 0 ? scale : 1;
        const double mean = s / (double)d->rows;
        for (uint64_t e = d->start[j]; e < d->start[j + 1]; e++)
            c += pow((d->value[e] - mean) / scale, 2);
        c += (double)(d->rows - n) * pow(mean / scale, 2);
        cr_expect_float_eq(sum[j] / scale, s / scale, 1e-9 * (double)(n + 1));
        cr_expect_float_eq(centred[j] / scale / scale, c,
                           1e-9 * (double)(n + 1));
    }
    free(sum);
    free(centred);
}

/* Columns [begin, end) read back bit by bit. */
static void expect_columns(const design *d, const strads_pack *pack,
                           uint64_t begin, uint64_t end)
{
    const uint64_t first = d->start[begin], n = d->start[end] - first;
    uint64_t *start = calloc(end - begin + 1, sizeof *start);
    uint32_t *row = calloc(n + 1, sizeof *row);
    double *value = calloc(n + 1, sizeof *value);
    expect_ok(strads_pack_count(pack, begin, end, start));
    for (uint64_t j = begin; j <= end; j++)
        cr_assert_eq(start[j - begin], d->start[j] - first);
    expect_ok(strads_pack_columns(pack, begin, end, row, value));
    cr_assert_eq(n > 0 ? memcmp(row, d->row + first, n * sizeof *row) : 0, 0);
    cr_assert_eq(n > 0 ? memcmp(value, d->value + first, n * sizeof *value) : 0,
                 0);
    free(start);
    free(row);
    free(value);
}

/* Read as a data set, in every split; and looked over. */
static void expect_data(const design *d, const char *path)
{
    strads_data *data = data_of(d);
    strads_data_summary summary;
    expect_ok(strads_data_summarize(path, NULL, &summary));
    cr_expect_eq(summary.checksum, strads_data_checksum(data));
    for (uint32_t k = 1; k <= 4; k += 3)
        for (int split = 0; split < 4; split++) {
            if (!sample_takes_next(1))
                continue;
            strads_data *back = NULL, *same = NULL;
            const strads_data_options o = {.size = sizeof o,
                                           .partitions = k,
                                           .split = (strads_split)split,
                                           .layout = STRADS_LAYOUT_BOTH,
                                           .threads = 2,
                                           .grid_cols = k > 1 ? 2 : 1};
            const strads_columns columns = {.rows = d->rows,
                                            .cols = d->cols,
                                            .start = d->start,
                                            .index = d->row,
                                            .value = d->value,
                                            .label = d->label};
            expect_ok(strads_data_read(path, &o, &back));
            expect_ok(strads_data_from_columns(&columns, &o, &same));
            cr_assert_eq(strads_data_checksum(back),
                         strads_data_checksum(data));
            for (uint32_t p = 0; p < k; p++) {
                const strads_share *a = strads_data_share(back, p);
                const strads_share *b = strads_data_share(same, p);
                const strads_sparse *x[] = {&a->by_col, &a->by_row};
                const strads_sparse *y[] = {&b->by_col, &b->by_row};
                for (int side = 0; side < 2; side++) {
                    const uint64_t n = x[side]->nnz;
                    cr_assert_eq(n, y[side]->nnz);
                    cr_assert_eq(memcmp(x[side]->start, y[side]->start,
                                        (x[side]->lines + 1) * 8),
                                 0);
                    cr_assert_eq(memcmp(x[side]->index, y[side]->index, n * 4),
                                 0);
                    cr_assert_eq(memcmp(x[side]->f64, y[side]->f64, n * 8), 0);
                }
                cr_assert_eq(memcmp(a->label, b->label,
                                    (a->rows.end - a->rows.begin) * 8),
                             0);
            }
            strads_data_free(back);
            strads_data_free(same);
        }
    strads_data_free(data);
}

static const family families[] = {
    {1, 1, 1, 0, one, "one entry"},
    {5, 0, 1, 0, one, "no columns"},
    {3, 5, 2, 0, sign, "small"},
    {2000, 300, 40, 0, one, "ones"},
    {2000, 300, 40, 5, byte, "bytes, uneven gaps"},
    {50, 400, 1, 0, single, "dense f32"},
    {3000, 100, 9, 0, wide, "f64 of all magnitudes"},
    {200, 200, 3, 0, zero, "stored zeros"},
    {400000, 6, 2, 0, byte, "columns of nearly a chunk"},
    {300000, 3, 1, 0, single, "columns that are longer than a chunk"},
    {300000, 2000, 90000, 0, one, "wide gaps"},
    {300, 70000, 200, 0, sign, "more columns than a chunk"},
};

Test(data_pack, packed_data_reads_back)
{
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        const family *f = &families[k];
        design d = make_design(f);
        strads_pack_result made;
        const char *path = pack_design(&d, STRADS_PACK_EXACT, &made);
        strads_pack *pack = NULL;
        cr_log_info("%s: %.2f bytes an entry", f->name,
                    (double)made.file_bytes / (double)(d.nnz + 1));
        cr_assert_eq(made.nnz, d.nnz);
        expect_ok(strads_pack_open(path, &pack));
        expect_columns(&d, pack, 0, d.cols);
        for (int again = 0; again < 5 && d.cols > 0; again++) {
            const uint64_t begin = draw(d.cols);
            expect_columns(&d, pack, begin, begin + draw(d.cols - begin + 1));
        }
        expect_moments(&d, pack);
        strads_pack_free(pack);
        if (d.cols > 0)
            expect_data(&d, path);
        free_design(&d);
    }
}

Test(data_pack, sizes_stay_within_their_bounds)
{
    static const struct {
        value_of *value;
        double most;
    } cases[] = {{one, 3}, {byte, 4}};
    for (size_t k = 0; k < 2; k++) {
        /* 50 entries a column, as in a Lasso of 100,000 by 100,000,000 */
        const family f = {100000, 60000, 4000, 0, cases[k].value, "density"};
        design d = make_design(&f);
        strads_pack_result made;
        (void)pack_design(&d, STRADS_PACK_EXACT, &made);
        const double bytes = (double)made.file_bytes / (double)d.nnz;
        printf("%.3f bytes an entry, at most %g\n", bytes, cases[k].most);
        cr_expect_leq(bytes, cases[k].most);
        free_design(&d);
    }
}

/* Reads all chunks of [begin, end) twice: every column comes once, exactly, and
 * its product with v is x_j'v within the rounding of f32. */
static void expect_read(const design *d, const strads_pack *pack,
                        const uint64_t *bounds, bool direct, const float *v)
{
    strads_pack_reader *reader = NULL;
    expect_ok(
        strads_pack_reader_open(pack, bounds[0], bounds[1], direct, &reader));
    uint32_t *row = calloc(d->rows + 1, sizeof *row);
    double *value = calloc(d->rows + 1, sizeof *value);
    float *dot = calloc(STI_PACK_COLUMNS_MAX, sizeof *dot);
    for (int pass = 0; pass < 2; pass++) {
        strads_pack_chunk c;
        uint64_t at = d->start[bounds[0]], next = bounds[0];
        uint64_t done, total, before = 0;
        for (;;) {
            expect_ok(strads_pack_reader_next(reader, &c));
            strads_pack_progress(pack, &done, &total);
            cr_assert(done >= before && done <= total);
            cr_assert_eq(done == total, c.cols == 0);
            if (c.cols == 0)
                break;
            before = done;
            cr_assert_eq(c.first, c.continues ? next - 1 : next);
            next = c.first + c.cols;
            expect_ok(strads_pack_reader_dots(reader, v, dot));
            for (uint32_t k = 0; k < c.cols; k++) {
                const uint64_t n = c.start[k + 1] - c.start[k];
                double sum = 0, size = 0;
                expect_ok(strads_pack_reader_column(reader, k, row, value));
                cr_assert_eq(memcmp(row, d->row + at, n * sizeof *row), 0);
                cr_assert_eq(memcmp(value, d->value + at, n * sizeof *value),
                             0);
                for (uint64_t e = 0; e < n; e++) {
                    sum += value[e] * (double)v[row[e]];
                    size += fabs(value[e] * (double)v[row[e]]);
                    cr_assert_leq(fabs(value[e]), c.most);
                }
                if (c.most < 1e30)
                    cr_assert_leq(fabs((double)dot[k] - sum),
                                  0x1p-23 * ((double)n / 8 + 18) * size + 1e-30,
                                  "column %u of %llu: %g, %g", k,
                                  (unsigned long long)c.first, (double)dot[k],
                                  sum);
                at += n;
            }
        }
        cr_assert_eq(at, d->start[bounds[1]]);
        cr_assert_eq(next, bounds[1]);
    }
    uint64_t done, total;
    strads_pack_reader_close(reader);
    strads_pack_progress(pack, &done, &total);
    cr_assert(done == 0 && total == 0);
    free(row);
    free(value);
    free(dot);
}

Test(data_pack, a_reader_passes_every_column_once_a_pass)
{
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        design d = make_design(&families[k]);
        float *v = calloc(d.rows + 16, sizeof *v);
        for (uint64_t i = 0; i < d.rows; i++)
            v[i] = (float)sin((double)i);
        for (int values = 0; values < 3; values++) {
            strads_pack_result made;
            strads_pack *pack = NULL;
            if (values != STRADS_PACK_EXACT && families[k].value == wide)
                continue; /* does not fit */
            const char *path =
                pack_design(&d, (strads_pack_values)values, &made);
            expect_ok(strads_pack_open(path, &pack));
            /* Rounded values are the pack's own. */
            expect_ok(strads_pack_columns(pack, 0, d.cols, d.row, d.value));
            for (uint32_t parts = 1; parts <= 3; parts++) {
                if (!sample_takes_next(1))
                    continue;
                uint64_t bounds[4];
                strads_pack_cut(pack, parts, bounds);
                cr_assert(bounds[0] == 0 && bounds[parts] == d.cols);
                for (uint32_t p = 0; p < parts; p++)
                    expect_read(&d, pack, bounds + p, parts > 1, v);
            }
            strads_pack_free(pack);
        }
        free(v);
        free_design(&d);
    }
}

/* Values are rounded as asked, unless a chunk has few different ones. */
Test(data_pack, values_are_rounded_as_the_option_asks)
{
    const family f = {3000, 100, 9, 0, single, "rounded"};
    design d = make_design(&f);
    for (int values = STRADS_PACK_F16; values <= STRADS_PACK_F32; values++) {
        strads_pack_result made;
        for (uint64_t e = 0; e < d.nnz; e++)
            d.value[e] = sin((double)e) * (values == STRADS_PACK_F16 ? 6e4 : 1);
        const char *path = pack_design(&d, (strads_pack_values)values, &made);
        strads_pack *pack = NULL;
        double *value = calloc(d.nnz, sizeof *value);
        uint32_t *row = calloc(d.nnz, sizeof *row);
        expect_ok(strads_pack_open(path, &pack));
        expect_ok(strads_pack_columns(pack, 0, d.cols, row, value));
        for (uint64_t e = 0; e < d.nnz; e++) {
            const double step = values == STRADS_PACK_F16 ? 0x1p-11 : 0x1p-24;
            cr_assert_leq(fabs(value[e] - d.value[e]),
                          step * fabs(d.value[e]) + 0x1p-25);
        }
        strads_pack_free(pack);
        free(value);
        free(row);
    }
    d.value[0] = 7e4;
    strads_data *data = data_of(&d);
    const strads_pack_options o = {.size = sizeof o, .values = STRADS_PACK_F16};
    const char *path = oracle_path("refused.pack");
    expect_error(strads_pack_write(data, path, &o, NULL), STRADS_ELIMIT,
                 "does not fit f16");
    cr_assert_neq(access(path, F_OK), 0, "no file is left");
    strads_data_free(data);
    free_design(&d);
}

Test(data_pack, every_half_is_the_nearest_one)
{
    for (unsigned k = 0; k < 0x7c00; k++) {
        const double x = sti_half_value((uint16_t)k);
        const double next =
            k + 1 < 0x7c00 ? sti_half_value((uint16_t)(k + 1)) : 65536;
        const double middle = (x + next) / 2;
        cr_assert_eq(sti_half_of(x), k);
        cr_assert_eq(sti_half_of(-x), 0x8000 | k);
        cr_assert_eq(sti_half_of(nextafter(middle, 0)), k);
        cr_assert_eq(sti_half_of(nextafter(middle, 1e9)), k + 1);
        cr_assert_eq(sti_half_of(middle), k + (k & 1), "ties to even");
    }
}

/* ---- from files ---------------------------------------------------------- */

static uint64_t checksum_of(const char *path)
{
    strads_data *data = NULL;
    const strads_data_options o = {.size = sizeof o, .named_labels = true};
    expect_ok(strads_data_read(path, &o, &data));
    const uint64_t sum = strads_data_checksum(data);
    strads_data_free(data);
    return sum;
}

Test(data_pack, files_of_every_kind_are_packed)
{
    for (unsigned seed = 1; seed < 6; seed++) {
        const oracle_shape shape = {.rows = seed * seed * 7,
                                    .cols = 1 + seed * 31,
                                    .density = .1,
                                    .spread = 1 + seed % 3,
                                    .seed = seed};
        oracle m = oracle_random(shape);
        const char *path = oracle_write_libsvm(&m, "m.svm");
        const char *inputs[] = {path, oracle_gzip(path, 2),
                                oracle_zstd(path, 1)};
        const char *pack = oracle_path("m.pack");
        for (size_t k = 0; k < 3; k++) {
            expect_ok(strads_pack_files(&inputs[k], 1, pack, NULL, NULL, NULL));
            cr_assert_eq(checksum_of(pack), checksum_of(path));
        }
        for (uint32_t parts = 1; parts < 4; parts++)
            for (int split = 0; split < 3; split++)
                oracle_expect(
                    &m, pack,
                    (strads_data_options){.partitions = parts,
                                          .split = (strads_split)split,
                                          .layout = STRADS_LAYOUT_BOTH,
                                          .values = split == 1 ? STRADS_F32
                                                               : STRADS_F64},
                    true);
        /* a pack of a pack has the same bytes */
        const char *again = oracle_path("again.pack");
        expect_ok(strads_pack_files(&pack, 1, again, NULL, NULL, NULL));
        cr_assert_eq(checksum_of(again), checksum_of(pack));
        const char *market = oracle_write_market(&m, "m.mtx");
        expect_ok(strads_pack_files(&market, 1, pack, NULL, NULL, NULL));
        cr_assert_eq(checksum_of(pack), checksum_of(market));
        oracle_free(&m);
    }
}

/* Writes rows of one LIBSVM text to several files; returns their number. */
static size_t write_parts(const char *text, const char *paths[3], char *joined)
{
    static const char *const names[] = {"a.svm", "b.svm", "c.svm"};
    strcpy(joined, "");
    for (size_t k = 0; k < 3; k++) {
        paths[k] = oracle_text(names[k], text);
        strcat(joined, text);
        text += strlen(text) + 1;
    }
    return 3;
}

Test(data_pack, files_follow_each_other)
{
    static const char numbers[] = "1 1:1 3:2\n-1 2:.5\n\0"
                                  "2 9:1\n\0"
                                  "1\n3 1:4 9:1e-3\n";
    static const char names[] = "fox 1:1\nape 2:1\n\0owl 3:1\nape 1:2\n\0"
                                "fox 9:1\n";
    static const char *const texts[] = {numbers, names};
    for (size_t k = 0; k < 2; k++) {
        const char *paths[3];
        char joined[200];
        const size_t n = write_parts(texts[k], paths, joined);
        const char *pack = oracle_path("joined.pack");
        const strads_data_options o = {.size = sizeof o, .named_labels = true};
        expect_ok(strads_pack_files(paths, n, pack, &o, NULL, NULL));
        cr_expect_eq(checksum_of(pack),
                     checksum_of(oracle_text("joined.svm", joined)));
    }
    const char *mixed[] = {oracle_text("n.svm", "1 1:1\n"),
                           oracle_text("w.svm", "fox 1:1\n")};
    const strads_data_options o = {.size = sizeof o, .named_labels = true};
    expect_error(strads_pack_files(mixed, 2, oracle_path("x.pack"), &o, NULL,
                                   NULL),
                 STRADS_EINVAL, "names as labels");
}

/* Entries that exceed the memory are sorted on disk, also those of one column
 * that alone exceeds it; the result is the same. */
Test(data_pack, sorting_on_disk_changes_nothing)
{
    const char *text = oracle_path("large.svm");
    FILE *out = fopen(text, "w");
    cr_assert_not_null(out);
    state = 5;
    for (unsigned i = 0; i < 120000; i++) {
        (void)fprintf(out, "%u 1:%u", i % 7, 1 + i % 300);
        (void)fprintf(out, " %u:1", 2 + (unsigned)draw(500));
        (void)fprintf(out, " %u:0.25\n", 503 + (unsigned)draw(50000));
    }
    (void)fclose(out);
    const strads_data_options small = {.size = sizeof small,
                                       .memory_limit = 8 << 20};
    const char *pack = oracle_path("small.pack");
    const char *bad[] = {oracle_path("no/folder"), "/proc"};
    strads_pack_options o = {.size = sizeof o};
    expect_ok(strads_pack_files(&text, 1, pack, &small, &o, NULL));
    cr_assert_eq(checksum_of(pack), checksum_of(text));
    strads_data *data = NULL;
    expect_ok(strads_data_read(pack, NULL, &data));
    cr_assert_eq(strads_data_col_nnz(data, 0), 120000);
    strads_data_free(data);
    for (size_t k = 0; k < 2; k++) {
        o.scratch = bad[k];
        expect_error(strads_pack_files(&text, 1, oracle_path("never.pack"),
                                       &small, &o, NULL),
                     STRADS_EIO, bad[k]);
        cr_assert_neq(access(oracle_path("never.pack"), F_OK), 0);
    }
}

/* A column that is longer than a bucket, with all entries in a few rows of
 * many: one of its buckets has all of them. */
Test(data_pack, a_long_column_of_adjacent_rows_is_sorted_on_disk)
{
    const char *text = oracle_path("clustered.svm");
    FILE *out = fopen(text, "w");
    cr_assert_not_null(out);
    for (unsigned i = 0; i < 900000; i++)
        if (i < 100000)
            (void)fprintf(out, "1 3:%u\n", i % 1000 + 1);
        else
            (void)fputs("0\n", out);
    (void)fclose(out);
    const strads_data_options small = {.size = sizeof small,
                                       .memory_limit = 16 << 20};
    const char *pack = oracle_path("clustered.pack");
    expect_ok(strads_pack_files(&text, 1, pack, &small, NULL, NULL));
    cr_assert_eq(checksum_of(pack), checksum_of(text));
}

static bool stop_now(void *arg, strads_pack_phase phase, uint64_t done,
                     uint64_t total)
{
    int *calls = arg;
    cr_assert(phase <= STRADS_PACK_WRITES && (total == 0 || done <= total));
    return --*calls > 0;
}

Test(data_pack, packing_can_be_stopped_at_any_report)
{
    oracle m = oracle_random((oracle_shape){
        .rows = 500, .cols = 100, .density = .2, .spread = 1, .seed = 3});
    const char *text = oracle_write_libsvm(&m, "m.svm");
    const char *pack = oracle_path("stopped.pack");
    strads_err err = STRADS_ECANCELED;
    int tried = 0;
    while (err != STRADS_OK) {
        int calls = ++tried;
        const strads_pack_options o = {.size = sizeof o,
                                       .progress = stop_now,
                                       .arg = &calls};
        err = strads_pack_files(&text, 1, pack, NULL, &o, NULL);
        cr_assert(err == STRADS_OK || err == STRADS_ECANCELED);
        cr_assert_eq(access(pack, F_OK) == 0, err == STRADS_OK);
    }
    cr_assert_gt(tried, 2);
    oracle_free(&m);
}

static bool die_now(void *arg, strads_pack_phase phase, uint64_t done,
                    uint64_t total)
{
    int *calls = arg;
    (void)phase, (void)done, (void)total;
    if (--*calls == 0)
        (void)kill(getpid(), SIGKILL);
    return true;
}

static size_t files_in(const char *folder)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += e->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

/* A process that is killed at any report leaves no file, neither of the pack
 * nor of its scratch space, where the file system has files without a name. */
Test(data_pack, a_killed_process_leaves_no_file)
{
    oracle m = oracle_random((oracle_shape){
        .rows = 6000, .cols = 1000, .density = .05, .spread = 1, .seed = 4});
    const char *text = oracle_write_libsvm(&m, "m.svm");
    const char *folder = oracle_path("kept");
    cr_assert_eq(mkdir(folder, 0700), 0);
    const int probe = open(folder, O_TMPFILE | O_RDWR, 0600);
    int killed = 0, status = 0;
    char pack[4096];
    (void)snprintf(pack, sizeof pack, "%s/x.pack", folder);
    if (probe < 0)
        cr_skip_test("files without a name are not supported here");
    (void)close(probe);
    do {
        int calls = killed + 1;
        const strads_data_options small = {.size = sizeof small,
                                           .memory_limit = 1 << 20,
                                           .threads = 1};
        const strads_pack_options o = {.size = sizeof o,
                                       .progress = die_now,
                                       .arg = &calls};
        const pid_t child = fork();
        if (child == 0) {
            (void)strads_pack_files(&text, 1, pack, &small, &o, NULL);
            _exit(0);
        }
        cr_assert_eq(waitpid(child, &status, 0), child);
        killed += WIFSIGNALED(status);
        cr_assert_eq(files_in(folder), WIFSIGNALED(status) ? 0 : 1);
    } while (WIFSIGNALED(status));
    cr_assert_gt(killed, 2);
    oracle_free(&m);
}

/* ---- damage -------------------------------------------------------------- */

typedef struct bytes {
    uint8_t *at;
    size_t size;
} bytes;

static bytes read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    bytes b = {NULL, 0};
    cr_assert_not_null(f);
    (void)fseek(f, 0, SEEK_END);
    b.size = (size_t)ftell(f);
    rewind(f);
    b.at = malloc(b.size);
    cr_assert_eq(fread(b.at, 1, b.size, f), b.size);
    (void)fclose(f);
    return b;
}

/* Reading fails with the same error in both ways, and one sentence. */
static strads_err read_wrong(const bytes *b, size_t size)
{
    strads_data *data = NULL;
    strads_data_summary summary;
    const char *path = oracle_write("wrong.pack", b->at, size);
    const strads_err err = strads_data_read(path, NULL, &data);
    cr_assert_eq(strads_data_summarize(path, NULL, &summary), err);
    if (err != STRADS_OK) {
        expect_says(path);
        cr_assert_null(strchr(strads_error_text(), '\n'));
    }
    strads_data_free(data);
    return err;
}

Test(data_pack, damage_is_found_and_its_chunk_is_named)
{
    const family f = {300000, 3, 1, 0, one, "several chunks"};
    design d = make_design(&f);
    strads_pack_result made;
    const char *path = pack_design(&d, STRADS_PACK_EXACT, &made);
    bytes b = read_all(path);
    strads_pack *pack = NULL;
    expect_ok(strads_pack_open(path, &pack));
    cr_assert_gt(pack->chunks, 3);
    for (uint64_t k = 0; k < pack->chunks; k++)
        for (uint64_t at = 0; at < pack->chunk[k].bytes; at += 1 + 3 * at) {
            char says[64];
            uint8_t *byte = b.at + pack->chunk[k].offset + at;
            (void)snprintf(says, sizeof says, "chunk %u of %u", (unsigned)k,
                           (unsigned)pack->chunks);
            *byte ^= 0x10;
            cr_assert_eq(read_wrong(&b, b.size), STRADS_EFORMAT);
            expect_says(says);
            *byte ^= 0x10;
        }
    for (int k = 1; k < STI_PACK_SECTIONS; k++)
        if (pack->section[k].bytes > 0) {
            b.at[pack->section[k].offset] ^= 1;
            cr_assert_eq(read_wrong(&b, b.size), STRADS_EFORMAT);
            b.at[pack->section[k].offset] ^= 1;
        }
    for (size_t at = 0; at < STI_PACK_HEADER; at += 3) {
        b.at[at] ^= 0x40;
        cr_assert_neq(read_wrong(&b, b.size), STRADS_OK, "byte %zu", at);
        b.at[at] ^= 0x40;
    }
    for (size_t size = 8; size < b.size; size += 1 + size / 2) {
        cr_assert_eq(read_wrong(&b, size), STRADS_EFORMAT);
        expect_says("cut short");
    }
    cr_assert_eq(read_wrong(&b, b.size), STRADS_OK);
    b.at[8] = 2;
    cr_assert_eq(read_wrong(&b, b.size), STRADS_EMISMATCH);
    expect_says("version 2");
    strads_pack_free(pack);
    free(b.at);
    free_design(&d);
}

Test(data_pack, a_pack_that_shrinks_or_changes_under_its_reader_is_an_error)
{
    const family f = {5000, 50, 5, 0, byte, "changing"};
    design d = make_design(&f);
    strads_pack_result made;
    const char *path = pack_design(&d, STRADS_PACK_EXACT, &made);
    uint64_t *start = calloc(d.cols + 1, sizeof *start);
    strads_pack *pack = NULL;
    expect_ok(strads_pack_open(path, &pack));
    /* A new file under the same name does not matter to the open one. */
    (void)pack_design(&d, STRADS_PACK_F32, &made);
    expect_ok(strads_pack_count(pack, 0, d.cols, start));
    strads_pack_free(pack);
    expect_ok(strads_pack_open(path, &pack));
    cr_assert_eq(truncate(path, 5000), 0);
    expect_error(strads_pack_count(pack, 0, d.cols, start), STRADS_EIO,
                 "shorter");
    strads_pack_free(pack);
    free(start);
    free_design(&d);
}

Test(data_pack, options_that_do_not_suit_a_pack_are_refused)
{
    const char *text = oracle_text("a.svm", "1 1:1\n2 2:1\n");
    const char *pack = oracle_path("a.pack");
    strads_data *data = NULL;
    expect_ok(strads_pack_files(&text, 1, pack, NULL, NULL, NULL));
    strads_data_options o = {.size = sizeof o, .target = "y"};
    expect_error(strads_data_read(pack, &o, &data), STRADS_EINVAL, "target");
    o = (strads_data_options){.size = sizeof o, .labels_path = text};
    expect_error(strads_data_read(pack, &o, &data), STRADS_EINVAL,
                 "has labels");
    o = (strads_data_options){.size = sizeof o, .kind = STRADS_KIND_CORPUS};
    expect_error(strads_data_read(pack, &o, &data), STRADS_EFORMAT,
                 "a pack of samples");
    o = (strads_data_options){.size = sizeof o, .memory_limit = 4};
    expect_error(strads_data_read(pack, &o, &data), STRADS_ENOMEM, "bytes");
    o = (strads_data_options){.size = sizeof o, .min_cols = 1, .most_cols = 1};
    expect_ok(strads_data_read(pack, &o, &data));
    cr_assert_eq(strads_data_cols(data), 1);
    cr_assert_eq(strads_data_nnz(data), 1);
    strads_data *same = NULL;
    expect_ok(strads_data_read(text, &o, &same));
    cr_assert_eq(strads_data_checksum(data), strads_data_checksum(same));
    strads_data_free(same);
    strads_data_free(data);
}
