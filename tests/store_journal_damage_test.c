/* Logs and checkpoints that were cut short, changed or written in part: the
 * first pushes come back, or an error does that says where. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/journal_place.h"
#include "tests/no_sync.h"

Test(store_journal_damage, a_log_cut_short_anywhere_gives_its_first_pushes)
{
    for (int files = 0; files < 2; files++)
        for (uint64_t before = 0; before <= 6; before += 6) {
            place at = place_new(files);
            history *h = history_new(9, 14);
            uint64_t size, count = 0, last = h->n;
            place_write(&at, h, before, 3);
            unsigned char *log = place_load(&at, "log", &size);
            for (uint64_t cut = size; cut-- > 64;) {
                if (files) {
                    place_store(&at, "log", log, cut);
                } else { /* written, and never synced */
                    place_free(&at);
                    at = place_new(false);
                    toy_shard *shard = shard_new();
                    sti_journal *journal = place_recover(&at, shard);
                    if (before)
                        place_take(journal, shard, h, before);
                    if (before)
                        place_checkpoint(journal, shard);
                    place_append(journal, h, before, h->n - before);
                    sti_journal_close(journal);
                    shard_free(shard);
                    cr_assert_eq(sti_memory_disk_unsynced(at.disk), size - 64);
                    sti_memory_disk_lose(at.disk, cut - 64);
                }
                expect_ok(place_restart(&at, h, &count));
                cr_assert(count == last || count + 1 == last);
                last = count;
                /* The tail is gone for good, not only passed over. */
                cr_assert_eq(place_restart(&at, h, &count), STRADS_OK);
                cr_assert_eq(count, last);
            }
            cr_assert_eq(last, before);
            free(log);
            history_free(h);
            place_free(&at);
        }
}

Test(store_journal_damage, a_shard_goes_on_behind_a_tail_that_was_cut_off)
{
    place at = place_new(true);
    history *h = history_new(4, 20);
    uint64_t size, count = 0;
    place_write(&at, h, 0, 20);
    unsigned char *log = place_load(&at, "log", &size);
    place_store(&at, "log", log, size - 100);
    toy_shard *shard = shard_new();
    sti_journal *journal = place_recover(&at, shard);
    uint64_t left = h->n - shard_count(shard);
    cr_assert_gt(left, 0);
    place_take(journal, shard, h, left);
    sti_journal_close(journal);
    shard_free(shard);
    cr_assert_eq(place_restart(&at, h, &count), STRADS_OK);
    cr_assert_eq(count, h->n);
    free(log);
    history_free(h);
    place_free(&at);
}

/* Each byte of the file flipped in turn: the first `least` pushes come back, or
 * an error does. How often it was an error. */
static uint64_t flip_each(const place *at, const char *name, const history *h,
                          uint64_t least, uint64_t *size)
{
    uint64_t refused = 0, count = 0, log_size;
    unsigned char *bytes = place_load(at, name, size);
    unsigned char *log = place_load(at, "log", &log_size);
    for (uint64_t k = 0; k < *size; k++) {
        bytes[k] ^= (unsigned char)(1U << k % 8);
        place_store(at, name, bytes, *size);
        strads_err err = place_restart(at, h, &count);
        cr_assert(err == STRADS_OK || err == STRADS_EFORMAT ||
                      err == STRADS_EMISMATCH,
                  "byte %zu: %s", (size_t)k, strads_error_text());
        cr_assert(err || count >= least, "byte %zu: only %zu came back",
                  (size_t)k, (size_t)count);
        refused += err != STRADS_OK;
        bytes[k] ^= (unsigned char)(1U << k % 8);
        place_store(at, "log", log, log_size); /* it may have been cut */
    }
    place_store(at, name, bytes, *size);
    free(bytes);
    free(log);
    return refused;
}

Test(store_journal_damage,
     a_flipped_bit_is_cut_off_with_the_last_batch_or_refused)
{
    place at = place_new(true);
    history *h = history_new(8, 12);
    uint64_t log_size, state_size, refused;
    place_write(&at, h, 4, 3); /* batches that end at 7, 10 and 12 */
    refused = flip_each(&at, "log", h, 10, &log_size);
    cr_assert_gt(refused, log_size / 2);
    cr_assert_lt(refused, log_size);
    refused = flip_each(&at, "checkpoint", h, 4, &state_size);
    cr_assert_eq(refused, state_size, "a damaged checkpoint was believed");
    history_free(h);
    place_free(&at);
}

Test(store_journal_damage,
     damage_of_what_was_acknowledged_is_told_with_its_place)
{
    for (int files = 0; files < 2; files++) {
        place at = place_new(files);
        history *h = history_new(8, 12);
        uint64_t size, count;
        place_write(&at, h, 0, 3);
        unsigned char *bytes = place_load(&at, "log", &size);
        bytes[64 + 20] ^= 1; /* of the first record's head */
        place_store(&at, "log", bytes, size);
        expect_error(place_restart(&at, h, &count), STRADS_EFORMAT,
                     "damaged at byte 64,");
        expect_says("restore");
        free(bytes);
        history_free(h);
        place_free(&at);
    }
}

/* A disk may write the last pages of one batch before the first ones. */
Test(store_journal_damage, a_hole_in_what_was_never_synced_is_no_damage)
{
    place at = place_new(false);
    history *h = history_new(6, 12);
    toy_shard *shard = shard_new();
    sti_journal *journal = place_recover(&at, shard);
    uint64_t count = 0, size;
    place_take(journal, shard, h, 5);
    uint64_t synced = journal->log_bytes;
    place_append(journal, h, 5, 7);
    unsigned char *log = sti_memory_disk_log(at.disk, &size);
    memset(log + 64 + synced, 0, 80);
    sti_journal_close(journal);
    cr_assert_eq(place_restart(&at, h, &count), STRADS_OK);
    cr_assert_eq(count, 5);
    shard_free(shard);
    history_free(h);
    place_free(&at);
}
