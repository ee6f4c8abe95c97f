/* static.c - the page's files, and the OpenAPI document.
 *
 * They are in the program. MUSTER_WEB_DIR serves them from a directory, for those who work on them.
 */
#include <fcntl.h>
#include <string.h>

#include "api/assets.h"
#include "api/parts.h"
#include "base/io.h"
#include "base/sha256.h"

#define CSP                                                                                        \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "           \
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "              \
    "frame-ancestors 'none'\r\n"

static const char *type_of(const char *name)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".json", "application/json"},
        {".png", "image/png"},
        {".ico", "image/x-icon"},
    };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < ARRAY_SIZE(types); i++)
        if (strcmp(dot, types[i].end) == 0)
            return types[i].type;
    return NULL;
}

static void put(struct call *c, const char *name, const void *bytes, size_t n, const char *hash)
{
    struct http_answer *a = c->answer;
    char tag[32];

    (void)snprintf(tag, sizeof(tag), "\"%s\"", hash);
    a->type = type_of(name);
    a->cacheable = true;
    strbuf_addf(&a->headers, "ETag: %s\r\nCache-Control: no-cache\r\n" CSP, tag);
    a->status = strcmp(c->rq->matches, tag) == 0 ? 304 : 200;
    if (a->status == 200)
        strbuf_add(&a->body, bytes, n);
}

static void put_from_disk(struct call *c, const char *dir, const char *name)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    unsigned char hash[SHA256_BYTES];
    struct sha256 h;
    char hex[17];
    struct err e;

    if (fd < 0 || io_read_regular(fd, name, LIMIT_WEB_FILE_BYTES, &text, &e) < 0) {
        answer_error(c->answer, 404, NULL, "%s not found", name);
        return;
    }
    sha256_begin(&h);
    sha256_add(&h, text.buf, text.len);
    sha256_end(&h, hash);
    for (size_t i = 0; i < 8; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    put(c, name, text.buf, text.len, hex);
}

static const struct asset *asset_of(const char *name)
{
    for (const struct asset *as = assets; as->name; as++)
        if (strcmp(as->name, name) == 0)
            return as;
    return NULL;
}

void serve_static(struct call *c)
{
    const char *name = *c->seg[0] ? c->seg[0] : "index.html", *dir = getenv("MUSTER_WEB_DIR");
    const struct asset *as = asset_of(name);

    bool served = !strchr(name, '/') && type_of(name) && strcmp(name, "openapi.json") != 0;

    if (served && dir)
        put_from_disk(c, dir, name);
    else if (served && as)
        put(c, name, as->bytes, as->n, as->hash);
    else
        answer_error(c->answer, 404, NULL, "%s not found", name);
}

void serve_openapi(struct call *c)
{
    const struct asset *as = asset_of("openapi.json");

    c->answer->type = "application/json";
    strbuf_add(&c->answer->body, as->bytes, as->n);
}
