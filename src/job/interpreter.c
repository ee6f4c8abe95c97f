/* interpreter.c - a script whose first line (#!) names an interpreter that cannot be started.
 *
 * The kernel reports ENOENT for the script, which is there. Our supervisor tells the cases apart
 * by errno (base/shebang.h); of a script that a shell started, only the shell's words are known.
 */
#include <errno.h>
#include <string.h>

#include "base/shebang.h"
#include "job/hint.h"
#include "job/mask.h"
#include "job/verdict.h"

#define CRLF "carriage return (CRLF line endings)"

const char *verdict_exec_error(int error)
{
    return shebang_reason(error);
}

static bool is_carriage_return(const char *line)
{
    return (strstr(line, "^M: bad interpreter") || strstr(line, "\\r: bad interpreter")) ||
           ((strstr(line, "\\r': No such") || strstr(line, "\\r\u2019: No such")) &&
            strstr(line, "env: "));
}

/* "bash: line 1: ./x: cannot execute: required file not found": bash 5.2, of both cases. */
static size_t file_of(const char *line, const char **ret)
{
    const char *end = strstr(line, ": cannot execute: required file not found"), *at = end;

    while (at && at > line && at[-1] != ' ')
        at--;
    *ret = at;
    return at ? (size_t)(end - at) : 0;
}

static bool hint_shell(const char *const *tail, struct strbuf *out)
{
    for (; tail && *tail; tail++) {
        const char *file;
        size_t n = file_of(*tail, &file);

        if (n > 0) {
            strbuf_addstr(out, "the first line of ");
            strbuf_add_escaped(out, file, n);
            strbuf_addstr(out, " names an interpreter that does not exist, or it ends in a " CRLF);
            return true;
        }
        if (is_carriage_return(*tail)) {
            strbuf_addstr(out, "the script has CRLF line endings: convert it with dos2unix, or "
                               "with sed -i 's/\\r$//'");
            return true;
        }
    }
    return false;
}

bool hint_interpreter(const struct job *job, const char *const *tail, struct strbuf *out)
{
    const struct cause *c = &job->cause;
    int error = c->kind == CAUSE_EXEC && !ending_is_ours(&c->end) ? -c->end.exec_errno : 0;

    if (c->kind == CAUSE_EXIT && (c->end.code == 126 || c->end.code == 127))
        return hint_shell(tail, out);
    if (error != EILSEQ && error != ELIBACC && error != ELIBBAD && error != ELIBEXEC)
        return false;
    if (c->process >= 0 && plan_missing(job->plan, &job->plan->processes[c->process]))
        return false; /* known before the start: hint_missing() names the interpreter */
    strbuf_addstr(out, error == EILSEQ ? "convert it with dos2unix, or with sed -i 's/\\r$//' "
                       : error == ELIBEXEC
                           ? "build it for this machine; what it was built for is shown by: file "
                           : "check its first line and install the interpreter: head -n 1 ");
    strbuf_add_shell_word(out, verdict_program(job, c));
    mask_sentence(job->plan, out);
    return true;
}
