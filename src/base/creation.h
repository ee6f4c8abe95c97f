/* creation.h - the caller's umask is for the job, not for Muster's own files.
 *
 * Muster makes its files and directories with the modes they need (0600, 0700). A umask of 0777
 * would make them unreadable to Muster itself, so each of its programs works with one of its own,
 * and hands the caller's on to what it starts.
 */
#ifndef BASE_CREATION_H
#define BASE_CREATION_H

#include <sys/types.h>

/* To be called first in main(). */
void creation_begin(void);

/* The caller's umask; between fork() and exec, umask(creation_mask()). */
mode_t creation_mask(void);

#endif
