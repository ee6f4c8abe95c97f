/* convert.c - see convert.h. */
#include "dialect/convert/convert.h"

#include <errno.h>
#include <string.h>

#include "doc/yaml.h"
#include "doc/yaml_write.h"

static const struct target targets[] = {
    {"mpijob", "kubeflow-mpi-v2beta1", raise_mpijob, false, PLATFORM_MPIJOB_V2BETA1},
    {"pytorchjob", "kubeflow-pytorch", raise_pytorchjob, true, PLATFORM_PYTORCHJOB},
    {"tfjob", "kubeflow-tf", raise_tfjob, false, PLATFORM_TFJOB},
    {"t9k", "t9k-mpi", raise_t9k, false, PLATFORM_T9K},
    {"muster", "muster-v1", raise_muster, false, PLATFORM_MUSTER},
};

const struct target *convert_target(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
        if (strcmp(targets[i].word, word) == 0 || strcmp(targets[i].id, word) == 0)
            return &targets[i];
    return NULL;
}

static bool same_facts(struct arena *a, const struct job_spec *x, const struct job_spec *y)
{
    struct spec_differences ds;

    spec_diff(a, x, y, NULL, 0, &ds);
    return ds.n == 0;
}

/* The dialect it was written in: the document itself, with the changes that options made. */
static const struct node *raise_own(struct arena *a, const struct converting *c, struct losses *ls)
{
    struct losses unused = {.a = a};
    const struct node *old, *new;
    size_t misfits = 0;

    if (same_facts(a, c->source, c->spec))
        return c->source->root_at;
    old = c->to->raise(a, c->source, &unused);
    new = c->to->raise(a, c->spec, ls);
    ls->n = 0; /* what raising leaves out is still in the document */
    return old && new ? make_merge(a, c->source->root_at, old, new, &misfits) : NULL;
}

/* Reads what was written. NULL with e set if it is not accepted. */
static const struct job_spec *read_again(struct arena *a, const char *id, const struct strbuf *text,
                                         struct err *e)
{
    const struct dialect *to = dialect_by_id(id);
    const struct read_options opts = {.keep_text = true};
    struct job_spec *spec = NULL;
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    yaml_read(a, "", text->buf, text->len, &ds, &doc);
    if (!doc.broken && doc.n_roots == 1)
        (void)to->lower(a, &opts, &doc, doc.roots[0], &ds, &spec);
    if (!spec || ds.n_errors) {
        const struct diag *first = NULL;

        for (size_t i = 0; i < ds.n && !first; i++)
            if (ds.v[i].severity == SEV_ERROR)
                first = &ds.v[i];
        (void)err_set(e, -EINVAL, "the result is not valid as %s: %s%s%s", to->id,
                      first ? first->path : "", first ? ": " : "",
                      first ? first->message : "it cannot be parsed");
        spec = NULL;
    }
    diags_release(&ds);
    return spec;
}

/* What a bare difference does not tell, by the end of its path. */
static const char *reason(const char *path)
{
    static const struct {
        const char *end, *why;
    } reasons[] = {
        {"openpai", ": processes do not get OpenPAI's variables"},
        {"retry.by_class", ": the target decides which failures are retried"},
        {".workdir", ": a directory next to the file is not part of an image"},
        {".min_succeeded", ": the target has its own rules for the end of a job"},
        {"framework", ": the command is the same, but gets other variables"},
    };
    size_t n = strlen(path);

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
        size_t k = strlen(reasons[i].end);

        if (n >= k && strcmp(path + n - k, reasons[i].end) == 0)
            return reasons[i].why;
    }
    return "";
}

static void add_differences(struct arena *a, const struct job_spec *spec,
                            const struct job_spec *again, struct losses *ls)
{
    struct spec_differences ds;

    spec_diff(a, spec, again, ls->roles, ls->n_roles, &ds);
    for (size_t i = 0; i < ds.n; i++)
        loss_add(ls, ds.v[i].path, "%s%s", ds.v[i].text, reason(ds.v[i].path));
}

int job_convert(struct arena *a, const struct converting *c, struct strbuf *out, struct losses *ret,
                struct err *e)
{
    bool own = c->source->root_at && strcmp(c->source->dialect, c->to->id) == 0;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct job_spec *again, *spec = c->spec;
    const struct node *root;

    *ret = (struct losses){.a = a};
    if (!own)
        spec = resolve_job(a, spec, ret);
    if (c->to->torchrun)
        spec = raise_with_torchrun(a, spec);
    root = own ? raise_own(a, c, ret) : c->to->raise(a, spec, ret);
    if (!root)
        return err_set(e, -ENOTSUP, "%s", ret->refusal ? ret->refusal : "it cannot be expressed");
    yaml_write(&text, root);
    again = read_again(a, c->to->id, &text, e);
    if (!again)
        return -EINVAL;
    add_differences(a, spec, again, ret);
    if (!own)
        source_losses_find(a, c, ret);
    strbuf_add(out, text.buf, text.len);
    return 0;
}
