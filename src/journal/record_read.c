/* record_read.c - see record.h: a plan again, from its record.
 *
 * The file may have been damaged or edited: every number that becomes an index is checked here. */
#include <string.h>

#include "doc/json_read.h"
#include "journal/record_parts.h"

struct reader {
    struct arena *a;
    const char *next, *end;
    struct job_spec *spec;
    struct plan *plan;
    struct role *roles;
    struct replica *replicas;
    struct process *processes;
    uint32_t n_processes;
    const char *bad; /* the first key that makes no sense; NULL: none */
};

static void complain(struct reader *r, const char *key)
{
    if (key && !r->bad)
        r->bad = key;
}

/* The next line as an object, or NULL. */
static const struct node *next_line(struct reader *r)
{
    const char *nl = r->next < r->end ? memchr(r->next, '\n', (size_t)(r->end - r->next)) : NULL;
    const struct node *line = nl ? json_node(r->a, r->next, (size_t)(nl - r->next)) : NULL;

    r->next = nl ? nl + 1 : r->end;
    return line && line->type == NODE_MAP ? line : NULL;
}

static uint32_t count_of(struct reader *r, const struct node *map, const char *key, int64_t max)
{
    const struct node *n = node_get(map, key);

    if (n && n->type == NODE_INT && n->i >= 0 && n->i <= max)
        return (uint32_t)n->i;
    complain(r, key);
    return 0;
}

static size_t list_of(const struct node *map, const char *key, const struct node *const **ret)
{
    const struct node *n = node_get(map, key);

    *ret = n && n->type == NODE_SEQ ? n->items : NULL;
    return *ret ? n->n : 0;
}

static const char *const *words_of(struct reader *r, const struct node *list)
{
    if (!list || list->type != NODE_SEQ)
        return NULL;
    const char **words = ARENA_ARRAY(r->a, const char *, list->n + 1);
    for (size_t i = 0; i < list->n; i++)
        words[i] = list->items[i]->type == NODE_STRING ? list->items[i]->text : "";
    return words;
}

static const char *text_or(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

/* --- the first line --------------------------------------------------------------------------- */

static void read_tasks(struct reader *r, const struct node *map, struct role *role)
{
    const struct node *const *list;
    size_t n = list_of(map, "tasks", &list);
    struct task *tasks = n ? ARENA_ARRAY(r->a, struct task, n) : NULL;

    for (size_t i = 0; i < n; i++) {
        complain(r, fields_read(r->a, list[i], &record_task, &tasks[i]));
        tasks[i].type = text_or(tasks[i].type, "");
    }
    role->tasks = tasks;
    role->n_tasks = n;
}

static void read_inits(struct reader *r, const struct node *map, struct role *role)
{
    const struct node *const *list;
    size_t n = list_of(map, "init", &list);
    struct init_command *inits = n ? ARENA_ARRAY(r->a, struct init_command, n) : NULL;

    for (size_t i = 0; i < n; i++) {
        const struct node *name = node_get(list[i], "name"),
                          *program = node_get(list[i], "program");
        inits[i].name = name && name->type == NODE_STRING ? name->text : "";
        if (program && program->type == NODE_STRING) {
            const char **argv = ARENA_ARRAY(r->a, const char *, 2);
            argv[0] = program->text;
            inits[i].argv = argv;
        }
    }
    role->init = inits;
    role->n_init = n;
}

static void read_roles(struct reader *r, const struct node *header)
{
    const struct node *const *list;
    size_t n = list_of(header, "roles", &list);
    struct debug_role *debug = ARENA_ARRAY(r->a, struct debug_role, n + 1);
    struct debug_role *resume = ARENA_ARRAY(r->a, struct debug_role, n + 1);

    r->roles = ARENA_ARRAY(r->a, struct role, n + 1);
    for (size_t k = 0; k < n; k++) {
        struct role *role = &r->roles[k];
        struct record_role mode;

        complain(r, fields_read(r->a, list[k], &record_role, role));
        complain(r, fields_read(r->a, list[k], &record_modes, &mode));
        role->name = text_or(role->name, "");
        role->res = RESOURCES_UNSET;
        read_inits(r, list[k], role);
        read_tasks(r, list[k], role);
        debug[k] = (struct debug_role){.role = role->name, .skip_init = mode.debug_skips_init};
        resume[k] = (struct debug_role){.role = role->name, .skip_init = mode.resume_skips_init};
    }
    r->spec->roles = r->roles;
    r->spec->n_roles = r->spec->n_debug_roles = r->spec->n_resume_roles = n;
    r->spec->debug_roles = debug;
    r->spec->resume_roles = resume;
}

static void read_header(struct reader *r, const struct node *header, struct job_rules *rules)
{
    struct facts *facts = arena_calloc(r->a, 1, sizeof(*facts));
    struct pai_spec *pai = arena_calloc(r->a, 1, sizeof(*pai));
    struct record_rest rest;

    r->plan->n_replicas = count_of(r, header, "replicas", LIMIT_REPLICAS);
    r->plan->n_processes = count_of(r, header, "processes", LIMIT_PROCESSES);
    complain(r, fields_read(r->a, header, &record_spec, r->spec));
    complain(r, fields_read(r->a, header, &record_rest, &rest));
    complain(r, fields_read(r->a, node_get(header, "rules"), &record_rules, rules));
    r->spec->name = text_or(r->spec->name, "");
    facts->site.engine = text_or(rest.engine, "local"); /* older records do not have it */
    facts->site.run_id = text_or(rest.run_id, "");
    facts->site.run_dir = text_or(rest.run_dir, "");
    facts->site.isolation = text_or(rest.isolation, "");
    facts->machine.program = rest.program;
    facts->machine.program_errno = rest.program_errno;
    facts->caller.skip_init = words_of(r, node_get(header, "skip_init"));
    pai->version = rest.pai;
    r->spec->pai = rest.pai ? pai : NULL;
    r->plan->facts = facts;
    r->plan->launcher = rest.launcher;
    r->plan->world = rest.world;
    if (rest.launcher < -1 || rest.launcher >= (int32_t)r->plan->n_processes)
        complain(r, "launcher");
    read_roles(r, header);
}

/* --- a replica -------------------------------------------------------------------------------- */

static void read_command(struct reader *r, const struct node *map, struct process *p)
{
    const struct process *before = p->id > 0 ? p - 1 : NULL;
    const struct node *shell = node_get(map, "shell");
    struct {
        const char *key;
        const char *const **into;
    } words[] = {
        {"argv", &p->argv}, {"debug_argv", &p->debug_argv}, {"resume_argv", &p->resume_argv}};

    if (before) {
        p->argv = before->argv;
        p->debug_argv = before->debug_argv;
        p->resume_argv = before->resume_argv;
        p->shell = before->shell;
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (node_get(map, words[i].key))
            *words[i].into = words_of(r, node_get(map, words[i].key));
    if (shell)
        p->shell = shell->type == NODE_STRING ? shell->text : NULL;
}

static void read_process(struct reader *r, const struct node *map, const struct replica *rp)
{
    const struct node *task = node_get(map, "task");
    struct process *p = &r->processes[r->n_processes];

    complain(r, fields_read(r->a, map, &record_process, p));
    p->id = r->n_processes++;
    p->replica = rp->id;
    p->log = text_or(p->log, "");
    if (task) {
        if (task->type == NODE_INT && task->i >= 0 && (size_t)task->i < rp->role->n_tasks)
            p->task = &rp->role->tasks[task->i];
        else
            complain(r, "task");
    }
    read_command(r, map, p);
}

static void read_ports(struct reader *r, const struct node *map, struct replica *rp)
{
    const struct node *ports = node_get(map, "ports");

    if (!ports || ports->type != NODE_MAP)
        return;
    struct plan_port *v = ARENA_ARRAY(r->a, struct plan_port, ports->n + 1);
    for (size_t i = 0; i < ports->n; i++) {
        const struct node *list = ports->pairs[i].value;
        size_t n = list->type == NODE_SEQ ? list->n : 0;
        int *numbers = ARENA_ARRAY(r->a, int, n + 1);

        for (size_t k = 0; k < n; k++)
            numbers[k] = list->items[k]->type == NODE_INT ? (int)list->items[k]->i : 0;
        v[i] =
            (struct plan_port){.label = ports->pairs[i].key->text, .numbers = numbers, .n = (int)n};
    }
    rp->ports = v;
    rp->n_ports = ports->n;
}

static void read_replica(struct reader *r, uint32_t id)
{
    const struct node *line = next_line(r);
    const struct node *const *list;
    struct replica *rp = &r->replicas[id];
    size_t n = list_of(line, "processes", &list);

    complain(r, line ? fields_read(r->a, line, &record_replica, rp) : "replicas");
    if (rp->role_index >= r->spec->n_roles || r->n_processes >= r->plan->n_processes ||
        n > r->plan->n_processes - r->n_processes) {
        complain(r, "processes");
        return;
    }
    rp->id = id;
    rp->name = text_or(rp->name, "");
    rp->host = text_or(rp->host, "");
    rp->address = text_or(rp->address, "");
    rp->role = &r->roles[rp->role_index];
    rp->first_process = r->n_processes;
    rp->n_processes = (uint32_t)n;
    read_ports(r, line, rp);
    for (size_t i = 0; i < n; i++)
        read_process(r, list[i], rp);
}

int record_read(struct arena *a, const char *text, size_t len, const struct plan **ret_plan,
                struct job_rules *ret_rules, struct err *e)
{
    struct reader r = {.a = a,
                       .next = text,
                       .end = text + len,
                       .spec = arena_calloc(a, 1, sizeof(*r.spec)),
                       .plan = arena_calloc(a, 1, sizeof(*r.plan))};
    struct job_rules rules = {0};
    const struct node *header = next_line(&r);
    const struct node *version = node_get(header, "version");

    if (!version || version->type != NODE_INT)
        return err_set(e, -EINVAL, "%s cannot be read", RECORD_NAME);
    if (version->i != RECORD_VERSION)
        return err_set(e, -EINVAL, "%s is of version %lld, this muster reads version %d",
                       RECORD_NAME, (long long)version->i, RECORD_VERSION);
    read_header(&r, header, &rules);
    r.replicas = ARENA_ARRAY(a, struct replica, r.plan->n_replicas + 1);
    r.processes = ARENA_ARRAY(a, struct process, r.plan->n_processes + 1);
    for (uint32_t i = 0; i < r.plan->n_replicas && !r.bad; i++)
        read_replica(&r, i);
    if (r.n_processes != r.plan->n_processes)
        complain(&r, "processes");
    if (r.bad)
        return err_set(e, -EINVAL, "%s: \"%s\" is missing or out of range", RECORD_NAME, r.bad);
    r.plan->spec = r.spec;
    r.plan->replicas = r.replicas;
    r.plan->processes = r.processes;
    *ret_plan = r.plan;
    *ret_rules = rules;
    return 0;
}
