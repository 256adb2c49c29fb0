/* Tables of Arrow's C data interface, with structures built by hand, give the
 * data set of the same matrix. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/arrow.h"
#include "strads/names.h"
#include "tests/expect.h"

enum { COLS = 6, MOST_ROWS = 40, FRONT = 5 };

/* A batch: columns of the types `formats`, each with an offset of its own. */
typedef struct hand_batch {
    struct ArrowArray top, column[COLS], *list[COLS];
    const void *buffers[COLS][2];
    const void *none[1];
    double bytes[COLS][MOST_ROWS + 2 * FRONT]; /* values, aligned */
    uint8_t valid[COLS][16];
} hand_batch;

typedef struct hand_schema {
    struct ArrowSchema top, column[COLS], *list[COLS];
} hand_schema;

static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static const char *const names[COLS] = {"a", "b", "c", "d", "e", "f"};

static void make_schema(hand_schema *s, const char *const *formats)
{
    *s = (hand_schema){.top = {.format = "+s",
                               .n_children = COLS,
                               .children = s->list,
                               .release = release_schema}};
    for (int c = 0; c < COLS; c++) {
        s->column[c] = (struct ArrowSchema){.format = formats[c],
                                            .name = names[c],
                                            .release = release_schema};
        s->list[c] = &s->column[c];
    }
}

/* The number of a row and column: whole, small and of the type's range. */
static double number_of(char format, uint64_t row, uint64_t c)
{
    const double v = (double)((row * 7 + c * 3) % 11);
    if (format == 'b')
        return v > 5;
    return strchr("CSIL", format) ? v : v - 4;
}

static void put_number(char format, void *to, uint64_t i, double v)
{
    switch (format) {
    case 'c':
        ((int8_t *)to)[i] = (int8_t)v;
        break;
    case 'C':
        ((uint8_t *)to)[i] = (uint8_t)v;
        break;
    case 's':
        ((int16_t *)to)[i] = (int16_t)v;
        break;
    case 'S':
        ((uint16_t *)to)[i] = (uint16_t)v;
        break;
    case 'i':
        ((int32_t *)to)[i] = (int32_t)v;
        break;
    case 'I':
        ((uint32_t *)to)[i] = (uint32_t)v;
        break;
    case 'l':
        ((int64_t *)to)[i] = (int64_t)v;
        break;
    case 'L':
        ((uint64_t *)to)[i] = (uint64_t)v;
        break;
    case 'f':
        ((float *)to)[i] = (float)v;
        break;
    case 'b':
        ((uint8_t *)to)[i / 8] =
            (uint8_t)(((uint8_t *)to)[i / 8] | (v != 0) << i % 8);
        break;
    default:
        ((double *)to)[i] = v;
    }
}

/* Rows first .. first + n of the matrix. Rows around them are 99. */
static void make_batch(hand_batch *b, const char *const *formats,
                       uint64_t first, uint64_t n, int64_t offset)
{
    *b = (hand_batch){.top = {.length = (int64_t)n,
                              .offset = offset,
                              .n_buffers = 1,
                              .n_children = COLS,
                              .buffers = b->none,
                              .children = b->list,
                              .release = release_array}};
    for (int c = 0; c < COLS; c++) {
        const int64_t own = c % (FRONT - 2);
        const uint64_t at = (uint64_t)(own + offset);
        memset(b->valid[c], 0xff, sizeof b->valid[c]);
        for (uint64_t i = 0; i < n; i++)
            put_number(*formats[c], b->bytes[c], at + i,
                       number_of(*formats[c], first + i, (uint64_t)c));
        if (*formats[c] != 'b')
            put_number(*formats[c], b->bytes[c], at + n, 99);
        b->buffers[c][0] = c % 2 ? b->valid[c] : NULL;
        b->buffers[c][1] = b->bytes[c];
        b->column[c] = (struct ArrowArray){.length = (int64_t)n + offset + 1,
                                           .offset = own,
                                           .null_count = c % 2 ? -1 : 0,
                                           .n_buffers = 2,
                                           .buffers = b->buffers[c],
                                           .release = release_array};
        b->list[c] = &b->column[c];
    }
}

static double entry_of(const strads_data *data, uint64_t row, uint64_t col)
{
    const strads_sparse *x = &strads_data_share(data, 0)->by_col;
    for (uint64_t e = x->start[col]; e < x->start[col + 1]; e++)
        if ((x->index ? x->index[e] : e - x->start[col]) == row)
            return x->f64 ? x->f64[e] : (double)x->f32[e];
    return 0;
}

static const strads_data_options doubles = {.size = sizeof doubles,
                                            .values = STRADS_F64,
                                            .layout = STRADS_LAYOUT_COLS};

Test(data_arrow, batches_of_every_type_are_the_matrix_of_their_numbers)
{
    static const char *const cases[][COLS] = {{"g", "f", "c", "C", "s", "S"},
                                              {"i", "I", "l", "L", "b", "g"},
                                              {"b", "b", "f", "g", "L", "c"}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int64_t offset = 0; offset < 3; offset++)
            for (int label = -1; label < COLS; label++) {
                hand_schema schema;
                hand_batch one, two, three;
                make_schema(&schema, cases[k]);
                make_batch(&one, cases[k], 0, 9, offset);
                make_batch(&two, cases[k], 9, 0, 0);
                make_batch(&three, cases[k], 9, MOST_ROWS - 9, offset);
                const struct ArrowArray *const batch[] = {&one.top, &two.top,
                                                          &three.top};
                const strads_arrow table = {.size = sizeof table,
                                            .schema = &schema.top,
                                            .batch = batch,
                                            .batches = 3,
                                            .label =
                                                label < 0 ? NULL : names[label],
                                            .borrow = k == 1};
                strads_data *data = NULL;
                expect_ok(strads_data_from_arrow(&table, &doubles, &data));
                cr_assert_eq(strads_data_rows(data), MOST_ROWS);
                cr_assert_eq(strads_data_cols(data), COLS - (label >= 0));
                uint64_t j = 0;
                for (uint64_t c = 0; c < COLS; c++) {
                    for (uint64_t i = 0; i < MOST_ROWS; i++)
                        cr_assert_eq((int)c == label
                                         ? strads_data_share(data, 0)->label[i]
                                         : entry_of(data, i, j),
                                     number_of(*cases[k][c], i, c));
                    if ((int)c == label)
                        continue;
                    cr_assert_str_eq(strads_names_at(strads_data_col_names(
                                                         data),
                                                     (uint32_t)j++),
                                     names[c]);
                }
                strads_data_free(data);
            }
}

Test(data_arrow, half_precision_numbers_are_read)
{
    static const uint16_t half[] = {0,      0x3c00, 0xc000, 0x3555,
                                    0x0001, 0x7bff, 0x8400, 0x03ff};
    static const double known[] = {0,       1,     -2,       0x1.554p-2,
                                   0x1p-24, 65504, -0x1p-14, 0x1.ff8p-15};
    const void *buffers[] = {NULL, half}, *none[] = {NULL};
    struct ArrowSchema column = {.format = "e", .release = release_schema};
    struct ArrowSchema *columns[] = {&column};
    const struct ArrowSchema schema = {.format = "+s",
                                       .n_children = 1,
                                       .children = columns,
                                       .release = release_schema};
    struct ArrowArray values = {.length = 8,
                                .n_buffers = 2,
                                .buffers = buffers,
                                .release = release_array};
    struct ArrowArray *list[] = {&values};
    const struct ArrowArray top = {.length = 8,
                                   .n_buffers = 1,
                                   .buffers = none,
                                   .n_children = 1,
                                   .children = list,
                                   .release = release_array};
    const struct ArrowArray *const batch[] = {&top};
    const strads_arrow table = {.size = sizeof table,
                                .schema = &schema,
                                .batch = batch,
                                .batches = 1};
    strads_data *data = NULL;
    expect_ok(strads_data_from_arrow(&table, &doubles, &data));
    for (uint64_t i = 0; i < 8; i++)
        cr_assert_eq(entry_of(data, i, 0), known[i]);
    cr_assert_null(strads_data_col_names(data));
    strads_data_free(data);
}

Test(data_arrow, columns_that_form_a_matrix_are_used_in_place)
{
    enum { ROWS = 1000 };
    static double x[COLS * ROWS + 64];
    static const char *const formats[COLS] = {"g", "g", "g", "g", "g", "g"};
    hand_schema schema;
    hand_batch b;
    make_schema(&schema, formats);
    make_batch(&b, formats, 0, 0, 0);
    b.top.length = ROWS;
    for (int e = 0; e < COLS * ROWS; e++)
        x[e] = e + 1;
    for (int c = 0; c < COLS; c++) {
        b.buffers[c][1] = x + (size_t)c * ROWS - c % (FRONT - 2);
        b.column[c].length = ROWS;
        b.column[c].null_count = 0;
    }
    const struct ArrowArray *const batch[] = {&b.top};
    strads_arrow table = {.size = sizeof table,
                          .schema = &schema.top,
                          .batch = batch,
                          .batches = 1};
    strads_data_options options = doubles;
    options.unindexed = true;
    for (int borrow = 0; borrow < 2; borrow++) {
        strads_data *data = NULL;
        table.borrow = borrow;
        expect_ok(strads_data_from_arrow(&table, &options, &data));
        cr_assert_eq(strads_data_share(data, 0)->by_col.f64 == x, borrow == 1);
        cr_assert_eq(entry_of(data, 3, 2), 2 * ROWS + 4);
        strads_data_free(data);
    }
}

Test(data_arrow, bad_tables_are_refused_with_a_sentence)
{
    static const char *const formats[COLS] = {"g", "g", "i", "g", "g", "g"};
    static const struct {
        const char *words;
        strads_err err;
    } cases[] = {{"Arrow schema is missing or released", STRADS_EINVAL},
                 {"has the type \"u\"; expected a struct", STRADS_EINVAL},
                 {"column \"c\" has the Arrow type \"u\"", STRADS_EINVAL},
                 {"with a dictionary", STRADS_EINVAL},
                 {"batch 2 is missing or released", STRADS_EINVAL},
                 {"batch 1 does not fit", STRADS_EINVAL},
                 {"column \"b\" has a null in row 14;", STRADS_EINVAL},
                 {"row 12 is null", STRADS_EINVAL},
                 {"column \"d\": its Arrow array is shorter", STRADS_EINVAL},
                 {"no column has the label's name \"y\"", STRADS_EINVAL},
                 {"two columns have the label's name \"a\"", STRADS_EINVAL},
                 {"inf", STRADS_EINVAL}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        hand_schema schema;
        hand_batch one, two;
        uint8_t bits[4] = {0xff, 0xfd, 0xff, 0xff};
        make_schema(&schema, formats);
        make_batch(&one, formats, 0, 10, 1);
        make_batch(&two, formats, 10, 10, 0);
        const struct ArrowArray *const batch[] = {&one.top, &two.top};
        strads_arrow table = {.size = sizeof table,
                              .schema = &schema.top,
                              .batch = batch,
                              .batches = 2};
        struct ArrowSchema words = {.format = "u"};
        switch (k) {
        case 0:
            schema.top.release(&schema.top);
            break;
        case 1:
            schema.top.format = "u";
            break;
        case 2:
            schema.column[2].format = "u";
            break;
        case 3:
            schema.column[2].dictionary = &words;
            break;
        case 4:
            two.top.release(&two.top);
            break;
        case 5:
            one.top.n_children--;
            break;
        case 6: /* row 4 of the batch, with an offset of 1 */
            two.valid[1][0] = 0xef;
            break;
        case 7: /* bit 9 + 1: row 1 of a batch at 8 */
            make_batch(&two, formats, 10, 10, 8);
            two.top.null_count = -1;
            two.none[0] = bits;
            break;
        case 8:
            two.column[3].length = 9;
            break;
        case 9:
            table.label = "y";
            break;
        case 10:
            schema.column[4].name = "a";
            table.label = "a";
            break;
        default:
            one.bytes[0][3] = INFINITY;
        }
        strads_data *data = NULL;
        cr_assert_eq(strads_data_from_arrow(&table, &doubles, &data),
                     cases[k].err, "%s", cases[k].words);
        cr_assert(strstr(strads_error_text(), cases[k].words), "%s: %s",
                  cases[k].words, strads_error_text());
        cr_assert_null(data);
    }
}
