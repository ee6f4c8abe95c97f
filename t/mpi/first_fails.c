/* first_fails.c - bench/first_fails.c as an MPI program. */
#define WITH_MPI
#include "../../bench/first_fails.c"
