/* wire.h - what muster and its shim say to each other, and what agents and rank wrappers say to it.
 *
 * muster <-> shim: a stream socketpair (fd WIRE_FD in the shim), frames of
 *     uint32 length of the body · uint16 type · uint16 zero · body
 * in the machine's byte order (both ends are the same machine and the same release; the version in
 * the first message says so). Bodies are sequences of fields written and read by the functions
 * below, in the order the comment at each type gives. A reader that runs out of bytes or finds some
 * left over has found a broken peer: wire_done() tells.
 *
 * agent / rank wrapper -> shim: the same bodies, one per packet of a SOCK_SEQPACKET socket
 * (SCRATCH/agent.sock), descriptors beside them by SCM_RIGHTS.
 *
 * Not here: sockets and loops. This file is pure packing and unpacking and is linked by both ends.
 */
#ifndef SHIM_WIRE_H
#define SHIM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define WIRE_VERSION 11
/* The shim's end of the socketpair. The shim is started as `supervise LEVEL`, for `names` and
 * `network` as the first process of a pid namespace with a mount (and network) namespace of its
 * own; as an ordinary user inside a user namespace with an identity map, and with SYS_ADMIN,
 * SYS_CHROOT and SYS_PTRACE (and NET_ADMIN) there inheritable and ambient (else exec takes them
 * away). Its processes get none of them. As `probe LEVEL` it tries whether that level can be had,
 * writes why not to this descriptor (nothing if it can), and ends; as `probe LEVEL overlay` a layer
 * over the machine, too. */
#define WIRE_FD 3
#define WIRE_PROBE_LACKS                                                                           \
    3 /* a probe's exit status: not forbidden, but descriptors or memory ran out */
#define WIRE_AGENT_SOCKET "agent.sock"
#define WIRE_MASTER_SOCKET "master.sock" /* of a shim that waits for its master */
/* In a pod, among the variables of a process: what its PATH begins with. Not handed on. */
#define WIRE_PATH_FIRST "MUSTER_PATH_FIRST"

/* Whom the kernel has killed because a group's memory was used up: 0 = nobody, else itself, or a
 * process in the replica whose number is added. */
enum { OOM_ITSELF = 1, OOM_IN = 2 };
#define OOM_NEARBY UINT32_MAX /* by SIGKILL, while the kernel killed somebody for want of memory */

enum wire_type {
    /* muster -> shim */
    WIRE_SETUP = 1, /* u32 version, u32 flags (SETUP_*), u32 attempt, i64 clock_run_base(),
                       str run_id, str run_dir, str scratch_dir, str hosts_file_text, u32 n, then
                       per replica: str name, str host, str address, i64 cpu_milli, i64 memory, i64
                       shm (bytes; -1 = not limited), u32 its first table of mounts, u32 how many it
                       has; then the layer (OVERLAY_ON), the tables and the files (see MOUNT_FRESH).
                       Answered by READY or REFUSED. */
    WIRE_SPAWN,  /* u32 process, u32 instance (from 1), u32 replica, u32 flags (SPAWN_*), str cwd,
                       str log, strs argv, strs env, with SPAWN_SCRIPT: str script, with
                       SPAWN_INIT: u32 table of mounts (of the replica's; 0: it has none of its
                       own). Empty argv: the replica only waits; it counts as started when its
                       namespaces are up. env is also what the agent gives commands in the replica
                       (the replica's first SPAWN decides). log: name below RUN_DIR/logs, "" for a
                       waiting replica. Answered by STARTED or SPAWN_FAILED. A shim that waits for
                       its master answers one that it knows already with what it knows of it. */
    WIRE_SIGNAL, /* u32 scope (SCOPE_*), u32 id, u32 signal: to the process group of each main
                       process (USR1 and USR2: to the process alone, its children may not know
                       them), and to each live rank, of the scope */
    WIRE_STOP,   /* u32 scope, u32 id: SIGKILL for everything inside, main processes, what they
                       left, agents' commands. A waiting replica is EXITED with status 0. */
    WIRE_END,    /* no body: kill what is left, drain, clean up, answer BYE, exit 0 */
    WIRE_HOLD,   /* no body: every replica that was there takes agents' commands again, although its
                       processes have ended */
    WIRE_ATTACH, /* u32 version: the first and only frame of whoever connects to
                       WIRE_MASTER_SOCKET. Answered by READY and all reports that are still true, in
                       their order, or by REFUSED; the connection is then the shim's stream. In a
                       pod the reports follow what logs hold (FOLLOW), and TOLD follows them; READY
                       of one that is not set up has attempt 0. */
    WIRE_FILE,   /* in a pod: u32 mode (S_IFLNK: a symbolic link, S_IFDIR: a directory), str path
                       below the run directory, bytes: its content, or where the link points to. An
                       existing file is replaced; directories on the way are made, links on the way
                       are not followed. A link in scratch/bin that stands in for an mpirun is made
                       only if PATH has that mpirun. */
    WIRE_FOLLOW, /* in a pod: u32 n, then per log str name, i64 offset: from now on what logs hold
                       is sent as OUTPUT, from these offsets; others from their beginning */
    WIRE_MORE,   /* in a pod: bytes, appended to the file of the last FILE */
    WIRE_FILES_END, /* in a pod: no body. Answered by FILES. */
    WIRE_TRY,       /* u32 id, u32 replica, str address, u32 port, bytes token (WIRE_TOKEN of
                       them): the replica calls this address and port, or for "" listens at its own
                       (trial.h). At most one of each in a replica. Answered by TRIED. */
    WIRE_TRY_END,   /* no body: those that listen end */
    WIRE_CLOCK,     /* in a pod: i64 clock_run() of muster now, before anything is spawned */

    /* shim -> muster */
    WIRE_READY =
        64, /* u32 version, u32 attempt, strs cgroup_dirs (made by the shim, removed by it; muster
                          removes what is left of them if the shim is killed) */
    WIRE_REFUSED, /* i32 -errno, str what: set-up is impossible; the shim exits */
    WIRE_NOTE,    /* str text: something a person should know (a limit that could not be set) */
    WIRE_STARTED, /* u32 process, u32 instance, u32 pid (as the shim sees it), i64 at (real ns) */
    WIRE_SPAWN_FAILED, /* u32 process, u32 instance, i32 -errno, str what ("exec", "chdir /x",
                          "open log"), i64 at */
    WIRE_EXITED,       /* u32 process, u32 instance, u32 wait_status, i64 at, i64 max_rss (bytes),
                          u32 oom (OOM_*), i64 memory_limit, i64 memory_peak (bytes, -1 = unknown),
                          str whose memory (group.h), i64 size of /dev/shm (0 = unknown), i64 free
                          in it, str an mpirun that is still running (SPAWN_LAUNCHER; "" = none),
                          u32 whether some mpirun had ranks without a wrapper, u32 whether it
                          failed and no signal of muster's can be why. Sent after all its output
                          up to then is in the log. */
    WIRE_RANK_STARTED, /* u32 replica, launch (see LAUNCH below), u32 rank, u32 size,
                          u32 pid, u32 forwarded (0/1: mpirun shows the output too), i64 at,
                          str log (name below RUN_DIR/logs), i64 when its mpirun was started (0 =
                          unknown), i64 what that runs (program.h; 0 = unknown) */
    WIRE_RANK_EXITED,  /* u32 replica, launch, u32 rank, u32 known (0: its wrapper was killed
                          before it could tell), u32 wait_status, i64 at, i64 max_rss, u32 oom,
                          i64 memory_limit, i64 memory_peak, str whose memory, i64 size of /dev/shm,
                          i64 free in it, i64 told: when its launcher signalled it to end, 0 = it
                          did not before the end, i32 0 or -errno: it could not be executed, str
                          what could not ("": it could) */
    WIRE_BYE,          /* no body */
    WIRE_OPENED,       /* u32 replica, i64 at: the answer to SPAWN_OPEN */
    WIRE_HEARD,        /* no body: the answer to STOP of everything */
    WIRE_UNLOGGED, /* str log, i32 -errno, u32 stderr (0/1), i64 bytes more that are missing from
                          the log, bytes: as much of them as there was room for, at the end of what
                          the log holds */
    WIRE_LAUNCH_BLAMED, /* launch, u32 why (LAUNCH_*), u32 replica, u32 known, u32 wait_status,
                          i64 at: what makes an mpirun end its ranks */
    WIRE_LAUNCH_OVER,   /* launch, i64 at: its mpirun has ended, or all of its ranks have and
                          its mpirun could not be found; u32 known, u32 wait_status, i64 started,
                          i64 program, u32 whether it may have had ranks without a wrapper: known
                          if it failed and no rank of it was seen */
    WIRE_OUTPUT, /* str log ("": RUN_DIR/marks), i64 offset, bytes: what it holds from there on.
                          Sent before the EXITED or RANK_EXITED of whoever wrote it. */
    WIRE_FILES,  /* i32 0 or -errno, str path: the first file since the last FILES_END that could
                          not be written */
    WIRE_TOLD,   /* in a pod: no body. All that was true at ATTACH is told. */
    WIRE_TRIED,  /* u32 id, i32 0 or -errno, u32 port (of one that listens; 0: it called), i64
                          latency, i64 bytes that arrived, i64 how long that took (ns). Not
                          repeated to another master. */

    /* agent, rank wrapper -> shim (and answers), on the agent socket */
    WIRE_AGENT_RUN = 128, /* str host, str shell_command, u32 forward (0/1), str origin of the
                             mpirun that asks ("" = none); fds 0, 1, 2.
                             Answered by AGENT_RAN or AGENT_NO_HOST, later AGENT_EXITED. */
    WIRE_AGENT_RAN,       /* no body */
    WIRE_AGENT_NO_HOST,   /* no body: the host is no replica of this run */
    WIRE_AGENT_EXITED,    /* u32 wait_status */
    WIRE_RANK_HELLO,      /* u32 rank, u32 size, u32 forwarded, u32 pid of its daemon, str launch
                             id, str origin, i64 program,
                             before the rank is started; answered by RANK_WELCOME, or the connection
                             is closed: this rank is none of the run's */
    WIRE_RANK_WELCOME,  /* strs env: what the rank gets from its replica, str log, i32 0 or -errno:
                             the log could not be opened, i64 clock_run_base(); fds: the log, the
                             marks if there are any */
    WIRE_RANK_RUNS,     /* u32 pid of the rank; one fd: its pidfd */
    WIRE_RANK_EXIT,     /* u32 wait_status, i64 at, i64 max_rss, i64 told, i32 0 or -errno of exec,
                             str what could not be executed; answered by RANK_ACK */
    WIRE_RANK_ACK,      /* no body: it is on its way to muster before anything that follows */
    WIRE_OUTPUT_ASK,    /* i64 inode of a pipe: does a main process of the run write there?
                             Answered by OUTPUT_IS. */
    WIRE_OUTPUT_IS,     /* u32 (0/1) */
    WIRE_RANK_UNLOGGED, /* i32 -errno, u32 stderr (0/1), i64 bytes more that are missing from the
                             rank's log, bytes: those of them that are to be shown */
    WIRE_RANK_TOLD,     /* i64 at: its launcher has signalled the rank to end */
    WIRE_MPIRUN_SIGNAL, /* u32 signal, i64 at: an mpirun has received it */
    WIRE_MPIRUN_HELLO,  /* i64 program, u32 whether its ranks have wrappers, i64 at: an mpirun is
                             being started. Its stand-in stays connected until it has ended. */
    WIRE_MPIRUN_END,    /* u32 wait_status, i64 at: of that mpirun; answered by RANK_ACK. Without it
                             the stand-in was killed, and mpirun with it. */
    WIRE_PEER_DATA,     /* between pods (peer.h): u32 stream (0 to 2), bytes; none: its end */

    /* recorder of a rank -> recorder of its launcher (records.h); each but TOLD is answered by
     * RANK_ACK */
    WIRE_RECORD_RANK, /* u32 rank, u32 size, str launch id, str host, i64 program */
    WIRE_RECORD_TOLD, /* no body: its launcher has signalled the rank to end */
    WIRE_RECORD_END,  /* u32 wait_status, u32 told (0/1), u32 out of memory (0/1), i32 0 or -errno
                         of exec */
};

#define WIRE_TOKEN 16 /* bytes of a token in TRY */

/* LAUNCH in a report: u32 number (1, 2, … one per mpirun that this shim has seen ranks of; 0: its
 * ranks are in other pods), str origin: HOST/PID/START of the mpirun ("" = not found), str id: what
 * tells apart the worlds of ranks that one mpirun starts. Several shims know a launch by its origin
 * and its id. */

/* What made an mpirun end its ranks: the end of its daemon on a replica, by itself or because the
 * rsh agent that kept it had been killed; a signal for mpirun itself. */
enum { LAUNCH_DAEMON, LAUNCH_AGENT, LAUNCH_SIGNAL };

enum {
    SETUP_WAITS = 1,  /* it goes on without its master, and waits for another */
    SETUP_UNREAD = 2, /* in a pod: nobody follows its logs. None is sent, ranks write to their
                         mpirun, so that the container's log shows them, and after END the shim's
                         exit status is that of its replica. */
};

enum {
    SPAWN_STDIN = 1, /* the process reads the shim's own stdin; else /dev/null */
    SPAWN_OPEN = 2,  /* only the replica is made, for the process to come; argv is not looked at.
                         Answered by OPENED or SPAWN_FAILED. Agents' commands run in it from now. */
    SPAWN_STAY =
        16, /* the replica only waits, and the command runs beside: if it ends with 0 before
                         a SIGTERM for all was sent, the replica waits on and nothing is EXITED */
    SPAWN_SCRIPT = 4,  /* the last word of argv is WIRE_SCRIPT_PATH: there it reads the script, text
                         that nobody else may see in a list of processes */
    SPAWN_INIT = 8,    /* runs before the replica's own processes and is none of them: it sees the
                         replica's mounts and those of a table of its own, and what the agent gives
                         commands is not decided by it */
    SPAWN_EXPAND = 64, /* in a pod: $(NAME) in argv is expanded as a kubelet does it, with what the
                         process finds in its environment */
    SPAWN_LAUNCHER = 32, /* it starts ranks by an mpirun: EXITED reports what it leaves of that */
};

/* The layer in SETUP: u32 flags (OVERLAY_*), str the directory it is kept in, strs paths that it
 * does not cover. */
enum { OVERLAY_ON = 1, OVERLAY_KEEP = 2 };

/* The mounts in SETUP: strs kept (paths that stay visible whatever is mounted above them), u32 n,
 * then per table u32 n, then per mount u32 kind, u32 flags,
 * str volume, str from, str sub_path ("" = none), i64 size, str path, str parent; after them the
 * files: u32 n, then per set u32 n, then per file str path, u32 mode, bytes. A replica's first
 * table is its processes' own, the others are those of its init commands in order. Mounts are made
 * in their order. Level `none` only has the directories made. */
enum {
    MOUNT_FRESH,  /* a directory of the replica's own, empty at first, by the volume's name */
    MOUNT_SHARED, /* the same for the whole job */
    MOUNT_HOST,   /* what is at `from` */
    MOUNT_FILES,  /* the set of files number `size` */
};
enum {
    MOUNT_READ_ONLY = 1,
    MOUNT_MEMORY = 2,   /* FRESH: in memory, of `size` bytes at most (-1: as the kernel likes) */
    MOUNT_MAKE_SUB = 4, /* sub_path is made if it is not there */
    MOUNT_MAKE = 8,     /* so is path: it is inside a volume that begins empty */
    /* cover not "": path is not there. The directory `cover` is, and gets a stand-in with all it
     * holds and what of path is missing, that nothing can be written into. */
};
#define WIRE_SCRIPT_FD 9 /* one digit: dash knows no others */
#define WIRE_SCRIPT_PATH "/dev/fd/9"
/* What a script begins with, on its first line, so that no program of the job inherits it. */
#define WIRE_SCRIPT_BEGIN "exec 9<&-; "

enum { SCOPE_ALL, SCOPE_REPLICA, SCOPE_PROCESS }; /* id: 0, replica, process */

/* --- writing ---------------------------------------------------------------------------------- */

/* Starts a frame in sb (appending); close it with wire_frame_end(), which fills in the length. */
size_t wire_frame_begin(struct strbuf *sb, enum wire_type type);
void wire_frame_end(struct strbuf *sb, size_t begin);

void wire_put_u32(struct strbuf *sb, uint32_t v);
void wire_put_i64(struct strbuf *sb, int64_t v);
void wire_put_str(struct strbuf *sb, const char *s);         /* with its NUL */
void wire_put_strs(struct strbuf *sb, const char *const *v); /* NULL-terminated; NULL = none */
void wire_put_bytes(struct strbuf *sb, const void *p, size_t n);

/* --- reading ---------------------------------------------------------------------------------- */

struct wire_reader {
    const char *p, *end;
    bool broken;
};

#define WIRE_HEADER 8
/* Looks at the front of buf. 0 = not complete yet; -EPROTO = not a frame of ours or beyond
 * LIMIT_FRAME_BYTES; else the whole frame's length, with *ret_type and a reader on its body. */
long wire_frame_next(const char *buf, size_t n, enum wire_type *ret_type, struct wire_reader *ret);

uint32_t wire_get_u32(struct wire_reader *r); /* 0 if broken */
int64_t wire_get_i64(struct wire_reader *r);
const char *wire_get_str(struct wire_reader *r); /* points into the buffer; "" if broken */
/* A heap array (caller frees the array only) of pointers into the buffer, NULL-terminated. */
const char **wire_get_strs(struct wire_reader *r);
const void *wire_get_bytes(struct wire_reader *r, size_t *ret_n); /* points into the buffer */
bool wire_done(const struct wire_reader *r); /* nothing broken, nothing left over */

#endif
