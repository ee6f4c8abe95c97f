/* diag.c - collecting diagnostics and showing them with the line they are about. */
#include "doc/diag.h"

#include <stdarg.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "doc/text.h"

const char diag_set[] = "N0140";

const char *severity_name(enum severity sev)
{
    static const char *const names[] = {
        [SEV_ERROR] = "error", [SEV_WARNING] = "warning", [SEV_NOTE] = "note"};

    return names[sev];
}

void diags_init(struct diags *ds, struct arena *a)
{
    *ds = (struct diags){.arena = a};
}

void diags_release(struct diags *ds)
{
    free(ds->v);
    ds->v = NULL;
    ds->n = ds->cap = 0;
}

static enum severity severity_of(const char *code)
{
    return code[0] == 'E' ? SEV_ERROR : code[0] == 'W' ? SEV_WARNING : SEV_NOTE;
}

/* Texts quote the file, so they are made harmless here, once, for every way out. */
static const char *harmless(struct arena *a, const char *text)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_add_escaped(&sb, text, strlen(text));
    return arena_strndup(a, sb.buf, sb.len);
}

static struct diag *add(struct diags *ds, struct pos pos, const char *path, const char *code,
                        const char *hint, const char *fmt, va_list ap)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    enum severity sev = severity_of(code);

    ds->n_errors += sev == SEV_ERROR;
    ds->n_warnings += sev == SEV_WARNING;
    if (ds->n >= LIMIT_DIAGS) {
        ds->n_dropped++;
        return NULL;
    }
    GROW(ds->v, ds->n, ds->cap);
    strbuf_vaddf(&sb, fmt, ap);
    ds->v[ds->n] = (struct diag){
        .severity = sev,
        .code = code,
        .pos = pos,
        .path = harmless(ds->arena, path),
        .message = harmless(ds->arena, sb.buf),
        .hint = hint ? harmless(ds->arena, hint) : NULL,
    };
    return &ds->v[ds->n++];
}

struct diag *diag_at(struct diags *ds, const struct node *at, const char *code, const char *hint,
                     const char *fmt, ...)
{
    struct diag *d;
    va_list ap;

    va_start(ap, fmt);
    d = add(ds, at->pos, node_path(ds->arena, at), code, hint, fmt, ap);
    va_end(ap);
    if (d && at->set) /* what stands at that place in the file is something else */
        d->message = harmless(ds->arena,
                              arena_printf(ds->arena, "%s (set by --set %s)", d->message, at->set));
    return d;
}

struct diag *diag_pos(struct diags *ds, struct pos pos, const char *path, const char *code,
                      const char *hint, const char *fmt, ...)
{
    struct diag *d;
    va_list ap;

    va_start(ap, fmt);
    d = add(ds, pos, path, code, hint, fmt, ap);
    va_end(ap);
    return d;
}

void diags_hide_lines(struct diags *ds, uint32_t first, uint32_t last)
{
    for (size_t i = 0; i < ds->n; i++) {
        if (ds->v[i].pos.line >= first && ds->v[i].pos.line <= last)
            ds->v[i].no_source = true;
    }
}

static bool after(struct pos a, struct pos b)
{
    if (!a.line || !b.line)
        return !a.line && b.line;
    return a.line > b.line || (a.line == b.line && a.column > b.column);
}

/* What an alias brings in is read where it stands and found wrong each time. */
static bool is_repeated(const struct diags *ds, size_t n, const struct diag *d)
{
    for (; n > 0 && !after(d->pos, ds->v[n - 1].pos); n--)
        if (strcmp(ds->v[n - 1].code, d->code) == 0 &&
            strcmp(ds->v[n - 1].message, d->message) == 0)
            return d->pos.line != 0;
    return false;
}

static void drop_repeated(struct diags *ds)
{
    size_t n = 0;

    for (size_t i = 0; i < ds->n; i++) {
        if (is_repeated(ds, n, &ds->v[i])) {
            ds->n_errors -= ds->v[i].severity == SEV_ERROR;
            ds->n_warnings -= ds->v[i].severity == SEV_WARNING;
            continue;
        }
        ds->v[n++] = ds->v[i];
    }
    ds->n = n;
}

/* By insertion: stable, and there are never many. */
void diags_sort(struct diags *ds)
{
    for (size_t i = 1; i < ds->n; i++) {
        struct diag d = ds->v[i];
        size_t j = i;

        for (; j > 0 && after(ds->v[j - 1].pos, d.pos); j--)
            ds->v[j] = ds->v[j - 1];
        ds->v[j] = d;
    }
    drop_repeated(ds);
}

/* --- showing -------------------------------------------------------------------------------- */

/* The bytes of a line without its end; NULL if there is no such line. */
static const char *find_line(const struct doc *doc, uint32_t line, size_t *ret_len)
{
    const char *p = doc->source, *end = p + doc->source_len, *start = p;

    while (p < end) {
        size_t brk = text_line_break(p, (size_t)(end - p));

        if (brk && --line == 0)
            break;
        p += brk ? brk : 1;
        if (brk)
            start = p;
    }
    if (p >= end && line != 1)
        return NULL;
    *ret_len = (size_t)(p - start);
    return start;
}

enum { VIEW_COLUMNS = 100, VIEW_BEFORE = 60 };

/* One character as it is shown: tabs as spaces, what would act on a terminal escaped. */
static size_t show_char(struct strbuf *sb, const char *s, size_t n, int *ret_width)
{
    size_t start = sb->len, len;
    uint32_t c;

    len = utf8_decode(s, n, &c);
    if (len && c == '\t') {
        strbuf_addstr(sb, "    ");
    } else if (len && !utf8_is_control(c)) {
        strbuf_add(sb, s, len);
        *ret_width = utf8_width(c);
        return len;
    } else {
        len = len ? len : 1;
        strbuf_add_escaped(sb, s, len);
    }
    *ret_width = (int)(sb->len - start);
    return len;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-./$@%+", c));
}

/* Fills shown with the part of the line around the column and marks with the caret below it. */
static void render(const char *line, size_t len, uint32_t column, struct strbuf *shown,
                   struct strbuf *marks)
{
    uint32_t col = 1, first = column > VIEW_BEFORE + 20 ? column - VIEW_BEFORE : 1;
    int width, total = 0, before = 0;
    bool marked = false;

    if (first > 1) {
        strbuf_addstr(shown, "…");
        total = before = 1;
    }
    for (size_t i = 0, step; i < len; i += step, col++) {
        size_t was = shown->len;

        step = show_char(shown, line + i, len - i, &width);
        if (col < first) {
            strbuf_truncate(shown, was);
            continue;
        }
        if (total + width > VIEW_COLUMNS) {
            strbuf_truncate(shown, was);
            strbuf_addstr(shown, "…");
            break;
        }
        total += width;
        if (col < column) {
            before += width;
        } else if (col == column) {
            strbuf_addf(marks, "%*s^", before, "");
            marked = is_word(line[i]);
        } else if (marked && is_word(line[i])) {
            strbuf_addch(marks, '~');
        } else {
            marked = false;
        }
    }
    if (!marks->len) /* behind the end of the line */
        strbuf_addf(marks, "%*s^", before, "");
}

void diag_print(FILE *out, const char *file, const struct doc *doc, const struct diag *d,
                bool colour)
{
    static const char *const colours[] = {
        [SEV_ERROR] = "\033[1;31m", [SEV_WARNING] = "\033[1;35m", [SEV_NOTE] = "\033[1;36m"};
    const char *bold = colour ? "\033[1m" : "", *dim = colour ? "\033[34m" : "";
    const char *tint = colour ? colours[d->severity] : "", *off = colour ? "\033[0m" : "";
    auto_strbuf struct strbuf name = STRBUF_INIT, shown = STRBUF_INIT, marks = STRBUF_INIT;
    const char *line = NULL;
    size_t len = 0;

    strbuf_add_escaped(&name, file, strlen(file));
    if (d->pos.line)
        strbuf_addf(&name, ":%u:%u", d->pos.line, d->pos.column);
    fprintf(out, "%s%s:%s %s%s[%s]:%s %s%s%s\n", bold, name.buf, off, tint,
            severity_name(d->severity), d->code, off, bold, d->message, off);
    if (doc && d->pos.line && !d->no_source)
        line = find_line(doc, d->pos.line, &len);
    if (line) {
        render(line, len, d->pos.column, &shown, &marks);
        fprintf(out, "%s%5u |%s %s\n", dim, d->pos.line, off, shown.buf);
        fprintf(out, "%s      |%s %s%s%s\n", dim, off, tint, marks.buf, off);
    }
    if (d->hint)
        fprintf(out, "%s      =%s hint: %s\n", dim, off, d->hint);
}
