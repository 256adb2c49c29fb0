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

/* The probability of a statistic as far from 0 or farther, on both sides, and
 * the distance from 0 that has the probability p: of Student's t with `dof`
 * degrees of freedom or, if dof is 0, of the standard normal. NaN without
 * GSL. */
double cli_gsl_beyond(double statistic, double dof);
double cli_gsl_distance(double p, double dof);

#endif
