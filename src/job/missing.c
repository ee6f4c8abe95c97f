/* missing.c - a program that was not there: which one, and where it was looked for.
 *
 * Whoever could not execute it says so in words of its own: Muster, a shell, env, Open MPI's
 * mpirun, Hydra's proxy. What none of them says is which directory, and which PATH; the plan knows
 * both.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "job/hint.h"
#include "job/mask.h"
#include "job/verdict.h"

/* Is it what the ranks run that was missed, rather than what the process itself was to execute? */
struct missed {
    const char *program;
    bool of_ranks;
};

/* "bash: line 1: NAME: command not found", "env: 'NAME': No such file or directory" */
static const char *shell_missed(struct arena *a, const char *line)
{
    static const char *const ends[] = {": command not found", ": not found",
                                       ": No such file or directory"};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        const char *end = strstr(line, ends[i]), *at = end;

        if (!end || end[strlen(ends[i])])
            continue;
        while (at > line && at[-1] != ' ')
            at--;
        if (end - at > 2 && *at == '\'' && end[-1] == '\'')
            return arena_strndup(a, at + 1, (size_t)(end - at) - 2);
        return arena_strndup(a, at, (size_t)(end - at));
    }
    return NULL;
}

/* "Executable: NAME"; "… execvp error on file NAME (No such file or directory)" */
static const char *mpirun_missed(struct arena *a, const char *line)
{
    static const char *const words[] = {"Executable: ", "execvp error on file "};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        const char *at = strstr(line, words[i]);

        if (at && (i > 0 || at == line) && (i == 0 || strstr(at, "(No such file")))
            return arena_strndup(a, at + strlen(words[i]), strcspn(at + strlen(words[i]), " "));
    }
    return NULL;
}

static struct missed find_missing(struct arena *a, const struct job *job, const char *const *tail)
{
    const struct cause *c = &job->cause;
    struct missed m = {0};

    if (c->kind == CAUSE_EXEC && c->end.exec_errno == -ENOENT && !ending_is_ours(&c->end))
        return (struct missed){verdict_program(job, c),
                               c->process < 0 || !job->procs[c->process].end.exec_errno};
    for (; c->kind == CAUSE_EXIT && tail && *tail; tail++) {
        const char *of_rank = mpirun_missed(a, *tail);
        const char *own = c->end.code == 127 ? shell_missed(a, *tail) : NULL;

        if (of_rank || own)
            m = (struct missed){of_rank ? of_rank : own, of_rank != NULL};
    }
    return m;
}

/* The replica whose directory and PATH were used. */
static const struct replica *place_of(const struct job *job, bool of_ranks)
{
    for (uint32_t i = 0; of_ranks && i < job->plan->n_replicas; i++)
        if (job->plan->replicas[i].role->kind == ROLE_HOST)
            return &job->plan->replicas[i];
    return &job->plan->replicas[job->cause.replica];
}

static const char *path_of(struct arena *a, const struct job *job, const struct replica *rp)
{
    const struct env_value *env;
    size_t n = plan_env(a, job->plan, rp->first_process, FIRST_START, true, &env);

    for (size_t i = 0; i < n; i++)
        if (strcmp(env[i].name, "PATH") == 0)
            return env[i].value;
    return "";
}

/* What was known before anything was started, where more than a place is to be told. */
static const struct missing *find_known(const struct job *job)
{
    const struct cause *c = &job->cause;
    const struct missing *m =
        c->kind == CAUSE_EXEC && c->process >= 0 && !job->procs[c->process].started
            ? plan_missing(job->plan, &job->plan->processes[c->process])
            : NULL;

    return m && (m->by || *m->name == '/') ? m : NULL;
}

bool hint_missing(const struct job *job, const char *const *tail, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    struct missed m = *job->cause.end.init ? (struct missed){0} : find_missing(a, job, tail);
    const struct replica *rp = place_of(job, m.of_ranks);
    const struct missing *known = find_known(job);
    const char *where;

    if (known) {
        strbuf_addstr(out, missing_text(a, job->plan, known));
        mask_sentence(job->plan, out);
        return true;
    }
    if (!m.program || !*m.program || *m.program == '/')
        return false;
    where = strchr(m.program, '/') ? plan_workdir(a, job->plan, rp) : path_of(a, job, rp);
    if (!*where)
        return false;
    strbuf_add_escaped(out, m.program, strlen(m.program));
    strbuf_addstr(out, strchr(m.program, '/') ? " was searched for in " : " not found in PATH, ");
    strbuf_add_escaped(out, where, strlen(where));
    mask_sentence(job->plan, out);
    return true;
}
