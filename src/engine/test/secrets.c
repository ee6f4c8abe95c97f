/* secrets.c - values from directories: found, refused when others may read them, missing. */
#include "engine/secrets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/tap.h"

static struct env_entry one; /* what the role's only variable comes from */
static struct role role = {.name = "worker", .replicas = 1};
static struct job_spec spec = {.name = "job", .roles = &role, .n_roles = 1};
static const struct secret_value *values;
static size_t n_values;
static struct err e;
static struct secrets_from from = {.secrets = "s", .config_maps = "c"};
static const struct secrets_from none, gone = {.secrets = "s", .config_maps = "gone"};

static void put(const char *path, const char *text, mode_t mode)
{
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
        tap_diag("cannot write %s", path);
    (void)close(fd);
}

/* Looks up source NAME KEY (KEY NULL: all of it) below "s" and "c". */
static int find(struct arena *a, enum env_source source, const char *name, const char *key)
{
    one = (struct env_entry){
        .name = key ? "TOKEN" : "", .source = source, .ref_name = name, .ref_key = key};
    role.env = role.env_from = &one;
    role.n_env = key != NULL;
    role.n_env_from = key == NULL;
    e = (struct err){0};
    return secrets_collect(a, &spec, &from, &values, &n_values, NULL, &e);
}

static void test_found(struct arena *a)
{
    put("s/vault/token", "s3cret\n", 0600);
    is_int(find(a, ENV_SECRET, "vault", "token"), 0, "a secret is found: %s", e.text);
    is_str(n_values == 1 ? values[0].value : "", "s3cret\n", "its newline is kept");
    put("s/vault/token", "s3cret", 0400);
    is_int(find(a, ENV_SECRET, "vault", "token"), 0, "mode 0400 is fine too");
    put("c/settings/LEVEL", "3", 0644);
    is_int(find(a, ENV_CONFIG_MAP, "settings", "LEVEL"), 0, "a config map may be read by all");
    is_str(values[0].value, "3", "its value");
    put("s/vault/B_2", "b", 0600);
    put("s/vault/A", "a", 0600);
    put("s/vault/not-a-name", "c", 0600);
    is_int(find(a, ENV_SECRET, "vault", NULL), 0, "a whole one");
    is_int(n_values, 4, "with every key");
    is_str(values[0].key, "A", "in the order of their names");
    is_str(values[1].key, "B_2", "all of them");
}

/* KEY -> ..data/KEY, ..data -> ..2026: so a kubelet changes all keys in one step. */
static void test_links(struct arena *a)
{
    ok(mkdir("s/mounted", 0700) == 0 && mkdir("s/mounted/..2026", 0700) == 0, "as mounted");
    put("s/mounted/..2026/token", "linked", 0600);
    ok(symlink("..2026", "s/mounted/..data") == 0 &&
           symlink("..data/token", "s/mounted/token") == 0,
       "a kubelet's links");
    is_int(find(a, ENV_SECRET, "mounted", "token"), 0, "are followed: %s", e.text);
    is_str(n_values ? values[0].value : "", "linked", "to the value");
    put("outside", "no", 0600);
    ok(symlink("../../outside", "s/vault/out") == 0 && symlink("/etc/passwd", "s/vault/abs") == 0,
       "links that lead out");
    is_int(find(a, ENV_SECRET, "vault", "out"), -EXDEV, "are not");
    has(e.text, "s/vault/out is a symbolic link to outside", "which is said");
    is_int(find(a, ENV_SECRET, "vault", "abs"), -EXDEV, "nor is an absolute one");
    is_int(find(a, ENV_SECRET, "vault", "../../outside"), -ENOENT, "nor a key that is a path");
    is_int(find(a, ENV_SECRET, "..", "outside"), -ENOENT, "nor a name");
}

static void test_refused(struct arena *a)
{
    put("s/vault/open", "x", 0640);
    is_int(find(a, ENV_SECRET, "vault", "open"), -EPERM, "others may read it");
    is_str(e.text, "s/vault/open is accessible by other users (mode 640); use chmod 600",
           "what to do");
    ok(chmod("s/vault", 0755) == 0, "a directory");
    is_int(find(a, ENV_SECRET, "vault", "token"), -EPERM, "that others may list");
    has(e.text, "chmod 700", "what to do");
    ok(chmod("s/vault", 0700) == 0 && chmod("s", 0711) == 0, "the one above");
    is_int(find(a, ENV_SECRET, "vault", "token"), -EPERM, "likewise");
    ok(chmod("s", 0700) == 0, "private again");
    if (geteuid() == 0) {
        ok(chown("s/vault/token", 4711, 4711) == 0, "somebody else's");
        is_int(find(a, ENV_SECRET, "vault", "token"), -EPERM, "is refused");
        has(e.text, "is owned by uid 4711", "and named");
        ok(chown("s/vault/token", 0, 0) == 0, "ours again");
    }
    ok(mkfifo("s/vault/fifo", 0600) == 0, "a fifo");
    is_int(find(a, ENV_SECRET, "vault", "fifo"), -EINVAL, "does not hang us");
    auto_free char *big = calloc(1, LIMIT_SECRET_BYTES + 2);
    memset(big, 'x', LIMIT_SECRET_BYTES + 1);
    put("s/vault/big", big, 0600);
    is_int(find(a, ENV_SECRET, "vault", "big"), -EFBIG, "too large");
    int fd = open("s/vault/nul", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ok(write(fd, "a\0b", 3) == 3, "a NUL byte");
    (void)close(fd);
    is_int(find(a, ENV_SECRET, "vault", "nul"), -EINVAL, "is in no variable");
    unlink("s/vault/nul");
    unlink("s/vault/big");
}

static void test_missing(struct arena *a)
{
    auto_strvec struct strvec missing = STRVEC_INIT;
    struct node at = {.pos = {.line = 7}};

    is_int(find(a, ENV_SECRET, "vault", "none"), -ENOENT, "no such key");
    is_str(e.text,
           "TOKEN: the secret vault, key none is not there; use --secrets DIR to read it from "
           "DIR/vault/none",
           "4.20: both are named, and the option");
    is_int(find(a, ENV_SECRET, "nobody", NULL), -ENOENT, "no such secret");
    has(e.text, "the secret nobody is not there; use --secrets DIR", "told");
    is_int(find(a, ENV_CONFIG_MAP, "nothing", "k"), -ENOENT, "no such config map");
    has(e.text, "--configmaps DIR to read it from DIR/nothing/k", "its own option");
    one.optional = true;
    is_int(secrets_collect(a, &spec, &none, &values, &n_values, NULL, &e), 0, "optional");
    is_int(n_values, 0, "is left out");
    one.optional = false;
    one.at = &at;
    spec.file = "job.yaml";
    is_int(secrets_collect(a, &spec, &none, &values, &n_values, &missing, &e), 0, "a look");
    is_str(missing.v[0],
           "job.yaml:7: TOKEN: the config map nothing, key k is not given; use --configmaps DIR to "
           "read it from DIR/nothing/k",
           "collects what is missing");
    spec.file = NULL;
    is_int(secrets_collect(a, &spec, &gone, &values, &n_values, NULL, &e), -ENOENT,
           "no such directory");
    has(e.text, "cannot open --configmaps gone", "which is said");
}

/* A place that has secrets of its own. */
static void test_others_exist(struct arena *a)
{
    static const struct config_value config[] = {
        {.map = "beside", .key = "a", .text = "1", .len = 1, .secret = true},
        {.map = "beside", .key = "b", .text = "x\0y", .len = 3, .secret = true},
        {.map = "vault", .key = "token", .text = "not this", .len = 8, .secret = true},
        {.map = "conf", .key = "k", .text = "v", .len = 1},
    };

    from.others_exist = true;
    spec.config = config;
    spec.n_config = ARRAY_SIZE(config);
    is_int(find(a, ENV_SECRET, "nobody", "k"), 0, "one that is not given exists there");
    is_int(n_values, 4, "all of the file's are collected");
    is_int(find(a, ENV_SECRET, "beside", "a"), 0, "one key of a secret of the file");
    is_int(n_values, 4, "all of its keys, with NULs, too");
    is_int(find(a, ENV_SECRET, "beside", "c"), -ENOENT, "a key that a given one does not have");
    has(e.text, "the secret beside has no key c", "is named");
    is_int(find(a, ENV_SECRET, "mounted", "token"), 0, "a directory's");
    is_int(n_values, 5, "in addition");
    is_str(values[0].value, "linked", "with its value");
    ok(unlink("s/vault/open") == 0 && unlink("s/vault/fifo") == 0 && unlink("s/vault/out") == 0 &&
           unlink("s/vault/abs") == 0,
       "what is refused is removed");
    is_int(find(a, ENV_SECRET, "vault", "token"), 0, "one in both: %s", e.text);
    ok(n_values > 3 && strcmp(values[3].value, "s3cret") == 0, "the directory's counts");
    is_int(n_values, 4 + 3, "and nothing of it is the file's");
    ok(chmod("s/vault/token", 0644) == 0, "one that others may read");
    is_int(find(a, ENV_SECRET, "vault", "token"), -EPERM, "is refused");
    from.others_exist = false;
    spec.n_config = 0;
}

int main(void)
{
    char dir[] = "/tmp/muster-secrets.XXXXXX";
    struct arena *a = arena_new();

    if (!mkdtemp(dir) || chdir(dir) < 0)
        return 1;
    ok(mkdir("s", 0700) == 0 && mkdir("s/vault", 0700) == 0 && mkdir("c", 0755) == 0 &&
           mkdir("c/settings", 0755) == 0,
       "directories");
    test_found(a);
    test_links(a);
    test_refused(a);
    test_missing(a);
    test_others_exist(a);
    ok(chdir("/") == 0, "out of it");
    is_int(io_remove_tree(AT_FDCWD, dir, NULL), 0, "removed");
    arena_free(a);
    return tap_done();
}
