/* engine/base/option_table.h - finds the name that the user meant, for "did you
 * mean ...?". strads/options.h declares the other functions of
 * option_table.c. */
#ifndef STI_OPTION_TABLE_H
#define STI_OPTION_TABLE_H

#include <limits.h>

#define STI_NAME_FAR UINT_MAX

/* The distance of a wrong name from a right one: letters changed, left out,
 * added or swapped with their neighbour; '_' counts as '-'. It is 1 if `wrong`
 * (three letters or more) is a prefix of `right`. STI_NAME_FAR above 3, or if
 * more than half of the letters would have to change. */
unsigned sti_nearest_distance(const char *wrong, const char *right);

#endif
