/* The public forms of the random streams: any word of any stream, by name. They
 * keep no state, so any thread may call them. */
#include "engine/base/random.h"

#include "strads/policy.h"

uint64_t strads_random_bits(uint64_t seed, uint64_t purpose, uint64_t index,
                            uint64_t k)
{
    sti_random stream = sti_random_stream(seed, purpose, index);
    uint64_t word[2];
    sti_random_pair(&stream, k / 2, word);
    return word[k & 1];
}

double strads_random_unit(uint64_t seed, uint64_t purpose, uint64_t index,
                          uint64_t k)
{
    return sti_random_to_unit(strads_random_bits(seed, purpose, index, k));
}
