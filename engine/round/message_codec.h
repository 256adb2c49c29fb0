/* engine/round/message_codec.h - encoding of messages between nodes.
 *
 * Layouts: docs/wire-format.md. The arrays of a decoded message stay in the
 * payload, which the message keeps a reference to. */
#ifndef STI_MESSAGE_CODEC_H
#define STI_MESSAGE_CODEC_H

#include "engine/base/cursor.h"
#include "engine/round/job.h"
#include "engine/round/run_context.h"

/* Appends a message's payload; errors are the writer's sticky error. The
 * frame's header carries kind, to, partition, slice, round and busy_ns. With
 * `rest`, the rows of PUSH and ROWS are not copied: the payload is the writer's
 * bytes followed by *rest, which refers to the message's object. NULL:
 * everything is copied. STRADS_ESTATE: no such kind. */
strads_err sti_msg_encode(const sti_msg *msg, sti_writer *w, sti_part *rest);

/* Fills in msg->object from a payload; the caller has set kind, to, partition,
 * slice and round. `bytes` is 8-byte aligned and lies in `backing`, which the
 * object keeps a reference to. FAIL, LOOP and messages of the store need no run
 * (NULL is allowed). Messages of the store and CHOICE carry msg->from; the
 * caller checks that the sending node may speak for it. STRADS_EPEER: an
 * invalid payload; every reference in a decoded message stays inside the
 * payload. */
strads_err sti_msg_decode(const sti_run *run, void *bytes, uint64_t size,
                          sti_object *backing, sti_msg *msg);

#endif
