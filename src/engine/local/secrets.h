/* secrets.h - values of Secrets and ConfigMaps for a local run, from directories on this machine.
 *
 * DIR/NAME/KEY holds one value, as a mounted Secret does; a trailing newline is kept, as it is
 * there. A directory or file of secrets that others may read is refused. Links are followed as long
 * as they stay below DIR (a kubelet's own do).
 */
#ifndef ENGINE_LOCAL_SECRETS_H
#define ENGINE_LOCAL_SECRETS_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/plan.h"

/* Looks up every ENV_SECRET and ENV_CONFIG_MAP of the job (and whole ones, envFrom, key by key in
 * the order of their names). Either directory may be NULL. A value that is missing and not optional
 * is -ENOENT: e names secret, key and the option that would give it. *ret lives in the arena.
 *
 * missing not NULL: what is wrong with a value is added there instead, and the others are looked
 * up. */
int secrets_collect(struct arena *a, const struct job_spec *spec, const char *secrets_dir,
                    const char *config_maps_dir, const struct secret_value **ret, size_t *ret_n,
                    struct strvec *missing, struct err *e);

#endif
