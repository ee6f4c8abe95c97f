/* parts.h - what the files of the HTTP interface share.
 *
 *     api.c       listeners, who may, beginning and end
 *     routes.c    the table of routes
 *     answer.c    answers and errors as JSON
 *     static.c    the page's files
 *     session.c   one-time keys and sessions
 *     entries.c   all jobs, of the daemon and in the foreground
 *     found.c     runs in the foreground, from their directories
 *     jobs.c      the list, one job
 *     live.c      what a running job does
 *     acts.c      cancel, pause, resume, delete, retry
 *     ask.c       a question to a control socket, without waiting
 *     work.c      a process that reads job files for us
 *     submit.c    submissions, validate, explain
 *     records.c   plan, job file, usage, hang report; json_cut.c
 *     logs.c      lines of logs; log_read.c finds them
 *     events.c    events of a job
 *     queue.c     the queue; metrics.c for Prometheus
 *     stream.c    server-sent events
 *     pai.c       OpenPAI's paths
 */
#ifndef API_PARTS_H
#define API_PARTS_H

#include <uv.h>

#include "api/api.h"
#include "api/session.h"
#include "daemon/parts.h"
#include "doc/json.h"
#include "doc/tree.h"
#include "http/http.h"

enum listener_kind { LISTEN_UNIX, LISTEN_LOCAL, LISTEN_TLS, LISTENERS };

struct listener {
    struct api *api;
    enum listener_kind kind;
    struct http_server *server; /* NULL: closed */
};

struct found;
struct past;
struct watcher;
struct work;

struct api {
    struct daemon *d;
    const struct api_options *o;
    int dir_fd; /* of the daemon's socket; not ours */
    struct listener at[LISTENERS];
    struct sessions sessions;
    unsigned char (*tokens)[SHA256_BYTES]; /* of --token-file: hashes */
    size_t n_tokens;
    struct tls_config *names; /* of the certificate, for Host; the server's */
    uv_timer_t tidy;          /* sessions that expire */
    uv_timer_t tick;          /* of streams */
    struct found *found;
    struct past *past; /* entries.c; NULL: nothing yet */
    struct watcher *watchers;
    struct work *works;
    unsigned n_watchers, n_works;
    unsigned closing; /* handles that are not closed yet */
    char host[256], user[64];
    uint64_t n_requests;
};

#define CALL_SEGMENTS 5
#define CALL_SEGMENT 256

struct call { /* one request */
    struct api *api;
    struct http_exchange *x;
    const struct http_request *rq;
    struct http_answer *answer;
    enum listener_kind from;
    char seg[CALL_SEGMENTS][CALL_SEGMENT]; /* the segments that match "*" of its route */
};

struct route {
    const char *method, *form;
    void (*serve)(struct call *c);
    size_t body;       /* bytes, at most */
    unsigned flags;    /* ROUTE_* */
    const char *query; /* parameters that it knows: "from n"; NULL: any (foreign clients) */
};
#define ROUTE_OPEN 1 /* without authorisation */
extern const struct route routes[];
extern const size_t n_routes;
/* The route; NULL: none. *ret_allow: the methods that the path has, if it has any. */
const struct route *route_find(const char *method, const char *path, struct call *c,
                               struct strbuf *ret_allow);

/* --- answer.c --------------------------------------------------------------------------------- */

/* Begins a JSON answer: the caller adds keys and calls json_end(). */
struct json answer_json(struct http_answer *a, int status);
void answer_error(struct http_answer *a, int status, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void kv_time(struct json *j, const char *key, ns_t at);
void kv_text(struct json *j, const char *key, const char *text); /* "" and NULL are null */
/* Adds JSON text as a value. */
void json_raw(struct json *j, const char *text, size_t n);
/* The body as a JSON object in the arena; NULL after refusing. */
const struct node *call_body(struct call *c, struct arena *a);
/* Has the body only these keys, and the query only these parameters ("from n")? False after
 * refusing, with the nearest one. */
bool call_keys(struct call *c, const struct node *body, const char *known);
bool call_query(struct call *c, const char *known);
/* Is each word of the list ("running,failed") one of words? False after refusing. */
bool call_words(struct call *c, const char *key, const char *list, const char *const *words,
                size_t n);
/* A number of the query; otherwise if it is not there. False after refusing. */
bool call_number(struct call *c, const char *key, int64_t least, int64_t most, int64_t otherwise,
                 int64_t *ret);
/* A text of the query, "" if it is not there. False after refusing. */
bool call_text(struct call *c, const char *key, char *out, size_t room);

/* --- entries.c -------------------------------------------------------------------------------- */

struct counts {
    uint32_t total, running, succeeded, failed;
};

struct entry { /* a job as lists show it; texts live as long as the arena */
    const char *id, *name, *dialect, *phase, *outcome, *queue, *waiting, *verdict, *dir;
    const char *state;              /* the word of `state=` and `counts` */
    int exit_code, priority, place; /* -1, -1, 0: none */
    ns_t submitted, started, ended;
    struct counts ranks;
    uint32_t restarts;
    struct served *served; /* NULL: not of the daemon */
};

struct entries {
    struct entry *v;
    size_t n;
};

/* All of them, in no order; without what is costly: entry_detail(). */
void entries_all(struct api *api, struct arena *a, struct entries *ret);
/* One of them. False: there is none of that id. */
bool entries_find(struct api *api, struct arena *a, const char *id, struct entry *ret);
/* Verdict, ranks and restarts. */
void entry_detail(struct api *api, struct arena *a, struct entry *en);
void entry_json(struct json *j, const struct entry *en);
void entries_forget(struct api *api);

/* Runs in the foreground. */
struct found *found_new(void);
void found_free(struct found *f);
size_t found_count(struct api *api);        /* looks at the directories, if that was long ago */
void found_look(struct api *api, size_t i); /* at one of them, now */
void found_entry(struct api *api, struct arena *a, size_t i, struct entry *ret);

/* Its run directory; NULL: it has none. */
const char *entry_dir(const struct entry *en, struct arena *a);
void counts_json(struct json *j, const struct entries *all);
/* The run directory of a job, open: -1 after refusing if it has none. */
int entry_open(struct call *c, const struct entry *en);

/* --- routes ----------------------------------------------------------------------------------- */

/* Finds the job of seg[0]; false after refusing. */
bool call_entry(struct call *c, struct arena *a, struct entry *ret);

void add_safe_headers(struct http_answer *a); /* that every answer has */

void serve_static(struct call *c);
void serve_session(struct call *c);
void serve_proof(struct call *c);
void serve_version(struct call *c);
void serve_health(struct call *c);
void serve_ready(struct call *c);
void serve_openapi(struct call *c);
void serve_jobs(struct call *c);
void serve_job(struct call *c);
void serve_delete(struct call *c);
void serve_cancel(struct call *c);
void serve_pause(struct call *c);
void serve_resume(struct call *c);
void serve_retry(struct call *c);
void serve_submit(struct call *c);
void serve_validate(struct call *c);
void serve_explain(struct call *c);
void serve_plan(struct call *c);
void serve_file(struct call *c);
void serve_usage(struct call *c);
void serve_hang(struct call *c);
void serve_queue(struct call *c);
void serve_metrics(struct call *c);
void serve_pai_jobs(struct call *c);
void serve_pai_job(struct call *c);
void serve_pai_attempt(struct call *c);
void serve_pai_submit(struct call *c);
void serve_pai_config(struct call *c);
void serve_pai_execution(struct call *c);
void serve_pai_logs(struct call *c);
void serve_pai_log(struct call *c);
void serve_events(struct call *c);
void serve_logs(struct call *c);
void serve_stream(struct call *c);

/* GET /jobs/ID, as text. False: it cannot be had; e says why. */
bool job_text(struct api *api, const struct entry *en, struct strbuf *out, struct err *e);
/* `live`: replicas and ranks of a job that runs. */
void live_json(struct json *j, const struct job *job);
/* The events after number `after`, at most so many, as an array; returns the last number. */
int64_t events_json(struct json *j, const char *journal, size_t len, int64_t after, int64_t most);
struct counts live_counts(const struct job *job, uint32_t *ret_restarts);

/* --- ask.c ------------------------------------------------------------------------------------ */

/* Asks the control socket in the directory (which the question opens) without waiting: calls
 * done() once, later. r: 0 or -errno as of ask(), with e; head lives during the call. */
typedef void asked_fn(void *ctx, int r, const struct node *head, const struct err *e);
void ask_later(struct api *api, const char *dir, const struct strbuf *request, asked_fn *done,
               void *ctx);

/* --- work.c ----------------------------------------------------------------------------------- */

/* Starts this program with these words (argv[0] is "muster") and this as its standard input. done()
 * is called once, later, with what it wrote; ended_well: within its limits. NULL: it cannot be
 * started, or LIMIT_API_WORKERS are at work. */
typedef void worked_fn(void *ctx, bool ended_well, const struct strbuf *out,
                       const struct strbuf *complaints);
struct work *work_start(struct api *api, char *const *argv, const struct strbuf *in,
                        worked_fn *done, void *ctx);
/* Their done() is not called. */
void work_end_all(struct api *api);

/* --- logs.c ----------------------------------------------------------------------------------- */

struct log_page;
struct log_place;
/* The logs of a job, with what is there now; NULL: it has none. */
struct logs_of *logs_for(const char *id, int dir_fd, struct err *e);
void logs_forget_all(void);
void lines_json(struct json *j, const struct log_page *page);
void kv_place(struct json *j, const char *key, const struct log_place *p);
bool run_has_ended(const struct entry *en, int dir_fd);

/* --- queue.c ---------------------------------------------------------------------------------- */

struct machine_use {           /* by jobs that run */
    int64_t cpu, memory, gpus; /* cpu: thousandths */
    const struct served *gpu[LIMIT_QUEUE_GPUS];
};
struct machine_use machine_use(const struct daemon *d);

/* --- acts.c ----------------------------------------------------------------------------------- */

/* Asks for a change of the job ("cancel"); the call is answered later, with this status if it went
 * well. */
void act_on(struct call *c, const struct entry *en, const char *what, int status,
            void (*shape)(struct http_answer *a));

/* --- pai.c ------------------------------------------------------------------------------------ */

void pai_reshape(struct http_answer *a); /* an error, as OpenPAI has it */

/* --- submit.c --------------------------------------------------------------------------------- */

/* Has a worker answer the call (cli/serve_work.h): what, and its request as JSON. shape: makes
 * another answer of it; or NULL. */
void work_for_call(struct call *c, const char *what, const char *request, size_t len,
                   void (*shape)(struct http_answer *a));

/* --- records.c -------------------------------------------------------------------------------- */

/* Answers with the job file as a worker reads it (cli/serve_work.c); shape as for work_for_call().
 */
void file_for_call(struct call *c, const struct entry *en, void (*shape)(struct http_answer *a));

/* --- stream.c --------------------------------------------------------------------------------- */

void streams_end(struct api *api);

#endif
