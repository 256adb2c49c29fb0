#include "cli_names.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/number_text.h"

strads_err cli_names_read(const char *path, uint64_t columns,
                          strads_names **out)
{
    *out = NULL;
    strads_err err = path ? strads_names_read(path, out) : STRADS_OK;
    if (!err && *out && strads_names_count(*out) < columns) {
        err = strads_fail(STRADS_EINVAL,
                          "--names %s: has %" PRIu32 " names for %" PRIu64
                          " columns; expected one a line, one a column",
                          path, strads_names_count(*out), columns);
        strads_names_free(*out);
        *out = NULL;
    }
    return err;
}

const char *cli_name(const strads_names *names, uint32_t index,
                     char room[CLI_NAME_SIZE])
{
    if (names && index < strads_names_count(names)) {
        return strads_names_at(names, index);
    }
    (void)snprintf(room, CLI_NAME_SIZE, "%" PRIu64, (uint64_t)index + 1);
    return room;
}

void cli_csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (const char *c = text; *c; c++) {
        if (*c == '"') {
            (void)fputc('"', out);
        }
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

void cli_json_text(FILE *out, const char *text)
{
    json_t *string = json_string(text);
    if (string) {
        (void)json_dumpf(string, out, JSON_ENCODE_ANY);
    } else {
        (void)fputs("null", out);
    }
    json_decref(string);
}
