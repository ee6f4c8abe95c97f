/* limits.h - every limit of the project, in one place, so that an error can name it.
 *
 * Anything that grows with input (a buffer, a depth, a count, a queue) has its bound here. A bound
 * that is hit is always an error that says which limit it was and what its value is.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define LIMIT_FILE_BYTES (1024 * 1024)      /* a job file */
#define LIMIT_DEPTH 128                     /* nesting of a document */
#define LIMIT_NODES 100000                  /* nodes of a document, aliases expanded */
#define LIMIT_KEYS 4096                     /* keys of one mapping */
#define LIMIT_ENV 4096                      /* environment variables of a container */
#define LIMIT_VOLUMES 256                   /* volumes of a pod; mounts of a container; items */
#define LIMIT_INIT 64                       /* init containers of a pod */
#define LIMIT_CONTAINERS 64                 /* of a pod that are compared with each other */
#define LIMIT_CONTAINER_PORTS 256           /* of a pod, or a role, likewise */
#define LIMIT_ANCHORS 1024                  /* anchors in one document */
#define LIMIT_DOCUMENTS 64                  /* documents in one file */
#define LIMIT_SETS 64                       /* --set options: each copies the document */
#define LIMIT_SET_STEPS 64                  /* keys and indexes of one of them */
#define LIMIT_MAPS 64                       /* --map options */
#define LIMIT_DIAGS 200                     /* problems reported per file; the rest is counted */
#define LIMIT_REPLICAS 8192                 /* replicas of a job, all roles together */
#define LIMIT_PROCESSES 65536               /* processes of a job, ranks included */
#define LIMIT_SLOTS 4096                    /* processes of one replica */
#define LIMIT_NAME 63                       /* a DNS label: job, role and host names */
#define LIMIT_PREREQUISITES 256             /* of an OpenPAI job; plugins likewise */
#define LIMIT_COMMANDS_BYTES (8 << 20)      /* texts rendered for one job, all roles */
#define LIMIT_PORTS 65536                   /* port numbers of one job */
#define LIMIT_FRAME_BYTES (8 * 1024 * 1024) /* one message between muster and its shim */
#define LIMIT_LINK_QUEUE_BYTES (16 * 1024 * 1024) /* not yet read by muster; then agents wait */
#define LIMIT_PACKET_BYTES (256 * 1024)           /* one message of an agent or a rank wrapper */
#define LIMIT_LAUNCHES 65536                      /* calls of mpirun told apart in one job */
#define LIMIT_LAUNCH_ID 255                       /* bytes of what tells them apart */
#define LIMIT_AGENT_CLIENTS 16384    /* connections of agents and rank wrappers to one shim */
#define LIMIT_DESCRIPTORS_AHEAD 4000 /* what the shim makes room for at its start */
#define LIMIT_KILL_WAIT_MS 5000      /* after SIGKILL: how long an end may take to be seen */
#define LIMIT_SWEEPS 1000            /* looks at all processes until none of a run is found */
#define LIMIT_ANCESTORS 256          /* parents of a process that are looked at */
#define LIMIT_NETWORK_REPLICAS 1023  /* level `network`: ports of the kernel's bridge */
#define LIMIT_NEIGHBOURS 256         /* up to so many of them know each other from the start */
#define LIMIT_LINE_BYTES (64 * 1024) /* a live line; longer ones are shown in pieces */
#define LIMIT_LIVE_BYTES                                                                           \
    (1024 * 1024)                /* live output waiting for a slow terminal; logs wait on disk */
#define LIMIT_CONTROL_CLIENTS 64 /* connections to a run's control socket at once */
#define LIMIT_CONTROL_ANSWER                                                                       \
    (64 * 1024 * 1024)                        /* one answer of it; a request: LIMIT_PACKET_BYTES */
#define LIMIT_REPORT_BYTES (64 * 1024 * 1024) /* a report or journal that is read back */
#define LIMIT_TAIL_LINES 20                   /* lines of a log in a verdict */
#define LIMIT_TAIL_BYTES (16 * 1024)          /* bytes read back for those lines */
#define LIMIT_OTHER_LOGS 1024                 /* logs looked into for who began it */
#define LIMIT_TREE_DEPTH 256      /* directories within each other when removing a tree */
#define LIMIT_RUNS_KEPT 50        /* run directories kept */
#define LIMIT_LOOK_PROCESSES 1024 /* of a job that hangs, in its report; threads, sockets of each */
#define LIMIT_LOOK_THREADS 64
#define LIMIT_LOOK_SOCKETS 128
#define LIMIT_STACK_BYTES (256 * 1024) /* what a debugger may say of one process */
#define LIMIT_STACK_MS 5000            /* how long it may take for one process */
#define LIMIT_STACKS_MS 10000          /* and for all of them: the job is stopped only then */
#define LIMIT_PY_FRAMES 64             /* of a Python thread; of a text, characters */
#define LIMIT_PY_TEXT 1024
#define LIMIT_PY_LINES (64 * 1024)      /* bytes of a function's table of lines */
#define LIMIT_PY_MAPS (4 * 1024 * 1024) /* what a process has mapped, as text */
#define LIMIT_PY_SOURCE (1024 * 1024)   /* a script that is looked into for a line */
#define LIMIT_HANG_PLACES 4             /* where ranks are, in the verdict; the rest is counted */
#define LIMIT_HANG_EDGES 3              /* who waits for whom in the verdict; the rest is counted */
#define LIMIT_RESTARTS 3   /* of each process, where a file asks for restarts and names no number */
#define LIMIT_ATTEMPTS 100 /* attempts of a job that are kept; then the first and the last */
#define LIMIT_ERR_TEXT 1024 /* text of a struct err */

#define LIMIT_SYNTAX_FAULTS 20          /* faults told of one JSON text; then it is left */
#define LIMIT_SECRET_BYTES (127 * 1024) /* a value of a Secret or ConfigMap: exec takes no more */
#define LIMIT_SECRET_KEYS 4096          /* of one Secret or ConfigMap */
#define LIMIT_VOLUME_FILE_BYTES (1024 * 1024) /* a key of one of them that becomes a file */
#define LIMIT_VOLUME_BYTES (4 * 1024 * 1024)  /* all files of a job's volumes */
#define LIMIT_MOUNTS 4096                     /* mounts of a job's roles and init commands */
#define LIMIT_COVER_ENTRIES 1024              /* of a directory that gets a stand-in */
#define LIMIT_VOLUME_OPTIONS 256              /* --volume */

#endif
