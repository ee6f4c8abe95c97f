/* job_file.c - fuzzes everything between a job file's bytes and its plan.
 *
 *     job_file --dialects          lists the dialects, one per line
 *     job_file --dialect=ID …      every document is lowered by that dialect
 *
 * Whatever the bytes are: no crash, no leak, every finding has a code, a place and a text, a spec
 * comes out if and only if there is no error, and a spec can be planned. At its end it says how
 * many documents were of the dialect and how many became specs: a fuzzer that never came there is
 * none. */
#include <string.h>

#include "base/cleanup.h"
#include "common.h"
#include "dialect/secret_lines.h"
#include "dialect/registry.h"
#include "doc/json_read.h"
#include "doc/yaml.h"
#include "plan/plan.h"

static const struct dialect *chosen;
static unsigned long n_seen, n_lowered, n_planned;

static void tell(void)
{
    fprintf(stderr, "fuzz: %s: %lu documents of it, %lu lowered, %lu planned\n", chosen->id, n_seen,
            n_lowered, n_planned);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char option[] = "--dialect=";

    chosen = dialects[0];
    for (int i = 1; i < *argc; i++) {
        if (strcmp((*argv)[i], "--dialects") == 0) {
            for (size_t k = 0; dialects[k]; k++)
                puts(dialects[k]->id);
            exit(0);
        }
        if (strncmp((*argv)[i], option, strlen(option)) == 0)
            chosen = dialect_by_id((*argv)[i] + strlen(option));
    }
    MUST(chosen);
    atexit(tell);
    return 0;
}

static void check_env(struct arena *a, const struct plan *plan, uint32_t process)
{
    const struct env_value *v;
    size_t n = plan_env(a, plan, process, FIRST_START, true, &v);

    for (size_t i = 0; i < n; i++)
        MUST(v[i].name[0] && !strchr(v[i].name, '=') && v[i].value);
}

/* What is accepted can be explained. Large jobs are left: they would only be slow. */
static void check_plan(struct arena *a, struct job_spec *spec)
{
    static const char *const environ_[] = {"PATH=/usr/bin:/bin", "HOME=/home/u", NULL};
    static const char *const interfaces[] = {"lo", NULL};
    struct facts facts = {
        .machine.cpus = 2,
        .site.isolation = "names",
        .site.run_id = "ID",
        .site.run_dir = "/run/ID",
        .site.scratch_dir = "/tmp/ID",
        .caller.dir = "/here",
        .caller.env = environ_,
        .site.interface = "lo",
        .site.interfaces = interfaces,
        .machine.mpi = MPI_OPEN_MPI_4,
        .machine.mpirun = "/usr/bin/mpirun",
        .machine.mpi_version = "4.1.4",
        .caller.user = "u",
    };
    const struct plan *plan = NULL;
    int32_t replicas = 0, processes = 0;
    struct err e;

    for (size_t i = 0; i < spec->n_roles; i++) {
        replicas += spec->roles[i].replicas;
        processes += spec->roles[i].replicas * spec->roles[i].slots;
    }
    if (replicas > 64 || processes > 256 || spec_n_ports(spec) > 256)
        return;
    spec->file = "x";
    spec->dir = "/jobs";
    facts.site.ports = ARENA_ARRAY(a, int, spec_n_ports(spec));
    facts.machine.workdir_ok = ARENA_ARRAY(a, bool, spec->n_roles);
    if (plan_build(a, spec, &facts, &plan, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        MUST(!"planned");
    }
    n_planned++;
    for (uint32_t i = 0; i < plan->n_processes; i++) {
        MUST(!plan->processes[i].argv || !plan->processes[i].shell);
        if (i == 0 || i + 1 == plan->n_processes)
            check_env(a, plan, i);
    }
}

static void check_spec(const struct job_spec *spec)
{
    MUST(spec->name && spec->dialect && spec->n_roles);
    MUST(!spec->mpi || (spec->mpi->program && spec->mpi->extra_args));
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *r = &spec->roles[i];

        MUST(r->name && r->name[0] && r->replicas >= 0 && r->slots >= 1);
        MUST(!r->argv || !r->shell);
        for (size_t k = 0; k < r->n_env; k++)
            MUST(r->env[k].name && r->env[k].value);
    }
}

static void lower(struct arena *a, const struct doc *doc, const struct node *root, struct diags *ds)
{
    struct read_options opts = {.keep_text = doc->source_len % 2};
    struct job_spec *spec = NULL;
    size_t before = ds->n_errors;
    enum verdict v;

    check_tree(root);
    dialect_sight(a, root);
    n_seen += chosen->detect(root);
    v = chosen->lower(a, &opts, doc, root, ds, &spec);
    MUST(v == VERDICT_ACCEPT || v == VERDICT_UNSUPPORTED);
    if (v == VERDICT_UNSUPPORTED)
        MUST(ds->n_errors > before);
    else
        MUST((spec != NULL) == (ds->n_errors == before));
    if (v == VERDICT_UNSUPPORTED || !spec)
        return;
    n_lowered++;
    check_spec(spec);
    check_plan(a, spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena struct arena *a = arena_new();
    const char *text = (const char *)data;
    struct diags ds;
    struct doc doc;
    bool json;

    diags_init(&ds, a);
    json = json_looks_like("x", text, size);
    if (json)
        json_read(a, "x", text, size, true, &ds, &doc);
    else
        yaml_read(a, "x", text, size, &ds, &doc);
    if (doc.broken)
        hide_secret_lines(&doc, json, &ds);
    for (size_t i = 0; i < doc.n_roots; i++)
        lower(a, &doc, doc.roots[i], &ds);
    check_diags(&doc, &ds);
    diags_release(&ds);
    return 0;
}
