/* diff.c - in what two jobs differ; commands in one form. */
#include "spec/diff.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "spec/command.h"

struct pair_of_jobs {
    struct job_spec x, y;
    struct role xr[2], yr[2];
};

static void begin(struct pair_of_jobs *p)
{
    const struct role launcher = {.name = "launcher",
                                  .kind = ROLE_LAUNCHER,
                                  .replicas = 1,
                                  .slots = 1,
                                  .res = RESOURCES_UNSET,
                                  .grace_s = -1};

    *p = (struct pair_of_jobs){0};
    p->xr[0] = launcher;
    p->xr[1] = launcher;
    p->xr[1].name = "worker";
    p->xr[1].kind = ROLE_HOST;
    p->xr[1].replicas = 4;
    memcpy(p->yr, p->xr, sizeof(p->yr));
    p->x = (struct job_spec){.name = "j", .roles = p->xr, .n_roles = 2, .priority = -1};
    p->y = p->x;
    p->y.roles = p->yr;
}

/* The paths, separated by spaces. */
static const char *paths(struct arena *a, struct pair_of_jobs *p, const struct role_pair *pairs,
                         size_t n)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct spec_differences ds;

    spec_diff(a, &p->x, &p->y, pairs, n, &ds);
    for (size_t i = 0; i < ds.n; i++)
        strbuf_addf(&sb, "%s%s", i ? " " : "", ds.v[i].path);
    return arena_strdup(a, sb.buf);
}

static void test_values(struct arena *a)
{
    static const struct env_entry one[] = {{.name = "A", .value = "1"}};
    static const struct env_entry two[] = {{.name = "A", .value = "sesame"},
                                           {.name = "B", .value = ""}};
    struct spec_differences ds;
    struct pair_of_jobs p;

    begin(&p);
    is_str(paths(a, &p, NULL, 0), "", "equal jobs do not differ");
    p.x.deadline_s = 60;
    p.y.queue = "q";
    p.yr[1].replicas = 5;
    p.yr[0].image = "i";
    is_str(paths(a, &p, NULL, 0), "deadline queue roles.launcher.image roles.worker.replicas",
           "left out, added, changed");
    begin(&p);
    p.xr[1].min_failed = 1;
    p.yr[1].min_succeeded = 9;
    p.yr[0].restart = RESTART_ON_FAILURE;
    is_str(paths(a, &p, NULL, 0), "", "different words for one thing");
    begin(&p);
    p.xr[1].env = one;
    p.yr[1].env = two;
    p.xr[1].n_env = 1;
    p.yr[1].n_env = 2;
    is_str(paths(a, &p, NULL, 0), "roles.worker.env.A roles.worker.env.B", "variables by name");
    spec_diff(a, &p.x, &p.y, NULL, 0, &ds);
    is_str(ds.v[0].text, "differs", "their values are not shown");
    begin(&p);
    p.xr[0].restart = p.yr[0].restart = RESTART_ON_FAILURE;
    p.xr[0].restart_limit = 3;
    p.yr[0].restart_limit = -1;
    is_str(paths(a, &p, NULL, 0), "roles.launcher.restart_limit", "without end is more than 3");
    p.y.has_restart_budget = true;
    p.y.restart_budget = 3;
    is_str(paths(a, &p, NULL, 0), "", "a budget for one is its limit");
}

static void test_roles(struct arena *a)
{
    static const struct role_pair split[] = {
        {"launcher", "launcher"}, {"worker", "worker"}, {"worker", "launcher"}};
    struct pair_of_jobs p;

    begin(&p);
    p.yr[1].name = "host";
    is_str(paths(a, &p, NULL, 0), "roles.worker roles.host",
           "a role that is gone, and one that is new");
    begin(&p);
    p.yr[1].replicas = 3;
    p.yr[0].kind = p.xr[0].kind = ROLE_HOST;
    is_str(paths(a, &p, split, 3), "roles.worker.name",
           "a role that became two has as many replicas as both");
}

static void test_commands(struct arena *a)
{
    static const char *const plain[] = {"mpirun", "--mca", "a",  "1", "-np",
                                        "4",      "prog",  "-x", NULL};
    static const char *const args[] = {"-np", "4", NULL}, *const program[] = {"prog", "-x", NULL};
    static const struct env_entry mca[] = {{.name = "a", .value = "1"}};
    static const char *const dollars[] = {"echo", "$(A) $$ $B", NULL};
    static const struct mpi_spec mpi = {
        .mca = mca, .n_mca = 1, .extra_args = args, .program = program};
    struct pair_of_jobs p;
    const char *home = NULL;

    begin(&p);
    p.xr[0].argv = plain;
    p.y.mpi = &mpi;
    is_str(paths(a, &p, NULL, 0), "", "a composed mpirun line is a launcher's own");
    p.xr[0].argv = NULL;
    p.xr[0].shell = "mpirun -np 4 -mca a 1 'prog' -x";
    is_str(paths(a, &p, NULL, 0), "", "and so is the text of a plain call");
    p.xr[0].shell = "mpirun -np 4 -mca a 1 prog $X";
    is_str(paths(a, &p, NULL, 0), "roles.launcher.command", "but not one that a shell changes");
    begin(&p);
    p.xr[1].slots = 8;
    p.xr[0].argv = plain;
    p.yr[0].argv = (const char *const[]){"mpirun", "-N", "8",    "-mca", "a", "1",
                                         "-np",    "4",  "prog", "-x",   NULL};
    is_str(paths(a, &p, NULL, 0), "roles.worker.slots",
           "ranks per host are said by slots or by an option");
    is_int((long long)mpirun_split(a, plain, &home), 6,
           "mpirun's words end where the program begins");
    ok(!home, "mpirun of PATH has no home");
    mpirun_split(a, (const char *const[]){"/opt/mpi/bin/mpirun", "p", NULL}, &home);
    is_str(home, "/opt/mpi", "the home of a full path");
    p.xr[0].argv = dollars;
    is_str(spec_command(a, &p.x, &p.xr[0])[1], "$$(A) $$$$ $B", "a kubelet would expand these");
    p.xr[0].expand_argv = true;
    is_str(spec_command(a, &p.x, &p.xr[0])[1], "$(A) $$ $B", "and here it does");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_values(a);
    test_roles(a);
    test_commands(a);
    return tap_done();
}
