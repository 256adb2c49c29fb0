/* Peers that break the rules, die or fall silent: each loses its own link with
 * a sentence that gives the reason. All other links continue. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/net/link_state.h"
#include "link_node.h"
#include "tests/expect.h"

/* A node under attack, and a friend; their link must survive. */
static link_node victim, friend;
static sti_link friends_link;

static void open_both(const sti_net_options *options)
{
    link_node_open(&victim, 0, NULL, options);
    link_node_open(&friend, 1, "", NULL);
    friends_link = link_node_join(&friend, &victim);
}

static void close_both(void)
{
    link_node_expect_alive(&friend, friends_link);
    cr_expect_eq(friend.lost, 0, "%s", friend.text);
    cr_expect_eq(link_node_close(&friend), STRADS_OK);
    cr_expect_eq(link_node_close(&victim), STRADS_OK);
}

TestSuite(link_breach, .timeout = 60);

/* The first bytes of a stranger: `text`, or a frame with a payload of zeros in
 * which the byte at `at` is replaced. */
typedef struct first_words {
    const char *text;
    sti_header header;
    int at, byte;
    const char *word; /* expected in the victim's sentence */
} first_words;

static void speak_first(int fd, const first_words *s)
{
    unsigned char bytes[STI_HEADER_BYTES + 8] = {0};
    const uint64_t more = s->header.size <= 8 ? s->header.size : 0;
    const sti_part payload = {bytes + STI_HEADER_BYTES, more};
    sti_header header = s->header;
    if (s->text) {
        raw_write(fd, s->text, strlen(s->text));
        return;
    }
    header.checksum = more ? sti_frame_checksum(&payload, 1) : 0;
    sti_frame_encode_header(&header, bytes);
    if (s->at > 0)
        bytes[s->at] = (unsigned char)s->byte;
    raw_write(fd, bytes, STI_HEADER_BYTES + more);
}

Test(link_breach, a_stranger_that_sends_no_hello_is_dropped)
{
    static const first_words strangers[] = {
        {.text = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: "
                 "somebody\r\n\r\n........",
         .word = "not a strads node"},
        {.text = "hello?", .word = "no complete HELLO"}, /* after hello_ns */
        {.text = "", .word = "no complete HELLO"},
        {.header = {.kind = STI_KIND_HELLO,
                    .from = 5,
                    .size = (uint64_t)STI_HELLO_LIMIT + 1},
         .word = "65537 bytes"}, /* immediately */
        {.header = {.kind = KIND_DATA, .from = 1}, .word = "before its HELLO"},
        {.header = {.kind = STI_KIND_HELLO, .from = 5},
         .at = 4,
         .byte = 99,
         .word = "protocol 99"},
        {.header = {.kind = STI_KIND_HELLO, .from = 5, .size = 8},
         .at = STI_HEADER_BYTES + 3,
         .byte = 1,
         .word = "damaged"}};
    for (size_t k = 0; k < sizeof strangers / sizeof *strangers; k++) {
        const char *text = strangers[k].text;
        const sti_net_options soon = {.hello_ns = 500000000};
        open_both(text && strlen(text) < STI_HEADER_BYTES ? &soon : NULL);
        int fd = raw_connect(sti_net_url(victim.net));
        speak_first(fd, &strangers[k]);
        raw_wait_closed(fd);
        link_node_wait_strangers(&victim, 1);
        link_node_expect_said(&victim, strangers[k].word);
        link_node_expect_said(&victim, "127.0.0.1:");
        close_both();
    }
}

Test(link_breach, half_a_frame_and_a_closed_connection_are_dropped)
{
    const sti_header header = raw_header(STI_KIND_HELLO, 5, 1000);
    open_both(NULL);
    int fd = raw_connect(sti_net_url(victim.net));
    raw_frame(fd, &header, NULL);
    raw_write(fd, "only this", 9);
    close(fd);
    link_node_wait_strangers(&victim, 1);
    link_node_expect_said(&victim, "in the middle of a frame");
    close_both();
}

Test(link_breach, half_a_header_over_ipc_does_not_end_the_listener)
{
    char folder[] = "/tmp/strads-link-XXXXXX", url[64];
    unsigned char bytes[STI_HEADER_BYTES];
    sti_header header = raw_header(STI_KIND_HELLO, 5, 0);
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(url, sizeof url, "ipc://%s/node", folder);
    sti_frame_encode_header(&header, bytes);
    link_node_open(&victim, 0, url, NULL);
    for (unsigned i = 1; i <= 20; i++) {
        int fd = raw_connect(url);
        raw_write(fd, bytes, 3 * i);
        close(fd);
        link_node_wait_strangers(&victim, i);
    }
    link_node_open(&friend, 1, "", NULL);
    friends_link = link_node_join(&friend, &victim);
    close_both();
    (void)unlink(url + 6);
    (void)rmdir(folder);
}

Test(link_breach, no_flipped_bit_of_a_stranger_harms_the_node)
{
    unsigned char bytes[STI_HEADER_BYTES + 100] = {0};
    sti_header header = raw_header(STI_KIND_HELLO, 5, 100);
    const sti_part payload = {bytes + STI_HEADER_BYTES, 100};
    header.checksum = sti_frame_checksum(&payload, 1);
    sti_frame_encode_header(&header, bytes);
    open_both(NULL);
    for (unsigned i = 0; i < 150; i++) {
        unsigned bit = i * 911 % (8 * sizeof bytes);
        int fd = raw_connect(sti_net_url(victim.net));
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        raw_write(fd, bytes, sizeof bytes);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        raw_wait_closed(fd);
        link_node_wait_strangers(&victim, i + 1);
    }
    cr_expect_eq(victim.hellos, 1, "only the friend's");
    close_both();
}

/* ---- peers that have sent HELLO ---- */

static int say_hello(uint32_t from)
{
    const sti_header header = raw_header(STI_KIND_HELLO, from, 0);
    int fd = raw_connect(sti_net_url(victim.net));
    raw_frame(fd, &header, NULL);
    return fd;
}

/* A peer that sends HELLO as node 5, receives WELCOME, then sends a header. */
Test(link_breach, a_member_that_breaks_the_rules_loses_its_link)
{
    static const struct {
        sti_header header;
        const char *word;
    } cases[] = {{{.kind = KIND_DATA, .from = 5, .size = 1000001},
                  "1000001 bytes"},
                 {{.kind = KIND_DATA, .from = 1}, "in the name of node 1"},
                 {{.kind = STI_KIND_HELLO, .from = 5}, "no HELLO is expected"},
                 {{.kind = STI_KIND_FIRST_MESSAGE - 1, .from = 5},
                  "is unknown in this protocol"},
                 {{.kind = STI_KIND_BYE_ACK, .from = 5}, "not sent BYE"},
                 {{.kind = STI_KIND_PING, .from = 5, .size = 4096},
                  "with a payload"}};
    const sti_net_options options = {.frame_limit = 1000000};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        open_both(&options);
        int fd = say_hello(5);
        raw_wait_frame(fd);
        raw_frame(fd, &cases[k].header, NULL);
        raw_wait_closed(fd);
        link_node_wait_lost(&victim, 1);
        cr_expect_eq(victim.why, STRADS_EPEER, "%s", cases[k].word);
        link_node_expect_said(&victim, cases[k].word);
        link_node_expect_said(&victim, "node 5");
        cr_expect_eq(victim.received, 0);
        close_both();
    }
}

Test(link_breach, a_message_before_the_welcome_costs_the_link)
{
    const sti_header header = raw_header(KIND_DATA, 5, 0);
    open_both(NULL);
    victim.mute = true;
    int fd = say_hello(5);
    raw_frame(fd, &header, NULL);
    raw_wait_closed(fd);
    link_node_wait_lost(&victim, 1);
    link_node_expect_said(&victim, "before it was welcomed");
    close_both();
}

Test(link_breach, a_member_that_never_answers_a_goodbye_delays_it_only_so_long)
{
    const sti_net_options options = {.hello_ns = 500000000};
    open_both(&options);
    int fd = say_hello(5);
    raw_wait_frame(fd);
    link_node_wait(&victim, &victim.hellos, 2);
    sti_net_part(victim.net, victim.links[5]);
    link_node_wait_lost(&victim, 1);
    cr_expect_eq(victim.why, STRADS_EPEER);
    link_node_expect_said(&victim, "not answered");
    raw_wait_closed(fd);
    close_both();
}

Test(link_breach, a_shutdown_waits_no_longer_than_its_limit)
{
    link_node_open(&victim, 0, NULL, NULL);
    int fd = say_hello(5), stranger = raw_connect(sti_net_url(victim.net));
    link_node_wait(&victim, &victim.hellos, 1);
    expect_error(sti_net_close(victim.net, 50000000), STRADS_EPEER,
                 "not answered");
    raw_wait_closed(fd);
    raw_wait_closed(stranger);
}

/* The strangers come from one address, and may be silent for a minute. */
Test(link_breach, a_crowd_of_strangers_does_not_block_nodes)
{
    enum { CROWD = 200 };
    const sti_net_options options = {.hello_ns = UINT64_C(60000000000)};
    int fd[CROWD];
    link_node_open(&victim, 0, NULL, &options);
    for (int i = 0; i < CROWD; i++)
        fd[i] = raw_connect(sti_net_url(victim.net));
    link_node_open(&friend, 1, "", NULL);
    friends_link = link_node_join(&friend, &victim);
    link_node_wait_strangers(&victim, CROWD - STI_STRANGERS_EACH);
    link_node_expect_said(&victim, "the oldest of too many connections");
    for (int i = 0; i < CROWD; i++)
        (void)shutdown(fd[i], SHUT_WR);
    for (int i = 0; i < CROWD; i++)
        raw_wait_closed(fd[i]);
    close_both();
}

/* The threads of evicted strangers wait for the owner, which holds the lock.
 * Without a limit each stranger that follows costs a descriptor. */
Test(link_breach, strangers_whose_threads_are_late_use_few_descriptors)
{
    enum { CROWD = 200, MOST = STI_STRANGERS_EACH + STI_EVICTED_MAX };
    const sti_net_options options = {.hello_ns = UINT64_C(60000000000)};
    int fd[CROWD];
    uint32_t conns = 0;
    link_node_open(&victim, 0, NULL, &options);
    pthread_mutex_lock(&victim.lock);
    for (int i = 0; i < CROWD; i++)
        fd[i] = raw_connect(sti_net_url(victim.net));
    for (int turns = 0; conns < MOST || turns < 20; turns++) {
        (void)usleep(10000);
        pthread_mutex_lock(&victim.net->lock);
        conns = victim.net->conns;
        pthread_mutex_unlock(&victim.net->lock);
    }
    pthread_mutex_unlock(&victim.lock);
    cr_expect_eq(conns, MOST);
    link_node_wait_strangers(&victim, CROWD - STI_STRANGERS_EACH);
    link_node_open(&friend, 1, "", NULL);
    friends_link = link_node_join(&friend, &victim);
    for (int i = 0; i < CROWD; i++) {
        (void)shutdown(fd[i], SHUT_WR);
        raw_wait_closed(fd[i]);
    }
    close_both();
}

/* More processes of one machine start together than strangers are allowed. */
Test(link_breach, as_many_peers_as_a_net_expects_may_dial_at_once)
{
    enum { PEERS = 100, MORE = 5 };
    const sti_net_options options = {.hello_ns = UINT64_C(60000000000)};
    int fd[PEERS + MORE];
    link_node_open(&victim, 0, NULL, &options);
    sti_net_expect(victim.net, PEERS);
    sti_net_expect(victim.net, 2); /* smaller: no effect */
    for (int i = 0; i < PEERS + MORE; i++)
        fd[i] = raw_connect(sti_net_url(victim.net));
    link_node_wait_strangers(&victim, MORE);
    for (int i = 0; i < MORE; i++)
        raw_wait_closed(fd[i]);
    cr_expect_eq(victim.strangers, MORE);
    for (int i = MORE; i < PEERS + MORE; i++) {
        (void)shutdown(fd[i], SHUT_WR);
        raw_wait_closed(fd[i]);
    }
    cr_expect_eq(link_node_close(&victim), STRADS_OK);
}

/* A proxy has lost bytes of a frame: the bytes of PINGs take their place. */
Test(link_breach, an_unfinished_frame_ends_its_link)
{
    enum { WHOLE = 100000, LOST = 50000 };
    static const unsigned char bytes[WHOLE];
    const sti_net_options options = {.dead_ns = UINT64_C(2000000000)};
    const sti_header ping = raw_header(STI_KIND_PING, 5, 0);
    sti_header data = raw_header(KIND_DATA, 5, WHOLE);
    open_both(&options);
    int fd = say_hello(5);
    raw_wait_frame(fd); /* WELCOME */
    raw_frame(fd, &data, NULL);
    raw_write(fd, bytes, WHOLE - LOST);
    for (int k = 0; k < 50; k++) {
        pthread_mutex_lock(&victim.lock);
        const bool lost = victim.lost > 0;
        pthread_mutex_unlock(&victim.lock);
        if (lost)
            break;
        raw_frame(fd, &ping, NULL);
        (void)usleep(200000);
    }
    cr_expect_eq(victim.lost, 1);
    cr_expect_eq(victim.why, STRADS_EIO);
    link_node_expect_said(&victim, "the rest of a frame did not arrive");
    raw_wait_closed(fd);
    close_both();
}

/* ---- dead and stopped peers ---- */

/* A process that joins the URL that it reads from `pipe`, as node 5, and then
 * idles. Forked before this process has threads. */
static pid_t start_peer(int pipe_fd[2], uint64_t dead_ns)
{
    cr_assert_eq(pipe(pipe_fd), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        const sti_net_options options = {.heartbeat_ns = 50000000,
                                         .dead_ns = dead_ns};
        static link_node peer;
        char url[STI_URL_MAX + 1] = "";
        /* The process must end if the test fails. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
            _exit(1);
        if (read(pipe_fd[0], url, sizeof url) <= 0)
            _exit(1);
        link_node_open(&peer, 5, "", &options);
        (void)link_node_join_url(&peer, url, 0);
        for (;;)
            (void)pause();
    }
    return pid;
}

static void tell_peer(const int pipe_fd[2])
{
    const char *url = sti_net_url(victim.net);
    cr_assert_gt(write(pipe_fd[1], url, strlen(url) + 1), 0);
    link_node_wait(&victim, &victim.hellos, 2);
    link_node_expect_alive(&victim, victim.links[5]);
}

/* dead_ns is 20 s: the end is noticed, not the silence. */
Test(link_breach, a_killed_peer_is_noticed_at_once)
{
    int pipe_fd[2];
    pid_t pid = start_peer(pipe_fd, UINT64_C(20000000000));
    open_both(NULL);
    tell_peer(pipe_fd);
    kill(pid, SIGKILL);
    link_node_wait_lost(&victim, 1);
    cr_expect_eq(victim.why, STRADS_EIO);
    link_node_expect_said(&victim, "without a goodbye");
    waitpid(pid, NULL, 0);
    close_both();
}

Test(link_breach, a_stopped_peer_is_noticed_by_its_silence)
{
    const sti_net_options options = {.heartbeat_ns = 50000000,
                                     .dead_ns = 2000000000};
    int pipe_fd[2];
    pid_t pid = start_peer(pipe_fd, UINT64_C(20000000000));
    link_node_open(&victim, 0, NULL, &options);
    link_node_open(&friend, 1, "", &options);
    friends_link = link_node_join(&friend, &victim);
    tell_peer(pipe_fd);
    kill(pid, SIGSTOP);
    link_node_wait_lost(&victim, 1);
    cr_expect_eq(victim.why, STRADS_EIO);
    link_node_expect_said(&victim, "nothing was received for 2 s");
    link_node_expect_said(&victim, "node 5");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close_both();
}

/* A stopped process receives nothing; it must not declare its peers dead. */
Test(link_breach, a_process_that_was_suspended_takes_no_peer_for_dead)
{
    const sti_net_options options = {.heartbeat_ns = 50000000,
                                     .dead_ns = UINT64_C(20000000000)};
    int pipe_fd[2];
    pid_t pid = start_peer(pipe_fd, 2000000000);
    open_both(&options);
    tell_peer(pipe_fd);
    kill(pid, SIGSTOP);
    (void)usleep(4000000); /* longer than the peer's dead_ns */
    kill(pid, SIGCONT);
    link_node_expect_alive(&victim, victim.links[5]);
    pthread_mutex_lock(&victim.lock);
    cr_expect_eq(victim.lost, 0, "%s", victim.text);
    pthread_mutex_unlock(&victim.lock);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    link_node_wait_lost(&victim, 1);
    close_both();
}

/* ---- opening and dialling ---- */

static void expect_refused(const char *url, strads_err err, const char *word)
{
    sti_net_options options = {.listen_url = url};
    sti_net *net = NULL;
    options.events.received = (void (*)(void *, sti_link, sti_frame *))abort;
    cr_expect_eq(sti_net_open(&options, &net), err, "%s", url);
    cr_expect_null(net);
    cr_expect_not_null(strstr(strads_error_text(), word), "%s: %s", url,
                       strads_error_text());
    cr_expect_not_null(strstr(strads_error_text(), url), "%s: %s", url,
                       strads_error_text());
}

Test(link_breach, a_port_in_use_is_named)
{
    open_both(NULL);
    expect_refused(sti_net_url(victim.net), STRADS_EIO, "port 0");
    close_both();
}

Test(link_breach, a_file_that_is_no_socket_stays_and_a_dead_socket_is_replaced)
{
    char url[64];
    const char *path = url + strlen("ipc://");
    struct stat about;
    (void)snprintf(url, sizeof url, "ipc:///tmp/strads-breach-%d",
                   (int)getpid());
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs("precious", file);
    (void)fclose(file);
    expect_refused(url, STRADS_EIO, "not a socket");
    cr_assert_eq(stat(path, &about), 0);
    cr_expect_eq(about.st_size, 8);
    (void)unlink(path);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (const void *)&at, sizeof at), 0);
    (void)close(fd);
    link_node_open(&victim, 0, url, NULL);
    cr_assert_eq(stat(path, &about), 0);
    cr_expect_eq(about.st_mode & 0777, 0600, "%o", (unsigned)about.st_mode);
    expect_refused(url, STRADS_EIO, "another process has it");
    cr_expect_eq(link_node_close(&victim), STRADS_OK);
}

static void note_trouble(void *arg, const char *text)
{
    if (strstr(text, "ulimit -n") != NULL)
        atomic_store((atomic_bool *)arg, true);
}

Test(link_breach, too_few_file_descriptors_are_reported)
{
    atomic_bool said = false;
    sti_net *net = NULL;
    struct rlimit limit;
    const sti_net_options options = {
        .arg = &said,
        .events = {.received = (void (*)(void *, sti_link, sti_frame *))abort,
                   .troubled = note_trouble}};
    cr_assert_eq(sti_net_open(&options, &net), STRADS_OK);
    const int next = dup(STDIN_FILENO); /* lowest free descriptor */
    cr_assert(next >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = (rlim_t)next + 1;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    (void)close(next);
    const int last = raw_connect(sti_net_url(net)); /* uses it */
    while (!atomic_load(&said))
        (void)usleep(1000);
    (void)close(last);
    cr_expect_eq(sti_net_close(net, 0), STRADS_OK);
}

Test(link_breach, urls_that_are_none_are_refused_with_a_sentence)
{
    expect_refused("tls+tcp://127.0.0.1:0", STRADS_EINVAL, "give --tls-ca");
    expect_refused("http://127.0.0.1:0", STRADS_EINVAL, "tcp://host:port");
    expect_refused("127.0.0.1:7000", STRADS_EINVAL, "tcp://host:port");
    expect_refused("tcp://127.0.0.1", STRADS_EINVAL, "port");
    expect_refused("tcp://127.0.0.1:70000", STRADS_EINVAL, "65535");
    expect_refused("tcp://127.0.0.1:-1", STRADS_EINVAL, "port");
    expect_refused("tcp://127.0.0.1:80/x", STRADS_EINVAL, "port");
    expect_refused("tcp://a/b:80", STRADS_EINVAL, "only a host and a port");
    expect_refused("ipc://relative", STRADS_EINVAL, "absolute");
    expect_refused("ipc:///no/such/folder/socket", STRADS_EIO, "listen");
}

Test(link_breach, options_that_contradict_each_other_are_refused)
{
    sti_net_options options = {.heartbeat_ns = 1000000000,
                               .dead_ns = 1500000000};
    sti_net *net = NULL;
    cr_expect_eq(sti_net_open(&options, &net), STRADS_EINVAL);
    options.events.received = (void (*)(void *, sti_link, sti_frame *))abort;
    expect_error(sti_net_open(&options, &net), STRADS_EINVAL, "heartbeats");
}

Test(link_breach, calls_on_a_link_that_is_gone_and_bad_frames_are_refused)
{
    sti_outgoing frame = {.header = {.kind = KIND_DATA}};
    char url[STI_URL_MAX + 1];
    sti_link link = 0;
    open_both(NULL);
    cr_expect_eq(sti_net_send(victim.net, 12345, &frame), STRADS_EPEER);
    cr_expect_eq(sti_net_bind(victim.net, 0, 1), STRADS_EPEER);
    cr_expect_eq(sti_net_seen_url(victim.net, 7, "tcp://a:1", url),
                 STRADS_EPEER);
    sti_net_part(victim.net, 12345);
    sti_net_drop(victim.net, 12345, "nothing");
    frame.header.kind = STI_KIND_PING;
    cr_expect_eq(sti_net_send(friend.net, friends_link, &frame), STRADS_EINVAL);
    frame.header.kind = KIND_DATA;
    frame.part_count = STI_PARTS_MAX + 1;
    cr_expect_eq(sti_net_send(friend.net, friends_link, &frame), STRADS_EINVAL);
    frame.part_count = 1;
    frame.parts[0] = (sti_part){url, UINT64_C(1) << 40};
    cr_expect_eq(sti_net_send(friend.net, friends_link, &frame), STRADS_ELIMIT);
    cr_expect_eq(sti_net_dial(friend.net, "tcp://127.0.0.1:0", 0, &link),
                 STRADS_EINVAL);
    cr_expect_eq(sti_net_dial(friend.net, "tcp://no.such.host.invalid:1",
                              UINT64_C(5000000000), &link),
                 STRADS_EIO);
    close_both();
}
