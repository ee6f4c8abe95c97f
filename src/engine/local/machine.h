/* machine.h - what this machine has for any job: devices, interfaces, the user. */
#ifndef ENGINE_LOCAL_MACHINE_H
#define ENGINE_LOCAL_MACHINE_H

#include "plan/plan.h"

/* How many GPUs there are: what the NVIDIA driver lists, else its device files. */
int machine_gpus(void);

/* Names of the network interfaces, NULL-terminated. */
const char *const *machine_interfaces(struct arena *a);

/* Who we are: the name of our uid, else the number. */
const char *machine_user(struct arena *a);

/* What RDMA needs and is not here, as words ("no /dev/infiniband, …"); NULL if nothing is missing.
 */
const char *machine_lacks_rdma(struct arena *a);

#endif
