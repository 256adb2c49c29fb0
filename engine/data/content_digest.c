/* XXH3-64 over canonical keys of 16 bytes; -0 counts as 0, because they are
 * equal. */
#include "engine/data/content_digest.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { LABEL_SEED = 1, NAME_SEED = 2 };

static inline uint64_t bits_of(double value)
{
    double positive_zero = value + 0.0;
    uint64_t bits;
    memcpy(&bits, &positive_zero, sizeof bits);
    return bits;
}

uint64_t sti_digest_entries(const sti_batch *batch)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < batch->n; i++) {
        uint64_t key[2] = {(uint64_t)batch->row[i] << 32 | batch->col[i],
                           bits_of(batch->value[i])};
        sum += XXH3_64bits(key, sizeof key);
    }
    return sum;
}

uint64_t sti_digest_label(uint64_t row, double label)
{
    uint64_t key[2] = {row, bits_of(label)};
    return XXH3_64bits_withSeed(key, sizeof key, LABEL_SEED);
}

uint64_t sti_digest_label_names(const strads_names *names)
{
    const uint32_t n = names != NULL ? strads_names_count(names) : 0;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        const char *name = strads_names_at(names, k);
        sum += XXH3_64bits_withSeed(name, strlen(name), NAME_SEED + k);
    }
    return sum;
}

uint64_t sti_digest_finish(const sti_digest *d)
{
    const uint64_t all[6] = {d->rows,       d->cols,      d->nnz,
                             d->has_labels, d->entry_sum, d->label_sum};
    return XXH3_64bits(all, sizeof all);
}
