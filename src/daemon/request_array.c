/* request_array.c - cancel, kill, pause and resume of all jobs of an array: one request and commit.
 *
 * Jobs that wait end as rows: thousands of run directories would say the same of each.
 *
 * Not here: the same of one job (requests.c).
 */
#include <string.h>

#include "base/mem.h"
#include "daemon/parts.h"

static bool is_in(const struct served *s, const char *array)
{
    size_t n = strcspn(s->row.array, " ");

    return n > 0 ? strncmp(s->row.array, array, n) == 0 && array[n] == '\0'
                 : strcmp(s->row.id, array) == 0;
}

/* What each does to a job that has not ended; false: there is nothing to change. */
static bool cancel_job(struct served *s)
{
    if (!s->act)
        served_end_waiting(s);
    else
        served_post(s, OBS_CANCEL);
    return true;
}

static bool kill_job(struct served *s)
{
    if (s->act)
        served_post(s, OBS_CANCEL);
    return cancel_job(s);
}

static bool set_paused(struct served *s, bool paused)
{
    if (s->row.paused == paused)
        return false;
    s->row.paused = paused;
    store_update(s->d->store, &s->row);
    s->d->queue_changed = true;
    return true;
}

static bool pause_job(struct served *s)
{
    if (!s->act)
        return set_paused(s, true);
    if (s->act->job->pause_wanted)
        return false;
    served_post(s, OBS_PAUSE);
    return true;
}

static bool resume_job(struct served *s)
{
    if (!s->act)
        return set_paused(s, false);
    if (!job_resumable(s->act->job))
        return false;
    served_post(s, OBS_RESUME);
    return true;
}

static const struct {
    const char *name;
    bool (*act)(struct served *s);
} acts[] = {
    {"cancel", cancel_job}, {"kill", kill_job}, {"pause", pause_job}, {"resume", resume_job}};

void request_array(struct daemon *d, struct peer *p, const char *what, const char *word)
{
    const struct served *named = daemon_find(d, word);
    auto_free char *array = named && *named->row.array
                                ? xstrndup(named->row.array, strcspn(named->row.array, " "))
                                : xstrdup(word);
    auto_strvec struct strvec none = STRVEC_INIT;
    size_t i = 0, known = 0, changed = 0;

    while (i < ARRAY_SIZE(acts) && strcmp(acts[i].name, what) != 0)
        i++;
    for (size_t k = 0; i < ARRAY_SIZE(acts) && k < d->n; k++) {
        struct served *s = d->jobs[k];

        if (s->is_new || !is_in(s, array))
            continue;
        known++;
        if (!served_is_open(s) || !acts[i].act(s))
            continue;
        peer_defer_change(p, s);
        changed++;
    }
    if (known == 0)
        peer_refuse(p, "array \"@%s\" not found", word);
    else if (changed == 0)
        request_answer_ids(p, &none);
}
