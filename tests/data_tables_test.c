/* Tables in every notation, against the same samples as LIBSVM text. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_tables, .init = oracle_enter, .fini = oracle_leave);

enum { ROWS = 400 };

static const char *const texts[] = {"blue", "green", "red \"ish\"", "white"};

typedef struct row {
    double label, size, age;
    int colour; /* of texts; -1: missing */
    bool no_age;
} row;

static row *random_rows(unsigned seed)
{
    row *rows = calloc(ROWS, sizeof *rows);
    srand(seed);
    for (int i = 0; i < ROWS; i++)
        rows[i] = (row){.label = rand() % 100 - 50,
                        .size = rand() % 3 ? rand() % 1000 / 8.0 : 0,
                        .age = rand() % 64,
                        .colour = rand() % 4,
                        .no_age = rand() % 10 == 0};
    return rows;
}

typedef struct style {
    char separator;
    const char *end, *quote, *missing, *name;
} style;

static const char *write_table(const row *rows, const style *s)
{
    const char *path = oracle_path(s->name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    const char c = s->separator, *q = s->quote;
    (void)fprintf(f, "\xef\xbb\xbf%ssize, m2%s%cid%c%scolour%s%cage%cprice%s",
                  "\"", "\"", c, c, q, q, c, c, s->end);
    for (int i = 0; i < ROWS; i++) {
        char age[16];
        (void)snprintf(age, sizeof age, "%g", rows[i].age);
        const bool plain = rows[i].colour != 2 && *q == '\0';
        (void)fprintf(f, "%.17g%cx%d%c%s%s%s%c%s%c%s%g%s%s", rows[i].size, c, i,
                      c, plain ? "" : "\"",
                      rows[i].colour == 2 ? "red \"\"ish\"\""
                                          : texts[rows[i].colour],
                      plain ? "" : "\"", c, rows[i].no_age ? s->missing : age,
                      c, q, rows[i].label, q, s->end);
        if (i % 97 == 5)
            (void)fputs(s->end, f); /* a blank line */
    }
    (void)fclose(f);
    return path;
}

/* Columns: size, four colours, age. */
static const char *write_sparse(const row *rows)
{
    const char *path = oracle_path("same.svm");
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    double sum = 0;
    int n = 0;
    for (int i = 0; i < ROWS; i++) {
        sum += rows[i].no_age ? 0 : rows[i].age;
        n += !rows[i].no_age;
    }
    for (int i = 0; i < ROWS; i++) {
        const double age = rows[i].no_age ? sum / n : rows[i].age;
        (void)fprintf(f, "%g", rows[i].label);
        if (rows[i].size != 0)
            (void)fprintf(f, " 1:%.17g", rows[i].size);
        (void)fprintf(f, " %d:1", 2 + rows[i].colour);
        if (age != 0)
            (void)fprintf(f, " 6:%.17g", age);
        (void)fputc('\n', f);
    }
    (void)fclose(f);
    return path;
}

static const strads_data_options how = {.size = sizeof how,
                                        .layout = STRADS_LAYOUT_BOTH,
                                        .target = "price",
                                        .drop = "id",
                                        .categorical = "one-hot",
                                        .missing = "mean"};

Test(data_tables, a_table_equals_the_same_samples_as_libsvm)
{
    static const style styles[] = {{',', "\n", "", "", "a.csv"},
                                   {';', "\r\n", "", "NA", "b.csv"},
                                   {'\t', "\n", "\"", "null", "c.tsv"},
                                   {',', "\r\n", "\"", "?", "d.csv"}};
    row *rows = random_rows(7);
    strads_data *same = NULL;
    const strads_data_options plain = {.size = sizeof plain};
    cr_assert_eq(strads_data_read(write_sparse(rows), &plain, &same),
                 STRADS_OK);
    for (size_t k = 0; k < 8; k++) {
        strads_data_options o = how;
        strads_data *data = NULL;
        strads_data_summary summary;
        const char *path = write_table(rows, &styles[k / 2]);
        path = k % 2 == 0   ? path
               : k % 4 == 1 ? oracle_gzip(path, 2)
                            : oracle_zstd(path, 2);
        o.partitions = 1 + (uint32_t)k;
        o.split = k % 3 == 0   ? STRADS_SPLIT_ROWS
                  : k % 3 == 1 ? STRADS_SPLIT_COLS
                               : STRADS_SPLIT_BOTH;
        expect_ok(strads_data_read(path, &o, &data));
        cr_expect_eq(strads_data_checksum(data), strads_data_checksum(same),
                     "style %zu", k / 2);
        const strads_names *names = strads_data_col_names(data);
        cr_expect_eq(strads_names_count(names), 6);
        cr_expect_str_eq(strads_names_at(names, 0), "size, m2");
        cr_expect_str_eq(strads_names_at(names, 3), "colour=red \"ish\"");
        cr_expect_eq(strads_data_col_means(data)[2], 0);
        cr_expect_gt(strads_data_col_means(data)[5], 0);
        cr_expect_eq(strads_data_share(data, 0)->col_names, names);
        o.partitions = 1;
        cr_assert_eq(strads_data_summarize(path, &o, &summary), STRADS_OK);
        cr_expect_eq(summary.checksum, strads_data_checksum(same));
        cr_expect_eq(summary.rows, ROWS);
        strads_data_free(data);
    }
    strads_data_free(same);
    free(rows);
}

/* As with a model: other order, other columns, unknown texts. */
Test(data_tables, known_columns_are_found_by_name)
{
    strads_data *data = NULL;
    strads_names *names = NULL;
    uint32_t n;
    static const char *const known[] = {"b", "c=x", "c=y", "a"};
    static const double means[] = {0, 0, 0, 7};
    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    for (int k = 0; k < 4; k++)
        cr_assert_eq(strads_names_add(names, known[k], strlen(known[k]), &n),
                     STRADS_OK);
    const strads_data_options o = {.size = sizeof o,
                                   .layout = STRADS_LAYOUT_ROWS,
                                   .table = true,
                                   .target = "t",
                                   .col_names = names,
                                   .col_means = means};
    const char *path =
        oracle_text("n.csv", "a,new,c,b\n1,9,y,2\n,9,z,4\n0,9,x,0\n");
    expect_ok(strads_data_read(path, &o, &data));
    const strads_sparse *x = &strads_data_share(data, 0)->by_row;
    const uint32_t index[] = {0, 2, 3, 0, 3, 1};
    const double value[] = {2, 1, 1, 4, 7, 1};
    cr_assert_eq(x->nnz, 6);
    for (int e = 0; e < 6; e++) {
        cr_expect_eq(x->index[e], index[e], "entry %d", e);
        cr_expect_eq(x->f64[e], value[e], "entry %d", e);
    }
    cr_expect_eq(strads_data_unknown(data), 1, "z");
    cr_expect_null(strads_data_share(data, 0)->label);
    strads_data_free(data);
    /* The same columns in a file with numbers. */
    expect_ok(
        strads_data_read(oracle_text("n.svm", "1 1:2 3:1 4:1\n"), &o, &data));
    cr_expect_eq(strads_data_cols(data), 4);
    strads_data_free(data);
    expect_error(strads_data_read(oracle_text("o.csv", "a,b\n1,2\n"), &o,
                                  &data),
                 STRADS_EFORMAT, "no column for 'c=x'");
    strads_names_free(names);
}

Test(data_tables, labels_may_be_names)
{
    strads_data *data = NULL;
    strads_data_options o = {.size = sizeof o,
                             .target = "kind",
                             .named_labels = true};
    const char *path = oracle_text("l.csv", "x,kind\n1,spam\n2,ham\n3,spam\n");
    expect_ok(strads_data_read(path, &o, &data));
    const strads_names *names = strads_data_label_names(data);
    cr_assert_eq(strads_names_count(names), 2);
    cr_expect_str_eq(strads_names_at(names, 0), "ham");
    const double *label = strads_data_share(data, 0)->label;
    cr_expect(label[0] == 1 && label[1] == 0 && label[2] == 1);
    /* An unknown label name gets the next number. */
    strads_data *more = NULL;
    o.label_names = names;
    path = oracle_text("m.csv", "kind,x\neggs,1\nham,2\n");
    expect_ok(strads_data_read(path, &o, &more));
    label = strads_data_share(more, 0)->label;
    cr_expect(label[0] == 2 && label[1] == 0);
    strads_data_free(more);
    strads_data_free(data);
}

/* The same samples with an index, line ends in quotes, CR. */
Test(data_tables, an_index_and_line_ends_of_any_kind_change_nothing)
{
    static const struct {
        const char *text, *drop;
    } cases[] = {{"a,t\n1,2\n3,4\n5,7\n", NULL},
                 {",a,t\n0,1,2\n1,3,4\n2,5,7\n", NULL},
                 {"\"\",\"\",a,t\nx,0,1,2\nx,1,3,4\ny,0,5,7\n", NULL},
                 {",a,t\n0,1,2\n1,3,4\n2,5,7\n", ""},
                 {"a,,t,\n1,x,2,\n3,,4,\n5,\"\n\",7,\n", ""},
                 {"note,a,t\n\"two\nlines\",1,2\nx,3,4\n\"\n\n\"\"\n\",5,7\n",
                  "note"},
                 {"\"no\nte\",,a,t\nx,y,1,2\nx,y,3,4\nx,y,5,7\n", ",no te"},
                 {"a,t\r1,2\r3,4\r5,7\r", NULL},
                 {"a,t\r\n1,2\r\n3,4\r\n5,7", NULL},
                 {"note,a,t\r\n\"x\r\ny\",1,2\r\nx,3,4\r\nx,5,7\r\n", "note"},
                 {"note,a,t\r\"x\ry\",1,2\rx,3,4\rx,5,7", "note"}};
    uint64_t first = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const strads_data_options o = {.size = sizeof o,
                                       .target = "t",
                                       .drop = cases[k].drop};
        const char *path = oracle_text("i.csv", cases[k].text);
        const char *paths[] = {path, oracle_gzip(path, 1)};
        for (size_t j = 0; j < 2; j++) {
            strads_data *data = NULL;
            const strads_err err = strads_data_read(paths[j], &o, &data);
            cr_assert_eq(err, STRADS_OK, "case %zu: %s", k,
                         strads_error_text());
            first = first ? first : strads_data_checksum(data);
            cr_expect_eq(strads_data_checksum(data), first, "case %zu", k);
            cr_expect_str_eq(strads_names_at(strads_data_col_names(data), 0),
                             "a");
            strads_data_free(data);
        }
    }
}

Test(data_tables, errors_are_reported_with_line_and_column)
{
    static const struct {
        const char *text, *says;
        strads_err err;
    } cases[] = {
        {"a,t\n1,2\nx,3\n", "line 3: found 'x' in column 'a'", STRADS_EFORMAT},
        {"a,t\n1,2\n\n1,\n", "line 4: found '' in column 't'", STRADS_EFORMAT},
        {"a,t\n,2\n", "line 2: found '' in column 'a'", STRADS_EFORMAT},
        {"a,t\n1,2,3\n", "line 2: found 3 fields, expected 2", STRADS_EFORMAT},
        {"a,t\n1\n", "line 2: found 1 fields, expected 2", STRADS_EFORMAT},
        {"a,t\n\"1,2\n3,4\n", "line 2: found '\"1,2', expected a field with",
         STRADS_EFORMAT},
        {"a,t\n\"1\"x,2\n", "expected a field with quotes", STRADS_EFORMAT},
        {"a,a,t\n1,2,3\n", "line 1: the header has column 'a' twice",
         STRADS_EFORMAT},
        {"a,,t\n1,2,3\n", "field 2 of the header has no name", STRADS_EFORMAT},
        {"a,t\n1,2,\n", "line 2: found 3 fields, expected 2", STRADS_EFORMAT},
        {"a,\"n\nb\",t\n1,\"x\n\",3\n1,x,\n", "line 3: found 'x",
         STRADS_EFORMAT},
        {"<!doctype html>\n", "is a web page", STRADS_EFORMAT},
        {"a\xff,t\n1,2\n", "line 1, field 1: expected a name", STRADS_EFORMAT},
        {"a,u\n1,2\n", "has no column 't', which --target names",
         STRADS_EINVAL},
        {"a,t\n", "found no rows behind its header", STRADS_EFORMAT},
        {"a,t\n1e999,2\n", "a number that a double can hold", STRADS_EFORMAT},
        {"a,t\ninf,2\n", "a number that a double can hold", STRADS_EFORMAT},
        {"a,t\n1,ham\n", "in column 't', expected a label", STRADS_EFORMAT},
        {"t\n1\n", "", STRADS_OK}, /* no columns: the programs report this */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        strads_data *data = NULL;
        const strads_data_options o = {.size = sizeof o, .target = "t"};
        const char *path = oracle_text("w.csv", cases[k].text);
        cr_expect_eq(strads_data_read(path, &o, &data), cases[k].err,
                     "case %zu: %s", k, strads_error_text());
        if (cases[k].err)
            cr_expect(strstr(strads_error_text(), cases[k].says),
                      "case %zu: %s", k, strads_error_text());
        strads_data_free(data);
    }
}

Test(data_tables, options_that_contradict_the_header_are_refused)
{
    static const struct {
        strads_data_options o;
        const char *says;
    } cases[] = {
        {{.drop = "b"}, "has no column 'b', which --drop names"},
        {{.drop = "t"}, "--drop names the target"},
        {{.categorical = "one-hot=a,c"}, "'c', which --categorical names"},
        {{.categorical = "ordinal"}, "expected one-hot or one-hot=NAMES"},
        {{.missing = "zero"}, "expected refuse or mean"},
        {{.labels_path = "/dev/null"}, "with its labels in a column"},
    };
    const char *path = oracle_text("o.csv", "a,t\n1,2\n");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        strads_data *data = NULL;
        strads_data_options o = cases[k].o;
        o.size = sizeof o;
        o.target = "t";
        expect_error(strads_data_read(path, &o, &data), STRADS_EINVAL,
                     cases[k].says);
    }
}

Test(data_tables, a_budget_is_kept)
{
    strads_data *data = NULL;
    const strads_data_options o = {.size = sizeof o,
                                   .target = "t",
                                   .memory_limit = 100000};
    char *text = malloc(400000);
    size_t at = (size_t)sprintf(text, "a,t\n");
    while (at < 399000)
        at += (size_t)sprintf(text + at, "1,2\n");
    const char *path = oracle_text("big.csv", text);
    expect_error(strads_data_read(path, &o, &data), STRADS_ENOMEM,
                 "100000 bytes");
    free(text);
}
