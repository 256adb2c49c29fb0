/* A user's own policy needs strads/policy.h alone, and the built-in ones are
 * found by name. */
#include <strads/policy.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"

/* One parameter at a time, the one with the highest priority. */
typedef struct greedy {
    uint64_t n;
    double *priority;
    strads_block block;
} greedy;

static strads_err greedy_open(const strads_policy_setup *setup, void **state)
{
    greedy *g = calloc(1, sizeof *g);
    double *priority = malloc(setup->parameters * sizeof *priority);
    if (!g || !priority) {
        free(g);
        free(priority);
        return strads_fail(STRADS_ENOMEM, "no memory for the greedy policy");
    }
    for (uint64_t j = 0; j < setup->parameters; j++)
        priority[j] = 1;
    g->n = setup->parameters;
    g->priority = priority;
    *state = g;
    return STRADS_OK;
}

static void greedy_close(void *state)
{
    greedy *g = state;
    if (g)
        free(g->priority);
    free(g);
}

static void greedy_prioritise(void *state, uint32_t n, const uint32_t *param,
                              const double *priority)
{
    greedy *g = state;
    for (uint32_t k = 0; k < n; k++)
        g->priority[param[k]] = priority[k];
}

static strads_err greedy_choose(void *state,
                                const strads_choice_request *request,
                                strads_choice *choice)
{
    greedy *g = state;
    uint32_t best = 0;
    memset(choice, 0, sizeof *choice);
    for (uint32_t j = 1; j < g->n; j++)
        if (g->priority[j] > g->priority[best])
            best = j;
    if (request->n_in_flight) {
        choice->kind = STRADS_CHOOSE_WAIT;
    } else if (g->priority[best] <= request->rest) {
        choice->kind = STRADS_CHOOSE_REST;
    } else {
        g->block = (strads_block){.id = STRADS_POLICY_BLOCK_IDS + 1 + best,
                                  .n = 1,
                                  .first = best};
        choice->n = 1;
        choice->blocks = &g->block;
    }
    return STRADS_OK;
}

static const strads_policy greedy_policy = {
    .size = sizeof(strads_policy),
    .name = "greedy",
    .summary = "the one parameter that moves most",
    .open = greedy_open,
    .close = greedy_close,
    .prioritise = greedy_prioritise,
    .choose = greedy_choose,
};

Test(policy_plugin, a_policy_of_the_users_own_is_a_table_of_four_functions)
{
    float weight[3] = {1, 1, 1};
    strads_policy_setup setup = {.parameters = 3,
                                 .weight = weight,
                                 .block_max = 8};
    void *state = NULL;
    cr_assert_eq(greedy_policy.open(&setup, &state), STRADS_OK);
    greedy_policy.prioritise(state, 2, (uint32_t[]){2, 0}, (double[]){5, 0.5});
    strads_choice_request request = {.want = 1, .work = 1, .draw = 1};
    strads_choice choice;
    cr_assert_eq(greedy_policy.choose(state, &request, &choice), STRADS_OK);
    cr_assert_eq(choice.kind, STRADS_CHOOSE_BLOCKS);
    cr_assert_eq(strads_block_param(&choice.blocks[0], 0), 2);
    greedy_policy.close(state);
}

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
