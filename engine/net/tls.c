/* TLS 1.3 by OpenSSL 3 over memory, with certificates on both ends or a
 * pre-shared key.
 *
 * OpenSSL allows one thread at a time in a connection: `lock` ensures that.
 * Nothing blocks under it. A BIO of our own reads from `input` and appends to
 * `output`. After the handshake only the writing thread adds output: what
 * OpenSSL sends while it reads could be an alert only, and is discarded,
 * because the output may be in use then. */
#include "engine/net/tls.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

enum {
    KEY_BYTES = 32,
    PROOF_BYTES = 32,
    RECORD_BYTES = SSL3_RT_MAX_PLAIN_LENGTH,
    BATCH_BYTES = 5 * RECORD_BYTES, /* encrypted by one call, at least */
    INPUT_FIRST = 8192,
    INPUT_MAX = 131072,
    RECORDS_PER_KEY = 1 << 20, /* AES-GCM allows 2^24 (RFC 8446, 5.5) */
    RECORD_TYPE_FIRST = 20,    /* change_cipher_spec, alert, handshake, data */
    RECORD_TYPE_LAST = 23
};

/* The identity of the key, and the context of its sessions. */
enum { PSK_SIZE = 6 };
static const unsigned char psk_identity[] = "strads";

/* Names of the application protocol (ALPN), each after its length. They differ
 * if certificates are used with a token, so that a missing token has an alert
 * of its own. */
static const unsigned char protocol_plain[] = "\x06strads";
static const unsigned char protocol_token[] = "\x0cstrads+token";

struct sti_tls_context {
    /* Serialises handshakes, so that many of them take at most one core. */
    pthread_mutex_t lock;
    SSL_CTX *ctx;
    BIO_METHOD *memory;
    bool has_files; /* certificates; otherwise the token is the key */
    bool has_token;
    const unsigned char *protocol;
    unsigned char key[KEY_BYTES]; /* from the token */
};

struct sti_tls {
    sti_tls_context *context;
    bool dials;
    bool is_begun;   /* the first byte has arrived */
    bool is_plain;   /* .. and it is not of TLS */
    bool saw_key;    /* the peer has offered a pre-shared key */
    bool is_shaken;  /* TLS's handshake is complete */
    bool sent_proof; /* .. and our proof is output */
    size_t proof_filled;
    unsigned char proof[PROOF_BYTES];          /* the peer's */
    unsigned char head[SSL3_RT_HEADER_LENGTH]; /* of a record of the input */
    size_t head_filled, record_left;

    pthread_mutex_t lock; /* guards the fields down to input_end */
    SSL *ssl;
    bool is_reading; /* output is discarded */
    bool is_drained; /* all of the input was read: OpenSSL need not look */
    unsigned char *input;
    size_t input_size, input_begin, input_end;

    /* Used by the writing thread; during the handshake, by the other one. */
    unsigned char *output;
    size_t output_size, output_begin, output_end;
    size_t written; /* plain bytes in the output */
    uint32_t records;
    unsigned char record[RECORD_BYTES];
};

/* ---- certificates ------------------------------------------------------ */

/* Describes the fault of a certificate by the result of its verification. */
static const char *describe_fault(long result)
{
    switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return "has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return "is not valid yet (is this machine's clock right?)";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        return "is not signed by the authority of --tls-ca";
    case X509_V_ERR_INVALID_PURPOSE:
        return "is not for both ends of a connection (its extendedKeyUsage "
               "must have serverAuth and clientAuth, or be left out)";
    default:
        return X509_verify_cert_error_string(result);
    }
}

/* Returns the text of OpenSSL's first error, and clears all of them. */
static const char *take_reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return text ? text : "unknown error";
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

static strads_err open_file(const char *option, const char *path, FILE **out)
{
    *out = fopen(path, "re");
    return *out ? STRADS_OK
                : strads_fail(STRADS_EIO, "%s %s: cannot be read: %s", option,
                              path, strerror(errno));
}

/* Reads all certificates of a file. */
static strads_err read_certificates(const char *option, const char *path,
                                    STACK_OF(X509) * *out)
{
    FILE *file;
    X509 *one;
    strads_err err = open_file(option, path, &file);
    if (err)
        return err;
    ERR_clear_error();
    STACK_OF(X509) *all = sk_X509_new_null();
    bool good = all;
    while (good && (one = PEM_read_X509(file, NULL, NULL, NULL)))
        if (!sk_X509_push(all, one)) {
            X509_free(one);
            good = false;
        }
    (void)fclose(file);
    /* Behind the last certificate there is no first line of another one. */
    const unsigned long e = ERR_peek_last_error();
    good = good && sk_X509_num(all) > 0 && ERR_GET_LIB(e) == ERR_LIB_PEM &&
           ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
    if (!good) {
        sk_X509_pop_free(all, X509_free);
        return strads_fail(STRADS_EINVAL,
                           "%s %s: expected certificates in "
                           "PEM: %s",
                           option, path, take_reason());
    }
    ERR_clear_error();
    *out = all;
    return STRADS_OK;
}

static int refuse_password(char *text, int size, int writes, void *arg)
{
    (void)text, (void)size, (void)writes, (void)arg;
    return -1;
}

static strads_err read_key(const char *path, EVP_PKEY **out)
{
    FILE *file;
    strads_err err = open_file("--tls-key", path, &file);
    if (err)
        return err;
    ERR_clear_error();
    *out = PEM_read_PrivateKey(file, NULL, refuse_password, NULL);
    (void)fclose(file);
    if (!*out)
        return strads_fail(STRADS_EINVAL,
                           "--tls-key %s: expected a private key without a "
                           "password in PEM: %s",
                           path, take_reason());
    return STRADS_OK;
}

/* Verifies this node's certificate as the other nodes will, for one purpose. */
static strads_err check_purpose(X509_STORE *authority, STACK_OF(X509) * chain,
                                const char *path, const char *purpose)
{
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    strads_err err = STRADS_OK;
    if (!check ||
        !X509_STORE_CTX_init(check, authority, sk_X509_value(chain, 0), chain))
        err = strads_fail(STRADS_ENOMEM, "no memory for TLS");
    if (!err) {
        (void)X509_STORE_CTX_set_default(check, purpose);
        if (X509_verify_cert(check) != 1)
            err = strads_fail(STRADS_EINVAL,
                              "--tls-cert %s: this node's certificate %s", path,
                              describe_fault(X509_STORE_CTX_get_error(check)));
    }
    X509_STORE_CTX_free(check);
    ERR_clear_error();
    return err;
}

/* Gives the context the authority, the certificate with its chain and the
 * key. */
static strads_err use_files(SSL_CTX *ctx, const sti_tls_files *files,
                            STACK_OF(X509) * authorities,
                            STACK_OF(X509) * chain, EVP_PKEY *key)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    X509 *own = sk_X509_value(chain, 0);
    bool good = true;
    if (X509_check_private_key(own, key) != 1) {
        ERR_clear_error();
        return strads_fail(STRADS_EINVAL,
                           "--tls-key %s is not the key of --tls-cert %s",
                           files->key, files->cert);
    }
    for (int i = 0; good && i < sk_X509_num(authorities); i++)
        good = X509_STORE_add_cert(store, sk_X509_value(authorities, i)) == 1;
    if (!good)
        return strads_fail(STRADS_ENOMEM, "no memory for TLS");
    strads_err err = check_purpose(store, chain, files->cert, "ssl_server");
    if (!err)
        err = check_purpose(store, chain, files->cert, "ssl_client");
    if (err)
        return err;
    good = SSL_CTX_use_certificate(ctx, own) == 1 &&
           SSL_CTX_use_PrivateKey(ctx, key) == 1;
    for (int i = 1; good && i < sk_X509_num(chain); i++)
        good = SSL_CTX_add1_chain_cert(ctx, sk_X509_value(chain, i)) == 1;
    return good ? STRADS_OK
                : strads_fail(STRADS_EINVAL, "--tls-cert %s: not usable: %s",
                              files->cert, take_reason());
}

static strads_err load_files(SSL_CTX *ctx, const sti_tls_files *files)
{
    STACK_OF(X509) *authorities = NULL, *chain = NULL;
    EVP_PKEY *key = NULL;
    strads_err err = check_files(files);
    if (!err)
        err = read_certificates("--tls-ca", files->ca, &authorities);
    if (!err)
        err = read_certificates("--tls-cert", files->cert, &chain);
    if (!err)
        err = read_key(files->key, &key);
    if (!err)
        err = use_files(ctx, files, authorities, chain, key);
    EVP_PKEY_free(key);
    sk_X509_pop_free(chain, X509_free);
    sk_X509_pop_free(authorities, X509_free);
    return err;
}

/* ---- the token --------------------------------------------------------- */

/* HKDF-SHA256 (RFC 5869) of the token, with salt "strads" and info "psk". */
static bool derive_key(const sti_token *token, unsigned char key[KEY_BYTES])
{
    static const unsigned char info[] = {'p', 's', 'k', 1};
    unsigned char extracted[KEY_BYTES];
    const bool good =
        HMAC(EVP_sha256(), "strads", 6, token->bytes, token->size, extracted,
             NULL) &&
        HMAC(EVP_sha256(), extracted, KEY_BYTES, info, sizeof info, key, NULL);
    OPENSSL_cleanse(extracted, sizeof extracted);
    return good;
}

/* A session of its own for each handshake: OpenSSL refuses one that is older
 * than 300 s. */
static SSL_SESSION *make_session(SSL *ssl, const sti_tls_context *c)
{
    static const unsigned char aes128_gcm_sha256[] = {0x13, 0x01};
    SSL_SESSION *session = SSL_SESSION_new();
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes128_gcm_sha256);
    if (session && cipher &&
        SSL_SESSION_set1_master_key(session, c->key, KEY_BYTES) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 &&
        SSL_SESSION_set1_id_context(session, psk_identity, PSK_SIZE) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int offer_key(SSL *ssl, const EVP_MD *hash, const unsigned char **id,
                     size_t *size, SSL_SESSION **session)
{
    const sti_tls *tls = SSL_get_app_data(ssl);
    *session = NULL;
    *id = psk_identity;
    *size = PSK_SIZE;
    if (hash && !EVP_MD_is_a(hash, "SHA256"))
        return 1; /* the peer wants another hash: offer no key */
    *session = make_session(ssl, tls->context);
    return *session != NULL;
}

static int find_key(SSL *ssl, const unsigned char *id, size_t size,
                    SSL_SESSION **session)
{
    sti_tls *tls = SSL_get_app_data(ssl);
    *session = NULL;
    if (size != PSK_SIZE || memcmp(id, psk_identity, size) != 0)
        return 1; /* unknown */
    tls->saw_key = true;
    *session = make_session(ssl, tls->context);
    return *session != NULL;
}

/* Computes the proof of one end that it has the token, inside a connection with
 * certificates: HMAC-SHA256, keyed as the pre-shared key, of a secret of this
 * connection (RFC 8446, 7.5) and the end. Zeros without a token. */
static bool make_proof(const sti_tls *tls, bool dials,
                       unsigned char proof[PROOF_BYTES])
{
    static const char label[] = "EXPORTER-strads-token";
    unsigned char text[PROOF_BYTES + 1];
    memset(proof, 0, PROOF_BYTES);
    if (!tls->context->has_token)
        return true;
    text[PROOF_BYTES] = dials;
    return SSL_export_keying_material(tls->ssl, text, PROOF_BYTES, label,
                                      sizeof label - 1, NULL, 0, 0) == 1 &&
           HMAC(EVP_sha256(), tls->context->key, KEY_BYTES, text, sizeof text,
                proof, NULL);
}

/* ---- contexts ---------------------------------------------------------- */

/* A node with a token alone accepts both names: its refusal of certificates
 * has another alert. */
static int select_protocol(SSL *ssl, const unsigned char **out,
                           unsigned char *size, const unsigned char *offered,
                           unsigned offered_size, void *arg)
{
    const sti_tls_context *c = arg;
    const unsigned char *names[] = {c->protocol, protocol_token};
    (void)ssl;
    for (int k = 0; k < (c->has_files ? 1 : 2); k++)
        if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, size,
                                  names[k], names[k][0] + 1u, offered,
                                  offered_size) == OPENSSL_NPN_NEGOTIATED)
            return SSL_TLSEXT_ERR_OK;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int read_memory(BIO *bio, char *bytes, int size)
{
    sti_tls *tls = BIO_get_data(bio);
    const size_t have = tls->input_end - tls->input_begin;
    const size_t n = (size_t)size < have ? (size_t)size : have;
    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(bytes, tls->input + tls->input_begin, n);
    tls->input_begin += n;
    return (int)n;
}

static int write_memory(BIO *bio, const char *bytes, int size)
{
    sti_tls *tls = BIO_get_data(bio);
    const size_t end = tls->output_end + (size_t)size;
    if (tls->is_reading)
        return size;
    if (end > tls->output_size) {
        const size_t larger = 2 * end;
        unsigned char *grown = realloc(tls->output, larger);
        if (!grown)
            return -1;
        tls->output = grown;
        tls->output_size = larger;
    }
    memcpy(tls->output + tls->output_end, bytes, (size_t)size);
    tls->output_end = end;
    return size;
}

static long control_memory(BIO *bio, int command, long number, void *arg)
{
    (void)bio, (void)number, (void)arg;
    return command == BIO_CTRL_FLUSH;
}

/* TLS 1.3 alone, without resumption and early data. */
static bool set_protocol(sti_tls_context *c)
{
    SSL_CTX *ctx = c->ctx;
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET |
                                       SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       NULL);
    SSL_CTX_set_alpn_select_cb(ctx, select_protocol, c);
    /* Each certificate of --tls-ca is an authority, also an intermediate. */
    (void)X509_STORE_set_flags(SSL_CTX_get_cert_store(ctx),
                               X509_V_FLAG_PARTIAL_CHAIN);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:"
                                         "TLS_CHACHA20_POLY1305_SHA256") == 1 &&
           SSL_CTX_set_session_id_context(ctx, psk_identity, PSK_SIZE) == 1 &&
           SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
           SSL_CTX_set_max_early_data(ctx, 0) == 1 &&
           SSL_CTX_set_recv_max_early_data(ctx, 0) == 1;
}

static strads_err set_context(sti_tls_context *c, const sti_trust *trust)
{
    /* Without it, a call of exit() would free memory that other threads use. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    c->ctx = SSL_CTX_new(TLS_method());
    c->memory = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "strads");
    if (!c->ctx || !c->memory)
        return strads_fail(STRADS_ENOMEM, "no memory for TLS");
    (void)BIO_meth_set_read(c->memory, read_memory);
    (void)BIO_meth_set_write(c->memory, write_memory);
    (void)BIO_meth_set_ctrl(c->memory, control_memory);
    if (!set_protocol(c) ||
        (c->has_token && !derive_key(&trust->token, c->key)))
        return strads_fail(STRADS_EIO,
                           "OpenSSL cannot be used: it has no TLS 1.3 with "
                           "AES-128-GCM and SHA-256 (its configuration?)");
    if (c->has_files)
        return load_files(c->ctx, &trust->tls);
    SSL_CTX_set_psk_use_session_callback(c->ctx, offer_key);
    SSL_CTX_set_psk_find_session_callback(c->ctx, find_key);
    return STRADS_OK;
}

strads_err sti_tls_context_new(const sti_trust *trust, sti_tls_context **out)
{
    const sti_tls_files *files = &trust->tls;
    const bool has_files = files->ca || files->cert || files->key;
    *out = NULL;
    if (!has_files && trust->token.size == 0)
        return STRADS_OK;
    sti_tls_context *c = calloc(1, sizeof *c);
    if (!c)
        return strads_fail(STRADS_ENOMEM, "no memory for TLS");
    (void)pthread_mutex_init(&c->lock, NULL);
    c->has_files = has_files;
    c->has_token = trust->token.size > 0;
    c->protocol = has_files && c->has_token ? protocol_token : protocol_plain;
    const strads_err err = set_context(c, trust);
    if (err)
        sti_tls_context_free(c);
    else
        *out = c;
    return err;
}

void sti_tls_context_free(sti_tls_context *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ctx);
    BIO_meth_free(c->memory);
    (void)pthread_mutex_destroy(&c->lock);
    OPENSSL_cleanse(c->key, sizeof c->key);
    free(c);
}

/* ---- connections ------------------------------------------------------- */

/* Makes the connection's SSL, which then owns the BIO. */
static bool make_ssl(sti_tls *tls)
{
    const unsigned char *protocol = tls->context->protocol;
    BIO *bio = BIO_new(tls->context->memory);
    tls->ssl = SSL_new(tls->context->ctx);
    if (!bio || !tls->ssl) {
        BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    (void)SSL_set_app_data(tls->ssl, tls);
    if (tls->dials)
        SSL_set_connect_state(tls->ssl);
    else
        SSL_set_accept_state(tls->ssl);
    /* Returns 0 on success. */
    return SSL_set_alpn_protos(tls->ssl, protocol, protocol[0] + 1u) == 0;
}

strads_err sti_tls_new(sti_tls_context *context, bool dials, sti_tls **out)
{
    sti_tls *tls = calloc(1, sizeof *tls);
    if (!tls)
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    tls->context = context;
    tls->dials = dials;
    (void)pthread_mutex_init(&tls->lock, NULL);
    tls->input_size = INPUT_FIRST;
    tls->input = malloc(INPUT_FIRST);
    if (!tls->input || !make_ssl(tls)) {
        sti_tls_free(tls);
        ERR_clear_error();
        return strads_fail(STRADS_ENOMEM, "no memory for a connection");
    }
    *out = tls;
    return STRADS_OK;
}

void sti_tls_free(sti_tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    free(tls->input);
    free(tls->output);
    (void)pthread_mutex_destroy(&tls->lock);
    OPENSSL_cleanse(tls->record, sizeof tls->record);
    free(tls);
}

/* ---- encrypted bytes --------------------------------------------------- */

void *sti_tls_space(sti_tls *tls, size_t *size)
{
    pthread_mutex_lock(&tls->lock);
    if (tls->input_begin == tls->input_end) {
        /* The peer sends more than fits: take more with one call. */
        if (tls->input_end == tls->input_size && tls->input_size < INPUT_MAX) {
            void *grown = realloc(tls->input, 2 * tls->input_size);
            if (grown) {
                tls->input = grown;
                tls->input_size *= 2;
            }
        }
        tls->input_begin = tls->input_end = 0;
    }
    void *space = tls->input + tls->input_end;
    *size = tls->input_size - tls->input_end;
    pthread_mutex_unlock(&tls->lock);
    return space;
}

/* Follows the records of the input: type, version and length, then so many
 * bytes. */
static void follow_records(sti_tls *tls, const unsigned char *bytes,
                           size_t count)
{
    while (count > 0) {
        size_t n = 1;
        if (tls->record_left > 0) {
            n = count < tls->record_left ? count : tls->record_left;
            tls->record_left -= n;
        } else {
            tls->head[tls->head_filled++] = *bytes;
            if (tls->head_filled == SSL3_RT_HEADER_LENGTH) {
                tls->head_filled = 0;
                tls->record_left = (size_t)tls->head[3] << 8 | tls->head[4];
            }
        }
        bytes += n;
        count -= n;
    }
}

void sti_tls_feed(sti_tls *tls, size_t count)
{
    follow_records(tls, tls->input + tls->input_end, count);
    pthread_mutex_lock(&tls->lock);
    if (!tls->is_begun && count > 0) {
        const unsigned char first = tls->input[tls->input_end];
        tls->is_begun = true;
        tls->is_plain = first < RECORD_TYPE_FIRST || first > RECORD_TYPE_LAST;
    }
    tls->input_end += count;
    tls->is_drained = false;
    pthread_mutex_unlock(&tls->lock);
}

const void *sti_tls_output(sti_tls *tls, size_t *size)
{
    *size = tls->output_end - tls->output_begin;
    return tls->output + tls->output_begin;
}

void sti_tls_take(sti_tls *tls, size_t count)
{
    tls->output_begin += count;
    if (tls->output_begin == tls->output_end)
        tls->output_begin = tls->output_end = 0;
}

bool sti_tls_met_plain(const sti_tls *tls)
{
    return tls->is_plain;
}

bool sti_tls_begins(const unsigned char *bytes)
{
    return bytes[0] == SSL3_RT_HANDSHAKE && bytes[1] == SSL3_VERSION_MAJOR;
}

/* ---- the handshake ----------------------------------------------------- */

static const char needs_tls[] =
    "the run there uses tls+tcp:// addresses: write tls+tcp://, and give this "
    "node --tls-ca, --tls-cert and --tls-key";

static strads_err fail_plain(const sti_tls *tls)
{
    if (!tls->dials)
        return strads_fail(STRADS_EMISMATCH, "it does not use TLS");
    return strads_fail(
        STRADS_EMISMATCH, "%s",
        tls->context->has_files
            ? "the run there does not use TLS: write tcp://, or give node 0 a "
              "tls+tcp:// address"
            : "the run there has no token: omit it, or give node 0 the same "
              "one");
}

/* The peer's certificate is refused. A node with a token has no authority, so
 * that it refuses each of them. */
static strads_err fail_certificate(const sti_tls *tls)
{
    if (!tls->context->has_files)
        return strads_fail(STRADS_EMISMATCH, "%s", needs_tls);
    return strads_fail(STRADS_EMISMATCH, "its certificate %s",
                       describe_fault(SSL_get_verify_result(tls->ssl)));
}

static strads_err fail_token(const sti_tls *tls)
{
    return strads_fail(STRADS_EMISMATCH,
                       tls->dials
                           ? "the run there has another token: give this node "
                             "the run's --token-file"
                           : "its token is not this run's");
}

static strads_err fail_protocol(const sti_tls *tls)
{
    const char *alone = tls->dials ? needs_tls : "it is not a strads node";
    return strads_fail(
        STRADS_EMISMATCH, "%s",
        !tls->context->has_files ? alone
        : tls->context->has_token
            ? "it has no token and this node has one: give both the same "
              "--token-file, or STRADS_TOKEN, or omit it"
            : "it has a token and this node has none: give both the same "
              "--token-file, or STRADS_TOKEN, or omit it");
}

/* The peer has ended the handshake with an alert (RFC 8446, 6.2). */
static strads_err fail_alert(const sti_tls *tls, int alert)
{
    const bool files = tls->context->has_files;
    switch (alert) {
    case SSL_AD_NO_APPLICATION_PROTOCOL:
        return fail_protocol(tls);
    case SSL_AD_PROTOCOL_VERSION:
        return strads_fail(STRADS_EMISMATCH, "it does not speak TLS 1.3");
    case SSL_AD_BAD_RECORD_MAC:
        return strads_fail(STRADS_EIO, "the TLS handshake was damaged or "
                                       "changed on the way");
    case SSL_AD_ILLEGAL_PARAMETER:
    case SSL_AD_DECRYPT_ERROR:
        if (!files)
            return fail_token(tls);
        break;
    case SSL_AD_HANDSHAKE_FAILURE:
        if (files)
            return strads_fail(STRADS_EMISMATCH,
                               "the run there has a token and no "
                               "certificates: write tcp://, and omit --tls-ca, "
                               "--tls-cert and --tls-key");
        break;
    case SSL_AD_UNKNOWN_CA:
        if (!files)
            return strads_fail(STRADS_EMISMATCH, "%s", needs_tls);
        break;
    default:
        break;
    }
    if (files)
        return strads_fail(STRADS_EMISMATCH,
                           "it does not accept this node's certificate "
                           "(--tls-cert): give all nodes certificates of the "
                           "same authority that are valid now");
    return strads_fail(STRADS_EMISMATCH, "it has ended the TLS handshake: %s",
                       SSL_alert_desc_string_long(alert));
}

static strads_err fail_handshake(const sti_tls *tls)
{
    const unsigned long e = ERR_peek_error();
    const int reason = ERR_GET_LIB(e) == ERR_LIB_SSL ? ERR_GET_REASON(e) : 0;
    const bool knows = tls->context->has_files || tls->dials || tls->saw_key;
    const char *text = take_reason();
    if (reason > SSL_AD_REASON_OFFSET)
        return fail_alert(tls, reason - SSL_AD_REASON_OFFSET);
    switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return fail_certificate(tls);
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return strads_fail(STRADS_EMISMATCH, "it has no certificate");
    case SSL_R_BINDER_DOES_NOT_VERIFY:
        return fail_token(tls);
    case SSL_R_NO_APPLICATION_PROTOCOL:
        return fail_protocol(tls);
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
        return strads_fail(STRADS_EMISMATCH, "it does not speak TLS 1.3");
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
    case SSL_R_DIGEST_CHECK_FAILED:
        return strads_fail(STRADS_EIO, "the TLS handshake was damaged or "
                                       "changed on the way");
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
        if (!knows)
            return strads_fail(STRADS_EMISMATCH,
                               "it connected without a token");
        break;
    default:
        break;
    }
    return strads_fail(STRADS_EMISMATCH, "the TLS handshake failed: %s", text);
}

/* TLS is complete: checks that both ends are authenticated as the context
 * requires, and speak the same protocol. */
static strads_err check_shaken(const sti_tls *tls)
{
    const sti_tls_context *c = tls->context;
    const unsigned char *name = NULL;
    unsigned size = 0;
    if (!c->has_files && SSL_session_reused(tls->ssl) != 1)
        return strads_fail(STRADS_EMISMATCH, "it has not used the token");
    SSL_get0_alpn_selected(tls->ssl, &name, &size);
    if (size != c->protocol[0] || memcmp(name, c->protocol + 1, size) != 0)
        return strads_fail(STRADS_EMISMATCH, "it is not a strads node");
    return STRADS_OK;
}

static strads_err send_proof(sti_tls *tls, bool good)
{
    unsigned char proof[PROOF_BYTES];
    size_t n;
    tls->sent_proof = true;
    if (!make_proof(tls, tls->dials, proof) || !good)
        memset(proof, 0, sizeof proof);
    if (SSL_write_ex(tls->ssl, proof, sizeof proof, &n) != 1)
        return fail_handshake(tls);
    return STRADS_OK;
}

/* Reads the peer's proof. */
static strads_err receive_proof(sti_tls *tls, bool *done)
{
    size_t n;
    while (tls->proof_filled < PROOF_BYTES) {
        const int rv = SSL_read_ex(tls->ssl, tls->proof + tls->proof_filled,
                                   PROOF_BYTES - tls->proof_filled, &n);
        if (rv != 1)
            return SSL_get_error(tls->ssl, rv) == SSL_ERROR_WANT_READ
                       ? STRADS_OK
                       : fail_handshake(tls);
        tls->proof_filled += n;
    }
    *done = true;
    return STRADS_OK;
}

/* With certificates, each end sends a proof of the token, or zeros if there is
 * none. The dialling end is first. The accepting end answers after it has
 * accepted the other one: without an answer, the dialling end would not know,
 * because TLS checks its certificate last. */
static strads_err exchange_proofs(sti_tls *tls, bool *done)
{
    unsigned char wanted[PROOF_BYTES];
    strads_err err = STRADS_OK;
    if (tls->dials && !tls->sent_proof)
        err = send_proof(tls, true);
    if (!err)
        err = receive_proof(tls, done);
    if (err || !*done)
        return err;
    const bool good = make_proof(tls, !tls->dials, wanted) &&
                      CRYPTO_memcmp(wanted, tls->proof, PROOF_BYTES) == 0;
    if (!tls->dials)
        err = send_proof(tls, good);
    *done = good && !err;
    return err || good ? err : fail_token(tls);
}

static strads_err shake_hands(sti_tls *tls, bool *done)
{
    strads_err err = STRADS_OK;
    ERR_clear_error();
    if (!tls->is_shaken) {
        const int rv = SSL_do_handshake(tls->ssl);
        if (rv != 1)
            return SSL_get_error(tls->ssl, rv) == SSL_ERROR_WANT_READ
                       ? STRADS_OK
                       : fail_handshake(tls);
        tls->is_shaken = true;
        err = check_shaken(tls);
    }
    *done = !err && !tls->context->has_files;
    return err || *done ? err : exchange_proofs(tls, done);
}

strads_err sti_tls_handshake(sti_tls *tls, bool *done)
{
    *done = false;
    if (tls->is_plain)
        return fail_plain(tls);
    pthread_mutex_lock(&tls->context->lock);
    pthread_mutex_lock(&tls->lock);
    const strads_err err = shake_hands(tls, done);
    pthread_mutex_unlock(&tls->lock);
    pthread_mutex_unlock(&tls->context->lock);
    return err;
}

/* ---- plain bytes ------------------------------------------------------- */

/* Returns a value of SSL_get_error. The caller holds the lock. */
static int read_plain(sti_tls *tls, void *bytes, size_t size, size_t *n)
{
    if (tls->is_drained)
        return SSL_ERROR_WANT_READ;
    ERR_clear_error();
    const int rv = SSL_read_ex(tls->ssl, bytes, size, n);
    if (rv != 1)
        return SSL_get_error(tls->ssl, rv);
    tls->is_drained =
        tls->input_begin == tls->input_end && SSL_pending(tls->ssl) == 0;
    return SSL_ERROR_NONE;
}

ssize_t sti_tls_read(sti_tls *tls, void *bytes, size_t size)
{
    size_t n = 0;
    pthread_mutex_lock(&tls->lock);
    tls->is_reading = true;
    const int e = read_plain(tls, bytes, size, &n);
    tls->is_reading = false;
    pthread_mutex_unlock(&tls->lock);
    if (e == SSL_ERROR_NONE || e == SSL_ERROR_ZERO_RETURN)
        return (ssize_t)n;
    errno = e == SSL_ERROR_WANT_READ ? EAGAIN : EBADMSG;
    return -1;
}

bool sti_tls_is_inside_record(const sti_tls *tls)
{
    return tls->head_filled > 0 || tls->record_left > 0;
}

/* Encrypts one record, and changes the key when it is due. */
static bool write_record(sti_tls *tls, const void *bytes, size_t size)
{
    size_t n;
    bool good = true;
    pthread_mutex_lock(&tls->lock);
    ERR_clear_error();
    if (++tls->records % RECORDS_PER_KEY == 0)
        good = SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1;
    good = good && SSL_write_ex(tls->ssl, bytes, size, &n) == 1 && n == size;
    pthread_mutex_unlock(&tls->lock);
    return good;
}

/* A position in the pieces to send. */
typedef struct position {
    const struct iovec *pieces;
    size_t count, piece, at;
} position;

static void skip_bytes(position *p, size_t n)
{
    p->at += n;
    if (p->at == p->pieces[p->piece].iov_len) {
        p->piece++;
        p->at = 0;
    }
}

/* Returns the bytes of the next record: bytes of one piece where they are, or
 * small pieces together, copied to tls->record. */
static const void *next_record(sti_tls *tls, position *p, size_t *size)
{
    const struct iovec *first = &p->pieces[p->piece];
    if (first->iov_len - p->at >= RECORD_BYTES) {
        const void *there = (const char *)first->iov_base + p->at;
        skip_bytes(p, *size = RECORD_BYTES);
        return there;
    }
    for (*size = 0; p->piece < p->count && *size < RECORD_BYTES;) {
        const struct iovec *piece = &p->pieces[p->piece];
        const size_t left = piece->iov_len - p->at;
        const size_t space = RECORD_BYTES - *size;
        const size_t n = left < space ? left : space;
        memcpy(tls->record + *size, (const char *)piece->iov_base + p->at, n);
        *size += n;
        skip_bytes(p, n);
    }
    return tls->record;
}

ssize_t sti_tls_write(sti_tls *tls, const struct iovec *pieces, size_t count)
{
    position p = {.pieces = pieces, .count = count};
    size_t size;
    if (tls->output_begin < tls->output_end)
        return (ssize_t)tls->written;
    tls->written = 0;
    while (p.piece < count && tls->written < BATCH_BYTES) {
        const void *bytes = next_record(tls, &p, &size);
        if (!write_record(tls, bytes, size)) {
            errno = EIO;
            return -1;
        }
        tls->written += size;
    }
    return (ssize_t)tls->written;
}
