/* explain_page.c - a plan as a page for people. Text from the job file is escaped. */
#include <string.h>

#include "base/strbuf.h"
#include "cli/explain.h"

#define HOSTS_SHOWN 16 /* of one role, without --env */

static void put_escaped(FILE *out, const char *text)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_add_escaped(&sb, text, strlen(text));
    fputs(sb.buf, out);
}

static void show_head(FILE *out, const struct plan *plan, const char *path)
{
    const struct job_spec *spec = plan->spec;

    put_escaped(out, spec->name);
    fprintf(out, ": %s%s%s, framework %s, isolation %s\n", spec->dialect, spec->form ? " " : "",
            spec->form ? spec->form : "", framework_name(spec->framework), plan->facts->isolation);
    fputs("from ", out);
    put_escaped(out, path);
    fputc('\n', out);
}

static void show_roles(FILE *out, const struct plan *plan)
{
    fputs("\nRoles\n", out);
    for (size_t i = 0; i < plan->spec->n_roles; i++) {
        const struct role *role = &plan->spec->roles[i];

        fprintf(out, "  %-10s %d replica%s", role->name, role->replicas,
                role->replicas == 1 ? "" : "s");
        for (size_t k = 0; k < role->n_tasks; k++)
            fprintf(out, "%s%d %s", k ? ", " : " with ", role->tasks[k].count, role->tasks[k].type);
        if (role->kind == ROLE_HOST && role->slots_kind == SLOTS_NUMBER)
            fprintf(out, " of %d slot%s", role->slots, role->slots == 1 ? "" : "s");
        else if (role->kind == ROLE_PLAIN && role->slots > 1 && !role->n_tasks)
            fprintf(out, " of %d processes%s", role->slots,
                    role->own_slots ? " that its command starts" : "");
        fputc('\n', out);
    }
    if (plan->world >= 0)
        fprintf(out, "  %d rank%s expected\n", plan->world, plan->world == 1 ? "" : "s");
}

static void show_table(FILE *out, const struct role *role, const char *init,
                       const struct mount_table *t, bool none)
{
    static const char *const words[] = {
        [PLACE_NONE] = "nothing is there",
        [PLACE_FRESH] = "an empty directory of each replica",
        [PLACE_SHARED] = "an empty directory of the job",
        [PLACE_FILES] = "files, in memory",
    };

    for (size_t i = 0; i < t->n; i++) {
        const struct mount_place *p = &t->v[i];
        const struct mount *m = p->mount;
        bool read_only = m->read_only || p->kind == PLACE_FILES;

        fprintf(out, "  %-10s ", role->name);
        put_escaped(out, m->path);
        fprintf(out, "  (%s ", volume_source_name(m->source));
        put_escaped(out, m->from ? m->from : m->volume);
        fprintf(out, "%s): ", read_only ? ", read-only" : "");
        put_escaped(out, p->kind == PLACE_HERE || (none && p->here) ? p->here : words[p->kind]);
        if (m->sub_path) {
            fputs(", in it ", out);
            put_escaped(out, m->sub_path);
        }
        if (init) {
            fputs("; for init container ", out);
            put_escaped(out, init);
        }
        fputc('\n', out);
    }
}

static void show_volumes(FILE *out, const struct plan *plan)
{
    const struct mount_table *const *mounts = plan->facts->mounts;
    bool none = isolation_is(plan->facts, "none");

    if (!mounts)
        return;
    fputs("\nVolumes\n", out);
    for (size_t k = 0; k < plan->spec->n_roles; k++) {
        const struct role *role = &plan->spec->roles[k];

        show_table(out, role, NULL, &mounts[k][0], none);
        for (size_t i = 0; i < role->n_init; i++)
            show_table(out, role, role->init[i].name, &mounts[k][i + 1], none);
    }
}

/* "  http 20001, SynPort 20002 20003" */
static void show_ports(FILE *out, const struct replica *rp)
{
    for (size_t i = 0; i < rp->n_ports; i++) {
        const struct plan_port *port = &rp->ports[i];

        fputs(i ? ", " : "  ", out);
        put_escaped(out, port->label);
        for (int n = 0; n < port->n; n++)
            fprintf(out, " %d", port->numbers[n]);
    }
}

static void show_hosts(FILE *out, const struct plan *plan, bool all)
{
    fputs("\nHosts\n", out);
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *rp = &plan->replicas[i];

        if (all || rp->index < HOSTS_SHOWN) {
            fprintf(out, "  %-12s %-12s %s", rp->name, rp->address, rp->host);
            show_ports(out, rp);
            fputc('\n', out);
        } else if (rp->index == HOSTS_SHOWN)
            fprintf(out, "  … %d more\n", rp->role->replicas - HOSTS_SHOWN);
    }
}

/* The shell and, below it, its text line by line. */
static void show_shell(FILE *out, const struct process *p)
{
    static const char *const shells[] = {
        [SHELL_SH] = "/bin/sh -c",
        [SHELL_BASH] = "bash -c",
        [SHELL_BASH_STRICT] = "bash -o errexit -o nounset -o pipefail -c",
    };

    fprintf(out, "  %s\n", shells[p->shell_kind]);
    for (const char *line = p->shell; *line;) {
        size_t n = strcspn(line, "\n");
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        strbuf_add_escaped(&sb, line, n);
        fprintf(out, "    %s\n", sb.buf);
        line += n + (line[n] == '\n');
    }
}

static void show_words(FILE *out, const char *const *argv)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (const char *const *word = argv; *word; word++) {
        if (sb.len)
            strbuf_addch(&sb, ' ');
        strbuf_add_shell_word(&sb, *word);
    }
    fputs("  ", out);
    put_escaped(out, sb.buf);
    fputc('\n', out);
}

static void show_debug(FILE *out, const struct process *p)
{
    fputs("  waits; it is debugged\n", out);
    if (p->debug_argv)
        show_words(out, p->debug_argv);
}

/* What runs in the replica before its own command. */
static void show_init(FILE *out, struct arena *a, const struct plan *plan, const struct replica *rp)
{
    for (size_t i = 0; i < rp->role->n_init; i++) {
        const char *const *argv = plan_init_argv(a, plan, rp, i, PLAN_START(plan), true);

        if (!plan_runs_init(plan, rp, i, PLAN_START(plan)))
            continue;
        fprintf(out, "\n%s, first ", rp->name);
        put_escaped(out, rp->role->init[i].name);
        fputs(", in ", out);
        put_escaped(out, plan_init_workdir(a, plan, rp, i));
        fputc('\n', out);
        if (argv)
            show_words(out, argv);
        else
            fputs("  the image's own entry point\n", out);
    }
}

static void show_command(FILE *out, struct arena *a, const struct plan *plan,
                         const struct process *p)
{
    const struct replica *rp = &plan->replicas[p->replica];

    if (p->slot == 0)
        show_init(out, a, plan, rp);
    fprintf(out, "\n%s, in ", rp->name);
    put_escaped(out, plan_workdir(a, plan, rp));
    fputc('\n', out);
    if (plan->spec->debug && p->debug) {
        show_debug(out, p);
        return;
    }
    if (p->shell) {
        show_shell(out, p);
        return;
    }
    if (!p->argv) {
        bool entry = !rp->role->n_tasks && rp->role->kind != ROLE_HOST;

        fputs(entry               ? "  the image's own entry point\n"
              : rp->role->n_tasks ? "  waits: it has no task\n"
                                  : "  waits; the launcher starts ranks in it\n",
              out);
        if (entry && rp->role->args && rp->role->args[0])
            show_words(out, rp->role->args);
        return;
    }
    show_words(out, p->argv);
}

static void show_variable(FILE *out, const struct env_value *v)
{
    fputs("    ", out);
    put_escaped(out, v->name);
    fputc('=', out);
    put_escaped(out, v->value);
    fprintf(out, "  (%s%s%s)\n", origin_name(v->origin), v->why ? ": " : "", v->why ? v->why : "");
}

static bool is_among(const struct env_value *v, const struct env_value *env, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(env[i].name, v->name))
            return !strcmp(env[i].value, v->value) && env[i].origin == v->origin;
    return false;
}

/* Every process with all it sees. */
static void show_all(FILE *out, struct arena *a, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_processes; i++) {
        const struct env_value *env;
        size_t n = plan_env(a, plan, i, FIRST_START, true, &env);

        show_command(out, a, plan, &plan->processes[i]);
        for (size_t k = 0; k < n; k++)
            show_variable(out, &env[k]);
    }
}

/* The first process of each role with what it gets beyond the caller's variables; after the first
 * role only what differs from that one. */
static void show_first_ones(FILE *out, struct arena *a, const struct plan *plan)
{
    const struct env_value *first = NULL;
    size_t n_first = 0;

    for (uint32_t i = 0; i < plan->n_processes; i++) {
        const struct process *p = &plan->processes[i];
        const struct env_value *env;

        if (plan->replicas[p->replica].index != 0 || p->slot != 0)
            continue;

        size_t n = plan_env(a, plan, i, FIRST_START, true, &env);

        show_command(out, a, plan, p);
        if (n_first)
            fprintf(out, "    as %s, except:\n", plan->replicas[0].name);
        for (size_t k = 0; k < n; k++)
            if (env[k].origin != ORIGIN_CALLER && !is_among(&env[k], first, n_first))
                show_variable(out, &env[k]);
        if (!n_first) {
            first = env;
            n_first = n;
        }
    }
}

static void show_note(FILE *out, enum severity severity, const char *text)
{
    fprintf(out, "  %s: ", severity_name(severity));
    put_escaped(out, text);
    fputc('\n', out);
}

static void show_notes(FILE *out, const struct plan *plan, const struct explained *x)
{
    const struct diags *ds = x->ds;

    fputs("\nNotes\n", out);
    for (size_t i = 0; ds && i < ds->n; i++) {
        const struct diag *d = &ds->v[i];

        fprintf(out, "  %s: ", severity_name(d->severity));
        put_escaped(out, x->path);
        fprintf(out, ":%u:%u: ", d->pos.line, d->pos.column);
        put_escaped(out, d->message);
        fputc('\n', out);
    }
    for (size_t i = 0; i < x->changes->n; i++)
        show_note(out, x->changes->v[i].severity, x->changes->v[i].text);
    for (size_t i = 0; i < plan->n_notes; i++)
        show_note(out, plan->notes[i].severity, plan->notes[i].message);
}

void explain_page(FILE *out, struct arena *a, const struct plan *plan, const struct explained *x,
                  bool env)
{
    show_head(out, plan, x->path);
    show_roles(out, plan);
    show_hosts(out, plan, env);
    show_volumes(out, plan);
    if (env)
        show_all(out, a, plan);
    else
        show_first_ones(out, a, plan);
    if (plan->n_notes || x->changes->n || (x->ds && x->ds->n))
        show_notes(out, plan, x);
}
