/* tests/expect_failure.h - a call that has to fail, and what it has to say. */
#ifndef TESTS_EXPECT_FAILURE_H
#define TESTS_EXPECT_FAILURE_H

#include <criterion/criterion.h>
#include <string.h>

#include "strads/error.h"

/* The call gave `expected`, and its sentence has these words. A macro, so that
 * the line that is told is the test's. */
#define expect_failure(call, expected, words)                          \
    do {                                                               \
        const strads_err got = (call);                                 \
        cr_assert_eq(got, (expected), "%s", strads_error_name(got));   \
        cr_assert_not_null(strstr(strads_error_text(), (words)), "%s", \
                           strads_error_text());                       \
    } while (0)

#endif
