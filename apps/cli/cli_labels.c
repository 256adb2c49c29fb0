#include "cli_labels.h"

#include <math.h>
#include <stdlib.h>

bool cli_labels_read(const char *text, cli_labels *out)
{
    char *end;
    for (out->n = 0; out->n < CLI_LABELS_MAX; text = end + 1) {
        double *label = &out->label[out->n];
        *label = strtod(text, &end);
        if (end == text || !isfinite(*label)) {
            return false;
        }
        out->n++;
        if (*end != ',') {
            return *end == 0 && out->n > 1;
        }
    }
    return false;
}

uint32_t cli_labels_find(const cli_labels *l, double label)
{
    uint32_t k = 0;
    while (k < l->n && l->label[k] != label) {
        k++;
    }
    return k;
}

uint32_t cli_labels_best(const cli_labels *l, const double *sum)
{
    uint32_t best = 0;
    if (l->n == 2) {
        return sum[0] > 0;
    }
    for (uint32_t k = 1; k < l->n; k++) {
        best = sum[k] > sum[best] ? k : best;
    }
    return best;
}
