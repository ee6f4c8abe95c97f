/* cgroup.h - where the calling process's own control groups are, and whether limits can be set
 * below.
 *
 * Groups are only ever made below one's own. With version 1 (and hybrid) each controller has a tree
 * of its own; with version 2 there is one tree, and a group may only hand its controllers on to
 * groups below if it holds no process itself.
 *
 * Not here: making groups (the shim does).
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum cgroup_controller { CGROUP_MEMORY, CGROUP_CPU, CGROUP_CONTROLLERS };

struct cgroup_own {
    bool unified;                   /* version 2: both directories are the same */
    char *dirs[CGROUP_CONTROLLERS]; /* NULL: there is no such controller here */
};

const char *cgroup_controller_name(enum cgroup_controller c); /* "memory", "cpu" */

/* The caller's own groups. */
int cgroup_find(struct cgroup_own *ret, struct err *e);
void cgroup_release(struct cgroup_own *own);

/* cgroup_find() on the texts of /proc/self/cgroup and /proc/self/mountinfo. */
void cgroup_parse(const char *cgroup, const char *mountinfo, struct cgroup_own *ret);

/* May groups with limits of cpu and memory be made below our own? If not, *ret_why says why, and
 * what to do about it (a static text). Changes nothing. */
bool cgroup_usable(const char **ret_why);

/* The last part of every "why". */
#define CGROUP_HINT "start it with: systemd-run --user --scope -p Delegate=yes muster …"

/* Writes text to a file of a group. */
int cgroup_write(const char *dir, const char *file, const char *text, struct err *e);

/* SIGKILL for every process in the group; without version 2's cgroup.kill, one after the other. */
void cgroup_kill(const char *dir);

/* A number from a file of a group: its only content, or what stands after a word ("" = none). -1:
 * there is none, or it cannot be read. */
int64_t cgroup_number(const char *dir, const char *file, const char *word);

/* Version 2: what cgroup.subtree_control is told. */
#define CGROUP_HAND_ON "+memory +cpu"

/* Version 2: the leaf that a supervisor of limited groups sits in. A process inside it has the
 * group above as its own, as far as cgroup_find() is concerned. */
#define CGROUP_LEAF "muster.leaf"

/* Version 2: moves the calling process into a leaf of its own group and hands the controllers on.
 * muster does this before it starts a shim with limits. Nothing to do with version 1. */
int cgroup_enter_leaf(struct err *e);

#endif
