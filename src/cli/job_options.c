/* job_options.c - see job_options.h. Not here: what the options change (doc/edit.c, spec/adjust.c).
 */
#include "cli/job_options.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/num.h"
#include "doc/bind.h"
#include "doc/edit.h"
#include "doc/yaml.h"

#define AT(field) offsetof(struct job_options, field)

const struct opt job_read_opts[] = {
    {"set", 0, OPT_STRINGS, AT(sets), "PATH=VALUE",
     .help = "override a value of the file: spec.worker.replicas=2"},
    {"dialect", 0, OPT_STRING, AT(dialect), "ID", .help = "read the file as this dialect"},
    {"gpus-per-node", 0, OPT_INT, AT(gpus_per_node), "N", .min = 1,
     .help = "set the GPUs per node of an MPIJob v1alpha1 that gives a total (default 8)"},
    {"no-rewrite", 0, OPT_FLAG, AT(no_rewrite),
     .help = "run commands as written, without corrections"},
    {"skip-start-sleep", 0, OPT_FLAG, AT(skip_start_sleep),
     .help = "drop a leading `sleep N &&`; replicas start together anyway"},
    OPT_END,
};

const struct opt job_here_opts[] = {
    {"scale", 0, OPT_STRINGS, AT(scale), "ROLE=N", .help = "set the number of replicas of a role"},
    {"nproc", 0, OPT_STRINGS, AT(nproc), "ROLE=N",
     .help = "set the number of processes per replica of a role"},
    {"fit", 0, OPT_FLAG, AT(fit), .help = "shrink the job until it fits this machine"},
    {"gpus", 0, OPT_INT, AT(gpus), "N",
     .help = "count N GPUs as available; processes do not see them"},
    {"require-gpus", 0, OPT_FLAG, AT(require_gpus),
     .help = "refuse to run with fewer GPUs than requested"},
    {"inventory", 0, OPT_STRING, AT(inventory), "FILE",
     .help = "read {cpus, memory, gpus} from FILE instead of this machine"},
    {"entrypoint", 0, OPT_STRINGS, AT(entrypoint), "[ROLE=]CMD",
     .help = "set the command of a role that runs its image's entry point"},
    {"image", 0, OPT_STRINGS, AT(images), "NAME=PLACE",
     .help = "use a virtual or conda environment (or host) in place of an image"},
    {"debug", 0, OPT_WORDS, AT(debug), "ROLE",
     .help = "start the replicas (of ROLE) without their commands"},
    {"workdir", 0, OPT_STRING, AT(workdir), "DIR", .help = "run every role in DIR"},
    {"map", 0, OPT_STRINGS, AT(map), "PATH=HERE",
     .help = "use HERE in place of a container path or of an input"},
    {"overlay", 0, OPT_FLAG, AT(overlay),
     .help = "discard what the job changes outside its working directory and volumes"},
    {"keep-overlay", 0, OPT_STRING, AT(keep_overlay), "DIR",
     .help = "keep these changes in DIR; implies --overlay"},
    {"private-workdir", 0, OPT_FLAG, AT(private_workdir),
     .help = "give each replica its own copy of the working directory; implies --overlay"},
    {"no-restart", 0, OPT_FLAG, AT(no_restart),
     .help = "start everything once, without restarts and retries"},
    {"volume", 0, OPT_STRINGS, AT(volumes), "NAME=PATH",
     .help = "use PATH in place of a volume or a volume claim"},
    {"skip-init", 0, OPT_WORDS, AT(skip_init), "NAME",
     .help = "skip this init container, or all of them"},
    {"secrets", 0, OPT_STRING, AT(secrets), "DIR",
     .help = "read values of secrets from DIR/NAME/KEY; they are never shown"},
    {"configmaps", 0, OPT_STRING, AT(configmaps), "DIR",
     .help = "read values of config maps from DIR/NAME/KEY"},
    {"inherit-env", 0, OPT_STRINGS, AT(inherit_env), "PATTERN",
     .help = "pass on these variables of the caller as well"},
    {"context", 0, OPT_STRING, AT(context), "NAME",
     .help = "--on kubernetes: use this context of the kubeconfig"},
    {"namespace", 0, OPT_STRING, AT(namespace_), "NAME",
     .help = "--on kubernetes: use this namespace"},
    {"code", 0, OPT_STRING, AT(code), "DIR",
     .help = "--on kubernetes: send this directory to the pods and run in it"},
    {"code-volume", 0, OPT_STRING, AT(code_volume), "CLAIM[:SUBPATH]",
     .help = "--on kubernetes: mount this claim as the code directory"},
    {"claim", 0, OPT_STRINGS, AT(claims), "NAME=CLAIM[:SUBPATH]",
     .help = "--on kubernetes: mount this claim as a volume, an input or an output"},
    {"gang-scheduling", 0, OPT_STRING, AT(gang), "NAME",
     .help = "--on kubernetes: this scheduler starts all pods or none; makes a PodGroup"},
    {"clean-env", 0, OPT_FLAG, AT(clean_env),
     .help = "pass on only PATH, HOME, USER, LANG and TERM"},
    OPT_END,
};

void job_options_release(struct job_options *o)
{
    struct strvec *lists[] = {&o->sets,    &o->scale,       &o->nproc,     &o->entrypoint,
                              &o->map,     &o->inherit_env, &o->images,    &o->maps,
                              &o->volumes, &o->volumes_abs, &o->skip_init, &o->debug,
                              &o->claims,  &o->put_images};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        strvec_release(lists[i]);
    free(o->workdir_abs);
    free(o->keep_overlay_abs);
    free(o->code_abs);
}

/* --- checks -------------------------------------------------------------------------------------
 */

static int check_dialect(const struct verb *verb, const char *id)
{
    const char *ids[32] = {NULL}, *near;

    if (!id || dialect_by_id(id))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(ids) && dialects[i]; i++)
        ids[i] = dialects[i]->id;
    near = nearest_word(id, ids, ARRAY_SIZE(ids));
    return usage_error(verb, "unknown dialect \"%s\"%s%s%s", id, near ? ", did you mean \"" : "",
                       near ? near : "", near ? "\"?" : "");
}

/* Options are meant from where the user is, not from where the job file is. */
static int check_workdir(const struct verb *verb, struct job_options *o)
{
    struct stat st;

    if (!o->workdir)
        return 0;
    o->workdir_abs = realpath(o->workdir, NULL);
    if (!o->workdir_abs)
        return usage_error(verb, "--workdir %s: %s", o->workdir, strerror(errno));
    if (stat(o->workdir_abs, &st) < 0 || !S_ISDIR(st.st_mode))
        return usage_error(verb, "--workdir %s: not a directory", o->workdir);
    return 0;
}

/* CLAIM[:SUBPATH]: a directory of the claim, as a pod names one. */
static bool is_claim(const char *text)
{
    size_t n = strcspn(text, ":");
    const char *sub = text[n] ? text + n + 1 : NULL;

    if (n == 0 || n != strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-."))
        return false;
    return !sub || (*sub && *sub != '/');
}

static int check_claims(const struct verb *verb, const struct job_options *o)
{
    if (o->claims.n > LIMIT_VOLUME_OPTIONS)
        return usage_error(verb, "--claim can be given at most %d times", LIMIT_VOLUME_OPTIONS);
    for (size_t i = 0; i < o->claims.n; i++) {
        const char *text = o->claims.v[i], *equals = strchr(text, '=');

        if (!equals || equals == text || !is_claim(equals + 1))
            return usage_error(verb, "--claim must be NAME=CLAIM or NAME=CLAIM:SUBPATH, not \"%s\"",
                               text);
    }
    return 0;
}

static int check_code(const struct verb *verb, struct job_options *o)
{
    struct stat st;

    if (o->code && o->code_volume)
        return usage_error(verb, "--code and --code-volume cannot be used together");
    if (o->code_volume && !is_claim(o->code_volume))
        return usage_error(verb, "--code-volume must be CLAIM or CLAIM:SUBPATH, not \"%s\"",
                           o->code_volume);
    if (!o->code)
        return 0;
    o->code_abs = realpath(o->code, NULL);
    if (!o->code_abs)
        return usage_error(verb, "--code %s: %s", o->code, strerror(errno));
    if (stat(o->code_abs, &st) < 0 || !S_ISDIR(st.st_mode))
        return usage_error(verb, "--code %s: not a directory", o->code);
    return 0;
}

/* Said before anything is read: a job without secrets would not notice. */
static int check_values(const struct verb *verb, const struct job_options *o)
{
    const struct {
        const char *option, *dir;
    } rows[] = {{"secrets", o->secrets}, {"configmaps", o->configmaps}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stat st;

        if (!rows[i].dir)
            continue;
        if (stat(rows[i].dir, &st) < 0)
            return usage_error(verb, "--%s %s: %s", rows[i].option, rows[i].dir, strerror(errno));
        if (!S_ISDIR(st.st_mode))
            return usage_error(verb, "--%s %s: not a directory", rows[i].option, rows[i].dir);
    }
    return 0;
}

static int check_maps(const struct verb *verb, struct job_options *o)
{
    for (size_t i = 0; i < o->map.n; i++) {
        const char *text = o->map.v[i];
        const char *equals = *text == '/' ? strchr(text, '=') : strrchr(text, '=');
        const char *colon = strchr(text, ':');

        if (!equals || equals == text || !equals[1])
            return usage_error(verb, "--map must be CONTAINER_PATH=HOST_PATH, not \"%s\"", text);
        if (*text != '/' && (!colon || colon > equals))
            return usage_error(verb,
                               "--map %s: the container path must be absolute, or the address of "
                               "an input (azureml:NAME:1=PATH); to set an input by its name: "
                               "--set inputs.NAME.path=PATH",
                               text);

        auto_free char *here = realpath(equals + 1, NULL);

        if (!here)
            return usage_error(verb, "--map %s: %s: %s", text, equals + 1, strerror(errno));
        strvec_pushf(&o->maps, "%.*s=%s", (int)(equals - text), text, here);
    }
    return 0;
}

static int check_volumes(const struct verb *verb, struct job_options *o)
{
    if (o->volumes.n > LIMIT_VOLUME_OPTIONS)
        return usage_error(verb, "--volume can be given at most %d times", LIMIT_VOLUME_OPTIONS);
    for (size_t i = 0; i < o->volumes.n; i++) {
        const char *text = o->volumes.v[i], *equals = strchr(text, '=');

        if (!equals || equals == text || !equals[1])
            return usage_error(verb, "--volume must be NAME=PATH, not \"%s\"", text);

        auto_free char *here = realpath(equals + 1, NULL);

        if (!here)
            return usage_error(verb, "--volume %s: %s: %s", text, equals + 1, strerror(errno));
        strvec_pushf(&o->volumes_abs, "%.*s=%s", (int)(equals - text), text, here);
    }
    return 0;
}

/* Made here if it is missing, so that the user's rights count, and a slip shows before anything
 * starts. */
static int check_overlay(const struct verb *verb, struct job_options *o)
{
    struct stat st;
    const char *slash;

    o->overlay = o->overlay || o->private_workdir || o->keep_overlay;
    if (!o->keep_overlay)
        return 0;
    if (stat(o->keep_overlay, &st) == 0) {
        auto_close int fd = open(o->keep_overlay, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool empty;

        if (fd < 0)
            return usage_error(verb, "--keep-overlay %s: %s", o->keep_overlay, strerror(errno));
        if (io_dir_is_empty(fd, &empty) < 0 || !empty)
            return usage_error(verb, "--keep-overlay %s: directory is not empty", o->keep_overlay);
        o->keep_overlay_abs = realpath(o->keep_overlay, NULL);
        return 0;
    }
    slash = strrchr(o->keep_overlay, '/');
    auto_free char *parent =
        slash ? xstrndup(o->keep_overlay, (size_t)(slash - o->keep_overlay) + 1) : xstrdup(".");
    auto_free char *above = realpath(parent, NULL);

    if (!above || !*(slash ? slash + 1 : o->keep_overlay))
        return usage_error(verb, "--keep-overlay %s: %s", o->keep_overlay, strerror(errno));
    o->keep_overlay_abs = xasprintf("%s/%s", above, slash ? slash + 1 : o->keep_overlay);
    return 0;
}

static int check_patterns(const struct verb *verb, const struct job_options *o)
{
    for (size_t i = 0; i < o->inherit_env.n; i++) {
        const char *pattern = o->inherit_env.v[i];

        if (!*pattern || strchr(pattern, '='))
            return usage_error(verb, "--inherit-env must be a name such as WANDB_*, not \"%s\" %s",
                               pattern, "(set values in the job file)");
    }
    return 0;
}

/* --- --inventory --------------------------------------------------------------------------------
 */

struct inventory {
    const struct node *at;
    int32_t cpus, gpus;
    const struct node *memory;
};

static const struct bind_field inventory_fields[] = {
    {.key = "cpus",
     .kind = BIND_INT,
     .offset = offsetof(struct inventory, cpus),
     .min = 1,
     .max = LIMIT_PROCESSES},
    {.key = "gpus",
     .kind = BIND_INT,
     .offset = offsetof(struct inventory, gpus),
     .min = 0,
     .max = LIMIT_PROCESSES,
     .def = -1},
    {.key = "memory", .kind = BIND_NODE, .offset = offsetof(struct inventory, memory)},
};
static const struct bind_table inventory_table =
    BIND_TABLE("the inventory", struct inventory, inventory_fields);

static void take_inventory(struct job_options *o, const struct inventory *inv, struct diags *ds)
{
    o->cpus_here = inv->cpus;
    if (o->gpus < 0)
        o->gpus = inv->gpus;
    if (inv->memory && (inv->memory->type == NODE_SEQ || inv->memory->type == NODE_MAP ||
                        quantity_units(inv->memory->text, &o->memory_here) < 0))
        diag_at(ds, inv->memory, "E0204", NULL, "memory must be a quantity such as 64Gi");
}

static int read_inventory(const struct verb *verb, struct job_options *o)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_arena struct arena *a = arena_new();
    CLEANUP(diags_release) struct diags ds = {.arena = a};
    struct binder b = {.a = a, .ds = &ds, .root = &inventory_table};
    struct doc doc;
    struct err e;

    if (!o->inventory)
        return 0;
    if (io_read_file(AT_FDCWD, o->inventory, LIMIT_FILE_BYTES, &text, &e) < 0)
        return usage_error(verb, "--inventory: %s", e.text);
    if (yaml_read(a, o->inventory, text.buf, text.len, &ds, &doc) == 0 && doc.n_roots == 1) {
        const struct inventory *inv = bind_map(&b, &inventory_table, doc.roots[0]);

        if (inv)
            take_inventory(o, inv, &ds);
    } else if (ds.n_errors == 0) {
        return usage_error(verb, "--inventory %s: must be one mapping {cpus, memory, gpus}",
                           o->inventory);
    }
    for (size_t i = 0; i < ds.n; i++)
        diag_print(stderr, o->inventory, &doc, &ds.v[i], want_colour(stderr));
    return ds.n_errors ? verb->usage_exit : 0;
}

static int check_sets(const struct verb *verb, const struct job_options *o)
{
    auto_arena struct arena *a = arena_new();
    const struct edit *edit;
    struct err e;

    for (size_t i = 0; i < o->sets.n; i++)
        if (edit_parse(a, o->sets.v[i], &edit, &e) < 0)
            return usage_error(verb, "%s", e.text);
    return 0;
}

static int check_gpus(const struct verb *verb, const struct job_options *o)
{
    if (o->gpus > LIMIT_PROCESSES || o->gpus_per_node > LIMIT_SLOTS)
        return usage_error(verb, "at most %d GPUs, %d in a node", LIMIT_PROCESSES, LIMIT_SLOTS);
    if (o->gpus >= 0 && o->require_gpus)
        return usage_error(verb, "--gpus and --require-gpus cannot be used together");
    return 0;
}

int job_options_check(const struct verb *verb, struct job_options *o)
{
    int code = check_dialect(verb, o->dialect);

    if (!code)
        code = check_sets(verb, o);
    if (!code)
        code = check_gpus(verb, o);
    if (!code)
        code = check_workdir(verb, o);
    if (!code)
        code = check_code(verb, o);
    if (!code)
        code = check_claims(verb, o);
    if (!code)
        code = check_values(verb, o);
    if (!code)
        code = check_maps(verb, o);
    if (!code)
        code = check_volumes(verb, o);
    if (!code)
        code = check_patterns(verb, o);
    if (!code)
        code = check_overlay(verb, o);
    return code ? code : read_inventory(verb, o);
}

const char *job_options_of_file(const struct job_options *o)
{
    const struct {
        bool given;
        const char *name;
    } given[] = {
        {o->sets.n > 0, "set"},
        {o->dialect != NULL, "dialect"},
        {o->gpus_per_node > 0, "gpus-per-node"},
        {o->no_rewrite, "no-rewrite"},
        {o->skip_start_sleep, "skip-start-sleep"},
        {o->scale.n > 0, "scale"},
        {o->nproc.n > 0, "nproc"},
        {o->fit, "fit"},
        {o->entrypoint.n > 0, "entrypoint"},
        {o->map.n > 0, "map"},
        {o->volumes.n > 0, "volume"},
        {o->claims.n > 0, "claim"},
        {o->skip_init.n > 0, "skip-init"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(given); i++)
        if (given[i].given)
            return given[i].name;
    return NULL;
}

/* --- passing on ---------------------------------------------------------------------------------
 */

static const char *const *list_of(const struct strvec *sv)
{
    return (const char *const *)sv->v;
}

struct read_options job_read_options(const struct job_options *o)
{
    return (struct read_options){
        .dialect = o->dialect,
        .keep_text = o->no_rewrite,
        .skip_start_sleep = o->skip_start_sleep,
        .gpus_per_node = (int32_t)o->gpus_per_node,
        .sets = list_of(&o->sets),
    };
}

int job_adjust(struct arena *a, const struct job_options *o, const struct job_spec *spec,
               const struct job_spec **ret, struct changes *ret_changes, struct err *e)
{
    const struct adjustments adj = {
        .scale = list_of(&o->scale),
        .nproc = list_of(&o->nproc),
        .entrypoint = list_of(&o->entrypoint),
        .map = list_of(&o->maps),
        .image = list_of(&o->put_images),
        .debug = list_of(&o->debug),
        .workdir = o->workdir_abs,
        .fit = o->fit,
        .no_restart = o->no_restart,
        .cpus = o->cpus_here ? (int)o->cpus_here : (int)sysconf(_SC_NPROCESSORS_ONLN),
        .gpus = o->gpus > 0 ? (int)o->gpus : -1,
    };

    return spec_adjust(a, spec, &adj, ret, ret_changes, e);
}

void job_put_images(struct job_options *o)
{
    for (size_t i = 0; i < o->images.n; i++)
        strvec_push(&o->put_images, o->images.v[i]);
    strvec_release(&o->images);
    o->images = (struct strvec)STRVEC_INIT;
}

struct survey_request job_survey(const struct job_options *o, const struct job_spec *spec,
                                 enum survey_use use)
{
    return (struct survey_request){
        .use = use,
        .spec = spec,
        .isolate = "auto",
        .images = list_of(&o->images),
        .volumes = list_of(&o->volumes_abs),
        .secrets = o->secrets,
        .configmaps = o->configmaps,
        .maps = o->maps.n ? list_of(&o->maps) : NULL,
        .skip_init = o->skip_init.n ? list_of(&o->skip_init) : NULL,
        .inherit_env = o->inherit_env.n ? list_of(&o->inherit_env) : NULL,
        .clean_env = o->clean_env,
        .overlay = o->overlay,
        .private_workdir = o->private_workdir,
        .keep_overlay = o->keep_overlay_abs,
        .cpus = (int)o->cpus_here,
        .memory = o->memory_here,
        .gpus = (int)o->gpus,
        .require_gpus = o->require_gpus,
        .code = o->code_abs,
        .code_volume = o->code_volume,
        .claims = o->claims.n ? list_of(&o->claims) : NULL,
        .gang = o->gang,
        .context = o->context,
        .namespace_ = o->namespace_,
    };
}

/* Inputs of a command: those that are elsewhere are not fetched, and none may be missing. */
static int inputs_here(const struct job_options *o, const struct job_spec *spec, struct err *e)
{
    for (size_t i = 0; i < spec->n_values; i++) {
        const struct job_value *v = &spec->values[i];

        if (v->kind != VALUE_INPUT || v->direct || v->here || !spec_names_value(spec, v) ||
            survey_claim(list_of(&o->claims), v->name))
            continue;
        if (v->remote)
            return err_set(e, -ENOENT,
                           "input %s is not available locally; use --map %s=PATH, or with --on "
                           "kubernetes --claim %s=CLAIM",
                           v->name, v->text, v->name);

        auto_free char *path = xasprintf("%s/%s", *v->text == '/' ? "" : spec->dir, v->text);

        if (access(path, F_OK) < 0)
            return err_sys(e, -errno, "input %s: cannot use %s", v->name, path);
    }
    return 0;
}

/* An option that names nothing is a slip of the hand. */
static int init_runnable(const struct job_options *o, const struct job_spec *spec, struct err *e)
{
    for (size_t n = 0; n < o->skip_init.n; n++) {
        bool found = !*o->skip_init.v[n];

        for (size_t k = 0; k < spec->n_roles; k++)
            for (size_t i = 0; i < spec->roles[k].n_init; i++)
                found = found || !strcmp(spec->roles[k].init[i].name, o->skip_init.v[n]);
        if (!found)
            return err_set(e, -EINVAL, "--skip-init=%s: no role has an init container of this name",
                           o->skip_init.v[n]);
    }
    return 0;
}

int job_runnable(const struct job_options *o, const struct job_spec *spec, struct err *e)
{
    int r = job_commands_here(o, spec, e);

    if (r == 0)
        r = inputs_here(o, spec, e);
    return r < 0 ? r : init_runnable(o, spec, e);
}
