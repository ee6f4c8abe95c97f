/* stage.h - jobs for tests of the job core, built from a line of text, and a way to play them.
 *
 * Cast: "master 1 1 1, worker 2 -1 -1" is two roles with replicas, min_failed and min_succeeded. A
 * fourth number gives processes per replica.
 * Play: words "worker-0=3@5" (ended with code 3 at second 5), "worker-0=s9@5" (by signal 9),
 * "worker-0.1=0@5" (its second process), "worker-0=!@5" (could not be prepared), "cancel@5",
 * "lost@5", "pause@5", "resume@5", "up@5" (everything that was asked for is opened and started),
 * "down@5" (everybody that lives ends by SIGTERM), "wait@5" (nothing but time). Words joined by '+'
 * arrive in one turn. At the end everybody that was stopped ends by SIGTERM.
 */
#ifndef JOB_TEST_STAGE_H
#define JOB_TEST_STAGE_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "base/tap.h"
#include "job/job.h"

struct stage {
    struct arena *a;
    struct job_spec spec;
    struct facts facts;
    struct plan plan;
    struct role *roles; /* those of spec and plan, for a test to change */
    struct replica *replicas;
    struct process *processes;
    struct job *job;
    struct events all;   /* everything that was applied */
    char decisions[256]; /* letters: o open, s start, r restart, T stop, K kill, A attempt, P
                            paused, H held, E end */
};

static const char *const stage_argv[] = {"./train", NULL};

static void stage_add_role(struct stage *st, struct role *role)
{
    for (int32_t i = 0; i < role->replicas; i++) {
        struct replica *r = &st->replicas[st->plan.n_replicas];
        *r = (struct replica){
            .id = st->plan.n_replicas++,
            .name = arena_printf(st->a, "%s-%d", role->name, i),
            .role = role,
            .role_index = (uint32_t)(role - st->spec.roles),
            .index = i,
            .host = arena_printf(st->a, "%s-host-%d", role->name, i),
            .address = arena_printf(st->a, "127.1.0.%u", st->plan.n_replicas + 1),
            .first_process = st->plan.n_processes,
            .n_processes = (uint32_t)role->slots,
        };
        for (int32_t k = 0; k < role->slots; k++) {
            struct process *p = &st->processes[st->plan.n_processes];
            *p = (struct process){.id = st->plan.n_processes++,
                                  .replica = r->id,
                                  .slot = k,
                                  .rank = -1,
                                  .argv = stage_argv,
                                  .log = "x.log"};
        }
    }
}

static void stage_cast(struct stage *st, const char *cast, enum platform_kind platform)
{
    *st = (struct stage){.a = arena_new()};
    st->roles = ARENA_ARRAY(st->a, struct role, 8);
    st->replicas = ARENA_ARRAY(st->a, struct replica, 64);
    st->processes = ARENA_ARRAY(st->a, struct process, 64);
    st->spec =
        (struct job_spec){.name = "j", .platform = platform_of(platform), .roles = st->roles};
    st->facts =
        (struct facts){.site.run_id = "id", .site.run_dir = "/r", .site.isolation = "names"};
    st->plan = (struct plan){.spec = &st->spec,
                             .facts = &st->facts,
                             .replicas = st->replicas,
                             .processes = st->processes,
                             .launcher = -1,
                             .world = -1};
    for (const char *p = cast; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 2 : NULL) {
        struct role *role = &st->roles[st->spec.n_roles++];
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        char *end = NULL;

        *role = (struct role){.res = RESOURCES_UNSET, .grace_s = -1};
        role->name = arena_strndup(st->a, p, n);
        role->replicas = (int32_t)strtol(p + n, &end, 10);
        role->min_failed = (int32_t)strtol(end, &end, 10);
        role->min_succeeded = (int32_t)strtol(end, &end, 10);
        role->slots = *end == ' ' ? (int32_t)strtol(end, &end, 10) : 1;
        stage_add_role(st, role);
    }
}

static void stage_apply(struct stage *st, const struct events *es)
{
    static const char letter[] = {
        [EVENT_OPEN] = 'o',  [EVENT_START] = 's',    [EVENT_STOP] = 'T',    [EVENT_KILL] = 'K',
        [EVENT_ENDED] = 'E', [EVENT_RESTART] = 'r',  [EVENT_ATTEMPT] = 'A', [EVENT_PAUSED] = 'P',
        [EVENT_HELD] = 'H',  [EVENT_KILL_ROLE] = 'R'};

    for (size_t i = 0; i < es->n; i++) {
        size_t n = strlen(st->decisions), t = es->v[i].type;
        if (t < sizeof(letter) && letter[t] && n + 1 < sizeof(st->decisions))
            st->decisions[n] = letter[t];
        job_apply(st->job, &es->v[i]);
        events_add(&st->all, &es->v[i]);
    }
}

static size_t stage_report(struct stage *st, const struct observation *o)
{
    struct events es = {0};

    job_observe(st->job, o, &es);
    stage_apply(st, &es);
    size_t n = es.n;
    events_release(&es);
    return n;
}

static void stage_decide(struct stage *st, ns_t now)
{
    for (bool idle = false; !idle;) {
        struct events es = {0};
        job_decide(st->job, now, &es);
        stage_apply(st, &es);
        idle = es.n == 0;
        events_release(&es);
    }
}

/* Everything that the engine was asked for is there. */
static void stage_up(struct stage *st, ns_t at)
{
    for (uint32_t i = 0; i < st->plan.n_replicas; i++)
        (void)stage_report(st, &(struct observation){.kind = OBS_OPENED, .replica = i, .at = at});
    stage_decide(st, at);
    for (uint32_t i = 0; i < st->plan.n_processes; i++)
        (void)stage_report(st, &(struct observation){.kind = OBS_STARTED, .process = i, .at = at});
}

static const struct job_rules stage_rules = {
    .grace_ms = 10000, .start_timeout_ms = 600000, .recovery_timeout_ms = 60000};

/* Everything that the engine was asked to start has started, at second 1. */
static inline void stage_begin(struct stage *st)
{
    struct event created = {.type = EVENT_CREATED, .at = NS_PER_S, .random = 4711};

    st->job = job_new(&st->plan, &stage_rules);
    stage_apply(st, &(struct events){.v = &created, .n = 1});
    stage_decide(st, NS_PER_S);
    stage_up(st, NS_PER_S);
}

static long stage_number(const char *text)
{
    return strtol(text, NULL, 10);
}

static uint32_t stage_process(const struct stage *st, const char *word)
{
    size_t n = strcspn(word, ".=");

    for (uint32_t i = 0; i < st->plan.n_replicas; i++)
        if (strncmp(st->plan.replicas[i].name, word, n) == 0 &&
            st->plan.replicas[i].name[n] == '\0')
            return st->plan.replicas[i].first_process +
                   (word[n] == '.' ? (uint32_t)stage_number(word + n + 1) : 0);
    abort();
}

static struct observation stage_word(const struct stage *st, const char *word)
{
    const char *how = strchr(word, '=');
    struct observation o = {.kind = OBS_EXITED,
                            .at = stage_number(strchr(word, '@') + 1) * NS_PER_S};

    static const struct {
        const char *word;
        enum obs_kind kind;
    } requests[] = {
        {"cancel", OBS_CANCEL}, {"lost", OBS_LOST}, {"pause", OBS_PAUSE}, {"resume", OBS_RESUME}};

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        if (strncmp(word, requests[i].word, strlen(requests[i].word)) == 0) {
            o.kind = requests[i].kind;
            o.signal = SIGINT;
            return o;
        }
    o.process = stage_process(st, word);
    o.end = (struct ending){.known = true, .max_rss = -1};
    if (how[1] == '!') {
        o.kind = OBS_SPAWN_FAILED;
        o.end.exec_errno = -EPERM;
        (void)snprintf(o.end.exec_what, sizeof(o.end.exec_what), "chdir /x");
    } else if (how[1] == 's') {
        o.end.signal = (int)stage_number(how + 2);
        o.end.code = -1;
    } else {
        o.end.code = (int)stage_number(how + 1);
    }
    return o;
}

/* Those that were asked to end do so, a second later. */
static void stage_stop_all(struct stage *st, ns_t at)
{
    for (uint32_t i = 0; i < st->plan.n_processes; i++)
        (void)stage_report(
            st, &(struct observation){
                    .kind = OBS_EXITED,
                    .process = i,
                    .at = at,
                    .end = {.known = true, .code = -1, .signal = SIGTERM, .max_rss = -1}});
    stage_decide(st, at);
}

/* Words that are no report. */
static bool stage_direction(struct stage *st, const char *word)
{
    ns_t at = stage_number(strchr(word, '@') + 1) * NS_PER_S;

    if (strncmp(word, "up@", 3) == 0)
        stage_up(st, at);
    else if (strncmp(word, "down@", 5) == 0)
        stage_stop_all(st, at);
    else if (strncmp(word, "wait@", 5) != 0)
        return false;
    stage_decide(st, at);
    return true;
}

/* As far as the words go; the time of the last. */
static ns_t stage_turns(struct stage *st, const char *play)
{
    char text[512], *save = NULL;
    ns_t now = NS_PER_S;

    (void)snprintf(text, sizeof(text), "%s", play);
    for (char *turn = strtok_r(text, " ", &save); turn; turn = strtok_r(NULL, " ", &save)) {
        char *inner = NULL;
        for (char *w = strtok_r(turn, "+", &inner); w; w = strtok_r(NULL, "+", &inner)) {
            if (stage_direction(st, w))
                continue;
            struct observation o = stage_word(st, w);
            (void)stage_report(st, &o);
            now = o.at > now ? o.at : now;
        }
        stage_decide(st, now);
    }
    return now;
}

/* And what is being stopped then ends. */
static inline void stage_play(struct stage *st, const char *play)
{
    ns_t now = stage_turns(st, play);

    if (st->job->stop != STOP_NONE && st->job->phase != JOB_ENDED)
        stage_stop_all(st, now + NS_PER_S);
}

static void stage_free(struct stage *st)
{
    job_free(st->job);
    events_release(&st->all);
    arena_free(st->a);
}

#endif
