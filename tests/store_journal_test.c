/* Journals in files and in memory: what comes back, who may open them, and what
 * a full disk does. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strads/policy.h"
#include "tests/expect.h"
#include "tests/journal_place.h"
#include "tests/no_sync.h"

/* ---- what comes back --------------------------------------------------- */

static void round_trip(bool files, uint64_t seed)
{
    place at = place_new(files);
    history *h = history_new(seed, 60);
    uint64_t step = 0;
    for (uint64_t done = 0; done < h->n;) {
        toy_shard *shard = shard_new();
        sti_journal *journal = place_recover(&at, shard);
        cr_assert_eq(assert_prefix(shard, h), done);
        for (int k = 0; k < 4 && done < h->n; k++) {
            uint64_t n = strads_random_bits(seed, 1, step++, 0) % 7;
            n = n < h->n - done ? n : h->n - done;
            place_take(journal, shard, h, n);
            done += n;
            if (strads_random_bits(seed, 2, step, 0) % 5 == 0)
                place_checkpoint(journal, shard);
        }
        sti_journal_close(journal);
        shard_free(shard);
    }
    uint64_t count = 0;
    cr_assert_eq(place_restart(&at, h, &count), STRADS_OK);
    cr_assert_eq(count, h->n);
    history_free(h);
    place_free(&at);
}

Test(store_journal, a_restarted_shard_is_where_it_was_bit_for_bit)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        round_trip(true, seed);
        round_trip(false, seed);
    }
}

Test(store_journal, files_and_memory_hold_the_same_bytes)
{
    history *h = history_new(5, 30);
    place at[2] = {place_new(true), place_new(false)};
    const char *const names[] = {"log", "checkpoint"};
    for (int p = 0; p < 2; p++)
        place_write(&at[p], h, 12, 4);
    for (int n = 0; n < 2; n++) {
        uint64_t size[2];
        unsigned char *bytes[2];
        for (int p = 0; p < 2; p++)
            bytes[p] = place_load(&at[p], names[n], &size[p]);
        cr_assert_eq(size[0], size[1]);
        cr_assert_arr_eq(bytes[0], bytes[1], size[0]);
        free(bytes[0]);
        free(bytes[1]);
    }
    place_free(&at[0]);
    place_free(&at[1]);
    history_free(h);
}

static strads_err no_checkpoint(void *arg, const void *bytes, uint64_t size)
{
    (void)arg;
    (void)bytes;
    (void)size;
    return strads_fail(STRADS_EPROGRAM, "there was no checkpoint");
}

/* Record k holds k bytes of value k. */
static strads_err compare_record(void *arg, const sti_journal_record *record)
{
    uint64_t *k = arg;
    const unsigned char *bytes = record->bytes;
    cr_assert_eq(record->size, *k);
    for (uint64_t i = 0; i < *k; i++)
        cr_assert_eq(bytes[i], (unsigned char)*k);
    cr_assert_eq(record->number, *k * *k);
    ++*k;
    return STRADS_OK;
}

Test(store_journal, records_of_any_size_and_number_come_back_as_they_were)
{
    enum { RECORDS = 300 };
    static unsigned char bytes[RECORDS][RECORDS];
    static sti_journal_record records[RECORDS];
    for (unsigned k = 0; k < RECORDS; k++) {
        memset(bytes[k], (int)(unsigned char)k, k);
        records[k] = (sti_journal_record){.number = (uint64_t)k * k,
                                          .bytes = bytes[k],
                                          .size = k};
    }
    for (int files = 0; files < 2; files++) {
        place at = place_new(files);
        uint64_t k = 0;
        const sti_journal_reader reader = {.arg = &k,
                                           .checkpoint = no_checkpoint,
                                           .record = compare_record};
        sti_journal *journal = place_open(&at);
        cr_assert_eq(journal->ops->recover(journal, &reader), STRADS_OK);
        cr_assert_eq(journal->ops->append(journal, records, RECORDS),
                     STRADS_OK);
        place_sync(journal);
        for (int again = 0; again < 2; again++) {
            k = 0;
            cr_assert_eq(journal->ops->recover(journal, &reader), STRADS_OK);
            cr_assert_eq(k, RECORDS);
        }
        sti_journal_close(journal);
        place_free(&at);
    }
}

Test(store_journal, nothing_is_written_before_it_was_recovered)
{
    history *h = history_new(1, 1);
    for (int files = 0; files < 2; files++) {
        place at = place_new(files);
        sti_journal *journal = place_open(&at);
        cr_assert_eq(journal->ops->append(journal, h->records, 1),
                     STRADS_ESTATE);
        cr_assert_eq(journal->ops->sync(journal), STRADS_ESTATE);
        cr_assert_eq(journal->ops->checkpoint(journal, shard_state, NULL),
                     STRADS_ESTATE);
        sti_journal_close(journal);
        place_free(&at);
    }
    history_free(h);
}

Test(store_journal, a_log_that_grows_becomes_long_until_a_checkpoint)
{
    const sti_journal_options small = {.run = 77, .shard = 2, .log_room = 2000};
    history *h = history_new(3, 200);
    for (int files = 0; files < 2; files++) {
        place at = place_new(files);
        toy_shard *shard = shard_new();
        sti_journal *journal;
        const sti_journal_reader reader = shard_reader(shard);
        uint64_t most = 0, written = 0;
        cr_assert_eq(place_open_as(&at, &small, &journal), STRADS_OK);
        cr_assert_eq(journal->ops->recover(journal, &reader), STRADS_OK);
        while (shard_count(shard) < h->n) {
            place_take(journal, shard, h, 1);
            most = journal->log_bytes > most ? journal->log_bytes : most;
            if (!sti_journal_is_long(journal))
                continue;
            cr_assert_gt(journal->log_bytes, 2000);
            cr_assert_gt(journal->log_bytes, 4 * journal->checkpoint_bytes);
            place_checkpoint(journal, shard);
            cr_assert_not(sti_journal_is_long(journal));
            written++;
        }
        cr_assert_gt(written, 1);
        cr_assert_leq(most, 4 * journal->checkpoint_bytes + 2000 + 1000);
        sti_journal_close(journal);
        shard_free(shard);
        place_free(&at);
    }
    history_free(h);
}

/* ---- who may open it --------------------------------------------------- */

static void assert_refused(const place *at, const sti_journal_options *as,
                           strads_err expected, const char *says)
{
    sti_journal *journal;
    strads_err err = place_open_as(at, as, &journal);
    cr_assert_eq(err, expected, "%s: %s", strads_error_name(err),
                 strads_error_text());
    expect_says(says);
}

Test(store_journal, another_run_or_shard_is_refused)
{
    history *h = history_new(2, 9);
    const sti_journal_options run = {.run = 78, .shard = 2};
    const sti_journal_options shard = {.run = 77, .shard = 3};
    for (int files = 0; files < 2; files++)
        for (uint64_t before = 0; before < 9; before += 4) {
            place at = place_new(files);
            uint64_t count = 0;
            place_write(&at, h, before, 3);
            assert_refused(&at, &run, STRADS_EMISMATCH, "another run");
            assert_refused(&at, &shard, STRADS_EMISMATCH, "shard 3");
            cr_assert_eq(place_restart(&at, h, &count), STRADS_OK);
            cr_assert_eq(count, h->n);
            place_free(&at);
        }
    history_free(h);
}

Test(store_journal, another_version_and_files_that_are_no_pair_are_refused)
{
    history *h = history_new(2, 9);
    place at = place_new(true);
    uint64_t size, other;
    char path[128];
    place_write(&at, h, 4, 3);
    unsigned char *log = place_load(&at, "log", &size);
    log[8]++;
    place_store(&at, "log", log, size);
    assert_refused(&at, &place_options, STRADS_EMISMATCH, "version");
    log[8]--;
    place_path(&at, "log", path);
    cr_assert_eq(unlink(path), 0);
    assert_refused(&at, &place_options, STRADS_EFORMAT, "no log");
    place_store(&at, "log", log, size);
    unsigned char *state = place_load(&at, "checkpoint", &other);
    place_path(&at, "checkpoint", path);
    cr_assert_eq(unlink(path), 0);
    assert_refused(&at, &place_options, STRADS_EFORMAT, "not its checkpoint");
    place_store(&at, "checkpoint", state, 0);
    assert_refused(&at, &place_options, STRADS_EFORMAT,
                   "checkpoint does not begin");
    place_store(&at, "checkpoint", state, other - 1);
    assert_refused(&at, &place_options, STRADS_EFORMAT, "not as long");
    place_store(&at, "checkpoint", state, other);
    place_store(&at, "log", (const unsigned char *)"notes of mine", 13);
    assert_refused(&at, &place_options, STRADS_EFORMAT, "log does not begin");
    free(log);
    free(state);
    history_free(h);
    place_free(&at);
}

Test(store_journal, a_directory_is_open_once_at_a_time)
{
    for (int files = 0; files < 2; files++) {
        place at = place_new(files);
        sti_journal *journal = place_open(&at);
        assert_refused(&at, &place_options, STRADS_ESTATE,
                       "has this journal open");
        pid_t child = files ? fork() : 0;
        if (files && child == 0) {
            sti_journal *other;
            _exit(place_open_as(&at, &place_options, &other) == STRADS_ESTATE
                      ? 0
                      : 1);
        }
        int status = 0;
        if (files)
            cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert_eq(status, 0, "another process opened it, too");
        sti_journal_close(journal);
        sti_journal_close(place_open(&at));
        place_free(&at);
    }
}

Test(store_journal, a_directory_is_made_and_what_cannot_be_one_is_told)
{
    place at = place_new(true), inner = at;
    char path[128];
    place_path(&at, "shard-2", path);
    (void)snprintf(inner.directory, sizeof inner.directory, "%.63s", path);
    sti_journal_close(place_open(&inner));
    place_path(&inner, "log.4711-0.part", path); /* of one that was killed */
    cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0666)), 0);
    place_path(&inner, "checkpoint.4711-1.part", path);
    cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0666)), 0);
    sti_journal_close(place_open(&inner));
    place_free(&inner); /* which asserts that nothing else is there */
    const place none = {.directory = "/nowhere/at/all"};
    assert_refused(&none, &place_options, STRADS_EIO,
                   "/nowhere/at/all: cannot be");
    place_free(&at);
}

/* ---- a full disk ------------------------------------------------------- */

static void limit(const place *at, uint64_t bytes)
{
    struct rlimit most;
    if (at->disk) {
        sti_memory_disk_limit(at->disk, bytes);
        return;
    }
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &most), 0);
    most.rlim_cur = bytes;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
}

/* Refuses when it has put out a part. */
static strads_err half_a_state(void *shard, sti_sink *sink)
{
    strads_err err = sink->put(sink, shard, sizeof(uint64_t));
    return err ? err : strads_fail(STRADS_EPROGRAM, "no more");
}

Test(store_journal, a_full_disk_takes_nothing_by_half_and_the_shard_goes_on)
{
    history *h = history_new(12, 40);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (int files = 0; files < 2; files++) {
        place at = place_new(files);
        toy_shard *shard = shard_new();
        sti_journal *journal = place_recover(&at, shard);
        uint64_t count = 0;
        place_take(journal, shard, h, 10);
        uint64_t before = journal->log_bytes;
        limit(&at, 64 + before + 500);
        expect_error(journal->ops->append(journal, h->records + 10, 30),
                     STRADS_EIO, "cannot be written");
        expect_says("make room");
        cr_assert_eq(journal->log_bytes, before);
        place_take(journal, shard, h, 1);
        limit(&at, 64);
        cr_assert_eq(journal->ops->checkpoint(journal, shard_state, shard),
                     STRADS_EIO);
        limit(&at, files ? RLIM_INFINITY : UINT64_MAX);
        cr_assert_eq(journal->ops->checkpoint(journal, half_a_state, shard),
                     STRADS_EPROGRAM);
        place_take(journal, shard, h, 9);
        place_checkpoint(journal, shard);
        place_take(journal, shard, h, 20);
        sti_journal_close(journal);
        shard_free(shard);
        cr_assert_eq(place_restart(&at, h, &count), STRADS_OK);
        cr_assert_eq(count, h->n);
        place_free(&at);
    }
    history_free(h);
}
