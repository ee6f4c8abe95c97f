/* served_records.c - may the ranks of a job be recorded (shim/records.h)? Its pods hold the user's
 * programs alone, and one of ours is put beside them. Where that could keep a job from running as
 * it would without, it is left out.
 */
#include <string.h>

#include "base/cleanup.h"
#include "operator/served.h"
#include "operator/wants_parts.h"

static const char *const own_architecture =
#if defined __x86_64__
    "amd64";
#elif defined __aarch64__
    "arm64";
#elif defined __powerpc64__
    "ppc64le";
#elif defined __s390x__
    "s390x";
#else
    "";
#endif

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

static bool is_turned_off(const struct served *s)
{
    const struct node *notes = node_find(s->object, "metadata", "annotations", NULL);

    return strcmp(text_at(notes, SERVED_RECORDS), "false") == 0;
}

/* Nodes that cannot execute this machine's programs. Most jobs do not say: a cluster has one kind
 * of node. */
static bool is_for_others(const struct node *pod)
{
    static const struct {
        const char *label, *ours;
    } rows[] = {{"kubernetes.io/os", "linux"},
                {"beta.kubernetes.io/os", "linux"},
                {"kubernetes.io/arch", NULL},
                {"beta.kubernetes.io/arch", NULL}};
    const struct node *selector = node_get(pod, "nodeSelector");
    const char *os = text_at(node_get(pod, "os"), "name");

    if (*os && strcmp(os, "linux") != 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *said = text_at(selector, rows[i].label);

        if (*said && strcmp(said, rows[i].ours ? rows[i].ours : own_architecture) != 0)
            return true;
    }
    return false;
}

static bool any_has(const struct node *list, const char *key, const char *value)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(text_at(list->items[i], key), value) == 0)
            return true;
    return false;
}

/* Has the pod something of its own where ours would be? */
static bool is_in_the_way(const struct node *pod)
{
    const struct node *list = node_get(pod, "containers");

    if (any_has(node_get(pod, "volumes"), "name", WANT_AGENT_VOLUME))
        return true;
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (any_has(node_get(list->items[i], "volumeMounts"), "mountPath", WANT_AGENT_PATH))
            return true;
    return false;
}

/* Nobody knows the command of an image, and it could not be put behind ours. */
static bool has_command(const struct node *pod)
{
    const struct node *list = node_get(pod, "containers"), *command;

    if (!list || list->type != NODE_SEQ || list->n == 0)
        return false;
    command = node_get(list->items[0], "command");
    return command && command->type == NODE_SEQ && command->n > 0;
}

bool served_can_record(const struct served *s, const struct job_spec *spec)
{
    bool t9k = spec->platform.environment == PLATFORM_T9K;

    if (s->kind->family != FAMILY_MPI || is_turned_off(s) ||
        (!t9k && !platform_is_mpijob(spec->platform.environment)))
        return false;
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct node *pod = node_get(spec->roles[i].template_at, "spec");

        if (is_for_others(pod) || is_in_the_way(pod))
            return false;
        /* T9k's launcher runs the line of the plan */
        if (!t9k && spec->roles[i].kind == ROLE_LAUNCHER && !has_command(pod))
            return false;
    }
    return true;
}
