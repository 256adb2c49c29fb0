/* tests/expect.h - what suites expect of most calls. */
#ifndef TESTS_EXPECT_H
#define TESTS_EXPECT_H

#include <criterion/criterion.h>
#include <string.h>

#include "strads/strads.h"

/* It succeeds. */
#define expect_ok(call) cr_assert_eq(call, STRADS_OK, "%s", strads_error_text())

/* The latest error's sentence says so. */
#define expect_says(part)                                                 \
    cr_assert_not_null(strstr(strads_error_text(), (part)),               \
                       "\"%s\" does not say \"%s\"", strads_error_text(), \
                       part)

/* It fails with this error and a sentence that says so. */
#define expect_error(call, error, part)                                      \
    do {                                                                     \
        cr_assert_eq(call, error, "%s: \"%s\"", #call, strads_error_text()); \
        expect_says(part);                                                   \
    } while (0)

#endif
