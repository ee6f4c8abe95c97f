/* preflight.h - the network between the replicas of a job, tried before its commands start.
 *
 * Every replica listens on a port, and then replicas call each other in rounds: in each round a
 * replica calls or is called by one other at most, so that n replicas need 2 (n - 1) rounds and no
 * measurement disturbs another one of the same replica. Beyond LIMIT_TRY_ALL replicas, only the
 * ring and some rounds chosen at random are tried.
 *
 * No clock, no I/O: what is to be done is asked of `ask`, and what came of it is told by
 * preflight_tried().
 */
#ifndef ENGINE_PREFLIGHT_H
#define ENGINE_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "engine/engine.h"
#include "shim/wire.h"

struct preflight;

struct preflight_host {
    void (*ask)(void *ctx, const struct net_try *t);
    void (*done)(void *ctx); /* all of it was tried; may free the preflight */
    void *ctx;
};

/* plan must outlive it. The token is random: it also chooses the rounds of a large job. */
struct preflight *preflight_new(const struct plan *plan, const unsigned char token[WIRE_TOKEN],
                                const struct preflight_host *host);
void preflight_free(struct preflight *pf); /* NULL is fine */

/* Every replica is there. With one replica, `done` is called at once. */
void preflight_begin(struct preflight *pf);
/* Answers to nothing that was asked are ignored. */
void preflight_tried(struct preflight *pf, const struct net_tried *t);

/* The first replica that could not reach another one, and who; -1: all could. */
int32_t preflight_failed(const struct preflight *pf, uint32_t *ret_to);
/* "cannot reach worker-0 (10.1.2.3:41234): connection refused; 2 of 6 connections failed" */
void preflight_why(const struct preflight *pf, struct strbuf *out);
/* What was measured: a line for each connection, or the worst of many. */
void preflight_table(const struct preflight *pf, struct strbuf *out);

#endif
