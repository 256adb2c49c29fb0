/* See nodes_forger.h. */
#include "tests/nodes_forger.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/net/mesh_state.h"
#include "strads/version.h"
#include "tests/toy_data.h"

void forger_answer(forger *f)
{
    const sti_outgoing met = {.header = {.kind = STI_KIND_SEEN, .from = 1}};
    (void)sti_net_send(f->net, f->caller, &met);
}

static void take_call(forger *f, sti_link link)
{
    f->called = true;
    f->caller = link;
    if (!f->silent)
        forger_answer(f);
}

/* Accepts every program. */
static void answer_program(forger *f, uint32_t number)
{
    const sti_outgoing accept = {
        .header = {.kind = STI_KIND_ACCEPT, .from = number}};
    (void)sti_net_send(f->net, f->link, &accept);
}

static void on_received(void *arg, sti_link link, sti_frame *frame)
{
    forger *f = arg;
    sti_reject answer;
    pthread_mutex_lock(&f->lock);
    if (frame->header.kind == STI_KIND_HELLO)
        take_call(f, link);
    if (frame->header.kind == STI_KIND_PROGRAM)
        answer_program(f, frame->header.to);
    f->welcomed |= frame->header.kind == STI_KIND_WELCOME;
    f->dispatched |= frame->header.kind == STI_KIND_ROLE + STI_MSG_DISPATCH ||
                     frame->header.kind == STI_KIND_ROLE + STI_MSG_LOOP;
    if (frame->header.kind == STI_KIND_REJECT &&
        sti_reject_decode(frame->payload, frame->header.size, &answer) ==
            STRADS_OK) {
        f->rejected = true;
        (void)snprintf(f->text, sizeof f->text, "%s", answer.text);
    }
    pthread_cond_broadcast(&f->event);
    pthread_mutex_unlock(&f->lock);
    sti_frame_free(frame);
}

static void on_lost(void *arg, sti_link link, strads_err why, const char *text)
{
    forger *f = arg;
    (void)link, (void)why;
    pthread_mutex_lock(&f->lock);
    f->lost = true;
    if (!f->rejected)
        (void)snprintf(f->text, sizeof f->text, "%s", text);
    pthread_cond_broadcast(&f->event);
    pthread_mutex_unlock(&f->lock);
}

bool forger_open_alone(forger *f)
{
    *f = (forger){0};
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->event, NULL);
    const sti_net_options options = {
        .listen_url = "tcp://127.0.0.1:0",
        .node = STI_NODE_NONE,
        .arg = f,
        .events = {.received = on_received, .lost = on_lost},
    };
    return sti_net_open(&options, &f->net) == STRADS_OK;
}

bool forger_open(forger *f, const char *url)
{
    return forger_open_alone(f) &&
           sti_net_dial(f->net, url, UINT64_C(10000000000), &f->link) ==
               STRADS_OK;
}

void forger_break(forger *f)
{
    sti_net_drop(f->net, f->link, "it was told to");
}

void forger_close(forger *f)
{
    (void)sti_net_close(f->net, UINT64_C(10000000000));
    pthread_cond_destroy(&f->event);
    pthread_mutex_destroy(&f->lock);
}

sti_hello forger_hello(const forger *f)
{
    return (sti_hello){
        .protocol = STI_PROTOCOL,
        .version_major = STRADS_VERSION_MAJOR,
        .version_minor = STRADS_VERSION_MINOR,
        .kernel_level = strads_kernels(),
        .wanted_node = STI_NODE_NONE,
        .workers = 1,
        .url = sti_net_url(f->net),
    };
}

void forger_say(forger *f, uint16_t kind, uint32_t from, const sti_hello *hello)
{
    sti_writer w = {0};
    sti_hello_encode(hello, &w);
    const sti_outgoing frame = {.header = {.kind = kind, .from = from},
                                .parts = {{w.bytes, w.size}},
                                .part_count = 1};
    (void)sti_net_send(f->net, f->link, &frame);
    sti_writer_free(&w);
}

void forger_send(forger *f, uint16_t kind, uint32_t from, uint64_t size)
{
    void *bytes = calloc(1, size + 1);
    const sti_outgoing frame = {.header = {.kind = kind, .from = from},
                                .parts = {{bytes, bytes ? size : 0}},
                                .part_count = 1};
    (void)sti_net_send(f->net, f->link, &frame);
    free(bytes);
}

void forger_say_ready(forger *f, const strads_program *program,
                      uint32_t partitions)
{
    strads_data *data = toy_data(program, 23, 17, partitions);
    const uint64_t mark[] = {strads_data_rows(data), strads_data_cols(data),
                             strads_data_nnz(data), strads_data_checksum(data),
                             8};
    strads_data_free(data);
    const sti_outgoing frame = {.header = {.kind = STI_KIND_READY, .from = 1},
                                .parts = {{mark, sizeof mark}},
                                .part_count = 1};
    (void)sti_net_send(f->net, f->link, &frame);
}

void forger_wait_welcome(forger *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->welcomed && !f->lost)
        pthread_cond_wait(&f->event, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

void forger_wait_dispatch(forger *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->dispatched && !f->lost)
        pthread_cond_wait(&f->event, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

void forger_wait_lost(forger *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->lost)
        pthread_cond_wait(&f->event, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

void forger_wait_called(forger *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->called && !f->lost)
        pthread_cond_wait(&f->event, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

/* A HELLO with 2000 workers is always refused. The sentence shows which rule
 * was checked first: whether a node with this URL has joined. */
static bool ask_counted(const char *url, const char *member, bool *counted)
{
    forger f;
    if (!forger_open(&f, url))
        return false;
    sti_hello hello = forger_hello(&f);
    hello.url = member;
    hello.workers = 2000;
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    forger_wait_lost(&f);
    *counted = strstr(f.text, "has joined this run already") != NULL;
    bool answered = *counted || strstr(f.text, "2000 workers");
    forger_close(&f);
    return answered;
}

bool forger_wait_counted(const char *url, const char *member, bool counted)
{
    bool is = !counted;
    while (ask_counted(url, member, &is) && is != counted)
        (void)sched_yield();
    return is == counted;
}
