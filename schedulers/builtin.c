/* The built-in policies by name. */
#include "schedulers/builtin.h"

#include <string.h>

static const strads_policy *const builtin[] = {
    &sti_policy_priority,
    &sti_policy_uniform,
    &sti_policy_cyclic,
    NULL,
};

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
