/* nearest_name.h - which name was meant, for "did you mean ...?". */
#ifndef STI_NEAREST_NAME_H
#define STI_NEAREST_NAME_H

#include <limits.h>

#define STI_NAME_FAR UINT_MAX

/* How far a wrong name is from a right one: letters changed, left out, added
 * or swapped with their neighbour; '_' counts as '-'. 1 where `wrong` (three
 * letters or more) begins `right`. STI_NAME_FAR above 3, or when more than half
 * of the letters would have to change. */
unsigned sti_nearest_distance(const char *wrong, const char *right);

#endif
