/* exec.c - `muster exec`: a command inside a replica of a job that runs.
 *
 * It gets our stdin, stdout and stderr themselves, so nothing is copied and nothing is lost; if we
 * are killed, so is the command. Terminals are passed as they are: there is no pty of its own.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "client/ask.h"

/* The shell of the replica gets every word as it is; "exec" so that signals and codes are the
 * command's own. */
static void command_text(char **words, struct strbuf *out)
{
    strbuf_addstr(out, "exec");
    for (; *words; words++) {
        strbuf_addch(out, ' ');
        strbuf_add_shell_word(out, *words);
    }
}

static int ask_exec(struct arena *a, const struct run_ref *run, const char *replica, char **words,
                    int *ret_status, struct err *e)
{
    auto_strbuf struct strbuf command = STRBUF_INIT, request = STRBUF_INIT;
    auto_free char *link = xasprintf("%s/scratch", run->dir);
    auto_close int fd = open(run->scratch ? run->scratch : link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct json j = ask_begin(&request, "exec");
    struct answer an = {.body = STRBUF_INIT};

    command_text(words, &command);
    json_kv_str(&j, "replica", replica);
    json_kv_str(&j, "command", command.buf);
    json_end(&j);
    if (request.len > LIMIT_PACKET_BYTES)
        return err_set(e, -E2BIG, "the command has more than %d bytes", LIMIT_PACKET_BYTES);
    int r = fd < 0 ? err_sys(e, -errno, "it does not respond")
                   : ask(a, fd, &request, true, LIMIT_ASK_MS, &an, e);
    if (r == 0)
        *ret_status = (int)answer_int(&an, "status");
    strbuf_release(&an.body);
    return r;
}

static int run_exec(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct operands ops;
    struct run_ref run;
    struct err e;
    int status = 0;

    if (opts_parse(verb, NULL, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (ops.n < 1 || ops.n > 2 || ops.n_rest == 0)
        return usage_error(verb, ops.n_rest == 0 && ops.n > 0 ? "-- and a command are required"
                                                              : "usage is [ID] REPLICA -- CMD");
    int code = target_living(verb, a, ops.n == 2 ? ops.v[0] : NULL, &run);
    if (code != 0)
        return code;
    /* the answer comes when the command has ended: whether anybody is there is asked before */
    if (runs_ask(&run, "state", NULL, &e) < 0 ||
        ask_exec(a, &run, ops.v[ops.n - 1], ops.rest, &status, &e) < 0)
        return target_failed(&run, &e);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static const struct opt opts[] = {OPT_END};

const struct verb verb_exec = {
    .name = "exec",
    .synopsis = "[ID] REPLICA -- CMD…",
    .summary = "run a command inside a replica of a running job",
    .about = "CMD runs with the replica's host name, environment, working directory and limits, "
             "and with the stdin, stdout and stderr of this call. Exits with the status of CMD, "
             "128+n for a signal, or 1 if CMD could not be started. CMD is killed when the job "
             "ends or this call is interrupted.\n\n" TARGET_ABOUT,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_exec,
};
