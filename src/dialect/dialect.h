/* dialect.h - from a job file to job specs: find the dialect, lower it, collect every problem.
 *
 * A dialect is one row of the registry (registry.c) and one file. It decodes with bind tables
 * (doc/bind.h): the same table drives decoding, unknown-key hints and `explain`. It never sees an
 * engine and never does I/O; only job_file_read() opens a file.
 */
#ifndef DIALECT_DIALECT_H
#define DIALECT_DIALECT_H

#include "base/err.h"
#include "doc/bind.h"
#include "spec/spec.h"

enum verdict { VERDICT_ACCEPT, VERDICT_REJECT, VERDICT_UNSUPPORTED, VERDICT_NOTJOB };
const char *verdict_name(enum verdict v); /* "accept", … */

/* How a file is to be read: what options of the command line change about it. Zero is the default.
 */
struct read_options {
    const char *dialect;     /* id that overrides detection, or NULL */
    bool keep_text;          /* --no-rewrite: commands stay as they are written */
    bool skip_start_sleep;   /* drop a leading `sleep N &&` */
    int32_t gpus_per_node;   /* of an MPIJob v1alpha1 that gives only a total; 0 = 8 */
    const char *const *sets; /* PATH=VALUE, NULL-terminated; or NULL */
};

struct dialect {
    const char *id;    /* "t9k-mpi" */
    const char *title; /* what its files are, for lists and the manual: "TensorStack's MPIJob" */
    const struct bind_table *root_table; /* of a whole document: for `muster schema`; or NULL */
    /* Is this document's root of this dialect? Looks at the top level only. */
    bool (*detect)(const struct node *root);
    /* Lowers one document. Problems go to ds; *ret is the spec, or NULL if it cannot be built.
     * VERDICT_REJECT is decided by the caller from ds; the function returns VERDICT_ACCEPT or, for
     * a form that is recognised but not run, VERDICT_UNSUPPORTED (with an error in ds). */
    enum verdict (*lower)(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret);
};

extern const struct dialect kubeflow_mpi_v1alpha1, kubeflow_mpi_v1alpha2;
extern const struct dialect kubeflow_mpi_v1, kubeflow_mpi_v2beta1;
extern const struct dialect kubeflow_pytorch, kubeflow_tf;
extern const struct dialect t9k_mpi;
extern const struct dialect openpai_v1, openpai_v2;
extern const struct dialect azureml_preview, azureml;
extern const struct dialect muster_v1;
extern const struct dialect *const dialects[]; /* NULL-terminated */
const struct dialect *dialect_by_id(const char *id);

/* A job file, read. Everything but diags.v lives in the arena. */
struct job_file {
    const char *path;
    struct doc doc;
    enum verdict verdict;
    const char *dialect; /* id, or NULL if none was found */
    struct job_spec **jobs;
    size_t n_jobs;      /* 0 unless the verdict is VERDICT_ACCEPT */
    struct diags diags; /* sorted by place */
};

/* Reads path ("-" is stdin). A file that cannot be read is -errno with e set; a file that can be
 * read gives 0 whatever its verdict. */
int job_file_read(struct arena *a, const char *path, const struct read_options *opts,
                  struct job_file *ret, struct err *e);

/* The same from a copy of that file, below dirfd: all else is as if path still held it. */
int job_file_read_copy(struct arena *a, const char *path, int dirfd, const char *copy,
                       const struct read_options *opts, struct job_file *ret, struct err *e);

/* The same from the text that the file had. */
int job_file_read_kept(struct arena *a, const char *path, const char *text, size_t len,
                       const struct read_options *opts, struct job_file *ret, struct err *e);

/* A job that is in no file: the body of a request, an object of a cluster. */
struct job_text {
    const char *name;        /* what messages call it: "request", "mpijobs/pi" */
    const char *text;        /* YAML or JSON of len bytes; need not outlive the call */
    size_t len;              /* at most LIMIT_FILE_BYTES */
    const struct node *tree; /* or the document itself, which then has to outlive the job */
    const char *dir;         /* where relative paths of the job begin; NULL: "/" */
};

/* The same from memory; does no I/O. -E2BIG with e set for a text beyond the limit. */
int job_text_read(struct arena *a, const struct job_text *text, const struct read_options *opts,
                  struct job_file *ret, struct err *e);
void job_file_release(struct job_file *jf);

#endif
