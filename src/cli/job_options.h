/* job_options.h - options that all verbs that read a job file have in common.
 *
 * Two tables over one structure: how a file is read (validate has these too), and how the job is
 * made to run on this machine. A verb puts `struct job_options job` among its own options, begins
 * with JOB_OPTIONS_INIT, and names the tables in its parts.
 */
#ifndef CLI_JOB_OPTIONS_H
#define CLI_JOB_OPTIONS_H

#include "cli/cli.h"
#include "dialect/dialect.h"
#include "engine/survey.h"
#include "spec/adjust.h"

struct job_options {
    /* how the file is read */
    struct strvec sets;
    const char *dialect;
    bool no_rewrite, skip_start_sleep;
    int64_t gpus_per_node;

    /* how the job is made to run here */
    struct strvec scale, nproc, entrypoint, map, inherit_env, images, volumes, skip_init, debug;
    struct strvec claims;             /* of a cluster: NAME=CLAIM[:SUBPATH] */
    struct strvec put_images;         /* convert: other images */
    const char *context, *namespace_; /* of a cluster, or NULL */
    const char *workdir, *inventory, *secrets, *configmaps;
    const char *code, *code_volume, *gang; /* of a cluster, or NULL */
    bool fit, clean_env, require_gpus, overlay, private_workdir, no_restart;
    const char *keep_overlay;
    int64_t gpus; /* -1 = not given */

    /* what job_options_check() made of them */
    struct strvec maps, volumes_abs; /* with absolute paths */
    char *workdir_abs, *keep_overlay_abs, *code_abs;
    int64_t cpus_here, memory_here; /* of the inventory; 0 = this machine's */
};

#define JOB_OPTIONS_INIT                                                                           \
    {                                                                                              \
        .sets = STRVEC_INIT, .scale = STRVEC_INIT, .nproc = STRVEC_INIT,                           \
        .entrypoint = STRVEC_INIT, .map = STRVEC_INIT, .inherit_env = STRVEC_INIT,                 \
        .images = STRVEC_INIT, .volumes = STRVEC_INIT, .skip_init = STRVEC_INIT,                   \
        .debug = STRVEC_INIT, .claims = STRVEC_INIT, .put_images = STRVEC_INIT, .gpus = -1,        \
        .maps = STRVEC_INIT, .volumes_abs = STRVEC_INIT                                            \
    }
void job_options_release(struct job_options *o);

extern const struct opt job_read_opts[], job_here_opts[];
#define JOB_READ_PART(type, field)                                                                 \
    {                                                                                              \
        "how the file is read", job_read_opts, offsetof(type, field)                               \
    }
#define JOB_HERE_PART(type, field)                                                                 \
    {                                                                                              \
        "how the job is adapted to this machine", job_here_opts, offsetof(type, field)             \
    }

/* What can be checked before a file is read. Returns 0, or the exit code after telling the user. */
int job_options_check(const struct verb *verb, struct job_options *o);

/* Is an option given that only makes sense with a file? Its name, or NULL. */
const char *job_options_of_file(const struct job_options *o);

/* The view of the options that reading a file takes; valid as long as they are. */
struct read_options job_read_options(const struct job_options *o);

/* Changes the job as the options say. *ret lives in the arena. */
int job_adjust(struct arena *a, const struct job_options *o, const struct job_spec *spec,
               const struct job_spec **ret, struct changes *ret_changes, struct err *e);

/* What the options say about the place where the job runs. The caller adds the run's id and
 * directories, and the level of isolation if it is not "auto". */
/* --image names images (engine_class.has_images): "IMAGE", "ROLE=IMAGE", "*=IMAGE". */
void job_put_images(struct job_options *o);

struct survey_request job_survey(const struct job_options *o, const struct job_spec *spec,
                                 enum survey_use use);

/* Why run refuses the job although its file is fine: a role or an init container without a command,
 * an input that is not here. */
int job_runnable(const struct job_options *o, const struct job_spec *spec, struct err *e);

/* The part of job_runnable() that is about roles and init containers without a command
 * (job_entry.c). */
int job_commands_here(const struct job_options *o, const struct job_spec *spec, struct err *e);

#endif
