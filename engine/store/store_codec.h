/* engine/store/store_codec.h - messages of the store as payloads and back; the
 * part of message_codec.h that is about them. */
#ifndef STI_STORE_CODEC_H
#define STI_STORE_CODEC_H

#include "engine/store/store_message.h"
#include "engine/base/cursor.h"

/* `rest` as in sti_msg_encode_parts; NULL: all goes into the writer. */
void sti_store_encode(const sti_msg *msg, sti_writer *w, sti_part *rest);

/* STRADS_EPEER: nothing in a payload can lead out of it. */
strads_err sti_store_decode(sti_reader *r, sti_object *backing, sti_msg *msg);

/* What an answer ROWS begins with, of which the first n bytes are there: who
 * sent it, all but its parts, where these begin, and their size. False: there
 * are too few. */
bool sti_store_peek_rows(const void *bytes, uint64_t n, sti_address *from,
                         sti_row_answer *head, uint64_t *at, uint64_t *size);

#endif
