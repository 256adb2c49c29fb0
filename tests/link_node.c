/* See link_node.h. A failure here ends the process, which fails Criterion tests
 * and tests with their own main. */
#include "link_node.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "link_node: %s failed: %s\n", what, strads_error_text());
    abort();
}

static void reply(link_node *node, sti_link link, uint16_t kind)
{
    const sti_outgoing frame = {.header = {.kind = kind, .from = node->id}};
    (void)sti_net_send(node->net, link, &frame);
}

static void take_hello(link_node *node, sti_link link, uint32_t from)
{
    pthread_mutex_lock(&node->lock);
    node->hellos++;
    node->last_hello = link;
    if (from < LINK_NODES_MAX)
        node->links[from] = link;
    pthread_mutex_unlock(&node->lock);
    if (node->mute)
        return;
    (void)sti_net_bind(node->net, link, from);
    reply(node, link, STI_KIND_WELCOME);
}

/* Takes over the frame. */
static void take_data(link_node *node, sti_frame *frame)
{
    const uint32_t from = frame->header.from;
    pthread_mutex_lock(&node->lock);
    while (node->blocked)
        pthread_cond_wait(&node->event, &node->lock);
    if (node->in_turn && from < LINK_NODES_MAX &&
        frame->header.round != node->next_round[from]++)
        node->out_of_turn++;
    node->received++;
    node->bytes += frame->header.size;
    sti_frame_free(node->last);
    node->last = frame;
    pthread_mutex_unlock(&node->lock);
}

static void on_received(void *arg, sti_link link, sti_frame *frame)
{
    link_node *node = arg;
    const uint32_t from = frame->header.from;
    switch (frame->header.kind) {
    case STI_KIND_HELLO:
        take_hello(node, link, from);
        break;
    case STI_KIND_WELCOME:
        (void)sti_net_bind(node->net, link, from);
        pthread_mutex_lock(&node->lock);
        node->links[from] = link;
        pthread_mutex_unlock(&node->lock);
        break;
    case KIND_DATA:
        take_data(node, frame);
        frame = NULL;
        break;
    case KIND_ECHO:
        if (frame->header.tag == node->id) {
            pthread_mutex_lock(&node->lock);
            node->echoes++;
            pthread_mutex_unlock(&node->lock);
        } else {
            sti_outgoing back = {.header = frame->header};
            back.header.from = node->id;
            (void)sti_net_send(node->net, link, &back);
        }
        break;
    default:
        break;
    }
    pthread_mutex_lock(&node->lock);
    pthread_cond_broadcast(&node->event);
    pthread_mutex_unlock(&node->lock);
    sti_frame_free(frame);
}

static void on_lost(void *arg, sti_link link, strads_err why, const char *text)
{
    link_node *node = arg;
    (void)link;
    pthread_mutex_lock(&node->lock);
    node->lost++;
    node->why = why;
    (void)snprintf(node->text, sizeof node->text, "%s", text);
    pthread_cond_broadcast(&node->event);
    pthread_mutex_unlock(&node->lock);
}

static void on_stranger(void *arg, const char *text)
{
    link_node *node = arg;
    pthread_mutex_lock(&node->lock);
    node->strangers++;
    (void)snprintf(node->text, sizeof node->text, "%s", text);
    pthread_cond_broadcast(&node->event);
    pthread_mutex_unlock(&node->lock);
}

void link_node_open(link_node *node, uint32_t id, const char *url,
                    const sti_net_options *options)
{
    sti_net_options o = {0};
    memset(node, 0, sizeof *node);
    if (options != NULL)
        o = *options;
    o.listen_url = url;
    o.node = id;
    o.arg = node;
    o.events = (sti_net_events){.received = on_received,
                                .lost = on_lost,
                                .stranger = on_stranger};
    node->id = id;
    pthread_mutex_init(&node->lock, NULL);
    pthread_cond_init(&node->event, NULL);
    must(sti_net_open(&o, &node->net) == STRADS_OK, "opening a net");
}

strads_err link_node_close(link_node *node)
{
    return link_node_leave(node, UINT64_C(10000000000));
}

strads_err link_node_leave(link_node *node, uint64_t ns)
{
    strads_err err = sti_net_close(node->net, ns);
    sti_frame_free(node->last);
    pthread_cond_destroy(&node->event);
    pthread_mutex_destroy(&node->lock);
    node->net = NULL;
    node->last = NULL;
    return err;
}

sti_link link_node_join_url(link_node *node, const char *url, uint32_t peer)
{
    sti_link link = 0;
    must(sti_net_dial(node->net, url, UINT64_C(10000000000), &link) ==
             STRADS_OK,
         "dialling");
    reply(node, link, STI_KIND_HELLO);
    pthread_mutex_lock(&node->lock);
    while (node->links[peer] != link && node->lost == 0)
        pthread_cond_wait(&node->event, &node->lock);
    pthread_mutex_unlock(&node->lock);
    return link;
}

sti_link link_node_join(link_node *node, link_node *other)
{
    return link_node_join_url(node, sti_net_url(other->net), other->id);
}

strads_err link_node_send(link_node *node, sti_link link, uint64_t round,
                          uint64_t size)
{
    unsigned char *bytes = calloc(1, size > 0 ? (size_t)size : 1);
    must(bytes != NULL, "memory");
    const sti_outgoing frame = {.header = {.kind = KIND_DATA,
                                           .from = node->id,
                                           .round = round},
                                .parts = {{bytes, size}},
                                .part_count = 1};
    strads_err err = sti_net_send(node->net, link, &frame);
    free(bytes);
    return err;
}

void link_node_block(link_node *node, bool blocked)
{
    pthread_mutex_lock(&node->lock);
    node->blocked = blocked;
    pthread_cond_broadcast(&node->event);
    pthread_mutex_unlock(&node->lock);
}

void link_node_expect_alive(link_node *node, sti_link link)
{
    const sti_outgoing frame = {
        .header = {.kind = KIND_ECHO, .from = node->id, .tag = node->id}};
    pthread_mutex_lock(&node->lock);
    uint64_t before = node->echoes;
    pthread_mutex_unlock(&node->lock);
    must(sti_net_send(node->net, link, &frame) == STRADS_OK, "an echo");
    link_node_wait(node, &node->echoes, before + 1);
}

enum { FRAMES_EACH_WAY = 400 };

typedef struct frame_sender {
    link_node *from;
    sti_link link;
} frame_sender;

static void *send_many_frames(void *arg)
{
    const frame_sender *s = arg;
    for (uint64_t k = 0; k < FRAMES_EACH_WAY; k++)
        must(link_node_send(s->from, s->link, k, k % 7 * 50000) == STRADS_OK,
             "one of many frames");
    return NULL;
}

void link_node_expect_both_ways(link_node *a, link_node *b, sti_link link)
{
    frame_sender there = {b, link}, back = {a, a->links[b->id]};
    pthread_t threads[2];
    a->in_turn = b->in_turn = true;
    must(pthread_create(&threads[0], NULL, send_many_frames, &there) == 0 &&
             pthread_create(&threads[1], NULL, send_many_frames, &back) == 0,
         "a thread");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    link_node_wait(a, &a->received, FRAMES_EACH_WAY);
    link_node_wait(b, &b->received, FRAMES_EACH_WAY);
    must(a->out_of_turn + b->out_of_turn == 0, "the order of frames");
}

void link_node_wait(link_node *node, const uint64_t *counter, uint64_t wanted)
{
    pthread_mutex_lock(&node->lock);
    while (*counter < wanted)
        pthread_cond_wait(&node->event, &node->lock);
    pthread_mutex_unlock(&node->lock);
}

static void wait_unsigned(link_node *node, const unsigned *counter,
                          unsigned wanted)
{
    pthread_mutex_lock(&node->lock);
    while (*counter < wanted)
        pthread_cond_wait(&node->event, &node->lock);
    pthread_mutex_unlock(&node->lock);
}

void link_node_wait_lost(link_node *node, unsigned wanted)
{
    wait_unsigned(node, &node->lost, wanted);
}

void link_node_wait_strangers(link_node *node, unsigned wanted)
{
    wait_unsigned(node, &node->strangers, wanted);
}

void link_node_expect_said(link_node *node, const char *word)
{
    pthread_mutex_lock(&node->lock);
    if (!strstr(node->text, word)) {
        (void)fprintf(stderr, "\"%s\" is not in \"%s\"\n", word, node->text);
        must(false, "a sentence");
    }
    pthread_mutex_unlock(&node->lock);
}

/* ---- a separate process ---- */

static void be_far(int url_fd, void (*act)(link_node *child, sti_link link))
{
    static link_node child;
    char url[STI_URL_MAX + 1] = "";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        read(url_fd, url, sizeof url) <= 0)
        _exit(1);
    link_node_open(&child, 1, "", NULL);
    act(&child, link_node_join_url(&child, url, 0));
    _exit(link_node_close(&child) != STRADS_OK);
}

link_far link_node_fork(void (*act)(link_node *child, sti_link link))
{
    int url[2];
    must(pipe(url) == 0, "a pipe");
    const pid_t process = fork();
    must(process >= 0, "forking");
    if (process == 0)
        be_far(url[0], act);
    (void)close(url[0]);
    return (link_far){.process = process, .url = url[1]};
}

void link_node_tell(const link_far *far, const link_node *node)
{
    const char *url = sti_net_url(node->net);
    must(write(far->url, url, strlen(url) + 1) > 0, "telling a URL");
    (void)close(far->url);
}

bool link_node_ended_well(const link_far *far)
{
    int status;
    return waitpid(far->process, &status, 0) == far->process && status == 0;
}

/* ---- raw sockets ---- */

static int connect_ipc(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0,
         "connecting");
    return fd;
}

/* Number of the next frame of each connection, by descriptor. */
enum { RAW_MAX = 1024 };
static uint32_t raw_frames[RAW_MAX];

static int connect_raw(const char *url)
{
    if (strncmp(url, "ipc://", 6) == 0)
        return connect_ipc(url + 6);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port =
                                 htons((uint16_t)atoi(strrchr(url, ':') + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0,
         "connecting");
    return fd;
}

int raw_connect(const char *url)
{
    const int fd = connect_raw(url);
    must(fd < RAW_MAX, "few files");
    raw_frames[fd] = 0;
    return fd;
}

void raw_write(int fd, const void *bytes, size_t count)
{
    for (const char *at = bytes; count > 0;) {
        ssize_t n = send(fd, at, count, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        at += n;
        count -= (size_t)n;
    }
}

void raw_wait_frame(int fd)
{
    char bytes[STI_HEADER_BYTES];
    for (size_t n = 0; n < sizeof bytes;) {
        ssize_t got = read(fd, bytes + n, sizeof bytes - n);
        must(got > 0, "reading a frame");
        n += (size_t)got;
    }
}

void raw_frame(int fd, const sti_header *header, const void *payload)
{
    unsigned char bytes[STI_HEADER_BYTES];
    sti_header numbered = *header;
    numbered.number = raw_frames[fd]++;
    sti_frame_encode_header(&numbered, bytes);
    raw_write(fd, bytes, sizeof bytes);
    if (payload != NULL)
        raw_write(fd, payload, (size_t)header->size);
}

void raw_wait_closed(int fd)
{
    char bytes[256];
    while (read(fd, bytes, sizeof bytes) > 0)
        continue;
    close(fd);
}

sti_header raw_header(uint16_t kind, uint32_t from, uint64_t size)
{
    return (sti_header){.kind = kind, .from = from, .size = size};
}
