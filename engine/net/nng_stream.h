/* engine/net/nng_stream.h - dials ws:// and wss:// through nng. */
#ifndef STI_NNG_STREAM_H
#define STI_NNG_STREAM_H

#include "engine/net/stream.h"

/* Connects to a WebSocket within `ms`, and makes a stream of it. Over wss://
 * the certificate of the other end, a proxy, must be valid for its host by the
 * system's authorities ($SSL_CERT_FILE, or the file of the distribution). 0 and
 * STRADS_OK on success. *error: a value of errno if the other end cannot be
 * reached now: ECONNREFUSED, ETIMEDOUT, EPROTO (it answers without a
 * WebSocket), ..., and the result is STRADS_EIO. Otherwise 0, and the result
 * has a sentence: STRADS_EINVAL: this build or system has no nng, or no
 * authorities. STRADS_EMISMATCH: the certificate is not accepted.
 * STRADS_ESTATE: forked (sti_nng_load). STRADS_ENOMEM. Blocks. */
strads_err sti_nng_dial(const sti_url *url, unsigned ms, int *error,
                        sti_stream **out);

#endif
