/* Everything is drawn from (seed, push): a history can be told again. */
#include "toy_shard.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "strads/policy.h"

/* ---- the shard --------------------------------------------------------- */

toy_shard *shard_new(void)
{
    toy_shard *shard = calloc(1, sizeof *shard);
    cr_assert(shard != NULL);
    return shard;
}

void shard_free(toy_shard *shard)
{
    free(shard);
}

void shard_apply(toy_shard *shard, const sti_journal_record *record)
{
    const uint64_t *words = record->bytes;
    cr_assert_lt(record->client, SHARD_CLIENTS);
    cr_assert_eq(record->number, shard->applied[record->client] + 1);
    cr_assert_eq((uintptr_t)record->bytes % 8, 0);
    cr_assert_eq(record->size % 8, 0);
    for (uint64_t k = 0; k < record->size / 8; k++) {
        shard->cells[(record->number + k) % SHARD_CELLS] += words[k];
        shard->digest = 31 * shard->digest + words[k];
    }
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
    return sink->put(sink, arg, sizeof(toy_shard));
}

static strads_err take_state(void *arg, const void *bytes, uint64_t size)
{
    cr_assert_eq(shard_count(arg), 0);
    cr_assert_eq(size, sizeof(toy_shard));
    memcpy(arg, bytes, size);
    return STRADS_OK;
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

/* Some words that are not 0; none now and then. */
static void append_words(sti_buffer *push, uint64_t seed, uint64_t number)
{
    enum { MOST = 40 };
    const uint32_t n = drawn(seed, number, 1, MOST);
    cr_assert_eq(sti_buffer_resize(push, n * sizeof(uint64_t)), STRADS_OK);
    for (uint32_t i = 0; i < n; i++)
        ((uint64_t *)(void *)push->bytes)[i] =
            1 + strads_random_bits(seed, 8, number, i) / 2;
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
        append_words(h->pushes[k], seed, k);
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
