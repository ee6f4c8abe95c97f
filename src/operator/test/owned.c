/* owned.c - whose an object is. */
#include "operator/owned.h"

#include "operator/test/objects.h"

#define META(rest) "kind: ConfigMap\nmetadata: {name: pi-config, " rest "}\n"
#define OWNER(kind, name, uid, controller)                                                         \
    "ownerReferences: [{apiVersion: kubeflow.org/v1, kind: " kind ", name: " name ", uid: " uid    \
    ", controller: " controller "}]"

int main(void)
{
    static const struct {
        const char *text, *name;
        enum owned want;
    } rows[] = {
        {META(OWNER("MPIJob", "pi", "u1", "true")), "the job's own", OWNED_OURS},
        {META(OWNER("MPIJob", "pi", "u0", "true")), "an earlier job's", OWNED_LEAVING},
        {META("deletionTimestamp: x, namespace: n"), "being deleted", OWNED_LEAVING},
        {META(OWNER("MPIJob", "pi", "u1", "false")), "owned, not controlled", OWNED_OTHERS},
        {META(OWNER("MPIJob", "tau", "u7", "true")), "another job's", OWNED_OTHERS},
        {META(OWNER("TFJob", "pi", "u7", "true")), "another kind's", OWNED_OTHERS},
        {META("namespace: n"), "nobody's", OWNED_OTHERS},
    };
    auto_arena struct arena *a = arena_new();
    const struct served s = {.kind = &served_kinds[0], .name = "pi", .uid = "u1"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_int(owned_by(object_of(a, rows[i].text), &s), rows[i].want, "%s", rows[i].name);
    is_str(
        owned_text(a, object_of(a, META("namespace: n")), &s),
        "Resource \"pi-config\" of Kind \"ConfigMap\" already exists and is not managed by MPIJob",
        "as upstream tells it");
    return tap_done();
}
