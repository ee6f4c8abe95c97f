/* retention.h - which runs are removed, by number, age and size.
 *
 * What lives is never removed, and what has outputs (outputs.h) only if the policy says so. A run
 * is removed if any of the three limits says so. Runs that are kept because of their outputs count
 * for none of them; those that live count for the number.
 */
#ifndef RUNDIR_RETENTION_H
#define RUNDIR_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

#define RETENTION_NONE (-1) /* no such limit */

struct retention {
    int64_t keep;       /* this many of the newest */
    int64_t max_age_ms; /* since their start */
    int64_t max_size;   /* bytes, all together: the oldest go first */
    bool outputs;       /* also runs with outputs */
};
#define RETENTION_INIT                                                                             \
    {                                                                                              \
        .keep = LIMIT_RUNS_KEPT, .max_age_ms = RETENTION_NONE, .max_size = RETENTION_NONE          \
    }

struct retained { /* a run directory */
    const char *dir, *id;
    ns_t started;
    int64_t size; /* -1 = not looked at */
    bool alive, outputs;
    const char *removed_for; /* retention_mark(): "number", "age", "size"; NULL = it stays */
};

struct retained_list { /* in the arena, oldest first */
    struct retained *v;
    size_t n;
};

/* The run directories below home (NULL: everywhere where runs are). Sizes only if `sized`. */
void retention_look(struct arena *a, const char *home, bool sized, struct retained_list *ret);

/* Decides. Pure: list is in order of start. */
void retention_mark(const struct retention *policy, ns_t now, struct retained_list *list);

/* Removes one, unless it lives (-EBUSY). */
int retention_remove(const char *dir, struct err *e);

/* Looks below home, decides, removes. */
void retention_apply(const struct retention *policy, const char *home);

/* "30d", "36h", "1d12h", "90m" in milliseconds: 0, -EINVAL, -ERANGE. */
int retention_age(const char *text, int64_t *ret);

/* When a run with this id began, to the second; 0 if the id does not say. */
ns_t retention_id_time(const char *id);

#endif
