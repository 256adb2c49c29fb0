/* The portable inner loops, and the choice of the table. For arm64 the compiler
 * makes NEON of the portable ones. */
#include "lda_kernels.h"

#include <strads/version.h>

#include "lda_kernels_loops.h"
#include "lda_labelled_loops.h"

/* ---- common to all tables --------------------------------------------- */

void lda_sum_anew(lda_site *s)
{
    s->mass = 0;
    for (uint32_t k = 0; k < s->padded; k += LDA_LANES) {
        float sum = 0;
        for (uint32_t l = 0; l < LDA_LANES; l++)
            sum += s->alpha[k + l] * s->q[k + l];
        s->sums[lda_sum_of(k)] = sum;
        s->mass += sum;
    }
}

/* Used if draws by sums may miss forever, because `from` has nearly all of the
 * mass. */
uint32_t lda_draw_one_by_one(lda_site *s, uint32_t from)
{
    const double share = (double)lda_uniform(s);
    double all = 0, below = 0;
    uint32_t to = from;

    for (uint32_t k = 0; k < s->topics; k++)
        all += k == from ? 0 : (double)(s->alpha[k] * s->q[k]);
    for (uint32_t k = 0; k < s->topics && (to == from || below <= share * all);
         k++) {
        if (k == from)
            continue;
        to = k;
        below += (double)(s->alpha[k] * s->q[k]);
    }
    return to;
}

const lda_kernels lda_kernels_portable = {.name = "portable",
                                          .build = build_q,
                                          .draw = draw_tokens,
                                          .draw_by_turns = draw_by_turns,
                                          .draw_labelled = draw_labelled};

const lda_kernels *lda_kernels_choose(void)
{
    const strads_kernel_level level = strads_kernels();
    const lda_kernels *fast =
        level == STRADS_KERNELS_AVX512 ? lda_kernels_avx512()
        : level == STRADS_KERNELS_AVX2 ? lda_kernels_avx2()
                                       : NULL;

    return fast ? fast : &lda_kernels_portable;
}
