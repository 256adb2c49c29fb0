/* cli_gsl.h - whether this build of the command has GSL. With
 * -DSTRADS_GSL=OFF, cli_without_gsl.c replaces cli_gsl.c and the files that use
 * GSL (cli_synth.c, report_topics.c). */
#ifndef CLI_GSL_H
#define CLI_GSL_H

#include "strads/strads.h"

/* The words of `strads --version` about GSL. */
extern const char cli_gsl_text[];

/* Checks that `what` can run. STRADS_EINVAL if this build lacks GSL. */
strads_err cli_gsl_check(const char *what);

/* The two-sided p-value of a statistic, and the critical value of a two-sided
 * test at level p: of Student's t with `dof` degrees of freedom or, if dof is
 * 0, of the standard normal. NaN without GSL. */
double cli_gsl_p_value(double statistic, double dof);
double cli_gsl_critical_value(double p, double dof);

#endif
