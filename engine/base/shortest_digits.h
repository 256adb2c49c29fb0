/* shortest_digits.h - the few digits that tell a double from all others. */
#ifndef STI_SHORTEST_DIGITS_H
#define STI_SHORTEST_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

/* digits * 10^(exponent + 1 - as many digits as there are): the first digit
 * stands before the point of the number times 10^-exponent. */
typedef struct {
    uint64_t digits;
    int exponent;
} sti_shortest;

/* The nearest decimal of 15 digits that reads back as value, else of 16, else
 * of 17, without the zeros at its end. False, and nothing, for what is not
 * from 1e-9 up to 1e15: that needs wider products. Any thread. */
bool sti_shortest_digits(double value, sti_shortest *out);

#endif
