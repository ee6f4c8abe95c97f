/* plan.c - the part of a page that says what was run: commands, hosts, ports, variables, notes.
 *
 * Variables that the job only inherited from its caller are left out: nobody has chosen them for
 * this job, and a caller's environment holds tokens.
 */
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "story/html.h"

static void add_words(struct strbuf *out, const struct node *process)
{
    const struct node *argv = node_get(process, "argv");
    auto_strbuf struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; argv && argv->type == NODE_SEQ && i < argv->n; i++) {
        if (i > 0)
            strbuf_addch(&text, ' ');
        strbuf_add_typed_word(&text, node_text(argv->items[i], ""));
    }
    strbuf_addstr(&text, node_text(node_get(process, "shell"), ""));
    page_text(out, text.buf);
}

static void add_ports(struct strbuf *out, const struct node *ports)
{
    for (size_t i = 0; ports && ports->type == NODE_MAP && i < ports->n; i++) {
        const struct node *v = ports->pairs[i].value;

        strbuf_addstr(out, i ? ", " : "");
        page_text(out, ports->pairs[i].key->text);
        if (v->type == NODE_INT)
            strbuf_addf(out, " %lld", (long long)v->i);
    }
}

static void add_processes(const struct node *processes, struct strbuf *out)
{
    strbuf_addstr(out,
                  "<div class=\"wide\"><table>\n<tr><th>replica</th><th class=\"num\">rank</th>"
                  "<th>address</th><th>ports</th><th>command</th></tr>\n");
    for (size_t i = 0; i < processes->n && i < LIMIT_PAGE_PROCESSES; i++) {
        const struct node *p = processes->items[i], *rank = node_get(p, "rank");

        strbuf_addstr(out, "<tr><td class=\"mono\">");
        page_text(out, node_text(node_get(p, "replica"), ""));
        strbuf_addstr(out, "</td><td class=\"num\">");
        if (rank && rank->type == NODE_INT)
            strbuf_addf(out, "%lld", (long long)rank->i);
        strbuf_addstr(out, "</td><td class=\"mono\">");
        page_text(out, node_text(node_get(p, "address"), ""));
        strbuf_addstr(out, "</td><td>");
        add_ports(out, node_get(p, "ports"));
        strbuf_addstr(out, "</td><td class=\"text mono\">");
        add_words(out, p);
        strbuf_addstr(out, "</td></tr>\n");
    }
    strbuf_addstr(out, "</table></div>\n");
    if (processes->n > LIMIT_PAGE_PROCESSES)
        strbuf_addf(out, "<p class=\"soft\">%zu more</p>\n", processes->n - LIMIT_PAGE_PROCESSES);
}

/* A value in a job file that was not declared as a secret and sounds like one. */
static bool sounds_secret(const char *name)
{
    static const char *const words[] = {"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

static void add_variables(const struct node *process, struct strbuf *out)
{
    const struct node *env = node_get(process, "env"), *origins = node_get(process, "env_origin");
    size_t inherited = 0;

    if (!env || env->type != NODE_MAP || env->n == 0)
        return;
    strbuf_addstr(out, "<details><summary>variables of ");
    page_text(out, node_text(node_get(process, "replica"), ""));
    strbuf_addstr(out, "</summary>\n<div class=\"wide\"><table>\n<tr><th>name</th><th>value</th>"
                       "<th>from</th></tr>\n");
    for (size_t i = 0, shown = 0; i < env->n; i++) {
        const char *name = env->pairs[i].key->text,
                   *origin = node_text(node_get(origins, name), "caller");

        inherited += strcmp(origin, "caller") == 0;
        if (strcmp(origin, "caller") == 0 || shown++ >= LIMIT_PAGE_VARIABLES)
            continue;
        strbuf_addstr(out, "<tr><td class=\"mono\">");
        page_text(out, name);
        strbuf_addstr(out, "</td><td class=\"text mono\">");
        page_text(out, sounds_secret(name) ? "***" : node_text(env->pairs[i].value, ""));
        strbuf_addstr(out, "</td><td>");
        page_text(out, origin);
        strbuf_addstr(out, "</td></tr>\n");
    }
    strbuf_addstr(out, "</table></div>\n");
    if (inherited > 0)
        strbuf_addf(out, "<p class=\"soft\">%zu inherited from the caller %s not shown</p>\n",
                    inherited, inherited == 1 ? "is" : "are");
    strbuf_addstr(out, "</details>\n");
}

/* The first process of each role stands for the others. */
static void add_roles(const struct node *processes, struct strbuf *out)
{
    const char *role = NULL;
    size_t shown = 0;

    for (size_t i = 0; i < processes->n && shown < LIMIT_PAGE_ROLES; i++) {
        const char *other = node_text(node_get(processes->items[i], "role"), "");

        if (role && strcmp(role, other) == 0)
            continue;
        role = other;
        shown++;
        add_variables(processes->items[i], out);
    }
}

void page_plan(const struct page *p, struct strbuf *out)
{
    const struct node *processes = node_get(p->plan, "processes"),
                      *notes = node_get(p->plan, "notes");

    if (notes && notes->type == NODE_SEQ && notes->n > 0) {
        strbuf_addstr(out, "<h2>Notes</h2>\n");
        for (size_t i = 0; i < notes->n && i < LIMIT_PAGE_PROCESSES; i++) {
            strbuf_addstr(out, "<p>");
            page_text(out, node_text(node_get(notes->items[i], "message"), ""));
            strbuf_addstr(out, "</p>\n");
        }
    }
    if (!processes || processes->type != NODE_SEQ || processes->n == 0)
        return;
    strbuf_addstr(out, "<h2>Plan</h2>\n");
    add_processes(processes, out);
    add_roles(processes, out);
}
