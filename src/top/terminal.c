/* terminal.c - see terminal.h: what is thin and needs a terminal. What is on the screen is decided
 * in draw.c; ncurses sends only what has changed.
 */
#include "top/terminal.h"

#include <curses.h>
#include <term.h>
/* macros of term.h that are words of ours */
#undef lines
#undef columns
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "top/collect.h"

#define COST_SHARE 40 /* rest for so many times of what a refresh costs: 2.5 % of a core */
#define ESCAPE_MS 50  /* a lone Esc, and not the beginning of a key */

struct terminal {
    struct collector *collector;
    struct top_state st;
    struct top_data data;
    struct top_view view;
    struct arena *a; /* of the data */
    SCREEN *screen;
    bool utf8;
    int64_t interval_ms;
    ns_t next; /* refresh */
};

/* --- signals ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t ended_by;
static struct termios before;             /* us */
static struct strbuf leave = STRBUF_INIT; /* what the terminal is sent to leave the screen */

static void on_end(int sig)
{
    ended_by = sig;
}

/* Our own crash: ncurses cannot be trusted any more. */
static void on_crash(int sig)
{
    (void)!write(STDOUT_FILENO, leave.buf, leave.len);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

static void catch_signals(void)
{
    static const int ends[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE};
    static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        (void)sigaction(ends[i], &(struct sigaction){.sa_handler = on_end}, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
        (void)sigaction(crashes[i],
                        &(struct sigaction){.sa_handler = on_crash, .sa_flags = SA_RESETHAND},
                        NULL);
}

static void add_string(const char *name)
{
    char cap[16];
    const char *text;

    (void)snprintf(cap, sizeof(cap), "%s", name);
    text = tigetstr(cap);
    if (text && text != (char *)-1)
        strbuf_addstr(&leave, text);
}

/* --- the screen ------------------------------------------------------------------------------- */

static attr_t attributes(enum top_look look)
{
    static const attr_t plain[] = {
        [LOOK_PLAIN] = A_NORMAL,     [LOOK_TITLE] = A_BOLD,  [LOOK_HEADER] = A_UNDERLINE,
        [LOOK_SELECTED] = A_REVERSE, [LOOK_FAILED] = A_BOLD, [LOOK_DIM] = A_DIM};

    if (look == LOOK_FAILED && has_colors() && !getenv("NO_COLOR"))
        return (attr_t)COLOR_PAIR(1);
    return plain[look];
}

/* A terminal without UTF-8 gets what ASCII has. */
static void put_text(const struct terminal *t, const char *text)
{
    if (t->utf8) {
        (void)addstr(text);
        return;
    }
    for (size_t i = 0, len = strlen(text); i < len;) {
        uint32_t c;
        size_t n = utf8_decode(text + i, len - i, &c);

        (void)addch(n == 1 ? (chtype)(unsigned char)text[i] : (chtype)(c == 0x2026 ? '~' : '?'));
        for (int w = n > 1 ? utf8_width(c) : 1; w > 1; w--)
            (void)addch('?');
        i += n ? n : 1;
    }
}

/* A line that is still being sent over a slow line is not followed by more. */
static bool is_behind(void)
{
    int left = 0;

    return ioctl(STDOUT_FILENO, TIOCOUTQ, &left) == 0 && left > 0;
}

static void draw(struct terminal *t)
{
    auto_arena struct arena *a = arena_new();
    const struct top_line *lines = top_draw(a, &t->st, &t->data, &t->view);

    for (int i = 0; i < t->st.rows; i++) {
        attr_t look = attributes(lines[i].look);

        (void)attrset(A_NORMAL);
        (void)move(i, 0);
        (void)clrtoeol();
        (void)attrset(look);
        put_text(t, lines[i].text);
        if (lines[i].look == LOOK_SELECTED || lines[i].look == LOOK_HEADER)
            (void)mvchgat(i, 0, -1, look, 0, NULL);
    }
    (void)refresh();
}

static void measure(struct terminal *t)
{
    t->st.rows = LINES < 1 ? 1 : LINES > LIMIT_TOP_ROWS ? LIMIT_TOP_ROWS : LINES;
    t->st.columns = COLS < 1 ? 1 : COLS > LIMIT_TOP_COLUMNS ? LIMIT_TOP_COLUMNS : COLS;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void arrange(struct terminal *t)
{
    t->view = top_arrange(t->a, &t->st, &t->data);
    collector_fill(t->collector, t->a, &t->st, &t->view, &t->data);
}

static void refresh_data(struct terminal *t)
{
    ns_t begun = clock_cpu();
    struct arena *a = arena_new();

    collector_refresh(t->collector, a, &t->st, &t->data);
    arena_free(t->a);
    t->a = a;
    arrange(t);
    ns_t pause = (clock_cpu() - begun) * COST_SHARE, least = t->interval_ms * NS_PER_MS;
    t->next = clock_mono() + (pause > least ? pause : least);
}

static int key_of(int c)
{
    static const struct {
        int curses, top;
    } keys[] = {{KEY_UP, TOP_KEY_UP},
                {KEY_DOWN, TOP_KEY_DOWN},
                {KEY_LEFT, TOP_KEY_LEFT},
                {KEY_RIGHT, TOP_KEY_RIGHT},
                {KEY_PPAGE, TOP_KEY_PAGE_UP},
                {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
                {KEY_HOME, TOP_KEY_HOME},
                {KEY_END, TOP_KEY_END},
                {KEY_ENTER, TOP_KEY_ENTER},
                {'\r', TOP_KEY_ENTER},
                {'\n', TOP_KEY_ENTER},
                {27, TOP_KEY_ESCAPE},
                {KEY_BACKSPACE, TOP_KEY_BACKSPACE},
                {127, TOP_KEY_BACKSPACE},
                {8, TOP_KEY_BACKSPACE}};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (keys[i].curses == c)
            return keys[i].top;
    return c >= ' ' && c < 127 ? c : TOP_KEY_OTHER;
}

static void cancel(struct terminal *t)
{
    struct err e;
    int r = collector_cancel(t->collector, t->st.asked, &e);

    (void)snprintf(t->st.message, sizeof(t->st.message), "%.40s: %.180s", t->st.asked,
                   r < 0 ? e.text : "being stopped");
    *t->st.asked = '\0';
}

/* False: the end. */
static bool press(struct terminal *t, int key)
{
    int lines = 1;

    switch (top_press(&t->st, &t->data, &t->view, key, &lines)) {
    case TOP_QUIT:
        return false;
    case TOP_CANCEL:
        cancel(t);
        refresh_data(t);
        return true;
    case TOP_LOG_UP:
        collector_log_move(t->collector, &t->st, -lines, false);
        break;
    case TOP_LOG_DOWN:
        collector_log_move(t->collector, &t->st, lines, false);
        break;
    case TOP_LOG_BEGIN:
        collector_log_move(t->collector, &t->st, 0, true);
        break;
    case TOP_REFRESH:
        refresh_data(t);
        return true;
    case TOP_NOTHING:
        arrange(t);
        return true;
    }
    collector_log(t->collector, t->a, &t->st, &t->data);
    return true;
}

/* Everything that has been typed. False: the end. */
static bool read_keys(struct terminal *t)
{
    int c;

    while ((c = getch()) != ERR) {
        if (c == KEY_RESIZE) {
            measure(t);
            (void)clearok(curscr, TRUE);
            refresh_data(t);
        } else if (!press(t, key_of(c)))
            return false;
    }
    return true;
}

static void run(struct terminal *t)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    refresh_data(t);
    for (bool go_on = true; go_on && !ended_by;) {
        ns_t left = t->next - clock_mono();

        if (!is_behind())
            draw(t);
        int n = left > 0 ? poll(&in, 1, (int)(left / NS_PER_MS) + 1) : poll(&in, 1, 0);
        if (n > 0 && (in.revents & (POLLHUP | POLLERR | POLLNVAL)))
            ended_by = SIGHUP; /* also where that signal is ignored */
        if (!ended_by)         /* after a signal, too: of a new size */
            go_on = read_keys(t);
        if (clock_mono() >= t->next)
            refresh_data(t);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

static int open_screen(struct terminal *t, struct err *e)
{
    (void)setlocale(LC_CTYPE, "");
    t->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    (void)tcgetattr(STDIN_FILENO, &before);
    t->screen = newterm(NULL, stdout, stdin);
    if (!t->screen)
        return err_set(e, -ENOTSUP, "the terminal type \"%s\" is not known; use --once",
                       getenv("TERM") ? getenv("TERM") : "");
    add_string("sgr0");
    add_string("cnorm");
    add_string("rmcup");
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(ESCAPE_MS);
    (void)curs_set(0);
    if (has_colors() && !getenv("NO_COLOR")) {
        (void)start_color();
        (void)use_default_colors();
        (void)init_pair(1, COLOR_RED, -1);
    }
    catch_signals();
    measure(t);
    return 0;
}

int top_show(const struct top_options *o, struct err *e)
{
    struct terminal t = {.interval_ms = o->interval_ms};
    int r;

    top_state_init(&t.st);
    t.st.all = o->all;
    if (o->job) {
        t.st.page = TOP_ROWS;
        (void)snprintf(t.st.job, sizeof(t.st.job), "%s", o->job);
        (void)snprintf(t.st.list[TOP_JOBS].key, TOP_TEXT, "%s", o->job);
    }
    r = open_screen(&t, e);
    if (r < 0)
        return r;
    t.collector = collector_new();
    run(&t);
    (void)endwin();
    delscreen(t.screen);
    collector_free(t.collector);
    arena_free(t.a);
    strbuf_release(&leave);
    if (ended_by) {
        (void)signal(ended_by, SIG_DFL);
        (void)raise(ended_by);
    }
    return 0;
}
