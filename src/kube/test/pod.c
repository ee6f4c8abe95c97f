/* pod.c - volumes, mounts and init containers of a pod template, as a role takes them. */
#include "kube/pod.h"

#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "base/tap.h"
#include "doc/yaml.h"

struct filled {
    struct arena *a;
    struct diags ds;
    struct doc doc;
    struct role role;
};

static const struct pod_volume given[] = {{.name = "operator", .of_operator = true}};

static void fill(struct filled *f, const char *spec)
{
    const char *text;
    const struct pod_template *t;

    *f = (struct filled){.a = arena_new()};
    diags_init(&f->ds, f->a);
    text = arena_printf(f->a, "spec:\n%s", spec);
    yaml_read(f->a, "x", text, strlen(text), &f->ds, &f->doc);

    struct binder b = {.a = f->a, .ds = &f->ds};

    t = bind_map(&b, &pod_template_table, f->doc.roots[0]);
    if (t && t->spec && t->spec->containers.n) {
        const struct pod_container *c = &t->spec->containers.v[0];

        pod_fill_role_given(&b, t, c, given, ARRAY_SIZE(given), &f->role);
        pod_note_unused(&b, t, c);
    }
    diags_sort(&f->ds);
}

static void done(struct filled *f)
{
    diags_release(&f->ds);
    arena_free(f->a);
}

/* "data=claim:big/sub@/data,ro" for each mount. */
static void add_mounts(struct strbuf *sb, const struct mount *v, size_t n)
{
    static const char *const sources[] = {
        [VOLUME_EMPTY_DIR] = "empty", [VOLUME_HOST_PATH] = "host", [VOLUME_CONFIG_MAP] = "config",
        [VOLUME_SECRET] = "secret",   [VOLUME_CLAIM] = "claim",    [VOLUME_OTHER] = "other",
        [VOLUME_OPERATOR] = "handed",
    };

    for (size_t i = 0; i < n; i++) {
        strbuf_addf(sb, "%s%s=%s", sb->len ? " " : "", v[i].volume, sources[v[i].source]);
        if (v[i].from)
            strbuf_addf(sb, ":%s", v[i].from);
        if (v[i].sub_path)
            strbuf_addf(sb, "/%s%s", v[i].sub_path, v[i].expand_sub_path ? "!" : "");
        strbuf_addf(sb, "@%s%s%s%s", v[i].path, v[i].read_only ? ",ro" : "",
                    v[i].optional ? ",optional" : "", v[i].memory ? ",memory" : "");
        if (v[i].size || v[i].mode)
            strbuf_addf(sb, ",%lld,%o", (long long)v[i].size, (unsigned)v[i].mode);
        for (size_t k = 0; k < v[i].n_items; k++)
            strbuf_addf(sb, ",%s>%s", v[i].items[k].key, v[i].items[k].path);
    }
}

/* The findings, then the mounts: "E0213@3:4; a=empty@/a". */
static const char *outcome(struct filled *f)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT, mounts = STRBUF_INIT;

    for (size_t i = 0; i < f->ds.n; i++)
        strbuf_addf(&sb, "%s@%u:%u; ", f->ds.v[i].code, f->ds.v[i].pos.line, f->ds.v[i].pos.column);
    add_mounts(&mounts, f->role.mounts, f->role.n_mounts);
    strbuf_addstr(&sb, mounts.len ? mounts.buf : "none");
    return arena_strndup(f->a, sb.buf, sb.len);
}

#define MOUNT(mount) " containers: [{name: c, volumeMounts: [" mount "]}]\n"
#define A_AT_A MOUNT("{name: a, mountPath: /a}")

static const struct {
    const char *spec, *want, *name;
} cases[] = {
    {A_AT_A " volumes: [{name: a, emptyDir: {}}]\n", "a=empty@/a", "an empty directory"},
    {A_AT_A " volumes: [{name: a, emptyDir: {medium: Memory}}]\n", "a=empty@/a,memory",
     "one in memory"},
    {A_AT_A " volumes: [{name: a, emptyDir: {medium: Memory, sizeLimit: 1Ki}}]\n",
     "a=empty@/a,memory,1024,0", "of a size"},
    {A_AT_A " volumes: [{name: a, emptyDir: {medium: Memory, sizeLimit: big}}]\n",
     "E0107@3:60; a=empty@/a,memory", "which is a quantity"},
    {A_AT_A " volumes: [{name: a, configMap: {name: m, defaultMode: 0755}}]\n",
     "a=config:m@/a,0,755", "a mode is octal"},
    {A_AT_A " volumes: [{name: a, configMap: {name: m, defaultMode: 292}}]\n",
     "a=config:m@/a,0,444", "or decimal, as JSON has it"},
    {A_AT_A " volumes: [{name: a, configMap: {name: m, defaultMode: 0800}}]\n",
     "E0570@3:56; a=config:m@/a", "but no other number"},
    {A_AT_A " volumes: [{name: a, secret: {secretName: s, defaultMode: 512}}]\n",
     "E0570@3:59; a=secret:s@/a", "nor a larger one"},
    {A_AT_A " volumes: [{name: a}]\n", "a=empty@/a", "a volume of no kind is an empty directory"},
    {A_AT_A " volumes: [{name: a, emptyDir: null, hostPath: {path: /h}}]\n", "a=host:/h@/a",
     "null counts as absent"},
    {A_AT_A " volumes: [{name: a, hostPath: {path: /h, type: DirectoryOrCreate}}]\n",
     "a=host:/h@/a,optional", "a host path that is made"},
    {A_AT_A " volumes: [{name: a, hostPath: {path: h}}]\n", "E0207@3:39; a=host:h@/a",
     "a host path is absolute"},
    {A_AT_A " volumes: [{name: a, hostPath: {path: /h, type: Dir}}]\n", "E0209@3:49; a=host:/h@/a",
     "of a type that there is"},
    {A_AT_A " volumes: [{name: a, configMap: {name: m, optional: true}}]\n",
     "a=config:m@/a,optional", "a config map"},
    {A_AT_A " volumes: [{name: a, secret: {secretName: s, items: [{key: k, path: p/q}]}}]\n",
     "a=secret:s@/a,k>p/q", "a secret, and the files its keys become"},
    {A_AT_A " volumes: [{name: a, secret: {secretName: s, items: [{key: k, path: ../q}]}}]\n",
     "E0310@3:69; a=secret:s@/a,k>../q", "which stay in the volume"},
    {A_AT_A " volumes: [{name: a, secret: {name: s}}]\n", "E0103@3:22; W0101@3:31; a=secret@/a",
     "a secret's name has its own key"},
    {A_AT_A " volumes: [{name: a, persistentVolumeClaim: {claimName: p, readOnly: true}}]\n",
     "a=claim:p@/a,ro", "a claim that may not be written"},
    {A_AT_A " volumes: [{name: a, nfs: {server: s, path: /p}}]\n", "N0305@3:12; a=other@/a",
     "a kind that only clusters have is noted"},
    {A_AT_A " volumes: [{name: a, emptyDir: {}, nfs: {}}]\n", "E0106@3:12; a=empty@/a",
     "exactly one kind"},
    {A_AT_A " volumes: [{name: a}, {name: a}]\n", "E0311@3:30; a=empty@/a", "each name once"},
    {A_AT_A, "E0213@2:47; none", "no mount without its volume"},
    {MOUNT("{name: a, mountPath: w, subPath: x/y, readOnly: true}") " volumes: [{name: a}]\n",
     "a=empty/x/y@/w,ro", "a part of a volume, at a path from the root"},
    {MOUNT("{name: a, mountPath: /w, subPathExpr: $(POD)}") " volumes: [{name: a}]\n",
     "a=empty/$(POD)!@/w", "a part that a variable names"},
    {MOUNT("{name: a, mountPath: /w, subPath: x, subPathExpr: y}") " volumes: [{name: a}]\n",
     "E0106@2:77; a=empty/y!@/w", "not both"},
    {MOUNT("{name: a, mountPath: /w, subPath: a..b/..c}") " volumes: [{name: a}]\n",
     "a=empty/a..b/..c@/w", "dots in names are fine"},
    {MOUNT("{name: a, mountPath: /w, subPath: a/../../b}") " volumes: [{name: a}]\n",
     "E0310@2:74; a=empty/a/../../b@/w", "ways out are not"},
    {MOUNT("{name: a, mountPath: /w}, {name: a, mountPath: /w}") " volumes: [{name: a}]\n",
     "E0311@2:87; a=empty@/w a=empty@/w", "each place once"},
    {MOUNT("{name: a, mountPath: /dev/shm/}") " volumes: [{name: a, emptyDir: {medium: Memory}}]\n",
     "none", "shared memory is no mount but a size"},
    {MOUNT("{name: operator, mountPath: /etc/mpi}"), "operator=handed@/etc/mpi,ro",
     "an operator's volume needs no definition"},
    {MOUNT("{name: operator, mountPath: /m}") " volumes: [{name: operator, emptyDir: {}}]\n",
     "operator=empty@/m", "one that is defined wins"},
};

static void test_mounts(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct filled f;

        fill(&f, cases[i].spec);
        is_str(outcome(&f), cases[i].want, "%s", cases[i].name);
        done(&f);
    }
}

static void test_init(void)
{
    struct filled f;
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    fill(&f, " containers: [{name: c, env: [{name: OWN, value: x}]}, {name: log}]\n"
             " volumes: [{name: a}]\n"
             " initContainers:\n"
             " - {name: fetch, image: i, command: [git, clone], args: [$(URL)], workingDir: /a,\n"
             "    env: [{name: URL, value: u}], envFrom: [{prefix: P_, secretRef: {name: s}}],\n"
             "    volumeMounts: [{name: a, mountPath: /a}], resources: {limits: {cpu: 1}}}\n"
             " - {name: side, restartPolicy: Always}\n"
             " - {name: entry, args: [x], volumeMounts: [{name: b, mountPath: /b}]}\n");
    is_int(f.role.n_init, 2, "two run before the command");
    if (f.role.n_init == 2) {
        const struct init_command *fetch = &f.role.init[0], *entry = &f.role.init[1];

        is_str(fetch->name, "fetch", "in the file's order");
        ok(!strcmp(fetch->argv[1], "clone") && !fetch->argv[2] && !strcmp(fetch->args[0], "$(URL)"),
           "with command and arguments");
        is_str(fetch->workdir, "/a", "their working directory");
        ok(fetch->n_env == 1 && !strcmp(fetch->env[0].name, "URL"), "their own variables only");
        ok(fetch->n_env_from == 1 && !strcmp(fetch->env_from[0].ref_name, "s"), "and secrets");
        add_mounts(&sb, fetch->mounts, fetch->n_mounts);
        is_str(sb.buf, "a=empty@/a", "and mounts");
        ok(!entry->argv && !strcmp(entry->args[0], "x"), "an image's entry point has none");
    }
    is_int(f.role.n_env, 1, "the role keeps its own");
    sb.len = 0;
    for (size_t i = 0; i < f.ds.n; i++)
        strbuf_addf(&sb, "%s@%u ", f.ds.v[i].code, f.ds.v[i].pos.line);
    is_str(sb.buf, "N0303@2 N0301@7 N0303@8 N0301@8 E0213@9 ",
           "sidecars, resources and a missing volume are told");
    done(&f);
}

static void test_limits(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct filled f;
    bool all = true;

    strbuf_addstr(&sb, " containers: [{name: c, volumeMounts: [");
    for (int i = 0; i <= LIMIT_VOLUMES; i++)
        strbuf_addf(&sb, "{name: v%d, mountPath: /%d},", i, i);
    strbuf_addstr(&sb, "]}]\n volumes: [");
    for (int i = 0; i <= LIMIT_VOLUMES; i++)
        strbuf_addf(&sb, "{name: v%d},", i);
    strbuf_addstr(&sb, "]\n initContainers: [");
    for (int i = 0; i <= LIMIT_INIT; i++)
        strbuf_addf(&sb, "{name: i%d},", i);
    strbuf_addstr(&sb, "]\n");
    fill(&f, sb.buf);
    for (size_t i = 0; i < f.ds.n; i++)
        all = all && !strcmp(f.ds.v[i].code, "E0005");
    ok(all && f.ds.n == 3, "too many mounts, volumes, init containers");
    ok(f.role.n_mounts == 0 && f.role.n_init == 0, "none of them is taken");
    done(&f);
}

int main(void)
{
    test_mounts();
    test_init();
    test_limits();
    return tap_done();
}
