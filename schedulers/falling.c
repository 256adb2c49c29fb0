/* Sorting by falling weight, the same on every machine. */
#include "schedulers/falling.h"

#include <math.h>
#include <stdlib.h>

typedef struct item {
    double weight;
    uint32_t number;
} item;

static int compare(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

strads_err sti_falling_order(uint32_t n, const double *weight, uint32_t *order)
{
    item *items = malloc(sizeof *items * ((size_t)n + 1));
    if (!items)
        return strads_fail(STRADS_ENOMEM, "no memory to sort %u weights", n);
    for (uint32_t k = 0; k < n; k++) {
        items[k] = (item){.weight = weight ? weight[k] : 1, .number = k};
        if (!(items[k].weight >= 0) || isinf(items[k].weight)) {
            double wrong = items[k].weight;
            free(items);
            return strads_fail(STRADS_EINVAL,
                               "weight %u is %g: expected a finite number "
                               "from 0 up",
                               k, wrong);
        }
    }
    qsort(items, n, sizeof *items, compare);
    for (uint32_t k = 0; k < n; k++)
        order[k] = items[k].number;
    free(items);
    return STRADS_OK;
}
