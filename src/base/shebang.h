/* shebang.h - the interpreter that the first line of a script names, and whether it can be started.
 *
 * execve() fails with ENOENT for a script whose interpreter does not exist, although the script
 * itself does: "No such file or directory" then names the wrong file. This finds out what is
 * missing.
 */
#ifndef BASE_SHEBANG_H
#define BASE_SHEBANG_H

#include <stddef.h>

#define SHEBANG_BYTES 256 /* of a first line that the kernel reads */

/* Looks at the file `path`; a relative interpreter is looked for in the caller's working directory.
 *   0        it is no script, cannot be read, or its interpreter exists
 *   -ENOENT  the interpreter does not exist
 *   -EILSEQ  the line ends in a carriage return (CRLF line endings): no such interpreter exists
 *   -ELIBBAD the interpreter is a script, whose own interpreter does not exist for either reason
 * ret_interpreter (may be NULL) gets the interpreter without the carriage return, cut to n - 1
 * bytes, and "" where there is none. */
int shebang_check(const char *path, char *ret_interpreter, size_t n);

/* Why execve(file) has failed with this error: instead of ENOENT for a file that is there, EILSEQ,
 * ELIBACC (no interpreter), ELIBBAD (no interpreter of its interpreter) or ELIBEXEC (a binary whose
 * dynamic loader does not exist). Uses no memory but the stack. */
int shebang_error(const char *file, int error);

/* These in words, and what err_start_reason() has for the others. */
const char *shebang_reason(int error);

#endif
