/* tasks.h - where the tasks of a role are: dealt out to its replicas one by one, in order. Internal
 * to plan/. */
#ifndef PLAN_TASKS_H
#define PLAN_TASKS_H

#include "plan/plan.h"

/* How many processes the replica of that index has: its tasks, or the role's slots. A replica that
 * gets no task has one process, which only waits. */
int64_t tasks_in_replica(const struct role *role, int32_t index);

/* Which task the slot of a replica is; task is NULL if it is none. */
struct task_place {
    const struct task *task;
    int32_t index; /* among those of its type */
};
struct task_place task_in_slot(const struct role *role, int32_t replica, int32_t slot);

/* "HOST:PORT" of a task; by_name: host names where they resolve, else addresses. */
const char *task_address(struct arena *a, const struct plan *plan, const struct role *role,
                         const struct task *task, int32_t index, bool by_name);

#endif
