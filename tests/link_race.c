/* Races of the links, for ThreadSanitizer: many threads send on, part with,
 * drop and attack the links of several nets in one process, and shut the nets
 * down. Counts the frames that must arrive. The timeout of ctest catches a
 * hang. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link_node.h"

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "link_race: %s: %s\n", what, strads_error_text());
    exit(1);
}

/* ---- many threads send on the links of a mesh, then all close at once ---- */

enum { NODES = 4, SENDERS = 2, FRAMES = 300 };

typedef struct sender {
    link_node *node;
    pthread_t thread;
} sender;

static void *send_to_all(void *arg)
{
    const sender *s = arg;
    for (uint64_t i = 0; i < FRAMES; i++)
        for (uint32_t k = 0; k < NODES; k++)
            if (k != s->node->id)
                must(link_node_send(s->node, s->node->links[k], i,
                                    i % 5 * 9000) == STRADS_OK,
                     "sending");
    return NULL;
}

static void *close_node(void *arg)
{
    sender *s = arg;
    must(link_node_close(s->node) == STRADS_OK, "closing");
    return NULL;
}

static void race_in_a_mesh(void)
{
    static link_node node[NODES];
    sender senders[NODES][SENDERS];
    for (uint32_t i = 0; i < NODES; i++)
        link_node_open(&node[i], i, NULL, NULL);
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t k = 0; k < i; k++)
            (void)link_node_join(&node[i], &node[k]);
    for (uint32_t i = 0; i < NODES; i++)
        link_node_wait(&node[i], &node[i].hellos, NODES - 1 - i);
    for (int i = 0; i < NODES * SENDERS; i++) {
        sender *s = &senders[i / SENDERS][i % SENDERS];
        s->node = &node[i / SENDERS];
        pthread_create(&s->thread, NULL, send_to_all, s);
    }
    for (int i = 0; i < NODES * SENDERS; i++)
        pthread_join(senders[i / SENDERS][i % SENDERS].thread, NULL);
    for (int i = 0; i < NODES; i++)
        pthread_create(&senders[i][0].thread, NULL, close_node, senders[i]);
    for (int i = 0; i < NODES; i++)
        pthread_join(senders[i][0].thread, NULL);
    for (int i = 0; i < NODES; i++)
        must(node[i].received == FRAMES * SENDERS * (NODES - 1), "counting");
}

/* ---- links come and go while others use them ---- */

enum { VISITS = 60 };

static link_node host;
static atomic_bool over;

static void *visit(void *arg)
{
    const uint32_t id = (uint32_t)(uintptr_t)arg;
    for (int i = 0; i < VISITS; i++) {
        link_node guest;
        link_node_open(&guest, id, "", NULL);
        sti_link link = link_node_join(&guest, &host);
        (void)link_node_send(&guest, link, 0, 20000);
        (void)link_node_send(&guest, link, 1, 10);
        if (i % 3 == 0)
            sti_net_drop(guest.net, link, "enough");
        else if (i % 3 == 1)
            sti_net_part(guest.net, link);
        (void)link_node_close(&guest);
    }
    return NULL;
}

/* Uses links that may have ended: calls that come too late must do no harm. */
static void *meddle(void *arg)
{
    link_node *node = arg;
    sti_net_counts counts;
    for (unsigned i = 0; !atomic_load(&over); i++) {
        pthread_mutex_lock(&node->lock);
        sti_link link = node->last_hello;
        pthread_mutex_unlock(&node->lock);
        (void)link_node_send(node, link, 0, i % 2 * 9000);
        if (i % 64 == 0)
            sti_net_part(node->net, link);
        if (i % 128 == 1)
            sti_net_drop(node->net, link, "meddled with");
        sti_net_count(node->net, &counts);
        (void)usleep(200);
    }
    return NULL;
}

static void *attack(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        int fd = raw_connect(sti_net_url(host.net));
        raw_write(fd,
                  "nonsense, and enough of it to fill a whole header: "
                  "sixty-four bytes and some",
                  75);
        raw_wait_closed(fd);
    }
    return NULL;
}

static void race_of_visitors(void)
{
    const sti_net_options options = {.heartbeat_ns = 4000000,
                                     .dead_ns = UINT64_C(20000000000),
                                     .hello_ns = UINT64_C(1000000000)};
    pthread_t guests[2], others[2];
    link_node_open(&host, 0, NULL, &options);
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&guests[i], NULL, visit, (void *)(i + 1));
    pthread_create(&others[0], NULL, meddle, &host);
    pthread_create(&others[1], NULL, attack, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(guests[i], NULL);
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(others[i], NULL);
    (void)link_node_close(&host);
}

/* ---- nets that close while they are dialled ---- */

static void race_of_closing(void)
{
    for (int i = 0; i < 30; i++) {
        link_node a, b;
        sti_link link = 0;
        link_node_open(&a, 0, NULL, NULL);
        link_node_open(&b, 1, "", NULL);
        int fd = raw_connect(sti_net_url(a.net));
        if (sti_net_dial(b.net, sti_net_url(a.net), 1000000000, &link) ==
            STRADS_OK)
            (void)link_node_send(&b, link, 0, 0);
        (void)link_node_close(&a);
        (void)link_node_close(&b);
        raw_wait_closed(fd);
    }
}

int main(void)
{
    race_in_a_mesh();
    race_of_visitors();
    race_of_closing();
    puts("link_race: done");
    return 0;
}
