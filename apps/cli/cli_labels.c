#include "cli_labels.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/number_text.h"
#include "strads/data.h"

/* A name's index is its number, so a repeated name is an error. */
static bool add_name(cli_labels *l, const char *name)
{
    uint32_t number = 0;
    if (!l->names && strads_names_new(&l->names) != STRADS_OK)
        return false;
    l->label[l->n] = l->n;
    return *name &&
           strads_names_add(l->names, name, strlen(name), &number) ==
               STRADS_OK &&
           number == l->n;
}

/* The first label decides whether labels are numbers or names. */
static bool add_label(cli_labels *l, const char *text)
{
    double *label = &l->label[l->n];
    const bool number = sti_number_parse(text, label);
    return number ? !l->names : (l->n == 0 || l->names) && add_name(l, text);
}

bool cli_labels_read(const char *text, cli_labels *out)
{
    char label[STRADS_LABEL_NAME_MAX + 1];
    for (out->n = 0; out->n < CLI_LABELS_MAX;) {
        const size_t size = strcspn(text, ",");
        if (size >= sizeof label)
            return false;
        memcpy(label, text, size);
        label[size] = 0;
        if (!add_label(out, label))
            return false;
        out->n++;
        if (text[size] == 0)
            return out->n > 1;
        text += size + 1;
    }
    return false;
}

const char *cli_labels_name(const cli_labels *l, uint32_t k)
{
    return l->names ? strads_names_at(l->names, k) : NULL;
}

const char *cli_labels_text(const cli_labels *l, uint32_t k,
                            char buffer[CLI_LABEL_SIZE])
{
    const char *name = cli_labels_name(l, k);
    (void)snprintf(buffer, CLI_LABEL_SIZE, "%g", l->label[k]);
    return name ? name : buffer;
}

uint32_t cli_labels_class(const cli_labels *l, const char *name, double number)
{
    uint32_t at;
    if (!name != !l->names)
        return l->n;
    return !name ? cli_labels_find(l, number)
           : strads_names_find(l->names, name, strlen(name), &at) ? at
                                                                  : l->n;
}

uint32_t cli_labels_find(const cli_labels *l, double label)
{
    uint32_t k = 0;
    while (k < l->n && l->label[k] != label)
        k++;
    return k;
}

uint32_t cli_labels_best(const cli_labels *l, const double *sum)
{
    uint32_t best = 0;
    if (l->n == 2)
        return sum[0] > 0;
    for (uint32_t k = 1; k < l->n; k++)
        best = sum[k] > sum[best] ? k : best;
    return best;
}
