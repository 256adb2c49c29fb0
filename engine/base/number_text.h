/* engine/base/number_text.h - numbers to text and back, the same in every locale. */
#ifndef STI_NUMBER_TEXT_H
#define STI_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Space for every double that sti_number_format writes, and its end. */
#define STI_NUMBER_SIZE 32

/* Writes the shortest decimal text that reads back as the same double; "null"
 * for what JSON has no number for. Returns its length. Any thread. */
size_t sti_number_format(double value, char out[STI_NUMBER_SIZE]);

/* Reads a decimal number ("1", "-0.5", "1e-6") that fills the whole text.
 * False for anything else: hexadecimal, blanks, "nan", "inf", and what is too
 * large for a double. Any thread. */
bool sti_number_parse(const char *text, double *out);

/* Reads digits that fill the whole text and fit 64 bits. Any thread. */
bool sti_number_parse_u64(const char *text, uint64_t *out);

#endif
