/* init.c - what init commands run, in what around them, and where volumes are at level `none`. */
#include "plan/test/seed.h"

#include "base/limits.h"

static const char *const command[] = {"sh", "-c", NULL};
static const char *const args[] = {"cp /in/$(FILE) /data/x >/data/log; echo $$(FILE) $(NO)", NULL};
static const struct env_entry init_env[] = {
    {.name = "FILE", .value = "f"},
    {.name = "AT", .value = "/in/f"},
    {.name = "TOKEN", .source = ENV_SECRET, .ref_name = "s", .ref_key = "k"},
};
static const struct env_entry role_env[] = {{.name = "OWN", .value = "/data/y"}};
static const struct mount mounts[] = {
    {.source = VOLUME_EMPTY_DIR, .volume = "v", .path = "/data"},
    {.source = VOLUME_HOST_PATH, .volume = "h", .from = "/srv", .path = "/in", .sub_path = "sub"},
};
static const struct init_command commands[] = {
    {.name = "fetch", .argv = command, .args = args, .env = init_env, .n_env = 3, .workdir = "/in"},
    {.name = "entry.point"},
};
static const struct secret_value values[] = {
    {.source = ENV_SECRET, .name = "s", .key = "k", .value = "hidden"}};
static const struct mount_place places[] = {
    {.mount = &mounts[0], .path = "/data", .kind = PLACE_FRESH},
    {.mount = &mounts[1], .path = "/in", .kind = PLACE_HERE, .here = "/srv"},
};
static const struct mount_table tables[][3] = {{{places, 1}, {&places[1], 1}, {NULL, 0}},
                                               {{NULL, 0}, {NULL, 0}, {NULL, 0}}};
static const struct mount_table *const of_roles[] = {tables[0], tables[1]};
static const char *const dirs[] = {"/in", NULL};
static const char *const *const of_role_dirs[] = {dirs, dirs};

static const struct plan *make(struct seed *s)
{
    const struct plan *plan = NULL;
    struct err e;

    s->roles[0].env = role_env;
    s->roles[0].n_env = 1;
    s->roles[0].workdir = "/data/work";
    s->roles[0].init = commands;
    s->roles[0].n_init = 2;
    s->facts.site.mounts = of_roles;
    s->facts.site.init_dirs = of_role_dirs;
    s->facts.given.secrets = values;
    s->facts.given.n_secrets = 1;
    ok(plan_build(s->arena, &s->spec, &s->facts, &plan, &e) == 0, "planned");
    return plan;
}

static const char *value_of(const struct env_value *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return v[i].value;
    return NULL;
}

static void test_command(struct seed *s)
{
    const struct plan *plan = make(s);
    const struct replica *r = &plan->replicas[0];
    const char *const *argv = plan_init_argv(s->arena, plan, r, 0, FIRST_START, false);
    const struct env_value *env;
    char log[PLAN_LOG_NAME];

    is_str(argv[0], "sh", "its command");
    is_str(argv[2], "cp /in/f /data/x >/data/log; echo $(FILE) $(NO)",
           "its arguments, with its own variables in them");
    ok(!argv[3], "and no more");
    ok(!plan_init_argv(s->arena, plan, r, 1, FIRST_START, false), "an entry point is not known");
    size_t n = plan_init_env(s->arena, plan, r, 0, FIRST_START, false, &env);
    is_str(value_of(env, n, "TOKEN"), "hidden", "its secrets");
    is_str(value_of(env, n, "MUSTER_ROLE"), "launcher", "where it is");
    ok(!value_of(env, n, "OWN"), "nothing of the main container");
    n = plan_init_env(s->arena, plan, r, 0, FIRST_START, true, &env);
    is_str(value_of(env, n, "TOKEN"), "***", "shown, they are masked");
    is_str(plan_init_workdir(s->arena, plan, r, 0), "/in", "its directory");
    is_str(plan_init_workdir(s->arena, plan, r, 1), "/data/work", "or the role's");
    is_str(plan_init_log(r, "fetch", FIRST_START, log), "launcher-0.init-fetch.log", "its log");
    is_str(plan_init_log(r, "entry.point", (struct start){.attempt = 2, .instance = 3}, log),
           "launcher-0.attempt-2.restart-2.init-entry-point.log", "of a later start");
}

static void test_skipping(struct seed *s)
{
    static const char *const one[] = {"fetch", NULL}, *const all[] = {"", NULL};
    static const struct debug_role debugged[] = {{.role = "launcher", .skip_init = true}};
    const struct plan *plan = make(s);
    const struct replica *r = &plan->replicas[0];

    ok(plan_runs_init(plan, r, 0, FIRST_START) && plan_runs_init(plan, r, 1, FIRST_START),
       "all run");
    ok(!plan_runs_init(plan, r, 2, FIRST_START), "what is not there does not");
    s->facts.caller.skip_init = one;
    ok(!plan_runs_init(plan, r, 0, FIRST_START) && plan_runs_init(plan, r, 1, FIRST_START),
       "one is left out by its name");
    s->facts.caller.skip_init = all;
    ok(!plan_runs_init(plan, r, 1, FIRST_START), "or all");
    s->facts.caller.skip_init = NULL;
    s->spec.debug = true;
    s->spec.debug_roles = debugged;
    s->spec.n_debug_roles = 1;
    ok(!plan_runs_init(plan, r, 0, PLAN_START(plan)), "or by the file's debug mode");
    ok(plan_runs_init(plan, r, 0, FIRST_START), "which may end: then it runs");
}

/* Nothing can be mounted: paths lead to where the volumes are. */
static void test_none(struct seed *s)
{
    const struct plan *plan;
    const struct env_value *env;

    s->facts.site.isolation = "none";
    plan = make(s);
    const struct replica *r = &plan->replicas[0];
    const char *const *argv = plan_init_argv(s->arena, plan, r, 0, FIRST_START, false);

    is_str(argv[2],
           "cp /srv/sub/f /tmp/ID/volumes/launcher-0/v/x "
           ">/tmp/ID/volumes/launcher-0/v/log; echo $(FILE) $(NO)",
           "the paths of a command, redirections too");
    size_t n = plan_init_env(s->arena, plan, r, 0, FIRST_START, false, &env);
    is_str(value_of(env, n, "AT"), "/srv/sub/f", "a variable");
    n = plan_env(s->arena, plan, r->first_process, FIRST_START, false, &env);
    is_str(value_of(env, n, "OWN"), "/tmp/ID/volumes/launcher-0/v/y", "the main container's too");
    is_str(plan_init_workdir(s->arena, plan, r, 0), "/srv/sub", "a directory");
    is_str(plan_workdir(s->arena, plan, r), "/tmp/ID/volumes/launcher-0/v/work", "and the role's");
    is_str(plan_workdir(s->arena, plan, &plan->replicas[1]), "/usr/local/code",
           "a role without volumes is as it was");
}

static void test_sub_path(struct seed *s)
{
    static const struct mount plain = {.sub_path = "a/$(OWN)"},
                              expanded = {.sub_path = "a$(OWN)", .expand_sub_path = true}, none;
    const struct plan *plan = make(s);
    const struct replica *r = &plan->replicas[0];

    is_str(plan_sub_path(s->arena, plan, r, -1, &none), "", "all of a volume");
    is_str(plan_sub_path(s->arena, plan, r, -1, &plain), "a/$(OWN)", "a part as it is written");
    is_str(plan_sub_path(s->arena, plan, r, -1, &expanded), "a/data/y", "one with a variable");
    is_str(plan_sub_path(s->arena, plan, r, 0, &expanded), "a$(OWN)", "that must be its own");
}

int main(void)
{
    static void (*const tests[])(struct seed * s) = {test_command, test_skipping, test_none,
                                                     test_sub_path};

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct seed s;

        seed_init(&s);
        tests[i](&s);
        arena_free(s.arena);
    }
    return tap_done();
}
