/* cli_text_out.h - long text on its way to a file, plain or zstd by its name:
 * whole in the end, or not there. */
#ifndef CLI_TEXT_OUT_H
#define CLI_TEXT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct cli_text_out cli_text_out;

/* A name that ends in ".zst" is packed; one in ".gz" is refused. STRADS_EINVAL,
 * STRADS_EIO, STRADS_ENOMEM. */
strads_err cli_text_open(const char *path, cli_text_out **out);

/* Room for n characters, n up to CLI_TEXT_MOST; the caller writes there and
 * says with cli_text_took how many it did. Errors wait for cli_text_close. */
enum { CLI_TEXT_MOST = 4096 };
char *cli_text_room(cli_text_out *text, size_t n);
void cli_text_took(cli_text_out *text, size_t n);

/* Ends the text and puts the file in its place; *bytes is its size there.
 * Ends `text`, too, whatever it returns. STRADS_EIO. */
strads_err cli_text_close(cli_text_out *text, uint64_t *bytes);

/* Leaves no file behind. NULL is fine. */
void cli_text_abandon(cli_text_out *text);

/* n in decimal; returns the end. */
char *cli_text_u32(char *at, uint32_t n);
/* n / 1000 without trailing zeros: "-1.25", "0.003"; returns the end. */
char *cli_text_thousandths(char *at, int32_t n);

#endif
