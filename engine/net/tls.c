/* TLS 1.2 by mbed TLS, with certificates on both ends.
 *
 * mbed TLS allows one thread at a time in a connection; `lock` ensures that.
 * Socket calls under the lock do not block. A thread that has to wait uses
 * poll, without the lock.
 *
 * The bytes to send are first copied to `record`: if the socket accepts only a
 * part of a record, the library requires the same bytes in the next call. */
#include "engine/net/tls.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>

enum { RECORD_BYTES = 16384 };

/* Authenticated and forward-secret. In mbed TLS ChaCha20 is 1.4 times as fast
 * as AES-GCM. */
static const int ciphers[] = {
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    0,
};

struct sti_tls_config {
    /* Serialises handshakes: the library caches values derived from a key in
     * the key. */
    pthread_mutex_t lock;
    mbedtls_x509_crt ca, cert;
    mbedtls_pk_context key;
    mbedtls_ssl_config side[2]; /* of the accepting end, of the dialling end */
};

struct sti_tls {
    sti_tls_config *config;
    int fd;
    bool dials;
    pthread_mutex_t lock; /* guards `ssl` */
    mbedtls_ssl_context ssl;
    /* Used by the sending thread. */
    size_t filled;
    unsigned char record[RECORD_BYTES];
};

/* ---- certificates ------------------------------------------------------ */

static int draw_random(void *arg, unsigned char *bytes, size_t size)
{
    (void)arg;
    while (size > 0) {
        const ssize_t n = getrandom(bytes, size, 0);
        if (n < 0 && errno != EINTR)
            return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* mbed TLS 3 takes a source of random bytes, mbed TLS 2 does not. Version 3
 * also has TLS 1.3, to which none of `ciphers` belongs. */
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
static int check_pair(const mbedtls_pk_context *public,
                      const mbedtls_pk_context *private)
{
    return mbedtls_pk_check_pair(public, private, draw_random, NULL);
}

static int parse_key(mbedtls_pk_context *key, const char *path)
{
    return mbedtls_pk_parse_keyfile(key, path, NULL, draw_random, NULL);
}

static void require_tls12(mbedtls_ssl_config *side)
{
    mbedtls_ssl_conf_min_tls_version(side, MBEDTLS_SSL_VERSION_TLS1_2);
    mbedtls_ssl_conf_max_tls_version(side, MBEDTLS_SSL_VERSION_TLS1_2);
}
#else
static int check_pair(const mbedtls_pk_context *public,
                      const mbedtls_pk_context *private)
{
    return mbedtls_pk_check_pair(public, private);
}

static int parse_key(mbedtls_pk_context *key, const char *path)
{
    return mbedtls_pk_parse_keyfile(key, path, NULL);
}

static void require_tls12(mbedtls_ssl_config *side)
{
    mbedtls_ssl_conf_min_version(side, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3);
}
#endif

/* Describes the fault of a certificate by the flags of its verification. */
static const char *fault_of(uint32_t flags)
{
    if (flags & MBEDTLS_X509_BADCERT_EXPIRED)
        return "has expired";
    if (flags & MBEDTLS_X509_BADCERT_FUTURE)
        return "is not valid yet (is this machine's clock right?)";
    if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED)
        return "is not signed by the authority of --tls-ca";
    if (flags &
        (MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE |
         MBEDTLS_X509_BADCERT_NS_CERT_TYPE))
        return "is not for both ends of a connection (its extendedKeyUsage "
               "must have serverAuth and clientAuth, or be left out)";
    if (flags & MBEDTLS_X509_BADCERT_MISSING)
        return "is missing";
    return "has a weak key or signature";
}

/* Reports a file that cannot be read or parsed. */
static strads_err check_read(int rv, const char *option, const char *path,
                             const char *what)
{
    char text[128] = "";
    if (rv == 0)
        return STRADS_OK;
    if (rv == MBEDTLS_ERR_PK_FILE_IO_ERROR ||
        rv == MBEDTLS_ERR_X509_FILE_IO_ERROR)
        return strads_fail(STRADS_EIO, "%s %s: cannot be read: %s", option,
                           path, strerror(errno));
    if (rv > 0)
        (void)snprintf(text, sizeof text, "%d of them are damaged", rv);
    else
        mbedtls_strerror(rv, text, sizeof text);
    return strads_fail(STRADS_EINVAL, "%s %s: expected %s in PEM: %s", option,
                       path, what, text);
}

static strads_err check_files(const sti_tls_files *files)
{
    struct stat about;
    if (!files->ca || !files->cert || !files->key)
        return strads_fail(STRADS_EINVAL,
                           "tls+tcp:// addresses need three files, --tls-ca, "
                           "--tls-cert and --tls-key, and %s is missing",
                           !files->ca     ? "--tls-ca"
                           : !files->cert ? "--tls-cert"
                                          : "--tls-key");
    if (stat(files->key, &about) == 0 && about.st_mode & S_IRWXO)
        return strads_fail(STRADS_EINVAL,
                           "--tls-key %s: all users of this machine may read "
                           "this key: chmod 600 %s",
                           files->key, files->key);
    return STRADS_OK;
}

/* Verifies this node's certificate as the other nodes will. */
static strads_err check_own(sti_tls_config *c, const sti_tls_files *files)
{
    uint32_t flags = 0;
    if (check_pair(&c->cert.pk, &c->key) != 0)
        return strads_fail(STRADS_EINVAL,
                           "--tls-key %s is not the key of --tls-cert %s",
                           files->key, files->cert);
    if (mbedtls_x509_crt_verify(&c->cert, &c->ca, NULL, NULL, &flags, NULL,
                                NULL) != 0)
        return strads_fail(STRADS_EINVAL,
                           "--tls-cert %s: this node's certificate %s",
                           files->cert, fault_of(flags));
    return STRADS_OK;
}

static strads_err set_up(sti_tls_config *c, int end)
{
    mbedtls_ssl_config *side = &c->side[end == MBEDTLS_SSL_IS_CLIENT];
    if (mbedtls_ssl_config_defaults(side, end, MBEDTLS_SSL_TRANSPORT_STREAM,
                                    MBEDTLS_SSL_PRESET_DEFAULT) != 0 ||
        mbedtls_ssl_conf_own_cert(side, &c->cert, &c->key) != 0)
        return strads_fail(STRADS_ENOMEM, "no memory for TLS");
    require_tls12(side);
    mbedtls_ssl_conf_ciphersuites(side, ciphers);
    mbedtls_ssl_conf_ca_chain(side, &c->ca, NULL);
    mbedtls_ssl_conf_authmode(side, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_rng(side, draw_random, NULL);
    return STRADS_OK;
}

strads_err sti_tls_config_new(const sti_tls_files *files, sti_tls_config **out)
{
    strads_err err = check_files(files);
    if (err)
        return err;
    sti_tls_config *c = calloc(1, sizeof *c);
    if (!c)
        return strads_fail(STRADS_ENOMEM, "no memory for TLS");
    (void)pthread_mutex_init(&c->lock, NULL);
    mbedtls_x509_crt_init(&c->ca);
    mbedtls_x509_crt_init(&c->cert);
    mbedtls_pk_init(&c->key);
    mbedtls_ssl_config_init(&c->side[0]);
    mbedtls_ssl_config_init(&c->side[1]);
    err = check_read(mbedtls_x509_crt_parse_file(&c->ca, files->ca), "--tls-ca",
                     files->ca, "certificates");
    if (!err)
        err = check_read(mbedtls_x509_crt_parse_file(&c->cert, files->cert),
                         "--tls-cert", files->cert, "certificates");
    if (!err)
        err = check_read(parse_key(&c->key, files->key), "--tls-key",
                         files->key, "a private key without a password");
    if (!err)
        err = check_own(c, files);
    if (!err)
        err = set_up(c, MBEDTLS_SSL_IS_SERVER);
    if (!err)
        err = set_up(c, MBEDTLS_SSL_IS_CLIENT);
    if (err)
        sti_tls_config_free(c);
    else
        *out = c;
    return err;
}

void sti_tls_config_free(sti_tls_config *c)
{
    if (!c)
        return;
    mbedtls_ssl_config_free(&c->side[0]);
    mbedtls_ssl_config_free(&c->side[1]);
    mbedtls_pk_free(&c->key);
    mbedtls_x509_crt_free(&c->cert);
    mbedtls_x509_crt_free(&c->ca);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- the socket -------------------------------------------------------- */

/* Maps errno of a failed socket call to a result for the library. */
static int fault(int wants)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR
               ? wants
               : MBEDTLS_ERR_NET_CONN_RESET;
}

static int write_bytes(void *arg, const unsigned char *bytes, size_t size)
{
    const sti_tls *tls = arg;
    const ssize_t n = send(tls->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 ? fault(MBEDTLS_ERR_SSL_WANT_WRITE) : (int)n;
}

static int read_bytes(void *arg, unsigned char *bytes, size_t size)
{
    const sti_tls *tls = arg;
    const ssize_t n = recv(tls->fd, bytes, size, MSG_DONTWAIT);
    return n < 0 ? fault(MBEDTLS_ERR_SSL_WANT_READ) : (int)n;
}

/* Waits until the socket is ready for the operation that the library wants.
 * False: it wants none. */
static bool wait_for(const sti_tls *tls, int wants)
{
    struct pollfd at = {.fd = tls->fd};
    if (wants == MBEDTLS_ERR_SSL_WANT_READ)
        at.events = POLLIN;
    else if (wants == MBEDTLS_ERR_SSL_WANT_WRITE)
        at.events = POLLOUT;
    else
        return false;
    (void)poll(&at, 1, -1);
    return true;
}

/* ---- connections ------------------------------------------------------- */

strads_err sti_tls_new(sti_tls_config *config, int fd, bool dials,
                       sti_tls **out)
{
    sti_tls *tls = calloc(1, sizeof *tls);
    if (!tls)
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    tls->config = config;
    tls->fd = fd;
    tls->dials = dials;
    (void)pthread_mutex_init(&tls->lock, NULL);
    mbedtls_ssl_init(&tls->ssl);
    if (mbedtls_ssl_setup(&tls->ssl, &config->side[dials]) != 0) {
        sti_tls_free(tls);
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    }
    mbedtls_ssl_set_bio(&tls->ssl, tls, write_bytes, read_bytes, NULL);
    *out = tls;
    return STRADS_OK;
}

void sti_tls_free(sti_tls *tls)
{
    if (!tls)
        return;
    mbedtls_ssl_free(&tls->ssl);
    (void)pthread_mutex_destroy(&tls->lock);
    free(tls);
}

/* Whether the peer's first byte does not begin a TLS handshake. */
static bool is_plain(const sti_tls *tls)
{
    unsigned char first;
    return wait_for(tls, MBEDTLS_ERR_SSL_WANT_READ) &&
           recv(tls->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
           first != MBEDTLS_SSL_MSG_HANDSHAKE;
}

static strads_err handshake_failed(sti_tls *tls, int rv)
{
    char text[128];
    switch (rv) {
    case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
        return strads_fail(STRADS_EMISMATCH, "its certificate %s",
                           fault_of(mbedtls_ssl_get_verify_result(&tls->ssl)));
    case MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE:
        return strads_fail(STRADS_EMISMATCH, "it has no certificate");
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
        return strads_fail(STRADS_EMISMATCH,
                           "it does not accept this node's certificate "
                           "(--tls-cert): give all nodes certificates of the "
                           "same authority that are valid now");
    case 0:
    case MBEDTLS_ERR_SSL_CONN_EOF:
    case MBEDTLS_ERR_NET_CONN_RESET:
        return strads_fail(
            STRADS_EIO, "the connection was closed in the middle of the TLS "
                        "handshake: does a run with tls+tcp:// listen there, "
                        "and does it accept this node's --tls-cert?");
    default:
        mbedtls_strerror(rv, text, sizeof text);
        return strads_fail(STRADS_EMISMATCH, "the TLS handshake failed: %s",
                           text);
    }
}

strads_err sti_tls_handshake(sti_tls *tls, bool *plain)
{
    int rv;
    *plain = !tls->dials && is_plain(tls);
    if (*plain)
        return strads_fail(STRADS_EMISMATCH, "it does not use TLS");
    do {
        pthread_mutex_lock(&tls->config->lock);
        rv = mbedtls_ssl_handshake(&tls->ssl);
        pthread_mutex_unlock(&tls->config->lock);
    } while (wait_for(tls, rv));
    return rv == 0 ? STRADS_OK : handshake_failed(tls, rv);
}

/* Converts the library's final result to a return value and errno. */
static ssize_t result_of(int rv)
{
    if (rv >= 0)
        return rv;
    if (rv == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY ||
        rv == MBEDTLS_ERR_SSL_CONN_EOF)
        return 0;
    errno = rv == MBEDTLS_ERR_SSL_WANT_WRITE   ? EAGAIN
            : rv == MBEDTLS_ERR_NET_CONN_RESET ? ECONNRESET
                                               : EBADMSG;
    return -1;
}

ssize_t sti_tls_receive(sti_tls *tls, void *bytes, size_t size)
{
    int rv;
    do {
        pthread_mutex_lock(&tls->lock);
        rv = mbedtls_ssl_read(&tls->ssl, bytes, size);
        pthread_mutex_unlock(&tls->lock);
    } while (wait_for(tls, rv));
    return result_of(rv);
}

ssize_t sti_tls_send(sti_tls *tls, const struct iovec *pieces, size_t count,
                     bool may_wait)
{
    int rv;
    const bool again = tls->filled > 0;
    for (size_t i = 0; !again && i < count; i++) {
        const size_t left = RECORD_BYTES - tls->filled;
        const size_t n = pieces[i].iov_len < left ? pieces[i].iov_len : left;
        memcpy(tls->record + tls->filled, pieces[i].iov_base, n);
        tls->filled += n;
    }
    do {
        pthread_mutex_lock(&tls->lock);
        rv = mbedtls_ssl_write(&tls->ssl, tls->record, tls->filled);
        pthread_mutex_unlock(&tls->lock);
    } while (may_wait && wait_for(tls, rv));
    if (rv != MBEDTLS_ERR_SSL_WANT_WRITE)
        tls->filled = 0;
    return result_of(rv);
}
