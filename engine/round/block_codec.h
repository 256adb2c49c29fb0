/* engine/round/block_codec.h - blocks to the bytes of a payload, and back; for
 * the codecs of messages that carry some. */
#ifndef STI_BLOCK_CODEC_H
#define STI_BLOCK_CODEC_H

#include "engine/round/run_context.h"
#include "engine/base/cursor.h"

void sti_put_block(sti_writer *w, const strads_block *block);
void sti_put_blocks(sti_writer *w, uint32_t n, const strads_block *blocks);

/* STRADS_EPEER, in the words that all codecs refuse a message with. */
strads_err sti_refuse(const char *what);

/* Blocks of parameters and partitions that the run has; their lists lie in the
 * payload. The array is to be freed. STRADS_EPEER; STRADS_ENOMEM. */
strads_err sti_get_block(const sti_run *run, sti_reader *r,
                         strads_block *block);
strads_err sti_get_blocks(const sti_run *run, sti_reader *r, uint32_t *n,
                          strads_block **out);

#endif
