/* See relay.h. */
#include "tests/relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/net/frame.h"

enum { PAIRS_MAX = 64, ROOM = 1 << 16 };

/* One direction: bytes that were read and not yet written. */
typedef struct flow {
    unsigned char bytes[ROOM];
    size_t begin, end;
    /* For losing frames: */
    uint64_t rest; /* remaining bytes of the current frame */
    unsigned char head[STI_HEADER_BYTES]; /* [n_head] bytes of the next
                                           * header */
    size_t n_head;
} flow;

typedef struct pair {
    int fd[2];     /* the connecting side, the target; -1: no pair */
    flow out[2];   /* out[k] goes to fd[k] */
    uint64_t left; /* bytes until the cut; 0: no cut */
} pair;

struct relay {
    char url[64];
    struct sockaddr_in target;
    int door, wake[2];
    pthread_t thread;
    pair *pairs;          /* [PAIRS_MAX]; relay thread only */
    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t moved;
    bool stops, holds, cut_now;
    bool flips; /* flip a bit instead of cutting */
    bool drops; /* .. or drop some bytes */
    bool loses; /* .. or lose a frame */
    uint64_t seed, mean;
    unsigned times, come, cuts;
};

static bool read_address(const char *url, struct sockaddr_in *out)
{
    unsigned port;
    char end;
    if (sscanf(url, "tcp://127.0.0.1:%u%c", &port, &end) != 1)
        return false;
    *out = (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return true;
}

static void stir(relay *r)
{
    while (write(r->wake[1], "", 1) < 0)
        continue;
}

/* ---- cutting ----------------------------------------------------------- */

/* Draws the bytes until the next cut; 0: never. With the lock held. */
static uint64_t draw(relay *r)
{
    if (r->times == 0)
        return 0;
    r->times--;
    r->seed = r->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return 1 + (r->seed >> 33) % (2 * r->mean);
}

static void end_pair(pair *p, bool reset)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    for (int k = 0; k < 2; k++) {
        if (reset)
            (void)setsockopt(p->fd[k], SOL_SOCKET, SO_LINGER, &at_once,
                             sizeof at_once);
        close(p->fd[k]);
        p->fd[k] = -1;
    }
}

static void cut(relay *r, pair *p)
{
    pthread_mutex_lock(&r->lock);
    unsigned n = r->cuts++;
    pthread_mutex_unlock(&r->lock);
    end_pair(p, n % 2 == 0);
    pthread_mutex_lock(&r->lock);
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* Flips a bit of the received bytes at the position of the cut. */
static void flip(relay *r, pair *p, unsigned char *bytes, uint64_t n)
{
    pthread_mutex_lock(&r->lock);
    while (p->left && p->left <= n) {
        const uint64_t next = draw(r);
        bytes[p->left - 1] ^= (unsigned char)(1u << r->cuts++ % 8);
        p->left = next ? p->left + next : 0;
    }
    p->left -= p->left ? n : 0;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* Drops some of the received bytes at the position of the cut. */
static void drop(relay *r, pair *p, flow *f)
{
    enum { HOLE = 700 };
    const uint64_t n = f->end;
    pthread_mutex_lock(&r->lock);
    if (p->left && p->left <= n) {
        const size_t at = (size_t)p->left - 1;
        const size_t hole = n - at < HOLE ? n - at : HOLE;
        memmove(f->bytes + at, f->bytes + at + hole, n - at - hole);
        f->end -= hole;
        r->cuts++;
        p->left = draw(r);
    } else {
        p->left -= p->left ? n : 0;
    }
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* Drops one complete frame at the position of the cut. */
static void lose(relay *r, pair *p, flow *f)
{
    size_t at = f->rest < f->end ? (size_t)f->rest : f->end;
    f->rest -= at;
    pthread_mutex_lock(&r->lock);
    while (f->end - at >= STI_HEADER_BYTES) {
        sti_header header;
        memcpy(&header, f->bytes + at, sizeof header);
        const uint64_t size = STI_HEADER_BYTES + header.size;
        const size_t here = size < f->end - at ? (size_t)size : f->end - at;
        const bool due = p->left && p->left <= size;
        if (due && size == here && header.kind >= STI_KIND_FIRST_MESSAGE) {
            memmove(f->bytes + at, f->bytes + at + here, f->end - at - here);
            f->end -= here;
            r->cuts++;
            p->left = draw(r);
            continue;
        }
        p->left = due ? 1 : p->left - (p->left ? size : 0);
        f->rest = size - here;
        at += here;
    }
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
    f->n_head = f->end - at;
    memcpy(f->head, f->bytes + at, f->n_head);
    f->end = at;
}

/* ---- moving bytes ------------------------------------------------------ */

static void make_pair(relay *r)
{
    int fd = accept(r->door, NULL, NULL);
    int other = socket(AF_INET, SOCK_STREAM, 0);
    pair *p = r->pairs;
    while (p < r->pairs + PAIRS_MAX && p->fd[0] >= 0)
        p++;
    bool fits =
        fd >= 0 && other >= 0 && p < r->pairs + PAIRS_MAX &&
        connect(other, (struct sockaddr *)&r->target, sizeof r->target) == 0;
    if (!fits) {
        close(fd);
        close(other);
        return;
    }
    for (int k = 0; k < 2; k++) {
        p->fd[k] = k ? other : fd;
        p->out[k].begin = p->out[k].end = 0;
        p->out[k].rest = p->out[k].n_head = 0;
        (void)fcntl(p->fd[k], F_SETFL, O_NONBLOCK);
        (void)setsockopt(p->fd[k], IPPROTO_TCP, TCP_NODELAY, &(int){1},
                         sizeof(int));
    }
    pthread_mutex_lock(&r->lock);
    p->left = draw(r);
    r->come++;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* Moves bytes from fd[1 - k] to fd[k]; false: the pair has ended. */
static bool move(relay *r, pair *p, int k)
{
    flow *f = &p->out[k];
    pthread_mutex_lock(&r->lock);
    const bool flips = r->flips, drops = r->drops, loses = r->loses;
    pthread_mutex_unlock(&r->lock);
    if (f->begin == f->end) {
        memcpy(f->bytes, f->head, f->n_head);
        ssize_t n = read(p->fd[1 - k], f->bytes + f->n_head, ROOM - f->n_head);
        if (n <= 0)
            return n < 0;
        f->begin = 0;
        f->end = f->n_head + (size_t)n;
        if (loses)
            lose(r, p, f);
        else if (drops)
            drop(r, p, f);
        else if (flips)
            flip(r, p, f->bytes, (uint64_t)n);
        if (f->begin == f->end)
            return true;
    }
    const bool cuts = p->left && !flips && !drops && !loses;
    size_t most = f->end - f->begin;
    if (cuts && most > p->left)
        most = (size_t)p->left;
    ssize_t n = send(p->fd[k], f->bytes + f->begin, most, MSG_NOSIGNAL);
    if (n < 0)
        return true;
    f->begin += (size_t)n;
    if (cuts && (p->left -= (uint64_t)n) == 0)
        cut(r, p);
    return true;
}

static void serve(relay *r, pair *p, const struct pollfd *at)
{
    for (int k = 0; k < 2 && p->fd[0] >= 0; k++) {
        const bool held = p->out[k].begin != p->out[k].end;
        const short ready = held ? at[k].revents : at[1 - k].revents;
        if (ready && !move(r, p, k))
            end_pair(p, false);
    }
}

/* Sets the events that a pair waits for: bytes to read, or space to write
 * those that it has. */
static void ask(const pair *p, struct pollfd *at)
{
    for (int k = 0; k < 2; k++) {
        at[k] = (struct pollfd){.fd = p->fd[k]};
        if (p->out[k].begin != p->out[k].end)
            at[k].events |= POLLOUT;
    }
    for (int k = 0; k < 2; k++)
        if (p->out[k].begin == p->out[k].end)
            at[1 - k].events |= POLLIN;
}

static bool take_orders(relay *r, bool *holds)
{
    char spent[64];
    (void)!read(r->wake[0], spent, sizeof spent);
    pthread_mutex_lock(&r->lock);
    bool stops = r->stops, cut_now = r->cut_now;
    *holds = r->holds;
    r->cut_now = false;
    pthread_mutex_unlock(&r->lock);
    for (int k = 0; cut_now && k < PAIRS_MAX; k++)
        if (r->pairs[k].fd[0] >= 0)
            cut(r, &r->pairs[k]);
    return !stops;
}

static void *run(void *arg)
{
    relay *r = arg;
    struct pollfd at[2 + 2 * PAIRS_MAX];
    bool holds = false;
    for (;;) {
        at[0] = (struct pollfd){.fd = r->wake[0], .events = POLLIN};
        at[1] = (struct pollfd){.fd = r->door, .events = POLLIN};
        for (int k = 0; k < PAIRS_MAX; k++) {
            ask(&r->pairs[k], &at[2 + 2 * k]);
            if (holds)
                at[2 + 2 * k].fd = at[3 + 2 * k].fd = -1;
        }
        (void)poll(at, 2 + 2 * PAIRS_MAX, -1);
        for (int k = 0; k < PAIRS_MAX; k++)
            if (r->pairs[k].fd[0] >= 0 && !holds)
                serve(r, &r->pairs[k], &at[2 + 2 * k]);
        if (at[1].revents)
            make_pair(r);
        if (at[0].revents && !take_orders(r, &holds))
            break;
    }
    for (int k = 0; k < PAIRS_MAX; k++)
        if (r->pairs[k].fd[0] >= 0)
            end_pair(&r->pairs[k], true);
    return NULL;
}

/* ---- opening and closing ----------------------------------------------- */

static bool open_door(relay *r)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    r->door = socket(AF_INET, SOCK_STREAM, 0);
    if (r->door < 0 || bind(r->door, (struct sockaddr *)&a, size) ||
        listen(r->door, 64) || pipe(r->wake) ||
        getsockname(r->door, (struct sockaddr *)&a, &size))
        return false;
    (void)fcntl(r->wake[0], F_SETFL, O_NONBLOCK);
    (void)snprintf(r->url, sizeof r->url, "tcp://127.0.0.1:%u",
                   (unsigned)ntohs(a.sin_port));
    return true;
}

relay *relay_open(const char *target)
{
    relay *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->pairs = calloc(PAIRS_MAX, sizeof *r->pairs);
    for (int k = 0; r->pairs && k < PAIRS_MAX; k++)
        r->pairs[k].fd[0] = r->pairs[k].fd[1] = -1;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->moved, NULL);
    if (r->pairs && read_address(target, &r->target) && open_door(r) &&
        pthread_create(&r->thread, NULL, run, r) == 0)
        return r;
    free(r->pairs);
    free(r);
    return NULL;
}

void relay_close(relay *r)
{
    pthread_mutex_lock(&r->lock);
    r->stops = true;
    pthread_mutex_unlock(&r->lock);
    stir(r);
    pthread_join(r->thread, NULL);
    close(r->door);
    close(r->wake[0]);
    close(r->wake[1]);
    pthread_cond_destroy(&r->moved);
    pthread_mutex_destroy(&r->lock);
    free(r->pairs);
    free(r);
}

const char *relay_url(const relay *r)
{
    return r->url;
}

/* ---- requests of the test ------------------------------------------------ */

void relay_cut(relay *r)
{
    pthread_mutex_lock(&r->lock);
    r->cut_now = true;
    pthread_mutex_unlock(&r->lock);
    stir(r);
}

void relay_cut_often(relay *r, uint64_t seed, uint64_t mean, unsigned times)
{
    pthread_mutex_lock(&r->lock);
    r->seed = seed;
    r->mean = mean;
    r->times = times;
    pthread_mutex_unlock(&r->lock);
}

void relay_flip_often(relay *r, uint64_t seed, uint64_t mean, unsigned times)
{
    pthread_mutex_lock(&r->lock);
    r->flips = true;
    pthread_mutex_unlock(&r->lock);
    relay_cut_often(r, seed, mean, times);
}

void relay_drop_often(relay *r, uint64_t seed, uint64_t mean, unsigned times)
{
    pthread_mutex_lock(&r->lock);
    r->drops = true;
    pthread_mutex_unlock(&r->lock);
    relay_cut_often(r, seed, mean, times);
}

void relay_lose_often(relay *r, uint64_t seed, uint64_t mean, unsigned times)
{
    pthread_mutex_lock(&r->lock);
    r->loses = true;
    pthread_mutex_unlock(&r->lock);
    relay_cut_often(r, seed, mean, times);
}

void relay_hold(relay *r, bool hold)
{
    pthread_mutex_lock(&r->lock);
    r->holds = hold;
    pthread_mutex_unlock(&r->lock);
    stir(r);
}

static void wait_for(relay *r, const unsigned *count, unsigned n)
{
    pthread_mutex_lock(&r->lock);
    while (*count < n)
        pthread_cond_wait(&r->moved, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

void relay_wait_come(relay *r, unsigned n)
{
    wait_for(r, &r->come, n);
}

void relay_wait_cuts(relay *r, unsigned n)
{
    wait_for(r, &r->cuts, n);
}

unsigned relay_cuts(relay *r)
{
    pthread_mutex_lock(&r->lock);
    unsigned n = r->cuts;
    pthread_mutex_unlock(&r->lock);
    return n;
}
