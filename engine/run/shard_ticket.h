/* engine/run/shard_ticket.h - what a node that hosts shards and no workers
 * keeps in its journal's directory: of which run it is which node. With it a
 * process that was killed and started again takes its place. */
#ifndef STI_SHARD_TICKET_H
#define STI_SHARD_TICKET_H

#include "engine/net/mesh.h"

/* Makes the directory, if it is not there, so that a place that cannot be
 * written to is found before anybody is told of the node. STRADS_EINVAL. */
strads_err sti_ticket_place(const char *directory);

/* *there: one was found. STRADS_EFORMAT: that is none. STRADS_EIO. */
strads_err sti_ticket_read(const char *directory, sti_mesh_ticket *out,
                           bool *there);

/* STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_ticket_write(const char *directory,
                            const sti_mesh_ticket *ticket);

/* When the run has ended well: the journals of its shards below `shards`, the
 * ticket, and the directory, unless there is more in it. */
void sti_ticket_remove(const char *directory, uint32_t shards);

#endif
