/* frames.h - requests to a shim and its reports, as frames of shim/wire.h, for every engine with
 * shims.
 */
#ifndef ENGINE_FRAMES_H
#define ENGINE_FRAMES_H

#include "base/strbuf.h"
#include "engine/engine.h"
#include "shim/wire.h"

/* Each adds one frame to out. */
/* at: where the shim has the replica, if not as the plan says; NULL: it does. */
struct frame_place {
    uint32_t replica; /* the shim's number of it */
    const char *cwd;
    const char *const *env; /* "NAME=VALUE", NULL-terminated */
};
void frame_spawn(struct strbuf *out, const struct plan *plan, uint32_t process, struct start start,
                 const struct frame_place *at);
/* The replica with what its first process will find there, for agents that come before it. */
void frame_open(struct strbuf *out, const struct plan *plan, uint32_t replica, uint32_t attempt,
                const struct frame_place *at);
/* To all; but an mpirun that is the launcher itself passes USR1 and USR2 on to its ranks, which
 * must not get them twice. */
void frame_signal(struct strbuf *out, const struct plan *plan, int sig);
void frame_attach(struct strbuf *out);
void frame_kill(struct strbuf *out);
void frame_kill_replica(struct strbuf *out, uint32_t replica);

/* address: of the one that is called; "": the replica listens. */
void frame_try(struct strbuf *out, uint32_t replica, const char *address, const struct net_try *t);
void frame_try_end(struct strbuf *out);
/* All but the address; false if it makes no sense. */
bool frame_tried(struct wire_reader *r, struct net_tried *ret);

/* The launch that a report is about, as its shim knows it; origin is NULL if it is about none. */
struct frame_launch {
    uint32_t number; /* 0: its ranks are in other pods */
    const char *origin, *id;
};

/* A report as an observation of the present attempt, and its launch if ret_launch is not NULL.
 * False if it is none or makes no sense. Texts point into the frame. */
bool frame_observation(enum wire_type type, struct wire_reader *r, struct observation *o,
                       struct frame_launch *ret_launch);

/* The field of a SPAWN with variables; values of references are empty. */
void frame_variables(struct strbuf *out, struct arena *a, const struct env_value *env, size_t n);

#endif
