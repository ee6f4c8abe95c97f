/* serve_work.h - `muster serve --work`: what the daemon has done by a process of its own,
 * because it is about a job file that somebody sent (api/work.c).
 *
 * Standard input has {"what":"validate"|"explain"|"submit","request":{…}}, the body of the HTTP
 * request of that name (doc/design/api.md); or "file" of {"name","text"}, "retry" of
 * {"words","cwd","text"}. Standard output gets {"status":HTTP status,"body":{…}}.
 * No file is opened because a request names it, but the directory that it says the job runs in.
 */
#ifndef CLI_SERVE_WORK_H
#define CLI_SERVE_WORK_H

int serve_work(void); /* the exit code */

#endif
