/* The thread's last error sentence, and the names of the codes. One
 * thread-local buffer holds all error state. */
#include "strads/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[1024];

const char *strads_error_name(strads_err err)
{
    switch (err) {
    case STRADS_OK:
        return "STRADS_OK";
    case STRADS_EINVAL:
        return "STRADS_EINVAL";
    case STRADS_ENOMEM:
        return "STRADS_ENOMEM";
    case STRADS_EIO:
        return "STRADS_EIO";
    case STRADS_EFORMAT:
        return "STRADS_EFORMAT";
    case STRADS_EMISMATCH:
        return "STRADS_EMISMATCH";
    case STRADS_EPEER:
        return "STRADS_EPEER";
    case STRADS_EPROGRAM:
        return "STRADS_EPROGRAM";
    case STRADS_ECANCELED:
        return "STRADS_ECANCELED";
    case STRADS_ELIMIT:
        return "STRADS_ELIMIT";
    case STRADS_ESTATE:
        return "STRADS_ESTATE";
    case STRADS_EREGROUP:
        return "STRADS_EREGROUP";
    }
    return "STRADS_?";
}

const char *strads_error_text(void)
{
    return text;
}

strads_err strads_fail(strads_err err, const char *format, ...)
{
    /* An argument may be the old sentence itself, so format into a copy
     * first. */
    char fresh[sizeof text];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(fresh, sizeof fresh, format, args);
    va_end(args);
    (void)snprintf(text, sizeof text, "%s", fresh);
    return err;
}
