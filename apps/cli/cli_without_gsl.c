/* A build without GSL: the functions that need GSL refuse. */
#include "cli_gsl.h"

#include <math.h>

#include "cli_synth.h"
#include "report_topics.h"

const char cli_gsl_text[] = "without GSL: no `strads data synth`, no `glm "
                            "summary`, no map of topics in "
                            "reports";

strads_err cli_gsl_check(const char *what)
{
    return strads_fail(STRADS_EINVAL,
                       "%s needs GSL, which this build of strads lacks: "
                       "install GSL (Debian: libgsl-dev) and build strads "
                       "with -DSTRADS_GSL=ON",
                       what);
}

strads_err cli_synth_lasso(const cli_synth *options, const char *path)
{
    (void)options;
    (void)path;
    return cli_gsl_check("strads data synth");
}

strads_err report_topics_write(const strads_lda_model *model, FILE *out)
{
    (void)model;
    (void)out;
    return cli_gsl_check("the map of topics");
}

double cli_gsl_p_value(double statistic, double dof)
{
    (void)statistic;
    (void)dof;
    return NAN;
}

double cli_gsl_critical_value(double p, double dof)
{
    (void)p;
    (void)dof;
    return NAN;
}

strads_err report_topics_pyldavis(void *model, FILE *out)
{
    (void)model;
    (void)out;
    return cli_gsl_check("a map of the topics");
}
