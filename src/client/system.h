/* system.h - asking the daemon of all users of this machine (system/peers.c), if there is one.
 *
 * It starts the caller's own daemon, and knows what everybody may see of everybody's jobs. All else
 * is asked of the caller's own daemon (daemon.h).
 */
#ifndef CLIENT_SYSTEM_H
#define CLIENT_SYSTEM_H

#include "client/ask.h"

/* Has root made its socket here? It may have been killed since. */
bool system_is_there(void);

/* One question. -ENOENT: there is none here. -ECONNREFUSED: it is not running. */
int system_ask(struct arena *a, const struct strbuf *request, struct answer *ret, struct err *e);

/* Has it start the caller's daemon, and waits until that answers. */
int system_start_daemon(struct err *e);

/* What everybody may see of the jobs of all users that have not ended, in the arena: system/book.c.
 */
int system_jobs(struct arena *a, struct answer_lines *ret, struct err *e);

/* "cancel", "kill", "pause" or "resume" for a job of any user; only root may ask for those of
 * others. -EPERM: refused, e has the words. */
int system_ask_job(struct arena *a, const char *request, const char *id, struct err *e);

/* The public line of a job of any user that has not ended; NULL: none, or nobody to ask. */
const struct node *system_job(struct arena *a, const char *id);

#endif
