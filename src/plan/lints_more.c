/* lints_more.c - what was written for another cluster: its addresses, its launchers, a shell's
 * syntax. */
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"
#include "plan/env.h"
#include "plan/lints.h"
#include "plan/mpi.h"

/* --- addresses ----------------------------------------------------------------------------------
 */

/* An IPv4 address that is neither this machine's own nor a replica's. `n`: how much of the text it
 * is. */
static bool is_elsewhere(const struct plan *plan, const char *text, size_t n)
{
    char word[INET_ADDRSTRLEN];
    struct in_addr in;

    if (n == 0 || n >= sizeof(word))
        return false;
    memcpy(word, text, n);
    word[n] = '\0';
    if (inet_pton(AF_INET, word, &in) != 1 || !strncmp(word, "127.", 4) || !strcmp(word, "0.0.0.0"))
        return false;
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (!strcmp(plan->replicas[i].address, word))
            return false;
    return true;
}

/* The variable that holds where the job's first replica is, or NULL. */
static const char *master_variable(const struct command *c)
{
    if (c->plan->spec->pai)
        return arena_printf(c->ns->arena, "$PAI_HOST_IP_%s_0", c->role->name);
    return c->plan->spec->framework == FRAMEWORK_PYTORCH ? "$MASTER_ADDR" : NULL;
}

static void lint_address(struct command *c, const char *value)
{
    size_t n = value ? strspn(value, "0123456789.") : 0;
    const char *variable = master_variable(c);

    if (!value || (value[n] && value[n] != ':' && value[n] != '/') ||
        !is_elsewhere(c->plan, value, n))
        return;
    note_weigh(c->ns, NOTE_FAILS, SEV_WARNING,
               "%s hard-codes address %.*s, which is not a replica of this job%s%s", c->role->name,
               (int)n, value, variable ? "; use " : "", variable ? variable : "");
}

void lint_addresses(struct command *c)
{
    static const char *const options[] = {"--master_addr", "--master-addr", "--rdzv_endpoint",
                                          "--rdzv-endpoint"};

    lint_address(c, lint_literal(c->role, "MASTER_ADDR"));
    for (size_t i = 0; i < c->n; i++) {
        const char *url = c->v[i].plain ? strstr(c->v[i].text, "tcp://") : NULL;

        lint_address(c, url ? url + 6 : NULL);
        lint_address(c, lint_value(c, i, "MASTER_ADDR", false));
        for (size_t k = 0; k < ARRAY_SIZE(options); k++)
            lint_address(c, lint_value(c, i, options[k], true));
    }
}

/* --- launchers ----------------------------------------------------------------------------------
 */

/* Azure ML starts so many processes on each node by itself. */
void lint_launchers(struct command *c)
{
    static const char *const launchers[] = {"torchrun", "torch.distributed.launch",
                                            "torch.distributed.run", "deepspeed",
                                            "accelerate launch"};
    const struct job_spec *spec = c->plan->spec;

    if (spec->platform.environment != PLATFORM_AZUREML || c->role->slots < 2 ||
        spec->framework != FRAMEWORK_PYTORCH)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(launchers); i++)
        if (names_program(c->text, launchers[i])) {
            note_weigh(c->ns, NOTE_FAILS, SEV_WARNING,
                       "process_count_per_instance starts %d times %s on each node, which starts "
                       "processes itself; set it to 1",
                       c->role->slots, launchers[i]);
            return;
        }
}

/* --- variables ----------------------------------------------------------------------------------
 */

/* The first $NAME, ${NAME} or $((…)) of the text with its length; NULL if there is none. */
static const char *shell_syntax(const char *text, size_t *ret_n)
{
    for (const char *at = text; (at = strchr(at, '$')); at++) {
        size_t n = 1;

        if (at[1] == '$') {
            at++;
            continue;
        }
        if (at[1] == '{')
            n = strcspn(at, "}") + 1;
        else if (at[1] == '(' && at[2] == '(')
            n = strcspn(at, ")") + 2;
        else if (isalpha((unsigned char)at[1]) || at[1] == '_')
            while (isalnum((unsigned char)at[n]) || at[n] == '_')
                n++;
        if (n > 1) {
            *ret_n = n < strlen(at) ? n : strlen(at);
            return at;
        }
    }
    return NULL;
}

/* A kubelet expands $(NAME) only; what is a shell's is passed on as it stands. */
static void lint_values(struct notes *ns, const struct role *role)
{
    for (size_t i = 0; i < role->n_env; i++) {
        const struct env_entry *e = &role->env[i];
        size_t n = 0;
        const char *at = e->source == ENV_LITERAL && e->value ? shell_syntax(e->value, &n) : NULL;

        if (at)
            note_role(ns, role, NOTE_REPLACED, SEV_WARNING,
                      "%.*s in the value of %s is not expanded; only $(NAME) is", (int)n, at,
                      e->name);
    }
}

/* Is it one that the operator sets, after those of the file? */
static void lint_overridden(struct notes *ns, const struct plan *plan, const struct role *role)
{
    static const char *const names[] = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"};

    if (!spec_role(plan->spec, "master"))
        return;
    for (size_t k = 0; k < ARRAY_SIZE(names); k++)
        if (lint_literal(role, names[k]))
            note_role(ns, role, NOTE_REPLACED, SEV_NOTE,
                      "%s of the file is overridden, as by the operator", names[k]);
}

void lint_environments(struct notes *ns, const struct plan *plan)
{
    enum platform_kind kind = plan->spec->platform.environment;

    for (size_t i = 0; i < plan->spec->n_roles; i++) {
        if (platform_has_kubelet(kind))
            lint_values(ns, &plan->spec->roles[i]);
        if (kind == PLATFORM_PYTORCHJOB)
            lint_overridden(ns, plan, &plan->spec->roles[i]);
    }
}
