/* mask.c - see mask.h. Every match is marked first and replaced afterwards, so that values which
 * overlap in the text leave no piece of each other behind. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "job/mask.h"

/* --- what is looked for ------------------------------------------------------------------------
 */

static void add_value(struct strvec *values, const char *value)
{
    while (*value) {
        size_t n = strcspn(value, "\n"), used = n;
        auto_strbuf struct strbuf line = STRBUF_INIT;

        if (used > 0 && value[used - 1] == '\r')
            used--;
        strbuf_add_escaped(&line, value, used);
        if (line.len > 0)
            strvec_push(values, line.buf);
        value += n + (value[n] == '\n');
    }
}

static void collect(const struct plan *plan, struct strvec *values)
{
    for (const char *const *v = plan->spec->secret_texts; v && *v; v++)
        add_value(values, *v);
    for (size_t i = 0; i < plan->facts->given.n_secrets; i++)
        if (plan->facts->given.secrets[i].source == ENV_SECRET)
            add_value(values, plan->facts->given.secrets[i].value);
}

/* --- where it is -------------------------------------------------------------------------------
 */

static bool in_word(const char *text, size_t n, size_t at)
{
    return at < n && (isalnum((unsigned char)text[at]) || text[at] == '_');
}

static void mark_value(const char *text, size_t n, const char *value, bool *hidden)
{
    size_t len = strlen(value);

    for (size_t at = 0; at + len <= n; at++) {
        if (memcmp(text + at, value, len) != 0)
            continue;
        bool joined = (at > 0 && in_word(text, n, at - 1)) || in_word(text, n, at + len);
        if (len >= MASK_WHOLE_WORDS || !joined)
            memset(hidden + at, true, len);
    }
}

/* The text begins in the middle of the value? */
static void mark_rest(const char *text, size_t n, const char *value, bool *hidden)
{
    size_t len = strlen(value);

    for (size_t from = 1; from + MASK_WHOLE_WORDS <= len; from++)
        if (len - from <= n && memcmp(text, value + from, len - from) == 0) {
            memset(hidden, true, len - from);
            return;
        }
}

static void replace(const char *text, size_t n, const bool *hidden, struct strbuf *out)
{
    for (size_t at = 0; at < n; at++) {
        if (!hidden[at])
            strbuf_addch(out, text[at]);
        else if (at == 0 || !hidden[at - 1])
            strbuf_addstr(out, "***");
    }
}

static void mask(const struct strvec *values, const char *text, size_t shortest, bool cut,
                 struct strbuf *out)
{
    size_t n = strlen(text);
    auto_free bool *hidden = xcalloc(n + 1, sizeof(*hidden));

    for (size_t i = 0; i < values->n; i++) {
        if (strlen(values->v[i]) >= shortest)
            mark_value(text, n, values->v[i], hidden);
        if (cut)
            mark_rest(text, n, values->v[i], hidden);
    }
    replace(text, n, hidden, out);
}

/* --- the two kinds of text ---------------------------------------------------------------------
 */

void mask_sentence(const struct plan *plan, struct strbuf *text)
{
    auto_strvec struct strvec values = STRVEC_INIT;
    auto_strbuf struct strbuf masked = STRBUF_INIT;

    collect(plan, &values);
    if (values.n == 0)
        return;
    mask(&values, text->buf, MASK_WHOLE_WORDS, false, &masked);
    strbuf_truncate(text, 0);
    strbuf_addstr(text, masked.buf);
}

void mask_lines(const struct plan *plan, struct strvec *lines, bool first_is_cut)
{
    auto_strvec struct strvec values = STRVEC_INIT;

    collect(plan, &values);
    for (size_t i = 0; values.n > 0 && i < lines->n; i++) {
        auto_strbuf struct strbuf masked = STRBUF_INIT;
        mask(&values, lines->v[i], 1, first_is_cut && i == 0, &masked);
        free(lines->v[i]);
        lines->v[i] = strbuf_detach(&masked);
    }
}
