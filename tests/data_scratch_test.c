/* A scratch against the same blocks in memory: families of sizes and orders,
 * the figures, and the sentences of a folder that cannot hold it. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data_oracle.h"
#include "strads/scratch.h"
#include "tests/expect.h"

TestSuite(data_scratch, .init = oracle_enter, .fini = oracle_leave);

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (state >> 33) % below;
}

enum { MOST_BLOCKS = 40 };

typedef struct family {
    uint32_t blocks;
    uint64_t most;  /* bytes of a block */
    bool in_order;  /* else at random */
    uint32_t turns; /* blocks taken */
} family;

static const family families[] = {
    {1, 10000, true, 20},     {2, 5000, true, 30},    {3, 70000, false, 60},
    {4, 1, true, 40},         {7, 300000, true, 70},  {7, 300000, false, 70},
    {40, 3000000, true, 120}, {40, 40000, false, 400}};

static void compare_family(const family *f)
{
    uint64_t bytes[MOST_BLOCKS];
    uint8_t *truth[MOST_BLOCKS];
    strads_scratch *s = NULL;

    for (uint32_t b = 0; b < f->blocks; b++) {
        bytes[b] = draw(f->most) + 1;
        truth[b] = malloc(bytes[b]);
        cr_assert(truth[b]);
    }
    expect_ok(strads_scratch_open(".", "the bytes", f->blocks, bytes, &s));
    for (uint32_t b = 0; b < f->blocks; b++) {
        void *at;
        expect_ok(strads_scratch_take(s, b, &at));
        cr_assert_eq((uintptr_t)at % STRADS_SCRATCH_ALIGN, 0);
        for (uint64_t i = 0; i < bytes[b]; i++)
            truth[b][i] = (uint8_t)draw(256);
        memcpy(at, truth[b], bytes[b]);
        strads_scratch_changed(s, 0, bytes[b]);
    }
    for (uint32_t k = 0; k < f->turns; k++) {
        const uint32_t b =
            f->in_order ? k % f->blocks : (uint32_t)draw(f->blocks);
        void *at;
        expect_ok(strads_scratch_take(s, b, &at));
        cr_assert_arr_eq(at, truth[b], bytes[b], "block %u of %u, turn %u", b,
                         f->blocks, k);
        for (uint64_t n = draw(3); n > 0; n--) {
            const uint64_t from = draw(bytes[b]);
            const uint64_t to = from + draw(bytes[b] - from) + 1;
            for (uint64_t i = from; i < to; i++)
                ((uint8_t *)at)[i] = truth[b][i] = (uint8_t)draw(256);
            strads_scratch_changed(s, from, to);
        }
    }
    const strads_scratch_figures figures = strads_scratch_measure(s);
    cr_assert_geq(figures.bytes, bytes[0]);
    if (f->blocks > STRADS_SCRATCH_SLOTS)
        cr_assert_gt(figures.read, 0);
    if (f->blocks > 1)
        cr_assert_gt(figures.written, 0);
    strads_scratch_free(s);
    for (uint32_t b = 0; b < f->blocks; b++)
        free(truth[b]);
}

Test(data_scratch, holds_what_was_written)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
            state = seed * 1000 + k;
            compare_family(&families[k]);
        }
}

static size_t count_files(const char *folder)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    cr_assert(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n;
}

/* One block is filled page by page while the thread writes others behind. */
Test(data_scratch, fills_a_block_while_others_are_written)
{
    enum { PAGES = 64, OTHERS = 5 };
    const uint64_t page = STRADS_SCRATCH_ALIGN;
    uint64_t bytes[1 + OTHERS] = {PAGES * page - 100};
    uint8_t *from = aligned_alloc(page, page);
    strads_scratch *s = NULL;
    void *at;

    cr_assert(from);
    for (uint32_t b = 1; b <= OTHERS; b++)
        bytes[b] = page * b;
    expect_ok(strads_scratch_open(".", "the bytes", 1 + OTHERS, bytes, &s));
    for (uint32_t k = 0; k < PAGES; k++) {
        const uint32_t b = 1 + k % OTHERS;
        expect_ok(strads_scratch_take(s, b, &at));
        memset(at, (int)k, bytes[b]);
        strads_scratch_changed(s, 0, bytes[b]);
        memset(from, (int)(k + 100), page);
        expect_ok(strads_scratch_fill(s, 0, k * page, from, page));
    }
    expect_ok(strads_scratch_take(s, 0, &at));
    for (uint64_t i = 0; i < bytes[0]; i++)
        cr_assert_eq(((uint8_t *)at)[i], i / page + 100);
    for (uint32_t b = 1; b <= OTHERS; b++) {
        const uint32_t last = (PAGES - b) / OTHERS * OTHERS + b - 1;
        expect_ok(strads_scratch_take(s, b, &at));
        for (uint64_t i = 0; i < bytes[b]; i++)
            cr_assert_eq(((uint8_t *)at)[i], last);
    }
    strads_scratch_free(s);
    free(from);
}

Test(data_scratch, has_no_name)
{
    const uint64_t bytes[] = {100000, 100000};
    strads_scratch *s = NULL;
    const size_t before = count_files(".");

    expect_ok(strads_scratch_open(".", "the bytes", 2, bytes, &s));
    cr_assert_eq(count_files("."), before);
    strads_scratch_free(s);
}

Test(data_scratch, refuses_a_folder_without_room)
{
    const uint64_t bytes[] = {UINT64_C(1) << 60};
    strads_scratch *s = NULL;

    cr_assert_eq(strads_scratch_open(".", "the tokens", 1, bytes, &s),
                 STRADS_EIO);
    expect_says("the tokens need 1152921504606846976 bytes of scratch space");
    cr_assert_eq(strads_scratch_open("nowhere", "the tokens", 1, bytes, &s),
                 STRADS_EIO);
    expect_says("nowhere: cannot hold the scratch file");
    cr_assert_null(s);
}

/* A limit of the process on a file's size is not seen in the free room. */
Test(data_scratch, refuses_a_file_that_cannot_grow)
{
    const uint64_t bytes[] = {100000};
    strads_scratch *s = NULL;

    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){8192, 8192}), 0);
    cr_assert_eq(strads_scratch_open(".", "the tokens", 1, bytes, &s),
                 STRADS_EIO);
    expect_says("the tokens need 102400 bytes of scratch space: ");
    expect_says("name a folder on another disk (--scratch)");
    cr_assert_null(s);
}
