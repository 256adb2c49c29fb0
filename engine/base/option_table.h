/* engine/base/option_table.h - which name was meant, for "did you mean ...?". The
 * rest of option_table.c is in strads/options.h. */
#ifndef STI_OPTION_TABLE_H
#define STI_OPTION_TABLE_H

#include <limits.h>

#define STI_NAME_FAR UINT_MAX

/* How far a wrong name is from a right one: letters changed, left out, added
 * or swapped with their neighbour; '_' counts as '-'. 1 where `wrong` (three
 * letters or more) begins `right`. STI_NAME_FAR above 3, or when more than half
 * of the letters would have to change. */
unsigned sti_nearest_distance(const char *wrong, const char *right);

#endif
