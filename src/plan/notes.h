/* notes.h - what a person should know about a plan, collected while it is made. Internal to plan/.
 */
#ifndef PLAN_NOTES_H
#define PLAN_NOTES_H

#include "plan/plan.h"

struct notes {
    struct arena *arena;
    struct plan_note *v;
    size_t n, cap;
};

/* Adds one sentence of weight NOTE_REPLACED, without a full stop. A sentence that is there already
 * is not repeated: roles often share what is said of them (notes_add.c). */
void note_add(struct notes *ns, enum severity severity, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void note_weigh(struct notes *ns, enum note_weight weight, enum severity severity, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));

/* "ROLE: sentence"; equal sentences of several roles are one: "ps, worker: sentence". */
void note_role(struct notes *ns, const struct role *role, enum note_weight weight,
               enum severity severity, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Puts them into the order of their weights. */
void notes_sort(struct notes *ns);

/* notes_machine.c */
void note_machine(struct notes *ns, const struct plan *plan);
void note_image(struct notes *ns, const struct plan *plan, const struct role *role);

/* notes_missing.c */
void note_programs(struct notes *ns, const struct plan *plan);

/* notes_volumes.c */
void note_volumes(struct notes *ns, const struct plan *plan, const struct role *role);

/* Compares what the job asks for with what this machine has. The plan is complete but for notes. */
void notes_collect(struct notes *ns, const struct plan *plan);

#endif
