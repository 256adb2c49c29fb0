/* engine/base/number_text.h - numbers to text and back, the same in every
 * locale. */
#ifndef STI_NUMBER_TEXT_H
#define STI_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for every double that sti_number_format writes, with the NUL. */
#define STI_NUMBER_SIZE 32

/* Writes the shortest decimal text that reads back as the same double; "null"
 * for infinities and NaN, which JSON lacks. Returns the length. Any thread. */
size_t sti_number_format(double value, char out[STI_NUMBER_SIZE]);

/* Reads a decimal number ("1", "-0.5", "1e-6") that fills the whole text.
 * Returns false for anything else: hexadecimal, blanks, "nan", "inf", and
 * numbers too large for a double. Any thread. */
bool sti_number_parse(const char *text, double *out);

/* Reads digits that fill the whole text and fit into 64 bits. Any thread. */
bool sti_number_parse_u64(const char *text, uint64_t *out);

#endif
