/* mpi.c - the mpirun line and the hostfile, for Open MPI and for Hydra.
 *
 * Not here: variables that make mpirun work inside a run (env_mpi.c).
 */
#include "plan/mpi.h"

#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "plan/values.h"
#include "spec/mpi_options.h"

bool mpi_is_hydra(enum mpi_impl impl)
{
    return impl == MPI_HYDRA || impl == MPI_INTEL;
}

/* --- who calls it -------------------------------------------------------------------------------
 */

static bool in_word(char c)
{
    return c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

bool names_program(const char *text, const char *program)
{
    size_t n = strlen(program);

    for (const char *at = text; (at = strstr(at, program)); at += n)
        if ((at == text || (!in_word(at[-1]) && at[-1] != '.')) && !in_word(at[n]))
            return true;
    return false;
}

static bool text_calls_mpi(const char *text)
{
    static const char *const programs[] = {"mpirun", "mpiexec", "orterun", "horovodrun",
                                           "deepspeed"};

    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        if (names_program(text, programs[i]))
            return true;
    return false;
}

bool role_calls_mpi(const struct role *role)
{
    if (role->kind == ROLE_LAUNCHER || (role->shell && text_calls_mpi(role->shell)))
        return true;
    for (const char *const *word = role->argv; word && *word; word++)
        if (text_calls_mpi(*word))
            return true;
    return false;
}

bool spec_calls_mpi(const struct job_spec *spec)
{
    if (spec->framework == FRAMEWORK_MPI)
        return true;
    for (size_t i = 0; i < spec->n_roles; i++)
        if (role_calls_mpi(&spec->roles[i]))
            return true;
    return false;
}

/* --- layout -------------------------------------------------------------------------------------
 */

static int64_t np_said(const struct mpi_spec *mpi)
{
    int64_t np = 0;

    if (!mpi)
        return 0;
    for (const char *const *arg = mpi->extra_args; *arg;) {
        const struct mpi_option *o = mpi_option_of(*arg, NULL);
        size_t n = mpi_option_words(arg);
        int64_t value;

        if (o && o->meaning == MPI_MEANS_TOTAL && n == 2 && num_i64(arg[1], &value) == 0 &&
            value > 0)
            np = value;
        arg += n;
    }
    return np;
}

int64_t mpi_slots(const struct mpi_layout *layout, const struct role *role)
{
    return role->slots_kind == SLOTS_NUMBER ? role->slots : layout->default_slots;
}

bool mpi_is_host(const struct role *role)
{
    return role->kind == ROLE_HOST || role->hosts_ranks;
}

struct mpi_layout mpi_layout_of(const struct job_spec *spec)
{
    struct mpi_layout l = {.np = np_said(spec->mpi), .default_slots = 1};

    for (size_t i = 0; i < spec->n_roles; i++)
        if (mpi_is_host(&spec->roles[i]))
            l.hosts += spec->roles[i].replicas;
    /* Open MPI refuses more ranks than slots: without a number per host, -np has to fit. */
    if (l.np && l.hosts)
        l.default_slots = l.np / l.hosts + (l.np % l.hosts != 0);
    l.world = l.np;
    for (size_t i = 0; !l.np && i < spec->n_roles; i++)
        if (mpi_is_host(&spec->roles[i]))
            l.world += spec->roles[i].replicas * mpi_slots(&l, &spec->roles[i]);
    return l;
}

/* Without hosts made for it, mpirun may use every replica: as many ranks as it has GPUs. */
static int64_t plain_slots(const struct role *role)
{
    return role->res.gpu > 0 ? role->res.gpu : role->slots;
}

const char *mpi_hostfile_name(const struct facts *facts, bool hydra)
{
    if (hydra == mpi_is_hydra(facts->machine.mpi))
        return PLAN_HOSTFILE;
    return hydra ? PLAN_HOSTFILE_HYDRA : PLAN_HOSTFILE_OPEN_MPI;
}

const char *mpi_host_name(struct arena *a, const struct plan *plan, const struct replica *replica,
                          bool hydra)
{
    const char *service = replica->named ? plan_service(a, plan, replica) : NULL;

    if (service)
        return service;
    return hydra && !plan->facts->site.service ? replica->host : plan_reachable(replica);
}

const char *mpi_hostfile(struct arena *a, const struct plan *plan, bool hydra)
{
    struct mpi_layout layout = mpi_layout_of(plan->spec);
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *rp = &plan->replicas[i];
        bool host = layout.hosts ? mpi_is_host(rp->role) : rp->role->kind == ROLE_PLAIN;
        int64_t slots = layout.hosts ? mpi_slots(&layout, rp->role) : plain_slots(rp->role);

        if (host)
            strbuf_addf(&sb, "%s%s%lld\n", mpi_host_name(a, plan, rp, hydra),
                        hydra ? ":" : " slots=", (long long)slots);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

/* --- command line -------------------------------------------------------------------------------
 */

bool mpi_line_sets(const struct mpi_spec *mpi, const char *parameter)
{
    for (size_t i = 0; i < mpi->n_mca; i++)
        if (!strcmp(mpi->mca[i].name, parameter))
            return true;
    for (const char *const *arg = mpi->extra_args; *arg;) {
        const struct mpi_option *o = mpi_option_of(*arg, NULL);
        size_t n = mpi_option_words(arg);

        if (o && o->meaning == MPI_MEANS_PARAMETER && n == 3 && !strcmp(arg[1], parameter))
            return true;
        arg += n;
    }
    return false;
}

static void push_group(struct strvec *line, const char *const *args, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strvec_push(line, args[i]);
}

/* Remembers what is left out, for one note about all of it. */
static void leave_out(struct strbuf *left_out, const char *const *args, size_t n)
{
    if (left_out->len)
        strbuf_addstr(left_out, ", ");
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addch(left_out, ' ');
        strbuf_add_shell_word(left_out, args[i]);
    }
}

static bool has_images(const struct job_spec *spec, const struct facts *facts)
{
    for (size_t i = 0; facts->site.images && i < spec->n_roles; i++)
        if (facts->site.images[i].prefix)
            return true;
    return false;
}

static void open_mpi_line(struct strvec *line, const struct job_spec *spec,
                          const struct facts *facts, struct strbuf *left_out)
{
    const struct mpi_spec *mpi = spec->mpi;

    if (mpi->home && facts->machine.mpi_prefix_ok) {
        strvec_push(line, "--prefix");
        strvec_push(line, mpi->home);
    } else if (facts->machine.mpirun && has_images(spec, facts)) {
        /* Called by its path, mpirun puts its own directory before the image's in the ranks' PATH,
         * and with it the machine's Python. */
        strvec_push(line, "--noprefix");
    }
    strvec_push(line, "--hostfile");
    strvec_pushf(line, "%s/" PLAN_HOSTFILE, facts->site.run_dir);
    for (size_t i = 0; i < mpi->n_mca; i++)
        push_group(line, (const char *const[]){"-mca", mpi->mca[i].name, mpi->mca[i].value}, 3);
    for (const char *const *arg = mpi->extra_args; *arg;) {
        const struct mpi_option *o = mpi_option_of(*arg, NULL);
        size_t n = mpi_option_words(arg);

        if (o && o->meaning == MPI_MEANS_RECOVERY && facts->machine.mpi == MPI_OPEN_MPI_5)
            leave_out(left_out, arg, n);
        else
            push_group(line, arg, n);
        arg += n;
    }
}

static void hydra_option(struct strvec *line, const struct mpi_option *o, const char *const *args,
                         size_t n, struct strbuf *left_out)
{
    const char *equals;

    switch (o ? o->meaning : MPI_MEANS_OTHER) {
    case MPI_MEANS_TOTAL: /* the plan has written both numbers itself */
    case MPI_MEANS_PER_NODE:
    case MPI_MEANS_ONE_PER_NODE:
        break;
    case MPI_MEANS_MAP_BY: /* "ppr:N:node" is such a number; the others have no counterpart */
        if (n < 2 || strncmp(args[1], "ppr:", 4) != 0)
            leave_out(left_out, args, n);
        break;
    case MPI_MEANS_EXPORT: /* NAME=VALUE is -genv; a bare NAME needs nothing here */
        equals = n == 2 ? strchr(args[1], '=') : NULL;
        if (equals) {
            strvec_push(line, "-genv");
            strvec_pushf(line, "%.*s", (int)(equals - args[1]), args[1]);
            strvec_push(line, equals + 1);
        }
        break;
    case MPI_MEANS_PARAMETER:
    case MPI_MEANS_RECOVERY:
        leave_out(left_out, args, n);
        break;
    case MPI_MEANS_OTHER:
        if (o && o->of == MPI_OF_OPEN_MPI)
            leave_out(left_out, args, n);
        else
            push_group(line, args, n);
        break;
    }
}

static const struct role *first_host_role(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].kind == ROLE_HOST)
            return &spec->roles[i];
    return NULL;
}

static void hydra_line(struct strvec *line, const struct job_spec *spec, const struct facts *facts,
                       struct strbuf *left_out)
{
    const struct mpi_spec *mpi = spec->mpi;
    const struct role *hosts = first_host_role(spec);

    strvec_push(line, "-f");
    strvec_pushf(line, "%s/" PLAN_HOSTFILE, facts->site.run_dir);
    if (hosts && hosts->slots_kind == SLOTS_NUMBER) {
        strvec_push(line, "-ppn");
        strvec_pushf(line, "%d", hosts->slots);
    }
    strvec_push(line, "-n");
    strvec_pushf(line, "%lld", (long long)mpi_layout_of(spec).world);
    for (size_t i = 0; i < mpi->n_mca; i++)
        leave_out(left_out, (const char *const[]){"-mca", mpi->mca[i].name, mpi->mca[i].value}, 3);
    for (const char *const *arg = mpi->extra_args; *arg;) {
        const struct mpi_option *o = mpi_option_of(*arg, NULL);
        size_t n = mpi_option_words(arg);

        hydra_option(line, o, arg, n, left_out);
        arg += n;
    }
    strvec_pushf(line, "%s/" PLAN_BIN "/" PLAN_RANK_WRAPPER, facts->site.scratch_dir);
}

static const char *const *keep_argv(struct arena *a, const struct strvec *line)
{
    const char **argv = ARENA_ARRAY(a, const char *, line->n + 1);

    for (size_t i = 0; i < line->n; i++)
        argv[i] = arena_strdup(a, line->v[i]);
    return argv;
}

const char *const *mpi_command(struct arena *a, const struct job_spec *spec,
                               const struct facts *facts, struct notes *ns)
{
    auto_strvec struct strvec line = STRVEC_INIT;
    auto_strbuf struct strbuf left_out = STRBUF_INIT;

    strvec_push(&line, facts->machine.mpirun ? facts->machine.mpirun : "mpirun");
    if (mpi_is_hydra(facts->machine.mpi))
        hydra_line(&line, spec, facts, &left_out);
    else
        open_mpi_line(&line, spec, facts, &left_out);
    for (const char *const *word = spec->mpi->program; *word; word++)
        strvec_push(&line, values_fill(a, spec, facts, *word));
    if (left_out.len)
        note_add(ns, SEV_NOTE, "%s has no equivalent of %s; omitted",
                 mpi_impl_words(facts->machine.mpi), left_out.buf);
    return keep_argv(a, &line);
}
