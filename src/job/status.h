/* status.h - a job's status in the words of its dialect's own platform, one file per vocabulary.
 *
 * The words keep the platform's meaning: OpenPAI's SUCCEEDED may be a job all of whose tasks
 * failed. What really happened is the verdict's business, beside it. Each writes one JSON object.
 */
#ifndef JOB_STATUS_H
#define JOB_STATUS_H

#include "doc/json.h"
#include "job/job.h"

/* In the words of the job's own platform. */
void status_write(const struct job *job, struct json *j);

/* As OpenPAI's REST server answers for a job: the summary's keys, jobStatus, taskRoles. Both
 * versions; the second has more keys. */
void status_openpai(const struct job *job, struct json *j);

/* As `az ml job show`: status and what goes with it. */
void status_azureml(const struct job *job, struct json *j);

/* As the operator of kubeflow.org/v1alpha1 writes it: launcherStatus, workerReplicas and times. A
 * key that it would not have set yet is not there. */
void status_kubeflow_v1alpha1(const struct job *job, struct json *j);

/* In plain words: phase, attempt and, per role, replicas by what they are doing. */
void status_muster(const struct job *job, struct json *j);
void status_muster_roles(const struct job *job, struct json *j); /* the value of its key roles */

/* As the operators of all later versions and kinds write it: conditions, replicaStatuses and times.
 */
void status_kubeflow(const struct job *job, struct json *j);

#endif
