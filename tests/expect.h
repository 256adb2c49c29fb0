/* tests/expect.h - common expectations. */
#ifndef TESTS_EXPECT_H
#define TESTS_EXPECT_H

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "strads/strads.h"
#include "tests/nodes_team.h"

/* The call succeeds. */
#define expect_ok(call) cr_assert_eq(call, STRADS_OK, "%s", strads_error_text())

/* A text contains `part`; for the second macro, the latest error message. */
#define expect_text(text, part)                                                \
    cr_assert_not_null(strstr(text, part), "\"%s\" does not say \"%s\"", text, \
                       part)
#define expect_says(part) expect_text(strads_error_text(), part)

/* The call fails with this error, and the message contains `part`. */
#define expect_error(call, error, part)                                      \
    do {                                                                     \
        cr_assert_eq(call, error, "%s: \"%s\"", #call, strads_error_text()); \
        expect_says(part);                                                   \
    } while (0)

/* Runs on several nodes and expects that all succeed; returns the result. */
strads_result *expect_team(const team *t);

/* Runs on a toy matrix and expects success; returns the result. */
strads_result *expect_run(const strads_program *program, const void *config,
                          strads_engine_options options);

/* The numbers of table 0. */
static inline const double *values_of(const strads_result *result)
{
    uint64_t parameters;
    uint32_t width;

    return strads_result_values(result, &parameters, &width);
}

/* ---- traces ------------------------------------------------------------ */

/* Reads and checks a trace file; the caller frees the JSON. */
json_t *expect_trace(const char *path);

/* A text of an event or of its "args"; NULL if there is none. */
const char *trace_text(const json_t *event, const char *key);

typedef struct trace_span {
    const char *name;
    double begin, end; /* us */
    int round, node;
} trace_span;

/* Spans of at least `shortest` us with names that begin with `word`. */
size_t trace_spans(const json_t *trace, const char *word, double shortest,
                   trace_span *out, size_t capacity);

#endif
