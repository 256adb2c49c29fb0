/* All knowledge of formats. Files are written under another name and renamed.
 * Cells of a table are streamed. */
#include "cli_output.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "engine/base/atomic_file.h"
#include "engine/base/number_text.h"

/* A device or a pipe, such as /dev/null, cannot be replaced. */
static bool is_written_directly(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 &&
           (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode));
}

strads_err cli_output_check(const char *path)
{
    if (!is_written_directly(path))
        return sti_atomic_file_check(path);
    return access(path, W_OK) == 0
               ? STRADS_OK
               : strads_fail(STRADS_EIO, "%s: cannot be written: %s", path,
                             strerror(errno));
}

/* Writes to standard output, a device or a pipe. */
static strads_err write_stream(const char *name, FILE *out,
                               strads_err (*write)(void *arg, FILE *out),
                               void *arg)
{
    if (!out) {
        return strads_fail(STRADS_EIO, "%s: cannot be written: %s", name,
                           strerror(errno));
    }
    strads_err err = write(arg, out);
    bool bad = fflush(out) != 0 || ferror(out);
    const int why = errno;
    bad = (out != stdout && fclose(out) != 0) || bad;
    return err || !bad ? err
                       : strads_fail(STRADS_EIO, "%s: %s", name, strerror(why));
}

strads_err cli_output(const char *path,
                      strads_err (*write)(void *arg, FILE *out), void *arg)
{
    sti_atomic_file target = {0};
    if (!path || is_written_directly(path)) {
        cli_writing();
        return path ? write_stream(path, fopen(path, "we"), write, arg)
                    : write_stream("standard output", stdout, write, arg);
    }
    CLI_TRY(sti_atomic_file_open(path, &target));
    cli_writing();
    strads_err err = write(arg, target.stream);
    if (!err)
        return sti_atomic_file_commit(&target);
    sti_atomic_file_abandon(&target);
    return err;
}

cli_format cli_format_of(const cli_out *out)
{
    static const char *const names[] = {"text", "csv", "json", "npy"};
    cli_format format = CLI_FORMAT_TEXT;
    while (!out->json && strcmp(names[format], out->format) != 0)
        format++;
    return out->json ? CLI_FORMAT_JSON : format;
}

/* ---- tables -------------------------------------------------------------- */

static uint32_t cells_of(const cli_column *column)
{
    return column->width ? column->width : 1;
}

void cli_npy_header(const char *type, uint64_t rows, uint64_t cols,
                    char out[CLI_NPY_HEADER + 1])
{
    static const char magic[] = "\x93NUMPY\x01\x00\x76";
    char more[24] = "";
    if (cols > 0)
        (void)snprintf(more, sizeof more, " %" PRIu64, cols);
    memset(out, ' ', CLI_NPY_HEADER);
    memcpy(out, magic, sizeof magic); /* 118 bytes follow */
    const size_t at = sizeof magic;
    const int n = snprintf(out + at, CLI_NPY_HEADER - at,
                           "{'descr': '%.8s', 'fortran_order': False, "
                           "'shape': (%" PRIu64 ",%s), }",
                           type, rows, more);
    out[at + (size_t)n] = ' '; /* blanks up to the end of the line */
    out[CLI_NPY_HEADER - 1] = '\n';
    out[CLI_NPY_HEADER] = '\0';
}

/* An array of f64, [rows x cols] or [rows]. */
static strads_err put_npy_header(const cli_table *t)
{
    char header[CLI_NPY_HEADER + 1];
    uint64_t cols = 0;
    bool vector = true;
    for (uint32_t c = 0; c < t->n; c++) {
        if (t->column[c].type != CLI_STRING) {
            vector = cols == 0 && t->column[c].width == 0;
            cols += cells_of(&t->column[c]);
        }
    }
    if (cols == 0) {
        return strads_fail(STRADS_EINVAL,
                           "--format npy: an array holds numbers, and these "
                           "are names; choose text, csv or json");
    }
    cli_npy_header("<f8", t->rows, vector ? 0 : cols, header);
    (void)fwrite(header, 1, CLI_NPY_HEADER, t->out);
    return STRADS_OK;
}

static void put_csv_header(const cli_table *t)
{
    for (uint32_t c = 0; c < t->n; c++) {
        for (uint32_t k = 0; k < cells_of(&t->column[c]); k++) {
            (void)fputs(c || k ? "," : "", t->out);
            cli_csv_text(t->out, t->column[c].name);
            if (t->column[c].width)
                (void)fprintf(t->out, "_%" PRIu32, k);
        }
    }
    (void)fputc('\n', t->out);
}

strads_err cli_table_begin(cli_table *t, const cli_out *as, FILE *out)
{
    t->out = out;
    t->format = cli_format_of(as);
    t->cell = t->part = 0;
    if (t->format == CLI_FORMAT_CSV && !t->bare)
        put_csv_header(t);
    return t->format == CLI_FORMAT_NPY ? put_npy_header(t) : STRADS_OK;
}

/* Writes the separator before a cell. */
static void begin_cell(const cli_table *t)
{
    const bool first = t->cell == 0 && t->part == 0;
    if (t->format == CLI_FORMAT_JSON) {
        if (t->part == 0) {
            cli_json j = {.out = t->out, .follows = !first};
            (void)fputs(first ? "{" : "", t->out);
            cli_json_raw(&j, t->column[t->cell].name, "");
        }
        (void)fputs(t->part                        ? ", "
                    : t->column[t->cell].width > 0 ? "["
                                                   : "",
                    t->out);
    } else if (t->format != CLI_FORMAT_NPY && !first) {
        (void)fputs(t->format == CLI_FORMAT_CSV ? ","
                    : t->gap                    ? t->gap
                                                : " ",
                    t->out);
    }
}

static void end_cell(cli_table *t)
{
    const bool json = t->format == CLI_FORMAT_JSON;
    if (++t->part < cells_of(&t->column[t->cell]))
        return;
    (void)fputs(json && t->column[t->cell].width ? "]" : "", t->out);
    t->part = 0;
    if (++t->cell == t->n) {
        t->cell = 0;
        (void)fputs(json                          ? "}\n"
                    : t->format == CLI_FORMAT_NPY ? ""
                                                  : "\n",
                    t->out);
    }
}

void cli_table_number(cli_table *t, double value)
{
    begin_cell(t);
    if (t->format == CLI_FORMAT_NPY)
        (void)fwrite(&value, sizeof value, 1, t->out);
    else if (t->digits && isfinite(value))
        (void)fprintf(t->out, "%.*g", t->digits, value);
    else
        cli_csv_number(t->out, value);
    end_cell(t);
}

void cli_table_count(cli_table *t, uint64_t value)
{
    if (t->format == CLI_FORMAT_NPY) {
        cli_table_number(t, (double)value);
        return;
    }
    const bool flag = t->column[t->cell].type == CLI_BOOL;
    begin_cell(t);
    if (flag && t->format == CLI_FORMAT_JSON)
        (void)fputs(value ? "true" : "false", t->out);
    else
        (void)fprintf(t->out, "%" PRIu64, value);
    end_cell(t);
}

void cli_table_text(cli_table *t, const char *text)
{
    begin_cell(t);
    if (t->format == CLI_FORMAT_JSON) {
        cli_json j = {.out = t->out};
        cli_json_string(&j, NULL, text);
    } else if (t->format == CLI_FORMAT_CSV) {
        cli_csv_text(t->out, text);
    } else if (t->format == CLI_FORMAT_TEXT) {
        (void)fputs(text, t->out);
    }
    end_cell(t);
}

cli_column cli_id_column(const char *name, const strads_names *names)
{
    return (cli_column){name, names ? CLI_STRING : CLI_COUNT, 0};
}

void cli_table_id(cli_table *t, const strads_names *names, uint64_t id,
                  uint64_t base)
{
    if (names)
        cli_table_text(t, strads_names_at(names, (uint32_t)id));
    else
        cli_table_count(t, id + base);
}

cli_measure cli_figure(const char *name, const char *part, double value)
{
    return (cli_measure){name, part, value, NAN, NAN, false};
}

static void put_measures(FILE *out, const cli_measure *m, uint32_t n)
{
    cli_json j = cli_json_begin(out);
    for (uint32_t k = 0; k < n; k++) {
        const char *before = k ? m[k - 1].part : NULL;
        char interval[32];
        if (m[k].part != before) {
            if (before)
                cli_json_close(&j, '}');
            cli_json_open(&j, m[k].part, '{');
        }
        cli_json_number(&j, m[k].name, m[k].value);
        if (m[k].interval) {
            (void)snprintf(interval, sizeof interval, "%s_95", m[k].name);
            cli_json_open(&j, interval, '[');
            cli_json_number(&j, NULL, m[k].low);
            cli_json_number(&j, NULL, m[k].high);
            cli_json_close(&j, ']');
        }
    }
    if (m[n - 1].part)
        cli_json_close(&j, '}');
    cli_json_end(&j);
}

strads_err cli_measures_write(FILE *out, const cli_out *as,
                              const cli_measure *measure, uint32_t n)
{
    static const cli_column columns[] = {{"measure", CLI_STRING, 0},
                                         {"part", CLI_STRING, 0},
                                         {"value", CLI_NUMBER, 0},
                                         {"low", CLI_NUMBER, 0},
                                         {"high", CLI_NUMBER, 0}};
    cli_table t = {.column = columns, .n = 5, .rows = n, .gap = "\t"};
    if (cli_format_of(as) == CLI_FORMAT_JSON) {
        put_measures(out, measure, n);
        return STRADS_OK;
    }
    CLI_TRY(cli_table_begin(&t, as, out));
    for (uint32_t k = 0; k < n; k++) {
        cli_table_text(&t, measure[k].name);
        cli_table_text(&t, measure[k].part ? measure[k].part : "");
        cli_table_number(&t, measure[k].value);
        cli_table_number(&t, measure[k].low);
        cli_table_number(&t, measure[k].high);
    }
    return STRADS_OK;
}

/* ---- JSON ---------------------------------------------------------------- */

/* A string, or null if it is not UTF-8. */
static void put_string(FILE *out, const char *text)
{
    json_t *string = text ? json_string(text) : NULL;
    if (string)
        (void)json_dumpf(string, out, JSON_ENCODE_ANY);
    else
        (void)fputs("null", out);
    json_decref(string);
}

static void put_key(cli_json *j, const char *key)
{
    (void)fputs(j->follows ? ", " : "", j->out);
    j->follows = true;
    if (key) {
        put_string(j->out, key);
        (void)fputs(": ", j->out);
    }
}

void cli_json_open(cli_json *j, const char *key, char bracket)
{
    put_key(j, key);
    (void)fputc(bracket, j->out);
    j->follows = false;
}

void cli_json_close(cli_json *j, char bracket)
{
    (void)fputc(bracket, j->out);
    j->follows = true;
}

cli_json cli_json_begin(FILE *out)
{
    cli_json j = {.out = out};
    cli_json_open(&j, NULL, '{');
    return j;
}

void cli_json_end(cli_json *j)
{
    cli_json_close(j, '}');
    (void)fputc('\n', j->out);
}

void cli_json_number(cli_json *j, const char *key, double value)
{
    put_key(j, key);
    cli_csv_number(j->out, value);
}

void cli_json_count(cli_json *j, const char *key, uint64_t value)
{
    put_key(j, key);
    (void)fprintf(j->out, "%" PRIu64, value);
}

void cli_json_string(cli_json *j, const char *key, const char *text)
{
    put_key(j, key);
    put_string(j->out, text);
}

void cli_json_raw(cli_json *j, const char *key, const char *text)
{
    put_key(j, key);
    for (const char *c = text; *c; c++) {
        if (*c != '\n') {
            (void)fputc(*c, j->out);
            continue;
        }
        (void)fputs(c > text && c[-1] == ',' ? " " : "", j->out);
        while (c[1] == ' ')
            c++;
    }
}

/* ---- names and CSV ------------------------------------------------------- */

strads_err cli_names_read(const char *path, uint64_t columns,
                          strads_names **out)
{
    *out = NULL;
    if (!path)
        return STRADS_OK;
    CLI_TRY(strads_names_read(path, out));
    return strads_names_count(*out) >= columns
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "--names %s: has %" PRIu32 " names for %" PRIu64
                             " columns; expected one a line, one a column",
                             path, strads_names_count(*out), columns);
}

const char *cli_name(const strads_names *names, uint64_t index, uint64_t base,
                     char buffer[CLI_NAME_SIZE])
{
    if (names && index < strads_names_count(names))
        return strads_names_at(names, (uint32_t)index);
    (void)snprintf(buffer, CLI_NAME_SIZE, "%" PRIu64, index + base);
    return buffer;
}

void cli_csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            (void)fputc('"', out);
        (void)fputc(*c, out);
    }
    (void)fputc('"', out);
}

void cli_csv_number(FILE *out, double value)
{
    char text[STI_NUMBER_SIZE];
    (void)sti_number_format(value, text);
    (void)fputs(text, out);
}

/* User text may contain XML's special characters. */
void cli_xml_text(FILE *out, const char *text)
{
    for (const char *c = text; c && *c; c++) {
        const char *entity = *c == '<'   ? "&lt;"
                             : *c == '>' ? "&gt;"
                             : *c == '&' ? "&amp;"
                             : *c == '"' ? "&quot;"
                                         : NULL;
        if (entity)
            (void)fputs(entity, out);
        else
            (void)fputc((unsigned char)*c < ' ' && *c != '\n' ? ' ' : *c, out);
    }
}

/* ---- lines of a file ----------------------------------------------------- */

strads_err cli_lines(const char *path,
                     strads_err (*take)(void *arg, size_t number, char *line),
                     void *arg)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0, number = 0;
    strads_err err = STRADS_OK;
    while (file && !err && getline(&line, &size, file) > 0)
        err = take(arg, ++number, line);
    if (!err && (!file || ferror(file))) {
        err = strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                          strerror(errno));
    }
    if (file)
        (void)fclose(file);
    free(line);
    return err;
}
