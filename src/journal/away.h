/* away.h - a job whose processes go on without muster: what another muster needs to find them.
 *
 * RUN_DIR/cluster.json is there from the beginning of such a job to its end. Its time of change is
 * that of the last heartbeat: from then on the platform keeps the job for keep_s seconds.
 */
#ifndef JOURNAL_AWAY_H
#define JOURNAL_AWAY_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

#define AWAY_NAME "cluster.json"
#define AWAY_KEY 32 /* bytes */

struct away {
    const char *context, *namespace_; /* of the cluster; in the arena */
    ns_t created;                     /* real time; 0: it may not be there yet */
    int64_t keep_s;
    unsigned char key[AWAY_KEY]; /* what the job's own supervisors know each other by */
};

/* In the run directory, mode 0600. */
int away_write(int run_fd, const struct away *away, struct err *e);
/* -ENOENT: the job is not of this kind, or has ended; -EINVAL: the file is damaged. */
int away_read(struct arena *a, int run_fd, struct away *ret, struct err *e);

void away_touch(int run_fd); /* a heartbeat was heard */
void away_remove(int run_fd);

/* Until when the platform keeps a job that nobody is attached to; 0: there is none. */
ns_t away_until(int run_fd);

#endif
