/* Rings of bytes in shared memory: what is put is found in another mapping,
 * nothing is written over before it was taken, and what another process says
 * of it is not believed blindly. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/random.h"
#include "engine/net/shared_ring.h"

enum { ALL = STI_SHARED_RING_BYTES };

static sti_shared_ring *putter, *taker;
static sti_shared_ring_offer offer;
static unsigned char bytes[ALL + 1];

static void open_two(void)
{
    putter = sti_shared_ring_make(&offer);
    cr_assert_not_null(putter);
    taker = sti_shared_ring_open(&offer);
    cr_assert_not_null(taker);
    sti_shared_ring_close_door(putter);
}

static void close_two(void)
{
    sti_shared_ring_free(putter);
    sti_shared_ring_free(taker);
}

/* In two parts. */
static bool put(uint64_t size, uint64_t *place)
{
    const sti_part parts[2] = {{bytes, size / 3},
                               {bytes + size / 3, size - size / 3}};
    return sti_shared_ring_put(putter, parts, 2, size, place);
}

static void fill(unsigned char first, uint64_t size)
{
    for (uint64_t k = 0; k < size; k++)
        bytes[k] = (unsigned char)(first + k * 7);
}

static void expect_there(unsigned char first, uint64_t place, uint64_t size)
{
    const unsigned char *at = sti_shared_ring_look(taker, place, size);
    cr_assert_not_null(at, "%llu bytes", (unsigned long long)size);
    for (uint64_t k = 0; k < size; k++)
        cr_assert_eq(at[k], (unsigned char)(first + k * 7));
}

TestSuite(shared_ring, .timeout = 60);

Test(shared_ring, what_is_put_is_found_in_another_mapping)
{
    static const uint64_t sizes[] = {1, 63, 64, 65, 100000, ALL};
    open_two();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint64_t place;
        fill((unsigned char)k, sizes[k]);
        cr_assert(put(sizes[k], &place));
        cr_expect_eq(place % STI_PAYLOAD_ALIGN, 0);
        expect_there((unsigned char)k, place, sizes[k]);
        sti_shared_ring_take(taker, place, sizes[k]);
    }
    close_two();
}

Test(shared_ring, a_full_one_takes_more_when_something_was_taken)
{
    uint64_t place[4], more;
    open_two();
    for (int k = 0; k < 4; k++)
        cr_assert(put(ALL / 4, &place[k]));
    cr_expect_not(put(1, &more));
    sti_shared_ring_take(taker, place[0], ALL / 4);
    cr_expect_not(put(ALL / 4 + 1, &more));
    cr_expect(put(ALL / 4, &more));
    cr_expect_eq(more, ALL);
    cr_expect_not(put(1, &more));
    close_two();
}

Test(shared_ring, an_empty_one_is_begun_anew_and_nothing_larger_fits)
{
    uint64_t place;
    open_two();
    for (uint64_t k = 0; k < 5; k++) {
        cr_assert(put(1000, &place));
        cr_expect_eq(place, k * ALL);
        sti_shared_ring_take(taker, place, 1000);
    }
    cr_expect_not(put(ALL + 1, &place));
    cr_expect(put(ALL, &place));
    close_two();
}

/* Payloads of any size, taken at any time, keep what they had. */
Test(shared_ring, nothing_is_written_over_before_it_was_taken)
{
    enum { WAIT = 512 };
    static struct {
        uint64_t place, size;
        unsigned char first;
    } waits[WAIT];
    unsigned begin = 0, end = 0, full = 0;
    sti_random stream = sti_random_stream(7, 0, 0);
    open_two();
    for (int turn = 0; turn < 4000; turn++) {
        const uint64_t r = sti_random_bits(&stream);
        const uint64_t size = 1 + (r >> 8) % (r & 1 ? 300 : ALL / 3);
        const unsigned char first = (unsigned char)(r >> 56);
        if (end - begin < WAIT && r % 5 < 3) {
            fill(first, size);
            waits[end % WAIT].first = first;
            waits[end % WAIT].size = size;
            if (put(size, &waits[end % WAIT].place))
                end++;
            else
                full++;
        } else if (begin < end) {
            expect_there(waits[begin % WAIT].first, waits[begin % WAIT].place,
                         waits[begin % WAIT].size);
            sti_shared_ring_take(taker, waits[begin % WAIT].place,
                                 waits[begin % WAIT].size);
            begin++;
        }
    }
    cr_expect_gt(begin, 500, "taken");
    cr_expect_gt(full, 50, "it was full");
    close_two();
}

/* ---- what is no ring --------------------------------------------------- */

Test(shared_ring, nobody_opens_what_was_not_offered)
{
    putter = sti_shared_ring_make(&offer);
    cr_assert_not_null(putter);
    sti_shared_ring_offer other = offer;
    other.mark++;
    cr_expect_null(sti_shared_ring_open(&other));
    other = offer;
    other.process = 1u << 30;
    cr_expect_null(sti_shared_ring_open(&other));
    sti_shared_ring_close_door(putter);
    cr_expect_null(sti_shared_ring_open(&offer));
    sti_shared_ring_free(putter);
}

static void expect_no_ring(int fd)
{
    const sti_shared_ring_offer what = {.process = (uint32_t)getpid(),
                                        .descriptor = (uint32_t)fd};
    cr_assert_geq(fd, 0);
    cr_expect_null(sti_shared_ring_open(&what));
    (void)close(fd);
}

/* One that may be shortened would end whoever touches it. */
Test(shared_ring, a_file_that_is_not_sealed_is_no_ring)
{
    const int unsealed = memfd_create("test", MFD_ALLOW_SEALING);
    const int shorter = memfd_create("test", MFD_ALLOW_SEALING);
    int ends[2];
    cr_assert_eq(ftruncate(unsealed, ALL + 4096), 0);
    cr_assert_eq(ftruncate(shorter, ALL), 0);
    cr_assert_eq(fcntl(shorter, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    expect_no_ring(unsealed);
    expect_no_ring(shorter);
    cr_assert_eq(pipe(ends), 0);
    expect_no_ring(ends[0]);
    expect_no_ring(ends[1]);
    expect_no_ring(open("/dev/null", O_RDWR));
}

Test(shared_ring, who_has_opened_one_cannot_shorten_it)
{
    char path[64];
    putter = sti_shared_ring_make(&offer);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%u", offer.descriptor);
    const int fd = open(path, O_RDWR);
    cr_assert_geq(fd, 0);
    cr_expect_neq(ftruncate(fd, 0), 0);
    (void)close(fd);
    sti_shared_ring_free(putter);
}

Test(shared_ring, places_that_cannot_be_are_not_looked_at)
{
    uint64_t place;
    open_two();
    cr_assert(put(128, &place));
    sti_shared_ring_take(taker, place, 128);
    cr_expect_null(sti_shared_ring_look(taker, 64, 64), "it was taken");
    cr_expect_null(sti_shared_ring_look(taker, 129, 64), "between");
    cr_expect_null(sti_shared_ring_look(taker, 128, ALL), "over the end");
    cr_expect_null(sti_shared_ring_look(taker, ALL - 64, 65), "over the end");
    cr_expect_null(sti_shared_ring_look(taker, ALL, ALL + 1), "too large");
    cr_expect_null(sti_shared_ring_look(taker, UINT64_MAX - 63, 64), "far");
    cr_expect_null(sti_shared_ring_look(taker, 0, UINT64_MAX), "too large");
    cr_expect_not_null(sti_shared_ring_look(taker, ALL, ALL));
    close_two();
}

Test(shared_ring, who_takes_more_than_was_put_gets_nothing_more)
{
    uint64_t place;
    open_two();
    cr_assert(put(64, &place));
    sti_shared_ring_take(taker, place + 64, 64);
    cr_expect_not(put(64, &place));
    close_two();
}
