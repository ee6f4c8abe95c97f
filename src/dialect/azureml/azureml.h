/* azureml.h - Azure ML's command job as decoded: the form of 2022 and later.
 *
 *   command, code, environment, environment_variables, inputs, outputs, compute, resources,
 *   distribution (mpi, pytorch, tensorflow, ray), limits, queue_settings, identity, services
 *
 * Azure starts the processes itself: the command is what each of them runs.
 */
#ifndef DIALECT_AZUREML_AZUREML_H
#define DIALECT_AZUREML_AZUREML_H

#include "dialect/dialect.h"
#include "doc/bind.h"

struct az_build {
    const struct node *at;
    const char *path, *dockerfile;
};

struct az_environment { /* in place; a registered one is a string */
    const struct node *at;
    const char *image, *os_type;
    const struct az_build *build;
    const struct node *conda_file;
};

struct az_distribution {
    const struct node *at;
    const char *type;
    const struct node *per_instance; /* mpi, pytorch */
    const struct node *workers, *servers;
};

struct az_resources {
    const struct node *at;
    const struct node *instance_count;
    const char *shm_size;
};

struct az_limits {
    const struct node *at;
    const struct node *timeout;
};

struct az_queue {
    const struct node *at;
    const char *job_tier, *priority;
};

struct az_identity {
    const struct node *at;
    const char *type;
};

struct az_data { /* an input or an output that is a mapping */
    const struct node *at;
    const char *type, *path, *mode;
    const struct node *value; /* inputs: a literal after all */
};

struct az_job {
    const struct node *at;
    const char *name, *experiment, *command, *code, *type;
    const char *display_name, *description, *parent; /* their types are checked, no more */
    const struct node *compute, *environment, *variables, *inputs, *outputs, *distribution;
    const struct node *tags, *properties, *services;
    const struct az_resources *resources;
    const struct az_limits *limits;
    const struct az_queue *queue;
    const struct az_identity *identity;
};

extern const struct bind_table az_job_table, az_environment_table, az_input_table, az_output_table,
    az_service_table;
extern const struct bind_table az_mpi_table, az_tensorflow_table, az_ray_table;

/* What the files that lower a job share. */
struct az {
    struct binder b;
    const struct read_options *opts;
    const struct doc *doc;
    const struct az_job *job;
    struct job_spec *out;
};

/* Is the document in a form of the previews of 2020 and 2021? */
bool azureml_is_old(const struct node *root);
/* Has it no command of its own, but a component? */
bool azureml_of_component(const struct node *root);

enum { AZ_NODE, AZ_LAUNCHER, AZ_N_ROLES };

/* A count as the service reads it: a number in quotes is one. absent if it is not there, or wrong.
 */
int32_t az_count(struct az *l, const char *key, const struct node *node, int32_t min,
                 int32_t absent);
const char *az_lower_case(struct arena *a, const char *text);

/* Changes roles[AZ_NODE], which is complete but for its processes, as the distribution says; adds
 * AZ_LAUNCHER if it needs one. False: it is known and not run. */
bool az_lower_distribution(struct az *l, struct role *roles);

/* What only the platform cares for. */
void az_lower_platform(struct az *l);

/* Is it an address of the platform's or of the web, rather than a path? */
bool az_is_remote(const char *path);

/* inputs and outputs into out->values. */
void az_lower_values(struct az *l);

/* The command with its optional parts (`$[[ … ]]`) kept or left out, as their inputs are given or
 * not. What it names and the job does not have is told. */
const char *az_command(struct az *l, const struct node *at, const char *text);

#endif
