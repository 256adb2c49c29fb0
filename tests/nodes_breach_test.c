/* A member that breaks a rule of the protocol: the run ends with a sentence
 * that names the rule, and the member is released. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/net/mesh_state.h"
#include "tests/nodes_forger.h"
#include "tests/nodes_team.h"
#include "tests/nodes_toy.h"

/* Runs node 0 with a forger as node 1. The forger joins, then sends frames by
 * `say` instead of READY. Node 0's error must contain `word`. */
static void expect_breach(void (*say)(forger *f), const char *word)
{
    const team t = {.program = &nodes_toy, .nodes = 2};
    strads_engine *first;
    forger f;
    cr_assert_eq(team_listen(&t, &first), STRADS_OK);
    cr_assert(forger_open(&f, strads_engine_url(first)));
    const sti_hello hello = forger_hello(&f);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    strads_data_options keep = {.size = sizeof keep};
    cr_assert_eq(strads_engine_keep(first, &keep), STRADS_OK);
    forger_wait_welcome(&f);
    say(&f);
    cr_expect_eq(team_work(&t, 0, first, NULL), STRADS_EPEER, "%s",
                 strads_error_text());
    cr_expect_not_null(strstr(strads_error_text(), word), "no \"%s\" in: %s",
                       word, strads_error_text());
    forger_wait_lost(&f);
    forger_close(&f);
    strads_engine_free(first);
}

static void long_failure(forger *f)
{
    forger_send(f, STI_KIND_ROLE + STI_MSG_FAIL, 1, 4096 + 1);
}

static void unknown_message(forger *f)
{
    forger_send(f, STI_KIND_ROLE + 9, 1, 8);
}

static void unknown_kind(forger *f)
{
    forger_send(f, STI_KIND_TELL + 1, 1, 0);
}

static void answer_of_a_part(forger *f)
{
    forger_send(f, STI_KIND_TELL, 1, 8);
}

static void choice(forger *f)
{
    forger_send(f, STI_KIND_ROLE + STI_MSG_CHOICE, 1, 64);
}

static void other_name(forger *f)
{
    const sti_hello hello = forger_hello(f);
    forger_say(f, STI_KIND_READY, 0, &hello);
}

static void just_leaves(forger *f)
{
    sti_net_part(f->net, f->link);
}

static void leaves_when_ready(forger *f)
{
    forger_say_ready(f, &nodes_toy, 2);
    just_leaves(f);
}

Test(nodes_breach, a_member_that_breaks_a_rule_ends_the_run_with_a_sentence)
{
    expect_breach(long_failure, "kind 38 that is larger");
    expect_breach(unknown_message, "kind 41 that is larger");
    expect_breach(choice, "kind 37 that is larger");
    expect_breach(unknown_kind, "which was not due");
    expect_breach(answer_of_a_part, "it sent TELL, which was not due");
    expect_breach(other_name, "in the name of node 0");
    expect_breach(just_leaves, "left the run before it was over");
    expect_breach(leaves_when_ready, "left the run before it was over");
}

static void ready_twice(forger *f)
{
    for (int k = 0; k < 2; k++)
        forger_say_ready(f, &nodes_toy, 2);
    forger_wait_lost(f);
}

Test(nodes_breach, a_node_that_is_ready_twice_is_dropped)
{
    expect_breach(ready_twice, "which was not due");
}
