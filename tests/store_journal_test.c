/* Journals in files and in memory: what comes back, and what is refused. */
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

#include "engine/store/journal_memory.h"
#include "strads/policy.h"
#include "toy_shard.h"

/* Where a journal lies: a directory, or a disk in memory. */
typedef struct place {
    char directory[64]; /* of files; "": in memory */
    sti_memory_disk *disk;
} place;

static const sti_journal_options options = {.run = 77, .shard = 2};

/* Nobody pulls the plug here: this program's syncs need not trouble the disk
 * (store_journal_kill_test.c looks at when they come). */
int fdatasync(int fd)
{
    (void)fd;
    return 0;
}

int fsync(int fd)
{
    (void)fd;
    return 0;
}

static place place_new(bool files)
{
    place at = {0};
    if (files) {
        strcpy(at.directory, "/tmp/strads-journal-XXXXXX");
        cr_assert_not_null(mkdtemp(at.directory));
    } else {
        cr_assert_eq(sti_memory_disk_new(&at.disk), STRADS_OK);
    }
    return at;
}

static void path_of(const place *at, const char *name, char path[128])
{
    (void)snprintf(path, 128, "%s/%s", at->directory, name);
}

static void place_free(place *at)
{
    char path[128];
    sti_memory_disk_free(at->disk);
    if (!at->directory[0])
        return;
    path_of(at, "log", path);
    (void)unlink(path);
    path_of(at, "checkpoint", path);
    (void)unlink(path);
    cr_assert_eq(rmdir(at->directory), 0, "%s is not empty", at->directory);
}

static strads_err open_as(const place *at, const sti_journal_options *as,
                          sti_journal **out)
{
    return at->disk ? sti_journal_open_memory(at->disk, "memory", as, out)
                    : sti_journal_open(at->directory, as, out);
}

static sti_journal *opened(const place *at)
{
    sti_journal *journal;
    cr_assert_eq(open_as(at, &options, &journal), STRADS_OK, "%s",
                 strads_error_text());
    return journal;
}

/* Opens and recovers; *count: pushes that came back. */
static strads_err restart(const place *at, const history *h, uint64_t *count)
{
    sti_journal *journal;
    strads_err err = open_as(at, &options, &journal);
    if (err)
        return err;
    toy_shard *shard = shard_new();
    const sti_journal_reader reader = shard_reader(shard);
    err = journal->ops->recover(journal, &reader);
    if (!err)
        *count = assert_prefix(shard, h);
    shard_free(shard);
    sti_journal_close(journal);
    return err;
}

static sti_journal *recovered(const place *at, toy_shard *shard)
{
    sti_journal *journal = opened(at);
    const sti_journal_reader reader = shard_reader(shard);
    cr_assert_eq(journal->ops->recover(journal, &reader), STRADS_OK, "%s",
                 strads_error_text());
    return journal;
}

static void append(sti_journal *journal, const history *h, uint64_t from,
                   uint64_t n)
{
    cr_assert_eq(journal->ops->append(journal, h->records + from, n), STRADS_OK,
                 "%s", strads_error_text());
}

static void sync_it(sti_journal *journal)
{
    cr_assert_eq(journal->ops->sync(journal), STRADS_OK, "%s",
                 strads_error_text());
}

/* As a shard does: appends and syncs a batch, then applies it. */
static void take_batch(sti_journal *journal, toy_shard *shard, const history *h,
                       uint64_t n)
{
    uint64_t from = shard_count(shard);
    append(journal, h, from, n);
    sync_it(journal);
    for (uint64_t k = from; k < from + n; k++)
        shard_apply(shard, &h->records[k]);
}

static void checkpoint(sti_journal *journal, toy_shard *shard)
{
    cr_assert_eq(journal->ops->checkpoint(journal, shard_state, shard),
                 STRADS_OK, "%s", strads_error_text());
}

/* A log of the history in batches of `batch`, behind a checkpoint after the
 * first `before` pushes. */
static void write_history(const place *at, const history *h, uint64_t before,
                          uint64_t batch)
{
    toy_shard *shard = shard_new();
    sti_journal *journal = recovered(at, shard);
    if (before) {
        take_batch(journal, shard, h, before);
        checkpoint(journal, shard);
    }
    for (uint64_t left; (left = h->n - shard_count(shard)) > 0;)
        take_batch(journal, shard, h, left < batch ? left : batch);
    sti_journal_close(journal);
    shard_free(shard);
}

/* A file's bytes, to be changed and put back. */
static unsigned char *load(const place *at, const char *name, uint64_t *size)
{
    char path[128];
    if (at->disk) {
        bool log = strcmp(name, "log") == 0;
        const unsigned char *bytes =
            log ? sti_memory_disk_log(at->disk, size)
                : sti_memory_disk_checkpoint(at->disk, size);
        unsigned char *copy = malloc(*size);
        return memcpy(copy, bytes, *size);
    }
    path_of(at, name, path);
    FILE *file = fopen(path, "r");
    unsigned char *bytes = malloc(1 << 20);
    cr_assert(file && bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    (void)fclose(file);
    return bytes;
}

static void store_bytes(const place *at, const char *name,
                        const unsigned char *bytes, uint64_t size)
{
    char path[128];
    if (at->disk) {
        uint64_t n;
        memcpy(strcmp(name, "log") == 0
                   ? sti_memory_disk_log(at->disk, &n)
                   : sti_memory_disk_checkpoint(at->disk, &n),
               bytes, size);
        cr_assert_eq(n, size);
        return;
    }
    path_of(at, name, path);
    (void)unlink(path); /* some file systems flush what is written over */
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(bytes, 1, size, file) == size);
    (void)fclose(file);
}

/* ---- what comes back --------------------------------------------------- */

static void round_trip(bool files, uint64_t seed)
{
    place at = place_new(files);
    history *h = history_new(seed, 60);
    uint64_t step = 0;
    for (uint64_t done = 0; done < h->n;) {
        toy_shard *shard = shard_new();
        sti_journal *journal = recovered(&at, shard);
        cr_assert_eq(assert_prefix(shard, h), done);
        for (int k = 0; k < 4 && done < h->n; k++) {
            uint64_t n = strads_random_bits(seed, 1, step++, 0) % 7;
            n = n < h->n - done ? n : h->n - done;
            take_batch(journal, shard, h, n);
            done += n;
            if (strads_random_bits(seed, 2, step, 0) % 5 == 0)
                checkpoint(journal, shard);
        }
        sti_journal_close(journal);
        shard_free(shard);
    }
    uint64_t count = 0;
    cr_assert_eq(restart(&at, h, &count), STRADS_OK);
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
        write_history(&at[p], h, 12, 4);
    for (int n = 0; n < 2; n++) {
        uint64_t size[2];
        unsigned char *bytes[2];
        for (int p = 0; p < 2; p++)
            bytes[p] = load(&at[p], names[n], &size[p]);
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
        sti_journal *journal = opened(&at);
        cr_assert_eq(journal->ops->recover(journal, &reader), STRADS_OK);
        cr_assert_eq(journal->ops->append(journal, records, RECORDS),
                     STRADS_OK);
        sync_it(journal);
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
        sti_journal *journal = opened(&at);
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
        cr_assert_eq(open_as(&at, &small, &journal), STRADS_OK);
        cr_assert_eq(journal->ops->recover(journal, &reader), STRADS_OK);
        while (shard_count(shard) < h->n) {
            take_batch(journal, shard, h, 1);
            most = journal->log_bytes > most ? journal->log_bytes : most;
            if (!sti_journal_is_long(journal))
                continue;
            cr_assert_gt(journal->log_bytes, 2000);
            cr_assert_gt(journal->log_bytes, 4 * journal->checkpoint_bytes);
            checkpoint(journal, shard);
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

/* ---- cut short and damaged --------------------------------------------- */

Test(store_journal, a_log_cut_short_anywhere_gives_its_first_pushes)
{
    for (int files = 0; files < 2; files++)
        for (uint64_t before = 0; before <= 6; before += 6) {
            place at = place_new(files);
            history *h = history_new(9, 14);
            uint64_t size, count = 0, last = h->n;
            write_history(&at, h, before, 3);
            unsigned char *log = load(&at, "log", &size);
            for (uint64_t cut = size; cut-- > 64;) {
                if (files) {
                    store_bytes(&at, "log", log, cut);
                } else { /* written, and never synced */
                    place_free(&at);
                    at = place_new(false);
                    toy_shard *shard = shard_new();
                    sti_journal *journal = recovered(&at, shard);
                    if (before)
                        take_batch(journal, shard, h, before);
                    if (before)
                        checkpoint(journal, shard);
                    append(journal, h, before, h->n - before);
                    sti_journal_close(journal);
                    shard_free(shard);
                    cr_assert_eq(sti_memory_disk_unsynced(at.disk), size - 64);
                    sti_memory_disk_lose(at.disk, cut - 64);
                }
                cr_assert_eq(restart(&at, h, &count), STRADS_OK, "%s",
                             strads_error_text());
                cr_assert(count == last || count + 1 == last);
                last = count;
                /* The tail is gone for good, not only passed over. */
                cr_assert_eq(restart(&at, h, &count), STRADS_OK);
                cr_assert_eq(count, last);
            }
            cr_assert_eq(last, before);
            free(log);
            history_free(h);
            place_free(&at);
        }
}

Test(store_journal, a_shard_goes_on_behind_a_tail_that_was_cut_off)
{
    place at = place_new(true);
    history *h = history_new(4, 20);
    uint64_t size, count = 0;
    write_history(&at, h, 0, 20);
    unsigned char *log = load(&at, "log", &size);
    store_bytes(&at, "log", log, size - 100);
    toy_shard *shard = shard_new();
    sti_journal *journal = recovered(&at, shard);
    uint64_t left = h->n - shard_count(shard);
    cr_assert_gt(left, 0);
    take_batch(journal, shard, h, left);
    sti_journal_close(journal);
    shard_free(shard);
    cr_assert_eq(restart(&at, h, &count), STRADS_OK);
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
    unsigned char *bytes = load(at, name, size);
    unsigned char *log = load(at, "log", &log_size);
    for (uint64_t k = 0; k < *size; k++) {
        bytes[k] ^= (unsigned char)(1U << k % 8);
        store_bytes(at, name, bytes, *size);
        strads_err err = restart(at, h, &count);
        cr_assert(err == STRADS_OK || err == STRADS_EFORMAT ||
                      err == STRADS_EMISMATCH,
                  "byte %zu: %s", (size_t)k, strads_error_text());
        cr_assert(err || count >= least, "byte %zu: only %zu came back",
                  (size_t)k, (size_t)count);
        refused += err != STRADS_OK;
        bytes[k] ^= (unsigned char)(1U << k % 8);
        store_bytes(at, "log", log, log_size); /* it may have been cut */
    }
    store_bytes(at, name, bytes, *size);
    free(bytes);
    free(log);
    return refused;
}

Test(store_journal, a_flipped_bit_is_cut_off_with_the_last_batch_or_refused)
{
    place at = place_new(true);
    history *h = history_new(8, 12);
    uint64_t log_size, state_size, refused;
    write_history(&at, h, 4, 3); /* batches that end at 7, 10 and 12 */
    refused = flip_each(&at, "log", h, 10, &log_size);
    cr_assert_gt(refused, log_size / 2);
    cr_assert_lt(refused, log_size);
    refused = flip_each(&at, "checkpoint", h, 4, &state_size);
    cr_assert_eq(refused, state_size, "a damaged checkpoint was believed");
    history_free(h);
    place_free(&at);
}

Test(store_journal, damage_of_what_was_acknowledged_is_told_with_its_place)
{
    for (int files = 0; files < 2; files++) {
        place at = place_new(files);
        history *h = history_new(8, 12);
        uint64_t size, count;
        write_history(&at, h, 0, 3);
        unsigned char *bytes = load(&at, "log", &size);
        bytes[64 + 20] ^= 1; /* of the first record's head */
        store_bytes(&at, "log", bytes, size);
        cr_assert_eq(restart(&at, h, &count), STRADS_EFORMAT);
        cr_assert_not_null(strstr(strads_error_text(), "damaged at byte 64,"));
        cr_assert_not_null(strstr(strads_error_text(), "restore"));
        free(bytes);
        history_free(h);
        place_free(&at);
    }
}

/* A disk may write the last pages of one batch before the first ones. */
Test(store_journal, a_hole_in_what_was_never_synced_is_no_damage)
{
    place at = place_new(false);
    history *h = history_new(6, 12);
    toy_shard *shard = shard_new();
    sti_journal *journal = recovered(&at, shard);
    uint64_t count = 0, size;
    take_batch(journal, shard, h, 5);
    uint64_t synced = journal->log_bytes;
    append(journal, h, 5, 7);
    unsigned char *log = sti_memory_disk_log(at.disk, &size);
    memset(log + 64 + synced, 0, 80);
    sti_journal_close(journal);
    cr_assert_eq(restart(&at, h, &count), STRADS_OK);
    cr_assert_eq(count, 5);
    shard_free(shard);
    history_free(h);
    place_free(&at);
}

/* ---- who may open it --------------------------------------------------- */

static void assert_refused(const place *at, const sti_journal_options *as,
                           strads_err expected, const char *says)
{
    sti_journal *journal;
    strads_err err = open_as(at, as, &journal);
    cr_assert_eq(err, expected, "%s: %s", strads_error_name(err),
                 strads_error_text());
    cr_assert_not_null(strstr(strads_error_text(), says), "%s",
                       strads_error_text());
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
            write_history(&at, h, before, 3);
            assert_refused(&at, &run, STRADS_EMISMATCH, "another run");
            assert_refused(&at, &shard, STRADS_EMISMATCH, "shard 3");
            cr_assert_eq(restart(&at, h, &count), STRADS_OK);
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
    write_history(&at, h, 4, 3);
    unsigned char *log = load(&at, "log", &size);
    log[8]++;
    store_bytes(&at, "log", log, size);
    assert_refused(&at, &options, STRADS_EMISMATCH, "version");
    log[8]--;
    path_of(&at, "log", path);
    cr_assert_eq(unlink(path), 0);
    assert_refused(&at, &options, STRADS_EFORMAT, "no log");
    store_bytes(&at, "log", log, size);
    unsigned char *state = load(&at, "checkpoint", &other);
    path_of(&at, "checkpoint", path);
    cr_assert_eq(unlink(path), 0);
    assert_refused(&at, &options, STRADS_EFORMAT, "not its checkpoint");
    store_bytes(&at, "checkpoint", state, 0);
    assert_refused(&at, &options, STRADS_EFORMAT, "checkpoint does not begin");
    store_bytes(&at, "checkpoint", state, other - 1);
    assert_refused(&at, &options, STRADS_EFORMAT, "not as long");
    store_bytes(&at, "checkpoint", state, other);
    store_bytes(&at, "log", (const unsigned char *)"notes of mine", 13);
    assert_refused(&at, &options, STRADS_EFORMAT, "log does not begin");
    free(log);
    free(state);
    history_free(h);
    place_free(&at);
}

Test(store_journal, a_directory_is_open_once_at_a_time)
{
    for (int files = 0; files < 2; files++) {
        place at = place_new(files);
        sti_journal *journal = opened(&at);
        assert_refused(&at, &options, STRADS_ESTATE, "has this journal open");
        pid_t child = files ? fork() : 0;
        if (files && child == 0) {
            sti_journal *other;
            _exit(open_as(&at, &options, &other) == STRADS_ESTATE ? 0 : 1);
        }
        int status = 0;
        if (files)
            cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert_eq(status, 0, "another process opened it, too");
        sti_journal_close(journal);
        sti_journal_close(opened(&at));
        place_free(&at);
    }
}

Test(store_journal, a_directory_is_made_and_what_cannot_be_one_is_told)
{
    place at = place_new(true), inner = at;
    char path[128];
    path_of(&at, "shard-2", path);
    (void)snprintf(inner.directory, sizeof inner.directory, "%.63s", path);
    sti_journal_close(opened(&inner));
    path_of(&inner, "log.4711-0.part", path); /* of one that was killed */
    cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0666)), 0);
    path_of(&inner, "checkpoint.4711-1.part", path);
    cr_assert_eq(close(open(path, O_CREAT | O_WRONLY, 0666)), 0);
    sti_journal_close(opened(&inner));
    place_free(&inner); /* which asserts that nothing else is there */
    const place none = {.directory = "/nowhere/at/all"};
    assert_refused(&none, &options, STRADS_EIO, "/nowhere/at/all: cannot be");
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
        sti_journal *journal = recovered(&at, shard);
        uint64_t count = 0;
        take_batch(journal, shard, h, 10);
        uint64_t before = journal->log_bytes;
        limit(&at, 64 + before + 500);
        cr_assert_eq(journal->ops->append(journal, h->records + 10, 30),
                     STRADS_EIO);
        cr_assert_not_null(strstr(strads_error_text(), "cannot be written"));
        cr_assert_not_null(strstr(strads_error_text(), "make room"));
        cr_assert_eq(journal->log_bytes, before);
        take_batch(journal, shard, h, 1);
        limit(&at, 64);
        cr_assert_eq(journal->ops->checkpoint(journal, shard_state, shard),
                     STRADS_EIO);
        limit(&at, files ? RLIM_INFINITY : UINT64_MAX);
        cr_assert_eq(journal->ops->checkpoint(journal, half_a_state, shard),
                     STRADS_EPROGRAM);
        take_batch(journal, shard, h, 9);
        checkpoint(journal, shard);
        take_batch(journal, shard, h, 20);
        sti_journal_close(journal);
        shard_free(shard);
        cr_assert_eq(restart(&at, h, &count), STRADS_OK);
        cr_assert_eq(count, h->n);
        place_free(&at);
    }
    history_free(h);
}
