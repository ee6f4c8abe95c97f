/* tls.c - the webhook's certificate and its TLS, against a client of OpenSSL that verifies it. */
#include "http/tls.h"

#include <string.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/tap.h"
#include "operator/cert.h"

#define NAME "muster-operator.muster-system.svc"

/* A client that trusts nothing but the certificate, and expects that name. */
static SSL *client_for(const char *cert_text, const char *name, BIO **in, BIO **out)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    BIO *bio = BIO_new_mem_buf(cert_text, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    SSL *ssl;

    X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), cert);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    ssl = SSL_new(ctx);
    SSL_set1_host(ssl, name);
    *in = BIO_new(BIO_s_mem());
    *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, *in, *out);
    SSL_set_connect_state(ssl);
    X509_free(cert);
    BIO_free(bio);
    SSL_CTX_free(ctx);
    return ssl;
}

/* Bytes from one to the other until nothing moves any more, `piece` at a time. */
static bool pump(SSL *ssl, BIO *in, BIO *out, struct tls_session *s, struct strbuf *plain,
                 int piece)
{
    char data[16384];
    bool open = true, moved = true;

    while (moved && open) {
        struct strbuf wire = STRBUF_INIT;
        int n;

        (void)SSL_do_handshake(ssl);
        moved = false;
        while (open && (n = BIO_read(out, data, piece)) > 0) {
            open = tls_take(s, data, (size_t)n, plain, &wire);
            moved = true;
        }
        if (wire.len > 0) {
            BIO_write(in, wire.buf, (int)wire.len);
            moved = true;
        }
        strbuf_release(&wire);
    }
    return open;
}

static void talk(const char *cert, const char *key, int piece)
{
    struct tls_config *config = NULL;
    struct strbuf plain = STRBUF_INIT, wire = STRBUF_INIT;
    char got[100] = "";
    struct err e = {0};
    BIO *in, *out;

    is_int(tls_config_new(cert, key, &config, &e), 0, "a configuration: %s", e.text);
    struct tls_session *s = tls_session_new(config);
    SSL *ssl = client_for(cert, NAME, &in, &out);
    ok(!tls_give(s, "x", 1, &wire), "nothing can be sent before the handshake");
    tls_config_free(config); /* the session goes on */
    ok(pump(ssl, in, out, s, &plain, piece), "a handshake, %d bytes at a time", piece);
    is_int(SSL_get_verify_result(ssl), X509_V_OK, "the client trusts it");
    ok(SSL_is_init_finished(ssl), "it is complete");
    SSL_write(ssl, "GET /", 5);
    ok(pump(ssl, in, out, s, &plain, piece), "the client writes");
    is_str(plain.buf, "GET /", "and it is read");
    ok(tls_give(s, "hello", 5, &wire), "an answer");
    BIO_write(in, wire.buf, (int)wire.len);
    is_int(SSL_read(ssl, got, sizeof(got) - 1), 5, "is read");
    is_str(got, "hello", "as it was");
    SSL_shutdown(ssl);
    ok(!pump(ssl, in, out, s, &plain, piece), "the client ends it");
    SSL_free(ssl);
    tls_session_free(s);
    strbuf_release(&plain);
    strbuf_release(&wire);
}

static void refusals(const char *cert, const char *key)
{
    struct tls_config *config = NULL;
    struct strbuf plain = STRBUF_INIT, wire = STRBUF_INIT;
    struct err e;
    BIO *in, *out;

    ok(tls_config_new(cert, "nonsense", &config, &e) < 0, "no key");
    has(e.text, "cannot use the certificate", "is told");
    (void)tls_config_new(cert, key, &config, &e);
    struct tls_session *s = tls_session_new(config);
    ok(!tls_take(s, "GET / HTTP/1.1\r\n\r\n", 18, &plain, &wire), "what is not TLS is refused");
    tls_session_free(s);
    s = tls_session_new(config);
    SSL *ssl = client_for(cert, "other.svc", &in, &out);
    (void)pump(ssl, in, out, s, &plain, 4096);
    ok(SSL_get_verify_result(ssl) == X509_V_ERR_HOSTNAME_MISMATCH, "another name is not trusted");
    SSL_free(ssl);
    tls_session_free(s);
    tls_config_free(config);
    strbuf_release(&plain);
    strbuf_release(&wire);
}

static void certificates(struct arena *a, const char *cert, const char *key)
{
    const char *other_cert = NULL, *other_key = NULL;
    int64_t days = 0;
    struct err e;

    is_int(cert_check(cert, key, NAME, &days, &e), 0, "it can be used");
    ok(days >= CERT_DAYS - 1, "for years");
    (void)cert_make(a, NAME, &other_cert, &other_key, &e);
    ok(strcmp(cert, other_cert) != 0, "another one is different");
    ok(cert_check(cert, other_key, NAME, &days, &e) < 0, "another's key");
    is_str(e.text, "the key belongs to another certificate", "is told");
    ok(cert_check(cert, key, "x.svc", &days, &e) < 0, "another name");
    is_str(e.text, "the certificate is not for x.svc", "is told");
    ok(cert_check("", "", NAME, &days, &e) < 0, "nothing");
    is_int(cert_make(
               a, "a-service-with-a-long-name-of-many-characters.a-namespace-with-a-long-name.svc",
               &cert, &key, &e),
           0, "a name of more than 64 characters");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();
    const char *cert = NULL, *key = NULL;
    struct err e = {0};

    is_int(cert_make(a, NAME, &cert, &key, &e), 0, "a certificate: %s", e.text);
    talk(cert, key, 4096);
    talk(cert, key, 1);
    refusals(cert, key);
    certificates(a, cert, key);
    return tap_done();
}
