/* routes.c - the table of routes. doc/openapi.json describes each; t/t0780-http.t compares them. */
#include <string.h>

#include "api/parts.h"
#include "http/http_uri.h"

#define V1 "/api/v1"
#define PAI "/rest-server/api/v2/jobs"
#define PAI_TASK PAI "/*/attempts/*/taskRoles/*/taskIndex/*/attempts/*"
#define BODY LIMIT_API_BODY_BYTES
#define SMALL 4096
#define LIST "state queue q sort order limit after"
#define LOGS "replica rank attempt tail before after grep"

const struct route routes[] = {
    {"GET", "/", serve_static, 0, ROUTE_OPEN, NULL},
    {"GET", "/assets/*", serve_static, 0, ROUTE_OPEN, NULL},
    {"GET", "/healthz", serve_health, 0, ROUTE_OPEN, NULL},
    {"GET", "/readyz", serve_ready, 0, ROUTE_OPEN, NULL},
    {"POST", V1 "/session", serve_session, SMALL, ROUTE_OPEN, ""},
    {"POST", V1 "/session/proof", serve_proof, SMALL, ROUTE_OPEN, ""},
    {"GET", V1 "/version", serve_version, 0, 0, ""},
    {"GET", V1 "/openapi.json", serve_openapi, 0, 0, ""},
    {"GET", V1 "/jobs", serve_jobs, 0, 0, LIST},
    {"POST", V1 "/jobs", serve_submit, BODY, 0, ""},
    {"GET", V1 "/jobs/*", serve_job, 0, 0, ""},
    {"DELETE", V1 "/jobs/*", serve_delete, 0, 0, ""},
    {"POST", V1 "/jobs/*/cancel", serve_cancel, SMALL, 0, ""},
    {"POST", V1 "/jobs/*/pause", serve_pause, SMALL, 0, ""},
    {"POST", V1 "/jobs/*/resume", serve_resume, SMALL, 0, ""},
    {"POST", V1 "/jobs/*/retry", serve_retry, SMALL, 0, ""},
    {"GET", V1 "/jobs/*/plan", serve_plan, 0, 0, "from n"},
    {"GET", V1 "/jobs/*/file", serve_file, 0, 0, ""},
    {"GET", V1 "/jobs/*/usage", serve_usage, 0, 0, ""},
    {"GET", V1 "/jobs/*/hang", serve_hang, 0, 0, ""},
    {"GET", V1 "/jobs/*/events", serve_events, 0, 0, "after"},
    {"GET", V1 "/jobs/*/logs", serve_logs, 0, 0, LOGS},
    {"POST", V1 "/validate", serve_validate, BODY, 0, ""},
    {"POST", V1 "/explain", serve_explain, BODY, 0, ""},
    {"GET", V1 "/queue", serve_queue, 0, 0, ""},
    {"GET", "/metrics", serve_metrics, 0, 0, NULL},
    {"GET", V1 "/stream", serve_stream, 0, 0, "job logs after"},
    {"GET", PAI, serve_pai_jobs, 0, 0, NULL},
    {"POST", PAI, serve_pai_submit, BODY, 0, NULL},
    {"GET", PAI "/*", serve_pai_job, 0, 0, NULL},
    {"GET", PAI "/*/config", serve_pai_config, 0, 0, NULL},
    {"PUT", PAI "/*/executionType", serve_pai_execution, SMALL, 0, NULL},
    {"GET", PAI "/*/attempts/*", serve_pai_attempt, 0, 0, NULL},
    {"GET", PAI_TASK "/logs", serve_pai_logs, 0, 0, NULL},
    {"GET", PAI_TASK "/logs/all", serve_pai_log, 0, 0, NULL},
};
const size_t n_routes = ARRAY_SIZE(routes);

static bool method_is(const struct route *r, const char *method)
{
    return strcmp(r->method, method) == 0 ||
           (strcmp(r->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const struct route *route_find(const char *method, const char *path, struct call *c,
                               struct strbuf *ret_allow)
{
    char *out[CALL_SEGMENTS];

    for (size_t i = 0; i < CALL_SEGMENTS; i++)
        out[i] = c->seg[i];
    for (size_t i = 0; i < n_routes; i++) {
        if (!http_path_is(path, routes[i].form, out, CALL_SEGMENTS, CALL_SEGMENT))
            continue;
        if (method_is(&routes[i], method))
            return &routes[i];
        strbuf_addf(ret_allow, "%s%s%s", ret_allow->len ? ", " : "", routes[i].method,
                    strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
    }
    return NULL;
}
