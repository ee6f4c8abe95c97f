/* code.h - the files below a directory of this machine, with their modes and links: what is sent
 * into every pod, or copied for a job (snapshot.h).
 *
 * Files that .amlignore or .gitignore at its top names are left out (ignore.h), and so is .git.
 * Sockets, pipes and devices are, too. What a link leads to is not sent in its place.
 */
#ifndef ENGINE_CODE_H
#define ENGINE_CODE_H

#include <stdbool.h>
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
    bool leads_out;     /* the link does, out of the directory */
    bool is_left_out;   /* only with list->names_left_out */
    const char *data;   /* the content, of size bytes (code_map.h); NULL: it is in the file */
};

struct code_list {
    struct arena *a;
    struct code_entry *v; /* heap; a directory comes before what is in it */
    size_t n, cap;
    int64_t bytes;       /* of all files */
    bool names_left_out; /* set by the caller: what is left out has entries, too */
    const char *place;   /* likewise: who has this much room; NULL: pods */
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
