/* secrets.h - values of Secrets and ConfigMaps that the caller gives: from directories on
 * this machine, and from the job file itself.
 *
 * DIR/NAME/KEY holds one value, as a mounted Secret does; a trailing newline is kept, as it is
 * there. A directory or file of secrets that others may read is refused. Links are followed as long
 * as they stay below DIR (a kubelet's own do).
 */
#ifndef ENGINE_SECRETS_H
#define ENGINE_SECRETS_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/plan.h"

struct secrets_from {
    const char *secrets, *config_maps; /* directories, or NULL */
    /* Those that are not given exist where the job runs: no error. Of the others every key is
     * collected, and all that the job file has. */
    bool others_exist;
    const struct env_entry *objects; /* whole ones that are looked up as well */
    size_t n_objects;
};

/* Looks up every ENV_SECRET and ENV_CONFIG_MAP of the job (and whole ones, envFrom, key by key in
 * the order of their names). A value that is missing and not optional is -ENOENT: e names secret,
 * key and the option that would give it. *ret lives in the arena.
 *
 * missing not NULL: what is wrong with a value is added there instead, and the others are looked
 * up. */
int secrets_collect(struct arena *a, const struct job_spec *spec, const struct secrets_from *from,
                    const struct secret_value **ret, size_t *ret_n, struct strvec *missing,
                    struct err *e);

#endif
