/* Every role has the time between SIGTERM and SIGKILL that it asks for; an option wins over all of
 * them. */
#include "base/cleanup.h"
#include "job/test/stage.h"

struct row {
    const char *name;
    int32_t a, b; /* grace of the two roles in seconds; -1 = not said */
    bool fixed;   /* --grace was given: 10 s */
    const char *play, *decisions;
    int64_t wake_s; /* when the core wants to be asked again */
};

static const struct row rows[] = {
    {"nobody says anything: 10 s for all", -1, -1, false, "cancel@5 wait@14", "ssT", 15},
    {"and then all are killed", -1, -1, false, "cancel@5 wait@15", "ssTK", 20},
    {"the shorter one is killed alone", 2, 30, false, "cancel@5 wait@7", "ssTR", 35},
    {"not before its time", 2, 30, false, "cancel@5 wait@6", "ssT", 7},
    {"once", 2, 30, false, "cancel@5 wait@7 wait@8 wait@9", "ssTR", 35},
    {"the longer one when its own time is over", 2, 30, false, "cancel@5 wait@7 wait@35", "ssTRK",
     40},
    {"one that says nothing has 10 s", 2, -1, false, "cancel@5 wait@7 wait@15", "ssTRK", 20},
    {"more than 10 s, too", -1, 30, false, "cancel@5 wait@14 wait@15 wait@34", "ssTR", 35},
    {"none at all", 0, 30, false, "cancel@5", "ssTR", 35},
    {"--grace is for all", 2, 30, true, "cancel@5 wait@7 wait@14", "ssT", 15},
    {"and kills all", 2, 30, true, "cancel@5 wait@15", "ssTK", 20},
    {"a second cancel leaves no time", 2, 30, false, "cancel@5 cancel@6", "ssTK", 11},
    {"who ends in time is not killed", 2, 30, false, "cancel@5 down@6", "ssTE", 0},
};

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        struct stage st;

        stage_cast(&st, "a 1 0 0, b 1 0 0", PLATFORM_T9K);
        st.roles[0].grace_s = row->a;
        st.roles[1].grace_s = row->b;
        stage_begin(&st);
        st.job->rules.grace_fixed = row->fixed;
        (void)stage_turns(&st, row->play);
        is_str(st.decisions, row->decisions, "%s: decisions", row->name);
        is_int(job_wake(st.job) / NS_PER_S, row->wake_s, "%s: asked again", row->name);
        stage_free(&st);
    }
    return tap_done();
}
