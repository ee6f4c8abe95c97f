/* submission.c - see planner.h: submissions as JSON, and planning as if we were the submitter. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/planner.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "spec/spec.h"

static char **words_of(struct arena *a, const struct node *list, int *ret_n)
{
    size_t n = list && list->type == NODE_SEQ ? list->n : 0;
    char **v = ARENA_ARRAY(a, char *, n + 1);

    for (size_t i = 0; i < n; i++)
        v[i] = arena_strdup(a, node_text(list->items[i], ""));
    if (ret_n)
        *ret_n = (int)n;
    return v;
}

static int64_t int_of(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : 0;
}

static void array_read(struct arena *a, const struct node *array, struct submission *sub)
{
    if (!array)
        return;
    sub->array = node_text(node_get(array, "id"), "");
    sub->name = node_text(node_get(array, "name"), "");
    sub->array_index = int_of(array, "index");
    sub->array_count = int_of(array, "count");
    sub->vars = words_of(a, node_get(array, "vars"), NULL);
}

static rlim_t limit_of(const struct node *n)
{
    return n->type == NODE_INT && n->i >= 0 ? (rlim_t)n->i : RLIM_INFINITY;
}

/* One that an older muster has sent has none. */
static const struct inherited *inherited_read(struct arena *a, const struct node *map)
{
    const struct node *mask = node_get(map, "umask"), *limits = node_get(map, "limits");
    struct inherited *inherited = ARENA_ARRAY(a, struct inherited, 1);

    if (!mask || mask->type != NODE_INT)
        return NULL;
    inherited_from_us(inherited);
    inherited->umask = (mode_t)mask->i & 0777;
    for (size_t i = 0; limits && limits->type == NODE_SEQ && i < limits->n && i < RLIM_NLIMITS;
         i++) {
        const struct node *pair = limits->items[i];

        if (pair->type == NODE_SEQ && pair->n == 2)
            inherited->limits[i] =
                (struct rlimit){limit_of(pair->items[0]), limit_of(pair->items[1])};
    }
    return inherited;
}

int submission_read(struct arena *a, const char *json, size_t len, struct submission *ret,
                    struct err *e)
{
    const struct node *whole = json_node(a, json, len), *root = node_get(whole, "job");
    const struct node *file = node_get(root, "file");
    struct submission sub = {.cwd = node_text(node_get(root, "cwd"), "")};

    sub.argv = words_of(a, node_get(root, "argv"), &sub.argc);
    sub.env = words_of(a, node_get(root, "env"), NULL);
    if (file && file->type == NODE_STRING) {
        sub.file = file->text;
        sub.file_len = file->len;
    }
    sub.by_http = node_get(root, "http") != NULL;
    array_read(a, node_get(whole, "array"), &sub);
    sub.inherited = inherited_read(a, node_get(root, "inherited"));
    sub.snapshot = node_text(node_get(root, "snapshot"), NULL);
    sub.code_root = node_text(node_get(root, "code_root"), NULL);
    if (sub.snapshot && (!*sub.snapshot || strchr(sub.snapshot, '/') || *sub.snapshot == '.' ||
                         !sub.code_root || *sub.code_root != '/'))
        return err_set(e, -EINVAL, "a submission has an invalid snapshot");
    if (sub.argc < 1 || *sub.cwd != '/')
        return err_set(e, -EINVAL, "a submission requires `argv` and an absolute `cwd`");
    *ret = sub;
    return 0;
}

/* Ports are in the order of spec_n_ports(). */
void site_write(struct strbuf *out, const struct plan *plan, const char *const *gpus,
                const struct submission *sub)
{
    const struct site *site = &plan->facts->site;
    struct json j = JSON_COMPACT(out);

    json_object(&j);
    json_kv_str(&j, "isolation", site->isolation);
    json_key(&j, "ports");
    json_array(&j);
    for (size_t i = 0; site->ports && i < spec_n_ports(plan->spec); i++)
        json_int(&j, site->ports[i]);
    json_end(&j);
    json_key(&j, "gpus");
    json_array(&j);
    for (; gpus && *gpus; gpus++)
        json_str(&j, *gpus);
    json_end(&j);
    if (sub->max_duration_ms)
        json_kv_int(&j, "max_duration_ms", sub->max_duration_ms);
    json_end(&j);
}

int site_read(struct arena *a, const char *json, struct submission *ret, struct err *e)
{
    const struct node *root = json_node(a, json, strlen(json));
    const struct node *ports = node_get(root, "ports"), *gpus = node_get(root, "gpus");
    const struct node *most = node_get(root, "max_duration_ms");
    const char *isolation = node_text(node_get(root, "isolation"), "");

    if (!*isolation || !ports || ports->type != NODE_SEQ || !gpus || gpus->type != NODE_SEQ)
        return err_set(e, -EINVAL, "what was chosen for the job cannot be read from the database");
    int *numbers = ARENA_ARRAY(a, int, ports->n + 1);
    for (size_t i = 0; i < ports->n; i++)
        numbers[i] = ports->items[i]->type == NODE_INT ? (int)ports->items[i]->i : 0;
    ret->isolation = isolation;
    ret->ports = numbers;
    ret->n_ports = ports->n;
    ret->max_duration_ms = most && most->type == NODE_INT ? most->i : 0;
    ret->gpus = gpus->n ? (const char *const *)words_of(a, gpus, NULL) : NULL;
    return 0;
}

void planned_release(struct planned *p)
{
    survey_release(&p->survey);
    if (p->kept)
        p->release(p->kept);
    p->kept = NULL;
}

/* Planning looks at the directory and the environment of this process. It is done before anything
 * of the job runs, and nothing else runs meanwhile. */
int submission_plan(planner_fn *plan, struct arena *a, struct submission *sub,
                    const struct rundir *rd, bool anyhow, struct planned *ret, struct err *e)
{
    auto_close int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char **env = environ;
    int r;

    if (here < 0)
        return err_sys(e, -errno, "cannot open the working directory");
    if (chdir(sub->cwd) < 0 && !anyhow) {
        ret->cause = CAUSE_UNSCHEDULABLE;
        return err_sys(e, -errno, "cannot change to %s, where the job was submitted", sub->cwd);
    }
    environ = sub->env;
    r = plan(a, sub, rd, anyhow, ret, e);
    environ = env;
    if (fchdir(here) < 0 && r == 0)
        r = err_sys(e, -errno, "cannot return to the working directory");
    return r;
}
