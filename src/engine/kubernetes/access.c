/* access.c - see access.h.
 *
 * Of several files the first that has a name wins, as kubectl merges them. Paths in a file are
 * relative to it.
 */
#include "engine/kubernetes/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "base/strvec.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/yaml.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
enum { MAX_FILES = 16 };

struct config_file {
    const char *path, *dir;
    const struct node *root;
};

struct loading {
    struct arena *a;
    const struct access_request *rq;
    struct config_file files[MAX_FILES];
    size_t n;
};

/* --- files ------------------------------------------------------------------------------------ */

static int read_config(struct loading *l, const char *path, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *slash = strrchr(path, '/');
    struct diags ds;
    struct doc doc;
    int r = io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &text, e);

    if (r < 0)
        return r;
    diags_init(&ds, l->a);
    (void)yaml_read(l->a, path, text.buf, text.len, &ds, &doc);
    if (ds.n_errors > 0)
        r = err_set(e, -EINVAL, "%s:%u:%u: %s", path, ds.v[0].pos.line, ds.v[0].pos.column,
                    ds.v[0].message);
    else if (doc.n_roots != 1 || doc.roots[0]->type != NODE_MAP)
        r = err_set(e, -EINVAL, "%s is not a kubeconfig file", path);
    else
        l->files[l->n++] = (struct config_file){
            .path = path,
            .dir = slash ? arena_printf(l->a, "%.*s/", (int)(slash - path), path) : "",
            .root = doc.roots[0],
        };
    diags_release(&ds);
    return r;
}

/* A file of a list may be missing, as kubectl has it; the only one may not. */
static int read_configs(struct loading *l, struct err *e)
{
    const char *list = l->rq->kubeconfig;

    if (!list || !*list) {
        if (!l->rq->home)
            return err_set(e, -ENOENT, "no kubeconfig: HOME is not set");
        const char *path = arena_printf(l->a, "%s/.kube/config", l->rq->home);
        int r = read_config(l, path, e);

        return r != -ENOENT ? r
                            : err_set(e, r,
                                      "no kubeconfig: KUBECONFIG is not set and %s does not "
                                      "exist; use --on local to run the job on this machine",
                                      path);
    }
    for (const char *p = list; *p && l->n < MAX_FILES;) {
        size_t n = strcspn(p, ":");
        int r = n ? read_config(l, arena_printf(l->a, "%.*s", (int)n, p), e) : -ENOENT;

        if (r < 0 && r != -ENOENT)
            return r;
        p += n + (p[n] == ':');
    }
    return l->n ? 0 : err_set(e, -ENOENT, "no kubeconfig: KUBECONFIG names %s", list);
}

/* --- names in files --------------------------------------------------------------------------- */

/* The mapping `what` of the item of that name in a list, and the file it is in. */
static const struct node *find(const struct loading *l, const char *list, const char *what,
                               const char *name, const struct config_file **ret)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct node *items = node_get(l->files[i].root, list);

        for (size_t k = 0; items && items->type == NODE_SEQ && k < items->n; k++) {
            const struct node *item = items->items[k];

            if (strcmp(node_text(node_get(item, "name"), ""), name) != 0)
                continue;
            if (ret)
                *ret = &l->files[i];
            return node_get(item, what);
        }
    }
    return NULL;
}

static const char *current_context(const struct loading *l)
{
    if (l->rq->context)
        return l->rq->context;
    for (size_t i = 0; i < l->n; i++) {
        const char *name = node_text(node_get(l->files[i].root, "current-context"), "");

        if (*name)
            return name;
    }
    return "";
}

static const char *text_or_null(const struct node *map, const char *key)
{
    const char *text = node_text(node_get(map, key), "");

    return *text ? text : NULL;
}

/* KEY-data holds it in base64, KEY names a file. */
static int load_pem(struct loading *l, const struct config_file *f, const struct node *map,
                    const char *key, struct pem *ret, struct err *e)
{
    const char *data = text_or_null(map, arena_printf(l->a, "%s-data", key));
    const char *path = text_or_null(map, key);
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (!data && !path)
        return 0;
    if (data) {
        char *out = arena_alloc(l->a, BASE64_ROOM(strlen(data)));

        *ret = (struct pem){.text = out};
        if (base64_decode(data, strlen(data), out, &ret->len) < 0)
            return err_set(e, -EINVAL, "%s: %s-data is not base64", f->path, key);
        return 0;
    }
    path = path[0] == '/' ? path : arena_printf(l->a, "%s%s", f->dir, path);
    int r = io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &text, e);
    if (r < 0)
        return err_wrap(e, r, "%s: %s", f->path, key);
    *ret = (struct pem){arena_strndup(l->a, text.buf, text.len), text.len};
    return 0;
}

static int load_cluster(struct loading *l, const char *name, struct kube_access *ret, struct err *e)
{
    const struct config_file *f = NULL;
    const struct node *c = find(l, "clusters", "cluster", name, &f);
    const struct node *insecure = node_get(c, "insecure-skip-tls-verify");
    const char *server = text_or_null(c, "server");

    if (!server || !f)
        return err_set(e, -EINVAL,
                       "%s: cluster \"%s\" of context \"%s\" not found, or without "
                       "`server`",
                       l->files[0].path, name, ret->context);
    size_t n = strlen(server);
    while (n > 1 && server[n - 1] == '/')
        n--;
    ret->server = arena_strndup(l->a, server, n);
    ret->source = f->path;
    ret->insecure = insecure && insecure->type == NODE_BOOL && insecure->i;
    ret->tls_server_name = text_or_null(c, "tls-server-name");
    ret->proxy = text_or_null(c, "proxy-url");
    return load_pem(l, f, c, "certificate-authority", &ret->ca, e);
}

/* --- exec plugins ----------------------------------------------------------------------------- */

static void exec_info(struct strbuf *out, const char *version, const struct kube_access *acc)
{
    struct json j = JSON_COMPACT(out);

    strbuf_addstr(out, "KUBERNETES_EXEC_INFO=");
    json_object(&j);
    json_kv_str(&j, "apiVersion", version);
    json_kv_str(&j, "kind", "ExecCredential");
    json_key(&j, "spec");
    json_object(&j);
    json_kv_bool(&j, "interactive", false);
    json_key(&j, "cluster");
    json_object(&j);
    json_kv_str(&j, "server", acc->server);
    json_end(&j);
    json_end(&j);
    json_end(&j);
}

static int run_plugin(const char *const *argv, char *const *env, struct strbuf *out, struct err *e)
{
    int fds[2], status = 0;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, -errno, "cannot create a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        execvpe(argv[0], (char *const *)(void *)(uintptr_t)argv, env);
        _exit(127);
    }
    (void)close(fds[1]);
    int r = pid < 0 ? err_set(e, -errno, "cannot start credential plugin %s: %s", argv[0],
                              err_start_reason(errno))
                    : io_read_fd(fds[0], argv[0], LIMIT_FILE_BYTES, out, e);
    (void)close(fds[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return r;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return err_set(e, -ENOENT, "credential plugin %s not found", argv[0]);
    if (status != 0)
        return err_set(e, -EACCES, "credential plugin %s failed", argv[0]);
    return 0;
}

static int load_plugin(struct loading *l, const struct config_file *f, const struct node *exec,
                       struct kube_access *ret, struct err *e)
{
    const char *command = text_or_null(exec, "command");
    const struct node *args = node_get(exec, "args"), *env = node_get(exec, "env");
    auto_strvec struct strvec words = STRVEC_INIT, vars = STRVEC_INIT;
    auto_strbuf struct strbuf out = STRBUF_INIT, info = STRBUF_INIT;

    if (!command)
        return err_set(e, -EINVAL, "%s: users[].user.exec has no `command`", f->path);
    if (strchr(command, '/') && command[0] != '/')
        command = arena_printf(l->a, "%s%s", f->dir, command);
    strvec_push(&words, command);
    for (size_t i = 0; args && args->type == NODE_SEQ && i < args->n; i++)
        strvec_push(&words, node_text(args->items[i], ""));
    exec_info(&info, node_text(node_get(exec, "apiVersion"), "client.authentication.k8s.io/v1"),
              ret);
    for (char **v = environ; *v; v++)
        strvec_push(&vars, *v);
    strvec_push(&vars, info.buf);
    for (size_t i = 0; env && env->type == NODE_SEQ && i < env->n; i++)
        strvec_pushf(&vars, "%s=%s", node_text(node_get(env->items[i], "name"), ""),
                     node_text(node_get(env->items[i], "value"), ""));
    int r = run_plugin((const char *const *)words.v, vars.v, &out, e);
    if (r < 0)
        return r;
    const struct node *status = node_get(json_node(l->a, out.buf, out.len), "status");
    const char *cert = text_or_null(status, "clientCertificateData");
    const char *key = text_or_null(status, "clientKeyData");
    ret->token = text_or_null(status, "token");
    if (cert && key) {
        ret->cert = (struct pem){cert, strlen(cert)};
        ret->key = (struct pem){key, strlen(key)};
    }
    if (!ret->token && !cert)
        return err_set(e, -EACCES, "credential plugin %s returned no credentials", command);
    return 0;
}

static int load_user(struct loading *l, const char *name, struct kube_access *ret, struct err *e)
{
    const struct config_file *f = NULL;
    const struct node *u = find(l, "users", "user", name, &f);

    if (!u)
        return *name ? err_set(e, -EINVAL, "%s: user \"%s\" of context \"%s\" not found",
                               l->files[0].path, name, ret->context)
                     : 0;
    ret->token = text_or_null(u, "token");
    const char *file = text_or_null(u, "tokenFile");
    if (file)
        ret->token_file = file[0] == '/' ? file : arena_printf(l->a, "%s%s", f->dir, file);
    ret->user = text_or_null(u, "username");
    ret->password = text_or_null(u, "password");
    int r = load_pem(l, f, u, "client-certificate", &ret->cert, e);
    if (r == 0)
        r = load_pem(l, f, u, "client-key", &ret->key, e);
    if (r == 0 && node_get(u, "exec") && !ret->token && !ret->token_file && !ret->cert.text)
        r = load_plugin(l, f, node_get(u, "exec"), ret, e);
    return r;
}

/* --- inside a cluster ------------------------------------------------------------------------- */

static int load_service_account(struct arena *a, const struct access_request *rq,
                                struct kube_access *ret, struct err *e)
{
    auto_strbuf struct strbuf ca = STRBUF_INIT, ns = STRBUF_INIT;
    bool v6 = strchr(rq->service_host, ':');
    int r = io_read_file(AT_FDCWD, SERVICE_ACCOUNT "/ca.crt", LIMIT_FILE_BYTES, &ca, e);

    if (r < 0)
        return r;
    (void)io_read_file(AT_FDCWD, SERVICE_ACCOUNT "/namespace", LIMIT_FILE_BYTES, &ns, NULL);
    *ret = (struct kube_access){
        .server = arena_printf(a, "https://%s%s%s:%s", v6 ? "[" : "", rq->service_host,
                               v6 ? "]" : "", rq->service_port ? rq->service_port : "443"),
        .namespace_ = arena_strdup(a, ns.len ? ns.buf : "default"),
        .context = "",
        .source = "the pod's service account",
        .ca = {arena_strndup(a, ca.buf, ca.len), ca.len},
        .token_file = SERVICE_ACCOUNT "/token",
    };
    return 0;
}

/* ---------------------------------------------------------------------------------------------- */

int access_load(struct arena *a, const struct access_request *rq, struct kube_access *ret,
                struct err *e)
{
    struct loading l = {.a = a, .rq = rq};
    int r = read_configs(&l, e);

    if (r == -ENOENT && rq->service_host && !(rq->kubeconfig && *rq->kubeconfig))
        r = load_service_account(a, rq, ret, e);
    else if (r == 0) {
        const char *context = current_context(&l);
        const struct node *c = find(&l, "contexts", "context", context, NULL);

        if (!*context)
            return err_set(e, -EINVAL, "%s has no current-context; use --context NAME",
                           l.files[0].path);
        if (!c)
            return err_set(e, -EINVAL, "context \"%s\" not found in %s", context, l.files[0].path);
        *ret = (struct kube_access){.context = context, .namespace_ = text_or_null(c, "namespace")};
        r = load_cluster(&l, node_text(node_get(c, "cluster"), ""), ret, e);
        if (r == 0)
            r = load_user(&l, node_text(node_get(c, "user"), ""), ret, e);
    }
    if (r < 0)
        return r;
    if (rq->namespace_)
        ret->namespace_ = rq->namespace_;
    if (!ret->namespace_)
        ret->namespace_ = "default";
    return 0;
}
