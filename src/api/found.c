/* found.c - runs of this user in the foreground, from their run directories.
 *
 * The directories are looked at when somebody asks, and not more often than every second. A
 * run that has ended is read once; of one that lives the journal is read when it has grown.
 * Nobody is asked: a run that is stopped would not answer. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "api/parts.h"
#include "base/io.h"
#include "base/mem.h"
#include "client/runs.h"
#include "journal/journal.h"
#include "rundir/places.h"
#include "rundir/rundir.h"

#define LOOK_NS NS_PER_S
#define READ_MOST 200 /* run directories that one look reads */

struct run {
    char *id, *dir, *name, *dialect, *phase, *outcome, *verdict;
    int exit_code;
    ns_t started, ended;
    struct counts ranks;
    uint32_t restarts;
    off_t seen;      /* of the journal */
    bool done, here; /* it has ended; this look has found it */
};

struct found {
    struct run *v;
    size_t n, cap, n_sorted;
    const char **served; /* during a look: ids of the daemon's jobs, sorted */
    ns_t looked;         /* clock_mono() */
    unsigned reads;
};

struct found *found_new(void)
{
    return xcalloc(1, sizeof(struct found));
}

static void run_forget(struct run *r)
{
    free(r->name);
    free(r->dialect);
    free(r->phase);
    free(r->outcome);
    free(r->verdict);
    r->name = r->dialect = r->phase = r->outcome = r->verdict = NULL;
}

static void run_release(struct run *r)
{
    run_forget(r);
    free(r->id);
    free(r->dir);
}

void found_free(struct found *f)
{
    for (size_t i = 0; f && i < f->n; i++)
        run_release(&f->v[i]);
    if (f)
        free(f->v);
    free(f);
}

/* By id: those that were known when the look began. */
static struct run *find(struct found *f, const char *id)
{
    size_t low = 0, high = f->n_sorted;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int r = strcmp(f->v[mid].id, id);

        if (r == 0)
            return &f->v[mid];
        if (r < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = f->n_sorted; i < f->n; i++)
        if (strcmp(f->v[i].id, id) == 0)
            return &f->v[i];
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct run *)a)->id, ((const struct run *)b)->id);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Are there directories of jobs of the daemon? Most are: they are looked up at once. */
static const char **served_ids(const struct daemon *d)
{
    const char **v = xcalloc(d->n + 1, sizeof(*v));

    for (size_t i = 0; i < d->n; i++)
        v[i] = d->jobs[i]->row.id;
    if (d->n)
        qsort(v, d->n, sizeof(*v), by_text);
    return v;
}

/* --- one run ---------------------------------------------------------------------------------- */

static void read_living(struct run *r, int fd)
{
    auto_arena struct arena *a = arena_new();
    struct job *job = NULL;

    run_forget(r);
    if (journal_load(a, fd, &job, NULL) < 0) {
        r->phase = xstrdup("starting");
        return;
    }
    r->name = xstrdup(job->plan->spec->name);
    r->dialect = xstrdup(job->plan->spec->dialect ? job->plan->spec->dialect : "");
    r->phase = xstrdup(job_live_state_name(job));
    r->started = job->created;
    r->ranks = live_counts(job, &r->restarts);
    job_free(job);
}

static void read_ended(struct run *r)
{
    auto_arena struct arena *a = arena_new();
    struct run_ref ref;

    if (runs_at(a, r->dir, &ref, NULL) < 0)
        return;
    run_forget(r);
    r->name = xstrdup(ref.name);
    r->dialect = xstrdup(ref.dialect);
    r->phase = xstrdup(ref.exit_code >= 0 ? "ended" : "lost");
    r->outcome = ref.exit_code >= 0 ? xstrdup(ref.state) : NULL;
    r->verdict = xstrdup(ref.verdict);
    r->exit_code = ref.exit_code;
    r->started = ref.started;
    r->ended = ref.ended;
    r->done = true;
}

static void read_run(struct found *f, struct run *r)
{
    auto_close int fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st = {0};

    if (fd < 0)
        return;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) { /* nobody lives in it */
        (void)flock(fd, LOCK_UN);
        read_ended(r);
        f->reads++;
        return;
    }
    if (fstatat(fd, JOURNAL_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == r->seen)
        return;
    r->seen = st.st_size;
    read_living(r, fd);
    f->reads++;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void meet(struct api *api, const char *id, const char *dir)
{
    struct found *f = api->found;
    struct run *r = find(f, id);

    if (r) {
        r->here = true;
    } else if (api->d->n == 0 || !bsearch(&id, f->served, api->d->n, sizeof(*f->served), by_text)) {
        auto_free char *mark = xasprintf("%s/" RUNDIR_SERVED, dir);

        if (access(mark, F_OK) == 0) /* of a job that was deleted from the database */
            return;
        GROW(f->v, f->n, f->cap);
        r = &f->v[f->n++];
        *r = (struct run){.id = xstrdup(id), .dir = xstrdup(dir), .exit_code = -1, .here = true};
    }
}

static void look_in(struct api *api, const char *home, bool scratch)
{
    DIR *dir = opendir(home);
    const struct dirent *d;

    while (dir && (d = readdir(dir))) {
        if (d->d_name[0] < '0' || d->d_name[0] > '9')
            continue;
        auto_free char *path = xasprintf("%s/%s", home, d->d_name);
        char target[PATH_MAX];

        if (scratch) { /* its run directory may be anywhere: --run-dir */
            auto_free char *link = xasprintf("%s/" RUNDIR_LINK, path);
            ssize_t n = readlink(link, target, sizeof(target) - 1);

            if (n <= 0)
                continue;
            target[n] = '\0';
        }
        meet(api, d->d_name, scratch ? target : path);
    }
    if (dir)
        (void)closedir(dir);
}

static void look(struct api *api)
{
    auto_strvec struct strvec homes = STRVEC_INIT, scratch = STRVEC_INIT;
    struct found *f = api->found;
    size_t kept = 0;

    places_all_runs(&homes);
    places_all_scratch(&scratch);
    if (f->n)
        qsort(f->v, f->n, sizeof(*f->v), by_id);
    f->n_sorted = f->n;
    f->served = served_ids(api->d);
    for (size_t i = 0; i < f->n; i++)
        f->v[i].here = false;
    for (size_t i = 0; i < homes.n; i++)
        look_in(api, homes.v[i], false);
    for (size_t i = 0; i < scratch.n; i++)
        look_in(api, scratch.v[i], true);
    free(f->served);
    f->served = NULL;
    f->reads = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!f->v[i].here) {
            run_release(&f->v[i]);
            continue;
        }
        f->v[kept] = f->v[i];
        if (!f->v[kept].done && f->reads < READ_MOST)
            read_run(f, &f->v[kept]);
        kept++;
    }
    f->n = f->n_sorted = kept;
}

size_t found_count(struct api *api)
{
    struct found *f = api->found;
    ns_t now = clock_mono();

    if (f->looked == 0 || now - f->looked >= LOOK_NS) {
        look(api);
        f->looked = clock_mono();
    }
    return f->n;
}

void found_look(struct api *api, size_t i)
{
    if (!api->found->v[i].done)
        read_run(api->found, &api->found->v[i]);
}

static const char *copy(struct arena *a, const char *text)
{
    return text && *text ? arena_strdup(a, text) : NULL;
}

void found_entry(struct api *api, struct arena *a, size_t i, struct entry *ret)
{
    const struct run *r = &api->found->v[i];

    *ret = (struct entry){.id = arena_strdup(a, r->id),
                          .name = copy(a, r->name),
                          .dialect = copy(a, r->dialect),
                          .phase = r->phase ? arena_strdup(a, r->phase) : "starting",
                          .outcome = copy(a, r->outcome),
                          .verdict = copy(a, r->verdict),
                          .dir = arena_strdup(a, r->dir),
                          .exit_code = r->exit_code,
                          .priority = -1,
                          .submitted = r->started,
                          .started = r->started,
                          .ended = r->ended,
                          .ranks = r->ranks,
                          .restarts = r->restarts};
}
