/* pod_checks.c - pods that Kubernetes would refuse are told at the place of the fault. */
#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "kube/pod.h"
#include "doc/yaml.h"

/* Errors and warnings about the pod whose first container runs: "E0144@3:12 …", or "none". */
static const char *findings(struct arena *a, const char *spec)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct role role = {.res = RESOURCES_UNSET};
    const struct pod_template *t;
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    spec = arena_printf(a, "spec:\n%s", spec);
    yaml_read(a, "x", spec, strlen(spec), &ds, &doc);

    struct binder b = {.a = a, .ds = &ds};

    t = bind_map(&b, &pod_template_table, doc.roots[0]);
    if (t && t->spec && t->spec->containers.n)
        pod_fill_role(&b, t, &t->spec->containers.v[0], &role);
    diags_sort(&ds);
    for (size_t i = 0; i < ds.n; i++) {
        if (ds.v[i].severity != SEV_NOTE)
            strbuf_addf(&sb, "%s%s@%u:%u", sb.len ? " " : "", ds.v[i].code, ds.v[i].pos.line,
                        ds.v[i].pos.column);
    }
    diags_release(&ds);
    return sb.len ? arena_strndup(a, sb.buf, sb.len) : "none";
}

#define TWO(first, second) "  containers:\n  - {name: a" first "}\n  - {name: b" second "}\n"
#define PORTS(list) ", ports: [" list "]"
#define ASKS(limits, requests) ", resources: {limits: {" limits "}, requests: {" requests "}}"

static const struct {
    const char *spec, *want, *name;
} rows[] = {
    {TWO("", ""), "none", "two containers"},
    {"  containers:\n  - {name: a}\n  - {name: a}\n", "E0144@4:12", "of one name"},
    {"  initContainers: [{name: a, image: i}]\n" TWO("", ""), "E0144@4:12",
     "or of an init container's"},

    {TWO(", imagePullPolicy: IfNotPresent", ""), "none", "a pull policy"},
    {TWO("", ", imagePullPolicy: always"), "E0209@4:32", "that there is none of"},
    {TWO(ASKS("", "nvidia.com/gpu: 2"), ""), "W0313@3:66", "GPUs without a limit"},
    {TWO(ASKS("gpu: 2", ""), ""), "W0205@3:36", "a resource without a domain"},
    {TWO(ASKS("nvidia/gpu: 2, hugepages-2Mi: 4Mi, ephemeral-storage: 1Gi", ""), ""), "none",
     "others are taken"},

    {TWO(PORTS("{containerPort: 80}"), PORTS("{containerPort: 81}")), "none", "ports"},
    {TWO(PORTS("{containerPort: 80}"), PORTS("{containerPort: 80}")), "W0113@4:39",
     "containers share a network"},
    {TWO(PORTS("{containerPort: 80}, {containerPort: 80}"), ""), "W0113@3:60",
     "one container's port twice"},
    {TWO(PORTS("{containerPort: 80}"), PORTS("{containerPort: 80, protocol: UDP}")), "none",
     "TCP and UDP are apart"},
    {TWO(PORTS("{containerPort: 80, name: x}, {containerPort: 81, name: x}"), ""), "E0145@3:79",
     "a port's name twice"},
    {TWO(PORTS("{containerPort: 80, name: x}"), PORTS("{containerPort: 81, name: x}")), "none",
     "but each container may have it"},
    {TWO(PORTS("{containerPort: 80, name: pytorchjob-port}"), ""), "none", "15 characters"},
    {TWO(PORTS("{containerPort: 80, name: pytorchjob-ports}"), ""), "E0145@3:49", "16 characters"},
    {TWO(PORTS("{containerPort: 80, hostPort: 90}"), PORTS("{containerPort: 81, hostPort: 90}")),
     "E0146@4:39", "the host's port twice"},
    {TWO(PORTS("{containerPort: 80, hostPort: 90, hostIP: 10.0.0.1}"),
         PORTS("{containerPort: 81, hostPort: 90, hostIP: 10.0.0.2}")),
     "none", "at two addresses"},
    {"  hostNetwork: true\n" TWO(PORTS("{containerPort: 80}"), PORTS("{containerPort: 80}")),
     "E0146@5:39", "all are the host's"},
    {"  hostNetwork: true\n" TWO(PORTS("{containerPort: 80, hostPort: 81}"), ""), "E0146@4:53",
     "and keep their numbers"},
    {"  hostNetwork: true\n" TWO(PORTS("{containerPort: 80, hostPort: 80}"), ""), "none",
     "as they do here"},
    {TWO(PORTS("{containerPort: 0}"), ""), "E0203@3:39", "no port"},
    {TWO(PORTS("{containerPort: 65536}"), ""), "E0203@3:39", "none either"},
    {TWO(PORTS("{containerPort: http}"), ""), "E0107@3:39", "no number"},
    {TWO(PORTS("{name: http}"), ""), "E0103@3:23", "no number at all"},
    {TWO(PORTS("80"), ""), "E0107@3:23", "no mapping"},

    {TWO("", ASKS("cpu: 1", "cpu: 500m")), "none", "a limit above the request"},
    {TWO("", ASKS("cpu: 1", "cpu: 1001m")), "E0205@4:41", "and below, of a sidecar"},
    {TWO("", ASKS("memory: 1Gi", "memory: 1025Mi")), "E0205@4:44", "its memory"},
    {TWO(ASKS("ephemeral-storage: 1Gi", "ephemeral-storage: 2Gi"), ""), "E0205@3:55",
     "what only a cluster has"},
    {TWO(ASKS("rdma/hca: 1", "rdma/hca: 2"), ""), "E0205@3:46", "devices"},
    {TWO("", ASKS("", "cpu: 1")), "none", "no limit"},
    {TWO("", ASKS("cpu: [1]", "cpu: {}")), "none", "a sidecar's quantities are the cluster's"},

    {TWO("", "") "  restartPolicy: Never\n", "none", "a pod's restart policy"},
    {TWO("", "") "  restartPolicy: ExitCode\n", "E0209@5:18", "is not a replica's"},
};

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_arena struct arena *a = arena_new();

        is_str(findings(a, rows[i].spec), rows[i].want, "%s", rows[i].name);
    }
    return tap_done();
}
