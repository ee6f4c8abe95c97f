/* apply.c - what the status of a job says to who waits for it. */
#include "engine/kubernetes/apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tap.h"
#include "doc/json_read.h"

#define IS(type, status, message)                                                                  \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"message\":\"" message "\"}"
#define JOB(list) "{\"status\":{\"conditions\":[" list "]}}"

static enum apply_end end_of(struct arena *a, const char *text)
{
    return apply_end_of(json_node(a, text, strlen(text)));
}

static void ends(struct arena *a)
{
    is_int(end_of(a, "{}"), APPLY_GOES_ON, "no status yet");
    is_int(end_of(a, JOB(IS("Running", "True", ""))), APPLY_GOES_ON, "it runs");
    is_int(end_of(a, JOB(IS("Failed", "False", ""))), APPLY_GOES_ON, "a condition that is false");
    is_int(end_of(a, JOB(IS("Running", "False", "") "," IS("Succeeded", "True", ""))),
           APPLY_SUCCEEDED, "it has succeeded");
    is_int(end_of(a, JOB(IS("Failed", "True", ""))), APPLY_FAILED, "it has failed");
    is_int(end_of(a, "{\"status\":{\"phase\":\"Succeeded\"}}"), APPLY_SUCCEEDED, "T9k's phase");
    is_int(end_of(a, "{\"metadata\":{\"annotations\":{\"muster.internal/exit-code\":\"0\"}},"
                     "\"status\":{\"phase\":\"Succeeded\"}}"),
           APPLY_SUCCEEDED, "with an exit code");
    is_int(end_of(a, "{\"metadata\":{\"annotations\":{\"muster.internal/exit-code\":\"7\"}},"
                     "\"status\":{\"phase\":\"Succeeded\"}}"),
           APPLY_FAILED, "which counts");
    is_int(end_of(a, "{\"status\":{\"phase\":\"Succeeded\",\"conditions\":[" IS("Failed", "True",
                                                                                "") "]}}"),
           APPLY_FAILED, "T9k's Succeeded means ended: the condition counts");
    is_int(end_of(a, "{\"status\":{\"phase\":\"Failed\"}}"), APPLY_FAILED, "T9k's Failed");
    is_int(end_of(a, "{\"status\":{\"launcherStatus\":\"Active\"}}"), APPLY_GOES_ON, "v1alpha1");
    is_int(end_of(a, "{\"status\":{\"launcherStatus\":\"Failed\"}}"), APPLY_FAILED, "v1alpha1");
}

static void add(void *ctx, const char *text)
{
    strbuf_addf(ctx, "%s;", text);
}

static void news(struct arena *a)
{
    static const char *const steps[][2] = {
        {JOB(IS("Created", "True", "made")), "Created: made;"},
        {JOB(IS("Created", "True", "made") "," IS("Running", "True", "")), "Running;"},
        {JOB(IS("Created", "True", "made") "," IS("Restarting", "True", "again")),
         "Restarting: again;"},
        {JOB(IS("Created", "True", "made") "," IS("Running", "True", "")), "Running;"},
        {JOB(IS("Running", "False", "") "," IS("Failed", "True", "worker-1 exited")),
         "Failed: worker-1 exited;"},
    };
    char *seen = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        auto_strbuf struct strbuf out = STRBUF_INIT;
        const struct node *object = json_node(a, steps[i][0], strlen(steps[i][0]));
        char *now = apply_tell(a, object, seen, add, &out);

        is_str(out.buf, steps[i][1], "step %zu", i);
        free(seen);
        seen = now;
    }
    free(seen);
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    ends(a);
    news(a);
    return tap_done();
}
