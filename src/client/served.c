/* served.c - see served.h. */
#include "client/served.h"

#include <string.h>

#include "base/limits.h"
#include "client/daemon.h"

static int64_t int_of(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : 0;
}

void served_fill(const struct node *job, struct run_ref *ret)
{
    const char *outcome = node_text(node_get(job, "outcome"), "");

    ret->served = true;
    ret->queue = node_text(node_get(job, "queue"), "");
    ret->priority = (int)int_of(job, "priority");
    ret->submitted = int_of(job, "submitted");
    ret->array = node_text(node_get(job, "array"), NULL);
    ret->matrix = node_text(node_get(job, "matrix"), NULL);
    if (*ret->dir) {
        if (!*ret->name) { /* its records are about to be written */
            ret->name = node_text(node_get(job, "name"), "");
            ret->dialect = node_text(node_get(job, "dialect"), "");
        }
        ret->held_up = node_text(node_get(job, "waiting"), NULL);
        return;
    }
    ret->name = node_text(node_get(job, "name"), "");
    ret->dialect = node_text(node_get(job, "dialect"), "");
    ret->state = *outcome ? outcome : node_text(node_get(job, "phase"), "");
    ret->alive = !*outcome;
    ret->exit_code = *outcome ? (int)int_of(job, "exit_code") : -1;
    ret->started = int_of(job, "started");
    ret->ended = int_of(job, "ended");
    ret->waiting = *outcome ? NULL : node_text(node_get(job, "waiting"), "");
}

int served_ask(struct arena *a, const struct run_ref *run, const char *request, struct err *e)
{
    static const char *const known[] = {"cancel", "kill", "pause", "resume"};

    if (strcmp(request, "state") == 0)
        request = "job";
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(request, known[i]) == 0 || strcmp(request, "job") == 0)
            return daemon_ask_job(a, request, run->id, LIMIT_ASK_MS, NULL, e);
    return err_set(e, -ENOENT, "it has not started yet%s%s", *run->waiting ? ": " : "",
                   run->waiting);
}

#define NOT_STARTED "cancelled before it was started"

/* Of jobs whose records were removed the row does not have it. */
static void put_cause(struct json *j, const struct run_ref *run, bool unstarted)
{
    char at[CLOCK_TEXT];

    if (!unstarted) {
        json_kv_null(j, "cause");
        return;
    }
    json_key(j, "cause");
    json_object(j);
    json_kv_null(j, "replica");
    json_kv_null(j, "role");
    json_kv_null(j, "index");
    json_kv_null(j, "rank");
    json_kv_str(j, "kind", "cancelled");
    json_kv_int(j, "exit_code", run->exit_code);
    json_kv_str(j, "signal", "SIGTERM");
    json_kv_str(j, "at", clock_rfc3339(run->ended, at));
    json_kv_str(j, "message", NOT_STARTED);
    json_key(j, "log_tail");
    json_array(j);
    json_end(j);
    json_end(j);
}

void served_report(const struct run_ref *run, struct strbuf *ret)
{
    bool unstarted = !run->waiting && !run->started && strcmp(run->state, "cancelled") == 0;
    struct json j = JSON_PRETTY(ret);
    auto_strbuf struct strbuf sentence = STRBUF_INIT;

    strbuf_addf(&sentence, "%s%s%s", run->state, run->waiting && *run->waiting ? ": " : "",
                run->waiting ? run->waiting : "");
    json_object(&j);
    json_kv_int(&j, "version", 1);
    json_key(&j, "job");
    json_object(&j);
    json_kv_str(&j, "name", run->name);
    json_kv_str(&j, "dialect", run->dialect);
    json_kv_null(&j, "framework");
    json_kv_str(&j, "run_id", run->id);
    json_end(&j);
    json_kv_str(&j, "engine", "local");
    json_kv_null(&j, "isolation");
    json_kv_null(&j, "run_dir");
    json_key(&j, "outputs");
    json_array(&j);
    json_end(&j);
    json_kv_str(&j, "phase", run->waiting ? run->state : "ended");
    json_kv_str(&j, "outcome", run->waiting ? NULL : run->state);
    json_key(&j, "exit_code");
    if (run->exit_code >= 0)
        json_int(&j, run->exit_code);
    else
        json_null(&j);
    json_kv_str(&j, "verdict", unstarted ? NOT_STARTED : sentence.buf);
    put_cause(&j, run, unstarted);
    json_key(&j, "status");
    json_object(&j);
    json_end(&j);
    json_key(&j, "attempts");
    json_array(&j);
    json_end(&j);
    if (run->waiting && *run->waiting)
        json_kv_str(&j, "waiting", run->waiting);
    json_end(&j);
    strbuf_addch(ret, '\n');
}
