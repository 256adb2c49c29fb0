/* tests/nodes_toy.h - a program that uses every form in which numbers, bytes
 * and objects travel between nodes: in turn a RING with packed objects, an
 * OWNER phase, a CONCAT and a sum of random numbers. The results depend only on
 * the split of the data, the seed and the committed values. */
#ifndef TESTS_NODES_TOY_H
#define TESTS_NODES_TOY_H

#include <stdatomic.h>

#include "strads/strads.h"

/* Rounds until the program stops itself. */
enum { NODES_TOY_ROUNDS = 24, NODES_TOY_PARAMETERS = 30 };

extern const strads_program nodes_toy;

/* The program's `config`; NULL: all 0. */
typedef struct nodes_toy_config {
    uint64_t fails; /* the RING fails from this round on; 0: never */
} nodes_toy_config;

/* Numbers of objects that were packed, were unpacked, and exist now. */
extern atomic_int nodes_toy_packed, nodes_toy_unpacked, nodes_toy_alive;

/* A program that counts rounds until it is stopped from outside. */
extern const strads_program nodes_toy_endless;

#endif
