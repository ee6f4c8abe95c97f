/* adjust.c - fuzzes what options make of a job: a line each for --scale, --nproc, --map and
 * --entrypoint (an empty one: not given), the rest is the command.
 *
 * Whatever they are: there is a replica and a process of every role, --fit makes nothing larger,
 * and a command that is refused leaves the job as it was. */
#include <string.h>

#include "base/limits.h"
#include "common.h"
#include "spec/adjust.h"

static const char *next_line(struct arena *a, const char **text)
{
    size_t n = strcspn(*text, "\n");
    const char *line = arena_strndup(a, *text, n);

    *text += n + ((*text)[n] == '\n');
    return line;
}

static void check_roles(const struct job_spec *before, const struct job_spec *after, bool smaller)
{
    MUST(after->n_roles == before->n_roles);
    for (size_t i = 0; i < after->n_roles; i++) {
        const struct role *was = &before->roles[i], *is = &after->roles[i];

        MUST(is->replicas >= 1 && is->replicas <= LIMIT_REPLICAS);
        MUST(is->slots >= 1 && is->slots <= LIMIT_SLOTS);
        MUST(!smaller || (is->replicas <= was->replicas && is->slots <= was->slots));
        MUST(is->kind != ROLE_HOST || (!is->shell && !is->argv));
        MUST(is->kind != ROLE_LAUNCHER || is->replicas == 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena struct arena *a = arena_new();
    const char *text = arena_strndup(a, (const char *)data, size), *option[4];
    struct role roles[] = {
        {.name = "launcher", .kind = ROLE_LAUNCHER, .replicas = 1, .slots = 1},
        {.name = "worker", .kind = ROLE_HOST, .replicas = 4, .slots = 8, .min_succeeded = 4},
        {.name = "ps", .kind = ROLE_PLAIN, .replicas = 3, .slots = 1, .workdir = "/w/d"},
    };
    struct job_spec spec = {.name = "j", .file = "j", .roles = roles, .n_roles = ARRAY_SIZE(roles)};
    const struct job_spec *made;
    struct changes changes;
    struct err e;

    for (size_t i = 0; i < ARRAY_SIZE(option); i++)
        option[i] = next_line(a, &text);
    if (size % 3)
        roles[0].shell = text;
    roles[2].argv = size % 2 ? (const char *const[]){"sh", "-c", text, NULL} : NULL;
    for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
        roles[i].res = RESOURCES_UNSET;

    const char *const lists[][2] = {
        {*option[0] ? option[0] : NULL},
        {*option[1] ? option[1] : NULL},
        {*option[2] ? option[2] : NULL},
        {*option[3] ? option[3] : NULL},
    };
    const struct adjustments adj = {.scale = lists[0],
                                    .nproc = lists[1],
                                    .map = lists[2],
                                    .entrypoint = lists[3],
                                    .fit = size % 5 != 0,
                                    .cpus = (int)(size % 33),
                                    .gpus = -1};

    if (spec_adjust(a, &spec, &adj, &made, &changes, &e) < 0) {
        MUST(e.code == -EINVAL && *e.text);
        return 0;
    }
    check_roles(&spec, made, !*option[0] && !*option[1]);
    for (size_t i = 0; i < changes.n; i++)
        MUST(*changes.v[i].text);
    return 0;
}
