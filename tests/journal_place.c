#include "tests/journal_place.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"

const sti_journal_options place_options = {.run = 77, .shard = 2};

place place_new(bool files)
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

void place_path(const place *at, const char *name, char path[128])
{
    (void)snprintf(path, 128, "%s/%s", at->directory, name);
}

void place_free(place *at)
{
    char path[128];
    sti_memory_disk_free(at->disk);
    if (!at->directory[0])
        return;
    place_path(at, "log", path);
    (void)unlink(path);
    place_path(at, "checkpoint", path);
    (void)unlink(path);
    cr_assert_eq(rmdir(at->directory), 0, "%s is not empty", at->directory);
}

strads_err place_open_as(const place *at, const sti_journal_options *as,
                         sti_journal **out)
{
    return at->disk ? sti_journal_open_memory(at->disk, "memory", as, out)
                    : sti_journal_open(at->directory, as, out);
}

sti_journal *place_open(const place *at)
{
    sti_journal *journal;
    expect_ok(place_open_as(at, &place_options, &journal));
    return journal;
}

strads_err place_restart(const place *at, const history *h, uint64_t *count)
{
    sti_journal *journal;
    strads_err err = place_open_as(at, &place_options, &journal);
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

sti_journal *place_recover(const place *at, toy_shard *shard)
{
    sti_journal *journal = place_open(at);
    const sti_journal_reader reader = shard_reader(shard);
    expect_ok(journal->ops->recover(journal, &reader));
    return journal;
}

void place_append(sti_journal *journal, const history *h, uint64_t from,
                  uint64_t n)
{
    expect_ok(journal->ops->append(journal, h->records + from, n));
}

void place_sync(sti_journal *journal)
{
    expect_ok(journal->ops->sync(journal));
}

void place_take(sti_journal *journal, toy_shard *shard, const history *h,
                uint64_t n)
{
    uint64_t from = shard_count(shard);
    place_append(journal, h, from, n);
    place_sync(journal);
    for (uint64_t k = from; k < from + n; k++)
        shard_apply(shard, &h->records[k]);
}

void place_checkpoint(sti_journal *journal, toy_shard *shard)
{
    expect_ok(journal->ops->checkpoint(journal, shard_state, shard));
}

void place_write(const place *at, const history *h, uint64_t before,
                 uint64_t batch)
{
    toy_shard *shard = shard_new();
    sti_journal *journal = place_recover(at, shard);
    if (before) {
        place_take(journal, shard, h, before);
        place_checkpoint(journal, shard);
    }
    for (uint64_t left; (left = h->n - shard_count(shard)) > 0;)
        place_take(journal, shard, h, left < batch ? left : batch);
    sti_journal_close(journal);
    shard_free(shard);
}

unsigned char *place_load(const place *at, const char *name, uint64_t *size)
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
    place_path(at, name, path);
    FILE *file = fopen(path, "r");
    unsigned char *bytes = malloc(1 << 20);
    cr_assert(file && bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    (void)fclose(file);
    return bytes;
}

void place_store(const place *at, const char *name, const unsigned char *bytes,
                 uint64_t size)
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
    place_path(at, name, path);
    (void)unlink(path); /* some file systems flush what is written over */
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(bytes, 1, size, file) == size);
    (void)fclose(file);
}
