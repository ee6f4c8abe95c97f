/* edit_parse.c - PATH=VALUE from the command line into an edit. */
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "doc/edit_parts.h"
#include "doc/text.h"
#include "doc/yaml.h"
#include "doc/yaml_text.h"

/* --- PATH ---------------------------------------------------------------------------------------
 */

struct scan {
    struct arena *a;
    const char *text, *at;
    struct step steps[LIMIT_SET_STEPS];
    size_t n;
};

/* The value may be nobody's business: it is not repeated. */
static const char *shown(const struct scan *s)
{
    return arena_strndup(s->a, s->text, strcspn(s->text, "="));
}

static int bad_path(struct err *e, const struct scan *s, const char *why)
{
    return err_set(e, -EINVAL, "--set %s: %s at character %zu", shown(s), why,
                   (size_t)(s->at - s->text) + 1);
}

static int add_step(struct scan *s, const char *key, size_t index, struct err *e)
{
    if (s->n == LIMIT_SET_STEPS)
        return err_set(e, -EINVAL, "--set: the path has more than %d components", LIMIT_SET_STEPS);
    s->steps[s->n++] = (struct step){key, index};
    return 0;
}

/* A key in quotes, or NULL with e set; a backslash takes the next character as it is. */
static const char *scan_quoted(struct scan *s, struct err *e)
{
    auto_strbuf struct strbuf key = STRBUF_INIT;
    char quote = *s->at;
    const char *p = s->at + 1;

    for (; *p && *p != quote; p++) {
        p += *p == '\\' && p[1];
        strbuf_addch(&key, *p);
    }
    if (!*p) {
        (void)bad_path(e, s, "a quote is not closed");
        return NULL;
    }
    s->at = p + 1;
    return arena_strndup(s->a, key.buf, key.len);
}

/* [3], [key], ["a key"] */
static int scan_bracket(struct scan *s, struct err *e)
{
    const char *key = NULL;
    uint32_t index = 0;
    bool quoted = s->at[1] == '"' || s->at[1] == '\'';

    if (quoted) {
        s->at++;
        key = scan_quoted(s, e);
        if (!key)
            return -EINVAL;
        if (*s->at != ']')
            return bad_path(e, s, "a bracket is not closed");
    } else {
        size_t n = strcspn(s->at + 1, "]");

        if (!s->at[1 + n])
            return bad_path(e, s, "a bracket is not closed");
        if (n == 0)
            return bad_path(e, s, "missing index");
        key = arena_strndup(s->a, s->at + 1, n);
        s->at += 1 + n;
    }
    s->at++;
    if (!quoted && num_u32(key, &index) == 0)
        key = NULL;
    return add_step(s, key, index, e);
}

static int scan_key(struct scan *s, struct err *e)
{
    const char *key;
    size_t n;

    if (*s->at == '"' || *s->at == '\'') {
        key = scan_quoted(s, e);
        return key ? add_step(s, key, 0, e) : -EINVAL;
    }
    n = strcspn(s->at, ".[=");
    if (n == 0)
        return bad_path(e, s, "missing key");
    key = arena_strndup(s->a, s->at, n);
    s->at += n;
    return add_step(s, key, 0, e);
}

static int scan_path(struct scan *s, struct err *e)
{
    bool dot = true; /* a key may follow */
    int r;

    s->at = s->text + (*s->text == '.');
    while (*s->at && *s->at != '=') {
        if (*s->at == '[')
            r = scan_bracket(s, e);
        else if (dot)
            r = scan_key(s, e);
        else
            r = bad_path(e, s, "missing dot");
        if (r < 0)
            return r;
        dot = *s->at == '.';
        s->at += dot;
        if (dot && (!*s->at || *s->at == '='))
            return bad_path(e, s, "missing key");
    }
    if (!*s->at)
        return err_set(e, -EINVAL, "--set must be PATH=VALUE, not \"%s\"", shown(s));
    if (s->n == 0 || !s->steps[0].key)
        return err_set(e, -EINVAL, "--set %s: the path must begin with a key", shown(s));
    return 0;
}

/* --- VALUE --------------------------------------------------------------------------------------
 */

static int bad_value(struct err *e, const struct edit *edit, const struct diags *ds)
{
    for (size_t i = 0; i < ds->n; i++)
        if (ds->v[i].severity == SEV_ERROR)
            return err_set(e, -EINVAL, "--set %s: the value: %s%s%s", edit->path, ds->v[i].message,
                           ds->v[i].hint ? "; " : "", ds->v[i].hint ? ds->v[i].hint : "");
    return err_set(e, -EINVAL,
                   "--set %s: must be a single value; quote the whole text if it begins with a "
                   "quote or bracket",
                   edit->path);
}

static int read_value(struct arena *a, struct edit *edit, const char *text, struct err *e)
{
    CLEANUP(diags_release) struct diags ds = {.arena = a};
    size_t len = strlen(text);
    struct doc doc;

    if (strchr("\"'[{", *text) && *text) {
        if (yaml_read(a, "--set", text, len, &ds, &doc) < 0 || doc.n_roots != 1 || doc.broken)
            return bad_value(e, edit, &ds);
        /* `"a": 1` is a mapping in block style: a quote promised a string. */
        if ((*text == '"' || *text == '\'') && doc.roots[0]->type != NODE_STRING)
            return bad_value(e, edit, &ds);
        edit->value = doc.roots[0];
        return 0;
    }
    if (text_check(text, len, TEXT_YAML, &ds) < len)
        return bad_value(e, edit, &ds);

    struct node *node = ARENA_NEW(a, struct node);

    *node = (struct node){.type = NODE_STRING, .text = arena_strdup(a, text), .len = len};
    if (len)
        yaml_type_plain(node);
    edit->value = node;
    return 0;
}

int edit_parse(struct arena *a, const char *text, const struct edit **ret, struct err *e)
{
    struct scan s = {.a = a, .text = text};
    struct edit *edit = ARENA_NEW(a, struct edit);
    int r = scan_path(&s, e);

    if (r < 0)
        return r;
    edit->path = arena_strndup(a, text, (size_t)(s.at - text));
    edit->n = s.n;
    edit->steps = ARENA_ARRAY(a, struct step, s.n);
    memcpy(edit->steps, s.steps, s.n * sizeof(*edit->steps));
    r = read_value(a, edit, s.at + 1, e);
    if (r < 0)
        return r;
    *ret = edit;
    return 0;
}

const char *edit_key(const struct edit *edit, size_t i)
{
    return i < edit->n ? edit->steps[i].key : NULL;
}

const char *edit_path(const struct edit *edit)
{
    return edit->path;
}
