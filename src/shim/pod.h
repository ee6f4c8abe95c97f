/* pod.h - the supervisor as the first process of a container.
 *
 * The pod is the replica: there are no namespaces to make, and the container's environment and
 * working directory are what the replica's processes get. muster is elsewhere. Whoever may run
 * commands in the container reaches the supervisor by `muster-shim connect`, which copies its own
 * stdin and stdout to and from RUN_DIR/scratch/master.sock; SETUP comes that way, too. The
 * connection may be lost at any time, and another one goes on with ATTACH.
 *
 * Not here: the logs that are sent (feed.h).
 */
#ifndef SHIM_POD_H
#define SHIM_POD_H

#include "shim/feed.h"
#include "shim/shim.h"

struct elsewhere;

struct pod {
    const char *run_dir;
    const char *home; /* the container's working directory */
    int stdout_fd;    /* what the container's log is made of */
    int timer_fd;
    int peers_fd;            /* where the other pods connect; 0: nobody has the key */
    bool ending;             /* SIGTERM was sent to everything */
    bool unread;             /* SETUP_UNREAD */
    uint32_t failed_process; /* the last main process that failed, */
    int failed;              /* … with this exit status; 0: none has */
    struct feed feed;
    struct elsewhere *elsewhere; /* mpiruns with ranks in other pods; elsewhere.c */
    int file_fd;                 /* of the last WIRE_FILE, which MORE adds to; -1: none */
    char *file_path;
    int file_error;  /* -errno of the first file that could not be written; 0: none */
    char *file_what; /* its path */
};

/* Makes the directories and listens for muster. 0 or -errno; says on stderr what is wrong. */
int pod_begin(struct shim *s);

/* What a process gets that the container knows: its directory if cwd is "", its variables below
 * those of env. Replaces *env; its strings stay where they are. */
void pod_adapt(struct shim *s, const char **cwd, const char ***env);

/* Expands $(NAME) and $$ of each word; one that the environment does not have stays. The words are
 * good until the next call. */
void pod_expand(const char **argv, const char *const *env);

/* Output of a process, for whoever reads the container's log. Nothing waits for that. No pod: does
 * nothing. */
void pod_show(struct shim *s, const char *data, size_t n);

/* A main process has ended. No pod: does nothing. */
void pod_note_end(struct shim *s, uint32_t process, int status);
/* What the container's status is to say of its replica, after END. */
int pod_exit_code(const struct shim *s);

/* SIGTERM, because somebody deletes the pod: every process gets it, and when all have ended the
 * supervisor ends, too; pod_look() looks whether they have. */
void pod_terminate(struct shim *s);
void pod_look(struct shim *s);

/* pod_files.c */
int pod_file(struct shim *s, struct wire_reader *r);      /* WIRE_FILE */
int pod_more(struct shim *s, struct wire_reader *r);      /* WIRE_MORE */
int pod_files_end(struct shim *s, struct wire_reader *r); /* WIRE_FILES_END */
int pod_clock(struct shim *s, struct wire_reader *r);     /* WIRE_CLOCK */

#endif
