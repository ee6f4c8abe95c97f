/* tables.c - the keys of TensorStack's MPIJob. Tables only; see t9k_mpi.h. */
#include "dialect/t9k/t9k_mpi.h"

#include <stddef.h>

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct bind_field worker_fields[] = {
    {.key = "replicas",
     .kind = BIND_INT,
     .min = 1,
     .max = INT32_MAX,
     .def = 1,
     AT(t9k_worker, replicas),
     .doc = "The number of workers."},
    {.key = "extraMPIArgs",
     .kind = BIND_STRINGS,
     AT(t9k_worker, extra_args),
     .doc = "Options of mpirun; -N sets the slots per worker."},
    {.key = "cmd",
     .kind = BIND_STRINGS,
     .non_empty = true,
     AT(t9k_worker, cmd),
     .doc = "What each rank runs."},
    {.key = "template",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &pod_template_table,
     AT(t9k_worker, template_),
     .doc =
         "The pod template of a worker. Its container mpi-worker is used, also for the launcher."},
};
static const struct bind_table worker_table =
    BIND_TABLE("spec.worker", struct t9k_worker, worker_fields);

static const struct bind_field config_fields[] = {
    {.key = "home",
     .kind = BIND_STRING,
     AT(t9k_mpi_config, home),
     .doc = "The installation directory of MPI. Falls back to the mpirun in PATH."},
    {.key = "mca",
     .kind = BIND_NODE,
     AT(t9k_mpi_config, mca),
     .by_name = true,
     .takes = TAKES_STRING,
     .doc = "MCA parameters of Open MPI."},
    {.key = "extraArgs",
     .kind = BIND_STRINGS,
     AT(t9k_mpi_config, extra_args),
     .doc = "Options of mpirun; -N sets the slots per worker."},
    {.key = "script",
     .kind = BIND_STRINGS,
     .non_empty = true,
     AT(t9k_mpi_config, script),
     .doc = "What each rank runs."},
};
static const struct bind_table config_table =
    BIND_TABLE("spec.mpiConfig", struct t9k_mpi_config, config_fields);

static const struct bind_field restart_fields[] = {
    {.key = "policy",
     .kind = BIND_STRING,
     .required = true,
     AT(t9k_restart, policy),
     .doc = "Never, OnFailure or Always."},
    {.key = "limit",
     .kind = BIND_INT,
     .min = 0,
     .max = INT32_MAX,
     AT(t9k_restart, limit),
     .doc = "Maximum number of restarts."},
};
const struct bind_table t9k_restart_table =
    BIND_TABLE("restartPolicy", struct t9k_restart, restart_fields);

static const struct bind_field replica_spec_fields[] = {
    {.key = "type",
     .kind = BIND_STRING,
     .required = true,
     AT(t9k_replica_spec, type),
     .doc = "launcher or worker."},
    {.key = "replicas",
     .kind = BIND_INT,
     .min = 1,
     .max = INT32_MAX,
     .def = 1,
     AT(t9k_replica_spec, replicas),
     .doc = "The number of replicas; 1 for the launcher."},
    {.key = "restartPolicy",
     .kind = BIND_NODE,
     AT(t9k_replica_spec, restart),
     .takes = TAKES_STRING | TAKES_MAP,
     .table = &t9k_restart_table,
     .doc = "Never, OnFailure or Always, or policy and limit. Only the launcher is restarted."},
    {.key = "template",
     .kind = BIND_STRUCT,
     .table = &pod_template_table,
     AT(t9k_replica_spec, template_),
     .doc = "The pod template. The container named after the type is used."},
};
static const struct bind_table replica_spec_table =
    BIND_TABLE("a replicaSpecs entry", struct t9k_replica_spec, replica_spec_fields);

static const struct bind_field ssh_fields[] = {
    {.key = "sshdPath",
     .kind = BIND_STRING,
     AT(t9k_ssh, sshd_path),
     .doc = "Checked but not used: mpirun reaches the workers without sshd."},
    {.key = "sshAuthMountPath",
     .kind = BIND_STRING,
     AT(t9k_ssh, auth_mount_path),
     .doc = "Ignored, with a note: no ssh keys are used."},
};
static const struct bind_table ssh_table = BIND_TABLE("spec.ssh", struct t9k_ssh, ssh_fields);

static const struct bind_field run_policy_fields[] = {
    {.key = "cleanUpWorkers",
     .kind = BIND_NODE,
     AT(t9k_run_policy, clean_up),
     .takes = TAKES_BOOL,
     .doc = "Whether workers are removed when the job has ended."},
};
static const struct bind_table run_policy_table =
    BIND_TABLE("spec.runPolicy", struct t9k_run_policy, run_policy_fields);

static const struct bind_field mode_role_fields[] = {
    {.key = "type",
     .kind = BIND_STRING,
     .required = true,
     AT(t9k_mode_role, type),
     .doc = "launcher or worker."},
    {.key = "skipInitContainer",
     .kind = BIND_BOOL,
     AT(t9k_mode_role, skip_init),
     .doc = "Skip the init containers."},
    {.key = "command",
     .kind = BIND_STRINGS,
     AT(t9k_mode_role, command),
     .doc = "The command instead."},
    {.key = "args", .kind = BIND_STRINGS, AT(t9k_mode_role, args), .doc = "Its arguments."},
};
static const struct bind_table debug_role_table =
    BIND_TABLE("a runMode.debug.replicaSpecs entry", struct t9k_mode_role, mode_role_fields);
static const struct bind_table resume_role_table =
    BIND_TABLE("a runMode.pause.resumeSpecs entry", struct t9k_mode_role, mode_role_fields);

static const struct bind_field debug_fields[] = {
    {.key = "enabled", .kind = BIND_BOOL, AT(t9k_mode, enabled), .doc = "Whether it is enabled."},
    {.key = "enable", .kind = BIND_BOOL, AT(t9k_mode, enable), .doc = "The older spelling."},
    {.key = "replicaSpecs",
     .kind = BIND_STRUCTS,
     .table = &debug_role_table,
     AT(t9k_mode, roles),
     .doc = "Overrides per role in debug mode."},
};
static const struct bind_table debug_table =
    BIND_TABLE("spec.runMode.debug", struct t9k_mode, debug_fields);

static const struct bind_field pause_fields[] = {
    {.key = "enabled",
     .kind = BIND_BOOL,
     AT(t9k_mode, enabled),
     .doc = "Whether the job starts paused."},
    {.key = "enable", .kind = BIND_BOOL, AT(t9k_mode, enable), .doc = "The older spelling."},
    {.key = "resumeSpecs",
     .kind = BIND_STRUCTS,
     .table = &resume_role_table,
     AT(t9k_mode, roles),
     .doc = "Overrides per role after a pause."},
};
static const struct bind_table pause_table =
    BIND_TABLE("spec.runMode.pause", struct t9k_mode, pause_fields);

static const struct bind_field run_mode_fields[] = {
    {.key = "debug",
     .kind = BIND_STRUCT,
     .table = &debug_table,
     AT(t9k_run_mode, debug),
     .doc = "Debug mode: start replicas without their commands."},
    {.key = "pause",
     .kind = BIND_STRUCT,
     .table = &pause_table,
     AT(t9k_run_mode, pause),
     .doc = "Start the job paused."},
};
static const struct bind_table run_mode_table =
    BIND_TABLE("spec.runMode", struct t9k_run_mode, run_mode_fields);

static const struct bind_field queue_fields[] = {
    {.key = "queue",
     .kind = BIND_STRING,
     AT(t9k_queue, queue),
     .doc = "The queue of `muster submit`; no effect in a local run."},
    {.key = "priority",
     .kind = BIND_INT,
     .min = 0,
     .max = 100,
     .def = -1,
     AT(t9k_queue, priority),
     .doc = "Kept, with a note."},
};
static const struct bind_table queue_table =
    BIND_TABLE("spec.scheduler.t9kScheduler", struct t9k_queue, queue_fields);

static const struct bind_field scheduler_fields[] = {
    {.key = "t9kScheduler",
     .kind = BIND_STRUCT,
     .table = &queue_table,
     AT(t9k_scheduler, t9k),
     .doc = "The scheduler of T9k."},
};
static const struct bind_table scheduler_table =
    BIND_TABLE("spec.scheduler", struct t9k_scheduler, scheduler_fields);

static const struct bind_field spec_fields[] = {
    {.key = "worker",
     .kind = BIND_STRUCT,
     .table = &worker_table,
     AT(t9k_spec, worker),
     .doc = "The workers, in the form that also defines the launcher."},
    {.key = "mca",
     .kind = BIND_NODE,
     AT(t9k_spec, mca),
     .by_name = true,
     .takes = TAKES_STRING,
     .doc = "MCA parameters of Open MPI."},
    {.key = "mpiHome",
     .kind = BIND_STRING,
     AT(t9k_spec, mpi_home),
     .doc = "Where MPI is installed."},
    {.key = "mpiConfig",
     .kind = BIND_STRUCT,
     .table = &config_table,
     AT(t9k_spec, config),
     .doc = "The mpirun line, in the form with replicaSpecs."},
    {.key = "replicaSpecs",
     .kind = BIND_STRUCTS,
     .non_empty = true,
     .table = &replica_spec_table,
     AT(t9k_spec, replica_specs),
     .doc = "Launcher and workers, each with a template."},
    {.key = "ssh",
     .kind = BIND_STRUCT,
     .table = &ssh_table,
     AT(t9k_spec, ssh),
     .doc = "How a cluster reaches the workers."},
    {.key = "runPolicy",
     .kind = BIND_STRUCT,
     .table = &run_policy_table,
     AT(t9k_spec, run_policy),
     .doc = "Clean-up after the end."},
    {.key = "runMode",
     .kind = BIND_STRUCT,
     .table = &run_mode_table,
     AT(t9k_spec, run_mode),
     .doc = "Debugging and pausing."},
    {.key = "scheduler",
     .kind = BIND_STRUCT,
     .table = &scheduler_table,
     AT(t9k_spec, scheduler),
     .doc = "Ignored, with a note: no effect in a local run."},
};
static const struct bind_table spec_table = BIND_TABLE("spec", struct t9k_spec, spec_fields);

static const struct bind_field job_fields[] = {
    {.key = "apiVersion",
     .kind = BIND_STRING,
     .required = true,
     AT(t9k_job, api_version),
     .doc = "batch.tensorstack.dev/v1beta1"},
    {.key = "kind", .kind = BIND_STRING, .required = true, AT(t9k_job, kind), .doc = "MPIJob"},
    {.key = "metadata",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &kube_metadata_table,
     AT(t9k_job, metadata),
     .doc = "Name and namespace."},
    {.key = "spec",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &spec_table,
     AT(t9k_job, spec),
     .doc = "The job."},
    {.key = "status", .kind = BIND_NOTED, .why = KUBE_SET_BY_CLUSTER},
};
const struct bind_table t9k_job_table = BIND_TABLE("the MPIJob", struct t9k_job, job_fields);
