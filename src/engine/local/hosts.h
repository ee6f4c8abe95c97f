/* hosts.h - the private /etc/hosts of a job: its own names first, then what the machine's file has.
 *
 * A resolver returns all addresses of a name, not the first one. So a name of the job that the
 * machine's file has too, such as "worker-0" on a machine of that name, is left out of the latter.
 */
#ifndef ENGINE_LOCAL_HOSTS_H
#define ENGINE_LOCAL_HOSTS_H

#include "base/strbuf.h"

/* Appends `machine`, in the format of /etc/hosts, without the names in `job`, which has the same
 * format. Comments and lines without a name are not kept. */
void hosts_add_machine(struct strbuf *out, const char *job, const char *machine);

#endif
