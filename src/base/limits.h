/* limits.h - every limit of the project.
 *
 * Everything that grows with input (buffers, depths, counts, queues) has a limit here. Exceeding it
 * is an error that names the limit and its value.
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
#define LIMIT_CONTAINERS 64                 /* of a pod that are checked for duplicates */
#define LIMIT_CONTAINER_PORTS 256           /* of a pod, or a role, likewise */
#define LIMIT_ANCHORS 1024                  /* anchors in one document */
#define LIMIT_DOCUMENTS 64                  /* documents in one file */
#define LIMIT_SETS 64                       /* --set options: each copies the document */
#define LIMIT_SET_STEPS 64                  /* keys and indexes of one of them */
#define LIMIT_MAPS 64                       /* --map options */
#define DEFAULT_GRACE_MS 10000              /* between SIGTERM and SIGKILL */
#define LIMIT_PREFACE 3                     /* warnings that run shows before the output */
#define LIMIT_DIAGS 200                     /* problems reported per file; the rest is counted */
#define LIMIT_REPLICAS 8192                 /* replicas of a job, all roles together */
#define LIMIT_PROCESSES_PER_CPU 500         /* of one job; more get a warning */
#define LIMIT_PROCESSES 65536               /* processes of a job, ranks included */
#define LIMIT_SLOTS 4096                    /* processes of one replica */
#define LIMIT_NAME 63                       /* a DNS label: job, role and host names */
#define LIMIT_PREREQUISITES 256             /* of an OpenPAI job; plugins likewise */
#define LIMIT_COMMANDS_BYTES (8 << 20)      /* texts rendered for one job, all roles */
#define LIMIT_PORTS 65536                   /* port numbers of one job */
#define LIMIT_FRAME_BYTES (8 * 1024 * 1024) /* one message between muster and its shim */
#define LIMIT_KUBE_ANSWER_BYTES (32 << 20)  /* one answer of a Kubernetes API server */
#define LIMIT_HTTP_HEAD_BYTES 8192          /* of an HTTP request: all but its body */
#define LIMIT_HTTP_BODY_BYTES (4 << 20) /* … to the webhook: an object and what it was before */
#define LIMIT_HTTP_BUFFER_BYTES (16 << 20) /* … of all requests that are not complete */
#define LIMIT_HTTP_CONNECTIONS 64          /* to one address of the operator at once */
#define LIMIT_HTTP_REQUEST_S 10            /* for a request to arrive */
#define LIMIT_HTTP_ANSWER_S 30             /* for its answer to be taken */
#define LIMIT_HTTP_STREAM_BYTES (1 << 20)  /* of a stream that are not read; then it is cut off */
#define LIMIT_HTTP_IDLE_S 120              /* between two requests of a connection */
#define LIMIT_API_CONNECTIONS 1024         /* to one address of the daemon at once */
#define LIMIT_API_BODY_BYTES (2 << 20)     /* of a request that has a body: a job file in JSON */
#define LIMIT_API_WORKERS 4              /* processes that read job files for the daemon at once */
#define LIMIT_API_WORK_MS 20000          /* for one of them to answer */
#define LIMIT_API_WORK_CPU_S 10          /* … of processor time */
#define LIMIT_API_WORK_BYTES (64 << 20)  /* … of its answer */
#define LIMIT_API_PAST 4096              /* jobs that have ended whose verdicts are remembered */
#define LIMIT_API_PAGE 1000              /* jobs in one answer */
#define LIMIT_API_STREAMS 64             /* at once */
#define LIMIT_WEB_FILE_BYTES (4 << 20)   /* a file of MUSTER_WEB_DIR */
#define LIMIT_API_EVENTS 20000           /* events in one answer */
#define LIMIT_LOG_SETTLE_MS 150          /* until lines of several logs are in order */
#define LIMIT_LOG_LINES 5000             /* lines of logs in one answer */
#define LIMIT_STREAM_LINES 2000          /* … a second in a stream */
#define LIMIT_API_USAGE_BYTES (16 << 20) /* of usage.jsonl */
#define LIMIT_PAI_LOG_BYTES (8 << 20)    /* of a log, for clients of OpenPAI: its end */
#define LIMIT_SESSIONS 64                /* of the page, keys included; then the oldest ends */
#define LIMIT_SESSION_S (12 * 3600)      /* for which a session lasts */
#define LIMIT_KEY_S 60                   /* for which a one-time key can be used */
#define LIMIT_METRIC_SERIES 4096         /* of a counter; the rest is counted together */
#define LIMIT_STARTS_SENT (64 * 1024)    /* of requests for starts that wait for the shim */
#define LIMIT_LINK_QUEUE_BYTES                                                                     \
    (16 * 1024 * 1024)                  /* not yet read by muster; beyond it agents wait */
#define LIMIT_PACKET_BYTES (256 * 1024) /* one message of an agent or a rank wrapper */
#define LIMIT_LIBRARIES 64              /* of a program that are looked at for an MPI */
#define LIMIT_LIBRARY_DEPTH 3           /* libraries of libraries */
#define LIMIT_LAUNCHES 65536            /* distinct calls of mpirun in one job */
#define LIMIT_LAUNCH_ID 255             /* bytes of the identifier of a launch */
#define LIMIT_AGENT_CLIENTS 16384       /* connections of agents and rank wrappers to one shim */
#define LIMIT_HOST_CONNECTIONS 1024     /* of a launcher to one worker of the operator */
#define LIMIT_RECORD_CLIENTS 65536      /* ranks that report to one launcher of the operator */
#define LIMIT_RECORD_LAUNCHES 8         /* calls of mpirun that its message tells of */
#define LIMIT_RECORD_FAILURES 4         /* failed ranks that it tells of, of each */
#define LIMIT_RECORD_BYTES 3072         /* of the message; a kubelet takes 4096 */
#define LIMIT_OWN_PROCESSES 1000        /* of a MusterJob: its state is an annotation of 256 KiB */
#define LIMIT_GROUP_RESOURCES 64        /* names in minResources of a PodGroup */
#define LIMIT_DESCRIPTORS_LEAST 56      /* minimum for a run; its shim needs about as many */
#define LIMIT_STACK_LEAST (48 * 1024)   /* bytes of stack that muster needs for itself */
#define LIMIT_DESCRIPTORS_AHEAD 4000    /* number that the shim reserves at its start */
#define LIMIT_KILL_WAIT_MS 5000         /* time after SIGKILL until the end is noticed */
#define LIMIT_SHIM_ANSWER_MS 3000       /* for urgent replies of the shim; less than KILL_WAIT */
#define LIMIT_SHIM_END_MS 600000 /* for the shim to end everything, including a large --overlay */
#define LIMIT_ANCESTORS 256      /* parents of a process that are checked */
#define LIMIT_NETWORK_REPLICAS 1023  /* level `network`: ports of the kernel's bridge */
#define LIMIT_NEIGHBOURS 256         /* replicas with neighbour entries from the start */
#define LIMIT_LINE_BYTES (64 * 1024) /* a live line; longer ones are shown in pieces */
#define LIMIT_LIVE_BYTES                                                                           \
    (1024 * 1024)                 /* live output waiting for a slow terminal; logs wait on disk */
#define LIMIT_DRAIN_MS 10000      /* for the last output of a job to be read; whole seconds */
#define LIMIT_LIVE_ROWS 16        /* progress bars drawn at the bottom of a terminal */
#define LIMIT_PREFIX_COLUMNS 40   /* to which prefixes are aligned on a terminal */
#define LIMIT_NOTES_WAITING 64    /* notes queued for an unread stderr */
#define LIMIT_GAPS_NAMED 4        /* incomplete logs in the verdict; the rest is counted */
#define LIMIT_MARKS (1024 * 1024) /* marks of logs read ahead of the logs themselves */
#define LIMIT_MARK_TIMES (16 * 1024 * 1024) /* the same with --timestamps */
#define LIMIT_UNLOGGED_BYTES                                                                       \
    (8 * 1024 * 1024)                  /* output that could not be logged, queued for display */
#define LIMIT_HOME_PATH 48             /* bytes of MUSTER_HOME; longer, and sockets are in /tmp */
#define LIMIT_DAEMON_CLIENTS 4096      /* connections to the daemon at once */
#define LIMIT_SUBMIT_BYTES (4 << 20)   /* a submission: command line, environment, job file */
#define LIMIT_DAEMON_BUFFER (64 << 20) /* requests to the daemon that are not complete */
#define LIMIT_SUBMIT_MS 30000          /* for a submission to be stored */
#define LIMIT_MATRIX 64                /* variables of one submission (--matrix) */
#define LIMIT_SUBMIT_COUNT 10000       /* jobs of one submission (--count) */
#define LIMIT_JOBS_WAITING 200000      /* jobs that wait in the daemon */
#define LIMIT_JOBS_OF_USER 50000       /* of those, where users share a machine's daemon */
#define LIMIT_USER_LINE (1 << 20)      /* bytes that a user's daemon sends about one job */
#define LIMIT_USER_DURATION_MS INT64_C(1000000000000) /* that a job may request: 30 years */
#define LIMIT_USER_UNREAD (16 << 20)                  /* bytes that it may leave unread */
#define LIMIT_USER_CLIENTS 32         /* connections of one user to the system daemon */
#define LIMIT_USER_REQUEST (64 << 10) /* bytes of one of its requests */
#define LIMIT_ALONE_MS 60000        /* a user's daemon without jobs ends if no system daemon runs */
#define LIMIT_USER_WHY_MS 200       /* between two messages of why its jobs wait */
#define LIMIT_USER_START_MS 15000   /* for a user's daemon to start and connect */
#define LIMIT_DAEMON_START_MS 10000 /* for a daemon that submit has started to respond */
#define LIMIT_COMMIT_WAIT_MS 10     /* for the commit of what was only reported */
#define LIMIT_STORE_RETRY_MS 1000   /* until a commit that failed is tried again */
#define LIMIT_CONTROL_CLIENTS 64    /* connections to a run's control socket at once */
#define LIMIT_CONTROL_ANSWER (64 * 1024 * 1024) /* one reply; a request: LIMIT_PACKET_BYTES */
#define LIMIT_PLAN_BYTES (4 * 1024 * 1024)      /* plan.json: beyond it, no more environments */
#define LIMIT_REPORT_BYTES (64 * 1024 * 1024)   /* a report or journal that is read back */
#define LIMIT_TRY_BYTES (4 << 20) /* --preflight: data that one replica sends to another */
#define LIMIT_TRY_MS 100          /* for how long it is sent */
#define LIMIT_TRY_S 5             /* how long a connection, or an answer, is waited for */
#define LIMIT_TRY_ALL 64          /* replicas of which every pair is tried */
#define LIMIT_TRY_TOLD 5          /* pairs that are named */
#define LIMIT_IMAGE_WAIT_S 60     /* an image that cannot be pulled is tried this long */
#define LIMIT_QUOTA_WAIT_S 60     /* a replica that replaces another one waits for its quota */
#define LIMIT_UNSEEN_S 10         /* without a connection a replica is out of sight */
#define LIMIT_REMOVAL_S 10        /* beyond its grace period, for a replica out of sight */
#define LIMIT_GROUP_TEXT 160      /* last bytes of a control group's path in a verdict */
#define LIMIT_DETACHED_S (7 * 24 * 3600) /* `run --detach` without a time: kept without a client */
#define LIMIT_KEEP_S (365 * 24 * 3600)   /* the longest time of `run --detach=D` */
#define LIMIT_INVALID_FRAMES 5 /* of a replica's supervisor, until the replica is given up */
#define LIMIT_COUNTERS_BYTES (64 * 1024) /* of a file of the kernel's counters */
#define LIMIT_TAIL_LINES 20              /* lines of a log in a verdict */
#define LIMIT_TAIL_BYTES (16 * 1024)     /* bytes read back for those lines */
#define LIMIT_OTHER_LOGS 1024            /* logs searched for the first failure */
#define LIMIT_TREE_DEPTH 256             /* directories within each other when removing a tree */
#define LIMIT_RUNS_KEPT 50 /* run directories without outputs that are kept by default */
#define LIMIT_RETIRE_AFTER_S (24 * 3600) /* a run of the daemon stays that long after its end */
#define LIMIT_OPERANDS 1000              /* names of list */
#define LIMIT_ARRAY_LINES 10             /* jobs of an array that a verb names one by one */
#define LIMIT_RUNS_SHOWN 20              /* newest runs in `list`; --all shows the rest */
#define LIMIT_OUTPUTS 64                 /* entries of a run directory that are named as outputs */
#define LIMIT_ASK_LIST_MS 1000           /* for a run to reply to `list` */
#define LIMIT_ASK_MS 3000                /* for other verbs */
#define LIMIT_COMMAND_BYTES (4 * 1024 * 1024) /* the recorded command line of a run */
#define LIMIT_SNAPSHOT_PROCESSES 1024 /* in a hang report; threads and sockets per process */
#define LIMIT_SNAPSHOT_THREADS 64
#define LIMIT_SNAPSHOT_SOCKETS 128
#define LIMIT_STACK_BYTES (256 * 1024) /* output of a debugger for one process */
#define LIMIT_STACK_MS 5000            /* time of a debugger for one process */
#define LIMIT_STACKS_MS 10000          /* for all processes, before the job is stopped */
#define LIMIT_PY_FRAMES 64 /* frames of a Python thread; below: characters of a string */
#define LIMIT_PY_TEXT 1024
#define LIMIT_PY_LINES (64 * 1024)       /* bytes of a function's line table */
#define LIMIT_PY_MAPS (4 * 1024 * 1024)  /* text of /proc/PID/maps */
#define LIMIT_PY_SOURCE (1024 * 1024)    /* a script that is read for a source line */
#define LIMIT_NOTICE_MS 500              /* until the end of a killed mpirun is noticed */
#define LIMIT_LAST_RANKS_MS 300          /* between the end of an mpirun and that of its ranks */
#define LIMIT_INSPECTION_S 60            /* time for a whole hang report */
#define LIMIT_INSPECTION_BYTES (1 << 20) /* size of a hang report */
#define LIMIT_HANG_PLACES 4         /* locations of ranks in the verdict; the rest is counted */
#define LIMIT_HANG_ROWS 16          /* of the table below the verdict; the rest is counted */
#define LIMIT_HANG_EDGES 3          /* pairs of waiting ranks in the verdict; the rest is counted */
#define LIMIT_USAGE_BYTES (8 << 20) /* usage.jsonl of a run */
#define LIMIT_TOP_CHUNK (256 * 1024) /* bytes of a log that `top` reads at a time */
#define LIMIT_TOP_COLUMNS 1000       /* of a line of `top` */
#define LIMIT_TOP_ROWS 1000
#define LIMIT_TOP_INTERVAL_MS 100
#define LIMIT_TOP_DETAILS 64     /* jobs whose ranks `top` keeps */
#define LIMIT_STORY_ROWS 20      /* of the time line of `show` */
#define LIMIT_STORY_ATTEMPTS 10  /* named below it */
#define LIMIT_SERIES_ROWS 8192   /* ranks of usage.jsonl; a power of two */
#define LIMIT_SERIES_CPU 1000000 /* percent */
#define LIMIT_PAGE_TEXT 4096     /* of a text in `report -o html`, in bytes */
#define LIMIT_PAGE_GROUPS 64     /* lines of its time line */
#define LIMIT_PAGE_SPANS 200     /* in one of them */
#define LIMIT_PAGE_LINES 16      /* ranks with a line of their own in a chart; else the range */
#define LIMIT_PAGE_POINTS 300    /* of such a line */
#define LIMIT_PAGE_RANKS 128     /* rows of its table */
#define LIMIT_PAGE_PROCESSES 64  /* of its plan; also notes */
#define LIMIT_PAGE_ROLES 8       /* whose variables are shown */
#define LIMIT_PAGE_VARIABLES 200
#define LIMIT_PAGE_LOGS 8    /* whose ends are shown */
#define LIMIT_USAGE_REST 100 /* between two looks, in times of what one costs */
#define LIMIT_RESTARTS 3     /* per process, if the file sets restarts without a limit */
#define LIMIT_ATTEMPTS 100   /* recorded attempts of a job; beyond it the first and the last */
#define LIMIT_ERRNO 4095     /* the largest error number of the kernel */
#define LIMIT_ERR_TEXT 1024  /* text of a struct err */
#define LIMIT_QUEUE_RESERVATIONS 32 /* waiting jobs with a reservation, per decision */
#define LIMIT_QUEUES 256            /* in the configuration */
#define LIMIT_QUEUE_GPUS 64         /* of one machine, by their ids */
#define LIMIT_DAY_JOBS 1000000      /* of `sim --queue` */
#define LIMIT_DAY_MACHINES 100000   /* likewise */
#define LIMIT_QUEUE_LOOK 1000       /* waiting jobs that a decision tries to start, beyond those */

#define LIMIT_SYNTAX_FAULTS 20          /* errors reported per JSON text */
#define LIMIT_SECRET_BYTES (127 * 1024) /* a value of a Secret or ConfigMap; the limit of exec */
#define LIMIT_SECRET_KEYS 4096          /* of one Secret or ConfigMap */
#define LIMIT_VOLUME_FILE_BYTES (1024 * 1024) /* a key of a Secret or ConfigMap as a file */
#define LIMIT_VOLUME_BYTES (4 * 1024 * 1024)  /* all files of a job's volumes */
#define LIMIT_MOUNTS 4096                     /* mounts of a job's roles and init commands */
#define LIMIT_SHADOW_ENTRIES 1024             /* entries of a directory that gets a substitute */
#define LIMIT_VOLUME_OPTIONS 256              /* --volume */
#define LIMIT_MODULE_MS 5000                  /* for Python to check whether a module exists */
#define LIMIT_CODE_BYTES (256 << 20)          /* code and inputs that are sent into pods */
#define LIMIT_DOCTOR_ASK_MS 20000             /* for the answer of a program */
#define LIMIT_PROBE_KEPT_S 60                 /* that an isolation level is available */
#define LIMIT_SNAPSHOT_UNUSED_S 3600          /* until one that no job has is removed */
#define LIMIT_CODE_FILES 20000                /* their files and directories */
#define LIMIT_OVERLAY_BYTES (4LL << 30)       /* the layer of --overlay in memory */

#endif
