/* frames.h - requests to the shim and its reports, as frames of shim/wire.h; for local.c. */
#ifndef ENGINE_LOCAL_FRAMES_H
#define ENGINE_LOCAL_FRAMES_H

#include "base/strbuf.h"
#include "job/job.h"
#include "shim/wire.h"

/* Each adds one frame to out. */
void frame_setup(struct strbuf *out, const struct plan *plan);
void frame_spawn(struct strbuf *out, const struct plan *plan, uint32_t process, struct start start);
/* One init command, in place of the processes of its replica that wait for it. */
void frame_init(struct strbuf *out, const struct plan *plan, uint32_t replica, size_t i,
                struct start start);
/* The replica with what its first process will find there, for agents that come before it. */
void frame_open(struct strbuf *out, const struct plan *plan, uint32_t replica, uint32_t attempt);
/* To all; but an mpirun that is the launcher itself passes USR1 and USR2 on to its ranks, which must
 * not get them twice. */
void frame_signal(struct strbuf *out, const struct plan *plan, int sig);
void frame_kill(struct strbuf *out);

/* A report as an observation of the present attempt and instance. False if it is none or makes no
 * sense. Texts point into the frame. */
bool frame_observation(enum wire_type type, struct wire_reader *r, struct observation *o);

#endif
