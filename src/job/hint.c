/* hint.c - see hint.h.
 *
 * A command that asks for PAI_HOST_IP_work_0 where the role is called worker ends with a KeyError or
 * an unbound variable. The plan knows what is set, and so which name was meant. A command that calls
 * horovodrun where there is none ends with 127; it stands for an mpirun line, and that can be said.
 */
#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "job/hint.h"
#include "job/mask.h"
#include "plan/horovod.h"

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Names that a platform promises; any other word may be the program's own. */
static bool is_promised(const char *name)
{
    static const char *const prefixes[] = {"PAI_", "AZUREML_", "AZ_BATCH", "MASTER_"};

    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* --- which variable it was --------------------------------------------------------------------- */

/* KeyError: 'NAME' */
static const char *name_after(struct arena *a, const char *line, const char *words)
{
    const char *at = strstr(line, words);
    size_t n = 0;

    if (!at)
        return NULL;
    at += strlen(words);
    at += *at == '\'' || *at == '"';
    while (in_name(at[n]))
        n++;
    return arena_strndup(a, at, n);
}

/* bash: line 1: NAME: unbound variable */
static const char *name_before(struct arena *a, const char *line, const char *words)
{
    const char *end = strstr(line, words), *at = end;

    if (!end)
        return NULL;
    while (at > line && in_name(at[-1]))
        at--;
    return arena_strndup(a, at, (size_t)(end - at));
}

static const char *name_missed(struct arena *a, const char *line)
{
    const char *const found[] = {
        name_after(a, line, "KeyError: "),
        name_before(a, line, ": unbound variable"),
        name_before(a, line, ": parameter not set"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(found); i++)
        if (found[i] && is_promised(found[i]))
            return found[i];
    return NULL;
}

/* --- what would have been there ---------------------------------------------------------------- */

static uint32_t process_of_cause(const struct job *job)
{
    const struct cause *c = &job->cause;

    return c->process >= 0 ? (uint32_t)c->process : job->plan->replicas[c->replica].first_process;
}

static bool hint_variable(const struct job *job, const char *line, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    const struct env_value *env;
    const char *name = name_missed(a, line);

    if (!name)
        return false;
    size_t n = plan_env(a, job->plan, process_of_cause(job), FIRST_START, true, &env), n_known = 0;
    const char **known = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(env[i].name, name) == 0)
            return false; /* it was set: the command itself has lost it */
        if (is_promised(env[i].name))
            known[n_known++] = env[i].name;
    }
    const char *near = nearest_word(name, known, n_known);
    strbuf_addf(out, "%s is not set in this job", name);
    if (near)
        strbuf_addf(out, ", the nearest that is: %s", near);
    return true;
}

/* --- horovodrun -------------------------------------------------------------------------------- */

/* The command as a shell would read it. */
static const char *command_text(struct arena *a, const struct process *p)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (p->shell)
        return p->shell;
    for (const char *const *word = p->argv; word && *word; word++) {
        strbuf_addstr(&text, word == p->argv ? "" : " ");
        strbuf_add_shell_word(&text, *word);
    }
    return arena_strndup(a, text.buf, text.len);
}

static bool is_missing(const char *line, const char *program)
{
    return strstr(line, program) && strstr(line, "not found");
}

static bool hint_horovodrun(const struct job *job, const char *const *tail, struct strbuf *out)
{
    const struct cause *c = &job->cause;
    bool missing = c->kind == CAUSE_EXEC;

    if (c->process < 0 || c->exit_code != 127)
        return false;
    for (; tail && *tail && !missing; tail++)
        missing = is_missing(*tail, "horovodrun");
    if (!missing)
        return false;
    auto_arena struct arena *a = arena_new();
    const char *text = command_text(a, &job->plan->processes[c->process]);
    const struct shell_word *words;
    size_t n = shell_words(a, text, &words);
    const char *line = horovod_as_mpirun(a, text, words, n);
    if (!line)
        return false;
    strbuf_addstr(out, "horovodrun is not installed here; the same with mpirun: ");
    strbuf_add_escaped(out, line, strlen(line));
    mask_sentence(job->plan, out);
    return true;
}

/* ----------------------------------------------------------------------------------------------- */

void hint_for(const struct job *job, const char *const *tail, struct strbuf *out)
{
    size_t n = 0;

    if (job->cause.replica < 0)
        return;
    if (hint_horovodrun(job, tail, out))
        return;
    while (tail && tail[n])
        n++;
    while (n-- > 0) /* the last words of a program are why it ended */
        if (hint_variable(job, tail[n], out))
            return;
}
