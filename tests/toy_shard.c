/* Everything is drawn from (seed, push): a history can be told again. */
#include "toy_shard.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/push.h"
#include "strads/policy.h"

enum { ROWS = 20, COLS = 5, MOST = 4 };

static const strads_table_spec specs[] = {
    {.name = "weights", .type = STRADS_F64, .rows = ROWS, .cols = COLS},
    {.name = "counts",
     .type = STRADS_I32,
     .rows = ROWS,
     .cols = 1000,
     .sparse = true,
     .staleness = 3},
    {.name = "totals", .type = STRADS_I64, .rows = 1, .cols = COLS},
    {.name = "slopes",
     .type = STRADS_F32,
     .rows = ROWS,
     .cols = COLS,
     .sparse = true},
};
enum { TABLES = sizeof specs / sizeof *specs };

/* ---- the shard --------------------------------------------------------- */

toy_shard *shard_new(void)
{
    toy_shard *shard = calloc(1, sizeof *shard);
    cr_assert(shard && !strads_store_open(1 << 24, &shard->store));
    return shard;
}

void shard_free(toy_shard *shard)
{
    strads_store_free(shard->store);
    free(shard);
}

void shard_apply(toy_shard *shard, const sti_journal_record *record)
{
    const sti_buffer push = {.size = record->size,
                             .bytes =
                                 (unsigned char *)(uintptr_t)record->bytes};
    cr_assert_lt(record->client, SHARD_CLIENTS);
    cr_assert_eq(record->number, shard->applied[record->client] + 1);
    cr_assert_eq((uintptr_t)record->bytes % 8, 0);
    cr_assert_eq(sti_push_apply(&push, shard->store), STRADS_OK, "%s",
                 strads_error_text());
    shard->applied[record->client]++;
    if (record->worker != STI_NO_MARK)
        shard->clocks[record->worker] = record->clock;
}

uint64_t shard_count(const toy_shard *shard)
{
    uint64_t count = 0;
    for (int c = 0; c < SHARD_CLIENTS; c++)
        count += shard->applied[c];
    return count;
}

strads_err shard_state(void *arg, sti_sink *sink)
{
    const toy_shard *shard = arg;
    strads_err err = sink->put(sink, shard->applied, sizeof shard->applied);
    if (!err)
        err = sink->put(sink, shard->clocks, sizeof shard->clocks);
    return err ? err : sti_store_image_write(shard->store, sink);
}

static strads_err take_state(void *arg, const void *bytes, uint64_t size)
{
    toy_shard *shard = arg;
    const char *at = bytes;
    const size_t numbers = sizeof shard->applied + sizeof shard->clocks;
    size_t used;
    cr_assert_eq(shard_count(shard), 0);
    cr_assert_geq(size, numbers);
    memcpy(shard->applied, at, sizeof shard->applied);
    memcpy(shard->clocks, at + sizeof shard->applied, sizeof shard->clocks);
    strads_err err =
        sti_store_image_read(at + numbers, size - numbers, shard->store, &used);
    if (!err)
        cr_assert_eq(used, size - numbers);
    return err;
}

static strads_err take_record(void *arg, const sti_journal_record *record)
{
    shard_apply(arg, record);
    return STRADS_OK;
}

sti_journal_reader shard_reader(toy_shard *shard)
{
    return (sti_journal_reader){.arg = shard,
                                .checkpoint = take_state,
                                .record = take_record};
}

static strads_err keep(sti_sink *sink, const void *bytes, size_t size)
{
    sti_buffer *to = ((keeping_sink *)sink)->bytes;
    size_t before = to->size;
    strads_err err = sti_buffer_resize(to, before + size);
    if (!err)
        memcpy(to->bytes + before, bytes, size);
    return err;
}

keeping_sink keeping_sink_new(void)
{
    keeping_sink sink = {.sink.put = keep};
    cr_assert_eq(sti_buffer_new(0, &sink.bytes), STRADS_OK);
    return sink;
}

/* ---- histories --------------------------------------------------------- */

static uint32_t drawn(uint64_t seed, uint64_t push, uint32_t what,
                      uint32_t below)
{
    return (uint32_t)(strads_random_bits(seed, 7, push, what) % below);
}

/* `n` cells that are not 0. */
static size_t draw_cells(strads_scalar type, uint64_t seed, uint64_t push,
                         uint32_t n, double *room)
{
    for (uint32_t i = 0; i < n; i++) {
        int32_t whole = 1 + (int32_t)drawn(seed, push, 50 + i, 90);
        if (type == STRADS_F64)
            room[i] = whole / 7.0;
        else if (type == STRADS_F32)
            ((float *)room)[i] = (float)whole / 7.0F;
        else if (type == STRADS_I64)
            ((int64_t *)room)[i] = whole;
        else
            ((int32_t *)room)[i] = whole;
    }
    return n * (type == STRADS_F64 || type == STRADS_I64 ? 8 : 4);
}

/* Whole rows of a dense table, columns of one row of a sparse one. */
static void append_commit(sti_buffer *push, uint64_t seed, uint64_t number)
{
    uint32_t table = drawn(seed, number, 1, TABLES);
    const strads_table_spec *spec = &specs[table];
    uint32_t rows = (uint32_t)spec->rows;
    uint32_t n = 1 + drawn(seed, number, 2, MOST);
    uint32_t places[MOST];
    double cells[MOST * COLS];
    for (uint32_t i = 0; i < n; i++)
        places[i] =
            drawn(seed, number, 10 + i, spec->sparse ? spec->cols : rows);
    sti_push_part part = {.kind = spec->sparse ? STI_PUSH_COLS : STI_PUSH_ROWS,
                          .table = table,
                          .n = n,
                          .row = drawn(seed, number, 3, rows),
                          .places = places,
                          .cells = cells};
    part.cell_bytes = draw_cells(spec->type, seed, number,
                                 spec->sparse ? n : n * COLS, cells);
    cr_assert_eq(sti_push_append(push, &part), STRADS_OK);
}

static void append_tables(sti_buffer *push)
{
    for (uint32_t t = 0; t < TABLES; t++) {
        const sti_push_part part = {.kind = STI_PUSH_TABLE,
                                    .table = t,
                                    .spec = specs[t]};
        cr_assert_eq(sti_push_append(push, &part), STRADS_OK);
    }
}

history *history_new(uint64_t seed, size_t n)
{
    history *h = calloc(1, sizeof *h);
    uint64_t numbers[SHARD_CLIENTS] = {0}, clocks[SHARD_WORKERS] = {0};
    cr_assert(h && (h->records = calloc(n, sizeof *h->records)) &&
              (h->pushes = calloc(n, sizeof(sti_buffer *))));
    h->n = n;
    for (size_t k = 0; k < n; k++) {
        cr_assert_eq(sti_buffer_new(0, &h->pushes[k]), STRADS_OK);
        if (k == 0)
            append_tables(h->pushes[k]);
        for (uint32_t c = drawn(seed, k, 4, 3); k && c > 0; c--)
            append_commit(h->pushes[k], seed, 10 * k + c);
        uint32_t client = drawn(seed, k, 5, SHARD_CLIENTS);
        uint32_t worker = drawn(seed, k, 6, 2 * SHARD_WORKERS);
        bool mark = worker < SHARD_WORKERS;
        h->records[k] =
            (sti_journal_record){.client = client,
                                 .worker = mark ? worker : STI_NO_MARK,
                                 .number = ++numbers[client],
                                 .clock = mark ? ++clocks[worker] : 0,
                                 .bytes = h->pushes[k]->bytes,
                                 .size = h->pushes[k]->size};
    }
    return h;
}

void history_free(history *h)
{
    for (size_t k = 0; k < h->n; k++)
        sti_object_drop(h->pushes[k]);
    free(h->pushes);
    free(h->records);
    free(h);
}

static sti_buffer *state_of(const toy_shard *shard)
{
    keeping_sink sink = keeping_sink_new();
    cr_assert_eq(shard_state((void *)(uintptr_t)shard, &sink.sink), STRADS_OK);
    return sink.bytes;
}

uint64_t assert_prefix(const toy_shard *shard, const history *h)
{
    uint64_t count = shard_count(shard);
    toy_shard *told = shard_new();
    cr_assert_leq(count, h->n);
    for (uint64_t k = 0; k < count; k++)
        shard_apply(told, &h->records[k]);
    sti_buffer *found = state_of(shard), *expected = state_of(told);
    cr_assert_eq(found->size, expected->size);
    cr_assert_arr_eq(found->bytes, expected->bytes, expected->size);
    sti_object_drop(found);
    sti_object_drop(expected);
    shard_free(told);
    return count;
}
