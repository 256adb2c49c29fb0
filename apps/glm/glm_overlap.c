/* Groups that overlap: the latent group Lasso (Jacob, Obozinski, Vert, ICML
 * 2009). A coefficient is the sum of one part for each group of its column, and
 * a group's penalty is that of its parts:
 *
 *     min over w = sum_g v_g of sum_g root(n_g) |v_g|_2
 *
 * This is the group Lasso of data in which a column is repeated for each of its
 * groups, so its duality gap certifies the fit. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

void strads_glm_overlap_free(strads_glm_overlap *o)
{
    if (!o)
        return;
    free(o->source);
    free(o->group);
    *o = (strads_glm_overlap){0};
}

static strads_err add_copy(strads_glm_overlap *o, uint64_t *room,
                           uint64_t column, uint32_t group)
{
    if (o->copies == *room) {
        const uint64_t more = *room + *room / 2 + 64;
        uint32_t *source = realloc(o->source, more * sizeof(*source));
        if (source)
            o->source = source;
        uint32_t *groups = realloc(o->group, more * sizeof(*groups));
        if (groups)
            o->group = groups;
        if (!source || !groups)
            return strads_fail(STRADS_ENOMEM, "no memory for groups");
        *room = more;
    }
    o->source[o->copies] = (uint32_t)column;
    o->group[o->copies++] = group;
    return STRADS_OK;
}

/* Parses "G" or "G,G,..." of a column. */
static strads_err read_groups_line(const char *path, const char *text,
                                   uint64_t column, strads_glm_overlap *o,
                                   uint64_t *room)
{
    const uint64_t first = o->copies;
    const char *at = text;

    for (;;) {
        char *end;
        errno = 0;
        const unsigned long long group = strtoull(at, &end, 10);
        bool good = isdigit((unsigned char)*at) && group < 0x80000000u;
        for (uint64_t k = first; k < o->copies && good; k++)
            good = o->group[k] != group;
        while (*end == ' ' || *end == '\t' || *end == '\r')
            end++;
        if (!good || (*end && *end != ',' && *end != '\n'))
            return strads_fail(STRADS_EFORMAT,
                               "%s:%llu: found \"%.*s\"; expected the numbers "
                               "of the column's groups, from 0 up, different "
                               "and separated by commas",
                               path, (unsigned long long)column + 1,
                               (int)strcspn(text, "\r\n"), text);
        const strads_err err = add_copy(o, room, column, (uint32_t)group);
        if (err || *end != ',')
            return err;
        at = end + 1 + strspn(end + 1, " \t");
    }
}

strads_err strads_glm_overlap_read(const char *path, uint64_t columns,
                                   strads_glm_overlap *out)
{
    strads_glm_overlap o = {.columns = columns};
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    uint64_t lines = 0, room = 0;
    strads_err err = STRADS_OK;

    if (!file)
        return strads_fail(STRADS_EINVAL, "--groups %s: cannot be read: %s",
                           path, strerror(errno));
    while (!err && getline(&line, &size, file) >= 0) {
        if (lines < columns)
            err = read_groups_line(path, line, lines, &o, &room);
        lines++;
    }
    if (!err && ferror(file))
        err = strads_fail(STRADS_EIO, "--groups %s: cannot be read", path);
    if (!err && lines != columns)
        err = strads_fail(STRADS_EINVAL,
                          "--groups %s: has %llu lines and the data %llu "
                          "columns; expected the groups of one column a line",
                          path, (unsigned long long)lines,
                          (unsigned long long)columns);
    free(line);
    (void)fclose(file);
    if (err)
        strads_glm_overlap_free(&o);
    else
        *out = o;
    return err;
}

/* ---- the repeated columns ------------------------------------------------ */

/* Labels and weights of all rows; false: no memory. */
static bool copy_rows(const strads_data *data, double **label, double **weight)
{
    const uint64_t rows = strads_data_rows(data) + 1;
    const strads_share *share = strads_data_share(data, 0);

    *label = calloc(rows, sizeof(**label));
    *weight = share->weight ? calloc(rows, sizeof(**weight)) : NULL;
    if (!*label || (share->weight && !*weight))
        return false;
    for (uint32_t p = 0; (share = strads_data_share(data, p)); p++) {
        const size_t bytes =
            (share->rows.end - share->rows.begin) * sizeof(double);
        memcpy(*label + share->rows.begin, share->label, bytes);
        if (*weight)
            memcpy(*weight + share->rows.begin, share->weight, bytes);
    }
    return true;
}

strads_err strads_glm_overlap_data(const strads_data *data,
                                   const strads_glm_overlap *o,
                                   strads_data **out)
{
    const strads_data_options how = {.size = sizeof(how),
                                     .partitions = strads_data_partitions(data),
                                     .named_labels = true,
                                     .label_names =
                                         strads_data_label_names(data)};
    glm_columns x = {0};
    double *label = NULL, *weight = NULL;

    if (!glm_has_columns(data) || !strads_data_share(data, 0)->label ||
        strads_data_cols(data) != o->columns)
        return strads_fail(STRADS_EINVAL,
                           "groups that overlap need labels and compressed "
                           "columns of all rows, as many as groups are given "
                           "for: leave --cut columns out");
    strads_err err = glm_columns_copy(data, o->copies, o->source, &x);
    if (!err && !copy_rows(data, &label, &weight))
        err = strads_fail(STRADS_ENOMEM, "no memory for the labels of rows");
    if (!err) {
        const strads_arrays arrays = {.size = sizeof(arrays),
                                      .rows = strads_data_rows(data),
                                      .cols = o->copies,
                                      .start = x.start,
                                      .starts = STRADS_I64,
                                      .index = x.index,
                                      .indices = STRADS_I32,
                                      .value = x.value,
                                      .label = label};
        err = strads_data_from_arrays(&arrays, &how, out);
    }
    if (!err && weight)
        err = strads_data_weigh(*out, weight, strads_data_rows(data));
    glm_columns_free(&x);
    free(label);
    free(weight);
    return err;
}

void strads_glm_overlap_fold(const strads_glm_overlap *o, const double *v,
                             double *w)
{
    memset(w, 0, o->columns * sizeof(*w));
    for (uint64_t k = 0; k < o->copies; k++)
        w[o->source[k]] += v[k];
}
