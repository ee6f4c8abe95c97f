/* signame.h - signals by name and in words. */
#ifndef BASE_SIGNAME_H
#define BASE_SIGNAME_H

#include <stdbool.h>

const char *signal_name(int sig);    /* "SIGSEGV"; unknown ones "signal 77" (static, per number) */
bool signal_has_words(int sig);      /* real-time signals have numbers only */
const char *signal_words(int sig);   /* "segmentation fault", "killed", … */
int signal_number(const char *name); /* "SIGTERM" or "TERM"; -EINVAL */

#endif
