/* Files that are whole or not there, and the head of numpy's. */
#include "cli_output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "engine/base/atomic_file.h"

strads_err cli_output(const char *path,
                      strads_err (*write)(void *arg, FILE *out), void *arg)
{
    sti_atomic_file target = {0};
    if (!path) {
        cli_writing();
        strads_err err = write(arg, stdout);
        return err || (fflush(stdout) == 0 && !ferror(stdout))
                   ? err
                   : strads_fail(STRADS_EIO, "standard output: %s",
                                 strerror(errno));
    }
    strads_err err = sti_atomic_file_open(path, &target);
    if (!err) {
        cli_writing();
        err = write(arg, target.stream);
    }
    if (!err) {
        return sti_atomic_file_commit(&target);
    }
    sti_atomic_file_abandon(&target);
    return err;
}

/* Version 1.0 of numpy's format. */
void cli_npy_header(FILE *out, const char *type, uint64_t rows, uint64_t cols)
{
    char text[128];
    (void)snprintf(text, sizeof text,
                   "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64
                   ", %" PRIu64 "), }",
                   type, rows, cols);
    (void)fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out);
    (void)fprintf(out, "%-117s\n", text);
}
