/* engine/round/message_codec.h - messages as bytes, and back. */
#ifndef STI_MESSAGE_CODEC_H
#define STI_MESSAGE_CODEC_H

#include "engine/base/cursor.h"
#include "engine/round/job.h"
#include "engine/round/run_context.h"

/* messages between nodes as payloads and back.
 *
 * DISPATCH, PARTIAL, HOP and FAIL cross nodes, and so do all of the store;
 * ASK and CHOICE stay on the coordinator's. Layouts: docs/wire-format.md. A
 * decoded message keeps arrays where they lie in the payload, and the payload
 * through a reference. */

/* Appends a message's payload; the writer's sticky error tells. kind, to,
 * partition, round and busy_ns of the message are not in it: they ride in the
 * frame's header. STRADS_ESTATE: a kind that stays on its node. */
strads_err sti_msg_encode(const sti_msg *msg, sti_writer *w);

/* The same without copying the rows of PUSH and ROWS: the payload is what the
 * writer has, and behind it `rest`, which lies in the message's object. Of other
 * kinds `rest` is empty. */
strads_err sti_msg_encode_parts(const sti_msg *msg, sti_writer *w,
                                sti_part *rest);

/* Fills in msg->object from a payload; msg->kind and msg->round are set
 * beforehand. `bytes` is 8-byte aligned and lies in `backing`, which the object
 * keeps a reference of. Messages of the store need no run (NULL is fine) and
 * bring msg->from with them: the caller sees to it that the node which sent
 * them may speak for it, and their receiver checks what they say of tables.
 * STRADS_EPEER: a payload that is not what it should be; nothing in it can lead
 * out of it. */
strads_err sti_msg_decode(const sti_run *run, void *bytes, uint64_t size,
                          sti_object *backing, sti_msg *msg);

/* ASK and CHOICE as payloads and back: what a
 * scheduler on another node is asked, and what it answers. */

/* blocks to the bytes of a payload, and back; for
 * the codecs of messages that carry some. */

/* Blocks of parameters and partitions that the run has; their lists lie in the
 * payload. The array is to be freed. STRADS_EPEER; STRADS_ENOMEM. */

#endif
