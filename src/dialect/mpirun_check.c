/* mpirun_check.c - does the number of processes that mpirun is told fit the hosts it has?
 *
 * Open MPI finds out when everything has been started, or does not mind and leaves hosts idle. */
#include <string.h>

#include "base/strbuf.h"
#include "dialect/mpirun.h"

static void add_words(struct strbuf *sb, const char *const *words)
{
    for (; words && *words; words++) {
        if (sb->len)
            strbuf_addch(sb, ' ');
        strbuf_add_shell_word(sb, *words);
    }
}

/* The line as text for a shell; the text of `sh -c TEXT` is in a word of its own, which
 * mpirun_in_shell() looks into. NULL if there is none. */
static const char *line_of(struct arena *a, const struct job_spec *spec,
                           const struct role *launcher)
{
    static const char *const mpirun[] = {"mpirun", NULL};
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (spec->mpi) {
        add_words(&sb, mpirun);
        add_words(&sb, spec->mpi->extra_args);
        add_words(&sb, spec->mpi->program);
    } else if (launcher->shell) {
        return launcher->shell;
    } else {
        add_words(&sb, launcher->argv);
    }
    return sb.len ? arena_strndup(a, sb.buf, sb.len) : NULL;
}

struct hosts {
    int64_t room;  /* processes that all of them take */
    int32_t slots; /* that each takes; 0 if they differ */
    int32_t n;
};

/* False if nothing says how many processes some host takes. */
static bool count_hosts(const struct job_spec *spec, struct hosts *ret)
{
    *ret = (struct hosts){0};
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        if (role->kind != ROLE_HOST && !role->hosts_ranks)
            continue;
        if (role->slots_kind != SLOTS_NUMBER)
            return false;
        ret->slots = !ret->n || ret->slots == role->slots ? role->slots : 0;
        ret->n += role->replicas;
        ret->room += (int64_t)role->replicas * role->slots;
    }
    return ret->room > 0;
}

/* Does the line itself say how processes are spread, other than host by host? */
static bool spreads(const char *line)
{
    static const char *const words[] = {"map-by node", "map-by ppr", "bynode", "loadbalance",
                                        "rankfile",    "-H ",        "--host "};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strstr(line, words[i]))
            return true;
    }
    return false;
}

void mpirun_check(const struct binder *b, const struct job_spec *spec, const struct node *at,
                  const char *hint)
{
    bool open_mpi = !spec->implementation || strcmp(spec->implementation, "OpenMPI") == 0;
    const struct role *launcher = spec_role(spec, "launcher");
    const char *line = launcher ? line_of(b->a, spec, launcher) : NULL;
    struct mpirun_call call;
    struct hosts hosts;
    int32_t each;

    if (!line || !count_hosts(spec, &hosts) || !mpirun_in_shell(b->a, line, &call))
        return;
    at = at ? at : launcher->command_at;
    if (!at)
        return;
    each = call.per_node ? call.per_node : hosts.slots;
    if (call.np > hosts.room && open_mpi && !strstr(line, "oversubscribe"))
        diag_at(b->ds, at, "W0408", hint, "%s starts %d processes, but the workers have %lld slots",
                call.program, call.np, (long long)hosts.room);
    else if (call.np > 1 && call.np < hosts.room && hosts.n > 1 && each && call.np % each &&
             !spreads(line))
        diag_at(b->ds, at, "W0407", NULL,
                "%d processes is not a multiple of %d per worker: %d of %d workers are full",
                call.np, each, call.np / each, hosts.n);
}
