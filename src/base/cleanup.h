/* cleanup.h - resources that end with their scope, and handing them over.
 *
 *   auto_free char *s = NULL;   freed at the end of the scope
 *   auto_close int fd = -1;     closed there (if >= 0), errno kept
 *   return TAKE_PTR(s);         the caller owns it now, the scope frees nothing
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0) {
        int saved = errno;
        (void)close(*fd);
        errno = saved;
    }
}

#define auto_free CLEANUP(cleanup_free)
#define auto_close CLEANUP(cleanup_close)

#define TAKE_PTR(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) *take_p_ = &(p);                                                             \
        __typeof__(p) take_v_ = *take_p_;                                                          \
        *take_p_ = NULL;                                                                           \
        take_v_;                                                                                   \
    })

#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int *take_p_ = &(fd);                                                                      \
        int take_v_ = *take_p_;                                                                    \
        *take_p_ = -1;                                                                             \
        take_v_;                                                                                   \
    })

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
