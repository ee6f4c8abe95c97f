/* hosts.c - what replicas are called: host names, Services, the private /etc/hosts. See
 * spec/platform.h for who is called how.
 */
#include "plan/hosts.h"

#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"

static bool label_char(char c)
{
    return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

static bool is_label(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!label_char(*c))
            return false;
    return *name && *name != '-';
}

/* A role's name in letters that a host's may have. What cannot be one becomes a '-' or nothing; a
 * name of nothing else is told by the role's place. */
static const char *as_label(struct arena *a, const struct job_spec *spec, const struct role *role,
                            bool keep_places)
{
    char *text = arena_strdup(a, role->name), *end = text;

    if (is_label(role->name))
        return role->name;
    for (const char *c = role->name; *c; c++) {
        char low = (char)tolower((unsigned char)*c);

        if (label_char(low) && (low != '-' || end > text))
            *end++ = low;
        else if (keep_places && end > text)
            *end++ = '-';
    }
    *end = '\0';
    return *text ? text : arena_printf(a, "role%d", (int)(role - spec->roles));
}

static const char *host_of_role(struct arena *a, const struct job_spec *spec,
                                const struct role *role, int32_t index)
{
    return arena_printf(a, "%s-%d", as_label(a, spec, role, true), index);
}

/* OpenPAI's own form of a role's name leaves out what is neither letter nor digit. */
static const char *host_of_task(struct arena *a, const struct job_spec *spec,
                                const struct role *role, int32_t index)
{
    return arena_printf(a, "%s-%d", as_label(a, spec, role, false), index);
}

static const char *host_of_job(struct arena *a, const struct job_spec *spec,
                               const struct role *role, int32_t index)
{
    if (role->kind == ROLE_LAUNCHER)
        return arena_printf(a, "%s-%s", spec->name, role->name);
    return arena_printf(a, "%s-%s-%d", spec->name, role->name, index);
}

/* PyTorchJob and TFJob have a Service for each replica, of the same name. */
static const char *service_of_replica(struct arena *a, const struct job_spec *spec,
                                      const char *host)
{
    return arena_printf(a, "%s.%s.svc", host, spec->namespace_ ? spec->namespace_ : "default");
}

/* A host of a Service that has several. */
static const char *service_in(struct arena *a, const struct job_spec *spec, const char *host,
                              const char *service)
{
    return arena_printf(a, "%s.%s.%s.svc", host, service,
                        spec->namespace_ ? spec->namespace_ : "default");
}

/* An MPIJob of today has one Service, with its replicas as hosts. */
static const char *service_of_job(struct arena *a, const struct job_spec *spec, const char *host)
{
    return service_in(a, spec, host, spec->name);
}

typedef const char *host_fn(struct arena *a, const struct job_spec *spec, const struct role *role,
                            int32_t index);
static host_fn *const names[] = {
    [HOSTS_BY_ROLE] = host_of_role, [HOSTS_BY_TASK] = host_of_task, [HOSTS_BY_JOB] = host_of_job};

const char *host_name(struct arena *a, const struct job_spec *spec, const struct role *role,
                      int32_t index)
{
    return names[spec->platform.hosts](a, spec, role, index);
}

typedef const char *service_fn(struct arena *a, const struct job_spec *spec, const char *host);
static service_fn *const services[] = {
    [SERVICES_BY_REPLICA] = service_of_replica, [SERVICES_BY_JOB] = service_of_job};

const char *host_service(struct arena *a, const struct job_spec *spec, const struct site *site,
                         const char *host)
{
    service_fn *service = services[spec->platform.services];

    /* The platform's Services are not there: in a pod that cannot write /etc/hosts only the run's
     * own resolves, in the namespace of the run. */
    if (site->service)
        return arena_printf(a, "%s.%s.%s.svc", host, site->service,
                            site->namespace_ ? site->namespace_ : "default");
    if (!service || !site->cluster_domain || !*site->cluster_domain)
        return service ? service(a, spec, host) : NULL;
    return arena_printf(a, "%s.%s", service(a, spec, host), site->cluster_domain);
}

const char *plan_service(struct arena *a, const struct plan *plan, const struct replica *replica)
{
    return host_service(a, plan->spec, &plan->facts->site, replica->host);
}

/* --- /etc/hosts ------------------------------------------------------------------------------- */

/* The names that a cluster's DNS has for a Service, which adds what is left out at their end. */
static void add_services(struct strbuf *sb, const char *service, size_t host_len)
{
    for (size_t n = strlen(service); n > host_len; n--)
        if (service[n] == '.' || service[n] == '\0')
            strbuf_addf(sb, " %.*s", (int)n, service);
    strbuf_addf(sb, " %s.cluster.local", service);
}

/* Older operators made a headless Service of the workers of an MPIJob: its name is all of them. */
static bool has_old_service(const struct job_spec *spec, const struct role *role)
{
    enum service_naming services_of = spec->platform.services;

    return role->kind == ROLE_HOST &&
           (services_of == SERVICES_OF_WORKERS || services_of == SERVICES_BY_JOB);
}

const char *plan_host_names(struct arena *a, const struct plan *plan, const struct replica *rp)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const char *service = plan_service(a, plan, rp);

    strbuf_addstr(&sb, rp->host);
    if (strcmp(rp->host, rp->name) != 0)
        strbuf_addf(&sb, " %s", rp->name);
    if (service)
        add_services(&sb, service, strlen(rp->host));
    if (plan->facts->site.service && services[plan->spec->platform.services])
        add_services(&sb, services[plan->spec->platform.services](a, plan->spec, rp->host),
                     strlen(rp->host));
    if (has_old_service(plan->spec, rp->role)) {
        const char *old = arena_printf(a, "%s-%s", plan->spec->name, rp->role->name);

        add_services(&sb, service_in(a, plan->spec, rp->host, old), strlen(rp->host));
        strbuf_addf(&sb, " %s", old);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

const char *hosts_text(struct arena *a, const struct plan *plan)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_addstr(&sb, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *rp = &plan->replicas[i];

        strbuf_addf(&sb, "%s %s\n", rp->address, plan_host_names(a, plan, rp));
    }
    return arena_strndup(a, sb.buf, sb.len);
}
