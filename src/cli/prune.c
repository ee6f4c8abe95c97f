/* prune.c - `muster prune`: removes old runs, after showing which. */
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "cli/diagnose.h"
#include "cli/settings.h"
#include "cli/target.h"
#include "cli/tell.h"

struct options {
    const char *older_than, *max_size;
    int64_t keep;
    bool outputs, yes;
};

/* Options replace the settings altogether: who asks for an age does not want a number as well. */
static int policy_of(const struct verb *verb, struct arena *a, const struct options *o,
                     struct retention *ret)
{
    struct retention given = {
        .keep = o->keep, .max_age_ms = RETENTION_NONE, .max_size = RETENTION_NONE};
    struct settings settings;

    if (o->older_than && retention_age(o->older_than, &given.max_age_ms) < 0)
        return usage_error(verb, "--older-than must be a duration such as 30d or 12h, not \"%s\"",
                           o->older_than);
    if (o->max_size && quantity_units(o->max_size, &given.max_size) < 0)
        return usage_error(verb, "--max-size must be a number of bytes such as 10Gi, not \"%s\"",
                           o->max_size);
    if (settings_read(a, &settings) < 0)
        return EXIT_USAGE;
    bool any = o->older_than || o->max_size || o->keep != RETENTION_NONE;
    *ret = any ? given : settings.retention;
    ret->outputs = o->outputs;
    return 0;
}

static void print_run(const struct retained *r, ns_t now)
{
    auto_strbuf struct strbuf dir = STRBUF_INIT;
    char age[DURATION_TEXT] = "-", size[DURATION_TEXT];

    if (r->started)
        (void)age_text((now - r->started) / NS_PER_MS, age);
    strbuf_add_escaped(&dir, r->dir, strlen(r->dir));
    printf("%-21s %-14s %-10s %-7s %s\n", r->id, age, bytes_text(r->size, size),
           r->outputs ? "yes" : "no", dir.buf);
}

struct sums {
    size_t n, kept, with_outputs;
    int64_t size;
};

/* Shows what goes, and removes it if that is wanted. False if one could not be removed. */
static bool go_through(const struct retained_list *list, bool yes, struct sums *sums)
{
    ns_t now = clock_real();
    bool fine = true;

    for (size_t i = 0; i < list->n; i++) {
        const struct retained *r = &list->v[i];
        struct err e;
        if (!r->removed_for) {
            sums->kept++;
            sums->with_outputs += r->outputs && !r->alive;
            continue;
        }
        if (sums->n == 0)
            printf("%-21s %-14s %-10s %-7s %s\n", "ID", "AGE", "SIZE", "OUTPUTS", "DIRECTORY");
        if (yes && retention_remove(r->dir, &e) < 0) {
            tell_error("%s", e.text);
            fine = false;
            continue;
        }
        print_run(r, now);
        sums->n++;
        sums->size += r->size;
    }
    return fine;
}

static int run_prune(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct options o = {.keep = RETENTION_NONE};
    struct operands ops;
    struct retention policy;
    struct retained_list list;
    struct sums sums = {0};
    char size[DURATION_TEXT];
    int code = target_operands(verb, &o, argc, argv, 0, &ops);

    if (code == 0)
        code = policy_of(verb, a, &o, &policy);
    if (code != 0)
        return code;
    retention_look(a, NULL, true, &list);
    retention_mark(&policy, clock_real(), &list);
    bool fine = go_through(&list, o.yes, &sums);
    printf("%s %zu of %zu runs, %s\n", o.yes ? "removed" : "would remove", sums.n, list.n,
           bytes_text(sums.size, size));
    if (sums.with_outputs && !o.outputs)
        printf("%zu kept because of %s outputs; use --outputs to include them\n", sums.with_outputs,
               sums.with_outputs == 1 ? "its" : "their");
    if (sums.n > 0 && !o.yes)
        printf("use --yes to remove them\n");
    code = finish_output();
    return fine ? code : EXIT_FAILED;
}

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"keep", 0, OPT_INT, AT(keep), "N", "keep the newest N runs", NULL, 0},
    {"max-size", 0, OPT_STRING, AT(max_size), "SIZE",
     "remove the oldest runs until the rest takes at most SIZE (10Gi)", NULL, 0},
    {"older-than", 0, OPT_STRING, AT(older_than), "D", "remove runs that began longer ago (30d)",
     NULL, 0},
    {"outputs", 0, OPT_FLAG, AT(outputs), NULL, "include runs with outputs", NULL, 0},
    {"yes", 'y', OPT_FLAG, AT(yes), NULL, "remove the runs; without it they are only listed", NULL,
     0},
    OPT_END,
};

const struct verb verb_prune = {
    .name = "prune",
    .synopsis = "[--older-than D] [--keep N] [--max-size SIZE] [--outputs] [--yes]",
    .summary = "remove old runs",
    .about =
        "Shows the runs that would be removed, with their ages and sizes; --yes removes them. Runs "
        "that have not ended are never removed, runs with outputs only with --outputs. Without "
        "--older-than, --keep and --max-size, the limits are those of the configuration file, by "
        "default the newest 50 runs.",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_prune,
};
