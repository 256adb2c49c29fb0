/* cli_draw.h - GSL's distributions over the engine's streams of random numbers:
 * what a stream gives does not depend on what others were asked for. */
#ifndef CLI_DRAW_H
#define CLI_DRAW_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

/* A generator to be given to cli_draw_stream; NULL: no memory. To be freed by
 * gsl_rng_free. */
gsl_rng *cli_draw_new(void);

/* From now on it draws the stream (seed, purpose, index) from its beginning. */
void cli_draw_stream(gsl_rng *draw, uint64_t seed, uint64_t purpose,
                     uint64_t index);

#endif
