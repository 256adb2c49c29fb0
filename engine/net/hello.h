/* engine/net/hello.h - the payloads of HELLO, WELCOME and REJECT, with which
 * nodes introduce themselves. Strings of a decoded message point into the
 * payload. Layouts: docs/wire-format.md. */
#ifndef STI_HELLO_H
#define STI_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/cursor.h"
#include "engine/net/socket.h"
#include "strads/error.h"

enum {
    STI_NODES_MAX = 4096 /* nodes of one run */
};

/* A node's description of itself when it joins, or when it restores a link.
 * Zero means "none" unless a field names another value. */
typedef struct sti_hello {
    uint32_t protocol; /* STI_PROTOCOL */
    uint32_t version_major, version_minor;
    uint32_t kernel_level;
    uint32_t workers;
    uint32_t wanted_node; /* STI_NODE_NONE: any */
    uint64_t run;         /* number of the run it belongs to; 0: none yet */
    uint64_t seen;        /* frames that it has received from the receiver */
    uint64_t pace;        /* as `pace` of sti_mesh_options; 0: not known */
    const char *url;      /* where this node listens */
} sti_hello;

/* The coordinator's answer. Node i listens at urls[i]; "": not known. */
typedef struct sti_welcome {
    uint32_t node;
    uint32_t nodes;
    const char **urls; /* [nodes] */
    uint64_t seed;
    uint64_t run;        /* random number of this generation */
    uint32_t generation; /* 1, 2, ..; 0: the loss of a node ends the run */
    const char *options; /* the run's options, a JSON object */
} sti_welcome;

typedef struct sti_reject {
    strads_err code;
    const char *text; /* one sentence for the user at the other end */
} sti_reject;

/* Encoders append to the writer and report failures in its sticky error. */
void sti_hello_encode(const sti_hello *hello, sti_writer *w);
void sti_welcome_encode(const sti_welcome *welcome, sti_writer *w);
void sti_reject_encode(const sti_reject *reject, sti_writer *w);

/* Decoders return STRADS_EPEER if a payload is too short, too long, or exceeds
 * STI_URL_MAX or STI_NODES_MAX. They write *out only on success. `bytes` is
 * 8-byte aligned. */
strads_err sti_hello_decode(const void *bytes, uint64_t size, sti_hello *out);
strads_err sti_reject_decode(const void *bytes, uint64_t size, sti_reject *out);

/* Also STRADS_ENOMEM. On success the caller owns out->urls and frees it with
 * sti_welcome_free, which accepts a zeroed welcome. */
strads_err sti_welcome_decode(const void *bytes, uint64_t size,
                              sti_welcome *out);
void sti_welcome_free(sti_welcome *welcome);

/* Compares protocol, version and kernel level, in this order. STRADS_EMISMATCH:
 * the sentence names the first difference and both values. */
strads_err sti_hello_check(const sti_hello *mine, const sti_hello *theirs);

#endif
