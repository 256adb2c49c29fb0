/* The table of the inner loops for AVX-512, and q. The build compiles this
 * file, lda_rows_avx512.c and lda_lists_avx512.c for such processors, and
 * without fused products, so that they make the draws of the portable ones;
 * they are entered on them alone. */
#include "lda_kernels.h"

#ifndef __AVX512F__

const lda_kernels *lda_kernels_avx512(void)
{
    return NULL;
}

#else

#include "lda_vectors.h"

/* All lanes, added up by halves. */
INLINE float sum_of(__m512 p)
{
    const __m256 a =
        _mm256_add_ps(_mm512_castps512_ps256(p), _mm512_extractf32x8_ps(p, 1));
    __m128 b =
        _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

static void build(lda_site *s)
{
    const __m512 beta = _mm512_set1_ps(s->beta);
    __m512 all = _mm512_setzero_ps();

    for (uint32_t k = 0; k < s->padded; k += LDA_LANES) {
        const __m512 n = _mm512_cvtepi32_ps(_mm512_loadu_si512(s->word + k));
        const __m512 q = _mm512_mul_ps(_mm512_add_ps(n, beta),
                                       _mm512_loadu_ps(s->inverse + k));
        const __m512 w = _mm512_mul_ps(_mm512_loadu_ps(s->alpha + k), q);
        _mm512_storeu_ps(s->q + k, q);
        s->sums[lda_sum_of(k)] = sum_of(w);
        all = _mm512_add_ps(all, w);
    }
    s->mass = sum_of(all);
}

static void draw(lda_site *s, const lda_documents *documents,
                 const lda_tokens *tokens)
{
    if (documents->row)
        lda_draw_rows(s, documents, tokens);
    else
        lda_draw_lists(s, documents, tokens);
}

const lda_kernels *lda_kernels_avx512(void)
{
    static const lda_kernels table = {.name = "avx512",
                                      .build = build,
                                      .draw = draw,
                                      .draw_by_turns = lda_draw_rows_by_turns};
    return __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw")
               ? &table
               : NULL;
}

#endif
