/* engine/data/text_unpack.h - gzip and zstd, one interface. */
#ifndef STI_DATA_TEXT_UNPACK_H
#define STI_DATA_TEXT_UNPACK_H

#include "engine/data/text_source.h"

typedef struct sti_unpacker sti_unpacker;

/* Reads text->bytes from the start; NULL when memory ran out. */
sti_unpacker *sti_unpacker_new(const sti_text *text);

/* Puts up to `room` bytes of text into `out`; *end is set with the last ones.
 * On STRADS_EFORMAT sti_unpacker_trouble says why, without the file's name. */
strads_err sti_unpacker_read(sti_unpacker *unpacker, char *out, size_t room,
                             size_t *got, bool *end);
const char *sti_unpacker_trouble(const sti_unpacker *unpacker);
void sti_unpacker_free(sti_unpacker *unpacker);

#endif
