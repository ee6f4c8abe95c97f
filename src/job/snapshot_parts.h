/* snapshot_parts.h - the tables that saving and loading share. Internal to job/. */
#ifndef JOB_SNAPSHOT_PARTS_H
#define JOB_SNAPSHOT_PARTS_H

#include "job/fields.h"
#include "job/snapshot.h"

extern const struct fields snapshot_job, snapshot_proc, snapshot_rank, snapshot_launch,
    snapshot_blame, snapshot_sight, snapshot_waiting;

#endif
