/* snapshot.h - the processes of a running job as /proc shows them, seen from outside.
 *
 * All of them are below the shim: what loses its parent becomes its child, at every level of
 * isolation. Nothing is stopped by looking (but for stacks, see stack.h), and what ends meanwhile
 * is simply not there.
 *
 *     snapshot.c     who they are, what they have read and written, what their threads wait in
 *     traffic.c  what their connections have carried
 *     sockets.c  their connections, and who is at the other end
 */
#ifndef INSPECT_SNAPSHOT_H
#define INSPECT_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/proc_net.h"
#include "base/strbuf.h"
#include "plan/plan.h"
#include "inspect/python.h"

struct snapshot_socket {
    int fd;
    bool tcp;                     /* else a unix socket */
    unsigned state;               /* tcp: SOCKET_*; else 0 */
    const char *local, *far;      /* "127.1.0.2:2222"; unix: a path or "", and NULL */
    unsigned long unread, unsent; /* bytes; tcp */
    int32_t owner;                /* the process at the other end, -1 = not known */
    bool accepted;                /* by it; else it only listens there */
};

/* What a thread does instead of a system call's number. */
enum { CALL_RUNNING = -1, CALL_UNKNOWN = -2 };

struct snapshot_thread {
    pid_t tid;
    const char *name, *wchan; /* wchan "" = not known */
    char state;               /* R, S, D, … */
    long call;                /* the system call it is in, or CALL_* */
    unsigned long first;      /* its first argument */
};

/* Where the script of a Python process is. */
struct snapshot_place {
    const char *file, *function; /* without its directory; NULL = not known */
    int line;                    /* 0 = not known */
    const char *source;          /* what is written there; NULL = not known */
};

struct snapshot_process {
    pid_t pid, parent; /* as seen from here */
    pid_t inner;       /* as the job sees it */
    bool ours;         /* Muster's own: an agent, a wrapper of a rank */
    bool of_torchrun;  /* started by it, which itself is no rank whatever its environment says */
    int32_t replica;   /* -1 = cannot be told */
    int32_t rank;      /* -1 = none */
    uint64_t bytes;    /* read and written since it began, and carried by its connections */
    uint64_t runs;     /* how often its main thread has stopped running */
    uint64_t cpu_ms;   /* all threads */

    /* snapshot_closer() */
    const char *command;             /* "" = gone */
    int stop_signal;                 /* that stopped it; 0 = none, or not known */
    struct snapshot_thread *threads; /* the first is its main one */
    size_t n_threads, more_threads;
    struct snapshot_socket *sockets;
    size_t n_sockets, more_sockets;

    /* whoever asks for stacks */
    const char *stack;       /* a debugger's; NULL = not asked for */
    struct py_stack *python; /* NULL = it is no Python, or: */
    const char *no_python;   /* why its stack is not known */
    struct snapshot_place place;
    const char *inside; /* the library it waits in: "gloo", "MPI_Recv"; NULL = not known */
};

struct snapshot {
    struct snapshot_process *v;
    size_t n;
};

/* Everything below the process root: who it is and its bytes. */
void snapshot_at(struct arena *a, const struct plan *plan, pid_t root, struct snapshot *ret);

/* The rest, of at most LIMIT_SNAPSHOT_PROCESSES of them. */
void snapshot_closer(struct arena *a, struct snapshot *lk);

/* The rank that an environment (base/procs.h) is for; -1: none. */
int32_t snapshot_rank_in(const struct strbuf *env);

/* Has a signal stopped it (SIGSTOP, a terminal's)? */
bool snapshot_is_stopped(const struct snapshot_process *p);

/* sockets.c; a part of snapshot_closer(). */
void snapshot_sockets(struct arena *a, struct snapshot *lk);
const char *socket_state_name(unsigned state);

/* "recvfrom", "call 41", "running": what a thread is in. */
const char *snapshot_call_name(struct arena *a, long call);

/* How a thread that waits in that call does it. */
enum wait_kind { WAIT_NOT, WAIT_READ, WAIT_CONNECT, WAIT_ACCEPT, WAIT_ANY };
enum wait_kind snapshot_wait_kind(long call);
bool snapshot_is_join(long call); /* it waits for another thread of its own */

#endif
