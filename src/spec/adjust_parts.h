/* adjust_parts.h - the parts of an adjustment. Internal to spec/. */
#ifndef SPEC_ADJUST_PARTS_H
#define SPEC_ADJUST_PARTS_H

#include "base/shellwords.h"
#include "spec/adjust.h"

struct adjuster {
    struct arena *a;
    const struct adjustments *adj;
    const struct job_spec *before;
    struct job_spec *spec; /* the copy */
    struct role *roles;    /* its roles */
    struct mpi_spec *mpi;  /* its copy, or NULL */
    struct changes changes;
};

/* One sentence, without a full stop. */
void change_add(struct adjuster *x, enum severity severity, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The role of that name, or NULL; *ret_near is then the name that may be meant, or NULL. */
struct role *role_named(struct adjuster *x, const char *name, const char **ret_near);

/* The same for an option that needs a role: NULL with e set. */
struct role *role_wanted(struct adjuster *x, const char *option, const char *name, struct err *e);

/* --- words (adjust_words.c) ---------------------------------------------------------------------
 */

/* Looks at the words of a command and puts the new text of those it changes into with[]. */
struct word_edit {
    void (*edit)(void *ctx, const struct shell_word *words, size_t n, const char **with);
    void *ctx;
    bool targets; /* files of redirections too */
};

/* The text with the edit's words in it (the same pointer if there is none). NULL gives NULL. */
const char *edit_shell(struct arena *a, const char *text, const struct word_edit *edit);

/* The same for an argument list. What `sh -c` is given is a shell's text. */
const char *const *edit_argv(struct arena *a, const char *const *argv,
                             const struct word_edit *edit);

/* The same for whichever of the two a role has. */
void edit_command(struct arena *a, struct role *role, const struct word_edit *edit);

/* --map (adjust_map.c) */
int adjust_map(struct adjuster *x, struct err *e);

/* --image (adjust_image.c) */
int adjust_image(struct adjuster *x, struct err *e);

/* --- numbers (adjust_counts.c) ------------------------------------------------------------------
 */

/* Replicas of a role, and processes in each of them. */
struct count {
    int32_t replicas, width;
};

/* --scale, --nproc and --fit, and what follows from them in commands. */
int adjust_counts(struct adjuster *x, struct err *e);

/* Numbers of processes that were found in a role's command. */
struct seen_numbers {
    int64_t v[16];
    size_t n;
};

/* Warns of numbers above the target that are in the role's command and were not found as such
 * (adjust_unseen.c). Returns how many. */
size_t adjust_unseen(struct adjuster *x, const struct role *role, int64_t target,
                     const struct seen_numbers *seen);

/* The largest counts not above `from` with at most `target` processes, in the proportions of `from`
 * (adjust_fit.c). Several replicas stay at least two; so do several processes, if that is possible.
 * A role whose from.replicas is 0 is not counted. */
void fit_counts(const struct count *from, size_t n, int64_t target, struct count *ret);
int64_t fit_total(const struct count *v, size_t n);

#endif
