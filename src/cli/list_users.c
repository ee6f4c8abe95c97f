/* list_users.c - see list_users.h. The system daemon is asked, which has no other facts about them.
 */
#include "cli/list_users.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/tell.h"
#include "client/system.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/yaml_write.h"

static int64_t int_of(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : 0;
}

static void kv_time(struct json *j, const char *key, ns_t at)
{
    char text[CLOCK_TEXT];

    json_kv_str(j, key, at ? clock_rfc3339(at, text) : NULL);
}

static void put_job(struct json *j, const struct node *job)
{
    static const char *const texts[] = {"id", "user", "name", "phase", "queue"};
    static const char *const needs[] = {"cpus_milli", "memory", "gpus"};

    json_object(j);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        json_kv_str(j, texts[i], node_text(node_get(job, texts[i]), ""));
    json_kv_int(j, "priority", int_of(job, "priority"));
    json_key(j, "needs");
    json_object(j);
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        json_kv_int(j, needs[i], int_of(node_get(job, "needs"), needs[i]));
    json_end(j);
    kv_time(j, "submitted", int_of(job, "submitted"));
    kv_time(j, "started", int_of(job, "started"));
    json_key(j, "place");
    if (int_of(job, "place"))
        json_int(j, int_of(job, "place"));
    else
        json_null(j);
    json_kv_str(j, "waiting", node_text(node_get(job, "waiting"), NULL));
    json_end(j);
}

static void print_tree(struct arena *a, const struct node *const *jobs, size_t n, bool yaml)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT, text = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);

    json_object(&j);
    json_key(&j, "jobs");
    json_array(&j);
    for (size_t i = 0; i < n; i++)
        put_job(&j, jobs[i]);
    json_end(&j);
    json_end(&j);
    if (yaml)
        yaml_write(&text, node_get(json_node(a, sb.buf, sb.len), "jobs"));
    else
        strbuf_addf(&text, "%s\n", sb.buf);
    (void)fwrite(text.buf, 1, text.len, stdout);
}

/* Names are other users' words. */
static const char *cell(struct arena *a, const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    strbuf_add_escaped(&safe, text, strlen(text));
    return safe.len ? arena_strdup(a, safe.buf) : "-";
}

static const char *text_cell(struct arena *a, const struct node *job, const char *key)
{
    return cell(a, node_text(node_get(job, key), ""));
}

static void print_row(struct arena *a, const struct node *job, ns_t now)
{
    const struct node *needs = node_get(job, "needs");
    char age[DURATION_TEXT] = "-";
    int64_t since = int_of(job, "started") ? int_of(job, "started") : int_of(job, "submitted");

    if (since)
        (void)age_text((now - since) / NS_PER_MS, age);
    printf("%-21s %-12s %-20s %-12s %8lld %6s %5s %-9s %s", text_cell(a, job, "id"),
           text_cell(a, job, "user"), text_cell(a, job, "name"), text_cell(a, job, "queue"),
           (long long)int_of(job, "priority"),
           arena_printf(a, "%.*g", 4, (double)int_of(needs, "cpus_milli") / 1000),
           arena_printf(a, "%lld", (long long)int_of(needs, "gpus")), text_cell(a, job, "phase"),
           age);
    if (node_text(node_get(job, "waiting"), NULL))
        printf("  %s", text_cell(a, job, "waiting"));
    putchar('\n');
}

int list_users(struct arena *a, const char *output)
{
    struct answer_lines jobs;
    struct err e;
    bool yaml = strcmp(output, "yaml") == 0;

    if (system_jobs(a, &jobs, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    if (yaml || strcmp(output, "json") == 0)
        print_tree(a, jobs.v, jobs.n, yaml);
    else if (strcmp(output, "name") == 0)
        for (size_t i = 0; i < jobs.n; i++)
            printf("%s\n", node_text(node_get(jobs.v[i], "id"), ""));
    else if (jobs.n == 0)
        (void)fprintf(stderr, "no job of any user is waiting or running\n");
    else
        printf("%-21s %-12s %-20s %-12s %8s %6s %5s %-9s %s\n", "ID", "USER", "NAME", "QUEUE",
               "PRIORITY", "CPUS", "GPUS", "STATE", "AGE");
    bool table = strcmp(output, "human") == 0 || strcmp(output, "wide") == 0;
    for (size_t i = 0; table && i < jobs.n; i++)
        print_row(a, jobs.v[i], clock_real());
    return finish_output();
}
