/* Ratings with numbered and named users and items, in every notation,
 * against a table that keeps the last rating of each pair. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_ratings, .init = oracle_enter, .fini = oracle_leave);

enum { USERS = 90, ITEMS = 60, RATINGS = 3000 };

/* Ratings in file order, and the table of last ratings. */
typedef struct rated {
    uint32_t user[RATINGS], item[RATINGS];
    double value[RATINGS];
    oracle kept;
    uint64_t repeated;
} rated;

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static rated *random_ratings(unsigned seed)
{
    static double last[USERS][ITEMS];
    static bool there[USERS][ITEMS];
    rated *r = calloc(1, sizeof *r);
    uint64_t state = seed;
    memset(there, 0, sizeof there);
    for (uint32_t k = 0; k < RATINGS; k++) {
        /* The first ratings use every user and item, in order of their
         * numbers. */
        uint32_t u = k < USERS ? k : (uint32_t)(draw(&state) % USERS);
        uint32_t i = k < ITEMS ? k : (uint32_t)(draw(&state) % ITEMS);
        r->user[k] = u;
        r->item[k] = i;
        r->value[k] = (double)(draw(&state) % 11) / 2 - 1;
        r->repeated += there[u][i];
        there[u][i] = true;
        last[u][i] = r->value[k];
    }
    oracle *m = &r->kept;
    *m = (oracle){.rows = USERS, .cols = ITEMS};
    m->entry = calloc(RATINGS, sizeof *m->entry);
    for (uint32_t u = 0; u < USERS; u++)
        for (uint32_t i = 0; i < ITEMS; i++)
            if (there[u][i])
                m->entry[m->nnz++] = (oracle_entry){u, i, last[u][i]};
    return r;
}

static void free_ratings(rated *r)
{
    oracle_free(&r->kept);
    free(r);
}

static const char *write_ratings(const rated *r, const char *header,
                                 const char *format)
{
    const char *path = oracle_path("ratings.txt");
    FILE *file = fopen(path, "w");
    (void)fputs(header, file);
    for (uint32_t k = 0; k < RATINGS; k++)
        (void)fprintf(file, format, r->user[k], r->item[k], r->value[k]);
    (void)fclose(file);
    return path;
}

/* Compares share by share: the data set's totals include repeats. */
static void expect_shares(const rated *r, const strads_data *data)
{
    const oracle *m = &r->kept;
    uint64_t seen = 0;
    for (uint32_t p = 0; strads_data_share(data, p) != NULL; p++) {
        const strads_share *share = strads_data_share(data, p);
        const strads_sparse *x = &share->by_row;
        for (uint64_t k = 0; k < x->lines; k++) {
            for (uint64_t at = x->start[k]; at < x->start[k + 1]; at++) {
                const oracle_entry *e = &m->entry[seen++];
                cr_assert_eq(e->row, share->rows.begin + k);
                cr_assert_eq(e->col, x->index[at]);
                cr_assert_eq(e->value,
                             x->f64 ? x->f64[at] : (double)x->f32[at]);
            }
        }
        cr_assert_eq(x->nnz, x->start[x->lines]);
        cr_assert_eq(share->by_col.nnz, x->nnz);
    }
    cr_assert_eq(seen, m->nnz);
}

static void expect_ratings(const rated *r, const char *path)
{
    for (uint32_t k = 0; k < 4; k++) {
        strads_data_options o = {.size = sizeof o,
                                 .kind = STRADS_KIND_RATINGS,
                                 .threads = 1 + k,
                                 .partitions = 1 + k,
                                 .values = k % 2 ? STRADS_F32 : STRADS_F64,
                                 .layout = STRADS_LAYOUT_BOTH};
        strads_data *data = NULL;
        expect_ok(strads_data_read(path, &o, &data));
        cr_assert_eq(strads_data_rows(data), USERS);
        cr_assert_eq(strads_data_cols(data), ITEMS);
        cr_assert_eq(strads_data_nnz(data), RATINGS);
        cr_assert_eq(strads_data_repeated(data), r->repeated);
        cr_assert_eq(strads_data_unknown(data), 0);
        expect_shares(r, data);
        strads_data_free(data);
    }
}

Test(data_ratings, of_numbered_users_and_items_keep_the_last_of_each_pair)
{
    rated *r = random_ratings(1);
    cr_assert_gt(r->repeated, 100);
    const char *path = write_ratings(r, "", "%u %u %.1f\n");
    expect_ratings(r, path);
    expect_ratings(r, oracle_gzip(path, 2));
    expect_ratings(r, oracle_zstd(path, 1));
    expect_ratings(r, write_ratings(r, "", " %u\t%u  %.1f \r\n"));
    expect_ratings(r, write_ratings(r, "", "%u::%u::%.1f::978300760\n"));
    free_ratings(r);
}

/* Lines in other notations than the first one, and no line end at the end of
 * the file; the second pass has commas. */
Test(data_ratings, of_numbers_may_be_written_in_any_way_on_any_line)
{
    static const char *const way[2][6] = {
        {"%u %u %g\n", "%u\t%u\t%g\n", "  %u   %u %g \n", "%u %u %g\r\n",
         "%09u %010u %+.3f\n", "%u %u %.17f\n\n"},
        {"%u,%u,%g\n", "%u, %u, %g\n", "\"%u\",%u,%g\n", "%u,%u,%g\r\n",
         "%09u,%010u,%+.3f\n", "  %u,%u,%.1e\n\n"}};
    for (unsigned comma = 0; comma < 2; comma++) {
        rated *r = random_ratings(7 + comma);
        const char *path = oracle_path("ratings.txt");
        FILE *file = fopen(path, "w");
        for (uint32_t k = 0; k < RATINGS; k++)
            (void)fprintf(file,
                          k + 1 < RATINGS ? way[comma][k % 6]
                          : comma         ? "%u,%u,%g"
                                          : "%u %u %g",
                          r->user[k], r->item[k], r->value[k]);
        (void)fclose(file);
        expect_ratings(r, path);
        free_ratings(r);
    }
}

Test(data_ratings, behind_a_header_have_named_users_and_items)
{
    rated *r = random_ratings(2);
    expect_ratings(r, write_ratings(r, "user,item,rating\n", "u%u,%u,%.1f\n"));
    expect_ratings(r,
                   write_ratings(r, "\xef\xbb\xbfuserId;movieId;rating;time\n",
                                 "%u;m%u;%.1f;5\r\n"));
    expect_ratings(r, write_ratings(r, "user\titem\trating\n",
                                    "\"the \"\"%u\"\"\"\t%u\t\"%.1f\"\n"));
    expect_ratings(r, oracle_gzip(write_ratings(r, "", "u%u,i%u,%.1f\n"), 1));
    free_ratings(r);
}

static strads_data *read_as(const char *text, strads_data_options o)
{
    strads_data *data = NULL;
    o.size = sizeof o;
    o.kind = STRADS_KIND_RATINGS;
    o.layout = STRADS_LAYOUT_ROWS;
    expect_ok(strads_data_read(oracle_text("r.csv", text), &o, &data));
    return data;
}

static strads_data *read_ratings(const char *text, const strads_names *users,
                                 const strads_names *items)
{
    return read_as(text, (strads_data_options){.row_names = users,
                                               .col_names = items});
}

/* In any column order, user u0 gives item i1 a 4. */
Test(data_ratings, are_in_the_columns_of_the_header)
{
    static const struct {
        const char *text;
        strads_data_options named;
    } file[] = {
        {"item,user,rating\ni0,u0,3\ni1,u0,4\n", {0}},
        {"rating;userId;timestamp;movieId\n3;u0;9;i0\n4;u0;9;i1\n", {0}},
        {"user_id:token\trating:float\titem_id:token\nu0\t3\ti0\n"
         "u0\t4\ti1\n",
         {0}},
        {"a,b,c\nu0,i0,3\nu0,i1,4\n", {0}},
        {"day,who,what,how\n9,u0,i0,3\n9,u0,i1,4\n",
         {.user = "who", .item = "What", .rating = "how"}},
        {"item,user,stars,overall\ni0,u0,1,3\ni1,u0,1,4\n",
         {.rating = "overall"}},
    };
    for (size_t k = 0; k < sizeof file / sizeof *file; k++) {
        strads_data *data = read_as(file[k].text, file[k].named);
        const strads_sparse *x = &strads_data_share(data, 0)->by_row;
        const strads_names *users = strads_data_row_names(data);
        const strads_names *items = strads_data_col_names(data);
        cr_assert_eq(strads_names_count(users), 1, "file %zu", k);
        cr_assert_str_eq(strads_names_at(users, 0), "u0");
        cr_assert_str_eq(strads_names_at(items, 1), "i1");
        cr_assert(x->nnz == 2 && x->f64[1] == 4, "file %zu", k);
        strads_data_free(data);
    }
    strads_data *data = NULL;
    const strads_data_options none = {.size = sizeof none,
                                      .kind = STRADS_KIND_RATINGS,
                                      .user = "who"};
    expect_error(strads_data_read(oracle_text("h.csv", file[0].text), &none,
                                  &data),
                 STRADS_EINVAL, "no column 'who'");
}

/* Numbers with wide gaps become names, so that memory follows the entries;
 * equal numbers become the same name. With --numbered they stay numbers, or are
 * refused. */
Test(data_ratings, of_numbers_with_wide_gaps_are_of_names)
{
    static char text[3000 * 40];
    char *at = text;
    for (uint32_t k = 0; k < 2000; k++)
        at += sprintf(at, "%u %u %u\n", k * 25000u, (k * 7919u) % 50000000u,
                      1 + k % 5);
    (void)sprintf(at, "99999999999 007 2\n25000 7 3\n");
    strads_data *data = read_as(text, (strads_data_options){.threads = 2});
    cr_assert_eq(strads_data_rows(data), 2001);
    cr_assert_lt(strads_data_bytes(data), 1 << 20);
    const strads_names *users = strads_data_row_names(data);
    uint32_t user;
    cr_assert(strads_names_find(users, "99999999999", 11, &user));
    cr_assert_eq(user, 2000);
    uint32_t item, same;
    const strads_names *items = strads_data_col_names(data);
    cr_assert(strads_names_find(items, "7", 1, &item));
    cr_assert_not(strads_names_find(items, "007", 3, &same));

    strads_data *later = read_ratings("25000 07 4\n3 7 1\n", users, items);
    cr_assert_eq(strads_data_unknown(later), 1);
    const strads_sparse *x = &strads_data_share(later, 0)->by_row;
    cr_assert(x->nnz == 1 && x->index[0] == item && x->start[1] == 0);
    strads_data_free(later);
    strads_data_free(data);

    strads_data_options o = {.size = sizeof o,
                             .kind = STRADS_KIND_RATINGS,
                             .numbered = true,
                             .memory_limit = 64 << 20};
    expect_error(strads_data_read(oracle_text("few.txt", "1 2 3\n50000000 1 1"),
                                  &o, &data),
                 STRADS_ENOMEM, "without gaps");
}

Test(data_ratings, names_are_recognised_and_may_be_given)
{
    strads_data *first =
        read_ratings("user,item,rating\nann,\"tea, green\",4\nbob,coffee,2\n",
                     NULL, NULL);
    const strads_names *users = strads_data_row_names(first);
    const strads_names *items = strads_data_col_names(first);
    cr_assert_str_eq(strads_names_at(users, 1), "bob");
    cr_assert_str_eq(strads_names_at(items, 0), "tea, green");
    strads_data *later = read_ratings(
        "user,item,rating\ncid,coffee,1\nbob,\"tea, green\",3\nann,milk,5\n",
        users, items);
    cr_assert_eq(strads_data_rows(later), 2);
    cr_assert_eq(strads_data_cols(later), 2);
    cr_assert_eq(strads_data_unknown(later), 2);
    const strads_sparse *x = &strads_data_share(later, 0)->by_row;
    cr_assert_eq(x->nnz, 1);
    cr_assert_eq(x->start[1], 0);
    cr_assert_eq(x->index[0], 0);
    cr_assert_eq(x->f64[0], 3);
    strads_data_free(later);
    strads_data_free(first);
}

Test(data_ratings, may_be_missing_and_are_1_then)
{
    strads_data *data = read_ratings("0 3\n2 1\n", NULL, NULL);
    const strads_sparse *x = &strads_data_share(data, 0)->by_row;
    cr_assert_eq(x->nnz, 2);
    cr_assert_eq(x->f64[1], 1);
    cr_assert_eq(strads_data_cols(data), 4);
    cr_assert_null(strads_data_row_names(data));
    strads_data_free(data);
}

Test(data_ratings, of_the_sample_agree_with_its_page)
{
    strads_data_options o = {.size = sizeof o, .kind = STRADS_KIND_RATINGS};
    strads_data_summary s;
    expect_ok(strads_data_summarize(STRADS_SOURCE_DIR "/data/unvotes-tiny.txt",
                                    &o, &s));
    cr_assert_str_eq(s.format, "ratings");
    cr_assert_eq(s.rows, 193);
    cr_assert_eq(s.cols, 400);
    cr_assert_eq(s.nnz, 66748);
    cr_assert_eq(s.value_min, -1);
    cr_assert_eq(s.value_max, 1);
}

static const oracle_wrong wrong[] = {
    WRONG("0 1 3\n0 2 nan\n", "line 2", "'nan'", "finite"),
    WRONG("0 1 3\n0 2 1e999\n", "line 2", "below 1.8e308"),
    WRONG("0 1 3\n0 2\n", "line 2", "3 fields", "not 2"),
    WRONG("0 1 3\n0 2 3 4\n", "line 2", "3 fields", "not 4"),
    WRONG("0 1 3\n\n0 x 3\n", "line 3", "'x'", "a whole number"),
    WRONG("0 1 3\n-1 2 3\n", "line 2", "'-1'", "a user"),
    WRONG("u,i,r\na,b,3\n,b,3\n", "line 3", "a user of 1 to"),
    WRONG("u,i,r\na,b,3\n\"a,b,3\n", "line 3", "quotes that close"),
    WRONG("u,i,r\na,b,3\n\"a\"x,b,3\n", "line 3", "quotes that close"),
    WRONG("u,i,r\n\"a\nb\",x,3\n", "line 2", "line break"),
    WRONG("u,i,r\na,b,good\n", "line 2", "'good'", "a rating"),
    WRONG("u,i,r\n", "no entries"),
    WRONG("rating,user,what\n1,2,3\n", "'rating,user,what'",
          "which are users and items", "--item NAME"),
    WRONG("user,item,item_id\n1,2,3\n", "'user,item,item_id'", "more than one",
          "--item NAME"),
    WRONG("item,day,user,hour\n1,2,3,4\n", "which are the ratings",
          "--rating NAME"),
    WRONG("0 0 nan\n0 1 2\n", "line 1", "'nan'", "a rating"),
    WRONG("0 0 five\n0 1 2\n", "line 1", "'five'", "a rating"),
    WRONG("-1 0 2\n0 1 2\n", "line 1", "'-1'", "a user"),
    WRONG("0,1.5,2\n0,1,2\n", "line 1", "'1.5'", "an item"),
    WRONG("alone\n", "line 1", "'alone'", "`user item rating`"),
    WRONG("\n\n", "expected `user item rating`"),
};

Test(data_ratings, errors_are_reported_with_their_line)
{
    oracle_refuse_all("wrong.txt",
                      (strads_data_options){.kind = STRADS_KIND_RATINGS}, wrong,
                      sizeof wrong / sizeof *wrong, false);
}

/* Twenty pages of entries; all rows except the last two are released. */
Test(data_ratings, are_freed_only_where_their_owner_asks_for_it)
{
    enum { ROWS = 20, COLS = 1024 };
    char *text = malloc((size_t)ROWS * COLS * 16), *at = text;
    for (int u = 0; u < ROWS; u++)
        for (int i = 0; i < COLS; i++)
            at += sprintf(at, "%d %d %d\n", u, i, 1 + i % 5);
    strads_data_options o = {.size = sizeof o,
                             .kind = STRADS_KIND_RATINGS,
                             .layout = STRADS_LAYOUT_ROWS,
                             .values = STRADS_F32};
    strads_data *data = NULL;
    expect_ok(strads_data_read(oracle_text("many.txt", text), &o, &data));
    const strads_share *share = strads_data_share(data, 0);
    const strads_sparse *x = &share->by_row;
    for (int spendable = 0; spendable < 2; spendable++) {
        uint64_t zeros = 0;
        strads_share_spend(share, 0, ROWS - 2);
        for (uint64_t e = 0; e < x->nnz; e++)
            zeros += x->f32[e] < 1;
        for (uint64_t e = x->start[ROWS - 2]; e < x->nnz; e++)
            cr_assert_eq(x->f32[e], 1 + (float)(x->index[e] % 5));
        cr_expect_eq(x->start[ROWS], ROWS * COLS);
        if (spendable)
            cr_expect_geq(zeros, (ROWS - 4) * COLS);
        else
            cr_expect_eq(zeros, 0);
        strads_data_spend(data);
    }
    strads_data_free(data);
    free(text);
}

Test(data_ratings, in_matrixmarket_keep_the_last_too)
{
    strads_data *data =
        read_ratings("%%MatrixMarket matrix coordinate real general\n"
                     "2 2 3\n1 2 5\n2 1 4\n1 2 3\n",
                     NULL, NULL);
    cr_assert_eq(strads_data_repeated(data), 1);
    cr_assert_eq(strads_data_share(data, 0)->by_row.f64[0], 3);
    strads_data_free(data);
}
