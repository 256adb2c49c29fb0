/* A build with GSL. */
#include "cli_gsl.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

const char cli_gsl_text[] =
    "with GSL: the GNU GPL, version 3 or later, covers copies of this binary";

strads_err cli_gsl_check(const char *what)
{
    (void)what;
    return STRADS_OK;
}

double cli_gsl_p_value(double statistic, double dof)
{
    const double size = fabs(statistic);
    return 2 *
           (dof > 0 ? gsl_cdf_tdist_Q(size, dof) : gsl_cdf_ugaussian_Q(size));
}

double cli_gsl_critical_value(double p, double dof)
{
    return dof > 0 ? gsl_cdf_tdist_Qinv(p / 2, dof)
                   : gsl_cdf_ugaussian_Qinv(p / 2);
}
