#include "linear_options.h"

strads_err linear_check_number(const char *name, double value, double max)
{
    if (value >= 0 && value <= max)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "%s is %g; it must be a number from 0 to %g", name,
                       value, max);
}
