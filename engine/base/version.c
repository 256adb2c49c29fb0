/* The version that this library was built as. */
#include "strads/version.h"

const char *strads_version(void)
{
    return STRADS_VERSION;
}
