/* stand_in.h - for what stands in another program's place. */
#ifndef SHIM_STAND_IN_H
#define SHIM_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>

/* Ends as a child with this wait status did: by its signal, or with the code that is returned. */
int end_as_child(int status);

/* The next program of this name in PATH that is not ourselves; false if there is none. */
bool find_next(const char *name, char *file, size_t size);

#endif
