/* isolate.c - see isolate.h. The trial itself is the shim's (`probe`), with the code that the real
 * thing runs.
 */
#include "engine/local/isolate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/strvec.h"
#include "engine/local/launch.h"
#include "shim/wire.h"

#define PROBE_MS 10000 /* a trial takes milliseconds */

/* --- can it be had ---------------------------------------------------------------------------- */

/* What the shim says until it ends. */
static int listen_to(int sock, struct strbuf *text)
{
    ns_t deadline = clock_mono() + PROBE_MS * NS_PER_MS;

    for (;;) {
        struct pollfd pfd = {.fd = sock, .events = POLLIN};
        char buf[512];
        ns_t left = deadline - clock_mono();

        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(&pfd, 1, (int)(left / NS_PER_MS) + 1) <= 0)
            continue;
        ssize_t n = read(sock, buf, sizeof(buf));
        if (n <= 0)
            return 0;
        if (text->len < LIMIT_ERR_TEXT)
            strbuf_add(text, buf, (size_t)n);
    }
}

static int probe(const char *level, const struct facts *facts, struct err *e)
{
    const struct shim_launch what = {.shim = facts->site.shim,
                                     .role = "probe",
                                     .level = level,
                                     .overlay = facts->site.overlay,
                                     .stdin_fd = -1};
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct shim_process trial;
    int status = -1;
    int r = shim_launch(&what, &trial, e);

    if (r < 0)
        return r;
    r = listen_to(trial.sock, &text);
    (void)close(trial.sock);
    if (r < 0)
        (void)kill(trial.pid, SIGKILL);
    while (waitpid(trial.pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)close(trial.pidfd);
    if (r < 0)
        return err_sys(e, r, "cannot test isolation level `%s`", level);
    if (WIFEXITED(status) && WEXITSTATUS(status) == WIRE_PROBE_LACKS)
        return err_set(e, -ENOMEM, "%s", text.buf);
    if (status != 0)
        return err_set(e, -EPERM, "%s", text.len ? text.buf : "the test failed");
    return 0;
}

/* A daemon asks for each job: what was available a moment ago still is. Failures are not kept. */
static int probe_again(const char *level, const struct facts *facts, struct err *e)
{
    static char kept[64];
    static ns_t kept_at;
    char what[sizeof(kept)];
    ns_t now = clock_mono();

    (void)snprintf(what, sizeof(what), "%s %d %u", level, facts->site.overlay, geteuid());
    if (kept_at && now - kept_at < LIMIT_PROBE_KEPT_S * NS_PER_S && strcmp(kept, what) == 0)
        return 0;
    int r = probe(level, facts, e);
    kept_at = r == 0 ? now : 0;
    memcpy(kept, what, sizeof(kept));
    return r;
}

/* --- what follows from it --------------------------------------------------------------------- */

#define FIRST_NETWORK 77

enum { ROUTE_DESTINATION = 1, ROUTE_MASK = 7 }; /* fields of a line, from 0 */

/* A field of hexadecimal digits, which are the bytes of an address in the order of this machine. */
static uint32_t route_field(const char *line, int field)
{
    for (; field > 0; field--) {
        line += strcspn(line, " \t\n");
        line += strspn(line, " \t");
    }
    return ntohl((uint32_t)strtoul(line, NULL, 16));
}

static bool is_routed(const char *routes, uint32_t network)
{
    for (const char *line = strchr(routes, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        uint32_t destination = route_field(line + 1, ROUTE_DESTINATION);
        uint32_t mask = route_field(line + 1, ROUTE_MASK) & 0xffff0000U;

        if (mask && ((destination ^ network) & mask) == 0)
            return true;
    }
    return false;
}

uint32_t isolation_network(const char *routes)
{
    for (uint32_t n = FIRST_NETWORK; n < 256; n++) {
        uint32_t network = 10U << 24 | n << 16;
        if (!is_routed(routes, network))
            return network;
    }
    return 10U << 24 | FIRST_NETWORK << 16;
}

static uint32_t free_network(void)
{
    auto_strbuf struct strbuf routes = STRBUF_INIT;

    (void)io_read_file(AT_FDCWD, "/proc/net/route", LIMIT_FILE_BYTES, &routes, NULL);
    return isolation_network(routes.buf);
}

static void apply_level(const char *level, struct facts *facts)
{
    static const char *const in_network[] = {"lo", "eth0", NULL};
    bool own = strcmp(level, "network") == 0;

    facts->site.isolation = level;
    facts->site.network = own ? free_network() : 0;
    facts->site.interface = own ? "eth0" : "lo";
    if (own)
        facts->site.interfaces = in_network;
}

int isolation_choose(struct arena *a, const char *asked, struct facts *facts, struct err *e)
{
    bool automatic = !asked || strcmp(asked, "auto") == 0;
    struct err why; /* of the trial; the caller need not want it */
    const char *level = automatic ? "names" : asked;
    int r = strcmp(level, "none") == 0 ? 0 : probe_again(level, facts, &why);

    if (r < 0 && e)
        *e = why;
    if (r < 0 && launch_lacks_resource(r))
        return r; /* says nothing about the level */
    if (facts->site.overlay && strcmp(level, "none") == 0)
        return err_set(e, -EINVAL,
                       "--overlay is not available at isolation level `none`; use --isolate names");
    if (r < 0 && facts->site.overlay)
        return err_wrap(e, r, "--overlay is not available here");
    if (r < 0 && !automatic)
        return err_wrap(e, r, "isolation level `%s` is not available", level);
    if (r < 0) {
        facts->site.isolation_why = arena_printf(a, "`%s` is not available: %s", level, why.text);
        level = "none";
    }
    apply_level(level, facts);
    return 0;
}
