/* job_file.c - jobs from a file and from memory: the same texts, the same findings. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/tap.h"
#include "dialect/dialect.h"
#include "doc/json_read.h"
#include "doc/yaml.h"
#include "spec/diff.h"

static const char yaml[] =
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n"
    "  pytorchReplicaSpecs:\n    Worker:\n      replicas: 2\n      template:\n"
    "        spec: {containers: [{name: pytorch, image: i, command: [x]}]}\n";
static const char json[] = "{\"jobName\": \"j\", \"image\": \"i\", // as OpenPAI takes it\n "
                           "\"taskRoles\": [{\"name\": \"w\", "
                           "\"taskNumber\": 2, \"cpuNumber\": 1, \"memoryMB\": 100, \"gpuNumber\": "
                           "0, \"command\": \"x\"}]}";
static const char list[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"},{\"kind\":\"Pod\"}]}";
static const struct read_options plain = {0};

static const struct role no_role;
static const struct job_spec no_job = {.roles = &no_role};

static const struct job_spec *only_job(const struct job_file *jf)
{
    return jf->verdict == VERDICT_ACCEPT && jf->n_jobs == 1 && jf->jobs ? jf->jobs[0] : &no_job;
}

static int read_memory(struct arena *a, const char *text, const struct read_options *opts,
                       struct job_file *ret)
{
    struct err e;

    return job_text_read(
        a, &(struct job_text){.name = "request", .text = text, .len = strlen(text), .dir = "/jobs"},
        opts, ret, &e);
}

static void test_texts(struct arena *a)
{
    struct job_file jf;

    is_int(read_memory(a, yaml, &plain, &jf), 0, "YAML from memory");
    is_str(jf.dialect, "kubeflow-pytorch", "its dialect is found");
    if (ok(only_job(&jf) != &no_job, "it is a job")) {
        is_str(only_job(&jf)->dir, "/jobs", "with the directory that the caller names");
        is_str(only_job(&jf)->file, "request", "and the name");
    }
    job_file_release(&jf);

    is_int(read_memory(a, json, &plain, &jf), 0, "JSON, without a name that says so");
    is_str(jf.dialect, "openpai-v1", "with comments");
    ok(only_job(&jf) != &no_job, "it is a job, too");
    job_file_release(&jf);

    is_int(read_memory(a, "apiVersion: muster/v1\nname: j\nrole: {}\n", &plain, &jf), 0,
           "a bad one");
    ok(jf.verdict == VERDICT_REJECT && jf.n_jobs == 0, "is rejected");
    ok(jf.diags.n > 0 && jf.diags.v[0].pos.line == 3, "with the place in the text");
    job_file_release(&jf);
}

/* A text and a file of the same bytes are the same job. */
static void test_same_as_file(struct arena *a)
{
    char path[] = "/tmp/job_file.XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    struct job_file file, text;
    struct spec_differences ds;
    struct err e;

    ok(fd >= 0 && write(fd, yaml, strlen(yaml)) == (ssize_t)strlen(yaml), "a file is written");
    (void)close(fd);
    is_int(job_file_read(a, path, &plain, &file, &e), 0, "a file is read");
    is_int(read_memory(a, yaml, &plain, &text), 0, "and its bytes");
    spec_diff(a, only_job(&file), only_job(&text), NULL, 0, &ds);
    ok(only_job(&file) != &no_job && ds.n == 0, "both are the same job");
    is_str(only_job(&file)->dir, "/tmp", "the file's has its directory");
    job_file_release(&file);
    job_file_release(&text);
    (void)unlink(path);
}

static void test_trees(struct arena *a)
{
    static const char *const sets[] = {"spec.pytorchReplicaSpecs.Worker.replicas=5", NULL};
    const struct read_options changed = {.sets = sets};
    struct job_text tree = {.name = "pytorchjobs/j"};
    struct job_file jf;
    struct diags ds;
    struct doc doc;
    struct err e;

    diags_init(&ds, a);
    yaml_read(a, "x", yaml, strlen(yaml), &ds, &doc);
    tree.tree = doc.roots[0];
    is_int(job_text_read(a, &tree, &plain, &jf, &e), 0, "a tree that is there already");
    if (ok(only_job(&jf) != &no_job, "is a job")) {
        is_int(only_job(&jf)->roles[0].replicas, 2, "as it is");
        is_str(only_job(&jf)->dir, "/", "of no directory");
        ok(only_job(&jf)->root_at == doc.roots[0], "the tree is not copied");
    }
    job_file_release(&jf);
    is_int(job_text_read(a, &tree, &changed, &jf, &e), 0, "with --set");
    is_int(only_job(&jf)->roles[0].replicas, 5, "it is changed");
    is_str(node_find(doc.roots[0], "spec", "pytorchReplicaSpecs", "Worker", "replicas", NULL)->text,
           "2", "but not the caller's tree");
    job_file_release(&jf);

    /* What a cluster's list answers. */
    tree.tree = json_node(a, list, strlen(list));
    is_int(job_text_read(a, &tree, &plain, &jf, &e), 0, "a List");
    ok(jf.verdict == VERDICT_NOTJOB && jf.doc.n_roots == 2, "is as many documents");
    job_file_release(&jf);
    diags_release(&ds);
}

static void test_refusals(struct arena *a)
{
    auto_free char *big = xcalloc(LIMIT_FILE_BYTES + 2, 1);
    struct read_options unknown = {.dialect = "none"};
    struct job_file jf;
    struct err e;

    memset(big, '#', LIMIT_FILE_BYTES + 1);
    is_int(job_text_read(a, &(struct job_text){.name = "request", .text = big, .len = strlen(big)},
                         &plain, &jf, &e),
           -E2BIG, "a text beyond the limit");
    has(e.text, "1048576", "which is named");
    is_int(
        job_text_read(a, &(struct job_text){.name = "r", .text = "", .len = 0}, &unknown, &jf, &e),
        -EINVAL, "a dialect that there is not");
    is_int(read_memory(a, "", &plain, &jf), 0, "an empty text");
    is_int(jf.verdict, VERDICT_NOTJOB, "is no job");
    job_file_release(&jf);
}

int main(void)
{
    struct arena *a = arena_new();

    test_texts(a);
    test_same_as_file(a);
    test_trees(a);
    test_refusals(a);
    arena_free(a);
    return tap_done();
}
