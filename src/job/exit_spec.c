/* exit_spec.c - the table, in the order of OpenPAI's own.
 *
 * Phrases are those of k8s-job-exit-spec.yaml in the project microsoft/pai, letter by letter:
 * scripts that read a job's status compare them.
 */
#include "job/exit_spec.h"

#include <stddef.h>

#define USER "USER_FAILURE"
#define PLATFORM "PLATFORM_FAILURE"
#define UNKNOWN "UNKNOWN_FAILURE"
#define STOP "USER_STOP"

static const struct exit_spec table[] = {
    {0, 0, FAILURE_PERMANENT, "USER_SUCCESS", "Succeeded"},
    {PAI_STOP_REQUESTED, PAI_STOP_REQUESTED, FAILURE_PERMANENT, STOP, "StopFrameworkRequested"},
    {PAI_ATTEMPT_COMPLETED, PAI_ATTEMPT_COMPLETED, FAILURE_PERMANENT, STOP,
     "FrameworkAttemptCompletion"},
    {PAI_NODE_LOST, PAI_NODE_LOST, FAILURE_TRANSIENT, PLATFORM, "PodNodeLost"},
    {PAI_DEADLINE, PAI_DEADLINE, FAILURE_PERMANENT, STOP, "PodDeadlineExceeded"},
    {PAI_OUT_OF_MEMORY, PAI_OUT_OF_MEMORY, FAILURE_PERMANENT, USER, "UserContainerDockerOOMKilled"},
    {127, 127, FAILURE_PERMANENT, USER, "UserCommandExitWithError"}, /* its 220 */
    {128, 128, FAILURE_UNKNOWN, PLATFORM, "ContainerMayFailDueToGpuDeviceEccError"},
    {130, 130, FAILURE_TRANSIENT, PLATFORM, "ContainerSigIntReceived"},
    {131, 131, FAILURE_TRANSIENT, PLATFORM, "ContainerSigQuitReceived"},
    {132, 132, FAILURE_PERMANENT, USER, "ContainerSigIllReceived"},
    {134, 134, FAILURE_UNKNOWN, UNKNOWN, "ContainerSigAbrtReceived"},
    {135, 135, FAILURE_PERMANENT, USER, "ContainerSigBusReceived"},
    {136, 136, FAILURE_PERMANENT, USER, "ContainerSigFpeReceived"},
    {137, 137, FAILURE_TRANSIENT, PLATFORM, "ContainerSigKillReceived"},
    {139, 139, FAILURE_UNKNOWN, UNKNOWN, "ContainerSigSegvReceived"},
    {141, 141, FAILURE_PERMANENT, USER, "ContainerSigPipeReceived"},
    {143, 143, FAILURE_TRANSIENT, PLATFORM, "ContainerSigTermReceived"},
    /* the controller's own; a program may use them */
    {200, 200, FAILURE_TRANSIENT, UNKNOWN, NULL},
    {201, 201, FAILURE_CONFLICT, UNKNOWN, NULL},
    {210, 210, FAILURE_PERMANENT, UNKNOWN, NULL},
    {220, 220, FAILURE_PERMANENT, USER, "UserCommandExitWithError"},
    {223, 223, FAILURE_TRANSIENT, PLATFORM, NULL}, /* CUDA ECC */
    {221, 235, FAILURE_PERMANENT, USER, NULL},     /* out of memory, bad data, SyntaxError, … */
    {249, 249, FAILURE_PERMANENT, PLATFORM, "PAIRuntimeSSHBarrierTimeout"},
    {250, 250, FAILURE_TRANSIENT, PLATFORM, "FrameworkBarrierTransientFailed"},
    {PAI_GANG_TIMEOUT, PAI_GANG_TIMEOUT, FAILURE_CONFLICT, "RESOURCE_ALLOCATION_TIMEOUT",
     "JobGangAllocationTimeout"},
    {252, 252, FAILURE_PERMANENT, PLATFORM, "FrameworkBarrierPermanentFailed"},
    {253, 253, FAILURE_TRANSIENT, PLATFORM, "ContainerPortConflict"},
    {PAI_NO_IMAGE, PAI_NO_IMAGE, FAILURE_PERMANENT, USER, "ContainerImageNotExists"},
    {255, 255, FAILURE_UNKNOWN, UNKNOWN, "PAIRuntimeUnknownFailed"},
};

const struct exit_spec *exit_spec(int code)
{
    size_t n = sizeof(table) / sizeof(table[0]);

    for (size_t i = 0; i < n; i++)
        if (code >= table[i].from && code <= table[i].to)
            return &table[i];
    return &table[n - 1];
}

enum failure_class failure_class(const struct ending *e)
{
    if (e->oom || e->exec_errno || ending_is_refused(e))
        return FAILURE_PERMANENT;
    return exit_spec(e->known ? ending_exit_code(e) : PAI_NODE_LOST)->class;
}

const char *failure_class_behavior(enum failure_class class)
{
    static const char *const words[] = {
        [FAILURE_UNKNOWN] = "UNKNOWN",
        [FAILURE_TRANSIENT] = "TRANSIENT",
        [FAILURE_CONFLICT] = "TRANSIENT_CONFLICT",
        [FAILURE_PERMANENT] = "PERMANENT",
    };
    return words[class];
}

const char *failure_class_reaction(enum failure_class class)
{
    static const char *const words[] = {
        [FAILURE_UNKNOWN] = "RETRY_TO_MAX",
        [FAILURE_TRANSIENT] = "ALWAYS_RETRY",
        [FAILURE_CONFLICT] = "ALWAYS_BACKOFF_RETRY",
        [FAILURE_PERMANENT] = "NEVER_RETRY",
    };
    return words[class];
}
