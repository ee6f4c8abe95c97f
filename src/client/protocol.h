/* protocol.h - what is said on the control socket of a run: how other verbs ask it while it lives.
 *
 * SCRATCH/control.sock is a stream socket that only the run's user and root may use. One request,
 * one answer, then the run closes the connection. Both are
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
 *     {…,"request":"resume-specs"}       the same head; the body lists what differs after a
 *                                        pause: {"type","skipInitContainer","command":[],"args":[]}
 *     {…,"request":"signal","signal":10} the same head; to every process and rank
 *     {…,"request":"exec","replica":"worker-0","command":"shell text"} with descriptors 0, 1, 2
 *                                        {…,"status": wait status} when the command has ended;
 *                                        the command is killed if the connection closes
 *     anything wrong                     {"version":1,"ok":false,"error":"…"}
 *
 * Events and logs are not asked for here: they are files of the run directory.
 */
#ifndef CLIENT_PROTOCOL_H
#define CLIENT_PROTOCOL_H

#include <stdarg.h>

#include "base/strbuf.h"

#define CONTROL_SOCKET "control.sock"
#define CONTROL_VERSION 1
#define CONTROL_HEADER 8 /* bytes: the two lengths */

/* Heads of answers: {"version":1,"ok":true} and {"version":1,"ok":false,"error":"…"}. */
void protocol_accept(struct strbuf *head);
void protocol_refuse(struct strbuf *head, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#endif
