/* submit_cluster.c - `muster submit --on kubernetes`: a file of any dialect becomes a MusterJob.
 *
 * All that `muster run --on kubernetes` would refuse is refused here, before anything is sent: the
 * job is adjusted, surveyed and planned in the same way. What the object cannot hold is told as
 * what `muster convert` loses, but a secret of the file is an error: the object would not have it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "cli/diagnose.h"
#include "cli/submit.h"
#include "cli/tell.h"
#include "dialect/convert/convert.h"
#include "dialect/muster/own_kind.h"
#include "doc/make.h"
#include "doc/yaml.h"
#include "kube/own.h"
#include "kube/write.h"

enum { NAME_BYTES = 40, SUFFIX_BYTES = 5 };

struct handover {
    struct arena *a;
    const struct engine_class *place;
    struct submit_options *o;
    const struct job_file *jf;
    const struct node **objects;
    size_t n;
};

/* --- one job ---------------------------------------------------------------------------------- */

/* An id is never used twice: the same file can be submitted again. */
static const char *new_name(struct arena *a, const char *of)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* no words */
    char suffix[SUFFIX_BYTES + 1] = "";

    for (size_t i = 0; i < SUFFIX_BYTES; i++)
        suffix[i] = letters[arc4random_uniform(sizeof(letters) - 1)];
    return arena_printf(a, "%s-%s", kube_name(a, arena_printf(a, "%.*s", NAME_BYTES, of)), suffix);
}

static int refuse(const struct err *e)
{
    tell_error("%s", e->text);
    return EXIT_FAILED;
}

/* Its own form, and what that lacks. */
static const struct node *convert(struct handover *s, const struct job_spec *source,
                                  const struct job_spec *spec)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct job_spec whole = *source;
    struct converting c = {
        .to = convert_target("muster"), .source = &whole, .spec = spec, .findings = &s->jf->diags};
    struct losses ls = {.a = s->a};
    struct diags ds;
    struct doc doc;
    struct err e;

    if (own_kind_is(source->root_at))
        whole.root_at = NULL; /* the object around it is made anew */
    if (job_convert(s->a, &c, &text, &ls, &e) < 0) {
        tell_error("%s", e.text);
        return NULL;
    }
    for (size_t i = 0; i < ls.n; i++) {
        if (strstr(ls.v[i].text, "***")) {
            tell_error("%s contains a secret of the job file, which is not stored in the cluster; "
                       "put it into a Secret and use it as a variable",
                       ls.v[i].path);
            return NULL;
        }
        tell_warning(arena_printf(s->a, "lost: %s: %s", ls.v[i].path, ls.v[i].text));
    }
    diags_init(&ds, s->a);
    int r = yaml_read(s->a, "job", arena_strndup(s->a, text.buf, text.len), text.len, &ds, &doc);
    diags_release(&ds);
    return r == 0 && doc.n_roots == 1 ? doc.roots[0] : NULL;
}

static void annotate(struct arena *a, struct node *object, const char *key, const char *text)
{
    if (text)
        make_put(a, make_below(a, make_below(a, object, "metadata"), "annotations"), key,
                 make_text(a, text));
}

/* What is no part of the job: where its data is. */
static void add_places(struct handover *s, struct node *object)
{
    auto_strbuf struct strbuf claims = STRBUF_INIT;
    const struct job_options *o = &s->o->job;

    for (size_t i = 0; i < o->claims.n; i++)
        strbuf_addf(&claims, "%s%s", i ? "\n" : "", o->claims.v[i]);
    if (claims.len > 0)
        annotate(s->a, object, OWN_CLAIMS, arena_strndup(s->a, claims.buf, claims.len));
    annotate(s->a, object, OWN_CODE_VOLUME, o->code_volume);
}

static int check_plan(struct handover *s, const struct job_spec *spec, struct survey *survey,
                      const struct plan **ret, struct err *e)
{
    struct survey_request rq = job_survey(&s->o->job, spec, SURVEY_RUN);
    int r = job_runnable(&s->o->job, spec, e);

    rq.run_id = "submit";
    rq.run_dir = rq.scratch_dir = "/";
    if (r == 0)
        r = s->place->survey(s->a, &rq, survey, e);
    if (r == 0)
        r = s->place->plan(s->a, spec, survey, ret, e);
    return r;
}

/* Data on this machine that nobody could send later. */
static int check_inputs(const struct plan *plan, struct err *e)
{
    const struct site *site = &plan->facts->site;

    for (size_t i = 0; site->inputs_from && i < plan->spec->n_values; i++)
        if (site->inputs_from[i])
            return err_set(e, -EINVAL,
                           "input %s is on this machine; put it on a volume claim and use --claim "
                           "%s=CLAIM",
                           plan->spec->values[i].name, plan->spec->values[i].name);
    return 0;
}

static int add_job(struct handover *s, const struct job_spec *source)
{
    const char *name = new_name(s->a, source->name), *code_name;
    const struct node *file, *code = NULL;
    const struct job_spec *spec;
    const struct plan *plan;
    struct survey survey = SURVEY_INIT;
    struct changes changes;
    struct node *object;
    struct err e;
    int r;

    if (job_adjust(s->a, &s->o->job, source, &spec, &changes, &e) < 0) {
        tell_error("%s: %s", s->jf->path, e.text);
        return EXIT_USAGE;
    }
    tell_changes(&changes);
    code_name = arena_printf(s->a, "%s-code", name);
    r = check_plan(s, spec, &survey, &plan, &e);
    if (r == 0)
        r = check_inputs(plan, &e);
    if (r == 0)
        r = s->place->pack(s->a, plan, code_name, "use --code-volume CLAIM", &code, &e);
    survey_release(&survey);
    if (r < 0)
        return refuse(&e);
    file = convert(s, source, spec);
    if (!file)
        return EXIT_FAILED;
    object = own_kind_object(s->a, file, name, s->o->job.namespace_ ? NULL : spec->namespace_);
    add_places(s, object);
    if (code) {
        annotate(s->a, object, OWN_CODE, code_name);
        s->objects[s->n++] = code;
    }
    s->objects[s->n++] = object;
    return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void sent(void *ctx, const struct node *object)
{
    (void)ctx;
    if (!own_kind_is(object))
        return;
    printf("%s\n", node_text(node_find(object, "metadata", "name", NULL), ""));
    (void)fflush(stdout);
}

static void told(void *ctx, const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    (void)ctx;
    strbuf_add_escaped(&safe, text, strlen(text));
    fprintf(stderr, "%s\n", safe.buf);
}

static void noted(void *ctx, const char *text)
{
    (void)ctx;
    tell_note(text);
}

/* ConfigMaps and Secrets come first: pods of the job refer to them. */
static void add_others(struct handover *s)
{
    for (size_t i = 0; i < s->jf->doc.n_roots; i++) {
        const struct node *root = s->jf->doc.roots[i];

        if (strcmp(node_text(node_get(root, "apiVersion"), ""), "v1") == 0)
            s->objects[s->n++] = root;
    }
}

static int send_all(struct handover *s)
{
    const struct engine_apply how = {.objects = s->objects,
                                     .n = s->n,
                                     .context = s->o->job.context,
                                     .namespace_ = s->o->job.namespace_,
                                     .wait = s->o->wait,
                                     .sent = sent,
                                     .told = told,
                                     .noted = noted};
    struct err e;
    int r = s->place->apply(&how, &e);

    if (r < 0)
        return refuse(&e);
    return r ? EXIT_FAILED : finish_output();
}

int submit_to_cluster(const struct engine_class *place, struct submit_options *o, const char *file)
{
    auto_arena struct arena *a = arena_new();
    const struct read_options how = job_read_options(&o->job);
    struct handover s = {.a = a, .place = place, .o = o};
    struct job_file jf;
    struct err e;
    int r = EXIT_USAGE;

    if (job_file_read(a, file, &how, &jf, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_USAGE;
    }
    print_diagnostics(&jf);
    s.jf = &jf;
    s.objects = ARENA_ARRAY(a, const struct node *, 3 * jf.doc.n_roots + 1);
    if (jf.verdict == VERDICT_ACCEPT) {
        add_others(&s);
        r = 0;
        for (size_t i = 0; i < jf.n_jobs && r == 0; i++)
            r = add_job(&s, jf.jobs[i]);
        if (r == 0)
            r = send_all(&s);
    }
    job_file_release(&jf);
    return r;
}
