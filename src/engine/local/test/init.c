/* init.c - the order of init commands and processes, and what a failure makes of those that wait.
 */
#include "engine/local/init.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"

static const char *const argv[] = {"true", NULL};
static const struct init_command commands[] = {
    {.name = "one", .argv = argv}, {.name = "two", .argv = argv}, {.name = "three", .argv = argv}};
static struct role roles[] = {
    {.name = "a", .replicas = 2, .slots = 2, .init = commands, .n_init = 3},
    {.name = "b", .replicas = 1, .slots = 1},
};
static const struct debug_role resumed[] = {{.role = "a", .skip_init = true}};
static struct job_spec spec = {.roles = roles, .n_roles = 2};
static struct facts facts;
static const struct replica replicas[] = {
    {.id = 0, .name = "a-0", .role = &roles[0], .n_processes = 2},
    {.id = 1, .name = "a-1", .role = &roles[0], .index = 1, .first_process = 2, .n_processes = 2},
    {.id = 2, .name = "b-0", .role = &roles[1], .role_index = 1, .first_process = 4},
};
static const struct process processes[] = {
    {.id = 0},
    {.id = 1, .slot = 1},
    {.id = 2, .replica = 1},
    {.id = 3, .replica = 1, .slot = 1},
    {.id = 4, .replica = 2},
};
static const struct plan plan = {.spec = &spec,
                                 .facts = &facts,
                                 .replicas = replicas,
                                 .n_replicas = 3,
                                 .processes = processes,
                                 .n_processes = 5};

static struct strbuf said = STRBUF_INIT;

static void run(void *ctx, uint32_t replica, size_t i, struct start start)
{
    (void)ctx;
    strbuf_addf(&said, "run %u.%zu@%u ", replica, i, start.attempt);
}

static void start_process(void *ctx, uint32_t process, struct start start)
{
    (void)ctx;
    strbuf_addf(&said, "start %u@%u ", process, start.instance);
}

static void failed(void *ctx, const struct observation *o)
{
    (void)ctx;
    strbuf_addf(&said, "%s %u@%u %s=%d ", o->kind == OBS_EXITED ? "failed" : "unexecuted",
                o->process, o->instance, o->end.init, o->end.code);
}

static const char *heard(char out[256])
{
    snprintf(out, 256, "%s", said.buf);
    strbuf_truncate(&said, 0);
    return out;
}

static bool tell(struct inits *in, enum obs_kind kind, uint32_t replica, uint32_t attempt, int code)
{
    struct observation o = {.kind = kind, .process = 5 + replica, .attempt = attempt};

    o.end = (struct ending){.known = true, .code = code};
    return inits_observed(in, &o);
}

static void test_order(struct inits *in)
{
    char text[256];

    ok(!inits_before(in, 4, FIRST_START), "a replica without any starts at once");
    ok(inits_before(in, 0, FIRST_START) && inits_before(in, 1, FIRST_START), "others wait");
    is_str(heard(text), "run 0.0@1 ", "for the first command, once for the replica");
    ok(tell(in, OBS_STARTED, 0, 1, 0), "that it runs is nobody's business");
    ok(tell(in, OBS_EXITED, 0, 1, 0), "nor is its end");
    ok(inits_before(in, 2, FIRST_START), "the next replica goes its own way");
    (void)tell(in, OBS_EXITED, 0, 1, 0);
    is_str(heard(text), "run 0.1@1 run 1.0@1 run 0.2@1 ", "one after the other");
    (void)tell(in, OBS_EXITED, 0, 1, 0);
    is_str(heard(text), "start 0@1 start 1@1 ", "then its processes");
    ok(!inits_before(in, 0, (struct start){.attempt = 1, .instance = 2}),
       "a process that is started again does not wait again");
    ok(!inits_observed(in, &(struct observation){.kind = OBS_EXITED, .process = 4}),
       "what is about a process is not taken");
}

static void test_failure(struct inits *in)
{
    char text[256];

    (void)tell(in, OBS_EXITED, 1, 1, 0);
    ok(inits_before(in, 3, FIRST_START), "one more waits");
    (void)heard(text);
    (void)tell(in, OBS_EXITED, 1, 1, 3);
    is_str(heard(text), "failed 2@1 two=3 failed 3@1 two=3 ", "all that wait have failed with it");
    ok(inits_before(in, 2, (struct start){.attempt = 1, .instance = 2}),
       "when a process is started again");
    is_str(heard(text), "run 1.0@1 ", "all of them run again");
    (void)tell(in, OBS_SPAWN_FAILED, 1, 1, -1);
    is_str(heard(text), "unexecuted 2@2 one=-1 ", "so if one cannot be executed");
}

static void test_attempts(struct inits *in)
{
    const struct start second = {.attempt = 2, .instance = 1};
    char text[256];

    ok(inits_before(in, 0, second), "another attempt runs them again");
    is_str(heard(text), "run 0.0@2 ", "from the first on");
    (void)tell(in, OBS_EXITED, 0, 1, 9);
    is_str(heard(text), "", "a late word of the attempt before is not heard");
    (void)tell(in, OBS_EXITED, 0, 2, 0);
    is_str(heard(text), "run 0.1@2 ", "this one's is");
}

static void test_skipped(struct inits *in)
{
    static const char *const names[] = {"one", "three", NULL};
    const struct start third = {.attempt = 3, .instance = 1};
    char text[256];

    facts.caller.skip_init = names;
    (void)inits_before(in, 0, third);
    (void)tell(in, OBS_EXITED, 0, 3, 0);
    is_str(heard(text), "run 0.1@3 start 0@1 ", "those that are left out are passed over");
    spec.resume_roles = resumed;
    spec.n_resume_roles = 1;
    (void)inits_before(in, 0, (struct start){.attempt = 4, .instance = 1, .resumed = true});
    is_str(heard(text), "start 0@1 ", "a resumed role may leave out all");
}

int main(void)
{
    const struct inits_ops ops = {run, start_process, failed, NULL};
    const struct plan none = {.spec = &(const struct job_spec){.roles = &roles[1], .n_roles = 1},
                              .facts = &facts};
    struct inits *in = inits_new(&plan, &ops);

    ok(!inits_new(&none, &ops), "a job without init commands needs nothing");
    test_order(in);
    test_failure(in);
    test_attempts(in);
    test_skipped(in);
    inits_free(in);
    strbuf_release(&said);
    return tap_done();
}
