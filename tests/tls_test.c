/* TLS over memory: which two ends complete a handshake, and that no byte that
 * was changed on the way is read. Every step is made by the test, without
 * sockets and threads. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/net/tls.h"
#include "tests/expect.h"

TestSuite(tls, .timeout = 120);

static const sti_token ours = {.size = 20, .bytes = "01234567890123456789"};
static const sti_token theirs = {.size = 20, .bytes = "01234567890123456780"};

enum { DIALS = 1, ACCEPTS = 0 };

typedef struct end {
    sti_tls_context *context;
    sti_tls *tls;
    bool done;
    strads_err err;
    char text[512];
    size_t sent; /* encrypted bytes */
} end;

static end ends[2];

static void open_end(int side, const sti_trust *trust)
{
    end *e = &ends[side];
    *e = (end){0};
    expect_ok(sti_tls_context_new(trust, &e->context));
    cr_assert_not_null(e->context);
    expect_ok(sti_tls_new(e->context, side == DIALS, &e->tls));
}

static void close_ends(void)
{
    for (int side = 0; side < 2; side++) {
        sti_tls_free(ends[side].tls);
        sti_tls_context_free(ends[side].context);
        ends[side] = (end){0};
    }
}

static void feed(sti_tls *tls, const void *bytes, size_t size)
{
    for (const char *from = bytes; size > 0;) {
        size_t space;
        void *to = sti_tls_space(tls, &space);
        const size_t n = size < space ? size : space;
        cr_assert_gt(n, 0, "the end does not read");
        memcpy(to, from, n);
        sti_tls_feed(tls, n);
        from += n;
        size -= n;
    }
}

/* Moves at most `limit` bytes of the output of a side to the other side.
 * Returns their number. */
static size_t move(int side, size_t limit)
{
    size_t size;
    const void *bytes = sti_tls_output(ends[side].tls, &size);
    if (size > limit)
        size = limit;
    feed(ends[!side].tls, bytes, size);
    sti_tls_take(ends[side].tls, size);
    ends[side].sent += size;
    return size;
}

static void step(int side)
{
    end *e = &ends[side];
    if (e->done || e->err)
        return;
    e->err = sti_tls_handshake(e->tls, &e->done);
    if (e->err)
        (void)snprintf(e->text, sizeof e->text, "%s", strads_error_text());
}

/* Performs the handshake, `piece` bytes at a time, until nothing moves. */
static void shake_hands(size_t piece)
{
    size_t moved = 1;
    step(DIALS);
    step(ACCEPTS);
    while (moved > 0) {
        moved = move(DIALS, piece);
        step(ACCEPTS);
        moved += move(ACCEPTS, piece);
        step(DIALS);
    }
}

static void open_both(const sti_trust *dials, const sti_trust *accepts)
{
    open_end(DIALS, dials);
    open_end(ACCEPTS, accepts);
    shake_hands(SIZE_MAX);
}

static void expect_done(void)
{
    for (int side = 0; side < 2; side++)
        cr_expect(ends[side].done && !ends[side].err, "%d: %s", side,
                  ends[side].text);
}

static void expect_refused(const char *dials, const char *accepts)
{
    for (int side = 0; side < 2; side++) {
        const char *word = side == DIALS ? dials : accepts;
        cr_expect_not(ends[side].done, "side %d", side);
        if (word)
            cr_expect_eq(ends[side].err, STRADS_EMISMATCH);
        if (word)
            cr_expect_not_null(strstr(ends[side].text, word),
                               "\"%s\" does not say \"%s\"", ends[side].text,
                               word);
    }
}

/* Encrypts `size` bytes of one piece at a side. Returns the plain bytes. */
static size_t encrypt(int side, const void *bytes, size_t size)
{
    const struct iovec piece = {(void *)(uintptr_t)bytes, size};
    const ssize_t n = sti_tls_write(ends[side].tls, &piece, 1);
    cr_assert_gt(n, 0, "%s", strerror(errno));
    return (size_t)n;
}

static void expect_read(int side, const char *text)
{
    char bytes[64] = "";
    const ssize_t n = sti_tls_read(ends[side].tls, bytes, sizeof bytes - 1);
    cr_expect_eq(n, (ssize_t)strlen(text), "%zd: %s", n, strerror(errno));
    cr_expect_str_eq(bytes, text);
}

static void expect_damaged(int side)
{
    char bytes[64];
    cr_expect_eq(sti_tls_read(ends[side].tls, bytes, sizeof bytes), -1);
    cr_expect_eq(errno, EBADMSG);
}

/* ---- certificates ---- */

static char folder[] = "/tmp/strads-tls-XXXXXX";
static char paths[4][64];
static sti_tls_files files[2]; /* of two authorities */

/* A self-signed certificate serves as authority and as node. */
static void make_certificates(void)
{
    cr_assert_not_null(mkdtemp(folder));
    for (size_t k = 0; k < 2; k++) {
        char command[512], *cert = paths[2 * k], *key = paths[2 * k + 1];
        (void)snprintf(cert, 64, "%s/cert%zu", folder, k);
        (void)snprintf(key, 64, "%s/key%zu", folder, k);
        (void)snprintf(command, sizeof command,
                       "umask 077; openssl req -x509 -newkey ec -pkeyopt "
                       "ec_paramgen_curve:prime256v1 -nodes -days 1 -subj "
                       "/CN=run%zu -keyout %s -out %s 2>/dev/null",
                       k, key, cert);
        cr_assert_eq(system(command), 0);
        files[k] = (sti_tls_files){cert, cert, key};
    }
}

static void remove_certificates(void)
{
    for (int k = 0; k < 4; k++)
        (void)unlink(paths[k]);
    (void)rmdir(folder);
}

/* ---- which ends accept each other ---- */

Test(tls, without_token_and_files_there_is_no_context)
{
    sti_tls_context *context = (void *)&ours;
    expect_ok(sti_tls_context_new(&(sti_trust){.insecure = true}, &context));
    cr_expect_null(context);
    sti_tls_context_free(NULL);
    sti_tls_free(NULL);
}

Test(tls, two_ends_with_one_token_accept_each_other_byte_by_byte_too)
{
    const sti_trust trust = {.token = ours};
    for (int slow = 0; slow < 2; slow++) {
        open_end(DIALS, &trust);
        open_end(ACCEPTS, &trust);
        shake_hands(slow ? 1 : SIZE_MAX);
        expect_done();
        (void)encrypt(DIALS, "there", 5);
        (void)encrypt(ACCEPTS, "back", 4);
        (void)move(DIALS, SIZE_MAX);
        (void)move(ACCEPTS, SIZE_MAX);
        expect_read(ACCEPTS, "there");
        expect_read(DIALS, "back");
        close_ends();
    }
}

Test(tls, another_token_is_refused_at_both_ends)
{
    open_both(&(sti_trust){.token = theirs}, &(sti_trust){.token = ours});
    expect_refused("another token", "not this run's");
    close_ends();
}

Test(tls, certificates_and_a_token_refuse_each_other)
{
    make_certificates();
    const sti_trust token = {.token = ours};
    for (int both = 0; both < 2; both++) {
        const sti_trust cert = {.tls = files[0],
                                .token.size = both ? ours.size : 0,
                                .token.bytes = "01234567890123456789"};
        open_both(&token, &cert);
        expect_refused("write tls+tcp://", NULL);
        close_ends();
        open_both(&cert, &token);
        expect_refused("write tcp://", "without a token");
        close_ends();
    }
    remove_certificates();
}

Test(tls, certificates_of_one_authority_are_accepted_and_of_another_are_not)
{
    make_certificates();
    const sti_trust first = {.tls = files[0]}, second = {.tls = files[1]};
    open_both(&first, &first);
    expect_done();
    close_ends();
    open_both(&first, &second);
    expect_refused("its certificate is not signed by the authority", NULL);
    close_ends();
    remove_certificates();
}

Test(tls, beside_certificates_both_ends_need_the_token)
{
    make_certificates();
    const sti_trust none = {.tls = files[0]},
                    one = {.tls = files[0], .token = ours},
                    other = {.tls = files[0], .token = theirs};
    open_both(&one, &one);
    expect_done();
    close_ends();
    open_both(&other, &one);
    expect_refused("another token", "not this run's");
    close_ends();
    open_both(&none, &one);
    expect_refused("it has a token and this node has none", NULL);
    close_ends();
    open_both(&one, &none);
    expect_refused("it has no token and this node has one", NULL);
    close_ends();
    remove_certificates();
}

Test(tls, an_end_without_tls_is_recognised_by_its_first_byte)
{
    bool done;
    size_t size;
    for (int side = 0; side < 2; side++) {
        open_end(side, &(sti_trust){.token = ours});
        feed(ends[side].tls, "STRD", 4);
        cr_expect_eq(sti_tls_handshake(ends[side].tls, &done),
                     STRADS_EMISMATCH);
        cr_expect(sti_tls_met_plain(ends[side].tls));
        (void)sti_tls_output(ends[side].tls, &size);
        cr_expect_eq(size, 0);
        close_ends();
    }
}

/* A recorded handshake proves nothing: the other end's answer is fresh. */
Test(tls, a_replayed_handshake_is_not_completed)
{
    const sti_trust trust = {.token = ours};
    char record[2][4096]; /* all that a dialling end has sent, in two flights */
    size_t size[2];
    open_end(DIALS, &trust);
    open_end(ACCEPTS, &trust);
    for (int k = 0; k < 2; k++) {
        step(DIALS);
        const void *bytes = sti_tls_output(ends[DIALS].tls, &size[k]);
        cr_assert(size[k] > 0 && size[k] <= sizeof record[k]);
        memcpy(record[k], bytes, size[k]);
        (void)move(DIALS, SIZE_MAX);
        step(ACCEPTS);
        (void)move(ACCEPTS, SIZE_MAX);
    }
    expect_done();
    close_ends();
    open_end(ACCEPTS, &trust);
    for (int k = 0; k < 2; k++) {
        feed(ends[ACCEPTS].tls, record[k], size[k]);
        step(ACCEPTS);
    }
    cr_expect_not(ends[ACCEPTS].done);
    cr_expect_eq(ends[ACCEPTS].err, STRADS_EIO, "%s", ends[ACCEPTS].text);
    close_ends();
}

/* An end that receives its own bytes back. */
Test(tls, a_reflected_handshake_is_refused)
{
    size_t size;
    open_end(DIALS, &(sti_trust){.token = ours});
    step(DIALS);
    const void *bytes = sti_tls_output(ends[DIALS].tls, &size);
    feed(ends[DIALS].tls, bytes, size);
    step(DIALS);
    cr_expect_not(ends[DIALS].done);
    cr_expect_eq(ends[DIALS].err, STRADS_EMISMATCH);
    close_ends();
}

/* ---- records ---- */

static void open_with_token(void)
{
    const sti_trust trust = {.token = ours};
    open_both(&trust, &trust);
    expect_done();
}

typedef struct record {
    unsigned char bytes[128];
    size_t size;
} record;

/* Returns the next record that a side sends: a short text. */
static record make_record(int side, const char *text)
{
    record r;
    (void)encrypt(side, text, strlen(text));
    const void *bytes = sti_tls_output(ends[side].tls, &r.size);
    cr_assert_leq(r.size, sizeof r.bytes);
    memcpy(r.bytes, bytes, r.size);
    sti_tls_take(ends[side].tls, r.size);
    return r;
}

Test(tls, no_byte_of_a_record_can_be_changed)
{
    for (size_t at = 0; at < 5 + 5 + 1 + 16; at++) {
        open_with_token();
        record r = make_record(DIALS, "first");
        cr_assert_eq(r.size, 27);
        cr_expect_null(memmem(r.bytes, r.size, "first", 5));
        r.bytes[at] ^= 0x40;
        feed(ends[ACCEPTS].tls, r.bytes, r.size);
        char bytes[16];
        const ssize_t n = sti_tls_read(ends[ACCEPTS].tls, bytes, sizeof bytes);
        /* A larger length waits for the rest of the record. */
        cr_expect(n < 0 && (errno == EBADMSG || at == 3 || at == 4), "byte %zu",
                  at);
        close_ends();
    }
}

Test(tls, records_cannot_be_repeated_moved_omitted_or_reflected)
{
    for (int attack = 0; attack < 4; attack++) {
        open_with_token();
        const record first = make_record(DIALS, "first");
        const record second = make_record(DIALS, "second");
        if (attack == 0) { /* repeated */
            feed(ends[ACCEPTS].tls, first.bytes, first.size);
            feed(ends[ACCEPTS].tls, first.bytes, first.size);
            expect_read(ACCEPTS, "first");
        } else if (attack == 1) { /* moved */
            feed(ends[ACCEPTS].tls, second.bytes, second.size);
            feed(ends[ACCEPTS].tls, first.bytes, first.size);
        } else if (attack == 2) { /* omitted */
            feed(ends[ACCEPTS].tls, second.bytes, second.size);
        } else {
            feed(ends[DIALS].tls, first.bytes, first.size);
        }
        expect_damaged(attack == 3 ? DIALS : ACCEPTS);
        close_ends();
    }
}

Test(tls, an_incomplete_record_is_not_read_and_can_be_recognised)
{
    char bytes[16];
    open_with_token();
    const record r = make_record(DIALS, "text");
    cr_expect_not(sti_tls_is_inside_record(ends[ACCEPTS].tls));
    for (size_t k = 0; k + 1 < r.size; k++) {
        feed(ends[ACCEPTS].tls, r.bytes + k, 1);
        cr_expect_eq(sti_tls_read(ends[ACCEPTS].tls, bytes, sizeof bytes), -1);
        cr_expect_eq(errno, EAGAIN);
        cr_expect(sti_tls_is_inside_record(ends[ACCEPTS].tls), "byte %zu", k);
    }
    feed(ends[ACCEPTS].tls, r.bytes + r.size - 1, 1);
    expect_read(ACCEPTS, "text");
    cr_expect_not(sti_tls_is_inside_record(ends[ACCEPTS].tls));
    close_ends();
}

/* ---- writing ---- */

/* Writes all bytes of the pieces in as many calls as needed, and reads them at
 * the other end. */
static void transfer(struct iovec *pieces, size_t count, char *got)
{
    size_t filled = 0;
    while (count > 0) {
        const ssize_t n = sti_tls_write(ends[DIALS].tls, pieces, count);
        cr_assert_gt(n, 0);
        cr_expect_eq(sti_tls_write(ends[DIALS].tls, pieces, count), n,
                     "output is left");
        for (size_t left = (size_t)n; left > 0;) {
            const size_t used = left < pieces->iov_len ? left : pieces->iov_len;
            pieces->iov_base = (char *)pieces->iov_base + used;
            pieces->iov_len -= used;
            left -= used;
            if (pieces->iov_len == 0)
                pieces++, count--;
        }
        size_t moved;
        do {
            moved = move(DIALS, 5000);
            ssize_t read;
            while ((read = sti_tls_read(ends[ACCEPTS].tls, got + filled,
                                        100000)) > 0)
                filled += (size_t)read;
        } while (moved > 0);
    }
}

Test(tls, pieces_of_all_sizes_arrive_as_they_were_written)
{
    enum { MOST = 600000 };
    static char sent[MOST], got[MOST + 100000];
    static const size_t sizes[][4] = {{1, 0, 0, 0},
                                      {64, 65536, 64, 65536},
                                      {16383, 1, 16384, 16385},
                                      {64, 100, 64, 32768},
                                      {163840, 5, 300000, 7}};
    for (size_t k = 0; k < sizeof sent; k++)
        sent[k] = (char)(k * 7 + k / 251);
    open_with_token();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct iovec pieces[4];
        size_t count = 0, total = 0;
        for (; count < 4 && sizes[k][count] > 0; count++) {
            pieces[count] = (struct iovec){sent + total, sizes[k][count]};
            total += sizes[k][count];
        }
        memset(got, 0, sizeof got);
        transfer(pieces, count, got);
        cr_expect_eq(memcmp(got, sent, total), 0, "case %zu", k);
    }
    close_ends();
}

/* AES-GCM is safe for a bounded number of records under one key. */
Test(tls, keys_change_after_a_million_records)
{
    enum { RECORDS = (1 << 20) + 10, RECORD = 5 + 1 + 1 + 16, UPDATE = 27 };
    char byte;
    open_with_token();
    ends[DIALS].sent = 0;
    for (int k = 0; k < RECORDS; k++) {
        (void)encrypt(DIALS, "x", 1);
        (void)move(DIALS, SIZE_MAX);
        cr_assert_eq(sti_tls_read(ends[ACCEPTS].tls, &byte, 1), 1);
    }
    cr_expect_eq(ends[DIALS].sent, (size_t)RECORDS * RECORD + UPDATE);
    close_ends();
}
