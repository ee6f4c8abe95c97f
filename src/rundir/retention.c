/* retention.c - see retention.h. */
#include "rundir/retention.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "journal/away.h"
#include "journal/journal.h"
#include "plan/plan.h"
#include "rundir/outputs.h"
#include "rundir/places.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define NEW_S 60 /* a run that has just been made may not be locked yet */

int retention_age(const char *text, int64_t *ret)
{
    size_t digits = strspn(text, "0123456789");
    char number[24];
    int64_t days = 0, rest = 0;
    int r;

    if (digits > 0 && digits < sizeof(number) && text[digits] == 'd') {
        (void)snprintf(number, sizeof(number), "%.*s", (int)digits, text);
        r = num_i64(number, &days);
        text += digits + 1;
        if (r < 0 || __builtin_mul_overflow(days, DAY_MS, &days))
            return -ERANGE;
        if (!*text) {
            *ret = days;
            return 0;
        }
    }
    r = duration_ms(text, &rest);
    if (r < 0 || __builtin_add_overflow(days, rest, &days))
        return r < 0 ? r : -ERANGE;
    *ret = days;
    return 0;
}

ns_t retention_id_time(const char *id)
{
    struct tm tm = {0};

    return strptime(id, "%Y%m%d-%H%M%S", &tm) ? (ns_t)timegm(&tm) * NS_PER_S : 0;
}

/* --- looking ---------------------------------------------------------------------------------- */

static int is_run(const struct dirent *d)
{
    return d->d_name[0] >= '0' && d->d_name[0] <= '9';
}

static bool is_alive(int fd, const char *id)
{
    if (flock(fd, LOCK_SH | LOCK_NB) < 0)
        return true;
    (void)flock(fd, LOCK_UN);
    if (away_until(fd) > clock_real())
        return true; /* it may still run, elsewhere */
    return clock_real() - retention_id_time(id) < NEW_S * NS_PER_S &&
           faccessat(fd, JOURNAL_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/* The id has it to the second; what was written at the start has the rest. */
static ns_t start_of(int fd, const char *id)
{
    ns_t second = retention_id_time(id), exact = 0;
    struct stat st;

    if (fstatat(fd, PLAN_PEERS, &st, AT_SYMLINK_NOFOLLOW) == 0)
        exact = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    return exact > second && exact - second < NEW_S * NS_PER_S ? exact : second;
}

static void look_below(struct arena *a, const char *home, bool sized, struct retained_list *ret)
{
    struct dirent **list = NULL;
    int n = scandir(home, &list, is_run, alphasort);
    struct retained *v = arena_calloc(a, ret->n + (size_t)(n > 0 ? n : 0) + 1, sizeof(*v));

    if (ret->n > 0)
        memcpy(v, ret->v, ret->n * sizeof(*v));
    ret->v = v;
    for (int i = 0; i < n; i++) {
        const char *id = arena_strdup(a, list[i]->d_name);
        const char *dir = arena_printf(a, "%s/%s", home, id);
        auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        free(list[i]);
        if (fd >= 0)
            v[ret->n++] = (struct retained){.dir = dir,
                                            .id = id,
                                            .started = start_of(fd, id),
                                            .size = sized ? outputs_size(fd) : -1,
                                            .alive = is_alive(fd, id),
                                            .outputs = outputs_any(fd)};
    }
    free(list);
}

static int by_start(const void *a, const void *b)
{
    const struct retained *x = a, *y = b;

    return x->started != y->started ? (x->started < y->started ? -1 : 1) : strcmp(x->id, y->id);
}

void retention_look(struct arena *a, const char *home, bool sized, struct retained_list *ret)
{
    auto_strvec struct strvec homes = STRVEC_INIT;

    if (home)
        strvec_push(&homes, home);
    else
        places_all_runs(&homes);
    *ret = (struct retained_list){0};
    for (size_t i = 0; i < homes.n; i++)
        look_below(a, homes.v[i], sized, ret);
    if (ret->n > 0)
        qsort(ret->v, ret->n, sizeof(*ret->v), by_start);
}

/* --- deciding --------------------------------------------------------------------------------- */

static bool may_go(const struct retention *policy, const struct retained *r)
{
    return !r->alive && (policy->outputs || !r->outputs);
}

void retention_mark(const struct retention *policy, ns_t now, struct retained_list *list)
{
    int64_t kept = 0, size = 0;

    for (size_t i = list->n; i-- > 0;) { /* the newest first */
        struct retained *r = &list->v[i];
        kept += r->alive && (policy->outputs || !r->outputs);
        if (!may_go(policy, r))
            continue;
        bool fits = !__builtin_add_overflow(size, r->size > 0 ? r->size : 0, &size) &&
                    size <= policy->max_size;
        if (policy->keep >= 0 && kept >= policy->keep)
            r->removed_for = "number";
        else if (policy->max_age_ms >= 0 && (now - r->started) / NS_PER_MS > policy->max_age_ms)
            r->removed_for = "age";
        else if (policy->max_size >= 0 && !fits)
            r->removed_for = "size";
        else
            kept++;
    }
}

/* --- removing --------------------------------------------------------------------------------- */

int retention_remove(const char *dir, struct err *e)
{
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return err_sys(e, -errno, "%s", dir);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? err_set(e, -EBUSY, "%s is in use", dir)
                                    : err_sys(e, -errno, "cannot lock %s", dir);
    return io_remove_tree(AT_FDCWD, dir, e);
}

/* The usual end of a run has nothing to remove, and need not look into every directory for that. */
static bool may_remove(const struct retention *policy, const char *home)
{
    DIR *dir = opendir(home);
    const struct dirent *d;
    int64_t n = 0;

    while (dir && (d = readdir(dir)))
        n += is_run(d);
    if (dir)
        (void)closedir(dir);
    return policy->max_age_ms >= 0 || policy->max_size >= 0 ||
           (policy->keep >= 0 && n > policy->keep);
}

void retention_apply(const struct retention *policy, const char *home)
{
    auto_arena struct arena *a = arena_new();
    struct retained_list list;

    if (!may_remove(policy, home))
        return;
    retention_look(a, home, policy->max_size >= 0, &list);
    retention_mark(policy, clock_real(), &list);
    for (size_t i = 0; i < list.n; i++)
        if (list.v[i].removed_for)
            (void)retention_remove(list.v[i].dir, NULL);
}
