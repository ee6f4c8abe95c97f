/* platform.h - what a job finds of the platform it was written for.
 *
 * A dialect sets it for its jobs, and `platform` of a muster/v1 file says it: a job that was
 * converted keeps the host names, the variables and the status its author knows. Code outside
 * dialect/ asks these four questions and never which dialect a file was written in;
 * doc/design/platform.md says why.
 */
#ifndef SPEC_PLATFORM_H
#define SPEC_PLATFORM_H

#include <stdbool.h>

enum platform_kind {
    PLATFORM_MUSTER, /* zero: a job that names no platform */
    PLATFORM_T9K,
    PLATFORM_OPENPAI,
    PLATFORM_AZUREML,
    PLATFORM_AZUREML_PREVIEW, /* the job types of 2020: MpiJob, PytorchJob, TensorflowJob */
    PLATFORM_MPIJOB_V1ALPHA1,
    PLATFORM_MPIJOB_V1ALPHA2,
    PLATFORM_MPIJOB_V1,
    PLATFORM_MPIJOB_V2BETA1,
    PLATFORM_PYTORCHJOB,
    PLATFORM_TFJOB,
    PLATFORM_KINDS
};

/* What a replica's host is called. Its replica's name, <role>-<index>, resolves beside it. */
enum host_naming {
    HOSTS_BY_ROLE, /* <role>-<index>; letters that no host name has become '-' */
    HOSTS_BY_TASK, /* the same, but such letters are left out */
    HOSTS_BY_JOB,  /* <job>-<role>-<index>, a launcher <job>-<role>; the name is a label */
};

/* Which names a cluster's DNS has for replicas beside their host names. */
enum service_naming {
    SERVICES_NONE,
    SERVICES_BY_REPLICA, /* <host>.<namespace>.svc */
    SERVICES_OF_WORKERS, /* <job>-<role> is every worker, <host>.<job>-<role> one of them */
    SERVICES_BY_JOB,     /* <host>.<job>.<namespace>.svc, and those of workers */
};

struct platform {
    enum host_naming hosts;
    enum service_naming services;
    enum platform_kind environment; /* whose variables processes get beside their framework's */
    enum platform_kind status;      /* in whose words the report tells the job's status */
};

/* The words of muster/v1, in the order of the enums; NULL-terminated. */
extern const char *const platform_words[], *const host_naming_words[],
                                               *const service_naming_words[];

/* The platform as it is. */
struct platform platform_of(enum platform_kind kind);

/* The kind whose platform it is, or -1: a mixture. */
int platform_kind_of(const struct platform *platform);

/* One of Kubeflow's MPIJobs, whatever its version? */
bool platform_is_mpijob(enum platform_kind kind);

/* Is a job's working directory one of the caller's machine, which the platform uploads? */
bool platform_sends_workdir(enum platform_kind kind);

/* Are its pods made by a kubelet, which expands $(NAME) and nothing else? */
bool platform_has_kubelet(enum platform_kind kind);

#endif
