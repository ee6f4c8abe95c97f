/* on_screen.h - has whoever reads the verdict just read the job's output? */
#ifndef CLI_ON_SCREEN_H
#define CLI_ON_SCREEN_H

#include <stdbool.h>

/* stdout and stderr are one terminal, and everything below logs_fd fits into half of it: then the
 * last lines of a log are still to be seen, and are not repeated. */
bool output_on_screen(int logs_fd);

#endif
