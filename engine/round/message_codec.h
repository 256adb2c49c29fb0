/* engine/round/message_codec.h - messages between nodes as payloads and back.
 *
 * Layouts: docs/wire-format.md. A decoded message keeps arrays where they lie
 * in the payload, and the payload through a reference. */
#ifndef STI_MESSAGE_CODEC_H
#define STI_MESSAGE_CODEC_H

#include "engine/base/cursor.h"
#include "engine/round/job.h"
#include "engine/round/run_context.h"

/* Appends a message's payload; the writer's sticky error tells. kind, to,
 * partition, slice, round and busy_ns of the message are not in it: they ride in
 * the frame's header. With `rest` the rows of PUSH and ROWS are not copied: the
 * payload is what the writer has, and behind it *rest, which lies in the
 * message's object. NULL: all is copied.
 * STRADS_ESTATE: no such kind. */
strads_err sti_msg_encode(const sti_msg *msg, sti_writer *w, sti_part *rest);

/* Fills in msg->object from a payload; kind, to, partition, slice and round are
 * set beforehand. `bytes` is 8-byte aligned and lies in `backing`, which the
 * object keeps a reference of. FAIL, LOOP and messages of the store need no run
 * (NULL is fine); the store's and CHOICE bring msg->from with them: the caller
 * sees to it that the node which sent them may speak for it.
 * STRADS_EPEER: a payload that is not what it should be; nothing in it can lead
 * out of it. */
strads_err sti_msg_decode(const sti_run *run, void *bytes, uint64_t size,
                          sti_object *backing, sti_msg *msg);

#endif
