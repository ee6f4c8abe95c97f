/* html.c - the page of a run: what a job has written is text in it, secrets are not in it, and it
 * stays small. Balanced tags and the rest are checked by t/t0796. */
#include "story/html.h"

#include <string.h>

#include "base/limits.h"
#include "base/tap.h"
#include "doc/json_read.h"

static struct arena *a;
static struct strbuf out = STRBUF_INIT;

static const char *page(const char *report, const char *plan, const struct series *usage)
{
    const struct page p = {.name = "<b>name</b>",
                           .id = "id",
                           .dialect = "d",
                           .state = "failed",
                           .failed = true,
                           .command_label = "started as",
                           .command = "muster run \"x\" & 'y'",
                           .version = "1",
                           .host = "h",
                           .report = json_node(a, report, strlen(report)),
                           .plan = plan ? json_node(a, plan, strlen(plan)) : NULL,
                           .usage = usage,
                           .logs_withheld = true};

    strbuf_truncate(&out, 0);
    page_write(&p, &out);
    return out.buf;
}

static void test_escapes(void)
{
    const char *p = page("{\"verdict\":\"<script>alert(1)</script> \\u001b[2J \\u202e\","
                         "\"cause\":{\"replica\":\"w-0\",\"log_tail\":[\"</pre><img on=x>\"]}}",
                         NULL, NULL);

    ok(!strstr(p, "<script"), "no tag of a verdict");
    ok(!strstr(p, "<img"), "or of a log");
    ok(!strstr(p, "<b>name"), "or of a name");
    has(p, "&lt;script&gt;alert(1)&lt;/script&gt; \\x1b[2J", "it is text, without controls");
    ok(!strstr(p, "\xe2\x80\xae"), "nor a change of direction");
    has(p, "muster run &quot;x&quot; &amp; &#39;y&#39;", "quotes too");
    has(p, "the job has secrets", "logs that are withheld are mentioned");
    ok(!strstr(p, "://") && !strstr(p, "src=") && !strstr(p, "href"), "no reference to anything");
}

static void test_plan(void)
{
    const char *p = page(
        "{}",
        "{\"processes\":[{\"replica\":\"w-0\",\"role\":\"w\",\"rank\":0,\"argv\":[\"a b\",\"c\"],"
        "\"env\":{\"CALLER\":\"inherited-value\",\"MINE\":\"chosen\",\"API_KEY\":\"abc123\","
        "\"WHO\":\"nobody\"},\"env_origin\":{\"CALLER\":\"caller\",\"MINE\":\"job\","
        "\"API_KEY\":\"job\"}}],\"notes\":[{\"message\":\"a <note>\"}]}",
        NULL);

    has(p, "&#39;a b&#39; c", "the command, as it would be typed");
    has(p, "chosen", "a variable of the job");
    ok(!strstr(p, "inherited-value"), "not one that was inherited");
    ok(!strstr(p, "nobody"), "nor one whose origin is not known");
    ok(!strstr(p, "abc123"), "nor the value of one that sounds secret");
    has(p, "2 inherited from the caller are not shown", "which is said");
    has(p, "a &lt;note&gt;", "notes");
    p = page("{}", "{\"processes\":{\"x\":1},\"notes\":\"none\"}", NULL);
    ok(!strstr(p, "<h2>Plan"), "a plan of another shape is none");
}

static void test_size(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, plan = STRBUF_INIT;

    strbuf_addstr(&plan, "{\"processes\":[");
    for (int i = 0; i < 4096; i++)
        strbuf_addf(&plan, "%s{\"replica\":\"w-%d\",\"role\":\"w-%d\",\"env\":{\"A\":\"1\"}}",
                    i ? "," : "", i, i);
    strbuf_addstr(&plan, "]}");
    for (int ms = 1; ms <= 20; ms++) {
        strbuf_addf(&text, "{\"ms\":%d000,\"of\":[", ms);
        for (int i = 0; i < 4096; i++)
            strbuf_addf(&text, "%s[\"w-%d\",%d,%d,%d,0,0]", i ? "," : "", i, i, ms * i, i * 1000);
        strbuf_addstr(&text, "]}\n");
    }
    const struct series *s = series_read(a, text.buf, text.len);
    is_int(s->n, 4096, "4,096 ranks");
    const char *p = page("{}", plan.buf, s);
    ok(out.len < 200000, "are a page of %zu bytes", out.len);
    has(p, "range and median", "with the range they are in");
    has(p, "4032 more", "and the number of those that are not shown");
}

static void test_series(void)
{
    static const char text[] =
        "{\"ms\":1000,\"of\":[[\"w-0\",0,500,100,1,2],[\"w-1\",null,1,7,0,0]]}\n"
        "not json\n"
        "{\"ms\":2000,\"of\":[[\"w-0\",0,1500,50,1,2]]}\n"
        "{\"ms\":1500,\"of\":[[\"w-0\",0,9500,50,1,2]]}\n"
        "{\"ms\":3000,\"of\":[[\"w-0\",0,1000,50,1,2],[\"w-0\",-4,1,1,1,1]]}\n"
        "{\"ms\":4000,\"of\":[[\"w-0\"";
    const struct series *s = series_read(a, text, sizeof(text) - 1);
    const struct series_row *r = series_of(s, "w-0", 0);

    is_int(s->n, 2, "two rows");
    is_int(r ? r->n : 0, 3, "without lines that go back in time, or are cut");
    is_int(r ? r->v[0].cpu : 0, 50, "from the start of the run on");
    is_int(r ? r->v[1].cpu : 0, 100, "a second of CPU time in a second is 100 %%");
    is_int(r ? r->v[2].cpu : 1, 0, "CPU time that went back is no rate");
    is_int(r ? r->peak_memory : 0, 100, "the peak");
    is_int(series_of(s, "w-1", -1) ? series_of(s, "w-1", -1)->rank : 0, -1, "what has no rank");
    ok(!series_of(s, "w-2", 0), "and none that is not there");
}

int main(void)
{
    a = arena_new();
    test_escapes();
    test_plan();
    test_size();
    test_series();
    arena_free(a);
    strbuf_release(&out);
    return tap_done();
}
