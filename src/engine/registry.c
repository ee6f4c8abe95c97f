/* registry.c - the engines by name. */
#include <string.h>

#include "engine/engine.h"

enum { LOCAL, KUBERNETES, SLURM, SIM, N_ENGINES };

const char *const engine_names[] = {[LOCAL] = "local",
                                    [KUBERNETES] = "kubernetes",
                                    [SLURM] = "slurm",
                                    [SIM] = "sim",
                                    [N_ENGINES] = NULL};

/* NULL: not built yet, or in another program */
static const struct engine_class *const classes[N_ENGINES] = {
    [LOCAL] = &engine_local, [KUBERNETES] = &engine_kubernetes, [SIM] = &engine_sim};

int engine_by_name(const char *name, const struct engine_class **ret, struct err *e)
{
    for (size_t i = 0; i < N_ENGINES; i++) {
        if (strcmp(name, engine_names[i]) != 0)
            continue;
        if (!classes[i])
            return err_set(e, -ENOSYS,
                           "engine %s is not implemented yet; use local, kubernetes or sim", name);
        *ret = classes[i];
        return 0;
    }
    return err_set(e, -EINVAL, "unknown engine \"%s\"", name);
}

const char *survey_claim(const char *const *claims, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; claims && claims[i]; i++)
        if (strncmp(claims[i], name, n) == 0 && claims[i][n] == '=')
            return claims[i] + n + 1;
    return NULL;
}

void survey_release(struct survey *s)
{
    for (size_t i = 0; i < s->n_held; i++)
        if (s->held[i] >= 0)
            (void)close(s->held[i]);
    free(s->held);
    strvec_release(&s->warnings);
    s->held = NULL;
    s->n_held = 0;
}
