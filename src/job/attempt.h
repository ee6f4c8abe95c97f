/* attempt.h - what apply.c needs to end attempts and to begin them. */
#ifndef JOB_ATTEMPT_H
#define JOB_ATTEMPT_H

#include "job/job.h"

void attempt_release(struct job *job);              /* the memory of the present one */
void attempt_reset(struct job *job, ns_t begin_at); /* a new one that nothing has happened to */
void attempt_judge(struct job *job, ns_t at, const struct cause *cause); /* it has ended */

void attempt_begin(struct job *job, const struct event *e); /* EVENT_ATTEMPT */
void attempt_pause(struct job *job, const struct event *e); /* EVENT_PAUSED */

#endif
