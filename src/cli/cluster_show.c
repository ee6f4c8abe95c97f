/* cluster_show.c - see cluster_show.h. */
#include "cli/cluster_show.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "doc/json_write.h"
#include "doc/yaml_write.h"

static const char *status_text(const struct node *object, const char *key)
{
    return node_text(node_find(object, "status", key, NULL), "");
}

const char *cluster_state(struct arena *a, const struct node *object)
{
    const char *phase = status_text(object, "phase");
    char *word = arena_strdup(a, *phase ? phase : "unseen");

    *word = (char)tolower((unsigned char)*word);
    return word;
}

bool cluster_has_ended(const char *state)
{
    static const char *const words[] = {"succeeded", "failed", "invalid"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(state, words[i]) == 0)
            return true;
    return false;
}

const char *cluster_waits_for(struct arena *a, const struct node *object)
{
    const char *why = status_text(object, "waiting");

    if (!*status_text(object, "phase"))
        why = "no operator has looked at it; is muster operator running in the cluster?";
    return *why ? arena_strdup(a, why) : NULL;
}

/* --- in words --------------------------------------------------------------------------------- */

static void print_safe(const char *before, const char *text, const char *after)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    if (!*text)
        return;
    strbuf_add_escaped(&safe, text, strlen(text));
    printf("%s%s%s", before, safe.buf, after);
}

static void print_took(const struct node *object, bool ended)
{
    ns_t from = clock_of_rfc3339(status_text(object, "startTime"));
    ns_t to = clock_of_rfc3339(status_text(object, "completionTime"));
    char took[DURATION_TEXT];

    if (from && (to || !ended))
        printf("  %s %s\n", ended ? "took" : "for",
               duration_text(((ended ? to : clock_real()) - from) / NS_PER_MS, took));
}

/* "worker: 2 replicas, 1 running, 1 succeeded" */
static void print_role(const struct node *key, const struct node *role)
{
    print_safe("  ", key->text, ": ");
    for (size_t i = 0; role->type == NODE_MAP && i < role->n; i++) {
        const struct pair *p = &role->pairs[i];

        if (p->value->type == NODE_INT) {
            printf("%s%lld ", i ? ", " : "", (long long)p->value->i);
            print_safe("", p->key->text, "");
        }
    }
    putchar('\n');
}

static void print_roles(const struct node *roles)
{
    if (!roles || roles->type != NODE_MAP || roles->n == 0)
        return;
    printf("\nroles:\n");
    for (size_t i = 0; i < roles->n; i++)
        print_role(roles->pairs[i].key, roles->pairs[i].value);
}

static void print_conditions(const struct node *all)
{
    if (!all || all->type != NODE_SEQ || all->n == 0)
        return;
    printf("\nconditions:\n");
    for (size_t i = 0; i < all->n; i++) {
        const struct node *c = all->items[i];
        bool holds = strcmp(node_text(node_get(c, "status"), ""), "True") == 0;

        print_safe("  ", node_text(node_get(c, "lastTransitionTime"), ""), " ");
        print_safe(holds ? " " : " not ", node_text(node_get(c, "type"), ""), "");
        print_safe(": ", node_text(node_get(c, "message"), ""), "");
        putchar('\n');
    }
}

void cluster_print(void *ctx, const struct node *object)
{
    auto_arena struct arena *a = arena_new();
    const char *state = cluster_state(a, object), *verdict = status_text(object, "verdict");
    const char *name = node_text(node_find(object, "metadata", "name", NULL), "");
    const char *why = cluster_waits_for(a, object);
    const struct node *code = node_find(object, "status", "exitCode", NULL);
    bool ended = cluster_has_ended(state);

    (void)ctx;
    print_safe("", name, ": ");
    print_safe("", ended && *verdict ? verdict : state, "\n");
    print_took(object, ended);
    if (!ended)
        print_safe("  ", verdict, "\n");
    if (why)
        print_safe("  waiting: ", why, "\n");
    if (code && code->type == NODE_INT)
        printf("  exit code %lld\n", (long long)code->i);
    print_roles(node_find(object, "status", "roles", NULL));
    print_conditions(node_find(object, "status", "conditions", NULL));
}

/* --- for programs ----------------------------------------------------------------------------- */

void cluster_print_json(void *ctx, const struct node *object)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    (void)ctx;
    json_write(&out, object);
    printf("%s\n", out.buf);
}

void cluster_print_status(void *ctx, const struct node *object)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;
    const struct node *status = node_get(object, "status"), *own = node_get(status, "platform");

    (void)ctx;
    if (own || status)
        yaml_write(&out, own ? own : status);
    (void)fwrite(out.buf, 1, out.len, stdout);
}
