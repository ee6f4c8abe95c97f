/* tasks.c - a job whose parameter servers share replicas with its workers: over when the workers
 * are. */
#include "job/test/stage.h"
#include "job/verdict.h"

static const struct task tasks[] = {{"worker", 3, false}, {"ps", 1, true}};

/* node-0 has worker 0 and worker 2, node-1 has worker 1 and ps 0. */
static void cast_nodes(struct stage *st)
{
    static const struct {
        size_t task;
        int32_t index;
    } of[] = {{0, 0}, {0, 2}, {0, 1}, {1, 0}};

    stage_cast(st, "node 2 0 0 2", PLATFORM_AZUREML);
    st->roles[0].tasks = tasks;
    st->roles[0].n_tasks = ARRAY_SIZE(tasks);
    for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
        st->processes[i].task = &tasks[of[i].task];
        st->processes[i].task_index = of[i].index;
    }
    stage_begin(st);
}

static void check(const char *name, const char *play, const char *outcome, int exit_code,
                  const char *sentence, const char *stopped)
{
    auto_strbuf struct strbuf words = STRBUF_INIT, others = STRBUF_INIT;
    struct stage st;

    cast_nodes(&st);
    stage_play(&st, play);
    if (!outcome) {
        is_int(st.job->stop, STOP_NONE, "%s", name);
    } else {
        is_str(outcome_name(st.job->outcome), outcome, "%s: outcome", name);
        is_int(st.job->exit_code, exit_code, "%s: exit code", name);
        verdict_sentence(st.job, &words);
        has(words.buf, sentence, "%s: the sentence", name);
        verdict_stopped(st.job, &others);
        is_str(others.buf, stopped, "%s: who was stopped", name);
    }
    stage_free(&st);
}

int main(void)
{
    struct stage st;

    check("the last worker ends it", "node-0.0=0@2 node-1.0=0@3 node-0.1=0@4", "succeeded", 0,
          "succeeded by its completion policy: all 3 worker tasks exited with status 0", "ps 0");
    check("two of three do not", "node-0.0=0@2 node-1.0=0@3", NULL, 0, NULL, NULL);
    check("a server that ends with 0 ends nothing", "node-1.1=0@2", NULL, 0, NULL, NULL);
    check("a worker fails", "node-0.0=0@2 node-0.1=3@3", "failed", 3,
          "worker 2 on node-0 exited with status 3", "worker 1, ps 0");
    check("a server fails", "node-1.1=4@2", "failed", 4, "ps 0 on node-1 exited with status 4",
          "worker 0, worker 2, worker 1");
    check("a server fails although the workers are done",
          "node-0.0=0@2 node-1.0=0@3 node-0.1=0@5+node-1.1=4@4", "failed", 4, "ps 0 on node-1", "");
    check("all end with 0", "node-1.1=0@1 node-0.0=0@2 node-1.0=0@3 node-0.1=0@4", "succeeded", 0,
          "every process exited with status 0", "");

    cast_nodes(&st);
    stage_play(&st, "node-0.0=0@2 node-1.0=0@3 node-0.1=0@4");
    is_str(st.decisions, "ssssTE", "servers are asked to end, not killed at once");
    stage_free(&st);
    return tap_done();
}
