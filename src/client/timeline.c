/* timeline.c - see timeline.h. */
#include "client/timeline.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "job/verdict.h"
#include "doc/json_read.h"
#include "client/runs.h"

/* Events that are only decided; what came of them has an event of its own. */
static const char *const decisions[] = {"open", "start"};

/* Keys that are no words of their own: they say where, which the name says better. */
static const char *const silent[] = {
    "at",         "event", "who",       "process",  "replica",  "launch",   "rank",
    "size",       "log",   "forwarded", "version",  "instance", "random",   "what",
    "begin_at",   "plan",  "shm_size",  "shm_free", "outcome",  "status",   "memory_of",
    "oom_nearby", "told",  "began",     "program",  "role",     "by_itself"};

/* Numbers of a replica that waits; most have none. */
static const char *const amounts[] = {"needs", "free", "ahead"};

/* What a replica waits for, or who is blamed. */
static const char *const with_what[] = {"waiting", "blamed"};

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* The words for a key; %s is a text, %d a number, %b a number of bytes. */
static const struct {
    const char *key, *form;
} forms[] = {
    {"exit_code", "exit code %d"},
    {"code", "status %d"},
    {"signal", "%s"},
    {"attempt", "number %d"},
    {"counted", "counts against the retry limit"},
    {"retry", "as a retry"},
    {"oom", "out of memory"},
    {"oom_in", "a process of replica %d was killed for lack of memory"},
    {"memory_limit", "memory limit %b"},
    {"memory_peak", "memory peak %b"},
    {"unobserved", "some of its ranks were not observed"},
    {"silent", "the supervisor did not respond"},
    {"left", "%s was still running"},
    {"init", "init command %s"},
    {"why", "%s"},
    {"fate", "%s"},
    {"text", "%s"},
    {"verdict", "%s"},
};

static const char *form_of(const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (strcmp(forms[i].key, key) == 0)
            return forms[i].form;
    return NULL;
}

static void add_value(struct strbuf *out, const struct node *v, char how)
{
    char bytes[DURATION_TEXT];

    if (v->type == NODE_INT && how == 'b')
        strbuf_addstr(out, bytes_text(v->i, bytes));
    else if (v->type == NODE_INT)
        strbuf_addf(out, "%lld", (long long)v->i);
    else
        strbuf_addstr(out, node_text(v, ""));
}

/* A key that has no words of its own is one. */
static void add_plain(struct strbuf *out, const char *key, const struct node *v)
{
    for (; *key; key++)
        strbuf_addch(out, *key == '_' ? ' ' : *key);
    if (v->type != NODE_BOOL) {
        strbuf_addch(out, ' ');
        add_value(out, v, 's');
    }
}

static void add_form(struct strbuf *out, const char *form, const struct node *v)
{
    size_t n = strcspn(form, "%");

    strbuf_add(out, form, n);
    if (!form[n])
        return;
    add_value(out, v, form[n + 1]);
    strbuf_addstr(out, form + n + 2);
}

static bool is_shown(const char *key, const struct node *v)
{
    if (is_one_of(key, silent, ARRAY_SIZE(silent)) || v->type == NODE_SEQ || v->type == NODE_MAP ||
        (v->type == NODE_BOOL && !v->i) || (v->type == NODE_NULL && strcmp(key, "exit_code") != 0))
        return false;
    if (is_one_of(key, amounts, ARRAY_SIZE(amounts)))
        return v->type == NODE_INT && v->i > 0;
    return strncmp(key, "memory_", 7) != 0 || v->i >= 0;
}

static void add_detail(struct strbuf *out, const struct node *line, const struct pair *p)
{
    const struct node *v = p->value, *what = node_get(line, "what");
    const char *key = p->key->text, *form = form_of(key);

    if (!is_shown(key, v))
        return;
    strbuf_addstr(out, "  ");
    if (v->type == NODE_NULL)
        strbuf_addstr(out, "exit status unknown");
    else if (strcmp(key, "errno") == 0 && v->i == ECANCELED)
        strbuf_addstr(out, "the job was stopped before it started");
    else if (strcmp(key, "errno") == 0)
        strbuf_addf(out, "%s: %s", what && what->text ? what->text : "exec",
                    verdict_exec_error((int)v->i));
    else if (strcmp(key, "max_rss") == 0)
        strbuf_addf(out, "at most %lld KiB", (long long)v->i / 1024);
    else if (form)
        add_form(out, form, v);
    else
        add_plain(out, key, v);
}

void timeline_details(const struct node *line, struct strbuf *out)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *event = node_text(node_get(line, "event"), "");
    size_t from = 0;

    if (is_one_of(event, with_what, ARRAY_SIZE(with_what)))
        strbuf_addf(&text, "  %s", node_text(node_get(line, "what"), "no longer"));
    for (size_t i = 0; i < line->n; i++)
        add_detail(&text, line, &line->pairs[i]);
    while (text.buf[from] == ' ')
        from++;
    strbuf_addstr(out, text.buf + from);
}

static void add_line(const struct node *line, bool happened, struct strvec *ret)
{
    const struct node *at = node_get(line, "at"), *event = node_get(line, "event"),
                      *who = node_get(line, "who");
    auto_strbuf struct strbuf text = STRBUF_INIT, safe = STRBUF_INIT;
    char when[CLOCK_TEXT];

    if (!at || at->type != NODE_INT || !event || event->type != NODE_STRING)
        return;
    if (happened && is_one_of(event->text, decisions, ARRAY_SIZE(decisions)))
        return;
    strbuf_addf(&text, "%s  %-12s", clock_hms(at->i, when), event->text);
    if (who && who->type == NODE_STRING)
        strbuf_addf(&text, "  %s", who->text);
    if (is_one_of(event->text, with_what, ARRAY_SIZE(with_what)))
        strbuf_addf(&text, "  %s", node_text(node_get(line, "what"), "no longer"));
    for (size_t i = 0; i < line->n; i++)
        add_detail(&text, line, &line->pairs[i]);
    while (text.len && text.buf[text.len - 1] == ' ')
        strbuf_truncate(&text, text.len - 1);
    strbuf_add_escaped(&safe, text.buf, text.len);
    strvec_push(ret, safe.buf);
}

void timeline_words(const char *journal, size_t len, bool happened, struct strvec *ret)
{
    const char *end = journal + len, *nl;

    for (; journal < end && (nl = memchr(journal, '\n', (size_t)(end - journal)));
         journal = nl + 1) {
        auto_arena struct arena *a = arena_new();
        const struct node *line = json_node(a, journal, (size_t)(nl - journal));
        if (line && line->type == NODE_MAP)
            add_line(line, happened, ret);
    }
}
