/* tests/criterion/criterion.h - what suites use of Criterion, for builds under
 * ThreadSanitizer and for another processor. Criterion forks from a process
 * with threads, and executes itself; runner.c only forks, from a process
 * without threads. */
#ifndef TESTS_CRITERION_H
#define TESTS_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct test_options {
    void (*init)(void), (*fini)(void);
    double timeout;
};

struct test_case {
    const char *suite, *name;
    void (*body)(void); /* NULL: these are the suite's options */
    struct test_options options;
    struct test_case *next;
};

void test_register(struct test_case *c);

/* Tells of a failure, and ends the test where it `ends`. */
void test_failed(const char *file, int line, bool ends, const char *what,
                 const char *format, ...);

/* Ends it as if it had passed. */
_Noreturn void cr_skip_test(const char *format, ...);

#define TEST_CASE(suite_, name_, body_, id, ...)              \
    static struct test_case id = {.suite = #suite_,           \
                                  .name = name_,              \
                                  .body = body_,              \
                                  .options = {__VA_ARGS__}};  \
    __attribute__((constructor)) static void id##_begin(void) \
    {                                                         \
        test_register(&id);                                   \
    }
#define TestSuite(suite, ...) \
    TEST_CASE(suite, NULL, NULL, suite##_options, __VA_ARGS__)
#define Test(suite, name, ...)                                            \
    static void suite##_##name##_body(void);                              \
    TEST_CASE(suite, #name, suite##_##name##_body, suite##_##name##_case, \
              __VA_ARGS__)                                                \
    static void suite##_##name##_body(void)

#define TEST_HOLDS(condition, ends, what, ...) \
    ((condition)                               \
         ? (void)0                             \
         : test_failed(__FILE__, __LINE__, ends, what, "" __VA_ARGS__))
#define TEST_SAME(a, b, size) (memcmp((a), (b), (size)) == 0)
#define TEST_NEAR(a, b, by) \
    (__builtin_fabs((double)(a) - (double)(b)) <= (double)(by))

#define cr_assert(c, ...) TEST_HOLDS(c, true, #c, __VA_ARGS__)
#define cr_expect(c, ...) TEST_HOLDS(c, false, #c, __VA_ARGS__)
#define cr_assert_not(c, ...) TEST_HOLDS(!(c), true, "not " #c, __VA_ARGS__)
#define cr_expect_not(c, ...) TEST_HOLDS(!(c), false, "not " #c, __VA_ARGS__)
#define TEST_IS(op, a, b, ends, ...) \
    TEST_HOLDS((a)op(b), ends, #a " " #op " " #b, __VA_ARGS__)
#define cr_assert_eq(a, b, ...) TEST_IS(==, a, b, true, __VA_ARGS__)
#define cr_expect_eq(a, b, ...) TEST_IS(==, a, b, false, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) TEST_IS(!=, a, b, true, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) TEST_IS(!=, a, b, false, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) TEST_IS(<, a, b, true, __VA_ARGS__)
#define cr_expect_lt(a, b, ...) TEST_IS(<, a, b, false, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) TEST_IS(<=, a, b, true, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) TEST_IS(<=, a, b, false, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) TEST_IS(>, a, b, true, __VA_ARGS__)
#define cr_expect_gt(a, b, ...) TEST_IS(>, a, b, false, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) TEST_IS(>=, a, b, true, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) TEST_IS(>=, a, b, false, __VA_ARGS__)
#define cr_assert_null(a, ...) TEST_IS(==, a, NULL, true, __VA_ARGS__)
#define cr_expect_null(a, ...) TEST_IS(==, a, NULL, false, __VA_ARGS__)
#define cr_assert_not_null(a, ...) TEST_IS(!=, a, NULL, true, __VA_ARGS__)
#define cr_expect_not_null(a, ...) TEST_IS(!=, a, NULL, false, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) \
    TEST_HOLDS(strcmp(a, b) == 0, true, #a " is " #b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) \
    TEST_HOLDS(strcmp(a, b) == 0, false, #a " is " #b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...) \
    TEST_HOLDS(TEST_SAME(a, b, size), true, #a " is " #b, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, size, ...) \
    TEST_HOLDS(TEST_SAME(a, b, size), false, #a " is " #b, __VA_ARGS__)
#define cr_expect_arr_neq(a, b, size, ...) \
    TEST_HOLDS(!TEST_SAME(a, b, size), false, #a " differs", __VA_ARGS__)
#define cr_assert_float_eq(a, b, by, ...) \
    TEST_HOLDS(TEST_NEAR(a, b, by), true, #a " is near " #b, __VA_ARGS__)
#define cr_expect_float_eq(a, b, by, ...) \
    TEST_HOLDS(TEST_NEAR(a, b, by), false, #a " is near " #b, __VA_ARGS__)
#define cr_log_info(...) ((void)0)

#endif
