/* control.h - the control socket of a run: how other verbs ask it something while it lives.
 *
 * SCRATCH/control.sock is a stream socket that only the run's user and root may use. One request, one
 * answer, then the run closes the connection. Both are
 *
 *     uint32 bytes of the head · uint32 bytes of the body · head · body
 *
 * in the machine's byte order. The head is one JSON object, the body whatever the answer is about
 * (requests have none). Every head has "version": a run refuses what it does not speak, by name.
 *
 *     {"version":1,"request":"state"}    {"version":1,"ok":true,"id","name","dialect","phase",
 *                                         "started" (ns),"run_dir"}
 *     {…,"request":"show"}               the same head; the body is the report so far
 *     {…,"request":"cancel"}           the same head. A second one: no more grace
 *     {…,"request":"kill"}               as two of them
 *     {…,"request":"pause"}, "resume"    the same head
 *     {…,"request":"resume-specs"}       the same head; the body is a list of what is different after a
 *                                        pause: {"type","skipInitContainer","command":[],"args":[]}
 *     {…,"request":"signal","signal":10} the same head; to every process and rank
 *     {…,"request":"exec","replica":"worker-0","command":"shell text"} with descriptors 0, 1, 2
 *                                        {…,"status": wait status}, when the command has ended; it is
 *                                        killed if the connection closes before
 *     anything wrong                     {"version":1,"ok":false,"error":"…"}
 *
 * Events and logs are not asked for here: they are files of the run directory.
 */
#ifndef RUN_CONTROL_H
#define RUN_CONTROL_H

#include <uv.h>

#include "base/err.h"
#include "job/job.h"

#define CONTROL_SOCKET "control.sock"
#define CONTROL_VERSION 1
#define CONTROL_HEADER 8

struct control;

struct control_host { /* the run as its socket sees it */
    const struct job *job;
    int scratch_fd;
    void (*post)(void *ctx, const struct observation *o); /* folded, committed, acted upon */
    void (*signal)(void *ctx, int sig);
    void *ctx;
};

/* Listens. host is copied; what it points to must outlive the control. */
int control_open(uv_loop_t *loop, const struct control_host *host, struct control **ret,
                 struct err *e);

/* Closes every connection and removes the socket. NULL is fine. The loop must turn once more. */
void control_free(struct control *c);

#endif
