/* family.c - level `none`: whose process it is, where no namespace tells.
 *
 * Every process of the job is below the supervisor, because what loses its parent becomes its
 * child. So the way up from a process ends at one that we have started ourselves for a replica, or
 * at an orphan, which then has to be taken at its word: the environment it was started with says
 * role and index. The word is not asked first, because mpiexec.hydra gives what runs in a worker
 * the launcher's environment.
 *
 * A process that is not below us but has the run's mark (some other daemon of the user's started it
 * with our environment) is one of the job too, if it is of our own uid.
 */
#include <string.h>

#include "base/procs.h"
#include "shim/shim.h"

static struct replica *by_name(const struct shim *s, const char *role, const char *index)
{
    size_t n = strlen(role);

    for (uint32_t i = 0; i < s->n_replicas; i++) {
        const char *name = s->replicas[i].name; /* ROLE-INDEX */

        if (strncmp(name, role, n) == 0 && name[n] == '-' && strcmp(name + n + 1, index) == 0)
            return &s->replicas[i];
    }
    return NULL;
}

/* What the environment of a process says. */
static bool takes_its_word(const struct shim *s, pid_t pid, struct replica **ret)
{
    auto_strbuf struct strbuf words = STRBUF_INIT;
    const char *id, *role, *index;

    if (proc_environ(pid, &words) < 0)
        return false;
    id = environ_value(&words, "MUSTER_RUN_ID");
    if (!id || strcmp(id, s->run_id) != 0)
        return false;
    role = environ_value(&words, "MUSTER_ROLE");
    index = environ_value(&words, "MUSTER_INDEX");
    *ret = role && index ? by_name(s, role, index) : NULL;
    return true;
}

bool family_find(const struct shim *s, pid_t pid, struct replica **ret)
{
    pid_t p = pid;

    *ret = NULL;
    if (pid == s->pid)
        return false;
    for (int i = 0; i < LIMIT_ANCESTORS && p > 1; i++) {
        const struct child *c = child_find(s, p);
        pid_t parent;

        if (c) {
            *ret = c->replica;
            return true;
        }
        parent = proc_parent(p);
        if (parent == s->pid) {
            (void)(takes_its_word(s, p, ret) || takes_its_word(s, pid, ret));
            return true;
        }
        p = parent;
    }
    return proc_is_own(pid) && takes_its_word(s, pid, ret);
}
