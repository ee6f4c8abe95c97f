/* platform.c - `platform` of Muster's own job file: what a job keeps of the platform it was written
 * for. */
#include <string.h>

#include "dialect/kubeflow/mpi.h"
#include "dialect/muster/muster_v1.h"
#include "dialect/openpai/openpai.h"

static size_t n_words(const char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

void mv1_lower_platform(const struct binder *b, const struct node *at, struct job_spec *out)
{
    struct mv1_platform word = {0};
    const struct mv1_platform *in = &word;
    struct platform *p = &out->platform;
    int like, hosts, services, environment, status;

    if (!at)
        return;
    if (at->type == NODE_MAP)
        in = bind_map(b, &mv1_platform_table, at);
    else if (bind_string(b, "platform", at, &word.like))
        bind_word(b, at, "platform", word.like, platform_words, n_words(platform_words));
    else
        return;
    like = mv1_word(in->like, platform_words);
    hosts = mv1_word(in->hosts, host_naming_words);
    services = mv1_word(in->services, service_naming_words);
    environment = mv1_word(in->environment, platform_words);
    status = mv1_word(in->status, platform_words);
    *p = platform_of(like > 0 ? (enum platform_kind)like : PLATFORM_MUSTER);
    if (hosts >= 0)
        p->hosts = (enum host_naming)hosts;
    if (services >= 0)
        p->services = (enum service_naming)services;
    if (environment >= 0)
        p->environment = (enum platform_kind)environment;
    if (status >= 0)
        p->status = (enum platform_kind)status;
}

/* PyTorchJob's nprocPerNode in the words of its file; a job with none is of the form before v1. */
static const char *nproc_of(const struct binder *b, const struct role *roles, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (roles[i].own_slots)
            return roles[i].slots_kind == SLOTS_NUMBER ? arena_printf(b->a, "%d", roles[i].slots)
                                                       : "auto";
    }
    return NULL;
}

void mv1_lower_environment(const struct binder *b, const struct mv1_job *in, struct job_spec *out,
                           struct role *roles)
{
    enum platform_kind kind = out->platform.environment;

    for (size_t i = 0; i < in->roles.n; i++) {
        const struct node *slots = in->roles.v[i].slots;

        if (slots && slots->type == NODE_STRING &&
            (strcmp(slots->text, "cpu") == 0 || strcmp(slots->text, "gpu") == 0))
            out->nproc = slots->text; /* torchrun's own word for how many */
    }
    if (kind == PLATFORM_PYTORCHJOB && !out->nproc)
        out->nproc = nproc_of(b, roles, out->n_roles);
    for (size_t i = 0; platform_is_mpijob(kind) && i < out->n_roles; i++) {
        if (roles[i].kind == ROLE_LAUNCHER)
            mpi_mount_operator_files(b->a, &roles[i]);
    }
    for (size_t i = 0; kind == PLATFORM_OPENPAI && i < out->n_roles; i++) {
        if (roles[i].res.shm == QUANTITY_UNSET)
            pai_default_shm(&roles[i], in->openpai ? in->openpai->version : 2);
    }
    if (in->openpai || kind == PLATFORM_OPENPAI) {
        static const struct mv1_openpai current = {.version = 2};
        const struct mv1_openpai *from = in->openpai ? in->openpai : &current;
        struct pai_spec *pai = ARENA_NEW(b->a, struct pai_spec);

        *pai = (struct pai_spec){from->version, from->data_dir, from->output_dir, from->code_dir};
        out->pai = pai;
    }
}
