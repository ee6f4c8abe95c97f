/* wants_parts.h - what the objects of all kinds are made of. Internal to wants*.c. */
#ifndef OPERATOR_WANTS_PARTS_H
#define OPERATOR_WANTS_PARTS_H

#include "doc/make.h"
#include "operator/wants.h"

#define LABEL_OPERATOR "training.kubeflow.org/operator-name"
#define LABEL_JOB "training.kubeflow.org/job-name"
#define LABEL_ROLE "training.kubeflow.org/job-role"
#define LABEL_TYPE "training.kubeflow.org/replica-type"
#define LABEL_INDEX "training.kubeflow.org/replica-index"

/* One platform's way to serve a job. */
struct wants_way {
    size_t (*list)(struct arena *a, const struct served *s, const struct want **ret);
    const struct node *(*object)(struct arena *a, const struct served *s, const struct want *w,
                                 const struct want_state *st);
    const char *(*selector)(struct arena *a, const struct served *s);
};
extern const struct wants_way wants_mpi, wants_mpi_old, wants_t9k, wants_training;

void want_put(struct arena *a, struct node *map, const char *key, const char *text);

/* apiVersion, kind and metadata with name, namespace and owner. */
struct node *want_root(struct arena *a, const struct served *s, const char *api, const char *kind,
                       const char *name);
/* The job as their controller: a list. */
const struct node *want_owner(struct arena *a, const struct served *s);

/* A headless Service that selects what has these labels. */
struct node *want_service(struct arena *a, const struct served *s, const char *name,
                          const struct node *selector);

/* --- pods ------------------------------------------------------------------------------------- */

/* A copy of the role's pod template, to be changed: all that it says is kept. */
struct node *want_template(struct arena *a, const struct role *role);
/* The template as the pod that it becomes: its labels and annotations, and which start it is. */
struct node *want_pod(struct arena *a, const struct served *s, const char *name,
                      struct node *template, const struct want_state *st);

/* A container of the template by its name; the first if there is none of that name or it is NULL.
 */
struct node *want_container(struct arena *a, struct node *template, const char *name);
void want_add_env(struct arena *a, struct node *container, const char *name, const char *value);
/* What the platform's operator appends to the replica's variables. */
void want_add_operator_env(struct arena *a, const struct plan *plan, const struct replica *rp,
                           struct node *container);
/* As the replica's spec says, in words of a pod; `otherwise` if it does not. */
void want_put_restart(struct arena *a, const struct role *role, const char *otherwise,
                      struct node *template);
/* Is this start of the role one that only waits (SERVED_DEBUG)? Then its container gets a command
 * that does. */
bool want_waits(const struct served *s, const struct role *role, struct start start);
void want_put_waiting(struct arena *a, struct node *container);
/* Says so of a launcher's Job. */
void want_mark_waiting(struct arena *a, struct node *root);
/* The scheduler of all members at once, if the operator has one. override: whatever the template
 * says. */
void want_put_gang(struct arena *a, const struct served *s, bool override, const char *task,
                   struct node *template);

/* --- all at once (wants_group.c) -------------------------------------------------------------- */

bool want_has_group(const struct served *s);
enum want_kind want_group_kind(const struct served *s);
const struct node *want_group(struct arena *a, const struct served *s, const struct want *w);

/* --- elastic (wants_scaler.c) ----------------------------------------------------------------- */

bool want_has_scaler(const struct served *s);
const struct node *want_scaler(struct arena *a, const struct served *s, const struct want *w);

/* --- a program of ours in its pods (wants_agent.c) -------------------------------------------- */

#define WANT_AGENT_VOLUME "muster-agent"
#define WANT_AGENT_PATH "/opt/muster"   /* where it is mounted */
#define WANT_AGENT_OLD_PATH "/opt/kube" /* … in v1 and before: where kubexec.sh has its program */

/* The ConfigMap and the Secret NAME-agent: the program, the job's key. */
const char *want_agent_name(struct arena *a, const struct served *s);
const struct node *want_agent_map(struct arena *a, const struct served *s,
                                  const struct want_state *st);
const struct node *want_agent_secret(struct arena *a, const struct served *s,
                                     const struct want_state *st);
/* Mounts both. */
void want_add_agent(struct arena *a, const struct served *s, struct node *template,
                    struct node *container);
/* The command of the launcher becomes a child of the recorder. It must have one. */
void want_record_launcher(struct arena *a, const struct served *s, struct node *container);
/* The pod of a worker has the program: WANT_RECORDS_ANNOTATION. */
void want_mark_recorded(struct arena *a, const struct served *s, struct node *template);

/* --- MPI (wants_mpi.c) ------------------------------------------------------------------------ */

/* Service, ConfigMap, Secret, a pod for each worker, and the launcher as that kind. */
size_t mpi_list(struct arena *a, const struct served *s, enum want_kind launcher,
                const struct want **ret);
/* NAME-config: the hostfile; NAME-ssh: the keys, NAME-agent: the job's key. */
struct node *mpi_config_map(struct arena *a, const struct served *s, const char *hostfile);
const struct node *mpi_secret(struct arena *a, const struct served *s, const struct want *w,
                              const struct want_state *st);
bool mpi_is_agent(struct arena *a, const struct served *s, const struct want *w); /* NAME-agent? */
/* Its host name, which the job's Service resolves. */
void mpi_put_host(struct arena *a, const struct served *s, const struct replica *rp,
                  struct node *template);
/* Bare host names of the job resolve in it. */
void mpi_put_search(struct arena *a, const struct served *s, struct node *template);
void mpi_add_keys(struct arena *a, const struct served *s, const char *path, struct node *template,
                  struct node *container);
/* Objects of the job as a whole have the label that the operator's first version gave them. */
void mpi_put_app(struct arena *a, const struct served *s, struct node *root);
#define MPI_KUBEXEC "kubexec.sh"
/* The ConfigMap at /etc/mpi. */
struct mpi_files {
    bool hostfile, discover_hosts, kubexec;
};
void mpi_add_config(struct arena *a, const struct served *s, struct mpi_files files,
                    struct node *template, struct node *container);
/* A file of a ConfigMap or a Secret; mode 0: that of the volume. */
void mpi_add_item(struct arena *a, struct node *items, const char *key, const char *path, int mode);
void mpi_add_volume(struct arena *a, const char *name, const char *path, struct node *volume,
                    struct node *template, struct node *container);
/* discover_hosts.sh: a launcher with ranks, then workers that run, by their names as text. */
const char *mpi_discover_text(struct arena *a, const struct plan *plan, const bool *running);
/* The launcher's batch Job around a template that is complete. */
void mpi_put_job_template(struct arena *a, const struct served *s, struct node *template,
                          struct node *spec);

#endif
