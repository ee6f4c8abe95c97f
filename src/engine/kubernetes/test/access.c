/* access.c - kubeconfig files: which cluster, which user, what is wrong. */
#include "engine/kubernetes/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/tap.h"

static char dir[] = "/tmp/access.XXXXXX";

static const char *file(struct arena *a, const char *name, const char *text)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

    (void)io_write_all(fd, text, strlen(text));
    return path;
}

static const char whole[] =
    "apiVersion: v1\nkind: Config\ncurrent-context: one\n"
    "contexts:\n- {name: one, context: {cluster: c, user: u, namespace: team}}\n"
    "- {name: two, context: {cluster: c, user: by-token}}\n"
    "- {name: plugin, context: {cluster: c, user: by-plugin}}\n"
    "- {name: lost, context: {cluster: nowhere, user: u}}\n"
    "clusters:\n- {name: c, cluster: {server: 'https://h:6443/', certificate-authority-data: aGVs"
    "bG8=, tls-server-name: other}}\n"
    "users:\n- {name: u, user: {client-certificate: cert.pem, client-key-data: a2V5}}\n"
    "- {name: by-token, user: {token: t0ps3cret}}\n"
    "- name: by-plugin\n  user:\n    exec: {apiVersion: client.authentication.k8s.io/v1, command: "
    "./plugin, args: [x y], env: [{name: A, value: b}]}\n";

static int load(struct arena *a, const char *files, const char *context, struct kube_access *ret,
                struct err *e)
{
    return access_load(a, &(struct access_request){.context = context, .kubeconfig = files}, ret,
                       e);
}

static void test_contexts(struct arena *a)
{
    const char *config = file(a, "config", whole);
    struct kube_access acc;
    struct err e;

    (void)file(a, "cert.pem", "the certificate");
    is_int(load(a, config, NULL, &acc, &e), 0, "the current context");
    is_str(acc.server, "https://h:6443", "its server, without the slash");
    is_str(acc.namespace_, "team", "its namespace");
    is_str(acc.ca.text, "hello", "the authority, in base64");
    is_str(acc.cert.text, "the certificate", "the certificate, in a file beside it");
    is_str(acc.key.text, "key", "the key");
    is_str(acc.tls_server_name, "other", "the name in the server's certificate");
    ok(!acc.token && !acc.insecure, "nothing else");
    is_int(load(a, config, "two", &acc, &e), 0, "another context");
    is_str(acc.token, "t0ps3cret", "a token");
    is_str(acc.namespace_, "default", "no namespace");
}

static void test_plugin(struct arena *a)
{
    const char *config = arena_printf(a, "%s/config", dir);
    struct kube_access acc;
    struct err e;

    (void)file(a, "plugin",
               "#!/bin/sh\n[ \"$1 $A\" = 'x y b' ] || exit 3\n"
               "case $KUBERNETES_EXEC_INFO in *https://h:6443*) ;; *) exit 4 ;; esac\n"
               "echo '{\"status\": {\"token\": \"from-plugin\"}}'\n");
    is_int(load(a, config, "plugin", &acc, &e), 0, "an exec plugin");
    is_str(acc.token, "from-plugin", "its token");
    (void)file(a, "plugin", "#!/bin/sh\nexit 1\n");
    ok(load(a, config, "plugin", &acc, &e) < 0, "one that fails");
    has(e.text, "plugin failed", "and it is said");
    (void)file(a, "plugin", "#!/bin/sh\necho '{}'\n");
    is_int(load(a, config, "plugin", &acc, &e), -EACCES, "one that returns nothing");
}

static void test_lists(struct arena *a)
{
    const char *first =
        file(a, "first", "clusters: [{name: c, cluster: {server: 'https://first'}}]\n");
    const char *config = arena_printf(a, "%s/config", dir);
    struct kube_access acc;
    struct err e;

    is_int(load(a, arena_printf(a, "%s:/nowhere:%s", first, config), NULL, &acc, &e), 0,
           "a list of files, one of which is missing");
    is_str(acc.server, "https://first", "the first that has a name wins");
    is_str(acc.cert.text, "the certificate", "the other has the user");
}

static void test_errors(struct arena *a)
{
    const char *config = arena_printf(a, "%s/config", dir);
    struct kube_access acc;
    struct err e;

    is_int(load(a, "/nowhere", NULL, &acc, &e), -ENOENT, "no file");
    has(e.text, "KUBECONFIG names /nowhere", "which one");
    is_int(load(a, config, "three", &acc, &e), -EINVAL, "a context that does not exist");
    has(e.text, "context \"three\" not found in", "which one");
    is_int(load(a, config, "lost", &acc, &e), -EINVAL, "a cluster that does not exist");
    has(e.text, "cluster \"nowhere\"", "which one");
    is_int(load(a, file(a, "broken", "a: [\n"), NULL, &acc, &e), -EINVAL, "no YAML");
    has(e.text, "broken:", "where");
    is_int(load(a, file(a, "list", "[]\n"), NULL, &acc, &e), -EINVAL, "no mapping");
    is_int(load(a, file(a, "empty", "kind: Config\n"), NULL, &acc, &e), -EINVAL, "no context");
    has(e.text, "--context", "what to do");
    is_int(load(a,
                file(a, "bad",
                     "current-context: o\ncontexts: [{name: o, context: {cluster: c, user: u}}]\n"
                     "clusters: [{name: c, cluster: {server: 'https://h', "
                     "certificate-authority-data: '***'}}]\n"),
                NULL, &acc, &e),
           -EINVAL, "no base64");
    has(e.text, "certificate-authority-data", "of what");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    if (!mkdtemp(dir))
        return 1;
    test_contexts(a);
    test_plugin(a);
    test_lists(a);
    test_errors(a);
    (void)io_remove_tree(AT_FDCWD, dir, NULL);
    return tap_done();
}
