/* mpirun.c - stands in for mpirun and mpiexec where a job's own script calls them by name.
 *
 * The real one is our child. Two things are learned on the way: which signal ended it, and, for
 * Hydra, the ends of its ranks (hydra_line.h). It has a process group of its own, so that a signal
 * for ours comes to it once, from us, and it dies if we are killed. Outside a run we simply become
 * it.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/shebang.h"
#include "base/clock.h"
#include "base/mem.h"
#include "shim/stand_in.h"
#include "shim/hydra_line.h"
#include "shim/packet.h"
#include "shim/program.h"
#include "shim/records.h"
#include "shim/roles.h"

#define WRAPPER "muster-rank"

enum { ACK_SECONDS = 5 };

/* Beside the link that we were started by. */
static bool find_wrapper(char *file, size_t size)
{
    const char *path = getenv("PATH"), *end;

    for (const char *dir = path ? path : ""; *dir; dir = *end ? end + 1 : end) {
        end = strchrnul(dir, ':');
        if ((size_t)snprintf(file, size, "%.*s/" WRAPPER, (int)(end - dir), dir) < size &&
            access(file, X_OK) == 0)
            return true;
    }
    return false;
}

static void become(const char *file, char *const *argv) __attribute__((noreturn));
static void become(const char *file, char *const *argv)
{
    int error;

    execv(file, argv);
    error = errno;
    dprintf(STDERR_FILENO, "muster-shim: cannot execute %s: %s\n", file,
            shebang_reason(shebang_error(file, error)));
    _exit(error == ENOENT ? 127 : 126);
}

static bool ends(int sig)
{
    return sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT || sig == SIGKILL ||
           sig == SIGABRT;
}

static void tell_signal(int sock, int sig, ns_t at)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_MPIRUN_SIGNAL);

    wire_put_u32(&frame, (uint32_t)sig);
    wire_put_i64(&frame, at);
    wire_frame_end(&frame, begin);
    (void)packet_send(sock, &frame, NULL, 0);
}

static void tell_hello(int sock, int64_t program, bool observed)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_MPIRUN_HELLO);

    wire_put_i64(&frame, program);
    wire_put_u32(&frame, observed);
    wire_put_i64(&frame, clock_run());
    wire_frame_end(&frame, begin);
    (void)packet_send(sock, &frame, NULL, 0);
}

/* Waits until the supervisor has it: the script's own end may follow at once. */
static void tell_end(int sock, int status)
{
    struct timeval limit = {.tv_sec = ACK_SECONDS};
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_MPIRUN_END);
    char answer[64];
    struct packet p;

    wire_put_u32(&frame, (uint32_t)status);
    wire_put_i64(&frame, clock_run());
    wire_frame_end(&frame, begin);
    (void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (packet_send(sock, &frame, NULL, 0) == 0 &&
        packet_receive(sock, answer, sizeof(answer), &p) == 0)
        packet_close(&p);
}

/* timeout(1) signals its child and then its group: that is one signal, and mpirun gives up its
 * cleaning at the second. */
static void skip_echo(int sig)
{
    static const struct timespec moment = {.tv_nsec = 20 * NS_PER_MS}, now = {0};
    sigset_t only;

    sigemptyset(&only);
    sigaddset(&only, sig);
    (void)nanosleep(&moment, NULL);
    (void)sigtimedwait(&only, NULL, &now);
}

/* SIGUSR1 and SIGUSR2, which mpirun hands on to its ranks: they may take it for a request, or end
 * by it. Then mpirun says so by its own status, Hydra without the 128. */
static bool ended_by(int status, int passed)
{
    return passed && WIFEXITED(status) &&
           (WEXITSTATUS(status) == 128 + passed || WEXITSTATUS(status) == passed);
}

/* Passes signals on until the real one has ended; its wait status. */
static int attend(int sock, pid_t pid)
{
    int passed = 0;
    ns_t passed_at = 0;
    sigset_t all;
    int status;

    sigfillset(&all);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        int sig = sigwaitinfo(&all, NULL);

        if (sig <= 0 || sig == SIGCHLD)
            continue;
        if (ends(sig)) {
            tell_signal(sock, sig, clock_run());
        } else if ((sig == SIGUSR1 || sig == SIGUSR2) && sig != passed) {
            passed = sig;
            passed_at = clock_run();
        }
        (void)kill(pid, sig);
        if (ends(sig))
            skip_echo(sig);
    }
    if (WIFSIGNALED(status))
        tell_signal(sock, WTERMSIG(status), clock_run());
    else if (ended_by(status, passed))
        tell_signal(sock, passed, passed_at);
    tell_end(sock, status);
    return status;
}

static void be_mpirun(pid_t parent, const sigset_t *mask, const char *file, char *const *argv)
    __attribute__((noreturn));
static void be_mpirun(pid_t parent, const sigset_t *mask, const char *file, char *const *argv)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(126);
    (void)setpgid(0, 0);
    sigprocmask(SIG_SETMASK, mask, NULL);
    become(file, argv);
}

/* In a pod of the operator (records.h): nothing is learned of mpirun itself. */
_Noreturn static void become_recorded(const char *file, char **argv)
{
    const char *wrapper = getenv("OMPI_MCA_orte_fork_agent");
    auto_free char *real = realpath(file, NULL);
    struct strvec line = STRVEC_INIT;

    if (wrapper && real && hydra_is_mpiexec(real) &&
        hydra_line((const char *const *)argv, wrapper, &line))
        argv = line.v;
    argv[0] = xstrdup(file); /* else it looks for its proxy beside the first of its name in PATH */
    become(file, argv);
}

int mpirun_main(int argc, char **argv)
{
    static const char *const agents[] = {"OMPI_MCA_orte_fork_agent", "PRTE_MCA_prte_fork_agent"};
    auto_strvec struct strvec line = STRVEC_INIT;
    bool has_wrapper, hydra, observed;
    int64_t program;
    char file[PATH_MAX], wrapper[PATH_MAX];
    auto_free char *real = NULL;
    sigset_t all, mask;
    pid_t parent = getpid(), pid;
    int sock;

    (void)argc;
    if (!find_next(basename(argv[0]), file, sizeof(file))) {
        dprintf(STDERR_FILENO, "muster-shim: %s: command not found\n", basename(argv[0]));
        return 127;
    }
    if (getenv(RECORDS_VARIABLE))
        become_recorded(file, argv);
    sock = packet_connect_run();
    if (sock < 0)
        become(file, argv);
    real = realpath(file, NULL);
    has_wrapper = find_wrapper(wrapper, sizeof(wrapper));
    if (has_wrapper) /* env -i: the others of the environment are missed on a cluster, too */
        for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
            (void)setenv(agents[i], wrapper, 0);
    hydra = real && hydra_is_mpiexec(real);
    program = program_of_mpirun((const char *const *)argv, hydra);
    observed = has_wrapper;
    if (hydra) {
        argv[0] = file; /* else it looks for its proxy beside the first of its name in PATH */
        observed = has_wrapper && hydra_line((const char *const *)argv, wrapper, &line);
        if (observed)
            argv = line.v;
    }
    tell_hello(sock, program, observed);
    (void)signal(SIGCHLD, SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid = fork();
    if (pid < 0)
        sigprocmask(SIG_SETMASK, &mask, NULL);
    if (pid < 0)
        become(file, argv);
    if (pid == 0)
        be_mpirun(parent, &mask, file, argv);
    return end_as_child(attend(sock, pid));
}
