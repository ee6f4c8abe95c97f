/* turn.c - what a turn promises its host: the order, the texts, and a journal that fails. */
#include "engine/turn.h"

#include <signal.h>
#include <string.h>

#include "base/tap.h"

static const char *const argv[] = {"true", NULL};
static struct role roles[] = {
    {.name = "a", .replicas = 1, .slots = 1, .argv = argv, .grace_s = -1}};
static struct job_spec spec = {.name = "job", .roles = roles, .n_roles = 1};
static struct facts facts = {.site = {.run_id = "id", .run_dir = "/r", .scratch_dir = "/s"}};
static const struct replica replicas[] = {
    {.name = "a-0", .role = &roles[0], .host = "a-0", .n_processes = 1}};
static const struct process processes[] = {{.rank = -1, .argv = argv, .log = "a-0.log"}};
static const struct plan plan = {.spec = &spec,
                                 .facts = &facts,
                                 .replicas = replicas,
                                 .n_replicas = 1,
                                 .processes = processes,
                                 .n_processes = 1,
                                 .launcher = -1,
                                 .world = -1};

static struct strbuf said = STRBUF_INIT; /* everything that happens, in order */
static int commit_code;                  /* what the journal answers */
static struct turn *t;
static bool reports; /* the engine reports at once, from inside its call */

static void add(struct journal *jn, const struct job *job, const struct event *ev)
{
    (void)jn;
    (void)job;
    strbuf_addf(&said, "+%s ", event_type_name(ev->type));
}

static int commit(struct journal *jn, struct err *e)
{
    (void)jn;
    if (commit_code < 0)
        return err_set(e, commit_code, "no room");
    strbuf_addstr(&said, "commit ");
    return 0;
}

static void heard(void *ctx, const struct event *ev)
{
    (void)ctx;
    strbuf_addf(&said, "(%s%s%s) ", event_type_name(ev->type), ev->text ? ": " : "",
                ev->text ? ev->text : "");
}

static void commit_failed(void *ctx, const struct err *e)
{
    (void)ctx;
    strbuf_addf(&said, "!%s ", e->text);
}

static void start(struct engine *en, uint32_t process, struct start st)
{
    const struct observation o = {.kind = OBS_STARTED, .at = 2, .process = process};

    (void)en;
    strbuf_addf(&said, "start %u@%u.%u ", process, st.attempt, st.instance);
    if (reports)
        turn_observe(t, &o);
}

static void send_signal(struct engine *en, int sig)
{
    (void)en;
    strbuf_addf(&said, "signal %d ", sig);
}

static void release(struct engine *en)
{
    (void)en;
    strbuf_addstr(&said, "release ");
}

static void clear(struct engine *en)
{
    (void)en;
    strbuf_addstr(&said, "clear ");
}

static void kill_all(struct engine *en)
{
    (void)en;
    strbuf_addstr(&said, "kill ");
}

static void batch(struct engine *en)
{
    (void)en;
    strbuf_addstr(&said, "batch ");
}

static const struct journal_ops journal_ops = {.add = add, .commit = commit};
static const struct engine_ops engine_ops = {.start = start,
                                             .signal = send_signal,
                                             .release = release,
                                             .clear = clear,
                                             .kill = kill_all,
                                             .commit = batch};

static const char *heard_so_far(char out[512])
{
    (void)snprintf(out, 512, "%s", said.buf);
    strbuf_truncate(&said, 0);
    return out;
}

static struct job *begin(struct journal *jn, struct engine *en)
{
    const struct job_rules rules = {.grace_ms = 1000, .start_timeout_ms = 1000};
    const struct turn_host host = {.event = heard, .commit_failed = commit_failed};
    struct job *job = job_new(&plan, &rules);

    t = turn_new(job, jn, en, &host);
    turn_event(t, &(struct event){.type = EVENT_CREATED, .at = 1});
    return job;
}

/* As a host does it that commits many journals at once. */
static void in_steps(struct journal *jn, struct engine *en)
{
    char out[512];
    struct job *job;

    reports = true;
    job = begin(jn, en);
    ok(turn_decide(t, 1), "there is something to commit");
    is_str(heard_so_far(out), "+created +start ", "nothing is committed, told or done");
    ok(turn_decide(t, 1), "asked again before the commit, too");
    is_str(heard_so_far(out), "", "and nothing is decided twice");
    is_int(turn_act(t, 1), 1, "something was reported: it is to be decided at once");
    is_str(heard_so_far(out), "(created) (start) start 0@1.1 +started batch ",
           "then all are told, and all is carried out once; no journal is committed");
    ok(turn_decide(t, 1), "the report is to be committed");
    is_int(turn_act(t, 1), job_wake(job), "then there is nothing until the next time");
    is_str(heard_so_far(out), "(started) ", "but to tell it");
    ok(!turn_decide(t, 1), "nothing happened: nothing to commit");
    turn_free(t);
    job_free(job);
}

int main(void)
{
    struct journal jn = {.ops = &journal_ops};
    struct engine en = {.ops = &engine_ops};
    char out[512], text[] = "all wait";
    struct job *job = begin(&jn, &en);

    ns_t at = turn_run(t, 1);
    is_int(at, job_wake(job), "the next turn is the core's next wake-up");
    is_str(heard_so_far(out),
           "+created commit (created) +start commit (start) start 0@1.1 commit commit batch ",
           "fold, commit, tell, decide, commit, tell, carry out, close the batch");
    (void)turn_run(t, 1);
    is_str(heard_so_far(out), "commit commit ", "nothing is due: nothing is asked of the engine");

    turn_observe(t, &(struct observation){.kind = OBS_STARTED, .at = 2});
    turn_observe(t, &(struct observation){.kind = OBS_STARTED, .at = 2});
    is_str(heard_so_far(out), "+started ", "a report is folded once, and nobody hears it yet");
    turn_commit(t);
    is_str(heard_so_far(out), "commit (started) ", "after the commit they do");

    turn_observe(t, &(struct observation){.kind = OBS_HUNG, .at = 3, .text = text});
    memset(text, 'x', strlen(text));
    commit_code = -28;
    (void)turn_run(t, 3);
    is_str(
        heard_so_far(out),
        "+hung !no room (hung: all wait) +stop !no room (stop) signal 15 !no room !no room batch ",
        "a journal that fails is told, and the job goes on; texts are kept until then");
    commit_code = 0;
    turn_catch_up(t);
    is_str(heard_so_far(out), "signal 15 batch ", "the stop is said again, and nothing else");
    turn_free(t);
    job_free(job);

    reports = true;
    job = begin(&jn, &en);
    (void)turn_run(t, 1);
    is_str(heard_so_far(out),
           "+created commit (created) +start commit (start) start 0@1.1 +started commit (started) "
           "commit batch ",
           "what an engine reports at once is committed in the same turn");
    turn_free(t);
    job_free(job);

    in_steps(&jn, &en);
    strbuf_release(&said);
    return tap_done();
}
