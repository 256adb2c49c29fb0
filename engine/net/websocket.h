/* engine/net/websocket.h - the accepting end of WebSocket (RFC 6455, version
 * 13) as a stream: bytes in binary frames. A proxy that speaks HTTP can pass
 * them on. It answers requests of one path and of limited size. A stranger
 * costs a descriptor and 32 KB, and link.c bounds their number. */
#ifndef STI_WEBSOCKET_H
#define STI_WEBSOCKET_H

#include "engine/net/stream.h"

/* Makes a stream of an accepted socket, which it owns, also on failure. `open`
 * answers the request. `path` begins with '/', and is copied. STRADS_ENOMEM. */
strads_err sti_websocket_accept(int fd, const char *path, sti_stream **out);

#endif
