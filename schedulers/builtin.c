/* The built-in policies by name. */
#include "schedulers/builtin.h"

#include <string.h>

static const strads_policy *const builtin[] = {
    &sti_policy_priority,
    &sti_policy_uniform,
    &sti_policy_cyclic,
    NULL,
};

double sti_policy_total(const strads_policy_setup *setup)
{
    double total = 0;
    for (uint64_t j = 0; j < setup->parameters; j++)
        total += (double)setup->weight[j];
    return total;
}

const strads_policy *const *strads_policies(void)
{
    return builtin;
}

const strads_policy *strads_policy_find(const char *name)
{
    for (const strads_policy *const *p = builtin; name && *p; p++)
        if (!strcmp((*p)->name, name))
            return *p;
    return NULL;
}
