/* code.h - what is sent into every pod: the files below a directory of this machine, with their
 * modes and links.
 *
 * Files that .amlignore or .gitignore at its top names are left out (ignore.h), and so is .git.
 * Sockets, pipes and devices are, too. What a link leads to is not sent in its place.
 */
#ifndef ENGINE_KUBERNETES_CODE_H
#define ENGINE_KUBERNETES_CODE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

struct code_entry {
    const char *from; /* here: absolute */
    const char *to;   /* below the run directory of a pod: "code/train.py" */
    mode_t mode;
    int64_t size;       /* of a file */
    const char *target; /* of a link */
    const char *data;   /* the content, of size bytes (code_map.h); NULL: it is in the file */
};

struct code_list {
    struct arena *a;
    struct code_entry *v; /* heap; a directory comes before what is in it */
    size_t n, cap;
    int64_t bytes; /* of all files */
    size_t left_out, leads_out;
    const char *left_out_by, *first_out; /* ".gitignore"; the first link that leads out */
};

/* Adds a directory, or a file, of this machine as `to`. -E2BIG: all together are more than
 * LIMIT_CODE_BYTES or LIMIT_CODE_FILES; e names the largest entries. option: what the user can give
 * instead, for that message. */
int code_add(struct code_list *list, const char *from, const char *to, const char *option,
             struct err *e);
void code_release(struct code_list *list);

#endif
