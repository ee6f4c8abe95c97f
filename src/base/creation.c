/* creation.c - see creation.h. */
#include "base/creation.h"

#include <sys/stat.h>

static mode_t of_caller = 022;

void creation_begin(void)
{
    of_caller = umask(022);
}

mode_t creation_mask(void)
{
    return of_caller;
}
