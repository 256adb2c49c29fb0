/* A guess from the first bytes of a file: entries per byte of text, times its
 * size. Packed files say nothing about their text, so only their size is told.
 */
#include "cli_cost.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"

enum { SAMPLE = 1 << 16 };

static const double WORTH_TELLING = 64e6; /* bytes of a file */

/* Entries in the text: LIBSVM has a colon for each, MatrixMarket a line. */
static double count_entries(const char *text, size_t size)
{
    bool market = size > 2 && memcmp(text, "%%", 2) == 0;
    double entries = 0;
    for (size_t k = 0; k < size; k++) {
        entries += text[k] == (market ? '\n' : ':');
    }
    return entries;
}

/* Entries in a byte of the file; 0: not known. */
static double density(const char *path)
{
    static char text[SAMPLE];
    FILE *file = fopen(path, "re");
    if (!file) {
        return 0;
    }
    size_t size = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    if (size < sizeof text || memchr(text, '\0', size)) {
        return 0;
    }
    return count_entries(text, size) / (double)size;
}

static double kept_share(const strads_data_options *options)
{
    return options->keep_count && options->partitions
               ? (double)options->keep_count / options->partitions
               : 1;
}

void cli_cost_tell(bool quiet, const char *path,
                   const strads_data_options *options)
{
    struct stat info;
    char size[CLI_BYTES_SIZE];
    char memory[CLI_BYTES_SIZE];
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        (double)info.st_size < WORTH_TELLING) {
        return;
    }
    double value = options->values == STRADS_F32 ? 4 : 8;
    double both = options->layout == STRADS_LAYOUT_BOTH ? 2 : 1;
    double bytes = density(path) * (double)info.st_size * both * (value + 4) *
                   kept_share(options);
    (void)cli_bytes((uint64_t)info.st_size, size);
    if (bytes > 0) {
        cli_say(quiet, "reading %s, %s; it will take about %s of memory", path,
                size, cli_bytes((uint64_t)bytes, memory));
    } else {
        cli_say(quiet, "reading %s, %s", path, size);
    }
}
