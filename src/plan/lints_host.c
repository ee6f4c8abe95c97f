/* lints_host.c - commands that are meant for a container and would change this machine.
 *
 * A container's file system is thrown away; here there is none between the job and the machine.
 * Only what the text itself shows: package managers, services and users, and files at absolute
 * paths that are neither the job's own nor temporary. Said only where it could take effect: what
 * needs root is not said to an ordinary user, whose own files are those below HOME.
 */
#include <string.h>

#include "base/shellwords.h"
#include "base/strbuf.h"
#include "plan/command.h"
#include "plan/lints.h"

#define SHOWN 3       /* commands that are named; the rest is counted */
#define SHOWN_TEXT 60 /* bytes of each */

/* --- what changes the machine -------------------------------------------------------------------
 */

enum effect {
    NEEDS_ROOT, /* packages, users, services */
    PYTHON,     /* packages of the Python in use: an ordinary user's own, too */
    PATHS,      /* of all words */
    LAST_PATH,  /* of the last word, the others are only read */
    MODE_PATHS, /* the first word is no path */
};

static const struct rule {
    const char *program;
    enum effect effect;
    const char *verbs;  /* one of these words must be there, blank-separated; NULL: none needed */
    const char *unless; /* and none of these */
} rules[] = {
    {"apt", NEEDS_ROOT, "install remove purge autoremove upgrade full-upgrade", NULL},
    {"apt-get", NEEDS_ROOT, "install remove purge autoremove upgrade dist-upgrade build-dep", NULL},
    {"aptitude", NEEDS_ROOT, "install remove purge upgrade", NULL},
    {"dpkg", NEEDS_ROOT, "-i --install -r --remove -P --purge", NULL},
    {"yum", NEEDS_ROOT, "install remove erase update upgrade localinstall groupinstall", NULL},
    {"dnf", NEEDS_ROOT, "install remove erase update upgrade groupinstall", NULL},
    {"microdnf", NEEDS_ROOT, "install remove update upgrade", NULL},
    {"zypper", NEEDS_ROOT, "install in remove rm update up", NULL},
    {"apk", NEEDS_ROOT, "add del upgrade", NULL},
    {"rpm", NEEDS_ROOT, "-i -ivh -U -Uvh -e --install --upgrade --erase", NULL},
    {"snap", NEEDS_ROOT, "install remove refresh", NULL},
    {"npm", NEEDS_ROOT, "-g --global", NULL},
    {"gem", NEEDS_ROOT, "install uninstall update", "--user-install -i --install-dir"},
    {"make", NEEDS_ROOT, "install uninstall", NULL},
    {"ninja", NEEDS_ROOT, "install uninstall", NULL},
    {"useradd", NEEDS_ROOT, NULL, NULL},
    {"userdel", NEEDS_ROOT, NULL, NULL},
    {"usermod", NEEDS_ROOT, NULL, NULL},
    {"adduser", NEEDS_ROOT, NULL, NULL},
    {"groupadd", NEEDS_ROOT, NULL, NULL},
    {"chpasswd", NEEDS_ROOT, NULL, NULL},
    {"service", NEEDS_ROOT, "start stop restart reload", NULL},
    {"systemctl", NEEDS_ROOT, "start stop restart reload enable disable", NULL},
    {"sysctl", NEEDS_ROOT, "-w -p --write --load --system", NULL},
    {"ldconfig", NEEDS_ROOT, NULL, "-p --print-cache"},
    {"update-alternatives", NEEDS_ROOT, "--install --set --remove --auto --config", NULL},
    {"modprobe", NEEDS_ROOT, NULL, NULL},
    {"pip", PYTHON, "install uninstall", "-t --target --prefix --root --user --dry-run -h --help"},
    {"conda", PYTHON, "install remove uninstall update upgrade", "-n --name -p --prefix --dry-run"},
    {"mamba", PYTHON, "install remove uninstall update upgrade", "-n --name -p --prefix --dry-run"},
    {"rm", PATHS, NULL, NULL},
    {"rmdir", PATHS, NULL, NULL},
    {"mv", PATHS, NULL, NULL},
    {"tee", PATHS, NULL, NULL},
    {"truncate", PATHS, NULL, NULL},
    {"sed", PATHS, "-i --in-place", NULL},
    {"cp", LAST_PATH, NULL, NULL},
    {"ln", LAST_PATH, NULL, NULL},
    {"install", LAST_PATH, NULL, NULL},
    {"chmod", MODE_PATHS, NULL, NULL},
    {"chown", MODE_PATHS, NULL, NULL},
    {"chgrp", MODE_PATHS, NULL, NULL},
};

/* --- one command of a text ----------------------------------------------------------------------
 */

struct found {
    const char *text, *role;
    unsigned line; /* of the command in the file; 0: not known */
};

struct search {
    struct notes *ns;
    const struct plan *plan;
    const struct role *role;
    const struct mount *mounts; /* what the command sees, beside the role's own */
    size_t n_mounts;
    const char *text, *workdir, *home;
    unsigned line;
    bool own_python; /* packages go into an environment of the user's or of the job's own */
    struct found v[SHOWN];
    size_t n;
};

struct simple { /* one simple command; redirections' files are among the words */
    const struct shell_word *v;
    size_t n;
};

static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; p && n; p = strchr(p, ' ')) {
        p += *p == ' ';
        if (strncmp(p, word, n) == 0 && (p[n] == ' ' || !p[n]))
            return true;
    }
    return false;
}

/* "--target=DIR" and "-i.bak" are these options, too. */
static bool is_option(const char *list, const char *word)
{
    char name[32];
    size_t n = strcspn(word, "=");

    if (in_list(list, word))
        return true;
    if (word[0] != '-' || n >= sizeof(name))
        return false;
    memcpy(name, word, n);
    name[word[1] == '-' ? n : 2] = '\0';
    return in_list(list, name);
}

static bool any_word(const struct simple *c, size_t from, const char *list)
{
    for (size_t i = from; i < c->n; i++)
        if (!c->v[i].target && is_option(list, c->v[i].text))
            return true;
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* pip, pip3, pip3.11 */
static bool is_versioned(const char *name, const char *program)
{
    size_t n = strlen(program);

    return strncmp(name, program, n) == 0 && !name[n + strspn(name + n, "0123456789.")];
}

/* Past `sudo -E`, `env A=b`, `python3 -m`: the word that says what is done, or n. */
static size_t program_at(const struct simple *c)
{
    static const char wrappers[] = "sudo env exec nohup time command nice";
    size_t i = 0;

    while (i < c->n && (c->v[i].target || c->v[i].assignment || strchr(c->v[i].text, '=')))
        i++;
    while (i < c->n && in_list(wrappers, base_name(c->v[i].text)))
        for (i++; i < c->n && (c->v[i].text[0] == '-' || strchr(c->v[i].text, '=')); i++)
            ;
    if (i + 2 < c->n && is_versioned(base_name(c->v[i].text), "python") &&
        !strcmp(c->v[i + 1].text, "-m"))
        i += 2;
    return i;
}

/* --- paths --------------------------------------------------------------------------------------
 */

static bool is_in(const char *path, const char *dir)
{
    size_t n = dir ? strlen(dir) : 0;

    while (n > 0 && dir[n - 1] == '/')
        n--;
    return n > 0 && strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Is the file at this path the machine's, and can the job change it? */
static bool is_machine_file(const struct search *s, const struct shell_word *w)
{
    const struct facts *f = s->plan->facts;
    const char *const own[] = {s->workdir, s->plan->spec->dir, f->site.run_dir, f->site.scratch_dir,
                               "/tmp",     "/var/tmp",         "/dev",          "/proc",
                               "/sys"};
    const char *path = arena_strndup(s->ns->arena, w->text, strcspn(w->text, "$`*?["));

    if (*path != '/' || (strlen(path) < strlen(w->text) && strrchr(path, '/') == path))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (is_in(path, own[i]))
            return false;
    for (size_t i = 0; i < s->role->n_mounts; i++)
        if (is_in(path, s->role->mounts[i].path))
            return false;
    for (size_t i = 0; i < s->n_mounts; i++)
        if (is_in(path, s->mounts[i].path))
            return false;
    for (size_t i = 0; f->site.maps && f->site.maps[i]; i++)
        if (is_in(path, strrchr(f->site.maps[i], '=') + 1))
            return false;
    return f->machine.root || is_in(path, s->home);
}

static bool changes_paths(const struct search *s, const struct simple *c, size_t from,
                          enum effect effect)
{
    size_t skip = effect == MODE_PATHS, last = 0;

    for (size_t i = from; i < c->n; i++) {
        const struct shell_word *w = &c->v[i];

        if (w->target || w->text[0] == '-')
            continue;
        last = i;
        if (effect == LAST_PATH)
            continue;
        if (skip)
            skip--;
        else if (is_machine_file(s, w))
            return true;
    }
    return effect == LAST_PATH && last > from && is_machine_file(s, &c->v[last]);
}

/* `> /etc/x`; what is only read begins with < in the text. */
static bool redirects(const struct search *s, const struct simple *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *before = s->text + c->v[i].start;

        if (!c->v[i].target)
            continue;
        while (before > s->text && (before[-1] == ' ' || before[-1] == '\t'))
            before--;
        if (before > s->text && before[-1] != '<' && is_machine_file(s, &c->v[i]))
            return true;
    }
    return false;
}

/* --- a whole text -------------------------------------------------------------------------------
 */

/* From here on packages go into an environment of the job's own. */
static bool makes_environment(const struct simple *c, size_t at)
{
    const char *program = base_name(c->v[at].text);

    if (in_list("venv virtualenv", program))
        return true;
    return at + 1 < c->n &&
           ((in_list("source .", program) && !strcmp(base_name(c->v[at + 1].text), "activate")) ||
            (in_list("conda mamba", program) && in_list("activate create", c->v[at + 1].text)));
}

static bool changes_machine(struct search *s, const struct simple *c)
{
    size_t at = program_at(c);

    if (redirects(s, c))
        return true;
    if (at >= c->n)
        return false;
    if (makes_environment(c, at))
        s->own_python = true;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        const struct rule *rule = &rules[i];
        const char *name = base_name(c->v[at].text);

        if (rule->effect == PYTHON ? !is_versioned(name, rule->program)
                                   : strcmp(name, rule->program) != 0)
            continue;
        if ((rule->verbs && !any_word(c, at + 1, rule->verbs)) ||
            (rule->unless && any_word(c, at + 1, rule->unless)))
            return false;
        switch (rule->effect) {
        case NEEDS_ROOT:
            return s->plan->facts->machine.root;
        case PYTHON:
            return !s->own_python;
        default:
            return changes_paths(s, c, at + 1, rule->effect);
        }
    }
    return false;
}

static void add(struct search *s, const struct simple *c)
{
    size_t start = c->v[0].start, end = c->v[c->n - 1].end;
    size_t n = strcspn(s->text + start, "\n");
    const char *text;

    n = n < end - start ? n : end - start;
    text = arena_printf(s->ns->arena, "%.*s%s", n > SHOWN_TEXT ? SHOWN_TEXT : (int)n,
                        s->text + start, n > SHOWN_TEXT ? "…" : "");
    for (size_t i = 0; i < s->n && i < SHOWN; i++)
        if (!strcmp(s->v[i].text, text))
            return;
    if (s->n < SHOWN)
        s->v[s->n] = (struct found){text, s->role->name, s->line};
    s->n++;
}

static void search_text(struct search *s, const char *text)
{
    const struct shell_word *v;
    size_t n = text ? shell_words_all(s->ns->arena, text, &v) : 0;

    s->text = text;
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;

        while (end < n && v[end].command == v[i].command)
            end++;
        struct simple c = {v + i, end - i};

        if (changes_machine(s, &c))
            add(s, &c);
        i = end;
    }
}

/* --- the job ------------------------------------------------------------------------------------
 */

static bool has_variable(const struct plan *plan, uint32_t process, const char *name)
{
    auto_arena struct arena *a = arena_new();
    const struct env_value *v;
    size_t n = plan_env(a, plan, process, FIRST_START, true, &v);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name) && v[i].value[0])
            return true;
    return false;
}

static const char *home_of(const struct facts *f)
{
    for (const char *const *v = f->caller.env; v && *v; v++)
        if (!strncmp(*v, "HOME=", 5))
            return *v + 5;
    return NULL;
}

static bool has_environment(const struct plan *plan, const struct replica *r)
{
    const struct image_place *images = plan->facts->site.images;

    return (images && images[r->role_index].prefix) ||
           has_variable(plan, r->first_process, "VIRTUAL_ENV") ||
           has_variable(plan, r->first_process, "CONDA_PREFIX");
}

static void search_role(struct search *s, const struct replica *r)
{
    struct arena *a = s->ns->arena;
    const struct process *p = &s->plan->processes[r->first_process];
    bool by_shell;

    s->role = r->role;
    s->workdir = plan_workdir(a, s->plan, r);
    s->own_python = has_environment(s->plan, r);
    for (size_t i = 0; i < r->role->n_init; i++) {
        const struct init_command *init = &r->role->init[i];

        if (!plan_runs_init(s->plan, r, i, FIRST_START))
            continue;
        s->line = init->at ? (unsigned)init->at->pos.line : 0;
        s->mounts = init->mounts;
        s->n_mounts = init->n_mounts;
        search_text(s, command_shown(a, NULL, init->argv, &by_shell));
    }
    s->line = r->role->command_at ? (unsigned)r->role->command_at->pos.line : 0;
    s->n_mounts = 0;
    search_text(s, command_shown(a, p->shell, p->argv, &by_shell));
}

/* "`pip install x` (worker, line 7), `apt-get update` (worker) and 2 more" */
static void add_list(const struct search *s, struct strbuf *out)
{
    for (size_t i = 0; i < s->n && i < SHOWN; i++) {
        const struct found *f = &s->v[i];

        strbuf_addstr(out, i == 0 ? "" : i + 1 == s->n ? " and " : ", ");
        strbuf_addf(out, "`%s` (%s", f->text, f->role);
        if (f->line)
            strbuf_addf(out, ", line %u", f->line);
        strbuf_addch(out, ')');
    }
    if (s->n > SHOWN)
        strbuf_addf(out, " and %zu more", s->n - SHOWN);
}

static void note_layer(struct notes *ns, const struct plan *plan)
{
    const char *kept = plan->facts->site.keep_overlay;
    bool all = plan->facts->site.private_workdir;

    note_add(ns, SEV_NOTE,
             "%s: each replica has a writable layer over this machine%s, which is %s%s; "
             "%svolumes and paths of --map are not covered by it",
             all ? "--private-workdir" : "--overlay", all ? " and its working directory" : "",
             kept ? "kept in " : "discarded when the job has ended", kept ? kept : "",
             all ? "" : "working directories, ");
    if (all)
        return;
    for (size_t i = 0; i < plan->spec->n_roles; i++)
        if (plan->workdirs && plan->workdirs[i] && !strcmp(plan->workdirs[i], "/"))
            note_add(ns, SEV_WARNING,
                     "the working directory of %s is /, which the layer covers: files written "
                     "there are discarded",
                     plan->spec->roles[i].name);
}

void lint_host(struct notes *ns, const struct plan *plan)
{
    struct search s = {.ns = ns, .plan = plan, .home = home_of(plan->facts)};
    auto_strbuf struct strbuf list = STRBUF_INIT;

    if (plan->facts->site.overlay) {
        note_layer(ns, plan);
        return;
    }
    if (!plan->spec->file) /* the user's own command */
        return;
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].index == 0 && plan->replicas[i].n_processes > 0)
            search_role(&s, &plan->replicas[i]);
    add_list(&s, &list);
    if (s.n > 0)
        note_weigh(
            ns, NOTE_MACHINE, SEV_WARNING,
            "the job changes this machine, not a container: %s; use --overlay to discard its "
            "changes",
            list.buf);
}
