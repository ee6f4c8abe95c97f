/* job_entry.c - what has no command of its own: an image's entry point is not here, so an option
 * has to name it. */
#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/job_options.h"

static bool skips(const struct job_options *o, const char *init)
{
    for (size_t i = 0; i < o->skip_init.n; i++)
        if (!*o->skip_init.v[i] || !strcmp(o->skip_init.v[i], init))
            return true;
    return false;
}

#define SHOWN_ARGS 100 /* bytes */

/* What lacks a command, and the options that would give it one. */
struct lacking {
    size_t n;
    struct strbuf who, options;
    const char *const *args; /* of the first role, for its entry point */
    size_t roles;
    bool differ; /* of another role */
};

/* One option may serve several: init containers of all roles often share a name. */
static void add_option(struct strbuf *out, const char *option, const char *name, const char *value)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, " %s%s%s", option, name, value);
    if (!strstr(out->buf, text.buf))
        strbuf_addstr(out, text.buf);
}

static void lacks(struct lacking *l, const char *image)
{
    if (image)
        strbuf_addf(&l->who, " (image %s)", image);
    l->n++;
}

static void find_init(const struct job_options *o, const struct role *role, struct lacking *ret)
{
    for (size_t i = 0; i < role->n_init; i++) {
        const struct init_command *init = &role->init[i];

        if ((init->argv && init->argv[0]) || skips(o, init->name))
            continue;
        strbuf_addf(&ret->who, "%sinit container %s of %s", ret->n ? ", " : "", init->name,
                    role->name);
        add_option(&ret->options, "--skip-init=", init->name, "");
        lacks(ret, init->image);
    }
}

static bool same_args(const char *const *a, const char *const *b)
{
    while (a && b && *a && *b && !strcmp(*a, *b)) {
        a++;
        b++;
    }
    return (a ? *a : NULL) == (b ? *b : NULL); /* both at their end */
}

static void find_lacking(const struct job_options *o, const struct job_spec *spec,
                         struct lacking *ret)
{
    for (size_t k = 0; k < spec->n_roles; k++) {
        const struct role *role = &spec->roles[k];

        find_init(o, role, ret);
        if (!spec_lacks_command(spec, role))
            continue;
        strbuf_addf(&ret->who, "%s%s", ret->n ? ", " : "", role->name);
        add_option(&ret->options, "--entrypoint ", role->name, "='CMD'");
        if (ret->roles++ == 0)
            ret->args = role->args;
        ret->differ = ret->differ || !same_args(ret->args, role->args);
        lacks(ret, role->image);
    }
}

/* `args "--backend gloo" are appended; try --entrypoint 'python3 train.py'` */
static void add_remedy(const struct lacking *l, struct strbuf *out)
{
    auto_strbuf struct strbuf words = STRBUF_INIT;
    bool args = l->args && l->args[0];

    if (!args || l->differ || l->n > l->roles) {
        strbuf_addf(out, "use%s", l->options.buf);
        if (args || l->differ)
            strbuf_addstr(out, " (`args` are appended to CMD)");
        return;
    }
    for (size_t i = 0; l->args[i]; i++) {
        strbuf_addstr(&words, i ? " " : "");
        strbuf_add_shell_word(&words, l->args[i]);
    }
    strbuf_addf(out, "args \"%.*s%s\" are appended; try ", SHOWN_ARGS, words.buf,
                words.len > SHOWN_ARGS ? "…" : "");
    if (l->args[0][0] != '-')
        strbuf_addstr(out, "--entrypoint exec (the args are the command) or ");
    strbuf_addstr(out, "--entrypoint 'python3 train.py'");
}

int job_commands_here(const struct job_options *o, const struct job_spec *spec, struct err *e)
{
    struct lacking l = {.who = STRBUF_INIT, .options = STRBUF_INIT};
    auto_strbuf struct strbuf remedy = STRBUF_INIT;
    int r = 0;

    find_lacking(o, spec, &l);
    add_remedy(&l, &remedy);
    if (l.n > 0)
        r = err_set(e, -ENOEXEC,
                    "%s %s no command, and the entry point of an image is not available locally; "
                    "%s",
                    l.who.buf, l.n == 1 ? "has" : "have", remedy.buf);
    strbuf_release(&l.who);
    strbuf_release(&l.options);
    return r;
}
