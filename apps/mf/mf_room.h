/* Solving for a slab of one row's factors, with room for its equations: for the
 * sweeps of mf_rows.c, and for users that a model has not seen. */
#ifndef MF_ROOM_H
#define MF_ROOM_H

#include <stdbool.h>

#include "mf_equations.h"

typedef struct mf_room {
    const mf_equations *equations;
    uint32_t slab; /* factors that are solved for at once */
    float *matrix; /* [slab x slab] */
    float *side, *right, *step, *slope; /* [slab] */
} mf_room;

/* What a row's equations have besides its ratings. */
typedef struct mf_ridge {
    double penalty;    /* lambda n, or lambda */
    const float *gram; /* of the other side; NULL: explicit ratings */
    bool nonnegative;
    bool whole; /* the slab is all there is, so `side` is of y, not of what
                   the row leaves of it */
} mf_ridge;

/* false: no memory; close it all the same. */
bool mf_room_open(mf_room *room, uint32_t slab);
void mf_room_close(mf_room *room);

/* Matrix and side become 0. */
void mf_room_clear(mf_room *room);

/* Moves x[slab] to the minimum of x'Ax - 2b'x + penalty |x|^2 for A = matrix
 * (and gram) and b = side (where the slab is not whole: of what the old x
 * leaves); room->step = d is by how much, from 0 where it is whole. Returns the
 * change of the sum of squares, d'Ad - 2b'd. Destroys matrix. */
double mf_settle(mf_room *room, const mf_ridge *ridge, float *matrix,
                 const float *side, float *x);

/* gram = sum x x' over n rows of `stride` floats, all tiles; for a room whose
 * slab is the stride. */
void mf_gram(mf_room *room, const float *rows, uint64_t n, uint32_t stride,
             float *gram);

#endif
