/* platform.c - see platform.h. */
#include "spec/platform.h"

#include <string.h>

#include "base/mem.h"

const char *const platform_words[] = {
    [PLATFORM_MUSTER] = "muster",
    [PLATFORM_T9K] = "t9k",
    [PLATFORM_OPENPAI] = "openpai",
    [PLATFORM_AZUREML] = "azureml",
    [PLATFORM_AZUREML_PREVIEW] = "azureml-preview",
    [PLATFORM_MPIJOB_V1ALPHA1] = "mpijob-v1alpha1",
    [PLATFORM_MPIJOB_V1ALPHA2] = "mpijob-v1alpha2",
    [PLATFORM_MPIJOB_V1] = "mpijob-v1",
    [PLATFORM_MPIJOB_V2BETA1] = "mpijob-v2beta1",
    [PLATFORM_PYTORCHJOB] = "pytorchjob",
    [PLATFORM_TFJOB] = "tfjob",
    [PLATFORM_KINDS] = NULL,
};

const char *const host_naming_words[] = {
    [HOSTS_BY_ROLE] = "by-role", [HOSTS_BY_TASK] = "by-task", [HOSTS_BY_JOB] = "by-job", NULL};

const char *const service_naming_words[] = {[SERVICES_NONE] = "none",
                                            [SERVICES_BY_REPLICA] = "by-replica",
                                            [SERVICES_OF_WORKERS] = "of-workers",
                                            [SERVICES_BY_JOB] = "by-job",
                                            NULL};

static const struct {
    enum host_naming hosts;
    enum service_naming services;
} namings[] = {
    [PLATFORM_T9K] = {HOSTS_BY_JOB, SERVICES_NONE},
    [PLATFORM_OPENPAI] = {HOSTS_BY_TASK, SERVICES_NONE},
    [PLATFORM_MPIJOB_V1ALPHA1] = {HOSTS_BY_JOB, SERVICES_OF_WORKERS},
    [PLATFORM_MPIJOB_V1ALPHA2] = {HOSTS_BY_JOB, SERVICES_OF_WORKERS},
    [PLATFORM_MPIJOB_V1] = {HOSTS_BY_JOB, SERVICES_OF_WORKERS},
    [PLATFORM_MPIJOB_V2BETA1] = {HOSTS_BY_JOB, SERVICES_BY_JOB},
    [PLATFORM_PYTORCHJOB] = {HOSTS_BY_JOB, SERVICES_BY_REPLICA},
    [PLATFORM_TFJOB] = {HOSTS_BY_JOB, SERVICES_BY_REPLICA},
    [PLATFORM_KINDS] = {0},
};

struct platform platform_of(enum platform_kind kind)
{
    return (struct platform){.hosts = namings[kind].hosts,
                             .services = namings[kind].services,
                             .environment = kind,
                             .status = kind};
}

int platform_kind_of(const struct platform *platform)
{
    enum platform_kind kind = platform->environment;

    return platform->status == kind && platform->hosts == namings[kind].hosts &&
                   platform->services == namings[kind].services
               ? (int)kind
               : -1;
}

bool platform_is_mpijob(enum platform_kind kind)
{
    return kind >= PLATFORM_MPIJOB_V1ALPHA1 && kind <= PLATFORM_MPIJOB_V2BETA1;
}

bool platform_has_kubelet(enum platform_kind kind)
{
    return kind == PLATFORM_T9K || kind >= PLATFORM_MPIJOB_V1ALPHA1;
}

bool platform_sends_workdir(enum platform_kind kind)
{
    return kind == PLATFORM_AZUREML || kind == PLATFORM_AZUREML_PREVIEW;
}
