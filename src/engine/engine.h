/* engine.h - what the job core asks of the place where processes run.
 *
 * An engine carries out decisions and reports observations. It never decides; it never sees a
 * dialect. Every call may be repeated: starting what was started, stopping what has ended, does
 * nothing. Calls return at once; what came of them arrives as observations.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <sys/types.h>

#include "job/job.h"

struct engine;

struct engine_ops {
    const char *name;
    /* make it, in this attempt; it runs no command yet */
    void (*open)(struct engine *en, uint32_t replica, uint32_t attempt);
    void (*start)(struct engine *en, uint32_t process, struct start start);
    void (*signal)(struct engine *en, int sig); /* to every command and rank that lives */
    void (*kill)(struct engine *en);            /* SIGKILL for everything of the job */
    void (*hold)(struct engine *en);            /* the attempt is over, its replicas stay hosts */
    void (*clear)(struct engine *en);           /* end all of the attempt; another may follow */
    void (*release)(struct engine *en);         /* end what is left, then client->released */
    void (*free)(struct engine *en);            /* the loop must turn once more afterwards */
};

struct engine {
    const struct engine_ops *ops;
    pid_t root; /* below it are the job's processes, as seen from here; 0: not on this machine */
};

struct engine_client {
    void (*observed)(void *ctx, const struct observation *o);
    void (*note)(void *ctx, const char *text); /* something a person should know */
    void (*turn)(void *ctx);                   /* all observations of this turn were delivered */
    void (*released)(void *ctx);               /* nothing of the job is left */
    void *ctx;
};

#endif
