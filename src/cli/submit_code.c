/* submit_code.c - see submit_code.h. */
#include "cli/submit_code.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/daemon.h"
#include "engine/snapshot.h"
#include "rundir/rundir.h"

/* Azure ML uploads `code`; other files run in their own directory. */
static char *root_of(const struct submitted *s, const char *cwd)
{
    const struct job_spec *spec = s->spec;
    const char *dir = spec->file ? spec->dir : cwd;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const char *workdir = spec->roles[i].workdir;

        if (workdir && platform_sends_workdir(spec->platform.environment)) {
            auto_free char *path =
                *workdir == '/' ? xstrdup(workdir) : xasprintf("%s/%s", dir, workdir);
            char *real = realpath(path, NULL);

            if (real)
                return real;
        }
    }
    return realpath(dir, NULL);
}

int submit_code_take(const struct submit_options *o, const struct submitted *s, const char *cwd,
                     struct submit_code *ret, struct err *e)
{
    auto_free char *store = daemon_code_dir(), *root = NULL;

    *ret = (struct submit_code){0};
    if (o->in_place || o->job.workdir || (!s->spec->file && !o->snapshot))
        return 0;
    root = root_of(s, cwd);
    if (!root)
        return err_sys(e, -errno, "cannot access the directory of the job");
    if (!store)
        return err_set(e, -ENOENT, "set HOME or MUSTER_HOME to choose where the daemon keeps code");
    int r = io_mkdir_p(store, 0700, e);
    if (r < 0)
        return r;
    auto_free char *name = rundir_new_id(), *to = xasprintf("%s/%s", store, name);
    r = snapshot_take(root, to, e);
    if (r < 0)
        return r;
    ret->root = root;
    ret->name = name;
    root = name = NULL;
    return 0;
}

void submit_code_drop(const struct submit_code *code)
{
    auto_free char *store = code->name ? daemon_code_dir() : NULL;
    auto_free char *path = store ? xasprintf("%s/%s", store, code->name) : NULL;

    if (path)
        (void)io_remove_tree(AT_FDCWD, path, NULL);
}

void submit_code_release(struct submit_code *code)
{
    free(code->root);
    free(code->name);
}

/* The same place in the copy; NULL: it is not in the directory. */
static const char *moved(struct arena *a, const struct submission *sub, const char *path)
{
    auto_free char *real = realpath(path, NULL);
    size_t n = strlen(sub->code_root);

    if (!real || strncmp(real, sub->code_root, n) != 0 || (real[n] && real[n] != '/'))
        return NULL;
    return arena_printf(a, "%s%s", sub->code, real + n);
}

static void move_role(struct arena *a, const struct submission *sub, const struct job_spec *spec,
                      struct role *role)
{
    const char *dir = spec->file ? spec->dir : sub->cwd, *to;

    if (!role->workdir && spec->file)
        return; /* it follows spec->dir */
    to = moved(a, sub,
               !role->workdir          ? dir
               : *role->workdir == '/' ? role->workdir
                                       : arena_printf(a, "%s/%s", dir, role->workdir));
    if (to)
        role->workdir = to;
}

void submit_code_move(struct arena *a, const struct submission *sub, struct submitted *s)
{
    if (!sub->code)
        return;
    struct job_spec *copy = ARENA_NEW(a, struct job_spec);
    struct role *roles = ARENA_ARRAY(a, struct role, s->spec->n_roles + 1);
    const char *dir = s->spec->file ? moved(a, sub, s->spec->dir) : NULL;

    *copy = *s->spec;
    memcpy(roles, copy->roles, copy->n_roles * sizeof(*roles));
    for (size_t i = 0; i < copy->n_roles; i++)
        move_role(a, sub, s->spec, &roles[i]);
    copy->roles = roles;
    if (dir)
        copy->dir = dir;
    s->spec = copy;
}
