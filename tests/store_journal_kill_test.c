/* Killed between any two steps of a journal, or with any step refused.
 *
 * This program takes the place of the system calls that change files, so that
 * it can look at the directory before each of them, and can let one fail. It
 * knows what a disk is held to: a file's bytes are what they were at its last
 * sync, a directory's names likewise. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/expect.h"
#include "toy_shard.h"

enum { FILES = 8, NAME = 64, ROOM = 1 << 16 };

/* A file of the directory, as it was at some time. */
typedef struct image_file {
    char name[NAME];
    ino_t inode;
    size_t size;
    char bytes[ROOM];
} image_file;

typedef struct image {
    int n;
    image_file files[FILES];
} image;

static struct {
    bool watching;        /* steps are counted */
    int steps, failing;   /* the step that fails; -1: none */
    char directory[NAME]; /* of the journal */
    char copy[NAME];      /* where what a kill leaves is restarted */
    image synced;         /* each file's bytes at its last sync */
    image named;          /* the names at the directory's last sync */
    const history *told;
    uint64_t durable, appended; /* pushes whose sync, append was called */
} world = {.failing = -1};

static const sti_journal_options options = {.run = 1, .shard = 0};

/* ---- images ------------------------------------------------------------ */

static void look_at(const char *directory, image *out)
{
    DIR *folder = opendir(directory);
    const struct dirent *entry;
    char path[2 * NAME + NAME];
    out->n = 0;
    while ((entry = readdir(folder)) != NULL) {
        struct stat info;
        image_file *f = &out->files[out->n];
        (void)snprintf(path, sizeof path, "%s/%.63s", directory, entry->d_name);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        (void)snprintf(f->name, NAME, "%.63s", entry->d_name);
        f->inode = info.st_ino;
        FILE *file = fopen(path, "r");
        f->size = fread(f->bytes, 1, ROOM, file);
        (void)fclose(file);
        cr_assert(f->size < ROOM && ++out->n < FILES);
    }
    (void)closedir(folder);
}

static image_file *find_inode(image *in, ino_t inode)
{
    int at = 0;
    while (at < in->n && in->files[at].inode != inode)
        at++;
    return at < in->n ? &in->files[at] : NULL;
}

/* Names and bytes of two images: files of `names` with the bytes that they have
 * in `bytes`, or none. */
static void put_into_copy(const image *names, image *bytes)
{
    static image old;
    char path[2 * NAME + NAME];
    look_at(world.copy, &old);
    for (int k = 0; k < old.n; k++) {
        (void)snprintf(path, sizeof path, "%s/%s", world.copy,
                       old.files[k].name);
        (void)unlink(path);
    }
    for (int k = 0; k < names->n; k++) {
        const image_file *f = find_inode(bytes, names->files[k].inode);
        (void)snprintf(path, sizeof path, "%s/%s", world.copy,
                       names->files[k].name);
        FILE *file = fopen(path, "w");
        if (f)
            (void)fwrite(f->bytes, 1, f->size, file);
        (void)fclose(file);
    }
}

/* What came back is a state between what was durable and what was told. */
static void assert_restarts(const char *directory, const char *when)
{
    sti_journal *journal;
    strads_err err = sti_journal_open(directory, &options, &journal);
    cr_assert_eq(err, STRADS_OK, "step %d, %s: %s", world.steps, when,
                 strads_error_text());
    toy_shard *shard = shard_new();
    const sti_journal_reader reader = shard_reader(shard);
    err = journal->ops->recover(journal, &reader);
    cr_assert_eq(err, STRADS_OK, "step %d, %s: %s", world.steps, when,
                 strads_error_text());
    uint64_t count = assert_prefix(shard, world.told);
    cr_assert(count >= world.durable && count <= world.appended,
              "step %d, %s: %zu of %zu .. %zu came back", world.steps, when,
              (size_t)count, (size_t)world.durable, (size_t)world.appended);
    sti_journal_close(journal);
    shard_free(shard);
}

/* ---- steps ------------------------------------------------------------- */

/* Before each step: whether it is to fail. */
static bool step(void)
{
    static image now;
    if (!world.watching)
        return false;
    world.watching = false;
    if (world.failing < 0) {
        look_at(world.directory, &now);
        put_into_copy(&now, &now);
        assert_restarts(world.copy, "killed");
        put_into_copy(&world.named, &world.synced);
        assert_restarts(world.copy, "power lost");
        put_into_copy(&now, &world.synced);
        assert_restarts(world.copy, "power lost, names kept");
    }
    world.watching = true;
    bool fails = world.steps++ == world.failing;
    if (fails)
        errno = EIO;
    return fails;
}

/* The names are durable. A file without one is gone: its inode may be used
 * again. */
static void note_names(image *now)
{
    world.named = *now;
    for (int k = world.synced.n; k-- > 0;)
        if (!find_inode(now, world.synced.files[k].inode))
            world.synced.files[k] = world.synced.files[--world.synced.n];
}

/* Notes what a sync has made durable. */
static void note_sync(int fd)
{
    static image now;
    struct stat info;
    if (!world.watching)
        return;
    cr_assert_eq(fstat(fd, &info), 0);
    look_at(world.directory, &now);
    if (S_ISDIR(info.st_mode)) {
        note_names(&now);
        return;
    }
    const image_file *file = find_inode(&now, info.st_ino);
    image_file *to = find_inode(&world.synced, info.st_ino);
    cr_assert(file && (to || world.synced.n < FILES));
    if (!to)
        to = &world.synced.files[world.synced.n++];
    *to = *file;
}

ssize_t pwritev(int fd, const struct iovec *part, int n, off_t at)
{
    return step() ? -1 : (ssize_t)syscall(SYS_pwritev, fd, part, n, at, 0L);
}

/* The real disk need not be troubled. */
int fdatasync(int fd)
{
    if (step())
        return -1;
    note_sync(fd);
    return 0;
}

int fsync(int fd)
{
    return fdatasync(fd);
}

int ftruncate(int fd, off_t size)
{
    return step() ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int rename(const char *from, const char *to)
{
    return step() ? -1 : (int)syscall(SYS_rename, from, to);
}

/* ---- a shard's life ---------------------------------------------------- */

static void make_folder(char path[NAME])
{
    strcpy(path, "/tmp/strads-kill-XXXXXX");
    cr_assert_not_null(mkdtemp(path));
}

static void remove_folder(const char *path)
{
    static image files;
    char name[2 * NAME + NAME];
    look_at(path, &files);
    for (int k = 0; k < files.n; k++) {
        (void)snprintf(name, sizeof name, "%s/%s", path, files.files[k].name);
        (void)unlink(name);
    }
    cr_assert_eq(rmdir(path), 0);
}

static strads_err append(sti_journal *journal, uint64_t from, uint64_t n)
{
    uint64_t before = world.appended;
    world.appended = from + n;
    strads_err err =
        journal->ops->append(journal, world.told->records + from, n);
    if (err)
        world.appended = before;
    return err;
}

/* Takes in a batch, as a shard does. */
static strads_err take_batch(sti_journal *journal, toy_shard *shard, uint64_t n)
{
    uint64_t from = shard_count(shard);
    strads_err err = append(journal, from, n);
    if (err)
        return err;
    err = journal->ops->sync(journal);
    if (err)
        return err;
    world.durable = world.appended;
    for (uint64_t k = from; k < from + n; k++)
        shard_apply(shard, &world.told->records[k]);
    return STRADS_OK;
}

/* Two lives of two batches with a checkpoint between; each ends with two pushes
 * that were never synced. An error ends it, but for a checkpoint's that leaves
 * the journal fit to go on. */
static strads_err live(void)
{
    strads_err err = STRADS_OK;
    for (int life = 0; !err && life < 2; life++) {
        sti_journal *journal;
        err = sti_journal_open(world.directory, &options, &journal);
        if (err)
            return err;
        toy_shard *shard = shard_new();
        const sti_journal_reader reader = shard_reader(shard);
        err = journal->ops->recover(journal, &reader);
        if (!err) { /* what it was handed is acknowledged from now on */
            world.durable = shard_count(shard);
            err = take_batch(journal, shard, 3);
        }
        if (!err)
            (void)journal->ops->checkpoint(journal, shard_state, shard);
        if (!err)
            err = take_batch(journal, shard, 4);
        if (!err)
            err = append(journal, shard_count(shard), 2);
        sti_journal_close(journal);
        shard_free(shard);
    }
    return err;
}

static strads_err live_in_a_new_world(int failing)
{
    make_folder(world.directory);
    world.failing = failing;
    world.steps = 0;
    world.durable = world.appended = 0;
    world.synced.n = world.named.n = 0;
    world.watching = true;
    strads_err err = live();
    world.watching = false;
    return err;
}

Test(store_journal_kill, between_any_two_steps_leaves_all_that_was_synced)
{
    history *h = history_new(31, 18);
    world.told = h;
    make_folder(world.copy);
    expect_ok(live_in_a_new_world(-1));
    cr_assert_eq(world.durable, 16);
    cr_assert_gt(world.steps, 20, "only %d steps were seen", world.steps);
    remove_folder(world.directory);
    remove_folder(world.copy);
    history_free(h);
}

Test(store_journal_kill, a_step_that_fails_is_told_and_loses_nothing_synced)
{
    history *h = history_new(32, 18);
    world.told = h;
    int steps = INT32_MAX, told = 0;
    for (int failing = 0; failing < steps; failing++) {
        told += live_in_a_new_world(failing) != STRADS_OK;
        if (world.steps <= failing)
            steps = failing; /* all have failed once */
        assert_restarts(world.directory, "restarted after a failure");
        remove_folder(world.directory);
    }
    cr_assert_gt(steps, 20);
    cr_assert_gt(told, 8);
    history_free(h);
}

Test(store_journal_kill, after_a_sync_that_failed_nothing_is_taken)
{
    history *h = history_new(33, 14);
    world.told = h;
    make_folder(world.directory);
    sti_journal *journal;
    toy_shard *shard = shard_new();
    const sti_journal_reader reader = shard_reader(shard);
    cr_assert_eq(sti_journal_open(world.directory, &options, &journal),
                 STRADS_OK);
    cr_assert_eq(journal->ops->recover(journal, &reader), STRADS_OK);
    cr_assert_eq(journal->ops->append(journal, h->records, 2), STRADS_OK);
    world.failing = world.steps = 0;
    world.watching = true;
    cr_assert_eq(journal->ops->sync(journal), STRADS_EIO);
    world.watching = false;
    expect_says("restart the shard");
    cr_assert_eq(journal->ops->sync(journal), STRADS_ESTATE);
    cr_assert_eq(journal->ops->append(journal, h->records + 2, 1),
                 STRADS_ESTATE);
    cr_assert_eq(journal->ops->checkpoint(journal, shard_state, shard),
                 STRADS_ESTATE);
    sti_journal_close(journal);
    shard_free(shard);
    remove_folder(world.directory);
    history_free(h);
}
