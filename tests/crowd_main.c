/* crowd PORT COUNT: COUNT connections of strangers to tcp://127.0.0.1:PORT,
 * some hundred at a time. They are idle or slow, send garbage, a HELLO without
 * a token or a proof without a nonce, or return a nonce. Prints the number of
 * connections and how many of them were admitted. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/net/frame.h"
#include "engine/net/secret.h"

enum { OPEN_AT_ONCE = 300, KINDS = 6 };

static unsigned let_in;

/* Returns the kind of the frame that the node sends within `ms`, or 0. */
static unsigned hear(int fd, int ms, unsigned char *payload, size_t size)
{
    unsigned char bytes[STI_HEADER_BYTES + 512];
    struct pollfd at = {.fd = fd, .events = POLLIN};
    sti_header header;
    if (poll(&at, 1, ms) != 1)
        return 0;
    const ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < STI_HEADER_BYTES ||
        sti_frame_decode_header(bytes, 512, &header) != STRADS_OK)
        return 0;
    if (header.kind == STI_KIND_GRANT || header.kind == STI_KIND_WELCOME)
        let_in++;
    if ((size_t)n >= STI_HEADER_BYTES + size)
        memcpy(payload, bytes + STI_HEADER_BYTES, size);
    return header.kind;
}

static void say(int fd, uint16_t kind, const void *payload, size_t size)
{
    unsigned char bytes[STI_HEADER_BYTES + 64] = {0};
    const sti_part all = {payload, size};
    const sti_header header = {.kind = kind,
                               .size = size,
                               .checksum = sti_frame_checksum(&all, 1)};
    sti_frame_encode_header(&header, bytes);
    memcpy(bytes + STI_HEADER_BYTES, payload, size);
    (void)send(fd, bytes, STI_HEADER_BYTES + size, MSG_NOSIGNAL);
}

static void act(int fd, unsigned number)
{
    static unsigned char said[STI_NONCE_BYTES]; /* the node's last nonce */
    unsigned char bytes[200], nonce[STI_NONCE_BYTES] = {0};
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (unsigned char)rand();
    switch (number % KINDS) {
    case 0: /* idle */
        break;
    case 1: /* slow: a header's first bytes */
        (void)send(fd, "STRD", number % 5, MSG_NOSIGNAL);
        break;
    case 2:
        (void)send(fd, bytes, number % sizeof bytes, MSG_NOSIGNAL);
        break;
    case 3:
        say(fd, STI_KIND_HELLO, bytes, 64);
        break;
    case 4: /* garbage as a proof */
        say(fd, STI_KIND_KNOCK, nonce, sizeof nonce);
        say(fd, STI_KIND_PROOF, bytes, STI_PROOF_BYTES);
        break;
    default: /* returns the node's nonce */
        say(fd, STI_KIND_KNOCK, said, sizeof said);
        if (hear(fd, 20, said, sizeof said) == STI_KIND_CHALLENGE)
            say(fd, STI_KIND_PROOF, said, sizeof said);
        (void)hear(fd, 0, nonce, sizeof nonce);
    }
}

int main(int argc, char **argv)
{
    static int open_now[OPEN_AT_ONCE];
    unsigned char scrap[STI_NONCE_BYTES];
    const unsigned count = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    unsigned came = 0;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (count == 0) {
        (void)fprintf(stderr, "crowd PORT COUNT\n");
        return 2;
    }
    at.sin_port = htons((uint16_t)atoi(argv[1]));
    for (unsigned k = 0; k < count; k++) {
        int *fd = &open_now[k % OPEN_AT_ONCE];
        if (k >= OPEN_AT_ONCE) {
            (void)hear(*fd, 0, scrap, sizeof scrap);
            (void)close(*fd);
        }
        *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(*fd, (const void *)&at, sizeof at) == 0) {
            came++;
            act(*fd, k);
        }
    }
    (void)printf("%u came, %u were let in\n", came, let_in);
    return 0;
}
