/* The columns of a rating's row are, in this order: its user, the attributes of
 * the user, its item, the attributes of the item. Columns have names, so that a
 * model applies to other ratings and other tables. */
#include "cli_fm_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { NAME_SIZE = 4096 };
#define NO_LINE UINT32_MAX
#define NO_COLUMN UINT32_MAX
/* Larger integers may have a neighbour that is the same double. */
static const double EXACT_MAX = 9007199254740991;

/* Users or items. */
typedef struct side {
    const char *word;          /* "user" */
    const char *column;        /* of the table that names them */
    const char *path;          /* of the table; NULL: none */
    strads_data *table;        /* attributes; labels are the users' names */
    uint64_t n;                /* in the ratings */
    const strads_names *names; /* in the ratings; NULL: numbers */
    uint64_t base;             /* of numbers */
    uint32_t *line;            /* [n] of the table, or NO_LINE */
    uint32_t *own;             /* [n] column of the row, or NO_COLUMN */
    uint32_t *attribute;       /* [columns of the table] the same */
} side;

strads_err cli_fm_tables_check(const cli_fm_tables *tables, bool *used)
{
    *used = tables->users || tables->items;
    const char *name = tables->user     ? "user"
                       : tables->item   ? "item"
                       : tables->rating ? "rating"
                                        : NULL;
    if (!*used && name)
        return strads_fail(STRADS_EINVAL,
                           "--%s is for ratings with tables: give --users FILE "
                           "or --items FILE, too, or leave it out",
                           name);
    return STRADS_OK;
}

/* ---- names --------------------------------------------------------------- */

/* The name of user k in the ratings. */
static const char *name_of(const side *s, uint64_t k, char buffer[32])
{
    if (s->names)
        return strads_names_at(s->names, (uint32_t)k);
    (void)snprintf(buffer, 32, "%" PRIu64, k + s->base);
    return buffer;
}

/* The name in line i of the table. A number has lost its text, so it is printed
 * again. */
static const char *table_line_name(const strads_share *table, uint64_t i,
                                   char buffer[32])
{
    if (table->label_names)
        return strads_names_at(table->label_names, (uint32_t)table->label[i]);
    (void)snprintf(buffer, 32, "%.17g", table->label[i]);
    return buffer;
}

/* A name as table_line_name has it: 007 is 7 in a table of numbers. */
static const char *normalise_name(const strads_share *table, const char *name,
                                  char buffer[32])
{
    char *end = NULL;
    const double number = table->label_names ? 0 : strtod(name, &end);
    if (!end || end == name || *end)
        return name;
    (void)snprintf(buffer, 32, "%.17g", number);
    return buffer;
}

/* Finds the column "user=NAME" or "user.NAME", or adds it if the columns are
 * not `known`. */
static strads_err find_column(const strads_names *known, strads_names *own,
                              const char *word, char mark, const char *name,
                              uint32_t *out)
{
    char text[NAME_SIZE];
    const int n = snprintf(text, sizeof text, "%s%c%s", word, mark, name);
    const size_t size = n < NAME_SIZE ? (size_t)n : NAME_SIZE - 1;
    *out = NO_COLUMN;
    if (!known)
        return strads_names_add(own, text, size, out);
    if (!strads_names_find(known, text, size, out))
        *out = NO_COLUMN;
    return STRADS_OK;
}

/* ---- input --------------------------------------------------------------- */

/* The reader knows the column as that of --target; here another option names
 * it. */
static strads_err name_option(const side *s, strads_err err)
{
    static const char option[] = "which --target names";
    const char *text = strads_error_text(), *at = strstr(text, option);
    return at ? strads_fail(err, "%.*swhich --%s names (default: %s)",
                            (int)(at - text), text, s->word, s->word)
              : err;
}

static strads_err read_table(side *s, const strads_data_options *how)
{
    const strads_data_options options = {.size = sizeof options,
                                         .layout = STRADS_LAYOUT_ROWS,
                                         .threads = how->threads,
                                         .memory_limit = how->memory_limit,
                                         .target = s->column,
                                         .named_labels = true,
                                         .categorical = "one-hot",
                                         .missing = "mean"};
    if (!s->path)
        return STRADS_OK;
    const strads_err err = strads_data_read(s->path, &options, &s->table);
    return err == STRADS_EINVAL ? name_option(s, err) : err;
}

/* Collects the names of the table's lines, in their order. */
static strads_err name_lines(const side *s, strads_names *lines)
{
    const strads_share *table = strads_data_share(s->table, 0);
    char buffer[32];
    for (uint64_t i = 0; i < table->by_row.lines; i++) {
        uint32_t number;
        const char *name = table_line_name(table, i, buffer);
        if (!table->label_names && fabs(table->label[i]) > EXACT_MAX)
            return strads_fail(STRADS_EFORMAT,
                               "%s: row %" PRIu64 " is of %s %s; expected a "
                               "number of at most 15 digits or a name: put a "
                               "letter before such numbers, here and in the "
                               "ratings",
                               s->path, i + 1, s->word, name);
        CLI_TRY(strads_names_add(lines, name, strlen(name), &number));
        if (number != i)
            return strads_fail(STRADS_EFORMAT,
                               "%s: row %" PRIu64 " is the second one of %s "
                               "%s; expected one row for each %s",
                               s->path, i + 1, s->word, name, s->word);
    }
    return STRADS_OK;
}

/* Matches the lines of the table with the names in the ratings. */
static strads_err match_lines(side *s)
{
    strads_names *lines;
    char buffer[32], number[32];
    CLI_TRY(strads_names_new(&lines));
    const strads_share *table = strads_data_share(s->table, 0);
    const strads_err err = name_lines(s, lines);
    for (uint64_t k = 0; k < s->n && !err; k++) {
        const char *name = normalise_name(table, name_of(s, k, buffer), number);
        if (!strads_names_find(lines, name, strlen(name), &s->line[k]))
            s->line[k] = NO_LINE;
    }
    strads_names_free(lines);
    return err;
}

static strads_err read_side(side *s, const strads_data_options *how)
{
    CLI_TRY(cli_reserve(s->n + 1, sizeof *s->line, s->word, &s->line));
    CLI_TRY(cli_reserve(s->n + 1, sizeof *s->own, s->word, &s->own));
    CLI_TRY(read_table(s, how));
    for (uint64_t k = 0; k < s->n; k++)
        s->line[k] = NO_LINE;
    if (!s->table)
        return STRADS_OK;
    CLI_TRY(cli_reserve(strads_data_cols(s->table) + 1, sizeof *s->attribute,
                        s->word, &s->attribute));
    return match_lines(s);
}

static strads_err name_own(side *s, const strads_names *known,
                           strads_names *own)
{
    char buffer[32];
    for (uint64_t k = 0; k < s->n; k++)
        CLI_TRY(find_column(known, own, s->word, '=', name_of(s, k, buffer),
                            &s->own[k]));
    return STRADS_OK;
}

static strads_err name_attributes(side *s, const strads_names *known,
                                  strads_names *own)
{
    const strads_names *names = s->table ? strads_data_col_names(s->table) : 0;
    for (uint32_t j = 0; names && j < strads_names_count(names); j++)
        CLI_TRY(find_column(known, own, s->word, '.', strads_names_at(names, j),
                            &s->attribute[j]));
    return STRADS_OK;
}

/* ---- rows ---------------------------------------------------------------- */

typedef struct row_list {
    uint64_t n, room; /* entries */
    uint32_t *index;
    double *value;
} row_list;

static strads_err reserve_entries(row_list *r, uint64_t more)
{
    if (r->n + more <= r->room)
        return STRADS_OK;
    const uint64_t room = 2 * (r->n + more);
    uint32_t *index = realloc(r->index, room * sizeof *index);
    r->index = index ? index : r->index;
    double *value = realloc(r->value, room * sizeof *value);
    r->value = value ? value : r->value;
    if (!index || !value)
        return strads_fail(STRADS_ENOMEM, "no memory left for the rows");
    r->room = room;
    return STRADS_OK;
}

/* Adds an entry to the row that starts at `first`, in the order of columns. */
static void insert_entry(row_list *r, uint64_t first, uint32_t column,
                         double value)
{
    uint64_t at = r->n;
    if (column == NO_COLUMN)
        return;
    for (; at > first && r->index[at - 1] > column; at--) {
        r->index[at] = r->index[at - 1];
        r->value[at] = r->value[at - 1];
    }
    r->index[at] = column;
    r->value[at] = value;
    r->n++;
}

static uint64_t attributes_of(const side *s, uint64_t k)
{
    if (s->line[k] == NO_LINE)
        return 0;
    const uint64_t *start =
        strads_data_share(s->table, 0)->by_row.start + s->line[k];
    return start[1] - start[0];
}

static void add_side(const side *s, uint64_t k, row_list *r, uint64_t first)
{
    insert_entry(r, first, s->own[k], 1);
    if (s->line[k] == NO_LINE)
        return;
    const strads_sparse *x = &strads_data_share(s->table, 0)->by_row;
    for (uint64_t e = x->start[s->line[k]]; e < x->start[s->line[k] + 1]; e++)
        insert_entry(r, first, s->attribute[x->index[e]],
                     strads_sparse_value(x, e));
}

static strads_err build_fm_rows(const side *user, const side *item,
                                const strads_data *ratings,
                                const strads_names *names,
                                const strads_data_options *how,
                                strads_data **out)
{
    const strads_sparse *x = &strads_data_share(ratings, 0)->by_row;
    row_list r = {0};
    strads_err err = STRADS_OK;
    uint64_t *start;
    double *label;
    uint64_t row = 0;
    CLI_TRY(cli_reserve(x->nnz + 1, sizeof *start, "the rows", &start));
    CLI_TRY(cli_reserve(x->nnz + 1, sizeof *label, "the ratings", &label));
    for (uint64_t u = 0; u < x->lines && !err; u++)
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            const uint64_t v = x->index[e], first = r.n;
            err = reserve_entries(&r, 2 + attributes_of(user, u) +
                                          attributes_of(item, v));
            if (err)
                break;
            add_side(user, u, &r, first);
            add_side(item, v, &r, first);
            label[row++] = strads_sparse_value(x, e);
            start[row] = r.n;
        }
    const strads_arrays arrays = {.size = sizeof arrays,
                                  .rows = row,
                                  .cols = strads_names_count(names),
                                  .by_row = true,
                                  .start = start,
                                  .starts = STRADS_I64,
                                  .index = r.index,
                                  .indices = STRADS_I32,
                                  .value = r.value,
                                  .label = label};
    strads_data_options options = *how;
    options.kind = STRADS_KIND_SAMPLES;
    options.col_names = names;
    options.user = options.item = options.rating = NULL;
    options.min_cols = options.most_cols = 0;
    options.named_labels = false;
    if (!err)
        err = strads_data_from_arrays(&arrays, &options, out);
    free(r.index);
    free(r.value);
    return err;
}

/* Reads the tables, names the columns, unless they are `known`, and makes the
 * rows. The names last until the next call, which comes when the rows have been
 * freed. *context: those of users. */
static strads_err join_sides(side *user, side *item, const strads_data *ratings,
                             const strads_names *known,
                             const strads_data_options *how, uint32_t *context,
                             strads_data **out)
{
    static strads_names *own;
    CLI_TRY(read_side(user, how));
    CLI_TRY(read_side(item, how));
    strads_names_free(own);
    own = NULL;
    if (!known)
        CLI_TRY(strads_names_new(&own));
    CLI_TRY(name_own(user, known, own));
    CLI_TRY(name_attributes(user, known, own));
    *context = strads_names_count(known ? known : own);
    CLI_TRY(name_own(item, known, own));
    CLI_TRY(name_attributes(item, known, own));
    return build_fm_rows(user, item, ratings, known ? known : own, how, out);
}

strads_err cli_fm_rows_read(const cli_fm_tables *tables, const char *path,
                            const strads_names *known,
                            const strads_data_options *how, uint32_t *context,
                            strads_data **out)
{
    const strads_data_options options = {.size = sizeof options,
                                         .kind = STRADS_KIND_RATINGS,
                                         .layout = STRADS_LAYOUT_ROWS,
                                         .threads = how->threads,
                                         .memory_limit = how->memory_limit,
                                         .user = tables->user,
                                         .item = tables->item,
                                         .rating = tables->rating};
    strads_data *ratings;
    CLI_TRY(strads_data_read(path, &options, &ratings));
    const uint64_t base = strads_data_index_base(ratings);
    side user = {.word = "user",
                 .column = tables->user ? tables->user : "user",
                 .path = tables->users,
                 .n = strads_data_rows(ratings),
                 .names = strads_data_row_names(ratings),
                 .base = base};
    side item = {.word = "item",
                 .column = tables->item ? tables->item : "item",
                 .path = tables->items,
                 .n = strads_data_cols(ratings),
                 .names = strads_data_col_names(ratings),
                 .base = base};
    const strads_err err =
        join_sides(&user, &item, ratings, known, how, context, out);
    strads_data_free(user.table);
    strads_data_free(item.table);
    strads_data_free(ratings);
    return err;
}
