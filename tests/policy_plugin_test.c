/* The built-in policies are found by name. toy_policy.c is a user-defined
 * policy that needs only strads/policy.h. */
#include <strads/policy.h>

#include <criterion/criterion.h>
#include <string.h>

#include "tests/expect.h"

Test(policy_plugin, the_built_in_policies_are_found_by_name)
{
    static const char *const names[] = {"priority", "uniform", "cyclic"};
    size_t n = 0;
    for (const strads_policy *const *p = strads_policies(); *p; p++, n++) {
        cr_assert_eq((*p)->size, sizeof(strads_policy));
        cr_assert_gt(strlen((*p)->summary), 0);
        cr_assert_eq(strads_policy_find((*p)->name), *p);
    }
    cr_assert_eq(n, 3);
    for (size_t k = 0; k < n; k++)
        cr_assert_not_null(strads_policy_find(names[k]));
    cr_assert_null(strads_policy_find("fifo"));
    cr_assert_null(strads_policy_find(NULL));
}

Test(policy_plugin, too_many_parameters_are_refused_with_a_sentence)
{
    for (const strads_policy *const *p = strads_policies(); *p; p++) {
        strads_policy_setup setup = {.parameters = UINT64_C(1) << 32,
                                     .block_max = 8};
        void *state = NULL;
        cr_assert_eq((*p)->open(&setup, &state), STRADS_ELIMIT);
        cr_assert_null(state);
        expect_says("4294967296");
    }
}
