/* Pushes: what a store was told, carried out on another one. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/store/push.h"
#include "strads/policy.h"

enum { ROWS = 40, COLS = 7 };

static strads_store *new_store(void)
{
    strads_store *store;
    cr_assert_eq(strads_store_open(0, &store), STRADS_OK);
    return store;
}

static sti_buffer *new_push(void)
{
    sti_buffer *push;
    cr_assert_eq(sti_buffer_new(0, &push), STRADS_OK);
    return push;
}

/* Creates a table, and appends that to a push. */
static void create(strads_store *store, sti_buffer *push, const char *name,
                   strads_scalar type, bool sparse)
{
    uint32_t table;
    const strads_table_spec spec = {.name = name,
                                    .type = type,
                                    .rows = ROWS,
                                    .cols = COLS,
                                    .sparse = sparse,
                                    .staleness = 3};
    cr_assert_eq(strads_store_create(store, &spec, &table), STRADS_OK);
    const sti_push_part part = {.kind = STI_PUSH_TABLE,
                                .table = table,
                                .spec = spec};
    cr_assert_eq(sti_push_append(push, &part), STRADS_OK);
}

static uint32_t drawn(uint64_t k, uint32_t below)
{
    return (uint32_t)(strads_random_bits(11, 1, k, 0) % below);
}

/* One random commit, whole rows of table 0 or columns of table 1, to a store
 * and appended to a push. */
static void commit(strads_store *store, sti_buffer *push, uint64_t k)
{
    uint32_t n = 1 + drawn(4 * k, 5);
    sti_push_part part;
    if (k % 2) {
        uint32_t rows[5];
        double delta[5 * COLS];
        for (uint32_t i = 0; i < n; i++)
            rows[i] = drawn(100 * k + i, ROWS);
        for (uint32_t i = 0; i < n * COLS; i++)
            delta[i] = (double)drawn(1000 * k + i, 9) / 7;
        cr_assert_eq(strads_store_inc(store, 0, n, rows, delta, NULL),
                     STRADS_OK);
        part = (sti_push_part){.kind = STI_PUSH_ROWS,
                               .n = n,
                               .places = rows,
                               .cells = delta,
                               .cell_bytes = n * COLS * sizeof *delta};
        cr_assert_eq(sti_push_append(push, &part), STRADS_OK);
    } else {
        uint32_t cols[5];
        int32_t delta[5];
        for (uint32_t i = 0; i < n; i++) {
            cols[i] = drawn(100 * k + i, COLS);
            delta[i] = (int32_t)drawn(1000 * k + i, 9) - 4;
        }
        cr_assert_eq(strads_store_inc_sparse(store, 1, drawn(k, ROWS), n, cols,
                                             delta, NULL),
                     STRADS_OK);
        part = (sti_push_part){.kind = STI_PUSH_COLS,
                               .table = 1,
                               .n = n,
                               .row = drawn(k, ROWS),
                               .places = cols,
                               .cells = delta,
                               .cell_bytes = n * sizeof *delta};
        cr_assert_eq(sti_push_append(push, &part), STRADS_OK);
    }
}

/* Bytes of all rows of a table. */
static void read_all(const strads_store *store, uint32_t table, void *out)
{
    uint32_t rows[ROWS];
    for (uint32_t r = 0; r < ROWS; r++)
        rows[r] = r;
    cr_assert_eq(strads_store_read(store, table, ROWS, rows, out), STRADS_OK);
}

static void assert_equal(const strads_store *a, const strads_store *b)
{
    double dense[2][ROWS * COLS];
    int32_t sparse[2][ROWS * COLS];
    read_all(a, 0, dense[0]);
    read_all(b, 0, dense[1]);
    cr_assert_arr_eq(dense[0], dense[1], sizeof dense[0]);
    read_all(a, 1, sparse[0]);
    read_all(b, 1, sparse[1]);
    cr_assert_arr_eq(sparse[0], sparse[1], sizeof sparse[0]);
    for (uint32_t t = 0; t < 2; t++)
        cr_assert_eq(strads_store_version(a, t), strads_store_version(b, t));
}

Test(store_push, another_store_that_carries_pushes_out_is_the_same_bit_for_bit)
{
    strads_store *store = new_store(), *other = new_store();
    sti_buffer *push = new_push();
    create(store, push, "weights", STRADS_F64, false);
    create(store, push, "counts", STRADS_I32, true);
    for (uint64_t k = 0; k < 300; k++) {
        commit(store, push, k);
        if (k % 7 && k != 299)
            continue;
        cr_assert_eq(sti_push_apply(push, other), STRADS_OK, "%s",
                     strads_error_text());
        sti_object_drop(push);
        push = new_push();
        assert_equal(store, other);
    }
    sti_object_drop(push);
    const strads_table_spec *spec = strads_store_spec(other, 1);
    cr_assert(spec && spec->sparse && spec->type == STRADS_I32 &&
              spec->staleness == 3);
    cr_assert_str_eq(spec->name, "counts");
    strads_store_free(store);
    strads_store_free(other);
}

/* A push of two tables and some commits. */
static sti_buffer *some_push(void)
{
    strads_store *store = new_store();
    sti_buffer *push = new_push();
    create(store, push, "weights", STRADS_F64, false);
    create(store, push, "counts", STRADS_I32, true);
    for (uint64_t k = 0; k < 6; k++)
        commit(store, push, k);
    strads_store_free(store);
    return push;
}

static strads_err apply_to_new(const sti_buffer *push)
{
    strads_store *store;
    cr_assert_eq(strads_store_open(1 << 20, &store), STRADS_OK);
    strads_err err = sti_push_apply(push, store);
    strads_store_free(store);
    return err;
}

Test(store_push, one_cut_short_anywhere_is_refused_or_ends_between_two_parts)
{
    sti_buffer *push = some_push();
    uint32_t whole = 0;
    size_t size = push->size;
    for (push->size = 0; push->size < size; push->size++) {
        strads_err err = apply_to_new(push);
        cr_assert(err == STRADS_OK || err == STRADS_EPEER);
        whole += err == STRADS_OK;
    }
    cr_assert_eq(whole, 8, "of eight parts %u ends were found", whole);
    sti_object_drop(push);
}

Test(store_push, a_broken_byte_never_leads_out_of_the_push)
{
    sti_buffer *push = some_push();
    uint32_t refused = 0;
    for (size_t at = 0; at < push->size; at++) {
        push->bytes[at] ^= 0xff;
        refused += apply_to_new(push) != STRADS_OK;
        push->bytes[at] ^= 0xff;
    }
    cr_assert_gt(refused, 100); /* a number more or less is a number */
    cr_assert_eq(apply_to_new(push), STRADS_OK);
    sti_object_drop(push);
}
