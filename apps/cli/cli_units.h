/* cli_units.h - quantities with their unit, as users write them. */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include "strads/error.h"

/* "50us": a number with ns, us, ms or s. `option` is named when it is wrong:
 * STRADS_EINVAL. */
strads_err cli_seconds(const char *option, const char *text, double *out);

/* "10Gbit": with bit, Kbit, Mbit, Gbit, or B, KB, MB, GB, and "/s" or not; in
 * bytes a second. STRADS_EINVAL. */
strads_err cli_rate(const char *option, const char *text, double *out);

/* "A:B", two numbers from 0 up; *end is behind them. STRADS_EINVAL. */
strads_err cli_pair(const char *option, const char *text, double *a, double *b,
                    const char **end);

/* A time for people: "12.3 us". */
#define CLI_TIME_SIZE 32
const char *cli_time(double seconds, char out[CLI_TIME_SIZE]);

#endif
