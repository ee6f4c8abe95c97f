/* agent.c - see agent.h. */
#include "operator/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/io.h"
#include "base/mem.h"

enum {
    PROGRAM_BYTES = 700 * 1024, /* in base64 a ConfigMap has room for it */
    KEY_BYTES = 32,             /* what the shim reads: PEER_KEY_BYTES */
};

int agent_program(struct arena *a, const char *name, const char **ret, struct err *e)
{
    auto_strbuf struct strbuf program = STRBUF_INIT;
    auto_free char *file = NULL;
    char self[PATH_MAX], *text;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int r;

    if (n <= 0)
        return err_sys(e, -errno, "cannot find this program");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    file = xasprintf("%s/%s", self, name);
    r = io_read_file(AT_FDCWD, file, PROGRAM_BYTES, &program, e);
    if (r < 0)
        return r;
    text = arena_alloc(a, BASE64_TEXT(program.len));
    base64_encode(program.buf, program.len, text);
    *ret = text;
    return 0;
}

const char *agent_key(struct arena *a)
{
    unsigned char key[KEY_BYTES];
    char *text = arena_alloc(a, BASE64_TEXT(sizeof(key)));

    arc4random_buf(key, sizeof(key));
    base64_encode(key, sizeof(key), text);
    return text;
}
