/* diff.h - in what two jobs differ, told by paths of the model: `roles.worker.replicas`.
 *
 * Each job is first written down as facts, one line per datum that differs from the default; then
 * the lists are compared. Equal meanings are one fact: text for `sh -c` and the argument list that
 * runs it, a composed mpirun line and a launcher's own, a count of 0 and the 1 it stands for. Where
 * things stand in a file, what it is called, and what only a message needs are no facts.
 */
#ifndef SPEC_DIFF_H
#define SPEC_DIFF_H

#include "spec/spec.h"

struct fact {
    const char *path;  /* of a role: without "roles.NAME." */
    const char *value; /* canonical; compared, and shown unless `hidden` */
    bool hidden;       /* long, or perhaps a secret: what differs is not said */
};

struct facts_list { /* in the arena */
    struct fact *v;
    size_t n, cap;
};

/* What a role says, and what a job says besides its roles. */
void spec_role_facts(struct arena *a, const struct job_spec *spec, const struct role *role,
                     struct facts_list *ret);
void spec_job_facts(struct arena *a, const struct job_spec *spec, struct facts_list *ret);

/* A role and one that it became: x's role and y's. */
struct role_pair {
    const char *from, *to;
};

struct spec_difference {
    const char *path;
    const char *text; /* "2 becomes 1", "is not there any more" */
};

struct spec_differences { /* in the arena */
    struct spec_difference *v;
    size_t n, cap;
};

/* Everything that y has not as x has it. Roles correspond by the n pairs, or by name if n is 0; a
 * role that became several is compared with each, and its replicas with all of them together. */
void spec_diff(struct arena *a, const struct job_spec *x, const struct job_spec *y,
               const struct role_pair *roles, size_t n, struct spec_differences *ret);

#endif
