/* gang.h - pods that are scheduled all at once or not at all: their PodGroup, for Volcano or, under
 * any other name of a scheduler, for the coscheduling plugin of scheduler-plugins.
 *
 * Pure; everything is in the arena.
 */
#ifndef KUBE_GANG_H
#define KUBE_GANG_H

#include "doc/make.h"

#define GANG_VOLCANO_API "scheduling.volcano.sh/v1beta1"
#define GANG_PLUGINS_API "scheduling.x-k8s.io/v1alpha1"

bool gang_is_volcano(const char *scheduler);
const char *gang_api(const char *scheduler); /* of its PodGroup: "GROUP/VERSION" */

/* Makes a pod with this metadata and spec a member. override: whatever scheduler the spec names
 * already. task: its role for Volcano; or NULL. */
void gang_join(struct arena *a, const char *scheduler, const char *group, const char *task,
               bool override, struct node *meta, struct node *pod);

/* --- what the members need together ----------------------------------------------------------- */

struct gang_sum;
struct gang_sum *gang_sum_new(struct arena *a);
/* Adds what the containers of a pod request, so many times. limits: they count where a request is
 * missing; without it, where all of them are. */
void gang_sum_add(struct gang_sum *sum, const struct node *containers, int64_t times, bool limits);
/* {cpu: "4", memory: 8Gi}, each in the shortest text of the same value, as Kubernetes writes it. */
struct node *gang_sum_map(const struct gang_sum *sum);

#endif
