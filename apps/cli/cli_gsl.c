/* A build with GSL. */
#include "cli_gsl.h"

const char cli_gsl_text[] =
    "with GSL: the GNU GPL, version 3 or later, covers copies of this binary";

strads_err cli_gsl_check(const char *what)
{
    (void)what;
    return STRADS_OK;
}
