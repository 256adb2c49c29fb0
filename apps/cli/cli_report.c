/* How the command speaks: one line on standard error, and an exit code. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

static int code_before(strads_err err)
{
    switch (err) {
    case STRADS_OK:
        return CLI_OK;
    case STRADS_ECANCELED:
        return CLI_INTERRUPTED;
    case STRADS_ENOMEM:
    case STRADS_EPEER:
    case STRADS_EPROGRAM:
    case STRADS_ESTATE:
        return CLI_FAILED;
    case STRADS_EINVAL:
    case STRADS_EIO:
    case STRADS_EFORMAT:
    case STRADS_EMISMATCH:
    case STRADS_ELIMIT:
        break;
    }
    return CLI_USAGE;
}

static bool writing;

void cli_writing(void)
{
    writing = true;
}

int cli_complain(strads_err err, cli_stage stage)
{
    const char *text = strads_error_text();
    /* A sentence stays on its line whatever a file's name is made of. */
    (void)fputs("strads: ", stderr);
    for (const char *c = *text ? text : strads_error_name(err); *c; c++) {
        (void)fputc((unsigned char)*c < 0x20 ? '?' : *c, stderr);
    }
    (void)fputc('\n', stderr);
    if (err == STRADS_EIO && (stage == CLI_RUNNING || writing)) {
        return CLI_FAILED;
    }
    return code_before(err);
}

void cli_say(bool quiet, const char *format, ...)
{
    if (quiet) {
        return;
    }
    va_list args;
    va_start(args, format);
    (void)fputs("strads: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
}

const char *cli_bytes(uint64_t bytes, char out[CLI_BYTES_SIZE])
{
    static const char *const unit[] = {"KB", "MB", "GB", "TB"};
    double value = (double)bytes / 1000;
    size_t k = 0;
    if (bytes < 1000) {
        (void)snprintf(out, CLI_BYTES_SIZE, "%d bytes", (int)bytes);
        return out;
    }
    /* What would be shown as 1000.0 is 1.0 of the next unit. */
    while (value >= 999.95 && k < 3) {
        value /= 1000;
        k++;
    }
    (void)snprintf(out, CLI_BYTES_SIZE, "%.1f %s", value, unit[k]);
    return out;
}
