/* engine/round/choice_codec.h - ASK and CHOICE as payloads and back: what a
 * scheduler on another node is asked, and what it answers. */
#ifndef STI_CHOICE_CODEC_H
#define STI_CHOICE_CODEC_H

#include "engine/round/job.h"
#include "engine/base/cursor.h"

void sti_choice_encode(const sti_msg *msg, sti_writer *w);

/* Sets msg->from of a CHOICE; whether it may speak for that scheduler is for
 * the caller to see. STRADS_EPEER: parameters of another range, or anything
 * else that is not due; nothing in a payload can lead out of it. */
strads_err sti_choice_decode(const sti_run *run, sti_reader *r, sti_msg *msg);

#endif
