/* ports.c - the port numbers a job needs, in the order in which they are given out. */
#include "spec/spec.h"

bool port_applies(const struct port_request *p, int32_t index)
{
    return !p->first_only || index == 0;
}

size_t spec_n_ports(const struct job_spec *spec)
{
    size_t n = 0;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        for (size_t k = 0; k < role->n_ports; k++)
            n += (size_t)role->ports[k].count *
                 (size_t)(role->ports[k].first_only ? role->replicas > 0 : role->replicas);
    }
    return n;
}

/* --- networks of their own -------------------------------------------------------------------- */

static int own_first(const struct port_request *p)
{
    return p->begin_at ? p->begin_at : p->usual;
}

/* Is it what one of the role's requests always has? */
static bool is_reserved(const struct role *role, int port)
{
    for (size_t k = 0; k < role->n_ports; k++) {
        int first = own_first(&role->ports[k]);

        if (first && port >= first && port < first + role->ports[k].count)
            return true;
    }
    return false;
}

static int *add_replica(const struct role *role, int32_t index, int next, int *numbers)
{
    for (size_t k = 0; k < role->n_ports; k++) {
        const struct port_request *p = &role->ports[k];

        for (int32_t i = 0; port_applies(p, index) && i < p->count; i++) {
            while (!own_first(p) && is_reserved(role, next))
                next++;
            *numbers++ = own_first(p) ? own_first(p) + i : next++;
        }
    }
    return numbers;
}

void spec_own_ports(const struct job_spec *spec, int first, int *numbers)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        for (int32_t k = 0; spec->roles[i].n_ports && k < spec->roles[i].replicas; k++)
            numbers = add_replica(&spec->roles[i], k, first, numbers);
}
