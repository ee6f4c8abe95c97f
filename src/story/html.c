/* html.c - see html.h: the page, its head and its texts. */
#include "story/html.h"

#include <string.h>

#include "base/limits.h"
#include "base/num.h"

/* One accent colour, for the failure. Numbers are tabular so that columns can be compared. */
static const char style[] =
    ":root{--bg:#fff;--ink:#1d2026;--soft:#667085;--line:#e4e7ec;--bar:#98a2b3;--band:#eaecf0;"
    "--accent:#b42318;--code:#f7f8fa}"
    "@media(prefers-color-scheme:dark){:root{--bg:#15171c;--ink:#e4e6eb;--soft:#98a1b0;"
    "--line:#2b303a;--bar:#6b7688;--band:#262b34;--accent:#ff7a6b;--code:#1b1e25}}"
    "*{box-sizing:border-box}html{color-scheme:light dark}"
    "body{margin:0 auto;padding:32px 24px 64px;max-width:1080px;background:var(--bg);"
    "color:var(--ink);font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",\"DejaVu "
    "Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums;overflow-wrap:anywhere}"
    "h1{font-size:22px;font-weight:600;margin:0}h2{font-size:15px;font-weight:600;margin:40px 0 "
    "12px}"
    "p{margin:8px 0}.soft{color:var(--soft)}.bad{color:var(--accent)}"
    ".verdict{font-size:17px;margin:8px 0 20px;max-width:70ch}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 24px;margin:0}"
    "dt{color:var(--soft)}dd{margin:0;min-width:0}"
    "code,pre,.mono{font:13px/1.5 ui-monospace,\"DejaVu Sans Mono\",Menlo,Consolas,monospace}"
    "pre{margin:0;padding:12px 14px;background:var(--code);border:1px solid var(--line);"
    "border-radius:6px;white-space:pre-wrap}"
    "svg{display:block;width:100%}"
    ".row{display:grid;grid-template-columns:200px 1fr 210px;gap:0 16px;align-items:center;"
    "padding:3px 0;font-size:13px}.row svg{height:14px}.axis{color:var(--soft)}"
    ".axis div{display:flex;justify-content:space-between}"
    ".track{fill:var(--band)}.run{fill:var(--bar)}.fail{fill:var(--ink)}.first{fill:var(--accent)}"
    ".wait{fill:none;stroke:var(--soft);stroke-dasharray:3 3}.n{fill:var(--soft)}"
    ".charts{display:grid;grid-template-columns:1fr 1fr;gap:32px}"
    ".chart svg{height:140px;border-bottom:1px solid var(--line)}"
    ".chart "
    "p{display:flex;justify-content:space-between;font-size:13px;color:var(--soft);margin:4px 0}"
    ".chart h3{font-size:13px;font-weight:600;margin:0}"
    ".band{fill:var(--band);stroke:none}"
    ".mid,.one{fill:none;stroke:var(--bar);stroke-width:1.5;vector-effect:non-scaling-stroke}"
    ".hot{fill:none;stroke:var(--accent);stroke-width:1.5;vector-effect:non-scaling-stroke}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}"
    "th{text-align:left;font-weight:500;color:var(--soft)}"
    "th,td{padding:4px 16px 4px 0;border-bottom:1px solid var(--line);vertical-align:top;"
    "white-space:nowrap}td.num,th.num{text-align:right}td.text{white-space:normal}"
    "td svg{width:96px;height:20px}"
    "details{margin:8px 0}summary{cursor:pointer;color:var(--soft)}"
    "@media(max-width:640px){body{padding:20px 16px 48px}.charts{grid-template-columns:1fr}"
    ".row{grid-template-columns:1fr;padding:6px 0}dl{grid-template-columns:1fr;gap:0}"
    "dd{margin-bottom:8px}}";

void page_text(struct strbuf *out, const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;
    size_t len = strnlen(text, LIMIT_PAGE_TEXT + 1);

    strbuf_add_escaped(&safe, text, len > LIMIT_PAGE_TEXT ? LIMIT_PAGE_TEXT : len);
    for (size_t i = 0; i < safe.len; i++) {
        switch (safe.buf[i]) {
        case '&':
            strbuf_addstr(out, "&amp;");
            break;
        case '<':
            strbuf_addstr(out, "&lt;");
            break;
        case '>':
            strbuf_addstr(out, "&gt;");
            break;
        case '"':
            strbuf_addstr(out, "&quot;");
            break;
        case '\'':
            strbuf_addstr(out, "&#39;");
            break;
        default:
            strbuf_addch(out, safe.buf[i]);
        }
    }
    if (len > LIMIT_PAGE_TEXT)
        strbuf_addstr(out, " …");
}

static void add_fact(struct strbuf *out, const char *what, const char *value, bool code)
{
    if (!value || !*value)
        return;
    strbuf_addf(out, "<dt>%s</dt><dd>%s", what, code ? "<code>" : "");
    page_text(out, value);
    strbuf_addf(out, "%s</dd>\n", code ? "</code>" : "");
}

static const char *text_of(const struct page *p, const char *key)
{
    return node_text(node_get(p->report, key), "");
}

static void add_numbers(const struct page *p, struct strbuf *out)
{
    const struct node *code = node_get(p->report, "exit_code"),
                      *attempts = node_get(p->report, "attempts");
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char took[DURATION_TEXT];

    if (code && code->type == NODE_INT) {
        strbuf_addf(&text, "%lld", (long long)code->i);
        add_fact(out, "exit code", text.buf, false);
    }
    if (p->story && p->story->from) {
        char begun[CLOCK_TEXT], over[CLOCK_TEXT];

        strbuf_truncate(&text, 0);
        strbuf_addf(&text, "%s to %s", clock_rfc3339(p->story->from, begun),
                    clock_rfc3339(p->story->to, over));
        add_fact(out, p->story->ended ? "ran" : "runs", text.buf, false);
        add_fact(out, "took", duration_text((p->story->to - p->story->from) / NS_PER_MS, took),
                 false);
    }
    if (attempts && attempts->type == NODE_SEQ && attempts->n > 1) {
        strbuf_truncate(&text, 0);
        strbuf_addf(&text, "%zu", attempts->n);
        add_fact(out, "attempts", text.buf, false);
    }
}

static void add_head(const struct page *p, struct strbuf *out)
{
    const char *verdict = text_of(p, "verdict"),
               *message = node_text(node_find(p->report, "cause", "message", NULL), "");

    strbuf_addstr(out, "<h1>");
    page_text(out, *p->name ? p->name : p->id);
    strbuf_addf(out, "</h1>\n<p class=\"verdict%s\">", p->failed ? " bad" : "");
    page_text(out, *verdict ? verdict : p->state);
    strbuf_addstr(out, "</p>\n<dl>\n");
    add_fact(out, "state", p->state, false);
    add_numbers(p, out);
    if (*message && !strstr(verdict, message))
        add_fact(out, "cause", message, false);
    add_fact(out, "run", p->id, true);
    add_fact(out, "dialect", p->dialect, false);
    add_fact(out, "engine", text_of(p, "engine"), false);
    add_fact(out, p->command_label, p->command, true);
    add_fact(out, "in", p->directory, true);
    add_fact(out, "run directory", text_of(p, "run_dir"), true);
    strbuf_addstr(out, "</dl>\n");
}

/* --- logs ------------------------------------------------------------------------------------- */

static void add_tail(struct strbuf *out, const char *title, const struct node *tail)
{
    if (!tail || tail->type != NODE_SEQ || tail->n == 0)
        return;
    strbuf_addstr(out, "<p class=\"soft\">");
    page_text(out, title);
    strbuf_addstr(out, "</p>\n<pre>");
    for (size_t i = 0; i < tail->n && i < LIMIT_TAIL_LINES; i++) {
        page_text(out, node_text(tail->items[i], ""));
        strbuf_addch(out, '\n');
    }
    strbuf_addstr(out, "</pre>\n");
}

static void add_cause_tail(struct strbuf *out, const struct node *cause, int64_t attempt)
{
    auto_strbuf struct strbuf title = STRBUF_INIT;
    const struct node *rank = node_get(cause, "rank");

    strbuf_addstr(&title, node_text(node_get(cause, "replica"), "the job"));
    if (rank && rank->type == NODE_INT)
        strbuf_addf(&title, ", rank %lld", (long long)rank->i);
    strbuf_addstr(&title, ", which failed first");
    if (attempt)
        strbuf_addf(&title, " in attempt %lld", (long long)attempt);
    add_tail(out, title.buf, node_get(cause, "log_tail"));
}

static void add_logs(const struct page *p, struct strbuf *out)
{
    const struct node *attempts = node_get(p->report, "attempts"),
                      *cause = node_get(p->report, "cause");
    auto_strbuf struct strbuf text = STRBUF_INIT;
    size_t n = attempts && attempts->type == NODE_SEQ ? attempts->n : 0;

    add_cause_tail(&text, cause, 0);
    for (size_t i = 0; i + 1 < n && i < LIMIT_STORY_ATTEMPTS; i++) {
        const struct node *number = node_get(attempts->items[i], "number");

        add_cause_tail(&text, node_get(attempts->items[i], "cause"),
                       number && number->type == NODE_INT ? number->i : (int64_t)i + 1);
    }
    for (size_t i = 0; i < p->n_logs; i++) {
        strbuf_addstr(&text, "<details><summary>");
        page_text(&text, p->logs[i].name);
        strbuf_addstr(&text, "</summary>\n<pre>");
        for (size_t k = 0; k < p->logs[i].lines->n; k++) {
            page_text(&text, p->logs[i].lines->v[k]);
            strbuf_addch(&text, '\n');
        }
        strbuf_addstr(&text, "</pre></details>\n");
    }
    if (p->logs_withheld)
        strbuf_addstr(&text, "<p class=\"soft\">Other logs are left out: the job has secrets, and "
                             "its output may contain them.</p>\n");
    if (text.len > 0)
        strbuf_addf(out, "<h2>Ends of logs</h2>\n%s", text.buf);
}

/* --- the page --------------------------------------------------------------------------------- */

void page_write(const struct page *p, struct strbuf *out)
{
    char made[CLOCK_TEXT];

    strbuf_addstr(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    page_text(out, *p->name ? p->name : p->id);
    strbuf_addstr(out, ": ");
    page_text(out, p->state);
    strbuf_addf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n", style);
    add_head(p, out);
    page_time_line(p, out);
    page_usage(p, out);
    page_ranks(p, out);
    add_logs(p, out);
    page_plan(p, out);
    strbuf_addstr(out, "<p class=\"soft\">made ");
    page_text(out, clock_rfc3339(p->made, made));
    strbuf_addstr(out, " by muster ");
    page_text(out, p->version);
    strbuf_addstr(out, " on ");
    page_text(out, p->host);
    strbuf_addstr(out, "</p>\n</body>\n</html>\n");
}
