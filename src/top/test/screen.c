/* screen.c - what `muster top` shows of given data at given sizes, and what keys make of it. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/tap.h"
#include "base/utf8.h"
#include "top/state.h"

static struct top_job jobs[] = {
    {.id = "20261118-120000-aaaa",
     .name = "old",
     .state = "failed",
     .note = "failed: rank 2 on worker-1 exited with status 7",
     .exit_code = 7,
     .since = NS_PER_S,
     .until = 61 * NS_PER_S},
    {.id = "20261118-120001-bbbb",
     .name = "train",
     .state = "running",
     .note = "",
     .last = "step 7\033[2J\tloss 0.5",
     .log = "worker-0.rank-0.log",
     .alive = true,
     .exit_code = -1,
     .since = NS_PER_S,
     .until = 3 * NS_PER_S,
     .ranks = 4,
     .running = 3,
     .use = {.known = true, .cpu = 398, .memory = 3UL << 30, .read = 1500, .written = 20}},
    {.id = "20261118-120002-cccc",
     .name = "next",
     .state = "waiting",
     .note = "needs 4 GPUs, 2 free",
     .alive = true,
     .waits = true,
     .exit_code = -1,
     .since = NS_PER_S,
     .until = 2 * NS_PER_S},
    {.id = "20261118-120003-dddd",
     .name = "small",
     .state = "running",
     .note = "",
     .alive = true,
     .exit_code = -1,
     .since = NS_PER_S,
     .until = 2 * NS_PER_S,
     .use = {.known = true, .cpu = 500, .memory = 1 << 20}},
};

static struct top_row rows[] = {
    {.replica = "worker-0", .rank = -1, .state = "running", .end = "", .log = ""},
    {.replica = "worker-0",
     .rank = 0,
     .below = true,
     .state = "running",
     .end = "",
     .log = "worker-0.rank-0.log",
     .last = "zero",
     .use = {.known = true, .cpu = 10}},
    {.replica = "worker-0",
     .rank = 1,
     .below = true,
     .state = "failed",
     .end = "exit 7",
     .failed = true,
     .log = "worker-0.rank-1.log",
     .last = "one",
     .use = {.known = true, .cpu = 90}},
    {.replica = "worker-1",
     .rank = 2,
     .state = "running",
     .end = "",
     .log = "worker-1.rank-2.log",
     .restarts = 3,
     .last = "two",
     .use = {.known = true, .cpu = 50}},
};

static struct {
    struct arena *a;
    struct top_state st;
    struct top_data data;
    struct top_view view;
    struct top_line *lines;
    struct strbuf text;
} t = {.text = STRBUF_INIT};

static int columns_of(const char *s)
{
    int width = 0;

    for (size_t i = 0, len = strlen(s); i < len;) {
        uint32_t c;
        size_t n = utf8_decode(s + i, len - i, &c);

        width += n ? utf8_width(c) : 1;
        i += n ? n : 1;
    }
    return width;
}

static const char *line(int i)
{
    return t.lines ? t.lines[i].text : "";
}

static enum top_look look(int i)
{
    return t.lines ? t.lines[i].look : LOOK_PLAIN;
}

static const char *draw(void)
{
    arena_free(t.a);
    t.a = arena_new();
    t.view = top_arrange(t.a, &t.st, &t.data);
    t.lines = top_draw(t.a, &t.st, &t.data, &t.view);
    strbuf_truncate(&t.text, 0);
    for (int i = 0; i < t.st.rows; i++)
        strbuf_addf(&t.text, "%s\n", line(i));
    return t.text.buf;
}

static void begin(int h, int w)
{
    top_state_init(&t.st);
    t.st.rows = h;
    t.st.columns = w;
    t.data = (struct top_data){.now = 1,
                               .jobs = jobs,
                               .n_jobs = ARRAY_SIZE(jobs),
                               .running = 2,
                               .waiting = 1,
                               .ended = 1,
                               .rows = rows,
                               .n_rows = ARRAY_SIZE(rows)};
    (void)draw();
}

static enum top_action press(int key)
{
    int lines = 0;
    enum top_action done = top_press(&t.st, &t.data, &t.view, key, &lines);

    (void)draw();
    return done;
}

static const char *selected(void)
{
    for (int i = 0; i < t.st.rows; i++)
        if (look(i) == LOOK_SELECTED)
            return line(i);
    return "";
}

static void test_jobs(void)
{
    begin(24, 80);
    has(line(0), "2 running, 1 waiting, 1 ended", "the title counts");
    has(line(1), "NAME             STATE              AGE   RANKS   CPU%   MEM LAST LINE",
        "columns");
    has(line(2), "train            running          2.0 s     3/4    398  3.0G step 7\\x1b[2J",
        "a running job, and nothing of its output acts on the terminal");
    has(line(4), "next             waiting", "a waiting one comes after those that run");
    has(line(4), "needs 4 GPU", "with the reason");
    ok(!strstr(t.text.buf, "old"), "one that has ended is hidden");
    has(line(22), "20261118-120001-bbbb: step 7", "the selected one in full");
    has(line(23), "q quit", "the keys");
    (void)press('a');
    has(t.text.buf, "old", "a shows those that have ended");
    is_int(look(5), LOOK_FAILED, "a failed one stands out");
    (void)press('s');
    has(selected(), "small", "by CPU");
    (void)press('r');
    ok(strstr(t.text.buf, "old") < strstr(t.text.buf, "small"), "reversed");
}

static void test_selection(void)
{
    begin(24, 80);
    has(selected(), "train", "the first one is selected");
    (void)press(TOP_KEY_DOWN);
    has(selected(), "small", "down");
    (void)press('s');
    has(selected(), "small", "it stays selected where it has gone");
    jobs[3].id = "20261118-120004-eeee";
    (void)draw();
    ok(*selected(), "something is selected if it has gone altogether");
    jobs[3].id = "20261118-120003-dddd";
    begin(24, 80);
    for (int i = 0; i < 10; i++)
        (void)press('j');
    has(selected(), "next", "not beyond the end");
    (void)press(TOP_KEY_HOME);
    has(selected(), "train", "home");
}

static void test_filter(void)
{
    begin(24, 80);
    (void)press('/');
    for (const char *p = "TRAIN!"; *p; p++)
        (void)press(*p);
    (void)press(TOP_KEY_BACKSPACE);
    has(line(23), "filter: TRAIN_", "what is typed");
    has(line(2), "train", "filters, whatever its case");
    ok(!strstr(t.text.buf, "small"), "the others are hidden");
    is_int(press('q'), TOP_NOTHING, "q is a letter while a filter is typed");
    has(t.text.buf, "nothing matches", "and nothing is told as that");
    (void)press(TOP_KEY_ESCAPE);
    has(t.text.buf, "small", "Esc clears it");
    is_int(press('q'), TOP_QUIT, "q ends it");
}

static void test_rows(void)
{
    begin(24, 80);
    is_int(press(TOP_KEY_ENTER), TOP_REFRESH, "Enter opens a job");
    has(line(0), "train: running", "its title");
    has(line(3), "  worker-0/0", "a rank below its replica");
    has(line(5), "worker-1/2", "a replica with one rank is one row");
    is_int(look(4), LOOK_FAILED, "a failed rank stands out");
    has(line(4), "exit 7: one", "how it ended, and its last line");
    (void)press('s');
    has(line(2), "worker-0/1", "by CPU: the busiest rank first");
    ok(!strstr(t.text.buf, "\nworker-0 "), "without the sums of replicas");
    (void)press(TOP_KEY_HOME);
    is_int(press(TOP_KEY_ENTER), TOP_REFRESH, "Enter on a rank");
    is_int(t.st.page, TOP_LOG, "opens its log");
    is_str(t.st.log, "worker-0.rank-1.log", "its own");
    is_int(press(TOP_KEY_UP), TOP_LOG_UP, "which scrolls");
    is_int(press(TOP_KEY_ESCAPE), TOP_REFRESH, "Esc");
    is_int(t.st.page, TOP_ROWS, "goes back to the ranks");
    (void)press('t');
    ok(!strstr(t.text.buf, "worker-0/1"), "t hides ranks");
    (void)press(TOP_KEY_ESCAPE);
    is_int(t.st.page, TOP_JOBS, "and back to the jobs");
    has(selected(), "train", "with the job selected");
}

static void test_cancel(void)
{
    begin(24, 80);
    (void)press('c');
    has(line(23), "cancel train (20261118-120001-bbbb)? y/n", "c asks");
    is_int(press('n'), TOP_NOTHING, "no");
    has(line(23), "not cancelled", "is told");
    (void)press('c');
    is_int(press(TOP_KEY_ENTER), TOP_NOTHING, "Enter is not yes");
    (void)press('c');
    is_int(press('y'), TOP_CANCEL, "y cancels");
    is_str(t.st.asked, "20261118-120001-bbbb", "the job that was asked about");
    begin(24, 80);
    (void)press('a');
    (void)press(TOP_KEY_END);
    (void)press('c');
    has(line(23), "has ended", "not one that has ended");
}

static void test_sizes(void)
{
    bool fits = true, shown = true;

    for (int h = 1; h <= 30; h++)
        for (int w = 1; w <= 140; w++) {
            begin(h, w);
            for (int page = 0; page < 4; page++) {
                t.st.page = page == 3 ? TOP_LOG : (enum top_page)page;
                t.st.help = page == 2;
                t.st.page = t.st.page > TOP_LOG ? TOP_LOG : t.st.page;
                (void)snprintf(t.st.job, TOP_TEXT, "%s", jobs[1].id);
                (void)draw();
                for (int i = 0; i < h; i++)
                    fits &= columns_of(line(i)) <= w;
                if (page < 2 && w >= 6)
                    shown &= *selected() != '\0';
            }
        }
    ok(fits, "no line is wider than the screen, at any size");
    ok(shown, "and the selected row is always to be seen");
    begin(24, 40);
    has(line(2), "train            running       398", "40 columns: name, state, CPU");
    begin(24, 132);
    has(line(1), "READ/s", "132 columns: more of them");
}

static void test_many(void)
{
    struct top_row *many = xcalloc(4096, sizeof(*many));
    auto_arena struct arena *a = arena_new();

    for (int i = 0; i < 4096; i++)
        many[i] = (struct top_row){.replica = arena_printf(a, "worker-%d", i),
                                   .rank = i,
                                   .state = "running",
                                   .end = "",
                                   .log = "x"};
    begin(24, 80);
    t.data.rows = many;
    t.data.n_rows = 4096;
    t.st.page = TOP_ROWS;
    (void)draw();
    is_int(t.view.shown, 20, "of many rows those that fit are shown");
    (void)press(TOP_KEY_END);
    has(selected(), "worker-4095/4095", "the last one");
    is_int(t.view.first, 4076, "is at the bottom");
    (void)press(TOP_KEY_PAGE_UP);
    has(selected(), "worker-4075/4075", "a page up");
    t.st.rows = 10;
    (void)draw();
    has(selected(), "worker-4075/4075", "a smaller screen still shows it");
    free(many);
}

static void test_hostile(void)
{
    static const char *const log_lines[] = {
        "\033]0;title\a",
        "wide \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
        "\xff\xfe bad", "e\xcc\x81\xcc\x81\xcc\x81 marks", "\xe2\x80\xae right to left"};
    char *huge = xcalloc(1, 1 << 20);
    const char *lines[6];
    bool clean = true, fits = true;

    memset(huge, 'x', (1 << 20) - 1);
    memcpy(lines, log_lines, sizeof(log_lines));
    lines[5] = huge;
    for (int w = 1; w < 60; w++) {
        begin(12, w);
        t.st.page = TOP_LOG;
        t.data.lines = lines;
        t.data.n_lines = 6;
        (void)draw();
        for (int i = 0; i < 12; i++) {
            fits &= columns_of(line(i)) <= w;
            for (const char *p = line(i); *p; p++)
                clean &= (unsigned char)*p >= ' ' && *p != 0x7f;
            clean &= !strstr(line(i), "\xe2\x80\xae");
        }
    }
    ok(clean, "nothing in a log acts on the terminal");
    ok(fits, "and nothing of it is wider than the screen");
    free(huge);
}

int main(void)
{
    test_jobs();
    test_selection();
    test_filter();
    test_rows();
    test_cancel();
    test_sizes();
    test_many();
    test_hostile();
    arena_free(t.a);
    strbuf_release(&t.text);
    return tap_done();
}
