/* The table of the inner loops for AVX2, and q. The build compiles this file,
 * lda_rows_avx2.c and lda_lists_avx2.c for such processors, and without fused
 * products, so that they make the draws of the portable ones; they are entered
 * on them alone. */
#include "lda_kernels.h"

#ifndef __AVX2__

const lda_kernels *lda_kernels_avx2(void)
{
    return NULL;
}

#else

#include "lda_vectors_avx2.h"

/* All lanes, added up by halves. */
INLINE float sum_of(lanes p)
{
    const __m256 a = _mm256_add_ps(p.low, p.high);
    __m128 b =
        _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

INLINE __m256 floats(const int32_t *n)
{
    return _mm256_cvtepi32_ps(_mm256_loadu_si256((const void *)n));
}

static void build(lda_site *s)
{
    const __m256 beta = _mm256_set1_ps(s->beta);
    lanes all = zeros();

    for (uint32_t k = 0; k < s->padded; k += LDA_LANES) {
        const lanes n = {_mm256_add_ps(floats(s->word + k), beta),
                         _mm256_add_ps(floats(s->word + k + HALF), beta)};
        const lanes q = mul(n, load(s->inverse + k));
        const lanes w = mul(load(s->alpha + k), q);
        store(s->q + k, q);
        s->sums[lda_sum_of(k)] = sum_of(w);
        all = add(all, w);
    }
    s->mass = sum_of(all);
}

static void draw(lda_site *s, const lda_documents *documents,
                 const lda_tokens *tokens)
{
    if (documents->row)
        lda_draw_rows_avx2(s, documents, tokens);
    else
        lda_draw_lists_avx2(s, documents, tokens);
}

const lda_kernels *lda_kernels_avx2(void)
{
    static const lda_kernels table = {.name = "avx2",
                                      .build = build,
                                      .draw = draw,
                                      .draw_by_turns =
                                          lda_draw_rows_by_turns_avx2};
    return __builtin_cpu_supports("avx2") ? &table : NULL;
}

#endif
