/* job_file.c - a job file from its path, or a text in memory, to its specs: the one place of this
 * room that does I/O. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "dialect/config_objects.h"
#include "dialect/secret_lines.h"
#include "dialect/registry.h"
#include "doc/edit.h"
#include "doc/json_read.h"
#include "doc/yaml.h"

static int read_text(const char *path, struct strbuf *sb, struct err *e)
{
    if (strcmp(path, "-") == 0)
        return io_read_fd(STDIN_FILENO, "standard input", LIMIT_FILE_BYTES, sb, e);
    return io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, sb, e);
}

/* The directory that relative paths of the job are meant from. */
static const char *directory_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    auto_free char *dir = NULL, *real = NULL;

    dir = slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
    real = realpath(dir, NULL);
    return arena_strdup(a, real ? real : dir);
}

/* --- one document --------------------------------------------------------------------------- */

static void tell_unsupported(struct job_file *jf, const struct sighting *s)
{
    const char *known = s->id ? arena_printf(jf->diags.arena, " (%s)", s->id) : "";

    diag_at(&jf->diags, s->at, "E0111", s->hint, "%s%s is not supported%s", s->words, known,
            s->id ? " yet" : "");
}

static void tell_notjob(struct job_file *jf, const struct sighting *s, bool among_jobs,
                        const struct node *document)
{
    const struct node *root = s->at;
    const char *values = config_objects_words(jf->diags.arena, document);

    if (among_jobs && values)
        diag_at(&jf->diags, root, "N0306", NULL, "%s is not a job; its values are used", values);
    else if (among_jobs)
        diag_at(&jf->diags, root, "N0306", NULL, "%s is not a job; ignored",
                s->words ? s->words : "this document");
    else if (s->words)
        diag_at(&jf->diags, root, "E0110", s->hint, "%s is not a job of a known kind", s->words);
    else if (root->type != NODE_MAP)
        diag_at(&jf->diags, root, "E0110", NULL, "a job is a mapping, not %s",
                node_words(jf->diags.arena, root));
    else
        diag_at(&jf->diags, root, "E0110", s->hint, "this is not a job of a known kind");
}

/* What one document adds to the file's verdict. */
static enum verdict read_document(struct arena *a, const struct read_options *opts,
                                  struct job_file *jf, const struct sighting *s,
                                  const struct node *root)
{
    size_t before = jf->diags.n_errors;
    struct job_spec *spec = NULL;
    enum verdict v = s->dialect->lower(a, opts, &jf->doc, root, &jf->diags, &spec);

    if (v != VERDICT_ACCEPT)
        return v;
    if (!spec || jf->diags.n_errors > before)
        return VERDICT_REJECT;
    spec->file = jf->path;
    spec->root_at = root;
    jf->jobs[jf->n_jobs++] = spec;
    return VERDICT_ACCEPT;
}

/* --- --set ---------------------------------------------------------------------------------- */

static int parse_sets(struct arena *a, const char *const *sets, const struct edit **ret,
                      size_t *ret_n, struct err *e)
{
    for (*ret_n = 0; sets && sets[*ret_n]; ++*ret_n) {
        int r = *ret_n < LIMIT_SETS
                    ? edit_parse(a, sets[*ret_n], &ret[*ret_n], e)
                    : err_set(e, -EINVAL, "--set can be given at most %d times", LIMIT_SETS);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Is the edit meant for this document? The only job of a file takes all; of several, those that
 * have the path's first key. Documents that are no jobs are left alone. */
static bool edit_concerns(const struct edit *edit, const struct node *root, size_t n_jobs)
{
    return n_jobs == 1 || node_get(root, edit_key(edit, 0));
}

/* Inputs and parameters have names of the file's own: one that it does not have is never read.
 * Returns whether the edit may be made. */
static bool edit_has_input(const struct edit *edit, const struct node *root, struct diags *ds)
{
    static const char *const lists[] = {"inputs", "parameters"};
    const char *list = edit_key(edit, 0), *name = edit_key(edit, 1), *names[64], *near;
    const struct node *map = list ? node_get(root, list) : NULL;
    size_t n = 0;

    if (!list || !name || node_get(root, "apiVersion") ||
        (strcmp(list, lists[0]) != 0 && strcmp(list, lists[1]) != 0))
        return true;
    for (; map && map->type == NODE_MAP && n < map->n && n < ARRAY_SIZE(names); n++)
        names[n] = map->pairs[n].key->text;
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    near = nearest_word(name, names, n);
    diag_at(ds, map ? map : root, "E0147",
            near ? arena_printf(ds->arena, "did you mean `%s`?", near) : NULL,
            "--set %s: the job has no %.*s `%s`", edit_path(edit), (int)strlen(list) - 1, list,
            name);
    return false;
}

static void apply_sets(struct arena *a, struct job_file *jf, const struct dialect *forced,
                       const struct edit *const *edits, size_t n)
{
    size_t jobs[LIMIT_DOCUMENTS], n_jobs = 0;

    for (size_t i = 0; i < jf->doc.n_roots; i++)
        if (jf->doc.roots[i]->type == NODE_MAP &&
            (forced || dialect_sight(a, jf->doc.roots[i]).verdict != VERDICT_NOTJOB))
            jobs[n_jobs++] = i;
    for (size_t k = 0; k < n && n_jobs; k++) {
        bool taken = false;

        for (size_t i = 0; i < n_jobs; i++) {
            const struct node **root = &jf->doc.roots[jobs[i]], *made;

            if (!edit_concerns(edits[k], *root, n_jobs))
                continue;
            taken = true;
            if (!edit_has_input(edits[k], *root, &jf->diags))
                continue;
            made = edit_apply(a, edits[k], *root, &jf->diags);
            if (made)
                *root = made;
        }
        if (!taken)
            diag_at(&jf->diags, jf->doc.roots[jobs[0]], "E0143", NULL,
                    "--set: none of the %zu jobs in the file has a key `%s`", n_jobs,
                    edit_key(edits[k], 0));
    }
}

/* --- the file ------------------------------------------------------------------------------- */

/* One verdict for several documents: the worst that concerns a job. */
static enum verdict worse(enum verdict a, enum verdict b)
{
    static const int weight[] = {[VERDICT_NOTJOB] = 0,
                                 [VERDICT_ACCEPT] = 1,
                                 [VERDICT_UNSUPPORTED] = 2,
                                 [VERDICT_REJECT] = 3};

    return weight[a] > weight[b] ? a : b;
}

static void read_documents(struct arena *a, const struct read_options *opts, struct job_file *jf,
                           const struct dialect *forced)
{
    struct sighting seen[LIMIT_DOCUMENTS];
    bool any_job = forced != NULL;
    size_t n = 0;

    for (size_t i = 0; i < jf->doc.n_roots; i++) {
        if (jf->doc.roots[i]->type == NODE_NULL)
            continue;
        seen[n] = forced ? (struct sighting){.dialect = forced, .id = forced->id}
                         : dialect_sight(a, jf->doc.roots[i]);
        any_job = any_job || seen[n].verdict != VERDICT_NOTJOB;
        if (!jf->dialect)
            jf->dialect = seen[n].id;
        n++;
    }
    n = 0;
    for (size_t i = 0; i < jf->doc.n_roots; i++) {
        const struct node *root = jf->doc.roots[i];
        const struct sighting *s = &seen[n];

        if (root->type == NODE_NULL)
            continue;
        n++;
        if (jf->doc.broken && i + 1 == jf->doc.n_roots)
            continue; /* what is missing in it may just not have been read */
        if (s->dialect) {
            jf->verdict = worse(jf->verdict, read_document(a, opts, jf, s, root));
        } else if (s->verdict == VERDICT_UNSUPPORTED) {
            tell_unsupported(jf, s);
            jf->verdict = worse(jf->verdict, VERDICT_UNSUPPORTED);
        } else {
            tell_notjob(jf, s, any_job, root);
        }
    }
    if (n == 0 && !jf->doc.broken)
        diag_pos(&jf->diags, (struct pos){1, 1}, "", "E0110", NULL, "the file is empty");
}

/* The items of a document that kubectl calls a List; NULL if it is none, or has none. */
static const struct node *list_items(const struct node *root)
{
    const struct node *version = node_get(root, "apiVersion"), *kind = node_get(root, "kind");
    const struct node *items = node_get(root, "items");

    if (!version || !kind || !items || version->type != NODE_STRING || kind->type != NODE_STRING ||
        strcmp(version->text, "v1") != 0 || strcmp(kind->text, "List") != 0)
        return NULL;
    return items->type == NODE_SEQ && items->n ? items : NULL;
}

/* Items of a List are documents, as if `---` stood between them. */
static void unfold_lists(struct arena *a, struct job_file *jf)
{
    const struct node **roots = ARENA_ARRAY(a, const struct node *, LIMIT_DOCUMENTS);
    size_t n = 0;

    for (size_t i = 0; i < jf->doc.n_roots; i++) {
        const struct node *items = list_items(jf->doc.roots[i]);

        for (size_t k = 0; k < (items ? items->n : 1); k++) {
            if (n == LIMIT_DOCUMENTS) {
                diag_at(&jf->diags, jf->doc.roots[i], "E0005", NULL,
                        "more than %d documents in the file", LIMIT_DOCUMENTS);
                return;
            }
            roots[n++] = items ? items->items[k] : jf->doc.roots[i];
        }
    }
    jf->doc.roots = roots;
    jf->doc.n_roots = n;
}

static void read_tree(struct arena *a, const struct job_text *text, struct job_file *jf)
{
    bool json = !text->tree && json_looks_like(text->name, text->text, text->len);

    if (text->tree) {
        const struct node **root = ARENA_NEW(a, const struct node *);

        *root = text->tree;
        jf->doc = (struct doc){
            .file = arena_strdup(a, text->name), .source = "", .roots = root, .n_roots = 1};
    } else if (json) {
        json_read(a, text->name, text->text, text->len, true, &jf->diags, &jf->doc);
    } else {
        yaml_read(a, text->name, text->text, text->len, &jf->diags, &jf->doc);
    }
    if (jf->doc.broken)
        hide_secret_lines(&jf->doc, json, &jf->diags);
    unfold_lists(a, jf);
}

/* The documents' verdict is known; what holds for all jobs of the file together. */
static void finish_jobs(struct arena *a, struct job_file *jf, const char *dir)
{
    if (jf->doc.broken || (jf->verdict == VERDICT_ACCEPT && jf->diags.n_errors))
        jf->verdict = VERDICT_REJECT;
    if (jf->verdict != VERDICT_ACCEPT)
        jf->n_jobs = 0;
    config_objects_hand_out(a, jf);
    for (size_t i = 0; i < jf->n_jobs; i++)
        jf->jobs[i]->dir = dir;
    diags_sort(&jf->diags);
}

int job_text_read(struct arena *a, const struct job_text *text, const struct read_options *opts,
                  struct job_file *ret, struct err *e)
{
    const struct dialect *forced = opts->dialect ? dialect_by_id(opts->dialect) : NULL;
    const struct edit *edits[LIMIT_SETS];
    size_t n_edits;
    int r;

    if (opts->dialect && !forced)
        return err_set(e, -EINVAL, "unknown dialect %s", opts->dialect);
    if (!text->tree && text->len > LIMIT_FILE_BYTES)
        return err_set(e, -E2BIG, "%s has %zu bytes, more than the limit of %d", text->name,
                       text->len, LIMIT_FILE_BYTES);
    r = parse_sets(a, opts->sets, edits, &n_edits, e);
    if (r < 0)
        return r;
    *ret = (struct job_file){.path = arena_strdup(a, text->name), .verdict = VERDICT_NOTJOB};
    diags_init(&ret->diags, a);
    read_tree(a, text, ret);
    apply_sets(a, ret, forced, edits, n_edits);
    ret->jobs = ARENA_ARRAY(a, struct job_spec *, LIMIT_DOCUMENTS);
    read_documents(a, opts, ret, forced);
    finish_jobs(a, ret, text->dir ? arena_strdup(a, text->dir) : "/");
    return 0;
}

static int read_from(struct arena *a, const char *path, const struct strbuf *text,
                     const struct read_options *opts, struct job_file *ret, struct err *e)
{
    return job_text_read(
        a,
        &(struct job_text){
            .name = path, .text = text->buf, .len = text->len, .dir = directory_of(a, path)},
        opts, ret, e);
}

int job_file_read(struct arena *a, const char *path, const struct read_options *opts,
                  struct job_file *ret, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    int r = read_text(path, &text, e);

    return r < 0 ? r : read_from(a, path, &text, opts, ret, e);
}

int job_file_read_kept(struct arena *a, const char *path, const char *text, size_t len,
                       const struct read_options *opts, struct job_file *ret, struct err *e)
{
    auto_strbuf struct strbuf copy = STRBUF_INIT;

    if (len > LIMIT_FILE_BYTES)
        return err_set(e, -EFBIG, "%s has more than %d bytes", path, LIMIT_FILE_BYTES);
    strbuf_add(&copy, text, len);
    return read_from(a, path, &copy, opts, ret, e);
}

int job_file_read_copy(struct arena *a, const char *path, int dirfd, const char *copy,
                       const struct read_options *opts, struct job_file *ret, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    int r = io_read_regular(dirfd, copy, LIMIT_FILE_BYTES, &text, e);

    return r < 0 ? r : read_from(a, path, &text, opts, ret, e);
}

void job_file_release(struct job_file *jf)
{
    diags_release(&jf->diags);
}
