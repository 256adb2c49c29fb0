/* strads/time_split.h - ratings split by time: earlier ones to train on, the
 * last ones to test. */
#ifndef STRADS_TIME_SPLIT_H
#define STRADS_TIME_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strads_time_split {
    size_t size;                      /* sizeof(strads_time_split) */
    const char *user, *item, *rating; /* names of columns, as of
                                         strads_data_options; NULL: usual ones */
    const char *time; /* name of the column of times; NULL: the column timestamp
                         or time or, without such a header, the fourth one.
                         Times are numbers: larger ones are later */
    uint32_t last;    /* test: the last ratings of each user with more than
                         that many; 0: the last ratings of all users */
    double share;     /* with last 0: their share of all, above 0 and below 1;
                         0: .1 */
} strads_time_split;

/* Writes the lines of the ratings file `path` (text, gzip or zstd) to two
 * files: the last ones to `test`, all others to `train`, unchanged and in the
 * order of the file; the header goes to both. Ratings of one time are in the
 * order of the file. Both files appear complete or not at all. counts[2] are
 * the lines of train and test. Takes 25 bytes a rating. Blocks; any thread.
 *
 * STRADS_EINVAL: an option, a column that is not there. STRADS_EFORMAT: a line
 * without a time, with path and line. STRADS_EIO, STRADS_ENOMEM. */
STRADS_API strads_err strads_time_split_ratings(const char *path,
                                                const strads_time_split *split,
                                                const char *train,
                                                const char *test,
                                                uint64_t counts[2]);

#ifdef __cplusplus
}
#endif

#endif
