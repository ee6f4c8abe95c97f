/* hosts.h - what replicas are called. Internal to plan/; all texts live in the arena. */
#ifndef PLAN_HOSTS_H
#define PLAN_HOSTS_H

#include "plan/plan.h"

/* The host name of a role's replica, as the job's platform has it. */
const char *host_name(struct arena *a, const struct job_spec *spec, const struct role *role,
                      int32_t index);

/* Its name in a cluster's DNS: as the platform has it, else behind the site's own Service; or NULL.
 */
const char *host_service(struct arena *a, const struct job_spec *spec, const struct site *site,
                         const char *host);

/* The private /etc/hosts of the whole plan. */
const char *hosts_text(struct arena *a, const struct plan *plan);

#endif
