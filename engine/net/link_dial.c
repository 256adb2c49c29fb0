/* Dialling: one try after the other until somebody answers. Owns nothing
 * beyond a call. */
#include <errno.h>
#include <netdb.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/monotonic_clock.h"
#include "engine/net/link_state.h"

enum { TRY_MS = 5000, PROBE_MS = 2000, PAUSE_FIRST_MS = 5, PAUSE_MAX_MS = 100 };

static uint64_t now_ms(void)
{
    return sti_monotonic_now() / 1000000u;
}

static void pause_ms(uint64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000u),
                            .tv_nsec = (long)(ms % 1000u) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static int try_once(const sti_url *url, uint64_t ms, int *out)
{
    return sti_socket_dial(url, (unsigned)(ms < TRY_MS ? ms : TRY_MS), out);
}

/* What may be different in a moment, when the other side has started. */
static bool worth_another_try(int e)
{
    return e == ECONNREFUSED || e == ENOENT || e == ETIMEDOUT ||
           e == ECONNRESET || e == EHOSTUNREACH || e == ENETUNREACH ||
           e == ECONNABORTED || e == EAGAIN || e == EAI_AGAIN;
}

static strads_err connect_to(const sti_net_options *o, const sti_url *to,
                             const char *url, uint64_t timeout_ns, int *out)
{
    const uint64_t limit = timeout_ns / 1000000u;
    const uint64_t start = now_ms();
    uint64_t pause = PAUSE_FIRST_MS, spent = 0;
    int e;
    while ((e = try_once(to, limit - spent + 1, out)) != 0) {
        spent = now_ms() - start;
        if (!worth_another_try(e) || spent + pause > limit)
            return strads_fail(
                STRADS_EIO, "cannot connect to %s: %s%s", url,
                sti_socket_text(e),
                worth_another_try(e)
                    ? " until the time was over: is a node listening there?"
                    : ": check the host's name");
        if (o->gives_up && o->gives_up(o->arg))
            return strads_fail(STRADS_ECANCELED,
                               "stopped while connecting to %s: %s", url,
                               sti_socket_text(e));
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
    int fd = -1;
    strads_err err = sti_url_parse(url, &parsed);
    if (err == STRADS_OK && parsed.tcp && parsed.port == 0)
        err =
            strads_fail(STRADS_EINVAL,
                        "%s: port 0 can be listened on, not connected to", url);
    if (err != STRADS_OK)
        return err;
    sti_url_write(&parsed, written);
    err = connect_to(&net->options, &parsed, written, timeout_ns, &fd);
    if (err != STRADS_OK)
        return err;
    return sti_conn_start(net, fd, written, out);
}

strads_err sti_net_probe(const char *url)
{
    sti_url parsed;
    char written[STI_URL_MAX + 1];
    int fd = -1;
    strads_err err = sti_url_parse(url, &parsed);
    if (err != STRADS_OK)
        return err;
    sti_url_write(&parsed, written);
    int e = try_once(&parsed, PROBE_MS, &fd);
    if (e == 0) {
        (void)close(fd);
        return STRADS_OK;
    }
    return strads_fail(e == ECONNREFUSED || e == ENOENT ? STRADS_EPEER
                                                        : STRADS_EIO,
                       "nobody answers at %s: %s", written, sti_socket_text(e));
}
