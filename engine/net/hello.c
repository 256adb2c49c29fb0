/* Encodes and decodes HELLO, WELCOME and REJECT. Allocates only the array of
 * URLs of a decoded WELCOME. */
#include "engine/net/hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/instruction_set.h"
#include "engine/net/frame.h"

static strads_err too_long(const char *what, uint64_t found, uint64_t limit)
{
    return strads_fail(STRADS_EPEER, "%s has length %llu, more than %llu", what,
                       (unsigned long long)found, (unsigned long long)limit);
}

/* ---- HELLO ---- */

void sti_hello_encode(const sti_hello *hello, sti_writer *w)
{
    sti_write_u32(w, hello->protocol);
    sti_write_u32(w, hello->version_major);
    sti_write_u32(w, hello->version_minor);
    sti_write_u32(w, hello->kernel_level);
    sti_write_u32(w, hello->workers);
    sti_write_u32(w, hello->wanted_node);
    sti_write_u64(w, hello->run);
    sti_write_u64(w, hello->seen);
    sti_write_u64(w, hello->pace);
    sti_write_string(w, hello->url);
}

strads_err sti_hello_decode(const void *bytes, uint64_t size, sti_hello *out)
{
    sti_hello hello = {0};
    sti_reader r;
    sti_reader_init(&r, bytes, size);
    hello.protocol = sti_read_u32(&r);
    hello.version_major = sti_read_u32(&r);
    hello.version_minor = sti_read_u32(&r);
    hello.kernel_level = sti_read_u32(&r);
    hello.workers = sti_read_u32(&r);
    hello.wanted_node = sti_read_u32(&r);
    hello.run = sti_read_u64(&r);
    hello.seen = sti_read_u64(&r);
    hello.pace = sti_read_u64(&r);
    hello.url = sti_read_string(&r);
    strads_err err = sti_reader_end(&r, "a HELLO");
    if (err != STRADS_OK)
        return err;
    if (strlen(hello.url) > STI_URL_MAX)
        return too_long("a HELLO's URL", strlen(hello.url), STI_URL_MAX);
    *out = hello;
    return STRADS_OK;
}

strads_err sti_hello_check(const sti_hello *mine, const sti_hello *theirs)
{
    if (theirs->protocol != mine->protocol)
        return strads_fail(STRADS_EMISMATCH,
                           "the node that joins has protocol %u where this run "
                           "has %u: start all nodes with the same strads",
                           theirs->protocol, mine->protocol);
    if (theirs->version_major != mine->version_major ||
        theirs->version_minor != mine->version_minor)
        return strads_fail(STRADS_EMISMATCH,
                           "the node that joins runs strads %u.%u where this "
                           "run uses %u.%u: install the same version",
                           theirs->version_major, theirs->version_minor,
                           mine->version_major, mine->version_minor);
    if (theirs->kernel_level != mine->kernel_level)
        return strads_fail(STRADS_EMISMATCH,
                           "the node that joins computes with %s kernels where "
                           "this run uses %s: set STRADS_KERNELS on all nodes "
                           "to the lower of the two, or to portable if one is "
                           "neon",
                           sti_instruction_set_name(theirs->kernel_level),
                           sti_instruction_set_name(mine->kernel_level));
    return STRADS_OK;
}

/* ---- WELCOME ---- */

void sti_welcome_encode(const sti_welcome *welcome, sti_writer *w)
{
    sti_write_u32(w, welcome->node);
    sti_write_u32(w, welcome->nodes);
    sti_write_u32(w, welcome->generation);
    sti_write_u64(w, welcome->seed);
    sti_write_u64(w, welcome->run);
    sti_write_string(w, welcome->options);
    for (uint32_t i = 0; i < welcome->nodes; i++)
        sti_write_string(w, welcome->urls[i]);
}

static strads_err read_urls(sti_reader *r, sti_welcome *welcome)
{
    welcome->urls = calloc((size_t)welcome->nodes + 1, sizeof *welcome->urls);
    if (welcome->urls == NULL)
        return strads_fail(STRADS_ENOMEM, "no memory for the URLs of %u nodes",
                           welcome->nodes);
    for (uint32_t i = 0; i < welcome->nodes; i++)
        welcome->urls[i] = sti_read_string(r);
    strads_err err = sti_reader_end(r, "a WELCOME");
    for (uint32_t i = 0; i < welcome->nodes && err == STRADS_OK; i++)
        if (strlen(welcome->urls[i]) > STI_URL_MAX)
            err = too_long("a WELCOME's URL", strlen(welcome->urls[i]),
                           STI_URL_MAX);
    return err;
}

strads_err sti_welcome_decode(const void *bytes, uint64_t size,
                              sti_welcome *out)
{
    sti_welcome welcome = {0};
    sti_reader r;
    sti_reader_init(&r, bytes, size);
    welcome.node = sti_read_u32(&r);
    welcome.nodes = sti_read_u32(&r);
    welcome.generation = sti_read_u32(&r);
    welcome.seed = sti_read_u64(&r);
    welcome.run = sti_read_u64(&r);
    welcome.options = sti_read_string(&r);
    if (r.err != STRADS_OK)
        return r.err;
    if (welcome.nodes > STI_NODES_MAX)
        return too_long("a WELCOME's list of nodes", welcome.nodes,
                        STI_NODES_MAX);
    if (welcome.node >= welcome.nodes)
        return strads_fail(STRADS_EPEER,
                           "a WELCOME gives node id %u in a run of %u nodes",
                           welcome.node, welcome.nodes);
    strads_err err = read_urls(&r, &welcome);
    if (err != STRADS_OK) {
        sti_welcome_free(&welcome);
        return err;
    }
    *out = welcome;
    return STRADS_OK;
}

void sti_welcome_free(sti_welcome *welcome)
{
    if (welcome == NULL)
        return;
    free(welcome->urls);
    *welcome = (sti_welcome){0};
}

/* ---- REJECT ---- */

void sti_reject_encode(const sti_reject *reject, sti_writer *w)
{
    sti_write_u32(w, (uint32_t)reject->code);
    sti_write_string(w, reject->text);
}

strads_err sti_reject_decode(const void *bytes, uint64_t size, sti_reject *out)
{
    sti_reader r;
    sti_reader_init(&r, bytes, size);
    uint32_t code = sti_read_u32(&r);
    const char *text = sti_read_string(&r);
    strads_err err = sti_reader_end(&r, "a REJECT");
    if (err != STRADS_OK)
        return err;
    /* A code that this build does not know remains a refusal. */
    if (code == STRADS_OK || code > STRADS_EREGROUP)
        code = STRADS_EPEER;
    *out = (sti_reject){.code = (strads_err)code, .text = text};
    return STRADS_OK;
}
