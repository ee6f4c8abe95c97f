/* survey.h - looks up, before planning, what is available where the job will run.
 *
 * Every engine has one survey function (engine.h). Running, explaining, simulating and reporting a
 * refusal differ only in how they handle what is missing.
 */
#ifndef ENGINE_SURVEY_H
#define ENGINE_SURVEY_H

#include "base/err.h"
#include "base/strvec.h"
#include "job/job.h"

enum survey_use {
    SURVEY_RUN,    /* missing is an error; reserves ports */
    SURVEY_SHOW,   /* missing is a warning; reserves nothing */
    SURVEY_ANYHOW, /* missing is ignored: never fails */
};

struct survey_request {
    enum survey_use use;
    const struct job_spec *spec;
    const char *run_id, *run_dir, *scratch_dir; /* stored as given */

    /* options of the caller, see struct job_options; lists end with NULL, or are NULL */
    const char *isolate;                        /* a level, or "auto" */
    const char *const *images, *const *volumes; /* NAME=PLACE; NAME=PATH with absolute paths */
    const char *secrets, *configmaps;           /* directories, or NULL */
    const char *const *maps, *const *skip_init, *const *inherit_env;
    bool clean_env, inherit_all;
    bool overlay, private_workdir;
    const char *keep_overlay;
    const char *code;                 /* absolute directory for a cluster, or NULL */
    const char *code_volume;          /* "CLAIM[:SUBPATH]" instead, or NULL */
    const char *const *claims;        /* NAME=CLAIM[:SUBPATH], of a cluster */
    const char *gang;                 /* a scheduler of a cluster, or NULL */
    const char *context, *namespace_; /* of a cluster, or NULL: as the kubeconfig says */
    int cpus;                         /* 0: as found */
    int64_t memory;                   /* the same */
    int gpus;                         /* pretended; -1: as found */
    bool require_gpus;                /* found, not pretended */
    /* Of a job that runs already: its ports, spec_n_ports() of them. They are reserved again as far
     * as its own processes do not hold them. NULL: free ones are looked for. */
    const int *ports;
    const char *const *visible_gpus; /* per replica, "0,3"; NULL: shared out in order */
};

struct survey {
    struct facts facts;     /* must outlive its plans; strings are in the arena and the request */
    struct strvec warnings; /* SURVEY_SHOW: whole sentences */
    enum cause_kind cause;  /* if it failed; NONE: an option does not apply to this job */
    int *held;              /* n_held descriptors of reserved ports; -1: none. Heap */
    size_t n_held;
};
#define SURVEY_INIT                                                                                \
    {                                                                                              \
        .warnings = STRVEC_INIT                                                                    \
    }

/* What the list of NAME=CLAIM[:SUBPATH] says of that name; NULL: nothing. */
const char *survey_claim(const char *const *claims, const char *name);

/* Releases what was reserved. */
void survey_release(struct survey *s);

#endif
