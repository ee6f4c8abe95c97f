/* volumes.c - what stands for a volume here, and which mount points can be had. */
#include "engine/local/volumes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/tap.h"

static char *top; /* a directory of ours that is written to */
static struct role role = {.name = "worker", .replicas = 1};
static struct job_spec spec = {.name = "job", .roles = &role, .n_roles = 1, .dir = "/"};
static const struct secret_value values[] = {
    {.source = ENV_CONFIG_MAP, .name = "app", .key = "k", .value = "v", .len = 1},
    {.source = ENV_SECRET, .name = "key", .key = "k", .value = "v", .len = 1},
};
static struct facts facts;
static struct err e;

static void reset(void)
{
    facts = (struct facts){
        .machine.root = geteuid() == 0,
        .site.isolation = "names",
        .site.scratch_dir = "/run/u/muster/ID",
        .site.run_dir = "/var/lib/u/ID",
        .site.shim = "/usr/libexec/muster-shim",
        .caller.dir = "/",
        .given.secrets = values,
        .given.n_secrets = ARRAY_SIZE(values),
    };
    e = (struct err){0};
}

static int resolve(struct arena *a, const struct mount *mounts, size_t n, const char *option,
                   bool tolerant)
{
    const char *const options[] = {option, NULL};

    role.mounts = mounts;
    role.n_mounts = n;
    return volumes_resolve(a, &spec, options, top, top, tolerant, &facts, &e);
}

static const struct mount_place *first(void)
{
    return &facts.site.mounts[0][0].v[0];
}

static void test_sources(struct arena *a)
{
    static const struct {
        struct mount mount;
        const char *option;
        enum place_kind kind;
        const char *here, *name;
    } rows[] = {
        {{.source = VOLUME_EMPTY_DIR}, NULL, PLACE_FRESH, NULL, "an empty directory"},
        {{.source = VOLUME_HOST_PATH, .from = "/etc"}, NULL, PLACE_HERE, "/etc", "a host path"},
        {{.source = VOLUME_HOST_PATH, .from = "/etc"},
         "v=/usr",
         PLACE_HERE,
         "/usr",
         "one that an option replaces"},
        {{.source = VOLUME_HOST_PATH, .from = "/mt/no", .optional = true},
         NULL,
         PLACE_SHARED,
         "/mt/no",
         "one that would be made"},
        {{.source = VOLUME_CLAIM, .from = "c"},
         "c=/usr",
         PLACE_HERE,
         "/usr",
         "a claim by its name"},
        {{.source = VOLUME_CLAIM, .from = "c"}, "v=/usr", PLACE_HERE, "/usr", "by its volume's"},
        {{.source = VOLUME_CONFIG_MAP, .from = "app"}, NULL, PLACE_FILES, "app", "a config map"},
        {{.source = VOLUME_SECRET, .from = "key"}, NULL, PLACE_FILES, "key", "a secret"},
        {{.source = VOLUME_SECRET, .from = "no", .optional = true},
         NULL,
         PLACE_FRESH,
         NULL,
         "one that need not be there"},
        {{.source = VOLUME_OTHER}, NULL, PLACE_NONE, NULL, "a kind that only a cluster has"},
        {{.source = VOLUME_OTHER}, "v=/usr", PLACE_HERE, "/usr", "which an option can give"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct mount m = rows[i].mount;

        reset();
        m.volume = "v";
        m.path = "/etc";
        is_int(resolve(a, &m, 1, rows[i].option, false), 0, "%s: %s", rows[i].name, e.text);
        is_int(first()->kind, rows[i].kind, "%s: its kind", rows[i].name);
        if (rows[i].kind == PLACE_FILES)
            ok(first()->here && strstr(first()->here, rows[i].here), "%s: its files", rows[i].name);
        else
            is_str(first()->here, rows[i].here, "%s: its place", rows[i].name);
    }
}

static void test_refused(struct arena *a)
{
    static const struct volume_item item = {.key = "no", .path = "p"},
                                    other = {.key = "k", .path = "y"};
    static const struct {
        struct mount mount;
        const char *option, *says, *name;
    } rows[] = {
        {{.source = VOLUME_CLAIM, .from = "c"}, NULL, "--volume c=PATH", "a claim"},
        {{.source = VOLUME_HOST_PATH, .from = "/mt/no"}, NULL, "--volume v=PATH", "a host path"},
        {{.source = VOLUME_SECRET, .from = "no"}, NULL, "--secrets DIR", "a secret"},
        {{.source = VOLUME_CONFIG_MAP, .from = "key"}, NULL, "--configmaps DIR", "a config map"},
        {{.source = VOLUME_SECRET, .from = "key", .items = &item, .n_items = 1},
         NULL,
         "no key no",
         "a key"},
        {{.source = VOLUME_SECRET, .from = "key", .sub_path = "x"}, NULL, "no file x", "a file"},
        {{.source = VOLUME_SECRET, .from = "key", .sub_path = "x", .items = &other, .n_items = 1},
         NULL,
         "no file x",
         "a file of items"},
        {{.source = VOLUME_HOST_PATH, .from = "/usr", .sub_path = "mt"},
         NULL,
         "mt not found in /usr",
         "a part of a host path"},
    };

    const struct mount out[] = {
        {.source = VOLUME_EMPTY_DIR, .volume = "v", .path = "/etc", .sub_path = "a/../.."},
        {.source = VOLUME_EMPTY_DIR, .volume = "v", .path = "/etc", .sub_path = "/a"},
        {.source = VOLUME_EMPTY_DIR, .volume = "../v", .path = "/etc"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
        reset();
        is_int(resolve(a, &out[i], 1, NULL, false), -EINVAL, "no way out of a volume: %s", e.text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct mount m = rows[i].mount;

        reset();
        m.volume = "v";
        m.path = "/etc";
        is_int(resolve(a, &m, 1, rows[i].option, false),
               m.source == VOLUME_SECRET || m.source == VOLUME_CONFIG_MAP ? -ENOKEY : -ENOENT,
               "%s is missing", rows[i].name);
        ok(strstr(e.text, rows[i].says), "%s: %s", rows[i].name, e.text);
        is_int(resolve(a, &m, 1, rows[i].option, true), 0, "%s: only told", rows[i].name);
        ok(first()->kind == PLACE_NONE && first()->why && strstr(first()->why, rows[i].says),
           "%s: as its reason", rows[i].name);
    }
    reset();
    is_int(resolve(a, NULL, 0, "x=/usr", true), -EINVAL, "an option that names no volume");
}

/* Of one mount at that path: the mount point and what is covered for it, or why not. */
static const char *point(struct arena *a, const char *path)
{
    struct mount m = {.source = VOLUME_EMPTY_DIR, .volume = "v", .path = path};

    reset();
    if (resolve(a, &m, 1, NULL, false) < 0)
        return strstr(e.text, "written to")             ? "written"
               : strstr(e.text, "cannot be mounted at") ? "cannot"
                                                        : e.text;
    return arena_printf(a, "%s %s", first()->path, first()->parent ? first()->parent : "-");
}

static void test_points(struct arena *a)
{
    const char *missing = arena_printf(a, "%s/no/where", top);

    is_str(point(a, "/usr"), "/usr -", "a path that is there");
    is_str(point(a, "//usr/./"), "/usr -", "however it is written");
    is_str(point(a, "/mt-no"), "/mt-no /", "one that is not, in the root");
    is_str(point(a, "/mt-no/a/b"), "/mt-no/a/b /", "and deeper");
    is_str(point(a, "/usr/mt-no/a"), "/usr/mt-no/a /usr", "below a directory of the system");
    is_str(point(a, "/"), "cannot", "never over the root");
    is_str(point(a, "/usr/../mt-no"), "cannot", "nor by a way up");
    is_str(point(a, "/mt..no"), "/mt..no /", "dots in a name are none");
    is_str(point(a, missing), "written", "not where people write");
    if (symlink("/usr", arena_printf(a, "%s/link", top)) == 0)
        is_str(point(a, arena_printf(a, "%s/link/mt-no", top)), "/usr/mt-no /usr",
               "links are followed");
}

static void test_nested(struct arena *a)
{
    const struct mount mounts[] = {
        {.source = VOLUME_EMPTY_DIR, .volume = "b", .path = "/mt-no/in/side"},
        {.source = VOLUME_EMPTY_DIR, .volume = "a", .path = "/mt-no"},
        {.source = VOLUME_EMPTY_DIR, .volume = "c", .path = "/mt-host/bin"},
        {.source = VOLUME_HOST_PATH, .volume = "h", .from = "/usr", .path = "/mt-host"},
    };
    const struct mount bad[] = {
        mounts[3],
        {.source = VOLUME_EMPTY_DIR, .volume = "c", .path = "/mt-host/mt-no"},
    };

    reset();
    is_int(resolve(a, mounts, 4, NULL, false), 0, "mounts in each other: %s", e.text);
    const struct mount_place *v = facts.site.mounts[0][0].v;

    is_str(v[0].mount->volume, "h", "the outer ones come first");
    ok(!v[1].inside && !v[1].parent, "a directory of a host path");
    is_str(v[2].mount->volume, "a", "whatever their order in the file");
    ok(v[3].inside && !v[3].parent, "what is in an empty volume is made there");
    is_int(resolve(a, bad, 2, NULL, false), -ENOENT, "but not in a host path");
    ok(strstr(e.text, "create it"), "%s", e.text);
}

static void test_own_places(struct arena *a)
{
    struct mount m = {.source = VOLUME_EMPTY_DIR, .volume = "v", .path = "/run"};

    reset();
    is_int(resolve(a, &m, 1, NULL, false), 0, "an empty volume may lie over the run's places");
    m.source = VOLUME_HOST_PATH;
    m.from = "/usr";
    is_int(resolve(a, &m, 1, NULL, false), -EBUSY, "another one may not");
    ok(strstr(e.text, "XDG_RUNTIME_DIR"), "%s", e.text);
    facts.site.isolation = "none";
    is_int(resolve(a, &m, 1, NULL, false), 0, "where nothing is mounted, nothing is hidden");
}

static void test_dirs(struct arena *a)
{
    static const bool not_ok[] = {false};
    const struct init_command init = {.name = "i", .workdir = "/mt-no/deep"};
    const struct mount m = {.source = VOLUME_EMPTY_DIR, .volume = "v", .path = "/mt-no"};

    reset();
    facts.machine.workdir_ok = not_ok;
    role.workdir = "/mt-no/repo";
    role.init = &init;
    role.n_init = 1;
    is_int(resolve(a, &m, 1, NULL, false), 0, "a working directory in a volume: %s", e.text);
    ok(facts.machine.workdir_ok[0], "may be made by an init command");
    is_str(facts.site.init_dirs[0][0], "/mt-no/deep", "and its own too");
    role.workdir = "/mt-none";
    (void)resolve(a, &m, 1, NULL, false);
    ok(!facts.machine.workdir_ok[0], "one that is nowhere is not there");
    role.workdir = NULL;
    role.n_init = 0;
}

int main(void)
{
    auto_arena struct arena *a = arena_new();
    char dir[] = "/tmp/mt-volumes.XXXXXX";

    top = mkdtemp(dir);
    if (!top)
        return 1;
    test_sources(a);
    test_refused(a);
    test_points(a);
    test_nested(a);
    test_own_places(a);
    test_dirs(a);
    (void)io_remove_tree(AT_FDCWD, dir, NULL);
    return tap_done();
}
