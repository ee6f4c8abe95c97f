/* doctor.c - `muster doctor`: what this machine offers jobs, what is missing, and how to mend it.
 *
 * Each row is looked at as jobs would: isolation by having it once, programs by PATH. Not here:
 * what one job needs (`muster explain FILE`).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "client/daemon.h"
#include "doc/json.h"
#include "engine/local/facts.h"
#include "engine/local/isolate.h"
#include "engine/local/machine.h"
#include "rundir/places.h"

struct options {
    const char *output;
};

enum status { FINE, ABSENT /* some jobs need it */, BROKEN };
static const char *const status_words[] = {[FINE] = "ok", [ABSENT] = "missing", [BROKEN] = "error"};

struct finding {
    const char *name;
    enum status status;
    const char *text, *mend; /* mend: a command, or what to do; NULL: nothing */
};

struct findings {
    struct arena *a;
    struct finding *v; /* heap */
    size_t n, cap;
};

static const char *say(struct findings *fs, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static const char *say(struct findings *fs, const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    return arena_strdup(fs->a, text.buf);
}

static void found(struct findings *fs, const char *name, enum status status, const char *text,
                  const char *mend)
{
    GROW(fs->v, fs->n, fs->cap);
    fs->v[fs->n++] = (struct finding){.name = name, .status = status, .text = text, .mend = mend};
}

/* --- programs --------------------------------------------------------------------------------- */

static const char *find_program(struct arena *a, const char *name)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t n = strcspn(path, ":");
        const char *file = arena_printf(a, "%.*s/%s", (int)n, path, name);

        if (n > 0 && access(file, X_OK) == 0)
            return file;
        path += n + (path[n] == ':');
    }
    return NULL;
}

static void read_answer(int fd, pid_t pid, struct strbuf *ret)
{
    ns_t deadline = clock_mono() + LIMIT_DOCTOR_ASK_MS * NS_PER_MS;
    char buf[512];

    for (;;) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        ns_t left = deadline - clock_mono();
        int ready = left > 0 ? poll(&pfd, 1, (int)(left / NS_PER_MS) + 1) : 0;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            (void)kill(pid, SIGKILL);
        ssize_t n = ready > 0 ? read(fd, buf, sizeof(buf)) : 0;
        if (n <= 0)
            return;
        if (ret->len < LIMIT_ERR_TEXT)
            strbuf_add(ret, buf, (size_t)n);
    }
}

/* The first line that a program prints; "": it fails, or takes too long. */
static const char *ask_program(struct arena *a, char *const argv[])
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return "";
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    (void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int r = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    if (r == 0) {
        read_answer(ends[0], pid, &text);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    (void)close(ends[0]);
    return status == 0 ? arena_strndup(a, text.buf, strcspn(text.buf, "\n")) : "";
}

static void check_mpi(struct findings *fs)
{
    static char version[] = "--version";
    const char *mpirun = find_program(fs->a, "mpirun");
    char *const argv[] = {(char *)(uintptr_t)mpirun, version, NULL};

    if (!mpirun) {
        found(fs, "mpi", ABSENT, "mpirun not found in PATH; MPI jobs cannot start",
              "apt-get install openmpi-bin");
        return;
    }
    const char *line = ask_program(fs->a, argv);
    found(fs, "mpi", *line ? FINE : BROKEN,
          say(fs, "%s%s%s", mpirun, *line ? ": " : " --version fails", line), NULL);
}

static void check_python(struct findings *fs)
{
    static char c[] = "-c";
    static char script[] =
        "import importlib.util as u, platform\n"
        "m = [n for n in ('torch', 'tensorflow', 'mpi4py', 'horovod') if u.find_spec(n)]\n"
        "print(platform.python_version() + (' with ' + ', '.join(m) if m else ''))\n";
    const char *python = find_program(fs->a, "python3");
    char *const argv[] = {(char *)(uintptr_t)python, c, script, NULL};

    if (!python) {
        found(fs, "python", ABSENT, "python3 not found in PATH", "apt-get install python3");
        return;
    }
    const char *line = ask_program(fs->a, argv);
    bool torch = strstr(line, "torch") || strstr(line, "tensorflow");
    found(fs, "python", *line ? FINE : BROKEN,
          say(fs, "%s%s%s", python, *line ? ": " : " does not start", line),
          *line && !torch ? say(fs, "%s -m pip install torch", python) : NULL);
}

static void check_debuggers(struct findings *fs)
{
    const char *spy = find_program(fs->a, "py-spy"), *gdb = find_program(fs->a, "gdb");

    found(fs, "stacks", gdb ? FINE : ABSENT,
          say(fs, "%s; of a job that hangs, stacks of native code are %s",
              gdb   ? gdb
              : spy ? spy
                    : "gdb not found",
              gdb ? "shown" : "not shown"),
          gdb ? NULL : "apt-get install gdb");
}

/* --- the kernel ------------------------------------------------------------------------------- */

static void check_isolation(struct findings *fs, const struct facts *facts)
{
    static const char *const levels[][2] = {{"names", "isolation-names"},
                                            {"network", "isolation-network"}};

    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        struct facts one = *facts;
        struct err e;

        if (isolation_choose(fs->a, levels[i][0], &one, &e) == 0)
            found(fs, levels[i][1], FINE, say(fs, "`--isolate %s` is available", levels[i][0]),
                  NULL);
        else
            found(fs, levels[i][1], ABSENT, arena_strdup(fs->a, e.text),
                  "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000");
    }
}

static void check_cgroups(struct findings *fs)
{
    const char *why = NULL;

    if (cgroup_usable(&why))
        found(fs, "cgroups", FINE, "limits of CPU and memory can be enforced", NULL);
    else
        found(fs, "cgroups", ABSENT, say(fs, "limits are not enforced: %s", why),
              "systemd-run --user --scope -p Delegate=yes muster …");
}

static void check_limit(struct findings *fs, const char *name, int resource, rlim_t least,
                        const char *what, const char *mend)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return;
    bool enough = limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= least;
    const char *most = limit.rlim_max == RLIM_INFINITY
                           ? "unlimited"
                           : say(fs, "%llu", (unsigned long long)limit.rlim_max);
    found(fs, name, enough ? FINE : ABSENT,
          enough ? say(fs, "%s: %s", what, most)
                 : say(fs, "%s: %s; large jobs need at least %llu", what, most,
                       (unsigned long long)least),
          enough ? NULL : mend);
}

static void check_limits(struct findings *fs)
{
    check_limit(fs, "open-files", RLIMIT_NOFILE, 4096, "open files",
                "ulimit -n 65536, or LimitNOFILE= of the service");
    check_limit(fs, "processes", RLIMIT_NPROC, 4096, "processes",
                "ulimit -u 65536, or TasksMax= of the service");
    if (!machine_lacks_rdma(fs->a)) /* memory is locked for RDMA only */
        check_limit(fs, "locked-memory", RLIMIT_MEMLOCK, RLIM_INFINITY - 1, "locked memory",
                    "ulimit -l unlimited");
}

/* --- devices and places ----------------------------------------------------------------------- */

static void check_gpus(struct findings *fs)
{
    int n = machine_gpus();
    const char *smi = find_program(fs->a, "nvidia-smi");

    if (n > 0)
        found(fs, "gpus", FINE,
              say(fs, "%d GPU%s%s", n, n == 1 ? "" : "s",
                  smi ? "" : "; nvidia-smi not found in PATH"),
              NULL);
    else
        found(fs, "gpus", ABSENT, "no GPU; jobs that request GPUs run without",
              smi ? "nvidia-smi" : NULL);
}

static void check_network(struct findings *fs)
{
    auto_strbuf struct strbuf names = STRBUF_INIT;
    const char *const *v = machine_interfaces(fs->a);

    for (; v && *v; v++)
        strbuf_addf(&names, "%s%s", names.len ? ", " : "", *v);
    found(fs, "interfaces", names.len ? FINE : BROKEN,
          names.len ? say(fs, "%s", names.buf) : "no network interface",
          names.len ? NULL : "ip link set lo up");
}

static void check_space(struct findings *fs, const char *name, const char *dir, uint64_t least,
                        const char *mend)
{
    struct statvfs vfs;
    char text[DURATION_TEXT];

    if (statvfs(dir, &vfs) < 0) {
        found(fs, name, BROKEN, say(fs, "cannot access %s: %s", dir, err_reason(errno)), mend);
        return;
    }
    uint64_t bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    bool writable = access(dir, W_OK) == 0;
    found(fs, name,
          !writable        ? BROKEN
          : bytes >= least ? FINE
                           : ABSENT,
          say(fs, "%s: %s%s", dir, writable ? "" : "not writable, ",
              say(fs, "%s free", bytes_text((int64_t)bytes, text))),
          writable && bytes >= least ? NULL : mend);
}

/* The nearest directory that exists. */
static void check_places(struct findings *fs)
{
    auto_free char *scratch = places_scratch(NULL), *runs = places_runs(scratch, NULL);

    while (runs && access(runs, F_OK) < 0 && strrchr(runs, '/') > runs)
        *strrchr(runs, '/') = '\0';
    if (runs)
        check_space(fs, "run-directories", runs, UINT64_C(1) << 30,
                    "muster prune, or set XDG_STATE_HOME to a larger file system");
    check_space(fs, "shared-memory", "/dev/shm", UINT64_C(256) << 20,
                "mount -o remount,size=8G /dev/shm");
}

static void check_daemon(struct findings *fs)
{
    struct answer_lines jobs;

    if (daemon_jobs(fs->a, &jobs, NULL) == 0)
        found(fs, "daemon", FINE, say(fs, "running; %zu job%s", jobs.n, jobs.n == 1 ? "" : "s"),
              NULL);
    else
        found(fs, "daemon", FINE, "not running; muster submit starts it", NULL);
}

/* --- the verb --------------------------------------------------------------------------------- */

static void check_all(struct findings *fs)
{
    const struct job_spec none = {.name = "doctor", .dialect = ""};
    struct facts facts = {0};
    struct err e;

    if (facts_collect(fs->a, &none, "doctor", "/", "/", &facts, &e) < 0) {
        found(fs, "installation", BROKEN, arena_strdup(fs->a, e.text), "make install");
    } else {
        char memory[DURATION_TEXT];

        found(fs, "machine", FINE,
              say(fs, "%d CPU%s, %s of memory", facts.machine.cpus,
                  facts.machine.cpus == 1 ? "" : "s", bytes_text(facts.machine.memory, memory)),
              NULL);
        check_isolation(fs, &facts);
    }
    check_cgroups(fs);
    check_limits(fs);
    check_gpus(fs);
    check_network(fs);
    check_mpi(fs);
    check_python(fs);
    check_debuggers(fs);
    check_places(fs);
    check_daemon(fs);
}

static void print_json(const struct findings *fs)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);

    json_object(&j);
    json_key(&j, "checks");
    json_array(&j);
    for (size_t i = 0; i < fs->n; i++) {
        json_object(&j);
        json_kv_str(&j, "name", fs->v[i].name);
        json_kv_str(&j, "status", status_words[fs->v[i].status]);
        json_kv_str(&j, "message", fs->v[i].text);
        json_kv_str(&j, "hint", fs->v[i].mend);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    printf("%s\n", sb.buf);
}

static void print_words(const struct findings *fs)
{
    for (size_t i = 0; i < fs->n; i++) {
        auto_strbuf struct strbuf safe = STRBUF_INIT;

        strbuf_add_escaped(&safe, fs->v[i].text, strlen(fs->v[i].text));
        printf("%-8s %-18s %s\n", status_words[fs->v[i].status], fs->v[i].name, safe.buf);
        if (fs->v[i].mend)
            printf("%-8s %-18s try: %s\n", "", "", fs->v[i].mend);
    }
}

static int run_doctor(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct options o = {.output = "human"};
    struct findings fs = {.a = a};
    struct operands ops;
    int code = target_operands(verb, &o, argc, argv, 0, &ops);
    bool broken = false;

    if (code != 0)
        return code;
    check_all(&fs);
    for (size_t i = 0; i < fs.n; i++)
        broken |= fs.v[i].status == BROKEN;
    if (strcmp(o.output, "json") == 0)
        print_json(&fs);
    else
        print_words(&fs);
    free(fs.v);
    code = finish_output();
    return code ? code : broken ? EXIT_FAILED : EXIT_FINE;
}

static const char *const outputs[] = {"human", "json", NULL};

static const struct opt opts[] = {
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help = "human (default) or json"},
    OPT_END,
};

const struct verb verb_doctor = {
    .name = "doctor",
    .synopsis = "[-o human|json]",
    .summary = "check what this machine offers to jobs",
    .about = "Checks isolation, control groups, limits, GPUs, network interfaces, MPI, Python and "
             "free space. `missing` is a problem only for jobs that need it; `error` is one for "
             "every job. A line with `try:` has the command that mends it.",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_doctor,
};
