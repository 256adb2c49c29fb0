/* A gsl_rng whose words are those of engine/base/random.h. */
#include "cli_draw.h"

#include "engine/base/random.h"

static unsigned long next_word(void *state)
{
    return (unsigned long)sti_random_bits(state);
}

static double next_unit(void *state)
{
    return sti_random_unit(state);
}

static void set_seed(void *state, unsigned long seed)
{
    *(sti_random *)state = sti_random_stream(seed, 0, 0);
}

static const gsl_rng_type streams = {.name = "streams",
                                     .max = UINT64_MAX,
                                     .min = 0,
                                     .size = sizeof(sti_random),
                                     .set = set_seed,
                                     .get = next_word,
                                     .get_double = next_unit};

gsl_rng *cli_draw_new(void)
{
    return gsl_rng_alloc(&streams);
}

void cli_draw_stream(gsl_rng *draw, uint64_t seed, uint64_t purpose,
                     uint64_t index)
{
    *(sti_random *)gsl_rng_state(draw) =
        sti_random_stream(seed, purpose, index);
}
