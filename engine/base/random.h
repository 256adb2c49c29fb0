/* Counter-based streams of random numbers. (seed, purpose, index) names a
 * stream; its k-th word depends only on this name and on k, not on the caller
 * or the time. The public forms in strads/policy.h draw the same words.
 *
 * Words come from Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). The key
 * of (seed, purpose) is itself a Philox word. Streams of one key never overlap,
 * and two keys behave as if unrelated. */
#ifndef STI_RANDOM_H
#define STI_RANDOM_H

#include <stdint.h>

/* Purposes of the engine's own draws. Programs and policies use small numbers,
 * so their streams never overlap these. */
enum {
    STI_PURPOSE_ENGINE = 0x656e6700, /* + 0 .. 255 */
    STI_PURPOSE_KEYS = 0x6b657973    /* derives keys */
};

typedef struct sti_random {
    uint32_t key[2];
    uint64_t index;
    uint64_t k;     /* index of the next word */
    uint64_t spare; /* word k, if k is odd */
} sti_random;

/* Computes one Philox4x32-10 block: replaces the counter x by 128 random
 * bits. */
static inline void sti_random_philox(uint32_t x[4], uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53u * x[0];
        uint64_t q = (uint64_t)0xCD9E8D57u * x[2];
        x[0] = (uint32_t)(q >> 32) ^ x[1] ^ k0;
        x[1] = (uint32_t)q;
        x[2] = (uint32_t)(p >> 32) ^ x[3] ^ k1;
        x[3] = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* Words 2 pair and 2 pair + 1 of the stream. */
static inline void sti_random_pair(const sti_random *r, uint64_t pair,
                                   uint64_t word[2])
{
    uint32_t x[4] = {(uint32_t)pair, (uint32_t)(pair >> 32), (uint32_t)r->index,
                     (uint32_t)(r->index >> 32)};
    sti_random_philox(x, r->key[0], r->key[1]);
    word[0] = (uint64_t)x[1] << 32 | x[0];
    word[1] = (uint64_t)x[3] << 32 | x[2];
}

/* Starts the stream (seed, purpose, index). */
static inline sti_random sti_random_stream(uint64_t seed, uint64_t purpose,
                                           uint64_t index)
{
    uint32_t x[4] = {(uint32_t)purpose, (uint32_t)(purpose >> 32),
                     STI_PURPOSE_KEYS, 0};
    sti_random_philox(x, (uint32_t)seed, (uint32_t)(seed >> 32));
    return (sti_random){.key = {x[0], x[1]}, .index = index};
}

/* The next 64 bits. */
static inline uint64_t sti_random_bits(sti_random *r)
{
    if (r->k++ & 1)
        return r->spare;
    uint64_t word[2];
    sti_random_pair(r, (r->k - 1) / 2, word);
    r->spare = word[1];
    return word[0];
}

/* Maps 64 bits to a double, uniform in [0, 1), with 53 bits. */
static inline double sti_random_to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

static inline double sti_random_unit(sti_random *r)
{
    return sti_random_to_unit(sti_random_bits(r));
}

/* Uniform in 0 .. n - 1, n >= 1, without bias: Lemire, TOMACS 2019. */
static inline uint64_t sti_random_below(sti_random *r, uint64_t n)
{
    uint64_t refused = (0 - n) % n;
    unsigned __int128 m;
    do {
        m = (unsigned __int128)sti_random_bits(r) * n;
    } while ((uint64_t)m < refused);
    return (uint64_t)(m >> 64);
}

#endif
