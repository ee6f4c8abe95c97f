/* strvec.h - a growing, always NULL-terminated array of heap strings (argv, environ). */
#ifndef BASE_STRVEC_H
#define BASE_STRVEC_H

#include <stddef.h>

#include "base/cleanup.h"

struct strvec {
    char **v;
    size_t n, cap;
};

extern char *strvec_empty[1];
#define STRVEC_INIT                                                                                \
    {                                                                                              \
        .v = strvec_empty                                                                          \
    }

void strvec_push(struct strvec *sv, const char *s);
void strvec_pushf(struct strvec *sv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strvec_push_take(struct strvec *sv, char *s); /* takes ownership of s */
void strvec_release(struct strvec *sv);
#define auto_strvec CLEANUP(strvec_release)

#endif
