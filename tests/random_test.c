/* The random streams: known answers, independence of the order, and evenness
 * by chi-square tests at fixed seeds. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#include "engine/base/random.h"
#include "strads/policy.h"

typedef struct known_answer {
    uint32_t counter[4], key[2], word[4];
} known_answer;

/* Random123's own test vectors for philox4x32, 10 rounds. */
static const known_answer known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Test(random, philox_gives_the_published_answers)
{
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint32_t x[4];
        memcpy(x, known[k].counter, sizeof x);
        sti_random_philox(x, known[k].key[0], known[k].key[1]);
        for (int w = 0; w < 4; w++)
            cr_assert_eq(x[w], known[k].word[w], "vector %zu, word %d", k, w);
    }
}

Test(random, a_word_has_one_value_however_it_is_asked_for)
{
    sti_random r = sti_random_stream(5, 6, 7);
    uint64_t word[9];
    for (int k = 0; k < 9; k++)
        word[k] = sti_random_bits(&r);
    for (int k = 8; k >= 0; k--)
        cr_assert_eq(strads_random_bits(5, 6, 7, (uint64_t)k), word[k]);
    cr_assert_eq(strads_random_unit(5, 6, 7, 3), sti_random_to_unit(word[3]));
}

Test(random, seed_purpose_index_and_place_all_matter)
{
    uint64_t base = strads_random_bits(1, 2, 3, 4);
    cr_assert_neq(base, strads_random_bits(2, 2, 3, 4));
    cr_assert_neq(base, strads_random_bits(1, 3, 3, 4));
    cr_assert_neq(base, strads_random_bits(1, 2, 4, 4));
    cr_assert_neq(base, strads_random_bits(1, 2, 3, 5));
    cr_assert_neq(base, strads_random_bits(UINT64_C(1) << 32 | 1, 2, 3, 4));
    cr_assert_neq(base, strads_random_bits(1, UINT64_C(1) << 32 | 2, 3, 4));
    cr_assert_neq(base, strads_random_bits(1, 2, UINT64_C(1) << 32 | 3, 4));
    cr_assert_neq(base, strads_random_bits(1, 2, 3, UINT64_C(1) << 33 | 4));
}

enum { CELLS = 64, DRAWS = 64000 };

/* The chance of counts as uneven as these, if all cells are equally likely. */
static double evenness(const uint32_t *count, uint32_t cells, uint32_t draws)
{
    double expected = (double)draws / cells, chi2 = 0;
    for (uint32_t k = 0; k < cells; k++)
        chi2 += pow(count[k] - expected, 2) / expected;
    return gsl_cdf_chisq_Q(chi2, cells - 1);
}

Test(random, units_are_even_along_a_stream_and_across_streams)
{
    uint32_t along[CELLS] = {0}, across[CELLS] = {0}, pairs[CELLS] = {0};
    for (uint64_t k = 0; k < DRAWS; k++) {
        double u = strads_random_unit(11, 1, 0, k);
        double v = strads_random_unit(11, 1, k, 0);
        cr_assert(u >= 0 && u < 1 && v >= 0 && v < 1);
        along[(int)(u * CELLS)]++;
        across[(int)(v * CELLS)]++;
        double w = strads_random_unit(11, 1, 0, k + 1);
        pairs[(int)(u * 8) * 8 + (int)(w * 8)]++;
    }
    cr_assert_gt(evenness(along, CELLS, DRAWS), 1e-3);
    cr_assert_gt(evenness(across, CELLS, DRAWS), 1e-3);
    cr_assert_gt(evenness(pairs, CELLS, DRAWS), 1e-3);
}

Test(random, every_bit_is_as_often_set_as_not)
{
    uint32_t set[64] = {0};
    enum { WORDS = 20000 };
    for (uint64_t k = 0; k < WORDS; k++) {
        uint64_t word = strads_random_bits(3, 9, k, k);
        for (int b = 0; b < 64; b++)
            set[b] += (uint32_t)(word >> b & 1);
    }
    for (int b = 0; b < 64; b++)
        cr_assert_lt(fabs(set[b] - WORDS / 2.0), 5 * sqrt(WORDS / 4.0),
                     "bit %d is set %u times of %d", b, set[b], WORDS);
}

Test(random, numbers_below_a_bound_are_even)
{
    static const uint32_t bounds[] = {1, 2, 3, 10, 63};
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        uint32_t n = bounds[b], count[63] = {0};
        sti_random r = sti_random_stream(4, n, 0);
        for (int k = 0; k < DRAWS; k++) {
            uint64_t x = sti_random_below(&r, n);
            cr_assert_lt(x, n);
            count[x]++;
        }
        if (n > 1)
            cr_assert_gt(evenness(count, n, DRAWS), 1e-3, "below %u", n);
    }
}

Test(random, a_bound_that_takes_most_of_64_bits_is_kept)
{
    sti_random r = sti_random_stream(4, 5, 6);
    uint64_t n = UINT64_C(3) << 62, high = 0;
    for (int k = 0; k < 3000; k++) {
        uint64_t x = sti_random_below(&r, n);
        cr_assert_lt(x, n);
        high += x >= n / 3 * 2;
    }
    cr_assert(high > 850 && high < 1150, "a third was hit %d times", (int)high);
}
