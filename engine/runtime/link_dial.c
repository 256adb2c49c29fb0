/* Dialling: one try after the other until somebody answers. Owns nothing
 * beyond a call. */
#include <errno.h>
#include <time.h>

#include "engine/runtime/link_state.h"

enum { TRY_MS = 5000, PROBE_MS = 2000, PAUSE_FIRST_MS = 5, PAUSE_MAX_MS = 100 };

static uint64_t now_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000u + (uint64_t)at.tv_nsec / 1000000u;
}

static void pause_ms(uint64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000u),
                            .tv_nsec = (long)(ms % 1000u) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* One try of at most `ms`; an error of nng, and the stream when it is 0. */
static int try_once(const char *url, uint64_t ms, nng_stream **out)
{
    nng_stream_dialer *dialer = NULL;
    nng_aio *aio = NULL;
    int rv = nng_aio_alloc(&aio, NULL, NULL);
    if (rv == 0)
        rv = nng_stream_dialer_alloc(&dialer, url);
    if (rv == 0) {
        nng_aio_set_timeout(aio, (nng_duration)(ms < TRY_MS ? ms : TRY_MS));
        nng_stream_dialer_dial(dialer, aio);
        nng_aio_wait(aio);
        rv = nng_aio_result(aio);
    }
    if (rv == 0)
        *out = nng_aio_get_output(aio, 0);
    nng_aio_free(aio);
    if (dialer != NULL)
        nng_stream_dialer_free(dialer);
    return rv;
}

/* What may be different in a moment, when the other side has started. */
static bool worth_another_try(int rv)
{
    return rv == NNG_ECONNREFUSED || rv == NNG_ENOENT || rv == NNG_ETIMEDOUT ||
           rv == NNG_ECONNRESET || rv == NNG_EUNREACHABLE ||
           rv == NNG_ECONNABORTED || rv == NNG_EAGAIN;
}

static strads_err connect_to(const sti_net_options *o, const char *url,
                             uint64_t timeout_ns, nng_stream **out)
{
    const uint64_t limit = timeout_ns / 1000000u;
    const uint64_t start = now_ms();
    uint64_t pause = PAUSE_FIRST_MS, spent = 0;
    int rv;
    while ((rv = try_once(url, limit - spent + 1, out)) != 0) {
        spent = now_ms() - start;
        if (!worth_another_try(rv) || spent + pause > limit)
            return strads_fail(
                STRADS_EIO, "cannot connect to %s: %s%s", url, nng_strerror(rv),
                worth_another_try(rv)
                    ? " until the time was over: is a node listening there?"
                    : ": check the host's name");
        if (o->gives_up && o->gives_up(o->arg))
            return strads_fail(STRADS_ECANCELED,
                               "stopped while connecting to %s: %s", url,
                               nng_strerror(rv));
        pause_ms(pause);
        pause = 2 * pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
        spent = now_ms() - start;
        spent = spent < limit ? spent : limit;
    }
    return STRADS_OK;
}

strads_err sti_net_dial(sti_net *net, const char *url, uint64_t timeout_ns,
                        sti_link *out)
{
    sti_url parsed;
    char written[STI_URL_MAX + 1];
    nng_stream *stream = NULL;
    strads_err err = sti_url_parse(url, &parsed);
    if (err == STRADS_OK && parsed.tcp && parsed.port == 0)
        err =
            strads_fail(STRADS_EINVAL,
                        "%s: port 0 can be listened on, not connected to", url);
    if (err != STRADS_OK)
        return err;
    sti_url_write(&parsed, written);
    err = connect_to(&net->options, written, timeout_ns, &stream);
    if (err != STRADS_OK)
        return err;
    return sti_conn_start(net, stream, written, out);
}

strads_err sti_net_probe(const char *url)
{
    sti_url parsed;
    char written[STI_URL_MAX + 1];
    nng_stream *stream = NULL;
    strads_err err = sti_url_parse(url, &parsed);
    if (err != STRADS_OK)
        return err;
    sti_url_write(&parsed, written);
    int rv = try_once(written, PROBE_MS, &stream);
    nng_stream_free(stream);
    if (rv == 0)
        return STRADS_OK;
    return strads_fail(rv == NNG_ECONNREFUSED || rv == NNG_ENOENT ? STRADS_EPEER
                                                                  : STRADS_EIO,
                       "nobody answers at %s: %s", written, nng_strerror(rv));
}
