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
            spec->form ? spec->form : "", framework_name(spec->framework),
            plan->facts->site.isolation);
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
                    role->own_slots ? " started by its command" : "");
        fputc('\n', out);
    }
    if (plan->world >= 0)
        fprintf(out, "  %d rank%s expected\n", plan->world, plan->world == 1 ? "" : "s");
}

static void show_table(FILE *out, const struct role *role, const char *init,
                       const struct mount_table *t, bool none)
{
    static const char *const words[] = {
        [PLACE_NONE] = "nothing",
        [PLACE_FRESH] = "an empty directory per replica",
        [PLACE_SHARED] = "an empty directory shared by the job",
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
    const struct mount_table *const *mounts = plan->facts->site.mounts;
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

/* A script as it stands, below the shell that reads it. */
static void show_lines(FILE *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        strbuf_add_escaped(&sb, text, n);
        fprintf(out, "    %s\n", sb.buf);
        text += n + (text[n] == '\n');
    }
}

static void show_shell(FILE *out, const struct process *p)
{
    static const char *const shells[] = {
        [SHELL_SH] = "/bin/sh -c",
        [SHELL_BASH] = "bash -c",
        [SHELL_BASH_STRICT] = "bash -o errexit -o nounset -o pipefail -c",
    };

    fprintf(out, "  %s\n", shells[p->shell_kind]);
    show_lines(out, p->shell);
}

static void flush_words(FILE *out, struct strbuf *line)
{
    if (!line->len)
        return;
    fputs("  ", out);
    put_escaped(out, line->buf);
    fputc('\n', out);
    strbuf_truncate(line, 0);
}

/* One line; a word of several lines (the script of `bash -c`) has lines of its own. */
static void show_words(FILE *out, const char *const *argv)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (const char *const *word = argv; *word; word++) {
        if (strchr(*word, '\n')) {
            flush_words(out, &sb);
            show_lines(out, *word);
            continue;
        }
        if (sb.len)
            strbuf_addch(&sb, ' ');
        strbuf_add_shell_word(&sb, *word);
    }
    flush_words(out, &sb);
}

static void show_debug(FILE *out, const struct process *p)
{
    fputs("  waits (debug mode)\n", out);
    if (p->debug_argv)
        show_words(out, p->debug_argv);
}

/* NULL: the plan does not know the image. */
static void put_dir(FILE *out, const char *dir)
{
    if (dir)
        put_escaped(out, dir);
    else
        fputs("the working directory of its image", out);
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
        put_dir(out, plan_init_workdir(a, plan, rp, i));
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
    put_dir(out, plan_workdir(a, plan, rp));
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

/* The first process of each role. What it gets beyond the caller's variables is counted only: a
 * screen of it would hide the rest. */
static void show_first_ones(FILE *out, struct arena *a, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_processes; i++) {
        const struct process *p = &plan->processes[i];
        const struct env_value *env;
        size_t n, added = 0;

        if (plan->replicas[p->replica].index != 0 || p->slot != 0)
            continue;
        n = plan_env(a, plan, i, FIRST_START, true, &env);
        for (size_t k = 0; k < n; k++)
            added += env[k].origin != ORIGIN_CALLER;
        show_command(out, a, plan, p);
        fprintf(out, "    %zu variable%s added; use --env to show them\n", added,
                added == 1 ? "" : "s");
    }
}

void explain_page(FILE *out, struct arena *a, const struct plan *plan, const struct explained *x,
                  bool env)
{
    show_head(out, plan, x->path);
    explain_notes(out, plan, x);
    show_roles(out, plan);
    show_hosts(out, plan, env);
    show_volumes(out, plan);
    if (env)
        show_all(out, a, plan);
    else
        show_first_ones(out, a, plan);
}
