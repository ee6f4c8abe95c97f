/* lints.c - what in a job's commands will not work as it stands, each with what would.
 *
 * Only what the text itself shows: variables that nobody sets, ports and network interfaces written
 * as literals, a backend that needs GPUs, horovodrun where there is none. Nothing is changed; a
 * rewrite is the dialect's business. What a script does that a command calls is not seen here.
 */
#include "plan/lints.h"

#include <ctype.h>
#include <string.h>

#include "base/nearest.h"
#include "base/num.h"
#include "base/shellwords.h"
#include "base/strbuf.h"
#include "plan/command.h"
#include "plan/env.h"
#include "plan/horovod.h"
#include "plan/mpi.h"

/* --- the command --------------------------------------------------------------------------------
 */

static bool command_of(struct command *c)
{
    struct arena *a = c->ns->arena;
    const struct replica *rp = plan_replica(c->plan, c->role, 0);
    const struct process *p = rp ? &c->plan->processes[rp->first_process] : NULL;

    c->text = p ? command_shown(a, p->shell, p->argv, &c->by_shell) : NULL;
    if (!c->text)
        return false;
    c->n = shell_words(a, c->text, &c->v);
    return true;
}

const char *lint_value(const struct command *c, size_t i, const char *key, bool next_word)
{
    const struct shell_word *w = &c->v[i];
    size_t n = strlen(key);

    if (!w->plain || strncmp(w->text, key, n) != 0)
        return NULL;
    if (w->text[n] == '=')
        return w->text + n + 1;
    if (w->text[n] || !next_word || i + 1 == c->n || c->v[i + 1].command != w->command)
        return NULL;
    return c->v[i + 1].plain ? c->v[i + 1].text : NULL;
}

const char *lint_literal(const struct role *role, const char *name)
{
    for (size_t i = 0; i < role->n_env; i++)
        if (role->env[i].source == ENV_LITERAL && !strcmp(role->env[i].name, name))
            return role->env[i].value;
    return NULL;
}

/* --- variables that nobody sets -----------------------------------------------------------------
 */

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *const watched[] = {"PAI_", "AZUREML_", "AZ_BATCH", "MASTER_"};

static bool is_watched(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
        if (!strncmp(name, watched[i], strlen(watched[i])))
            return true;
    return false;
}

/* $NAME, ${NAME} without a default, 'NAME' and "NAME" (as a program's text asks for a variable). */
static bool is_used(const char *text, const char *at, size_t n)
{
    char before = at > text ? at[-1] : ' ', after = at[n];
    bool braced = before == '{' || before == '!';

    if (before == '$')
        return true;
    if (braced && at - text >= 2 && (at[-2] == '$' || at[-2] == '{'))
        return after == '}' || (after != ':' && !strchr("-=+?", after));
    return (before == '\'' || before == '"') && after == before && at[n + 1] != ':';
}

/* NAME=…, environ['NAME'] = …, read NAME, for NAME in */
static bool is_assigned(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = text; (at = strstr(at, name)); at += n) {
        const char *after = at + n;
        size_t before = (size_t)(at - text);

        if (before && (in_name(at[-1]) || at[-1] == '$' || at[-1] == '{'))
            continue;
        if (*after == '=' && after[1] != '=')
            return true;
        if ((before >= 5 && !strncmp(at - 5, "read ", 5)) ||
            (before >= 4 && !strncmp(at - 4, "for ", 4)))
            return true;
        if ((*after != '\'' && *after != '"') || after[1] != ']')
            continue;
        after += 2 + strspn(after + 2, " ");
        if (*after == '=' && after[1] != '=')
            return true;
    }
    return false;
}

struct known {
    const char **names;
    size_t n;
};

static struct known names_known(const struct command *c)
{
    const struct env_value *v;
    struct arena *a = c->ns->arena;
    size_t n = plan_env(a, c->plan, plan_replica(c->plan, c->role, 0)->first_process, FIRST_START,
                        true, &v);
    struct known known = {.names = ARENA_ARRAY(a, const char *, n)};

    /* A name that is near, but of another kind, is no help. */
    for (size_t i = 0; i < n; i++)
        if (is_watched(v[i].name))
            known.names[known.n++] = v[i].name;
    return known;
}

static bool is_known(const struct known *known, const char *name)
{
    for (size_t i = 0; i < known->n; i++)
        if (!strcmp(known->names[i], name))
            return true;
    return false;
}

static void lint_variables(struct command *c)
{
    struct known known = {0};

    for (const char *at = c->text; c->by_shell && *at;) {
        size_t n = 0;

        while (in_name(at[n]))
            n++;
        if (n && is_watched(at) && is_used(c->text, at, n)) {
            const char *name = arena_strndup(c->ns->arena, at, n), *nearest;

            if (!known.names)
                known = names_known(c);
            if (!is_known(&known, name) && !is_assigned(c->text, name)) {
                nearest = nearest_word(name, known.names, known.n);
                note_role(c->ns, c->role, NOTE_REPLACED, SEV_WARNING,
                          "the command uses $%s, which is not set%s%s%s", name,
                          nearest ? "; did you mean $" : "", nearest ? nearest : "",
                          nearest ? "?" : "");
            }
        }
        at += n ? n : 1;
    }
}

/* --- variables that stay with the caller --------------------------------------------------------
 */

static bool gets_variable(const struct command *c, const char *name)
{
    const struct env_value *v;
    size_t n = plan_env(c->ns->arena, c->plan, plan_replica(c->plan, c->role, 0)->first_process,
                        FIRST_START, true, &v);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return true;
    return false;
}

static bool expands(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = text; (at = strstr(at, name)); at += n)
        if (at > text && (at[-1] == '$' || at[-1] == '{') && !in_name(at[n]) &&
            is_used(text, at, n))
            return true;
    return false;
}

/* A shell sets these itself. */
static bool is_shells_own(const char *name)
{
    static const char *const own[] = {"PWD", "OLDPWD", "SHLVL", "SHELL", "IFS", "_", "PPID", "UID"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (!strcmp(name, own[i]))
            return true;
    return false;
}

/* Only part of the caller's environment reaches the job: it would be empty without a word. */
static void lint_caller(struct command *c)
{
    struct arena *a = c->ns->arena;

    for (const char *const *e = c->plan->facts->caller.env; c->by_shell && e && *e; e++) {
        const char *name = arena_strndup(a, *e, strcspn(*e, "="));

        if (!*name || is_shells_own(name) || !expands(c->text, name) ||
            is_assigned(c->text, name) || gets_variable(c, name))
            continue;
        note_add(c->ns, SEV_WARNING,
                 "the command of %s uses %s, which is set in your environment but not passed on; "
                 "use --inherit-env %s",
                 c->role->name, name, name);
    }
}

/* --- ports --------------------------------------------------------------------------------------
 */

static bool is_reserved(const struct plan *plan, int64_t number)
{
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        for (size_t k = 0; k < plan->replicas[i].n_ports; k++)
            for (int n = 0; n < plan->replicas[i].ports[k].n; n++)
                if (plan->replicas[i].ports[k].numbers[n] == number)
                    return true;
    return false;
}

/* The variable that holds a port which is the job's own, or NULL. */
static const char *port_variable(const struct command *c)
{
    const struct role *role = c->role;
    const char *label = NULL;

    if (!c->plan->spec->pai)
        return c->plan->spec->framework == FRAMEWORK_PYTORCH ? "$MASTER_PORT" : NULL;
    for (size_t i = 0; i < role->n_ports; i++)
        if (!label || (strcmp(role->ports[i].label, "ssh") != 0 && !strcmp(label, "http")) ||
            !strcmp(label, "ssh"))
            label = role->ports[i].label;
    return label ? arena_printf(c->ns->arena, "$PAI_PORT_LIST_%s_0_%s", role->name, label) : NULL;
}

static void lint_port(struct command *c, const char *value)
{
    const char *variable = port_variable(c);
    int64_t number;

    if (!value || num_i64(value, &number) < 0 || number <= 0 || number > 65535)
        return;
    if (!variable || is_reserved(c->plan, number))
        return;
    note_add(c->ns, SEV_NOTE,
             "%s hard-codes port %lld, which may be in use; %s is reserved for the job",
             c->role->name, (long long)number, variable);
}

/* Where every replica has a network of its own, no port is anybody else's. */
static void lint_ports(struct command *c)
{
    static const char *const options[] = {"--master_port", "--master-port"};

    if (isolation_is(c->plan->facts, "network"))
        return;
    lint_port(c, lint_literal(c->role, "MASTER_PORT"));
    for (size_t i = 0; i < c->n; i++) {
        lint_port(c, lint_value(c, i, "MASTER_PORT", false));
        for (size_t k = 0; k < ARRAY_SIZE(options); k++)
            lint_port(c, lint_value(c, i, options[k], true));
    }
}

/* --- network interfaces -------------------------------------------------------------------------
 */

static const struct chooser {
    const char *name;
    bool next_word; /* an option or parameter with its value in the next word */
    bool prefix;    /* the beginning of a name will do */
} choosers[] = {
    {"GLOO_SOCKET_IFNAME", false, false},
    {"NCCL_SOCKET_IFNAME", false, true},
    {"TP_SOCKET_IFNAME", false, false},
    {"HOROVOD_GLOO_IFACE", false, false},
    {"OMPI_MCA_btl_tcp_if_include", false, false},
    {"OMPI_MCA_oob_tcp_if_include", false, false},
    {"btl_tcp_if_include", true, false},
    {"oob_tcp_if_include", true, false},
    {"--network-interface", true, false},
    {"--network-interfaces", true, false},
};

static bool exists(const struct facts *facts, const char *name, bool prefix)
{
    for (const char *const *i = facts->site.interfaces; *i; i++)
        if (prefix ? !strncmp(*i, name, strlen(name)) : !strcmp(*i, name))
            return true;
    return false;
}

static const char *interface_list(struct arena *a, const struct facts *facts)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (const char *const *i = facts->site.interfaces; *i; i++)
        strbuf_addf(&sb, "%s%s", sb.len ? ", " : "", *i);
    return arena_strndup(a, sb.buf, sb.len);
}

/* "eth0,eth1"; "^eth0" excludes, "10.0.0.0/8" is no name, "=eth0" is NCCL's way of saying exactly
 */
static void lint_interface(struct command *c, const char *list, bool prefix)
{
    const struct facts *facts = c->plan->facts;

    if (!list || *list == '^' || strpbrk(list, "$/"))
        return;
    if (*list == '=') {
        list++;
        prefix = false;
    }
    while (*list) {
        size_t n = strcspn(list, ",");
        const char *name = arena_strndup(c->ns->arena, list, n);

        if (n && !exists(facts, name, prefix))
            note_role(c->ns, c->role, NOTE_FAILS, SEV_WARNING,
                      "network interface %s not found; replicas have %s%s", name,
                      interface_list(c->ns->arena, facts),
                      !strcmp(name, "eth0") ? "; use --isolate network for an eth0" : "");
        list += n + (list[n] == ',');
    }
}

static void lint_interfaces(struct command *c)
{
    if (!c->plan->facts->site.interfaces)
        return;
    for (size_t k = 0; k < ARRAY_SIZE(choosers); k++) {
        const struct chooser *ch = &choosers[k];

        lint_interface(c, lint_literal(c->role, ch->name), ch->prefix);
        for (size_t i = 0; i < c->n; i++)
            lint_interface(c, lint_value(c, i, ch->name, ch->next_word), ch->prefix);
    }
}

/* --- what needs GPUs ----------------------------------------------------------------------------
 */

static void lint_backends(struct command *c)
{
    static const char *const options[] = {"--dist-backend", "--dist_backend", "--backend"};

    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < ARRAY_SIZE(options); k++) {
            const char *backend = lint_value(c, i, options[k], true);

            if (backend && !strcmp(backend, "nccl"))
                note_role(c->ns, c->role, NOTE_FAILS, SEV_WARNING,
                          "backend nccl needs GPUs, this machine has none; use backend gloo");
        }
}

/* Without CUDA it can be installed, and refuses to train. */
static void lint_apex(struct command *c)
{
    if (strcasestr(c->text, "NVIDIA/apex"))
        note_weigh(c->ns, NOTE_FAILS, SEV_WARNING,
                   "%s installs Apex, which needs GPUs; this machine has none", c->role->name);
}

static void lint_gpus(struct command *c)
{
    if (c->plan->facts->machine.gpus > 0 && !c->plan->facts->machine.gpus_pretended)
        return;
    lint_backends(c);
    lint_apex(c);
}

/* --- one directory ------------------------------------------------------------------------------
 */

static bool is_word(const struct command *c, size_t i, const char *text)
{
    return i < c->n && c->v[i].plain && !strcmp(c->v[i].text, text);
}

/* On a cluster every replica has its own. Where a word is not known, it may be what sets them
 * apart. */
static void lint_clones(struct command *c)
{
    if (c->role->replicas < 2 || c->plan->facts->site.private_workdir)
        return;
    for (size_t i = 0; i < c->n; i++) {
        size_t end = i;

        if (!c->v[i].begins || !is_word(c, i, "git") || !is_word(c, i + 1, "clone"))
            continue;
        while (end < c->n && c->v[end].plain && c->v[end].command == c->v[i].command)
            end++;
        if (end < c->n && c->v[end].command == c->v[i].command)
            continue;
        note_weigh(
            c->ns, NOTE_FAILS, SEV_WARNING,
            "all %d replicas of %s run `git clone` in the same directory; only the first can "
            "succeed; use --private-workdir",
            c->role->replicas, c->role->name);
        return;
    }
}

/* --- horovodrun ---------------------------------------------------------------------------------
 */

static void lint_horovodrun(struct command *c)
{
    const char *line;

    if (!names_program(c->text, "horovodrun"))
        return;
    if (c->plan->facts->machine.horovodrun) {
        if (!strstr(c->text, "--disable-cache"))
            note_add(c->ns, SEV_NOTE,
                     "horovodrun caches its host checks for an hour; use --disable-cache to repeat "
                     "them");
        return;
    }
    line = horovod_as_mpirun(c->ns->arena, c->text, c->v, c->n);
    note_weigh(c->ns, NOTE_FAILS, SEV_WARNING, "horovodrun not found%s%s",
               line ? "; without it: " : "", line ? line : "");
}

/* --- secrets ------------------------------------------------------------------------------------
 */

static bool has_mask(const char *const *argv)
{
    for (; argv && *argv; argv++)
        if (strstr(*argv, "***"))
            return true;
    return false;
}

/* An argv is not secret: no other program could be started with it. */
static void lint_secrets(struct command *c)
{
    const struct replica *rp = plan_replica(c->plan, c->role, 0);
    const struct process *p = &c->plan->processes[rp->first_process];

    if (c->role->expand_argv && has_mask(p->argv) && !has_mask(c->role->argv))
        note_role(c->ns, c->role, NOTE_REPLACED, SEV_WARNING,
                  "the command takes a secret as an argument, which every user of this machine "
                  "can read; let the program read the variable");
}

void lints_collect(struct notes *ns, const struct plan *plan)
{
    static void (*const lints[])(struct command *) = {
        lint_variables, lint_caller,     lint_ports,   lint_interfaces, lint_gpus,
        lint_clones,    lint_horovodrun, lint_secrets, lint_addresses,  lint_launchers,
    };

    lint_environments(ns, plan);
    for (size_t i = 0; i < plan->spec->n_roles; i++) {
        struct command c = {.ns = ns, .plan = plan, .role = &plan->spec->roles[i]};

        if (!command_of(&c))
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(lints); k++)
            lints[k](&c);
    }
    lint_host(ns, plan);
}
