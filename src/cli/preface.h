/* preface.h - what `run` says before the job's first line of output: little, the important things
 * first. */
#ifndef CLI_PREFACE_H
#define CLI_PREFACE_H

#include "dialect/dialect.h"
#include "plan/plan.h"
#include "spec/adjust.h"

/* Every change that an option made, then at most LIMIT_PREFACE warnings (and every NOTE_MACHINE) by
 * weight, one line each (findings of one code are one line), then how many more warnings and notes
 * `muster explain` shows. jf is empty (no path) without a job file; then every warning is shown. */
void tell_preface(const struct job_file *jf, const struct changes *changes,
                  const struct plan *plan);

#endif
