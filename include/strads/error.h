/* strads/error.h - error codes and the sentence that goes with them.
 *
 * Every function of the library that can fail returns a strads_err. The
 * function that detects an error records one sentence for people: the fault,
 * its place, the expectation and the remedy. Callers pass the code on. The
 * values are part of the ABI and of the wire format and never change. */
#ifndef STRADS_ERROR_H
#define STRADS_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Marks an exported symbol; all others are hidden. */
#if defined(__GNUC__)
#define STRADS_API __attribute__((visibility("default")))
#define STRADS_PRINTF(string, first) \
    __attribute__((format(printf, string, first)))
#else
#define STRADS_API
#define STRADS_PRINTF(string, first)
#endif

typedef enum strads_err {
    STRADS_OK = 0,
    STRADS_EINVAL = 1,    /* an argument or an option is out of its range */
    STRADS_ENOMEM = 2,    /* memory ran out, or would have */
    STRADS_EIO = 3,       /* the system refused to read, write or connect */
    STRADS_EFORMAT = 4,   /* a file's content violates its format */
    STRADS_EMISMATCH = 5, /* version, data or program of two sides differ */
    STRADS_EPEER = 6,     /* a node was lost or broke the protocol */
    STRADS_EPROGRAM = 7,  /* a program's callback reported a failure */
    STRADS_ECANCELED = 8, /* stopped on request before it was done */
    STRADS_ELIMIT = 9,    /* larger than this build or a bound allows */
    STRADS_ESTATE = 10,   /* the call does not fit the object's state */
    STRADS_EREGROUP = 11  /* a node was lost or has joined: the run continues
                             with the present nodes (strads_engine_run) */
} strads_err;

/* Returns the name of a code, such as "STRADS_EINVAL"; "STRADS_?" if it is
 * unknown. Any thread; does not block; the string is static. */
STRADS_API const char *strads_error_name(strads_err err);

/* Returns the sentence of this thread's last failed call, or "". Valid until
 * this thread's next failing call. */
STRADS_API const char *strads_error_text(void);

/* Records a sentence for this thread and returns `err`, so that a callback can
 * end with `return strads_fail(STRADS_EPROGRAM, "row %zu has no label", i);`.
 * At most 1023 bytes are kept. Any thread; does not block. */
STRADS_API strads_err strads_fail(strads_err err, const char *format, ...)
    STRADS_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
