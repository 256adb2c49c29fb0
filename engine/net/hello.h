/* engine/net/hello.h - how nodes introduce themselves: the payloads of HELLO,
 * WELCOME and REJECT. Strings of a decoded message lie in the payload and live
 * as long as it. Layouts: docs/wire-format.md. */
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

/* What a node says of itself when it joins. Zero stands for "none" except
 * where another value is named. */
typedef struct sti_hello {
    uint32_t protocol; /* STI_PROTOCOL */
    uint32_t version_major, version_minor;
    uint32_t kernel_level;
    uint32_t workers;
    uint32_t wanted_node; /* STI_NODE_NONE: any */
    uint64_t run;         /* which one it belongs to already; 0: none yet */
    uint64_t seen;        /* frames of the receiver's that it has */
    uint64_t pace;        /* as sti_mesh_host's, lately; 0: not known */
    const char *url;      /* where this node listens */
} sti_hello;

/* What the coordinator answers. urls[i] is where node i listens, "" for one
 * that is not known yet. */
typedef struct sti_welcome {
    uint32_t node;
    uint32_t nodes;
    const char **urls; /* [nodes] */
    uint64_t seed;
    uint64_t run;        /* the generation's number, which was drawn for it */
    uint32_t generation; /* 1, 2, ..; 0: a lost node ends the run */
    const char *options; /* the run's options, a JSON object */
} sti_welcome;

typedef struct sti_reject {
    strads_err code;
    const char *text; /* one sentence for the people at the other end */
} sti_reject;

/* Encoders append to the writer, whose sticky error tells. */
void sti_hello_encode(const sti_hello *hello, sti_writer *w);
void sti_welcome_encode(const sti_welcome *welcome, sti_writer *w);
void sti_reject_encode(const sti_reject *reject, sti_writer *w);

/* Decoders return STRADS_EPEER for a payload that is short, too long, or over
 * a limit above; *out is written only on success. `bytes` 8-byte aligned. */
strads_err sti_hello_decode(const void *bytes, uint64_t size, sti_hello *out);
strads_err sti_reject_decode(const void *bytes, uint64_t size, sti_reject *out);

/* Also STRADS_ENOMEM; out->urls is then the caller's, freed by
 * sti_welcome_free (which takes a zeroed welcome, too). */
strads_err sti_welcome_decode(const void *bytes, uint64_t size,
                              sti_welcome *out);
void sti_welcome_free(sti_welcome *welcome);

/* Compares what `theirs` says with what this node is: protocol, version, kernel
 * level, in this order. STRADS_EMISMATCH: the sentence names the first
 * difference and both values. */
strads_err sti_hello_check(const sti_hello *mine, const sti_hello *theirs);

#endif
