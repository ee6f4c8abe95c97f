/* The configuration file: what it may hold, and what is refused. */
#include "cli/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/tap.h"

static int read_text(const char *text, struct settings *ret)
{
    auto_arena struct arena *a = arena_new();

    return settings_of_text(a, "config.yaml", text, strlen(text), ret);
}

int main(void)
{
    static const char *const bad[] = {
        "retention: {kep: 5}\n",
        "retentoin: {}\n",
        "retention: {keep: -1}\n",
        "retention: {keep: many}\n",
        "retention: {max-age: 30}\n",
        "retention: {max-age: long}\n",
        "retention: {max-size: big}\n",
        "retention: {max-size: [1]}\n",
        "retention: {max-size: -1}\n",
        "retention: 5\n",
        "on: laptop\n",
        "on: [local]\n",
        "[]\n",
        "retention: {\n",
        "retention: {}\n---\nretention: {}\n",
    };
    struct settings s;

    if (!freopen("/dev/null", "w", stderr)) /* the diagnostics are for people */
        return 1;
    is_int(read_text("", &s), 0, "an empty file");
    is_int(s.retention.keep, LIMIT_RUNS_KEPT, "the default number");
    is_int(s.retention.max_age_ms, RETENTION_NONE, "any age");
    is_int(s.retention.max_size, RETENTION_NONE, "any size");
    is_int(read_text("retention:\n  keep: 7\n  max-age: 2d\n  max-size: 1Ki\n", &s), 0, "all keys");
    is_int(s.retention.keep, 7, "the number");
    is_int(s.retention.max_age_ms, INT64_C(48) * 3600 * 1000, "the age");
    is_int(s.retention.max_size, 1024, "the size");
    is_str(s.on, "local", "the engine that is meant without any");
    is_int(read_text("on: sim\n", &s), 0, "an engine");
    is_str(s.on, "sim", "is chosen");
    is_int(read_text("retention: {max-size: 2048}\n", &s), 0, "a size without a unit");
    is_int(s.retention.max_size, 2048, "is bytes");
    is_int(s.retention.keep, LIMIT_RUNS_KEPT, "what is not given is the default");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        is_int(read_text(bad[i], &s), -EINVAL, "refused: %.*s", (int)strcspn(bad[i], "\n"), bad[i]);
    is_int(s.retention.max_size, 2048, "nothing is changed then");
    return tap_done();
}
