/* engine/net/nng_library.h - libnng.so.1, loaded when it is first needed, so
 * that the library and the command run without it. For the files that use nng:
 * nng_stream.c and engine/watch/publish.c; engine/run/self_check.c reports it.
 * A build without its headers has no STRADS_NNG. */
#ifndef STI_NNG_LIBRARY_H
#define STI_NNG_LIBRARY_H

#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/supplemental/tls/tls.h>

#include "strads/error.h"

/* The functions that are used, by their names in nng. */
#define STI_NNG_CALLS(X)          \
    X(nng_aio_alloc)              \
    X(nng_aio_cancel)             \
    X(nng_aio_count)              \
    X(nng_aio_free)               \
    X(nng_aio_get_output)         \
    X(nng_aio_result)             \
    X(nng_aio_set_iov)            \
    X(nng_aio_wait)               \
    X(nng_close)                  \
    X(nng_listener_create)        \
    X(nng_listener_set_int)       \
    X(nng_listener_start)         \
    X(nng_pipe_close)             \
    X(nng_pipe_notify)            \
    X(nng_pub0_open)              \
    X(nng_send)                   \
    X(nng_socket_set_int)         \
    X(nng_stream_close)           \
    X(nng_stream_dialer_alloc)    \
    X(nng_stream_dialer_dial)     \
    X(nng_stream_dialer_free)     \
    X(nng_stream_dialer_set_bool) \
    X(nng_stream_dialer_set_ptr)  \
    X(nng_stream_free)            \
    X(nng_stream_get_addr)        \
    X(nng_stream_get_bool)        \
    X(nng_stream_recv)            \
    X(nng_stream_send)            \
    X(nng_strerror)               \
    X(nng_tls_config_alloc)       \
    X(nng_tls_config_auth_mode)   \
    X(nng_tls_config_ca_file)     \
    X(nng_tls_config_free)        \
    X(nng_tls_config_server_name) \
    X(nng_version)

#define STI_NNG_MEMBER(name) __typeof__(name) *name;
typedef struct sti_nng {
    STI_NNG_CALLS(STI_NNG_MEMBER)
} sti_nng;

/* Loads nng once. STRADS_EINVAL: it is not installed, or another version.
 * STRADS_ESTATE: the process that loaded it has forked this one; nng would
 * abort it. Any thread. */
strads_err sti_nng_load(const sti_nng **out);

#endif
