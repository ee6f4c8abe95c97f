/* Those that failed besides the first are counted, by how they did. */
#include "base/cleanup.h"
#include "job/test/stage.h"
#include "job/verdict.h"

static const struct {
    const char *play, *words;
} rows[] = {
    {"w-0=3@5 down@6", ""},
    {"w-0=3@5+w-1=3@5 down@6", "1 more process failed the same way"},
    {"w-0=3@5+w-1=3@5+w-2=3@5 down@6", "2 more processes failed the same way"},
    {"w-0=3@5+w-1=3@5+w-2=4@5 down@6", "1 more process failed the same way, 1 in another"},
    {"w-0=3@5+w-1=s9@5+w-2=4@5 down@6", "2 more processes failed in another way"},
    {"cancel@5 down@6", ""},
};

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        struct stage st;

        stage_cast(&st, "w 3 0 0", PLATFORM_T9K);
        stage_begin(&st);
        stage_play(&st, rows[i].play);
        verdict_alike(st.job, &sb);
        is_str(sb.buf, rows[i].words, "%s", rows[i].play);
        stage_free(&st);
    }
    return tap_done();
}
